//! Turns the errors of the layers into the one error of a run: which side, which kind, what happened, what to do.

use std::io::{self, ErrorKind};

use vesica_channel::{ChannelError, Fault as NetFault};
use vesica_net::relay::Refusal;
use vesica_net::{NetError, RetryReason};
use vesica_protocols::{Error as ProtocolError, Misuse, Participant, Security, Unsupported};
use vesica_table::{Fault as TableFault, OutputFault, TableError};
use vesica_text::{Audience, Text, text};

use crate::session::SessionError;
use crate::words::auto::{self, PlanError};
use crate::words::error::{Error, Kind, REPORT_A_BUG, RunPhase, SEEN_THROUGH, Side};
use crate::words::parts::PartsError;
use crate::words::registry;
use crate::words::system::exhausted;
use crate::words::terms;

const ASK_THE_PARTNER: &str =
    "{ask the partner} what their program said, then {start both sides again}; {nothing was written here}";
const COMPARE_KEYS: &str = "compare the public keys with {the partner} over a channel you trust: each side's `[peer]` is what \
     the other side's `vesica keygen` printed";
const COMPARE_HELPERS_KEY: &str = "compare the public keys with the helper over a channel you trust: `[helper-key]` is what its \
     `vesica keygen` printed, and its two `[peer]` are what the parties' printed";

/// Whether a protocol is marked insecure or broken, and so runs only where both sides allow it.
fn is_insecure(name: &str) -> bool {
    registry::find(name).is_some_and(|entry| entry.needs_allow_insecure())
}

impl Error {
    /// In a run of three, where `who` stands in the place of the partner.
    pub(crate) fn with(self, who: Participant) -> Self {
        if self.side == Side::Ours {
            return self;
        }
        let side = if self.side == Side::Partner { Side::from(who) } else { self.side };
        let remedy = match who {
            Participant::Helper if self.remedy == COMPARE_KEYS.into() => COMPARE_HELPERS_KEY.into(),
            _ => self.remedy,
        };
        Error { side, remedy, ..self }.told(Audience::Three(who.name()))
    }

    /// In a run through a relay, which may have ended the connection in the partner's place.
    pub(crate) fn through_relay(self, relay: Option<&str>) -> Self {
        let ended = self.side == Side::Partner && self.kind == Kind::Partner;
        match relay.filter(|_| ended) {
            Some(relay) => self.told(Audience::Relayed(relay)),
            None => self,
        }
    }

    /// After the partner has ended well.
    pub(crate) fn seen_through(self) -> Self {
        Error { remedy: text!("{}; no file was written here", SEEN_THROUGH), ..self }
    }

    /// A failure of the table or of the rows' output. In the last phase the partner has ended well already.
    pub(crate) fn table(phase: RunPhase, error: &TableError) -> Self {
        if error.fault() == TableFault::Cancelled {
            let interrupted = Error::interrupted(phase);
            return match error {
                TableError::Put { kept, .. } => {
                    Error { remedy: text!("the exchange was complete; {}", kept), ..interrupted }
                }
                _ => interrupted,
            };
        }
        let is_kept = matches!(error, TableError::Put { .. });
        let error = Error::log(phase, error);
        let remedy = match phase {
            RunPhase::Write if !is_kept => text!("{}; {}", error.remedy, SEEN_THROUGH),
            _ => error.remedy,
        };
        Error { remedy, ..error }
    }

    /// A failure of a file that is not the result: a report, or a log.
    pub fn log(phase: RunPhase, error: &TableError) -> Self {
        let (kind, remedy) = match (source(error).and_then(exhausted), error.fault()) {
            (Some(remedy), _) => (Kind::Resources, remedy),
            (None, TableFault::Usage) => (Kind::Usage, usage_remedy(error)),
            (None, TableFault::Input) if phase == RunPhase::Write => {
                (Kind::Input, "do not change the input before the run ends")
            }
            (None, TableFault::Input) => (
                Kind::Input,
                "correct the input or the options and run again{; the partner has not been contacted}",
            ),
            (None, TableFault::Output) => (Kind::Output, output_remedy(error)),
            (None, TableFault::Ours) => (Kind::Internal, REPORT_A_BUG),
            (None, TableFault::Cancelled) => {
                let remedy = "the file is not complete; what it would hold is on the screen".into();
                return Error { remedy, ..Error::interrupted(phase) };
            }
        };
        Error { side: Side::Ours, phase, kind, message: error.text(), remedy: remedy.into() }
    }

