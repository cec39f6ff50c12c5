//! Before the protocol: terms, sizes and session id.

use std::sync::Arc;

use vesica_channel::codec::CodecError;
use vesica_channel::{Channel, ChannelError};
use vesica_net::{Connection, Identity, PublicKey};
use vesica_protocols::registry::{Security, Shape};
use vesica_protocols::{self as protocols, Learns, Role, Sizes};

use super::agreed::Agreed;
use super::error::SessionError;
use super::kind::{PART, RUN, TAKEN_UP};
use super::signing::{Signer, Signing, Told};
use crate::words::auto;
use crate::words::base_ots::BaseOts;
use crate::words::memory_use::side::{CostsOfParts, run_costs, seconds_of_part};
use crate::words::parts::questions::{self, AgreedParts, Side};
use crate::words::parts::{self, Parts, PartsError, PartsWanted};
use crate::words::report;
use crate::words::settings::Wanted;
use crate::words::terms::{self, Terms};

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
    identity: Option<&Identity>,
) -> Result<Agreed, SessionError> {
    // A channel keeps its error, so the next call reports it.
    let _ = channel.send(&greeting(mine));
    agree_greeted(channel, mine, wanted, items, identity)
}

/// Compares terms and sizes with the partner, over a channel that has sent the [`greeting`]. `items` is the size of my
/// set, padded; `identity` is who this side is, absent without TLS.
///
/// For all of this together the partner has as long as it may be silent, even if it sends heartbeats.
pub fn agree_greeted(
    channel: &mut Connection,
    mine: &Terms,
    wanted: Wanted<'_>,
    items: usize,
    identity: Option<&Identity>,
) -> Result<Agreed, SessionError> {
    let signer = identity.map(|identity| Signer { identity, started: report::now() });
    let demand = &|_: Sizes, _: CostsOfParts<'_>, _: &dyn Fn(Parts) -> f64| PartsWanted::ONE;
    agree_on_demand(channel, mine, wanted, (items, demand, &|_| Ok(())), signer)
}

