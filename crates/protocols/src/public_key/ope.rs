//! PSI by oblivious polynomial evaluation. The receiver learns X ∩ Y, the sender |Y| and no more.
//!
//! **Security:** semi-honest, without a random oracle: the receiver's privacy is that of the encryption (for
//! ElGamal the decisional Diffie–Hellman assumption, for Paillier that of decisional composite residuosity), the
//! sender's holds against any computation, up to its generator (AES-128). Leaks n_r and n_s. Hash functions only
//! spread items over bins and shorten them; what they must do is keep different items apart and fill the bins
//! evenly, except with probability 2^-40. A malicious party can use any set; a malicious receiver also
//! polynomials with more roots than items, and a malicious sender can answer wrongly.
//!
//! Source: FNP04 (Freedman, Nissim, Pinkas, EUROCRYPT 2004) §4 and §5, as PSZ14 cites it. The receiver hashes
//! its items to β bins and pads each to M roots. It encrypts the coefficients of P_b(X) = Π (X - y) for every
//! bin b. The sender evaluates the polynomials of its items' bins under the encryption.
//!
//! ```text
//!    receiver (Y)                                       sender (X)
//! 0. key pair (sk, pk)
//! 1.              ── pk ──►                             32, or 384
//! 2. each y in one of h bins, β bins of M roots
//!                 ── E(coefficients of P_1 … P_β) ──►   c·M·β, c = 64, or 768
//! 3.                                                    x in each of its h bins b: r ←$ plaintexts
//!                 ◄── E(r·P_b(x) + p(x)), re-randomised,
//!                     x in random order ──              c·h·n_s
//!    output {y : p(y) among the plaintexts}
//! ```
//!
//! **Why an answer tells nothing else.** Every item has a point of w bits, where P_b has its root, and a
//! payload p of 128 bits. If x is a root, the plaintext is p(x). If not, P_b(x) is a product of differences
//! that are not zero and shorter than the prime group order q (or than both prime factors of a Paillier
//! modulus N). So it has an inverse modulo q (or N), r·P_b(x) is uniform, and so is the plaintext. With new
//! randomness the ciphertext is uniform among the encryptions of its plaintext, and the receiver's knowledge of
//! its own nonces does not help it ([`elgamal`](vesica_crypto::elgamal) says how it would). Roots that fill up
//! a bin are 2^w: no item's point. The answers stand in a random order of the items, not by bins: an item's
//! bins would tell log2 β bits about it. Of two answers of one item the receiver learns that they are of one
//! item, which two uniform plaintexts, or one and a match, would have told it anyway.
//!
//! Deviations:
//!
//! - FNP04 puts an item into the emptier of two bins, and pads to the maximum load M. Here items also move
//!   when their bins are full (`encode::hashing::blocked`), so that M = 3 slots in 0.41·n_r bins do where
//!   balanced allocations need 9 in n_r. Sets of 16 items or fewer are one polynomial, as in FNP04 §4. The
//!   paper's own placement is `Form::BalancedAllocation`; its M is the least with a proven bound of 2^-40.
//! - Polynomials have leading coefficient 1, which is not sent.
//! - The payload is a hash of the item, not the item: ElGamal decrypts to p·G, which the receiver looks up
//!   among those of its own items. A plaintext that is no payload of its own is not opened further.
//! - Points are as short as may be: w = 40 + ⌈log2 n_r⌉ + ⌈log2 n_s⌉ - ⌊log2 m⌋ bits for segments of m bins, as
//!   only items that share a bin must differ. A step of Horner's rule multiplies by w bits.
//!
//! Names: P = `monic`, β and M = `Plan::layout` and `Plan::roots`, w = `Plan::bits`, h = `functions`, p =
//! `payloads`; the encryptions implement `Encryption`.
//!
//! **Variants:** `paillier` encrypts with a modulus N of 3072 bits; `balanced-allocation` is above.
//!
//! Cost, with ElGamal: the receiver has 2·M·β multiples of the generator for the encryptions, n_r for its payloads, and h·n_s
//! products for the answers. The sender has for each of h·n_s answers 2 products by r, 2·(M - 1) products by a
//! point of w bits, and 3 multiples of fixed bases. With Paillier the receiver has M·β powers of 1536 bits modulo
//! p² and as many modulo q² for the encryptions, and as many for h·n_s decryptions. The sender has for each answer
//! 2 powers of 3072 bits modulo N² and M - 1 of w bits.

mod elgamal;
mod paillier;