    /// An error of which only the system's words are left, if they say that the system has run out of something.
    pub(crate) fn short(phase: RunPhase, message: &str) -> Option<Self> {
        let number = message.rsplit_once("(os error ")?.1.split(')').next()?.parse().ok()?;
        let remedy = exhausted(&io::Error::from_raw_os_error(number))?.into();
        Some(Error { side: Side::Ours, phase, kind: Kind::Resources, message: Text::words(message), remedy })
    }

    pub(crate) fn channel(phase: RunPhase, error: &ChannelError) -> Self {
        Self::net(phase, &error.clone().into())
    }

    pub(crate) fn net(phase: RunPhase, error: &NetError) -> Self {
        let (side, kind) = match error.fault() {
            NetFault::Usage => (Side::Ours, Kind::Usage),
            NetFault::Partner => (Side::Partner, Kind::Partner),
            NetFault::Protocol => (Side::Partner, Kind::Protocol),
            NetFault::Identity => (Side::Both, Kind::Refused),
            NetFault::Cancelled => return Error::interrupted(phase),
            NetFault::Ours => (Side::Ours, Kind::Internal),
        };
        let side = if error.is_of_relay() { Side::Relay } else { side };
        let message = error.text();
        let local = matches!(
            error,
            NetError::Channel(ChannelError::System { .. })
                | NetError::Bind { .. }
                | NetError::Unreachable { last: RetryReason::Other(_), .. }
                | NetError::RelayUnreachable { last: RetryReason::Other(_), .. }
        );
        if let Some(error) = Error::short(phase, &message.shell()).filter(|_| local) {
            return error;
        }
        Error { side, phase, kind, message, remedy: net_remedy(error).into() }
    }

    pub(crate) fn plan(phase: RunPhase, side: Side, error: &PlanError) -> Self {
        let kind = if side == Side::Ours { Kind::Usage } else { Kind::Refused };
        let remedy = match error {
            PlanError::Unknown(_) => {
                "choose a protocol of this version{ on both sides}, or leave the choice to `[protocol auto]`"
            }
            PlanError::Security { name, .. } if is_insecure(name) => {
                "leave out `[protocol]`; it runs only with `[security semi-honest]` and `[allow-insecure]`{ on both sides}"
            }
            PlanError::Security { security: Security::SemiHonest, .. } => {
                "leave out `[security semi-honest]`{ on both sides}, or name another protocol"
            }
            PlanError::Security { .. } => {
                "leave out `[protocol]`, or {agree with the partner on} `[security semi-honest]`{ and give it on both sides}"
            }
            PlanError::ResultSecurity(_) => {
                "{agree with the partner on} `[security semi-honest]`{ and give it on both sides}: each side then trusts the other \
                 to follow the protocol"
            }
            PlanError::Unsupported { what: Unsupported::Result { result, .. }, .. } => {
                let remedy = text!(
                    "leave out `[protocol]`, or name one of these{ on both sides}: {}",
                    auto::giving(*result)
                );
                return Error { side, phase, kind, message: error.text(), remedy };
            }
            PlanError::Nothing(security) => match security {
                Security::SemiHonest => {
                    "name a protocol that has them: `vesica protocols` shows what each offers"
                }
                Security::Malicious => {
                    "name a protocol that has them (`vesica protocols` shows what each offers), or {agree with the partner \
                     on} `[security semi-honest]`"
                }
            },
            PlanError::AuditOfAuto | PlanError::Unsupported { what: Unsupported::Audit, .. } => {
                let remedy = text!(
                    "leave out `[audit-max]`, or name one of these with `[protocol]`{ on both sides}: {}",
                    auto::audited()
                );
                return Error { side, phase, kind, message: error.text(), remedy };
            }
            PlanError::Unsupported { what: Unsupported::Digests { .. }, .. } => {
                "give `[sigma]` and one key of rule `int` or `ip`, or choose a protocol that takes any key"
            }
            PlanError::Unsupported { .. } => "leave the option out, or choose a protocol that offers it",
            PlanError::PaperNotAllowed => {
                "leave out `[paper-parameters]`, or give `[allow-insecure]`{ on both sides}"
            }
            PlanError::VariantOfAuto => "name the protocol with `[protocol]`",
            PlanError::LearnsBoth(_) => "choose another protocol, or `[learns receiver]`",
            PlanError::NotAllowed { .. } => {
                "leave out `[protocol]`, unless both of you accept what it reveals"
            }
        };
        Error { side, phase, kind, message: error.text(), remedy: remedy.into() }
    }

