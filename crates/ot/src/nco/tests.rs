//! Base OTs by a dealer, and the checks that every code has to pass.

use super::columns::Scratch;
use super::*;
use vesica_channel::{Channel, Stream, memory};
use vesica_crypto::hash::Context;
use vesica_crypto::prg::Prg;

pub(crate) fn context() -> Context {
    Context::new(&[3; 32], "test", b"", 5, 6)
}

pub(crate) fn distance<const W: usize>(a: &[Block; W], b: &[Block; W]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (*a ^ *b).to_u128().count_ones()).sum()
}

/// Both parties, and the channel between them.
pub(crate) struct Pair<C, const W: usize> {
    pub(crate) receiver: Receiver<C, W>,
    pub(crate) sender: Sender<C, W>,
    ends: [Stream; 2],
}

/// Two parties whose base OTs a dealer did.
pub(crate) fn dealt<C: Code<W>, const W: usize>(code: impl Fn() -> C) -> Pair<C, W> {
    let mut rng = Prg::from_seed([8; 16]);
    let columns = code().columns();
    let pairs: Vec<[Block; 2]> = (0..columns).map(|_| [rng.block(), rng.block()]).collect();
    let mut secret = [Block::ZERO; W];
    rng.fill(&mut Block::slice_as_mut_bytes(&mut secret)[..columns / 8]);
    let bit = |i: usize| usize::from(secret[i / Block::BITS].bit(i % Block::BITS));
    let chosen: Vec<Block> = pairs.iter().enumerate().map(|(i, pair)| pair[bit(i)]).collect();
    let (a, b) = memory::pair();
    Pair {
        receiver: Receiver::from_seeds(code(), &context(), &pairs).unwrap(),
        sender: Sender::from_seeds(code(), &context(), &secret, &chosen).unwrap(),
        ends: [a, b],
    }
}

impl<C: Code<W>, const W: usize> Pair<C, W> {
    pub(crate) fn run(&mut self, words: &[C::Word], outputs: &mut [Block], rows: &mut [[Block; W]]) {
        let [a, b] = &mut self.ends;
        self.receiver.extend_groups(1, words, outputs, a).unwrap();
        a.flush().unwrap();
        self.sender.extend(rows, b.split().1).unwrap();
    }
}

/// The sender computes the receiver's outputs at the receiver's words, and others at other words; in pieces
/// of any size, all OTs of different numbers. The traffic is k/8 bytes an OT.
pub(crate) fn check_parties_agree<C: Code<W>, const W: usize>(
    code: impl Fn() -> C,
    words: &[C::Word],
    other: impl Fn(C::Word) -> C::Word,
) {
    let mut pair = dealt(&code);
    let mut outputs = vec![Block::ZERO; words.len()];
    let mut start = 0;
    for piece in [0, 1, 2, 1023, 1024, 1025].into_iter().chain([words.len()]) {
        let end = (start + piece).min(words.len());
        let mut rows = vec![[Block::ZERO; W]; end - start];
        let first = pair.sender.next();
        assert_eq!(first, start as u64);
        pair.run(&words[start..end], &mut outputs[start..end], &mut rows);
        let queries = |other: &dyn Fn(C::Word) -> C::Word| {
            let words: Vec<_> = words[start..end].iter().map(|word| other(*word)).collect();
            let at: Vec<u32> = (0..words.len() as u32).collect();
            let mut found = vec![Block::ZERO; words.len()];
            pair.sender.evaluate_groups(1, first, &rows, &at, &words, &mut found);
            found
        };
        assert_eq!(queries(&|word| word), outputs[start..end]);
        let others = queries(&other);
        assert!(others.iter().zip(&outputs[start..end]).all(|(a, b)| a != b));
        start = end;
    }
    assert_eq!(start, words.len());
    let bytes = (words.len() * code().columns() / 8) as u64;
    assert_eq!(pair.ends[0].traffic().payload_sent, bytes);
}

/// The codewords of these words.
pub(crate) fn codewords<C: Code<W>, const W: usize>(code: &C, words: &[C::Word]) -> Vec<[Block; W]> {
    let mut codewords = vec![[Block::ZERO; W]; words.len()];
    code.add(words, &mut codewords);
    codewords
}

#[test]
fn a_row_is_what_the_identity_says() {
    // q = t0 ⊕ s ∧ C(w), with the rows of a code whose columns end within a block.
    let code = || crate::kkrt::PseudoRandomCode::new(&context(), 424);
    let mut pair = dealt(code);
    let words = [Block::ONES; 1500];
    let (mut outputs, mut rows) = (vec![Block::ZERO; 1500], vec![[Block::ZERO; 4]; 1500]);
    pair.run(&words, &mut outputs, &mut rows);
    let codeword = codewords(&code(), &words[..1])[0];
    for (tile, rows) in (0..).zip(rows.chunks(TILE)) {
        let Scratch { bits, rows: [zero, _] } = &mut Scratch::<4>::new();
        pair.receiver.pair[0].tile(tile, bits, zero);
        for (j, q) in rows.iter().enumerate() {
            for block in 0..4 {
                assert_eq!(q[block], zero[block][j] ^ pair.sender.secret.0[block] & codeword[block]);
            }
        }
    }
}

