use std::collections::HashMap;
use std::time::Duration;

use vesica_channel::memory;
use vesica_crypto::hash::Label;
use vesica_ot::security::{Profile, SemiHonest};
use vesica_ot::vole::Plan;

use super::*;
use crate::oprf::bins::keys;
use crate::oprf::vole::store::Store;
use crate::oprf::vole::{Functions, Oprf, Setup};
use crate::ot_based::kkrt16::ENTRY;
use crate::parameters::{STATISTICAL_SECURITY, Security};
use crate::protocol::Ctx;
use crate::testing::ideal_opprf::{IdealReceiver, IdealSender};
use crate::testing::ideal_oprf;
use crate::testing::{Case, Planted, duel, items, planted};

const FUNCTIONS: usize = 3;

/// Which OPPRF is tested.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Over {
    Vole,
    /// The hint over an ideal OPRF, whose receiver holds items under functions by turns.
    IdealOprf,
    /// No hint.
    Ideal,
}

fn programming(sets: &Planted) -> Programming {
    let (width, more_width) = (MaskWidth::of_bits(61), MaskWidth::of_bits(85));
    Programming {
        functions: FUNCTIONS,
        items: sets.sender.len(),
        width,
        more: 0,
        more_width,
        statistical: STATISTICAL_SECURITY,
    }
}

fn keys_of(ctx: &Ctx<'_, '_>, items: &Items) -> Vec<Block> {
    let oracle = ctx.run.context.oracle(Label::new("test: item to key"));
    keys::hashed(ctx.run, &oracle, items, None).unwrap()
}

fn oprf<'a>(
    run: &'a Run<'a>,
    rng: &'a mut dyn CryptoRng,
    held: &'a [u8],
    n_r: usize,
) -> Oprf<'a, SemiHonest, Block> {
    let slots = Store::new(Security::SemiHonest, n_r, STATISTICAL_SECURITY, Block::ZERO).unwrap().slots();
    let setup = Setup { plan: Plan::new(slots, Profile::Conservative), early: false, limit: Duration::ZERO };
    let functions = Functions::Several { count: FUNCTIONS as u8, held };
    Oprf::new(run, setup, rng).with_functions(functions)
}

/// What the sender programs: bits that depend on value, function and item.
fn value(number: usize, function: usize, item: usize) -> u128 {
    let bits = if number == 0 { 61 } else { 85 };
    let mixed = ((item as u128 + 1) << 8 | (function + 3 * number) as u128) * 0x1234_5678_9abc_def1;
    (mixed << (24 * number.min(1))) & ((1 << bits) - 1)
}

/// The receiver's values, item by item, and the function of each.
fn values(sets: &Planted, over: Over, seed: u64) -> (Vec<u128>, Vec<u8>) {
    let (mut values, held) = all_values(sets, over, seed, 0);
    (values.swap_remove(0), held)
}

/// The receiver's values with so many further ones, and the function of each.
fn all_values(sets: &Planted, over: Over, seed: u64, more: usize) -> (Vec<Vec<u128>>, Vec<u8>) {
    let (n_r, agreed) = (sets.receiver.len(), Programming { more, ..programming(sets) });
    let held: &Vec<u8> = &(0..n_r).map(|item| (item % FUNCTIONS) as u8).collect();
    let (found, sent) = duel(
        (&ENTRY, sets, Case { seed, ..Case::default() }),
        Box::new(move |ctx| {
            let keys = keys_of(ctx, &sets.receiver);
            let (channel, run) = (&mut *ctx.channel, ctx.run);
            match over {
                Over::Vole => {
                    let oprf = oprf(run, ctx.rng, held, n_r);
                    let oprf = Receiver { run, programming: agreed, oprf };
                    oprf.evaluate(&sets.receiver, &keys, channel)
                }
                Over::IdealOprf => {
                    let oprf = ideal_oprf::IdealReceiver { functions: FUNCTIONS, rng: ctx.rng };
                    Receiver { run, programming: agreed, oprf }.evaluate(&sets.receiver, &keys, channel)
                }
                Over::Ideal => {
                    IdealReceiver { programming: agreed, held }.evaluate(&sets.receiver, &keys, channel)
                }
            }
        }),
        Box::new(move |ctx| {
            let keys = keys_of(ctx, &sets.sender);
            let (run, rng) = (ctx.run, Prg::from_rng(ctx.rng));
            match over {
                Over::Vole => {
                    let oprf = oprf(run, ctx.rng, &[], n_r);
                    let sender = Sender { run, programming: agreed, oprf, rng };
                    sender.program(&sets.sender, &keys, value, ctx.channel)
                }
                Over::IdealOprf => {
                    let oprf = ideal_oprf::IdealSender { functions: FUNCTIONS };
                    let sender = Sender { run, programming: agreed, oprf, rng };
                    sender.program(&sets.sender, &keys, value, ctx.channel)
                }
                Over::Ideal => {
                    let sender = IdealSender { programming: agreed, rng: ctx.rng };
                    sender.program(&sets.sender, &keys, value, ctx.channel)
                }
            }
        }),
    );
    sent.unwrap();
    (found.unwrap().iter().map(|values| values.to_vec()).collect(), held.clone())
}

