//! The conversation with a helper, the third process of a server-aided protocol, around that protocol.
//!
//! ```text
//!   party                                                helper
//!   u16 length · request      ──►                        from both parties, compared
//!                             ◄──  u64 most items        what the helper accepts of each party
//!                             ◄──  u8 verdict · u64      0: go; otherwise why not, and both end in order
//!   the protocol's messages
//!   DONE: digests             ◄──►                       what I sent is what you received, and the other way round
//! ```
//!
//! The two parties have agreed on everything before they turn to the helper ([`crate::session`]). Each request holds
//! what was agreed, the public name of the run and the partner's key. So the helper serves two parties that mean each
//! other, in the same run. It learns nothing of terms that do not concern it.

use vesica_channel::Channel;
use vesica_channel::codec::{CodecError, Reader, Writer};
use vesica_net::{Connection, PublicKey};
use vesica_protocols::{HelperCtx, Learns, Parameters, Participant, Progress, Role, Run, Sizes};

use crate::session::agreed::Agreed;
use crate::session::confirm::exchange_digests;
pub use crate::session::error::Refusal;
use crate::session::error::SessionError;
use crate::words::memory::Budget;
use crate::words::registry::{self, Entry, Shape};
use crate::words::settings::{Limits, Word};

/// The most bytes of a request.
const MAX_REQUEST: usize = 1 << 10;

/// The longest text in one.
const MAX_TEXT: usize = 256;

/// The first bytes of a request: a program that expects another message finds that it does not decode.
const MAGIC: &[u8; 16] = b"vesica to helper";

/// What a party asks a helper for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    role: Role,
    protocol: String,
    parameters: String,
    learns: Learns,
    sizes: Sizes,
    /// The other party's key; zero without TLS.
    partner: [u8; 32],
    /// The name of the run, which both parties know.
    run: [u8; 32],
}

impl Request {
    /// The request for a run that was agreed over `channel`.
    pub fn new(agreed: &Agreed, channel: &Connection) -> Self {
        Request {
            role: agreed.role(),
            protocol: agreed.protocol.name.to_owned(),
            parameters: agreed.parameters.text(),
            learns: agreed.learns,
            sizes: agreed.sizes,
            partner: channel.peer_key().map_or([0; 32], |key| *key.as_bytes()),
            run: agreed.helper_id(),
        }
    }

    /// The first message to the helper.
    pub fn greeting(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.fixed(MAGIC).bool(self.role == Role::Sender).bool(self.learns == Learns::Both);
        writer.text(&self.protocol).text(&self.parameters);
        writer.u64(self.sizes.receiver as u64).u64(self.sizes.sender as u64);
        writer.fixed(&self.partner).fixed(&self.run);
        let request = writer.into_vec();
        [&(request.len() as u16).to_le_bytes()[..], &request].concat()
    }

    fn decode(bytes: &[u8]) -> Result<Self, CodecError> {
        let invalid = CodecError::Invalid { what: "request to a helper" };
        let mut reader = Reader::new(bytes);
        if reader.fixed(MAGIC.len())? != MAGIC {
            return Err(invalid);
        }
        let role = if reader.bool()? { Role::Sender } else { Role::Receiver };
        let learns = if reader.bool()? { Learns::Both } else { Learns::Receiver };
        let mut text = || {
            let text = reader.text(MAX_TEXT)?;
            let printable = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
            if printable { Ok(text.to_owned()) } else { Err(invalid) }
        };
        let (protocol, parameters) = (text()?, text()?);
        let [receiver, sender] = [reader.u64()?, reader.u64()?];
        // Items are numbered in 32 bits.
        if receiver.max(sender) > u64::from(u32::MAX) {
            return Err(invalid);
        }
        let sizes = Sizes { receiver: receiver as usize, sender: sender as usize };
        let mut fixed = || -> Result<[u8; 32], CodecError> {
            let mut bytes = [0; 32];
            bytes.copy_from_slice(reader.fixed(32)?);
            Ok(bytes)
        };
        let (partner, run) = (fixed()?, fixed()?);
        reader.finish()?;
        Ok(Request { role, protocol, parameters, learns, sizes, partner, run })
    }

