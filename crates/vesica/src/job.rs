//! A whole run for one party: table in, partner, protocol, matching rows out.
//!
//! Used by the command line, the Python package and the benchmarks alike. It prints nothing, installs no signal handler
//! and never exits the process. The order of its steps is the contract's: bad input is found before the partner is
//! bothered, and an output appears only after both sides have confirmed the run.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rand_core::CryptoRng;
use vesica_encode::items::{Encoding, Items, Matches, Width};
use vesica_net::{
    Address, CancelToken, Channel, Identity, Options, PublicKey, Security as Transport, establish,
};
use vesica_protocols::registry::Security;
use vesica_protocols::{Learns, Phase, Role, Watch};
use vesica_table::{FileId, Input, KeySpec, Output, Progress, Request, Table};

use crate::error::{Error, Side};
use crate::plan;
use crate::report::{Event, Report};
use crate::session;
use crate::settings::{PadTo, Settings};
use crate::terms::Terms;
use crate::watcher::Watcher;

/// When a stream that gives nothing is spoken of. It is waited for: what writes it may take its time.
const A_WHILE: Duration = Duration::from_secs(2);

/// My table: where it is, what its keys are, where the matching rows go.
#[derive(Debug, Clone)]
pub struct TableArgs {
    /// The input; `-` is standard input.
    pub input: PathBuf,
    /// The key columns, in the agreed order.
    pub keys: Vec<KeySpec>,
    /// The output; `-` is standard output. None for a sender that learns nothing, or if row numbers are enough.
    pub output: Option<PathBuf>,
    /// Files besides the input that the output must not replace.
    pub protected: Vec<PathBuf>,
}

/// How the partner is found and known.
pub struct Partner {
    /// Listen or connect.
    pub address: Address,
    /// My key and theirs; none for plaintext, which only loopback addresses allow.
    pub keys: Option<(Identity, PublicKey)>,
}

/// One party's run.
pub struct Job {
    /// The part this party plays.
    pub role: Role,
    /// My table.
    pub table: TableArgs,
    /// Everything else that a user chooses.
    pub settings: Settings,
}

/// Told of every event, from whatever thread it happens on.
pub type OnEvent<'a> = &'a (dyn Fn(&Event) + Sync);

/// What a run ended with. The report is there in any case.
pub struct Outcome {
    /// The whole report; also given with the last event.
    pub report: Report,
    /// My matches, if I learn them; or why there are none.
    pub result: Result<Option<Matches>, Error>,
}

impl Job {
    /// Runs against a partner over the network.
    pub fn run(
        self,
        partner: &Partner,
        cancel: &CancelToken,
        rng: &mut dyn CryptoRng,
        on_event: OnEvent<'_>,
    ) -> Outcome {
        if let Err(error) = partner.address.check() {
            return self.refuse(Error::net(Phase::Prepare, &error), on_event);
        }
        let my_key = partner.keys.as_ref().map(|(identity, _)| *identity.public_key());
        self.run_over(my_key, cancel, rng, on_event, |watcher, options, rng| {
            let transport = match &partner.keys {
                Some((identity, peer)) => Transport::Tls { identity, peer },
                None => Transport::InsecurePlaintext,
            };
            establish(&partner.address, &transport, options, rng, &mut |event| watcher.net_event(&event))
                .map_err(|error| Error::net(Phase::Connect, &error))
        })
    }

    /// The end of a run that could not begin, for a reason its caller found.
    pub fn refuse(&self, error: Error, on_event: OnEvent<'_>) -> Outcome {
        let cancel = CancelToken::new();
        Watcher::new(self.role, &self.settings, &cancel, on_event).end(Err(error))
    }

