use super::*;
use crate::wide_prg::WidePrg;
use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use std::collections::HashSet;

const LABEL: Label = Label::new("test: gates");

/// Not multiples of the gates in flight, and more than a batch.
const COUNTS: [usize; 7] = [0, 1, 15, 16, 17, 64, 300];

fn context() -> Context {
    Context::new(&[4; 32], "test", b"", 1, 1)
}

/// Both parties' views of a row of wires.
#[derive(Clone)]
struct Row<const W: usize> {
    zeros: Vec<[Block; W]>,
    bits: Vec<bool>,
}

struct Setting<const W: usize> {
    bits: u32,
    delta: [Block; W],
    prg: WidePrg,
}

impl<const W: usize> Setting<W> {
    fn new(bits: u32) -> Self {
        let mut setting =
            Setting { bits, delta: [Block::ZERO; W], prg: WidePrg::from_seed(&[bits as u8; 32]) };
        setting.delta = setting.labels(1)[0];
        setting.delta[0] = setting.delta[0] & !Block::from(1u128) ^ Block::from(1u128);
        setting
    }

    fn labels(&mut self, count: usize) -> Vec<[Block; W]> {
        let mut labels = vec![[Block::ZERO; W]; count];
        for label in &mut labels {
            self.prg.fill(&mut Block::slice_as_mut_bytes(label)[..self.bits as usize / 8]);
        }
        labels
    }

    fn row(&mut self, count: usize) -> Row<W> {
        let mut bits = vec![0; count];
        self.prg.fill(&mut bits);
        Row { zeros: self.labels(count), bits: bits.iter().map(|byte| byte & 1 == 1).collect() }
    }

    fn active(&self, row: &Row<W>) -> Vec<[Block; W]> {
        let labels = row.zeros.iter().zip(&row.bits);
        labels.map(|(zero, bit)| if *bit { Block::xor_rows(zero, &self.delta) } else { *zero }).collect()
    }

    fn gates(&self, backend: Backend) -> HalfGates<W> {
        HalfGates::of(&context(), LABEL, self.bits).with_backend(backend)
    }
}

type Garbled<const W: usize> = (Vec<[[Block; W]; 2]>, Vec<[Block; W]>);

fn garble<const W: usize>(
    gates: &mut HalfGates<W>,
    delta: &[Block; W],
    a: &Row<W>,
    b: &Row<W>,
) -> Garbled<W> {
    let (mut tables, mut out) =
        (vec![[[Block::ONES; W]; 2]; a.zeros.len()], vec![[Block::ONES; W]; a.zeros.len()]);
    gates.garble(delta, &a.zeros, &b.zeros, &mut tables, &mut out);
    (tables, out)
}

fn garble_private<const W: usize>(
    gates: &mut HalfGates<W>,
    delta: &[Block; W],
    selected: &[bool],
    x: &Row<W>,
) -> (Vec<[Block; W]>, Vec<[Block; W]>) {
    let (mut tables, mut out) =
        (vec![[Block::ONES; W]; x.zeros.len()], vec![[Block::ONES; W]; x.zeros.len()]);
    let selected: Vec<_> = selected.iter().map(|bit| delta.map(|block| block & Block::mask(*bit))).collect();
    gates.garble_private(delta, &selected, &x.zeros, &mut tables, &mut out);
    (tables, out)
}

/// The evaluator gets the right label, whatever the labels' permute bits are; all back ends make the same bytes, and
/// labels have no bits beyond their length.
fn evaluates<const W: usize>(bits: u32) {
    for count in COUNTS {
        let mut garbled = HashSet::new();
        for backend in Backend::available() {
            let mut setting = Setting::<W>::new(bits);
            let (mut garbler, mut evaluator) = (setting.gates(backend), setting.gates(backend));
            let (a, b) = (setting.row(count), setting.row(count));
            let (tables, zeros) = garble(&mut garbler, &setting.delta, &a, &b);
            let mut labels = vec![[Block::ONES; W]; count];
            // In two calls, which the garbler did in one.
            let (a_labels, b_labels, some) = (setting.active(&a), setting.active(&b), count / 3);
            evaluator.evaluate(&a_labels[..some], &b_labels[..some], &tables[..some], &mut labels[..some]);
            evaluator.evaluate(&a_labels[some..], &b_labels[some..], &tables[some..], &mut labels[some..]);
            let anded = (0..count).map(|i| a.bits[i] & b.bits[i]).collect();
            let result = Row { zeros: zeros.clone(), bits: anded };
            assert!(labels == setting.active(&result), "{bits} {count} {backend:?}");

            let (rows, private) = garble_private(&mut garbler, &setting.delta, &a.bits, &b);
            evaluator.evaluate_private(&b_labels, &rows, &mut labels);
            let result = Row { zeros: private, bits: result.bits };
            assert!(labels == setting.active(&result), "private {bits} {count} {backend:?}");

            let mut bytes = Vec::new();
            for rows in [tables.as_flattened(), &zeros, &rows, &result.zeros] {
                for row in rows {
                    let row = Block::slice_as_bytes(row);
                    assert!(row[bits as usize / 8..].iter().all(|byte| *byte == 0));
                    bytes.extend_from_slice(row);
                }
            }
            garbled.insert(bytes);
        }
        assert_eq!(garbled.len(), 1);
    }
}

