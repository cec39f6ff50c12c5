//! A whole run for one party: table in, partner, protocol, matching rows out.
//!
//! The command line and the Python package use it. It prints nothing, installs no signal handler and never exits the
//! process. The order of its steps is fixed: bad input is found before the partner is contacted, and an output appears only
//! after both sides have confirmed the run.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use rand_core::CryptoRng;
use vesica_channel::CancelToken;
use vesica_encode::items::{Items, Matches};
use vesica_net::{Connection, Options, PublicKey};
use vesica_protocols::{Learns, Outcome, Pending, Phase, Progress, Role, Sizes};
use vesica_table::{
    self as table, Dialect, Format, Input, InputDigest, KeySpec, Output, Packing, Request, RowSet, Table,
};

use crate::base_ots::CacheState;
use crate::base_ots::file::{CacheFile, CacheInUse};
use crate::cost::{PROCESS_BYTES, TABLE_BYTES_PER_ROW};
use crate::deadline::Deadline;
pub use crate::ended::Ended;
use crate::ended::Found;
use crate::error::{Error, Side};
use crate::helper_link::HelperLink;
use crate::memory::Budget;
use crate::output_paths::Protected;
use crate::partner::Met;
pub use crate::partner::Partner;
use crate::parts::{self, KeySet, Links, Parts, PartsError, Selected};
use crate::plan;
pub use crate::report::OnEvent;
use crate::report::{Event, InputReport};
use crate::reporter::Reporter;
use crate::results::{Answered, Attachments, ResultChoice};
use crate::session::{self, Agreed, PartCosts, SessionError};
use crate::settings::Settings;
use crate::spool::{Keys, OnDisk};
pub use crate::tables::{Batches, Destination, Source, TableArgs};
use crate::terms::Terms;

mod on_disk;

