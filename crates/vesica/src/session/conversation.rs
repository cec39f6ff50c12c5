//! The conversation of a run with its partner: met, agreed, played, confirmed. Each state has only what may come next.

use rand_core::CryptoRng;
use vesica_encode::items::Items;
use vesica_net::{Connection, Identity};
use vesica_ot::base::cache::BaseOtCache;
use vesica_protocols::{Outcome, Pending, Sizes};

use crate::session::agree::agree_on_demand;
use crate::session::agreed::{Agreed, Workers};
use crate::session::confirm::confirm_helper;
use crate::session::error::SessionError;
use crate::session::helper_link::HelperLink;
use crate::session::links::Links;
use crate::session::met::Met;
use crate::session::reporter::Reporter;
use crate::session::run_ledger::NotedSet;
use crate::session::signing::Signer;
use crate::words::error::{Error, Kind, REPORT_A_BUG, RunPhase};
use crate::words::memory_use::side::{CostsOfParts, KeysAt, SideMemory};
use crate::words::parts::{Parts, PartsWanted};
use crate::words::results::Attachments;
use crate::words::settings::Settings;
use crate::words::terms::Terms;

/// What this side asks for, and what it has.
pub(crate) struct LocalOffer<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) terms: &'a Terms,
    /// Who this side is, if it has a key.
    pub(crate) identity: Option<&'a Identity>,
    /// The size of its set, padded.
    pub(crate) items: usize,
    pub(crate) memory: SideMemory,
    /// `--ledger`.
    pub(crate) noted: Option<&'a NotedSet>,
}

/// The conversation, on the connection of the run.
pub(crate) struct Conversation<'r, S> {
    channel: Connection,
    /// How parts get connections of their own, where they can.
    links: Option<Box<dyn Links>>,
    reporter: &'r Reporter<'r>,
    state: S,
}

/// Terms, sizes and memory are agreed.
pub(crate) struct AgreedOn {
    agreed: Agreed,
    /// Parts that this side plays at once.
    lanes: u16,
}

/// The protocol has ended. What is pending are this side's matches, where it learns them.
pub(crate) struct Played<'i> {
    agreed: Agreed,
    pending: Option<Pending<'i>>,
    helper: Option<Connection>,
}

/// Both sides have seen the same run.
pub(crate) struct Confirmed<'r, 'i> {
    pending: Option<Pending<'i>>,
    reporter: &'r Reporter<'r>,
}

impl LocalOffer<'_> {
    /// How many parts this side wants, where the run can have several.
    fn parts(
        &self,
        links: Option<&dyn Links>,
        sizes: Sizes,
        costs: CostsOfParts<'_>,
        seconds: &dyn Fn(Parts) -> f64,
    ) -> PartsWanted {
        let in_parts = self.terms.not_in_parts().is_none() && self.terms.limits().takes_parts();
        let links = links.filter(|_| in_parts);
        let most = self.terms.limits().max_parts.map_or(usize::MAX, |most| most as usize);
        let threads = self.settings.threads().min(most);
        let for_cores = |_| self.memory.parts_for_cores(threads, sizes, costs, seconds);
        match self.memory.keys {
            KeysAt::Memory if links.is_none() => PartsWanted::ONE,
            _ => PartsWanted {
                needed: self.memory.parts(sizes, costs),
                for_cores: links.filter(|links| links.are_secured()).map_or(1, for_cores),
            },
        }
    }

    /// Writes the run into the ledger, if there is one, before anything of the set leaves.
    fn begin(&self, channel: &Connection, reporter: &Reporter<'_>) -> Result<(), Error> {
        let Some(noted) = self.noted else { return Ok(()) };
        // A ledger is opened only with a partner whose key is known.
        let unknown =
            || Error { kind: Kind::Internal, ..Error::usage("no key of the partner", REPORT_A_BUG) };
        let partner = channel.peer_key().ok_or_else(unknown)?;
        noted.begin(self.terms.role(), self.settings, partner, None, reporter)
    }
}

