//! A run whose connection breaks: cut at every step, by either side, it ends as if it had not been.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use super::*;

/// Where two sides meet again: who comes first leaves the other one's end there.
#[derive(Clone, Default)]
struct Place(Arc<(Mutex<Option<Connection>>, Condvar)>);

impl Place {
    /// A new connection with the other side; none if it does not come.
    fn meet(&self) -> Option<Connection> {
        let (left, changed) = &*self.0;
        let mut left = left.lock().unwrap();
        if let Some(mine) = left.take() {
            changed.notify_all();
            return Some(mine);
        }
        let (mine, theirs) = memory::pair(&CancelToken::new());
        *left = Some(theirs);
        let patience = Duration::from_secs(20);
        let (mut left, waited) = changed.wait_timeout_while(left, patience, |left| left.is_some()).unwrap();
        if waited.timed_out() {
            *left = None;
            return None;
        }
        Some(mine)
    }
}

/// Links of a run whose connection can be made again.
struct Again {
    inner: InMemory,
    place: Option<Place>,
    /// What each side says first, if it is not what it should be.
    spoil: fn(&mut Vec<u8>),
    taken_up: usize,
}

impl Links for Again {
    fn comes_here(&self) -> bool {
        self.inner.comes_here()
    }

    fn open(&self, call: &PartCall<'_>, rng: &mut dyn CryptoRng) -> Result<Option<Connection>, NetError> {
        self.inner.open(call, rng)
    }

    fn take(
        &self,
        call: &PartCall<'_>,
        rng: &mut dyn CryptoRng,
        each: &mut dyn FnMut(Connection),
    ) -> Result<(), NetError> {
        self.inner.take(call, rng, each)
    }

    fn take_up(
        &mut self,
        first: &[u8],
        _: &Options,
        _: &mut dyn CryptoRng,
        _: &mut dyn FnMut(NetEvent),
    ) -> Result<Option<Connection>, NetError> {
        let Some(mut met) = self.place.as_ref().and_then(Place::meet) else { return Ok(None) };
        self.taken_up += 1;
        let mut first = first.to_vec();
        (self.spoil)(&mut first);
        // It may have been cut again.
        drop(met.send(&first).and_then(|()| met.flush()));
        Ok(Some(met))
    }
}

/// Both sides, with cuts of the receiver's and of the sender's; how often each made the connection again.
fn broken(
    sets: &Planted,
    settings: &Settings,
    cuts: [&[(Step, When)]; 2],
    spoil: fn(&mut Vec<u8>),
) -> ([End; 2], [usize; 2]) {
    broken_with(sets, settings, cuts, spoil, &honest)
}

/// A run with a sender that does something else.
fn broken_with(
    sets: &Planted,
    settings: &Settings,
    cuts: [&[(Step, When)]; 2],
    spoil: fn(&mut Vec<u8>),
    sender: &Play<'_>,
) -> ([End; 2], [usize; 2]) {
    let (mine, theirs) = memory::pair(&CancelToken::new());
    let (makes, takes) = InMemory::pair();
    let place = Place::default();
    let (here, there) = (place.clone(), place);
    thread::scope(|scope| {
        let sender = scope.spawn(move || {
            CUTS.set(cuts[1].to_vec());
            let mut links = Again { inner: takes, place: Some(there), spoil: |_| (), taken_up: 0 };
            (side(Role::Sender, &sets.sender, settings, (theirs, &mut links, 1), sender), links.taken_up)
        });
        CUTS.set(cuts[0].to_vec());
        let mut links = Again { inner: makes, place: Some(here), spoil, taken_up: 0 };
        let receiver = side(Role::Receiver, &sets.receiver, settings, (mine, &mut links, 2), &honest);
        CUTS.set(Vec::new());
        let again = links.taken_up;
        drop(links);
        let (sender, there) = sender.join().unwrap();
        ([receiver, sender], [again, there])
    })
}

const STEPS: [Step; 4] = [
    Step { round: 0, of: StepKind::Round },
    Step { round: 0, of: StepKind::Ended },
    Step { round: 0, of: StepKind::Root },
    Step { round: 0, of: StepKind::Done },
];

#[test]
fn a_run_that_is_cut_at_any_step_by_either_side_ends_alike_on_both() {
    let sets = planted(Security::Malicious, 60, 50, 20);
    let settings = Settings { learns: Learns::Both, ..settings("vole", Security::Malicious, 3) };
    for step in STEPS {
        for when in [When::Before, When::Said, When::Taken] {
            // Nobody takes up what has ended well, and DONE is said with the step's end.
            if step.of == StepKind::Done && when != When::Before {
                continue;
            }
            let cut = &[(step, when)][..];
            for cuts in [[cut, &[]], [&[], cut], [cut, cut]] {
                let ([receiver, sender], again) = broken(&sets, &settings, cuts, |_| ());
                let shown = format!("{step:?} {when:?} {}", cuts[0].len() + 2 * cuts[1].len());
                assert_eq!(again[0], again[1], "{shown}");
                assert!(again[0] >= 1, "{shown}");
                // A connection that waited while the run broke is one attempt more.
                assert!(receiver.report.unwrap().attempts >= 3, "{shown}");
                assert_eq!(receiver.rows().as_ref(), Some(&sets.receiver_rows), "{shown}");
                assert_eq!(sender.rows().as_ref(), Some(&sets.sender_rows), "{shown}");
            }
        }
    }
}

