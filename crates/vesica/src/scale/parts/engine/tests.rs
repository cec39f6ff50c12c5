use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use arrow_array::{RecordBatch, StringArray};
use rand::SeedableRng;
use rand::rngs::StdRng;
use vesica_channel::Channel as _;
use vesica_net::relay::RelayAddress;
use vesica_net::{Connection, NetError, PartCall, PublicKey, memory};
use vesica_protocols::ResultKind;
use vesica_table::{Dialect, MatchRule};

use super::*;
use crate::job::{Destination, Job, TableArgs};
use crate::scale::parts::toss::{Job as Toss, Players};
use crate::session::links::Links;
use crate::words::memory::Budget;
use crate::words::memory_use::side::{PartCosts, RunCosts};
use crate::words::settings::{Choice, Wanted};

/// An engine of this process, whose tasks are threads.
struct Tasks {
    digests: Digests,
    run: Option<Outline>,
    /// The matching items of each receipt.
    matched: HashMap<[u8; 32], Vec<u8>>,
    chosen: Vec<(u32, [u8; 32])>,
    rounds: Vec<Vec<u32>>,
    script: Box<Script>,
}

/// How a round is played.
type Script = dyn FnMut(&mut Tasks, &Round, Watch<'_>) -> Result<RoundEnded, Error> + Sync;

impl Tasks {
    fn new(names: &[String], settings: &Settings, script: Box<Script>) -> Self {
        let column = StringArray::from_iter_values(names);
        let batch = RecordBatch::try_from_iter([("k", Arc::new(column) as _)]).unwrap();
        let digests =
            digests("the batch", batch, &MatchRule::parse("k:raw").unwrap().into(), settings).unwrap();
        let (matched, chosen) = (HashMap::new(), Vec::new());
        Tasks { digests, run: None, matched, chosen, rounds: Vec::new(), script }
    }

    /// The task of a part, with all its rows.
    fn task(&self, round: &Round, part: u32) -> Task {
        let Outline { parts, items_key, width, .. } = self.run.unwrap();
        let (numbers, items) = keyed(&items_key, parts, width, &self.digests.bytes);
        let mut task = Task::new(round.ticket.as_slice(), part).unwrap();
        for (number, item) in numbers.iter().zip(items.chunks_exact(width.bytes())) {
            if *number == part {
                task.add(part, item, 7).unwrap();
            }
        }
        task
    }

    fn played(&self, round: &Round, part: u32) -> Played {
        let played =
            self.task(round, part).play(&CancelToken::new(), &mut StdRng::seed_from_u64(part.into()));
        assert_eq!(played.sum, 7 * played.distinct as i64);
        played
    }

    /// Keeps what a task came back with.
    fn keep(&mut self, played: Played, ended: &mut RoundEnded) {
        let receipt = played.receipt.unwrap();
        self.matched.insert(receipt.receipt, played.matched);
        ended.receipts.push(receipt);
        ended.attempts.push((receipt.part, played.attempts));
    }

    /// All parts of the round, two at a time.
    fn all(&mut self, round: &Round) -> RoundEnded {
        let mut ended = RoundEnded::default();
        let together = |parts: &[u32], tasks: &Tasks| {
            thread::scope(|scope| {
                let tasks: Vec<_> =
                    parts.iter().map(|part| scope.spawn(|| tasks.played(round, *part))).collect();
                tasks.into_iter().map(|task| task.join().unwrap()).collect::<Vec<_>>()
            })
        };
        for parts in round.parts.chunks(2) {
            together(parts, self).into_iter().for_each(|played| self.keep(played, &mut ended));
        }
        ended
    }

    /// The numbers of the rows that matched.
    fn rows(&self) -> HashSet<u64> {
        let Outline { parts, items_key, width, .. } = self.run.unwrap();
        let (_, items) = keyed(&items_key, parts, width, &self.digests.bytes);
        let matched = self.chosen.iter().flat_map(|(_, receipt)| self.matched[receipt].chunks(width.bytes()));
        let matched: HashSet<&[u8]> = matched.collect();
        let rows = (0..).zip(items.chunks(width.bytes()));
        rows.filter(|(_, item)| matched.contains(item)).map(|(row, _)| row).collect()
    }
}

impl Engine for Tasks {
    fn begin(&mut self, run: &Outline) -> Result<(), Error> {
        self.run = Some(*run);
        Ok(())
    }

    fn play(&mut self, round: Round, partner: Watch<'_>) -> Result<RoundEnded, Error> {
        self.rounds.push(round.parts.clone());
        let mut script = std::mem::replace(&mut self.script, Box::new(honest));
        let ended = script(self, &round, partner);
        self.script = script;
        ended
    }

    fn chosen(&mut self, chosen: &[(u32, [u8; 32])], _: bool, _: Watch<'_>) -> Result<(), Error> {
        self.chosen = chosen.to_vec();
        Ok(())
    }
}

fn honest(tasks: &mut Tasks, round: &Round, _: Watch<'_>) -> Result<RoundEnded, Error> {
    Ok(tasks.all(round))
}

/// Names of which two tables have a third in common.
fn names(from: usize) -> Vec<String> {
    (from..from + 300).map(|number| format!("name {number}")).collect()
}

fn settings() -> Settings {
    let protocol = Choice::Named("vole".into());
    Settings { protocol, parts: 3, threads: 1, timeout: Duration::from_secs(20), ..Settings::default() }
}

fn keys() -> [(Identity, PublicKey); 2] {
    let [mine, theirs] = [(); 2].map(|()| Identity::generate().unwrap());
    let (my_key, their_key) = (*mine.public_key(), *theirs.public_key());
    [(mine, their_key), (theirs, my_key)]
}

/// A run of an engine with a program that listens: what both end with.
fn against_program(
    role: Role,
    settings: &Settings,
    script: Box<Script>,
    stop: &CancelToken,
) -> ([Ended; 2], Tasks) {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("theirs.csv");
    std::fs::write(&input, format!("k\n{}\n", names(200).join("\n"))).unwrap();
    let dialect = Dialect::default();
    let key = MatchRule::parse("k:raw").unwrap();
    let table = TableArgs {
        input: input.into(),
        keys: vec![key.clone()].into(),
        dialect,
        output: Destination::RowNumbers,
        protected: Vec::new(),
    };
    let program = Job { role: role.other(), table, settings: settings.clone() };
    let [(mine, their_key), (theirs, my_key)] = keys();
    let (tell, told) = mpsc::channel();
    let mut tasks = Tasks::new(&names(0), settings, script);
    let ended = thread::scope(|scope| {
        let program = scope.spawn(move || {
            let partner =
                Partner::authenticated(Address::Listen("127.0.0.1:0".into()), theirs, my_key).unwrap();
            let tell = Mutex::new(tell);
            program.run(&partner, stop, &mut StdRng::seed_from_u64(1), &|event| {
                if let Event::Listening { address, .. } = event {
                    tell.lock().unwrap().send(address.clone()).unwrap();
                }
            })
        });
        let address = Address::Connect(told.recv().unwrap());
        let partner = Partner::authenticated(address, mine, their_key).unwrap();
        let counts = TableReport { rows: 300, items: 300, ..TableReport::default() };
        let job = EngineJob { role, counts, keys: key.into(), settings: settings.clone(), slots: 2 };
        let rng = &mut StdRng::seed_from_u64(2);
        let engine = job.run(&partner, &mut tasks, &CancelToken::new(), rng, &|_| {});
        [engine, program.join().unwrap()]
    });
    (ended, tasks)
}

fn rows(ended: Ended) -> Option<HashSet<u64>> {
    ended.result.unwrap().matches.map(|matches| matches.into_rows().into_iter().collect())
}

fn code(ended: &Ended) -> u8 {
    ended.result.as_ref().err().map_or(0, |error| error.kind.exit_code())
}

#[test]
fn an_engine_and_a_program_find_the_plain_join_in_either_role() {
    for (role, learns) in
        [(Role::Receiver, Learns::Receiver), (Role::Sender, Learns::Receiver), (Role::Sender, Learns::Both)]
    {
        let settings = Settings { learns, receipt: true, ..settings() };
        let ([engine, program], tasks) =
            against_program(role, &settings, Box::new(honest), &CancelToken::new());
        let both_learn = learns == Learns::Both;
        let mine = if role == Role::Receiver || both_learn { (200..300).collect() } else { HashSet::new() };
        assert_eq!(tasks.rows(), mine, "{role:?} {learns:?}");
        let theirs = (role == Role::Sender || both_learn).then(|| (0..100).collect::<HashSet<u64>>());
        assert!(engine.report.confirmed && engine.result.is_ok());
        let receipt = engine.report.receipt.unwrap();
        assert_eq!((receipt.verify(), receipt.statement.parts), (Ok(()), 3));
        assert_eq!(Some(receipt), program.report.receipt);
        let parts = engine.report.parts.unwrap();
        assert_eq!((parts.count, parts.attempts, parts.spent, parts.lanes), (3, 3, 0, 2));
        assert_eq!(rows(program), theirs);
        assert_eq!(tasks.rounds, [[0, 1, 2]]);
    }
}

#[test]
fn a_part_may_be_played_twice_in_a_round_and_one_attempt_counts() {
    let script = |tasks: &mut Tasks, round: &Round, _: Watch<'_>| {
        let mut ended = tasks.all(round);
        let again = tasks.played(round, 1);
        tasks.keep(again, &mut ended);
        Ok(ended)
    };
    let ([engine, program], tasks) =
        against_program(Role::Receiver, &settings(), Box::new(script), &CancelToken::new());
    assert_eq!(tasks.rows(), (200..300).collect());
    assert_eq!(tasks.rounds.len(), 1);
    // Only a sender shows something.
    for (report, spent) in [(engine.report, 0), (program.report, 1)] {
        let parts = report.parts.unwrap();
        assert_eq!((parts.attempts, parts.spent), (4, spent));
    }
}

