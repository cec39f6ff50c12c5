//! Private equality test: of m strings of the receiver, which are equal to the sender's string of the same
//! number.
//!
//! **Security:** semi-honest, in the random oracle model. The receiver learns one bit for each pair, the
//! sender nothing. Both know m and the length of a string.
//!
//! Source: PSZ14 ("Private equality test"), PSSZ15 §3.5. It is [`inclusion`] in sets of one:
//!
//! ```text
//! receiver (y)                                          sender (x)
//!                ── t 1-out-of-256 OTs, y ──►           32·t       (21·t at level 80)
//! M = G(S_1)[0] ⊕ … ⊕ G(S_t)[0]                         the same for x
//!                ◄── M ──                               ⌈ℓ/8⌉
//! output whether the masks are equal
//! ```
//!
//! ℓ = 40 + ⌈log2 m⌉ bits. The paper sends the XOR of the strings themselves; here it is that of the first
//! block of their streams.
//!
//! ```
//! use rand::{SeedableRng, rngs::{StdRng, SysRng}};
//! use vesica_crypto::hash::Context;
//! use vesica_channel::memory;
//! use vesica_ot::base::Origin;
//! use vesica_ot::kk13::{self, WalshHadamard};
//! use vesica_protocols::ot_based::equality;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Three pairs of strings of four bytes.
//! let (mine, theirs) = (b"adaxbobxevex", b"adaxbobyevex");
//! // A session id is fresh and known to both.
//! let context = Context::new(&[7; 32], "equality", b"", 3, 3);
//! let (mut here, mut there) = memory::pair();
//! let mut rngs = [StdRng::try_from_rng(&mut SysRng)?, StdRng::try_from_rng(&mut SysRng)?];
//! let [my_rng, their_rng] = &mut rngs;
//! let equal = std::thread::scope(|scope| {
//!     scope.spawn(|| {
//!         let code = WalshHadamard::default();
//!         let mut ots = kk13::Sender::setup(code, &context, Origin::default(), &mut there, their_rng)?;
//!         equality::send(3, 4, theirs, &mut ots, &mut there, their_rng)
//!     });
//!     let code = WalshHadamard::default();
//!     let mut ots = kk13::Receiver::setup(code, &context, Origin::default(), &mut here, my_rng)?;
//!     equality::receive(3, 4, mine, &mut ots, &mut here)
//! })?;
//! assert_eq!(equal, [true, false, true]);
//! # Ok(())
//! # }
//! ```

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_ot::nco::{NcoReceiver, NcoSender};

use super::inclusion::{self, Batch};
use crate::error::Error;

/// Bytes that the receiver sends, with OTs of `row` bytes, and that the sender sends, for `pairs` strings of
/// `characters` bytes; what set the OTs up is not counted.
///
/// # Errors
/// As [`receive`].
pub fn bytes(pairs: usize, characters: usize, row: usize) -> Result<[u64; 2], Error> {
    batch(pairs, characters).bytes(row)
}

/// The receiver's role. `strings` are `pairs` strings of `characters` bytes side by side; of each, whether
/// the sender's is equal.
///
/// # Errors
/// [`Misuse::InvalidBatch`](crate::Misuse) if `strings` has another length, strings have no characters, or
/// there are more than 2^32 characters; if the connection fails, or the partner's masks are wider than
/// agreed.
pub fn receive(
    pairs: usize,
    characters: usize,
    strings: &[u8],
    ots: &mut impl NcoReceiver<u8>,
    channel: &mut dyn Channel,
) -> Result<Vec<bool>, Error> {
    inclusion::receive(batch(pairs, characters), strings, ots, channel)
}

/// The sender's role: the same with its own strings.
///
/// # Errors
/// As [`receive`], for the partner's OTs in the place of masks.
pub fn send<const W: usize>(
    pairs: usize,
    characters: usize,
    strings: &[u8],
    ots: &mut impl NcoSender<u8, W>,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<(), Error> {
    inclusion::send(batch(pairs, characters), strings, ots, channel, rng)
}

fn batch(pairs: usize, characters: usize) -> Batch {
    Batch { items: pairs, set: 1, characters }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vesica_channel::memory;
    use vesica_crypto::hash::Context;
    use vesica_crypto::prg::Prg;
    use vesica_ot::base::Origin;
    use vesica_ot::kk13::{self, WalshHadamard};
    use vesica_ot::nco::ideal;

    fn context() -> Context {
        Context::new(&[4; 32], "test", b"", 1, 1)
    }

    /// Both roles, over ideal OTs or real ones; what the receiver learns and what both sent after the set-up.
    fn run(real: bool, characters: usize, mine: &[u8], theirs: &[u8]) -> (Vec<bool>, [u64; 2]) {
        let pairs = mine.len() / characters;
        let (mut a, mut b) = memory::pair();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (rng, context, code) =
                    (&mut Prg::from_seed([1; 16]), context(), WalshHadamard::default());
                if real {
                    let mut ots =
                        kk13::Sender::setup(code, &context, Origin::default(), &mut a, rng).unwrap();
                    send(pairs, characters, theirs, &mut ots, &mut a, rng)
                } else {
                    let mut ots = ideal::Sender::setup(&context, &mut a, rng).unwrap();
                    send::<2>(pairs, characters, theirs, &mut ots, &mut a, rng)
                }
                .unwrap();
            });
            let (rng, context, code) = (&mut Prg::from_seed([2; 16]), context(), WalshHadamard::default());
            let (found, before) = if real {
                let mut ots = kk13::Receiver::setup(code, &context, Origin::default(), &mut b, rng).unwrap();
                let before = b.traffic();
                (receive(pairs, characters, mine, &mut ots, &mut b), before)
            } else {
                let mut ots = ideal::Receiver::setup(&context, &mut b, rng).unwrap();
                let before = b.traffic();
                (receive(pairs, characters, mine, &mut ots, &mut b), before)
            };
            let after = b.traffic();
            let sent = after.payload_sent - before.payload_sent;
            (found.unwrap(), [sent, after.payload_received - before.payload_received])
        })
    }

    #[test]
    fn equal_strings_are_told_from_others_at_every_length() {
        for characters in [1, 2, 4, 8, 16, 33] {
            // Ten pairs: of pair i byte i is another by one bit, unless i is odd or beyond the string.
            let mine: Vec<u8> = (0..10 * characters).map(|i| (i * 31 % 251) as u8).collect();
            let mut theirs = mine.clone();
            let differs = |pair: usize| pair.is_multiple_of(2) && pair < characters;
            for pair in (0..10).filter(|pair| differs(*pair)) {
                theirs[pair * characters + pair] ^= 1 << (pair % 8);
            }
            let expected: Vec<bool> = (0..10).map(|pair| !differs(pair)).collect();
            for real in [false, true] {
                let (found, sent) = run(real, characters, &mine, &theirs);
                assert_eq!(found, expected, "{characters}");
                // ℓ = 40 + 4 bits; the ideal OTs send nothing.
                let rows = if real { 10 * characters as u64 * 32 } else { 0 };
                assert_eq!(sent, [rows, 10 * 6], "{characters}");
                if real {
                    assert_eq!(sent, bytes(10, characters, 32).unwrap());
                }
            }
        }
    }

    #[test]
    fn one_pair_has_a_mask_of_forty_bits() {
        assert_eq!(bytes(1, 4, 32).unwrap(), [128, 5]);
        assert_eq!(bytes(1, 4, 21).unwrap(), [84, 5]);
        assert_eq!(bytes(1 << 10, 4, 32).unwrap(), [128 << 10, 7 << 10]);
        assert!(bytes(1, 0, 32).is_err());
    }
}
