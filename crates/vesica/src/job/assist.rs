//! A helper's whole run, for `vesica assist`: it waits for two parties, compares their masked lists, and ends.
//!
//! The helper has no table and learns no result but its size. See [`crate::session::helper`] for the conversation.

use rand_core::CryptoRng;
use vesica_channel::CancelToken;
use vesica_net::{Address, Company, Connection, Identity, NetEvent, Options, PublicKey, gather};
use vesica_protocols::Participant;

use crate::session::deadline::Deadline;
use crate::session::helper::{self, Allowed, Assisted, Heard};
use crate::session::reporter::Reporter;
use crate::words::ended::{Ended, RunResult};
use crate::words::error::{Error, RunPhase};
use crate::words::memory::Budget;
use crate::words::report::{Event, OnEvent};
use crate::words::settings::Settings;

const ASK: &str = "give `[peer]` twice: the lines that the two parties' `vesica keygen` printed";

/// A helper's run.
pub struct AssistJob {
    address: String,
    identity: Identity,
    peers: [PublicKey; 2],
    settings: Settings,
}

impl AssistJob {
    /// A helper that listens at `address` for the two parties with these keys. Of the settings it obeys limits, memory,
    /// threads and times.
    ///
    /// # Errors
    /// If the address is none, or a key is given twice or is the helper's own.
    pub fn new(
        address: String,
        identity: Identity,
        peers: [PublicKey; 2],
        settings: Settings,
    ) -> Result<Self, Error> {
        Address::Listen(address.clone()).check().map_err(|error| Error::net(RunPhase::Prepare, &error))?;
        if peers.contains(identity.public_key()) {
            return Err(Error::usage("a `[peer]` is the helper's own public key", ASK));
        }
        if peers[0] == peers[1] {
            return Err(Error::usage("both `[peer]` are the same public key", ASK));
        }
        Ok(AssistJob { address, identity, peers, settings })
    }

    /// Waits for the two parties and helps them, once.
    pub fn run(self, cancel: &CancelToken, rng: &mut dyn CryptoRng, on_event: OnEvent<'_>) -> Ended {
        let AssistJob { address, identity, peers, settings } = self;
        over(&settings, Some(*identity.public_key()), cancel, on_event, |reporter| {
            let options = Options { silence: settings.timeout, cancel: reporter.cancel.clone() };
            let greeting = helper::greeting(settings.limits);
            let on_event = &mut |event: NetEvent| match event {
                NetEvent::Connected { peer } => reporter.notice(format!("a party is there, from {peer}")),
                NetEvent::Retrying { .. } => reporter.notice("a party left; waiting for it again"),
                event => reporter.net_event(&event),
            };
            let company = Company { peers: &peers, hear: &mut Heard::of, belong: &Heard::is_of_one_run_with };
            let met = gather(&address, &identity, company, &greeting, &options, rng, on_event);
            let met = met.map_err(|error| Error::net(RunPhase::Gather, &error))?;
            <[_; 2]>::try_from(met).map_err(|_| Error::usage("two parties are needed", ASK))
        })
    }
}

/// The end of a helper's run that could not begin.
pub fn refuse(error: Error, settings: &Settings, on_event: OnEvent<'_>) -> Ended {
    Reporter::of_helper(settings, &CancelToken::new(), on_event).end(Err(error))
}

/// Helps two parties over connections that are there: in one process, or of a caller's own.
pub fn between(
    parties: [Connection; 2],
    settings: &Settings,
    cancel: &CancelToken,
    on_event: OnEvent<'_>,
) -> Ended {
    over(settings, None, cancel, on_event, |reporter| {
        let greeting = helper::greeting(settings.limits);
        Ok(parties.map(|party| {
            let mut party = crate::session::met::greeted(party, &greeting);
            party.cancel_on(reporter.cancel);
            let heard = Heard::of(&mut party);
            (party, heard)
        }))
    })
}

/// A run over connections that `connect` makes and that have sent the helper's greeting.
fn over(
    settings: &Settings,
    my_key: Option<PublicKey>,
    cancel: &CancelToken,
    on_event: OnEvent<'_>,
    connect: impl FnOnce(&Reporter<'_>) -> Result<[(Connection, Heard); 2], Error>,
) -> Ended {
    let deadline = match Deadline::start(settings.deadline, cancel) {
        Ok(deadline) => deadline,
        Err(error) => return refuse(error, settings, on_event),
    };
    let reporter = Reporter::of_helper(settings, deadline.cancel(), on_event).with_key(my_key);
    on_event(&Event::Started { role: Participant::Helper.name() });
    let result = steps(settings, &reporter, connect);
    reporter.end(result.map_err(|error| deadline.explain(error)))
}

fn steps(
    settings: &Settings,
    reporter: &Reporter<'_>,
    connect: impl FnOnce(&Reporter<'_>) -> Result<[(Connection, Heard); 2], Error>,
) -> Result<RunResult, Error> {
    // 1. Both parties.
    reporter.enter(RunPhase::Gather, 0);
    let parties = connect(reporter)?;
    parties.iter().for_each(|(party, _)| party.cancel_on(reporter.cancel));
    // 2. What they ask for, and whether it is the same.
    reporter.enter(RunPhase::Agree, 0);
    let failed = |error| Error::session(reporter.current(), &error);
    let allowed = Allowed { limits: settings.limits, memory: settings.memory.or_else(Budget::usual) };
    let (assisted, mut parties) = Assisted::agree(parties, allowed).map_err(failed)?;
    reporter.assists(&assisted, &parties);
    // 3. The helper's part of the protocol, and its confirmation by both parties.
    let ran = assisted.run(&mut parties, settings.threads(), reporter);
    reporter.parties_transcripts(&parties);
    let common = ran.map_err(failed)?;
    assisted.confirm(&mut parties, &|| reporter.enter(RunPhase::Confirm, 0)).map_err(failed)?;
    reporter.confirmed(None);
    reporter.assisted(common);
    Ok(RunResult::default())
}
