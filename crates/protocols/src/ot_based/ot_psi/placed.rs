//! Where the receiver's items stand: in a place of a bin, or of the stash.

use vesica_crypto::block::Block;
use vesica_encode::hashing::{Digests, balanced, cuckoo, simple};

use super::{Plan, Scheme};
use crate::error::Error;
use crate::oprf::bins::cuckoo_failure;
use crate::protocol::Run;

/// The receiver's item at each place.
pub(super) enum Placed {
    /// One item a bin, and a stash.
    Cuckoo(cuckoo::Table),
    /// Several items a bin, at most p.
    Several { table: simple::Table, places: usize },
    /// No bins: as many places of the stash as there are items.
    Alone(Vec<u32>),
}

impl Placed {
    pub(super) fn new(run: &Run<'_>, plan: &Plan, digests: &[Block]) -> Result<Self, Error> {
        let bins = Digests::new(digests, plan.layout);
        let table = match plan.scheme {
            Scheme::Cuckoo => {
                let table = cuckoo::Table::build(&bins, plan.stash);
                return Ok(Placed::Cuckoo(table.map_err(|_| cuckoo_failure(run.parameters.paper))?));
            }
            Scheme::NoHashing => return Ok(Placed::Alone((0..digests.len() as u32).collect())),
            Scheme::Simple => simple::Table::build(run.threads, &bins),
            Scheme::Balanced => balanced::build(&bins),
        };
        table
            .check_load(plan.places)
            .map_err(|_| Error::Chance("a bin has more items than it has places"))?;
        Ok(Placed::Several { table, places: plan.places })
    }

    /// The item at a place of a bin: number `bin`·p + `place`.
    pub(super) fn get(&self, place: usize) -> Option<u32> {
        match self {
            Placed::Cuckoo(table) => table.get(place),
            Placed::Several { table, places } => table.bin(place / places).get(place % places).copied(),
            Placed::Alone(_) => None,
        }
    }

    /// The items of the stash.
    pub(super) fn stash(&self) -> &[u32] {
        match self {
            Placed::Cuckoo(table) => table.stash(),
            Placed::Several { .. } => &[],
            Placed::Alone(items) => items,
        }
    }
}
