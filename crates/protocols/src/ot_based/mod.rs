//! Protocols from oblivious transfer extension: items are hashed to bins, and each bin is compared by OTs.

pub mod equality;
pub mod inclusion;

pub mod kkrt16;
pub mod ot_phasing;
pub mod ot_psi;

use crate::entry::{Entry, Message, ReceivePairs, Roles, SendList, Shape};
use crate::error::{Error, Misuse};
use crate::protocol::{Phase, Role, Sizes, Step};

/// Items of the receiver at most: of 2.4 bins an item there are fewer than 2^32.
const MOST_ITEMS: usize = 1 << 30;

/// Refuses sizes for which there are too many bins; a partner may have made up its own.
pub(crate) fn check_sizes(sizes: Sizes) -> Result<(), Error> {
    let Sizes { receiver, sender } = sizes;
    if receiver <= MOST_ITEMS { Ok(()) } else { Err(Misuse::TooManyItems { receiver, sender }.into()) }
}

/// What the entries of the family have in common.
const fn entry(name: &'static str, title: &'static str, receive: ReceivePairs, send: SendList) -> Entry {
    Entry::new(name, title, Roles::Listed { receive, send }).family("ot_based").flights(with_base_ots)
}

/// What the entries of the protocols of PSSZ15 and PSZ14 have in common.
const fn entry_of_pssz15(
    name: &'static str,
    title: &'static str,
    receive: ReceivePairs,
    send: SendList,
) -> Entry {
    entry(name, title, receive, send).sigma(1, 64).paper_parameters().steps(six_phases)
}

/// The receiver's message in the base OTs, whose sender it is.
const fn base_ots_of_receiver(bytes: fn(&Shape) -> u64) -> Message {
    Message::of_receiver("base OTs, sender's part; not sent where they are kept", "32", bytes)
}

/// The sender's.
const fn base_ots_of_sender(formula: &'static str, bytes: fn(&Shape) -> u64) -> Message {
    Message::of_sender("base OTs, receiver's part; not sent where they are kept", formula, bytes)
}

/// The flights of a run: rows of the OT extension and masks, and before them the base OTs, whose two messages
/// cross.
fn with_base_ots(shape: &Shape) -> u32 {
    if shape.kept_base_ots { 2 } else { 3 }
}

/// The phases of a run whose report tells those of PSSZ15's appendix B apart. Rows become masks and masks are
/// compared within others.
fn six_phases(role: Role, _: &Shape) -> &'static [Step] {
    match role {
        Role::Receiver => {
            &[(Phase::BaseOts, 2), (Phase::Hash, 13), (Phase::Extend, 60), (Phase::Exchange, 25)]
        }
        Role::Sender => &[(Phase::BaseOts, 2), (Phase::Hash, 13), (Phase::Extend, 65), (Phase::Exchange, 20)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    use vesica_channel::memory;
    use vesica_crypto::hash::Context;
    use vesica_crypto::prg::Prg;

    use crate::Parameters;
    use crate::protocol::{Ctx, Progress, Run};
    use crate::testing::{DIRECTIONS, Tampering, Target, planted, run_of, wiped};

    /// What a run told: each phase that began, and each for which time counted meanwhile, once.
    #[derive(Default)]
    struct Told(Mutex<(Vec<Phase>, Vec<Phase>, Option<Phase>)>);

    impl Progress for Told {
        fn phase(&self, phase: Phase, _: u64) {
            let mut told = self.0.lock().unwrap();
            assert_eq!(told.2, None, "{phase} begins within work whose time counts for another");
            told.0.push(phase);
        }

        fn attribute_time(&self, phase: Option<Phase>) {
            let mut told = self.0.lock().unwrap();
            told.2 = phase;
            if let Some(phase) = phase.filter(|phase| !told.1.contains(phase)) {
                told.1.push(phase);
            }
        }

        fn advance(&self, _: u64) {}

        fn cancelled(&self) -> bool {
            false
        }
    }

    /// The phases of the receiver and of the sender, in order, and what counts apart from them.
    fn phases(entry: &Entry) -> [(Vec<Phase>, Vec<Phase>); 2] {
        let (sets, told) = (planted(3000, 2000, 500, 1), [Told::default(), Told::default()]);
        let sizes = Sizes { receiver: 3000, sender: 2000 };
        let context = Context::new(&[4; 32], entry.name, b"", 3000, 2000);
        let run = |progress| Run { progress, ..run_of(context.clone(), sizes, Parameters::default()) };
        let (mut here, mut there) = memory::pair();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (run, mut rng) = (run(&told[1]), Prg::from_seed([1; 16]));
                let ctx = &mut Ctx::new(&run, &mut there, &mut rng);
                entry.send(ctx, &sets.sender).unwrap();
            });
            let (run, mut rng) = (run(&told[0]), Prg::from_seed([2; 16]));
            let ctx = &mut Ctx::new(&run, &mut here, &mut rng);
            drop(entry.receive(ctx, &sets.receiver).unwrap());
        });
        told.map(|told| {
            let (phases, mut apart, _) = told.0.into_inner().unwrap();
            apart.sort_by_key(|phase| phase.name());
            (phases, apart)
        })
    }

    #[test]
    fn the_six_phases_of_appendix_b_are_told_apart() {
        use Phase::{BaseOts, Compare, Evaluate, Exchange, Extend, Hash};
        let all = vec![BaseOts, Hash, Extend, Exchange];
        // The receiver ends the base OTs after the hashing; masks that have come are compared before others
        // are made.
        let expected = [
            (all.clone(), vec![BaseOts, Compare, Evaluate, Exchange]),
            (all.clone(), vec![Evaluate, Exchange]),
        ];
        assert_eq!(phases(&ot_phasing::ENTRY), expected);
        assert_eq!(phases(&ot_psi::ENTRY), [(all.clone(), vec![Compare, Evaluate]), (all, vec![Evaluate])]);
    }

    #[test]
    fn the_senders_rows_are_wiped_where_a_run_breaks_off() {
        for entry in [&kkrt16::ENTRY, &ot_phasing::ENTRY, &ot_psi::ENTRY] {
            let honest = wiped::run(entry, Parameters::default(), None);
            // A row of 256 bits or more for each of 200 items.
            let [_, (well, least)] = honest.parties;
            assert!(well && least > 200 * 32, "{}: {least}", entry.name);
            let (direction, frame) = (DIRECTIONS[0], honest.frames[0] - 1);
            let target = Target { direction, frame, tampering: Tampering::Drop };
            let [_, (well, wiped)] = wiped::run(entry, Parameters::default(), Some(target)).parties;
            assert!(!well && wiped > 200 * 32, "{}: {wiped}", entry.name);
        }
    }
}
