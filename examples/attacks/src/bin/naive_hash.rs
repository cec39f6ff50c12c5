//! Prints what a receiver learns of salted hashes of telephone numbers.

use std::time::Instant;

use vesica_attacks::{Error, naive_hash, shown};

fn main() -> Result<(), Error> {
    let start = Instant::now();
    let (learnt, theirs) = naive_hash::brute_force(10_000_000, 5_000)?;
    println!("naive-hash: the receiver has 3 numbers, the sender {}.", theirs.len());
    println!("Agreed: the receiver learns the intersection: {}.", learnt.intersection);
    println!("It tried all {} numbers of a range in {:.1?}.", learnt.tried, start.elapsed());
    println!("It learnt {} numbers of the sender: {}", learnt.numbers.len(), shown(&learnt.numbers));
    Ok(())
}
