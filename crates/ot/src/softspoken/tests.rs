use super::*;
use crate::base::KeyAgreement;
use crate::security::{Malicious, SemiHonest};
use crate::small_field::tests::{WIDTHS, context, deal};
use vesica_channel::memory;
use vesica_crypto::prg::Prg;

fn ends<S: SecurityModel>(width: Width, dealt: u8) -> (Receiver<S>, Sender<S>) {
    let (pairs, delta, chosen) = deal(dealt);
    let (receiver, message) = Receiver::new(&context(), width, &pairs, &mut Prg::from_seed([9; 16]));
    let sender = Sender::new(&context(), width, delta, &chosen, &message);
    (receiver, sender.unwrap_or_else(|error| panic!("{error}")))
}

fn bit(bits: &[u8], index: usize) -> bool {
    bits[index / 8] >> (index % 8) & 1 == 1
}

fn assert_correlated(delta: Block, choices: &[u8], t: &[[Block; 1]], q: &[[Block; 1]]) {
    for (j, (t, q)) in t.iter().zip(q).enumerate() {
        assert!(q[0] == t[0] ^ (delta & Block::mask(bit(choices, j))), "row {j}");
    }
}

fn check_lengths<S: SecurityModel>(width: Width) {
    let (mut receiver, mut sender) = ends::<S>(width, width.bits() as u8);
    let (mut here, mut there) = memory::pair();
    let mut rng = Prg::from_seed([5; 16]);
    for count in [0, 1, 127, 128, 129, 1000, 1024, 1025, 16_255, 16_256, 16_257, 20_000, 40_001] {
        let mut choices = vec![0; usize::div_ceil(count, 8)];
        rng.fill(&mut choices);
        let (mut t, mut q) = (vec![[Block::ZERO]; count], vec![[Block::ZERO]; count]);
        let before = here.traffic().payload_sent;
        receiver.extend(&choices, &mut t, &mut here).unwrap();
        here.flush().unwrap();
        let sent = here.traffic().payload_sent - before;
        assert_eq!(sent, bytes(width, S::SECURITY, count, Choices::Chosen) as u64);
        sender.extend(&mut q, &mut there).unwrap();
        assert_correlated(sender.delta()[0], &choices, &t, &q);
        let mut random = vec![0; count.div_ceil(8)];
        receiver.extend_to(Choices::Random, &mut random, &mut t, |message| Ok(here.send(message)?)).unwrap();
        here.flush().unwrap();
        sender.extend_from(Choices::Random, &mut q, |message| Ok(there.recv_exact(message)?)).unwrap();
        assert_correlated(sender.delta()[0], &random, &t, &q);
        assert!(count < 1000 || random != choices);
    }
}

#[test]
fn rows_are_correlated_at_every_length() {
    for width in WIDTHS {
        check_lengths::<SemiHonest>(width);
        check_lengths::<Malicious>(width);
    }
}

fn check_ahead<S: SecurityModel>(count: usize) {
    let all = tiles(Width::Four, S::SECURITY, count);
    for ahead in [1, all / 2, all, all + 3] {
        let (mut receiver, mut sender) = ends::<S>(Width::Four, 6);
        sender.expand_ahead(ahead);
        let (choices, mut message) = (vec![0xa6; count.div_ceil(8)], Vec::new());
        let (mut t, mut q) = (vec![[Block::ZERO]; count], vec![[Block::ZERO]; count]);
        receiver
            .extend_to(Choices::Chosen, &mut choices.clone(), &mut t, |part| {
                message.extend_from_slice(part);
                Ok(())
            })
            .unwrap();
        let mut unread = &message[..];
        sender
            .extend_from(Choices::Chosen, &mut q, |part| {
                part.copy_from_slice(unread.split_off(..part.len()).unwrap());
                Ok(())
            })
            .unwrap();
        assert_correlated(sender.delta()[0], &choices, &t, &q);
        assert_eq!(sender.used, ahead.min(all), "each tile is used once, and no other is taken before");
    }
}

#[test]
fn tiles_that_are_expanded_ahead_give_the_same_rows() {
    for count in [1, 1000, 1025, 16_256, 20_000] {
        check_ahead::<SemiHonest>(count);
        check_ahead::<Malicious>(count);
    }
}

