use super::*;
use crate::testing::{Case, planted, run_pair, shape};

#[test]
fn sets_of_every_kind_of_size_give_the_plain_join() {
    for (receiver, sender, common) in
        [(1, 300, 1), (16, 17, 5), (17, 16, 5), (100, 2000, 60), (1500, 200, 60), (3000, 3000, 1000)]
    {
        let sets = planted(receiver, sender, common, 1);
        let ended = run_pair(&ENTRY, &sets, Case { threads: 2, ..Case::default() });
        assert_eq!(ended.receiver.unwrap().rows(), sets.receiver_rows);
        let shape = shape(&sets, Case::default());
        assert_eq!(ended.traffic.payload_sent, ENTRY.bytes(Role::Receiver, &shape));
        assert_eq!(ended.traffic.payload_received, ENTRY.bytes(Role::Sender, &shape));
    }
}

#[test]
fn points_are_as_wide_as_the_pairs_of_a_bin_ask() {
    let plan = |receiver, sender| Plan::new(Sizes { receiver, sender }, &Parameters::default());
    // 40 + 20 + 20 bits, less the 17 that a segment of 2^17.7 bins tells apart.
    let large = plan(1 << 20, 1 << 20).unwrap();
    assert_eq!((large.layout.bins(), large.roots, large.bits), (426_064, 3, 63));
    let small = plan(16, 1 << 10).unwrap();
    assert_eq!((small.layout.bins(), small.roots, small.bits), (1, 16, 54));
    assert!(
        plan(MOST_ITEMS + 1, 1).is_err() && plan(16, 1 << 60).is_ok() && plan(1 << 30, usize::MAX).is_err()
    );
}

/// The order of the answers is drawn from the sender's randomness alone, and not that of its items or of their
/// bins.
#[test]
fn flaw_the_order_of_the_answers_does_not_tell_of_items() {
    use crate::testing::{duel, order};
    let sets = planted(30, 64, 7, 1);
    let order_of = |seed| {
        let case = Case { seed, ..Case::default() };
        let receive = |ctx: &mut Ctx<'_, '_>| receive(&mut ctx.reborrow(), &sets.receiver).map(Pairs::find);
        let (pairs, order) =
            duel((&ENTRY, &sets, case), Box::new(receive), Box::new(|ctx| send(ctx, &sets.sender)));
        let (pairs, order) = (pairs.unwrap(), order.unwrap());
        for (mine, position) in &pairs {
            let theirs = sets.sender.get(order[*position as usize] as usize);
            assert_eq!(sets.receiver.get(*mine as usize), theirs);
        }
        assert_eq!(pairs.len(), 7);
        let mut places = vec![0; order.len()];
        (0..).zip(&order).for_each(|(place, item)| places[*item as usize] = place);
        places
    };
    order::assert_hidden(&(0..40).map(order_of).collect::<Vec<_>>());
}

/// A bin is filled up with a root that is no item's point, so that no item of the sender matches the filling.
#[test]
fn flaw_a_filled_up_bin_has_no_root_that_an_item_could_have() {
    let sets = planted(200, 200, 0, 1);
    let sizes = Sizes { receiver: 200, sender: 200 };
    let context = vesica_crypto::hash::Context::new(&[1; 32], "ope", b"", 200, 200);
    let run = crate::testing::run_of(context, sizes, Parameters::default());
    let plan = Plan::new(sizes, &run.parameters).unwrap();
    let hashed = Hashed::new(&run, &plan, &sets.receiver);
    assert!(hashed.points.iter().all(|point| *point < 1 << plan.bits));
    let roots: Vec<u128> = plan.roots_of([7].into_iter()).collect();
    assert!(roots.len() == plan.roots && roots[0] == 7);
    assert!(roots[1..].iter().all(|root| *root >= 1 << plan.bits));
}

