use std::cell::RefCell;
use std::fs;
use std::thread;

use rand::{SeedableRng, rngs::StdRng};
use vesica_protocols::{Learns, Noise};

use super::*;
use crate::words::error::Kind;
use crate::words::results::{ResultChoice, ResultOptions};
use crate::words::settings::RunBudgets;

/// A ledger in a folder of its own.
struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        Scene { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("runs")
    }

    fn lines(&self) -> Vec<String> {
        fs::read_to_string(self.path()).unwrap().lines().map(str::to_owned).collect()
    }

    fn open(&self) -> Result<RunLedger, Error> {
        RunLedger::open(&self.path(), &mut StdRng::seed_from_u64(1))
    }

    /// A run about the keys `from` to `from + 1000`.
    fn run(&self, from: u64) -> TestRun {
        self.run_of(from..from + 1000, "email", None)
    }

    fn run_of(&self, keys: std::ops::Range<u64>, rules: &str, input: Option<&str>) -> TestRun {
        let ledger = self.open().unwrap();
        let encoding = Encoding::Digest(Width::Digest128);
        let mut sketcher = ledger.sketcher(encoding.bytes());
        let count = keys.end - keys.start;
        keys.for_each(|key| sketcher.take(&blake3::hash(&key.to_le_bytes()).as_bytes()[..16]));
        let (input, rules) = (input.map(str::to_owned), rules.to_owned());
        let set = OwnSet { input, rules, encoding, keys: count, sketch: sketcher.finish() };
        TestRun { ledger, set }
    }

    fn summary(&self) -> Summary {
        read(&self.path(), None).unwrap()
    }

    /// Budgets of the first set with the first partner.
    fn first(&self) -> SetRuns {
        self.summary().partners[0].sets[0].clone()
    }
}

/// A run and its set.
struct TestRun {
    ledger: RunLedger,
    set: OwnSet,
}

impl TestRun {
    /// It begins. Gives what the user is told.
    fn begin(
        &self,
        role: Role,
        settings: &Settings,
        who: &str,
        post: Option<&str>,
    ) -> Result<Option<Text>, Error> {
        let told = RefCell::new(None);
        let (partner, post) = (who.to_owned(), post.map(str::to_owned));
        let run = NewRun { role, settings, set: &self.set, partner, post };
        self.ledger.begin(&run, &|text| *told.borrow_mut() = Some(text))?;
        Ok(told.into_inner())
    }

    fn ended(&self, error: Option<&Error>) -> Result<Option<LedgerReport>, Error> {
        self.ledger.ended(error)
    }
}

/// Options of a run with a count as its result, and these budgets.
fn counting(noise: Option<u32>, budgets: RunBudgets) -> Settings {
    let noise = noise.and_then(Noise::of_thousandths);
    let result = ResultOptions { result: ResultChoice::Count, noise, ..ResultOptions::default() };
    Settings { result, budgets, ..Settings::default() }
}

fn counts(most: u64) -> Settings {
    counting(None, RunBudgets { max_counts: Some(most), ..RunBudgets::default() })
}

/// A sender's run with the partner `who` begins.
fn begins(run: &TestRun, settings: &Settings, who: &str) -> Result<Option<Text>, Error> {
    run.begin(Role::Sender, settings, who, None)
}

fn agrees(run: &TestRun, peer_keys: u64) -> Result<(), Error> {
    run.ledger.agreed("name".to_owned(), "circuit-vole", peer_keys, None)
}

#[track_caller]
fn is_refused<T: std::fmt::Debug>(ended: Result<T, Error>, word: &str) {
    let error = ended.unwrap_err();
    assert_eq!(error.kind, Kind::Refused, "{error}");
    assert!(error.message.shell().contains(word), "{error}");
}

