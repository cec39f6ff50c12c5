//! A card that a thread opens while the table is read.
//!
//! To open one takes seconds, since its kernels are compiled. So the thread begins as early as can be: at once where a card
//! was named, and under `auto` when the table's size is known, if that is worth it ([`least_keys`]).

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use vesica_crypto::device::{Device, NoCard};
use vesica_protocols::registry::OnCard;
use vesica_text::text;

use crate::session::reporter::Reporter;
use crate::words::device::{DeviceChoice, least_keys};
use crate::words::error::Error;
use crate::words::registry;
use crate::words::settings::{Choice, Settings};

/// A card on its way. Clones share it: both parties of one process have one card.
#[derive(Clone)]
pub(crate) struct Opening(Arc<Shared>);

struct Shared {
    choice: DeviceChoice,
    /// The least keys for which `auto` takes a card; none: it takes none.
    least: Option<u64>,
    state: Mutex<State>,
}

enum State {
    /// Nothing has been asked for yet.
    Waiting,
    Running(JoinHandle<Result<Device, NoCard>>),
    Ended(Result<Device, NoCard>),
}

impl Opening {
    /// For a run with these settings. Where they name no protocol, `auto` takes none whose time is that of a group's products.
    pub(crate) fn for_run(settings: &Settings) -> Self {
        let computed = match &settings.protocol {
            Choice::Named(name) => registry::find(name).map(|entry| entry.on_card),
            Choice::Auto => None,
        };
        Self::new(settings, computed == Some(OnCard::Group))
    }

    /// For a set file, whose values are products of a group.
    pub(crate) fn for_publish(settings: &Settings) -> Self {
        Self::new(settings, true)
    }

    /// Whether products of a group are what takes the time.
    fn new(settings: &Settings, of_group: bool) -> Self {
        let least = of_group.then(|| least_keys(settings.threads()));
        Opening(Arc::new(Shared { choice: settings.device, least, state: Mutex::new(State::Waiting) }))
    }

    /// The job begins.
    pub(crate) fn begin(&self) {
        if let DeviceChoice::Cuda(number) = self.0.choice {
            self.open(number);
        }
    }

    /// There will be about so many keys.
    pub(crate) fn expect(&self, keys: u64) {
        if self.0.choice == DeviceChoice::Auto && self.0.least.is_some_and(|least| keys >= least) {
            self.open(0);
        }
    }

    /// Begins to open a card, once.
    fn open(&self, number: usize) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Waiting = *state {
            let thread =
                thread::Builder::new().name("vesica-card".into()).spawn(move || Device::open(number));
            *state = match thread {
                Ok(thread) => State::Running(thread),
                Err(error) => {
                    let reason = format!("cannot start a thread: {error}");
                    State::Ended(Err(NoCard { reason, has_driver: true }))
                }
            };
        }
    }

    /// The device, as soon as it is there.
    ///
    /// # Errors
    /// If a card was named, and cannot be used.
    pub(crate) fn wait(&self, reporter: &Reporter<'_>) -> Result<Device, Error> {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = match mem::replace(&mut *state, State::Waiting) {
            State::Waiting => return Ok(Device::default()),
            // The crate of the driver panics where a library lacks a function.
            State::Running(thread) => thread.join().unwrap_or_else(|_| {
                let reason = "the driver or the compiler lacks a function that this program calls".to_owned();
                Err(NoCard { reason, has_driver: true })
            }),
            State::Ended(opened) => opened,
        };
        *state = State::Ended(opened.clone());
        drop(state);
        match opened {
            Ok(device) => {
                let name = device.name().unwrap_or_default();
                reporter.notice(format!("computing on the card too: {name}"));
                Ok(device)
            }
            Err(NoCard { reason, .. }) if self.0.choice != DeviceChoice::Auto => {
                let message = text!("`[device {}]`: {}", self.0.choice.to_string(), reason);
                let error = Error::usage(message, "name another card with `[device]`, or leave it out");
                Err(Error { phase: reporter.current(), ..error })
            }
            Err(NoCard { reason, has_driver }) => {
                // Where no driver is, nobody expects a card.
                if has_driver {
                    reporter.notice(format!("computing on the cores, not on a card: {reason}"));
                }
                Ok(Device::default())
            }
        }
    }
}

/// Tells of a card that has failed meanwhile.
pub(crate) fn tell_failure(device: &Device, reporter: &Reporter<'_>) {
    if let Some(reason) = device.failure() {
        reporter.notice(format!("the cores went on in the card's place: {reason}"));
    }
}

/// The compiler's library may not be unloaded, as at the end of a process, while it compiles.
impl Drop for Shared {
    fn drop(&mut self) {
        let state =
            mem::replace(self.state.get_mut().unwrap_or_else(PoisonError::into_inner), State::Waiting);
        if let State::Running(thread) = state {
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use vesica_channel::CancelToken;
    use vesica_protocols::Role;

    use super::*;
    use crate::words::error::Kind;
    use crate::words::report::Event;

    /// What comes of an opening, and what is told of it.
    fn outcome(settings: &Settings, of_group: bool, keys: u64) -> (bool, Result<Device, Error>, Vec<String>) {
        let (cancel, told) = (CancelToken::new(), Mutex::new(Vec::new()));
        let on_event = |event: &Event| {
            if let Event::Notice { message } = event {
                told.lock().unwrap().push(message.shell());
            }
        };
        let reporter = Reporter::new(Role::Sender, settings, &cancel, &on_event);
        let opening = Opening::new(settings, of_group);
        opening.begin();
        opening.expect(keys);
        let begun = !matches!(*opening.0.state.lock().unwrap(), State::Waiting);
        let device = opening.wait(&reporter);
        drop(reporter);
        (begun, device, told.into_inner().unwrap())
    }

    #[test]
    fn auto_opens_a_card_for_large_sets_and_products_of_a_group() {
        let settings = Settings { threads: 2, ..Settings::default() };
        let least = least_keys(2);
        for (of_group, keys, begun) in
            [(true, least, true), (true, least - 1, false), (false, 1 << 40, false), (true, 0, false)]
        {
            let (did_begin, device, told) = outcome(&settings, of_group, keys);
            assert_eq!(did_begin, begun, "{keys}");
            let has_card = device.unwrap().has_card();
            // Without a driver nothing is said; with one, why there is no card, or which one there is.
            assert!(begun || !has_card && told.is_empty());
            assert_eq!(told.len(), usize::from(begun && Device::count().is_ok()));
        }
        let cores = Settings { device: DeviceChoice::Cpu, ..settings };
        assert!(!outcome(&cores, true, 1 << 40).0);
    }

    #[test]
    fn a_card_that_was_named_and_is_not_there_ends_the_run() {
        let settings = Settings { device: DeviceChoice::Cuda(usize::MAX), ..Settings::default() };
        let (begun, device, _) = outcome(&settings, false, 1);
        let error = device.err().unwrap();
        assert!(begun && error.kind == Kind::Usage, "{error}");
        assert!(error.message.shell().starts_with(&format!("`--device cuda:{}`: ", usize::MAX)), "{error}");
    }
}
