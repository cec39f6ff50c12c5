//! Prints how often receivers of gbf-rr16 are caught who choose too many ones.

use vesica_attacks::{Error, over_full_choices};

fn main() -> Result<(), Error> {
    println!(
        "gbf-rr16, 8 numbers: ones among the receiver's choices, and how often the sender ends the run."
    );
    for outcome in over_full_choices::try_all(100)? {
        println!(
            "{:6} ones: caught in {:3} of {} runs, predicted {:.3}",
            outcome.ones, outcome.caught, outcome.runs, outcome.predicted
        );
    }
    Ok(())
}
