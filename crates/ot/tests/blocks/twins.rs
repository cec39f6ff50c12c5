//! Each block beside its ideal twin: one check of what the outputs of both parties have to do with one
//! another and of how what a party does not learn is distributed, which the twin passes by its definition and
//! the block has to pass as well.

use std::collections::HashSet;

use super::*;

/// Bits as good as coins': within six standard deviations of one half.
fn assert_even(what: &str, bytes: impl Iterator<Item = u8>) {
    let (ones, bits) = bytes.fold((0u32, 0u32), |(ones, bits), byte| (ones + byte.count_ones(), bits + 8));
    let off = (f64::from(ones) - f64::from(bits) / 2.0).abs();
    assert!(off <= 3.0 * f64::from(bits).sqrt(), "{what}: {ones} of {bits}");
}

fn assert_different<T: std::hash::Hash + Eq>(what: &str, all: impl ExactSizeIterator<Item = T>) {
    let count = all.len();
    assert_eq!(all.collect::<HashSet<_>>().len(), count, "{what}");
}

fn xor<const W: usize>(a: &[Block; W], b: &[Block; W]) -> [Block; W] {
    core::array::from_fn(|word| a[word] ^ b[word])
}

/// The first `columns` bits of each of these rows, a column after the other.
fn assert_even_columns<const W: usize>(what: &str, rows: &[[Block; W]], columns: u32) {
    for i in 0..columns as usize {
        let bits =
            |rows: &[[Block; W]]| (0..8).map(|j| u8::from(rows[j][i / 128].bit(i % 128)) << j).sum::<u8>();
        assert_even(&format!("{what}, column {i}"), rows.chunks_exact(8).map(bits));
    }
}

#[test]
fn base_ots() {
    const COUNT: usize = 40;
    for choices in [[0; COUNT / 8], [0xff; COUNT / 8], *bytes(COUNT / 8, 3).first_chunk().unwrap()] {
        for (name, Base { sender, receiver, .. }) in bases(&choices, COUNT) {
            assert_eq!((sender.len(), receiver.len()), (COUNT, COUNT), "{name}");
            let not_chosen: Vec<&Seed> =
                sender.iter().enumerate().map(|(i, pair)| &pair[1 - bit(&choices, i)]).collect();
            for (i, (pair, chosen)) in sender.iter().zip(&receiver).enumerate() {
                assert!(pair[bit(&choices, i)] == *chosen, "{name}, {i}");
            }
            // The other string: even bits, nothing in common with the receiver's, all strings different.
            assert_even(&name, not_chosen.iter().flat_map(|seed| *seed.as_bytes()));
            let differences = not_chosen.iter().zip(&receiver).flat_map(|(other, own)| {
                (0..32).map(|byte| other.as_bytes()[byte] ^ own.as_bytes()[byte]).collect::<Vec<_>>()
            });
            assert_even(&name, differences);
            assert_different(&name, sender.as_flattened().iter().map(|seed| *seed.as_bytes()));
        }
    }
}

const COUNT: usize = 2400;

/// Nothing, everything, and random choices.
fn choices() -> [Vec<u8>; 3] {
    [vec![0; COUNT / 8], vec![0xff; COUNT / 8], bytes(COUNT / 8, 4)]
}

fn check_rows<const W: usize, E: Extension<W>>(extension: E) {
    for choices in choices() {
        let (name, columns) = (extension.name(), extension.columns());
        let ran = correlated_rows(extension, &choices, COUNT);
        let (delta, q) = &ran.sender;
        for (j, (q, t)) in q.iter().zip(&ran.receiver).enumerate() {
            let expected = delta.map(|block| block & Block::mask(bit(&choices, j) == 1));
            assert!(xor(q, t) == expected, "{name}, row {j}");
        }
        // To the receiver: rows tell nothing of Δ. To the sender: rows are the same whatever was chosen.
        assert_even_columns(&format!("{name}, sender's rows"), q, columns);
        assert_even_columns(&format!("{name}, receiver's rows"), &ran.receiver, columns);
        let width = columns as usize / 8;
        let cut = |row: [Block; W]| Block::slice_as_bytes(&row)[..width].to_vec();
        assert_even(&name, ran.receiver.iter().flat_map(|t| cut(xor(t, delta))));
        assert_even(&format!("{name}, Δ"), cut(*delta).into_iter());
        assert!(Block::slice_as_bytes(delta)[width..].iter().all(|byte| *byte == 0), "{name}");
        assert_different(&name, ran.receiver.iter().map(|row| cut(*row)));

        // The strings of random OTs: the other one has nothing in common with the receiver's, and not Δ with
        // the next.
        let (strings, chosen) = random_strings(&ran);
        let picked = strings.iter().enumerate().map(|(j, pair)| pair[bit(&choices, j)]);
        assert!(picked.eq(chosen.iter().copied()), "{name}");
        let between: Vec<_> = strings.iter().map(|pair| xor(&pair[0], &pair[1])).collect();
        assert_even_columns(&format!("{name}, strings"), &between, 128 * W as u32);
        assert_different(&name, between.iter().map(|row| row.map(Block::to_bytes)));
        assert_different(&name, strings.as_flattened().iter().map(|row| row.map(Block::to_bytes)));
    }
}

