//! Parts of runs at a relay: who may join them, who meets whom, and what ends the waiting.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::*;
use crate::establish::names::Names;
use crate::establish::{PartCall, PartsAddress};

const TAG: [u8; 32] = [7; 32];

/// A side of a run in parts: its identity, and its key made for the run.
struct Side {
    identity: Identity,
    run_key: Identity,
}

impl Side {
    fn new() -> Self {
        Self { identity: identity(), run_key: identity() }
    }

    fn grant(&self, relays: &[&Running]) -> Grants {
        let key = *self.run_key.public_key();
        Grants::open(&addresses(relays), &self.identity, key, TAG, &options(PATIENCE)).unwrap()
    }

    /// What a worker has, beside the key made for the run.
    fn address_of(partner: &Side, relays: &[&Running]) -> PartsAddress {
        PartsAddress::Relays { relays: addresses(relays), partner: *partner.identity.public_key() }
    }

    /// The connection of a part.
    fn call<'a>(
        &'a self,
        partner: &'a Side,
        (part, round): (u32, u16),
        options: &'a Options,
        wanted: &'a dyn Fn() -> bool,
    ) -> PartCall<'a> {
        let keys = Some((&self.run_key, partner.run_key.public_key()));
        PartCall { keys, tag: TAG, part, round, first: b"first", options, wanted }
    }

    /// A connection of a part, as long as it takes.
    fn meets(
        &self,
        partner: &Side,
        relays: &[&Running],
        which: (u32, u16),
        wanted: &dyn Fn() -> bool,
    ) -> Result<Option<Connection>, NetError> {
        let mut rng = StdRng::from_seed(*self.run_key.public_key().as_bytes());
        let options = options(PATIENCE);
        Self::address_of(partner, relays).meet(&self.call(partner, which, &options, wanted), &mut rng)
    }

    /// A stream of a part that this side's run key asks for and that keeps no rule.
    fn raw(&self, relay: &Running, partner: &Side, part: u32, round: u16) -> Raw {
        let mut raw = Raw::new(relay, &self.run_key);
        raw.say(&join_part(partner, part, round));
        raw
    }
}

fn addresses(relays: &[&Running]) -> Vec<RelayAddress> {
    let address = |relay: &&Running| (relay.address.to_string(), *relay.identity.public_key());
    relays.iter().map(address).map(|(address, key)| RelayAddress { address, key }).collect()
}

fn join_part(partner: &Side, part: u32, round: u16) -> Vec<u8> {
    let partner = *partner.identity.public_key();
    Join::Part { tag: Label(TAG), partner, part, round }.encode()
}

fn join_grant(of: &Side) -> Vec<u8> {
    Join::Grant { run_key: *of.run_key.public_key(), tag: Label(TAG) }.encode()
}

/// Two sides and a relay for them.
fn scene(change: impl FnOnce(&mut Rules)) -> (Running, [Side; 2]) {
    let sides = [Side::new(), Side::new()];
    let relay = Running::start(&[&sides[0].identity, &sides[1].identity], change);
    (relay, sides)
}

fn is_refused(mut raw: Raw, refusal: Refusal) {
    assert_eq!(raw.hear_all(), Reply::Refused(refusal).encode());
}

#[test]
fn a_run_key_joins_parts_in_the_granters_name() {
    let (relay, [one, two]) = scene(|_| ());
    let _grants = [one.grant(&[&relay]), two.grant(&[&relay])];
    // One that names its part, with one that takes any; and two that name it.
    for asked in [ANY_PART, 3] {
        let [mut here, mut there] = thread::scope(|scope| {
            let here = scope.spawn(|| one.meets(&two, &[&relay], (asked, 5), &|| true).unwrap().unwrap());
            relay.until_waiting(&one.identity);
            [two.meets(&one, &[&relay], (3, 5), &|| true).unwrap().unwrap(), here.join().unwrap()]
        });
        assert_eq!(here.channel_binding(), there.channel_binding());
        assert_eq!(
            [here.peer_key(), there.peer_key()],
            [&one, &two].map(|side| Some(side.run_key.public_key()))
        );
        for side in [&mut here, &mut there] {
            assert_eq!(received(side, 5).unwrap(), b"first");
        }
        let paired = relay.until(|event| matches!(event, RelayEvent::Paired(_)));
        let keys = [&one, &two].map(|side| *side.identity.public_key());
        let part = Some(PartId { part: 3, round: 5 });
        assert_eq!(paired, RelayEvent::Paired(Pair { keys, label: Label(TAG), part }));
    }
    relay.stop.cancel();
    drop(_grants);
    relay.end();
}