    /// Receives a request.
    fn recv(channel: &mut Connection) -> Result<Self, SessionError> {
        let failed = |cause| SessionError::Decode { what: "a request to a helper", cause };
        let mut length = [0; 2];
        channel.recv_exact(&mut length)?;
        let length = usize::from(u16::from_le_bytes(length));
        if length > MAX_REQUEST {
            return Err(failed(CodecError::TooLong { length: length as u64, limit: MAX_REQUEST as u64 }));
        }
        let mut bytes = vec![0; length];
        channel.recv_exact(&mut bytes)?;
        Request::decode(&bytes).map_err(failed)
    }

    /// What the two must have alike, as a name and a value for people.
    fn equal(&self) -> [(&'static str, String); 5] {
        let Sizes { receiver, sender } = self.sizes;
        [
            ("protocol", self.protocol.clone()),
            ("parameters", self.parameters.clone()),
            ("learns", self.learns.word().to_owned()),
            ("sizes", format!("receiver {receiver}, sender {sender}")),
            ("run", blake3::Hash::from_bytes(self.run).to_hex().to_string()),
        ]
    }
}

impl Refusal {
    fn encode(&self) -> [u8; 9] {
        let (code, value) = match self {
            Refusal::Differ => (1, 0),
            Refusal::Size(size) => (2, *size),
            Refusal::Memory(bytes) => (3, *bytes),
            Refusal::Unknown => (4, 0),
        };
        verdict(code, value)
    }

    fn decode(bytes: [u8; 9]) -> Result<Option<Self>, CodecError> {
        let [code, value @ ..] = bytes;
        Ok(match (code, u64::from_le_bytes(value)) {
            (0, 0) => None,
            (1, 0) => Some(Refusal::Differ),
            (2, size) => Some(Refusal::Size(size)),
            (3, bytes) => Some(Refusal::Memory(bytes)),
            (4, 0) => Some(Refusal::Unknown),
            _ => return Err(CodecError::Invalid { what: "verdict" }),
        })
    }
}

fn verdict(code: u8, value: u64) -> [u8; 9] {
    let mut bytes = [code; 9];
    bytes[1..].copy_from_slice(&value.to_le_bytes());
    bytes
}

/// The party's side: waits until the helper has heard both parties. The connection has sent the
/// [request](Request::greeting).
///
/// # Errors
/// If the helper refuses the run, or does not answer; an error of the helper is a [`SessionError::With`].
pub fn join(helper: &mut Connection) -> Result<(), SessionError> {
    let joined = hear_verdict(helper);
    if let Err(SessionError::RefusedByHelper(_)) = &joined {
        // Both sides have said what they have to say.
        drop(helper.finish(&[]));
    }
    joined.map_err(|error| error.with(Participant::Helper))
}

fn hear_verdict(helper: &mut Connection) -> Result<(), SessionError> {
    helper.expect_prompt();
    let (mut most, mut verdict) = ([0; 8], [0; 9]);
    helper.recv_exact(&mut most)?;
    helper.recv_exact(&mut verdict)?;
    helper.expect_within(None);
    let refusal = Refusal::decode(verdict)
        .map_err(|cause| SessionError::Decode { what: "a verdict on the run", cause })?;
    refusal.map_or(Ok(()), |refusal| Err(SessionError::RefusedByHelper(refusal)))
}

/// The helper's first message to a party.
pub fn greeting(limits: Limits) -> [u8; 8] {
    limits.max_peer_rows.to_le_bytes()
}

/// What a helper has heard of a party.
pub struct Heard(Result<Request, SessionError>);

impl Heard {
    /// Receives a party's request, for which it has as long as it may be silent.
    pub fn of(party: &mut Connection) -> Self {
        party.expect_prompt();
        let request = Request::recv(party);
        party.expect_within(None);
        Heard(request)
    }

