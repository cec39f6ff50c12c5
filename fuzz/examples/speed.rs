//! Prints the executions a second of each target, over its seeds and mutations of them: `speed [NAME ...]`.

use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use vesica_fuzz::{decoding, targets};

fn main() {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        // The caller of a foreign decoder catches its panics.
        if !decoding() {
            tell(info);
        }
    }));
    for target in targets().iter().filter(|target| names.is_empty() || names.contains(&target.name)) {
        let mut rng = StdRng::seed_from_u64(7);
        // The first run records a conversation, and is not counted.
        target.seeds.iter().for_each(|seed| (target.run)(seed));
        let (start, mut count) = (Instant::now(), 0);
        while start.elapsed() < Duration::from_secs(4) && !target.seeds.is_empty() {
            let mut input = target.seeds[rng.random_range(0..target.seeds.len())].clone();
            (target.mutate)(&mut input, &mut rng);
            (target.run)(&input);
            count += 1;
        }
        println!("{}: {:.0} a second", target.name, f64::from(count) / start.elapsed().as_secs_f64());
    }
}
