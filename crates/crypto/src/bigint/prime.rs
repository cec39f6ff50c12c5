//! Primes. The sieve and the tests are those of the `crypto-primes` library: Baillie, Pomerance, Selfridge and
//! Wagstaff's test (Miller and Rabin's to base 2, then Lucas's), for which no composite is known that passes it,
//! strengthened as Baillie, Fiori and Wagstaff say (Math. Comp. 90, 2021). A number that a peer chose gets tests
//! of random bases as well, because the first test is a fixed one.

use crypto_bigint::BoxedUint;
use crypto_primes::hazmat::{SetBits, SmallFactorsSieveFactory};
use crypto_primes::{Flavor, fips, is_prime as passes, sieve_and_find};
use rand_core::CryptoRng;

/// Miller and Rabin's tests of random bases for a number that a peer chose: a composite passes all of them with a
/// chance of at most 4^-64.
const FOREIGN_TESTS: usize = 64;

/// A random prime of exactly `bits` bits.
///
/// # Panics
/// If `bits` is below 16.
#[must_use]
pub fn random_prime(bits: u32, rng: &mut dyn CryptoRng) -> BoxedUint {
    find(Flavor::Any, SetBits::Msb, bits, rng)
}

/// A random prime of exactly `bits` bits whose highest two are set, so that the product of two such primes has
/// exactly twice as many bits.
///
/// # Panics
/// If `bits` is below 16.
#[must_use]
pub fn random_rsa_prime(bits: u32, rng: &mut dyn CryptoRng) -> BoxedUint {
    find(Flavor::Any, SetBits::TwoMsb, bits, rng)
}

/// A random prime p of exactly `bits` bits such that (p - 1) / 2 is prime as well.
///
/// # Panics
/// If `bits` is below 16.
#[must_use]
pub fn random_safe_prime(bits: u32, rng: &mut dyn CryptoRng) -> BoxedUint {
    find(Flavor::Safe, SetBits::Msb, bits, rng)
}

/// True if this number, drawn at random by this party, is prime.
#[must_use]
pub fn is_prime(number: &BoxedUint) -> bool {
    passes(Flavor::Any, number)
}

/// True if this number is prime, even if a peer chose it.
#[must_use]
pub fn is_prime_of_peer(number: &BoxedUint, rng: &mut dyn CryptoRng) -> bool {
    passes(Flavor::Any, number)
        && fips::is_prime(rng, Flavor::Any, number, fips::FipsOptions::with_mr_iterations(FOREIGN_TESTS))
}

#[expect(clippy::expect_used, reason = "a sieve refuses fewer bits only, and goes on until it has a prime")]
fn find(flavor: Flavor, highest: SetBits, bits: u32, rng: &mut dyn CryptoRng) -> BoxedUint {
    assert!(bits >= 16, "a prime of 16 bits or more");
    let sieve = SmallFactorsSieveFactory::<BoxedUint>::new(flavor, bits, highest).expect("so many bits");
    let found = sieve_and_find(rng, sieve, |_, candidate| passes(flavor, candidate));
    found.expect("a sieve of so many bits").expect("a prime of any length")
}