#[test]
fn programmed_points_have_their_values_and_others_random_ones() {
    for over in [Over::Vole, Over::IdealOprf, Over::Ideal] {
        for (receiver, sender, common) in [(1500, 2500, 400), (1, 1, 1), (3, 700, 0), (700, 1, 1)] {
            let sets = &planted(receiver, sender, common, 1);
            let numbers: HashMap<&[u8], usize> =
                (0..sender).map(|item| (sets.sender.get(item), item)).collect();
            let [(first, held), (second, _)] = [1, 2].map(|seed| values(sets, over, seed));
            let mut programmed = 0;
            for item in 0..receiver {
                match numbers.get(sets.receiver.get(item)) {
                    Some(theirs) => {
                        let expected = value(0, held[item].into(), *theirs);
                        assert_eq!([first[item], second[item]], [expected; 2], "{over:?}");
                        programmed += 1;
                    }
                    None => assert_ne!(first[item], second[item], "{over:?}: fresh in every run"),
                }
            }
            assert_eq!(programmed, common);
            // Random values differ, and have as many ones as zeros.
            let others: Vec<u128> = (0..receiver)
                .filter(|i| !numbers.contains_key(sets.receiver.get(*i)))
                .map(|i| first[i])
                .collect();
            let ones: u32 = others.iter().map(|value| value.count_ones()).sum();
            let (ones, bits) = (f64::from(ones), 61.0 * others.len() as f64);
            assert!((2.0 * ones - bits).powi(2) <= 25.0 * bits, "{over:?}: {ones} of {bits}");
            assert!(others.iter().all(|value| *value < 1 << 61));
        }
    }
}

#[test]
fn further_values_are_there_where_the_first_is() {
    let sets = &planted(700, 900, 300, 1);
    let numbers: HashMap<&[u8], usize> = (0..900).map(|item| (sets.sender.get(item), item)).collect();
    for over in [Over::Vole, Over::IdealOprf, Over::Ideal] {
        let [(first, held), (second, _)] = [1, 2].map(|seed| all_values(sets, over, seed, 2));
        assert_eq!(first.len(), 3);
        for item in 0..700 {
            for number in 0..3 {
                let found = [first[number][item], second[number][item]];
                match numbers.get(sets.receiver.get(item)) {
                    Some(theirs) => {
                        assert_eq!(found, [value(number, held[item].into(), *theirs); 2], "{over:?}")
                    }
                    None => {
                        assert!(found[0] != found[1] && found[0] < 1 << 85, "{over:?}: fresh in every run")
                    }
                }
            }
            // What masks one value is not what masks another.
            assert!(
                numbers.contains_key(sets.receiver.get(item)) || first[1][item] != first[2][item],
                "{over:?}"
            );
        }
    }
}