pub(crate) use on_disk::demand_in_memory;

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
            return self.refuse(Error::net(Phase::Prepare, &error), on_event);
        }
        self.table.protected.extend(partner.keep_base_ots.clone());
        let pair = match partner.cache_file(self.role, self.settings.security) {
            Ok(cache_file) => Pair { my_key: partner.my_key(), cache_file, ..Pair::default() },
            Err(error) => return self.refuse(error, on_event),
        };
        let pair = match partner.helper_link() {
            Ok(helper) => Pair { helper, ..pair },
            Err(error) => return self.refuse(error, on_event),
        };
        let pair = Pair { via: partner.relay(), ..pair };
        self.run_over(pair, cancel, rng, on_event, |reporter, greeting, options, rng| {
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
        pair: Pair,
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
        let reporter = Reporter::new(role, &settings, deadline.cancel(), on_event).with_key(pair.my_key);
        let reporter = reporter.with_relay(pair.via.clone());
        on_event(&Event::Started { role: role.name() });
        let via = pair.via.clone();
        let result = self.steps(pair, &reporter, rng, connect);
        reporter.end(result.map_err(|error| deadline.explain(error.through_relay(via.as_deref()))))
    }

    fn steps(
        self,
        pair: Pair,
        reporter: &Reporter<'_>,
        rng: &mut dyn CryptoRng,
        connect: impl FnOnce(&Reporter<'_>, &[u8], &Options, &mut dyn CryptoRng) -> Result<Met, Error>,
    ) -> Result<Found, Error> {
        let rules: Vec<String> = self.table.keys.iter().map(|key| key.rule.agreed()).collect();
        let terms = prepare(self.role, &self.settings, &rules, &pair)?;
        let file = self.output()?;
        let Job { table: TableArgs { input, keys, dialect, output, .. }, settings, .. } = self;
        // 1. The table is read before the partner is contacted.
        reporter.phase(Phase::Read, 0);
        let path = input.path().cloned();
        let bytes = path.as_deref().and_then(|path| Some(std::fs::metadata(path).ok()?.len()));
        let as_rows = settings.result.result == ResultChoice::Rows;
        let input = open(input, dialect, (&output, file.as_ref(), as_rows), reporter)?;
        reporter.room(file.as_ref().filter(|_| as_rows), bytes);
        let budget = on_disk::budget(&settings, &terms, (self.role, &output));
        let read = read((input, path.as_deref()), keys, (self.role, &settings, budget), reporter, rng)?;
        let (table, set) = read;
        // 2. The partner.
        reporter.phase(Phase::Connect, 0);
        let options = Options { silence: settings.timeout, cancel: reporter.cancel.clone() };
        let met = connect(reporter, &session::greeting(&terms), &options, rng)?;
        // 3. Terms and sizes; the protocol, and its confirmation by both sides.
        let mut found = match set {
            Set::InMemory(items, attachments) => {
                converse(&settings, &terms, (items, attachments), met, pair, reporter, rng)?
            }
            Set::OnDisk(set) => on_disk::converse(&settings, &terms, set, met, &pair, reporter, rng)?,
        };
        // 4. The result.
        let failed = |error| Error::table(Phase::Write, &error);
        let cancelled = || reporter.cancel.is_cancelled();
        if let Some(answer) = &found.result.answer {
            let Some(file) = file else { return Ok(found) };
            reporter.phase(Phase::Write, 0);
            let (row, format) = (answer.row(), file.row_format(table.format()));
            file.commit(&cancelled, |out| table::write_row(format, &row, out)).map_err(failed)?;
            return Ok(found);
        }
        let rows = match (&found.result.matches, &found.selected) {
            (Some(matches), _) => RowSet::from(matches),
            (None, Some(rows)) => RowSet::from(rows),
            (None, None) => return Ok(found),
        };
        // A caller that takes numbers of rows takes the payload too.
        let to_caller = file.is_none() && output == Destination::RowNumbers;
        let payload = if to_caller { None } else { found.result.payload.take() };
        let table = table.with_numbers(found.numbers.clone()).with_payload(payload);
        let on_progress = &mut |progress| reporter.bytes(progress);
        match (file, output) {
            (Some(file), _) => {
                reporter.phase(Phase::Write, 0);
                unnamed(&table).into_iter().for_each(|message| reporter.notice(message));
                file.commit(&cancelled, |out| table.select(rows, out, on_progress)).map_err(failed)?;
            }
            (None, Destination::Batches) => {
                reporter.phase(Phase::Write, 0);
                found.batches = Some(Batches::select(&table, rows, on_progress).map_err(failed)?);
            }
            _ => {}
        }
        Ok(found)
    }

    /// The output, checked: it can be written, and it is no protected file, such as the input.
    fn output(&self) -> Result<Option<Output>, Error> {
        if self.table.output != Destination::RowNumbers && !self.settings.learns_result(self.role) {
            let message = "a sender learns no result, so there is nothing to write to `--output`";
            let remedy = "leave out `--output`, or agree with the partner on `--learns both`";
            return Err(Error::usage(message, remedy));
        }
        let protected = Protected::of(self.table.protected.iter().chain(self.table.input.path()));
        let file = self.table.output.path().map(|path| protected.output_at(path)).transpose()?;
        if self.settings.result.result == ResultChoice::Rows {
            let spool = file.as_ref().map_or(Ok(()), Output::check_spool);
            spool.map_err(|error| Error::table(Phase::Prepare, &error))?;
        }
        Ok(file)
    }
}

/// The terms of a run, if its settings are possible.
pub(crate) fn prepare(
    role: Role,
    settings: &Settings,
    rules: &[String],
    pair: &Pair,
) -> Result<Terms, Error> {
    pair.helper.check(&settings.protocol)?;
    settings.check()?;
    plan::choose(&settings.protocol, settings.wanted(), None)
        .map_err(|e| Error::plan(Phase::Prepare, Side::Ours, &e))?;
    let limits = settings.limits;
    if limits.min_peer_rows > limits.max_peer_rows {
        return Err(Error::usage(
            "`--min-peer-rows` is above `--max-peer-rows`",
            "give a `--min-peer-rows` that is not above `--max-peer-rows`",
        ));
    }
    check_parts(settings)?;
    if settings.match_id && settings.learns != Learns::Both {
        let message = "`--match-id` numbers the matching rows of both sides, and only one side learns them";
        return Err(Error::usage(
            message,
            "agree with the partner on `--learns both`, or leave `--match-id` out",
        ));
    }
    let terms = Terms::new(role, settings, rules);
    let terms = terms.with_base_ots(pair.cache_state()).with_helper(pair.helper.term());
    if let Some(what) = terms.not_in_parts().filter(|_| settings.parts > 1) {
        let message = format!("`--parts` does not go together with {what}");
        return Err(Error::usage(message, "leave out one of the two"));
    }
    if terms.fit() {
        Ok(terms)
    } else {
        Err(Error::usage("too many columns, or too long names", "name fewer columns"))
    }
}

/// Whether this side can have as many parts as it asks for.
fn check_parts(settings: &Settings) -> Result<(), Error> {
    let (parts, most) = (settings.parts, settings.limits.max_parts.unwrap_or(parts::MOST));
    if !(1..=parts::MOST).contains(&parts) || !(1..=parts::MOST).contains(&most) {
        let message = format!("a run has 1 to {} parts", parts::MOST);
        return Err(Error::usage(message, "give another `--parts` or `--max-parts`"));
    }
    if parts > most {
        return Err(Error::usage(
            format!("`--parts {parts}` is above `--max-parts {most}`"),
            "give a `--parts` that is not above `--max-parts`",
        ));
    }
    Ok(())
}

/// The conversation with the partner, from terms, which the channel has sent, to confirmation. Result and numbers are mine,
/// if I learn them.
pub(crate) fn converse(
    settings: &Settings,
    terms: &Terms,
    (items, attachments): (Items, Attachments),
    Met { mut channel, links }: Met,
    pair: Pair,
    reporter: &Reporter<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<Found, Error> {
    channel.cancel_on(reporter.cancel);
    reporter.connected(&channel);
    reporter.phase(Phase::Agree, 0);
    let (agreed, lanes) =
        agree((settings, terms), items.len(), &mut channel, links.is_some(), &pair, reporter)?;
    if agreed.parts != Parts::ONE {
        let set = KeySet::InMemory(&items);
        let selected = play_parts((settings, lanes), &agreed, set, (channel, links), reporter, rng)?;
        let outcome = selected.and_then(Selected::into_matches).map(Outcome::Matches);
        return answered(settings, &agreed, &items, outcome, reporter);
    }
    drop(links);
    let mut helper = pair.helper.join(&agreed, &mut channel, settings.timeout, reporter, rng)?;
    let in_use = pair.cache_file.and_then(|file| file.begin(agreed.base_ots, agreed.base_ots_id()));
    let cache = in_use.as_ref().map(CacheInUse::cache);
    let links = (&mut channel, helper.as_mut());
    let ended =
        agreed.run_helped((&items, attachments.lend()), links, settings.threads(), reporter, cache, rng);
    reporter.transcript(&channel);
    let confirm = |pending| {
        if let Some(mut helper) = helper {
            reporter.helper_transcript(&helper);
            session::confirm_helper(&mut helper, &mut channel, reporter)?;
        }
        agreed.confirm(pending, &mut channel, reporter)
    };
    let ended = match ended.and_then(confirm) {
        Ok(pending) => {
            reporter.confirmed();
            // The connection ends before the matches are looked for: its end would tell the partner how long that takes.
            drop(channel);
            Ok(pending.map(Pending::finish).transpose())
        }
        Err(error) => Err(error),
    };
    let found = match ended {
        Ok(found) => found,
        Err(error) => {
            let error = Error::session(reporter.current(), &error);
            if in_use.is_some_and(CacheInUse::remove) {
                reporter.forgot_base_ots();
            }
            return Err(error);
        }
    };
    let phase = reporter.current();
    in_use.map_or(Ok(()), CacheInUse::store)?;
    let outcome = found.map_err(|error| {
        let refused = error.is_agreed_refusal();
        let error = Error::session(phase, &error.into());
        if refused { error } else { error.seen_through() }
    })?;
    answered(settings, &agreed, &items, outcome, reporter)
}

/// Agrees with the partner on the run, its parts among that, and compares its memory with the budget. `can_meet_again` says
/// that parts can have connections of their own. The result says how many parts may be played at once, too.
fn agree(
    (settings, terms): (&Settings, &Terms),
    items: usize,
    channel: &mut Connection,
    can_meet_again: bool,
    pair: &Pair,
    reporter: &Reporter<'_>,
) -> Result<(Agreed, u16), Error> {
    let my_key = pair.my_key.as_ref();
    let budget = settings.memory.or_else(Budget::usual);
    let rows = reporter.rows().max(items as u64);
    let demand = |sizes: Sizes, costs: &dyn Fn(Parts) -> Option<PartCosts>| {
        budget.map_or(1, |budget| on_disk::demand_in_memory((rows, budget), sizes, costs))
    };
    let can_split = can_meet_again && terms.not_in_parts().is_none() && terms.limits().takes_parts();
    let in_parts = can_split && terms.role() == Role::Sender;
    let agreed = match in_parts {
        true => {
            let size = (items, &demand as session::Demand<'_>);
            session::agree_on_demand(channel, terms, settings.wanted(), size, my_key)
        }
        false => session::agree_greeted(channel, terms, settings.wanted(), items, my_key),
    };
    reporter.transcript(channel);
    let agreed = agreed.map_err(|error| Error::session(Phase::Agree, &error))?;
    let needed = reporter.agreed(&agreed, terms);
    let limit = budget.map(Budget::limit);
    agreed.check_memory(needed, limit, channel).map_err(|error| Error::session(Phase::Agree, &error))?;
    let lanes = lanes_in_memory(&agreed, settings, (needed, budget), reporter);
    Ok((agreed, lanes))
}

/// How many parts a side with its keys in memory plays at once, if one takes `needed` bytes of the budget. What a receiver
/// takes for its whole set has room for many.
fn lanes_in_memory(
    agreed: &Agreed,
    settings: &Settings,
    (needed, budget): (u64, Option<Budget>),
    reporter: &Reporter<'_>,
) -> u16 {
    let each = match agreed.role() {
        Role::Receiver => 0,
        Role::Sender => agreed.memory_of_part(),
    };
    let fit = |budget: Budget| 1 + (budget.of_party().saturating_sub(needed)) / each.max(1);
    let room = budget.map_or(u16::MAX, |budget| u16::try_from(fit(budget)).unwrap_or(u16::MAX));
    let lanes = parts::lanes(agreed.parts, settings.threads(), room);
    reporter.memory_bound(needed.saturating_add(each.saturating_mul(u64::from(lanes) - 1)));
    lanes
}

/// The result for the caller and the report.
fn answered(
    settings: &Settings,
    agreed: &Agreed,
    items: &Items,
    outcome: Option<Outcome>,
    reporter: &Reporter<'_>,
) -> Result<Found, Error> {
    let result = match outcome {
        Some(outcome) => Answered::of(outcome, &settings.result)
            .map_err(|misuse| Error::session(reporter.current(), &SessionError::Protocol(misuse.into())))?,
        None => Answered::default(),
    };
    reporter.found(&result, settings.result.noise.is_none());
    let number = |matches: &Matches| settings.match_id.then(|| agreed.match_numbers(items, matches));
    let numbers = result.matches.as_ref().and_then(number);
    Ok(Found { result, numbers, ..Found::default() })
}

/// The rest of the conversation where the run has several parts, so many of which are played at once.
fn play_parts(
    (settings, lanes): (&Settings, u16),
    agreed: &Agreed,
    keys: KeySet<'_>,
    (channel, links): (Connection, Option<Box<dyn Links>>),
    reporter: &Reporter<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<Option<Selected>, Error> {
    let Some(mut links) = links else {
        let error = PartsError::Excluded("a connection that the caller has made");
        return Err(Error::session(Phase::Agree, &error.into()));
    };
    let options = Options { silence: settings.timeout, cancel: reporter.cancel.clone() };
    let conduct = parts::Conduct { threads: settings.threads(), lanes, options, reporter };
    let selected = parts::play(agreed, keys, channel, links.as_mut(), &conduct, rng);
    selected.map_err(|error| {
        let error = Error::session(reporter.current(), &error);
        if reporter.is_confirmed() { error.seen_through() } else { error }
    })
}

/// What the columns are that no header names, if there are any.
fn unnamed(table: &Table) -> Option<String> {
    let columns: Vec<String> =
        table.unnamed().map(|(number, name)| format!("{number} is `{name}`")).collect();
    let message = format!("the output has no header; its columns from the partner: {}", columns.join(", "));
    (!columns.is_empty()).then_some(message)
}

/// The keys of this side, and what goes with them.
enum Set {
    InMemory(Items, Attachments),
    OnDisk(OnDisk),
}

/// What this side brings: its key, if it shows one, the file of kept base OTs, if there is one, and how it reaches the
/// helper, if the protocol has one.
#[derive(Default)]
pub(crate) struct Pair {
    pub(crate) my_key: Option<PublicKey>,
    pub(crate) cache_file: Option<CacheFile>,
    pub(crate) helper: HelperLink,
    /// The relay through which the partner is met, if it is.
    pub(crate) via: Option<String>,
}

impl Pair {
    /// What the terms say of the base OTs.
    pub(crate) fn cache_state(&self) -> CacheState {
        self.cache_file.as_ref().map_or(CacheState::Disabled, CacheFile::state)
    }
}

/// Opens the input and checks that its rows can leave in the wanted form, if the result is `rows`: nothing of that may be
/// learnt only when the partner has its result.
fn open(
    input: Source,
    dialect: Dialect,
    (output, file, rows): (&Destination, Option<&Output>, bool),
    reporter: &Reporter<'_>,
) -> Result<Input, Error> {
    let failed = |error| Error::table(Phase::Read, &error);
    let path = input.path().cloned();
    let mut patience = path.as_deref().map(|path| (path, Instant::now() + QUIET_INPUT));
    let on_open = &mut |progress: vesica_table::Progress| {
        if let Some((path, _)) = patience.take_if(|(_, until)| progress.done == 0 && Instant::now() > *until)
        {
            reporter.quiet_input(path);
        }
        reporter.bytes(progress)
    };
    let input = input.open(on_open).and_then(|input| input.with_dialect(dialect)).map_err(failed)?;
    if rows {
        file.map_or(Ok(()), |file| file.check_format(input.format())).map_err(failed)?;
        output.check(&input)?;
        let on_progress = &mut |progress| reporter.bytes(progress);
        file.map_or(Ok(()), |_| input.check_rows(on_progress)).map_err(failed)?;
    }
    Ok(input)
}

fn read(
    (input, name): (Input, Option<&Path>),
    keys: Vec<KeySpec>,
    (role, settings, budget): (Role, &Settings, Option<u64>),
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
    };
    let digest = match (settings.digest_input, name) {
        (true, Some(name)) => digest(&input, name, reporter)?,
        _ => None,
    };
    let failed = |error| Error::table(Phase::Read, &error);
    let (mut table, keys) = match budget {
        Some(budget) => on_disk::read(input, &request, (role, settings), budget, reporter, rng)?,
        None => {
            let (table, items) = in_memory(input, &request, reporter)?;
            (table, Keys::InMemory(items))
        }
    };
    if let Some(digest) = digest {
        table.is_of(&digest).map_err(failed)?;
    }
    let mut items = match keys {
        Keys::InMemory(items) => items,
        Keys::OnDisk(keys) => {
            let (table, keys) = on_disk::counted(table, keys, settings, reporter)?;
            return Ok((table, Set::OnDisk(keys)));
        }
    };
    pad(&mut items, settings, rng)?;
    let attached = table.attached(&items, &mut |progress| reporter.bytes(progress)).map_err(failed)?;
    let attachments = Attachments::of(attached)
        .map_err(|misuse| Error::session(Phase::Read, &SessionError::Protocol(misuse.into())))?;
    reporter.read(table.report(), items.len() as u64, settings);
    Ok((table, Set::InMemory(items, attachments)))
}

/// Reads a table whose keys stay in memory. If it does not even have room for the table, the run is refused before it is read:
/// a container would end the process.
fn in_memory(input: Input, request: &Request, reporter: &Reporter<'_>) -> Result<(Table, Items), Error> {
    // How many rows a packed table has is known too badly.
    let known = !matches!(input.format(), Format::Csv(Packing::Gzip | Packing::Zstd));
    let (usual, mut refused) = (Budget::usual().filter(|_| known), None);
    let begin = &mut |rows: usize| {
        let needed = PROCESS_BYTES.saturating_add(TABLE_BYTES_PER_ROW.saturating_mul(rows as u64));
        let short = usual.filter(|budget| !budget.allows(needed));
        refused = short.map(|budget| SessionError::TooLarge { needed, budget });
        if refused.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let loaded = input.load_unless(request, begin, &mut |progress| reporter.bytes(progress));
    loaded.map_err(|error| match refused {
        Some(refused) => Error::session(Phase::Read, &refused),
        None => Error::table(Phase::Read, &error),
    })
}

/// Puts the digest of the bytes of a file, or of a stream that was kept, into the report.
fn digest(input: &Input, path: &Path, reporter: &Reporter<'_>) -> Result<Option<InputDigest>, Error> {
    let digest = input.digest(&mut |progress| reporter.bytes(progress));
    let digest = digest.map_err(|error| Error::table(Phase::Read, &error))?;
    if let Some(InputDigest { bytes, blake3, .. }) = digest {
        let name =
            path.file_name().filter(|name| *name != "-").map(|name| name.to_string_lossy().into_owned());
        let blake3 = blake3::Hash::from_bytes(blake3).to_hex().to_string();
        reporter.input(InputReport { name, bytes, blake3 });
    }
    Ok(digest)
}

/// Adds the dummy items that the settings ask for.
pub(crate) fn pad(items: &mut Items, settings: &Settings, rng: &mut dyn CryptoRng) -> Result<(), Error> {
    let size = padded(items.len(), settings)?;
    if size == items.len() {
        return Ok(());
    }
    items.pad(size, rng).map_err(|error| {
        let remedy = "give a smaller `--pad-to`, or leave it out";
        Error { phase: Phase::Read, ..Error::usage(format!("`--pad-to`: {error}"), remedy) }
    })
}

/// The size that the partner sees of a set of so many items.
pub(crate) fn padded(items: usize, settings: &Settings) -> Result<usize, Error> {
    let Some(pad_to) = settings.pad_to else { return Ok(items) };
    pad_to.size(items).ok_or_else(|| {
        let message = format!("the table has {items} different keys, more than `--pad-to` allows");
        let remedy = "give a larger `--pad-to`, or `--pad-to pow2`";
        Error { phase: Phase::Read, ..Error::usage(message, remedy) }
    })
}