#[test]
fn runs_over_a_channel_from_base_ots_on() {
    let (mut here, mut there) = memory::pair();
    let (width, count) = (Width::Four, 3000);
    let choices = vec![0x5a; 375];
    let (t, (delta, q)) = std::thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let mut rng = Prg::from_seed([1; 16]);
            let mut receiver = Receiver::<Malicious>::setup(
                &context(),
                width,
                KeyAgreement::default(),
                &mut here,
                &mut rng,
            )?;
            let mut t = vec![[Block::ZERO]; count];
            receiver.extend(&choices, &mut t, &mut here)?;
            here.flush()?;
            Ok::<_, Error>(t)
        });
        let mut rng = Prg::from_seed([2; 16]);
        let mut sender =
            Sender::<Malicious>::setup(&context(), width, KeyAgreement::default(), &mut there, &mut rng)
                .unwrap();
        let mut q = vec![[Block::ZERO]; count];
        sender.extend(&mut q, &mut there).unwrap();
        (receiver.join().unwrap().unwrap(), (sender.delta()[0], q))
    });
    assert_correlated(delta, &choices, &t, &q);
}

#[test]
fn random_choices_are_balanced() {
    let (mut receiver, _) = ends::<SemiHonest>(Width::Four, 4);
    let (mut here, _there) = memory::pair();
    let mut choices = [0; 1250];
    receiver
        .extend_to(Choices::Random, &mut choices, &mut vec![[Block::ZERO]; 10_000], |message| {
            Ok(here.send(message)?)
        })
        .unwrap();
    let ones: u32 = choices.iter().map(|byte| byte.count_ones()).sum();
    // Five standard deviations.
    assert!((4750..=5250).contains(&ones), "{ones}");
}

#[test]
fn another_choice_in_one_group_is_noticed_or_stands_on_a_guess() {
    for width in WIDTHS {
        let setup = || ends::<Malicious>(width, 3);
        for byte in [0, 16, 40 * 16, 9 * 16] {
            let (mut receiver, mut sender) = setup();
            let (mut strings, mut message) = (vec![Block::ZERO; 20], Vec::new());
            receiver.chunk(&mut strings, Choices::Chosen, &mut message);
            message[byte] ^= 1;
            let refused = |sender: &mut Sender<_>, message: &[u8]| {
                matches!(sender.chunk(20, Choices::Chosen, message), Err(Error::Inconsistent))
            };
            assert!(refused(&mut sender, &message), "{width:?}");
            // An honest chunk comes too late.
            message.clear();
            receiver.chunk(&mut strings, Choices::Chosen, &mut message);
            assert!(refused(&mut sender, &message), "{width:?}");
        }
        // Every byte of the check itself counts.
        let (mut strings, mut message) = (vec![Block::ZERO; 1], Vec::new());
        setup().0.chunk(&mut strings, Choices::Chosen, &mut message);
        for byte in message.len() - 48..message.len() {
            let mut changed = message.clone();
            changed[byte] ^= 0x80;
            assert!(matches!(setup().1.chunk(1, Choices::Chosen, &changed), Err(Error::Inconsistent)));
        }
        assert!(setup().1.chunk(1, Choices::Chosen, &message).is_ok());
        assert!(matches!(
            setup().1.chunk(1, Choices::Chosen, &message[1..]),
            Err(Error::MessageLength { .. })
        ));
    }
}

#[test]
fn the_collision_bound_is_that_of_the_text() {
    assert_eq!(WIDTHS.map(collision_bits), [117, 119, 121]);
}

#[test]
fn the_coefficients_depend_on_corrections_chunk_and_setup() {
    let check = |setup: &[u8]| Check::new(&context(), CHECK, setup);
    let draw = |check: &mut Check, differences: &[u8]| {
        let coefficients = check.coefficients(differences, 3);
        assert!(coefficients.len() == 3 && coefficients[2] == Block::from(1u128));
        coefficients[0].to_bytes()
    };
    let differences = vec![3; 70_000];
    let [mut here, mut there, mut other] = [check(b"a"), check(b"a"), check(b"b")];
    let first = draw(&mut here, &differences);
    assert_eq!(first, draw(&mut there, &differences));
    assert_ne!(first, draw(&mut other, &differences));
    let second = draw(&mut here, &differences);
    assert_ne!(first, second, "another chunk");
    for byte in [0, 1023, 1024, 69_999] {
        let mut changed = differences.clone();
        changed[byte] ^= 1;
        let mut there = check(b"a");
        assert_ne!(first, draw(&mut there, &changed));
    }
}