#[test]
fn without_a_grant_no_part_is_joined() {
    let (relay, [one, two]) = scene(|_| ());
    let refused = |raw| is_refused(raw, Refusal::NotGranted);
    refused(one.raw(&relay, &two, 0, 0));
    // The key of the identity is not that of the run.
    let mut own = Raw::new(&relay, &one.identity);
    own.say(&join_part(&two, 0, 0));
    refused(own);
    let grants = one.grant(&[&relay]);
    // Another key, or another tag.
    refused(two.raw(&relay, &one, 0, 0));
    let mut other_tag = Raw::new(&relay, &one.run_key);
    let partner = *two.identity.public_key();
    other_tag.say(&Join::Part { tag: Label([8; 32]), partner, part: 0, round: 0 }.encode());
    refused(other_tag);
    // Neither a run nor a grant is what a run's key may ask for.
    let mut run = Raw::new(&relay, &one.run_key);
    run.say(&run_join(&one.run_key, &two.identity, ""));
    is_refused(run, Refusal::NotAllowed);
    let mut grant = Raw::new(&relay, &one.run_key);
    grant.say(&join_grant(&two));
    is_refused(grant, Refusal::NotAllowed);
    // A partner that the relay does not know, and oneself.
    is_refused(one.raw(&relay, &Side::new(), 0, 0), Refusal::PartnerNotAllowed);
    is_refused(one.raw(&relay, &one, 0, 0), Refusal::Malformed);
    let mut waits = one.raw(&relay, &two, 0, 0);
    relay.until_waiting(&one.identity);
    // The end of the grant is that of the waiting, and nobody else comes in.
    drop(grants);
    relay.until(|event| matches!(event, RelayEvent::Revoked { .. }));
    assert_eq!(waits.hear_all(), Reply::Wait.encode());
    refused(one.raw(&relay, &two, 0, 0));
    relay.end();
    // A party tries again, since the grant may be on its way.
    let (relay, [one, two]) = scene(|_| ());
    let mut rng = StdRng::seed_from_u64(3);
    let options = options(SOON);
    let call = one.call(&two, (0, 0), &options, &|| true);
    let error = Side::address_of(&two, &[&relay]).meet(&call, &mut rng);
    let NetError::RelayUnreachable { last: RetryReason::NotGranted, .. } = error.unwrap_err() else {
        panic!()
    };
    relay.end();
}

#[test]
fn streams_of_other_parts_rounds_and_runs_do_not_pair() {
    let (relay, [one, two]) = scene(|_| ());
    let _grants = [one.grant(&[&relay]), two.grant(&[&relay])];
    let mut streams = [
        one.raw(&relay, &two, 1, 0),
        one.raw(&relay, &two, ANY_PART, 1),
        two.raw(&relay, &one, 2, 0),
        two.raw(&relay, &one, ANY_PART, 1),
        two.raw(&relay, &one, 1, 2),
    ];
    for _ in 0..streams.len() {
        relay.until(|event| matches!(event, RelayEvent::Waiting { .. }));
    }
    relay.stop.cancel();
    for stream in &mut streams {
        assert_eq!(stream.hear_all(), Reply::Wait.encode());
    }
    drop(_grants);
    relay.end();
}

