//! What an element takes in each step of the VOPRF, beside its floor: one product with a hash to the group.
//!
//! ```text
//! cargo run --release -p vesica-protocols --example voprf [ELEMENTS]
//! ```

use std::hint::black_box;
use std::time::Instant;

use rand::{SeedableRng, rngs::StdRng};
use vesica_crypto::group::{ExpandMessage, Group, Ristretto255};
use vesica_protocols::public_key::voprf::{Client, Evaluation, SecretKey};

/// Elements of a batch.
const BATCH: usize = 512;
/// Rounds, of which the median counts.
const ROUNDS: usize = 9;

/// The median time of an element, in microseconds, and what was made last.
fn time<T>(elements: usize, mut step: impl FnMut() -> T) -> (f64, T) {
    let mut made = step();
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            made = black_box(step());
            began.elapsed().as_secs_f64() * 1e6 / elements as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (times[ROUNDS / 2], made)
}

fn main() {
    let elements = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(8 * BATCH);
    let rng = &mut StdRng::seed_from_u64(1);
    let key = SecretKey::random(rng);
    let client = Client::new(*key.public_key());
    let inputs: Vec<[u8; 32]> = (0..elements as u64)
        .map(|i| std::array::from_fn(|byte| i.to_le_bytes()[byte % 8] ^ byte as u8))
        .collect();

    let expand = ExpandMessage::new(b"example");
    let (hash, uniform) =
        time(elements, || inputs.iter().map(|input| expand.expand(&[input])).collect::<Vec<_>>());
    let scalar = Ristretto255::random_scalar(rng);
    let mut encoded = vec![[0; 32]; elements];
    let (product, ()) = time(elements, || Ristretto255::map_mul_encode(&scalar, &uniform, &mut encoded));
    let floor = hash + product;
    println!("{elements} elements, batches of {BATCH}, one thread; microseconds an element");
    println!("floor: SHA-512 to 64 bytes {hash:.2}, map and product {product:.2}, together {floor:.2}");

    let show = |what: &str, time: f64| println!("{what:<24} {time:>6.2}  {:>5.2} of the floor", time / floor);
    let (own, outputs) = time(elements, || key.outputs(&inputs));
    show("the holder's outputs", own);
    let batches: Vec<&[[u8; 32]]> = inputs.chunks(BATCH).collect();
    let (blind, blinded) =
        time(elements, || batches.iter().map(|batch| client.blind(batch, rng)).collect::<Vec<_>>());
    show("blind", blind);
    let rng = &mut StdRng::seed_from_u64(2);
    let (evaluate, evaluations) = time(elements, || {
        let evaluate =
            |batch: &vesica_protocols::public_key::voprf::Blinded| key.evaluate(&batch.elements, rng).ok();
        blinded.iter().filter_map(evaluate).collect::<Vec<Evaluation>>()
    });
    show("evaluate and prove", evaluate);
    let (finalize, answers) = time(elements, || {
        let steps = batches.iter().zip(&blinded).zip(&evaluations);
        steps
            .filter_map(|((batch, blinded), answer)| client.finalize(batch, blinded, answer).ok())
            .collect::<Vec<_>>()
    });
    show("check and finalize", finalize);
    assert!(answers.concat() == outputs, "the client's outputs are the holder's");
}
