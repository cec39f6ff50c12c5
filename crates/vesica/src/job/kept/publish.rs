//! `publish`: set files of a table.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use rand_core::CryptoRng;
use vesica_channel::CancelToken;
use vesica_crypto::device::Device;
use vesica_kept::{
    Chain, Epoch, KeptError, Kind as FileKind, LABEL_TAG, SetFile, SetWriter, seal_label, width,
};
use vesica_net::Identity;
use vesica_protocols::Role;
use vesica_protocols::public_key::voprf::SecretKey;
use vesica_table::{Dialect, Format, MatchRules, shown_path};
use vesica_text::text;

mod changes;

use changes::{Labels, Lists, changes, compacted, since, wanted};

use super::values::{DUMMY, Maker, no_label};
use super::{open_chain, report_of, secret, signed_by};
use crate::job::{self, OnEvent, Set};
use crate::session::card::{Opening, tell_failure};
use crate::session::reporter::Reporter;
use crate::words::ended::{Ended, RunResult};
use crate::words::error::{Error, REPORT_A_BUG, RunPhase};
use crate::words::report::KeptReport;
use crate::words::settings::{Settings, count};
use crate::words::tables::{Destination, Source};

/// The options of the list that a publication takes: those about a table and its labels.
pub const OPTIONS: [&str; 10] = [
    "threads",
    "device",
    "memory",
    "deadline",
    "on-duplicates",
    "on-null",
    "on-invalid",
    "pad-to",
    "payload",
    "payload-bytes",
];

/// The most keys of a query if nothing else is said.
pub const USUAL_MOST_KEYS: u32 = 1 << 20;

/// The most keys of a query, as a user writes it: a number, or `2^N`.
///
/// # Errors
/// What to write instead.
pub fn most_keys(text: &str) -> Result<u32, String> {
    let number = u32::try_from(count(text)?).ok().filter(|number| (1..=1 << 30).contains(number));
    number.ok_or_else(|| "write 1 to 2^30".to_owned())
}

/// What is published.
pub enum Change {
    /// A table with the whole set: a whole file, or, after a chain, what has changed since.
    Table(Source),
    /// Tables of what came and went since the chain's newest epoch.
    Lists {
        /// Rows whose keys come, or get new labels.
        added: Option<Source>,
        /// Rows whose keys go.
        removed: Option<Source>,
    },
    /// Nothing: a chain becomes one file.
    Compact,
}

/// A set file that is to be made.
pub struct PublishJob {
    /// What goes into it.
    pub change: Change,
    /// The rules that make keys of a row, as receivers will give them.
    pub keys: MatchRules,
    /// How tables are read, if they are text.
    pub dialect: Dialect,
    /// The new file.
    pub output: PathBuf,
    /// The file of the OPRF's key. The first set, and one with `rotate`, makes it.
    pub secret: PathBuf,
    /// Who signs.
    pub identity: Identity,
    /// The files so far, in any order; a folder stands for those in it.
    pub previous: Vec<PathBuf>,
    /// Whether a new key takes the place of the old one.
    pub rotate: bool,
    /// The most keys that a query may have; none: those of the set before, or [`USUAL_MOST_KEYS`].
    pub most_keys: Option<u32>,
    /// Everything else that a user chooses; labels are the payload.
    pub settings: Settings,
}

impl PublishJob {
    /// Makes the file.
    pub fn run(self, cancel: &CancelToken, rng: &mut dyn CryptoRng, on_event: OnEvent<'_>) -> Ended {
        let settings = self.settings.clone();
        let key = Some(*self.identity.public_key());
        job::alone(Role::Sender, &settings, key, cancel, on_event, |reporter| {
            reporter.of_protocol(super::PROTOCOL);
            self.steps(&settings, reporter, rng)
        })
    }

    /// The end of a job that could not begin, for a reason that the caller found.
    pub fn refuse(settings: &Settings, error: Error, on_event: OnEvent<'_>) -> Ended {
        job::alone(Role::Sender, settings, None, &CancelToken::new(), on_event, |_| Err(error))
    }