use rand_core::CryptoRng;
use vesica_channel::{Channel, SendHalf};
use vesica_crypto::block::Block;
use vesica_crypto::hash::Label;
use vesica_crypto::join::join;
use vesica_crypto::par;
use vesica_crypto::prg::Prg;
use vesica_encode::hashing::parameters::{blocked, maximum_balanced_load};
use vesica_encode::hashing::{Digests, Layout, balanced, blocked as placement, simple};
use vesica_encode::items::Items;

use crate::entry::{Entry, Memory, Message, Roles, Shape};
use crate::error::{Error, Misbehaviour, Misuse};
use crate::masks::MaskWidth;
use crate::outcome::Pairs;
use crate::parameters::{Parameters, variants};
use crate::protocol::{Ctx, Phase, Role, Run, Sizes};
use elgamal::ElGamal;
use paillier::Paillier;

/// Items of the receiver at most: of n_r bins there are fewer than 2^32.
const MOST_ITEMS: usize = 1 << 30;

/// The registry's entry.
pub static ENTRY: Entry =
    Entry::new("ope", "oblivious polynomial evaluation, ElGamal", Roles::Listed { receive, send })
        .family("public_key")
        .paper("FNP04; PSZ14")
        .variants(Form::VARIANTS)
        .flights(|_| 2)
        .steps(|role, _| match role {
            Role::Receiver => {
                &[(Phase::Hash, 2), (Phase::Blind, 20), (Phase::Unblind, 76), (Phase::Compare, 2)]
            }
            Role::Sender => &[(Phase::Hash, 2), (Phase::Exchange, 18), (Phase::Answer, 80)],
        })
        .messages(&[
            Message::of_receiver("public key", "e, e = 32, or 384 with Paillier", |shape| {
                sent(shape, |form, _| form.public() as u64)
            }),
            Message::of_receiver(
                "encrypted coefficients, M for each of β bins",
                "c·M·β, c = 64, or 768 with Paillier",
                |shape| {
                    sent(shape, |form, plan| (form.ciphertext() * plan.roots * plan.layout.bins()) as u64)
                },
            ),
            Message::of_sender("encrypted values, one for each of an item's h bins", "c·h·n_s", |shape| {
                sent(shape, |form, plan| {
                    (form.ciphertext() * plan.layout.functions()) as u64 * shape.sender()
                })
            }),
        ])
        .memory("receiver 140·n_r + 24·β + 36·h·n_s, sender 2·c·M·β + 52·n_s", |shape| {
            let Ok(plan) = Plan::new(shape.sizes, &shape.parameters) else { return Memory::default() };
            let (bins, functions) = (plan.layout.bins() as u64, plan.layout.functions() as u64);
            Memory {
                receiver: 140 * shape.receiver() + 24 * bins + 36 * functions * shape.sender(),
                sender: 2 * (plan.form.ciphertext() * plan.roots) as u64 * bins + 52 * shape.sender(),
            }
        })
        .test_items(16);

variants! {
    /// The encryption, and how the receiver's items are placed.
    pub(super) enum Form {
        /// ElGamal, and cuckoo hashing with bins of three slots.
        ElGamal,
        /// Under Paillier's encryption.
        Paillier = "paillier", "Paillier's encryption with a modulus of 3072 bits instead of ElGamal";
        /// The paper's placement.
        BalancedAllocation = "balanced-allocation", "FNP04 §5: items in the emptier of two of n_r bins, which are padded to the maximum load";
    }
}

impl Form {
    /// Bytes of a public key.
    fn public(self) -> usize {
        match self {
            Form::Paillier => Paillier::PUBLIC,
            Form::ElGamal | Form::BalancedAllocation => ElGamal::PUBLIC,
        }
    }

    /// Bytes of a ciphertext.
    fn ciphertext(self) -> usize {
        match self {
            Form::Paillier => Paillier::CIPHERTEXT,
            Form::ElGamal | Form::BalancedAllocation => ElGamal::CIPHERTEXT,
        }
    }
}

/// The bytes of a message; none for sizes that are refused.
fn sent(shape: &Shape, bytes: impl Fn(Form, &Plan) -> u64) -> u64 {
    Plan::new(shape.sizes, &shape.parameters).map_or(0, |plan| bytes(plan.form, &plan))
}

/// What both parties derive from the agreed sizes.
struct Plan {
    form: Form,
    layout: Layout,
    /// M.
    roots: usize,
    /// w.
    bits: u32,
}

