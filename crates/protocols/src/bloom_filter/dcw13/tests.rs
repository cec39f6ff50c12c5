use super::super::transfer::{STRINGS, choices_of, for_each_batch};
use super::*;
use crate::Parameters;
use crate::testing::{Case, Planted, duel, planted_for};
use std::collections::HashSet;
use vesica_encode::bloom::NoFreeSlot;
use vesica_ot::CotReceiver;
use vesica_ot::chosen::StringOt;
use vesica_ot::random::OtPads;

/// What the receiver of a run has in the end.
struct Seen {
    /// Its choice in each OT, and the string it has of it: of the garbled Bloom filter where the choice is 1.
    choices: Vec<bool>,
    strings: Vec<[Block; 1]>,
    /// D, where it travels.
    sent: Vec<[Block; 1]>,
    /// By item of the receiver, and by item of the sender: the sum of the strings at its positions, and v of
    /// it.
    mine: Vec<[[Block; 1]; 2]>,
    theirs: Vec<[[Block; 1]; 2]>,
}

/// Plays the protocol with a receiver that keeps all it sees, against the sender as it runs.
fn seen(sets: &Planted, case: Case) -> Seen {
    let (receiver, sender) = duel(
        (&ENTRY, sets, case),
        Box::new(|ctx| {
            let Ctx { run, channel, rng, .. } = ctx.reborrow();
            let party = Party::<1>::new(run, &sets.receiver);
            let mut ot = extension::Receiver::<1>::setup(&mut Ctx::new(run, channel, rng))?;
            let (mut bits, mut strings) = (Vec::new(), Vec::new());
            let of_batch = |batch: &transfer::Batch<'_>, bits: &mut Vec<bool>| {
                let choices = choices_of(batch);
                bits.extend((0..batch.rows()).map(|j| choices[j / 8] >> (j % 8) & 1 == 1));
                (choices, vec![[Block::ZERO]; batch.rows()])
            };
            let mut sent = Vec::new();
            if matches!(Form::of(&run.parameters), Form::TwoStrings | Form::Correlated) {
                let mut ot = StringOt::new(&run.context, STRINGS, party.width(), ot);
                for_each_batch(run, &party.positions, |batch| {
                    let (choices, mut rows) = of_batch(&batch, &mut bits);
                    match Form::of(&run.parameters) {
                        Form::TwoStrings => ot.receive(&choices, &mut rows, channel)?,
                        _ => ot.receive_correlated(&choices, &mut rows, channel)?,
                    }
                    strings.append(&mut rows);
                    Ok(())
                })?;
            } else {
                let hash = OtPads::of(&run.context, STRINGS);
                for_each_batch(run, &party.positions, |batch| {
                    let (choices, mut rows) = of_batch(&batch, &mut bits);
                    ot.extend(&choices, &mut rows, channel)?;
                    hash.hash(batch.first, &mut rows);
                    strings.append(&mut rows);
                    Ok(())
                })?;
                channel.flush()?;
                sent.resize(strings.len(), [Block::ZERO]);
                recv_strings(&mut sent, party.width(), channel.split().1)?;
                strings.iter_mut().zip(&sent).for_each(|(string, sent)| string[0] ^= sent[0]);
            }
            let sums = |items| sums(&Party::<1>::new(run, items), &strings);
            let (mine, theirs) = (sums(&sets.receiver), sums(&sets.sender));
            Ok(Seen { choices: bits, strings, sent, mine, theirs })
        }),
        Box::new(|ctx| ENTRY.send(ctx, &sets.sender)),
    );
    sender.unwrap();
    receiver.unwrap()
}

/// The sum of the strings at the positions of each item, and v of it.
fn sums(party: &Party<'_, 1>, strings: &[[Block; 1]]) -> Vec<[[Block; 1]; 2]> {
    let (shape, mut all) = (party.positions.shape(), vec![[[Block::ZERO]; 2]; party.items.len()]);
    let mut values = vec![[Block::ZERO]; party.items.len()];
    party.values(0, &mut values);
    let (mut blocks, mut slots) = (Vec::new(), <[Vec<u32>; SLICES_PER_BLOCK]>::default());
    for (number, bin) in party.positions.bins().enumerate() {
        let mut sums = vec![[Block::ZERO]; bin.len()];
        for slice in 0..shape.hashes() {
            bin.positions(slice / SLICES_PER_BLOCK, &mut blocks, &mut slots);
            let slice_of = &strings[(number * shape.hashes() + slice) * shape.slots()..][..shape.slots()];
            Sums(&mut sums).add(slice_of, &slots[slice % SLICES_PER_BLOCK]);
        }
        for (position, sum) in bin.range().zip(sums) {
            all[party.positions.items()[position] as usize] = [sum, values[position]];
        }
    }
    all
}

/// All different, and every bit of them set about as often as not.
fn assert_random(what: &str, strings: impl Iterator<Item = [Block; 1]>) {
    let (mut counts, mut seen) = ([0i64; 128], HashSet::new());
    for [string] in strings {
        let bits = string.to_u128();
        assert!(seen.insert(bits), "{what}: {bits:x} twice");
        counts.iter_mut().enumerate().for_each(|(bit, count)| *count += (bits >> bit & 1) as i64);
    }
    // Six deviations.
    let (number, most) = (seen.len() as i64, 6.0 * (seen.len() as f64).sqrt());
    assert!(number > 100 && counts.iter().all(|count| ((2 * count - number).abs() as f64) < most), "{what}");
}

