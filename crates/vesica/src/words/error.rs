//! The one error of a whole run, and the one table from it to exit codes.
//!
//! An error says which side is at fault, in which phase, what happened and what to do; it never holds an identifier of
//! either table. Its words are data ([`Text`]): the screen, the report, Python and a Rust caller each have them in their form.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::{Serialize, Serializer};
use vesica_protocols::{Participant, Phase};
use vesica_text::{Audience, Text, Voice, text};

use crate::words::system::exhausted;

/// For a failure after the exchange.
pub(crate) const SEEN_THROUGH: &str =
    "{the exchange was complete and the partner has ended well; }{start both sides again} to get this result";
pub(crate) const REPORT_A_BUG: &str =
    "this should not happen: run again, and report this message if it happens again";

/// Who can do something about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Side {
    /// This side.
    Ours,
    /// The partner's side.
    Partner,
    /// The helper's side, in a run of three.
    Helper,
    /// The receiver's side, as the helper sees it.
    Receiver,
    /// The sender's side, as the helper sees it.
    Sender,
    /// The relay between the two sides.
    Relay,
    /// Both sides, together.
    Both,
}

impl From<Participant> for Side {
    fn from(who: Participant) -> Self {
        match who {
            Participant::Receiver => Side::Receiver,
            Participant::Sender => Side::Sender,
            Participant::Helper => Side::Helper,
        }
    }
}

/// What kind of failure it is; each has one exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// Wrong usage, bad identity, an address that cannot be bound.
    Usage,
    /// A file, column or value that is absent, unreadable or invalid.
    Input,
    /// The partner cannot be reached, fell silent, closed, or failed for a reason of its own.
    Partner,
    /// A fault of this program.
    Internal,
    /// The result could not be written.
    Output,
    /// Authenticated bytes that do not decode, a failed check.
    Protocol,
    /// The partner is not who we expect, or terms, version or limits differ.
    Refused,
    /// The system gave no memory, thread or descriptor.
    Resources,
    /// Nothing went wrong: the partner's part is still to come, and the same command goes on from here.
    Waiting,
    /// Interrupted by the user.
    Interrupted,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 10] = [
        Kind::Usage,
        Kind::Input,
        Kind::Partner,
        Kind::Internal,
        Kind::Resources,
        Kind::Output,
        Kind::Waiting,
        Kind::Protocol,
        Kind::Refused,
        Kind::Interrupted,
    ];

    /// The exit code of the program, and the class that Python raises. (Termination by a signal other than interruption is
    /// the caller's to tell: 143.)
    const fn ends(self) -> (u8, &'static str) {
        match self {
            Kind::Usage => (64, "UsageError"),
            Kind::Input => (65, "InputError"),
            Kind::Partner => (69, "PartnerError"),
            Kind::Internal => (70, "InternalError"),
            Kind::Resources => (71, "ResourceError"),
            Kind::Output => (74, "OutputError"),
            Kind::Waiting => (75, "Waiting"),
            Kind::Protocol => (76, "ProtocolError"),
            Kind::Refused => (77, "RefusedError"),
            Kind::Interrupted => (130, "Cancelled"),
        }
    }

    /// The exit code of the program.
    pub const fn exit_code(self) -> u8 {
        self.ends().0
    }

    /// The class of the Python package's exception.
    pub const fn exception(self) -> &'static str {
        self.ends().1
    }
}

/// A phase of a whole run, as the progress bar, the events, the report and the errors name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RunPhase {
    /// Arguments, identity and output are checked.
    Prepare,
    /// The table is read once, into items.
    Read,
    /// The different keys of a table on disk are counted.
    Count,
    /// The partner is sought and authenticated.
    Connect,
    /// A helper waits for its two parties.
    Gather,
    /// Terms and sizes are compared.
    Agree,
    /// The helper is sought and authenticated, and agrees to the run.
    Helper,
    /// The keys of a table on disk are split into parts.
    Split,
    /// The parts of a run are played, one after the other.
    Parts,
    /// A phase of the protocol.
    Protocol(Phase),
    /// Both sides confirm that they saw the same run.
    Confirm,
    /// The values of a set's keys are computed.
    Publish,
    /// Files of a set are fetched.
    Fetch,
    /// A kept set's sender is asked.
    Lookup,
    /// Files are left in a post-box, and taken from it.
    Post,
    /// The matching rows are copied.
    Write,
}