impl Plan {
    fn new(sizes: Sizes, parameters: &Parameters) -> Result<Self, Error> {
        let Sizes { receiver, sender } = sizes;
        let form = Form::of(parameters);
        if receiver > MOST_ITEMS {
            return Err(Misuse::TooManyItems { receiver, sender }.into());
        }
        let (layout, roots) = match form {
            Form::ElGamal | Form::Paillier => blocked(receiver, parameters.statistical),
            Form::BalancedAllocation => {
                let layout = Layout::new(2, receiver as u64);
                (layout, maximum_balanced_load(receiver, layout, parameters.statistical).max(1))
            }
        };
        let bits = MaskWidth::for_sizes(sizes, parameters.statistical)?.bits() - layout.segment().ilog2();
        // 2^w is a number too.
        if bits < u128::BITS {
            Ok(Self { form, layout, roots, bits })
        } else {
            Err(Misuse::TooManyItems { receiver, sender }.into())
        }
    }

    /// The roots of a bin's polynomial: its points, and numbers that are no points.
    fn roots_of(&self, points: impl Iterator<Item = u128>) -> impl Iterator<Item = u128> {
        points.chain(std::iter::repeat(1 << self.bits)).take(self.roots)
    }

    /// The receiver's items in bins of at most M.
    fn place(&self, bins: &Digests<'_>) -> Result<simple::Table, Error> {
        let failed = "my items fit no table of bins under the hash functions of this run";
        match self.form {
            Form::ElGamal | Form::Paillier => {
                placement::build(bins, self.roots).map_err(|_| Error::Chance(failed))
            }
            Form::BalancedAllocation => {
                let table = balanced::build(bins);
                table.check_load(self.roots).map(|()| table).map_err(|_| Error::Chance(failed))
            }
        }
    }
}

/// An additively homomorphic encryption, as far as the protocol uses it. Sides of messages are bytes.
trait Encryption {
    /// Bytes of a public key.
    const PUBLIC: usize;
    /// Bytes of a ciphertext.
    const CIPHERTEXT: usize;
    /// Ciphertexts that a thread handles at a time. Local, but for the streams of randomness.
    const CHUNK: usize;

    /// The receiver's key.
    type Secret: Sync;
    /// The sender's key.
    type Public: Sync;
    /// Encrypted coefficients that have been checked.
    type Coefficients: Send + Sync;

    fn generate(rng: &mut dyn CryptoRng) -> Self::Secret;
    fn public(secret: &Self::Secret) -> Vec<u8>;
    fn decode_public(encoded: &[u8]) -> Result<Self::Public, Misbehaviour>;

    /// Encrypts the coefficients of polynomials with M roots each.
    fn encrypt(secret: &Self::Secret, roots: &[u128], m: usize, rng: &mut dyn CryptoRng, out: &mut [u8]);
    /// Checks ciphertexts, the first of which stands at `first` of its message.
    fn decode(
        public: &Self::Public,
        first: usize,
        encoded: &[u8],
    ) -> Result<Self::Coefficients, Misbehaviour>;
    fn append(all: &mut Self::Coefficients, more: Self::Coefficients);
    /// E(r·P(x) + p) for each query, with fresh r and fresh randomness, for polynomials of degree M and points
    /// below 2^w.
    fn evaluate(
        public: &Self::Public,
        coefficients: &Self::Coefficients,
        of: (usize, u32),
        queries: &[Query],
        rng: &mut dyn CryptoRng,
        out: &mut [u8],
    );

    /// Decrypts answers, the first of which stands at `first` of its message, to tags.
    fn open(
        secret: &Self::Secret,
        first: usize,
        answers: &[u8],
        tags: &mut [u128],
    ) -> Result<(), Misbehaviour>;
    /// The tags of these payloads.
    fn tags(secret: &Self::Secret, payloads: &[u128], tags: &mut [u128]);
}

/// Where to evaluate which polynomial.
struct Query {
    /// Position of its first coefficient.
    first: usize,
    /// x.
    point: u128,
    /// p(x).
    payload: u128,
}

/// The receiver's role.
fn receive<'a>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pairs<'a>, Error> {
    match Form::of(&ctx.run.parameters) {
        Form::Paillier => receive_with::<Paillier>(ctx, items),
        Form::ElGamal | Form::BalancedAllocation => receive_with::<ElGamal>(ctx, items),
    }
}