    /// Whether the two are of one run. What does not decode may be of any.
    pub fn is_of_one_run_with(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Ok(one), Ok(other)) => one.run == other.run,
            (Err(error), _) | (_, Err(error)) => matches!(error, SessionError::Decode { .. }),
        }
    }

    fn both(first: Self, second: Self) -> Result<[Request; 2], Refused> {
        let error = match (first.0, second.0) {
            (Ok(first), Ok(second)) => return Ok([first, second]),
            (Err(error), Ok(other)) | (Ok(other), Err(error)) => error.with(other.role.other()),
            (Err(error), Err(_)) => error,
        };
        Err(Refused { verdict: None, error })
    }
}

/// A run that a helper takes part in.
pub struct Assisted {
    /// The protocol.
    pub protocol: &'static Entry,
    /// Both set sizes.
    pub sizes: Sizes,
    learns: Learns,
    run: [u8; 32],
}

/// What a helper allows.
#[derive(Debug, Clone, Copy)]
pub struct Allowed {
    /// Sizes of each set.
    pub limits: Limits,
    /// Its memory.
    pub memory: Option<Budget>,
}

impl Assisted {
    /// The helper's side: compares what both parties ask for, over connections that have sent the [`greeting`], and tells
    /// both its verdict. The connections come back as receiver's and sender's.
    ///
    /// # Errors
    /// If the two do not mean the same run, or the helper does not allow it. Of a party's own error a
    /// [`SessionError::With`] says which one it is, if that is known.
    pub fn agree(
        [(one, first), (two, second)]: [(Connection, Heard); 2],
        allowed: Allowed,
    ) -> Result<(Self, [Connection; 2]), SessionError> {
        let mut parties = [one, two];
        let heard = Heard::both(first, second)
            .and_then(|requests| Self::judge(&requests, &parties, allowed).map(|run| (run, requests)));
        let (assisted, [first, _]) = match heard {
            Ok(heard) => heard,
            Err(Refused { verdict: Some(refusal), error }) => {
                for party in &mut parties {
                    // A channel keeps its error; the end is the same.
                    let _ = party.send(&refusal.encode());
                }
                parties.iter_mut().for_each(|party| drop(party.finish(&[])));
                return Err(error);
            }
            Err(Refused { verdict: None, error }) => {
                parties.iter_mut().for_each(|party| party.abort());
                return Err(error);
            }
        };
        let [one, two] = parties;
        let mut ends = if first.role == Role::Receiver { [one, two] } else { [two, one] };
        for (end, role) in ends.iter_mut().zip([Role::Receiver, Role::Sender]) {
            let told = end.send(&verdict(0, 0)).and_then(|()| end.flush());
            told.map_err(|error| SessionError::from(error).with(role))?;
        }
        Ok((assisted, ends))
    }