#[test]
fn a_receipt_that_an_engine_lists_twice_is_one_attempt() {
    let script = |tasks: &mut Tasks, round: &Round, _: Watch<'_>| {
        let mut ended = tasks.all(round);
        ended.receipts.push(ended.receipts[0]);
        Ok(ended)
    };
    let (ended, _) = against_program(Role::Sender, &settings(), Box::new(script), &CancelToken::new());
    let parts = ended[0].report.parts.unwrap();
    assert_eq!((ended.each_ref().map(code), parts.attempts, parts.spent), ([0, 0], 3, 0));
}

#[test]
fn a_part_whose_receipt_is_lost_comes_again_in_the_next_round() {
    let mut lost = false;
    let script = move |tasks: &mut Tasks, round: &Round, _: Watch<'_>| {
        let mut ended = tasks.all(round);
        if !std::mem::replace(&mut lost, true) {
            ended.receipts.retain(|receipt| receipt.part != 1);
        }
        Ok(ended)
    };
    let ([engine, program], tasks) =
        against_program(Role::Sender, &settings(), Box::new(script), &CancelToken::new());
    assert_eq!(tasks.rounds, [vec![0, 1, 2], vec![1]]);
    assert_eq!(rows(program), Some((0..100).collect()));
    assert_eq!(engine.report.parts.unwrap().spent, 1);
}

