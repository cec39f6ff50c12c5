//! A receiver that declares ten keys and asks about hundreds: it asks for many parts, and fills the places of each with
//! guesses that fall into it.

use super::*;
use crate::scale::parts::engine::keyed;
use crate::scale::parts::set::Kept;
use crate::words::settings::Limits;

/// A receiver that is honest but for the items of its parts, which are as many of these as fit.
fn guessing(
    guesses: &Items,
    agreed: &Agreed,
    mut run: Connection,
    links: &mut dyn Links,
    play_options: &PlayOptions<'_>,
) -> Played {
    let rng = &mut StdRng::seed_from_u64(4);
    let job = toss::agree(agreed, Player::process(1), &mut run, rng)?;
    let digests: Vec<u8> = guesses.digests().flatten().copied().collect();
    let (of, under_key) = keyed(&job.items_key, agreed.parts, Width::Digest256, &digests);
    let (bound, declared) = (agreed.played().receiver, agreed.sizes.receiver as u64);
    let part = |part: usize| {
        let mut builder = ItemsBuilder::new(Encoding::Digest(Width::Digest256), 0).unwrap();
        let fall = (0..).zip(under_key.chunks_exact(32)).zip(&of).filter(|(_, of)| **of as usize == part);
        fall.take(bound).for_each(|((row, item), _)| builder.push_digest(row, item).unwrap());
        let mut items = builder.build(OnDuplicates::First).unwrap();
        agreed.parts.fill(part, declared, &mut items, &mut StdRng::seed_from_u64(part as u64)).unwrap();
        items
    };
    let parts = (0..agreed.parts.count()).map(part).collect();
    // The set itself is of no use, but for its size.
    let split = Split::new(guesses, &job.items_key, agreed.parts).unwrap();
    let partitioned = PartitionedRun { agreed, set: PartSet::InMemory { split, parts }, job };
    let progress = PartProgress::new(play_options.reporter);
    let mut line = RunConnection::begin(run, links, &partitioned, play_options, rng)?;
    let tally = partitioned.play(&mut line, play_options, &progress, rng)?;
    partitioned.confirm(&tally, &mut line, play_options.reporter)?;
    drop(line);
    let mut rows = Vec::new();
    for kept in tally.into_chosen() {
        if let Some(Kept::Pending(pending)) = kept {
            rows.extend(pending.matches()?.into_rows());
        }
    }
    Ok(Some(guesses.matches(rows.into_iter().map(|row| row as usize))))
}

/// The settings of both sides, the receiver's first: what they end with.
fn ends(sets: [&Items; 3], [mine, theirs]: [&Settings; 2]) -> [End; 2] {
    let [declared, guesses, senders] = sets;
    let (run, their_run) = memory::pair(&CancelToken::new());
    let (mut makes, mut takes) = InMemory::pair();
    thread::scope(|scope| {
        let sender = scope
            .spawn(move || side_of_any(Role::Sender, senders, theirs, (their_run, &mut takes, 1), &honest));
        let cheat = |agreed: &Agreed,
                     _: &Items,
                     run: Connection,
                     links: &mut dyn Links,
                     play_options: &PlayOptions<'_>| {
            guessing(guesses, agreed, run, links, play_options)
        };
        let receiver = side_of_any(Role::Receiver, declared, mine, (run, &mut makes, 1), &cheat);
        drop(makes);
        [receiver, sender.join().unwrap()]
    })
}

#[test]
fn a_receiver_of_ten_keys_does_not_ask_about_hundreds() {
    let names: Vec<String> = (0..800).map(|n| format!("+4179{n:07}")).collect();
    let of = |names: &[String]| Items::of_keys(Width::Digest256, names).unwrap();
    let (declared, guesses) = (of(&names[..10]), of(&names));
    let senders = of(&names.iter().step_by(20).cloned().collect::<Vec<_>>());
    let sets = [&declared, &guesses, &senders];
    for protocol in ["dkt", "vole"] {
        let mine = settings(protocol, Security::Malicious, 64);
        let usual = settings(protocol, Security::Malicious, 1);
        let theirs = |max_peer_rows, max_parts, parts| {
            let limits = Limits { max_peer_rows, max_parts, ..Limits::default() };
            Settings { limits, parts, ..usual.clone() }
        };
        // Without a `--max-parts` it accepts two parts of ten keys. With one, or if it asks for parts itself, its limit on
        // the partner's keys holds: ten, and a quarter of ten.
        let asked = Asked { whose: "receiver", items: 10, slots: 640, limit: 10, most: 12 };
        let too_many = |limiter| PartsError::TooMany { count: 64, limiter, most: 2 };
        let questions = |limiter| PartsError::Questions { count: 64, limiter, asked };
        let refusals: [(Settings, &dyn Fn(&'static str) -> PartsError); 4] = [
            (theirs(10, None, 1), &too_many),
            (theirs(1 << 30, None, 1), &too_many),
            (theirs(10, Some(MOST), 1), &questions),
            (theirs(10, None, 64), &questions),
        ];
        for (theirs, expected) in refusals {
            for (end, limiter) in ends(sets, [&mine, &theirs]).into_iter().zip(["the partner", "this side"]) {
                assert_eq!(end.result, Err(expected(limiter).into()));
                assert_eq!(end.exit_code(), 77);
            }
        }
        // Somebody who lifts both limits is told of the questions, and asked them.
        let [receiver, sender] = ends(sets, [&mine, &theirs(1 << 30, Some(MOST), 1)]);
        assert_eq!(sender.rows(), None);
        assert!(receiver.rows().unwrap().len() > 20, "{protocol}: of 40 keys");
    }
}
