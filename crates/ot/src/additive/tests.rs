//! Against ideal correlations and real ones.

use super::*;
use crate::base::KeyAgreement;
use crate::security::{Profile, SemiHonest};
use crate::{ideal, silent};
use rand::{Rng, SeedableRng, rngs::StdRng};
use std::thread;
use vesica_channel::memory;
use vesica_crypto::prg::Prg;

const LABEL: Label = Label::new("test: products");

fn context() -> Context {
    Context::new(&[3; 32], "test", b"", 1, 1)
}

/// Bits and numbers, of which some have more bits than k.
fn inputs(count: usize, seed: u64) -> (Vec<u8>, Vec<u128>) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut bits = vec![0; count.div_ceil(8)];
    rng.fill_bytes(&mut bits);
    (bits, (0..count).map(|_| u128::from(rng.next_u64()) * 0x1_0000_0000_0001).collect())
}

/// The shares of both, and the bytes that the sender sends for the products alone.
fn shares(k: u32, (choices, numbers): (&[u8], &[u128]), seed: u8, over_ideal: bool) -> ([u128; 2], u64) {
    let (mut here, mut there) = memory::pair();
    let (context, count) = (&context(), numbers.len());
    thread::scope(|scope| {
        let sender = scope.spawn(move || {
            let (rng, number) = (&mut Prg::from_seed([seed; 16]), |j: usize| numbers[j]);
            let before;
            let share = if over_ideal {
                let rows = ideal::Sender::<1>::setup(context, 128, &mut there, rng).unwrap();
                before = there.traffic().payload_sent;
                Products::new(context, LABEL, k, rows).send(count, number, &mut there)
            } else {
                let rows = silent::Sender::<SemiHonest>::setup(
                    context,
                    count,
                    Profile::Conservative,
                    KeyAgreement::default(),
                    &mut there,
                    rng,
                );
                before = there.traffic().payload_sent;
                Products::new(context, LABEL, k, rows.unwrap()).send(count, number, &mut there)
            };
            (share.unwrap(), there.traffic().payload_sent - before)
        });
        let rng = &mut Prg::from_seed([seed + 1; 16]);
        let mine = if over_ideal {
            let rows = ideal::Receiver::<1>::setup(context, 128, &mut here, rng).unwrap();
            Products::new(context, LABEL, k, rows).receive(count, choices, &mut here)
        } else {
            let profile = Profile::Conservative;
            let rows = silent::Receiver::<SemiHonest>::setup(
                context,
                count,
                profile,
                KeyAgreement::default(),
                &mut here,
                rng,
            );
            Products::new(context, LABEL, k, rows.unwrap()).receive(count, choices, &mut here)
        };
        let (theirs, bytes) = sender.join().unwrap();
        ([mine.unwrap(), theirs], bytes)
    })
}

fn modulo(sum: u128, k: u32) -> u128 {
    sum & (u128::MAX >> (128 - k))
}

#[test]
fn shares_add_up_to_the_sum_of_the_products() {
    for over_ideal in [true, false] {
        for (k, count) in [(1, 9), (8, 1), (22, 1000), (64, 40_000), (85, 33_000), (128, 70), (22, 0)] {
            let (bits, numbers) = inputs(count, u64::from(k));
            let expected = (0..count).filter(|j| bits[j / 8] >> (j % 8) & 1 == 1);
            let expected = expected.fold(0u128, |sum, j| sum.wrapping_add(numbers[j]));
            let ([mine, theirs], sent) = shares(k, (&bits, &numbers), 5, over_ideal);
            assert_eq!(modulo(mine.wrapping_add(theirs), k), modulo(expected, k), "{k} bits, {count}");
            assert!(mine == modulo(mine, k) && theirs == modulo(theirs, k));
            assert_eq!(sent, bytes(k, count), "{k} bits, {count}");
        }
    }
}

#[test]
fn flaw_a_share_says_nothing_of_the_sum() {
    // With other randomness the same inputs have other shares: each bit of either is 0 as often as 1, also where
    // the sum is zero.
    let (bits, numbers) = inputs(100, 1);
    for (k, bits) in [(64, &bits[..]), (64, &[0; 13][..]), (85, &bits[..])] {
        let runs = 64;
        let mut ones = [[0; 128]; 2];
        for seed in 0..runs {
            let (both, _) = shares(k, (bits, &numbers), 2 * seed, true);
            for (ones, share) in ones.iter_mut().zip(both) {
                (0..k).for_each(|bit| ones[bit as usize] += share >> bit & 1);
            }
        }
        for bit in 0..k as usize {
            assert!(ones.iter().all(|ones| (8..=56).contains(&ones[bit])), "bit {bit} of {k}: {ones:?}");
        }
    }
}