#[test]
fn labels_of_outputs_are_those_of_the_and() {
    evaluates::<1>(80);
    evaluates::<1>(112);
    evaluates::<1>(128);
    evaluates::<2>(192);
    evaluates::<2>(256);
}

/// The formulas of the module's documentation, one call of the cipher after the other.
#[test]
fn narrow_tables_follow_their_formulas() {
    for bits in [80, 112, 128] {
        let mut setting = Setting::<1>::new(bits);
        let (a, b) = (setting.row(20), setting.row(20));
        let mut start = [0; 16];
        context().hash(LABEL, b"", &mut start);
        let (low, high) = Block::from(start).to_halves();
        let mask = u128::MAX >> (128 - bits);
        let hash = |x: u128, j: u64| {
            let key = Block::from_halves(low.wrapping_add(j), high);
            let (x_low, x_high) = (x as u64, (x >> 64) as u64);
            let turned = u128::from(x_high) | u128::from(x_low ^ x_high) << 64;
            let mut block = turned.to_le_bytes();
            Aes128::new(key.as_bytes().into()).encrypt_block((&mut block).into());
            (u128::from_le_bytes(block) ^ turned) & mask
        };
        let delta = setting.delta[0].to_u128();
        let (tables, zeros) = garble(&mut setting.gates(Backend::detect()), &setting.delta, &a, &b);
        for (i, j) in (0..20).zip((0..).step_by(2)) {
            let (a, b) = (a.zeros[i][0].to_u128(), b.zeros[i][0].to_u128());
            let t_g = hash(a, j) ^ hash(a ^ delta, j) ^ ((b & 1) * delta);
            let t_e = hash(b, j + 1) ^ hash(b ^ delta, j + 1) ^ a;
            let c = hash(a, j) ^ ((a & 1) * t_g) ^ hash(b, j + 1) ^ ((b & 1) * (t_e ^ a));
            assert_eq!([tables[i][0][0], tables[i][1][0], zeros[i][0]].map(Block::to_u128), [t_g, t_e, c]);
        }
    }
}

/// So that no label, table or hash changes unnoticed: the digest of gates of both kinds.
fn digest<const W: usize>(bits: u32) -> String {
    let mut setting = Setting::<W>::new(bits);
    let mut gates = setting.gates(Backend::detect());
    let (a, b) = (setting.row(100), setting.row(100));
    let mut hasher = blake3::Hasher::new();
    let (tables, zeros) = garble(&mut gates, &setting.delta, &a, &b);
    let (rows, private) = garble_private(&mut gates, &setting.delta, &a.bits, &b);
    for rows in [tables.as_flattened(), &zeros, &rows, &private] {
        hasher.update(Block::slice_as_bytes(rows.as_flattened()));
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

#[test]
fn known_answers() {
    let digests = [digest::<1>(80), digest::<1>(128), digest::<2>(192), digest::<2>(256)];
    assert_eq!(digests, ["25dc8bcb960ab86c", "032f56c6b2a04999", "88b3169f8b320cd9", "7c9dfe2d2b6ba599"]);
}

/// Gates with the same inputs have other tables and labels: every half has its own number. The two halves of a gate
/// a ∧ a have one input label and differ too.
fn no_number_is_used_twice<const W: usize>(bits: u32) {
    for backend in Backend::available() {
        let mut setting = Setting::<W>::new(bits);
        let mut gates = setting.gates(backend);
        let one = setting.row(1);
        let same = Row { zeros: vec![one.zeros[0]; 100], bits: vec![one.bits[0]; 100] };
        let mut seen = HashSet::new();
        for _ in 0..2 {
            let (tables, zeros) = garble(&mut gates, &setting.delta, &same, &same);
            let (rows, private) = garble_private(&mut gates, &setting.delta, &[false; 100], &same);
            for table in tables {
                // Without the input label and p·Δ, these are H(A) ⊕ H(A ⊕ Δ) under two keys.
                let offset = if same.zeros[0][0].bit(0) { setting.delta } else { [Block::ZERO; W] };
                assert!(seen.insert(Block::xor_rows(&table[0], &offset).map(Block::to_bytes)));
                assert!(seen.insert(Block::xor_rows(&table[1], &same.zeros[0]).map(Block::to_bytes)));
            }
            let mut others = zeros.iter().chain(&rows).chain(&private);
            assert!(others.all(|row| seen.insert(row.map(Block::to_bytes))));
        }
    }
}

#[test]
fn flaw_a_number_for_each_half() {
    no_number_is_used_twice::<1>(80);
    no_number_is_used_twice::<1>(128);
    no_number_is_used_twice::<2>(192);
    no_number_is_used_twice::<2>(256);
}

#[test]
fn context_and_label_count() {
    let mut setting = Setting::<1>::new(128);
    let (a, b) = (setting.row(1), setting.row(1));
    let other = Context::new(&[5; 32], "test", b"", 1, 1);
    let tables = [(context(), LABEL), (other, LABEL), (context(), Label::new("test: others"))]
        .map(|(context, label)| garble(&mut HalfGates::of(&context, label, 128), &setting.delta, &a, &b).0);
    assert!(tables[0] != tables[1] && tables[0] != tables[2]);
}