    pub(crate) fn session(phase: RunPhase, error: &SessionError) -> Self {
        let message = error.text();
        let (side, kind, remedy) = match error {
            SessionError::Channel(error) => return Error::channel(phase, error),
            SessionError::Plan(error) => return Error::plan(phase, Side::Both, error),
            SessionError::Protocol(error) => return Error::protocol(phase, error),
            SessionError::Parts(error) => return Error::parts(phase, error),
            SessionError::With(who, error) => return Error::session(phase, error).with(*who),
            SessionError::RefusedByHelper(_) => (
                Side::Helper,
                Kind::Refused,
                "ask the helper what its program said, then start all three sides again; {nothing was written here}",
            ),
            SessionError::PartiesDiffer(_) => (
                Side::Both,
                Kind::Refused,
                "give this helper two parties that are each other's partners; then start all three sides again",
            ),
            SessionError::UnknownToHelper(_) => {
                (Side::Both, Kind::Refused, "install the same version of vesica on all three sides")
            }
            SessionError::TermsDiffer(differences) => {
                let remedy = terms::remedy(differences);
                return Error { side: Side::Both, phase, kind: Kind::Refused, message, remedy };
            }
            SessionError::RefusedTerms => (
                Side::Both,
                Kind::Refused,
                "install the same version of vesica{ on both sides}, then compare the options",
            ),
            SessionError::OutOfLimits { .. } => (
                Side::Both,
                Kind::Refused,
                "change the table, or the `[min-peer-rows]` or `[max-peer-rows]` of the side that set the limit",
            ),
            SessionError::TooLarge { .. } => (
                Side::Ours,
                Kind::Refused,
                "agree on smaller tables; `[memory SIZE]` lets this program use more memory; `[max-peer-rows]` refuses \
                 large tables earlier",
            ),
            SessionError::TooLargeForPartner { .. } => (
                Side::Partner,
                Kind::Refused,
                "agree on smaller tables; or the partner gives `[memory SIZE]` or uses a machine with more memory",
            ),
            SessionError::OtherRun(_) => {
                (Side::Partner, Kind::Partner, "{start both sides again}; {nothing was written here}")
            }
            SessionError::Decode { .. } => (Side::Partner, Kind::Protocol, ASK_THE_PARTNER),
            SessionError::Unsigned(_) => (Side::Ours, Kind::Internal, REPORT_A_BUG),
            SessionError::Unconfirmed(_) => (
                Side::Both,
                Kind::Protocol,
                "do not use a result of this run on either side; {start both sides again}",
            ),
        };
        Error { side, phase, kind, message, remedy: remedy.into() }
    }

    fn parts(phase: RunPhase, error: &PartsError) -> Self {
        let (side, kind, remedy) = match error {
            PartsError::Link(error) => return Error::net(phase, error),
            PartsError::LinkForCores(error) => {
                let error = Error::net(phase, error);
                let remedy =
                    text!("{}; `[max-parts 1]` on one side makes it a run on one connection", error.remedy);
                return Error { remedy, ..error };
            }
            PartsError::Disk(error) | PartsError::Engine(error) => return Error::clone(error),
            PartsError::Excluded(_) => {
                (Side::Both, Kind::Refused, "leave out `[parts]`{ on both sides}, or the other option")
            }
            PartsError::TooMany { .. } => (
                Side::Both,
                Kind::Refused,
                "give a smaller `[parts]`, or a larger `[max-parts]` on the side that set the limit",
            ),
            PartsError::Questions { .. } => (
                Side::Both,
                Kind::Refused,
                "give a smaller `[parts]`{ on both sides}, or a larger `[max-peer-rows]` on the side that set the limit: a \
                 partner that cheats can ask about a key for each place in the parts",
            ),
            PartsError::Coin => (Side::Partner, Kind::Protocol, ASK_THE_PARTNER),
            PartsError::Differ(_) => (
                Side::Both,
                Kind::Protocol,
                "do not use a result of this run on either side; {start both sides again}",
            ),
            PartsError::Missing { .. } | PartsError::Allowance { .. } => (
                Side::Partner,
                Kind::Partner,
                "see that the network between the two sides keeps its connections, then {start both sides again}; \
                 {nothing was written here}",
            ),
            PartsError::Elsewhere(_) => (
                Side::Both,
                Kind::Partner,
                "see that nothing between the two sides alters connections, or spreads them over several machines, \
                 then {start both sides again}; {nothing was written here}",
            ),
            PartsError::Key | PartsError::Split(_) => (
                Side::Ours,
                Kind::Internal,
                "{start both sides again}; if it happens twice, please report it",
            ),
        };
        Error { side, phase, kind, message: error.text(), remedy: remedy.into() }
    }

