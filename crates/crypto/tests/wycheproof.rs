//! Test vectors of Wycheproof, which look for known mistakes: numbers that pass bad tests of primality, points that are
//! not on their curve, scalars and points at the edges of formulas, and AES-GCM, which is made here of the kernels for
//! AES and GF(2^128).
#![allow(clippy::unwrap_used, reason = "a test stops where something is not as it must be")]

use vesica_crypto::aes_hash::FixedKey;
use vesica_crypto::backend::Backend;
use vesica_crypto::bigint::{BoxedUint, prime};
use vesica_crypto::block::Block;
use vesica_crypto::gf128::multiply_on;
use vesica_crypto::group::{Group, P256, P384, P521};
use vesica_crypto::prg::Prg;

/// The lines of a file of tests: number, result, and what follows.
fn tests(file: &str) -> impl Iterator<Item = (u32, &str, Vec<&str>)> {
    file.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut words = line.split(' ');
        let (number, result) = (words.next().unwrap().parse().unwrap(), words.next().unwrap());
        (number, result, words.collect())
    })
}

/// The bytes of a text in hex; `-` is none.
fn hex(text: &str) -> Vec<u8> {
    let digits = text.trim_start_matches('-');
    (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect()
}

#[test]
fn primes_are_accepted_and_composites_refused() {
    let rng = &mut Prg::from_seed([1; 16]);
    let mut counts = [0; 3];
    for (number, result, words) in tests(include_str!("wycheproof/primality.txt")) {
        let bytes = hex(words[0]);
        let value = BoxedUint::from_be_slice(&bytes, 8 * bytes.len() as u32).unwrap();
        // The many tests of a peer's number take long for a long prime.
        let short = result == "invalid" || bytes.len() <= 32;
        let accepted =
            [prime::is_prime(&value), if short { prime::is_prime_of_peer(&value, rng) } else { true }];
        match (bytes[0] >> 7, result) {
            (0, "valid") => {
                counts[0] += 1;
                assert_eq!(accepted, [true; 2], "{number}");
            }
            (0, _) => {
                counts[1] += 1;
                assert_eq!(accepted, [false; 2], "{number}");
            }
            // Negative numbers, of which there are none here: these bytes are another number.
            _ => counts[2] += 1,
        }
    }
    assert_eq!(counts, [66, 237, 14]);
}

/// Valid points times valid scalars give the abscissas that they must; invalid points do not decode.
fn points_and_products<G: Group>(file: &str) -> [usize; 2] {
    let mut counts = [0; 2];
    for (number, result, words) in tests(file) {
        let mut encoding = G::EMPTY;
        encoding.as_mut().copy_from_slice(&hex(words[0]));
        let element = G::decode(&encoding);
        if result == "invalid" {
            counts[1] += 1;
            assert!(element.is_err(), "{number}");
            continue;
        }
        counts[0] += 1;
        let mut scalar = G::encode_scalar(&G::random_scalar(&mut Prg::from_seed([1; 16])));
        scalar.as_mut().copy_from_slice(&hex(words[1]));
        let scalar = G::decode_scalar(&scalar).ok().unwrap();
        let product = G::encode(&G::mul(&scalar, &element.unwrap()));
        assert_eq!(product.as_ref()[1..], hex(words[2]), "{number}");
        let mut out = [G::EMPTY];
        assert!(
            G::decode_mul_encode(&scalar, &[encoding], &mut out).is_ok() && out[0] == product,
            "{number}"
        );
    }
    counts
}

#[test]
fn points_of_the_curves_of_nist_are_checked_and_multiplied() {
    assert_eq!(points_and_products::<P256>(include_str!("wycheproof/p256.txt")), [73, 7]);
    assert_eq!(points_and_products::<P384>(include_str!("wycheproof/p384.txt")), [61, 1]);
    assert_eq!(points_and_products::<P521>(include_str!("wycheproof/p521.txt")), [61, 11]);
}

/// Blocks of 16 bytes; the last is filled up with zeros.
fn blocks(bytes: &[u8]) -> impl Iterator<Item = [u8; 16]> {
    bytes.chunks(16).map(|chunk| {
        let mut block = [0; 16];
        block[..chunk.len()].copy_from_slice(chunk);
        block
    })
}

/// AES-128-GCM with a nonce of 96 bits (NIST SP 800-38D): the text with the stream added, and the tag of the
/// ciphertext.
struct Gcm {
    backend: Backend,
    key: FixedKey,
    nonce: Vec<u8>,
}

impl Gcm {
    fn encrypted(&self, block: [u8; 16]) -> Block {
        let mut blocks = [Block::from(block)];
        self.key.permute(&mut blocks);
        blocks[0]
    }

    fn counter(&self, counter: u32) -> Block {
        let mut block = [0; 16];
        block[..12].copy_from_slice(&self.nonce);
        block[12..].copy_from_slice(&counter.to_be_bytes());
        self.encrypted(block)
    }

    fn with_stream(&self, text: &[u8]) -> Vec<u8> {
        let chunks = (2..).zip(text.chunks(16));
        chunks
            .flat_map(|(i, chunk)| {
                let stream = self.counter(i).to_bytes();
                chunk.iter().zip(stream).map(|(byte, key)| byte ^ key).collect::<Vec<_>>()
            })
            .collect()
    }

    fn tag(&self, data: &[u8], ciphertext: &[u8]) -> [u8; 16] {
        // There the highest bit of a byte is the coefficient of the lowest power, here the lowest bit.
        let reversed = |block: [u8; 16]| Block::from(block.map(u8::reverse_bits));
        let lengths = [data, ciphertext].map(|bytes| (8 * bytes.len() as u64).to_be_bytes()).concat();
        let factor = [reversed(self.encrypted([0; 16]).to_bytes())];
        let mut sum = [Block::ZERO];
        for block in blocks(data).chain(blocks(ciphertext)).chain(blocks(&lengths)) {
            sum[0] ^= reversed(block);
            multiply_on(self.backend, &mut sum, &factor);
        }
        (reversed(sum[0].to_bytes()) ^ self.counter(1)).to_bytes()
    }
}

#[test]
fn aes_and_products_make_aes_gcm_on_every_back_end() {
    for backend in Backend::available() {
        let mut counts = [0; 2];
        for (number, result, words) in tests(include_str!("wycheproof/aes_128_gcm.txt")) {
            let [key, nonce, data, text, ciphertext, tag] = core::array::from_fn(|i| hex(words[i]));
            let key = FixedKey::with_backend(backend, Block::from_bytes(key.try_into().unwrap()));
            let gcm = Gcm { backend, key, nonce };
            let right = gcm.tag(&data, &ciphertext)[..] == tag;
            assert_eq!(right, result == "valid", "{number}, {backend:?}");
            if right {
                assert_eq!(gcm.with_stream(&text), ciphertext, "{number}, {backend:?}");
            }
            counts[usize::from(!right)] += 1;
        }
        assert_eq!(counts, [40, 27]);
    }
}