#[test]
fn attempts_beyond_the_allowance_end_the_run_with_69_on_both_sides() {
    let script = |tasks: &mut Tasks, round: &Round, _: Watch<'_>| {
        let mut ended = tasks.all(round);
        for _ in 0..5 {
            match tasks.played(round, 0) {
                played if played.receipt.is_ok() => tasks.keep(played, &mut ended),
                _ => break,
            }
        }
        Ok(ended)
    };
    let settings = Settings { timeout: Duration::from_secs(3), ..settings() };
    let (ended, _) = against_program(Role::Receiver, &settings, Box::new(script), &CancelToken::new());
    assert_eq!(ended.each_ref().map(code), [69, 69]);
}

/// A dishonest or broken engine that says of a part what is not so.
#[test]
fn another_number_of_matches_ends_the_run_with_76_and_another_receipt_with_69() {
    type Spoil = fn(&mut PlayedPart);
    let spoils: [(Spoil, u8); 2] =
        [(|receipt| receipt.matches += 1, 76), (|receipt| receipt.receipt[0] ^= 1, 69)];
    for (spoil, expected) in spoils {
        let script = move |tasks: &mut Tasks, round: &Round, _: Watch<'_>| {
            let mut ended = tasks.all(round);
            ended.receipts.last_mut().iter_mut().for_each(|receipt| spoil(receipt));
            Ok(ended)
        };
        let settings = Settings { learns: Learns::Both, parts: 2, ..settings() };
        let (ended, _) = against_program(Role::Sender, &settings, Box::new(script), &CancelToken::new());
        assert_eq!(ended.each_ref().map(code), [expected; 2]);
    }
}

