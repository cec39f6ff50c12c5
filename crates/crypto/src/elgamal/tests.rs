use super::*;
use crate::prg::Prg;

/// Every back end, the portable one first.
fn backends() -> impl Iterator<Item = Backend> {
    Backend::available()
}

fn scalar(value: u128) -> Scalar {
    Scalar(Integer::from(value))
}

/// P(x) modulo the group order, from the roots.
fn value(roots: &[u128], point: u128) -> Integer {
    roots.iter().fold(Integer::ONE, |product, &root| product * (Integer::from(point) - Integer::from(root)))
}

#[test]
fn coefficients_give_the_polynomial_with_these_roots() {
    for roots in [vec![5], vec![5, 9], vec![3, 3, u128::MAX], (1..20).collect()] {
        let coefficients = monic(roots.iter().copied());
        assert_eq!(coefficients.len(), roots.len());
        for point in [0, 1, 5, 1 << 64, u128::MAX] {
            let horner = coefficients
                .iter()
                .rev()
                .fold(Integer::ONE, |value, coefficient| value * Integer::from(point) + coefficient.0);
            assert!(horner == value(&roots, point));
        }
    }
}

#[test]
fn every_back_end_gives_the_same_bytes() {
    let mut seen = None;
    for backend in backends() {
        let rng = &mut Prg::from_seed([1; 16]);
        let key = SecretKey::with_backend(backend, rng);
        let public = PublicKey::decode_on(backend, &key.public()).unwrap();
        let (degree, bits) = (3, 70);
        let roots = |bin: u128| (0..3).map(move |i| bin * 1000 + i);
        let messages: Vec<Scalar> = (0..50).flat_map(|bin| monic(roots(bin))).collect();
        let mut encrypted = vec![[0; 64]; messages.len()];
        key.encrypt(&messages, rng, &mut encrypted);
        let coefficients = public.decode_coefficients(&encrypted).unwrap();
        let query = |i: u128| Query {
            first: 3 * (i as usize % 50),
            // A root of its polynomial, a number near it, and one of all bits.
            point: [i % 50 * 1000 + 1, i % 50 * 1000 + 3, (1 << 70) - 1][i as usize % 3],
            payload: u128::MAX - i,
        };
        let queries: Vec<Query> = (0..149).map(query).collect();
        let mut answers = vec![[0; 64]; queries.len()];
        public.evaluate(&coefficients, (degree, bits), &queries, rng, &mut answers);
        let mut opened = vec![[0; 32]; answers.len()];
        key.open(&answers, &mut opened).unwrap();
        let mut expected = vec![[0; 32]; answers.len()];
        let payloads: Vec<u128> = queries.iter().map(|query| query.payload).collect();
        key.opened(&payloads, &mut expected);
        for (i, (opened, expected)) in opened.iter().zip(&expected).enumerate() {
            assert_eq!(opened == expected, i % 3 == 0, "{i}");
        }
        match &seen {
            None => seen = Some((encrypted, answers, opened)),
            Some(first) => assert!(*first == (encrypted, answers, opened), "{backend:?}"),
        }
    }
}

/// Coefficients of a cheater whose value is the identity, in either component: what is added still counts.
#[test]
fn values_that_are_the_identity_are_hidden_like_others() {
    let mut seen = None;
    for backend in backends() {
        let rng = &mut Prg::from_seed([2; 16]);
        let public = PublicKey::decode_on(backend, &SecretKey::with_backend(backend, rng).public()).unwrap();
        let point = 12_345u128;
        let [first, second] = [0, 1].map(|_| Ristretto255::random_element(rng));
        let opposite = |element| Ristretto255::mul(&Scalar(-Integer::from(point)), element);
        // a_0 + x·a_1, where a_0 = -x·a_1 in both components, in one, or in none.
        let polynomials = [
            [opposite(&first), opposite(&second), first, second],
            [opposite(&first), first, first, second],
            [second, opposite(&second), first, second],
            [second, first, first, second],
        ];
        let encoded: Vec<_> = polynomials.as_flattened().iter().flat_map(Ristretto255::encode).collect();
        let coefficients = public.decode_coefficients(encoded.as_chunks().0).unwrap();
        let queries: Vec<_> = (0..4).map(|at| Query { first: 2 * at, point, payload: at as u128 }).collect();
        let mut answers = vec![[0; 64]; queries.len()];
        public.evaluate(&coefficients, (2, 20), &queries, rng, &mut answers);
        assert!(answers.as_flattened().as_chunks::<32>().0.iter().all(|component| *component != [0; 32]));
        assert!(*seen.get_or_insert_with(|| answers.clone()) == answers, "{backend:?}");
    }
}

