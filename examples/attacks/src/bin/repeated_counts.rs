//! Prints who is in the sender's table, as far as counts tell.

use vesica_attacks::Error;
use vesica_attacks::repeated_counts::{Attack, Limit, find_members};
use vesica_protocols::Noise;

fn main() -> Result<(), Error> {
    let (people, members) = (32, 6);
    println!("The receiver has a list of {people} people. The sender has {members} of them.");
    println!("A run shows the receiver how many keys match, and nothing else.");
    for (attack, limit) in [
        (Attack::Halving, Limit::None),
        (Attack::Halving, Limit::Minimum(5)),
        (Attack::Differences, Limit::Minimum(5)),
        (Attack::Halving, Noise::of_thousandths(100).map_or(Limit::None, Limit::Noise)),
        (Attack::Differences, Noise::of_thousandths(100).map_or(Limit::None, Limit::Noise)),
    ] {
        let (belief, truth) = find_members(people, members, attack, limit)?;
        let named = belief.members.iter().filter(|believed| **believed).count();
        let found = belief.members.iter().zip(&truth).filter(|(believed, is)| **believed && **is).count();
        let by = match attack {
            Attack::Halving => "halving the list",
            Attack::Differences => "leaving out one person at a time",
        };
        let with = match limit {
            Limit::None => "no limit".to_owned(),
            Limit::Minimum(least) => format!("--min-matches {least}"),
            Limit::Noise(noise) => format!("--noise {}", f64::from(noise.thousandths()) / 1000.0),
        };
        println!(
            "{with}, by {by}: {} runs, {} of them refused; it names {named} people, and {found} of them are members.",
            belief.runs, belief.refused
        );
    }
    Ok(())
}
