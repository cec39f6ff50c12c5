//! The steps of a run.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rand_core::CryptoRng;
use vesica_channel::CancelToken;
use vesica_crypto::device::Device;
use vesica_encode::items::{Encoding, Items, Matches, OnDuplicates};
use vesica_net::{Options, PublicKey};
use vesica_protocols::registry::OnCard;
use vesica_protocols::{Outcome, Role};
use vesica_table::{
    self as table, Address, Dialect, Format, Input, InputDigest, MatchRules, Output, Packing, Request,
    RowSet, Table, shown_path,
};
use vesica_text::text;

use crate::job::on_disk;
use crate::job::output_paths::Protected;
use crate::scale::parts::{self, KeySet, Selected};
use crate::scale::spool::{Keys, OnDisk};
use crate::session::base_ots::file::CacheInUse;
use crate::session::card::{Opening, tell_failure};
use crate::session::conversation::{AgreedOn, Conversation, LocalOffer};
use crate::session::deadline::Deadline;
use crate::session::local_state::{LocalState, pad, prepare};
use crate::session::met::Met;
use crate::session::partner::Partner;
use crate::session::reporter::Reporter;
use crate::session::run_ledger::{self, NotedSet};
use crate::session::{self, Agreed, SessionError, Workers};
use crate::words::ended::{Ended, RunResult};
use crate::words::error::{Error, RunPhase};
use crate::words::ledger::{OwnSet, RunLedger};
use crate::words::memory::Budget;
use crate::words::memory_use::side::{KeysAt, PROCESS_BYTES, SideMemory, TABLE_BYTES_PER_ROW};
use crate::words::parts::{Parts, PartsError};
use crate::words::report::{Event, InputReport, OnEvent};
use crate::words::results::{Attachments, ResultChoice};
use crate::words::settings::Settings;
use crate::words::tables::{Batches, Destination, Source, TableArgs};
use crate::words::terms::Terms;

/// After this time without data from a stream, the user is told that the run waits for it.
const QUIET_INPUT: Duration = Duration::from_secs(2);

/// One party's run.
pub struct Job {
    /// The part this party plays.
    pub role: Role,
    /// My table.
    pub table: TableArgs,
    /// Everything else that a user chooses.
    pub settings: Settings,
}

impl Job {
    /// Runs against a partner over the network.
    pub fn run(
        mut self,
        partner: &Partner,
        cancel: &CancelToken,
        rng: &mut dyn CryptoRng,
        on_event: OnEvent<'_>,
    ) -> Ended {
        if let Err(error) = partner.address.check() {
            return self.refuse(Error::net(RunPhase::Prepare, &error), on_event);
        }
        // A run about the same file is about the same set.
        self.settings.digest_input |= partner.ledger.is_some();
        self.table.protected.extend(partner.keep_base_ots.iter().chain(&partner.ledger).cloned());
        let mine = match partner.local_state(self.role, &self.settings, rng) {
            Ok(mine) => mine,
            Err(error) => return self.refuse(error, on_event),
        };
        self.run_over(mine, cancel, rng, on_event, |reporter, greeting, options, rng| {
            partner.meet_to_stay(greeting, options, rng, &mut |event| reporter.net_event(&event))
        })
    }

    /// The end of a run that could not begin, for a reason that the caller found.
    pub fn refuse(&self, error: Error, on_event: OnEvent<'_>) -> Ended {
        let cancel = CancelToken::new();
        Reporter::new(self.role, &self.settings, &cancel, on_event).end(Err(error))
    }

