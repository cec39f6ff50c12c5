//! De Cristofaro and Tsudik's protocol over discrete logarithms. The receiver learns X ∩ Y, the sender |Y| and no more.
//!
//! **Security:** semi-honest, in the random oracle model, under the one-more gap Diffie–Hellman assumption (CT10,
//! theorem on Figure 3; HEK12 calls it one-more-DL). Leaks n_r and n_s. The receiver's items are hidden perfectly, up
//! to its generator: all that it sends is uniform, whatever they are (but with short exponents). A malicious party
//! can use any set, and a malicious sender can answer wrongly.
//!
//! Source: De Cristofaro and Tsudik (eprint 2009/491, CT10), Figure 3; HEK12 §7.3. Deviations:
//!
//! - The group is that of a safe prime p = 2q + 1 (RFC 3526; at level 80 RFC 2409), where x and p - x stand for one
//!   element: Z_p*/±1, which is isomorphic to the squares modulo p and has the prime order q. Every number from 2 to
//!   (p - 1)/2 is an element that generates it, so that checking an element compares two numbers, and a hash to the
//!   group is a hash below p. The paper's group has order q of 2κ bits. A hash to it is a power to (p - 1)/q, which
//!   HEK12 does not count, and a check is a power to q: no fewer squarings than here, where exponents are as long as p.
//! - `short-exponents`: all exponents have 2κ bits, as long as those of HEK12 Table 3. This assumes as well that a power
//!   to a short exponent looks like any other (van Oorschot and Wiener 1996; Koshiba and Kurosawa 2004). The best attack
//!   known, Pollard's kangaroo, takes 2^κ steps. The items are then hidden computationally.
//! - With s_i = R_c - R_{c:i}, the paper's y_i = (∏hc / hc_i)·g^{R_{c:i}} is (X / hc_i)·g^-s_i, and its
//!   y'_i·Z^{R_c}·Z^{-R_{c:i}} is y'_i·Z^{s_i}. The s_i are as uniform and independent as the R_{c:i}, and drawn
//!   themselves. So one power for each item goes to the base 1/g, and one to Z.
//! - Z travels ahead. Masks are sorted where the paper permutes them; the y_i are uniform whatever the items, so that
//!   their places tell nothing.
//!
//! ```text
//!    receiver (Y)                                       sender (X), a ←$ Z_q
//! 1.                ◄── Z = g^a ──                      b
//! 2. P = ∏ H(y), R ←$ Z_q, s_i ←$ Z_q
//!                   ── V = P·g^R ──►                    b
//!                   ── y_i = V / H(y)·g^-s_i ──►        b·n_r
//! 3.                ◄── y'_i = y_i^a, same order ──     b·n_r
//!                   ◄── sort{F((V / H(x))^a)} ──        n_s·⌈ℓ/8⌉
//! 4. output {y : F(y'_i·Z^s_i) received}
//! ```
//!
//! y'_i·Z^s_i = (V / H(y))^a·g^{-a·s_i}·g^{a·s_i}.
//!
//! Names: V, the paper's X = `product`; a = R_s; R = R_c; b = `element_bytes`; H = the oracle `item_to_residue`; F =
//! `element_to_mask`; Z = `public`.
//!
//! Cost: n_r + n_s powers for the sender, and one of a fixed base; 2·n_r + 1 powers of two fixed bases for the receiver,
//! which take about a fifth as long. Everything is streamed: while one party's elements are on the way, both compute.

use rand_core::CryptoRng;
use vesica_channel::{Channel, RecvHalf};
use vesica_crypto::bigint::{
    BoxedUint, Exponent, FixedBase, InvalidResidue, Modulus, Residue, Residues, modp,
};
use vesica_crypto::hash::{Label, Oracle};
use vesica_crypto::join::join;
use vesica_crypto::par;
use vesica_encode::items::Items;
use zeroize::Zeroizing;

use super::steps::{Streams, answer_first, hash_to_masks, hash_to_residues, recv_each};
use crate::entry::{Entry, Memory, Message, Power, Roles, Shape};
use crate::error::{Error, Misbehaviour};
use crate::masks::{self, MaskWidth};
use crate::outcome::Pairs;
use crate::overlap::{Inbound, Stopped, overlap};
use crate::parameters::{Parameters, variants};
use crate::protocol::{Ctx, Phase, Role, Run};

