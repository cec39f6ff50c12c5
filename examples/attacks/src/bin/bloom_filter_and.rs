//! Prints what the AND of two Bloom filters tells, if nothing else is told.

use vesica_attacks::{Error, bloom_filter_and, shown};

fn main() -> Result<(), Error> {
    let range = 200_000;
    let (learnt, theirs) = bloom_filter_and::look_up(range, 2_000)?;
    println!("The AND of two Bloom filters of {} numbers each, computed by an ideal protocol.", theirs.len());
    println!("Agreed: the receiver learns the intersection: {}.", learnt.intersection.len());
    println!("It looked up all {range} numbers of a range where its own filter has ones.");
    let right = learnt.numbers.iter().filter(|number| theirs.binary_search(number).is_ok()).count();
    println!(
        "It learnt {} numbers, {right} of them the sender's: {}",
        learnt.numbers.len(),
        shown(&learnt.numbers)
    );
    Ok(())
}
