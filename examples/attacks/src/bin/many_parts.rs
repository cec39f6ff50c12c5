//! Prints what a receiver learns that asks for many parts and fills them with guesses.

use vesica::settings::Limits;
use vesica_attacks::many_parts::{DECLARED, PARTS, ask};
use vesica_attacks::{Error, shown};

fn main() -> Result<(), Error> {
    println!(
        "The receiver declares {DECLARED} numbers, asks for {PARTS} parts, and puts guesses into all of them."
    );
    for (what, limits) in [
        (
            "with --max-peer-rows 10",
            Limits { max_peer_rows: 10, max_parts: Some(PARTS), ..Limits::default() },
        ),
        ("with no option", Limits::default()),
        ("with --max-parts 64", Limits { max_parts: Some(PARTS), ..Limits::default() }),
    ] {
        let outcome = ask("dkt", 500, 50, limits)?;
        let [_, sender] = outcome.refused;
        match sender {
            Some(error) => println!("A sender {what} refuses: {}.", error.message),
            None => {
                let told = outcome.told.unwrap_or_default();
                println!(
                    "A sender {what} has {} numbers, and is told of {told} questions.",
                    outcome.theirs.len()
                );
                println!(
                    "The receiver asked about {} and found {}: {}",
                    outcome.asked,
                    outcome.found.len(),
                    shown(&outcome.found)
                );
            }
        }
    }
    Ok(())
}
