use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::*;

const LABEL: Label = Label::new("test: base OT");

fn context() -> Context {
    Context::new(&[3; 32], "test", b"", 1, 2)
}

/// Sender's strings and message, by the same randomness whenever it is called.
fn sent(context: &Context, label: Label, message: &[u8]) -> Result<(Vec<[Seed; 2]>, Vec<u8>), Error> {
    let count = message.len().div_ceil(RECEIVER_BYTES);
    Sender::new(context, label, count, &mut StdRng::seed_from_u64(6)).finish(message)
}

fn received(choices: &[u8], count: usize, seed: u64) -> (Receiver, Vec<u8>) {
    Receiver::new(&context(), LABEL, choices, count, &mut StdRng::seed_from_u64(seed))
}

/// A number modulo q, digit by digit from the highest.
fn modulo(bytes: &[u8]) -> u16 {
    bytes.iter().rev().fold(0u32, |rest, byte| (rest * 256 + u32::from(*byte)) % u32::from(Q)) as u16
}

/// Hg(i, j, ρ, r), coefficient by coefficient.
fn hash(i: u64, j: u8, rho: &[u8], other: &[u8]) -> Vec<u16> {
    let mut wide = vec![0; 18 * 768];
    context().hash_parts(LABEL, &[&[0, j], &i.to_le_bytes(), rho, other], &mut wide);
    wide.chunks_exact(18).map(modulo).collect()
}

/// The coefficients of a packed vector, bit by bit.
fn coefficients(packed: &[u8]) -> Vec<u16> {
    let bit = |at: usize| u16::from(packed[at / 8] >> (at % 8) & 1);
    (0..768).map(|k| (0..12).map(|b| bit(12 * k + b) << b).sum()).collect()
}

#[test]
fn the_receiver_has_the_string_it_chose_and_not_the_other() {
    for count in [0, 1, 7, 128] {
        let mut choices = vec![0; 16];
        StdRng::seed_from_u64(1).fill_bytes(&mut choices);
        let (receiver, message) = received(&choices, count, 2);
        let (strings, answer) = sent(&context(), LABEL, &message).unwrap();
        assert_eq!((message.len(), answer.len()), (2336 * count, 2176 * count));
        let chosen = receiver.finish(&answer).unwrap();
        assert_eq!((strings.len(), chosen.len()), (count, count));
        for (i, (pair, chosen)) in strings.iter().zip(&chosen).enumerate() {
            let choice = usize::from(bit(&choices, i));
            assert!(pair[choice] == *chosen && pair[1 - choice] != *chosen, "{i}");
        }
    }
}

/// Key generation and decapsulation of the library on a vector of Wycheproof (`mlkem_768_test.json`, its first valid
/// one): seed, encapsulation key, ciphertext, shared key.
#[test]
fn the_library_computes_ml_kem_768() {
    let fields: Vec<Vec<u8>> = include_str!("vector.txt")
        .lines()
        .map(|line| {
            (0..line.len()).step_by(2).map(|i| u8::from_str_radix(&line[i..i + 2], 16).unwrap()).collect()
        })
        .collect();
    let pair = mlkem768::generate_key_pair(*fields[0].first_chunk().unwrap());
    assert_eq!(pair.pk()[..], fields[1]);
    let ciphertext = MlKem768Ciphertext::try_from(&fields[2][..]).unwrap();
    assert_eq!(mlkem768::decapsulate(pair.private_key(), &ciphertext)[..], fields[3]);
}

