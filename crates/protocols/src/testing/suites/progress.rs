//! What every protocol tells whoever waits: its phases are those of its entry, and each that takes long says
//! how far it is.

use std::sync::Mutex;

use crate::entry::Entry;
use crate::testing::{Case, planted_for, run_watched, shape, ways};
use crate::{Phase, Progress, Role};
use vesica_channel::memory;

/// Each phase, what it said it would do, and what it did.
#[derive(Default)]
struct Seen(Mutex<Vec<(Phase, u64, Vec<u64>)>>);

impl Progress for Seen {
    fn phase(&self, phase: Phase, total: u64) {
        self.0.lock().unwrap().push((phase, total, Vec::new()));
    }

    fn advance(&self, units: u64) {
        // Before the first phase there is nothing to tell.
        if let Some((_, _, done)) = self.0.lock().unwrap().last_mut() {
            done.push(units);
        }
    }

    fn cancelled(&self) -> bool {
        false
    }
}

/// What both parties saw of a run.
pub fn watched(entry: &Entry, sizes: (usize, usize), case: Case) -> [Vec<(Phase, u64, Vec<u64>)>; 2] {
    let sets = planted_for(&case.parameters, sizes.0, sizes.1, 20, 5);
    let seen = [Seen::default(), Seen::default()];
    let [mine, theirs] = &seen;
    let ends = memory::pair();
    let ended = run_watched(entry, &sets, case, ends, ([None; 2], [mine, theirs]));
    assert!(ended.confirmed(), "{} {case:?}", entry.name);
    let steps = [Role::Receiver, Role::Sender].map(|role| entry.steps_of(role, &shape(&sets, case)));
    let seen = seen.map(|seen| seen.0.into_inner().unwrap());
    for (steps, seen) in steps.iter().zip(&seen) {
        let phases: Vec<Phase> = seen.iter().map(|(phase, ..)| *phase).collect();
        let told: Vec<Phase> = steps.iter().map(|step| step.0).collect();
        assert_eq!(phases, told, "{} {case:?}", entry.name);
        assert_eq!(steps.iter().map(|step| step.1).sum::<u32>(), 100, "{}", entry.name);
    }
    seen
}

pub fn every_protocol_goes_through_the_phases_of_its_entry(protocols: &[&'static Entry]) {
    for entry in protocols {
        for parameters in ways(entry).into_iter().filter(|parameters| parameters.level <= 128) {
            for sizes in [(40, 60), (60, 40)] {
                for seen in watched(entry, sizes, Case { parameters, ..Case::default() }) {
                    for (phase, total, done) in seen {
                        let done: u64 = done.iter().sum();
                        assert!(done <= total, "{} {phase}: {done} of {total}", entry.name);
                    }
                }
            }
        }
    }
}
