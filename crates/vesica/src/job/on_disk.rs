//! A run of a side whose keys may not fit into its `--memory`.

use rand_core::CryptoRng;
use vesica_encode::items::Encoding;
use vesica_encode::parts::Parts;
use vesica_protocols::{Phase, Progress as _, Role, Sizes};
use vesica_table::{Format, Input, Request, Table};

use super::{Met, Pair, padded, play_parts};
use crate::cost::{SPLIT_BYTES_PER_ROW, TABLE_BYTES_PER_ROW};
use crate::ended::Found;
use crate::error::Error;
use crate::memory::{Budget, Source};
use crate::parts::{KeySet, Selected, lanes};
use crate::reporter::Reporter;
use crate::session::{self, PartCosts, SessionError};
use crate::settings::Settings;
use crate::spool::{self, Disk, Keys, OnDisk, Shares, SpoolError};
use crate::tables::Destination;
use crate::terms::Terms;

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
    let shares = Shares::new(budget, reader);
    let learns = settings.learns_result(role);
    let disk = Disk { named: settings.temp_dir.as_deref(), rng, shares, learns };
    let read = spool::read(input, request, disk, &mut |progress| reporter.bytes(progress));
    read.map_err(|error| Error::spool(Phase::Read, &error))
}

/// Counts the different keys of a table on disk.
pub(crate) fn counted(
    table: Table,
    keys: spool::SpooledKeys,
    settings: &Settings,
    reporter: &Reporter<'_>,
) -> Result<(Table, OnDisk), Error> {
    reporter.phase(Phase::Count, keys.rows());
    let counts = match keys.count(&mut |progress| reporter.bytes(progress)) {
        Ok(counts) => counts,
        Err(SpoolError::Duplicate { first, second }) => {
            let error = table.duplicate((first, second), &mut |progress| reporter.bytes(progress));
            return Err(Error::table(Phase::Read, &error));
        }
        Err(error) => return Err(Error::spool(Phase::Count, &error)),
    };
    let table = table.with_counts(counts.items, counts.duplicates);
    let items = padded(counts.items as usize, settings)? as u64;
    reporter.read(table.report(), items, settings);
    let (rows, shares) = (table.report().rows, keys.shares());
    Ok((table, OnDisk { keys, rows, items, shares }))
}

/// The conversation with the partner, as [`converse`](super::converse) has it for items in memory.
pub(crate) fn converse(
    settings: &Settings,
    terms: &Terms,
    on_disk: OnDisk,
    Met { mut channel, links }: Met,
    pair: &Pair,
    reporter: &Reporter<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<Found, Error> {
    channel.cancel_on(reporter.cancel);
    reporter.connected(&channel);
    reporter.phase(Phase::Agree, 0);
    let OnDisk { shares, rows, items, .. } = on_disk;
    let demand = |sizes: Sizes, costs: &dyn Fn(Parts) -> Option<PartCosts>| {
        let larger = sizes.receiver.max(sizes.sender) as u64;
        shares.parts(rows, larger, 2, |parts| costs(parts).map(|costs| (costs.items, costs.protocol)))
    };
    let my_key = pair.my_key.as_ref();
    let size = (items as usize, &demand as session::Demand<'_>);
    let agreed = session::agree_on_demand(&mut channel, terms, settings.wanted(), size, my_key);
    reporter.transcript(&channel);
    let failed = |error: SessionError| Error::session(Phase::Agree, &error);
    let agreed = agreed.map_err(failed)?;
    reporter.agreed(&agreed, terms);
    let played = agreed.played();
    let costs = (played.receiver.max(played.sender) as u64, agreed.memory_of_part());
    let lanes = lanes(agreed.parts, settings.threads(), shares.lanes(rows, costs));
    let needed = shares.needed(rows, costs, lanes);
    reporter.memory_bound(needed);
    let limit = settings.memory.map(|budget| match budget.from {
        Source::Automatic => budget.limit(),
        _ => Budget { bytes: shares.total(), parties: 1, ..budget },
    });
    agreed.check_memory(needed, limit, &mut channel).map_err(failed)?;
    let set = KeySet::OnDisk(on_disk, reporter);
    match play_parts((settings, lanes), &agreed, set, (channel, links), reporter, rng)? {
        Some(Selected::Bitmap { rows, items }) => {
            reporter.selected(items, rows.len());
            Ok(Found { selected: Some(rows), ..Found::default() })
        }
        _ => Ok(Found::default()),
    }
}

/// How many parts a sender with its keys in memory needs: one, unless a run in one part does not fit into its budget and one
/// in several parts does. (A receiver with its keys in memory takes as much with parts as without.)
pub(crate) fn demand_in_memory(
    (rows, budget): (u64, Budget),
    sizes: Sizes,
    costs: &dyn Fn(Parts) -> Option<PartCosts>,
) -> u32 {
    let needs = |parts: Parts| {
        let split = if parts == Parts::ONE { 0 } else { SPLIT_BYTES_PER_ROW };
        let protocol = costs(parts)?.protocol;
        Some((TABLE_BYTES_PER_ROW + split).saturating_mul(rows).saturating_add(protocol))
    };
    let fits = |count: u32| Parts::new(count).ok().and_then(needs).is_some_and(|bytes| budget.allows(bytes));
    let larger = sizes.receiver.max(sizes.sender) as u64;
    if fits(1) {
        return 1;
    }
    spool::numbers_of_parts(larger, 1).find(|count| fits(*count)).unwrap_or(1)
}
