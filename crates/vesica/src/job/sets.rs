//! A run between two sets of byte strings over an existing channel: no tables and no files.
//!
//! For research, and for programs that have their keys in memory. The rest is as in [`crate::job`]: terms, sizes, the
//! protocol, its confirmation. A set of byte strings equals a table with one key column of the rule `raw`, and a set of
//! integers (`sigma`) a table with one key column of the rule `int`. So the partner may hold a table.
//!
//! ```
//! use vesica::{channel::CancelToken, net::memory};
//! use vesica::{protocols::Role, randomness, sets::{self, SetJob}, settings::Settings};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (here, there) = memory::pair(&CancelToken::new());
//! let settings = Settings::default();
//! let play = |role, keys: &[&[u8]], channel| {
//!     let items = sets::items(keys.iter().copied(), &settings)?;
//!     let job = SetJob { role, items, settings: settings.clone() };
//!     Ok(job.run(channel, None, &CancelToken::new(), &mut randomness()?, &|_| {}))
//! };
//! let ended = std::thread::scope(|scope| {
//!     scope.spawn(|| play(Role::Sender, &[b"zoe", b"eve"], there));
//!     play(Role::Receiver, &[b"ada", b"bob", b"eve"], here)
//! });
//! let found = ended.and_then(|ended: vesica::job::Ended| ended.result)?;
//! assert_eq!(found.matches.unwrap().rows(), [2]); // "eve"
//! # Ok(())
//! # }
//! ```

use rand_core::CryptoRng;
use vesica_channel::CancelToken;
use vesica_encode::items::{Items, ItemsBuilder, ItemsError, KeyEncoder};
use vesica_net::{Connection, Identity};
use vesica_protocols::{ResultKind, Role};
use vesica_table::TableReport;

use crate::job::{Ended, OnEvent, Set, converse};
use crate::session;
use crate::session::card::Opening;
use crate::session::deadline::Deadline;
use crate::session::helper_link::HelperLink;
use crate::session::local_state::{LocalState, pad, prepare};
use crate::session::met::Met;
use crate::session::reporter::Reporter;
use crate::words::error::{Error, RunPhase};
use crate::words::report::Event;
use crate::words::results::Attachments;
use crate::words::settings::{Limits, Settings};

/// The set of these byte strings; the row of each is its index.
pub fn items<'a>(keys: impl ExactSizeIterator<Item = &'a [u8]>, settings: &Settings) -> Result<Items, Error> {
    let build = || {
        let mut builder = ItemsBuilder::new(settings.encoding(), keys.len())?;
        let mut encoder = KeyEncoder::new(1)?;
        for (row, key) in (0..).zip(keys) {
            encoder.clear();
            encoder.part(key)?;
            builder.push(row, encoder.canonical()?)?;
        }
        builder.build(settings.on_duplicates)
    };
    build().map_err(|error| refused(&error))
}

/// The set of these integers, for settings with a `sigma`; the row of each is its index.
pub fn integers(keys: impl ExactSizeIterator<Item = u64>, settings: &Settings) -> Result<Items, Error> {
    let build = || {
        let mut builder = ItemsBuilder::new(settings.encoding(), keys.len())?;
        for (row, key) in (0..).zip(keys) {
            builder.push_native(row, key)?;
        }
        builder.build(settings.on_duplicates)
    };
    build().map_err(|error| refused(&error))
}

fn refused(error: &ItemsError) -> Error {
    let remedy = "give keys below 2^sigma, each only once unless duplicates are allowed";
    Error { phase: RunPhase::Read, ..Error::usage(error.to_string(), remedy) }
}

/// One party's run.
pub struct SetJob {
    /// The part this party plays.
    pub role: Role,
    /// Its set.
    pub items: Items,
    /// Everything else that a user chooses.
    pub settings: Settings,
}

impl SetJob {
    /// Runs over a channel. `identity` is what the channel was made with, if it has keys. The run checks `cancel`
    /// between steps; a wait on the channel ends by the token that the channel was made with.
    pub fn run(
        self,
        channel: Connection,
        identity: Option<&Identity>,
        cancel: &CancelToken,
        rng: &mut dyn CryptoRng,
        on_event: OnEvent<'_>,
    ) -> Ended {
        self.run_helped((channel, None), identity, cancel, rng, on_event)
    }

    /// As [`run`](Self::run), with a connection to a helper ([`crate::job::assist::between`]), for a protocol that has one.
    pub fn run_helped(
        self,
        (channel, helper): (Connection, Option<Connection>),
        identity: Option<&Identity>,
        cancel: &CancelToken,
        rng: &mut dyn CryptoRng,
        on_event: OnEvent<'_>,
    ) -> Ended {
        let SetJob { role, mut items, settings } = self;
        // One connection carries one part.
        let limits = Limits { max_parts: Some(1), ..settings.limits };
        let settings = Settings { limits, ..settings };
        let deadline = match Deadline::start(settings.deadline, cancel) {
            Ok(deadline) => deadline,
            Err(error) => return Reporter::new(role, &settings, cancel, on_event).end(Err(error)),
        };
        let my_key = identity.map(|identity| *identity.public_key());
        let reporter = Reporter::new(role, &settings, deadline.cancel(), on_event).with_key(my_key);
        on_event(&Event::Started { role: role.name() });
        let rule = if settings.sigma.is_some() { "int" } else { "raw" };
        let play = || {
            if matches!(settings.result.kind(), ResultKind::Sums { .. } | ResultKind::Payload { .. }) {
                let message = "a set of keys has no columns for `[value]` or `[payload]`";
                return Err(Error::usage(message, "give a table, or ask for rows or a count"));
            }
            let helper = helper.map_or(HelperLink::None, |helper| HelperLink::Here(Box::new(helper)));
            let local = LocalState { identity: identity.cloned(), helper, ..LocalState::default() };
            let terms = prepare(role, &settings, &[rule.to_owned()], &local)?;
            let (rows, distinct, duplicates) = (items.rows(), items.distinct() as u64, items.duplicates());
            let counts = TableReport { rows, items: distinct, duplicates, ..TableReport::default() };
            let card = Opening::for_run(&settings);
            card.begin();
            card.expect(items.len() as u64);
            pad(&mut items, &settings, rng)?;
            reporter.read(counts, items.len() as u64, &settings);
            let device = card.wait(&reporter)?;
            let met = Met::from(channel).greeted(&session::greeting(&terms));
            converse(
                (&settings, &device),
                &terms,
                (Set::InMemory(items, Attachments::Nothing), None),
                met,
                local,
                &reporter,
                rng,
            )
        };
        let result = play().map_err(|error| deadline.explain(error));
        reporter.end(result)
    }
}