/// Batches of every length around the vectors and chunks, and points of few and many bits, against the
/// definition: decryption in the clear, with the nonces known.
#[test]
fn answers_are_encryptions_of_what_the_definition_says() {
    for backend in backends() {
        let rng = &mut Prg::from_seed([2; 16]);
        let key = SecretKey::with_backend(backend, rng);
        let public = PublicKey::decode_on(backend, &key.public()).unwrap();
        for (length, degree, bits) in
            [(1, 1, 1), (7, 1, 64), (8, 2, 63), (9, 5, 128), (63, 1, 3), (64, 2, 4), (65, 3, 5), (129, 2, 61)]
        {
            let below = |value: u128| value & (u128::MAX >> (128 - bits));
            let roots: Vec<u128> = (0..degree).map(|i| below(0x1234_5678_9abc_def0_1357 * (i + 1))).collect();
            let mut encrypted = vec![[0; 64]; degree as usize];
            key.encrypt(&monic(roots.iter().copied()), rng, &mut encrypted);
            let coefficients = public.decode_coefficients(&encrypted).unwrap();
            let query = |i: u128| Query { first: 0, point: below(u128::MAX - i), payload: i };
            let queries: Vec<Query> = (0..length).map(query).collect();
            let mut out = vec![[0; 64]; queries.len()];
            let mut again = Prg::from_seed([3; 16]);
            public.evaluate(
                &coefficients,
                (degree as usize, bits),
                &queries,
                &mut Prg::from_seed([3; 16]),
                &mut out,
            );
            for (query, out) in queries.iter().zip(&out) {
                let (r, _) = (Integer::random(&mut again), Integer::random(&mut again));
                let r = r + r;
                let plain = r * value(&roots, query.point) + Integer::from(query.payload);
                let [first, second] = decode_ciphertext(0, out).unwrap();
                assert!(
                    second - key.secret.0 * first == RistrettoPoint::mul_base(&plain),
                    "{backend:?} {length} {degree} {bits}"
                );
            }
        }
    }
}

/// Without new randomness the holder of the key would know whether a guessed point is right: the first
/// component would be r times the nonces' polynomial at the point, the plaintext r times the polynomial's.
#[test]
fn the_first_component_is_not_the_factor_times_the_polynomial_of_the_nonces() {
    let rng = &mut Prg::from_seed([4; 16]);
    let key = SecretKey::generate(rng);
    let public = PublicKey::decode(&key.public()).unwrap();
    let roots = [77, 1234];
    let messages = monic(roots);
    let mut encrypted = vec![[0; 64]; 2];
    let nonces = [0, 1].map({
        let mut nonces = Prg::from_seed([5; 16]);
        move |_| Integer::random(&mut nonces)
    });
    key.encrypt(&messages, &mut Prg::from_seed([5; 16]), &mut encrypted);
    let coefficients = public.decode_coefficients(&encrypted).unwrap();
    let query = Query { first: 0, point: 4321, payload: 99 };
    let mut out = [[0; 64]];
    public.evaluate(&coefficients, (2, 16), &[query], rng, &mut out);
    let [first, second] = decode_ciphertext(0, &out[0]).unwrap();
    let guess = Integer::from(query.point);
    let plain = second - key.secret.0 * first - RistrettoPoint::mul_base(&Integer::from(query.payload));
    // r·K(x)·G times P(x) is r·P(x)·G times K(x).
    let of_nonces = nonces[0] + nonces[1] * guess;
    assert!(value(&roots, query.point) * first != of_nonces * plain);
}

#[test]
fn two_evaluations_of_one_query_share_no_component() {
    let rng = &mut Prg::from_seed([6; 16]);
    let key = SecretKey::generate(rng);
    let public = PublicKey::decode(&key.public()).unwrap();
    let mut encrypted = [[0; 64]];
    key.encrypt(&monic([8]), rng, &mut encrypted);
    let coefficients = public.decode_coefficients(&encrypted).unwrap();
    let queries = [Query { first: 0, point: 8, payload: 1 }; 2];
    let mut out = [[0; 64]; 2];
    public.evaluate(&coefficients, (1, 4), &queries, rng, &mut out);
    assert!(out[0][..32] != out[1][..32] && out[0][32..] != out[1][32..]);
    let mut opened = [[0; 32]; 2];
    key.open(&out, &mut opened).unwrap();
    assert_eq!(opened[0], opened[1]);
}

#[test]
fn foreign_components_are_refused_and_named() {
    for backend in backends() {
        let rng = &mut Prg::from_seed([7; 16]);
        let key = SecretKey::with_backend(backend, rng);
        let public = PublicKey::decode_on(backend, &key.public()).unwrap();
        let mut encrypted = vec![[0; 64]; 300];
        let messages: Vec<Scalar> = (0..300).map(scalar).collect();
        key.encrypt(&messages, rng, &mut encrypted);
        let mut out = vec![[0; 32]; 300];
        key.open(&encrypted, &mut out).unwrap();
        assert_eq!(out[0], [0; 32], "zero encrypts to the identity");
        for (index, encoding) in
            [(0, [0; 32]), (1, [0xff; 32]), (2, [1; 32]), (255, [0; 32]), (256, [0; 32]), (599, [0; 32])]
        {
            let mut bad = encrypted.clone();
            bad[index / 2][index % 2 * 32..][..32].copy_from_slice(&encoding);
            // A later one as well.
            bad[299][32..].fill(0);
            assert_eq!(key.open(&bad, &mut out), Err(InvalidElement { index }), "{backend:?}");
            assert_eq!(public.decode_coefficients(&bad).err(), Some(InvalidElement { index }));
        }
        assert!(PublicKey::decode_on(backend, &[0; 32]).is_err());
        assert!(PublicKey::decode_on(backend, &[0xff; 32]).is_err());
    }
}
