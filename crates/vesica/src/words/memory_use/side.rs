//! What a run takes of the memory of one side. A run and `plan` ask here, so that both give the same answer.

use vesica_encode::parts::Parts;
use vesica_protocols::registry::{Entry, Shape};
use vesica_protocols::{ResultKind, Role, Sizes};

use crate::words::auto;
use crate::words::measured;
use crate::words::memory::{Budget, Source};
use crate::words::memory_use::disk::{CONNECTION, MemoryPlan};
use crate::words::parts::{self, LEAST_PARTS_OF_ENGINE, MOST_LANES, numbers_of_parts};
use crate::words::settings::{Choice, Wanted};

/// Bytes that reading a table and keeping its items take at most, a row.
pub(crate) const TABLE_BYTES_PER_ROW: u64 = 48;

/// Bytes that splitting a set into parts takes beside that, a row.
pub(crate) const SPLIT_BYTES_PER_ROW: u64 = 80;

/// Bytes that the program takes beside its table and its protocol.
pub(crate) const PROCESS_BYTES: u64 = 12 << 20;

/// Bytes that a sender keeps for each row of its table, because of what the result takes.
pub(crate) fn attached_bytes_per_row(result: ResultKind) -> u64 {
    match result {
        // A number for the row, and one for its key.
        ResultKind::Sums { columns } => 16 * u64::from(columns),
        // The row's fields and where they end, and the block of its key.
        ResultKind::Payload { bytes } => 8 + 2 * u64::from(bytes),
        ResultKind::Rows | ResultKind::Count | ResultKind::AtLeast(_) => 0,
    }
}

/// What one part of a run takes on this side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartCosts {
    /// Items of the larger of the two parts.
    pub(crate) items: u64,
    /// Bytes that the protocol takes.
    pub(crate) protocol: u64,
}

/// What the protocol takes on one side of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunCosts {
    /// B.
    pub(crate) parts: Parts,
    /// Bytes for the whole set. A receiver keeps of each part what its matches are found from until the run ends.
    pub(crate) whole: u64,
    /// For each part.
    pub(crate) part: PartCosts,
}

impl RunCosts {
    /// What a protocol takes on the side of a role. `part` is a part of the run; the sets have these sizes.
    pub(crate) fn of(protocol: &Entry, part: &Shape, (role, sizes): (Role, Sizes), parts: Parts) -> Self {
        let of_part = Shape { matches: 0, ..*part };
        let bytes = of_protocol(protocol, &of_part, role);
        let whole = match role {
            Role::Receiver => of_protocol(protocol, &Shape { sizes, ..of_part }, role),
            Role::Sender => bytes,
        };
        let items = part.sizes.receiver.max(part.sizes.sender) as u64;
        RunCosts { parts, whole, part: PartCosts { items, protocol: bytes } }
    }
}

/// The protocol for a run in so many parts, and what a part is to it.
fn part_of(
    asked: &Choice,
    wanted: Wanted<'_>,
    sizes: Sizes,
    parts: Parts,
) -> Option<(&'static Entry, Shape)> {
    let wanted = Wanted { statistical: parts.statistical_security(), ..wanted };
    let sizes = parts::sizes(parts, sizes);
    let auto::Choice { protocol, parameters, .. } = auto::choose(asked, wanted, Some(sizes)).ok()?;
    Some((protocol, Shape { parameters, learns: wanted.learns, ..Shape::new(sizes) }))
}

/// What a run over sets of these sizes takes on the side of that role; nothing, if there is no protocol for it.
pub(crate) fn run_costs(
    asked: &Choice,
    wanted: Wanted<'_>,
    (role, sizes): (Role, Sizes),
    parts: Parts,
) -> Option<RunCosts> {
    let (protocol, part) = part_of(asked, wanted, sizes, parts)?;
    Some(RunCosts::of(protocol, &part, (role, sizes), parts))
}

/// About how many seconds one thread of each party computes for a part of such a run; 0, if there is no protocol for it, or
/// one whose helper takes no part in several.
pub(crate) fn seconds_of_part(asked: &Choice, wanted: Wanted<'_>, sizes: Sizes, parts: Parts) -> f64 {
    let part = part_of(asked, wanted, sizes, parts).filter(|(protocol, _)| !protocol.has_helper());
    part.map_or(0.0, |(protocol, part)| measured::seconds_of_one_thread(protocol, &part))
}

/// The most bytes that a protocol takes on the side of a role.
pub(crate) fn of_protocol(protocol: &Entry, shape: &Shape, role: Role) -> u64 {
    let memory = protocol.memory_of(shape);
    match role {
        Role::Receiver => memory.receiver,
        Role::Sender => memory.sender,
    }
}

/// Where the keys of a side are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KeysAt {
    /// All in memory.
    Memory,
    /// On disk, within such a plan.
    Disk(MemoryPlan),
    /// With the tasks of an engine: what is counted is one task.
    Engine,
}

