use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand_core::CryptoRng;
use vesica_channel::{CancelToken, Channel, ChannelError};
use vesica_crypto::device::Device;
use vesica_encode::items::Split;
use vesica_encode::items::{Encoding, Items, ItemsBuilder, Matches, OnDuplicates, Width};
use vesica_net::{Connection, NetError, NetEvent, Options, PartCall, memory};
use vesica_protocols::testing::{Planted, planted_for, usual};
use vesica_protocols::{Learns, Parameters, Role, Sizes};
use vesica_table::{Dialect, MatchRule};

use super::line::{RunConnection, Step, StepKind};
use super::part::PartProgress;
use super::partitioned::PartitionedRun;
use super::rounds::{PartDigest, PartTally};
use super::set::PartSet;
use super::toss::Player;
use super::*;
use crate::job::{Destination, TableArgs};
use crate::scale::spool::tests::spooled;
use crate::session::links::{InMemory, Links};
use crate::session::reporter::Reporter;
use crate::session::{self, Agreed, SessionError};
use crate::words::memory::Budget;
use crate::words::parts::MOST_ROUNDS;
use crate::words::registry::{Entry, PROTOCOLS, Security};
use crate::words::report::PartsReport;
use crate::words::settings::{Choice, Settings};
use crate::words::terms::Terms;
use crate::{Error, RunPhase, local};

mod bindings;
mod broken;
mod guesses;
mod other_terms;
mod several;

thread_local! {
    /// The key of the split in place of that of the coins, on this thread.
    pub(super) static KEY: Cell<Option<[u8; 32]>> = const { Cell::new(None) };

    /// Where this thread's side cuts the connection of the run.
    static CUTS: RefCell<Vec<(Step, When)>> = const { RefCell::new(Vec::new()) };
}

/// When, in a step of the run's conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum When {
    /// Before this side has said anything.
    Before,
    /// After that.
    Said,
    /// After it has the partner's message, too.
    Taken,
}

/// Cuts the connection if the test wants it, once.
pub(super) fn cut(step: Step, when: When, run: &mut Connection) {
    CUTS.with_borrow_mut(|cuts| {
        let place = cuts.iter().position(|cut| *cut == (step, when));
        if let Some(place) = place {
            cuts.swap_remove(place);
            *run = memory::pair(&CancelToken::new()).0;
        }
    });
}

/// What a side ended with.
struct End {
    result: Result<Option<Matches>, SessionError>,
    report: Option<PartsReport>,
}

impl End {
    fn rows(self) -> Option<Vec<u64>> {
        self.result.unwrap().map(Matches::into_rows)
    }

    fn exit_code(&self) -> u8 {
        Error::session(RunPhase::Parts, self.result.as_ref().unwrap_err()).kind.exit_code()
    }
}

/// How a side behaves from the coins to the matches.
type Play<'p> = dyn Fn(&Agreed, &Items, Connection, &mut dyn Links, &PlayOptions<'_>) -> Played + Sync + 'p;

type Played = Result<Option<Matches>, SessionError>;

fn honest(
    agreed: &Agreed,
    items: &Items,
    run: Connection,
    links: &mut dyn Links,
    play_options: &PlayOptions<'_>,
) -> Played {
    let rng = &mut StdRng::seed_from_u64(agreed.role() as u64);
    let outcome = play(agreed, items, run, links, play_options, rng)?;
    Ok(outcome.map(|outcome| outcome.into_matches().unwrap()))
}

fn side(
    role: Role,
    items: &Items,
    settings: &Settings,
    link: (Connection, &mut dyn Links, u16),
    play: &Play<'_>,
) -> End {
    let play =
        |agreed: &Agreed, items: &Items, run, links: &mut dyn Links, play_options: &PlayOptions<'_>| {
            assert_eq!(agreed.parts.count() as u32, settings.parts);
            play(agreed, items, run, links, play_options)
        };
    side_of_any(role, items, settings, link, &play)
}