impl<'r> Conversation<'r, AgreedOn> {
    /// Agrees with a partner that was met on terms, sizes and parts. A run that takes more memory than this side has is
    /// declined.
    pub(crate) fn agree(met: Met, local: &LocalOffer<'_>, reporter: &'r Reporter<'r>) -> Result<Self, Error> {
        let Met { mut channel, links } = met;
        channel.cancel_on(reporter.cancel);
        reporter.connected(&channel);
        reporter.enter(RunPhase::Agree, 0);
        let demand = |sizes: Sizes, costs: CostsOfParts<'_>, seconds: &dyn Fn(Parts) -> f64| {
            local.parts(links.as_deref(), sizes, costs, seconds)
        };
        let before_size = |channel: &Connection| {
            local.begin(channel, reporter).map_err(SessionError::ledger)?;
            reporter.size_leaves();
            Ok(())
        };
        let (wanted, size) = (local.settings.wanted(), (local.items, &demand as _, &before_size as _));
        let signer = local.identity.map(|identity| Signer { identity, started: reporter.started });
        let agreed = agree_on_demand(&mut channel, local.terms, wanted, size, signer);
        reporter.transcript(&channel);
        let failed = |error: SessionError| Error::session(RunPhase::Agree, &error);
        let agreed = agreed.map_err(failed)?;
        reporter.agreed(&agreed, local.terms);
        let costs = agreed.costs();
        let lanes = local.memory.lanes(&costs, local.settings.threads());
        reporter.memory_bound(local.memory.needed(&costs, lanes));
        let least = local.memory.needed(&costs, 1);
        agreed.check_memory(least, local.memory.limit(), &mut channel).map_err(failed)?;
        let noted = local.noted.map_or(Ok(()), |noted| noted.agreed(&agreed, None));
        noted.inspect_err(|_| channel.abort())?;
        Ok(Conversation { channel, links, reporter, state: AgreedOn { agreed, lanes } })
    }

    pub(crate) fn agreed(&self) -> &Agreed {
        &self.state.agreed
    }

    /// What a run in parts goes on with: the agreement, the parts that this side plays at once, and the connection.
    pub(crate) fn release(self) -> (Agreed, u16, Connection, Option<Box<dyn Links>>) {
        let Conversation { channel, links, state: AgreedOn { agreed, lanes }, .. } = self;
        (agreed, lanes, channel, links)
    }

    /// Plays the whole run, with the helper if there is one.
    pub(crate) fn play<'i>(
        self,
        (items, attachments): (&'i Items, &'i Attachments),
        base_ots: Option<&'i BaseOtCache>,
        helper: HelperLink,
        (settings, workers): (&Settings, Workers),
        rng: &mut dyn CryptoRng,
    ) -> Result<Conversation<'r, Played<'i>>, Error>
    where
        'r: 'i,
    {
        let Conversation { mut channel, links, reporter, state: AgreedOn { agreed, .. } } = self;
        // A listener is not kept: nobody else is waited for.
        drop(links);
        let mut helper = helper.join(&agreed, &mut channel, settings.timeout, reporter, rng)?;
        let (mine, links) = ((items, attachments.lend()), (&mut channel, helper.as_mut()));
        let played = agreed.run_helped(mine, links, workers, reporter, base_ots, rng);
        reporter.transcript(&channel);
        let pending = played.map_err(|error| Error::session(reporter.current(), &error))?;
        Ok(Conversation { channel, links: None, reporter, state: Played { agreed, pending, helper } })
    }
}

impl<'r, 'i> Conversation<'r, Played<'i>> {
    /// Compares with helper and partner what went over the connections. The connection ends before the matches are looked
    /// for: its end would tell the partner how long that takes.
    pub(crate) fn confirm(self) -> Result<Confirmed<'r, 'i>, Error> {
        let Conversation { mut channel, reporter, state, .. } = self;
        let Played { agreed, pending, helper } = state;
        let confirming: &dyn Fn() = &|| reporter.enter(RunPhase::Confirm, 0);
        let helped = helper.map_or(Ok(()), |mut helper| {
            reporter.helper_transcript(&helper);
            confirm_helper(&mut helper, &mut channel, confirming)
        });
        let confirmed = helped.and_then(|()| agreed.confirm(pending, &mut channel, confirming));
        let confirmed = confirmed.map_err(|error| Error::session(reporter.current(), &error))?;
        reporter.confirmed(confirmed.receipt);
        Ok(Confirmed { pending: confirmed.pending, reporter })
    }
}