/// What the receiver has of slots and of items of the sender is random in the protocol as it runs, but for
/// the items that both have. Flawed: free slots of D that are zero show which slots the sender's items own.
#[test]
fn flaw_what_the_receiver_sees_is_random_but_for_common_items() {
    for form in [Form::Standard, Form::Iknp, Form::TwoStrings, Form::Correlated] {
        let parameters = Parameters { variant: form.variant(), ..Parameters::default() };
        let sets = planted_for(&parameters, 200, 300, 40, 6);
        let seen = seen(&sets, Case { parameters, ..Case::default() });
        for choice in [false, true] {
            let chosen = seen.strings.iter().zip(&seen.choices).filter(|(_, bit)| **bit == choice);
            assert_random(
                &format!("{form:?}: strings of choice {choice}"),
                chosen.map(|(string, _)| *string),
            );
        }
        if !seen.sent.is_empty() {
            assert_random(&format!("{form:?}: D"), seen.sent.iter().copied());
        }
        let held = |sums: &[[[Block; 1]; 2]]| sums.iter().filter(|[sum, value]| sum == value).count();
        assert_eq!([held(&seen.mine), held(&seen.theirs)], [40, 40], "{form:?}");
        let foreign = seen.theirs.iter().filter(|[sum, value]| sum != value);
        let apart = foreign.map(|[sum, value]| [sum[0] ^ value[0]]);
        assert_random(&format!("{form:?}: foreign items"), apart);
    }
}

/// Free slots come from the sender's randomness: with other randomness, and base OTs, rows, context and items
/// the same, every slot of the filter has another string.
#[test]
fn flaw_a_filter_is_drawn_anew_in_every_run() {
    for hashes in [128, 192] {
        let items = planted_for(&Parameters::default(), 1, 500, 1, 6).sender;
        let context = vesica_crypto::hash::Context::new(&[1; 32], "gbf", b"", 1, 1);
        let positions = FilterPositions::new(&context, FilterShape::for_items(hashes, 500), &items, 1);
        let bin = positions.bins().next().unwrap();
        let strings = |seed| {
            let rng = &mut <rand::rngs::StdRng as rand::SeedableRng>::seed_from_u64(seed);
            let (mut random, mut strings) = (RandomStrings::new::<1>(rng), Vec::new());
            let emit = |slice: &[[Block; 1]]| {
                strings.extend_from_slice(slice);
                Ok::<_, NoFreeSlot>(())
            };
            garble(1, &bin, &vec![[Block::ZERO]; bin.len()], |strings| random.fill(strings), emit).unwrap();
            strings
        };
        assert!(strings(1).iter().zip(&strings(2)).all(|(one, other)| one != other));
    }
}

/// DCW13 §6.1, "parallel": with more threads than one the rows of IKNP, the strings of slots and the garbling
/// of a bin are shared among them.
#[test]
fn flaw_every_step_of_dcw13_runs_on_all_threads() {
    let helpers = |form: Form, threads: usize, items: usize| {
        let parameters = Parameters { variant: form.variant(), ..Parameters::default() };
        let sets = planted_for(&parameters, items, items, 9, 6);
        let case = Case { parameters, threads, ..Case::default() };
        let (receiver, sender) = duel(
            (&ENTRY, &sets, case),
            Box::new(|ctx| {
                let before = par::helpers_started();
                let matches = ENTRY.receive(&mut ctx.reborrow(), &sets.receiver)?.matches()?;
                assert_eq!(matches.rows(), sets.receiver_rows);
                Ok(par::helpers_started() - before)
            }),
            Box::new(|ctx| {
                let before = par::helpers_started();
                ENTRY.send(ctx, &sets.sender)?;
                Ok(par::helpers_started() - before)
            }),
        );
        [receiver.unwrap(), sender.unwrap()]
    };
    for form in [Form::Standard, Form::Iknp, Form::TwoStrings, Form::Correlated] {
        assert_eq!(helpers(form, 1, 1500), [0, 0]);
    }
    // So few items that hashing them, and a bin of them, is one task: what is shared are the rows of IKNP,
    // and the strings of all slots where those are hashed.
    let [soft, iknp] = [Form::Standard, Form::Iknp].map(|form| helpers(form, 4, 500));
    assert!(soft == [0, 0] && iknp.iter().all(|helpers| *helpers > 0), "{soft:?} {iknp:?}");
    for form in [Form::TwoStrings, Form::Correlated] {
        let strings = helpers(form, 4, 500);
        assert!((0..2).all(|party| strings[party] > iknp[party]), "{form:?}: {strings:?}, {iknp:?}");
    }
    // More items: the sender garbles by parts of the bin.
    let [receiver, sender] = helpers(Form::Standard, 4, 1500);
    assert!(receiver == 0 && sender > 0, "{receiver} {sender}");
}
