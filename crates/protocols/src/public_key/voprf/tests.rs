use std::collections::HashSet;

use rand::{SeedableRng, rngs::StdRng};
use vesica_crypto::group::hash_to_ristretto255;

use super::*;

fn hex<const N: usize>(text: &str) -> [u8; N] {
    let digits: String = text.split_whitespace().collect();
    assert_eq!(digits.len(), 2 * N);
    core::array::from_fn(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).unwrap())
}

/// RFC 9497, appendix A.1.2.
const PUBLIC: &str = "c803e2cc6b05fc15064549b5920659ca4a77b2cca6f04f6b357009335476ad4e";
const SECRET: &str = "e6f73f344b79b379f1a0dd37e07ff62e38d9f71345ce62ae3a9bc60b04ccd909";

/// Input (a byte, and how often it stands), blind, blinded, evaluated and output of one element.
struct Element255(u8, usize, &'static str, &'static str, &'static str, &'static str);

/// The elements of a batch, the proof's random scalar, and the proof.
struct Vector(&'static [Element255], &'static str, &'static str);

const BLINDS: [&str; 2] = [
    "64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706",
    "222a5e897cf59db8145db8d16e597e8facb80ae7d4e26d9881aa6f61d645fc0e",
];
const OUTPUTS: [&str; 2] = [
    "b58cfbe118e0cb94d79b5fd6a6dafb98764dff49c14e1770b566e42402da1a7d
     a4d8527693914139caee5bd03903af43a491351d23b430948dd50cde10d32b3c",
    "8a9a2f3c7f085b65933594309041fc1898d42d0858e59f90814ae90571a6df60
     356f4610bf816f27afdd84f47719e480906d27ecd994985890e5f539e7ea74b6",
];
const FIRST: Element255 = Element255(
    0,
    1,
    BLINDS[0],
    "863f330cc1a1259ed5a5998a23acfd37fb4351a793a5b3c090b642ddc439b945",
    "aa8fa048764d5623868679402ff6108d2521884fa138cd7f9c7669a9a014267e",
    OUTPUTS[0],
);
const VECTORS: [Vector; 3] = [
    Vector(
        &[FIRST],
        BLINDS[1],
        "ddef93772692e535d1a53903db24367355cc2cc78de93b3be5a8ffcc6985dd06
         6d4346421d17bf5117a2a1ff0fcb2a759f58a539dfbe857a40bce4cf49ec600d",
    ),
    Vector(
        &[Element255(
            0x5a,
            17,
            BLINDS[0],
            "cc0b2a350101881d8a4cba4c80241d74fb7dcbfde4a61fde2f91443c2bf9ef0c",
            "60a59a57208d48aca71e9e850d22674b611f752bed48b36f7a91b372bd7ad468",
            OUTPUTS[1],
        )],
        BLINDS[1],
        "401a0da6264f8cf45bb2f5264bc31e109155600babb3cd4e5af7d181a2c9dc0a
         67154fabf031fd936051dec80b0b6ae29c9503493dde7393b722eafdf5a50b02",
    ),
    Vector(
        &[
            FIRST,
            Element255(
                0x5a,
                17,
                BLINDS[1],
                "90a0145ea9da29254c3a56be4fe185465ebb3bf2a1801f7124bbbadac751e654",
                "cc5ac221950a49ceaa73c8db41b82c20372a4c8d63e5dded2db920b7eee36a2a",
                OUTPUTS[1],
            ),
        ],
        "419c4f4f5052c53c45f3da494d2b67b220d02118e0857cdbcf037f9ea84bbe0c",
        "cc203910175d786927eeb44ea847328047892ddf8590e723c37205cb74600b0a
         5ab5337c8eb4ceae0494c2cf89529dcf94572ed267473d567aeed6ab873dee08",
    ),
];

fn vector_key() -> SecretKey {
    SecretKey::from_bytes(&hex(SECRET)).unwrap()
}

fn rng(seed: u64) -> StdRng {
    StdRng::seed_from_u64(seed)
}

fn inputs(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|i| format!("input {i}").into_bytes()).collect()
}