    fn judge(
        [first, second]: &[Request; 2],
        parties: &[Connection; 2],
        Allowed { limits, memory }: Allowed,
    ) -> Result<Self, Refused> {
        let differ = |what: String| Refused {
            verdict: Some(Refusal::Differ),
            error: SessionError::PartiesDiffer(what),
        };
        if first.role == second.role {
            return Err(differ(format!("both say that they are the {}", first.role)));
        }
        let (receiver, sender) = if first.role == Role::Receiver { (first, second) } else { (second, first) };
        let differences: Vec<String> = (receiver.equal().iter().zip(&sender.equal()))
            .filter(|(mine, theirs)| mine.1 != theirs.1)
            .map(|((name, mine), (_, theirs))| {
                format!("{name}: the receiver says {mine}, the sender {theirs}")
            })
            .collect();
        if !differences.is_empty() {
            return Err(differ(differences.join("; ")));
        }
        let meant = |request: &Request, other: &Connection| {
            other.peer_key().is_none_or(|key: &PublicKey| *key.as_bytes() == request.partner)
        };
        if !meant(first, &parties[1]) || !meant(second, &parties[0]) {
            return Err(differ("they do not name each other as partners".to_owned()));
        }
        let sizes = first.sizes;
        let refused = |refusal: Refusal, error| Refused { verdict: Some(refusal), error };
        for (whose, size) in [("receiver's", sizes.receiver as u64), ("sender's", sizes.sender as u64)] {
            let (least, most) = (limits.min_peer_rows, limits.max_peer_rows);
            if !(least..=most).contains(&size) {
                let error = SessionError::OutOfLimits { whose, size, limiter: "this side", least, most };
                return Err(refused(Refusal::Size(size), error));
            }
        }
        let known = registry::find(&first.protocol)
            .filter(|entry| entry.has_helper() && first.parameters == Parameters::default().text());
        let Some(protocol) = known else {
            let error = SessionError::UnknownToHelper(first.protocol.clone());
            return Err(refused(Refusal::Unknown, error));
        };
        let needed = protocol.helper_memory(&Shape::new(sizes));
        if let Some(budget) = memory.filter(|budget| !budget.allows(needed)) {
            return Err(refused(Refusal::Memory(needed), SessionError::TooLarge { needed, budget }));
        }
        Ok(Assisted { protocol, sizes, learns: first.learns, run: first.run })
    }

    /// Who learns the result.
    pub fn learns(&self) -> Learns {
        self.learns
    }

    /// The name of the run in the helper's report; the parties' reports have another one.
    pub fn public_id(&self) -> String {
        blake3::Hash::from_bytes(self.run).to_hex().to_string()
    }

    /// Runs the helper's part between the receiver and the sender: the size of the intersection.
    pub fn run(
        &self,
        parties: &mut [Connection; 2],
        threads: usize,
        progress: &dyn Progress,
    ) -> Result<u64, SessionError> {
        let run = self.protocol.run(&self.run, self.sizes, Parameters::default());
        let run = Run { learns: self.learns, threads, progress, ..run };
        let [receiver, sender] = parties;
        let ended = self.protocol.assist(&mut HelperCtx { run: &run, receiver, sender });
        if ended.is_err() {
            parties.iter_mut().for_each(|party| party.abort());
        }
        Ok(ended?)
    }

    /// Compares with each party what went over its connection. Each time, `confirming` is called first.
    pub fn confirm(&self, parties: &mut [Connection; 2], confirming: &dyn Fn()) -> Result<(), SessionError> {
        let mut confirmed = Ok(());
        for (role, party) in [Role::Receiver, Role::Sender].into_iter().zip(&mut *parties) {
            if confirmed.is_ok() {
                let ended = exchange_digests(u64::MAX, None, party, confirming);
                confirmed = ended.map(drop).map_err(|error| error.with(role));
            } else {
                party.abort();
            }
        }
        confirmed
    }
}

/// Why the helper refuses, and what it tells the parties, if it tells them.
struct Refused {
    verdict: Option<Refusal>,
    error: SessionError,
}

#[cfg(test)]
mod tests {
    use vesica_channel::ChannelError;

    use super::*;

    fn request(role: Role) -> Request {
        Request {
            role,
            protocol: "server-aided".into(),
            parameters: Parameters::default().text(),
            learns: Learns::Receiver,
            sizes: Sizes { receiver: 5, sender: 7 },
            partner: [3; 32],
            run: [4; 32],
        }
    }

