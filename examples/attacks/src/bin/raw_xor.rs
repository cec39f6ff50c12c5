//! Prints which summaries a receiver can compute if they are raw XORs over all hash functions.

use vesica_attacks::{Error, raw_xor, shown};

fn main() -> Result<(), Error> {
    let (hashes, range) = (32, 2_000_000);
    let (learnt, theirs) = raw_xor::test_guesses(hashes, range, 1_000_000)?;
    println!("A garbled Bloom filter for one item, {hashes} hash functions, summaries ⊕_i G[h_i(x)].");
    println!("Claimed: the summary of a foreign number can be computed with probability 2^-{hashes}.");
    let found = learnt.computable.len();
    let log = (f64::from(range) / found.max(1) as f64).log2();
    println!("Of {range} numbers, the receiver can compute that of {found}: about one in 2^{log:.1}.");
    println!(
        "{} of them are among the sender's {}: {}",
        learnt.numbers.len(),
        theirs.len(),
        shown(&learnt.numbers)
    );
    println!("Sums over the set of slots: it can compute {}.", learnt.computable_over_sets.len());
    Ok(())
}