/// The messages and strings are those of the page, computed one by one: sums in Z_q^768, keys of the library, hashes.
#[test]
fn messages_and_strings_are_those_of_the_definition() {
    let choices = [0b0110_0101, 0b1];
    let (receiver, message) = received(&choices, 9, 4);
    let (strings, answer) = sent(&context(), LABEL, &message).unwrap();
    let chosen = receiver.finish(&answer).unwrap();
    let (drawn, made) = (&mut StdRng::seed_from_u64(4), &mut StdRng::seed_from_u64(6));
    for (i, (message, answer)) in message.chunks(2336).zip(answer.chunks(2176)).enumerate() {
        let (mut seed, mut wide) = ([0; 64], vec![0; 18 * 768]);
        drawn.fill_bytes(&mut seed);
        drawn.fill_bytes(&mut wide);
        let pair = mlkem768::generate_key_pair(seed);
        let (rho, vectors) = (&message[..32], [&message[32..][..1152], &message[32 + 1152..]]);
        let choice = usize::from(bit(&choices, i));
        assert_eq!(rho, &pair.pk()[1152..]);
        let random: Vec<u16> = wide.chunks_exact(18).map(modulo).collect();
        assert_eq!(coefficients(vectors[1 - choice]), random);
        for j in 0..2 {
            let hash = hash(i as u64, j as u8, rho, vectors[1 - j]);
            let key: Vec<u16> =
                coefficients(vectors[j]).iter().zip(&hash).map(|(r, hash)| (r + hash) % Q).collect();
            assert_eq!(key == coefficients(pair.pk()), j == choice, "{i}, {j}");
            let key = key_of(key.as_slice().try_into().unwrap(), rho);
            assert!(mlkem768::validate_public_key(&key));
            let mut randomness = [0; 32];
            made.fill_bytes(&mut randomness);
            let (ciphertext, shared) = mlkem768::encapsulate(&key, randomness);
            assert_eq!(answer[1088 * j..][..1088], *ciphertext.as_slice());
            let mut string = [0; 32];
            let number = (i as u64).to_le_bytes();
            context().hash_parts(LABEL, &[&[1, j as u8], &number, message, answer, &shared], &mut string);
            assert_eq!(*strings[i][j].as_bytes(), string, "{i}, {j}");
            if j == choice {
                assert_eq!(*chosen[i].as_bytes(), string);
            }
        }
    }
}

#[test]
fn a_vector_is_packed_as_in_a_key_of_the_library() {
    for seed in 0..4 {
        let pair = mlkem768::generate_key_pair([seed; 64]);
        let (packed, rho) = split(pair.public_key());
        let vector = unpack(packed).unwrap();
        assert_eq!(vector[..], coefficients(packed));
        assert_eq!(pack(&vector), *packed);
        assert_eq!(key_of(&vector, rho).as_slice(), pair.pk());
    }
}

#[test]
fn numbers_are_reduced_as_by_division() {
    let rng = &mut StdRng::seed_from_u64(3);
    for fill in 0..=255 {
        let mut bytes = [fill; 18];
        assert_eq!(reduce(&bytes), modulo(&bytes));
        rng.fill_bytes(&mut bytes);
        assert_eq!(reduce(&bytes), modulo(&bytes));
    }
    // Numbers around multiples of q.
    let multiples = (0..500u128).map(|k| u128::from(Q) * ((k << 80) + k * k));
    for number in multiples.flat_map(|multiple| [multiple, multiple + 1, multiple + 3328]) {
        let mut bytes = [0; 18];
        bytes[..16].copy_from_slice(&number.to_le_bytes());
        assert_eq!(u128::from(reduce(&bytes)), number % u128::from(Q));
    }
    assert!((0..2 * Q).all(|number| below_q(number) == number % Q));
}

#[test]
fn another_context_label_index_message_or_ciphertext_gives_other_strings() {
    let (_, message) = received(&[0], 2, 5);
    let (honest, answer) = sent(&context(), LABEL, &message).unwrap();
    let chosen = || received(&[0], 2, 5).0;
    let own = chosen().finish(&answer).unwrap();
    assert!(honest[0][0] == own[0] && honest[1][0] == own[1]);
    let other_context = Context::new(&[4; 32], "test", b"", 1, 2);
    assert!(sent(&other_context, LABEL, &message).unwrap().0[0][0] != own[0]);
    assert!(sent(&context(), Label::new("test: other"), &message).unwrap().0[0][0] != own[0]);
    // The other OT's message under this index: none of its strings is one that the receiver has.
    let swapped = [&message[RECEIVER_BYTES..], &message[..RECEIVER_BYTES]].concat();
    let (again, its_answer) = sent(&context(), LABEL, &swapped).unwrap();
    assert!(again.as_flattened().iter().all(|string| !own.contains(string)));
    let exchanged = [&its_answer[SENDER_BYTES..], &its_answer[..SENDER_BYTES]].concat();
    assert!(chosen().finish(&exchanged).unwrap().iter().all(|own| !again.as_flattened().contains(own)));
    // The ciphertext that was not chosen is hashed too.
    let mut changed = answer.clone();
    changed[CIPHERTEXT] ^= 1;
    assert!(chosen().finish(&changed).unwrap()[0] != own[0]);
}

