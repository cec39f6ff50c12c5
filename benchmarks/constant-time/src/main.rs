//! Measures whether the time of what must be constant time depends on its secrets: `make constant-time`.
//!
//! The method is that of dudect (Reparaz, Balasch, Verbauwhede, *Dude, is my code constant time?*, DATE 2017, eprint
//! 2016/1123): an operation is timed with a fixed secret and with random ones, in an order that coins decide, and
//! Welch's t-test says whether the times of both classes differ. Measurements are cropped at percentiles, since
//! interrupts make the longest of them. A row that is suspicious is measured again, for twice as long, and the second
//! result counts.
//!
//! Some rows are controls, which leak on purpose, or have two equal classes. If a control does not come out as it must,
//! the machine is too noisy, or its clock too coarse: the run ends with status 1 and writes nothing.
//!
//! Arguments: `--minutes N` for the whole run (8); words, of which a row must have one. With `UPDATE_DOCS` set the
//! table goes into `docs/constant-time.md`, between its marks.

#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the developer"
)]

mod measure;
mod page;
mod statistics;
mod subjects;

use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use measure::FEW;
use statistics::{LEAK, Outcome, SUSPICIOUS};
use subjects::{Purpose, Subject};
use vesica_crypto::prg::Prg;

/// The part of the run that repeats what is suspicious and prepares what is measured.
const RESERVE: f64 = 0.35;

/// A line of the table.
struct Row {
    purpose: Purpose,
    names: [String; 4],
    /// The first result, and that of the repetition; none where the processor lacks the instructions.
    outcomes: Vec<Outcome>,
}

/// What the last result says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// The processor lacks the instructions.
    NotHere,
    /// The operation takes too long for the time of its row.
    TooFew,
    /// |t| is at most 4.5.
    Even,
    /// |t| is more than that, also in the repetition.
    Suspicious,
    /// |t| is more than 10, twice.
    Leaks,
}

impl Row {
    fn verdict(&self) -> Verdict {
        let least = self.outcomes.iter().map(|outcome| outcome.t.abs()).reduce(f64::min);
        match least {
            None => Verdict::NotHere,
            Some(_) if self.outcomes[0].count < 2 * FEW => Verdict::TooFew,
            Some(t) if t > LEAK => Verdict::Leaks,
            Some(t) if t > SUSPICIOUS => Verdict::Suspicious,
            Some(_) => Verdict::Even,
        }
    }

    /// Whether a control came out as it must.
    fn as_it_must(&self) -> bool {
        match self.purpose {
            Purpose::Constant => true,
            Purpose::Leaks => self.verdict() == Verdict::Leaks,
            Purpose::Same => self.verdict() == Verdict::Even,
        }
    }

    /// The cells behind the names.
    fn cells(&self) -> [String; 5] {
        let Some(last) = self.outcomes.last() else {
            return ["", "", "", "", "not on this processor"].map(str::to_owned);
        };
        let t: Vec<String> = self.outcomes.iter().map(|outcome| format!("{:.1}", outcome.t)).collect();
        let found = match self.verdict() {
            Verdict::Even => {
                format!("{} ({:.2} %)", time(last.detectable), 100.0 * last.detectable / last.median)
            }
            _ => String::new(),
        };
        let verdict = match (self.purpose, self.verdict()) {
            (_, Verdict::Even) => "no difference",
            (_, Verdict::TooFew) => "**too few measurements**",
            (_, Verdict::Suspicious) => "**suspicious**",
            (Purpose::Leaks, Verdict::Leaks) => "leaks",
            (_, _) => "**leaks**",
        };
        [last.count.to_string(), time(last.median), found, t.join(", then "), verdict.to_owned()]
    }
}

fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        ..1e3 => format!("{nanoseconds:.1} ns"),
        ..1e6 => format!("{:.2} µs", nanoseconds / 1e3),
        _ => format!("{:.2} ms", nanoseconds / 1e6),
    }
}