/// The bytes of a hint of these points, with so many further values: the same OPRF, one value at all points, another
/// set or another stream.
fn hint(names: &[String], more: usize, value: u128, stream: u64) -> Vec<u8> {
    let sets = Planted {
        receiver: items(&["x"]),
        sender: items(names),
        receiver_rows: Vec::new(),
        sender_rows: Vec::new(),
    };
    let agreed = programming(&sets);
    let agreed = Programming { more, more_width: agreed.width, ..agreed };
    let (hint, sent) = duel(
        (&ENTRY, &sets, Case::default()),
        Box::new(|ctx| {
            // The ideal OPRF's key, and then the hint as bytes.
            ctx.channel.send(&[7; 32])?;
            ctx.channel.flush()?;
            let mut hint = vec![0; agreed.hint_bytes().unwrap() as usize];
            ctx.channel.recv_exact(&mut hint)?;
            Ok(hint)
        }),
        Box::new(|ctx| {
            let keys = keys_of(ctx, &sets.sender);
            let oprf = ideal_oprf::IdealSender { functions: FUNCTIONS };
            let sender = Sender { run: ctx.run, programming: agreed, oprf, rng: Prg::fork([3; 16], stream) };
            sender.program(&sets.sender, &keys, |_, _, _| value, ctx.channel)
        }),
    );
    sent.unwrap();
    hint.unwrap()
}

#[test]
fn flaw_the_hint_looks_random_whatever_is_programmed() {
    let names: Vec<String> = (0..400).map(|i| format!("{i}@example.org")).collect();
    // One value for all points: only the mask makes them look random.
    let hint = hint(&names, 0, 5, 1);
    let mut columns = Vec::new();
    assert!(unpack(&hint[16..], programming_columns(400), 61, &mut columns));
    let columns: Vec<u64> = columns.into_iter().map(|column| column as u64).collect();
    // All columns differ: none is zero, none is a multiple of the one value.
    let distinct: std::collections::HashSet<u64> = columns.iter().copied().collect();
    assert_eq!(distinct.len(), columns.len());
    let ones: u32 = columns.iter().map(|column| column.count_ones()).sum();
    let bits = 61.0 * columns.len() as f64;
    assert!((2.0 * f64::from(ones) - bits).powi(2) <= 25.0 * bits, "{ones} of {bits}");
    // The value at a point of the store, without F, is not the programmed one, nor the same at two points.
    let mut seed = Block::ZERO;
    seed.as_mut_bytes().copy_from_slice(&hint[..16]);
    let store = Band::new(3 * names.len(), seed).unwrap();
    let sets = planted(1, 1, 1, 1);
    let looked = duel::<(), ()>(
        (&ENTRY, &Planted { sender: items(&names), ..sets }, Case::default()),
        Box::new(|ctx| {
            let keys = keys_of(ctx, &items(&names));
            let mut found = vec![0; keys.len()];
            store.decode(1, &columns, &keys, &mut found);
            let distinct: std::collections::HashSet<u64> = found.iter().copied().collect();
            assert!(distinct.len() == found.len() && !distinct.contains(&5));
            Ok(())
        }),
        Box::new(|_| Ok(())),
    );
    looked.0.unwrap();
}

/// A receiver that knows the value at its own point of a bin must not learn from it what another value is masked by,
/// there or elsewhere: it would test guesses of the sender's other items.
#[test]
fn flaw_each_value_at_a_point_has_a_mask_of_its_own() {
    const VALUES: usize = 3;
    let names: Vec<String> = (0..50).map(|i| format!("{i}@example.org")).collect();
    // All values are zero: the points hold the masks themselves.
    let hint = hint(&names, VALUES - 1, 0, 1);
    let mut seed = Block::ZERO;
    seed.as_mut_bytes().copy_from_slice(&hint[..16]);
    let store = Band::new(3 * names.len(), seed).unwrap();
    let sets = Planted { sender: items(&names), ..planted(1, 1, 1, 1) };
    let looked = duel::<(), ()>(
        (&ENTRY, &sets, Case::default()),
        Box::new(|ctx| {
            // The points under function 0.
            let keys = keys_of(ctx, &items(&names));
            let mut masks = std::collections::HashSet::new();
            let tables: Vec<&[u8]> = hint[16..].chunks(packed_bytes(store.columns(), 61)).collect();
            assert_eq!(tables.len(), VALUES);
            for table in tables {
                let mut columns = Vec::new();
                assert!(unpack(table, store.columns(), 61, &mut columns));
                let columns: Vec<u64> = columns.into_iter().map(|column| column as u64).collect();
                let mut found = vec![0; keys.len()];
                store.decode(1, &columns, &keys, &mut found);
                masks.extend(found);
            }
            assert_eq!(masks.len(), VALUES * names.len());
            Ok(())
        }),
        Box::new(|_| Ok(())),
    );
    looked.0.unwrap();
}

