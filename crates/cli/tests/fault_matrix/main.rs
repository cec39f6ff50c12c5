//! Everything that can go wrong in a run between two real processes: every fault at every step of either party, partners
//! that are not who they should be or ask for something else, peers that keep no rule. Exit codes and words of both sides
//! are asserted, never durations; what was seen is the page docs/faults.md.
//!
//! This program is test and party in one: a party is started as this program again, and runs the real `vesica` with a hook
//! that pauses it at one step. So it has no test harness; cells run side by side, since most of them wait.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops where something is not as it must be")]

#[path = "../common/mod.rs"]
mod common;
mod helpers;
mod hook;
mod page;
mod partners;
mod peers;
mod steps;
mod tables;
mod windows;
mod wire;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;

use common::scene;
use page::{Row, Section};

/// Cells that run at the same time, two processes each.
const AT_ONCE: usize = 8;

/// A cell: its name, and how it is run.
type Job = (String, Box<dyn FnOnce() -> Row + Send>);

fn main() -> ExitCode {
    if hook::is_party() {
        return vesica_cli::testing::main_with(hook::pause);
    }
    // What `cargo test` passes on: flags of its harness, and names of tests that are wanted.
    let mut wanted = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    if std::env::args().any(|argument| argument == "--list") || wanted.any(|name| name != "fault_matrix") {
        return ExitCode::SUCCESS;
    }
    let (mut sections, jobs): (Vec<Section>, Vec<Vec<Job>>) = steps::sections()
        .into_iter()
        .chain(partners::sections())
        .chain([tables::section()])
        .chain(peers::sections())
        .chain([helpers::section(), windows::section()])
        .unzip();
    let numbered =
        jobs.into_iter().enumerate().flat_map(|(at, jobs)| jobs.into_iter().map(move |job| (at, job)));
    let (mut done, failed) = run(numbered.collect());
    done.sort_by_key(|(place, _)| *place);
    println!("fault matrix: {} cells", done.len() + failed);
    if failed > 0 {
        println!("{failed} of them failed, see above");
        return ExitCode::FAILURE;
    }
    for ((section, _), row) in done {
        sections[section].rows.push(row);
    }
    match windows::check(&sections).and_then(|()| page::check(&sections)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            println!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// A row, by its section and the number of its job.
type Placed = ((usize, usize), Row);

/// Runs all; gives what was seen, and how many failed.
fn run(jobs: Vec<(usize, Job)>) -> (Vec<Placed>, usize) {
    let queue: VecDeque<_> = jobs.into_iter().enumerate().collect();
    let (queue, done, failed) = (Mutex::new(queue), Mutex::new(Vec::new()), Mutex::new(0));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().pop_front();
                    let Some((number, (section, (name, job)))) = next else { break };
                    match catch_unwind(AssertUnwindSafe(job)) {
                        Ok(row) => done.lock().unwrap().push(((section, number), row)),
                        Err(_) => {
                            println!("FAILED: {name}");
                            *failed.lock().unwrap() += 1;
                        }
                    }
                }
            });
        }
    });
    (done.into_inner().unwrap(), failed.into_inner().unwrap())
}
