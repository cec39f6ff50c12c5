use super::*;
use crate::security::Security;
use crate::testing::credible;
use vesica_channel::memory;

const CHECKS: [Combination; 2] = [Combination::Rows, Combination::Columns];

fn context() -> Context {
    Context::new(&[6; 32], "test", b"", 1, 2)
}

/// Nothing that needs malicious OTs compiles with the check whose proof is wrong.
#[test]
fn flaw_the_unproven_check_passes_for_malicious() {
    fn model<S: CotSender<1>, R: CotReceiver<1>>() -> [Security; 2] {
        [S::Security::SECURITY, R::Security::SECURITY]
    }
    assert_eq!(model::<Sender<PublishedUnproven>, Receiver<PublishedUnproven>>(), [Security::SemiHonest; 2]);
    assert_eq!(model::<Sender<Revised>, Receiver<Revised>>(), [Security::Malicious; 2]);
    assert_eq!(Combination::of::<Revised>(), Combination::Columns);
}

/// Both parties, from dealt base OTs, with either check.
fn ends(combination: Combination, rng: &mut Prg) -> (Receiver<Revised>, Sender<Revised>) {
    let delta = rng.block();
    let mut seed = || {
        let mut bytes = [0; 32];
        rng.fill(&mut bytes);
        Seed::new(bytes)
    };
    let pairs: Vec<[Seed; 2]> = (0..ROWS).map(|_| [seed(), seed()]).collect();
    let chosen: Vec<Seed> =
        pairs.iter().enumerate().map(|(i, pair)| pair[usize::from(delta.bit(i))].clone()).collect();
    let mut receiver = Receiver::from_base(&context(), &pairs, rng).unwrap();
    let mut sender = Sender::from_base(&context(), delta, &chosen).unwrap();
    (receiver.combination, sender.combination) = (combination, combination);
    (receiver, sender)
}

fn assert_correlated(delta: Block, choices: &[u8], t: &[[Block; 1]], q: &[[Block; 1]]) {
    for (j, (t, q)) in t.iter().zip(q).enumerate() {
        assert!(q[0] == t[0] ^ (delta & Block::mask(bit(choices, j) == 1)), "row {j}");
    }
}

#[test]
fn rows_are_correlated_at_every_length() {
    for combination in CHECKS {
        let mut rng = Prg::from_seed([1; 16]);
        let (mut receiver, mut sender) = ends(combination, &mut rng);
        let (mut here, mut there) = memory::pair();
        for count in [0, 1, 127, 128, 129, 1000, 1024, 1025, CHUNK - 1, CHUNK + 1, 2 * CHUNK] {
            let mut choices = vec![0; usize::div_ceil(count, 8)];
            rng.fill(&mut choices);
            let (mut t, mut q) = (vec![[Block::ZERO]; count], vec![[Block::ZERO]; count]);
            let before = here.traffic().payload_sent;
            receiver.extend(&choices, &mut t, &mut here).unwrap();
            assert_eq!(here.traffic().payload_sent - before, bytes(count));
            sender.extend(&mut q, &mut there).unwrap();
            assert_correlated(sender.delta()[0], &choices, &t, &q);
        }
    }
}

#[test]
fn runs_over_a_channel_from_base_ots_on() {
    let (mut here, mut there) = memory::pair();
    let (count, choices) = (3000, vec![0x5a; 375]);
    let (t, (delta, q)) = std::thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let rng = &mut Prg::from_seed([1; 16]);
            let mut receiver =
                Receiver::<Revised>::setup(&context(), KeyAgreement::default(), &mut here, rng)?;
            assert_eq!(
                [here.traffic().payload_received, here.traffic().payload_sent],
                setup_bytes(KeyAgreement::default())
            );
            let mut t = vec![[Block::ZERO]; count];
            receiver.extend(&choices, &mut t, &mut here)?;
            Ok::<_, Error>(t)
        });
        let mut sender = Sender::<Revised>::setup(
            &context(),
            KeyAgreement::default(),
            &mut there,
            &mut Prg::from_seed([2; 16]),
        )
        .unwrap();
        let mut q = vec![[Block::ZERO]; count];
        sender.extend(&mut q, &mut there).unwrap();
        (receiver.join().unwrap().unwrap(), (sender.delta()[0], q))
    });
    assert_correlated(delta, &choices, &t, &q);
}

#[test]
fn bytes_do_not_depend_on_threads() {
    for combination in CHECKS {
        let digest = |threads| {
            let mut rng = Prg::from_seed([4; 16]);
            let (receiver, sender) = ends(combination, &mut rng);
            let (mut receiver, mut sender) = (receiver.with_threads(threads), sender.with_threads(threads));
            let (mut here, mut there) = memory::pair();
            let (count, choices) = (CHUNK + 20_000, vec![0x35; (CHUNK + 20_000) / 8]);
            let (mut t, mut q) = (vec![[Block::ZERO]; count], vec![[Block::ZERO]; count]);
            receiver.extend(&choices, &mut t, &mut here).unwrap();
            sender.extend(&mut q, &mut there).unwrap();
            assert_correlated(sender.delta()[0], &choices, &t, &q);
            here.digests().sent
        };
        assert!(digest(1) == digest(3));
    }
}

