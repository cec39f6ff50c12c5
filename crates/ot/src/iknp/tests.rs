use super::*;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::thread;
use vesica_channel::{Traffic, memory};

const LABEL: Label = Label::new("test: iknp");

fn context() -> Context {
    Context::new(&[3; 32], "test", b"", 1, 2)
}

/// Δ, q, t and the receiver's traffic after setup, from calls of these counts with these choices.
#[expect(clippy::type_complexity, reason = "a test's own tuple")]
fn run<const W: usize>(
    columns: u32,
    counts: &[usize],
    choices: &[Vec<u8>],
) -> ([Block; W], Vec<[Block; W]>, Vec<[Block; W]>, [Traffic; 2]) {
    let (mut here, mut there) = memory::pair();
    thread::scope(|scope| {
        let sender = scope.spawn(move || {
            let rng = &mut StdRng::seed_from_u64(1);
            let mut sender =
                Sender::<W>::setup(&context(), LABEL, columns, Origin::default(), &mut there, rng).unwrap();
            let mut all = Vec::new();
            for &count in counts {
                let mut rows = vec![[Block::ZERO; W]; count];
                sender.extend(&mut rows, &mut there).unwrap();
                all.extend(rows);
            }
            (sender.delta(), all)
        });
        let rng = &mut StdRng::seed_from_u64(2);
        let mut receiver =
            Receiver::<W>::setup(&context(), LABEL, columns, Origin::default(), &mut here, rng).unwrap();
        let before = here.traffic();
        let mut all = Vec::new();
        for (&count, choices) in counts.iter().zip(choices) {
            let mut rows = vec![[Block::ZERO; W]; count];
            receiver.extend(choices, &mut rows, &mut here).unwrap();
            all.extend(rows);
        }
        let (delta, q) = sender.join().unwrap();
        (delta, q, all, [before, here.traffic()])
    })
}

fn correlated<const W: usize>(columns: u32) {
    let counts = [1, 127, 128, 129, 0, 1023, 1024, 1025, 5000];
    let mut rng = StdRng::seed_from_u64(3);
    let choices = counts.map(|count: usize| {
        let mut choices = vec![0; count.div_ceil(8)];
        rng.fill_bytes(&mut choices);
        choices
    });
    let (delta, q, t, [before, after]) = run::<W>(columns, &counts, &choices);
    let expected: u64 = counts.iter().map(|&count| bytes(columns, count)).sum();
    assert_eq!(after.payload_sent - before.payload_sent, expected);
    assert_eq!(setup_bytes(KeyAgreement::default(), columns), [before.payload_received, before.payload_sent]);
    let bits = counts.iter().zip(&choices).flat_map(|(&count, choices)| (0..count).map(|j| bit(choices, j)));
    for (j, ((q, t), bit)) in q.iter().zip(&t).zip(bits).enumerate() {
        for part in 0..W {
            assert!(q[part] ^ t[part] == delta[part] & Block::mask(bit == 1), "level {columns}, row {j}");
        }
    }
    // Columns beyond the level are not there, those below are all used.
    let used = |rows: &[[Block; W]], part: usize| rows.iter().fold(0, |all, row| all | row[part].to_u128());
    for part in 0..W {
        let all = u128::MAX >> (128 - (columns as usize - part * ROWS).min(ROWS));
        assert_eq!((used(&q, part), used(&t, part)), (all, all));
    }
    let different: std::collections::HashSet<_> = t.iter().map(|row| row.map(Block::to_u128)).collect();
    assert_eq!(different.len(), t.len());
}

#[test]
fn rows_are_correlated_at_every_level() {
    correlated::<1>(80);
    correlated::<1>(112);
    correlated::<1>(128);
    correlated::<2>(192);
    correlated::<2>(256);
}

#[test]
fn a_partner_that_leaves_or_sends_nonsense_is_told() {
    let (mut here, there) = memory::pair();
    drop(there);
    let rng = &mut StdRng::seed_from_u64(2);
    assert!(matches!(
        Receiver::<1>::setup(&context(), LABEL, 128, Origin::default(), &mut here, rng),
        Err(Error::Channel(_))
    ));
    let (mut here, mut there) = memory::pair();
    there.send(&vec![0xff; 128 * 64]).unwrap();
    there.flush().unwrap();
    assert!(matches!(
        Receiver::<1>::setup(&context(), LABEL, 128, Origin::default(), &mut here, rng),
        Err(Error::InvalidElement { position: 0 })
    ));
}

