//! What a run in parts is bound to: every field of its ids, keys and receipts counts, and a connection plays the part
//! that both sides mean.

use vesica_channel::Digests;
use vesica_net::{Identity, Nonces};

use super::*;
use crate::scale::parts::attempts::Seed;
use crate::scale::parts::part::{ANY, AttemptContext, HEADER, Header, asked, hash_attempt, part_digest};
use crate::scale::parts::toss::{Coins, Job, Players};
use crate::words::auto;

fn agreed(role: Role, sizes: [usize; 2], parts: u32) -> Agreed {
    let settings = settings("vole", Security::Malicious, parts);
    let choice = auto::choose(&settings.protocol, settings.wanted(), None).unwrap();
    let [receiver, sender] = sizes;
    Agreed::of_task(role, choice, Learns::Both, Sizes { receiver, sender }, Parts::new(parts).unwrap())
}

#[track_caller]
fn all_different(values: &[[u8; 32]]) {
    assert_eq!(values.iter().collect::<HashSet<_>>().len(), values.len());
}

#[test]
fn a_job_depends_on_the_session_the_sizes_the_parts_and_both_coins() {
    let job = |agreed: &Agreed, receiver: u8, sender: u8| {
        let keys = Identity::generate().unwrap();
        let theirs = *keys.public_key();
        let coins = Coins { receiver: [receiver; 32], sender: [sender; 32] };
        let players = Players { mine: Player::process(1), theirs: Player::process(1) };
        Job::new(agreed, coins, (keys, theirs), players)
    };
    let of = |sizes, parts| agreed(Role::Receiver, sizes, parts);
    let base = of([1000, 2000], 4);
    let jobs = [
        job(&base, 1, 2),
        job(&base, 3, 2),
        job(&base, 1, 3),
        job(&base, 2, 1),
        job(&of([1001, 2000], 4), 1, 2),
        job(&of([1000, 2001], 4), 1, 2),
        job(&of([1000, 2000], 5), 1, 2),
        job(&base.attempt([1; 32]), 1, 2),
        job(&base.attempt([2; 32]), 1, 2),
    ];
    // J, the key of the split, the tag and A all differ, from run to run and from each other.
    let ids = |job: &Job| [job.id, job.items_key, job.tag, job.attempts_id];
    all_different(&jobs.iter().flat_map(ids).collect::<Vec<_>>());
    let there = agreed(Role::Sender, [1000, 2000], 4);
    assert_eq!(ids(&job(&there, 1, 2)), ids(&jobs[0]), "both sides compute the same");
}

#[test]
fn the_id_of_an_attempt_depends_on_the_connection_the_run_the_part_and_both_bounds() {
    let (sizes, exporter, run) = (Sizes { receiver: 5, sender: 6 }, [1; 64], [2; 32]);
    let nonces = Nonces { mine: [3; 32], theirs: [4; 32] };
    let id = |exporter: [u8; 64], nonces: Nonces, run: [u8; 32], part, sizes| {
        hash_attempt(Role::Receiver, (&exporter, nonces), &run, part, sizes)
    };
    let last = |mut exporter: [u8; 64]| {
        exporter[63] ^= 1;
        exporter
    };
    let base = id(exporter, nonces, run, 7, sizes);
    all_different(&[
        base,
        id(last(exporter), nonces, run, 7, sizes),
        id(exporter, Nonces { mine: [9; 32], ..nonces }, run, 7, sizes),
        id(exporter, Nonces { theirs: [9; 32], ..nonces }, run, 7, sizes),
        id(exporter, Nonces { mine: nonces.theirs, theirs: nonces.mine }, run, 7, sizes),
        id(exporter, nonces, [9; 32], 7, sizes),
        id(exporter, nonces, run, 8, sizes),
        id(exporter, nonces, run, 7, Sizes { receiver: 9, ..sizes }),
        id(exporter, nonces, run, 7, Sizes { sender: 9, ..sizes }),
    ]);
    let there = Nonces { mine: nonces.theirs, theirs: nonces.mine };
    assert_eq!(hash_attempt(Role::Sender, (&exporter, there), &run, 7, sizes), base);
}

