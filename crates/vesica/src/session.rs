//! The conversation around a protocol: terms, sizes and session id before it, digests and DONE after it.
//!
//! ```text
//!   hello (crates/net)                 magic, version, nonces, echoed
//!   u8 0 · u16 length · terms ◄──►     compared on both sides ([`crate::terms`])
//!   u64 set size, padded      ◄──►     compared with both sides' limits
//!   u32 parts needed          ◄──►     the larger number is taken; more than one: see [`crate::parts`]
//!   (DONE "declined")                  in place of the protocol, from a side without enough memory
//!   the protocol's messages
//!   DONE: digests, count      ◄──►     what I sent is what you received, and the other way round
//! ```
//!
//! If only the receiver learns the result, it looks for its matches and their rows after DONE. So the time of DONE tells the
//! sender nothing about them. A protocol that joins lists while they arrive has found the matches by then, but not the rows.
//!
//! The session id hashes the TLS exporter, both hellos, both public keys, the roles and the terms, the receiver's first. So
//! both sides compute the same one, and no message of another session fits. The protocol's context is
//! H(sid, name, parameters, n_r, n_s).

use rand_core::CryptoRng;
use vesica_channel::codec::{CodecError, Reader, Writer};
use vesica_channel::{Channel, ChannelError};
use vesica_encode::items::{Items, Matches};
use vesica_net::{Connection, PublicKey};
use vesica_ot::base::cache::BaseOtCache;
use vesica_protocols::registry::{Entry, Shape};
use vesica_protocols::{
    self as protocols, Attached, Ctx, Learns, OfflineOutput, OfflineSlot, Outcome, Parameters, Participant,
    Pending, Phase, Progress, Role, Run, Sizes,
};

use crate::base_ots::BaseOts;
use crate::helper::{self, Refusal};
use crate::match_numbers;
use crate::memory::{Budget, Bytes};
use crate::parts::{self, Parts, PartsError};
use crate::plan::{self, PlanError};
use crate::settings::Wanted;
use crate::terms::{self, Difference, Terms};