/// Streams of one side and part wait in line, and the next takes the place of one that breaks.
#[test]
fn who_takes_any_part_gets_those_that_wait_in_turn() {
    let (relay, [one, two]) = scene(|_| ());
    let _grants = [one.grant(&[&relay]), two.grant(&[&relay])];
    let gone = one.raw(&relay, &two, 4, 0);
    relay.until_waiting(&one.identity);
    let mut waiting = [9, 4, 9].map(|part| {
        let raw = one.raw(&relay, &two, part, 0);
        relay.until_waiting(&one.identity);
        (raw, part)
    });
    drop(gone);
    relay.until(|event| matches!(event, RelayEvent::Left { .. }));
    for (raw, part) in &mut waiting {
        let mut taker = two.raw(&relay, &one, ANY_PART, 0);
        let paired = Reply::Paired { part: *part }.encode();
        assert_eq!(taker.hear_all(), paired, "whoever comes finds it at once");
        assert_eq!(raw.hear_all(), [Reply::Wait.encode(), paired].concat());
    }
    drop(_grants);
    relay.stop.cancel();
    relay.end();
}

#[test]
fn a_round_that_is_over_ends_the_waiting_for_its_parts() {
    let (relay, [one, two]) = scene(|_| ());
    let (mine, _theirs) = (one.grant(&[&relay]), two.grant(&[&relay]));
    thread::scope(|scope| {
        let waits = scope.spawn(|| one.meets(&two, &[&relay], (3, 1), &|| true));
        relay.until_waiting(&one.identity);
        let mut later = one.raw(&relay, &two, 3, 2);
        relay.until_waiting(&one.identity);
        mine.end_round(1);
        assert!(waits.join().unwrap().unwrap().is_none());
        // It goes on in the next round, and no earlier one begins again. That of the partner goes on for it.
        for round in [0, 1] {
            assert_eq!(one.raw(&relay, &two, 3, round).hear_all(), Reply::Closed.encode());
        }
        let mut next = two.raw(&relay, &one, 3, 2);
        assert_eq!(next.hear_all(), Reply::Paired { part: 3 }.encode());
        assert_eq!(later.hear_all(), [Reply::Wait.encode(), Reply::Paired { part: 3 }.encode()].concat());
        let early = two.raw(&relay, &one, 3, 0);
        relay.until_waiting(&two.identity);
        drop(early);
    });
    // Whoever is not wanted any more leaves by itself.
    let ended = one.meets(&two, &[&relay], (3, 2), &|| false).unwrap();
    assert!(ended.is_none());
    relay.stop.cancel();
    drop((mine, _theirs));
    relay.end();
}

#[test]
fn a_round_that_is_over_does_not_begin_again_where_an_earlier_one_is_said_to_be() {
    let (relay, [one, two]) = scene(|_| ());
    let mut grant = Raw::new(&relay, &one.identity);
    let over = [2, 0].map(|round| wire::Sign::Over { round }.encode()).concat();
    grant.say(&[join_grant(&one), over].concat());
    relay.until(|event| matches!(event, RelayEvent::Granted { .. }));
    let closed = Reply::Closed.encode();
    assert!(one.raw(&relay, &two, 3, 0).hear_all().ends_with(&closed), "the relay has heard the first one");
    thread::sleep(SOON / 4);
    for round in [0, 1, 2] {
        assert_eq!(one.raw(&relay, &two, 3, round).hear_all(), closed, "{round}");
    }
    relay.stop.cancel();
    drop(grant);
    relay.end();
}

#[test]
fn a_pair_outlasts_its_grants() {
    let (relay, [one, two]) = scene(|_| ());
    let grants = [one.grant(&[&relay]), two.grant(&[&relay])];
    let [mut here, mut there] = thread::scope(|scope| {
        let here = scope.spawn(|| one.meets(&two, &[&relay], (0, 0), &|| true).unwrap().unwrap());
        [two.meets(&one, &[&relay], (0, 0), &|| true).unwrap().unwrap(), here.join().unwrap()]
    });
    drop(grants);
    relay.until(|event| matches!(event, RelayEvent::Revoked { .. }));
    relay.until(|event| matches!(event, RelayEvent::Revoked { .. }));
    here.send(b"goes on").and_then(|()| here.flush()).unwrap();
    assert_eq!(received(&mut there, 12).unwrap(), b"firstgoes on");
    drop((here, there));
    relay.end();
}