#[test]
fn a_receipt_depends_on_the_attempt_both_digests_and_the_count() {
    let of = |role, attempt: u8| agreed(role, [10, 10], 2).attempt([attempt; 32]);
    let digests = |sent, received| Digests { sent: [sent; 32], received: [received; 32] };
    let mine = of(Role::Receiver, 1);
    let base = part_digest(&mine, &digests(2, 3), 4);
    all_different(&[
        base,
        part_digest(&of(Role::Receiver, 9), &digests(2, 3), 4),
        part_digest(&mine, &digests(9, 3), 4),
        part_digest(&mine, &digests(2, 9), 4),
        part_digest(&mine, &digests(3, 2), 4),
        part_digest(&mine, &digests(2, 3), 5),
    ]);
    assert_eq!(part_digest(&of(Role::Sender, 1), &digests(3, 2), 4), base, "both sides compute the same");
}

/// A receiver that alone learns sends nothing that depends on what is asked of it.
#[test]
fn an_attempt_may_have_shown_something_once_the_partner_has_said_more_than_a_header() {
    let settings = settings("vole", Security::Malicious, 2);
    let cancel = CancelToken::new();
    for (role, learns) in [Role::Receiver, Role::Sender]
        .into_iter()
        .flat_map(|role| [Learns::Receiver, Learns::Both].map(|learns| (role, learns)))
    {
        let mut agreed = agreed(role, [10, 10], 2);
        agreed.learns = learns;
        let keys = Identity::generate().unwrap();
        let theirs = *keys.public_key();
        let players = Players { mine: Player::process(1), theirs: Player::process(1) };
        let coins = Coins { receiver: [1; 32], sender: [2; 32] };
        let job = Job::new(&agreed, coins, (keys, theirs), players);
        let partitioned = PartitionedRun { agreed: &agreed, set: PartSet::Elsewhere, job };
        let reporter = Reporter::new(role, &settings, &cancel, &|_| ());
        let (progress, options) = (PartProgress::new(&reporter), Options::default());
        let play_options =
            PlayOptions { threads: 1, device: Device::default(), lanes: 1, options, reporter: &reporter };
        let (seed, missing) = (Seed::draw(&mut StdRng::seed_from_u64(1)), &[0, 1][..]);
        let (partitioned, play_options, progress) = (&partitioned, &play_options, &progress);
        let table =
            AttemptContext { partitioned, play_options, progress, round: 0, missing, threads: 1, seed };
        let (mut here, mut there) = memory::pair(&cancel);
        let mut hears = |bytes: usize| {
            there.send(&vec![0; bytes]).and_then(|()| there.flush()).unwrap();
            here.recv_exact(&mut vec![0; bytes]).unwrap();
            table.may_have_shown(&here)
        };
        assert!(!hears(HEADER));
        assert_eq!(hears(1), (role, learns) != (Role::Receiver, Learns::Receiver), "{role:?} {learns:?}");
    }
}

#[test]
fn a_connection_plays_a_part_of_the_round_that_both_sides_mean() {
    let header = |part| Header { tag: [1; 32], part, round: 3 };
    let (played, other) = ([2, 5, 7], Err(PartsError::Differ("part in mind")));
    let meant = |mine, theirs| asked(&header(mine), &header(theirs), &played);
    // One side names the part, or both the same one.
    for pair in [(5, ANY), (ANY, 5), (5, 5)] {
        assert_eq!(meant(pair.0, pair.1), Ok(Some(5)));
    }
    for pair in [(5, 7), (7, 5), (ANY, ANY), (ANY, 3), (3, ANY), (3, 3), (ANY, 8)] {
        assert_eq!(meant(pair.0, pair.1), other, "{pair:?}");
    }
    for round in [0, 2, 4, u16::MAX] {
        assert_eq!(asked(&header(5), &Header { round, ..header(ANY) }, &played), Ok(None));
    }
    let mut foreign = header(ANY);
    foreign.tag[31] = 0;
    assert_eq!(asked(&header(5), &foreign, &played), Err(PartsError::Differ("run in mind")));
}