#[test]
fn a_receipt_of_a_part_that_is_not_in_the_round_ends_the_run_with_70() {
    let script = |tasks: &mut Tasks, round: &Round, _: Watch<'_>| {
        let mut ended = tasks.all(round);
        ended.receipts[0].part = 3;
        Ok(ended)
    };
    let (ended, _) = against_program(Role::Sender, &settings(), Box::new(script), &CancelToken::new());
    assert_eq!(ended.each_ref().map(code), [70, 69]);
}

#[test]
fn an_engine_hears_that_the_partner_is_gone() {
    let stop = CancelToken::new();
    let stopping = stop.clone();
    let script = move |_: &mut Tasks, _: &Round, partner: Watch<'_>| {
        stopping.cancel();
        loop {
            partner()?;
            thread::sleep(Duration::from_millis(5));
        }
    };
    // The connection may be made again for so long.
    let settings = Settings { timeout: Duration::from_secs(2), ..settings() };
    let (ended, _) = against_program(Role::Sender, &settings, Box::new(script), &stop);
    assert_eq!(ended.each_ref().map(code), [69, 130]);
}

/// A partner that takes a result of every part and cuts: the driver hears of it when the round is over.
#[test]
fn parts_that_may_have_shown_something_are_not_played_again_beyond_the_allowance() {
    let played = Arc::new(Mutex::new(0));
    let rounds = played.clone();
    let script = move |_: &mut Tasks, round: &Round, _: Watch<'_>| {
        *rounds.lock().unwrap() += 1;
        let attempts = round.parts.iter().map(|part| (*part, 1)).collect();
        Ok(RoundEnded { attempts, ..RoundEnded::default() })
    };
    let settings = Settings { parts: 128, ..settings() };
    let (ended, _) = against_program(Role::Sender, &settings, Box::new(script), &CancelToken::new());
    assert_eq!(ended.each_ref().map(code), [69, 69]);
    assert_eq!(*played.lock().unwrap(), 1, "no task of a second round runs");
    assert!(
        ended[0].report.error.as_ref().unwrap().message.shell().contains("8 times"),
        "{:?}",
        ended[0].report.error
    );
}

#[test]
fn a_task_that_catches_a_cheat_ends_the_run_with_76() {
    let script = |tasks: &mut Tasks, round: &Round, _: Watch<'_>| {
        let caught = Error { kind: Kind::Protocol, ..Error::usage("a check failed", "ask the partner") };
        Ok(RoundEnded { failed: Some(caught), ..tasks.all(round) })
    };
    let (ended, tasks) = against_program(Role::Sender, &settings(), Box::new(script), &CancelToken::new());
    assert_eq!(ended.each_ref().map(code), [76, 69]);
    assert_eq!(tasks.rounds.len(), 1);
}

#[test]
fn an_engine_that_fails_ends_the_run() {
    let script = |_: &mut Tasks, _: &Round, _: Watch<'_>| Err(Error::usage("no", "no"));
    let (ended, _) = against_program(Role::Sender, &settings(), Box::new(script), &CancelToken::new());
    assert_eq!(ended.each_ref().map(code), [64, 69]);
}

#[test]
fn what_does_not_go_together_with_an_engine_is_refused_before_the_partner_is_met() {
    let [(identity, key), _] = keys();
    let run = |address: Address, settings: Settings| {
        let partner = Partner::authenticated(address, identity.clone(), key).unwrap();
        let keys = MatchRule::parse("k:raw").unwrap().into();
        let job = EngineJob { role: Role::Sender, counts: TableReport::default(), keys, settings, slots: 1 };
        let mut tasks = Tasks::new(&[], &Settings::default(), Box::new(honest));
        job.run(&partner, &mut tasks, &CancelToken::new(), &mut StdRng::seed_from_u64(2), &|_| {})
    };
    let nowhere = || Address::Connect("127.0.0.1:1".into());
    let ended = [
        run(Address::Listen("127.0.0.1:0".into()), settings()),
        run(nowhere(), Settings { match_id: true, learns: Learns::Both, ..settings() }),
        run(nowhere(), Settings { sigma: Some(32), ..settings() }),
        run(
            nowhere(),
            Settings {
                limits: crate::words::settings::Limits { max_parts: Some(1), ..Default::default() },
                ..settings()
            },
        ),
    ];
    for end in &ended {
        assert_eq!(code(end), 64, "{:?}", end.report.error);
        assert_eq!(end.report.error.as_ref().unwrap().phase, RunPhase::Prepare);
    }
}

