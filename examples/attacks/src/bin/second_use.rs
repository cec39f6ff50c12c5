//! Prints what becomes of stored offline output that is used again.

use vesica_attacks::{Error, second_use, second_use_of_files};

fn main() -> Result<(), Error> {
    let outcome = second_use::replay()?;
    println!("gbf-rr16: a stored offline phase serves one run, which found {} numbers.", outcome.matches);
    match outcome.second {
        Ok(()) => println!("The receiver used its half again: ACCEPTED"),
        Err(error) => println!("The receiver used its half again: the sender ends the run: {error}."),
    }
    let files = second_use_of_files::replay()?;
    println!("As files, a run found {} numbers.", files.matches);
    for (what, ends) in
        [("with copies of used files", files.copies), ("after a run that was cut off", files.interrupted)]
    {
        for (side, end) in ["receiver", "sender"].into_iter().zip(ends) {
            let end = end.map_or("ACCEPTED".to_owned(), |error| format!("refused: {}", error.message));
            println!("Another run {what}, {side}: {end}");
        }
    }
    Ok(())
}
