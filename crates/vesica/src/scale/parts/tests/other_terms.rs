//! A partner that plays one part with other terms than both sides have agreed on, over connections of TLS, with a whole
//! run of the other side: that one ends with 69 or 76, and writes nothing.

use std::path::Path;
use std::sync::{Mutex, mpsc};

use vesica_net::{Address, Identity, PublicKey};
use vesica_protocols::{Profile, registry};

use super::*;
use crate::job::{Ended, Job as Run};
use crate::scale::parts::attempts::{Seed, SharedTally};
use crate::scale::parts::part::{AttemptContext, Header};
use crate::session::Agreed;
use crate::session::met::Met;
use crate::session::partner::Partner;
use crate::words::report::Event;

/// The part that is played with other terms, and another one.
const CHOSEN: u32 = 1;
const OTHER: u32 = 2;

/// What a side means when it plays a part.
#[derive(Clone)]
struct Meant {
    agreed: Agreed,
    job: toss::Job,
    /// The part and the round that it plays.
    plays: Header,
    /// Those that it says.
    says: Header,
}

/// What somebody changes of that.
type Change = fn(&mut Meant);

/// The honest side's table, and where its result goes.
fn table(folder: &Path, keys: &[String]) -> TableArgs {
    let input = folder.join("mine.csv");
    std::fs::write(&input, format!("k\n{}\n", keys.join("\n"))).unwrap();
    let (keys, dialect) = (MatchRule::parse("k:raw").unwrap().into(), Dialect::default());
    let output = Destination::Path(folder.join("out.csv"));
    TableArgs { input: input.into(), keys, dialect, output, protected: Vec::new() }
}

/// The side that changes something, from the partner to DONE. It goes on for as long as the other one does.
fn changing(
    role: Role,
    settings: &Settings,
    (partner, keys): (&Partner, &[String]),
    change: Change,
) -> Result<(), SessionError> {
    let items = crate::job::sets::items(keys.iter().map(String::as_bytes), settings).unwrap();
    let (terms, cancel) = (Terms::new(role, settings, &["raw".to_owned()]), CancelToken::new());
    let options = Options { silence: settings.timeout, cancel: cancel.clone() };
    let rng = &mut StdRng::seed_from_u64(7);
    let met = partner.meet_to_stay(&session::greeting(&terms), &options, rng, &mut |_| ()).unwrap();
    let Met { mut channel, links } = met;
    let (mut links, identity) = (links.unwrap(), partner.keys.as_ref().map(|(identity, _)| identity));
    let size = items.len();
    let agreed = session::agree_greeted(&mut channel, &terms, settings.wanted(), size, identity)?;
    let partitioned = PartitionedRun::agree(&agreed, &items, Player::process(1), &mut channel, rng)?;
    let header = |part, round| Header { tag: partitioned.job.tag, part, round };
    let meant = |part, round| {
        let plain = header(part, round);
        let mut meant =
            Meant { agreed: agreed.clone(), job: partitioned.job.clone(), plays: plain, says: plain };
        if part == CHOSEN {
            change(&mut meant);
        }
        meant
    };
    // The terms of the chosen part are the same in every round, but for its headers.
    let chosen = meant(CHOSEN, 0);
    let set = KeySet::from(&items).split(&chosen.agreed, &chosen.job.items_key, rng)?;
    let other = PartitionedRun { agreed: &chosen.agreed, set, job: chosen.job.clone() };
    let reporter = Reporter::new(role, settings, &cancel, &|_| ());
    let play_options =
        PlayOptions { threads: 1, device: Device::default(), lanes: 1, options, reporter: &reporter };
    let progress = PartProgress::new(&reporter);
    let mut run = RunConnection::begin(channel, links.as_mut(), &partitioned, &play_options, rng)?;
    let mut tally = PartTally::new(partitioned.count(), 4);
    for round in 0..MOST_ROUNDS {
        let missing = tally.missing();
        rounds::exchange_round(&mut run, round, partitioned.count(), &missing)?;
        for part in missing.iter().copied() {
            let Meant { plays, says, .. } = meant(part, round);
            let partitioned = if part == CHOSEN { &other } else { &partitioned };
            let (seed, missing) = (Seed::draw(rng), &missing[..]);
            let (play_options, progress, threads) = (&play_options, &progress, 1);
            let table = AttemptContext { partitioned, play_options, progress, round, missing, threads, seed };
            let (said, wanted) = (says.encode(), || true);
            let Ok(Some(mut met)) = run.both().1.open(&table.call(part, &said, &wanted), rng) else {
                continue;
            };
            // What is wrong with a part is for the other side to see.
            drop(table.play(&SharedTally::new(&mut tally), &mut met, plays));
        }
        tally.compare(&mut run, round, role)?;
        if tally.missing().is_empty() {
            run.end_rounds();
            return partitioned.confirm(&tally, &mut run, &reporter).map(drop);
        }
    }
    Err(PartsError::Missing { missing: tally.missing().len(), count: partitioned.count() }.into())
}