/// Why a conversation did not end with a result that both sides confirmed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The connection failed.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// A message of the session does not decode.
    #[error("the partner sent {what} that does not decode: {cause}")]
    Decode {
        /// Which message.
        what: &'static str,
        /// What is wrong with it.
        cause: CodecError,
    },
    /// The two sides asked for different things.
    #[error("the two sides asked for different things: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    TermsDiffer(Vec<Difference>),
    /// The partner ended the conversation over the terms, and this side sees no difference: the partner may know other
    /// protocols.
    #[error(
        "the partner rejected the run's parameters, which look identical from here (different versions?)"
    )]
    RefusedTerms,
    /// No protocol can run as agreed.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A set is smaller or larger than the other side accepts.
    #[error("the {whose} set has {size} items, and {limiter} accepts {least} to {most}")]
    OutOfLimits {
        /// "receiver's" or "sender's".
        whose: &'static str,
        /// Its size, padded.
        size: u64,
        /// Who set the limit: "this side" or "the partner".
        limiter: &'static str,
        /// `--min-peer-rows`.
        least: u64,
        /// `--max-peer-rows`.
        most: u64,
    },
    /// The run may take more memory on this side than the limit.
    #[error("this run may take {} of memory on this side, and {budget}", Bytes(*needed))]
    TooLarge {
        /// The bound of what it takes.
        needed: u64,
        /// What it may use.
        budget: Budget,
    },
    /// The same on the partner's side, as far as this side can compute it.
    #[error("the partner refused the run: it may take about {} of memory there, more than the partner allows", Bytes(*needed))]
    TooLargeForPartner {
        /// What it takes there without the table.
        needed: u64,
    },
    /// The receiver has more items than the offline phase was run for.
    #[error("the receiver's set has {items} items, and the offline phase was run for {most}")]
    TooManyForOffline {
        /// Its size, padded.
        items: usize,
        /// What the offline phase was run for.
        most: usize,
    },
    /// A run in several parts cannot be, or did not come to its end.
    #[error(transparent)]
    Parts(#[from] PartsError),
    /// The protocol failed.
    #[error(transparent)]
    Protocol(#[from] protocols::Error),
    /// In a run of three: what went wrong between this process and that participant, who stands in the place of the
    /// partner.
    #[error("{}", in_place_of_partner(.1, *.0))]
    With(Participant, Box<SessionError>),
    /// The helper does not take part in the run.
    #[error("{0}")]
    RefusedByHelper(Refusal),
    /// A helper's two parties do not mean the same run.
    #[error("the two parties do not ask for the same run: {0}")]
    PartiesDiffer(String),
    /// A helper does not know the protocol that its parties ask for.
    #[error("the parties ask for `{0}` in a form that this version has no helper for")]
    UnknownToHelper(String),
    /// The two sides did not see the same run.
    #[error("the two sides did not see the same run: {0} differ")]
    Unconfirmed(&'static str),
}

fn in_place_of_partner(error: &SessionError, who: Participant) -> String {
    error.to_string().replace("the partner", &format!("the {who}"))
}

impl SessionError {
    /// Says which participant of a run of three it was, if it is another process's fault.
    #[must_use]
    pub fn with(self, who: impl Into<Participant>) -> Self {
        match self {
            SessionError::Channel(_) | SessionError::Decode { .. } | SessionError::Unconfirmed(_) => {
                SessionError::With(who.into(), Box::new(self))
            }
            other => other,
        }
    }
}

/// What both sides agreed on.
pub struct Agreed {
    /// The protocol that will run.
    pub protocol: &'static Entry,
    /// Its parameters.
    pub parameters: Parameters,
    /// Why that one.
    pub reason: &'static str,
    /// Both set sizes, after padding.
    pub sizes: Sizes,
    /// B: the parts that the run is split into.
    pub parts: Parts,
    /// Who learns the result.
    pub learns: Learns,
    /// Where its base OTs come from, and whether they are kept.
    pub base_ots: BaseOts,
    /// The receiver's items that the offline phase was run for, if it was run before.
    pub offline: Option<usize>,
    role: Role,
    sid: [u8; 32],
}

/// What the connection of a run begins with.
const RUN: u8 = 0;

/// The first message of a session: the terms. It depends on nothing of the partner's, so it goes out as soon as the partner
/// is connected.
pub fn greeting(mine: &Terms) -> Vec<u8> {
    let terms = mine.encode();
    [&[RUN][..], &(terms.len() as u16).to_le_bytes(), &terms].concat()
}

/// Sends the greeting and continues as [`agree_greeted`].
pub fn agree(
    channel: &mut Connection,
    mine: &Terms,
    wanted: Wanted<'_>,
    items: usize,
    my_key: Option<&PublicKey>,
) -> Result<Agreed, SessionError> {
    // A channel keeps its error, so the next call reports it.
    let _ = channel.send(&greeting(mine));
    agree_greeted(channel, mine, wanted, items, my_key)
}

/// Compares terms and sizes with the partner, over a channel that has sent the [`greeting`]. `items` is the size of my
/// set, padded; `my_key` is absent without TLS.
///
/// For all of this together the partner has as long as it may be silent, even if it sends heartbeats.
pub fn agree_greeted(
    channel: &mut Connection,
    mine: &Terms,
    wanted: Wanted<'_>,
    items: usize,
    my_key: Option<&PublicKey>,
) -> Result<Agreed, SessionError> {
    agree_on(channel, mine, wanted, Count::Of(items), my_key)
}

/// The same for an offline phase alone, for so many items of the receiver: there are no sizes to exchange yet.
pub(crate) fn agree_to_prepare(
    channel: &mut Connection,
    mine: &Terms,
    wanted: Wanted<'_>,
    receiver_items: usize,
    my_key: Option<&PublicKey>,
) -> Result<Agreed, SessionError> {
    agree_on(channel, mine, wanted, Count::Later(receiver_items), my_key)
}

/// The sizes of a run.
#[derive(Clone, Copy)]
enum Count {
    /// My set has so many items.
    Of(usize),
    /// The sets are not known. The terms, which are equal, say how many items the receiver will have at most.
    Later(usize),
}

fn agree_on(
    channel: &mut Connection,
    mine: &Terms,
    wanted: Wanted<'_>,
    items: Count,
    my_key: Option<&PublicKey>,
) -> Result<Agreed, SessionError> {
    // Terms and sizes take no computing. Without a limit, a partner could hold this side with heartbeats or single bytes.
    channel.expect_prompt();
    let agreed = compare(channel, mine, wanted, items, my_key);
    let refused = |error| match error {
        SessionError::Channel(ChannelError::PeerFinished) => SessionError::RefusedTerms,
        error => error,
    };
    let agreed = agreed.map_err(refused).inspect_err(|error| match error {
        // Both sides see such a difference and close the conversation in order, so that each one's message reaches the
        // other. Nothing depends on how the other side ends.
        SessionError::TermsDiffer(_)
        | SessionError::Plan(_)
        | SessionError::OutOfLimits { .. }
        | SessionError::Parts(_) => {
            drop(channel.finish(&[]));
        }
        _ => channel.abort(),
    })?;
    channel.expect_within(None);
    Ok(agreed)
}

/// The two sides' terms and sizes, and what follows from them.
fn compare(
    channel: &mut Connection,
    mine: &Terms,
    wanted: Wanted<'_>,
    items: Count,
    my_key: Option<&PublicKey>,
) -> Result<Agreed, SessionError> {
    let my_bytes = mine.encode();
    let their_bytes = recv_terms(channel)?;
    let theirs = Terms::decode(&their_bytes)
        .map_err(|cause| SessionError::Decode { what: "a list of terms", cause })?;
    let differences = mine.differences(&theirs);
    if !differences.is_empty() {
        return Err(SessionError::TermsDiffer(differences));
    }
    let allow_insecure = mine.allow_insecure() && theirs.allow_insecure();
    let (asked, wanted) = (mine.choice(&theirs), Wanted { allow_insecure, ..wanted });
    plan::choose(&asked, wanted, None)?;
    let role = mine.role();
    let (sizes, parts) = match items {
        Count::Later(receiver) => (Sizes { receiver, sender: 0 }, Parts::ONE),
        Count::Of(items) => {
            let (their_items, needed) = exchange_sizes(channel, mine, &theirs, (items, wanted.parts))?;
            let sizes = match role {
                Role::Receiver => Sizes { receiver: items, sender: their_items },
                Role::Sender => Sizes { receiver: their_items, sender: items },
            };
            (sizes, agree_on_parts(mine, &theirs, wanted.parts.max(needed))?)
        }
    };
    // Items are numbered in 32 bits.
    if sizes.receiver.max(sizes.sender) > u32::MAX as usize {
        let Sizes { receiver, sender } = sizes;
        return Err(protocols::Error::from(protocols::Misuse::TooManyItems { receiver, sender }).into());
    }
    // Each part is a run of the protocol of its own.
    let wanted = Wanted { statistical: parts.statistical_security(), ..wanted };
    let played = parts::sizes(parts, sizes);
    let plan::Choice { protocol, parameters, reason } = plan::choose(&asked, wanted, Some(played))?;
    if parts != Parts::ONE && protocol.has_helper() {
        return Err(PartsError::Excluded(terms::A_HELPER).into());
    }
    let reason = mine.reason(&theirs).unwrap_or(reason);
    let sid = session_id(channel, role, my_key, &my_bytes, &their_bytes);
    let learns = wanted.learns;
    let shape = Shape { sizes: played, parameters, learns, matches: 0, kept_base_ots: false };
    let needed = protocol.kept_base_ots(&shape);
    let base_ots = BaseOts::agree(mine.base_ots(), theirs.base_ots(), (parameters.level, needed));
    Ok(Agreed { protocol, parameters, reason, sizes, parts, learns, base_ots, offline: None, role, sid })
}

/// B, if both sides allow it and the run has nothing that parts cannot have. Both sides compute the same.
fn agree_on_parts(mine: &Terms, theirs: &Terms, count: u32) -> Result<Parts, PartsError> {
    for (limiter, terms) in [("this side", mine), ("the partner", theirs)] {
        let most = terms.limits().max_parts.clamp(1, parts::MOST);
        if count > most {
            return Err(PartsError::TooMany { count, limiter, most });
        }
    }
    let excluded = mine.not_in_parts().or(theirs.not_in_parts());
    match excluded.filter(|_| count > 1) {
        Some(what) => Err(PartsError::Excluded(what)),
        None => Ok(Parts::new(count)?),
    }
}

fn recv_terms(channel: &mut Connection) -> Result<Vec<u8>, SessionError> {
    let mut head = [0; 3];
    channel.recv_exact(&mut head)?;
    let [kind, length @ ..] = head;
    if kind != RUN {
        let cause = CodecError::Invalid { what: "kind of connection" };
        return Err(SessionError::Decode { what: "a list of terms", cause });
    }
    let length = usize::from(u16::from_le_bytes(length));
    if length > terms::MAX_BYTES {
        let cause = CodecError::TooLong { length: length as u64, limit: terms::MAX_BYTES as u64 };
        return Err(SessionError::Decode { what: "a list of terms", cause });
    }
    let mut bytes = vec![0; length];
    channel.recv_exact(&mut bytes)?;
    Ok(bytes)
}

/// Exchanges the sizes, and how many parts each side needs. Both sides compare both sizes with both sides' limits.
fn exchange_sizes(
    channel: &mut Connection,
    mine: &Terms,
    theirs: &Terms,
    (items, parts): (usize, u32),
) -> Result<(usize, u32), SessionError> {
    let mut message = Writer::new();
    channel.send(message.u64(items as u64).u32(parts).as_slice())?;
    let mut message = [0; 12];
    channel.recv_exact(&mut message)?;
    let decode = |cause| SessionError::Decode { what: "the size of a set", cause };
    let mut reader = Reader::new(&message);
    let (their_items, their_parts) = (reader.u64().map_err(decode)?, reader.u32().map_err(decode)?);
    let whose = |role| match role {
        Role::Receiver => "receiver's",
        Role::Sender => "sender's",
    };
    let within = |whose, size: u64, limiter, terms: &Terms| {
        let (least, most) = (terms.limits().min_peer_rows, terms.limits().max_peer_rows);
        if (least..=most).contains(&size) {
            Ok(())
        } else {
            Err(SessionError::OutOfLimits { whose, size, limiter, least, most })
        }
    };
    within(whose(theirs.role()), their_items, "this side", mine)?;
    within(whose(mine.role()), items as u64, "the partner", theirs)?;
    Ok((their_items as usize, their_parts))
}

fn session_id(
    channel: &Connection,
    role: Role,
    my_key: Option<&PublicKey>,
    my_terms: &[u8],
    their_terms: &[u8],
) -> [u8; 32] {
    let no_key = [0; 32];
    let nonces = channel.nonces();
    let key = |key: Option<&PublicKey>| key.map_or(no_key, |key| *key.as_bytes());
    let mine = (nonces.mine, key(my_key), my_terms);
    let theirs = (nonces.theirs, key(channel.peer_key()), their_terms);
    let (receiver, sender) = match role {
        Role::Receiver => (mine, theirs),
        Role::Sender => (theirs, mine),
    };
    let mut hasher = blake3::Hasher::new_derive_key("vesica session id v1");
    hasher.update(channel.channel_binding());
    for (nonce, key, terms) in [receiver, sender] {
        hasher.update(&nonce).update(&key);
        hasher.update(&(terms.len() as u64).to_le_bytes()).update(terms);
    }
    *hasher.finalize().as_bytes()
}

impl Agreed {
    /// The role of this side.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The number of each matching row, in the order of the rows. Both sides give the same key the same number.
    pub fn match_numbers(&self, items: &Items, matches: &Matches) -> Vec<u64> {
        match_numbers::numbers(&self.sid, items, matches)
    }

    /// The same with the output of an offline phase for so many items of the receiver. If the receiver has more, both sides
    /// end the run before either has used anything up.
    pub(crate) fn with_offline(self, most: usize, channel: &mut Connection) -> Result<Self, SessionError> {
        let items = self.sizes.receiver;
        if items <= most {
            return Ok(Agreed { offline: Some(most), ..self });
        }
        drop(channel.finish(&[]));
        Err(SessionError::TooManyForOffline { items, most })
    }

    /// The sizes of each run of the protocol: M_r and M_s, or those of the sets if there is one part.
    pub(crate) fn played(&self) -> Sizes {
        parts::sizes(self.parts, self.sizes)
    }

    /// The session id. It goes into hashes, and nowhere else.
    pub(crate) fn sid(&self) -> &[u8; 32] {
        &self.sid
    }

    /// The same for an attempt at a part, under an id of its own.
    pub(crate) fn attempt(&self, sid: [u8; 32]) -> Self {
        Agreed { sizes: self.played(), parts: Parts::ONE, sid, ..*self }
    }

    /// What the costs of the run depend on, or of each part. An offline phase is as large as what it was run for.
    pub(crate) fn shape(&self) -> Shape {
        let (parameters, learns) = (self.parameters, self.learns);
        let played = self.played();
        let receiver = match self.offline {
            Some(most) if self.protocol.takes_place(played) => most,
            _ => played.receiver,
        };
        let sizes = Sizes { receiver, ..played };
        Shape { sizes, parameters, learns, matches: 0, kept_base_ots: false }
    }

    /// The most bytes of memory that the protocol takes on the side of that role. A receiver keeps of each part what its
    /// matches are found from until the run ends, so that it counts the whole sets.
    pub fn memory_bound(&self, role: Role) -> u64 {
        let shape = self.shape();
        match role {
            Role::Receiver if self.parts != Parts::ONE => {
                self.protocol.memory_of(&Shape { sizes: self.sizes, ..shape }).receiver
            }
            Role::Receiver => self.protocol.memory_of(&shape).receiver,
            Role::Sender => self.protocol.memory_of(&shape).sender,
        }
    }

    /// Compares the memory that the run may take here, `needed`, with the budget. If it is too much, this side declines the run
    /// before the first message of the protocol.
    pub fn check_memory(
        &self,
        needed: u64,
        budget: Option<Budget>,
        channel: &mut Connection,
    ) -> Result<(), SessionError> {
        match budget {
            Some(budget) if !budget.allows(needed) => {
                channel.decline();
                Err(SessionError::TooLarge { needed, budget })
            }
            _ => Ok(()),
        }
    }

    /// The error of a run. The partner declines a run for which it has not enough memory.
    fn failed(&self, error: protocols::Error, channel: &Connection) -> SessionError {
        match error {
            protocols::Error::Channel(ChannelError::PeerFinished) if channel.was_declined() => {
                SessionError::TooLargeForPartner { needed: self.memory_bound(self.role.other()) }
            }
            error => error.into(),
        }
    }

    /// The name of base OTs that are made in this session. It does not reveal the session id.
    pub fn base_ots_id(&self) -> [u8; 32] {
        blake3::derive_key("vesica kept base OTs id v1", &self.sid)
    }

    /// The name of the run in both sides' reports. It does not reveal the session id, and neither side can choose it.
    pub fn public_id(&self) -> String {
        blake3::Hash::from_bytes(blake3::derive_key("vesica run name v1", &self.sid)).to_hex().to_string()
    }

    /// The name of the run for a helper. It does not reveal the session id, nor the run's name in the reports.
    pub(crate) fn helper_id(&self) -> [u8; 32] {
        blake3::derive_key("vesica run name for a helper v1", &self.sid)
    }

    /// Runs the protocol up to its last message. What is pending are my matches, where I learn them: for
    /// [`confirm`](Self::confirm). `cache` is for [`base_ots`](Self::base_ots) that are kept, or to be kept.
    pub fn run<'a>(
        &self,
        items: &'a Items,
        channel: &mut Connection,
        threads: usize,
        progress: &'a dyn Progress,
        cache: Option<&'a BaseOtCache>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<Pending<'a>>, SessionError> {
        self.run_helped((items, Attached::Nothing), (channel, None), threads, progress, (cache, None), rng)
    }

    /// The same with what a sender attaches to its items, with a connection to a helper that has [joined](helper::join), which
    /// [`confirm_helper`] is for, and with the output of an offline phase that both sides have used up.
    pub fn run_helped<'a>(
        &self,
        (items, attached): (&'a Items, Attached<'a>),
        (channel, mut helper): (&mut Connection, Option<&mut Connection>),
        threads: usize,
        progress: &'a dyn Progress,
        (base_ots, offline): (Option<&'a BaseOtCache>, Option<&'a OfflineSlot>),
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<Pending<'a>>, SessionError> {
        let run = self.protocol.run(&self.sid, self.sizes, self.parameters);
        let run = Run { learns: self.learns, threads, progress, base_ots, offline, attached, ..run };
        let mut ctx = Ctx::new(&run, &mut *channel, rng);
        ctx.helper = helper.as_mut().map(|helper| &mut **helper as &mut dyn Channel);
        let pending = match self.role {
            Role::Receiver => self.protocol.receive(&mut ctx, items).map(Some),
            Role::Sender => self.protocol.send(&mut ctx, items).map(|outcome| outcome.map(Pending::found)),
        };
        let pending = match pending {
            Ok(pending) => pending,
            // Both sides know it, and confirm what they saw before they say so.
            Err(refused) if refused.is_agreed_refusal() => Some(Pending::new(|| Err(refused))),
            Err(error) => {
                let gone = helper::partner_gone(&error, channel);
                // One fixed ABORT, the same for every check.
                channel.abort();
                helper.into_iter().for_each(|helper| helper.abort());
                return Err(gone.map_or_else(|| self.failed(error, channel), SessionError::from));
            }
        };
        channel.flush()?;
        Ok(pending)
    }

    /// Runs the offline phase alone, up to its last message.
    pub(crate) fn prepare(
        &self,
        channel: &mut Connection,
        threads: usize,
        progress: &dyn Progress,
        rng: &mut dyn CryptoRng,
    ) -> Result<OfflineOutput, SessionError> {
        let run = self.protocol.run(&self.sid, self.sizes, self.parameters);
        let run = Run { threads, progress, ..run };
        let made = self.protocol.prepare(&mut Ctx::new(&run, &mut *channel, rng), self.role);
        let output = made.map_err(|error| {
            channel.abort();
            self.failed(error, channel)
        })?;
        channel.flush()?;
        Ok(output)
    }

    /// Exchanges digests, the count if both learn it, and DONE. If only the receiver learns the matches, it looks for them
    /// afterwards: from the time of DONE a sender could otherwise tell how many matches and rows there are.
    pub fn confirm<'a>(
        &self,
        pending: Option<Pending<'a>>,
        channel: &mut Connection,
        progress: &dyn Progress,
    ) -> Result<Option<Pending<'a>>, SessionError> {
        self.confirm_counted(pending, channel, progress).map(|(pending, _)| pending)
    }

    /// The same, and the count that was compared: 2^64-1 unless both learn it.
    pub(crate) fn confirm_counted<'a>(
        &self,
        pending: Option<Pending<'a>>,
        channel: &mut Connection,
        progress: &dyn Progress,
    ) -> Result<(Option<Pending<'a>>, u64), SessionError> {
        if self.learns == Learns::Receiver {
            exchange_digests(u64::MAX, channel, progress)?;
            return Ok((pending, u64::MAX));
        }
        let found = match pending.map(Pending::finish).transpose() {
            Err(refused) if refused.is_agreed_refusal() => {
                exchange_digests(u64::MAX, channel, progress)?;
                return Ok((Some(Pending::new(|| Err(refused))), u64::MAX));
            }
            found => found.inspect_err(|_| channel.abort())?,
        };
        // Parties that learn something else compare digests alone: they have opened it to each other.
        let count = match &found {
            Some(Outcome::Matches(matches)) => matches.items() as u64,
            Some(Outcome::Payloads(matched)) => matched.matches().items() as u64,
            Some(Outcome::Count(count)) => count.cast_unsigned(),
            Some(Outcome::AtLeast(_) | Outcome::Sums(_)) | None => u64::MAX,
        };
        exchange_digests(count, channel, progress)?;
        Ok((found.map(Pending::found), count))
    }
}