fn ticket() -> Ticket {
    let [(mine, theirs), _] = keys();
    let parts = Parts::new(5).unwrap();
    let statistical = parts.statistical_security();
    let settings = Settings::default();
    let wanted = Wanted { statistical, ..settings.wanted() };
    let choice = crate::words::auto::choose(&Choice::Named("vole".into()), wanted, None).unwrap();
    let sizes = Sizes { receiver: 1000, sender: 2000 };
    let player = Player::process(1);
    let players = Players { mine: Player::engine(1), theirs: player };
    let id = [1; 32];
    let items_key = blake3::derive_key("vesica part items v2", &id);
    let job = Toss { id, items_key, attempts_id: [6; 32], tag: [3; 32], mine, theirs, players };
    Ticket {
        agreed: Agreed::of_task(Role::Sender, choice, Learns::Both, sizes, parts),
        job,
        round: 7,
        place: PartsAddress::Relays {
            relays: ["a.example:7401", "b.example:7401"]
                .map(|address| RelayAddress { address: address.into(), key: PublicKey::from_bytes([4; 32]) })
                .to_vec(),
            partner: PublicKey::from_bytes([5; 32]),
        },
        secured: true,
        silence: Duration::from_secs(300),
        wait: Duration::from_secs(900),
        threads: 4,
    }
}

#[test]
fn a_ticket_round_trips_without_what_a_task_does_not_need() {
    let ticket = ticket();
    let bytes = ticket.encode().unwrap();
    let read = Ticket::decode(bytes.as_slice()).unwrap();
    assert_eq!(read.encode().unwrap().as_slice(), bytes.as_slice());
    assert_eq!(read.place, ticket.place);
    assert_eq!(read.agreed.protocol.name, "vole");
    assert_eq!(read.agreed.parameters.statistical, 43);
    assert_eq!((read.agreed.role(), read.agreed.learns), (Role::Sender, Learns::Both));
    assert_eq!((read.round, read.threads, read.secured), (7, 4, true));
    assert_eq!((read.silence, read.wait), (ticket.silence, ticket.wait));
    assert_eq!(read.job.mine.public_key(), ticket.job.mine.public_key());
    // k follows from J, so neither is in it.
    let secret = |window: &[u8]| *window == ticket.job.id || *window == ticket.job.items_key;
    assert!(!bytes.as_slice().windows(32).any(secret), "k is not in it");
    assert_eq!(format!("{bytes:?}"), "TicketBytes(secret)");
    let outline = Outline {
        parts: Parts::ONE,
        bounds: Sizes { receiver: 1, sender: 1 },
        items_key: [77; 32],
        width: Width::Digest256,
        learns: true,
        partner_slots: 1,
    };
    assert!(!format!("{outline:?}").contains("77"));
}

/// A connection that is there.
struct Given(Mutex<Option<Connection>>);

impl Links for Given {
    fn comes_here(&self) -> bool {
        false
    }

    fn open(&self, call: &PartCall<'_>, _: &mut dyn CryptoRng) -> Result<Option<Connection>, NetError> {
        let mut given = self.0.lock().unwrap().take();
        if let Some(given) = &mut given {
            given.send(call.first).and_then(|()| given.flush())?;
        }
        Ok(given)
    }
}