/// What two evaluations of the same polynomial at the same points decrypt to: a root, and a number that is none.
fn opened_twice<E: Encryption>(secret: &E::Secret, public: &E::Public, ciphertext: usize) -> [[u128; 2]; 2] {
    let (rng, m, bits) = (&mut Prg::from_seed([1; 16]), 3, 20);
    let mut encrypted = vec![0; m * ciphertext];
    E::encrypt(secret, &[5, 99, 1 << bits], m, rng, &mut encrypted);
    let coefficients = E::decode(public, 0, &encrypted).unwrap();
    [0; 2].map(|_| {
        let queries = [99, 6].map(|point| Query { first: 0, point, payload: 9 });
        let (mut answers, mut tags) = (vec![0; 2 * ciphertext], [0; 2]);
        E::evaluate(public, &coefficients, (m, bits), &queries, rng, &mut answers);
        E::open(secret, 0, &answers, &mut tags).unwrap();
        tags
    })
}

#[test]
fn flaw_an_answer_that_is_no_match_is_random() {
    let rng = &mut Prg::from_seed([2; 16]);
    let elgamal = vesica_crypto::elgamal::SecretKey::generate(rng);
    let public = ElGamal::decode_public(&ElGamal::public(&elgamal)).unwrap();
    let mut payload = [0];
    ElGamal::tags(&elgamal, &[9], &mut payload);
    let [first, second] = opened_twice::<ElGamal>(&elgamal, &public, 64);
    assert!(first[0] == payload[0] && second[0] == payload[0] && first[1] != second[1]);
    let paillier = vesica_crypto::paillier::SecretKey::generate(1024, rng);
    let [first, second] = opened_twice::<Paillier>(&paillier, paillier.public(), 256);
    assert!(first[0] == 9 && second[0] == 9 && first[1] != second[1]);
}

/// Who holds the key knows the randomness of its coefficients. From an answer without new randomness it could
/// confirm a guess of the sender's item: the factor r that follows from the plaintext would explain the ciphertext.
/// (`crypto::elgamal` has the same test for ElGamal.)
#[test]
fn flaw_the_randomness_of_a_paillier_answer_confirms_no_guess() {
    use vesica_crypto::bigint::{BoxedUint, Exponent};
    let rng = &mut Prg::from_seed([3; 16]);
    let secret = vesica_crypto::paillier::SecretKey::generate(1024, rng);
    let (public, m, bits) = (secret.public(), 2, 20);
    let n = public.messages();
    let number = |value: u64| n.batch(&n.residue(&BoxedUint::from(value)));
    let mut encrypted = vec![0; m * 256];
    Paillier::encrypt(&secret, &[5, 99], m, rng, &mut encrypted);
    let coefficients = Paillier::decode(public, 0, &encrypted).unwrap();
    let (point, payload) = (1234, 9);
    let mut answer = vec![0; 256];
    let query = [Query { first: 0, point, payload }];
    Paillier::evaluate(public, &coefficients, (m, bits), &query, rng, &mut answer);
    let answer = public.decode(&answer).unwrap();
    let plain = secret.decrypt(&answer).unwrap();
    // r = (v - p) / P(x), and the guess is right.
    let value = number((1234 - 5) * (1234 - 99));
    let factor = n.mul(&n.sub(&plain, &number(payload as u64)), &n.invert(&value).unwrap());
    let factor = Exponent::new(&factor.get(0).to_uint(), 1024);
    // Encryptions of zero with the randomness of the coefficients, and of the answer.
    let zero = |a: &vesica_crypto::paillier::Ciphertexts| {
        let plain = secret.decrypt(a).unwrap();
        let zeros: Vec<_> =
            (0..a.len()).map(|i| number(0).get(0).to_uint() + plain.get(i).to_uint()).collect();
        let mut opposite = n.none(a.len());
        zeros.iter().for_each(|plain| opposite.push(&n.sub(&number(0), &n.batch(&n.residue(plain))).get(0)));
        public.add_messages(a, &opposite)
    };
    let of_coefficients = zero(&coefficients);
    let horner =
        public.multiply(&of_coefficients.gather(&[1]), &[Exponent::new(&BoxedUint::from(point), bits)]);
    let horner = public.add(&horner, &of_coefficients.gather(&[0]));
    let (mut explained, mut actual) = (Vec::new(), Vec::new());
    public.encode(&public.multiply(&horner, &[factor]), &mut explained);
    public.encode(&zero(&answer), &mut actual);
    assert!(explained != actual);
}
