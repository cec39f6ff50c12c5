//! How much a party wipes, in runs that end well and in runs that break off.

use rand::{SeedableRng, rngs::StdRng};
use vesica_crypto::memory::wiped_bytes;

use super::{Case, Target, lying_wire, planted_for, play_role};
use crate::entry::Entry;
use crate::parameters::Parameters;
use crate::protocol::Role;

/// What came of a run of 200 and 150 items, 20 of them common.
pub struct Ended {
    /// Of receiver and sender, whether it ended well and how many bytes it wiped.
    pub parties: [(bool, usize); 2],
    /// Frames of either.
    pub frames: [usize; 2],
}

/// Runs it, with one frame tampered with or none.
pub fn run(entry: &'static Entry, parameters: Parameters, target: Option<Target>) -> Ended {
    let (sets, case) = (planted_for(&parameters, 200, 150, 20, 1), Case { parameters, ..Case::default() });
    let (first, second, wire) = lying_wire(target);
    let play = |role, channel| {
        let before = wiped_bytes();
        let rng = &mut StdRng::seed_from_u64(role as u64);
        let ended = play_role((entry, &sets, case), role, channel, None, rng);
        (ended.is_ok(), wiped_bytes() - before)
    };
    let parties = std::thread::scope(|scope| {
        let sender = scope.spawn(|| play(Role::Sender, second));
        [play(Role::Receiver, first), sender.join().unwrap()]
    });
    Ended { parties, frames: wire.frames().map(|frames| frames.len()) }
}