#[test]
fn runs_with_one_partner_about_one_set_add_up_and_others_do_not() {
    let scene = Scene::new();
    let settings = &counts(2);
    for _ in 0..2 {
        begins(&scene.run(0), settings, "ada").unwrap();
    }
    is_refused(begins(&scene.run(0), settings, "ada"), "--max-counts 2");
    // A tenth of the keys are others; then nine tenths are.
    is_refused(begins(&scene.run(100), settings, "ada"), ": runs 1 (20");
    begins(&scene.run(900), settings, "ada").unwrap();
    begins(&scene.run(0), settings, "bob").unwrap();
    // A higher limit.
    begins(&scene.run(0), &counts(3), "ada").unwrap();
    let summary = scene.summary();
    let sets = |at: usize| summary.partners[at].sets.iter().map(|set| set.counts.spent).collect::<Vec<_>>();
    assert_eq!((summary.partners.len(), sets(0), sets(1)), (2, vec![3, 1], vec![1]));
    assert_eq!(scene.first().counts, BudgetUse { spent: 3, most: Some(3), left: Some(0) });
    let runs: Vec<u64> = scene.first().runs.iter().map(|run| run.run).collect();
    assert_eq!(runs, [1, 2, 3, 4, 7]);
}

#[test]
fn sets_that_cannot_be_compared_count_as_the_same() {
    let settings = &counts(1);
    let earlier = |keys, rules, input| {
        let scene = Scene::new();
        begins(&scene.run_of(keys, rules, input), settings, "ada").unwrap();
        scene
    };
    let next = |scene: &Scene, input| begins(&scene.run_of(0..1000, "email", input), settings, "ada");
    // Another rule, a set ten times as large, the same file: whatever the sketches say.
    is_refused(next(&earlier(5000..6000, "phone", None), None), "max-counts");
    is_refused(next(&earlier(5000..15_000, "email", None), None), "max-counts");
    is_refused(next(&earlier(5000..6000, "email", Some("file")), Some("file")), "max-counts");
    next(&earlier(5000..6000, "email", Some("file")), Some("other")).unwrap();
    next(&earlier(5000..6000, "email", None), None).unwrap();
    // What holds the whole set, and as much again.
    is_refused(next(&earlier(0..2000, "email", None), None), "max-counts");
}

#[test]
fn a_run_is_spent_unless_it_ended_before_the_protocol() {
    let failed = Error { phase: RunPhase::Agree, ..Error::usage("no", "none") };
    let settings = &counts(1);
    let after = |act: &dyn Fn(&TestRun)| {
        let scene = Scene::new();
        let run = scene.run(0);
        begins(&run, settings, "ada").unwrap();
        act(&run);
        begins(&scene.run(0), settings, "ada").map(drop)
    };
    after(&|run| drop(run.ended(Some(&failed)).unwrap())).unwrap();
    is_refused(after(&|_| ()), "max-counts");
    is_refused(after(&|run| agrees(run, 5).unwrap()), "max-counts");
    let ends = |error: Option<&Error>| {
        after(&|run| {
            agrees(run, 5).unwrap();
            run.ended(error).unwrap();
        })
    };
    is_refused(ends(None), "max-counts");
    is_refused(ends(Some(&failed)), "max-counts");
}

#[test]
fn what_the_partner_learns_decides_what_counts() {
    let with = |change: &dyn Fn(&mut Settings)| {
        let mut settings = counts(0);
        change(&mut settings);
        settings
    };
    let count = with(&|_| ());
    let (both, least) = (
        with(&|settings| settings.learns = Learns::Both),
        with(&|settings| settings.result.min_matches = Some(10)),
    );
    let rows = with(&|settings| settings.result.result = ResultChoice::Rows);
    let rows_both = Settings { learns: Learns::Both, ..rows.clone() };
    let audit = Settings { audit_max: Some(9), ..rows.clone() };
    use PartnerLearns::{Nothing, Number, Rows};
    for (settings, receiver, sender) in [
        (count, Number, Nothing),
        (both, Number, Number),
        (least, Number, Number),
        (rows, Rows, Nothing),
        (rows_both, Rows, Rows),
        (audit, Rows, Number),
    ] {
        let learn = [Role::Receiver, Role::Sender].map(|role| partner_learns(role, &settings));
        assert_eq!(learn, [receiver, sender], "{settings:?}");
        // As a receiver, this side has a partner that sends.
        let ended = Scene::new().run(0).begin(Role::Receiver, &settings, "ada", None);
        assert_eq!(ended.is_err(), sender == Number);
    }
}

