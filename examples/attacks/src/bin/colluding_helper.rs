//! Prints what a helper learns that works with the receiver.

use std::time::Instant;

use vesica_attacks::{Error, colluding_helper, shown};

fn main() -> Result<(), Error> {
    let (start, range) = (Instant::now(), 10_000_000);
    let (numbers, theirs) = colluding_helper::try_everything(range, 5_000)?;
    println!("server-aided: the sender has {} numbers; receiver and helper are one.", theirs.len());
    println!("They tried all {range} numbers of a range in {:.1?}.", start.elapsed());
    println!("They learnt {} numbers of the sender: {}", numbers.len(), shown(&numbers));
    Ok(())
}
