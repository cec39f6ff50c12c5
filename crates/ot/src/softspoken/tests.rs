use super::*;
use crate::small_field::tests::{WIDTHS, context, deal};
use vesica_net::{Options, memory};

const BOTH: [Security; 2] = [Security::SemiHonest, Security::Malicious];

fn ends(width: Width, security: Security) -> (Receiver, Sender) {
    let (pairs, delta, chosen) = deal(width.bits() as u8);
    let (receiver, message) =
        Receiver::new(&context(), width, security, &pairs, &mut Prg::from_seed([9; 16]));
    let sender = Sender::new(&context(), width, security, delta, &chosen, &message);
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

#[test]
fn rows_are_correlated_at_every_length() {
    for width in WIDTHS {
        for security in BOTH {
            let (mut receiver, mut sender) = ends(width, security);
            let (mut here, mut there) = memory::pair(&Options::default());
            let mut rng = Prg::from_seed([5; 16]);
            for count in [0, 1, 127, 128, 129, 1000, 1024, 1025, 16_255, 16_256, 16_257, 20_000, 40_001] {
                let mut choices = vec![0; usize::div_ceil(count, 8)];
                rng.fill(&mut choices);
                let (mut t, mut q) = (vec![[Block::ZERO]; count], vec![[Block::ZERO]; count]);
                let before = here.traffic().payload_sent;
                receiver.extend(&choices, &mut t, &mut here).unwrap();
                here.flush().unwrap();
                let sent = here.traffic().payload_sent - before;
                assert_eq!(sent, bytes(width, security, count, true) as u64);
                sender.extend_as(true, &mut q, &mut there).unwrap();
                assert_correlated(sender.delta()[0], &choices, &t, &q);
                let mut random = vec![0; count.div_ceil(8)];
                receiver.extend_random(&mut random, &mut t, &mut here).unwrap();
                here.flush().unwrap();
                sender.extend_as(false, &mut q, &mut there).unwrap();
                assert_correlated(sender.delta()[0], &random, &t, &q);
                assert!(count < 1000 || random != choices);
            }
        }
    }
}

#[test]
fn runs_over_a_channel_from_base_ots_on() {
    let (mut here, mut there) = memory::pair(&Options::default());
    let (width, security, count) = (Width::Four, Security::Malicious, 3000);
    let choices = vec![0x5a; 375];
    let (t, (delta, q)) = std::thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let mut rng = Prg::from_seed([1; 16]);
            let mut receiver = Receiver::setup(&context(), width, security, None, &mut here, &mut rng)?;
            let mut t = vec![[Block::ZERO]; count];
            receiver.extend(&choices, &mut t, &mut here)?;
            here.flush()?;
            Ok::<_, Error>(t)
        });
        let mut rng = Prg::from_seed([2; 16]);
        let mut sender = Sender::setup(&context(), width, security, None, &mut there, &mut rng).unwrap();
        let mut q = vec![[Block::ZERO]; count];
        sender.extend(&mut q, &mut there).unwrap();
        (receiver.join().unwrap().unwrap(), (sender.delta()[0], q))
    });
    assert_correlated(delta, &choices, &t, &q);
}

#[test]
fn random_choices_are_balanced() {
    let (mut receiver, _) = ends(Width::Four, Security::SemiHonest);
    let (mut here, _there) = memory::pair(&Options::default());
    let mut choices = [0; 1250];
    receiver.extend_random(&mut choices, &mut vec![[Block::ZERO]; 10_000], &mut here).unwrap();
    let ones: u32 = choices.iter().map(|byte| byte.count_ones()).sum();
    // Five standard deviations.
    assert!((4750..=5250).contains(&ones), "{ones}");
}

#[test]
fn another_choice_in_one_group_is_noticed_or_stands_on_a_guess() {
    for width in WIDTHS {
        let (pairs, delta, chosen) = deal(3);
        let setup = || {
            let (receiver, message) =
                Receiver::new(&context(), width, Security::Malicious, &pairs, &mut Prg::from_seed([9; 16]));
            let sender = Sender::new(&context(), width, Security::Malicious, delta, &chosen, &message);
            (receiver, sender.unwrap_or_else(|error| panic!("{error}")))
        };
        for byte in [0, 16, 40 * 16, 9 * 16] {
            let (mut receiver, mut sender) = setup();
            let (mut strings, mut message) = (vec![Block::ZERO; 20], Vec::new());
            receiver.chunk(&mut strings, true, &mut message);
            message[byte] ^= 1;
            assert!(matches!(sender.chunk(20, true, &message), Err(Error::Inconsistent)), "{width:?}");
        }
        // Every byte of the check itself counts.
        let (mut strings, mut message) = (vec![Block::ZERO; 1], Vec::new());
        setup().0.chunk(&mut strings, true, &mut message);
        for byte in message.len() - 48..message.len() {
            let mut changed = message.clone();
            changed[byte] ^= 0x80;
            assert!(matches!(setup().1.chunk(1, true, &changed), Err(Error::Inconsistent)));
        }
        assert!(setup().1.chunk(1, true, &message).is_ok());
        assert!(matches!(setup().1.chunk(1, true, &message[1..]), Err(Error::MessageLength { .. })));
    }
}

#[test]
fn the_collision_bound_is_that_of_the_text() {
    assert_eq!(WIDTHS.map(collision_bits), [117, 119, 121]);
}

#[test]
fn the_coefficients_depend_on_corrections_chunk_and_setup() {
    let terms = |setup: &[u8]| Terms::new(&context(), Width::Four, Security::Malicious, setup);
    let draw = |terms: &mut Terms, shifts: &[u8]| {
        let coefficients = terms.coefficients(shifts, 3);
        assert!(coefficients.len() == 3 && coefficients[2] == Block::from(1u128));
        coefficients[0].to_bytes()
    };
    let shifts = vec![3; 70_000];
    let [mut here, mut there, mut other] = [terms(b"a"), terms(b"a"), terms(b"b")];
    let first = draw(&mut here, &shifts);
    assert_eq!(first, draw(&mut there, &shifts));
    assert_ne!(first, draw(&mut other, &shifts));
    let second = draw(&mut here, &shifts);
    assert_ne!(first, second, "another chunk");
    for place in [0, 1023, 1024, 69_999] {
        let mut changed = shifts.clone();
        changed[place] ^= 1;
        let mut there = terms(b"a");
        assert_ne!(first, draw(&mut there, &changed));
    }
}