/// The memory of one side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SideMemory {
    pub(crate) keys: KeysAt,
    pub(crate) role: Role,
    /// Rows of its table.
    pub(crate) rows: u64,
    /// What the result is.
    pub(crate) result: ResultKind,
    /// What it may take.
    pub(crate) budget: Option<Budget>,
}

/// Tells what a run in so many parts takes.
pub(crate) type CostsOfParts<'c> = &'c dyn Fn(Parts) -> Option<RunCosts>;

impl SideMemory {
    /// How many parts this side needs, so that it stays within its budget: one, if a single part fits or nothing does.
    pub(crate) fn parts(&self, sizes: Sizes, costs: CostsOfParts<'_>) -> u32 {
        let larger = sizes.receiver.max(sizes.sender) as u64;
        let fits = |count: &u32| Parts::new(*count).is_ok_and(|parts| self.has_room(parts, 1, costs));
        match (&self.keys, self.role) {
            // What a receiver keeps of every part is as much as it takes for one.
            (KeysAt::Memory, Role::Receiver) => 1,
            (KeysAt::Memory, Role::Sender) if fits(&1) => 1,
            (KeysAt::Memory, Role::Sender) => numbers_of_parts(larger, 1).find(fits).unwrap_or(1),
            (KeysAt::Disk(plan), _) => plan.parts(self.rows, larger, 2, |parts| Some(costs(parts)?.part)),
            (KeysAt::Engine, _) => {
                let mut counts = numbers_of_parts(larger, LEAST_PARTS_OF_ENGINE);
                let most = || numbers_of_parts(larger, LEAST_PARTS_OF_ENGINE).last();
                counts.find(fits).or_else(most).unwrap_or(LEAST_PARTS_OF_ENGINE)
            }
        }
    }

    /// How many parts this side has cores for, and room for all of them at once. `seconds` tells how long one thread
    /// computes for a part.
    pub(crate) fn parts_for_cores(
        &self,
        threads: usize,
        sizes: Sizes,
        costs: CostsOfParts<'_>,
        seconds: &dyn Fn(Parts) -> f64,
    ) -> u32 {
        let fits = |parts: Parts| self.has_room(parts, parts.count() as u16, costs);
        match &self.keys {
            KeysAt::Memory => parts::for_cores(threads, sizes, seconds, &fits),
            KeysAt::Disk(_) | KeysAt::Engine => 1,
        }
    }

    /// Whether there is a protocol for a run in so many parts that stays within the budget, if so many are played at once.
    fn has_room(&self, parts: Parts, lanes: u16, costs: CostsOfParts<'_>) -> bool {
        let costs = costs(parts);
        costs.is_some_and(|costs| self.budget.is_none_or(|budget| budget.allows(self.needed(&costs, lanes))))
    }

    /// The most bytes that the run takes here, if so many parts are played at once.
    pub(crate) fn needed(&self, costs: &RunCosts, lanes: u16) -> u64 {
        match &self.keys {
            KeysAt::Memory => {
                let lanes = u64::from(lanes);
                // A receiver keeps of the parts that were played what it takes for the whole set.
                let protocol = costs.whole.max(costs.part.protocol.saturating_mul(lanes));
                let links = if costs.parts == Parts::ONE { 0 } else { CONNECTION.saturating_mul(lanes) };
                self.table(costs.parts).saturating_add(protocol).saturating_add(links)
            }
            KeysAt::Disk(plan) => plan.needed(self.rows, costs.part, lanes),
            KeysAt::Engine => {
                costs.part.protocol.saturating_add(TABLE_BYTES_PER_ROW.saturating_mul(costs.part.items))
            }
        }
    }

    /// How many parts may be played at once, by a side with so many threads.
    pub(crate) fn lanes(&self, costs: &RunCosts, threads: usize) -> u16 {
        let room = match &self.keys {
            KeysAt::Memory => {
                let fits =
                    |lanes: &u16| self.budget.is_none_or(|budget| budget.allows(self.needed(costs, *lanes)));
                (1..=MOST_LANES).rev().find(fits).unwrap_or(1)
            }
            KeysAt::Disk(plan) => plan.lanes(self.rows, costs.part),
            KeysAt::Engine => 1,
        };
        parts::lanes(costs.parts, threads, room)
    }

    /// What the run is refused by. Whoever shares out the tasks of an engine knows what they may take.
    pub(crate) fn limit(&self) -> Option<Budget> {
        match &self.keys {
            KeysAt::Memory => self.budget.map(Budget::limit),
            KeysAt::Disk(plan) => self.budget.map(|budget| match budget.from {
                Source::Automatic => budget.limit(),
                _ => Budget { bytes: plan.total(), parties: 1, ..budget },
            }),
            KeysAt::Engine => None,
        }
    }

    /// The table and its items, and their split.
    fn table(&self, parts: Parts) -> u64 {
        let attached = match self.role {
            Role::Receiver => 0,
            Role::Sender => attached_bytes_per_row(self.result),
        };
        let split = if parts == Parts::ONE { 0 } else { SPLIT_BYTES_PER_ROW };
        (TABLE_BYTES_PER_ROW + attached + split).saturating_mul(self.rows)
    }
}