/// Threads are shared out among the parts that are played at once.
#[test]
fn a_partner_that_plays_no_part_at_once_ends_the_run_with_76() {
    let sets = planted(Security::Malicious, 100, 100, 10);
    let settings = settings("vole", Security::Malicious, 2);
    fn idles(_: &Agreed, _: &Items, mut run: Connection, _: &mut dyn Links, _: &PlayOptions<'_>) -> Played {
        run.send(&[&[0, 0, 0][..], &[1; 32]].concat()).and_then(|()| run.flush())?;
        run.recv_exact(&mut [0; 36])?;
        Ok(None)
    }
    let [receiver, _] = both([&sets.receiver, &sets.sender], &settings, &[], &idles);
    assert!(matches!(receiver.result, Err(SessionError::Decode { what: "a commitment", .. })));
    assert_eq!(receiver.exit_code(), 76);
}

/// Either side's coin alone makes another job, and keys are made for one run.
#[test]
fn each_side_draws_its_coin_and_its_key_anew() {
    let tossed = |seeds: [u64; 2]| {
        let (mut mine, mut theirs) = memory::pair(&CancelToken::new());
        let toss = |role, run: &mut Connection, seed| {
            let agreed = agreed(role, [10, 10], 2);
            toss::agree(&agreed, Player::process(1), run, &mut StdRng::seed_from_u64(seed)).unwrap()
        };
        thread::scope(|scope| {
            let there = scope.spawn(|| toss(Role::Sender, &mut theirs, seeds[1]));
            let here = toss(Role::Receiver, &mut mine, seeds[0]);
            let there = there.join().unwrap();
            assert_eq!((here.id, here.tag), (there.id, there.tag));
            assert_eq!((here.mine.public_key(), there.mine.public_key()), (&there.theirs, &here.theirs));
            [here.id, *here.mine.public_key().as_bytes(), *there.mine.public_key().as_bytes()]
        })
    };
    all_different(&[[1, 2], [3, 2], [1, 3]].map(tossed).concat());
}

/// A partner that says what it has heard would choose the coin together with this side.
#[test]
fn a_commitment_that_is_ours_ends_the_run_with_76() {
    let sets = planted(Security::Malicious, 100, 100, 10);
    let settings = settings("vole", Security::Malicious, 2);
    fn echoes(_: &Agreed, _: &Items, mut run: Connection, _: &mut dyn Links, _: &PlayOptions<'_>) -> Played {
        for length in [35, 64] {
            let mut said = vec![0; length];
            run.recv_exact(&mut said)?;
            run.send(&said).and_then(|()| run.flush())?;
        }
        run.recv_exact(&mut [0; 1])?;
        Ok(None)
    }
    let [receiver, _] = both([&sets.receiver, &sets.sender], &settings, &[], &echoes);
    assert_eq!(receiver.result, Err(PartsError::Coin.into()));
}

/// Who has seen the other coin may choose its own, so a coin is shown to nobody who has not committed to one.
#[test]
fn no_coin_is_shown_before_the_partner_has_committed_to_its_own() {
    let sets = planted(Security::Malicious, 100, 100, 10);
    let settings = settings("vole", Security::Malicious, 2);
    fn waits(_: &Agreed, _: &Items, mut run: Connection, _: &mut dyn Links, _: &PlayOptions<'_>) -> Played {
        run.recv_exact(&mut [0; 35])?;
        thread::sleep(Duration::from_millis(100));
        run.check()?;
        assert_eq!(run.readable(), 0, "more than a commitment");
        Ok(None)
    }
    let [receiver, sender] = both([&sets.receiver, &sets.sender], &settings, &[], &waits);
    assert!(sender.result.is_ok() && receiver.exit_code() == 69, "{:?}", receiver.result);
}