/// Rows of both sides and the digest of what the receiver sent, from one call for `count` rows on so many
/// threads, or from calls for `piece` rows each.
fn digest_of<const W: usize>(
    columns: u32,
    count: usize,
    piece: usize,
    threads: usize,
) -> (Vec<[Block; W]>, Vec<[Block; W]>, [u8; 32]) {
    let (mut here, mut there) = memory::pair();
    thread::scope(|scope| {
        let sender = scope.spawn(move || {
            let rng = &mut StdRng::seed_from_u64(11);
            let sender =
                Sender::<W>::setup(&context(), LABEL, columns, Origin::default(), &mut there, rng).unwrap();
            let mut sender = sender.with_threads(threads);
            let mut rows = vec![[Block::ZERO; W]; count];
            rows.chunks_mut(piece).for_each(|rows| sender.extend(rows, &mut there).unwrap());
            rows
        });
        let rng = &mut StdRng::seed_from_u64(12);
        let receiver =
            Receiver::<W>::setup(&context(), LABEL, columns, Origin::default(), &mut here, rng).unwrap();
        let mut receiver = receiver.with_threads(threads);
        let mut choices = vec![0; count.div_ceil(8)];
        rng.fill_bytes(&mut choices);
        let mut rows = vec![[Block::ZERO; W]; count];
        for (rows, choices) in rows.chunks_mut(piece).zip(choices.chunks(piece / 8)) {
            receiver.extend(choices, rows, &mut here).unwrap();
        }
        (sender.join().unwrap(), rows, here.digests().sent)
    })
}

#[test]
fn bytes_depend_neither_on_threads_nor_on_calls_for_whole_tiles() {
    let one = digest_of::<1>(128, 40_000, 1 << 20, 1);
    assert!(one == digest_of::<1>(128, 40_000, 1 << 20, 3));
    assert!(one == digest_of::<1>(128, 40_000, 3 << 10, 2));
    let wide = digest_of::<2>(192, 9_000, 1 << 20, 1);
    assert!(wide == digest_of::<2>(192, 9_000, 1 << 10, 2));
}

/// Rows are made from the strings one bit at a time.
#[test]
fn rows_follow_their_formula() {
    let mut rng = StdRng::seed_from_u64(5);
    let mut seed = || {
        let mut bytes = [0; 32];
        rng.fill_bytes(&mut bytes);
        Seed::new(bytes)
    };
    let seeds: Vec<[Seed; 2]> = (0..80).map(|_| [seed(), seed()]).collect();
    let (mut here, mut there) = memory::pair();
    let choices = [0b0110_1001; 200];
    let mut rows = vec![[Block::ZERO]; 1500];
    Receiver::<1>::from_base(&seeds).unwrap().extend(&choices, &mut rows, &mut here).unwrap();
    let mut sent = vec![0; bytes(80, 1500) as usize];
    there.recv_exact(&mut sent).unwrap();
    let (first, last) = sent.split_at(80 * 128);
    for (i, pair) in seeds.iter().enumerate() {
        let [t, other] = [0, 1].map(|choice| {
            let mut stream = [0; 256];
            vesica_crypto::prg::Prg::from_seed(pair[choice].block()).fill(&mut stream);
            stream
        });
        for (j, row) in rows.iter().enumerate() {
            let column = if j < 1024 { &first[i * 128..] } else { &last[i * 64..] };
            assert_eq!(row[0].bit(i), bit(&t, j) == 1);
            assert_eq!(bit(column, j % 1024), bit(&t, j) ^ bit(&other, j) ^ bit(&choices, j));
        }
    }
}

#[test]
fn base_ots_with_other_than_a_choice_each_are_refused() {
    for bytes in [15, 17] {
        let seeds = (0..128).map(|i| Seed::new([i; 32])).collect();
        let base = Chosen { choices: Zeroizing::new(vec![0xff; bytes]), seeds };
        assert_eq!(Sender::<1>::from_chosen(&base).err(), Some(Error::UnfitBaseOts), "{bytes} bytes");
    }
}

#[test]
fn strings_cut_short_are_told() {
    let seeds: Vec<Seed> = (0..128).map(|i| Seed::new([i; 32])).collect();
    let (mut here, mut there) = memory::pair();
    there.send(&vec![7; bytes(128, 2000) as usize - 1]).unwrap();
    there.flush().unwrap();
    drop(there);
    let mut sender = Sender::<1>::from_base(&[Block::ONES], &seeds).unwrap();
    assert!(matches!(sender.extend(&mut [[Block::ZERO]; 2000], &mut here), Err(Error::Channel(_))));
}