/// A granter whose connection broke unnoticed comes again. Nobody else opens a grant for the same key and tag.
#[test]
fn the_same_granter_takes_the_place_of_its_own_grant() {
    let (relay, [one, two]) = scene(|_| ());
    let mut first = Raw::new(&relay, &one.identity);
    first.say(&[join_grant(&one), wire::Sign::Over { round: 0 }.encode()].concat());
    relay.until(|event| matches!(event, RelayEvent::Granted { .. }));
    let mut theft = Raw::new(&relay, &two.identity);
    theft.say(&join_grant(&one));
    is_refused(theft, Refusal::Malformed);
    let mut own = Raw::new(&relay, &one.identity);
    own.say(&Join::Grant { run_key: *one.identity.public_key(), tag: Label(TAG) }.encode());
    is_refused(own, Refusal::Malformed);
    let mut waits = one.raw(&relay, &two, 1, 1);
    relay.until_waiting(&one.identity);
    let again = one.grant(&[&relay]);
    assert_eq!(first.hear_all(), Reply::Wait.encode());
    relay.until(|event| matches!(event, RelayEvent::Revoked { .. }));
    // What the first one said holds, and who waited goes on.
    assert_eq!(one.raw(&relay, &two, 1, 0).hear_all(), Reply::Closed.encode());
    drop(again);
    assert_eq!(waits.hear_all(), Reply::Wait.encode());
    relay.end();
}

#[test]
fn what_is_said_on_a_grant_or_in_a_line_is_bounded() {
    let (relay, [one, two]) = scene(|_| ());
    let _grants = one.grant(&[&relay]);
    relay.until(|event| matches!(event, RelayEvent::Granted { .. }));
    // Only a grant has rounds.
    let mut waits = one.raw(&relay, &two, 0, 0);
    relay.until_waiting(&one.identity);
    waits.say(&wire::Sign::Over { round: 0 }.encode());
    assert_eq!(waits.hear_all(), Reply::Wait.encode());
    let mut grant = Raw::new(&relay, &two.identity);
    grant.say(&join_grant(&two));
    relay.until(|event| matches!(event, RelayEvent::Granted { .. }));
    grant.say(&[PING, 9]);
    assert_eq!(grant.hear_all(), Reply::Wait.encode());
    relay.stop.cancel();
    drop(_grants);
    relay.end();
}

/// The streams of a run's key count as those of whoever has granted it.
#[test]
fn who_grants_pays() {
    let busy = |raw| is_refused(raw, Refusal::Busy);
    let (relay, [one, two]) = scene(|rules| (rules.waiting, rules.paired) = (2, 1));
    let _grants = [one.grant(&[&relay]), two.grant(&[&relay])];
    let _held = [one.raw(&relay, &two, 0, 0), one.raw(&relay, &two, 1, 0)];
    relay.until_waiting(&one.identity);
    relay.until_waiting(&one.identity);
    busy(one.raw(&relay, &two, 2, 0));
    let mut own = Raw::new(&relay, &one.identity);
    own.say(&run_join(&one.identity, &two.identity, ""));
    busy(own);
    // A third grant is one too many.
    let mut grants = [[1; 32], [2; 32]].map(|key| {
        let mut raw = Raw::new(&relay, &one.identity);
        raw.say(&Join::Grant { run_key: PublicKey::from_bytes(key), tag: Label(TAG) }.encode());
        raw
    });
    let [first, second] = &mut grants;
    relay.until(|event| matches!(event, RelayEvent::Granted { .. }));
    let refused = [first, second].map(|raw| {
        let record = raw.records.next(&mut raw.socket).unwrap();
        take_in(&mut raw.tls, &record, &mut raw.text).unwrap();
        raw.text == Reply::Refused(Refusal::Busy).encode()
    });
    assert_eq!(refused.iter().filter(|refused| **refused).count(), 1);
    // One pair a key.
    let mut _pair = two.raw(&relay, &one, 0, 0);
    assert_eq!(_pair.hear_all(), Reply::Paired { part: 0 }.encode());
    busy(two.raw(&relay, &one, 1, 0));
    relay.stop.cancel();
    drop((_held, grants, _pair, _grants));
    relay.end();

    // Whoever waits keeps a seat for its partner; a grant takes one.
    let (relay, [one, two]) = scene(|rules| rules.max_streams = 4);
    let _grants = [one.grant(&[&relay]), two.grant(&[&relay])];
    let _waits = one.raw(&relay, &two, 0, 0);
    relay.until_waiting(&one.identity);
    busy(one.raw(&relay, &two, 1, 0));
    let mut third = Raw::new(&relay, &one.identity);
    third.say(&Join::Grant { run_key: PublicKey::from_bytes([1; 32]), tag: Label(TAG) }.encode());
    busy(third);
    assert_eq!(two.raw(&relay, &one, 0, 0).hear_all(), Reply::Paired { part: 0 }.encode());
    relay.stop.cancel();
    drop((_waits, _grants));
    relay.end();
}

