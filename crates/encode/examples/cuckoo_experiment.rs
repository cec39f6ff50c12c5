//! The experiment of PSSZ15 Table 3: cuckoo hashing of n items with two functions into 2.4 n bins, many times
//! over.
//!
//! ```text
//! cargo run --release -p vesica-encode --example cuckoo_experiment [log2 of the repetitions, 16] [log2 n from, 11] [to, 14]
//! ```
//!
//! Prints how often 0, 1, 2, … items were left over, beside the paper's counts scaled to as many repetitions,
//! and the bound of `hashing::parameters::bounds` for one table, as in the paper, and for segments, as in
//! this library.

use std::time::Instant;

use vesica_encode::hashing::parameters::bounds::{self, Table};
use vesica_encode::hashing::parameters::experiment::left_over;
use vesica_encode::hashing::parameters::paper::EXPERIMENT;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u32>());
    let mut next = |default| arguments.next().and_then(Result::ok).unwrap_or(default);
    let (repetitions, from, to) = (next(16), next(11), next(14));
    for log in from..=to {
        for table in [Table::Shared, Table::Segments] {
            run(table, log, repetitions);
        }
    }
}

fn run(table: Table, log: u32, repetitions: u32) {
    let (items, bins) = (1usize << log, (1u32 << log) * 12 / 5);
    let start = Instant::now();
    let counts = left_over(table, items, bins, 0, 1 << repetitions);
    let seconds = start.elapsed().as_secs_f64();
    println!("2^{log} items, {bins} bins, {table:?}, 2^{repetitions} repetitions, {seconds:.1} s");
    for left in 0..counts.len().max(6) {
        let count = |counts: &[u64]| counts.get(left).copied().unwrap_or(0);
        let paper = (11..=14).contains(&log).then(|| {
            let scaled =
                count(&EXPERIMENT[log as usize - 11]) as f64 * f64::from(repetitions as i32 - 30).exp2();
            format!("{scaled:12.1}")
        });
        let bound = bounds::cuckoo(table, 2, items as u64, bins.into(), left);
        let more: u64 = counts.iter().skip(left + 1).sum();
        let frequency = (more as f64).log2() - f64::from(repetitions);
        println!(
            "  left over {left:2}: {:10}   paper, scaled {}   more than that: 2^{frequency:6.2}, bound 2^{bound:6.2}",
            count(&counts),
            paper.as_deref().unwrap_or("           -"),
        );
    }
}