/// The combinations follow their formulas, one bit at a time.
#[test]
fn combinations_follow_their_formulas() {
    let mut rng = Prg::from_seed([5; 16]);
    let count = PIECE + TILE + 300;
    let mut rows = vec![[Block::ZERO]; count];
    rng.fill_blocks(rows.as_flattened_mut());
    let mut choices = vec![0; count.div_ceil(8)];
    rng.fill(&mut choices);
    let hidden: Vec<[Block; 1]> = (0..HIDDEN).map(|_| [rng.block()]).collect();
    let hidden_choices = [0xc3; HIDDEN / 8];
    let seed = [9; 16];
    let pieces = [
        (&rows[..PIECE], &choices[..PIECE / 8]),
        (&rows[PIECE..], &choices[PIECE / 8..]),
        (&hidden[..], &hidden_choices[..]),
    ];
    for combination in CHECKS {
        let mut expected = combination.empty();
        for (index, (rows, choices)) in pieces.iter().enumerate() {
            let mut stream = Prg::fork(seed, index as u64);
            let mut factor = Block::ZERO;
            for (j, row) in rows.iter().enumerate() {
                let chosen = bit(choices, j) == 1;
                if combination == Combination::Rows {
                    factor = stream.block();
                    expected.rows[0] ^= (Gf128::from(factor) * Gf128::from(row[0])).to_block();
                    expected.choices ^= factor & Block::mask(chosen);
                    continue;
                }
                if j % Block::BITS == 0 {
                    factor = stream.block();
                }
                // χ_p · X^(j mod 128), the share of bit j in its block.
                let share = (Gf128::from(factor) * Gf128::from(Block::from(1u128 << (j % 128)))).to_block();
                for (i, sum) in expected.rows.iter_mut().enumerate() {
                    *sum ^= share & Block::mask(row[0].bit(i));
                }
                expected.choices ^= share & Block::mask(chosen);
            }
        }
        let sums = combination.sums(seed, [&rows, &hidden], Some([&choices, &hidden_choices]), 2);
        assert!(sums.rows == expected.rows && sums.choices == expected.choices, "{combination:?}");
        assert!(combination.sums(seed, [&rows, &hidden], None, 1).choices == Block::ZERO);
    }
}

/// Another choice in some columns of some rows.
#[derive(Clone, Copy)]
struct Deviation {
    row: usize,
    columns: u128,
}

/// The sender's result for 256 rows of a receiver that deviates, having seen its honest message, and answers
/// the check as if Δ were `guess`; and whether the guess is right. Columns of so few rows are two blocks each.
fn cheat(
    combination: Combination,
    rng: &mut Prg,
    deviate: impl FnOnce(&mut Receiver<Revised>, &[u8]) -> Vec<Deviation>,
) -> (Result<(), Error>, bool) {
    const COUNT: usize = 2 * Block::BITS;
    let (mut receiver, mut sender) = ends(combination, rng);
    let (mut choices, guess) = ([0; COUNT / 8], rng.block());
    rng.fill(&mut choices);
    let (mut t, mut q, mut message) = ([[Block::ZERO]; COUNT], [[Block::ZERO]; COUNT], Vec::new());
    let hidden = receiver.corrections(&choices, &mut t, &mut message).unwrap();
    let delta = sender.delta()[0];
    let mut right = true;
    for Deviation { row, columns } in deviate(&mut receiver, &message) {
        for i in (0..ROWS).filter(|i| columns >> i & 1 == 1) {
            message[i * COUNT / 8 + row / 8] ^= 1 << (row % 8);
        }
        // q_j = t_j ⊕ x_j·Δ ⊕ (e_j ∗ Δ)
        t[row][0] ^= guess & Block::from(columns);
        right &= (guess ^ delta) & Block::from(columns) == Block::ZERO;
    }
    receiver.answer(&choices, &t, &hidden, &mut message);
    let (mut here, mut there) = memory::pair();
    here.send(&message).unwrap();
    here.flush().unwrap();
    let result = sender.extend(&mut q, &mut there);
    if result.is_ok() {
        assert_correlated(delta, &choices, &t, &q);
    } else {
        assert!(q.iter().all(|row| row[0] == Block::ZERO), "no unchecked row is left");
        // No further chunk is waited for: one that is would find the connection closed.
        drop(here);
        assert_eq!(sender.extend(&mut q, &mut there), Err(Error::Inconsistent));
    }
    (result, right)
}