/// How many parts this side wants for sets of these sizes, if a run can have several parts. The second argument tells what
/// a run in so many parts takes; nothing, if there is no protocol for it. The third one tells how long one thread computes for
/// a part, in seconds.
pub(crate) type Demand<'d> = &'d dyn Fn(Sizes, CostsOfParts<'_>, &dyn Fn(Parts) -> f64) -> PartsWanted;

/// What this side does before its size leaves: an error ends the run.
pub(crate) type BeforeSize<'d> = &'d dyn Fn(&Connection) -> Result<(), SessionError>;

/// As [`agree_greeted`], for a side that may need several parts.
pub(crate) fn agree_on_demand(
    channel: &mut Connection,
    mine: &Terms,
    wanted: Wanted<'_>,
    (items, demand, before_size): (usize, Demand<'_>, BeforeSize<'_>),
    signer: Option<Signer<'_>>,
) -> Result<Agreed, SessionError> {
    // Terms and sizes take no computing. Without a limit, a partner could hold this side with heartbeats or single bytes.
    channel.expect_prompt();
    let agreed = compare(channel, mine, wanted, (items, demand, before_size), signer);
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
    (items, demand, before_size): (usize, Demand<'_>, BeforeSize<'_>),
    signer: Option<Signer<'_>>,
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
    auto::choose(&asked, wanted, None)?;
    let role = mine.role();
    let partner = channel.peer_key().copied();
    let told_by = signer.filter(|_| partner.is_some());
    before_size(channel)?;
    let (their_items, told) = exchange_sizes(channel, mine, &theirs, items, told_by)?;
    let sizes = match role {
        Role::Receiver => Sizes { receiver: items, sender: their_items },
        Role::Sender => Sizes { receiver: their_items, sender: items },
    };
    let costs = |parts: Parts| run_costs(&asked, wanted, (role, sizes), parts);
    let seconds = |parts: Parts| seconds_of_part(&asked, wanted, sizes, parts);
    let demand = demand(sizes, &costs, &seconds);
    let demand = PartsWanted { needed: wanted.parts.max(demand.needed), ..demand };
    let sides = sides(mine, &theirs, [demand, exchange_parts(channel, demand)?]);
    let AgreedParts { parts, for_cores } = agree_on_parts(mine, &theirs, &sides, (sizes, wanted.learns))?;
    // Items are numbered in 32 bits.
    let played = parts::sizes(parts, sizes);
    if played.receiver.max(played.sender) > u32::MAX as usize {
        let Sizes { receiver, sender } = played;
        return Err(protocols::Error::from(protocols::Misuse::TooManyItems { receiver, sender }).into());
    }
    // Each part is a run of the protocol of its own.
    let wanted = Wanted { statistical: parts.statistical_security(), ..wanted };
    let auto::Choice { protocol, parameters, reason } = auto::choose(&asked, wanted, Some(played))?;
    if parts != Parts::ONE && protocol.has_helper() {
        return Err(PartsError::Excluded(terms::A_HELPER).into());
    }
    let learns = wanted.learns;
    let repeats = match parameters.security {
        Security::Malicious => questions::room(&sides, parts, sizes, learns)?,
        Security::SemiHonest => u32::MAX,
    };
    let reason = mine.reason(&theirs).unwrap_or(reason);
    let my_key = signer.map(|signer| signer.identity.public_key());
    let sid = session_id(channel, role, my_key, &my_bytes, &their_bytes);
    let shape = Shape { sizes: played, parameters, learns, matches: 0, kept_base_ots: false };
    let needed = protocol.kept_base_ots(&shape);
    let base_ots = BaseOts::agree(mine.base_ots(), theirs.base_ots(), (parameters.level, needed));
    let mut agreed = Agreed {
        protocol,
        parameters,
        reason,
        sizes,
        parts,
        for_cores,
        learns,
        base_ots,
        repeats,
        role,
        sid,
        signing: None,
    };
    if let Some(((signer, partner), told)) = signer.zip(partner).zip(told) {
        let me = (signer.identity, Told::at(signer.started));
        let signing = Signing::of(&agreed, mine.in_common(&theirs), me, (&partner, told))?;
        agreed.signing = Some(Arc::new(signing));
    }
    Ok(agreed)
}

/// Both sides with the parts that they want.
fn sides(mine: &Terms, theirs: &Terms, wanted: [PartsWanted; 2]) -> [Side; 2] {
    let side =
        |name, terms: &Terms, wanted| Side { name, role: terms.role(), limits: terms.limits(), wanted };
    [side("this side", mine, wanted[0]), side("the partner", theirs, wanted[1])]
}

/// The parts, if both sides allow them and the run has nothing that parts cannot have. Both sides compute the same.
fn agree_on_parts(
    mine: &Terms,
    theirs: &Terms,
    sides: &[Side; 2],
    (sizes, learns): (Sizes, Learns),
) -> Result<AgreedParts, PartsError> {
    let agreed = questions::agree_on_parts(sides, sizes, learns)?;
    let excluded = mine.not_in_parts().or(theirs.not_in_parts());
    match excluded.filter(|_| agreed.parts != Parts::ONE) {
        Some(what) => Err(PartsError::Excluded(what)),
        None => Ok(agreed),
    }
}

fn recv_terms(channel: &mut Connection) -> Result<Vec<u8>, SessionError> {
    let mut head = [0; 3];
    channel.recv_exact(&mut head)?;
    let [kind, length @ ..] = head;
    if let PART | TAKEN_UP = kind {
        return Err(SessionError::OtherRun("goes on with an earlier run, and this side with a new one"));
    }
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

/// How many parts the partner wants.
fn exchange_parts(channel: &mut Connection, mine: PartsWanted) -> Result<PartsWanted, SessionError> {
    channel.send(&mine.needed.to_le_bytes())?;
    channel.send(&mine.for_cores.to_le_bytes())?;
    let mut theirs = || -> Result<u32, SessionError> {
        let mut bytes = [0; 4];
        channel.recv_exact(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    };
    Ok(PartsWanted { needed: theirs()?, for_cores: theirs()? })
}

/// Exchanges the sizes and, where there are keys, what each side tells of itself. Both sides compare both sizes with both
/// sides' limits.
fn exchange_sizes(
    channel: &mut Connection,
    mine: &Terms,
    theirs: &Terms,
    items: usize,
    signer: Option<Signer<'_>>,
) -> Result<(usize, Option<Told>), SessionError> {
    channel.send(&(items as u64).to_le_bytes())?;
    signer.map_or(Ok(()), |signer| channel.send(&Told::at(signer.started).encode()))?;
    let mut size = [0; 8];
    channel.recv_exact(&mut size)?;
    let told = signer.map(|_| Told::recv(channel)).transpose()?;
    let their_items = u64::from_le_bytes(size);
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
    Ok((their_items as usize, told))
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

#[cfg(test)]
mod tests {
    use std::thread;

    use crate::words::error::RunPhase;
    use vesica_channel::CancelToken;
    use vesica_net::memory;

    use super::*;
    use crate::words::settings::{Choice, Settings};

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

    /// Whoever was started again meets a partner that goes on with the run before.
    #[test]
    fn a_partner_that_goes_on_with_an_earlier_run_is_no_cheat() {
        for kind in [PART, TAKEN_UP, 3] {
            let (mut here, mut there) = memory::pair(&CancelToken::new());
            there.send(&[kind; 36]).and_then(|()| there.flush()).unwrap();
            let settings = Settings::default();
            let terms = Terms::new(Role::Receiver, &settings, &["raw".to_owned()]);
            let error = agree(&mut here, &terms, settings.wanted(), 5, None).map(drop).unwrap_err();
            let code = crate::Error::session(RunPhase::Agree, &error).kind.exit_code();
            assert_eq!(code, if kind == 3 { 76 } else { 69 }, "{error}");
        }
    }

    /// How many parts two sides take whose cores want so many, and how many of them may be played again.
    fn for_cores(wanted: [u32; 2], needed: u32) -> [(usize, u32); 2] {
        let (mut here, mut there) = memory::pair(&CancelToken::new());
        let agree = |role, wanted: PartsWanted, channel: &mut Connection| {
            let settings = Settings::default();
            let terms = Terms::new(role, &settings, &["raw".to_owned()]);
            channel.send(&greeting(&terms)).unwrap();
            let demand = &move |_: Sizes, _: CostsOfParts<'_>, _: &dyn Fn(Parts) -> f64| wanted;
            let agreed =
                agree_on_demand(channel, &terms, settings.wanted(), (1 << 20, demand, &|_| Ok(())), None)
                    .unwrap();
            (agreed.parts.count(), agreed.allowance(2))
        };
        let [mine, theirs] = wanted.map(|for_cores| PartsWanted { needed, for_cores });
        thread::scope(|scope| {
            let sender = scope.spawn(|| agree(Role::Sender, theirs, &mut there));
            [agree(Role::Receiver, mine, &mut here), sender.join().unwrap()]
        })
    }

    /// A part that is played again is a second query.
    #[test]
    fn parts_for_cores_are_played_once() {
        assert_eq!(for_cores([8, 5], 1), [(5, 0); 2]);
        assert_eq!(for_cores([8, 1], 1), [(1, 0); 2]);
        // Parts that a side needs may be played again, and nobody's cores add to them.
        assert_eq!(for_cores([8, 8], 3), [(3, 4); 2]);
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
                let error = crate::Error::session(RunPhase::Agree, &ended.unwrap_err());
                assert_eq!(error.kind.exit_code(), 77);
                assert!(error.message.shell().contains("table of auto: mine "), "{error}");
                assert!(error.remedy.shell().contains("`--protocol` on both sides"), "{error}");
            }
        }
    }
}
