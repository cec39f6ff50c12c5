//! What the attempts of a round share: the tally, and what their randomness is made from.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rand_core::CryptoRng;
use vesica_crypto::wide_prg::WidePrg;
use zeroize::Zeroizing;

use super::rounds::PartTally;

/// The tally of the parts, for all lanes.
pub(super) struct SharedTally<'d, 'r>(Mutex<&'r mut PartTally<'d>>);

impl<'d, 'r> SharedTally<'d, 'r> {
    pub(super) fn new(tally: &'r mut PartTally<'d>) -> Self {
        SharedTally(Mutex::new(tally))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, &'r mut PartTally<'d>> {
        locked(&self.0)
    }
}

/// What the randomness of lanes and attempts is made from.
pub(super) struct Seed(Zeroizing<[u8; 32]>);

impl Seed {
    pub(super) fn draw(rng: &mut dyn CryptoRng) -> Self {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *seed);
        Seed(seed)
    }

    /// That of an attempt at a part, by its number.
    pub(super) fn of_attempt(&self, part: u32, number: u32) -> WidePrg {
        self.fork(0, part, number)
    }

    /// That of a lane's connections.
    pub(super) fn of_lane(&self, lane: u16) -> WidePrg {
        self.fork(1, lane.into(), 0)
    }

    fn fork(&self, kind: u8, first: u32, second: u32) -> WidePrg {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&[kind]).update(&first.to_le_bytes()).update(&second.to_le_bytes());
        WidePrg::from_seed(&Zeroizing::new(*hasher.finalize().as_bytes()))
    }
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use rand_core::Rng as _;

    use super::*;

    #[test]
    fn every_attempt_and_every_lane_draws_other_bytes() {
        let seed = Seed::draw(&mut StdRng::seed_from_u64(1));
        let mut drawn: Vec<[u8; 32]> = Vec::new();
        let mut keep = |mut rng: WidePrg| {
            let mut bytes = [0; 32];
            rng.fill_bytes(&mut bytes);
            drawn.push(bytes);
        };
        for (part, number) in (0..5).flat_map(|part| (0..5).map(move |number| (part, number))) {
            keep(seed.of_attempt(part, number));
        }
        (0..5).for_each(|lane| keep(seed.of_lane(lane)));
        keep(Seed::draw(&mut StdRng::seed_from_u64(2)).of_attempt(0, 0));
        let different: HashSet<&[u8; 32]> = drawn.iter().collect();
        assert_eq!(different.len(), 31);
    }
}