    fn protocol(phase: RunPhase, error: &ProtocolError) -> Self {
        let message = error.text();
        let (side, kind, remedy) = match error {
            ProtocolError::Channel(error) => return Error::channel(phase, error),
            ProtocolError::Cancelled => return Error::interrupted(phase),
            ProtocolError::With(who, error) => return Error::protocol(phase, error).with(*who),
            ProtocolError::PeerMisbehaved(_) => (Side::Partner, Kind::Protocol, ASK_THE_PARTNER),
            ProtocolError::Chance(_) => (
                Side::Both,
                Kind::Internal,
                "{start both sides again}; if it happens twice, please report it",
            ),
            ProtocolError::PaperParameters(_) => {
                (Side::Both, Kind::Internal, "{start both sides again}, or leave out `[paper-parameters]`")
            }
            ProtocolError::AuditRefused { .. } => (
                Side::Both,
                Kind::Refused,
                "both sides learnt only that; agree on a larger `[audit-max]`, or compare smaller tables",
            ),
            ProtocolError::BelowMinimum { .. } => (
                Side::Both,
                Kind::Refused,
                "both sides learnt only that; compare larger tables. A smaller `[min-matches]` shows more: agree on one only if the \
                 minimum was too high before you knew this",
            ),
            ProtocolError::Misuse(Misuse::TooManyItems { .. } | Misuse::TooManyKeys { .. }) => {
                (Side::Both, Kind::Refused, "split the tables, and run the parts one after the other")
            }
            ProtocolError::Misuse(Misuse::TooManyMasks { .. }) => {
                (Side::Both, Kind::Refused, "leave out `[variant]`{ on both sides}, or use smaller tables")
            }
            // `Misuse` and `Items`: a run checks before it calls a protocol.
            _ => (Side::Ours, Kind::Internal, REPORT_A_BUG),
        };
        Error { side, phase, kind, message, remedy: remedy.into() }
    }
}

/// The system's error behind a failure of a file, if there is one.
fn source(error: &TableError) -> Option<&io::Error> {
    match error {
        TableError::Open { source, .. }
        | TableError::Read { source, .. }
        | TableError::Spool { source, .. }
        | TableError::Write { source, .. }
        | TableError::Output { fault: OutputFault::NotWritable(source), .. } => Some(source),
        _ => None,
    }
}

/// What to do about wrong arguments for a table or an output.
fn usage_remedy(error: &TableError) -> &'static str {
    match error {
        TableError::Output { fault: OutputFault::NoDirectory, .. } => {
            "make the folder first, or name a file in an existing folder"
        }
        TableError::Output { fault: OutputFault::Directory, .. } => "name a file, not a folder",
        TableError::Output { fault: OutputFault::Grows, .. } => "name a file",
        TableError::Output { fault: OutputFault::Object(_), .. } => {
            "name a file, or an object such as s3://bucket/rows.csv"
        }
        TableError::Object { .. } => "write the address as s3://BUCKET/NAME, gs://…, az://… or https://…",
        TableError::Output { .. } => "give the output the file name ending of the input's format",
        TableError::KeyCount { .. } => "give as many columns as a key can have",
        TableError::TooManyRules { .. } => "give fewer `[match]`, or fewer variants (`~`)",
        TableError::Swap { .. } => "write it as COLUMN:RULE~swap + COLUMN:RULE~swap",
        TableError::Spec { option: "match", .. } => {
            "give the rule as COLUMN:RULE, or COLUMN:RULE + COLUMN:RULE for a key of several columns"
        }
        _ => "give the key as COLUMN or COLUMN:RULE, once for each key column",
    }
}