/// A run of both sides where the partner may need more parts.
fn side_of_any(
    role: Role,
    items: &Items,
    settings: &Settings,
    (mut run, links, lanes): (Connection, &mut dyn Links, u16),
    play: &Play<'_>,
) -> End {
    let cancel = CancelToken::new();
    let reporter = Reporter::new(role, settings, &cancel, &|_| ());
    let options = Options { cancel: cancel.clone(), ..Options::default() };
    let play_options =
        PlayOptions { threads: 1, device: Device::default(), lanes, options, reporter: &reporter };
    let terms = Terms::new(role, settings, &["raw".to_owned()]);
    let agreed = session::agree(&mut run, &terms, settings.wanted(), items.len(), None);
    let result = agreed.and_then(|agreed| play(&agreed, items, run, links, &play_options));
    End { result, report: reporter.end(Err(Error::interrupted(RunPhase::Parts))).report.parts }
}

/// Both sides; the links of the receiver, who makes the connections, may fail, and the sender may cheat.
fn both(sets: [&Items; 2], settings: &Settings, cut: &[Cut], sender: &Play<'_>) -> [End; 2] {
    both_in([1; 2], sets, settings, cut, sender)
}

/// A run of both sides with so many parts at once on each.
fn both_in(
    lanes: [u16; 2],
    sets: [&Items; 2],
    settings: &Settings,
    cut: &[Cut],
    sender: &Play<'_>,
) -> [End; 2] {
    let (mine, theirs) = memory::pair(&CancelToken::new());
    let (makes, mut takes) = InMemory::pair();
    let mut makes = Cutting { inner: makes, cut: cut.to_vec(), opened: AtomicUsize::new(0) };
    thread::scope(|scope| {
        // As in a job, the links end with their side.
        let sender = scope
            .spawn(move || side(Role::Sender, sets[1], settings, (theirs, &mut takes, lanes[1]), sender));
        let receiver = side(Role::Receiver, sets[0], settings, (mine, &mut makes, lanes[0]), &honest);
        // The sender is not to wait for parts of a receiver that is gone.
        drop(makes);
        [receiver, sender.join().unwrap()]
    })
}

fn run(sets: &Planted, settings: &Settings) -> [End; 2] {
    both([&sets.receiver, &sets.sender], settings, &[], &honest)
}

/// What happens to a connection.
#[derive(Clone, Copy, PartialEq)]
enum Cut {
    Nothing,
    /// The partner never sees it.
    AtOnce,
    /// It is closed when both sides have said which part they mean.
    AfterHeaders,
    /// It is closed when the sender has the first message of the receiver's.
    InTheMiddle,
}

