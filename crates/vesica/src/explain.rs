//! From the errors of the layers to the one error of a run: which side, which kind, in what words, with which remedy.

use vesica_net::{Fault as NetFault, NetError};
use vesica_protocols::{Error as ProtocolError, Misuse, Phase, registry};
use vesica_table::{Fault as TableFault, TableError};

use crate::error::{Error, Kind, Side};
use crate::plan::PlanError;
use crate::session::SessionError;
use crate::terms;

const ASK_THE_PARTNER: &str =
    "ask the partner what their program said, then start both sides again; nothing was written here";
const COMPARE_KEYS: &str = "compare the public keys with the partner over a channel you trust: each side's --peer is what \
     the other side's `vesica keygen` printed";
const REPORT_A_BUG: &str = "this should not happen: run again, and report it with this message if it stays";

/// Whether a protocol withstands nothing, and runs only where that is allowed.
fn is_insecure(name: &str) -> bool {
    registry::find(name).is_some_and(|entry| entry.needs_allow_insecure())
}

impl Error {
    /// Wrong arguments, found before the run or on reading the table.
    pub fn usage(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Error {
            side: Side::Ours,
            phase: Phase::Prepare,
            kind: Kind::Usage,
            message: message.into(),
            remedy: remedy.into(),
        }
    }

    /// The caller cancelled.
    pub(crate) fn interrupted(phase: Phase) -> Self {
        Error {
            side: Side::Ours,
            phase,
            kind: Kind::Interrupted,
            message: "the run was interrupted".into(),
            remedy: "start both sides again; nothing was written here".into(),
        }
    }

    pub(crate) fn table(phase: Phase, error: &TableError) -> Self {
        let (kind, remedy) = match error.fault() {
            TableFault::Usage => {
                (Kind::Usage, "give the key as COLUMN or COLUMN:RULE, once for each key column")
            }
            TableFault::Input if phase == Phase::Write => (
                Kind::Input,
                "run again on both sides and leave the input alone until the end; nothing was written",
            ),
            TableFault::Input => (
                Kind::Input,
                "mend the input or the options and run again; the partner has not been contacted",
            ),
            TableFault::Output => (
                Kind::Output,
                "give an output that can be written and is no input; what was there is untouched",
            ),
            TableFault::Ours => (Kind::Internal, REPORT_A_BUG),
            TableFault::Cancelled => return Error::interrupted(phase),
        };
        Error { side: Side::Ours, phase, kind, message: error.to_string(), remedy: remedy.into() }
    }

    pub(crate) fn net(phase: Phase, error: &NetError) -> Self {
        let (side, kind) = match error.fault() {
            NetFault::Usage => (Side::Ours, Kind::Usage),
            NetFault::Partner => (Side::Partner, Kind::Partner),
            NetFault::Protocol => (Side::Partner, Kind::Protocol),
            NetFault::Identity => (Side::Both, Kind::Refused),
            NetFault::Cancelled => return Error::interrupted(phase),
            NetFault::Ours => (Side::Ours, Kind::Internal),
        };
        Error { side, phase, kind, message: error.to_string(), remedy: net_remedy(error).into() }
    }

    pub(crate) fn plan(phase: Phase, side: Side, error: &PlanError) -> Self {
        let kind = if side == Side::Ours { Kind::Usage } else { Kind::Refused };
        let remedy = match error {
            PlanError::Unknown(_) => {
                "choose a protocol that this version has, on both sides; or leave it to auto"
            }
            PlanError::Security { name, .. } if is_insecure(name) => {
                "leave out --protocol; it runs only with --security semi-honest --allow-insecure on both sides"
            }
            PlanError::Security { .. } => {
                "leave out --protocol, or agree with the partner on --security semi-honest and give it on both sides"
            }
            PlanError::Nothing(_) => {
                "leave out what no protocol offers, or agree with the partner on --security semi-honest"
            }
            PlanError::Unoffered { .. } => "leave the option out, or choose a protocol that offers it",
            PlanError::PaperNotAllowed => {
                "leave out --paper-parameters, or give --allow-insecure on both sides"
            }
            PlanError::VariantOfAuto => "name the protocol with --protocol",
            PlanError::LearnsBoth(_) => "choose another protocol, or --learns receiver",
            PlanError::NotAllowed { .. } => {
                "leave out --protocol, unless both of you know what it gives away"
            }
        };
        Error { side, phase, kind, message: error.to_string(), remedy: remedy.into() }
    }

    pub(crate) fn session(phase: Phase, error: &SessionError) -> Self {
        let message = error.to_string();
        let (side, kind, remedy) = match error {
            SessionError::Net(error) => return Error::net(phase, error),
            SessionError::Plan(error) => return Error::plan(phase, Side::Both, error),
            SessionError::Protocol(error) => return Error::protocol(phase, error),
            SessionError::TermsDiffer(differences) => {
                let remedy = terms::remedy(differences);
                return Error { side: Side::Both, phase, kind: Kind::Refused, message, remedy };
            }
            SessionError::RefusedTerms => (
                Side::Both,
                Kind::Refused,
                "install the same version of vesica on both sides, then compare the options",
            ),
            SessionError::OutOfLimits { .. } => (
                Side::Both,
                Kind::Refused,
                "change the set, or --min-peer-rows or --max-peer-rows on the side that set it",
            ),
            SessionError::Decode { .. } => (Side::Partner, Kind::Protocol, ASK_THE_PARTNER),
            SessionError::Unconfirmed(_) => (
                Side::Both,
                Kind::Protocol,
                "trust no result of this run on either side; start both sides again",
            ),
        };
        Error { side, phase, kind, message, remedy: remedy.into() }
    }