#[test]
fn a_run_that_is_cut_again_and_again_comes_to_its_end() {
    let sets = planted(Security::Malicious, 60, 50, 20);
    let settings = settings("vole", Security::Malicious, 3);
    let all = |when| STEPS.map(|step| (step, when));
    let mut cuts = [all(When::Before), all(When::Said)].concat();
    cuts.retain(|cut| *cut != (STEPS[3], When::Said));
    let others = all(When::Taken)[..3].to_vec();
    let ([receiver, sender], again) = broken(&sets, &settings, [&cuts, &others], |_| ());
    assert!(again[0] == again[1] && again[0] >= 5, "{again:?}");
    assert_eq!(receiver.rows(), Some(sets.receiver_rows));
    assert_eq!(sender.rows(), None);
}

/// Neither another run's tag, nor a step that the partner cannot be at, nor another kind of connection.
#[test]
fn a_connection_that_takes_up_something_else_ends_the_run_with_76() {
    let sets = planted(Security::Malicious, 60, 50, 20);
    let settings = settings("vole", Security::Malicious, 3);
    let spoils: [fn(&mut Vec<u8>); 5] = [
        |first| first[0] = 1,
        |first| first[5] ^= 1,
        |first| first[33] = 1,
        |first| first[35] = 3,
        |first| first[35] = 4,
    ];
    for (number, spoil) in spoils.into_iter().enumerate() {
        let cuts: [&[_]; 2] = [&[(STEPS[1], When::Before)], &[]];
        let ([receiver, sender], _) = broken(&sets, &settings, cuts, spoil);
        assert_eq!(sender.exit_code(), 76, "{number}: {:?}", sender.result);
        assert_eq!(receiver.exit_code(), 69, "{number}: {:?}", receiver.result);
    }
}

/// What comes in its place is then the first message of a run.
#[test]
fn a_partner_that_was_started_again_ends_the_run_with_69() {
    let sets = planted(Security::Malicious, 60, 50, 20);
    let settings = settings("vole", Security::Malicious, 3);
    let cuts: [&[_]; 2] = [&[(STEPS[1], When::Before)], &[]];
    let ([receiver, sender], _) = broken(&sets, &settings, cuts, |first| first[0] = 0);
    assert!(matches!(sender.result, Err(SessionError::OtherRun(_))), "{:?}", sender.result);
    assert_eq!([sender.exit_code(), receiver.exit_code()], [69; 2], "{:?}", receiver.result);
}

/// Who awaits a later step says that it has a message which this side has not begun to say.
#[test]
fn a_partner_that_claims_what_was_not_said_ends_the_run_with_76() {
    let sets = planted(Security::Malicious, 60, 50, 20);
    let settings = settings("vole", Security::Malicious, 3);
    // During the parts, before either list of receipts.
    let cuts: [&[_]; 2] = [&[(STEPS[0], When::Taken)], &[]];
    let ([receiver, sender], _) = broken(&sets, &settings, cuts, |first| first[35] = StepKind::Root as u8);
    assert_eq!(sender.result, Err(PartsError::Differ("step of the run").into()));
    assert_eq!((sender.exit_code(), receiver.exit_code()), (76, 69), "{:?}", receiver.result);
}

#[test]
fn a_run_that_cannot_be_taken_up_ends_with_69() {
    let sets = planted(Security::Malicious, 60, 50, 20);
    let settings = settings("vole", Security::Malicious, 3);
    CUTS.set(vec![(STEPS[1], When::Before)]);
    for end in both([&sets.receiver, &sets.sender], &settings, &[], &honest) {
        assert_eq!(end.exit_code(), 69, "{:?}", end.result);
    }
    CUTS.set(Vec::new());
}

/// A driver of an engine looks at the connection between the last lists and the root, while its results are written.
#[test]
fn flaw_a_run_that_breaks_before_the_root_is_taken_up_by_a_side_that_has_not_begun_it() {
    let sets = planted(Security::Malicious, 60, 50, 20);
    let settings = settings("vole", Security::Malicious, 3);
    let looks: &Play<'_> = &|agreed, items, mut run, links, play_options| {
        let rng = &mut StdRng::seed_from_u64(3);
        let partitioned = PartitionedRun::agree(agreed, items, Player::process(1), &mut run, rng)?;
        let progress = PartProgress::new(play_options.reporter);
        let mut run = RunConnection::begin(run, links, &partitioned, play_options, rng)?;
        let tally = partitioned.play(&mut run, play_options, &progress, rng)?;
        while run.channel().check().is_ok() {
            thread::sleep(Duration::from_millis(5));
        }
        run.mend()?;
        partitioned.confirm(&tally, &mut run, play_options.reporter)?;
        Ok(None)
    };
    let cuts: [&[_]; 2] = [&[(STEPS[1], When::Taken)], &[]];
    let ([receiver, sender], again) = broken_with(&sets, &settings, cuts, |_| (), looks);
    assert_eq!((sender.result, again), (Ok(None), [1, 1]));
    assert_eq!(receiver.rows(), Some(sets.receiver_rows));
}