/// Passes on what the sender says, and after the header the first of what the receiver asks.
fn until_the_receiver_speaks(
    mut receiver: Connection,
    mut sender: Connection,
    header: &mut [u8],
) -> Result<(), ChannelError> {
    let pass = |from: &mut Connection, to: &mut Connection| {
        let mut passed = vec![0; from.readable()];
        from.recv_exact(&mut passed)?;
        to.send(&passed).and_then(|()| to.flush())
    };
    // Long enough for a message to be said, or taken.
    let awhile = Duration::from_millis(100);
    receiver.recv_exact(header)?;
    while receiver.readable() == 0 {
        receiver.check().and_then(|()| sender.check())?;
        pass(&mut sender, &mut receiver)?;
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(awhile);
    pass(&mut receiver, &mut sender)?;
    thread::sleep(awhile);
    Ok(())
}

/// Links some of whose connections break; those after the listed ones as the last of these.
struct Cutting {
    inner: InMemory,
    cut: Vec<Cut>,
    opened: AtomicUsize,
}

impl Links for Cutting {
    fn comes_here(&self) -> bool {
        self.inner.comes_here()
    }

    fn open(&self, call: &PartCall<'_>, rng: &mut dyn CryptoRng) -> Result<Option<Connection>, NetError> {
        let PartCall { first, options, .. } = *call;
        let opened = self.opened.fetch_add(1, Ordering::Relaxed);
        let cut = self.cut.get(opened).or(self.cut.last()).copied().unwrap_or(Cut::Nothing);
        if cut == Cut::Nothing {
            return self.inner.open(call, rng);
        }
        let (mut mine, mut between) = memory::pair(&options.cancel);
        mine.send(first).and_then(|()| mine.flush())?;
        if cut != Cut::AtOnce
            && let Some(mut theirs) = self.inner.open(call, rng)?
        {
            let mut header = vec![0; first.len()];
            theirs.recv_exact(&mut header)?;
            between.send(&header).and_then(|()| between.flush())?;
            if cut == Cut::InTheMiddle {
                thread::spawn(move || drop(until_the_receiver_speaks(between, theirs, &mut header)));
            }
        }
        Ok(Some(mine))
    }
}

fn settings(protocol: &str, security: Security, parts: u32) -> Settings {
    let protocol = Choice::Named(protocol.to_owned());
    Settings { protocol, security, parts, allow_insecure: true, ..Settings::default() }
}

fn planted(security: Security, receiver: usize, sender: usize, common: usize) -> Planted {
    let parameters = Parameters { security, ..Parameters::default() };
    planted_for(&parameters, receiver, sender, common, 5)
}

fn is_excluded(entry: &Entry) -> bool {
    entry.has_helper() || !entry.supports.digests
}

#[test]
fn every_protocol_in_four_parts_ends_with_the_plain_join_or_refuses() {
    for entry in PROTOCOLS {
        let security = entry.security.first().copied().unwrap_or(Security::SemiHonest);
        let parameters = Parameters { security, ..usual(entry).parameters };
        let n = entry.test_items.min(60);
        let sets = planted_for(&parameters, n, n / 2 + 3, n / 4 + 1, 3);
        for learns in [Learns::Receiver, Learns::Both] {
            if learns == Learns::Both && !entry.learns_both {
                continue;
            }
            let sigma = parameters.sigma;
            let settings = Settings { learns, sigma, ..settings(entry.name, parameters.security, 4) };
            let ends = run(&sets, &settings);
            if is_excluded(entry) {
                assert!(ends.iter().all(|end| end.exit_code() == 77), "{}", entry.name);
                continue;
            }
            let [receiver, sender] = ends.map(End::rows);
            assert_eq!(receiver.as_ref(), Some(&sets.receiver_rows), "{}", entry.name);
            assert_eq!(sender.is_some(), learns == Learns::Both);
            assert!(sender.is_none_or(|rows| rows == sets.sender_rows), "{}", entry.name);
        }
    }
}

#[test]
fn sets_of_every_size_end_with_the_plain_join() {
    let security = Security::Malicious;
    for parts in [2, 3, 7] {
        for (receiver, sender, common) in [
            (0, 0, 0),
            (0, 9, 0),
            (9, 0, 0),
            (1, 1, 1),
            (1, 40, 1),
            (parts - 1, parts - 1, 1),
            (500, 500, 500),
            (500, 500, 0),
            (700, 20, 11),
            (20, 700, 11),
        ] {
            let sets = planted(security, receiver, sender, common);
            for learns in [Learns::Receiver, Learns::Both] {
                let settings = Settings { learns, ..settings("vole", security, parts as u32) };
                let [here, there] = run(&sets, &settings);
                let bound = Parts::new(parts as u32).unwrap().bound(receiver as u64);
                let (count, attempts) = (parts as u32, parts as u32);
                let expected = PartsReport { count, bound, lanes: 1, attempts, spent: 0 };
                assert_eq!(here.report, Some(expected));
                assert_eq!(here.rows(), Some(sets.receiver_rows.clone()), "{receiver} {sender} {parts}");
                let learnt = (learns == Learns::Both).then(|| sets.sender_rows.clone());
                assert_eq!(there.rows(), learnt);
            }
        }
    }
}

#[test]
fn many_rows_of_one_key_all_come_out() {
    let table = |keys: &[&str]| {
        let encoding = Encoding::Digest(Width::Digest256);
        let mut builder = ItemsBuilder::new(encoding, keys.len()).unwrap();
        (0..).zip(keys).for_each(|(row, key)| builder.push(row, key.as_bytes()).unwrap());
        builder.build(OnDuplicates::All).unwrap()
    };
    let mut mine = vec!["often"; 1000];
    mine.extend(["once", "never"]);
    let theirs = ["once", "often", "elsewhere"];
    let settings = settings("vole", Security::Malicious, 3);
    let [receiver, _] = both([&table(&mine), &table(&theirs)], &settings, &[], &honest);
    assert_eq!(receiver.rows(), Some((0..=1000).collect()));
}

#[test]
fn all_parts_of_a_side_have_one_size_and_every_attempt_an_id_of_its_own() {
    let sets = planted(Security::Malicious, 900, 400, 100);
    fn looked(
        agreed: &Agreed,
        items: &Items,
        mut run: Connection,
        _: &mut dyn Links,
        _: &PlayOptions<'_>,
    ) -> Played {
        let partitioned = PartitionedRun::agree(
            agreed,
            items,
            Player::process(1),
            &mut run,
            &mut StdRng::seed_from_u64(9),
        )?;
        let bound = agreed.parts.bound(items.len() as u64) as usize;
        assert!(partitioned.set.in_memory().iter().all(|part| part.len() == bound));
        assert!(partitioned.set.in_memory().iter().any(|part| part.distinct() < bound), "there are dummies");
        let mut ids: Vec<_> = (0..8).map(|part| part::attempt_id(&partitioned, &run, part)).collect();
        ids.push(*agreed.sid());
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 9);
        Err(PartsError::Key.into())
    }
    let [_, sender] =
        both([&sets.receiver, &sets.sender], &settings("vole", Security::Malicious, 8), &[], &looked);
    assert_eq!(sender.result, Err(PartsError::Key.into()));
}