    fn protocol(phase: Phase, error: &ProtocolError) -> Self {
        let message = error.to_string();
        let (side, kind, remedy) = match error {
            ProtocolError::Net(error) => return Error::net(phase, error),
            ProtocolError::Cancelled => return Error::interrupted(phase),
            ProtocolError::PeerMisbehaved(_) => (Side::Partner, Kind::Protocol, ASK_THE_PARTNER),
            ProtocolError::Chance(_) => (
                Side::Both,
                Kind::Internal,
                "start both sides again; should it happen twice, please report it",
            ),
            ProtocolError::PaperParameters(_) => {
                (Side::Both, Kind::Internal, "start both sides again, or leave out --paper-parameters")
            }
            ProtocolError::Misuse(Misuse::TooManyItems { .. } | Misuse::TooManyKeys { .. }) => {
                (Side::Both, Kind::Refused, "split the tables and run the parts one after the other")
            }
            ProtocolError::Misuse(Misuse::TooManyMasks { .. }) => {
                (Side::Both, Kind::Refused, "leave out `--variant` on both sides, or take fewer keys")
            }
            ProtocolError::Misuse(_) | ProtocolError::Items(_) => (Side::Ours, Kind::Internal, REPORT_A_BUG),
        };
        Error { side, phase, kind, message, remedy: remedy.into() }
    }
}

fn net_remedy(error: &NetError) -> &'static str {
    match error {
        NetError::BadAddress { .. } => "give the address as HOST:PORT",
        NetError::Bind { .. } => "choose another port or address, or stop the program that holds this one",
        NetError::PlaintextNotLoopback { .. } => {
            "leave out --insecure-plaintext: TLS needs no more than two keys"
        }
        NetError::Unreachable { .. } => {
            "check the address, that the partner has started with --listen, and that no firewall is between you; \
             --timeout lets you wait longer"
        }
        NetError::WrongPeer { .. } | NetError::RefusedByPeer { .. } => COMPARE_KEYS,
        NetError::NobodyCame { others, .. } if others.is_one_key() => COMPARE_KEYS,
        NetError::NobodyCame { others, .. } if others.other_key.is_some() => {
            "check that the partner connects to this address; if the key shown is the partner's, give it as --peer; \
             --timeout lets you wait longer"
        }
        NetError::NobodyCame { .. } => {
            "check that the partner connects to this address, and that no firewall is between you; --timeout lets \
             you wait longer"
        }
        NetError::Silent { .. } => {
            "check the partner's machine and the network between you, then start both sides again; nothing was \
             written here"
        }
        NetError::NotVesica { .. } => "check the address and port: something else is listening there",
        NetError::VersionMismatch { .. } => "install the same version of vesica on both sides",
        NetError::Closed
        | NetError::Unanswered { .. }
        | NetError::PeerAborted
        | NetError::FrameKind { .. }
        | NetError::FrameLength { .. }
        | NetError::AfterDone
        | NetError::PeerFinished
        | NetError::LeftoverData
        | NetError::Codec(_) => ASK_THE_PARTNER,
        NetError::Tls { .. } => "check the network between you, then start both sides again",
        _ => REPORT_A_BUG,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn kinds_have_the_exit_codes_of_the_contract() {
        let code = |error: NetError| Error::net(Phase::Connect, &error).kind.exit_code();
        assert_eq!(code(NetError::Closed), 69);
        assert_eq!(code(NetError::PeerAborted), 69);
        assert_eq!(code(NetError::Silent { after: Duration::from_secs(1) }), 69);
        assert_eq!(code(NetError::Bind { address: "x".into(), cause: "y".into() }), 64);
        assert_eq!(code(NetError::VersionMismatch { mine: 1, theirs: 2 }), 77);
        assert_eq!(code(NetError::LeftoverData), 76);
        assert_eq!(code(NetError::Cancelled), 130);
        let terms = Error::session(Phase::Agree, &SessionError::TermsDiffer(Vec::new()));
        assert_eq!(terms.kind.exit_code(), 77);
        let wrong = Error::session(Phase::Confirm, &SessionError::Unconfirmed("counts"));
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
        let error = Error::session(Phase::Agree, &SessionError::Protocol(masks.into()));
        assert_eq!((error.side, error.kind.exit_code()), (Side::Both, 77));
        assert!(
            error.message.contains("variant no-hashing of ot-psi") && error.remedy.contains("`--variant`")
        );
    }

    #[test]
    fn an_error_names_side_phase_cause_and_remedy() {
        let shown = Error::net(Phase::Answer, &NetError::Closed).to_string();
        for part in
            ["on the partner's side", "phase answer", "closed the connection", "what to do: ask the partner"]
        {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }
}