/// Elements one thread handles at a time, under one stream of randomness. An honest end sends pieces of as many for
/// each of its threads.
const CHUNK: usize = 64;

/// No item hashes to zero, except with a probability that nobody will see.
const NO_INVERSE: Error = Error::Chance("an item's hash has no inverse");

variants! {
    /// How long the exponents are.
    enum Form {
        /// As long as the order of the group.
        Standard,
        /// 2κ bits.
        ShortExponents = "short-exponents", "exponents of 2κ bits, assumed to look like longer ones";
    }
}

/// The registry's entry.
pub static ENTRY: Entry =
    Entry::new("dt-dl", "De Cristofaro–Tsudik, one-more-DL", Roles::Listed { receive, send })
        .family("public_key")
        .paper("CT10 Figure 3; HEK12 §7.3")
        .levels(&[80, 112, 128, 192])
        .powers(|shape| {
            let (modulus, level) = (prime_bits(shape.parameters.level), shape.parameters.level);
            match Form::of(&shape.parameters) {
                Form::Standard => Power::full(modulus),
                Form::ShortExponents => Power { modulus, exponent: 2 * level },
            }
        })
        .variants(Form::VARIANTS)
        .flights(|_| 2)
        .steps(|role, _| match role {
            Role::Receiver => {
                &[(Phase::Blind, 20), (Phase::Unblind, 75), (Phase::Exchange, 4), (Phase::Compare, 1)]
            }
            Role::Sender => &[(Phase::Answer, 96), (Phase::Exchange, 4)],
        })
        .messages(&[
            Message::of_sender("the sender's exponent as a power of g", "b", element_bytes),
            Message::of_receiver(
                "the blinded product of the items, and blinded items",
                "b + b·n_r",
                |shape| element_bytes(shape) * (1 + shape.receiver()),
            ),
            Message::of_sender("the same, raised to the sender's exponent", "b·n_r", |shape| {
                element_bytes(shape) * shape.receiver()
            }),
            Message::of_sender("masks of the sender", "n_s·⌈ℓ/8⌉", |shape| {
                shape.sender() * shape.mask()
            }),
        ])
        .memory(
            "receiver (b + 32)·n_r + 36·n_s + 2^24 (level 192: 2^27), sender b·n_r + 56·n_s",
            |shape| {
                let (receiver, sender, b) = (shape.receiver(), shape.sender(), element_bytes(shape));
                // The table of a fixed base is the constant part.
                let table = if b > 384 { 1 << 27 } else { 1 << 24 };
                Memory {
                    receiver: (b + 32) * receiver + 36 * sender + table,
                    sender: b * receiver + 56 * sender,
                }
            },
        )
        .test_items(16);

/// b: bytes of an element.
fn element_bytes(shape: &Shape) -> u64 {
    u64::from(prime_bits(shape.parameters.level) / 8)
}

/// The length of p, by NIST's table of comparable strengths (HEK12 Table 3).
fn prime_bits(level: u32) -> u32 {
    match level {
        80 => 1024,
        112 => 2048,
        128 => 3072,
        // The next prime above NIST's 7680 bits.
        _ => 8192,
    }
}

/// The receiver's role.
fn receive<'a>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pairs<'a>, Error> {
    let (run, threads) = (ctx.run, ctx.run.threads);
    let party = Party::new(run, items)?;
    let (blind, streams) = (party.group.random_exponent(ctx.rng), Streams::new(ctx.rng));
    let mine = party.receive(&blind, &streams, ctx.channel)?;
    let theirs = masks::recv_sorted(run, party.width, ctx.channel.split().1)?;
    Ok(Pairs::joined(run, move || join(threads, &mine[..], &theirs[..])))
}