impl Confirmed<'_, '_> {
    /// The result, if this side learns it.
    pub(crate) fn finish(self) -> Result<Option<Outcome>, Error> {
        let Confirmed { pending, reporter } = self;
        pending.map(Pending::finish).transpose().map_err(|error| {
            let refused = error.is_agreed_refusal();
            let error = Error::session(reporter.current(), &error.into());
            if refused { error } else { error.seen_through() }
        })
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};
    use vesica_channel::{CancelToken, Channel as _};
    use vesica_encode::items::{Encoding, Width};
    use vesica_net::{NetError, PartCall, memory};
    use vesica_protocols::{ResultKind, Role};

    use super::*;
    use crate::session::agree::greeting;
    use crate::words::ledger::{NewRun, OwnSet, RunLedger};
    use crate::words::memory_use::side::{PartCosts, RunCosts};

    /// Connections that only the partner can make, or anybody.
    struct Secured(bool);

    impl Links for Secured {
        fn comes_here(&self) -> bool {
            true
        }

        fn are_secured(&self) -> bool {
            self.0
        }

        fn open(&self, _: &PartCall<'_>, _: &mut dyn CryptoRng) -> Result<Option<Connection>, NetError> {
            Ok(None)
        }
    }

    /// The partner sends its terms, and nothing more before it has this side's size.
    #[test]
    fn a_run_is_in_the_ledger_before_this_sides_size_leaves() {
        let folder = tempfile::tempdir().unwrap();
        let path = &folder.path().join("runs");
        let ledger = &RunLedger::open(path, &mut StdRng::seed_from_u64(1)).unwrap();
        let encoding = Encoding::Digest(Width::Digest256);
        let sketch = ledger.sketcher(encoding.bytes()).finish();
        let set = &OwnSet { input: None, rules: "raw".into(), encoding, keys: 5, sketch };
        let settings = &Settings::default();
        let terms = |role| Terms::new(role, settings, &["raw".to_owned()]);
        let (mine, theirs) = (&terms(Role::Sender), terms(Role::Receiver));
        let (mut here, mut there) = memory::pair(&CancelToken::new());
        std::thread::scope(|scope| {
            scope.spawn(move || {
                here.send(&greeting(mine)).unwrap();
                let demand = &|_: Sizes, _: CostsOfParts<'_>, _: &dyn Fn(Parts) -> f64| PartsWanted::ONE;
                let begin = &|_: &Connection| {
                    let (role, partner, post) = (Role::Sender, "ada".to_owned(), None);
                    let run = NewRun { role, settings, set, partner, post };
                    ledger.begin(&run, &|_| ()).map_err(SessionError::ledger)
                };
                let size = (5, demand as _, begin as _);
                assert!(agree_on_demand(&mut here, mine, settings.wanted(), size, None).is_err());
            });
            there.send(&greeting(&theirs)).and_then(|()| there.flush()).unwrap();
            let (mut terms, mut size) = (vec![0; greeting(mine).len()], [0; 8]);
            there.recv_exact(&mut terms).and_then(|()| there.recv_exact(&mut size)).unwrap();
            let lines = std::fs::read_to_string(path).unwrap().lines().count();
            // The other thread ends before this one can fail.
            there.abort();
            assert_eq!((u64::from_le_bytes(size), lines), (5, 2));
        });
    }

    #[test]
    fn strangers_could_end_a_run_in_plaintext_so_cores_take_no_parts_there() {
        let settings = Settings { threads: 8, ..Settings::default() };
        let terms = Terms::new(Role::Receiver, &settings, &["raw".to_owned()]);
        let (keys, result) = (KeysAt::Memory, ResultKind::Rows);
        let memory = SideMemory { keys, role: Role::Receiver, rows: 1 << 20, result, budget: None };
        let (settings, terms, noted) = (&settings, &terms, None);
        let offer = LocalOffer { settings, terms, identity: None, items: 1 << 20, memory, noted };
        let sizes = Sizes { receiver: 1 << 20, sender: 1 << 20 };
        let part = PartCosts { items: 1 << 20, protocol: 0 };
        let costs = |parts| Some(RunCosts { parts, whole: 0, part });
        let seconds = |parts: Parts| 9.0 / parts.count() as f64;
        let wanted = |links| offer.parts(links, sizes, &costs, &seconds).for_cores;
        assert_eq!([Some(&Secured(true) as _), Some(&Secured(false) as _), None].map(wanted), [8, 1, 1]);
    }
}