/// What to do about an output, by its cause.
fn output_remedy(error: &TableError) -> &'static str {
    match error {
        TableError::Output { fault: OutputFault::IsInput, .. } => {
            "name another file; a run never replaces a file that it reads"
        }
        TableError::Output { fault: OutputFault::Closed, .. } => {
            "leave standard output open, or name a file for the result"
        }
        TableError::Output { fault: OutputFault::Descriptor, .. } => {
            "name the file itself, or use `-` for standard output"
        }
        TableError::Output { fault: OutputFault::NotReplaceable, .. } => {
            "name another file, in a folder of your own"
        }
        TableError::Output { fault: OutputFault::NotPrivate(_), .. } => {
            "delete the old file, or name another one"
        }
        TableError::Output { fault: OutputFault::NoSpool { .. }, .. } => {
            "set `TMPDIR` to a folder that you may write to, or name a file with `[output]`"
        }
        TableError::Output { fault: OutputFault::Object(_), .. } => {
            "correct the address or the credentials, or name a file"
        }
        TableError::Put { .. } => {
            "put the file there by hand, and correct the credentials before the next run; the exchange was complete"
        }
        TableError::Unencodable { .. } => "convert the input to UTF-8",
        TableError::Unquotable { .. } => "write the input with quotes, or with another delimiter",
        _ => match source(error).map(io::Error::kind) {
            Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
                "free space on that disk, or name a file on another disk"
            }
            Some(ErrorKind::FileTooLarge) => "raise the limit on the size of files (`ulimit -f`)",
            Some(ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => {
                "name a file and a folder that you may write to"
            }
            Some(ErrorKind::BrokenPipe) => "let the program that reads the output run to the end",
            _ => "name another file or another disk",
        },
    }
}

fn net_remedy(error: &NetError) -> &'static str {
    match error {
        NetError::BadAddress { .. } => "give the address as HOST:PORT",
        NetError::Bind { .. } => "choose another port or address, or stop the program that uses this one",
        NetError::PlaintextNotLoopback { .. } => {
            "leave out `[insecure-plaintext]`: TLS needs only a key on each side"
        }
        NetError::Unreachable { last: RetryReason::AnotherRun, .. } => {
            "{ask the partner} when its other run ends, then {start both sides again}; `[timeout]` lets you wait longer"
        }
        NetError::Unreachable { .. } => {
            "check the address, that {the partner} has started with `[listen]`, and that no firewall is between you; \
             `[timeout]` lets you wait longer"
        }
        NetError::WrongPeer { .. } | NetError::RefusedByPeer { .. } => COMPARE_KEYS,
        NetError::NobodyCame { others, .. } if others.is_one_key() => COMPARE_KEYS,
        NetError::NobodyCame { others, .. } if others.other_key.is_some() => {
            "check that the partner connects to this address; if the key shown is the partner's, give it as \
             `[peer]`; `[timeout]` lets you wait longer"
        }
        NetError::NobodyCame { .. } => {
            "check that the partner connects to this address, and that no firewall is between you; `[timeout]` \
             lets you wait longer"
        }
        NetError::PartyMissing { .. } => {
            "check that both parties give this helper's address and key (`[helper]`, `[helper-key]`), and that the two \
             `[peer]` are what their `vesica keygen` printed; `[timeout]` lets you wait longer"
        }
        NetError::RelayUnreachable { .. } => {
            "check `[via]`, that `vesica relay` runs there, and that you may connect to it; `[timeout]` lets you wait longer"
        }
        NetError::NobodyAtRelay { .. } => {
            "check that the partner has started, and that both sides give the same `[via]` and `[run]` and each other's \
             `[peer]`; `[timeout]` lets you wait longer"
        }
        NetError::NotARelay { .. } => {
            "check `[via]`: another program listens there, or the partner itself (then use `[connect]`)"
        }
        NetError::WrongRelay { .. } => "compare `[via-key]` with the public key that `vesica relay` shows",
        NetError::RefusedByRelay { refusal: Refusal::NotAllowed, .. } => {
            "give your public key to whoever runs the relay, who allows it with `[allow]`"
        }
        NetError::RefusedByRelay { refusal: Refusal::PartnerNotAllowed, .. } => {
            "check `[peer]`; whoever runs the relay has to allow the partner's public key, too (`[allow]`)"
        }
        NetError::RefusedByRelay { .. } => {
            "install the same version of vesica{ on both sides} and at the relay"
        }
        NetError::Mispaired { .. } => "do not use this relay; ask whoever runs it",
        NetError::NotVesica { .. } => {
            "check the address and port: another program listens there, or a `vesica relay` (then use `[via]`)"
        }
        NetError::VersionMismatch { .. } => "install the same version of vesica{ on both sides}",
        NetError::Channel(error) => channel_remedy(error),
        _ => REPORT_A_BUG,
    }
}