#[test]
fn parts_whose_connection_broke_are_played_again() {
    let sets = planted(Security::Malicious, 300, 200, 77);
    let settings = Settings { learns: Learns::Both, ..settings("vole", Security::Malicious, 5) };
    // What showed nothing is free.
    for (breaks, attempts, spent) in [(Cut::AfterHeaders, 5, 0), (Cut::InTheMiddle, 7, 2)] {
        let cut = [breaks, Cut::Nothing, Cut::AtOnce, breaks, Cut::Nothing];
        let [receiver, sender] = both([&sets.receiver, &sets.sender], &settings, &cut, &honest);
        assert_eq!(receiver.report.unwrap().attempts, attempts);
        assert_eq!(sender.report.unwrap().spent, spent);
        assert_eq!(receiver.rows(), Some(sets.receiver_rows.clone()));
        assert_eq!(sender.rows(), Some(sets.sender_rows.clone()));
    }
}

/// A side that is honest, and whose keys are on disk.
fn on_disk(
    agreed: &Agreed,
    items: &Items,
    run: Connection,
    links: &mut dyn Links,
    play_options: &PlayOptions<'_>,
) -> Played {
    let folder = tempfile::tempdir().unwrap();
    let rng = &mut StdRng::seed_from_u64(5);
    let keys = KeySet::OnDisk(spooled(items, folder.path()), play_options.reporter);
    match play(agreed, keys, run, links, play_options, rng)? {
        Some(Selected::Bitmap { rows, items: matched }) => {
            let rows: HashSet<u64> = rows.iter().collect();
            let matches = items
                .matches((0..items.len()).filter(|item| items.rows_of(*item).any(|row| rows.contains(&row))));
            assert_eq!((matches.rows().len(), matches.items() as u64), (rows.len(), matched));
            Ok(Some(matches))
        }
        Some(Selected::Matches(_)) => panic!("the keys are on disk"),
        None => Ok(None),
    }
}

#[test]
fn keys_on_disk_are_matched_as_those_in_memory_also_where_parts_are_played_again() {
    for learns in [Learns::Receiver, Learns::Both] {
        let sets = planted(Security::Malicious, 300, 200, 77);
        let settings = Settings { learns, ..settings("vole", Security::Malicious, 5) };
        let cut = [Cut::AfterHeaders, Cut::Nothing, Cut::AtOnce, Cut::AfterHeaders, Cut::Nothing];
        let [receiver, sender] = both([&sets.receiver, &sets.sender], &settings, &cut, &on_disk);
        assert_eq!(receiver.rows(), Some(sets.receiver_rows));
        assert_eq!(sender.rows(), (learns == Learns::Both).then_some(sets.sender_rows));
    }
}

/// Links that say something else than they should at the beginning of a connection.
struct Spoilt {
    inner: InMemory,
    spoil: fn(&mut Vec<u8>),
}

impl Links for Spoilt {
    fn comes_here(&self) -> bool {
        self.inner.comes_here()
    }

    fn open(&self, call: &PartCall<'_>, rng: &mut dyn CryptoRng) -> Result<Option<Connection>, NetError> {
        let mut first = call.first.to_vec();
        (self.spoil)(&mut first);
        self.inner.open(&PartCall { first: &first, ..*call }, rng)
    }
}