#[test]
fn keys_are_derived_as_in_the_rfc() {
    let derived = SecretKey::derive(&[0xa3; 32], b"test key");
    assert_eq!(*derived.to_bytes(), hex(SECRET));
    assert_eq!(derived.public_key().encoded(), hex(PUBLIC));
    assert!(SecretKey::derive(&[0xa3; 32], b"test kez").public_key() != derived.public_key());
}

#[test]
fn batches_are_evaluated_and_proven_as_in_the_rfc() {
    let key = vector_key();
    for Vector(elements, nonce, proof) in &VECTORS {
        let blinded: Vec<Encoded> = elements.iter().map(|element| hex(element.3)).collect();
        let evaluation = key.evaluate_with(&blinded, &G::decode_scalar(&hex(nonce)).unwrap()).unwrap();
        let evaluated: Vec<Encoded> = elements.iter().map(|element| hex(element.4)).collect();
        assert_eq!(evaluation.elements, evaluated);
        assert_eq!(evaluation.proof, hex(proof));
    }
}

/// The RFC's own blinds are factors: `r·H(x)`.
#[test]
fn inputs_are_hashed_to_the_group_as_in_the_rfc() {
    let dst = [b"HashToGroup-", CONTEXT].concat();
    for Element255(byte, count, blind, blinded, ..) in VECTORS.iter().flat_map(|vector| vector.0) {
        let element = hash_to_ristretto255(&vec![*byte; *count], &dst);
        let product = G::mul(&G::decode_scalar(&hex(blind)).unwrap(), &element);
        assert_eq!(G::encode(&product), hex::<32>(blinded));
    }
}

#[test]
fn a_client_gets_the_outputs_of_the_rfc() {
    let key = vector_key();
    let client = Client::new(PublicKey::decode(hex(PUBLIC)).unwrap());
    for Vector(elements, ..) in &VECTORS {
        let inputs: Vec<Vec<u8>> = elements.iter().map(|element| vec![element.0; element.1]).collect();
        let expected: Vec<Output> = elements.iter().map(|element| hex(element.5)).collect();
        let blinded = client.blind(&inputs, &mut rng(1));
        let evaluation = key.evaluate(&blinded.elements, &mut rng(2)).unwrap();
        assert_eq!(client.finalize(&inputs, &blinded, &evaluation).unwrap(), expected);
        assert_eq!(key.outputs(&inputs), expected);
    }
}

#[test]
fn outputs_of_client_and_server_are_the_same_at_every_size() {
    let key = SecretKey::random(&mut rng(3));
    let client = Client::new(*key.public_key());
    for count in [1, 2, 7, 8, 9, 17, 130, 300] {
        let inputs = inputs(count);
        let blinded = client.blind(&inputs, &mut rng(4));
        let evaluation = key.evaluate(&blinded.elements, &mut rng(5)).unwrap();
        let outputs = client.finalize(&inputs, &blinded, &evaluation).unwrap();
        assert_eq!(outputs, key.outputs(&inputs), "{count}");
        assert_eq!(outputs.iter().collect::<HashSet<_>>().len(), count);
    }
    let again = SecretKey::from_bytes(&key.to_bytes()).unwrap();
    assert_eq!(again.outputs(&inputs(3)), key.outputs(&inputs(3)));
    assert_ne!(SecretKey::random(&mut rng(6)).outputs(&inputs(1)), key.outputs(&inputs(1)));
}

