//! Offline phases that are run ahead: [`PrepareJob`] makes the output of one, and a later [`Job`](crate::job::Job) uses
//! it, once.
//!
//! ```text
//! prepare   terms "make for N keys" · the offline phase · both store, and confirm · both name their files
//! run       terms "use ID for N keys" · sizes · both consume, and say so · the online phase
//! ```
//!
//! Both sides refuse different ids in the terms, when nothing is used up yet. Then each side puts the id on its lists,
//! renames its file, and syncs both (`offline/file.rs`, `offline/used.rs`). Only then it sends the id as the word that it
//! has done so, and neither sends a byte of the online phase before it has the other's word. So a crash at any point
//! leaves the file whole or used up, and a side that has used an id never takes part in a second run with it, whatever
//! copies there are. A side whose whole disk is set back to an earlier state has lost its lists too; then the other side's
//! lists refuse, unless that side cheats.

use std::io;
use std::path::Path;

use vesica_channel::Channel;
use vesica_net::Connection;
use vesica_net::private_file::PrivateFileError;
use vesica_protocols::{Phase, registry};
use vesica_table::shown_path;

use crate::error::{Error, Kind};
use crate::memory::Budget;
use crate::plan;
use crate::reporter::Reporter;
use crate::session::{Agreed, SessionError};
use crate::settings::{Choice, Settings};
use crate::system::SET_STATE_FOLDER;

pub(crate) mod file;
mod prepare;
pub(crate) mod used;

use file::{Consumed, Fault, Loaded, NewFault, OfflineFile};
use used::UsedFault;
use vesica_protocols::OfflinePhase;
use vesica_protocols::registry::Entry;

pub use prepare::PrepareJob;

/// The public name of an offline phase.
pub(crate) type Id = [u8; 32];

/// What a party asks for, as its terms say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Make output for so many items of the receiver.
    Make(usize),
    /// Use the output of that name, made for so many items.
    Use(Id, usize),
}

impl std::fmt::Display for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Asked::Make(items) => write!(f, "make for {items} keys"),
            Asked::Use(id, items) => write!(f, "use {} for {items} keys", hex(id)),
        }
    }
}

fn hex(id: &Id) -> String {
    blake3::Hash::from_bytes(*id).to_hex().to_string()
}

/// The protocol of a run with `--offline`, which must have an offline phase, and its parameters.
pub(crate) fn protocol(
    settings: &Settings,
) -> Result<(&'static Entry, vesica_protocols::Parameters, &'static OfflinePhase), Error> {
    let chosen = plan::choose(&settings.protocol, settings.wanted(), None)
        .map_err(|error| Error::plan(Phase::Prepare, crate::error::Side::Ours, &error))?;
    let phase = match settings.protocol {
        Choice::Auto => None,
        Choice::Named(_) => chosen.protocol.offline_phase(),
    };
    let Some(phase) = phase else {
        let mut names = registry::PROTOCOLS.iter().filter(|entry| entry.offline_phase().is_some());
        let name = names.next().map_or("", |entry| entry.name);
        return Err(Error::usage(
            "`--offline` needs a protocol with an offline phase",
            format!("give `--protocol {name}`, or leave `--offline` out"),
        ));
    };
    Ok((chosen.protocol, chosen.parameters, phase))
}

/// The error of a file that cannot be used.
pub(crate) fn refused(phase: Phase, path: &Path, fault: &Fault) -> Error {
    const MAKE: &str = "make another one with the partner (`--prepare`), and name it on both sides";
    let message = format!("`--offline {}`: {fault}", shown_path(path));
    let (kind, remedy) = match fault {
        Fault::Cancelled | Fault::Used(UsedFault::Cancelled) => return Error::interrupted(phase),
        fault if fault.is_mismatch() => (
            Kind::Usage,
            "name the file that was made for this partner, role and protocol, or make one with `--prepare`",
        ),
        Fault::Used(UsedFault::NoStateFolder) => (Kind::Usage, SET_STATE_FOLDER),
        Fault::Used(UsedFault::List { fault, .. }) => match fault {
            PrivateFileError::Io(_) => {
                (Kind::Output, "let this process write to the list and its folder, and free space there")
            }
            _ => (Kind::Input, "let its owner alone read the list (`chmod 600`), and never take a line out"),
        },
        Fault::File(PrivateFileError::Exposed { .. }) => (
            Kind::Input,
            "remove the file, which others may have read, and make another one with `--prepare`",
        ),
        Fault::File(PrivateFileError::Link) => (Kind::Input, "name the file itself"),
        Fault::File(PrivateFileError::Io(error)) if error.kind() != io::ErrorKind::NotFound => {
            (Kind::Input, "let this process read and write the file and its folder, and free space there")
        }
        Fault::Version(_) => {
            (Kind::Input, "use it with the version that made it, or make another one with `--prepare`")
        }
        _ => (Kind::Input, MAKE),
    };
    Error { kind, phase, ..Error::usage(message, remedy) }
}