/// A string is bound to its choice, its index and to all that was sent.
#[test]
fn every_part_of_a_string_counts() {
    let (oracle, message, answer) = (context().oracle(LABEL), [7; RECEIVER_BYTES], [8; SENDER_BYTES]);
    let string = |i, j, message: &_, answer: &[u8], key| to_string(&oracle, i, j, message, answer, key);
    let mut all = vec![
        string(0, 0, &message, &answer, &[9; 32]),
        string(1, 0, &message, &answer, &[9; 32]),
        string(0, 1, &message, &answer, &[9; 32]),
        string(0, 0, &message, &answer, &[10; 32]),
    ];
    for at in [0, 31, 32, 1183, 1184, RECEIVER_BYTES - 1] {
        let mut other = message;
        other[at] ^= 1;
        all.push(string(0, 0, &other, &answer, &[9; 32]));
    }
    for at in [0, 1087, 1088, SENDER_BYTES - 1] {
        let mut other = answer;
        other[at] ^= 1;
        all.push(string(0, 0, &message, &other, &[9; 32]));
    }
    assert!(all.iter().enumerate().all(|(i, a)| all[..i].iter().all(|b| a != b)));
}

/// The hash that a vector is added to takes index, choice, ρ and the other vector.
#[test]
fn every_part_of_a_hash_to_the_group_counts() {
    let oracle = context().oracle(LABEL);
    let hash = |i, j, rho: u8, other: u8| {
        let mut wide = vec![0; WIDE];
        to_wide(&oracle, i, j, &[rho; SEED], &[other; VECTOR], &mut wide);
        wide
    };
    let all = [hash(0, 0, 0, 0), hash(1, 0, 0, 0), hash(0, 1, 0, 0), hash(0, 0, 1, 0), hash(0, 0, 0, 1)];
    assert!(all.iter().enumerate().all(|(i, a)| all[..i].iter().all(|b| a != b)));
}

#[test]
fn vectors_that_are_not_canonical_are_named() {
    let (_, message) = received(&[0], 3, 6);
    for position in 0..6 {
        let start = RECEIVER_BYTES * (position / 2) + SEED + VECTOR * (position % 2);
        // The first, a middle and the last coefficient, and the least that is too large and the largest.
        for (k, bad) in [(0, Q), (401, Q), (767, Q), (0, 4095), (767, 4095)] {
            let mut message = message.clone();
            let bytes = &mut message[start + k / 2 * 3..][..3];
            let pair = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]);
            let shift = 12 * (k % 2);
            let pair = pair & !(0xfff << shift) | u32::from(bad) << shift;
            bytes.copy_from_slice(&pair.to_le_bytes()[..3]);
            let refused = sent(&context(), LABEL, &message).err();
            assert_eq!(refused, Some(Error::InvalidElement { position }), "coefficient {k}");
            // One less is fine.
            let bytes = &mut message[start + k / 2 * 3..][..3];
            let pair = pair & !(0xfff << shift) | u32::from(Q - 1) << shift;
            bytes.copy_from_slice(&pair.to_le_bytes()[..3]);
            assert!(sent(&context(), LABEL, &message).is_ok());
        }
    }
}

#[test]
fn messages_of_another_length_are_refused() {
    let (receiver, message) = received(&[0], 3, 7);
    let (_, answer) = sent(&context(), LABEL, &message).unwrap();
    let wrong = Some(Error::MessageLength { what: "base OT" });
    let finish = |message: &[u8]| {
        Sender::new(&context(), LABEL, 3, &mut StdRng::seed_from_u64(6)).finish(message).err()
    };
    let longer = [&message[..], &[0]].concat();
    let more = [&message[..], &message[..RECEIVER_BYTES]].concat();
    for message in [&message[1..], &message[RECEIVER_BYTES..], &longer, &more, &[]] {
        assert_eq!(finish(message), wrong, "{} bytes", message.len());
    }
    assert_eq!(finish(&message), None);
    let refused = |answer: &[u8]| received(&[0], 3, 7).0.finish(answer).err();
    let (longer, more) = ([&answer[..], &[0]].concat(), [&answer[..], &answer[..SENDER_BYTES]].concat());
    for answer in [&answer[1..], &answer[SENDER_BYTES..], &longer, &more, &[]] {
        assert_eq!(refused(answer), wrong, "{} bytes", answer.len());
    }
    assert!(receiver.finish(&answer).is_ok());
}