/// The crate `voprf` (Meta), on the bytes of the RFC, as the server of our client and as the client of our server.
#[test]
fn another_implementation_is_understood_and_understands() {
    use voprf::{BlindedElement, EvaluationElement, Proof, Ristretto255, VoprfClient, VoprfServer};
    let mut foreign_rng = voprf_rng::Rng(rng(7));
    let inputs = inputs(20);
    let server = VoprfServer::<Ristretto255>::new_from_seed(&[9; 32], b"info").unwrap();
    let key = SecretKey::derive(&[9; 32], b"info");
    let public = server.get_public_key();
    let encoded: Encoded = <Ristretto255 as voprf::Group>::serialize_elem(public).into();
    assert_eq!(encoded, key.public_key().encoded());
    // Our client, their server.
    let client = Client::new(PublicKey::decode(encoded).unwrap());
    let blinded = client.blind(&inputs, &mut rng(8));
    let theirs: Vec<BlindedElement<Ristretto255>> =
        blinded.elements.iter().map(|element| BlindedElement::deserialize(element).unwrap()).collect();
    let prepared: Vec<_> = server.batch_blind_evaluate_prepare(theirs.iter()).collect();
    let batch = server.batch_blind_evaluate_finish(&mut foreign_rng, theirs.iter(), &prepared).unwrap();
    let elements = batch.messages.map(|message: EvaluationElement<_>| message.serialize().into()).collect();
    let proof = batch.proof.serialize()[..].try_into().unwrap();
    let evaluation = Evaluation { elements, proof };
    let outputs = client.finalize(&inputs, &blinded, &evaluation).unwrap();
    assert_eq!(outputs, key.outputs(&inputs));
    // Their client, our server.
    let blind =
        |input: &Vec<u8>, rng: &mut voprf_rng::Rng| VoprfClient::<Ristretto255>::blind(input, rng).unwrap();
    let blinds: Vec<_> = inputs.iter().map(|input| blind(input, &mut foreign_rng)).collect();
    let blinded: Vec<Encoded> = blinds.iter().map(|blind| blind.message.serialize().into()).collect();
    let evaluation = key.evaluate(&blinded, &mut rng(10)).unwrap();
    let messages: Vec<_> =
        evaluation.elements.iter().map(|element| EvaluationElement::deserialize(element).unwrap()).collect();
    let states: Vec<_> = blinds.into_iter().map(|blind| blind.state).collect();
    let proof = Proof::deserialize(&evaluation.proof).unwrap();
    let theirs = VoprfClient::batch_finalize(&inputs, &states, &messages, &proof, public).unwrap();
    let theirs: Vec<Output> = theirs.map(|output| output.unwrap()[..].try_into().unwrap()).collect();
    assert_eq!(theirs, outputs);
}

/// Randomness in the form that the foreign crate takes.
mod voprf_rng {
    use rand::Rng as _;
    use voprf_rand_core::{CryptoRng, Error, RngCore};

    pub(super) struct Rng(pub(super) rand::rngs::StdRng);

    impl RngCore for Rng {
        fn next_u32(&mut self) -> u32 {
            self.0.next_u32()
        }

        fn next_u64(&mut self) -> u64 {
            self.0.next_u64()
        }

        fn fill_bytes(&mut self, bytes: &mut [u8]) {
            self.0.fill_bytes(bytes);
        }

        fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
            self.0.fill_bytes(bytes);
            Ok(())
        }
    }

    impl CryptoRng for Rng {}
}

fn refused(result: Result<Vec<Output>, Error>) {
    assert_eq!(result.unwrap_err(), Error::PeerMisbehaved(Misbehaviour::FailedCheck));
}

/// A server that takes another key for one receiver, or for one element, learns who asks by what it finds.
#[test]
fn another_key_than_the_public_one_is_refused() {
    let [key, other] = [11, 12].map(|seed| SecretKey::random(&mut rng(seed)));
    let client = Client::new(*key.public_key());
    let inputs = inputs(9);
    let blinded = client.blind(&inputs, &mut rng(13));
    refused(client.finalize(&inputs, &blinded, &other.evaluate(&blinded.elements, &mut rng(14)).unwrap()));
    let mixed = SecretKey { public: *key.public_key(), ..SecretKey::of(other.scalar.clone()) };
    refused(client.finalize(&inputs, &blinded, &mixed.evaluate(&blinded.elements, &mut rng(14)).unwrap()));
    let (good, wrong) = (
        key.evaluate(&blinded.elements, &mut rng(15)).unwrap(),
        other.evaluate(&blinded.elements, &mut rng(15)).unwrap(),
    );
    for place in 0..inputs.len() {
        let mut elements = good.elements.clone();
        elements[place] = wrong.elements[place];
        refused(client.finalize(&inputs, &blinded, &Evaluation { elements, proof: good.proof }));
    }
    // Two that are changed for each other, and two whose errors cancel in a sum without weights.
    let mut elements = good.elements.clone();
    elements.swap(2, 5);
    refused(client.finalize(&inputs, &blinded, &Evaluation { elements, proof: good.proof }));
    let mut points: Vec<_> = good.elements.iter().map(|element| G::decode(element).unwrap()).collect();
    let error = G::generator();
    (points[0], points[1]) = (G::add(&points[0], &error), G::sub(&points[1], &error));
    let elements = points.iter().map(G::encode).collect();
    refused(client.finalize(&inputs, &blinded, &Evaluation { elements, proof: good.proof }));
    assert!(client.finalize(&inputs, &blinded, &good).is_ok());
}