/// How the honest side of a run ends whose partner changes that, the lines that it has written, and how the partner ends.
fn ended(
    role: Role,
    settings: &Settings,
    change: Change,
) -> (Ended, Option<usize>, Result<(), SessionError>) {
    let names = |from: usize| (from..from + 300).map(|number| format!("name {number}")).collect::<Vec<_>>();
    let folder = tempfile::tempdir().unwrap();
    let honest = Run { role, table: table(folder.path(), &names(0)), settings: settings.clone() };
    let [one, two] = [(); 2].map(|()| Identity::generate().unwrap());
    let keys: [PublicKey; 2] = [&one, &two].map(|identity| *identity.public_key());
    let (tell, told) = mpsc::channel();
    let (ended, there) = thread::scope(|scope| {
        let honest = scope.spawn(move || {
            let here = Address::Listen("127.0.0.1:0".into());
            let partner = Partner::authenticated(here, one, keys[1]).unwrap();
            let tell = Mutex::new(tell);
            honest.run(&partner, &CancelToken::new(), &mut StdRng::seed_from_u64(1), &|event| {
                if let Event::Listening { address, .. } = event {
                    tell.lock().unwrap().send(address.clone()).unwrap();
                }
            })
        });
        let address = Address::Connect(told.recv().unwrap());
        let partner = Partner::authenticated(address, two, keys[0]).unwrap();
        let there = changing(role.other(), settings, (&partner, &names(200)), change);
        (honest.join().unwrap(), there)
    });
    let written = std::fs::read_to_string(folder.path().join("out.csv")).ok();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1 + usize::from(written.is_some()));
    (ended, written.map(|written| written.lines().count()), there)
}

/// What the id of an attempt hashes: the run, the part, and both bounds.
const OF_THE_ATTEMPT: &[(&str, Change)] = &[
    ("another run", |meant| meant.job.attempts_id[31] ^= 1),
    ("another part", |meant| meant.plays.part = OTHER),
    ("another part's header", |meant| meant.says.part = OTHER),
    ("a larger M_s", |meant| meant.agreed.sizes.sender += 1000),
    ("a larger M_r", |meant| meant.agreed.sizes.receiver += 1000),
    ("another B", |meant| meant.agreed.parts = Parts::new(5).unwrap()),
];

/// What the protocol's context hashes beside that id, or what the run has agreed for all parts.
const OF_THE_PROTOCOL: &[(&str, Change)] = &[
    ("λ of a run in one part", |meant| meant.agreed.parameters.statistical = 40),
    ("λ of more parts", |meant| meant.agreed.parameters.statistical += 1),
    ("another level", |meant| meant.agreed.parameters.level = 192),
    ("another profile", |meant| meant.agreed.parameters.profile = Profile::Lean),
    ("the paper's parameters", |meant| meant.agreed.parameters.paper = true),
    ("no checks", |meant| meant.agreed.parameters.security = Security::SemiHonest),
    ("another protocol", |meant| meant.agreed.protocol = registry::find("gbf-rr16").unwrap()),
];

/// What a connection of a part begins with.
const OF_THE_HEADER: &[(&str, Change)] = &[
    ("no part of the run", |meant| meant.says.part = 3),
    ("another round", |meant| meant.says.round += 1),
    ("another run's tag", |meant| meant.says.tag[31] ^= 1),
];

/// Runs with each of these changes: the honest side ends with 69 or 76, and writes nothing.
fn all_end_without_result(role: Role, (learns, security): (Learns, Security), changes: &[(&str, Change)]) {
    let timeout = Duration::from_secs(3);
    let settings = Settings { learns, timeout, threads: 1, ..settings("vole", security, 3) };
    let settings = &settings;
    for changes in changes.chunks(4) {
        thread::scope(|scope| {
            for (what, change) in changes {
                scope.spawn(move || {
                    let (ended, written, there) = ended(role, settings, *change);
                    let error = ended.result.err().unwrap();
                    let code = error.kind.exit_code();
                    assert!(matches!(code, 69 | 76), "{what}: {code}, {error}");
                    assert!(written.is_none() && there.is_err(), "{what}: {written:?} {there:?}");
                    assert!(!ended.report.confirmed, "{what}");
                });
            }
        });
    }
}

#[test]
fn without_a_change_the_run_has_its_result() {
    for role in [Role::Receiver, Role::Sender] {
        let settings = Settings { learns: Learns::Both, ..settings("vole", Security::Malicious, 3) };
        let (ended, written, there) = ended(role, &settings, |_| ());
        assert!(ended.result.is_ok() && there.is_ok(), "{there:?}");
        assert_eq!(written, Some(101));
    }
}

#[test]
fn a_sender_that_plays_a_part_with_other_terms_ends_the_run_with_69_or_76() {
    let changes = [OF_THE_ATTEMPT, OF_THE_PROTOCOL, OF_THE_HEADER].concat();
    all_end_without_result(Role::Receiver, (Learns::Receiver, Security::Malicious), &changes);
    let shows: &[(&str, Change)] = &[("learns, too", |meant| meant.agreed.learns = Learns::Both)];
    all_end_without_result(Role::Receiver, (Learns::Receiver, Security::Malicious), shows);
    let hides: &[(&str, Change)] = &[("does not learn", |meant| meant.agreed.learns = Learns::Receiver)];
    all_end_without_result(Role::Receiver, (Learns::Both, Security::Malicious), hides);
}

#[test]
fn a_receiver_that_plays_a_part_with_other_terms_ends_the_run_with_69_or_76() {
    let mut changes = [OF_THE_ATTEMPT, OF_THE_PROTOCOL, OF_THE_HEADER].concat();
    changes.push(("learns alone", |meant| meant.agreed.learns = Learns::Receiver));
    all_end_without_result(Role::Sender, (Learns::Both, Security::Malicious), &changes);
}

/// Also where the protocol has no checks that would see it, receipts differ. (Two sides that mean other bounds may wait for
/// each other there, as for any partner that is alive and says nothing.)
#[test]
fn an_attempt_at_something_else_ends_a_run_without_checks_too() {
    let changes = [&OF_THE_ATTEMPT[..3], OF_THE_HEADER].concat();
    for role in [Role::Receiver, Role::Sender] {
        all_end_without_result(role, (Learns::Both, Security::SemiHonest), &changes);
    }
}
