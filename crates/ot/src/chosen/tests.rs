//! Against ideal correlations and real ones.

use super::*;
use crate::base::Origin;
use crate::security::SemiHonest;
use crate::{ideal, iknp};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::thread;
use vesica_channel::shaped::{self, Network};
use vesica_channel::{Stream, memory};

const LABEL: Label = Label::new("test: chosen");
const SETUP: Label = Label::new("test: rows");

fn context() -> Context {
    Context::new(&[2; 32], "test", b"", 1, 1)
}

fn random<const N: usize>(count: usize, seed: u64) -> Vec<[Block; N]> {
    let mut strings = vec![[Block::ZERO; N]; count];
    StdRng::seed_from_u64(seed).fill_bytes(Block::slice_as_mut_bytes(strings.as_flattened_mut()));
    strings
}

/// Chosen, then correlated, then chosen OTs of strings of `width` bytes.
fn run<const W: usize, S: CotSender<W>, R: CotReceiver<W> + Send>(
    width: usize,
    sender: impl FnOnce(&mut dyn Channel) -> S + Send,
    receiver: impl FnOnce(&mut dyn Channel) -> R,
    (mut here, mut there): (Stream, Stream),
) {
    let counts = [9000, 1, 300];
    let pairs = counts.map(|count| {
        let flat = [random::<W>(count, 1), random::<W>(count, 2)];
        (0..count).map(|j| [flat[0][j], flat[1][j]]).collect::<Vec<_>>()
    });
    let offset = random::<W>(9000, 3);
    let bits = Block::slice_as_bytes(&random::<100>(1, 4)[0]).to_vec();
    let expected = |pair: &[[Block; W]; 2], j: usize| {
        let mut string = pair[usize::from(bit(&bits, j))];
        cut(&mut string, width);
        string
    };
    thread::scope(|scope| {
        let (pairs, offset, bits) = (&pairs, &offset, &bits);
        let sending = scope.spawn(move || {
            let mut ot = StringOt::new(&context(), LABEL, width, sender(&mut there));
            ot.send(&pairs[0], &mut there).unwrap();
            let mut zeros = vec![[Block::ZERO; W]; 9000];
            ot.send_correlated(&mut zeros, |j, zero| Block::xor_rows(zero, &offset[j]), &mut there).unwrap();
            ot.send(&pairs[1], &mut there).unwrap();
            ot.send(&pairs[2], &mut there).unwrap();
            zeros
        });
        let mut ot = StringOt::new(&context(), LABEL, width, receiver(&mut here));
        let mut strings = vec![[Block::ZERO; W]; 9000];
        ot.receive(bits, &mut strings, &mut here).unwrap();
        assert!(strings.iter().enumerate().all(|(j, string)| *string == expected(&pairs[0][j], j)));
        let before = here.traffic().payload_received;
        ot.receive_correlated(bits, &mut strings, &mut here).unwrap();
        let middle = here.traffic().payload_received;
        for count in &counts[1..] {
            let mut strings = vec![[Block::ZERO; W]; *count];
            ot.receive(bits, &mut strings, &mut here).unwrap();
            let pairs = &pairs[counts.iter().position(|other| other == count).unwrap()];
            assert!(strings.iter().enumerate().all(|(j, string)| *string == expected(&pairs[j], j)));
        }
        let after = here.traffic().payload_received;
        assert_eq!((middle - before, after - middle), (correlated_bytes(width, 9000), bytes(width, 301)));
        let zeros = sending.join().unwrap();
        for (j, (zero, string)) in zeros.iter().zip(&strings).enumerate() {
            assert!(*string == expected(&[*zero, Block::xor_rows(zero, &offset[j])], j));
        }
    });
}

fn over_iknp<const W: usize>(columns: u32, width: usize, ends: (Stream, Stream)) {
    run::<W, _, _>(
        width,
        |channel| {
            let rng = &mut StdRng::seed_from_u64(5);
            iknp::Sender::<W>::setup(&context(), SETUP, columns, Origin::default(), channel, rng).unwrap()
        },
        |channel| {
            let rng = &mut StdRng::seed_from_u64(6);
            iknp::Receiver::<W>::setup(&context(), SETUP, columns, Origin::default(), channel, rng).unwrap()
        },
        ends,
    );
}

#[test]
fn the_chosen_string_arrives_at_every_level() {
    over_iknp::<1>(80, 10, memory::pair());
    over_iknp::<1>(128, 16, memory::pair());
    over_iknp::<2>(192, 24, memory::pair());
    over_iknp::<2>(256, 32, memory::pair());
}

#[test]
fn a_network_in_between_changes_nothing() {
    let network =
        Network { bandwidth_bits_per_s: Some(1 << 30), round_trip: std::time::Duration::from_millis(4) };
    over_iknp::<1>(128, 16, shaped::pair(network));
}

#[test]
fn it_runs_over_the_ideal_twin() {
    run::<1, _, _>(
        12,
        |channel| ideal::Sender::<1>::setup(&context(), 128, channel, &mut StdRng::seed_from_u64(5)).unwrap(),
        |channel| {
            ideal::Receiver::<1>::setup(&context(), 128, channel, &mut StdRng::seed_from_u64(6)).unwrap()
        },
        memory::pair(),
    );
}

/// A pair that is sent twice, in one call and in two: every string travels under a pad of its own.
#[test]
fn no_pad_is_used_twice() {
    let (mut here, mut there) = memory::pair();
    // Rows that repeat, as if Δ were zero: only the numbers tell the pads apart.
    struct Same;
    impl CotSender<1> for Same {
        type Security = SemiHonest;
        fn delta(&self) -> [Block; 1] {
            [Block::ZERO]
        }
        fn extend(&mut self, rows: &mut [[Block; 1]], _: &mut dyn Channel) -> Result<(), Error> {
            rows.fill([Block::ONES]);
            Ok(())
        }
    }
    let mut sender = StringOt::new(&context(), LABEL, 16, Same);
    for count in [3, 1, 9000] {
        sender.send(&vec![[[Block::ZERO]; 2]; count], &mut here).unwrap();
    }
    let mut pads = std::collections::HashSet::new();
    for _ in 0..9004 {
        let mut pair = [[0; 16]; 2];
        there.recv_exact(pair.as_flattened_mut()).unwrap();
        assert_eq!(pair[0], pair[1]);
        assert!(pads.insert(pair[0]));
    }
}
