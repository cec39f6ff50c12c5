//! `vesica ledger`: what a ledger has of this side's runs.

use std::fmt::Write;

use vesica::ledger::{self, BudgetUse, PartnerLearns, RunLine, SetRuns, Summary};
use vesica::table::shown_path;

use crate::args::Ledger;
use crate::documents::print;
use crate::screen::{self, say};

pub(crate) fn run(args: &Ledger) -> u8 {
    match ledger::read(&args.file, args.expect.as_deref()) {
        Ok(summary) if args.json => match serde_json::to_string_pretty(&summary) {
            Ok(json) => print(format!("{json}\n").as_bytes()),
            Err(error) => {
                say(&format!("vesica ledger: {error}"));
                vesica::Kind::Internal.exit_code()
            }
        },
        Ok(summary) => print(text(&shown_path(&args.file), &summary).as_bytes()),
        Err(error) => {
            screen::failure("ledger", &error);
            error.kind.exit_code()
        }
    }
}

fn text(file: &str, summary: &Summary) -> String {
    let mut text = format!("{file}: {} lines, and their chain holds\n", summary.lines);
    let mut line = |told: String| {
        // A string takes whatever is written to it.
        let _ = writeln!(text, "{told}");
    };
    line(format!("digest of the last line: {}", summary.last));
    for torn in &summary.torn {
        line(format!(
            "line {} was not whole: {} bytes were in its place, as a crash leaves them",
            torn.line, torn.bytes
        ));
    }
    for partner in &summary.partners {
        line(format!("\npartner {}", partner.partner));
        for set in &partner.sets {
            line(format!("  nearly the same set: {} keys of {} in the last run", set.keys, set.rules));
            sums(set).into_iter().for_each(&mut line);
            set.runs.iter().map(of_run).for_each(&mut line);
        }
    }
    text
}

/// What the runs about a set add up to.
fn sums(set: &SetRuns) -> Vec<String> {
    let of = |what: &str, budget: BudgetUse| {
        let limit = budget.most.zip(budget.left);
        let limit = limit.map_or("no limit".to_owned(), |(most, left)| format!("of {most}; {left} left"));
        format!("    {what}: {} ({limit})", budget.spent)
    };
    let mut sums = vec![of("counts, sums and thresholds that the partner learned", set.counts)];
    sums.push(of("keys of the partner whose match it learned", set.questions));
    if set.runs.iter().any(|run| run.noise.is_some()) || set.max_epsilon.is_some() {
        let limit = set.max_epsilon.as_ref().map_or("no limit".to_owned(), |most| format!("of {most}"));
        let exact = match set.without_epsilon {
            0 => String::new(),
            runs => format!("; {runs} more with rows or without noise, so no epsilon holds for all of them"),
        };
        sums.push(format!("    epsilon of counts with noise: {} ({limit}){exact}", set.epsilon));
    }
    sums
}

fn of_run(run: &RunLine) -> String {
    let time = run.time.get(..16).unwrap_or_default().replace('T', " ");
    let noise = run.noise.as_ref().map(|epsilon| format!(" with noise {epsilon}")).unwrap_or_default();
    // A protocol that was only asked for has not been played.
    let protocol = run.session.as_ref().map(|_| format!(" by {}", run.protocol)).unwrap_or_default();
    let theirs = run.peer_keys.map_or("not told".to_owned(), |keys| keys.to_string());
    let learns = match run.partner_learns {
        PartnerLearns::Nothing => "nothing",
        PartnerLearns::Number => "a number",
        PartnerLearns::Rows => "rows",
    };
    let end = match (&*run.outcome, &run.refused, &run.phase) {
        ("open", ..) => "open: it was killed, or goes on".to_owned(),
        (outcome, Some(by), _) => format!("{outcome} by --{} {}", by.budget, by.limit),
        (outcome, None, Some(phase)) => format!("{outcome} in phase {phase}"),
        (outcome, None, None) => outcome.to_owned(),
    };
    let counts = if run.spent { "" } else { "; it does not count" };
    format!(
        "    run {:4}  {time} UTC  {}, {}{noise}{protocol}, {} keys, partner's {theirs}; partner learns {learns}; {end}{counts}",
        run.run, run.role, run.result, run.keys
    )
}