/// Two attempts must not draw the same. Here nothing else differs: the items, the part and the connection are the same.
#[test]
fn a_task_draws_from_the_randomness_that_it_is_given() {
    let receipt = |seeds: [u64; 2]| {
        let (here, there) = memory::pair(&CancelToken::new());
        let play = |role, channel, seed| {
            let Agreed { protocol, parameters, reason, parts, learns, .. } = ticket().agreed;
            let choice = crate::words::auto::Choice { protocol, parameters, reason };
            let sizes = Sizes { receiver: 3, sender: 3 };
            let agreed = Agreed::of_task(role, choice, learns, sizes, parts);
            let ticket = Ticket { agreed, ..ticket() }.encode().unwrap();
            let mut task = Task::new(ticket.as_slice(), 4).unwrap();
            // As many as there may be, so that no dummies are drawn.
            for last in 0..3 {
                let mut item = vec![255; task.item_bytes()];
                item[8] = last;
                task.add(4, &item, 0).unwrap();
            }
            let (links, rng) = (&mut Given(Mutex::new(Some(channel))), &mut StdRng::seed_from_u64(seed));
            task.play_over(links, &CancelToken::new(), rng).receipt.unwrap().receipt
        };
        let play = &play;
        thread::scope(|scope| {
            let there = scope.spawn(move || play(Role::Sender, there, seeds[1]));
            let here = play(Role::Receiver, here, seeds[0]);
            assert_eq!(there.join().unwrap(), here);
            here
        })
    };
    assert_eq!(receipt([1, 2]), receipt([1, 2]));
    let receipts = [[1, 2], [3, 2], [1, 3]].map(receipt);
    assert_eq!(receipts.iter().collect::<HashSet<_>>().len(), 3);
}

#[test]
fn a_damaged_ticket_is_refused() {
    let bytes = ticket().encode().unwrap().as_slice().to_vec();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert_eq!(Task::new(&damaged, 0).err().unwrap().kind, Kind::Usage);
    }
    for damaged in [&bytes[..bytes.len() - 1], &bytes[..31], &[], &[&bytes[..], &[0]].concat()] {
        assert!(Task::new(damaged, 0).is_err());
    }
    // Another version, undamaged.
    let mut body = bytes[..bytes.len() - 32].to_vec();
    body[0] += 1;
    assert!(Task::new(&[&body[..], &blake3::derive_key("vesica ticket v1", &body)].concat(), 0).is_err());
    assert!(Task::new(&bytes, 4).is_ok());
    assert_eq!(Task::new(&bytes, 5).err().unwrap().kind, Kind::Internal);
}

#[test]
fn a_row_of_another_part_is_refused_with_70() {
    let bytes = ticket().encode().unwrap();
    let mut task = Task::new(bytes.as_slice(), 4).unwrap();
    let item = [255; 32];
    task.add(4, &item, 0).unwrap();
    for (part, item) in [(3, &item[..]), (4, &[0; 32]), (4, &item[..16]), (4, &[])] {
        assert_eq!(task.add(part, item, 0).unwrap_err().kind.exit_code(), 70);
    }
}

#[test]
fn an_engine_has_parts_of_2_to_the_20_items_or_what_fits_into_a_tasks_memory() {
    let costs = |parts: Parts| {
        let items = parts.bound(3 << 20);
        let part = PartCosts { items, protocol: 300 * items };
        Some(RunCosts { parts, whole: part.protocol, part })
    };
    let sizes = |items| Sizes { receiver: items, sender: 5 };
    let parts = |budget, sizes| {
        let (keys, role, result) = (KeysAt::Engine, Role::Receiver, ResultKind::Rows);
        SideMemory { keys, role, rows: 5, result, budget }.parts(sizes, &costs)
    };
    assert_eq!(parts(None, sizes(5)), 2);
    assert_eq!(parts(None, sizes(3 << 20)), 3);
    assert_eq!(parts(Some(Budget::named(200 << 20)), sizes(3 << 20)), 6);
    assert_eq!(parts(Some(Budget::named(1)), sizes(3 << 20)), 48);
}

#[test]
fn only_a_side_that_shows_nothing_tries_again_at_once() {
    let sizes = Sizes { receiver: 1, sender: 1 };
    let agreed = |role, learns| Agreed::of_task(role, plan(), learns, sizes, Parts::new(2).unwrap());
    fn plan() -> crate::words::auto::Choice {
        crate::words::auto::choose(&Choice::Named("vole".into()), Settings::default().wanted(), None).unwrap()
    }
    assert!(task::tries_again(&agreed(Role::Receiver, Learns::Receiver)) > 0);
    for (role, learns) in
        [(Role::Sender, Learns::Receiver), (Role::Sender, Learns::Both), (Role::Receiver, Learns::Both)]
    {
        assert_eq!(task::tries_again(&agreed(role, learns)), 0);
    }
}