#[test]
fn every_byte_of_a_proof_counts() {
    let key = SecretKey::random(&mut rng(16));
    let client = Client::new(*key.public_key());
    let inputs = inputs(3);
    let blinded = client.blind(&inputs, &mut rng(17));
    let good = key.evaluate(&blinded.elements, &mut rng(18)).unwrap();
    for byte in 0..PROOF {
        let mut proof = good.proof;
        proof[byte] ^= 0x10;
        refused(client.finalize(&inputs, &blinded, &Evaluation { elements: good.elements.clone(), proof }));
    }
    // A scalar and the same plus the order of the group are one number; the second is not canonical.
    let order: [u8; 32] = hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
    for half in 0..2 {
        let (mut proof, mut carry) = (good.proof, 0);
        for (byte, order) in proof[32 * half..32 * (half + 1)].iter_mut().zip(order) {
            let sum = u16::from(*byte) + u16::from(order) + carry;
            (*byte, carry) = (sum as u8, sum >> 8);
        }
        refused(client.finalize(&inputs, &blinded, &Evaluation { elements: good.elements.clone(), proof }));
    }
}

#[test]
fn the_identity_and_non_canonical_elements_are_refused_and_named() {
    let key = SecretKey::random(&mut rng(19));
    let client = Client::new(*key.public_key());
    let inputs = inputs(9);
    let blinded = client.blind(&inputs, &mut rng(20));
    let good = key.evaluate(&blinded.elements, &mut rng(21)).unwrap();
    for wrong in [[0; 32], [0xff; 32]] {
        for position in [0, 8] {
            let expected = Error::PeerMisbehaved(Misbehaviour::InvalidElement { position });
            let mut elements = blinded.elements.clone();
            elements[position] = wrong;
            assert_eq!(key.evaluate(&elements, &mut rng(22)).err(), Some(expected.clone()));
            let mut elements = good.elements.clone();
            elements[position] = wrong;
            let evaluation = Evaluation { elements, proof: good.proof };
            assert_eq!(client.finalize(&inputs, &blinded, &evaluation).err(), Some(expected));
        }
        assert!(PublicKey::decode(wrong).is_err() && SecretKey::from_bytes(&wrong).is_err());
    }
}

/// A blind or a nonce that serves twice: the first links two queries, the second gives the key away.
#[test]
fn flaw_blinds_and_nonces_that_serve_twice() {
    let key = SecretKey::random(&mut rng(23));
    let client = Client::new(*key.public_key());
    let same = vec![b"the same".to_vec(); 40];
    let mut seen = HashSet::new();
    for seed in 24..26 {
        let blinded = client.blind(&same, &mut rng(seed));
        blinded.elements.iter().for_each(|element| assert!(seen.insert(*element)));
        let proof = key.evaluate(&blinded.elements, &mut rng(seed)).unwrap().proof;
        let [c, s] = [0, 1].map(|half| G::decode_scalar(&proof.as_chunks().0[half]).unwrap());
        // s + c·k is the nonce.
        let nonce = G::add_scalars(&s, &G::mul_scalars(&c, &key.scalar));
        assert!(seen.insert(G::encode_scalar(&nonce)));
    }
}