/// The output of a group by its definition: the hash of its rows, each moved by s ∧ C(v), filled up with
/// zeros, with the number of the first row on the last six bytes.
fn by_definition<const W: usize>(
    oracle: &Oracle,
    secret: &[Block; W],
    rows: &[[Block; W]],
    codewords: &[[Block; W]],
    number: u64,
) -> Block {
    let mut input = Vec::new();
    for (q, codeword) in rows.iter().zip(codewords) {
        (0..W).for_each(|block| input.extend((q[block] ^ secret[block] & codeword[block]).to_bytes()));
    }
    input.resize(input.len().next_multiple_of(64), 0);
    let end = input.len() - 6;
    (0..6).for_each(|i| input[end + i] ^= (number >> (8 * i)) as u8);
    let mut output = Block::ZERO;
    oracle.hash(&input, output.as_mut_bytes());
    output
}

/// Groups of these sizes, one call after the other: the receiver has what the definition says of its words,
/// the sender of any others, and a word that differs in one character gives something else. Rows and bytes
/// are those of single OTs.
pub(crate) fn check_groups<C: Code<W>, const W: usize>(
    code: impl Fn() -> C,
    sizes: &[usize],
    word: impl Fn(usize) -> C::Word,
    other: impl Fn(C::Word) -> C::Word,
) {
    let mut pair = dealt(&code);
    let mut sent = 0;
    for size in sizes.iter().copied() {
        for count in [0, 1, 17, 700, 1024] {
            let words: Vec<_> = (0..size * count).map(|i| word(i + size)).collect();
            let (mut outputs, first) = (vec![Block::ZERO; count], pair.sender.next());
            let mut rows = vec![[Block::ZERO; W]; words.len()];
            let [a, b] = &mut pair.ends;
            pair.receiver.extend_groups(size, &words, &mut outputs, a).unwrap();
            a.flush().unwrap();
            pair.sender.extend(&mut rows, b.split().1).unwrap();
            sent += words.len();
            assert_eq!(first + words.len() as u64, pair.sender.next());

            let at: Vec<u32> = (0..count).map(|group| (group * size) as u32).collect();
            let mut found = vec![Block::ZERO; count];
            pair.sender.evaluate_groups(size, first, &rows, &at, &words, &mut found);
            assert_eq!(found, outputs);
            // Backwards, each group at a word whose character number `group` is another.
            let at: Vec<u32> = at.into_iter().rev().collect();
            let mut others: Vec<_> = words.chunks(size).rev().flatten().copied().collect();
            others.chunks_mut(size).enumerate().for_each(|(group, word)| {
                word[group % size] = other(word[group % size]);
            });
            pair.sender.evaluate_groups(size, first, &rows, &at, &others, &mut found);
            assert!(found.iter().rev().zip(&outputs).all(|(other, own)| other != own));
            let codewords = codewords(&code(), &others);
            for ((at, output), codewords) in at.iter().zip(&found).zip(codewords.chunks(size)) {
                let (rows, number) = (&rows[*at as usize..][..size], first + u64::from(*at));
                let secret = &pair.sender.secret.0;
                assert_eq!(by_definition(&pair.sender.oracle, secret, rows, codewords, number), *output);
            }
        }
    }
    let bytes = (sent * code().columns() / 8) as u64;
    assert_eq!(pair.ends[0].traffic().payload_sent, bytes);
}

#[test]
fn equal_rows_of_other_groups_have_other_outputs() {
    // The rows of a group again, as if they were those of another one: what tells the two apart is the number
    // alone.
    for size in [1, 2, 3, 8] {
        let pair = dealt(crate::kk13::WalshHadamard::default);
        let rows = vec![[Block::ONES; 2]; 2 * size];
        let (words, mut outputs) = (vec![7; 2 * size], [Block::ZERO; 2]);
        pair.sender.evaluate_groups(size, 0, &rows, &[0, size as u32], &words, &mut outputs);
        assert_ne!(outputs[0], outputs[1]);
    }
}

#[test]
fn rows_of_a_group_are_not_summed() {
    // Flawed: H of the sum of a group's rows. The code is linear, so words with the same sum of characters
    // have the same sum of codewords, and the receiver of one has the other's output. Ours: side by side.
    let code = crate::kk13::WalshHadamard::default;
    let mut pair = dealt(code);
    let (mine, other) = ([0x12, 0x34], [0x12 ^ 0x55, 0x34 ^ 0x55]);
    let (mut output, mut rows) = ([Block::ZERO], [[Block::ZERO; 2]; 2]);
    let [a, b] = &mut pair.ends;
    pair.receiver.extend_groups(2, &mine, &mut output, a).unwrap();
    a.flush().unwrap();
    pair.sender.extend(&mut rows, b.split().1).unwrap();
    let summed = |words: &[u8; 2]| {
        let codewords = codewords(&code(), words);
        let sum = |block: usize| {
            let secret = pair.sender.secret.0[block];
            rows[0][block] ^ rows[1][block] ^ secret & (codewords[0][block] ^ codewords[1][block])
        };
        [sum(0), sum(1)]
    };
    assert!(summed(&mine) == summed(&other), "so are their hashes");
    let mut found = [Block::ZERO; 2];
    let words = [mine, other].concat();
    pair.sender.evaluate_groups(2, 0, &rows, &[0, 0], &words, &mut found);
    assert_eq!(found[0], output[0]);
    assert_ne!(found[1], output[0]);
}