/// The sender's role.
fn send(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Vec<u32>, Error> {
    let run = ctx.run;
    let party = Party::new(run, items)?;
    // a ←$ Z_q.
    let secret = party.group.random_exponent(ctx.rng);
    let mine = party.answer(&secret, ctx.channel)?;
    masks::send_sorted(run, party.width, mine.into_iter().zip(0..), ctx.channel.split().0)
}

/// Z_p*/±1 and its generator, with exponents of a form.
struct PowerGroup {
    modulus: Modulus,
    /// 2. Any element but the neutral one would do.
    generator: Residue,
    /// q.
    order: BoxedUint,
    /// The length of exponents.
    exponent_bits: u32,
}

impl PowerGroup {
    fn new(parameters: &Parameters) -> Self {
        let bits = prime_bits(parameters.level);
        let Some(modulus) = modp::modulus(bits) else { unreachable!("there is a prime of each level") };
        let exponent_bits = match Form::of(parameters) {
            Form::Standard => bits - 1,
            Form::ShortExponents => 2 * parameters.level,
        };
        let (order, generator) = (modulus.value().shr(1), modulus.residue(&BoxedUint::from(2u8)));
        PowerGroup { modulus, generator, order, exponent_bits }
    }

    fn random_exponent(&self, rng: &mut dyn CryptoRng) -> Exponent {
        if self.exponent_bits < self.order.bits() {
            Exponent::random(self.exponent_bits, rng)
        } else {
            Exponent::random_below(&self.order, rng)
        }
    }

    /// The powers of one base to exponents of this form.
    fn powers_of(&self, base: &Residue) -> FixedBase {
        FixedBase::new(&self.modulus, base, self.exponent_bits)
    }

    fn encode(&self, elements: &Residues) -> Vec<u8> {
        let mut encoded = Vec::new();
        self.modulus.encode_up_to_sign(elements, &mut encoded);
        encoded
    }

    /// Elements of a message, the first of which stands at this position.
    fn decode(&self, encoded: &[u8], first: usize) -> Result<Residues, Misbehaviour> {
        let invalid = |InvalidResidue { index }| Misbehaviour::InvalidElement { position: first + index };
        self.modulus.decode_up_to_sign(encoded).map_err(invalid)
    }

    /// 1 / element.
    fn inverse(&self, element: &Residue) -> Result<Residue, Error> {
        Ok(self.modulus.invert(&self.modulus.batch(element)).ok_or(NO_INVERSE)?.get(0))
    }
}

/// One party's items and oracles.
struct Party<'a> {
    run: &'a Run<'a>,
    items: &'a Items,
    width: MaskWidth,
    group: PowerGroup,
    item_to_residue: Oracle,
    element_to_mask: Oracle,
}

impl<'a> Party<'a> {
    fn new(run: &'a Run<'a>, items: &'a Items) -> Result<Self, Error> {
        Ok(Party {
            run,
            items,
            width: MaskWidth::for_sizes(run.sizes, run.parameters.statistical)?,
            group: PowerGroup::new(&run.parameters),
            item_to_residue: run.context.oracle(Label::new("dt-dl: item to residue")),
            element_to_mask: run.context.oracle(Label::new("dt-dl: element to mask")),
        })
    }

    /// Elements in one piece of a message.
    fn piece(&self) -> usize {
        CHUNK * self.run.threads
    }

    fn chunks(&self) -> usize {
        self.items.len().div_ceil(CHUNK)
    }

    /// H of the items of this chunk.
    fn hash(&self, chunk: usize) -> Residues {
        let items = chunk * CHUNK..self.items.len().min((chunk + 1) * CHUNK);
        hash_to_residues(&self.item_to_residue, &self.group.modulus, self.items, items)
    }

    /// V / H of the items of this chunk.
    fn quotients(&self, product: &Residue, chunk: usize) -> Result<Residues, Error> {
        let modulus = &self.group.modulus;
        Ok(modulus.mul_one(&modulus.invert(&self.hash(chunk)).ok_or(NO_INVERSE)?, product))
    }

    /// F of these elements.
    fn mask(&self, elements: &Residues, masks: &mut [u128]) {
        let encoded = Zeroizing::new(self.group.encode(elements));
        hash_to_masks(&self.element_to_mask, self.width, &encoded, self.group.modulus.bytes(), masks);
    }

    /// The exponents s_i of a chunk, the same whenever they are needed.
    fn exponents(&self, streams: &Streams, chunk: usize) -> Vec<Exponent> {
        let rng = &mut streams.get(chunk);
        let count = CHUNK.min(self.items.len() - chunk * CHUNK);
        (0..count).map(|_| self.group.random_exponent(rng)).collect()
    }