impl RunPhase {
    /// The name in reports, events and errors, and what happens in it, for a person who waits.
    pub const fn told(self) -> (&'static str, &'static str) {
        match self {
            RunPhase::Prepare => ("prepare", "checking the options"),
            RunPhase::Read => ("read", "reading the table"),
            RunPhase::Count => ("count", "counting the different keys"),
            RunPhase::Connect => ("connect", "waiting for the partner"),
            RunPhase::Gather => ("gather", "waiting for the two parties"),
            RunPhase::Agree => ("agree", "comparing terms with the partner"),
            RunPhase::Helper => ("helper", "waiting for the helper"),
            RunPhase::Split => ("split", "splitting the keys into parts"),
            RunPhase::Parts => ("parts", "playing the parts of the run"),
            RunPhase::Protocol(phase) => phase.told(),
            RunPhase::Confirm => ("confirm", "confirming the run with the partner"),
            RunPhase::Publish => ("publish", "computing the values of the keys"),
            RunPhase::Fetch => ("fetch", "fetching the set's files"),
            RunPhase::Lookup => ("lookup", "asking the sender"),
            RunPhase::Post => ("post", "looking into the post-box"),
            RunPhase::Write => ("write", "writing the matching rows"),
        }
    }

    /// The name alone.
    pub const fn name(self) -> &'static str {
        self.told().0
    }
}

/// A run that did not end with a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Error {
    /// Who can do something about it.
    pub side: Side,
    /// When it happened.
    #[serde(serialize_with = "phase_name")]
    pub phase: RunPhase,
    /// What kind of failure it is.
    pub kind: Kind,
    /// What happened.
    #[serde(serialize_with = "shell")]
    pub message: Text,
    /// What to do.
    #[serde(serialize_with = "shell")]
    pub remedy: Text,
}

fn phase_name<S: Serializer>(phase: &RunPhase, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(phase.name())
}

/// A text in a report, as the command line shows it.
pub(crate) fn shell<S: Serializer>(text: &Text, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&text.shell())
}

/// For a Rust caller.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Voice::Rust))
    }
}

impl std::error::Error for Error {}

impl Error {
    /// The whole error in words, for that place.
    pub fn render(&self, voice: Voice) -> String {
        let side = match self.side {
            Side::Ours => "on this side",
            Side::Partner => "on the partner's side",
            Side::Helper => "on the helper's side",
            Side::Receiver => "on the receiver's side",
            Side::Sender => "on the sender's side",
            Side::Relay => "at the relay",
            Side::Both => "between the two sides",
        };
        let (message, remedy) = (self.message.render(voice), self.remedy.render(voice));
        format!("{message}\n  where: {side}, phase {}\n  what to do: {remedy}", self.phase.name())
    }

    /// The whole error in words, of a command that meets nobody: without a side and a phase.
    pub fn render_alone(&self, voice: Voice) -> String {
        format!("{}\n  what to do: {}", self.message.render(voice), self.remedy.render(voice))
    }

    /// This error with its texts as that place writes them.
    #[must_use]
    pub fn told_in(&self, voice: Voice) -> Self {
        let (message, remedy) = (self.message.told_in(voice), self.remedy.told_in(voice));
        Error { message, remedy, ..self.clone() }
    }

    /// For that audience.
    pub(crate) fn told(self, audience: Audience<'_>) -> Self {
        Error { message: self.message.told(audience), remedy: self.remedy.told(audience), ..self }
    }

    /// Wrong arguments, found before the run or on reading the table.
    pub fn usage(message: impl Into<Text>, remedy: impl Into<Text>) -> Self {
        Error {
            side: Side::Ours,
            phase: RunPhase::Prepare,
            kind: Kind::Usage,
            message: message.into(),
            remedy: remedy.into(),
        }
    }

    /// The system refused memory, a thread, a descriptor or the like; `source` is its error.
    pub fn resources(phase: RunPhase, what: &str, source: &io::Error) -> Self {
        let (kind, remedy) = match exhausted(source) {
            Some(remedy) => (Kind::Resources, remedy),
            None => (Kind::Internal, REPORT_A_BUG),
        };
        Error {
            side: Side::Ours,
            phase,
            kind,
            message: text!("{}: {}", what.to_owned(), source.to_string()),
            remedy: remedy.into(),
        }
    }

    /// The caller cancelled.
    pub fn interrupted(phase: RunPhase) -> Self {
        let remedy = match phase {
            RunPhase::Write => text!("{}; no file was written here", SEEN_THROUGH),
            _ => text!("{start both sides again}; {nothing was written here}"),
        };
        let message = "the run was interrupted".into();
        Error { side: Side::Ours, phase, kind: Kind::Interrupted, message, remedy }
    }
}

/// Runs `play`, and turns a panic into an error. The error does not repeat the panic's words, which could hold a value of a
/// table. After a panic nothing is used again that the run used.
pub fn caught<T>(play: impl FnOnce() -> T) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(play)).map_err(|_| Error {
        side: Side::Ours,
        phase: RunPhase::Prepare,
        kind: Kind::Internal,
        message: "an internal error of this program".into(),
        remedy: "please report it, with the steps that led to it; nothing more is written".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_fault_of_ours_and_its_words_are_not_repeated() {
        let error = caught(|| panic!("PLANTED, expected on this test's screen")).unwrap_err();
        assert!(error.kind == Kind::Internal && !error.to_string().contains("PLANTED"), "{error}");
        assert_eq!(caught(|| 7), Ok(7));
    }
}
