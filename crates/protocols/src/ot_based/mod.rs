//! Protocols from oblivious transfer extension: items are hashed to bins, and each bin is compared by OTs.

mod keys;
mod lists;
mod numbers;

pub mod kkrt16;
pub mod ot_phasing;
pub mod ot_psi;

use vesica_crypto::memory::large_vec;
use vesica_encode::hashing::{Places, cuckoo};

use crate::error::{Error, Misuse};
use crate::protocol::Sizes;
use crate::registry::Shape;

/// Items of the receiver at most: of 2.4 bins an item there are fewer than 2^32.
const MOST_ITEMS: usize = 1 << 30;

/// Refuses sizes for which there are too many bins; a partner may have made up its own.
fn check_sizes(sizes: Sizes) -> Result<(), Error> {
    let Sizes { receiver, sender } = sizes;
    if receiver <= MOST_ITEMS { Ok(()) } else { Err(Misuse::TooManyItems { receiver, sender }.into()) }
}

/// The flights of a run: rows of the OT extension and masks, and before them the base OTs, whose two messages cross.
fn with_base_ots(shape: &Shape) -> u32 {
    if shape.kept_base_ots { 2 } else { 3 }
}

/// Our table of `places`, whose size is the paper's or one that does but for 2^-40.
fn table<P: Places + ?Sized>(places: &P, stash: usize, paper: bool) -> Result<cuckoo::Table, Error> {
    cuckoo::Table::build(places, stash).map_err(|_| homeless(paper))
}

/// Some of our items have no bin.
fn homeless(paper: bool) -> Error {
    let kind = if paper { Error::PaperParameters } else { Error::Chance };
    kind("some of our items found no place in the hash table")
}

/// The item at each place, given the place of each item.
fn inverse(places: &[u32]) -> Vec<u32> {
    let mut order = large_vec(0, places.len());
    (0..).zip(places).for_each(|(item, place)| order[*place as usize] = item);
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters;
    use crate::testing::{DIRECTIONS, Tampering, Target, wiped};

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