    /// Receiver: the masks of its items.
    fn receive(
        &self,
        blind: &Exponent,
        streams: &Streams,
        channel: &mut dyn Channel,
    ) -> Result<Vec<u128>, Error> {
        let (items, each) = (self.items.len(), self.group.modulus.bytes());
        let (piece, threads) = (self.piece(), self.run.threads);
        let collect = move |channel: &mut dyn RecvHalf, push: &mut dyn FnMut(Vec<u8>)| {
            recv_each((1, each, 1), channel, push)?;
            recv_each((items, each, piece), channel, push)
        };
        let (masks, ()) = overlap(channel, collect, |channel, answers| {
            // 2. V and y_i.
            self.run.phase(Phase::Blind, items);
            let generator = self.group.powers_of(&self.group.inverse(&self.group.generator)?);
            let product = self.product(&generator, blind)?;
            channel.send(&self.group.encode(&self.group.modulus.batch(&product)))?;
            for first in (0..self.chunks()).step_by(threads) {
                let blinded = self.blinded(&generator, &product, streams, first)?;
                channel.send(&blinded)?;
                channel.flush()?;
                self.run.advance(blinded.len() / each)?;
            }
            drop(generator);
            // 1. Z, which the sender sent before it saw anything.
            self.run.phase(Phase::Unblind, items);
            let public = self.group.powers_of(&self.group.decode(&answers.wait()?, 0)?.get(0));
            // 4. y'_i·Z^s_i.
            self.unblind(&public, streams, answers)
        })?;
        Ok(masks)
    }

    /// V = P·g^R, from the powers of 1 / g: R and -R are equally likely.
    fn product(&self, generator: &FixedBase, blind: &Exponent) -> Result<Residue, Error> {
        let mut products: Vec<Option<Residue>> = vec![None; self.chunks()];
        par::fill_chunks(self.run.threads, 1, &mut products, |chunk, product| {
            product[0] = Some(self.product_of(&self.hash(chunk)));
            Ok::<_, Error>(())
        })?;
        let mut factors = generator.pow_each(std::slice::from_ref(blind));
        products.iter().flatten().for_each(|product| factors.push(product));
        Ok(self.product_of(&factors))
    }

    /// The product of all of them, halves by halves.
    fn product_of(&self, factors: &Residues) -> Residue {
        let mut factors = factors.clone();
        while factors.len() > 1 {
            let (first, mut second) = factors.split_at(factors.len() / 2);
            let odd = (second.len() > first.len()).then(|| second.get(first.len()));
            second = second.split_at(first.len()).0;
            factors = self.group.modulus.mul(&first, &second);
            odd.iter().for_each(|odd| factors.push(odd));
        }
        factors.get(0)
    }

    /// y_i = V / H(y)·g^-s_i, encoded, for a chunk of each thread.
    fn blinded(
        &self,
        generator: &FixedBase,
        product: &Residue,
        streams: &Streams,
        first: usize,
    ) -> Result<Vec<u8>, Error> {
        let mut blinded = vec![Vec::new(); self.run.threads.min(self.chunks() - first)];
        par::fill_chunks(self.run.threads, 1, &mut blinded, |chunk, blinded| {
            let chunk = first + chunk;
            let powers = generator.pow_each(&self.exponents(streams, chunk));
            let elements = self.group.modulus.mul(&self.quotients(product, chunk)?, &powers);
            blinded[0] = self.group.encode(&elements);
            Ok::<_, Error>(())
        })?;
        Ok(blinded.concat())
    }

    /// The masks of the receiver's items, from the sender's answers as they come.
    fn unblind(
        &self,
        public: &FixedBase,
        streams: &Streams,
        answers: &Inbound<Vec<u8>>,
    ) -> Result<Vec<u128>, Stopped> {
        let (items, each) = (self.items.len(), self.group.modulus.bytes());
        let mut masks = vec![0; items];
        let mut done = 0;
        while done < items {
            let answer = answers.wait()?;
            let count = answer.len() / each;
            let pieces = answer.chunks(CHUNK * each).zip(masks[done..done + count].chunks_mut(CHUNK));
            par::for_each(self.run.threads, pieces, |chunk, (raised, masks)| {
                let chunk = done / CHUNK + chunk;
                let raised = self.group.decode(raised, chunk * CHUNK)?;
                let powers = public.pow_each(&self.exponents(streams, chunk));
                self.mask(&self.group.modulus.mul(&raised, &powers), masks);
                Ok::<_, Error>(())
            })?;
            done += count;
            self.run.advance(count)?;
        }
        Ok(masks)
    }