/// A receiver whose columns differ passes if it guesses Δ in these columns, and only then.
#[test]
fn each_column_with_another_choice_is_a_guess_of_its_bit() {
    let one = |columns| vec![Deviation { row: 5, columns }];
    let two = |columns| vec![Deviation { row: 0, columns }, Deviation { row: 255, columns }];
    let cases = [
        (one(1), 1),
        (one(1 << 127 | 1 << 64), 2),
        (two(0b111 << 40), 3),
        (vec![Deviation { row: 3, columns: 1 << 9 }, Deviation { row: 4, columns: 1 << 10 }], 2),
    ];
    for combination in CHECKS {
        for (number, (deviations, columns)) in cases.iter().enumerate() {
            let mut rng = Prg::from_seed([number as u8; 16]);
            let (runs, mut accepted) = (300, 0);
            for _ in 0..runs {
                let (result, right) = cheat(combination, &mut rng, |_, _| deviations.clone());
                assert_eq!(result.is_ok(), right, "{combination:?}, case {number}");
                accepted += usize::from(right);
            }
            let probability = 0.5f64.powi(*columns);
            assert!(credible(accepted, runs, probability), "{combination:?}: {accepted} of {runs}");
        }
    }
}

/// Many columns with another choice are never accepted.
#[test]
fn a_row_of_another_choice_in_half_of_the_columns_is_noticed() {
    for combination in CHECKS {
        let rng = &mut Prg::from_seed([12; 16]);
        let half = |row| Deviation { row, columns: u128::MAX >> 64 };
        for deviations in [vec![half(0)], (0..256).map(half).collect()] {
            assert_eq!(cheat(combination, rng, |_, _| deviations).0, Err(Error::Inconsistent));
        }
    }
}

/// Errors that the coefficients of the honest message take to zero: they would pass whatever Δ is, if the
/// coefficients did not depend on the message.
#[test]
fn errors_that_fit_coefficients_known_before_are_noticed() {
    for combination in CHECKS {
        let (mut rng, mut wrong) = (Prg::from_seed([13; 16]), 0);
        for column in [0, 1, 2, 3, 77, 125, 126, 127] {
            let (result, right) = cheat(combination, &mut rng, |receiver, message| {
                let seed = receiver.check.seed(message);
                receiver.check.chunk -= 1;
                let rows = cancelling(combination, seed);
                assert!(rows.len() > 1);
                rows.into_iter().map(|row| Deviation { row, columns: 1 << column }).collect()
            });
            assert_eq!(result.is_ok(), right, "{combination:?}, column {column}");
            wrong += usize::from(!right);
        }
        assert!(wrong > 0);
    }
}

/// Rows whose coefficients add up to zero.
fn cancelling(combination: Combination, seed: [u8; 16]) -> Vec<usize> {
    let mut stream = Prg::fork(seed, 0);
    let mut factors = [Block::ZERO; 256];
    stream.fill_blocks(&mut factors);
    // A vector for each leading bit, and the rows that it is the sum of.
    let mut pivots = [(0u128, [0u128; 2]); 128];
    for row in 0..256 {
        let power = Gf128::from(Block::from(1u128 << (row % 128)));
        let mut value = match combination {
            Combination::Rows => factors[row].to_u128(),
            Combination::Columns => (Gf128::from(factors[row / 128]) * power).to_block().to_u128(),
        };
        let mut members = [0; 2];
        members[row / 128] = 1 << (row % 128);
        while let Some(bit) = value.checked_ilog2() {
            let (other, theirs) = &mut pivots[bit as usize];
            if *other == 0 {
                (*other, *theirs) = (value, members);
                break;
            }
            value ^= *other;
            (0..2).for_each(|half| members[half] ^= theirs[half]);
        }
        if value == 0 {
            return (0..256).filter(|row| members[row / 128] >> (row % 128) & 1 == 1).collect();
        }
    }
    Vec::new()
}

#[test]
fn every_byte_of_the_check_counts() {
    for combination in CHECKS {
        let choices = [0x99; 16];
        for byte in 0..Block::BYTES + HASH {
            let (mut receiver, mut sender) = ends(combination, &mut Prg::from_seed([14; 16]));
            let (mut t, mut q, mut message) = ([[Block::ZERO]; 128], [[Block::ZERO]; 128], Vec::new());
            let hidden = receiver.corrections(&choices, &mut t, &mut message).unwrap();
            receiver.answer(&choices, &t, &hidden, &mut message);
            let checked = message.len() - Block::BYTES - HASH;
            message[checked + byte] ^= 0x10;
            let (mut here, mut there) = memory::pair();
            here.send(&message).unwrap();
            here.flush().unwrap();
            assert_eq!(sender.extend(&mut q, &mut there), Err(Error::Inconsistent), "byte {byte}");
        }
    }
}

#[test]
fn other_numbers_of_base_ots_are_refused() {
    let rng = &mut Prg::from_seed([15; 16]);
    let seed = || Seed::new([1; 32]);
    let pairs: Vec<[Seed; 2]> = (0..80).map(|_| [seed(), seed()]).collect();
    assert!(matches!(Receiver::<Revised>::from_base(&context(), &pairs, rng), Err(Error::UnfitBaseOts)));
    let base = Sender::<Revised>::from_base(&context(), Block::ONES, &[seed()]);
    assert!(matches!(base, Err(Error::UnfitBaseOts)));
}