    /// Runs over a channel that is made when the table has been read, and that has sent what `connect` is given.
    pub(crate) fn run_over(
        self,
        local: LocalState,
        cancel: &CancelToken,
        rng: &mut dyn CryptoRng,
        on_event: OnEvent<'_>,
        connect: impl FnOnce(&Reporter<'_>, &[u8], &Options, &mut dyn CryptoRng) -> Result<Met, Error>,
    ) -> Ended {
        let (role, settings) = (self.role, self.settings.clone());
        let deadline = match Deadline::start(settings.deadline, cancel) {
            Ok(deadline) => deadline,
            Err(error) => return self.refuse(error, on_event),
        };
        let reporter = Reporter::new(role, &settings, deadline.cancel(), on_event).with_key(local.my_key());
        let reporter = reporter.with_relay(local.via.clone());
        on_event(&Event::Started { role: role.name() });
        let (via, ledger) = (local.via.clone(), local.ledger.clone());
        let result = self.steps(local, &reporter, rng, connect);
        run_ledger::ended(ledger.as_deref(), result.as_ref().err(), &reporter);
        reporter.end(result.map_err(|error| deadline.explain(error.through_relay(via.as_deref()))))
    }

    fn steps(
        self,
        local: LocalState,
        reporter: &Reporter<'_>,
        rng: &mut dyn CryptoRng,
        connect: impl FnOnce(&Reporter<'_>, &[u8], &Options, &mut dyn CryptoRng) -> Result<Met, Error>,
    ) -> Result<RunResult, Error> {
        let terms = prepare(self.role, &self.settings, &[self.table.keys.agreed()], &local)?;
        self.check_keys()?;
        let file = self.output()?;
        let Job { table: TableArgs { input, keys, dialect, output, .. }, settings, .. } = self;
        let rules = keys.agreed();
        let card = local.card.clone().unwrap_or_else(|| Opening::for_run(&settings));
        card.begin();
        // The sender needs no variants, if the receiver has all.
        let keys = match self.role {
            Role::Receiver => {
                keys.with_variants().map_err(|error| Error::table(RunPhase::Prepare, &error))?
            }
            Role::Sender => keys,
        };
        // 1. The table is read before the partner is contacted.
        reporter.enter(RunPhase::Read, 0);
        let path = input.path().cloned();
        let as_rows = settings.result.result == ResultChoice::Rows;
        let input = open(input, dialect, (&output, file.as_ref(), as_rows), reporter)?;
        reporter.room(file.as_ref().filter(|_| as_rows), path.as_ref().map(|_| input.length()));
        let budget = on_disk::budget(&settings, &terms, (self.role, &output));
        let (table, set) =
            read((input, path.as_deref()), keys, (self.role, &settings, budget), &card, reporter, rng)?;
        if as_rows && file.is_some() {
            let payload = if self.role == Role::Receiver { &settings.result.payload[..] } else { &[] };
            let checked = table.check_added(payload, settings.match_id);
            checked.map_err(|error| Error::table(RunPhase::Read, &error))?;
        }
        let noted = set.note(local.ledger.as_ref(), rules, settings.encoding(), reporter)?;
        let device = card.wait(reporter)?;
        // 2. The partner.
        reporter.enter(RunPhase::Connect, 0);
        let options = Options { silence: settings.timeout, cancel: reporter.cancel.clone() };
        let met = connect(reporter, &session::greeting(&terms), &options, rng)?;
        // 3. Terms and sizes; the protocol, and its confirmation by both sides.
        let found = converse((&settings, &device), &terms, (set, noted), met, local, reporter, rng)?;
        // 4. The result.
        if let Some(answer) = &found.answer {
            let Some(file) = file else { return Ok(found) };
            reporter.enter(RunPhase::Write, 0);
            let (row, format) = (answer.row(), file.row_format(table.format()));
            let cancelled = || reporter.cancel.is_cancelled();
            let written = file.commit(&cancelled, |out| table::write_row(format, &row, out));
            written.map_err(|error| Error::table(RunPhase::Write, &error))?;
            return Ok(found);
        }
        deliver(found, table, (output, file), reporter)
    }

    /// Refuses several keys a row where a result would count such a row several times.
    pub(super) fn check_keys(&self) -> Result<(), Error> {
        self.table.keys.check().map_err(|error| Error::table(RunPhase::Prepare, &error))?;
        let variants = self.table.keys.have_variants();
        if self.role == Role::Receiver && variants && self.settings.on_duplicates != OnDuplicates::All {
            return Err(Error::usage(
                "with `~`, a row may have the same key as another one by a variant alone, and would count as its duplicate",
                "leave out `[on-duplicates]`, or the `~`",
            ));
        }
        let several = self.table.keys.are_several() || variants;
        if several && self.settings.result.result != ResultChoice::Rows {
            return Err(Error::usage(
                "a count or a sum over several keys of a row (several `[match]`, or a rule with `~`) would take a row once for \
                 each of its keys that match",
                "give one `[match]` without `~`, or `[result rows]`",
            ));
        }
        Ok(())
    }

    /// The output, checked: it can be written, and it is no protected file, such as the input.
    pub(super) fn output(&self) -> Result<Option<Output>, Error> {
        if self.table.output != Destination::RowNumbers && !self.settings.learns_result(self.role) {
            let message = "a sender learns no result, so there is nothing to write to `[output]`";
            let remedy = "leave out `[output]`, or {agree with the partner on} `[learns both]`";
            return Err(Error::usage(message, remedy));
        }
        output_of(&self.table, self.settings.result.result == ResultChoice::Rows)
    }
}

/// The output of a table, checked, if it is a file: for rows, or for another result.
pub(crate) fn output_of(table: &TableArgs, rows: bool) -> Result<Option<Output>, Error> {
    let protected = Protected::of(table.protected.iter().chain(table.input.path()))?;
    let file = table.output.path().map(|path| protected.output_at(path)).transpose()?;
    if rows {
        let spool = file.as_ref().map_or(Ok(()), Output::check_spool);
        spool.map_err(|error| Error::table(RunPhase::Prepare, &error))?;
    }
    Ok(file)
}

/// Writes the rows that were found, or hands them to the caller.
pub(crate) fn deliver(
    mut found: RunResult,
    table: Table,
    (output, file): (Destination, Option<Output>),
    reporter: &Reporter<'_>,
) -> Result<RunResult, Error> {
    let failed = |error| Error::table(RunPhase::Write, &error);
    let cancelled = || reporter.cancel.is_cancelled();
    let rows = match (&found.matches, &found.selected) {
        (Some(matches), _) => RowSet::from(matches),
        (None, Some(rows)) => RowSet::from(rows),
        (None, None) => return Ok(found),
    };
    let keys_of_row = table.keys_of_row();
    // A caller that takes numbers of rows takes the payload too.
    let to_caller = file.is_none() && output == Destination::RowNumbers;
    let payload = if to_caller { None } else { found.payload.take() };
    let table = table.with_numbers(found.numbers.clone()).with_payload(payload);
    let on_progress = &mut |progress| reporter.bytes(progress);
    match (file, output) {
        (Some(file), _) => {
            reporter.enter(RunPhase::Write, 0);
            unnamed(&table).into_iter().for_each(|message| reporter.notice(message));
            file.commit(&cancelled, |out| table.select(rows, out, on_progress)).map_err(failed)?;
        }
        (None, Destination::Batches) => {
            reporter.enter(RunPhase::Write, 0);
            found.batches = Some(Batches::select(&table, rows, on_progress).map_err(failed)?);
        }
        _ => {}
    }
    Ok(found.by_rows(keys_of_row))
}

/// A job of one side: with a deadline, a report, and the events of its beginning and its end.
pub(crate) fn alone(
    role: Role,
    settings: &Settings,
    my_key: Option<PublicKey>,
    cancel: &CancelToken,
    on_event: OnEvent<'_>,
    steps: impl FnOnce(&Reporter<'_>) -> Result<RunResult, Error>,
) -> Ended {
    let deadline = match Deadline::start(settings.deadline, cancel) {
        Ok(deadline) => deadline,
        Err(error) => return Reporter::new(role, settings, cancel, on_event).end(Err(error)),
    };
    let reporter = Reporter::new(role, settings, deadline.cancel(), on_event).with_key(my_key);
    on_event(&Event::Started { role: role.name() });
    let result = steps(&reporter);
    reporter.end(result.map_err(|error| deadline.explain(error)))
}

/// The conversation with the partner, from terms, which the channel has sent, to confirmation. Result and numbers are mine,
/// if I learn them.
pub(crate) fn converse(
    (settings, device): (&Settings, &Device),
    terms: &Terms,
    (set, noted): (Set, Option<NotedSet>),
    met: Met,
    local: LocalState,
    reporter: &Reporter<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<RunResult, Error> {
    let (items, memory) = (set.len(), set.memory(terms.role(), settings, reporter.keys_of_rows()));
    let (identity, noted) = (local.identity.as_ref(), noted.as_ref());
    let offer = LocalOffer { settings, terms, identity, items, memory, noted };
    let conversation = Conversation::agree(met, &offer, reporter)?;
    let in_parts = conversation.agreed().parts != Parts::ONE;
    let protocol = conversation.agreed().protocol;
    if device.has_card() && protocol.on_card == OnCard::Nothing {
        reporter.notice(text!("`{}` has nothing to compute on a card", protocol.name));
    }
    let ended = match set {
        Set::InMemory(items, _) if in_parts => {
            let (agreed, selected) = play_parts(
                (settings, device),
                conversation,
                KeySet::InMemory(&items, settings.threads()),
                reporter,
                rng,
            )?;
            let outcome = selected.and_then(Selected::into_matches).map(Outcome::Matches);
            answered(settings, &agreed, &items, outcome, reporter)
        }
        Set::InMemory(items, attachments) => {
            let agreed = conversation.agreed().clone();
            let LocalState { cache_file, helper, .. } = local;
            let base_ots = cache_file.and_then(|file| file.begin(agreed.base_ots, agreed.base_ots_id()));
            let cache = base_ots.as_ref().map(CacheInUse::cache);
            let workers = Workers { threads: settings.threads(), device: device.clone() };
            let played = conversation.play((&items, &attachments), cache, helper, (settings, workers), rng);
            let confirmed = played.and_then(Conversation::confirm).inspect_err(|_| {
                if base_ots.as_ref().is_some_and(CacheInUse::remove) {
                    reporter.forgot_base_ots();
                }
            })?;
            let outcome = confirmed.finish();
            base_ots.map_or(Ok(()), CacheInUse::store)?;
            answered(settings, &agreed, &items, outcome?, reporter)
        }
        Set::OnDisk(set) => {
            let keys = KeySet::OnDisk(set, reporter);
            match play_parts((settings, device), conversation, keys, reporter, rng)?.1 {
                Some(Selected::Bitmap { rows, items }) => {
                    reporter.selected(items, &rows);
                    Ok(RunResult { selected: Some(rows), ..RunResult::default() })
                }
                _ => Ok(RunResult::default()),
            }
        }
    };
    tell_failure(device, reporter);
    ended
}

/// The result for the caller and the report.
pub(crate) fn answered(
    settings: &Settings,
    agreed: &Agreed,
    items: &Items,
    outcome: Option<Outcome>,
    reporter: &Reporter<'_>,
) -> Result<RunResult, Error> {
    let mut result = match outcome {
        Some(outcome) => RunResult::of(outcome, &settings.result)
            .map_err(|misuse| Error::session(reporter.current(), &SessionError::Protocol(misuse.into())))?,
        None => RunResult::default(),
    };
    reporter.found(&result, settings.result.noise.is_none());
    let number = |matches: &Matches| settings.match_id.then(|| agreed.match_numbers(items, matches));
    result.numbers = result.matches.as_ref().and_then(number);
    Ok(result)
}

/// The rest of the conversation where the run has several parts.
fn play_parts(
    (settings, device): (&Settings, &Device),
    conversation: Conversation<'_, AgreedOn>,
    keys: KeySet<'_>,
    reporter: &Reporter<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<(Agreed, Option<Selected>), Error> {
    let (agreed, lanes, channel, links) = conversation.release();
    let Some(mut links) = links else {
        let error = PartsError::Excluded("a connection that the caller has made");
        return Err(Error::session(RunPhase::Agree, &error.into()));
    };
    let options = Options { silence: settings.timeout, cancel: reporter.cancel.clone() };
    let (threads, device) = (settings.threads(), device.clone());
    let play_options = parts::PlayOptions { threads, device, lanes, options, reporter };
    let selected =
        parts::play(&agreed, keys, channel, links.as_mut(), &play_options, rng).map_err(|error| {
            let error = Error::session(reporter.current(), &error);
            if reporter.is_confirmed() { error.seen_through() } else { error }
        })?;
    Ok((agreed, selected))
}

/// What the columns are that no header names, if there are any.
fn unnamed(table: &Table) -> Option<String> {
    let columns: Vec<String> =
        table.unnamed().map(|(number, name)| format!("{number} is `{name}`")).collect();
    let message = format!("the output has no header; its columns from the partner: {}", columns.join(", "));
    (!columns.is_empty()).then_some(message)
}

/// The keys of this side, and what goes with them.
pub(crate) enum Set {
    InMemory(Items, Attachments),
    OnDisk(OnDisk),
}

impl Set {
    /// The size that the partner sees.
    pub(crate) fn len(&self) -> usize {
        match self {
            Set::InMemory(items, _) => items.len(),
            Set::OnDisk(set) => set.items as usize,
        }
    }

    /// What a ledger has of it, if there is one.
    pub(crate) fn note(
        &self,
        ledger: Option<&Arc<RunLedger>>,
        rules: String,
        encoding: Encoding,
        reporter: &Reporter<'_>,
    ) -> Result<Option<NotedSet>, Error> {
        let Some(ledger) = ledger else { return Ok(None) };
        let mut sketcher = ledger.sketcher(encoding.bytes());
        let keys = match self {
            Set::InMemory(items, _) => {
                // Dummies have no rows, and are others in each run.
                let real = (0..items.len()).filter(|item| items.rows_of(*item).next().is_some());
                real.for_each(|item| sketcher.take(items.get(item)));
                items.distinct() as u64
            }
            Set::OnDisk(set) => {
                let read = set.keys.each_digest(|digest| sketcher.take(digest));
                read.map_err(|error| Error::spool(RunPhase::Read, &error))?;
                reporter.distinct_keys()
            }
        };
        let (input, sketch) = (reporter.input_digest(), sketcher.finish());
        let set = OwnSet { input, rules, encoding, keys, sketch };
        Ok(Some(NotedSet { ledger: Arc::clone(ledger), set }))
    }

    /// What the run takes, if so many rows were read, or keys where rows have several.
    fn memory(&self, role: Role, settings: &Settings, rows: u64) -> SideMemory {
        let result = settings.result.kind();
        match self {
            Set::InMemory(items, _) => {
                let budget = settings.memory.or_else(Budget::usual);
                let rows = rows.max(items.len() as u64);
                SideMemory { keys: KeysAt::Memory, role, rows, result, budget }
            }
            Set::OnDisk(set) => {
                let keys = KeysAt::Disk(set.plan);
                SideMemory { keys, role, rows: set.rows, result, budget: settings.memory }
            }
        }
    }
}

/// Opens the input and checks that its rows can leave in the wanted form, if the result is `rows`: nothing of that may be
/// learnt only when the partner has its result.
pub(crate) fn open(
    input: Source,
    dialect: Dialect,
    (output, file, rows): (&Destination, Option<&Output>, bool),
    reporter: &Reporter<'_>,
) -> Result<Input, Error> {
    let failed = |error| Error::table(RunPhase::Read, &error);
    let path = input.path().cloned();
    let (fetched, read): (Vec<&Path>, Vec<&Path>) =
        path.as_deref().into_iter().partition(|path| matches!(Address::of(path), Ok(Some(_))));
    fetched.iter().for_each(|path| reporter.notice(format!("fetching {}", shown_path(path))));
    let mut patience = read.first().map(|path| (*path, Instant::now() + QUIET_INPUT));
    let on_open = &mut |progress: vesica_table::Progress| {
        if let Some((path, _)) = patience.take_if(|(_, until)| progress.done == 0 && Instant::now() > *until)
        {
            reporter.quiet_input(path);
        }
        reporter.bytes(progress)
    };
    let input = input.open(on_open).and_then(|input| input.with_dialect(dialect)).map_err(failed)?;
    input.found().cloned().into_iter().for_each(|found| reporter.keep(found));
    if rows {
        file.map_or(Ok(()), |file| file.check_format(input.format())).map_err(failed)?;
        output.check(&input)?;
        let on_progress = &mut |progress| reporter.bytes(progress);
        file.map_or(Ok(()), |_| input.check_rows(on_progress)).map_err(failed)?;
    }
    Ok(input)
}

pub(crate) fn read(
    (input, name): (Input, Option<&Path>),
    keys: MatchRules,
    (role, settings, budget): (Role, &Settings, Option<u64>),
    card: &Opening,
    reporter: &Reporter<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<(Table, Set), Error> {
    let request = Request {
        keys,
        encoding: settings.encoding(),
        on_null: settings.on_null,
        on_invalid: settings.on_invalid,
        on_duplicates: settings.on_duplicates,
        attach: settings.result.attach(role),
        threads: settings.threads(),
    };
    let digest = match (settings.digest_input, name) {
        (true, Some(name)) => digest(&input, name, reporter)?,
        _ => None,
    };
    let failed = |error| Error::table(RunPhase::Read, &error);
    let (mut table, keys) = match budget {
        Some(budget) => on_disk::read(input, &request, (role, settings), budget, reporter, rng)?,
        None => {
            let (table, items) = in_memory(input, &request, card, reporter)?;
            (table, Keys::InMemory(items))
        }
    };
    reporter.match_rules(&table);
    if let Some(digest) = digest {
        table.is_of(&digest).map_err(failed)?;
    }
    table.left_out().for_each(|rows| reporter.keep(rows));
    let mut items = match keys {
        Keys::InMemory(items) => {
            // A table that could have had its keys on disk has not counted them.
            table = table.with_counts(items.len() as u64, items.duplicates());
            items
        }
        Keys::OnDisk(keys) => {
            card.expect(keys.rows());
            let (table, keys) = on_disk::counted(table, keys, settings, reporter)?;
            return Ok((table, Set::OnDisk(keys)));
        }
    };
    card.expect(items.len() as u64);
    pad(&mut items, settings, rng)?;
    let attached = table.attached(&items, &mut |progress| reporter.bytes(progress)).map_err(failed)?;
    let attachments = Attachments::of(attached)
        .map_err(|misuse| Error::session(RunPhase::Read, &SessionError::Protocol(misuse.into())))?;
    reporter.read(table.report(), items.len() as u64, settings);
    Ok((table, Set::InMemory(items, attachments)))
}

/// Reads a table whose keys stay in memory. If it does not even have room for the table, the run is refused before it is read:
/// a container would end the process.
fn in_memory(
    input: Input,
    request: &Request,
    card: &Opening,
    reporter: &Reporter<'_>,
) -> Result<(Table, Items), Error> {
    // How many rows a packed table has is known too badly.
    let known = !matches!(input.format(), Format::Csv(Packing::Gzip | Packing::Zstd));
    let (usual, mut refused) = (Budget::usual().filter(|_| known), None);
    let begin = &mut |rows: usize| {
        let keys = (rows as u64).saturating_mul(request.keys.count() as u64);
        let needed = PROCESS_BYTES.saturating_add(TABLE_BYTES_PER_ROW.saturating_mul(keys));
        let short = usual.filter(|budget| !budget.allows(needed));
        card.expect(if known { keys } else { 0 });
        refused = short.map(|budget| SessionError::TooLarge { needed, budget });
        if refused.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let loaded = input.load_unless(request, begin, &mut |progress| reporter.bytes(progress));
    loaded.map_err(|error| match refused {
        Some(refused) => Error::session(RunPhase::Read, &refused),
        None => Error::table(RunPhase::Read, &error),
    })
}

/// Puts the digest of the bytes of a file, or of a stream that was kept, into the report.
fn digest(input: &Input, path: &Path, reporter: &Reporter<'_>) -> Result<Option<InputDigest>, Error> {
    let digest = input.digest(&mut |progress| reporter.bytes(progress));
    let digest = digest.map_err(|error| Error::table(RunPhase::Read, &error))?;
    if let Some(InputDigest { bytes, blake3, .. }) = digest {
        let name = Path::new(&shown_path(path))
            .file_name()
            .filter(|_| path.as_os_str() != "-")
            .map(|name| name.to_string_lossy().into_owned());
        let blake3 = blake3::Hash::from_bytes(blake3).to_hex().to_string();
        reporter.input(InputReport { name, bytes, blake3 });
    }
    Ok(digest)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::thread;

    use rand::{SeedableRng, rngs::StdRng};
    use vesica_encode::items::Width;
    use vesica_net::memory;
    use vesica_protocols::Payloads;
    use vesica_table::MatchRule;

    use super::*;
    use crate::scale::spool::tests::spooled;
    use crate::words::results::ResultOptions;

    /// A sender with payloads that its program would not send: for `a` the text x, for all others none that decodes.
    fn send_undecodable(settings: &Settings, channel: vesica_net::Connection, cancel: &CancelToken) {
        let request = Request::new(vec!["k".parse().unwrap()], settings.encoding());
        let table = Input::spool("theirs", &mut &b"k\na\nb\nd\n"[..]).unwrap();
        let (_, items) = table.load(&request, &mut |_| ControlFlow::Continue(())).unwrap();
        let block = |item| if items.rows_of(item).next() == Some(0) { *b"\x02x\0\0" } else { [0xff; 4] };
        let blocks = (0..items.len()).flat_map(block).collect();
        let attachments = Attachments::Payloads(Payloads::new(4, blocks).unwrap());
        let reporter = Reporter::new(Role::Sender, settings, cancel, &|_| ());
        let terms = prepare(Role::Sender, settings, &["raw".to_owned()], &LocalState::default()).unwrap();
        let met = Met::from(channel).greeted(&session::greeting(&terms));
        let (local, rng) = (LocalState::default(), &mut StdRng::seed_from_u64(1));
        converse(
            (settings, &Device::default()),
            &terms,
            (Set::InMemory(items, attachments), None),
            met,
            local,
            &reporter,
            rng,
        )
        .map(drop)
        .unwrap();
    }

    #[test]
    fn a_ledger_has_the_same_sketch_of_keys_on_disk_and_of_a_padded_set() {
        let folder = tempfile::tempdir().unwrap();
        let rng = &mut StdRng::seed_from_u64(3);
        let ledger = Arc::new(RunLedger::open(&folder.path().join("runs"), rng).unwrap());
        let keys: Vec<String> = (0..3000).map(|key| format!("key {key}")).collect();
        let items = || Items::of_keys(Width::Digest256, &keys).unwrap();
        let mut padded = items();
        padded.pad(5000, rng).unwrap();
        let on_disk = Set::OnDisk(spooled(&items(), folder.path()));
        let cancel = CancelToken::new();
        let reporter = Reporter::new(Role::Sender, &Settings::default(), &cancel, &|_| ());
        let encoding = Encoding::Digest(Width::Digest256);
        let sketch = |set: Set| {
            set.note(Some(&ledger), String::new(), encoding, &reporter).unwrap().unwrap().set.sketch
        };
        let usual = sketch(Set::InMemory(items(), Attachments::Nothing));
        assert_eq!(sketch(Set::InMemory(padded, Attachments::Nothing)), usual);
        assert_eq!(sketch(on_disk), usual);
    }

    #[test]
    fn a_payload_that_does_not_decode_ends_no_run_and_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let [input, output] = ["mine.csv", "out.csv"].map(|name| folder.path().join(name));
        std::fs::write(&input, "k\nb\na\nb\nc\n").unwrap();
        let usual = ResultOptions::default();
        let result = ResultOptions { payload: vec!["x".into()], payload_bytes: Some(4), ..usual };
        let (settings, cancel) = (&Settings { result, ..Settings::default() }, &CancelToken::new());
        let table = TableArgs {
            input: input.into(),
            keys: MatchRule::parse("k").unwrap().into(),
            dialect: Dialect::default(),
            output: Destination::Path(output.clone()),
            protected: Vec::new(),
        };
        let job = Job { role: Role::Receiver, table, settings: settings.clone() };
        let (here, there) = memory::pair(cancel);
        let notices = Mutex::new(Vec::new());
        let on_event = |event: &Event| {
            if let Event::Notice { message } = event {
                notices.lock().unwrap().push(message.clone());
            }
        };
        let ended = thread::scope(|scope| {
            scope.spawn(|| send_undecodable(settings, there, cancel));
            let (local, rng) = (LocalState::default(), &mut StdRng::seed_from_u64(2));
            job.run_over(local, cancel, rng, &on_event, |_, greeting, _, _| {
                Ok(Met::from(here).greeted(greeting))
            })
        });
        assert_eq!(ended.result.unwrap().matches.unwrap().rows(), [0, 1, 2]);
        assert_eq!(std::fs::read_to_string(output).unwrap(), "k,x\nb,\na,x\nb,\n");
        assert_eq!(ended.report.result.unwrap().undecodable_rows, Some(2));
        let hint = &ended.report.hints[0];
        assert!(hint.shell().contains("payload of 2 matching rows does not decode"), "{hint}");
        assert!(notices.lock().unwrap().contains(hint));
    }
}