#[test]
fn epsilon_adds_up_and_no_exact_count_is_among_them() {
    let scene = Scene::new();
    let budgets = |most| RunBudgets {
        max_counts: Some(100),
        max_epsilon: Noise::of_thousandths(most),
        ..RunBudgets::default()
    };
    let noisy =
        |epsilon, most| begins(&scene.run(0), &counting(Some(epsilon), budgets(most)), "ada").map(drop);
    for epsilon in [400, 400, 150] {
        noisy(epsilon, 1000).unwrap();
    }
    is_refused(noisy(51, 1000), "would be 1.001");
    noisy(50, 1000).unwrap();
    is_refused(noisy(1, 1000), "--max-epsilon 1`");
    assert_eq!((&*scene.first().epsilon, scene.first().without_epsilon), ("1", 0));
    is_refused(begins(&scene.run(0), &counting(None, budgets(2000)), "ada"), "an exact number, or rows");
    // Without a limit an exact one is allowed, and then no limit holds any more.
    begins(&scene.run(0), &counts(100), "ada").unwrap();
    is_refused(noisy(1, 20_000), "had rows, or counts without noise");
    assert_eq!((&*scene.first().epsilon, scene.first().without_epsilon), ("1", 1));
}

#[test]
fn no_epsilon_holds_for_rows() {
    let scene = Scene::new();
    let budgets = RunBudgets { max_epsilon: Noise::of_thousandths(1000), ..RunBudgets::default() };
    let noisy = || begins(&scene.run(0), &counting(Some(500), budgets), "ada").map(drop);
    let rows = |budgets| begins(&scene.run(0), &Settings { budgets, ..Settings::default() }, "ada").map(drop);
    noisy().unwrap();
    is_refused(rows(budgets), "an exact number, or rows");
    // A partner that learns nothing is not bound by it.
    let settings = &Settings { budgets, ..Settings::default() };
    scene.run(0).begin(Role::Receiver, settings, "ada", None).unwrap();
    rows(RunBudgets::default()).unwrap();
    is_refused(noisy(), "had rows, or counts without noise");
    assert_eq!((&*scene.first().epsilon, scene.first().without_epsilon), ("0.5", 1));
}

#[test]
fn each_answer_of_a_run_by_post_counts() {
    let scene = Scene::new();
    let settings = |most, result| {
        let budgets = RunBudgets { max_questions: Some(most), ..RunBudgets::default() };
        Settings { budgets, result, ..Settings::default() }
    };
    let call = |settings: &Settings, partner: &str| {
        let run = scene.run(0);
        run.begin(Role::Sender, settings, partner, Some("post")).unwrap();
        run
    };
    // All of them have one session, as queries of one head have.
    let answers = |run: &TestRun, query: &str, keys| {
        run.ledger.agreed("name".to_owned(), "dh", keys, Some(query.to_owned()))
    };
    let rows = &settings(1000, ResultOptions::default());
    answers(&call(rows, "ada"), "one", 600).unwrap();
    // The same query once more is no other answer; another one is, whatever its size.
    answers(&call(rows, "ada"), "one", 600).unwrap();
    answers(&call(rows, "ada"), "two", 400).unwrap();
    answers(&call(rows, "ada"), "one", 600).unwrap();
    assert_eq!(scene.first().questions.spent, 1000);
    assert_eq!(scene.first().runs[0].peer_keys, Some(1000));
    is_refused(answers(&call(rows, "ada"), "three", 1), ": run 1 (");
    // A refusal ends the run. What it has answered stays.
    assert_eq!(scene.first().questions.spent, 1000);
    // Another partner's run is another one, whatever it is known by.
    answers(&call(rows, "bob"), "one", 1000).unwrap();
    assert_eq!(scene.summary().partners.len(), 2);
    // So does each number.
    let noise = Noise::of_thousandths(300);
    let count = ResultOptions { result: ResultChoice::Count, noise, ..ResultOptions::default() };
    let count = &settings(1000, count);
    answers(&call(count, "eve"), "one", 5).unwrap();
    answers(&call(count, "eve"), "two", 5).unwrap();
    let set = &scene.summary().partners[2].sets[0];
    assert_eq!((set.counts.spent, &*set.epsilon), (2, "0.6"));
}

