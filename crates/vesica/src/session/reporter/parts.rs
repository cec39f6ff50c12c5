//! A run in parts, and one whose keys are on disk: events, bytes and what the report says of them.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use vesica_net::Connection;
use vesica_protocols::Progress;
use vesica_spill::Usage;
use vesica_table::RowBitmap;

use super::{Reporter, sum};
use crate::session::Agreed;
use crate::words::parts::Parts;
use crate::words::report::{Event, MatchCounts, PartsReport, SpillReport};

/// The least time between two events of parts that are done.
const PART_EVERY: Duration = Duration::from_millis(250);

impl Reporter<'_> {
    /// An attempt at a part begins on this connection. The result is for [`part_ended`](Self::part_ended).
    pub(crate) fn part_begins(&self, channel: &Connection) -> u64 {
        let mut state = self.state();
        state.attempts += 1;
        let number = state.attempts;
        state.playing.push((number, channel.meter()));
        number
    }

    /// The connection of that attempt is of no more use.
    pub(crate) fn part_ended(&self, number: u64, channel: &Connection) {
        let mut state = self.state();
        state.playing.retain(|(playing, _)| *playing != number);
        state.past = sum(state.past, channel.traffic());
    }

    /// A part is done for the first time; not every one is told.
    pub(crate) fn part_done(&self, index: u32) {
        let _in_order = self.telling.lock().unwrap_or_else(PoisonError::into_inner);
        let event = {
            let mut state = self.state();
            state.parts_done += 1;
            let (done, of) = (state.parts_done, state.total as u32);
            let due = state.last_part.is_none_or(|last| last.elapsed() >= PART_EVERY) || done == of;
            if due {
                state.last_part = Some(Instant::now());
            }
            due.then_some(Event::Part { index, done, of })
        };
        event.iter().for_each(self.on_event);
        self.advance(1);
    }

    /// The connection of the run had broken, and was made again.
    pub(crate) fn taken_up(&self, channel: &Connection) {
        self.state().meters.push(channel.meter());
        self.notice("the connection of the run broke, and was made again".to_owned());
    }

    /// How the parts went, and how many keys they let a receiver test that cheats.
    pub(crate) fn parts(&self, parts: PartsReport, tested: Option<u64>) {
        let report = &mut self.state().report;
        report.parts = Some(parts);
        if let Some(tested) = tested {
            report.parameters.insert("max_tested_keys", tested.into());
        }
    }

    /// Shows how many keys a receiver can test that cheats, if so many parts are played again.
    pub(crate) fn questions(&self, agreed: &Agreed, repeated: u32) {
        if let Some(tested) = agreed.max_tested_keys(repeated) {
            let again = match agreed.parts {
                Parts::ONE => String::new(),
                parts if repeated == 0 => format!(", in {} parts", parts.count()),
                parts => format!(", in {} parts of which {repeated} may be played again", parts.count()),
            };
            self.notice(format!(
                "questions: a receiver that cheats can ask about {tested} keys at most{again}"
            ));
        }
    }

    /// The most memory that a run takes whose keys are on disk.
    pub(crate) fn memory_bound(&self, needed: u64) {
        self.state().report.memory_bound = Some(needed);
    }

    /// What went to temporary files and came back.
    pub(crate) fn spilled(&self, usage: Usage, directory: &'static str) {
        let Usage { written, read } = usage;
        self.state().report.spill =
            Some(SpillReport { bytes_written: written, bytes_read: read, dir_kind: directory });
    }

    /// The run found so many matching items and rows, and its keys were on disk.
    pub(crate) fn selected(&self, items: u64, keys: &RowBitmap) {
        let rows = self.matching_rows(keys.into());
        self.state().report.matches = Some(MatchCounts { items, rows });
        self.hint(Some(items));
    }
}