/// A grant is a stream that has to show that it lives.
#[test]
fn a_grant_that_falls_silent_ends() {
    let beat = Duration::from_millis(50);
    let times = Times { beat, silence: 8 * beat, ..Times::default() };
    let (relay, [one, _]) = scene(|rules| rules.times = times);
    let mut silent = Raw::new(&relay, &one.identity);
    silent.say(&join_grant(&one));
    let heard = silent.hear_all();
    assert!(heard.len() >= 3 && heard.iter().all(|byte| [*byte] == *Reply::Wait.encode()), "{heard:?}");
    relay.until(|event| matches!(event, RelayEvent::Revoked { .. }));
    relay.end();
}

#[test]
fn part_i_goes_through_relay_i_and_who_takes_any_waits_at_all() {
    let sides = [Side::new(), Side::new()];
    let [one, two] = &sides;
    let relays = [(); 2].map(|()| Running::start(&[&one.identity, &two.identity], |_| ()));
    let all = [&relays[0], &relays[1]];
    let _grants = [one.grant(&all), two.grant(&all)];
    let place = crate::MeetingPlace::there(
        &Address::Via(Via { more: addresses(&all[1..]), ..via_of(&relays[0]) }),
        &security(&one.identity, &two.identity),
        Names::default(),
    );
    for parts in [[0, 2], [1, 3], [4, 5], [6, 7]] {
        let mut met = thread::scope(|scope| {
            let named = parts.map(|part| scope.spawn(move || two.meets(one, &all, (part, 0), &|| true)));
            let options = options(PATIENCE);
            let call = one.call(two, (ANY_PART, 0), &options, &|| true);
            let mut rng = StdRng::seed_from_u64(parts[0].into());
            let mut taken: Vec<Connection> =
                parts.iter().map(|_| place.meet_again(&call, &mut rng).unwrap().unwrap()).collect();
            let named = named.map(|named| named.join().unwrap().unwrap().unwrap());
            taken.extend(named);
            taken
        });
        let mut bindings: Vec<[u8; 64]> = met.iter().map(|met| *met.channel_binding()).collect();
        bindings.sort_unstable();
        bindings.dedup();
        assert_eq!(bindings.len(), 2, "all four are two connections");
        met.iter_mut().for_each(|met| assert_eq!(received(met, 5).unwrap(), b"first"));
    }
    drop((place, _grants));
    for (number, relay) in (0..).zip(relays) {
        let mut parts = Vec::new();
        relay.stop.cancel();
        while let Ok(event) = relay.events.lock().unwrap().recv() {
            if let RelayEvent::Paired(Pair { part: Some(PartId { part, .. }), .. }) = event {
                parts.push(part);
            }
        }
        assert!(parts.len() == 4 && parts.iter().all(|part| part % 2 == number), "{number}: {parts:?}");
        relay.end();
    }
}

