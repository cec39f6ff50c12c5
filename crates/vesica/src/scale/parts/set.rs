//! The keys of one side in a run of several parts: all in memory, or on disk and one part at a time in memory.

use rand_core::CryptoRng;
use vesica_crypto::par;
use vesica_encode::items::Split;
use vesica_encode::items::{Items, Matches};
use vesica_protocols::{Pending, Phase};
use vesica_table::{RowBitmap, RowMarks};

use crate::scale::spool::{Matched, OnDisk, PartFiles, SpoolError};
use crate::session::reporter::Reporter;
use crate::session::{Agreed, SessionError};
use crate::words::error::{Error, RunPhase};
use crate::words::parts::PartsError;

/// The keys before the key of the run is known.
pub(crate) enum KeySet<'a> {
    /// As items, and how many threads may split them.
    InMemory(&'a Items, usize),
    /// In files. Whoever hears of the progress is beside them.
    OnDisk(OnDisk, &'a Reporter<'a>),
    /// With the tasks of an engine, which split them.
    Elsewhere,
}

/// The keys in parts.
pub(crate) enum PartSet<'a> {
    /// All parts at once.
    InMemory { split: Split<'a>, parts: Vec<Items> },
    /// A part is in memory while it is played.
    OnDisk {
        files: PartFiles,
        /// Rows of the table.
        rows: u64,
    },
    /// One part alone, in a task of an engine.
    One(Items),
    /// With the tasks of an engine.
    Elsewhere,
}

/// The matches of an attempt at a part, until it is known whether it counts.
pub(crate) enum Kept<'d> {
    /// They are still to be looked for.
    Pending(Pending<'d>),
    /// They are on disk.
    OnDisk(Matched),
}

/// The matches of the whole set.
pub(crate) enum Selected {
    /// As a list of rows.
    Matches(Matches),
    /// As a bit for each row of the table.
    Bitmap {
        /// The rows.
        rows: RowBitmap,
        /// How many keys matched.
        items: u64,
    },
}

impl<'a> From<&'a Items> for KeySet<'a> {
    fn from(items: &'a Items) -> Self {
        KeySet::InMemory(items, 1)
    }
}

impl<'a> KeySet<'a> {
    /// Splits the keys under the key of the run.
    pub(super) fn split(
        self,
        agreed: &Agreed,
        key: &[u8; 32],
        rng: &mut dyn CryptoRng,
    ) -> Result<PartSet<'a>, PartsError> {
        match self {
            KeySet::InMemory(items, threads) => {
                let split = Split::by_threads(threads, items, key, agreed.parts)?;
                let parts = split.all_parts(threads, rng)?;
                Ok(PartSet::InMemory { split, parts })
            }
            KeySet::OnDisk(OnDisk { keys, rows, items, plan }, reporter) => {
                reporter.enter(RunPhase::Split, keys.rows());
                let block = plan.block(agreed.parts.count());
                let on_progress = &mut |progress| reporter.bytes(progress);
                let files = keys.split(key, agreed.parts, items, block, on_progress);
                Ok(PartSet::OnDisk { files: files.map_err(|error| disk(RunPhase::Split, &error))?, rows })
            }
            KeySet::Elsewhere => Ok(PartSet::Elsewhere),
        }
    }
}

impl Selected {
    /// The matches of a set in memory.
    pub(crate) fn into_matches(self) -> Option<Matches> {
        match self {
            Selected::Matches(matches) => Some(matches),
            Selected::Bitmap { .. } => None,
        }
    }
}

impl PartSet<'_> {
    /// The matches of the whole set, given those of its parts in their order; none if this side does not learn them. At most
    /// `threads` threads look for them; on disk, those of so many parts at a time as fit into memory.
    pub(super) fn matches(
        &self,
        chosen: Option<Vec<Kept<'_>>>,
        (threads, at_once): (usize, u16),
    ) -> Result<Option<Selected>, SessionError> {
        let Some(chosen) = chosen else { return Ok(None) };
        match self {
            PartSet::InMemory { split, .. } => {
                let mut found: Vec<Option<Matches>> = chosen.iter().map(|_| None).collect();
                let tasks = chosen.into_iter().zip(&mut found);
                par::for_each(threads, tasks, |_, (kept, found)| {
                    // Only a set on disk keeps its matches there.
                    if let Kept::Pending(pending) = kept {
                        *found = Some(pending.matches()?);
                    }
                    Ok::<_, SessionError>(())
                })?;
                Ok(Some(Selected::Matches(split.matches(found.into_iter().flatten()))))
            }
            PartSet::OnDisk { files, rows } => {
                let marks = RowMarks::new(*rows);
                let matched = chosen.iter().map(|kept| match kept {
                    Kept::OnDisk(matched) => Some(matched),
                    Kept::Pending(_) => None,
                });
                let matched: Vec<_> = matched.collect();
                par::for_each(threads.min(at_once.into()), matched.iter(), |part, matched| {
                    matched.map_or(Ok(()), |matched| files.mark(part, matched, &marks))
                })
                .map_err(|error| disk(RunPhase::Protocol(Phase::Compare), &error))?;
                let items = matched.iter().flatten().map(|matched| matched.items()).sum();
                Ok(Some(Selected::Bitmap { rows: marks.into(), items }))
            }
            PartSet::One(_) | PartSet::Elsewhere => Ok(None),
        }
    }

    /// All parts of a set in memory.
    #[cfg(test)]
    pub(super) fn in_memory(&self) -> &[Items] {
        match self {
            PartSet::InMemory { parts, .. } => parts,
            _ => &[],
        }
    }

    /// What the report says of temporary files.
    pub(super) fn usage(&self) -> Option<(vesica_spill::Usage, &'static str)> {
        match self {
            PartSet::OnDisk { files, .. } => {
                Some((files.spill().usage(), files.spill().directory().kind().name()))
            }
            PartSet::InMemory { .. } | PartSet::One(_) | PartSet::Elsewhere => None,
        }
    }
}

/// A failure of the temporary files.
pub(super) fn disk(phase: RunPhase, error: &SpoolError) -> PartsError {
    PartsError::Disk(Box::new(Error::spool(phase, error)))
}
