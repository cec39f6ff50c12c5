//! A run of a side whose keys may not fit into its `--memory`.

use rand_core::CryptoRng;
use vesica_encode::items::Encoding;
use vesica_protocols::Role;
use vesica_table::{Format, Input, Request, Table};

use crate::scale::spool::{self, Disk, Keys, OnDisk, SpoolError};
use crate::session::local_state::padded;
use crate::session::reporter::Reporter;
use crate::words::error::{Error, RunPhase};
use crate::words::memory::Source;
use crate::words::memory_use::disk::MemoryPlan;
use crate::words::settings::Settings;
use crate::words::tables::Destination;
use crate::words::terms::Terms;

/// What the reader of a columnar table has in memory at a time.
const COLUMNAR: u64 = 64 << 20;

/// The budget of a party that may put keys on disk: the user named one, and the run can have several parts.
pub(crate) fn budget(
    settings: &Settings,
    terms: &Terms,
    (role, output): (Role, &Destination),
) -> Option<u64> {
    let named = settings.memory.filter(|budget| matches!(budget.from, Source::Option | Source::Automatic))?;
    let digests = matches!(settings.encoding(), Encoding::Digest(_));
    let in_parts = terms.limits().takes_parts() && terms.not_in_parts().is_none();
    // Match numbers, and rows for the caller, take memory for each.
    let bitmap = !settings.match_id && (output.path().is_some() || !settings.learns_result(role));
    (digests && in_parts && bitmap).then_some(named.of_party())
}

/// The first pass over a table, with a budget of so many bytes.
pub(crate) fn read(
    input: Input,
    request: &Request,
    (role, settings): (Role, &Settings),
    budget: u64,
    reporter: &Reporter<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<(Table, Keys), Error> {
    let reader = if matches!(input.format(), Format::Csv(_)) { 0 } else { COLUMNAR };
    let plan = MemoryPlan::new(budget, reader);
    let learns = settings.learns_result(role);
    let disk = Disk { named: settings.temp_dir.as_deref(), rng, plan, learns, threads: settings.threads() };
    let read = spool::read(input, request, disk, &mut |progress| reporter.bytes(progress));
    read.map_err(|error| Error::spool(RunPhase::Read, &error))
}

/// Counts the different keys of a table on disk.
pub(crate) fn counted(
    table: Table,
    keys: spool::SpooledKeys,
    settings: &Settings,
    reporter: &Reporter<'_>,
) -> Result<(Table, OnDisk), Error> {
    reporter.enter(RunPhase::Count, keys.rows());
    let counts = match keys.count(&mut |progress| reporter.bytes(progress)) {
        Ok(counts) => counts,
        Err(SpoolError::Duplicate { first, second }) => {
            let error = table.duplicate((first, second), &mut |progress| reporter.bytes(progress));
            return Err(Error::table(RunPhase::Read, &error));
        }
        Err(error) => return Err(Error::spool(RunPhase::Count, &error)),
    };
    let table = table.with_counts(counts.items, counts.duplicates);
    let items = padded(counts.items as usize, settings)? as u64;
    reporter.read(table.report(), items, settings);
    // A bit for each key.
    let (rows, plan) = (table.report().rows * table.keys_of_row() as u64, keys.plan());
    Ok((table, OnDisk { keys, rows, items, plan }))
}
