//! What `--memory` and the cores make of a run, if both sides have the same: whose keys go to disk, into how many parts the
//! run is split, and how many of them are played at once.
//!
//! The figures are those of tables that are read row by row, and in which no key repeats.

use vesica_encode::items::{Encoding, Width};
use vesica_protocols::{Learns, ResultKind, Role, Sizes, encoding_for};

use super::{Conditions, Estimate, Parties, Unfit};
use crate::words::memory::Budget;
use crate::words::memory_use::disk::{BUCKETS, MemoryPlan, bytes_on_disk};
use crate::words::memory_use::side::{KeysAt, RunCosts, SideMemory, run_costs, seconds_of_part};
use crate::words::parts::questions::{self, AgreedParts, Side};
use crate::words::parts::{Parts, PartsWanted};
use crate::words::settings::{self, Limits, Wanted};

/// How the two parties lay out a run.
pub(super) struct Layout {
    pub(super) parts: Parts,
    /// Whether the cores alone take the parts.
    for_cores: bool,
    /// `--memory`, if there is one.
    budget: Option<Budget>,
    /// Of the receiver and the sender.
    sides: [SideMemory; 2],
    /// Bytes of temporary files.
    disk: Parties,
}

impl Parties {
    pub(super) fn of(receiver_and_sender: impl Fn(Role) -> u64) -> Self {
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
        let Conditions { memory: budget, kept_base_ots, threads, .. } = *conditions;
        let rows = wanted.result == ResultKind::Rows && wanted.audit_max.is_none();
        let can_split = rows && !wanted.paper_parameters && !kept_base_ots;
        let width = match encoding_for(wanted.security, wanted.level, wanted.sigma) {
            Encoding::Digest(width) if can_split => Some(width),
            _ => None,
        };
        let split = budget.zip(width);
        let disk = Parties::of(|role| {
            let learns = role == Role::Receiver || wanted.learns == Learns::Both;
            split.map_or(0, |(budget, width)| disk(budget, width, sizes.of(role), learns))
        });
        let sides = ROLES.map(|role| {
            let keys = match budget.filter(|_| disk.get(role) > 0) {
                Some(budget) => KeysAt::Disk(MemoryPlan::new(budget.bytes, 0)),
                None => KeysAt::Memory,
            };
            SideMemory { keys, role, rows: sizes.of(role) as u64, result: wanted.result, budget }
        });
        let wish = |side: &SideMemory| {
            let costs = |parts| run_costs(asked, wanted, (side.role, sizes), parts);
            let seconds = |parts| seconds_of_part(asked, wanted, sizes, parts);
            let needed = split.map_or(1, |_| side.parts(sizes, &costs)).max(wanted.parts);
            let for_cores = width.map_or(1, |_| side.parts_for_cores(threads, sizes, &costs, &seconds));
            let wanted = PartsWanted { needed, for_cores };
            Side { name: side.role.name(), role: side.role, limits: Limits::default(), wanted }
        };
        let agreed = questions::agree_on_parts(&sides.each_ref().map(wish), sizes, wanted.learns);
        let AgreedParts { parts, for_cores } = agreed.map_err(|_| Unfit::Parts)?;
        Ok(Layout { parts, for_cores, budget, sides, disk })
    }

    /// How many parts may be played again, if so many are played at once.
    pub(super) fn allowance(&self, lanes: u16) -> u32 {
        if self.for_cores { 0 } else { questions::allowance(self.parts, lanes) }
    }

    /// How many parts are played at once, if the protocol takes so much.
    pub(super) fn lanes(&self, costs: &dyn Fn(Role) -> RunCosts, threads: usize) -> u16 {
        self.sides.iter().map(|side| side.lanes(&costs(side.role), threads)).min().unwrap_or(1)
    }

    /// The estimate with what such a run takes of the memory.
    pub(super) fn within(
        &self,
        estimate: Estimate,
        costs: &dyn Fn(Role) -> RunCosts,
        lanes: u16,
    ) -> Result<Estimate, Unfit> {
        let needed = |side: &SideMemory| {
            let least = match side.keys {
                KeysAt::Disk(plan) => plan.least(side.rows),
                KeysAt::Memory | KeysAt::Engine => 0,
            };
            side.needed(&costs(side.role), lanes).max(least)
        };
        let [receiver, sender] = self.sides.each_ref().map(needed);
        let memory = Parties { receiver, sender };
        let over = |role: &Role| self.budget.is_some_and(|budget| !budget.allows(memory.get(*role)));
        match ROLES.into_iter().find(over) {
            Some(role) => Err(Unfit::Memory { role: role.name(), needed: memory.get(role) }),
            None => Ok(Estimate { memory, disk: self.disk, ..estimate }),
        }
    }
}

/// Bytes of temporary files of a side with so many keys.
fn disk(budget: Budget, width: Width, items: usize, learns: bool) -> u64 {
    let plan = MemoryPlan::new(budget.bytes, 0);
    if items <= plan.keys() { 0 } else { bytes_on_disk(items as u64, width, plan.block(BUCKETS), learns) }
}