/// Five hundred parts at once, each with both of its streams.
#[test]
fn five_hundred_pairs_of_parts_at_once() {
    const PAIRS: usize = 500;
    const WORKERS: usize = 16;
    let limit = getrlimit(Resource::Nofile);
    // Two ends of two sockets a pair, and each has its pair at the relay.
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    let (relay, [one, two]) = scene(|_| ());
    let grants = [one.grant(&[&relay]), two.grant(&[&relay])];
    let joined = |side: &Side, partner: &Side, part: usize| {
        let socket = TcpStream::connect(relay.address).unwrap();
        let tls = Tls::to_relay(&side.run_key, *relay.identity.public_key()).unwrap();
        let asked = Join::decode(&join_part(partner, part as u32, 0)).unwrap().unwrap().0;
        let until = Instant::now() + 4 * PATIENCE;
        join(&socket, &tls, &asked, &Times::default(), &goes_on(until), &mut || ()).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket
    };
    let all = |side: &Side, partner: &Side| -> Vec<(usize, TcpStream)> {
        let worker = |number: usize| -> Vec<(usize, TcpStream)> {
            (number..PAIRS).step_by(WORKERS).map(|part| (part, joined(side, partner, part))).collect()
        };
        let worker = &worker;
        thread::scope(|scope| {
            let workers: Vec<_> = (0..WORKERS).map(|number| scope.spawn(move || worker(number))).collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
        })
    };
    let (mut here, mut there) = thread::scope(|scope| {
        let here = scope.spawn(|| all(&one, &two));
        (all(&two, &one), here.join().unwrap())
    });
    assert_eq!((here.len(), there.len()), (PAIRS, PAIRS));
    for (part, socket) in &mut here {
        socket.write_all(&(*part as u64).to_le_bytes()).unwrap();
    }
    for (part, socket) in &mut there {
        let mut heard = [0; 8];
        socket.read_exact(&mut heard).unwrap();
        assert_eq!(u64::from_le_bytes(heard), *part as u64);
    }
    drop((here, there, grants));
    relay.end();
}

fn via_of(relay: &Running) -> Via {
    let Address::Via(via) = relay.via("") else { panic!() };
    via
}

#[test]
fn a_relay_that_comes_back_is_granted_again() {
    let (first, [one, two]) = scene(|_| ());
    let (address, own) = (first.address.to_string(), first.identity.clone());
    let grants = [one.grant(&[&first]), two.grant(&[&first])];
    grants[0].end_round(0);
    let relays = addresses(&[&first]);
    first.end();
    let allow = [&one, &two].map(|side| *side.identity.public_key()).to_vec();
    let again = Running::at(&address, own, Rules { allow, ..Rules::default() });
    assert_eq!(addresses(&[&again]), relays);
    let [mut here, mut there] = thread::scope(|scope| {
        let here = scope.spawn(|| one.meets(&two, &[&again], (6, 1), &|| true).unwrap().unwrap());
        [two.meets(&one, &[&again], (6, 1), &|| true).unwrap().unwrap(), here.join().unwrap()]
    });
    [&mut here, &mut there].into_iter().for_each(|met| assert_eq!(received(met, 5).unwrap(), b"first"));
    assert!(one.meets(&two, &[&again], (6, 0), &|| true).unwrap().is_none(), "it is told again what is over");
    grants.iter().for_each(|grants| grants.check().unwrap());
    drop((here, there, grants));
    again.end();
}

#[test]
fn a_grant_that_cannot_be_had_says_why() {
    let (relay, [one, _]) = scene(|_| ());
    let stranger = Side::new();
    let key = *stranger.run_key.public_key();
    let relays = addresses(&[&relay]);
    let error = Grants::open(&relays, &stranger.identity, key, TAG, &options(PATIENCE)).unwrap_err();
    let NetError::RefusedByRelay { refusal, .. } = error else { panic!("{error}") };
    assert_eq!(refusal, Refusal::NotAllowed);
    let other = RelayAddress { key, ..relays[0].clone() };
    let error = Grants::open(&[other], &one.identity, key, TAG, &options(PATIENCE)).unwrap_err();
    assert!(matches!(error, NetError::WrongRelay { .. }), "{error}");
    relay.end();
    let error = Grants::open(&relays, &one.identity, key, TAG, &options(SOON)).unwrap_err();
    assert!(matches!(error, NetError::RelayUnreachable { .. }), "{error}");
}