/// What is accepted does not depend on the choice: a receiver takes any 2176 bytes an OT.
#[test]
fn no_ciphertext_is_refused_and_a_wrong_one_gives_another_string() {
    for choices in [[0], [0xff], [0b0110_1001]] {
        let (_, message) = received(&choices, 8, 9);
        let (strings, answer) = sent(&context(), LABEL, &message).unwrap();
        let chosen = |answer: &[u8]| received(&choices, 8, 9).0.finish(answer).unwrap();
        for fill in [0, 0xff] {
            assert_eq!(chosen(&vec![fill; 8 * SENDER_BYTES]).len(), 8);
        }
        // A bit of a chosen ciphertext: implicit rejection, and the string is neither of the sender's.
        for at in [0, 959, 960, CIPHERTEXT - 1] {
            let mut wrong = answer.clone();
            wrong[CIPHERTEXT * usize::from(choices[0] & 1) + at] ^= 1;
            let chosen = chosen(&wrong);
            assert!(!strings[0].contains(&chosen[0]));
            assert!((1..8).all(|i| strings[i].contains(&chosen[i])));
        }
    }
}

/// A receiver that aims at both strings: whichever vector is fixed last, the other key is out of its hands.
#[test]
fn flaw_a_receiver_has_one_string_whatever_it_sends() {
    let pairs = [1, 2].map(|seed| mlkem768::generate_key_pair([seed; 64]));
    let rho = split(pairs[0].public_key()).1;
    let oracle = context().oracle(LABEL);
    for last in [0u8, 1] {
        // r_{1-last} is a vector of its own, and r_last = t - Hg(last, ρ, r_{1-last}).
        let first = *split(pairs[1].public_key()).0;
        let mut wide = vec![0; WIDE];
        to_wide(&oracle, 0, last, rho, &first, &mut wide);
        let mut second = unpack_own(split(pairs[0].public_key()).0);
        combine(&mut second, &wide, |t, hash| below_q(t + Q - hash));
        let second = pack(&second);
        let [zero, one] = if last == 0 { [second, first] } else { [first, second] };
        let message = [rho, &zero, &one].concat();
        let (strings, answer) = sent(&context(), LABEL, &message).unwrap();
        let string = |choice: u8| {
            let ciphertext =
                MlKem768Ciphertext::try_from(&answer[CIPHERTEXT * usize::from(choice)..][..CIPHERTEXT]);
            let key = mlkem768::decapsulate(pairs[0].private_key(), &ciphertext.unwrap());
            to_string(&oracle, 0, choice, message.as_slice().try_into().unwrap(), &answer, &key)
        };
        assert!(strings[0][usize::from(last)] == string(last));
        assert!(strings[0][usize::from(1 - last)] != string(1 - last));
    }
}

/// Both vectors are uniform, whichever was chosen: the mean of their coefficients, and how many are in each sixteenth.
#[test]
fn flaw_what_is_sent_does_not_tell_the_choice() {
    for choices in [[0; 16], [0xff; 16]] {
        let (_, message) = received(&choices, 128, 8);
        for half in 0..2 {
            let all: Vec<u16> = message
                .chunks(RECEIVER_BYTES)
                .flat_map(|message| coefficients(&message[SEED + VECTOR * half..][..VECTOR]))
                .collect();
            assert!(all.iter().all(|coefficient| *coefficient < Q));
            let mean = all.iter().map(|coefficient| f64::from(*coefficient)).sum::<f64>() / all.len() as f64;
            // The deviation of a coefficient is q/√12 = 961, that of the mean of 98304 is 3.1.
            assert!((mean - 1664.0).abs() < 19.0, "{mean}");
            for part in 0..16 {
                let within = all.iter().filter(|coefficient| **coefficient / 208 == part).count() as f64;
                let expected = all.len() as f64 * 208.0 / f64::from(Q);
                assert!((within - expected).abs() < 6.0 * expected.sqrt(), "{part}: {within} of {expected}");
            }
        }
    }
}
