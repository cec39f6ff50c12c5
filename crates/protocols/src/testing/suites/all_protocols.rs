//! Every protocol of a list, in one loop: right rows, right bytes, the same bytes from any number of
//! threads.

use std::sync::{Arc, Mutex};
use std::thread;

use crate::entry::{Entry, Message, Shape};
use crate::parameters::Security;
use crate::testing::{
    Case, DIRECTIONS, Planted, each, items, lying_wire, planted, planted_for, play_role, run_keeping,
    run_over, run_pair, shape, usual, ways,
};
use crate::{
    Error, KeyAgreement, Learns, MOST_STATISTICAL_SECURITY, Misuse, Parameters, Participant, Role,
    STATISTICAL_SECURITY, Sizes, Unsupported,
};
use rand::SeedableRng;
use rand::rngs::StdRng;
use vesica_channel::{Kind, tampered};
use vesica_ot::base::cache::BaseOtCache;

/// Whether a run on a thousand items takes too long for a test: protocols of big integers.
fn slow(entry: &Entry) -> bool {
    entry.test_items < 1 << 8
}

/// Who learns the result in the runs of this entry's tests.
fn modes(entry: &Entry) -> &'static [Learns] {
    if entry.learns_both { &[Learns::Receiver, Learns::Both] } else { &[Learns::Receiver] }
}

/// Runs the pair and compares rows and bytes with the plain join and the entry's formulas.
fn check(entry: &Entry, sets: &Planted, case: Case) {
    let what = format!("{} {:?} {case:?}", entry.name, shape(sets, case));
    let ended = run_pair(entry, sets, case);
    let receiver = ended.receiver.unwrap_or_else(|error| panic!("{what}: receiver: {error}"));
    let sender = ended.sender.unwrap_or_else(|error| panic!("{what}: sender: {error}"));
    assert_eq!(receiver.rows(), sets.receiver_rows, "{what}: the receiver's rows");
    match case.learns {
        Learns::Receiver => assert!(sender.is_none(), "{what}: the sender learnt something"),
        Learns::Both => assert_eq!(sender.unwrap().rows(), sets.sender_rows, "{what}: the sender's rows"),
    }
    let shape = shape(sets, case);
    let sent = [ended.traffic.payload_sent, ended.traffic.payload_received];
    let formulas = [entry.bytes(Role::Receiver, &shape), entry.bytes_to(Role::Receiver, &shape)];
    if entry.is_at_most(&shape) {
        assert!(sent[0] <= formulas[0] && sent[1] <= formulas[1], "{what}: {sent:?} of {formulas:?}");
    } else {
        assert_eq!(sent, formulas, "{what}: bytes of the receiver, and to it");
    }
    let learnt = ended.helper.map(|helper| helper.result);
    let expected = entry.has_helper().then_some(Ok(receiver.items() as u64));
    assert_eq!(learnt, expected, "{what}: what the helper learns");
}