    #[test]
    fn every_cut_and_every_flipped_bit_of_a_request_is_an_error_or_another_request() {
        let mine = request(Role::Sender);
        let bytes = mine.greeting()[2..].to_vec();
        assert_eq!(Request::decode(&bytes).unwrap(), mine);
        for cut in 0..bytes.len() {
            assert!(Request::decode(&bytes[..cut]).is_err(), "cut at {cut}");
        }
        assert!(Request::decode(&[bytes.as_slice(), &[0]].concat()).is_err());
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(Request::decode(&flipped).ok().as_ref(), Some(&mine), "bit {bit}");
        }
    }

    #[test]
    fn flaw_what_is_heard_of_two_runs_does_not_belong_together() {
        let heard = |run: u8| Heard(Ok(Request { run: [run; 32], ..request(Role::Sender) }));
        let noise = Heard(Err(SessionError::Decode { what: "", cause: CodecError::Invalid { what: "" } }));
        let gone = Heard(Err(SessionError::Channel(ChannelError::Closed)));
        assert!(heard(1).is_of_one_run_with(&heard(1)) && !heard(1).is_of_one_run_with(&heard(2)));
        assert!(heard(1).is_of_one_run_with(&noise) && noise.is_of_one_run_with(&heard(1)));
        assert!(!heard(1).is_of_one_run_with(&gone) && !gone.is_of_one_run_with(&heard(1)));
    }

    #[test]
    fn verdicts_come_back_and_others_do_not_decode() {
        for refusal in [Refusal::Differ, Refusal::Size(9), Refusal::Memory(1 << 40), Refusal::Unknown] {
            assert_eq!(Refusal::decode(refusal.encode()), Ok(Some(refusal)));
        }
        assert_eq!(Refusal::decode(verdict(0, 0)), Ok(None));
        for (code, value) in [(0, 1), (1, 1), (4, 7), (5, 0), (255, 0)] {
            assert!(Refusal::decode(verdict(code, value)).is_err(), "{code} {value}");
        }
    }

    /// What a helper makes of two requests, in memory.
    fn judged(first: &Request, second: &Request, limits: Limits) -> Result<(), String> {
        let cancel = vesica_channel::CancelToken::new();
        let ((one, _a), (two, _b)) = (vesica_net::memory::pair(&cancel), vesica_net::memory::pair(&cancel));
        let requests = [first.clone(), second.clone()];
        let allowed = Allowed { limits, memory: Some(Budget::named(1 << 20)) };
        Assisted::judge(&requests, &[one, two], allowed)
            .map(drop)
            .map_err(|refused| refused.error.to_string())
    }

    #[test]
    fn a_helper_serves_two_parties_that_mean_the_same_run_and_no_others() {
        let (receiver, sender) = (request(Role::Receiver), request(Role::Sender));
        let usual = Limits::default();
        assert_eq!(judged(&receiver, &sender, usual), Ok(()));
        assert_eq!(judged(&sender, &receiver, usual), Ok(()));
        let refused = |other: Request, limits: Limits, part: &str| {
            let error = judged(&receiver, &other, limits).unwrap_err();
            assert!(error.contains(part), "{part}: {error}");
        };
        refused(receiver.clone(), usual, "both say that they are the receiver");
        refused(Request { run: [5; 32], ..sender.clone() }, usual, "run: the receiver says");
        refused(
            Request { learns: Learns::Both, ..sender.clone() },
            usual,
            "learns: the receiver says receiver",
        );
        let sizes = Sizes { receiver: 5, sender: 8 };
        refused(Request { sizes, ..sender.clone() }, usual, "sizes: the receiver says receiver 5, sender 7");
        refused(sender.clone(), Limits { max_peer_rows: 6, ..usual }, "the sender's set has 7 items");
        refused(sender.clone(), Limits { min_peer_rows: 6, ..usual }, "the receiver's set has 5 items");
        for protocol in ["dh", "nothing"] {
            let other = |request: &Request| Request { protocol: protocol.into(), ..request.clone() };
            let error = judged(&other(&receiver), &other(&sender), usual).unwrap_err();
            assert!(error.contains(protocol), "{error}");
        }
        let large =
            |request: &Request| Request { sizes: Sizes { receiver: 1 << 20, sender: 1 }, ..request.clone() };
        assert!(judged(&large(&receiver), &large(&sender), usual).unwrap_err().contains("memory"));
    }
}
