//! Prints what a sender learns from the failures of a receiver.

use vesica_attacks::selective_failure::{against_gbf_dcw_malicious, against_gbf_rr16, receivers_numbers};
use vesica_attacks::{Error, shown};

fn main() -> Result<(), Error> {
    let guesses: Vec<u32> = (0..100).collect();
    let learnt = against_gbf_dcw_malicious(&guesses, 64)?;
    println!("gbf-dcw-malicious: the receiver has {} numbers of 100.", receivers_numbers().len());
    println!("The sender spoils shares and sees in {} runs whether the receiver ends well.", learnt.runs);
    println!("It learnt {} numbers of the receiver: {}", learnt.numbers.len(), shown(&learnt.numbers));
    println!("It learnt 64 bits of the receiver's filter; ones are at {:?}.", learnt.ones);
    let right = learnt.numbers == receivers_numbers();
    println!("{}", if right { "These are all of the receiver's numbers." } else { "SOME ARE WRONG." });
    let runs = 40;
    let (well, fewer) = against_gbf_rr16(runs)?;
    println!("gbf-rr16: the sender spoils rows; {well} of {runs} receivers end well, so it learns nothing.");
    println!("(In {fewer} of these runs the receiver missed numbers, which it does not tell.)");
    Ok(())
}