#[test]
fn questions_add_up() {
    let scene = Scene::new();
    let budgets = RunBudgets { max_questions: Some(1000), ..RunBudgets::default() };
    let settings = &Settings { budgets, ..Settings::default() };
    let asks = |keys| {
        let run = scene.run(0);
        begins(&run, settings, "ada")?;
        agrees(&run, keys)
    };
    asks(600).unwrap();
    is_refused(asks(401), "has asked for 600 keys");
    // Two runs that begin together share what is left.
    let (one, two) = (scene.run(0), scene.run(0));
    begins(&one, settings, "ada").unwrap();
    begins(&two, settings, "ada").unwrap();
    agrees(&one, 400).unwrap();
    is_refused(agrees(&two, 1), "asks for 1 now");
    // Nothing is left, and nothing begins.
    is_refused(asks(1), "--max-questions 1000");
    assert!(scene.lines().last().unwrap().contains("\"kind\":\"refused\""));
    assert_eq!(scene.first().questions, BudgetUse { spent: 1000, most: Some(1000), left: Some(0) });
}

#[test]
fn any_change_of_a_line_ends_runs_and_is_named() {
    let scene = Scene::new();
    let run = scene.run(0);
    begins(&run, &counts(9), "ada").unwrap();
    agrees(&run, 7).unwrap();
    run.ended(None).unwrap();
    begins(&scene.run(0), &counts(9), "ada").unwrap();
    let good = scene.lines();
    let check = |lines: &[String], word: &str| {
        fs::write(scene.path(), lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        for error in [scene.open().map(drop).unwrap_err(), read(&scene.path(), None).unwrap_err()] {
            assert!(error.message.shell().contains(word), "{error}");
            assert_ne!(error.kind, Kind::Refused);
        }
        // A run that goes on meanwhile stops too.
        assert!(run.ended(None).is_err());
    };
    let last = good.len() - 1;
    for at in 0..good.len() {
        let mut lines = good.clone();
        lines[at] = lines[at].replacen("\"time\":\"2", "\"time\":\"3", 1);
        check(&lines, &format!("line {at} (counted from 0) was changed"));
        // With a digest of its own again: the next line shows it, if there is one.
        lines[at] = chained(&[&lines[at]], at, &good);
        if at < last {
            check(&lines, &format!("line {} (counted from 0) does not follow", at + 1));
        }
        lines[at] = "hello".to_owned();
        check(&lines, if at == 0 { "is not a ledger" } else { "was changed" });
        lines[at] = good[at].clone();
        lines.insert(at, good[at].clone());
        check(&lines, &format!("line {} ", at + 1));
        lines.drain(at..at + 2);
        if at < last {
            check(&lines, if at == 0 { "is not a ledger" } else { "does not follow" });
        }
    }
    // What no crash leaves of the last line is not taken for that.
    for end in ["garbage", "{", "}\n"] {
        let text = good[..last].iter().map(|line| format!("{line}\n")).collect::<String>();
        fs::write(scene.path(), format!("{text}x{end}")).unwrap();
        let error = read(&scene.path(), None).unwrap_err();
        assert!(error.message.shell().contains(&format!("line {last} ")), "{error}");
    }
    check(&[vec![good[0].clone()], good.clone()].concat(), "line 1 ");
    check(&good[1..], "is not a ledger");
    check(&["id,email".to_owned()], "is not a ledger");
    // An empty file is one that has not begun.
    fs::write(scene.path(), "").unwrap();
    assert!(read(&scene.path(), None).is_err() && scene.open().is_ok());
}

/// The last of these lines behind the first `at` of `before`, with the digest that it has there.
fn chained(lines: &[&String], at: usize, before: &[String]) -> String {
    let all = before[..at].iter().chain(lines.iter().copied());
    let texts: Vec<&str> = all.map(|line| &line[line.find("\"time\"").unwrap()..line.len() - 77]).collect();
    let ledger = String::from_utf8(chain::of_texts(texts.join("\n").as_bytes())).unwrap();
    ledger.lines().last().unwrap().to_owned()
}

#[test]
fn a_text_that_would_do_something_to_a_screen_is_refused() {
    let scene = Scene::new();
    let run = scene.run(0);
    begins(&run, &counting(Some(5), RunBudgets::default()), "ada").unwrap();
    agrees(&run, 7).unwrap();
    let failed = Error { phase: RunPhase::Agree, ..Error::usage("no", "none") };
    run.ended(Some(&failed)).unwrap();
    let good = scene.lines();
    let write = |lines: &[String]| {
        fs::write(scene.path(), lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        read(&scene.path(), None)
    };
    let mut changed = 0;
    for at in 1..good.len() {
        for (place, _) in good[at].match_indices("\":\"").filter(|(place, _)| *place > 80) {
            let (start, end) = good[at].split_at(place + 3);
            if end.len() < 77 || start.ends_with("\"kind\":\"") || start.ends_with("_learns\":\"") {
                continue;
            }
            for bad in ["\\u001b[2J", "\\n", "\u{7f}", "\u{202e}", "\u{e9}", &"x".repeat(1025)] {
                let line = chained(&[&format!("{start}{bad}{end}")], at, &good);
                let error = write(&[&good[..at], &[line]].concat()).unwrap_err().message.shell();
                // The sketch has a form of its own.
                let why = if start.ends_with("\"sketch\":\"") { "is no line" } else { "has a text" };
                assert!(error.contains(&format!("line {at} ")) && error.contains(why), "{start}: {error}");
                changed += 1;
            }
        }
    }
    assert_eq!(changed, 6 * 16, "every text of three lines");
    write(&good).unwrap();
    // None is written either.
    let error = scene.run_of(0..9, "\u{1b}", None).begin(Role::Sender, &counts(9), "ada", None);
    assert!(error.is_err() && scene.lines() == good);
}

#[test]
fn what_a_crash_leaves_of_a_line_is_named_and_the_chain_goes_on() {
    let scene = Scene::new();
    begins(&scene.run(0), &counts(9), "ada").unwrap();
    let good = fs::read(scene.path()).unwrap();
    let digest = scene.summary().last;
    begins(&scene.run(0), &counts(9), "ada").unwrap();
    let next = &fs::read(scene.path()).unwrap()[good.len()..];
    let whole = &next[..next.len() - 1];
    let (zeros, mut first, mut middle) = ([0; 9000], next.to_vec(), next.to_vec());
    first[..700].fill(0);
    middle[300..900].fill(0);
    for rest in
        [b"{", &whole[..30], &whole[..400], whole, &zeros[..40], &zeros, &first, &middle, &first[..800]]
    {
        fs::write(scene.path(), [&good[..], rest].concat()).unwrap();
        let bytes = rest.len();
        let named = vec![Torn { line: 2, bytes: bytes as u64 }];
        assert_eq!(scene.summary().torn, named);
        let told = begins(&scene.run(0), &counts(9), "ada").unwrap().unwrap().shell();
        assert!(told.contains(&format!("line 2 of the ledger was not whole: {bytes} bytes")), "{told}");
        let after = fs::read(scene.path()).unwrap();
        let behind = after.strip_prefix(&[&good[..], rest, b"\0\n"].concat()[..]).unwrap();
        assert!(
            behind.starts_with(b"{\"line\":2,") && behind.iter().filter(|byte| **byte == b'\n').count() == 2
        );
        assert_eq!(scene.summary().torn, named);
        // A crash while that is written leaves more of the same, which the line after it names.
        for cut in [good.len() + bytes + 1, good.len() + bytes + 2, good.len() + bytes + 60] {
            fs::write(scene.path(), &after[..cut]).unwrap();
            begins(&scene.run(0), &counts(9), "ada").unwrap();
            assert_eq!(scene.summary().torn, [Torn { line: 2, bytes: (cut - good.len()) as u64 }]);
        }
        // What is named is bound: its length and each of its bytes.
        for at in [good.len(), good.len() + bytes - 1] {
            let mut changed = after.clone();
            changed[at] ^= 1;
            fs::write(scene.path(), &changed).unwrap();
            assert!(read(&scene.path(), None).is_err());
            changed.remove(at);
            fs::write(scene.path(), &changed).unwrap();
            assert!(read(&scene.path(), None).is_err());
        }
        fs::write(scene.path(), &after).unwrap();
        assert!(read(&scene.path(), Some(&digest)).is_ok());
        assert_eq!(scene.first().counts.spent, 2);
    }
    // Of the first line: it is begun anew.
    let first = good.iter().position(|byte| *byte == b'\n').unwrap();
    for left in [&good[..120], &good[..first], &zeros[..first + 1]] {
        fs::write(scene.path(), left).unwrap();
        assert!(read(&scene.path(), None).is_err());
        scene.open().unwrap();
        assert_eq!(scene.summary().lines, 1);
    }
    // Nobody's file is taken for that.
    for foreign in [&b"id,email"[..], b"{", &zeros[..first], &zeros, b"{\"line\":0,", b"\n"] {
        fs::write(scene.path(), foreign).unwrap();
        assert!(scene.open().is_err());
        assert_eq!(fs::read(scene.path()).unwrap(), foreign);
    }
}

#[test]
fn two_runs_at_once_cannot_both_have_the_last_count() {
    let scene = Scene::new();
    let runs: Vec<TestRun> = (0..16).map(|_| scene.run(0)).collect();
    let settings = &counts(5);
    let begun = thread::scope(|scope| {
        let begin = |run| scope.spawn(move || begins(run, settings, "ada").is_ok());
        let threads: Vec<_> = runs.iter().map(begin).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).filter(|begun| *begun).count()
    });
    // The others have a line each that they were refused, and a number.
    assert_eq!((begun, scene.first().counts.spent, scene.summary().lines), (5, 5, 17));
    let numbers: Vec<u64> = scene.first().runs.iter().map(|run| run.run).collect();
    assert_eq!(numbers, (1..=16).collect::<Vec<_>>());
    // Nobody else has the file while one of them acts on it.
    let other = fs::File::open(scene.path()).unwrap();
    let alone = runs[0].ledger.locked(|_, _| Ok(other.try_lock_shared().is_err())).unwrap();
    assert!(alone && other.try_lock_shared().is_ok());
}

#[test]
fn a_digest_that_was_noted_shows_lines_that_were_cut_off() {
    let scene = Scene::new();
    begins(&scene.run(0), &counts(9), "ada").unwrap();
    let early = scene.summary().last;
    begins(&scene.run(0), &counts(9), "ada").unwrap();
    let late = scene.summary().last.to_uppercase();
    for noted in [&early, &late] {
        read(&scene.path(), Some(noted)).unwrap();
    }
    let lines = scene.lines();
    fs::write(scene.path(), lines[..2].iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    read(&scene.path(), Some(&early)).unwrap();
    let error = read(&scene.path(), Some(&late)).unwrap_err();
    assert!(error.kind == Kind::Input && error.message.shell().contains("no line"), "{error}");
}

#[test]
fn a_run_by_post_is_one_run_in_several_calls() {
    let scene = Scene::new();
    let call = || {
        let run = scene.run(0);
        run.begin(Role::Sender, &Settings::default(), "ada", Some("post")).unwrap();
        run
    };
    call();
    agrees(&call(), 10).unwrap();
    let last = call();
    agrees(&last, 10).unwrap();
    last.ended(None).unwrap();
    assert_eq!((scene.summary().lines, scene.first().runs.len()), (4, 1));
    assert_eq!(&*scene.first().runs[0].outcome, "confirmed");
}

#[test]
fn a_refused_run_has_a_line_and_counts_for_nothing() {
    let scene = Scene::new();
    let budgets = RunBudgets {
        max_counts: Some(1),
        max_questions: Some(100),
        max_epsilon: Noise::of_thousandths(1000),
    };
    let of_rows = RunBudgets { max_epsilon: None, ..budgets };
    let rows = &Settings { budgets: of_rows, ..Settings::default() };
    let noisy = |epsilon| counting(Some(epsilon), budgets);
    let refused = |run: &TestRun, word| {
        let failed = Error { kind: Kind::Refused, ..Error::usage("no", "none") };
        let last = run.ended(Some(&failed)).unwrap().unwrap();
        let line = scene.lines().pop().unwrap();
        assert_eq!((last.line as usize, &*last.digest), (scene.lines().len() - 1, &*scene.summary().last));
        assert!(line.contains("\"kind\":\"refused\"") && line.contains(word), "{line}");
        last.run
    };
    // One before it begins, and one once both sizes are known.
    for (number, settings, budget) in [(1, noisy(1001), "max-epsilon"), (2, counts(0), "max-counts")] {
        let run = scene.run(0);
        is_refused(begins(&run, &settings, "ada"), budget);
        assert_eq!((refused(&run, budget), scene.lines().len()), (number, 1 + number as usize));
    }
    let asking = scene.run(0);
    begins(&asking, rows, "ada").unwrap();
    is_refused(agrees(&asking, 101), "max-questions");
    assert_eq!(refused(&asking, "max-questions"), 3);
    let set = scene.first();
    assert_eq!((set.counts.spent, set.questions.spent, &*set.epsilon), (0, 0, "0"));
    let by = |at: usize| set.runs[at].refused.clone().map(|by| (by.budget, by.limit)).unwrap();
    assert_eq!([0, 1, 2].map(by).map(|(_, limit)| limit), ["1", "0", "100"]);
    assert!(set.runs.iter().all(|run| run.outcome == "refused" && !run.spent));
    // The protocol is the one that both had agreed on, where they had.
    let known = |run: &RunLine| (run.protocol.clone(), run.session.clone(), run.peer_keys);
    assert_eq!(known(&set.runs[1]), ("auto".to_owned(), None, None));
    assert_eq!(known(&set.runs[2]), ("circuit-vole".to_owned(), Some("name".to_owned()), Some(101)));
    // What was refused takes nothing of the budgets.
    begins(&scene.run(0), &noisy(1000), "ada").unwrap();
    let run = scene.run(0);
    begins(&run, rows, "ada").unwrap();
    agrees(&run, 100).unwrap();
}

#[test]
fn a_refusal_names_the_runs_that_were_there() {
    let scene = Scene::new();
    let refused = |most| begins(&scene.run(0), &counts(most), "ada").unwrap_err().message.shell();
    assert!(refused(0).ends_with("about nearly the same set"), "{}", refused(0));
    begins(&scene.run(0), &counts(2), "ada").unwrap();
    let (day, one) = (scene.first().runs[0].time[..10].to_owned(), refused(1));
    let number = scene.first().runs.iter().find(|run| run.spent).unwrap().run;
    assert!(one.ends_with(&format!("the same set: run {number} ({day})")), "{one}");
    begins(&scene.run(0), &counts(2), "ada").unwrap();
    let last = scene.first().runs.len();
    assert!(refused(2).ends_with(&format!("runs {number} ({day}), {last} ({day})")));
}

#[test]
fn a_run_by_post_that_was_refused_begins_anew() {
    let scene = Scene::new();
    let call = |most: u64| {
        let budgets = RunBudgets { max_questions: Some(most), ..RunBudgets::default() };
        let (run, settings) = (scene.run(0), Settings { budgets, ..Settings::default() });
        run.begin(Role::Sender, &settings, "ada", Some("post")).unwrap();
        (agrees(&run, 10), run)
    };
    is_refused(call(9).0, "max-questions");
    let (agreed, run) = call(10);
    agreed.unwrap();
    assert_eq!(run.ended(None).unwrap().unwrap().run, 2);
    assert_eq!((scene.first().questions.spent, scene.first().runs.len()), (10, 2));
}

#[test]
fn a_digest_that_is_not_whole_is_wrong_usage() {
    let scene = Scene::new();
    begins(&scene.run(0), &counts(9), "ada").unwrap();
    let whole = scene.summary().last;
    for wrong in ["", "e58ae7b9b05e", &whole[1..], &format!("{whole}0"), &format!("g{}", &whole[1..])] {
        let error = read(&scene.path(), Some(wrong)).unwrap_err();
        assert!(error.message.shell().contains("a digest has 64 hexadecimal digits"), "{error}");
        assert_eq!(error.kind, Kind::Usage);
    }
    read(&scene.path(), Some(&format!(" {whole}\n"))).unwrap();
}

#[test]
fn what_is_no_ledger_of_runs_is_named_for_what_it_is() {
    let scene = Scene::new();
    let served = scene.folder.path().join("served");
    for records in [&[][..], &[b'\n'; 184], &[7; 92]] {
        fs::write(&served, [&vesica_kept::LEDGER_MAGIC[..], records].concat()).unwrap();
        for error in [
            RunLedger::open(&served, &mut StdRng::seed_from_u64(1)).map(drop).unwrap_err(),
            read(&served, None).unwrap_err(),
        ] {
            assert!(error.message.shell().ends_with("served is the ledger of `vesica serve`"), "{error}");
            assert_eq!(error.kind, Kind::Usage);
        }
    }
    fs::write(scene.path(), "{}").unwrap();
    let error = read(&scene.path(), None).unwrap_err();
    assert!(error.message.shell().ends_with("runs is not a ledger of runs"), "{error}");
    let absent = scene.folder.path().join("absent").join("runs");
    let error = RunLedger::open(&absent, &mut StdRng::seed_from_u64(1)).map(drop).unwrap_err();
    assert!(
        error.kind == Kind::Usage && error.remedy.shell().starts_with("make the folder first"),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn only_its_owner_reads_it() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new();
    scene.open().unwrap();
    assert_eq!(fs::metadata(scene.path()).unwrap().permissions().mode() & 0o777, 0o600);
}