fn channel_remedy(error: &ChannelError) -> &'static str {
    match error {
        ChannelError::Silent { .. } => {
            "check {the partner}'s machine and the network between you, then {start both sides again}; {nothing was \
             written here}"
        }
        ChannelError::Closed
        | ChannelError::Unanswered { .. }
        | ChannelError::PeerAborted
        | ChannelError::FrameKind { .. }
        | ChannelError::FrameLength { .. }
        | ChannelError::AfterDone
        | ChannelError::PeerFinished
        | ChannelError::LeftoverData
        | ChannelError::Codec(_) => ASK_THE_PARTNER,
        ChannelError::Damaged { .. } => "check the network between you, then {start both sides again}",
        _ => REPORT_A_BUG,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn kinds_have_the_exit_codes_of_the_contract() {
        let code = |error: NetError| Error::net(RunPhase::Connect, &error).kind.exit_code();
        assert_eq!(code(ChannelError::Closed.into()), 69);
        assert_eq!(code(ChannelError::PeerAborted.into()), 69);
        assert_eq!(code(ChannelError::Silent { after: Duration::from_secs(1) }.into()), 69);
        assert_eq!(code(NetError::Bind { address: "x".into(), cause: "y".into() }), 64);
        assert_eq!(code(NetError::VersionMismatch { mine: 1, theirs: 2 }), 77);
        assert_eq!(code(ChannelError::LeftoverData.into()), 76);
        let (relay, waited) = (String::from("r:1"), Duration::from_secs(1));
        let last = RetryReason::Refused;
        assert_eq!(code(NetError::RelayUnreachable { relay: relay.clone(), waited, last: last.clone() }), 69);
        assert_eq!(code(NetError::NobodyAtRelay { relay: relay.clone(), waited, last }), 69);
        assert_eq!(code(NetError::Mispaired { relay: relay.clone() }), 69);
        let ours = vesica_net::PublicKey::from_bytes([1; 32]);
        let refused = NetError::RefusedByRelay { relay, ours, refusal: Refusal::NotAllowed };
        assert_eq!(code(refused.clone()), 77);
        assert_eq!(Error::net(RunPhase::Connect, &refused).side, Side::Relay);
        assert_eq!(code(ChannelError::Cancelled.into()), 130);
        let terms = Error::session(RunPhase::Agree, &SessionError::TermsDiffer(Vec::new()));
        assert_eq!(terms.kind.exit_code(), 77);
        let wrong = Error::session(RunPhase::Confirm, &SessionError::Unconfirmed("counts"));
        assert_eq!(wrong.kind.exit_code(), 76);
    }

    #[test]
    fn a_form_that_is_too_large_is_refused_with_what_to_leave_out() {
        let masks = Misuse::TooManyMasks {
            protocol: "ot-psi",
            variant: "no-hashing",
            receiver: 20_000,
            sender: 20_000,
            masks: 400_000_000,
            most: 1 << 28,
        };
        let error = Error::session(RunPhase::Agree, &SessionError::Protocol(masks.into()));
        assert_eq!((error.side, error.kind.exit_code()), (Side::Both, 77));
        assert!(
            error.message.shell().contains("variant no-hashing of ot-psi")
                && error.remedy.shell().contains("`--variant`")
        );
    }

    #[test]
    fn an_error_names_side_phase_cause_and_remedy() {
        let shown =
            Error::channel(RunPhase::Protocol(vesica_protocols::Phase::Answer), &ChannelError::Closed)
                .to_string();
        for part in
            ["on the partner's side", "phase answer", "closed the connection", "what to do: ask the partner"]
        {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
}
