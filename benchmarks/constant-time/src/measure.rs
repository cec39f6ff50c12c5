//! Takes the times of an operation on inputs of two classes, in an order that coins decide.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rand_core::Rng as _;
use vesica_crypto::prg::Prg;

/// Inputs that are made before the first of them is measured: each lies in memory of its own, so that neither the cache
/// nor a branch of their making tells one class from the other.
const BATCH: usize = 32;
/// Measurements of a class that are enough.
const ENOUGH: usize = 400_000;
/// Measurements of a class without which tests say nothing: an operation that takes long may take so many times the
/// time.
pub(crate) const FEW: usize = 300;
const LONGER: u32 = 20;

/// A class of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The secret is the same every time.
    Fixed,
    /// The secret is drawn anew.
    Random,
}

/// An operation that can be measured.
pub(crate) trait Operation {
    /// Makes inputs of these classes, and then measures each, in nanoseconds.
    fn times(&mut self, classes: &[Class; BATCH], rng: &mut Prg) -> [u32; BATCH];
}

struct Timed<P, R> {
    prepare: P,
    run: R,
}

impl<I, O, P, R> Operation for Timed<P, R>
where
    P: FnMut(Class, &mut Prg) -> I,
    R: FnMut(&mut I) -> O,
{
    fn times(&mut self, classes: &[Class; BATCH], rng: &mut Prg) -> [u32; BATCH] {
        let mut inputs = classes.map(|class| (self.prepare)(class, rng));
        let mut times = [0; BATCH];
        for (input, time) in inputs.iter_mut().zip(&mut times) {
            let start = Instant::now();
            let output = black_box((self.run)(black_box(input)));
            *time = u32::try_from(start.elapsed().as_nanos()).unwrap_or(u32::MAX);
            drop(output);
        }
        times
    }
}

/// The operation `run`, whose input `prepare` makes. Only `run` is measured. What it returns is dropped afterwards.
pub(crate) fn operation<I, O>(
    prepare: impl FnMut(Class, &mut Prg) -> I + 'static,
    run: impl FnMut(&mut I) -> O + 'static,
) -> Box<dyn Operation> {
    Box::new(Timed { prepare, run })
}

/// Times of both classes, fixed first, taken for so long.
pub(crate) fn measure(operation: &mut dyn Operation, time: Duration, rng: &mut Prg) -> [Vec<u32>; 2] {
    let start = Instant::now();
    let mut times = [Vec::new(), Vec::new()];
    // The first batch warms up.
    let mut warm = false;
    let go_on = |times: &[Vec<u32>; 2]| match times[0].len().min(times[1].len()) {
        ..FEW => start.elapsed() < time * LONGER,
        FEW..ENOUGH => start.elapsed() < time,
        _ => false,
    };
    while go_on(&times) {
        let coins = rng.next_u32();
        let classes =
            core::array::from_fn(|i| if coins >> i & 1 == 0 { Class::Fixed } else { Class::Random });
        let batch = operation.times(&classes, rng);
        if warm {
            classes.iter().zip(batch).for_each(|(class, time)| times[*class as usize].push(time));
        }
        warm = true;
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_coins_decide_and_only_the_operation_is_timed() {
        let rng = &mut Prg::from_seed([1; 16]);
        let mut slow_to_make = operation(
            |class, _| {
                if class == Class::Random {
                    std::thread::sleep(Duration::from_micros(200));
                }
                class
            },
            |class| {
                if *class == Class::Fixed {
                    std::thread::sleep(Duration::from_millis(2));
                }
            },
        );
        let times = measure(&mut *slow_to_make, Duration::from_millis(300), rng);
        assert!(times.iter().all(|times| times.len() > 16), "both classes");
        assert!(times[0].iter().all(|time| *time >= 2_000_000));
        let mut random = times[1].clone();
        random.sort_unstable();
        assert!(random[random.len() / 2] < 200_000, "the making is not timed");
    }
}
