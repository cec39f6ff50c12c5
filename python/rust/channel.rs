//! Channels, and protocols between two sets of byte strings over them.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use vesica::assist;
use vesica::channel;
use vesica::net::{self, Identity, Options as NetOptions, memory};
use vesica::output_paths::RecordPlaces;
use vesica::protocols::Role;
use vesica::report::Event;
use vesica::sets::{self, SetJob};
use vesica::settings::duration;
use vesica::{Error, randomness};

use crate::errors::raise;
use crate::options::{Options, PartnerArgs};
use crate::play::{CancelToken, play, token};
use crate::result::Outcome;

/// A connection to the partner, for one run.
#[pyclass(frozen, module = "vesica")]
pub(crate) struct Channel {
    channel: Mutex<Option<net::Connection>>,
    identity: Option<Identity>,
    cancel: channel::CancelToken,
}

/// A party's set.
#[derive(FromPyObject)]
enum Keys {
    Strings(Vec<PyBackedBytes>),
    Integers(Vec<u64>),
}

impl Channel {
    fn new(channel: net::Connection, identity: Option<Identity>, cancel: channel::CancelToken) -> Self {
        Channel { channel: Mutex::new(Some(channel)), identity, cancel }
    }

    /// The connection, for its only run.
    fn take(&self) -> Result<net::Connection, Error> {
        let channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner).take();
        channel.ok_or_else(|| Error::usage("the channel has been used", "open a channel for each run"))
    }
}

#[pymethods]
impl Channel {
    /// Two ends of one conversation in this process.
    #[staticmethod]
    #[pyo3(signature = (cancel = None))]
    fn pair(cancel: Option<Bound<'_, CancelToken>>) -> (Self, Self) {
        let cancel = token(cancel.as_ref());
        let (here, there) = memory::pair(&cancel);
        (Channel::new(here, None, cancel.clone()), Channel::new(there, None, cancel))
    }

    /// Meets the partner over the network.
    #[staticmethod]
    #[pyo3(signature = (partner, timeout, cancel, on_event))]
    fn open(
        py: Python<'_>,
        partner: PartnerArgs<'_>,
        timeout: &str,
        cancel: Option<Bound<'_, CancelToken>>,
        on_event: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let cancel = token(cancel.as_ref());
        let prepared = partner.partner().and_then(|partner| {
            let silence = duration(timeout).map_err(|why| Error::usage(why, "give another timeout"))?;
            Ok((partner, NetOptions { silence, cancel: cancel.clone() }))
        });
        let (partner, options) = prepared.map_err(|error| raise(py, &error, None))?;
        let identity = partner.keys.as_ref().map(|(identity, _)| identity.clone());
        let my_key = partner.my_key();
        let opened = play(py, &cancel.clone(), on_event.as_ref(), move |on_event, _| {
            let tell = &mut |event: net::NetEvent| {
                if let net::NetEvent::Listening(address) = event {
                    let key = my_key.map(|key| key.to_string());
                    on_event(&Event::Listening { address: address.to_string(), key });
                }
            };
            partner.meet(&[], &options, &mut randomness()?, tell)
        })?;
        let channel = opened.map_err(|error| raise(py, &error, None))?;
        Ok(Channel::new(channel, identity, cancel))
    }

    /// Runs a protocol over the channel, and over the one to a helper; both are then used up.
    #[pyo3(signature = (role, keys, options, on_event, helper = None))]
    fn run(
        &self,
        py: Python<'_>,
        role: &str,
        keys: Keys,
        options: Options,
        on_event: Option<Bound<'_, PyAny>>,
        helper: Option<Bound<'_, Channel>>,
    ) -> PyResult<Outcome> {
        let refused = |error: Error| raise(py, &error, None);
        let role = if role == "sender" { Role::Sender } else { Role::Receiver };
        let settings = options.settings().map_err(refused)?;
        let items = match &keys {
            Keys::Strings(keys) => sets::items(keys.iter().map(AsRef::as_ref), &settings),
            Keys::Integers(keys) => sets::integers(keys.iter().copied(), &settings),
        };
        let job = SetJob { role, items: items.map_err(refused)?, settings };
        let (channel, identity) = (self.take().map_err(refused)?, self.identity.clone());
        let helper = helper.map(|helper| helper.get().take()).transpose().map_err(refused)?;
        let ended = play(py, &self.cancel, on_event.as_ref(), move |on_event, cancel| {
            let mut rng = randomness()?;
            Ok::<_, Error>(job.run_helped((channel, helper), identity.as_ref(), cancel, &mut rng, on_event))
        })?;
        Outcome::of(py, ended.map_err(refused)?, RecordPlaces::default(), &channel::CancelToken::new())
    }

    /// Plays the helper of a protocol over this channel to one party and `other` to the other; both are then used up.
    #[pyo3(signature = (other, options, on_event))]
    fn assist(
        &self,
        py: Python<'_>,
        other: &Bound<'_, Channel>,
        options: Options,
        on_event: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Outcome> {
        let refused = |error: Error| raise(py, &error, None);
        let settings = options.settings().map_err(refused)?;
        let parties = [self.take().map_err(refused)?, other.get().take().map_err(refused)?];
        let ended = play(py, &self.cancel, on_event.as_ref(), move |on_event, cancel| {
            assist::between(parties, &settings, cancel, on_event)
        })?;
        Outcome::of(py, ended, RecordPlaces::default(), &channel::CancelToken::new())
    }

    /// Closes the channel; a run that is using it ends.
    fn close(&self, py: Python<'_>) {
        let channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner).take();
        py.detach(|| {
            if channel.is_none() {
                self.cancel.cancel();
            }
            drop(channel);
        });
    }
}
