//! What `--memory` makes of a run, if both sides give the same: whose keys go to disk, into how many parts the run is split,
//! and how many of them are played at once.
//!
//! The figures are those of tables that are read row by row, and in which no key repeats.

use vesica_encode::items::{Encoding, Width};
use vesica_protocols::{Learns, ResultKind, Role, Sizes, encoding_for};

use super::{Conditions, Estimate, Parties, SPLIT_BYTES_PER_ROW, TABLE_BYTES_PER_ROW, Unfit};
use crate::job::demand_in_memory;
use crate::memory::Budget;
use crate::parts::{Parts, lanes};
use crate::session::part_costs;
use crate::settings::{self, Wanted};
use crate::spool::{BUCKETS, Shares, bytes_on_disk};

/// How the two parties lay out a run.
pub(super) struct Layout {
    pub(super) parts: Parts,
    /// `--memory`, if there is one.
    budget: Option<Budget>,
    /// Bytes of temporary files.
    disk: Parties,
}

impl Parties {
    fn of(receiver_and_sender: impl Fn(Role) -> u64) -> Self {
        Parties { receiver: receiver_and_sender(Role::Receiver), sender: receiver_and_sender(Role::Sender) }
    }

    fn get(self, role: Role) -> u64 {
        match role {
            Role::Receiver => self.receiver,
            Role::Sender => self.sender,
        }
    }
}

const ROLES: [Role; 2] = [Role::Receiver, Role::Sender];

impl Layout {
    /// That of a run with these terms.
    pub(super) fn of(
        asked: &settings::Choice,
        wanted: Wanted<'_>,
        sizes: Sizes,
        conditions: &Conditions,
    ) -> Result<Self, Unfit> {
        let Conditions { memory: budget, kept_base_ots, .. } = *conditions;
        let in_memory = Parties { receiver: 0, sender: 0 };
        let rows = wanted.result == ResultKind::Rows && wanted.audit_max.is_none();
        let can_split = rows && !wanted.paper_parameters && !kept_base_ots;
        let (parts, disk) = match (budget, encoding_for(wanted.security, wanted.level, wanted.sigma)) {
            (Some(budget), Encoding::Digest(width)) if can_split => {
                let learns = |role| role == Role::Receiver || wanted.learns == Learns::Both;
                let disk = Parties::of(|role| disk(budget, width, sizes.of(role), learns(role)));
                let needed = |role| parts(asked, wanted, (role, sizes), (budget, disk.get(role) > 0));
                (wanted.parts.max(needed(Role::Receiver)).max(needed(Role::Sender)), disk)
            }
            _ => (wanted.parts, in_memory),
        };
        Ok(Layout { parts: Parts::new(parts).map_err(|_| Unfit::Parts)?, budget, disk })
    }

    /// How many parts are played at once, if the protocol takes so much for a part.
    pub(super) fn lanes(&self, sizes: Sizes, of_part: Parties, threads: usize) -> u16 {
        let bound = self.bound(sizes);
        let room = |role: Role| match self.budget {
            None => u16::MAX,
            Some(budget) if self.disk.get(role) > 0 => {
                shares(budget).lanes(sizes.of(role) as u64, (bound, of_part.get(role)))
            }
            // A receiver's bound is that of the whole set, which has room for many.
            Some(_) if role == Role::Receiver => u16::MAX,
            Some(budget) => {
                let table = (TABLE_BYTES_PER_ROW + SPLIT_BYTES_PER_ROW) * sizes.sender as u64;
                let room = budget.bytes.saturating_sub(table) / of_part.sender.max(1);
                u16::try_from(room).unwrap_or(u16::MAX)
            }
        };
        lanes(self.parts, threads, room(Role::Receiver).min(room(Role::Sender)))
    }

    /// The cost of such a run: what it takes of the budget where keys are on disk.
    pub(super) fn within(
        &self,
        estimate: Estimate,
        sizes: Sizes,
        of_part: Parties,
        lanes: u16,
    ) -> Result<Estimate, Unfit> {
        let Some(budget) = self.budget else { return Ok(estimate) };
        let bound = self.bound(sizes);
        let memory = Parties::of(|role| match self.disk.get(role) {
            0 => estimate.memory.get(role),
            _ => {
                let (rows, shares) = (sizes.of(role) as u64, shares(budget));
                shares.needed(rows, (bound, of_part.get(role)), lanes).max(shares.least(rows))
            }
        });
        match ROLES.into_iter().find(|role| !budget.allows(memory.get(*role))) {
            Some(role) => Err(Unfit::Memory { role: role.name(), needed: memory.get(role) }),
            None => Ok(Estimate { memory, disk: self.disk, ..estimate }),
        }
    }

    /// Items of the larger of two parts.
    fn bound(&self, sizes: Sizes) -> u64 {
        self.parts.bound(sizes.receiver.max(sizes.sender) as u64)
    }
}

fn shares(budget: Budget) -> Shares {
    Shares::new(budget.bytes, 0)
}

/// Bytes of temporary files of a side with so many keys.
fn disk(budget: Budget, width: Width, items: usize, learns: bool) -> u64 {
    let shares = shares(budget);
    if items <= shares.keys() { 0 } else { bytes_on_disk(items as u64, width, shares.block(BUCKETS), learns) }
}

/// How many parts a side needs.
fn parts(
    asked: &settings::Choice,
    wanted: Wanted<'_>,
    (role, sizes): (Role, Sizes),
    (budget, on_disk): (Budget, bool),
) -> u32 {
    let costs = |parts| part_costs(asked, wanted, (role, sizes), parts);
    let (items, larger) = (sizes.of(role) as u64, sizes.receiver.max(sizes.sender) as u64);
    match (on_disk, role) {
        (true, _) => {
            let costs = |parts| costs(parts).map(|costs| (costs.items, costs.protocol));
            shares(budget).parts(items, larger, 2, costs)
        }
        (false, Role::Sender) => demand_in_memory((items, budget), sizes, &costs),
        (false, Role::Receiver) => 1,
    }
}