pub fn planted_intersections_equal_the_plain_join(protocols: &[&'static Entry]) {
    for entry in protocols {
        let n = entry.test_items;
        let sizes = [
            (0, 0, 0),
            (0, 5, 0),
            (5, 0, 0),
            (1, 1, 0),
            (1, 1, 1),
            (1, n, 1),
            (n, 1, 1),
            (n, n, 0),
            (n, n, n / 3),
            (n, n, n),
            (n / 4 + 3, n, n / 8),
            (n, n / 4 + 3, n / 8),
        ];
        for (seed, (receiver, sender, common)) in (0..).zip(sizes) {
            // Each seed is another RSA key.
            let seed = if slow(entry) { seed % 2 } else { seed };
            for &learns in modes(entry) {
                let case = Case { learns, seed, ..usual(entry) };
                check(entry, &planted_for(&case.parameters, receiver, sender, common, seed), case);
            }
        }
    }
}

pub fn every_form_of_a_protocol_equals_the_plain_join(protocols: &[&'static Entry]) {
    let forms = protocols.iter().flat_map(|entry| ways(entry).into_iter().map(move |form| (entry, form)));
    each(forms, |(entry, parameters)| {
        let most = if slow(entry) { 2 * entry.test_items } else { 300 };
        let (some, common) = (most * 2 / 15, most / 18 + 1);
        let sizes = [
            (0, 3, 0),
            (some, most, common),
            (1, 1, 1),
            (most / 2, most / 2, most / 8),
            (most, some, common),
        ];
        let may = |learns: &&Learns| **learns == Learns::Receiver || entry.learns_both_with(&parameters);
        let modes: Vec<Learns> = modes(entry).iter().filter(may).copied().collect();
        // Base OTs over P-384 and P-521 take most of a second: one run for each of the modes.
        let costly = parameters.level > 128;
        let sizes = if costly { vec![sizes[1], sizes[4]] } else { sizes.to_vec() };
        for (index, (receiver, sender, common)) in sizes.into_iter().enumerate() {
            let sets = planted_for(&parameters, receiver, sender, common, 21);
            let modes = if costly { modes.get(index..=index).unwrap_or_default() } else { &modes[..] };
            for &learns in modes {
                check(entry, &sets, Case { parameters, learns, ..Case::default() });
            }
        }
    });
}

/// In a part of a run λ is longer. What depends on λ on the wire is so, too; nothing else changes.
pub fn a_longer_lambda_lengthens_masks_and_keeps_the_intersection(protocols: &[&'static Entry]) {
    let digests = |parameters: &Parameters| parameters.sigma.is_none() && !parameters.paper;
    let forms = protocols
        .iter()
        .flat_map(|entry| ways(entry).into_iter().filter(digests).map(move |parameters| (entry, parameters)));
    each(forms, |(entry, usual)| {
        let most = if slow(entry) { 2 * entry.test_items } else { 300 };
        let sets = planted_for(&usual, most, most / 3, most / 9 + 1, 21);
        let bytes = [STATISTICAL_SECURITY, 42, MOST_STATISTICAL_SECURITY].map(|statistical| {
            let case = Case { parameters: Parameters { statistical, ..usual }, ..Case::default() };
            assert_eq!(entry.supports.unsupported(&case.parameters), None, "{}", entry.name);
            // The usual λ is that of all other tests. Base OTs over P-384 and P-521 take most of a second.
            let longest = statistical == MOST_STATISTICAL_SECURITY;
            if longest || statistical != STATISTICAL_SECURITY && usual.level <= 128 {
                check(entry, &sets, case);
            }
            let shape = shape(&sets, case);
            entry.bytes(Role::Receiver, &shape) + entry.bytes_to(Role::Receiver, &shape)
        });
        // Others send whole hashes, field elements or ciphertexts, or a circuit whose triples are made in another way.
        let masks = [
            "vole",
            "dh",
            "dh-ffc",
            "blind-rsa",
            "dt-dl",
            "dt-rsa",
            "kkrt",
            "ot-phasing",
            "ot-psi",
            "gbf-random",
            "naive-hash",
        ];
        let lengthens = masks.contains(&entry.name) && usual.security == Security::SemiHonest;
        assert!(!lengthens || bytes.is_sorted() && bytes[0] < bytes[2], "{} {usual:?} {bytes:?}", entry.name);
    });
}

pub fn the_transcript_carries_the_messages_of_the_paper(protocols: &[&'static Entry]) {
    // A message ends with its frame; a long one takes several, which end at multiples of this in the stream.
    const FULL: usize = 1 << 16;
    let frames = |messages: &mut dyn Iterator<Item = usize>| {
        let (mut frames, mut sent) = (Vec::new(), 0);
        for mut left in messages {
            while left > 0 {
                let frame = left.min(FULL - sent % FULL);
                frames.push(frame);
                sent += frame;
                left -= frame;
            }
        }
        frames
    };
    for entry in protocols {
        let agreements = &KeyAgreement::ALL[..if entry.supports.base_ots { 2 } else { 1 }];
        let sizes = [(40, 50), (50, 40), (50, 50)];
        for ((receiver, sender), &base_ots) in
            sizes.into_iter().flat_map(|sizes| agreements.iter().map(move |agreement| (sizes, agreement)))
        {
            for &learns in modes(entry) {
                let usual = usual(entry);
                let case = Case { learns, parameters: Parameters { base_ots, ..usual.parameters }, ..usual };
                let sets = planted_for(&case.parameters, receiver, sender, 11, 1);
                if entry.is_at_most(&shape(&sets, case)) {
                    continue;
                }
                let (first, second, wire) = lying_wire(None);
                assert!(run_over(entry, &sets, case, (first, second)).confirmed(), "{}", entry.name);
                let messages = [Role::Receiver, Role::Sender].map(|from| {
                    let shape = shape(&sets, case);
                    let direct =
                        |(message, _): &(&Message, u64)| message.from == from && message.to == from.other();
                    let mine = entry.sent(&shape).filter(direct);
                    frames(&mut mine.map(|(_, bytes)| bytes as usize))
                });
                let gates = entry.gates_of(&shape(&sets, case));
                if gates.is_some_and(|gates| gates.depth.is_some()) {
                    // A message of such an entry is a part of many, one or two for each layer of the circuit.
                    let total = |frames: &[Vec<usize>; 2]| {
                        frames.each_ref().map(|frames| frames.iter().sum::<usize>())
                    };
                    assert_eq!(total(&wire.frames()), total(&messages), "{} {receiver}x{sender}", entry.name);
                    continue;
                }
                assert_eq!(wire.frames(), messages, "{} {receiver}x{sender} {learns:?}", entry.name);
            }
        }
    }
}

pub fn duplicates_come_out_with_every_row(protocols: &[&'static Entry]) {
    let sets = Planted {
        receiver: items(&["a", "b", "a", "c", "a", "b"]),
        sender: items(&["x", "b", "a", "b"]),
        receiver_rows: vec![0, 1, 2, 4, 5],
        sender_rows: vec![1, 2, 3],
    };
    for entry in protocols.iter().filter(|entry| entry.supports.digests) {
        for &learns in modes(entry) {
            let ended = run_pair(entry, &sets, Case { learns, ..Case::default() });
            let matches = ended.receiver.unwrap();
            assert_eq!(matches.rows(), sets.receiver_rows, "{}", entry.name);
            assert_eq!(matches.items(), 2, "{}", entry.name);
            if let Some(matches) = ended.sender.unwrap() {
                assert_eq!(matches.rows(), sets.sender_rows, "{}", entry.name);
            }
        }
    }
}

/// The first run makes base OTs, the second one takes them: it sends none of their messages, which the
/// formulas say too, and ends with the plain join. Its transcript is not that of a third.
pub fn kept_base_ots_spare_their_messages_and_change_no_result(protocols: &[&'static Entry]) {
    for entry in protocols {
        for parameters in ways(entry) {
            let sets = planted_for(&parameters, 90, 70, 31, 4);
            let case = Case { parameters, ..Case::default() };
            let fresh = shape(&sets, case);
            let count = entry.kept_base_ots(&fresh);
            if count == 0 {
                continue;
            }
            let what = format!("{} {parameters:?}", entry.name);
            assert_eq!(parameters.security, Security::SemiHonest, "{what}");
            let mut kept = [BaseOtCache::new(), BaseOtCache::new()];
            let mut digests = Vec::new();
            for (number, kept_base_ots) in [false, true, true].into_iter().enumerate() {
                let shape = Shape { kept_base_ots, ..fresh };
                let ends = vesica_channel::memory::pair();
                let ended = run_keeping(entry, &sets, case, ends, kept.each_ref().map(Some));
                assert_eq!(ended.receiver.unwrap().rows(), sets.receiver_rows, "{what}: run {number}");
                assert!(ended.sender.unwrap().is_none());
                let sent = [Role::Receiver, Role::Sender].map(|from| entry.bytes(from, &shape));
                assert_eq!([ended.traffic.payload_sent, ended.traffic.payload_received], sent, "{what}");
                digests.push(ended.digests.sent);
                kept = kept.map(|cache| cache.into_cached().unwrap()).map(|kept| {
                    assert_eq!(
                        (kept.count() as u64, kept.generation()),
                        (count, 1 + number as u64),
                        "{what}"
                    );
                    BaseOtCache::of(kept)
                });
            }
            let spared = [Role::Receiver, Role::Sender].map(|from| {
                entry.bytes(from, &fresh) - entry.bytes(from, &Shape { kept_base_ots: true, ..fresh })
            });
            let [from_receiver, from_sender] = match entry.family {
                "ot_based" => vesica_ot::base::cache::bytes_for_code(parameters.base_ots, count),
                _ => vesica_ot::base::cache::bytes(parameters.base_ots, parameters.level, count),
            };
            // The receiver of the base OTs is the sender of the protocol.
            assert_eq!(spared, [from_sender, from_receiver], "{what}");
            // Same context, items and randomness: the generation alone tells the last two apart.
            assert_ne!(digests[1], digests[2], "{what}");
        }
    }
}

/// Base OTs from ML-KEM: two messages are other ones, and nothing else of what is sent is longer or shorter. A protocol
/// without base OTs, and a level above 128, are refused.
pub fn base_ots_from_ml_kem_are_those_of_the_protocol(protocols: &[&'static Entry]) {
    for entry in protocols {
        for usual in ways(entry).into_iter().filter(|usual| usual.base_ots == KeyAgreement::DiffieHellman) {
            let parameters = Parameters { base_ots: KeyAgreement::MlKem, ..usual };
            let (makes, what) = (entry.supports.base_ots, format!("{} {usual:?}", entry.name));
            if !makes || usual.level > 128 {
                assert_eq!(
                    entry.supports.unsupported(&parameters),
                    Some(Unsupported::BaseOts { makes }),
                    "{what}"
                );
                continue;
            }
            assert_eq!(entry.supports.unsupported(&parameters), None, "{what}");
            assert_ne!(usual.text(), parameters.text(), "hashes are bound to the key agreement");
            let shape = Shape { parameters: usual, ..Shape::new(Sizes { receiver: 300, sender: 200 }) };
            let other = Shape { parameters, ..shape };
            let sent = entry.sent(&shape).zip(entry.sent(&other));
            let changed: Vec<_> = sent.filter(|((_, before), (_, after))| before != after).collect();
            for ((message, before), (_, after)) in &changed {
                assert!(message.what.contains("base OT") || message.what.contains("silent OTs"), "{what}");
                assert!(after > before, "{what}: {}", message.what);
            }
            assert!(changed.iter().any(|((message, _), _)| message.from == Participant::Receiver), "{what}");
            assert!(changed.iter().any(|((message, _), _)| message.from == Participant::Sender), "{what}");
            assert_eq!(entry.flights_of(&shape), entry.flights_of(&other), "{what}");
            assert_eq!(entry.kept_base_ots(&other), 0, "{what}");
        }
    }
}

pub fn padding_is_never_matched(protocols: &[&'static Entry]) {
    // Integers have no number that no key can have.
    for entry in protocols.iter().filter(|entry| entry.supports.digests) {
        let mut sets = planted(100, 60, 25, 3);
        let mut rng = <rand::rngs::StdRng as rand::SeedableRng>::seed_from_u64(1);
        sets.receiver.pad(128, &mut rng).unwrap();
        sets.sender.pad(128, &mut rng).unwrap();
        assert_eq!((sets.receiver.len(), sets.sender.len()), (128, 128));
        for &learns in modes(entry) {
            check(entry, &sets, Case { learns, ..Case::default() });
        }
    }
}

pub fn the_transcript_does_not_depend_on_threads(protocols: &[&'static Entry]) {
    for entry in protocols {
        let (some, most) =
            if slow(entry) { (3 * entry.test_items, 5 * entry.test_items) } else { (1500, 2100) };
        for (receiver, sender) in [(some, most), (most, some)] {
            let sets = planted_for(&entry.supports.usual(), receiver, sender, some / 4, 5);
            let digests = |threads| {
                let ended = run_pair(
                    entry,
                    &sets,
                    Case { threads, learns: modes(entry)[modes(entry).len() - 1], seed: 9, ..usual(entry) },
                );
                let transcript = ended.transcript();
                assert_eq!(ended.receiver.unwrap().rows(), sets.receiver_rows);
                transcript
            };
            let one = digests(1);
            let others: &[usize] = if slow(entry) { &[3] } else { &[2, 3, 7] };
            assert!(others.iter().all(|&threads| digests(threads) == one), "{}", entry.name);
        }
    }
}

/// The forms of the Bloom filters, of which the papers' have steps of their own that threads share.
pub fn no_form_of_the_bloom_filters_depends_on_threads(protocols: &[&'static Entry]) {
    for entry in protocols.iter().filter(|entry| entry.family == "bloom_filter") {
        for parameters in ways(entry) {
            let sets = planted_for(&parameters, 1500, 1300, 400, 5);
            let [one, four] = [1, 4].map(|threads| {
                let ended = run_pair(entry, &sets, Case { threads, parameters, ..Case::default() });
                assert_eq!(ended.receiver.unwrap().rows(), sets.receiver_rows);
                ended.digests
            });
            assert!(one == four, "{} {parameters:?}", entry.name);
        }
    }
}

pub fn fresh_randomness_changes_the_transcript_and_not_the_result(protocols: &[&'static Entry]) {
    for entry in protocols {
        let sets = planted_for(&entry.supports.usual(), 50, 50, 20, 5);
        let [first, second] = [1, 2].map(|seed| run_pair(entry, &sets, Case { seed, ..usual(entry) }));
        assert_eq!(first.receiver.unwrap().rows(), second.receiver.unwrap().rows());
        let digests = [(Role::Receiver, first.digests.sent, second.digests.sent)];
        let digests =
            digests.into_iter().chain([(Role::Sender, first.digests.received, second.digests.received)]);
        for (role, first, second) in digests {
            let silent = entry.bytes(role, &shape(&sets, usual(entry))) == 0;
            assert!(silent || first != second, "{}: what the {role} sends", entry.name);
        }
    }
}

/// All that the receiver and the sender send, with these seeds of their randomness.
fn sent(entry: &Entry, sets: &Planted, case: Case, seeds: [u64; 2]) -> [Vec<u8>; 2] {
    let sent = Arc::new(Mutex::new([Vec::new(), Vec::new()]));
    let seen = sent.clone();
    let (mine, theirs) = tampered::pair(move |direction, frame| {
        if frame.kind == Kind::Data {
            let party = usize::from(direction == DIRECTIONS[1]);
            seen.lock().unwrap()[party].extend_from_slice(&frame.payload);
        }
        vec![frame]
    });
    let [mut first, mut second] = seeds.map(StdRng::seed_from_u64);
    let agreed = (entry, sets, case);
    let ended = thread::scope(|scope| {
        let sender = scope.spawn(move || play_role(agreed, Role::Sender, theirs, None, &mut second));
        let receiver = play_role(agreed, Role::Receiver, mine, None, &mut first);
        receiver.and(sender.join().unwrap())
    });
    assert!(ended.is_ok(), "{}: {ended:?}", entry.name);
    let sent = sent.lock().unwrap();
    sent.clone()
}

/// What a party sends is hidden by what it draws itself: if it draws anew, and its partner the same as before, no block
/// of its messages comes again. Without its blinding a message would be as before.
pub fn flaw_messages_that_the_randomness_of_their_sender_does_not_hide(protocols: &[&'static Entry]) {
    let hiding = |entry: &&&Entry| !entry.has_helper() && entry.family != "insecure";
    let forms = protocols.iter().filter(hiding).flat_map(|entry| {
        // Big integers at the level at which they are short. Paillier's key has one length, and takes seconds.
        let public_key = entry.family == "public_key";
        let short = public_key && entry.supports.levels.contains(&80);
        let usual = entry.supports.usual();
        let usual = Parameters { level: if short { 80 } else { usual.level }, ..usual };
        let variants = entry.supports.variants.iter();
        let variants = variants.filter(move |variant| public_key && variant.name != "paillier");
        let variants = variants.map(move |variant| Parameters { variant: Some(variant), ..usual });
        std::iter::once(usual).chain(variants).map(move |parameters| (entry, parameters))
    });
    each(forms, |(entry, parameters)| {
        // The larger set may decide who sends what. A match may have a mask that both parties know.
        for (receiver, sender) in [(5, 7), (7, 5)] {
            let sets = planted_for(&parameters, receiver, sender, 0, 5);
            let of = |seeds| sent(entry, &sets, Case { parameters, ..Case::default() }, seeds);
            let before = of([1, 2]);
            for (party, after) in [of([3, 2]), of([1, 4])].iter().enumerate() {
                let blocks = before[party].as_chunks::<8>().0.iter().zip(after[party].as_chunks::<8>().0);
                let again = blocks.filter(|(before, after)| before == after && **before != [0; 8]).count();
                // The id of an offline phase belongs to the session.
                let of_session = if entry.name == "gbf-rr16" { 4 } else { 0 };
                assert!(again <= of_session, "{} {}, party {party}", entry.name, parameters.text());
            }
        }
    });
}

pub fn a_set_of_another_size_than_agreed_is_refused(protocols: &[&'static Entry]) {
    use crate::{Ctx, Sizes};
    for entry in protocols {
        let parameters = entry.supports.usual();
        let sets = planted_for(&parameters, 4, 4, 1, 1);
        let sizes = Sizes { receiver: 5, sender: 5 };
        let run = entry.run(&[0; 32], sizes, parameters);
        let (mut a, _b) = vesica_channel::memory::pair();
        let mut rng = <rand::rngs::StdRng as rand::SeedableRng>::seed_from_u64(1);
        let wrong = Error::Misuse(Misuse::SizeMismatch { agreed: 5, given: 4 });
        let ctx = &mut Ctx::new(&run, &mut a, &mut rng);
        assert_eq!(entry.receive(ctx, &sets.receiver).unwrap_err(), wrong);
        assert_eq!(entry.send(ctx, &sets.sender).unwrap_err(), wrong);
    }
}
