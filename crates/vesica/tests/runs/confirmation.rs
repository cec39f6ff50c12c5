//! A receiver that learns alone looks for its matches when the run is confirmed: what its confirmation depends on, the time
//! of it included, is then no match and no row of one.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::sync::Mutex;
use std::thread;

use rand::SeedableRng;
use rand::rngs::StdRng;
use vesica::RunPhase;
use vesica::session::{self, Agreed, SessionError};
use vesica::settings::{Choice, Settings};
use vesica::terms::Terms;
use vesica_channel::CancelToken;
use vesica_encode::items::{Items, Matches};
use vesica_net::{Connection, memory};
use vesica_protocols::registry::PROTOCOLS;
use vesica_protocols::testing::planted_for;
use vesica_protocols::{Learns, Outcome, Parameters, Pending, Phase, Progress, Role, Security};

/// The phases that a run has been through.
#[derive(Default)]
struct Seen(Mutex<Vec<RunPhase>>);

impl Seen {
    fn confirming(&self) {
        self.0.lock().unwrap().push(RunPhase::Confirm);
    }

    fn phases(&self) -> Vec<RunPhase> {
        self.0.lock().unwrap().clone()
    }
}

impl Progress for Seen {
    fn phase(&self, phase: Phase, _: u64) {
        self.0.lock().unwrap().push(RunPhase::Protocol(phase));
    }

    fn advance(&self, _: u64) {}

    fn cancelled(&self) -> bool {
        false
    }
}

fn agree(settings: &Settings, role: Role, items: &Items, channel: &mut Connection) -> Agreed {
    let terms = Terms::new(role, settings, &["raw".to_owned()]);
    session::agree(channel, &terms, settings.wanted(), items.len(), None).unwrap()
}

/// A run of (receiver, sender) items in which the sender ends either by its confirmation or, without one, by going. The
/// receiver confirms `mine`, if there is something, in place of what the protocol found.
fn receiver<'a>(
    settings: &Settings,
    sizes: (usize, usize),
    confirms: bool,
    seen: &'a Seen,
    mine: Option<Pending<'a>>,
) -> Result<Option<Matches>, SessionError> {
    let parameters =
        Parameters { security: settings.security, sigma: settings.sigma, ..Parameters::default() };
    let sets = planted_for(&parameters, sizes.0, sizes.1, 3, 1);
    let (mut here, mut there) = memory::pair(&CancelToken::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            let (items, rng) = (&sets.sender, &mut StdRng::seed_from_u64(2));
            let agreed = agree(settings, Role::Sender, items, &mut there);
            let seen = Seen::default();
            let pending = agreed.run(items, &mut there, 1, &seen, None, rng).unwrap();
            if confirms {
                // Where the receiver confirms something else, the counts differ.
                drop(agreed.confirm(pending, &mut there, &|| ()));
            }
            drop(there);
        });
        let (items, rng) = (&sets.receiver, &mut StdRng::seed_from_u64(1));
        let agreed = agree(settings, Role::Receiver, items, &mut here);
        let found = agreed.run(items, &mut here, 1, seen, None, rng)?;
        let confirmed = match mine {
            Some(mine) => agreed.confirm(Some(mine), &mut here, &|| seen.confirming())?,
            None => agreed.confirm(found, &mut here, &|| seen.confirming())?,
        };
        Ok(confirmed.pending.map(Pending::matches).transpose()?)
    })
}

fn settings(protocol: &str, security: Security) -> Settings {
    Settings { protocol: Choice::Named(protocol.into()), security, ..Settings::default() }
}

/// A run in which the partner confirms, and one in which it goes instead.
fn is_compared_after_the_confirmation(settings: &Settings, sizes: (usize, usize)) {
    let protocol = &settings.protocol;
    let seen = Seen::default();
    let matches = receiver(settings, sizes, true, &seen, None).unwrap().unwrap();
    assert_eq!(matches.items(), 3, "{protocol}");
    let last = seen.phases().split_off(seen.phases().len() - 2);
    assert_eq!(last, [RunPhase::Confirm, RunPhase::Protocol(Phase::Compare)], "{protocol}");
    // A sender that goes where it should confirm: nothing has been compared by then.
    let seen = Seen::default();
    assert!(receiver(settings, sizes, false, &seen, None).is_err(), "{protocol}");
    assert_eq!(seen.phases().last(), Some(&RunPhase::Confirm), "{protocol}");
    assert!(!seen.phases().contains(&RunPhase::Protocol(Phase::Compare)), "{protocol}");
}

#[test]
fn nothing_is_compared_before_the_partner_has_confirmed() {
    let all = [
        ("vole", Security::Malicious, (40, 50)),
        ("vole", Security::SemiHonest, (40, 50)),
        ("dh", Security::SemiHonest, (40, 50)),
        ("dh", Security::SemiHonest, (50, 40)),
        ("gbf-random", Security::SemiHonest, (40, 50)),
    ];
    for (protocol, security, sizes) in all {
        is_compared_after_the_confirmation(&settings(protocol, security), sizes);
    }
}

#[test]
fn what_a_circuit_opened_becomes_items_after_the_confirmation() {
    for entry in PROTOCOLS.iter().filter(|entry| entry.family == "circuit_based") {
        // The least level, for the shorter keys.
        let level = entry.supports.levels.iter().min().copied();
        let settings = Settings {
            sigma: entry.supports.usual().sigma,
            level: level.unwrap_or(Settings::default().level),
            ..settings(entry.name, Security::SemiHonest)
        };
        is_compared_after_the_confirmation(&settings, (8, 9));
    }
}

#[test]
fn matches_and_their_rows_are_looked_for_after_the_confirmation_and_before_it_if_both_learn() {
    for (learns, looked) in [(Learns::Receiver, false), (Learns::Both, true)] {
        for confirms in [true, false] {
            let settings = Settings { learns, ..settings("dh", Security::SemiHonest) };
            let (seen, rows) = (Seen::default(), Mutex::new(None));
            let pending = Pending::new(|| {
                *rows.lock().unwrap() = Some(seen.phases().contains(&RunPhase::Confirm));
                Ok(Outcome::Matches(Matches::default()))
            });
            let ended = receiver(&settings, (5, 6), confirms, &seen, Some(pending));
            // (Where both learn, the counts then differ.)
            assert_eq!(ended.is_ok(), confirms && learns == Learns::Receiver);
            let expected = match (looked, confirms) {
                (true, _) => Some(false),
                (false, true) => Some(true),
                (false, false) => None,
            };
            assert_eq!(*rows.lock().unwrap(), expected, "{learns:?}, {confirms}");
        }
    }
}