#[test]
fn a_connection_of_another_job_part_or_round_counts_for_nothing() {
    let sets = planted(Security::Malicious, 100, 100, 10);
    let settings = settings("vole", Security::Malicious, 3);
    type Spoil = fn(&mut Vec<u8>);
    // Kind, tag, part, and round of what the receiver says. Without TLS, a receiver that was started again begins a run.
    let spoils: [(Spoil, u8); 5] = [
        (|first| first[0] = 9, 76),
        (|first| first[0] = 0, 69),
        (|first| first[9] ^= 1, 76),
        (|first| first[33] = 7, 76),
        (|first| first[37] ^= 1, 69),
    ];
    for (spoil, code) in spoils {
        let (mine, theirs) = memory::pair(&CancelToken::new());
        let (inner, mut takes) = InMemory::pair();
        let mut makes = Spoilt { inner, spoil };
        let settings = &settings;
        let ends = thread::scope(|scope| {
            let set = &sets.sender;
            let sender =
                scope.spawn(move || side(Role::Sender, set, settings, (theirs, &mut takes, 1), &honest));
            let receiver = side(Role::Receiver, &sets.receiver, settings, (mine, &mut makes, 1), &honest);
            drop(makes);
            [receiver, sender.join().unwrap()]
        });
        assert_eq!(ends[1].exit_code(), code, "{:?}", ends[1].result);
        assert!(matches!(ends[0].exit_code(), 69 | 76), "{:?}", ends[0].result);
    }
}

#[test]
fn a_part_that_never_comes_through_ends_the_run_with_69() {
    let sets = planted(Security::Malicious, 100, 100, 10);
    let settings = settings("vole", Security::Malicious, 3);
    let cut = [Cut::Nothing, Cut::AtOnce];
    let ends = both([&sets.receiver, &sets.sender], &settings, &cut, &honest);
    for end in &ends {
        assert_eq!(end.exit_code(), 69);
        assert_eq!(end.report.unwrap().attempts, 1);
    }
    // Who finds it first ends the run for both.
    let missing = Err(PartsError::Missing { missing: 2, count: 3 }.into());
    assert!(ends.iter().any(|end| end.result == missing));
}

/// Every attempt whose protocol began may have shown something, so there is an allowance of them.
#[test]
fn attempts_beyond_the_allowance_end_the_run_with_69() {
    let sets = planted(Security::Malicious, 100, 100, 10);
    let mut settings = settings("vole", Security::Malicious, 8);
    // A part has 55 places, so a limit may have room for fewer attempts: 8·55 + 55 ≤ 470 + 100/4.
    for (limit, allowance) in [(1 << 30, 4), (470, 1), (469, 0)] {
        settings.limits.max_peer_rows = limit;
        let ends = both([&sets.receiver, &sets.sender], &settings, &[Cut::InTheMiddle], &honest);
        assert!(ends.iter().all(|end| end.exit_code() == 69));
        let beyond = Err(PartsError::Allowance { allowance }.into());
        assert!(ends.iter().any(|end| end.result == beyond), "{limit}: {:?}", ends[1].result);
    }
}

/// A sender that is honest but for what it does to its tally before the lists are exchanged.
fn with_book(spoil: fn(&mut Vec<&mut PartDigest>)) -> Box<Play<'static>> {
    Box::new(move |agreed, items, mut run, links, play_options| {
        let rng = &mut StdRng::seed_from_u64(3);
        let partitioned = PartitionedRun::agree(agreed, items, Player::process(1), &mut run, rng)?;
        let progress = PartProgress::new(play_options.reporter);
        let mut run = RunConnection::begin(run, links, &partitioned, play_options, rng)?;
        let mut tally = PartTally::new(partitioned.count(), 4);
        for round in 0..MOST_ROUNDS {
            let missing = tally.missing();
            rounds::exchange_round(&mut run, round, partitioned.count(), &missing)?;
            let parts = (round, &missing[..], missing.clone());
            lanes::round(&partitioned, &mut tally, run.both(), parts, play_options, &progress, rng)?;
            spoil(&mut tally.receipts_mut().collect());
            tally.compare(&mut run, round, Role::Sender)?;
        }
        Err(PartsError::Missing { missing: 0, count: 0 }.into())
    })
}