#[test]
fn correlated_and_random_ots() {
    for_each_extension!(check_rows());
}

/// The strings that arrive are those that arrive over the ideal twin; x_j,0 of correlated OTs is even, and so
/// is what the receiver has of it.
fn check_strings<const W: usize, E: Extension<W>>(extension: E) {
    let (width, zeros, ones) = (extension.columns() as usize / 8, rows::<W>(COUNT, 5), rows::<W>(COUNT, 6));
    let pairs: Vec<_> = zeros.into_iter().zip(ones).map(|(zero, one)| [zero, one]).collect();
    let cut = |row: &[Block; W]| Block::slice_as_bytes(row)[..width].to_vec();
    for choices in choices() {
        let name = extension.name();
        let ideal = transfer(Ideal(extension.columns()), &choices, &pairs);
        let ran = transfer(extension, &choices, &pairs);
        let [chosen, correlated] = &ran.receiver;
        assert!(*chosen == ideal.receiver[0], "{name}");
        for (j, (zero, string)) in ran.sender.iter().zip(correlated).enumerate() {
            let expected = if bit(&choices, j) == 1 { other(j, zero) } else { *zero };
            assert_eq!(cut(string), cut(&expected), "{name}, {j}");
        }
        for drawn in [&ran.sender, &ideal.sender] {
            assert_even_columns(&format!("{name}, x_j,0"), drawn, 8 * width as u32);
            assert_different(&name, drawn.iter().map(cut));
        }
    }
}

#[test]
fn chosen_and_correlated_strings() {
    for_each_extension!(check_strings());
}

#[test]
fn one_of_many_and_oprf() {
    for (name, Ran { sender: Evaluated { own, other, first }, receiver, .. }) in oprfs() {
        assert!(own == receiver, "{name}");
        let sizes = CALLS.map(|(size, groups)| (size * groups) as u64);
        let expected: Vec<u64> = (0..CALLS.len()).map(|call| sizes[..call].iter().sum()).collect();
        assert_eq!(first, expected, "{name}");
        // At other words: even bits, nothing in common with the receiver's output, and no output twice,
        // though words are.
        assert_even(&name, other.iter().flat_map(|block| block.to_bytes()));
        assert_even(&name, other.iter().zip(&own).flat_map(|(other, own)| (*other ^ *own).to_bytes()));
        let all: Vec<[u8; 16]> = own.iter().chain(&other).map(|block| block.to_bytes()).collect();
        assert_different(&name, all.into_iter());
    }
}

/// Two set-ups in one run, with the same randomness at that, in contexts derived for each: nothing in common.
/// (In one context they would ask the same oracles at the same places, and with the same randomness be one
/// set-up.)
#[test]
fn set_ups_in_contexts_of_their_own_have_nothing_in_common() {
    let derived = |number: u8| context().derive(Label::new("test: set-up"), &[number]);
    let soft_spoken = |context: &Context| {
        let width = Width::Four;
        let ran = run(
            |channel, rng| {
                let mut rows = vec![[Block::ZERO]; COUNT];
                softspoken::Sender::<SemiHonest>::setup(context, width, Origin::default(), channel, rng)?
                    .extend(&mut rows, channel)?;
                Ok(rows)
            },
            |channel, rng| {
                let mut rows = vec![[Block::ZERO]; COUNT];
                softspoken::Receiver::<SemiHonest>::setup(context, width, Origin::default(), channel, rng)?
                    .extend(&[0; COUNT / 8], &mut rows, channel)?;
                Ok(rows)
            },
        );
        assert!(ran.sender == ran.receiver, "nothing is chosen");
        ran.receiver.into_iter().flatten().collect::<Vec<Block>>()
    };
    let kk13 = |context: &Context| {
        let code = WalshHadamard::default;
        let sender = |channel: &mut dyn Channel, rng: &mut Prg| {
            kk13::Sender::setup(code(), context, Origin::default(), channel, rng)
        };
        let receiver = |channel: &mut dyn Channel, rng: &mut Prg| {
            kk13::Receiver::setup(code(), context, Origin::default(), channel, rng)
        };
        oprf(|i| i as u8, |word| !word, sender, receiver).receiver
    };
    let kkrt = |context: &Context| {
        let code = || PseudoRandomCode::new(context, 424);
        let sender = |channel: &mut dyn Channel, rng: &mut Prg| {
            kkrt::Sender::setup(code(), context, Origin::default(), channel, rng)
        };
        let receiver = |channel: &mut dyn Channel, rng: &mut Prg| {
            kkrt::Receiver::setup(code(), context, Origin::default(), channel, rng)
        };
        oprf(|i| Block::from(i as u128), |word| !word, sender, receiver).receiver
    };
    for (name, outputs) in
        [("SoftSpoken", &soft_spoken as &dyn Fn(&Context) -> Vec<Block>), ("KK13", &kk13), ("KKRT", &kkrt)]
    {
        let (one, other) = (outputs(&derived(1)), outputs(&derived(2)));
        assert!(one == outputs(&derived(1)), "{name} repeats");
        assert_even(name, one.iter().zip(&other).flat_map(|(one, other)| (*one ^ *other).to_bytes()));
        assert_different(
            name,
            one.iter().chain(&other).map(|block| block.to_bytes()).collect::<Vec<_>>().into_iter(),
        );
    }
}