/// Measures one row, and once more if it is suspicious. (An operation is made once for both.)
fn measured(subject: Subject, time: Duration, rng: &mut Prg) -> Row {
    let (purpose, names) = (subject.purpose, page::names(&subject));
    let mut outcomes = Vec::new();
    if let Some(make) = subject.make {
        let mut operation = make();
        let first = statistics::test(&measure::measure(&mut *operation, time, rng));
        outcomes.push(first);
        if first.t.abs() > SUSPICIOUS {
            outcomes.push(statistics::test(&measure::measure(&mut *operation, 2 * time, rng)));
        }
    }
    Row { purpose, names, outcomes }
}

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut minutes = 8.0;
    if let Some(at) = arguments.iter().position(|argument| argument == "--minutes") {
        let Some(given) = arguments.get(at + 1).and_then(|minutes| minutes.parse().ok()) else {
            eprintln!("--minutes takes a number");
            return ExitCode::from(64);
        };
        minutes = given;
        arguments.drain(at..at + 2);
    }
    let wanted = |subject: &Subject| {
        let words = page::names(subject).join(" ");
        subject.purpose != Purpose::Constant
            || arguments.is_empty()
            || arguments.iter().any(|argument| words.contains(argument))
    };
    let subjects: Vec<Subject> = subjects::all().into_iter().filter(wanted).collect();
    let each = Duration::from_secs_f64(60.0 * minutes * (1.0 - RESERVE) / subjects.len() as f64);
    println!("{} rows, {:.1} s each", subjects.len(), each.as_secs_f64());

    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(1, |since| since.as_nanos());
    let (rng, start) = (&mut Prg::from_seed(now.to_le_bytes()), Instant::now());
    let mut rows = Vec::new();
    for subject in subjects {
        let row = measured(subject, each, rng);
        println!("{} | {}", row.names.join(" | "), row.cells().join(" | "));
        let stop = !row.as_it_must();
        rows.push(row);
        if stop {
            eprintln!(
                "a control did not come out as it must: this machine is too noisy, or its clock too coarse"
            );
            return ExitCode::FAILURE;
        }
    }

    let took = start.elapsed().as_secs_f64() / 60.0;
    let text = page::provenance(took) + &page::table(&rows);
    if std::env::var_os("UPDATE_DOCS").is_some() && arguments.is_empty() {
        page::write(&text);
    }
    let constant = rows.iter().filter(|row| row.purpose == Purpose::Constant);
    let of = |verdict| constant.clone().filter(|row| row.verdict() == verdict).count();
    let (even, few) = (of(Verdict::Even), of(Verdict::TooFew));
    let (suspicious, leaks) = (of(Verdict::Suspicious), of(Verdict::Leaks));
    println!(
        "{even} without a difference, {suspicious} suspicious, {leaks} that leak, {few} with too few measurements, in \
         {took:.1} minutes"
    );
    if suspicious + leaks + few == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(purpose: Purpose, ts: &[f64]) -> Row {
        let outcome = |t: &f64| Outcome { count: 2 * FEW, median: 100.0, t: *t, detectable: 1.0 };
        Row { purpose, names: Default::default(), outcomes: ts.iter().map(outcome).collect() }
    }

    #[test]
    fn a_suspicion_counts_if_it_comes_back() {
        let verdict = |ts: &[f64]| row(Purpose::Constant, ts).verdict();
        assert_eq!(verdict(&[4.4]), Verdict::Even);
        assert_eq!(verdict(&[-4.4]), Verdict::Even);
        assert_eq!(verdict(&[-11.0, 3.0]), Verdict::Even);
        assert_eq!(verdict(&[5.0, -6.0]), Verdict::Suspicious);
        assert_eq!(verdict(&[-20.0, 9.0]), Verdict::Suspicious);
        assert_eq!(verdict(&[11.0, -30.0]), Verdict::Leaks);
        assert_eq!(verdict(&[]), Verdict::NotHere);
        let mut few = row(Purpose::Same, &[1.0]);
        few.outcomes[0].count -= 1;
        assert!(few.verdict() == Verdict::TooFew && !few.as_it_must());
    }

    #[test]
    fn controls_decide_whether_a_run_counts() {
        assert!(row(Purpose::Leaks, &[20.0, 30.0]).as_it_must());
        assert!(!row(Purpose::Leaks, &[20.0, 8.0]).as_it_must() && !row(Purpose::Leaks, &[1.0]).as_it_must());
        assert!(row(Purpose::Same, &[1.0]).as_it_must() && row(Purpose::Same, &[5.0, 1.0]).as_it_must());
        assert!(!row(Purpose::Same, &[5.0, 6.0]).as_it_must());
        assert!(row(Purpose::Constant, &[99.0, 99.0]).as_it_must());
    }
}
