//! A second use of the files that an offline phase of `gbf-rr16` leaves, in whole runs over TLS.
//!
//! Before anything of the online phase is sent, each side puts the name of the offline phase on its lists and renames its
//! file (`vesica::offline`). So a party that has kept a copy, or whose run was ended in the middle, comes to a partner that
//! refuses; and if that partner has kept a copy too, its own lists refuse that.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use tempfile::TempDir;
use vesica::channel::CancelToken;
use vesica::job::{Destination, Ended, Job, OnEvent, Partner, TableArgs};
use vesica::net::{Address, Identity};
use vesica::offline::PrepareJob;
use vesica::protocols::{Phase, Role};
use vesica::report::Event;
use vesica::settings::{Choice, Settings};
use vesica::table::Dialect;
use vesica::{Error as RunError, randomness};

use crate::{Error, phone_book, phone_number};

/// Numbers of each party.
const COUNT: usize = 8;

/// What came of each attempt, receiver's end and sender's.
pub struct Outcome {
    /// Numbers that the one run found that the files are for.
    pub matches: usize,
    /// Both sides come with copies that they made before that run.
    pub copies: [Option<RunError>; 2],
    /// The receiver ended another run right after its files were used up, and both come with copies of them.
    pub interrupted: [Option<RunError>; 2],
}

/// Two parties in a folder.
struct Scene {
    folder: TempDir,
    identities: [Identity; 2],
}

const ROLES: [Role; 2] = [Role::Receiver, Role::Sender];

/// A run, and further ones with copies of its files.
///
/// # Errors
/// If an honest step fails.
pub fn replay() -> Result<Outcome, Error> {
    let generated = || Identity::generate().map_err(|error| std::io::Error::other(error.to_string()));
    let scene = Scene { folder: tempfile::tempdir()?, identities: [generated()?, generated()?] };
    for (role, seed) in ROLES.into_iter().zip([13, 14]) {
        let rows: String =
            phone_book(40, COUNT, seed).into_iter().map(|number| phone_number(number) + "\n").collect();
        std::fs::write(scene.path(role.name()), format!("phone\n{rows}"))?;
    }
    scene.prepare("first")?;
    scene.copy("first")?;
    let [received, sent] = scene.run("first", &|_, _, _| {});
    sent.result?;
    let matches = received.result?.map_or(0, |matches| matches.items());
    let copies = scene.run("copy-first", &|_, _, _| {}).map(|end| end.result.err());
    scene.prepare("second")?;
    scene.copy("second")?;
    let cut = |role, event: &Event, cancel: &CancelToken| {
        let begins = matches!(event, Event::Phase { name, .. } if *name == Phase::Hash.name());
        if role == Role::Receiver && begins {
            cancel.cancel();
        }
    };
    for end in scene.run("second", &cut) {
        drop(end.result.err().ok_or_else(|| std::io::Error::other("the run was to be interrupted"))?);
    }
    let interrupted = scene.run("copy-second", &|_, _, _| {}).map(|end| end.result.err());
    Ok(Outcome { matches, copies, interrupted })
}

impl Scene {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str, role: Role) -> PathBuf {
        self.path(&format!("{name}-{role}.off"))
    }

    fn copy(&self, name: &str) -> Result<(), Error> {
        for role in ROLES {
            std::fs::copy(self.file(name, role), self.file(&format!("copy-{name}"), role))?;
        }
        Ok(())
    }

    /// Both parties at once. A party that ends before it listens is all there is of the run; the other then finds nobody.
    fn both(&self, play: &(dyn Fn(Role, Address, OnEvent<'_>) -> Ended + Sync)) -> [Ended; 2] {
        let (send, listening) = mpsc::channel();
        let send = Mutex::new(Some(send));
        thread::scope(|scope| {
            let receiver = scope.spawn(|| {
                let hear = |event: &Event| {
                    if let (Event::Listening { address, .. }, Some(send)) =
                        (event, &*send.lock().unwrap_or_else(PoisonError::into_inner))
                    {
                        drop(send.send(address.clone()));
                    }
                };
                let ended = play(Role::Receiver, Address::Listen("127.0.0.1:0".into()), &hear);
                send.lock().unwrap_or_else(PoisonError::into_inner).take();
                ended
            });
            let address = listening.recv().unwrap_or_else(|_| "127.0.0.1:9".into());
            let sender = play(Role::Sender, Address::Connect(address), &|_| {});
            [receiver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), sender]
        })
    }

    fn settings() -> Settings {
        let timeout = std::time::Duration::from_secs(30);
        Settings { protocol: Choice::Named("gbf-rr16".into()), timeout, ..Settings::default() }
    }

    fn partner(&self, role: Role, address: Address, name: &str) -> Result<Partner, RunError> {
        let [mine, theirs] = if role == Role::Receiver { [0, 1] } else { [1, 0] };
        let peer = *self.identities[theirs].public_key();
        let partner = Partner::authenticated(address, self.identities[mine].clone(), peer)?;
        let state = self.path(&format!("state of the {role}"));
        Ok(partner.with_offline(Some(self.file(name, role))).with_state_folder(state))
    }

    fn prepare(&self, name: &str) -> Result<(), Error> {
        let play = |role, address, on_event: OnEvent<'_>| {
            let job = PrepareJob { role, receiver_items: COUNT, settings: Self::settings() };
            match self.partner(role, address, name).and_then(|partner| Ok((partner, randomness()?))) {
                Ok((partner, mut rng)) => job.run(&partner, &CancelToken::new(), &mut rng, on_event),
                Err(error) => job.refuse(error, on_event),
            }
        };
        for end in self.both(&play) {
            end.result?;
        }
        Ok(())
    }

    /// A run with the files of that name; each event is told on the thread of its party before the party goes on.
    fn run(&self, name: &str, told: &(dyn Fn(Role, &Event, &CancelToken) + Sync)) -> [Ended; 2] {
        self.both(&|role, address, on_event| {
            let (cancel, settings) = (CancelToken::new(), Self::settings());
            let table = TableArgs {
                input: self.path(role.name()).into(),
                keys: "phone".parse().into_iter().collect(),
                dialect: Dialect::default(),
                output: Destination::RowNumbers,
                protected: Vec::new(),
            };
            let job = Job { role, table, settings };
            let on_event = |event: &Event| {
                on_event(event);
                told(role, event, &cancel);
            };
            match self.partner(role, address, name).and_then(|partner| Ok((partner, randomness()?))) {
                Ok((partner, mut rng)) => job.run(&partner, &cancel, &mut rng, &on_event),
                Err(error) => job.refuse(error, &on_event),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_use_is_refused_on_both_sides() -> Result<(), Error> {
        let Outcome { matches, copies, interrupted } = replay()?;
        assert!(matches > 0);
        for end in copies.iter().chain(&interrupted) {
            let message = end.as_ref().map_or("accepted", |error| &error.message);
            assert!(message.contains("it was used before"), "{message}");
        }
        Ok(())
    }
}