/// The store of a hint is built with all but a probability of 2^-40 over its seed, for points that are fixed before.
#[test]
fn flaw_every_hint_has_a_seed_of_its_own() {
    let names: Vec<String> = (0..5).map(|i| format!("{i}@example.org")).collect();
    let seeds: std::collections::HashSet<Vec<u8>> =
        (0..4).map(|stream| hint(&names, 0, 5, stream)[..16].to_vec()).collect();
    assert_eq!(seeds.len(), 4);
}

fn programming_columns(items: usize) -> usize {
    Band::new(FUNCTIONS * items, Block::ZERO).unwrap().columns()
}

#[test]
fn equal_points_are_refused_and_no_points_are_a_hint() {
    let sets = &planted(1, 2, 0, 1);
    for empty in [false, true] {
        let none = &items::<&str>(&[]);
        let sender = if empty { none } else { &sets.sender };
        let width = MaskWidth::of_bits(40);
        let agreed = Programming {
            functions: 2,
            items: sender.len(),
            width,
            more: 0,
            more_width: width,
            statistical: STATISTICAL_SECURITY,
        };
        let (_, sent) = duel::<(), ()>(
            (&ENTRY, sets, Case::default()),
            Box::new(|ctx| {
                ctx.channel.send(&[7; 32])?;
                ctx.channel.flush()?;
                let mut first = vec![0; if empty { agreed.hint_bytes().unwrap() as usize } else { 0 }];
                Ok(ctx.channel.recv_exact(&mut first)?)
            }),
            Box::new(|ctx| {
                let oprf = ideal_oprf::IdealSender { functions: 2 };
                let rng = Prg::from_seed([1; 16]);
                let keys = vec![Block::ONES; sender.len()];
                Sender { run: ctx.run, programming: agreed, oprf, rng }.program(
                    sender,
                    &keys,
                    value,
                    ctx.channel,
                )
            }),
        );
        assert_eq!(matches!(sent, Err(Error::Chance(_))), !empty, "{sent:?}");
    }
}

#[test]
fn a_hint_that_is_cut_or_too_wide_is_refused() {
    let sets = planted(5, 4, 2, 1);
    let agreed = programming(&sets);
    let bytes = agreed.hint_bytes().unwrap() as usize;
    let refused = |hint: Vec<u8>| {
        let run = crate::testing::run_of(
            vesica_crypto::hash::Context::new(&[1; 32], "test", b"", 5, 4),
            crate::protocol::Sizes { receiver: 5, sender: 4 },
            crate::Parameters::default(),
        );
        let (mut mine, mut theirs) = memory::pair();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // The ideal OPRF's key, and then the hint as bytes.
                theirs.recv_exact(&mut [0; 32]).unwrap();
                theirs.send(&hint).unwrap();
                theirs.flush().unwrap();
            });
            let rng = &mut Prg::from_seed([1; 16]);
            let oprf = ideal_oprf::IdealReceiver { functions: FUNCTIONS, rng };
            let keys: Vec<Block> = (0..5u128).map(Block::from).collect();
            Receiver { run: &run, programming: agreed, oprf }.evaluate(&sets.receiver, &keys, &mut mine).err()
        })
    };
    assert_eq!(refused(vec![0; bytes]), None);
    for cut in [0, 15, 16, bytes - 1] {
        assert!(matches!(refused(vec![0; cut]), Some(Error::Channel(_))), "{cut} bytes");
    }
    let mut wide = vec![0; bytes];
    wide[bytes - 1] = 0x80;
    assert_eq!(refused(wide), Some(Misbehaviour::InvalidMasks(SortedError::Beyond).into()));
}
