//! An offline phase alone: no table, a partner, the two files.

use rand_core::CryptoRng;
use vesica_channel::CancelToken;
use vesica_net::Options;
use vesica_protocols::{Phase, Progress, Role};

use super::file::{Binding, NewOfflineFile};
use super::{Asked, not_made, protocol};
use crate::deadline::Deadline;
use crate::ended::{Ended, Found};
use crate::error::Error;
use crate::job::{Pair, prepare};
use crate::memory::Budget;
use crate::partner::Partner;
use crate::report::{Event, OnEvent};
use crate::reporter::Reporter;
use crate::session::{self, exchange_digests};
use crate::settings::Settings;

/// One party's part in an offline phase. The file of [`Partner::offline`] is made.
pub struct PrepareJob {
    /// The part this party will play in the run that uses the file.
    pub role: Role,
    /// The most keys that the receiver will have in that run.
    pub receiver_items: usize,
    /// Of these, it obeys what both sides agree on, and threads, memory and times.
    pub settings: Settings,
}

impl PrepareJob {
    /// Runs the offline phase against a partner over the network.
    pub fn run(
        self,
        partner: &Partner,
        cancel: &CancelToken,
        rng: &mut dyn CryptoRng,
        on_event: OnEvent<'_>,
    ) -> Ended {
        let (role, settings) = (self.role, self.settings.clone());
        let deadline = match Deadline::start(settings.deadline, cancel) {
            Ok(deadline) => deadline,
            Err(error) => return self.refuse(error, on_event),
        };
        let reporter = Reporter::new(role, &settings, deadline.cancel(), on_event).with_key(partner.my_key());
        on_event(&Event::Started { role: role.name() });
        let result = self.steps(partner, &reporter, rng).map(|()| Found::default());
        let via = partner.relay();
        reporter.end(result.map_err(|error| deadline.explain(error.through_relay(via.as_deref()))))
    }

    /// The end of a run that could not begin, for a reason that the caller found.
    pub fn refuse(&self, error: Error, on_event: OnEvent<'_>) -> Ended {
        Reporter::new(self.role, &self.settings, &CancelToken::new(), on_event).end(Err(error))
    }

    fn steps(self, partner: &Partner, reporter: &Reporter<'_>, rng: &mut dyn CryptoRng) -> Result<(), Error> {
        let PrepareJob { role, receiver_items: items, settings } = self;
        // 1. Options, and the place of the file.
        partner.address.check().map_err(|error| Error::net(Phase::Prepare, &error))?;
        let (path, keys) = partner.offline_place()?;
        let (entry, parameters, phase) = protocol(&settings)?;
        check_items(items, phase.most_items, role, &settings)?;
        let binding = Binding::new(role, keys, entry, &parameters);
        let place = NewOfflineFile::at(path, binding, phase.stored_bytes(role, items));
        let mut place = place.map_err(|fault| not_made(Phase::Prepare, path, &fault))?;
        let pair = Pair { my_key: partner.my_key(), ..Pair::default() };
        let terms = prepare(role, &settings, &[], &pair)?.with_offline(Some(Asked::Make(items)));
        // 2. The partner, and terms.
        reporter.phase(Phase::Connect, 0);
        let options = Options { silence: settings.timeout, cancel: reporter.cancel.clone() };
        let on_event = &mut |event| reporter.net_event(&event);
        let mut channel = partner.meet(&session::greeting(&terms), &options, rng, on_event)?;
        channel.cancel_on(reporter.cancel);
        reporter.connected(&channel);
        reporter.phase(Phase::Agree, 0);
        let my_key = pair.my_key.as_ref();
        let agreed = session::agree_to_prepare(&mut channel, &terms, settings.wanted(), items, my_key);
        reporter.transcript(&channel);
        let failed = |error| Error::session(reporter.current(), &error);
        let agreed = agreed.map_err(failed)?;
        let needed = reporter.agreed_to_prepare(&agreed, &terms);
        agreed.check_memory(needed, settings.memory.or_else(Budget::usual), &mut channel).map_err(failed)?;
        // 3. The offline phase.
        let made = agreed.prepare(&mut channel, settings.threads(), reporter, rng);
        reporter.transcript(&channel);
        let output = made.map_err(failed)?;
        // 4. Both have stored what they have before either names its file.
        reporter.phase(Phase::Store, 0);
        place.write(&output, items).map_err(|error| {
            channel.abort();
            not_made(Phase::Store, path, &error.into())
        })?;
        exchange_digests(u64::MAX, &mut channel, reporter).map_err(failed)?;
        reporter.confirmed();
        reporter.phase(Phase::Store, 0);
        place.commit().map_err(|fault| not_made(Phase::Store, path, &fault))?;
        reporter.prepared(&output.id(), items);
        Ok(())
    }
}

/// So many items are possible, and the sender would accept them.
fn check_items(items: usize, most: usize, role: Role, settings: &Settings) -> Result<(), Error> {
    if !(1..=most).contains(&items) {
        let message =
            format!("`--prepare {items}`: an offline phase is for 1 to {most} keys of the receiver");
        return Err(Error::usage(message, "give another number to both sides"));
    }
    let limit = settings.limits.max_peer_rows;
    if role == Role::Sender && items as u64 > limit {
        let message = format!("`--prepare {items}` is above `--max-peer-rows {limit}`");
        return Err(Error::usage(message, "agree with the partner on fewer keys, or allow more"));
    }
    Ok(())
}
