//! Where the receiver's items stand: in a slot of a bin, or of the stash.

use vesica_crypto::block::Block;
use vesica_encode::hashing::{Digests, balanced, cuckoo, simple};

use super::plan::{Plan, Scheme};
use crate::error::Error;
use crate::oprf::bins::cuckoo_failure;
use crate::protocol::Run;

/// The receiver's item at each slot.
pub(super) enum Slots {
    /// One item a bin, and a stash.
    Cuckoo(cuckoo::Table),
    /// Several items a bin, at most p.
    Several { table: simple::Table, slots: usize },
    /// No bins: as many slots of the stash as there are items.
    Alone(Vec<u32>),
}

impl Slots {
    pub(super) fn new(run: &Run<'_>, plan: &Plan, digests: &[Block]) -> Result<Self, Error> {
        let bins = Digests::new(digests, plan.layout);
        let table = match plan.scheme {
            Scheme::Cuckoo => {
                let table = cuckoo::Table::build(&bins, plan.stash);
                return Ok(Slots::Cuckoo(table.map_err(|_| cuckoo_failure(run.parameters.paper))?));
            }
            Scheme::NoHashing => return Ok(Slots::Alone((0..digests.len() as u32).collect())),
            Scheme::Simple => simple::Table::build(run.threads, &bins),
            Scheme::Balanced => balanced::build(&bins),
        };
        table.check_load(plan.slots).map_err(|_| Error::Chance("a bin has more items than it has slots"))?;
        Ok(Slots::Several { table, slots: plan.slots })
    }

    /// The item at a slot of a bin: number `bin`·p + `slot`.
    pub(super) fn get(&self, slot: usize) -> Option<u32> {
        match self {
            Slots::Cuckoo(table) => table.get(slot),
            Slots::Several { table, slots } => table.bin(slot / slots).get(slot % slots).copied(),
            Slots::Alone(_) => None,
        }
    }

    /// The items of the stash.
    pub(super) fn stash(&self) -> &[u32] {
        match self {
            Slots::Cuckoo(table) => table.stash(),
            Slots::Several { .. } => &[],
            Slots::Alone(items) => items,
        }
    }
}
