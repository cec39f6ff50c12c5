//! What is fixed before the first part.

use rand_core::CryptoRng;
use vesica_net::{Connection, NetError};

use super::rounds::PartTally;
use super::set::{KeySet, PartSet};
use super::toss::{self, Job, Player};
use crate::session::{Agreed, SessionError};
use crate::words::parts::PartsError;
use crate::words::report::PartsReport;

/// What is fixed before the first part: the items of each, and what both sides call the run.
pub(crate) struct PartitionedRun<'a> {
    pub(super) agreed: &'a Agreed,
    pub(super) set: PartSet<'a>,
    pub(super) job: Job,
}

impl<'a> PartitionedRun<'a> {
    /// The coins, the keys, and the split under them.
    pub(crate) fn agree(
        agreed: &'a Agreed,
        keys: impl Into<KeySet<'a>>,
        player: Player,
        run: &mut Connection,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self, SessionError> {
        let job = toss::agree(agreed, player, run, rng);
        let job = job.map_err(|error| agreed.failed(error, run)).inspect_err(|_| run.abort())?;
        let set = keys.into().split(agreed, &job.items_key, rng).inspect_err(|_| run.abort())?;
        Ok(PartitionedRun { agreed, set, job })
    }

    /// A connection of a part could not be made, or taken.
    pub(super) fn link_failed(&self, error: NetError) -> PartsError {
        let failed = if self.agreed.for_cores { PartsError::LinkForCores } else { PartsError::Link };
        failed(Box::new(error))
    }

    /// B.
    pub(super) fn count(&self) -> usize {
        self.agreed.parts.count()
    }

    pub(super) fn report(&self, tally: &PartTally<'_>) -> PartsReport {
        PartsReport {
            count: self.count() as u32,
            bound: self.agreed.played().of(self.agreed.role()) as u64,
            lanes: self.job.players.at_once().into(),
            attempts: tally.attempts(),
            spent: tally.repeated(),
        }
    }
}