#[test]
fn receipts_that_are_swapped_replayed_or_dropped_end_the_run_without_a_result() {
    let sets = planted(Security::Malicious, 100, 100, 10);
    let settings = settings("vole", Security::Malicious, 3);
    let spoils: [fn(&mut Vec<&mut PartDigest>); 3] = [
        |receipts| {
            let (first, second) = (*receipts[0], *receipts[1]);
            (*receipts[0], *receipts[1]) = (second, first);
        },
        |receipts| *receipts[1] = *receipts[0],
        |receipts| *receipts[2] = [0; 32],
    ];
    for spoil in spoils {
        let [receiver, _] = both([&sets.receiver, &sets.sender], &settings, &[], &with_book(spoil));
        assert_eq!(receiver.exit_code(), 69, "{:?}", receiver.result);
    }
}

/// A sender that is honest up to the root.
fn with_root(spoil: fn(&mut [u8; 32], &mut u64)) -> Box<Play<'static>> {
    Box::new(move |agreed, items, mut run, links, play_options| {
        let rng = &mut StdRng::seed_from_u64(3);
        let partitioned = PartitionedRun::agree(agreed, items, Player::process(1), &mut run, rng)?;
        let progress = PartProgress::new(play_options.reporter);
        let mut run = RunConnection::begin(run, links, &partitioned, play_options, rng)?;
        let tally = partitioned.play(&mut run, play_options, &progress, rng)?;
        let (mut root, mut matches) = (tally.root(&partitioned.job.id)?, tally.matches());
        spoil(&mut root, &mut matches);
        rounds::exchange_root(&mut run, &root, matches)?;
        Ok(None)
    })
}

#[test]
fn another_root_or_number_of_matches_ends_the_run_with_76() {
    let sets = planted(Security::Malicious, 100, 100, 10);
    let settings = Settings { learns: Learns::Both, ..settings("vole", Security::Malicious, 3) };
    let spoils: [fn(&mut [u8; 32], &mut u64); 3] =
        [|root, _| root[31] ^= 1, |root, _| *root = [0; 32], |_, matches| *matches += 1];
    for spoil in spoils {
        let [receiver, _] = both([&sets.receiver, &sets.sender], &settings, &[], &with_root(spoil));
        assert_eq!(receiver.exit_code(), 76, "{:?}", receiver.result);
    }
}

#[test]
fn a_coin_that_was_not_committed_to_ends_the_run_with_76() {
    let sets = planted(Security::Malicious, 100, 100, 10);
    let settings = settings("vole", Security::Malicious, 2);
    fn cheats(
        agreed: &Agreed,
        _: &Items,
        mut run: Connection,
        _: &mut dyn Links,
        _: &PlayOptions<'_>,
    ) -> Played {
        let promise = toss::commitment(agreed.role(), &[1; 32]);
        run.send(&[&[0, 1, 0][..], &promise].concat())?;
        run.recv_exact(&mut [0; 35])?;
        run.send(&[&[2; 32][..], &[3; 32]].concat())?;
        run.recv_exact(&mut [0; 64])?;
        run.recv_exact(&mut [0; 1])?;
        Ok(None)
    }
    let [receiver, sender] = both([&sets.receiver, &sets.sender], &settings, &[], &cheats);
    assert_eq!(receiver.result, Err(PartsError::Coin.into()));
    assert_eq!((receiver.exit_code(), sender.exit_code()), (76, 69));
}

#[test]
fn a_partner_without_the_memory_for_the_parts_ends_the_run_with_77() {
    let sets = planted(Security::Malicious, 100, 100, 10);
    let settings = settings("vole", Security::Malicious, 2);
    fn declines(
        agreed: &Agreed,
        _: &Items,
        mut run: Connection,
        _: &mut dyn Links,
        _: &PlayOptions<'_>,
    ) -> Played {
        agreed.check_memory(2, Some(Budget::named(1)), &mut run).map(|()| None)
    }
    let [receiver, sender] = both([&sets.receiver, &sets.sender], &settings, &[], &declines);
    assert!(matches!(receiver.result, Err(SessionError::TooLargeForPartner { .. })), "{:?}", receiver.result);
    assert_eq!((receiver.exit_code(), sender.exit_code()), (77, 77));
}