/// The error of a file that cannot be made.
pub(crate) fn not_made(phase: Phase, path: &Path, fault: &NewFault) -> Error {
    let message = format!("`--offline {}`: {fault}", shown_path(path));
    let (kind, remedy) = match fault {
        NewFault::Exists => (Kind::Usage, "name another file, or remove that one"),
        NewFault::Room { .. } => (Kind::Output, "free space there, or name a file on another disk"),
        NewFault::Io(_) => (
            Kind::Output,
            "name a file in a folder that you may write to, on a disk with room, and start both sides again",
        ),
    };
    Error { kind, phase, ..Error::usage(message, remedy) }
}

/// What a run has of an earlier offline phase, from the options to the protocol.
#[derive(Default)]
pub(crate) struct Before(Option<State>);

enum State {
    Found(OfflineFile),
    Loaded(Loaded, std::path::PathBuf),
}

impl Before {
    pub(crate) fn of(file: Option<OfflineFile>) -> Self {
        Before(file.map(State::Found))
    }

    /// What the terms say.
    pub(crate) fn asked(&self) -> Option<Asked> {
        match self.0.as_ref()? {
            State::Found(file) => Some(Asked::Use(file.id, file.items)),
            State::Loaded(loaded, _) => Some(Asked::Use(loaded.id(), loaded.items())),
        }
    }

    /// Reads the file, before the partner is contacted. `items` is the size of a receiver's set.
    pub(crate) fn load(
        self,
        items: Option<usize>,
        budget: Option<Budget>,
        reporter: &Reporter<'_>,
    ) -> Result<Self, Error> {
        let Some(State::Found(file)) = self.0 else { return Ok(self) };
        reporter.phase_begins(Phase::Load);
        let most = file.items;
        if let Some(items) = items.filter(|items| *items > most) {
            let message = format!(
                "`--offline` was made for at most {most} keys of the receiver, and the table has {items}"
            );
            let error =
                Error::usage(message, "use a smaller table, or make a file for more keys with `--prepare`");
            return Err(Error { phase: Phase::Load, ..error });
        }
        if let Some(budget) = budget.filter(|budget| !budget.allows(file.stored_bytes())) {
            let error = SessionError::TooLarge { needed: file.stored_bytes(), budget };
            return Err(Error::session(Phase::Load, &error));
        }
        let path = file.path().to_owned();
        let loaded = file.load(&|| reporter.cancel.is_cancelled());
        let loaded = loaded.map_err(|fault| refused(Phase::Load, &path, &fault))?;
        Ok(Before(Some(State::Loaded(loaded, path))))
    }

    /// Uses the file up on both sides, and says so; none if the run sends nothing of the protocol. From here on the run
    /// may begin its online phase.
    pub(crate) fn consume(
        self,
        agreed: &Agreed,
        channel: &mut Connection,
        reporter: &Reporter<'_>,
    ) -> Result<Option<Consumed>, Error> {
        let Some(State::Loaded(loaded, path)) = self.0 else { return Ok(None) };
        if !agreed.protocol.takes_place(agreed.sizes) {
            reporter
                .notice("offline phase: not needed, since a set is empty; the file stays as it is".into());
            return Ok(None);
        }
        reporter.phase_begins(Phase::Consume);
        let (id, receiver_items) = (loaded.id(), loaded.items());
        let consumed = loaded.consume(&|| reporter.cancel.is_cancelled()).map_err(|fault| {
            channel.abort();
            refused(Phase::Consume, &path, &fault)
        })?;
        reporter.consumed(&id, receiver_items);
        exchange(&id, channel).map_err(|error| {
            channel.abort();
            Error::session(Phase::Consume, &error)
        })?;
        Ok(Some(consumed))
    }
}

/// Says that this side has used its output up, and waits for the other's word.
fn exchange(id: &Id, channel: &mut Connection) -> Result<(), SessionError> {
    channel.send(id)?;
    channel.flush()?;
    let mut theirs = [0; 32];
    channel.recv_exact(&mut theirs)?;
    if theirs == *id {
        Ok(())
    } else {
        Err(vesica_protocols::Error::from(vesica_protocols::Misbehaviour::OtherOfflinePhase).into())
    }
}
