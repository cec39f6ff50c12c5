//! Base OTs that are kept, in one process: what a run that fails does to them, and two runs at once.
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Barrier, mpsc};
use std::thread;

use vesica::channel::CancelToken;
use vesica::job::{Destination, Ended, Job, Partner, TableArgs};
use vesica::net::{Address, Identity};
use vesica::protocols::Role;
use vesica::protocols::registry::Security;
use vesica::report::Event;
use vesica::settings::{Choice, Settings};
use vesica::table::{Dialect, MatchRule};
use vesica::{Kind, randomness};

/// A folder with two tables and two identities.
struct Scene {
    folder: tempfile::TempDir,
    identities: [Identity; 2],
}

const ROLES: [Role; 2] = [Role::Receiver, Role::Sender];

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (role, first) in [("receiver", 0), ("sender", 50)] {
            let rows: String = (first..first + 100).map(|i| format!("row {i}\n")).collect();
            fs::write(folder.path().join(role), format!("key\n{rows}")).unwrap();
        }
        Scene { folder, identities: [Identity::generate().unwrap(), Identity::generate().unwrap()] }
    }

    fn file(&self, role: Role) -> PathBuf {
        self.folder.path().join(format!("{role}.ots"))
    }

    fn kept(&self) -> [Vec<u8>; 2] {
        ROLES.map(|role| fs::read(self.file(role)).unwrap())
    }

    fn party(
        &self,
        role: Role,
        address: Address,
        told: &(dyn Fn(Role, &Event, &CancelToken) + Sync),
    ) -> Ended {
        let input: &Path = &self.folder.path().join(role.name());
        let (keys, output) = (MatchRule::parse("key").unwrap().into(), Destination::RowNumbers);
        let table = TableArgs {
            input: input.to_owned().into(),
            keys,
            dialect: Dialect::default(),
            output,
            protected: Vec::new(),
        };
        let (protocol, security) = (Choice::Named("kkrt".into()), Security::SemiHonest);
        let settings = Settings { protocol, security, threads: 1, ..Settings::default() };
        let [mine, theirs] = match role {
            Role::Receiver => [0, 1],
            Role::Sender => [1, 0],
        };
        let theirs = *self.identities[theirs].public_key();
        let partner = Partner::authenticated(address, self.identities[mine].clone(), theirs).unwrap();
        let cancel = CancelToken::new();
        let on_event = |event: &Event| told(role, event, &cancel);
        let partner = partner.keeping_base_ots(Some(self.file(role)));
        Job { role, table, settings }.run(&partner, &cancel, &mut randomness().unwrap(), &on_event)
    }

    /// Both parties; each event is told to `told` on the thread of its party before the party goes on.
    fn run(&self, told: &(dyn Fn(Role, &Event, &CancelToken) + Sync)) -> [Ended; 2] {
        let (send, listening) = mpsc::channel();
        let (send, told) = (std::sync::Mutex::new(send), &told);
        thread::scope(|scope| {
            let receiver = scope.spawn(move || {
                self.party(Role::Receiver, Address::Listen("127.0.0.1:0".into()), &|role, event, cancel| {
                    if let Event::Listening { address, .. } = event {
                        send.lock().unwrap().send(address.clone()).unwrap();
                    }
                    told(role, event, cancel);
                })
            });
            let address = listening.recv().unwrap();
            let sender = self.party(Role::Sender, Address::Connect(address), *told);
            [receiver.join().unwrap(), sender]
        })
    }

    /// A run that ends well, with base OTs of this kind.
    #[track_caller]
    fn ends_well(&self, base_ots: &str) {
        let [receiver, sender] = self.run(&|_, _, _| {});
        assert_eq!(receiver.result.unwrap().matches.unwrap().rows(), (50..100).collect::<Vec<u64>>());
        assert!(sender.result.unwrap().matches.is_none());
        assert_eq!([receiver.report.base_ots, sender.report.base_ots], [Some(base_ots); 2]);
    }
}

/// The event after which the protocol begins.
fn tells_of_base_ots(event: &Event) -> bool {
    matches!(event, Event::Notice { message } if message.shell().starts_with("base OTs: "))
}

#[test]
fn a_run_that_fails_takes_the_kept_ones_with_it() {
    let scene = Scene::new();
    for who in ROLES {
        scene.ends_well("new");
        scene.ends_well("kept");
        let (removed, agreed) = (std::sync::Mutex::new(Vec::new()), Barrier::new(2));
        let outcomes = scene.run(&|role, event, cancel| {
            if tells_of_base_ots(event) {
                // Both have agreed.
                agreed.wait();
                if role == who {
                    cancel.cancel();
                }
            }
            if matches!(event, Event::Notice { message } if message.shell().starts_with("the kept base OTs were removed")) {
                removed.lock().unwrap().push(role);
            }
        });
        let kinds = outcomes.map(|outcome| outcome.result.unwrap_err().kind);
        let expected = if who == Role::Receiver {
            [Kind::Interrupted, Kind::Partner]
        } else {
            [Kind::Partner, Kind::Interrupted]
        };
        assert_eq!(kinds, expected);
        assert_eq!(removed.into_inner().unwrap().len(), 2, "each side says so");
        assert!(ROLES.iter().all(|role| !scene.file(*role).exists()));
    }
}

#[test]
fn a_run_that_fails_while_it_makes_them_keeps_none_and_removes_none() {
    let scene = Scene::new();
    let cut = |role, event: &Event, cancel: &CancelToken| {
        if role == Role::Receiver && tells_of_base_ots(event) {
            cancel.cancel();
        }
    };
    assert!(scene.run(&cut).iter().all(|outcome| outcome.result.is_err()));
    assert!(ROLES.iter().all(|role| !scene.file(*role).exists()));
    scene.ends_well("new");
    // The sender's is lost; the receiver's, of no use any more, stays until there is something better.
    fs::remove_file(scene.file(Role::Sender)).unwrap();
    assert!(scene.run(&cut).iter().all(|outcome| outcome.result.is_err()));
    assert_eq!(ROLES.map(|role| scene.file(role).exists()), [true, false]);
    scene.ends_well("new");
}

#[test]
fn two_runs_at_once_take_the_same_and_leave_the_next_generation() {
    let scene = Scene::new();
    scene.ends_well("new");
    let before = scene.kept();
    // All four parties have read their files before any of them goes on.
    let barrier = Barrier::new(4);
    let together = |_, event: &Event, _: &CancelToken| {
        if tells_of_base_ots(event) {
            barrier.wait();
        }
    };
    thread::scope(|scope| {
        let runs = [0, 1].map(|_| scope.spawn(|| scene.run(&together)));
        for outcome in runs.into_iter().flat_map(|run| run.join().unwrap()) {
            assert_eq!(outcome.report.base_ots, Some("kept"));
            let found = outcome.result.unwrap().matches.map(|matches| matches.items());
            assert_eq!(found, (outcome.report.role == "receiver").then_some(50));
        }
    });
    let after = scene.kept();
    assert!(before.iter().zip(&after).all(|(before, after)| before != after && before.len() == after.len()));
    scene.ends_well("kept");
}