    /// Sender: sends Z, answers the receiver's elements and returns the masks of its own items.
    fn answer(&self, secret: &Exponent, channel: &mut dyn Channel) -> Result<Vec<u128>, Error> {
        let (theirs, own, modulus) = (self.run.sizes.receiver, self.items.len(), &self.group.modulus);
        let (each, piece) = (modulus.bytes(), self.piece());
        self.run.phase(Phase::Answer, theirs + own);
        let collect = move |channel: &mut dyn RecvHalf, push: &mut dyn FnMut(Vec<u8>)| {
            recv_each((1, each, 1), channel, push)?;
            recv_each((theirs, each, piece), channel, push)
        };
        let mut masks = vec![0; own];
        overlap(channel, collect, |channel, blinded| {
            // 1. Z.
            let public = modulus.pow(&modulus.batch(&self.group.generator), secret);
            channel.send(&self.group.encode(&public))?;
            channel.flush()?;
            let product = self.group.decode(&blinded.wait()?, 0)?.get(0);
            answer_first(
                self.run,
                (theirs, own, piece),
                blinded,
                channel,
                |first, blinded, channel| {
                    // 3. y_i^a, in the order received.
                    channel.send(&self.raised(secret, first, &blinded)?)?;
                    channel.flush()?;
                    Ok(blinded.len() / each)
                },
                |items| {
                    // F((V / H(x))^a).
                    let first = items.start / CHUNK;
                    par::for_each(self.run.threads, masks[items].chunks_mut(CHUNK), |chunk, masks| {
                        let quotients = self.quotients(&product, first + chunk)?;
                        self.mask(&modulus.pow(&quotients, secret), masks);
                        Ok(())
                    })
                },
            )
        })?;
        Ok(masks)
    }