#[test]
fn sides_that_do_not_mean_the_same_round_end_with_76() {
    let sets = planted(Security::Malicious, 100, 100, 10);
    let settings = settings("vole", Security::Malicious, 2);
    fn other(
        agreed: &Agreed,
        items: &Items,
        mut run: Connection,
        links: &mut dyn Links,
        play_options: &PlayOptions<'_>,
    ) -> Played {
        let rng = &mut StdRng::seed_from_u64(9);
        let partitioned = PartitionedRun::agree(agreed, items, Player::process(1), &mut run, rng)?;
        let mut run = RunConnection::begin(run, links, &partitioned, play_options, rng)?;
        rounds::exchange_round(&mut run, 0, 2, &[1])?;
        Ok(None)
    }
    for end in both([&sets.receiver, &sets.sender], &settings, &[], &other) {
        assert_eq!(end.result, Err(PartsError::Differ("parts to play").into()));
        assert_eq!(end.exit_code(), 76);
    }
}

#[test]
fn more_parts_than_a_side_allows_are_refused_on_both_sides() {
    let sets = planted(Security::Malicious, 9, 9, 3);
    let asks = settings("vole", Security::Malicious, 8);
    let mut allows = settings("vole", Security::Malicious, 1);
    allows.limits.max_parts = Some(7);
    let (mut mine, mut theirs) = memory::pair(&CancelToken::new());
    let agree = |role, settings: &Settings, items: &Items, channel: &mut Connection| {
        let terms = Terms::new(role, settings, &["raw".to_owned()]);
        session::agree(channel, &terms, settings.wanted(), items.len(), None).map(drop)
    };
    let ends = thread::scope(|scope| {
        let sender = scope.spawn(|| agree(Role::Sender, &allows, &sets.sender, &mut theirs));
        [agree(Role::Receiver, &asks, &sets.receiver, &mut mine), sender.join().unwrap()]
    });
    for (end, limiter) in ends.into_iter().zip(["the partner", "this side"]) {
        let error = PartsError::TooMany { count: 8, limiter, most: 7 };
        assert_eq!(end, Err(error.clone().into()));
        assert_eq!(Error::session(RunPhase::Agree, &error.into()).kind.exit_code(), 77);
    }
}

/// The keys of a table that all fall into one part under a key that was known before.
fn crowd(key: &[u8; 32], wanted: usize) -> Vec<String> {
    let names: Vec<String> = (0..20 * wanted).map(|number| format!("name {number}")).collect();
    let settings = Settings::default();
    let items = crate::job::sets::items(names.iter().map(String::as_bytes), &settings).unwrap();
    let split = Split::new(&items, key, Parts::new(4).unwrap()).unwrap();
    let part = split.part(0, &mut StdRng::seed_from_u64(1)).unwrap();
    let numbers = (0..part.len()).flat_map(|item| part.rows_of(item)).collect::<Vec<_>>();
    let rows = numbers.into_iter().flat_map(|number| items.rows_of(number as usize));
    rows.take(wanted).map(|row| names[row as usize].clone()).collect()
}

#[test]
fn an_overfull_part_ends_the_run_with_70_and_nothing_is_written() {
    let key = [7; 32];
    let folder = tempfile::tempdir().unwrap();
    let table = |name: &str, keys: &[String], output: Destination| {
        let input = folder.path().join(name);
        std::fs::write(&input, format!("k\n{}\n", keys.join("\n"))).unwrap();
        let (keys, dialect) = (MatchRule::parse("k").unwrap().into(), Dialect::default());
        TableArgs { input: input.into(), keys, dialect, output, protected: Vec::new() }
    };
    let crowd = crowd(&key, 200);
    assert_eq!(crowd.len(), 200);
    let output = folder.path().join("out.csv");
    let mine = table("mine.csv", &crowd, Destination::Path(output.clone()));
    let theirs = table("theirs.csv", &crowd, Destination::RowNumbers);
    let settings = Settings { parts: 4, ..Settings::default() };
    let mut rngs = [1, 2].map(StdRng::seed_from_u64);
    let [one, two] = &mut rngs;
    KEY.set(Some(key));
    let ended = local::run(mine, theirs, &settings, &CancelToken::new(), [one, two], &|_| {});
    KEY.set(None);
    let error = ended.0.result.err().unwrap();
    assert_eq!(error.kind.exit_code(), 70, "{error}");
    assert!(error.message.shell().contains("more than its bound"), "{error}");
    assert!(!output.exists());
}