    fn steps(
        self,
        settings: &Settings,
        reporter: &Reporter<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Result<RunResult, Error> {
        self.check(settings)?;
        let sender = *self.identity.public_key();
        let chain = match self.previous.is_empty() {
            true => None,
            false => Some(open_chain(&self.previous, sender)?),
        };
        let (key, _unused) = self.key(chain.as_ref(), rng)?;
        let terms = match self.change {
            Change::Compact => chain.as_ref().map_or(String::new(), |chain| chain.head().epoch.terms.clone()),
            _ => self.keys.agreed(),
        };
        if let Some(before) = chain.as_ref().map(|chain| &chain.head().epoch).filter(|_| !self.rotate) {
            self.check_terms(before, &terms)?;
        }
        let most_keys = self.most_keys(chain.as_ref());
        let PublishJob { change, keys, dialect, output, identity, rotate, .. } = self;
        let usual = Epoch {
            public_key: key.public_key().encoded(),
            most_keys_a_query: most_keys,
            columns: settings.result.payload.clone(),
            label_bytes: label_bytes(settings),
            sender: *sender.as_bytes(),
            ..Epoch::new(FileKind::Whole, &terms)
        };
        // A rotated set begins anew, and goes on counting.
        let before = chain.as_ref().filter(|_| !rotate);
        let card = Opening::for_publish(settings);
        card.begin();
        let (threads, device) = (settings.threads(), Device::default());
        let mut maker = Maker { secret: &key, width: 0, threads, device, reporter };
        maker.width = before.map_or(0, |chain| u32::from(chain.head().epoch.width));
        let tables = Tables { keys: &keys, dialect: &dialect, settings, card: &card };
        let (lists, labels) = lists(change, before, &mut maker, &tables, &usual, rng)?;
        tell_failure(&maker.device, reporter);
        let number = chain.as_ref().map_or(0, |chain| chain.head().epoch.number);
        let epoch = Epoch {
            kind: lists.kind,
            key_number: chain.as_ref().map_or(1, |chain| chain.head().epoch.key_number + u32::from(rotate)),
            number: if lists.kind == FileKind::Compact { number } else { number + 1 },
            before: chain.as_ref().map_or([0; 32], |chain| *chain.digest()),
            added: lists.added_count,
            removed: lists.removed.len() as u64,
            width: maker.width as u8,
            time: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
            keys: lists.keys,
            ..usual
        };
        if width(epoch.keys, most_keys).map_err(failed)? > maker.width {
            return Err(outgrown(&epoch));
        }
        reporter.kept(write(&output, epoch, &lists, labels.as_ref(), (&identity, reporter), rng)?);
        Ok(RunResult::default())
    }

    fn check(&self, settings: &Settings) -> Result<(), Error> {
        if !matches!(self.change, Change::Compact) {
            self.keys.check().map_err(|error| Error::table(RunPhase::Prepare, &error))?;
        }
        settings.check()?;
        if self.output.extension().is_none_or(|ending| ending != "vset") {
            let message = text!(
                "`[output]`: the name of a set file ends in .vset, and not as {}",
                shown_path(&self.output)
            );
            return Err(Error::usage(
                message,
                "give the name the ending `.vset`: a folder stands for its files of that ending",
            ));
        }
        if self.output.exists() {
            let message = text!("`[output]`: {} exists already", shown_path(&self.output));
            return Err(Error::usage(message, "name a new file: each epoch has its own"));
        }
        let folder = self.output.parent().filter(|folder| !folder.as_os_str().is_empty());
        if folder.is_some_and(|folder| !folder.is_dir()) {
            let message = text!("`[output]`: the folder of {} does not exist", shown_path(&self.output));
            return Err(Error::usage(message, "make the folder first, or name a file in an existing one"));
        }
        let table = matches!(self.change, Change::Table(_));
        if self.previous.is_empty() && (self.rotate || !table) {
            return Err(no_previous());
        }
        if self.rotate && !table {
            let remedy = "give the whole table with `[input]`, or leave out `[rotate]`";
            return Err(Error::usage("a new key needs the value of every key", remedy));
        }
        Ok(())
    }

    /// The OPRF's key: that of the chain, or a new one, whose file is kept if the set is made.
    fn key(
        &self,
        chain: Option<&Chain>,
        rng: &mut dyn CryptoRng,
    ) -> Result<(SecretKey, Option<secret::Unused>), Error> {
        let exists = self.secret.exists();
        match (chain, self.rotate) {
            (None, true) => Err(no_previous()),
            (Some(_), true) if exists => Err(Error::usage(
                text!(
                    "`[secret {}]` exists already, and a new key needs a new file",
                    shown_path(&self.secret)
                ),
                "name a new file with `[secret]`; remove the old key once no receiver needs the old set",
            )),
            (None, false) if exists => Ok((secret::load(&self.secret)?, None)),
            (None, false) | (Some(_), true) => {
                let key = secret::create(&self.secret, rng)?;
                Ok((key, Some(secret::Unused::until(&self.secret, &self.output))))
            }
            (Some(chain), false) => {
                let key = secret::load(&self.secret)?;
                match key.public_key().encoded() == chain.head().epoch.public_key {
                    true => Ok((key, None)),
                    false => Err(Error::usage(
                        text!(
                            "`[secret {}]` is not the key of the set in `[previous]`",
                            shown_path(&self.secret)
                        ),
                        "name the set's own key, or make a new one with `[rotate]`",
                    )),
                }
            }
        }
    }

    fn most_keys(&self, chain: Option<&Chain>) -> u32 {
        let of_set = chain.map(|chain| chain.head().epoch.most_keys_a_query);
        self.most_keys.or(of_set).unwrap_or(USUAL_MOST_KEYS)
    }

    /// A chain has one form of keys and labels from its whole file on.
    fn check_terms(&self, before: &Epoch, terms: &str) -> Result<(), Error> {
        let most_keys = self.most_keys.unwrap_or(before.most_keys_a_query);
        let wanted = (terms, most_keys, &self.settings.result.payload, label_bytes(&self.settings));
        let had = (&*before.terms, before.most_keys_a_query, &before.columns, before.label_bytes);
        // One file of a chain has the form of the chain, whatever else is said.
        let compact = matches!(self.change, Change::Compact);
        let differs = match () {
            () if wanted.0 != had.0 => Some(text!("keys by {}", had.0.to_owned())),
            () if wanted.1 != had.1 => Some(text!("`[max-keys]` {}", had.1)),
            () if !compact && wanted.2 != had.2 => Some(text!("`[payload]` {}", had.2.join(", "))),
            () if !compact && wanted.3 != had.3 => {
                Some(text!("`[payload-bytes]` {}", had.3.saturating_sub(LABEL_TAG as u32)))
            }
            () => None,
        };
        match differs {
            None => Ok(()),
            Some(had) => Err(Error::usage(
                text!("the set in `[previous]` has {}, and this run has not", had),
                "give the options of the set, or begin a new one with `[rotate]`",
            )),
        }
    }
}

fn no_previous() -> Error {
    Error::usage(
        "there is no set yet that this could follow",
        "name its files, or their folder, with `[previous]`",
    )
}

/// Bytes of a sealed label.
fn label_bytes(settings: &Settings) -> u32 {
    match settings.result.payload.is_empty() {
        true => 0,
        false => settings.result.payload_width() + LABEL_TAG as u32,
    }
}

fn outgrown(epoch: &Epoch) -> Error {
    let message = text!(
        "the set would have {} keys, too many for the {} bits of its values",
        epoch.keys,
        u32::from(epoch.width)
    );
    Error::usage(message, "begin a new set with `[rotate]`, with room to grow by `[pad-to]`")
}

/// The width of a new set's values.
fn width_of(keys: u64, settings: &Settings, most_keys: u32) -> Result<u32, Error> {
    let padded = job::padded_size(keys as usize, settings)? as u64;
    // Room for the nights to come.
    let room = padded.saturating_add(padded / 4);
    width(room, most_keys).map_err(failed)
}

fn failed(error: KeptError) -> Error {
    Error::kept(RunPhase::Publish, &error)
}

/// How tables are read.
struct Tables<'a> {
    keys: &'a MatchRules,
    dialect: &'a Dialect,
    settings: &'a Settings,
    card: &'a Opening,
}

