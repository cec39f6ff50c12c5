//! How a party reaches the helper of its run.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use rand_core::CryptoRng;
use vesica_channel::{CancelToken, Channel, ChannelError};
use vesica_net::{Address, Connection, ConnectionSecurity, Identity, Options, PublicKey, meet};
use vesica_protocols::Participant;
use vesica_text::text;

use crate::session::Agreed;
use crate::session::helper::{self, Request};
use crate::session::met::greeted;
use crate::session::reporter::Reporter;
use crate::words::error::{Error, Kind, RunPhase};
use crate::words::registry;
use crate::words::settings::Choice;

/// How often a party that waits for the helper looks whether its partner is still there.
const LOOK: Duration = Duration::from_millis(20);

/// The pause before a party goes again to a helper that has declined.
const PAUSE: Duration = Duration::from_millis(500);

/// The helper of a run, if it has one.
#[derive(Default)]
pub(crate) enum HelperLink {
    #[default]
    None,
    /// It listens there; our identity, and the key that it proves to have.
    At(Address, Box<Identity>, PublicKey),
    /// A connection to it is there.
    Here(Box<Connection>),
}

impl HelperLink {
    /// Whether the named protocol has a helper where there is one, and there is one where it has.
    pub(crate) fn check(&self, protocol: &Choice) -> Result<(), Error> {
        let needed = match protocol {
            Choice::Named(name) => registry::find(name).is_some_and(registry::Entry::has_helper),
            Choice::Auto => false,
        };
        match (self, needed) {
            (HelperLink::None, true) => Err(Error::usage(
                format!("protocol {protocol} needs a helper, and none is named"),
                "give `[helper ADDR]` and `[helper-key PUBKEY]` of a third party that runs `vesica assist`",
            )),
            (HelperLink::At(..) | HelperLink::Here(_), false) => Err(Error::usage(
                text!(
                    "`[helper]` is for a protocol that has a helper, and `[protocol {}]` has none",
                    protocol.to_string()
                ),
                "leave out `[helper]`, or give `[protocol server-aided] [security semi-honest]`",
            )),
            _ => Ok(()),
        }
    }

    /// What the terms say of it.
    pub(crate) fn term(&self) -> String {
        match self {
            HelperLink::None => "none".to_owned(),
            HelperLink::At(_, _, key) => key.to_string(),
            HelperLink::Here(_) => "a connection of the caller's".to_owned(),
        }
    }

    /// Turns to the helper with what was agreed with the partner. If that fails, the partner's connection ends too.
    pub(crate) fn join(
        self,
        agreed: &Agreed,
        partner: &mut Connection,
        timeout: Duration,
        reporter: &Reporter<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<Connection>, Error> {
        if matches!(self, HelperLink::None) {
            return Ok(None);
        }
        reporter.enter(RunPhase::Helper, 0);
        let request = Request::new(agreed, partner).greeting();
        let joined = while_there(partner, reporter.cancel, |cancel| {
            let mut helper = match self {
                HelperLink::At(address, identity, key) => {
                    let options = Options { silence: timeout, cancel: cancel.clone() };
                    return joined_at(&address, (&identity, &key), &request, &options, reporter, rng);
                }
                HelperLink::Here(helper) => greeted(*helper, &request),
                HelperLink::None => return Ok(None),
            };
            helper.cancel_on(cancel);
            helper::join(&mut helper).map_err(|error| Error::session(RunPhase::Helper, &error))?;
            Ok(Some(helper))
        });
        let helper = joined.inspect_err(|_| partner.abort())?;
        helper.iter().for_each(|helper| reporter.helper_joined(helper));
        Ok(helper)
    }
}

/// Goes to the helper there, and again if it helps the same two parties in another run meanwhile.
fn joined_at(
    address: &Address,
    (identity, key): (&Identity, &PublicKey),
    request: &[u8],
    options: &Options,
    reporter: &Reporter<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<Option<Connection>, Error> {
    let until = Instant::now() + options.silence;
    let security = ConnectionSecurity::Tls { identity, peer: key };
    loop {
        let on_event = &mut |event| reporter.net_event_of("the helper", &event);
        let mut helper = meet(address, &security, request, options, rng, on_event)
            .map_err(|error| Error::net(RunPhase::Helper, &error).with(Participant::Helper))?;
        reporter.notice("the helper is there; waiting for the partner to turn to it");
        helper.cancel_on(&options.cancel);
        match helper::join(&mut helper) {
            Ok(()) => return Ok(Some(helper)),
            Err(_) if helper.was_declined() && Instant::now() < until => {
                reporter.notice("the helper helps in another run of the same parties; trying again");
                let slept = options.cancel.sleep(PAUSE);
                slept.map_err(|error| Error::channel(RunPhase::Helper, &error))?;
            }
            Err(error) => return Err(Error::session(RunPhase::Helper, &error)),
        }
    }
}

/// Runs `act`, whose token is cancelled if the partner goes meanwhile. Then the error is the partner's.
fn while_there<T>(
    partner: &mut Connection,
    cancel: &CancelToken,
    act: impl FnOnce(&CancelToken) -> Result<T, Error>,
) -> Result<T, Error> {
    let (until, over) = (cancel.child(), AtomicBool::new(false));
    let (half, _) = partner.split();
    let (is_over, ends) = (&over, until.clone());
    let watch = move || -> Option<ChannelError> {
        while !is_over.load(Relaxed) {
            if let Err(error) = half.check() {
                ends.cancel();
                return Some(error);
            }
            thread::sleep(LOOK);
        }
        None
    };
    thread::scope(|scope| {
        let watch = thread::Builder::new()
            .spawn_scoped(scope, watch)
            .map_err(|error| Error::resources(RunPhase::Helper, "cannot start a thread", &error))?;
        let acted = act(&until);
        over.store(true, Relaxed);
        let gone = watch.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        match (acted, gone) {
            (Err(error), Some(gone)) if error.kind == Kind::Interrupted => {
                Err(Error::channel(RunPhase::Helper, &gone))
            }
            (acted, _) => acted,
        }
    })
}