/// Compares with the helper what went over its connection. It comes before [`Agreed::confirm`].
pub fn confirm_helper(
    helper: &mut Connection,
    partner: &mut Connection,
    progress: &dyn Progress,
) -> Result<(), SessionError> {
    exchange_digests(u64::MAX, helper, progress).map_err(|error| {
        let gone = match &error {
            SessionError::Channel(error) => helper::partner_gone(
                &protocols::Error::from(error.clone()).with(Participant::Helper),
                partner,
            ),
            _ => None,
        };
        partner.abort();
        gone.map_or_else(|| error.with(Participant::Helper), SessionError::from)
    })
}

/// Exchanges digests, a count and DONE.
pub(crate) fn exchange_digests(
    count: u64,
    channel: &mut Connection,
    progress: &dyn Progress,
) -> Result<(), SessionError> {
    progress.phase(Phase::Confirm, 0);
    let digests = channel.digests();
    let mut mine = Writer::new();
    mine.fixed(&digests.sent).fixed(&digests.received).u64(count);
    let theirs = channel.finish(mine.as_slice())?;
    let decode = |cause| SessionError::Decode { what: "a confirmation", cause };
    let mut reader = Reader::new(&theirs);
    let sent = reader.fixed(32).map_err(decode)?;
    let received = reader.fixed(32).map_err(decode)?;
    let their_count = reader.u64().map_err(decode)?;
    if sent != digests.received || received != digests.sent {
        return Err(SessionError::Unconfirmed("the digests of what was sent and received"));
    }
    if their_count != count {
        return Err(SessionError::Unconfirmed("the counts of matches"));
    }
    reader.finish().map_err(decode)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use vesica_channel::CancelToken;
    use vesica_net::memory;

    use super::*;
    use crate::settings::{Choice, Settings};

    /// Agreement of a receiver with this version's table of `auto` and a sender with another one.
    fn with_other_table(receiver: &str, sender: &str) -> [Result<&'static str, SessionError>; 2] {
        let (mut here, mut there) = memory::pair(&CancelToken::new());
        let agree = |role, protocol: &str, table: Option<&str>, channel: &mut Connection| {
            let protocol = if protocol == "auto" { Choice::Auto } else { Choice::Named(protocol.into()) };
            let settings = Settings { protocol, ..Settings::default() };
            let terms = Terms::new(role, &settings, &["raw".to_owned()]);
            let terms = table.map_or(terms.clone(), |table| terms.with("table of auto", table));
            agree(channel, &terms, settings.wanted(), 5, None).map(|agreed| agreed.protocol.name)
        };
        thread::scope(|scope| {
            let sender = scope.spawn(|| agree(Role::Sender, sender, Some("kkrt from 0"), &mut there));
            [agree(Role::Receiver, receiver, None, &mut here), sender.join().unwrap()]
        })
    }

    #[test]
    fn sides_that_name_the_protocol_agree_across_tables_of_auto() {
        for ended in with_other_table("vole", "vole") {
            assert_eq!(ended, Ok("vole"));
        }
    }

    #[test]
    fn where_a_side_says_auto_another_table_is_refused_on_both_sides_and_named() {
        for (receiver, sender) in [("auto", "auto"), ("auto", "vole"), ("vole", "auto")] {
            for ended in with_other_table(receiver, sender) {
                let error = crate::Error::session(Phase::Agree, &ended.unwrap_err());
                assert_eq!(error.kind.exit_code(), 77);
                assert!(error.message.contains("table of auto: mine "), "{error}");
                assert!(error.remedy.contains("`--protocol` on both sides"), "{error}");
            }
        }
    }
}
