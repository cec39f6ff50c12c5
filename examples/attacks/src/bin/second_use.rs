//! Prints what becomes of stored offline output that is used again.

use vesica_attacks::{Error, second_use};

fn main() -> Result<(), Error> {
    let outcome = second_use::replay()?;
    println!("gbf-rr16: a stored offline phase serves one run, which found {} numbers.", outcome.matches);
    match outcome.second {
        Ok(()) => println!("The receiver used its half again: ACCEPTED"),
        Err(error) => println!("The receiver used its half again: the sender ends the run: {error}."),
    }
    Ok(())
}
