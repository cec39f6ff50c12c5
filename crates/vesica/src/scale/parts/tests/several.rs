//! Several parts at once.

use std::sync::{Arc, Mutex};

use super::*;

/// The root hashes all that went over the connections of all parts.
#[test]
fn every_number_of_lanes_sends_the_same_bytes_and_ends_with_the_plain_join() {
    let sets = planted(Security::Malicious, 900, 700, 77);
    let settings = Settings { learns: Learns::Both, ..settings("vole", Security::Malicious, 9) };
    let roots = Arc::new(Mutex::new(HashSet::new()));
    let kept = roots.clone();
    let told: Box<Play<'static>> = Box::new(move |agreed, items, mut run, links, play_options| {
        let rng = &mut StdRng::seed_from_u64(3);
        let player = Player::process(play_options.lanes);
        let partitioned = PartitionedRun::agree(agreed, items, player, &mut run, rng)?;
        let progress = PartProgress::new(play_options.reporter);
        let mut run = RunConnection::begin(run, links, &partitioned, play_options, rng)?;
        let tally = partitioned.play(&mut run, play_options, &progress, rng)?;
        kept.lock().unwrap().insert(tally.root(&partitioned.job.id)?);
        partitioned.confirm(&tally, &mut run, play_options.reporter)?;
        Ok(partitioned.matches(tally, (2, 2))?.and_then(Selected::into_matches))
    });
    for (lanes, expected) in [([1, 1], 1), ([1, 4], 1), ([2, 2], 2), ([4, 3], 3), ([4, 4], 4)] {
        let [receiver, sender] = both_in(lanes, [&sets.receiver, &sets.sender], &settings, &[], &*told);
        let [here, there] = [&receiver, &sender].map(|end| end.report.map(|report| report.lanes));
        assert_eq!((here, there), (Some(expected), Some(expected)));
        assert_eq!(receiver.rows(), Some(sets.receiver_rows.clone()), "{lanes:?}");
        assert_eq!(sender.rows(), Some(sets.sender_rows.clone()), "{lanes:?}");
    }
    assert_eq!(roots.lock().unwrap().len(), 1);
}

#[test]
fn parts_whose_connection_broke_are_played_again_in_several_lanes_too() {
    let sets = planted(Security::Malicious, 300, 200, 77);
    let settings = settings("vole", Security::Malicious, 7);
    let cut = [Cut::InTheMiddle, Cut::Nothing, Cut::AtOnce, Cut::InTheMiddle, Cut::Nothing];
    for sender in [honest, on_disk] {
        let ends = both_in([3, 2], [&sets.receiver, &sets.sender], &settings, &cut, &sender);
        let [here, there] = [&ends[0], &ends[1]].map(|end| end.report.unwrap());
        // A receiver that alone learns shows nothing.
        assert_eq!((here.lanes, here.attempts, here.spent), (2, 9, 0));
        assert_eq!((there.lanes, there.spent), (2, 2));
        let [receiver, _] = ends;
        assert_eq!(receiver.rows(), Some(sets.receiver_rows.clone()));
    }
}

/// Links to which many connections come before the partner's.
struct Crowd {
    inner: InMemory,
    /// How many of them this side held at once.
    held: AtomicUsize,
}

impl Links for Crowd {
    fn comes_here(&self) -> bool {
        self.inner.comes_here()
    }

    fn open(&self, _: &PartCall<'_>, _: &mut dyn CryptoRng) -> Result<Option<Connection>, NetError> {
        Ok(None)
    }

    fn take(
        &self,
        call: &PartCall<'_>,
        rng: &mut dyn CryptoRng,
        each: &mut dyn FnMut(Connection),
    ) -> Result<(), NetError> {
        if self.held.load(Ordering::Relaxed) == 0 {
            let come = || {
                let (ours, theirs) = memory::pair(&call.options.cancel);
                each(theirs);
                ours
            };
            let mut crowd: Vec<Connection> = std::iter::repeat_with(come).take(100).collect();
            let held = crowd.iter_mut().filter_map(|end| end.check().ok()).count();
            self.held.store(held, Ordering::Relaxed);
        }
        self.inner.take(call, rng, each)
    }
}

#[test]
fn connections_that_wait_are_bounded() {
    let sets = planted(Security::Malicious, 300, 200, 77);
    let settings = settings("vole", Security::Malicious, 7);
    let (mine, theirs) = memory::pair(&CancelToken::new());
    let (mut makes, takes) = InMemory::pair();
    let mut crowd = Crowd { inner: takes, held: AtomicUsize::new(0) };
    let (receiver, held) = thread::scope(|scope| {
        let settings = &settings;
        let sender = scope.spawn(|| {
            let end = side(Role::Sender, &sets.sender, settings, (theirs, &mut crowd, 2), &honest);
            (end, crowd.held.load(Ordering::Relaxed))
        });
        let receiver = side(Role::Receiver, &sets.receiver, settings, (mine, &mut makes, 2), &honest);
        drop(makes);
        let (sender, held) = sender.join().unwrap();
        // None of them was an attempt.
        assert_eq!(sender.report.map(|report| (report.attempts, report.spent)), Some((7, 0)));
        (receiver, held)
    });
    assert_eq!(receiver.rows(), Some(sets.receiver_rows));
    // Two for each lane wait, and each may have taken one already.
    assert!((4..=6).contains(&held), "{held}");
}

#[test]
fn an_error_of_one_lane_ends_the_run_for_all_of_them() {
    let sets = planted(Security::Malicious, 100, 100, 10);
    let settings = settings("vole", Security::Malicious, 8);
    let sets = [&sets.receiver, &sets.sender];
    let ends = both_in([4, 4], sets, &settings, &[Cut::InTheMiddle], &honest);
    assert!(ends.iter().all(|end| end.exit_code() == 69));
    let beyond = Err(PartsError::Allowance { allowance: 4 }.into());
    assert!(ends.iter().any(|end| end.result == beyond));
}

#[test]
fn an_outage_that_breaks_all_lanes_is_within_the_allowance() {
    let sets = planted(Security::Malicious, 300, 200, 77);
    let settings = settings("vole", Security::Malicious, 16);
    let mut cut = vec![Cut::InTheMiddle; 8];
    cut.push(Cut::Nothing);
    let [receiver, sender] = both_in([8, 8], [&sets.receiver, &sets.sender], &settings, &cut, &honest);
    assert_eq!(sender.report.unwrap().spent, 8);
    assert_eq!(receiver.rows(), Some(sets.receiver_rows));
}