/// What the file is to hold. The card of `maker` is waited for once the tables are read.
fn lists(
    change: Change,
    before: Option<&Chain>,
    maker: &mut Maker<'_>,
    tables: &Tables<'_>,
    usual: &Epoch,
    rng: &mut dyn CryptoRng,
) -> Result<(Lists, Option<Labels>), Error> {
    let (settings, reporter) = (tables.settings, maker.reporter);
    match (change, before) {
        (Change::Table(source), before) => {
            let set = tables.read(source, settings, reporter, rng)?;
            maker.device = tables.card.wait(reporter)?;
            if before.is_none() {
                maker.width = width_of(set.len() as u64, settings, usual.most_keys_a_query)?;
            }
            let wanted = wanted(maker, set, before, settings)?;
            match before {
                Some(chain) => since(maker, chain, wanted, usual),
                None => Ok(wanted.whole()),
            }
        }
        (Change::Lists { added, removed }, Some(chain)) => {
            let added = added.map(|source| tables.read(source, settings, reporter, rng)).transpose()?;
            // Keys that go need no labels.
            let mut unlabelled = settings.clone();
            unlabelled.result.payload.clear();
            let removed =
                removed.map(|source| tables.read(source, &unlabelled, reporter, rng)).transpose()?;
            maker.device = tables.card.wait(reporter)?;
            changes(maker, chain, (added, removed), settings)
        }
        (Change::Compact, Some(chain)) => Ok((compacted(maker, chain)?, None)),
        (Change::Lists { .. } | Change::Compact, None) => Err(no_previous()),
    }
}

