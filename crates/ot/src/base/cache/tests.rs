use std::collections::HashSet;
use std::thread;

use rand::SeedableRng;
use rand::rngs::StdRng;
use vesica_channel::memory;

use super::*;
use crate::base::bit;

const LABEL: Label = Label::new("test: kept");

fn context(run: u8) -> Context {
    Context::new(&[run; 32], "test", b"", 1, 1)
}

/// Both parties' strings, and the payload bytes that the sender of the base OTs sent and received.
fn run(cache: [Option<&BaseOtCache>; 2], run: u8, count: usize) -> (Vec<[Seed; 2]>, Chosen, [u64; 2]) {
    run_at(LEAST_LEVEL, cache, run, count)
}

fn run_at(
    level: u32,
    cache: [Option<&BaseOtCache>; 2],
    run: u8,
    count: usize,
) -> (Vec<[Seed; 2]>, Chosen, [u64; 2]) {
    let agreement = KeyAgreement::DiffieHellman;
    run_from(level, cache.map(|cache| Origin { agreement, cache }), run, count)
}

fn run_from(
    level: u32,
    origins: [Origin<'_>; 2],
    run: u8,
    count: usize,
) -> (Vec<[Seed; 2]>, Chosen, [u64; 2]) {
    let (mut here, mut there) = memory::pair();
    thread::scope(|scope| {
        let receiver = scope.spawn(move || {
            let rng = &mut StdRng::seed_from_u64(u64::from(run));
            receive(level, &context(run), LABEL, count, origins[1], &mut there, rng).unwrap()
        });
        let rng = &mut StdRng::seed_from_u64(100 + u64::from(run));
        let pairs = send(level, &context(run), LABEL, count, origins[0], &mut here, rng).unwrap();
        let traffic = here.traffic();
        (pairs, receiver.join().unwrap(), [traffic.payload_sent, traffic.payload_received])
    })
}

fn check(pairs: &[[Seed; 2]], Chosen { choices, seeds }: &Chosen) {
    assert_eq!(pairs.len(), seeds.len());
    for (i, (pair, seed)) in pairs.iter().zip(seeds).enumerate() {
        let choice = usize::from(bit(choices, i));
        assert!(pair[choice] == *seed && pair[1 - choice] != *seed, "base OT {i}");
    }
}

/// The caches of both parties after a first run for `count`.
fn kept(count: usize) -> [CachedBaseOts; 2] {
    let cache = [BaseOtCache::new(), BaseOtCache::new()];
    let (pairs, chosen, _) = run([Some(&cache[0]), Some(&cache[1])], 0, count);
    check(&pairs, &chosen);
    cache.map(|cache| cache.into_cached().unwrap())
}

#[test]
fn later_runs_send_nothing_and_have_strings_of_their_own() {
    let cache = [BaseOtCache::new(), BaseOtCache::new()];
    let (pairs, chosen, bytes) = run([Some(&cache[0]), Some(&cache[1])], 0, 64);
    check(&pairs, &chosen);
    assert_eq!(bytes, [32, 64 * 64], "the first run makes them");
    let mut seen: HashSet<[u8; 32]> = pairs.as_flattened().iter().map(|seed| *seed.as_bytes()).collect();
    let mut kept = cache.map(|cache| cache.into_cached().unwrap());
    for number in 1..4 {
        assert_eq!(kept.each_ref().map(CachedBaseOts::generation), [u64::from(number); 2]);
        let cache = kept.map(BaseOtCache::of);
        // Those base OTs again, and fewer than there are.
        let (pairs, later, bytes) = run([Some(&cache[0]), Some(&cache[1])], number, 56);
        check(&pairs, &later);
        assert_eq!(bytes, [0, 0], "a later one sends nothing");
        assert_eq!(later.choices[..], chosen.choices[..7], "the choices stay");
        assert!(
            pairs.as_flattened().iter().all(|seed| seen.insert(*seed.as_bytes())),
            "a string of another run"
        );
        kept = cache.map(|cache| cache.into_cached().unwrap());
    }
}

#[test]
fn a_run_that_keeps_nothing_is_as_ever() {
    let (pairs, chosen, bytes) = run([None, None], 3, 24);
    check(&pairs, &chosen);
    assert_eq!(bytes, [32, 64 * 24]);
}

/// The messages have elements of ristretto255 up to level 128, of P-384 at 192 and of P-521 at 256.
#[test]
fn every_level_has_its_base_ots() {
    let expected =
        [(80, [32, 64 * 16]), (128, [32, 64 * 16]), (192, [2 * 49, 49 * 16]), (256, [2 * 67, 67 * 16])];
    for (level, [sent, received]) in expected {
        let (pairs, chosen, counted) = run_at(level, [None, None], 4, 16);
        check(&pairs, &chosen);
        assert_eq!(counted, [sent, received], "level {level}");
        assert_eq!(bytes(KeyAgreement::DiffieHellman, level, 16), [received, sent], "level {level}");
    }
}

/// From ML-KEM: at the levels up to 128, for any extension, and nothing is kept.
#[test]
fn those_from_ml_kem_are_for_levels_up_to_128_and_are_not_kept() {
    let agreement = KeyAgreement::MlKem;
    for level in [80, 128] {
        let cache = [BaseOtCache::new(), BaseOtCache::new()];
        let origins = cache.each_ref().map(|cache| Origin { agreement, cache: Some(cache) });
        let (pairs, chosen, counted) = run_from(level, origins, 4, 16);
        check(&pairs, &chosen);
        let [received, sent] = bytes(agreement, level, 16);
        assert_eq!((counted, [received, sent]), ([sent, received], [2336 * 16, 2176 * 16]));
        assert_eq!(bytes_for_code(agreement, 16), [received, sent]);
        assert!(cache.into_iter().all(|cache| cache.into_cached().is_none()));
    }
    let (mut here, _there) = memory::pair();
    for level in [192, 256] {
        let (origin, rng) = (agreement.into(), &mut StdRng::seed_from_u64(1));
        let sent = send(level, &context(1), LABEL, 16, origin, &mut here, rng);
        assert_eq!(sent.err(), Some(Error::UnfitBaseOts));
        let received = receive(level, &context(1), LABEL, 16, origin, &mut here, rng);
        assert_eq!(received.err(), Some(Error::UnfitBaseOts));
    }
}

/// A run that asks for ML-KEM takes no base OTs that Diffie–Hellman has made.
#[test]
fn flaw_kept_ones_from_diffie_hellman_serve_no_run_from_ml_kem() {
    let [sender, receiver] = kept(16).map(BaseOtCache::of);
    let (mut here, _there) = memory::pair();
    let rng = &mut StdRng::seed_from_u64(1);
    let of = |cache| Origin { agreement: KeyAgreement::MlKem, cache: Some(cache) };
    let unfit = Some(Error::UnfitBaseOts);
    let (context, channel) = (context(1), &mut here);
    assert_eq!(send(LEAST_LEVEL, &context, LABEL, 16, of(&sender), channel, rng).err(), unfit);
    assert_eq!(start_send(&context, LABEL, 16, of(&sender), channel, rng).err(), unfit);
    assert_eq!(receive(LEAST_LEVEL, &context, LABEL, 16, of(&receiver), channel, rng).err(), unfit);
    assert_eq!(receive_for_code(&context, LABEL, 16, of(&receiver), channel, rng).err(), unfit);
}

/// Kept ones serve the level they were made for and no other: a run at a lower level, where less hides the
/// choices, would show them to that much work. At level 80 nothing is kept.
#[test]
fn flaw_kept_ones_serve_their_own_level_alone() {
    for made in [80, 112, 128, 192, 256] {
        let cache = [BaseOtCache::new(), BaseOtCache::new()];
        let (pairs, chosen, _) = run_at(made, cache.each_ref().map(Some), 0, 16);
        check(&pairs, &chosen);
        let kept = cache.map(BaseOtCache::into_cached);
        assert_eq!(
            kept.each_ref().map(Option::is_some),
            [may_be_cached(KeyAgreement::DiffieHellman, made); 2],
            "{made}"
        );
        let [Some(sender), Some(receiver)] = kept else { continue };
        assert_eq!([sender.level(), receiver.level()], [made; 2]);
        for level in [80, 112, 128, 192, 256] {
            let again = || {
                [&sender, &receiver]
                    .map(|kept| BaseOtCache::of(CachedBaseOts::from_bytes(&kept.to_bytes()).unwrap()))
            };
            if level == made {
                let cache = again();
                let (pairs, later, counted) = run_at(level, cache.each_ref().map(Some), 1, 16);
                check(&pairs, &later);
                assert_eq!(counted, [0, 0]);
                assert_eq!(
                    later.choices, chosen.choices,
                    "the choices stay, which is why no other level may have them"
                );
                continue;
            }
            let (mut here, _there) = memory::pair();
            let (rng, [sender, receiver]) = (&mut StdRng::seed_from_u64(1), again());
            let sent = send(level, &context(1), LABEL, 16, Origin::from(&sender), &mut here, rng);
            assert_eq!(sent.err(), Some(Error::UnfitBaseOts), "{made} for {level}");
            let received = receive(level, &context(1), LABEL, 16, Origin::from(&receiver), &mut here, rng);
            assert_eq!(received.err(), Some(Error::UnfitBaseOts), "{made} for {level}");
        }
    }
}

/// Two runs at once start from one state. Session id, label, number and generation each make other strings;
/// nothing else goes in, so a partner that repeats all it said before can make the same strings only if this
/// side's part of the session id repeats too, and the generation has not moved on.
#[test]
fn session_label_number_and_generation_count() {
    let [mut sender, _] = kept(16);
    let strings = |sender: &CachedBaseOts, run: u8, label| {
        let pairs = sender.pairs_of(LEAST_LEVEL, &context(run), label, 16).unwrap();
        pairs.as_flattened().iter().map(|seed| *seed.as_bytes()).collect::<Vec<_>>()
    };
    let first = strings(&sender, 1, LABEL);
    assert_eq!(first, strings(&sender, 1, LABEL));
    let mut seen: HashSet<_> = first.into_iter().collect();
    assert_eq!(seen.len(), 32, "all strings of a run differ");
    let mut fresh =
        |strings: Vec<[u8; 32]>| strings.into_iter().for_each(|string| assert!(seen.insert(string)));
    fresh(strings(&sender, 2, LABEL));
    fresh(strings(&sender, 1, Label::new("test: another")));
    let roots = |sender: &CachedBaseOts| sender.to_bytes()[17..].as_chunks::<32>().0.to_vec();
    fresh(roots(&sender));
    sender.renew_until(2);
    fresh(roots(&sender));
    // A replay of the first run.
    fresh(strings(&sender, 1, LABEL));
}

#[test]
fn a_party_that_fell_behind_catches_up() {
    let [mut sender, mut receiver] = kept(32);
    receiver.renew_until(9);
    sender.renew_until(9);
    sender.renew_until(4);
    assert_eq!([sender.generation(), receiver.generation()], [9, 9], "there is no way back");
    let cache = [sender, receiver].map(BaseOtCache::of);
    let (pairs, chosen, _) = run([Some(&cache[0]), Some(&cache[1])], 5, 32);
    check(&pairs, &chosen);
}

#[test]
fn what_is_stored_comes_back_and_nothing_else_does() {
    let both = kept(40);
    assert_eq!(both.each_ref().map(CachedBaseOts::is_sender), [true, false]);
    let again = both.each_ref().map(|kept| CachedBaseOts::from_bytes(&kept.to_bytes()).unwrap());
    assert_eq!(again.each_ref().map(|kept| kept.to_bytes()), both.each_ref().map(|kept| kept.to_bytes()));
    let cache = again.map(BaseOtCache::of);
    let (pairs, chosen, _) = run([Some(&cache[0]), Some(&cache[1])], 6, 40);
    check(&pairs, &chosen);
    for kept in &both {
        let bytes = kept.to_bytes();
        assert!((0..bytes.len()).all(|cut| CachedBaseOts::from_bytes(&bytes[..cut]).is_err()));
        assert!(CachedBaseOts::from_bytes(&[&bytes[..], &[0]].concat()).is_err());
        for count in [0u32, 7, 520, u32::MAX] {
            let mut other = bytes.to_vec();
            other[13..17].copy_from_slice(&count.to_le_bytes());
            assert!(CachedBaseOts::from_bytes(&other).is_err(), "{count}");
        }
        let mut weaker = bytes.to_vec();
        weaker[9..13].copy_from_slice(&127u32.to_le_bytes());
        assert!(CachedBaseOts::from_bytes(&weaker).is_err());
    }
}

#[test]
fn what_does_not_fit_is_an_error() {
    let (mut here, _there) = memory::pair();
    let rng = &mut StdRng::seed_from_u64(1);
    let [sender, receiver] = kept(16).map(BaseOtCache::of);
    for (cache, count) in [(&sender, 24), (&receiver, 16)] {
        let sent = send(LEAST_LEVEL, &context(1), LABEL, count, Origin::from(cache), &mut here, rng);
        assert_eq!(sent.err(), Some(Error::UnfitBaseOts));
    }
    for (cache, count) in [(&receiver, 24), (&sender, 16)] {
        let received = receive(LEAST_LEVEL, &context(1), LABEL, count, Origin::from(cache), &mut here, rng);
        assert_eq!(received.err(), Some(Error::UnfitBaseOts));
    }
    assert!(BaseOtCache::new().into_cached().is_none(), "a run that made none keeps none");
}
