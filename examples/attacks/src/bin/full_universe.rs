//! Prints what a receiver learns whose Bloom filter is all ones.

use vesica_attacks::{Error, full_universe, shown};

fn main() -> Result<(), Error> {
    let range = 500_000;
    let (learnt, theirs) = full_universe::against_gbf(range, 1_000)?;
    println!("gbf: both parties have agreed on {} numbers.", theirs.len());
    println!("Agreed: the receiver learns the intersection: {}.", learnt.intersection);
    println!("Its filter holds all {range} numbers of a range. The sender noticed nothing.");
    println!("It learnt {} numbers of the sender: {}", learnt.numbers.len(), shown(&learnt.numbers));
    let nothing = full_universe::against_gbf_dcw_malicious(2_000, 50);
    println!("gbf-dcw-malicious: the same filter finds {nothing} numbers, for the receiver gets no key.");
    match full_universe::against_gbf_rr16(2_000, 50) {
        Ok(()) => println!("gbf-rr16: ACCEPTED"),
        Err(error) => println!("gbf-rr16: the sender ends the run: {error}."),
    }
    Ok(())
}