    /// Blinded elements raised to the sender's exponent; before the first one `first` came, and V.
    fn raised(&self, secret: &Exponent, first: usize, blinded: &[u8]) -> Result<Vec<u8>, Error> {
        let mut raised = vec![0; blinded.len()];
        let bytes = CHUNK * self.group.modulus.bytes();
        par::for_each_chunk(self.run.threads, bytes, blinded, &mut raised, |chunk, blinded, raised| {
            let elements = self.group.decode(blinded, 1 + first + chunk * CHUNK)?;
            raised.copy_from_slice(&self.group.encode(&self.group.modulus.pow(&elements, secret)));
            Ok::<_, Error>(())
        })?;
        Ok(raised)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Sizes;
    use crate::testing::{Case, duel, planted_for, run_of};
    use rand::{Rng, SeedableRng, rngs::StdRng};
    use std::collections::HashSet;
    use subtle::ConstantTimeEq;
    use vesica_crypto::hash::Context;

    fn parameters(form: Form) -> Parameters {
        Parameters { level: 80, variant: form.variant(), ..Parameters::default() }
    }

    /// The paper's formulas, with exponents modulo q: its X, y_i and K_{c:i} are V, y_i and the element that is masked.
    #[test]
    fn the_messages_are_those_of_the_paper() {
        for form in [Form::Standard, Form::ShortExponents] {
            let sets = planted_for(&parameters(form), 70, 1, 1, 1);
            let context = Context::new(&[1; 32], "dt-dl", b"", 70, 1);
            let run = run_of(context, Sizes { receiver: 70, sender: 1 }, parameters(form));
            let party = Party::new(&run, &sets.receiver).unwrap();
            let (rng, group) = (&mut StdRng::seed_from_u64(1), &party.group);
            let modulus = &group.modulus;
            let power =
                |base: &Residue, exponent: &Exponent| modulus.pow(&modulus.batch(base), exponent).get(0);
            let same =
                |a: &Residue, b: &Residue| group.encode(&modulus.batch(a)) == group.encode(&modulus.batch(b));
            let times = |a: &Residue, b: &Residue| modulus.mul_one(&modulus.batch(a), b).get(0);
            let (blind, secret) = (group.random_exponent(rng), group.random_exponent(rng));
            let streams = &Streams::new(rng);
            // V·g^R = ∏ H(y).
            let table = group.powers_of(&group.inverse(&group.generator).unwrap());
            let product = party.product(&table, &blind).unwrap();
            let mut hashes = party.hash(0);
            hashes.extend(&party.hash(1));
            let whole =
                (0..70).fold(modulus.residue(&BoxedUint::one()), |whole, i| times(&whole, &hashes.get(i)));
            assert!(same(&times(&product, &power(&group.generator, &blind)), &whole));
            // y_i·H(y)·g^s_i = V, and (y_i^a·Z^s_i)·H(y)^a = V^a.
            let blinded = group.decode(&party.blinded(&table, &product, streams, 1).unwrap(), 0).unwrap();
            let exponents = party.exponents(streams, 1);
            let public = power(&group.generator, &secret);
            for (i, exponent) in exponents.iter().enumerate() {
                let (element, hash) = (blinded.get(i), hashes.get(64 + i));
                let unblinded = times(&times(&element, &hash), &power(&group.generator, exponent));
                assert!(same(&unblinded, &product));
                let value = times(&power(&element, &secret), &power(&public, exponent));
                assert!(same(&times(&value, &power(&hash, &secret)), &power(&product, &secret)));
            }
        }
    }

    /// Two elements with one exponent would show the quotient of their hashes.
    #[test]
    fn flaw_no_two_items_share_an_exponent() {
        let parameters = parameters(Form::ShortExponents);
        let sets = planted_for(&parameters, 70, 1, 1, 1);
        let context = Context::new(&[1; 32], "dt-dl", b"", 70, 1);
        let run = run_of(context, Sizes { receiver: 70, sender: 1 }, parameters);
        let party = Party::new(&run, &sets.receiver).unwrap();
        let streams = &Streams::new(&mut StdRng::seed_from_u64(4));
        let exponents = (0..party.chunks()).flat_map(|chunk| party.exponents(streams, chunk));
        let distinct: HashSet<_> = exponents.map(|exponent| exponent.value().to_be_bytes()).collect();
        assert_eq!(distinct.len(), 70);
    }

    #[test]
    fn exponents_are_as_long_as_the_form_says() {
        for (level, bits) in [(80, 1024), (112, 2048), (128, 3072), (192, 8192)] {
            let of = |form| PowerGroup::new(&Parameters { level, ..parameters(form) });
            let rng = &mut StdRng::seed_from_u64(2);
            for (form, length) in [(Form::Standard, bits - 1), (Form::ShortExponents, 2 * level)] {
                let exponent = of(form).random_exponent(rng);
                assert_eq!(exponent.bits(), length);
                assert!((length - 20..=length).contains(&exponent.value().bits()));
            }
        }
    }

    /// Every number from 2 to (p - 1)/2 has order q, and no other is taken.
    #[test]
    fn elements_are_those_of_the_group_of_prime_order() {
        let group = PowerGroup::new(&parameters(Form::Standard));
        let (p, one) = (group.modulus.value(), BoxedUint::one_with_precision(1024));
        let bytes = |number: &BoxedUint| number.to_be_bytes().to_vec();
        for refused in [p.shr(1).wrapping_add(&one), p.wrapping_sub(&one), p.clone(), one.clone()] {
            assert_eq!(
                group.decode(&bytes(&refused), 3).err(),
                Some(Misbehaviour::InvalidElement { position: 3 })
            );
        }
        assert!(group.decode(&[0; 128], 0).is_err());
        let mut number = [0; 128];
        StdRng::seed_from_u64(3).fill_bytes(&mut number);
        number[0] &= 0x3f;
        for taken in [bytes(&one.shl(1)), bytes(&p.shr(1)), number.to_vec()] {
            let element = group.decode(&taken, 0).unwrap();
            assert_eq!(group.encode(&element), taken);
            let power = group.modulus.pow(&element, &Exponent::new(&group.order, 1023));
            assert_eq!(group.encode(&power), bytes(&one));
        }
        assert!(bool::from(group.generator.ct_eq(&group.modulus.residue(&BoxedUint::from(2u8)))));
    }

    #[test]
    fn elements_outside_the_group_end_the_run() {
        for place in 0..3 {
            let parameters = parameters(Form::ShortExponents);
            let (sets, case) = (planted_for(&parameters, 2, 1, 0, 1), Case { parameters, ..Case::default() });
            let (_, sender) = duel::<(), Vec<u32>>(
                (&ENTRY, &sets, case),
                Box::new(|ctx| {
                    let mut message = vec![[0x11; 128]; 3];
                    message[place] = [0xfe; 128];
                    ctx.channel.split().0.send(message.as_flattened())?;
                    ctx.channel.split().0.flush()?;
                    // The sender ends it.
                    Ok(ctx.channel.split().1.recv_exact(&mut [0; 500])?)
                }),
                Box::new(|ctx| send(ctx, &sets.sender)),
            );
            assert_eq!(sender, Err(Misbehaviour::InvalidElement { position: place }.into()));
        }
    }
}