    /// Runs over a channel that is made when the table has been read.
    pub(crate) fn run_over(
        self,
        my_key: Option<PublicKey>,
        cancel: &CancelToken,
        rng: &mut dyn CryptoRng,
        on_event: OnEvent<'_>,
        connect: impl FnOnce(&Watcher<'_>, &Options, &mut dyn CryptoRng) -> Result<Channel, Error>,
    ) -> Outcome {
        let watcher = Watcher::new(self.role, &self.settings, cancel, on_event);
        on_event(&Event::Started { role: self.role.name() });
        let result = self.steps(my_key.as_ref(), &watcher, rng, connect);
        watcher.end(result)
    }

    fn steps(
        self,
        my_key: Option<&PublicKey>,
        watcher: &Watcher<'_>,
        rng: &mut dyn CryptoRng,
        connect: impl FnOnce(&Watcher<'_>, &Options, &mut dyn CryptoRng) -> Result<Channel, Error>,
    ) -> Result<Option<Matches>, Error> {
        let settings = &self.settings;
        let wanted = settings.wanted();
        plan::choose(&settings.protocol, wanted, None)
            .map_err(|e| Error::plan(Phase::Prepare, Side::Ours, &e))?;
        let limits = settings.limits;
        if limits.min_peer_rows > limits.max_peer_rows {
            return Err(Error::usage(
                "no size is within the limits",
                "give a --min-peer-rows below --max-peer-rows",
            ));
        }
        let terms = self.terms();
        if !terms.fit() {
            return Err(Error::usage("too many key columns", "give a key of fewer columns"));
        }
        let output = self.output()?;
        // 1. The table is read before the partner is bothered.
        watcher.phase(Phase::Read, 0);
        let (table, items) = self.read(output.as_ref(), watcher, rng)?;
        // 2. The partner.
        watcher.phase(Phase::Connect, 0);
        let options = Options { silence: settings.timeout, cancel: watcher.cancel.clone() };
        let mut channel = connect(watcher, &options, rng)?;
        watcher.connected(&channel);
        // 3. Terms and sizes.
        watcher.phase(Phase::Agree, 0);
        let agreed = session::agree(&mut channel, &terms, wanted, items.len(), my_key)
            .map_err(|error| Error::session(Phase::Agree, &error))?;
        watcher.agreed(&agreed, &terms);
        // 4. The protocol, and its confirmation by both sides.
        let failed = |error| Error::session(watcher.current(), &error);
        let matches = agreed.run(&items, &mut channel, settings.threads(), watcher, rng).map_err(failed)?;
        agreed.confirm(matches.as_ref(), &mut channel, watcher).map_err(failed)?;
        watcher.matched(matches.as_ref());
        drop((channel, items));
        // 5. The rows.
        if let (Some(output), Some(matches)) = (output, &matches) {
            watcher.phase(Phase::Write, 0);
            output
                .commit(|out| table.select(matches, out, &mut |progress| watcher.bytes(progress)))
                .map_err(|error| Error::table(Phase::Write, &error))?;
        }
        Ok(matches)
    }

    /// The output, checked: it can be written, and it is neither the input nor anything else that is protected.
    fn output(&self) -> Result<Option<Output>, Error> {
        let learns = self.role == Role::Receiver || self.settings.learns == Learns::Both;
        if self.table.output.is_some() && !learns {
            let message = "a sender learns no rows, so there is nothing for --output to hold";
            let remedy = "leave out --output, or agree with the partner on --learns both";
            return Err(Error::usage(message, remedy));
        }
        // A file that is absent or cannot be looked at cannot be replaced either. (Standard input from a file comes
        // under its number.)
        let paths = self.table.protected.iter().chain([&self.table.input]);
        let stdin = PathBuf::from("/dev/stdin");
        let paths = paths.map(|path| if path.as_os_str() == "-" { &stdin } else { path });
        let ids: Vec<_> = paths.filter_map(|path| FileId::of_path(path).ok()).collect();
        let check = |path| Output::check(path, &ids.iter().collect::<Vec<_>>());
        self.table
            .output
            .as_deref()
            .map(check)
            .transpose()
            .map_err(|error| Error::table(Phase::Prepare, &error))
    }

    fn read(
        &self,
        output: Option<&Output>,
        watcher: &Watcher<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Result<(Table, Items), Error> {
        let failed = |error| Error::table(Phase::Read, &error);
        let mut patience = Some(Instant::now() + A_WHILE);
        let on_open = &mut |progress: Progress| {
            if progress.done == 0 && patience.is_some_and(|until| Instant::now() > until) {
                patience = None;
                watcher.nothing_came(&self.table.input);
            }
            watcher.bytes(progress)
        };
        let input = Input::open_with(&self.table.input, on_open).map_err(failed)?;
        let on_progress = &mut |progress| watcher.bytes(progress);
        output.map_or(Ok(()), |output| output.check_format(input.format())).map_err(failed)?;
        let settings = &self.settings;
        let encoding = match (settings.sigma, settings.security) {
            (Some(sigma), _) => Encoding::Native { sigma },
            (None, Security::SemiHonest) => Encoding::Digest(Width::Digest128),
            (None, Security::Malicious) => Encoding::Digest(Width::Digest256),
        };
        let request = Request {
            keys: self.table.keys.clone(),
            encoding,
            on_null: settings.on_null,
            on_invalid: settings.on_invalid,
            on_duplicates: settings.on_duplicates,
        };
        let (table, mut items) = input.load(&request, on_progress).map_err(failed)?;
        if let Some(pad_to) = settings.pad_to {
            pad(&mut items, pad_to, rng)?;
        }
        watcher.read(&table, &items);
        Ok((table, items))
    }

    fn terms(&self) -> Terms {
        let rules: Vec<String> = self.table.keys.iter().map(|key| key.rule.agreed()).collect();
        Terms::new(self.role, &self.settings, &rules)
    }
}

fn pad(items: &mut Items, pad_to: PadTo, rng: &mut dyn CryptoRng) -> Result<(), Error> {
    let refused =
        |message: String, remedy: &str| Error { phase: Phase::Read, ..Error::usage(message, remedy) };
    let size = pad_to.size(items.len()).ok_or_else(|| {
        let message = format!("the table has {} different keys, more than --pad-to allows", items.len());
        refused(message, "give a larger --pad-to, or pow2")
    })?;
    items
        .pad(size, rng)
        .map_err(|error| refused(format!("--pad-to: {error}"), "give a smaller --pad-to, or none"))
}