/// The sender's role.
fn send(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Vec<u32>, Error> {
    match Form::of(&ctx.run.parameters) {
        Form::Paillier => send_with::<Paillier>(ctx, items),
        Form::ElGamal | Form::BalancedAllocation => send_with::<ElGamal>(ctx, items),
    }
}

fn receive_with<'a, E: Encryption>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pairs<'a>, Error> {
    let (run, threads) = (ctx.run, ctx.run.threads);
    let plan = Plan::new(run.sizes, &run.parameters)?;
    // 1. The key pair.
    let secret = E::generate(ctx.rng);
    ctx.channel.send(&E::public(&secret))?;
    ctx.channel.flush()?;
    // 2. The polynomials of the bins.
    run.phase(Phase::Hash, items.len());
    let hashed = Hashed::new(run, &plan, items);
    let table = plan.place(&Digests::new(&hashed.bins, plan.layout))?;
    run.advance(items.len())?;
    send_polynomials::<E>(run, &plan, (&secret, &hashed.points, &table), ctx.channel.split().0, ctx.rng)?;
    let mut mine = vec![0; items.len()];
    par::for_each_chunk(threads, E::CHUNK, &hashed.payloads, &mut mine, |_, payloads, tags| {
        E::tags(&secret, payloads, tags);
        Ok::<_, Error>(())
    })?;
    // 3. The answers: those of item i of the sender's order stand at h·i to h·(i + 1) - 1.
    let theirs = recv_answers::<E>(run, &plan, &secret, ctx.channel)?;
    let functions = plan.layout.functions() as u32;
    Ok(Pairs::joined(run, move || {
        let pairs = join(threads, &mine[..], &theirs[..]).into_iter();
        pairs.map(|(mine, theirs)| (mine, theirs / functions)).collect()
    }))
}

fn send_with<E: Encryption>(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Vec<u32>, Error> {
    let run = ctx.run;
    let plan = Plan::new(run.sizes, &run.parameters)?;
    run.phase(Phase::Hash, items.len());
    let hashed = Hashed::new(run, &plan, items);
    let order = items.shuffled(ctx.rng);
    run.advance(items.len())?;
    // 1. The public key.
    let mut encoded = vec![0; E::PUBLIC];
    ctx.channel.recv_exact(&mut encoded)?;
    let public = E::decode_public(&encoded)?;
    // 2. The polynomials.
    let coefficients = recv_polynomials::<E>(run, &plan, &public, ctx.channel)?;
    // 3. The answers.
    run.phase(Phase::Answer, items.len());
    let (functions, seed) = (plan.layout.functions(), Block::random(ctx.rng));
    let (chunk, bins) = ((E::CHUNK / functions).max(1), Digests::new(&hashed.bins, plan.layout));
    let mut answers = Vec::new();
    for (piece, order) in order.chunks(chunk * run.threads).enumerate() {
        answers.resize(order.len() * functions * E::CIPHERTEXT, 0);
        let tasks = order.chunks(chunk).zip(answers.chunks_mut(chunk * functions * E::CIPHERTEXT));
        par::for_each(run.threads, tasks, |task, (order, answers)| {
            let queries: Vec<Query> =
                order.iter().flat_map(|&item| hashed.queries(&plan, &bins, item as usize)).collect();
            let rng = &mut Prg::fork(seed, (piece * run.threads + task) as u64);
            E::evaluate(&public, &coefficients, (plan.roots, plan.bits), &queries, rng, answers);
            Ok::<_, Error>(())
        })?;
        ctx.channel.send(&answers)?;
        run.advance(order.len())?;
    }
    ctx.channel.flush()?;
    Ok(order)
}

/// What a party's items are in the protocol.
struct Hashed {
    /// What an item's bins follow from.
    bins: Vec<Block>,
    /// Below 2^w.
    points: Vec<u128>,
    payloads: Vec<u128>,
}

impl Hashed {
    fn new(run: &Run<'_>, plan: &Plan, items: &Items) -> Self {
        /// Items hashed at a time.
        const BATCH: usize = 1 << 10;
        let oracle = run.context.oracle(Label::new("ope: item to bins, point and payload"));
        let mut hashed = Self {
            bins: Vec::with_capacity(items.len()),
            points: Vec::with_capacity(items.len()),
            payloads: Vec::with_capacity(items.len()),
        };
        let (mut bytes, mut hashes) = (Vec::new(), vec![[0; 48]; BATCH]);
        for first in (0..items.len()).step_by(BATCH) {
            let count = BATCH.min(items.len() - first);
            bytes.clear();
            items.gather(count, |index| first + index, &mut bytes);
            let hashes = &mut hashes[..count];
            oracle.hash_batch(&bytes, items.width(), hashes.as_flattened_mut(), 48);
            for hash in hashes {
                let [bins, point, payload]: [[u8; 16]; 3] = [0, 1, 2].map(|part| hash.as_chunks().0[part]);
                hashed.bins.push(Block::from_bytes(bins));
                hashed.points.push(u128::from_le_bytes(point) & ((1 << plan.bits) - 1));
                hashed.payloads.push(u128::from_le_bytes(payload));
            }
        }
        hashed
    }

    /// The queries of an item, one for each of its bins.
    fn queries(&self, plan: &Plan, bins: &Digests<'_>, item: usize) -> impl Iterator<Item = Query> {
        let (roots, point, payload) = (plan.roots, self.points[item], self.payloads[item]);
        let bins =
            vesica_encode::hashing::ItemBins::bins_of(bins, item).into_iter().take(plan.layout.functions());
        bins.map(move |bin| Query { first: bin as usize * roots, point, payload })
    }
}

/// Encrypts and sends the coefficients of every bin's polynomial.
fn send_polynomials<E: Encryption>(
    run: &Run<'_>,
    plan: &Plan,
    (secret, points, table): (&E::Secret, &[u128], &simple::Table),
    channel: &mut dyn SendHalf,
    rng: &mut dyn CryptoRng,
) -> Result<(), Error> {
    let bins = plan.layout.bins();
    run.phase(Phase::Blind, bins);
    let (m, chunk, seed) = (plan.roots, (E::CHUNK / plan.roots).max(1), Block::random(rng));
    let mut encrypted = Vec::new();
    for (piece, first) in (0..bins).step_by(chunk * run.threads).enumerate() {
        let count = (bins - first).min(chunk * run.threads);
        encrypted.resize(count * m * E::CIPHERTEXT, 0);
        par::for_each(run.threads, encrypted.chunks_mut(chunk * m * E::CIPHERTEXT), |task, out| {
            let first = first + task * chunk;
            let mut roots = Vec::with_capacity(chunk * m);
            for bin in first..first + out.len() / (m * E::CIPHERTEXT) {
                roots.extend(plan.roots_of(table.bin(bin).iter().map(|item| points[*item as usize])));
            }
            let rng = &mut Prg::fork(seed, (piece * run.threads + task) as u64);
            E::encrypt(secret, &roots, m, rng, out);
            Ok::<_, Error>(())
        })?;
        channel.send(&encrypted)?;
        run.advance(count)?;
    }
    Ok(channel.flush()?)
}

/// Receives and checks the coefficients of every bin's polynomial.
fn recv_polynomials<E: Encryption>(
    run: &Run<'_>,
    plan: &Plan,
    public: &E::Public,
    channel: &mut dyn Channel,
) -> Result<E::Coefficients, Error> {
    let count = plan.roots * plan.layout.bins();
    run.phase(Phase::Exchange, count);
    let mut all = E::decode(public, 0, &[])?;
    let mut encoded = Vec::new();
    for first in (0..count).step_by(E::CHUNK * run.threads) {
        let take = (count - first).min(E::CHUNK * run.threads);
        encoded.resize(take * E::CIPHERTEXT, 0);
        channel.recv_exact(&mut encoded)?;
        let mut decoded: Vec<Option<E::Coefficients>> = (0..take.div_ceil(E::CHUNK)).map(|_| None).collect();
        let tasks = encoded.chunks(E::CHUNK * E::CIPHERTEXT).zip(&mut decoded);
        par::for_each(run.threads, tasks, |task, (encoded, decoded)| {
            *decoded = Some(E::decode(public, first + task * E::CHUNK, encoded)?);
            Ok::<_, Error>(())
        })?;
        decoded.into_iter().flatten().for_each(|decoded| E::append(&mut all, decoded));
        run.advance(take)?;
    }
    Ok(all)
}

/// Receives and opens the answers.
fn recv_answers<E: Encryption>(
    run: &Run<'_>,
    plan: &Plan,
    secret: &E::Secret,
    channel: &mut dyn Channel,
) -> Result<Vec<u128>, Error> {
    let count = plan.layout.functions() * run.sizes.sender;
    run.phase(Phase::Unblind, count);
    let (mut tags, mut answers) = (Vec::new(), Vec::new());
    for first in (0..count).step_by(E::CHUNK * run.threads) {
        let take = (count - first).min(E::CHUNK * run.threads);
        answers.resize(take * E::CIPHERTEXT, 0);
        channel.recv_exact(&mut answers)?;
        tags.resize(first + take, 0);
        let tasks = answers.chunks(E::CHUNK * E::CIPHERTEXT).zip(tags[first..].chunks_mut(E::CHUNK));
        par::for_each(run.threads, tasks, |task, (answers, tags)| {
            Ok::<_, Error>(E::open(secret, first + task * E::CHUNK, answers, tags)?)
        })?;
        run.advance(take)?;
    }
    Ok(tags)
}

#[cfg(test)]
mod tests;