impl Tables<'_> {
    /// The keys of a table.
    fn read(
        &self,
        source: Source,
        settings: &Settings,
        reporter: &Reporter<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Set, Error> {
        reporter.enter(RunPhase::Read, 0);
        let path = source.path().cloned();
        let output = (&Destination::RowNumbers, None, false);
        let input = job::open(source, self.dialect.clone(), output, reporter)?;
        // Labels stay in memory. A text in a stream is kept whole already.
        let on_disk = settings.result.payload.is_empty()
            && (!matches!(input.format(), Format::Csv(_)) || path.is_some());
        let budget = settings.memory.filter(|_| on_disk).map(|budget| budget.of_party());
        let unpadded = Settings { pad_to: None, ..settings.clone() };
        let read = (input, path.as_deref());
        let how = (Role::Sender, &unpadded, budget);
        job::read(read, self.keys.clone(), how, self.card, reporter, rng).map(|(_, set)| set)
    }
}

/// Writes the file.
fn write(
    output: &std::path::Path,
    epoch: Epoch,
    lists: &Lists,
    labels: Option<&Labels>,
    (identity, reporter): (&Identity, &Reporter<'_>),
    rng: &mut dyn CryptoRng,
) -> Result<KeptReport, Error> {
    reporter.enter(RunPhase::Write, 0);
    let (number, public_key, label_bytes) = (epoch.number, epoch.public_key, epoch.label_bytes as usize);
    let failed = |error| Error::kept(RunPhase::Write, &error);
    let mut writer = SetWriter::create(output, epoch).map_err(failed)?;
    lists.added.each(&mut |value, item| {
        let label = match labels.filter(|_| item != DUMMY) {
            Some(Labels { payloads, outputs }) => {
                let item = item as usize;
                seal_label(payloads.get(item), &outputs[item], number, &public_key)
                    .map_err(|error| Error::usage(error.to_string(), REPORT_A_BUG))?
            }
            None => no_label(label_bytes, rng),
        };
        writer.add(value, &label).map_err(failed)
    })?;
    lists.removed.iter().try_for_each(|value| writer.remove(*value)).map_err(failed)?;
    let mut refused = None;
    let signed = writer.finish(&mut |message| {
        identity.sign(message).unwrap_or_else(|error| {
            refused = Some(error);
            [0; 64]
        })
    });
    signed.map_err(failed)?;
    if let Some(error) = refused {
        let _ = std::fs::remove_file(output);
        return Err(Error::usage(error.to_string(), REPORT_A_BUG));
    }
    // What was written is what receivers will read.
    let file = SetFile::open(output, &signed_by(*identity.public_key())).map_err(failed)?;
    Ok(report_of(&file.header().epoch, file.digest()))
}
