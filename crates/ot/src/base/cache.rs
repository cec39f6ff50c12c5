//! The base OTs of a run: which protocol makes them at which level, and how two parties use the same ones in
//! several runs.
//!
//! Up to level 128 the base OTs are Masny and Rindal's over ristretto255. A code-based extension needs hundreds, and
//! is against semi-honest parties only: [`start_send`] and [`receive_for_code`] make those of
//! [`naor_pinkas`], for half the multiplications. Above level 128 base OTs are Naor and Pinkas's
//! over P-384 or P-521, the curves of DCW13 Table 2; only semi-honest protocols have these levels. A run whose
//! [`Origin`] names ML-KEM has those of [`ml_kem`], for every extension, up to level 128. Cached base
//! OTs serve the level for which they were made and no other, whichever protocol made them. Those of a level below
//! [`LEAST_LEVEL`] are not cached, nor are those from ML-KEM: so a run that asks for ML-KEM gets no base OTs that
//! Diffie–Hellman has made.
//!
//! Source: PSSZ15 §8.2, "these base-OTs only need to be computed once and can be re-used over multiple
//! sessions".
//!
//! ```text
//! cached          ρ_i,0 and ρ_i,1 of n base OTs, i = 0..n; their receiver holds b_i and ρ_i,b_i
//! in a run        k_i,j = BLAKE3-keyed(ρ_i,j, 0 ‖ i ‖ H(context, label))     the strings of the run's extension
//! after it        ρ_i,j ← BLAKE3-keyed(ρ_i,j, 1 ‖ i ‖ 0)                     the next generation
//! ```
//!
//! The run that makes the base OTs takes derived strings too, so a cached string is used as a key of BLAKE3
//! and for nothing else.
//!
//! **Security:** semi-honest parties only. The context holds the session id, and with it fresh randomness of
//! both parties. So no two runs have the same strings k, whatever a partner repeats and however many runs go
//! on at once. The bits b, which are the secret s or Δ of the extension, *are* the same in all runs. To
//! semi-honest parties this is one long extension, cut into runs: the party with the pairs sees s only in
//! hashes of rows q ⊕ (s ∧ c), each under the context of its run, so it can compute as much about s as in one
//! run. Against a malicious party this does not hold: what a selective failure reveals of s would add up over
//! the runs. Extensions against malicious parties therefore take no cache
//! ([`BaseOts`](crate::security::SecurityModel::BaseOts)).
//!
//! **One level.** A run at level κ hides κ bits of the b from 2^κ hashes, and no more. If a run at level 80
//! took the first 80 of the bits that a run at level 128 takes as Δ, its partner would find those with 2^80
//! hashes, and the other 48 with 2^48. So base OTs of one level serve no other.
//!
//! The next generation does not reveal the strings of the runs before it: a thief of cached pairs learns
//! nothing of past rows. The bits b do not change. docs/base-ots.md says what a theft means on either side,
//! and why the choice bits are not renewed by another extension in every run.

use std::sync::OnceLock;

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_channel::codec::{CodecError, Reader, Writer};
use vesica_crypto::hash::{Context, Label, Oracle};
use zeroize::Zeroizing;

use super::key_agreement::{self, KeyAgreement};
use super::two_messages::{self, SENDER_BYTES, Sender as _};
use super::{masny_rindal, ml_kem, naor_pinkas};
use crate::error::Error;
use crate::seed::Seed;

/// Domains of the strings.
const RUN: u8 = 0;
const NEXT: u8 = 1;

/// The most base OTs that a protocol takes.
const MOST: u32 = 512;

/// The strength of ristretto255: the level up to which base OTs are over it, and the least at which they are
/// kept.
pub const LEAST_LEVEL: u32 = 128;

/// Whether base OTs of a run at `level` may be cached. 2^80 hashes find the choices of a run at level 80, so
/// nothing else may depend on these.
#[must_use]
pub const fn may_be_cached(agreement: KeyAgreement, level: u32) -> bool {
    matches!(agreement, KeyAgreement::DiffieHellman) && level >= LEAST_LEVEL
}

/// Bytes of the messages of `count` base OTs of a run at `level`: from their receiver, from their sender.
#[must_use]
pub const fn bytes(agreement: KeyAgreement, level: u32, count: u64) -> [u64; 2] {
    if level > LEAST_LEVEL {
        return naor_pinkas::curves::bytes_at_level(level, count);
    }
    let [receiver, sender] = agreement.bytes(count as usize);
    [receiver as u64, sender as u64]
}

/// Bytes of the messages of `count` base OTs for a code-based extension: from their receiver, from their sender.
#[must_use]
pub const fn bytes_for_code(agreement: KeyAgreement, count: u64) -> [u64; 2] {
    match agreement {
        KeyAgreement::DiffieHellman => [count * naor_pinkas::RECEIVER_BYTES as u64, SENDER_BYTES as u64],
        KeyAgreement::MlKem => bytes(agreement, LEAST_LEVEL, count),
    }
}

/// Where the base OTs of a run come from.
#[derive(Clone, Copy, Default)]
pub struct Origin<'a> {
    /// What makes them.
    pub agreement: KeyAgreement,
    /// The cache that they come from, or go to for later runs, if they [may](may_be_cached).
    pub cache: Option<&'a BaseOtCache>,
}

impl<'a> From<KeyAgreement> for Origin<'a> {
    /// Base OTs that are made for this run alone.
    fn from(agreement: KeyAgreement) -> Self {
        Origin { agreement, cache: None }
    }
}

impl<'a> From<&'a BaseOtCache> for Origin<'a> {
    /// Base OTs of this cache, or from Diffie–Hellman and for this cache.
    fn from(cache: &'a BaseOtCache) -> Self {
        Origin { cache: Some(cache), ..Origin::default() }
    }
}

impl<'a> Origin<'a> {
    /// The cache, if a run at `level` may use one.
    ///
    /// # Errors
    /// If the cache is filled and such a run must not use it, or no key agreement makes base OTs for the level.
    fn cache_at(self, level: u32) -> Result<Option<&'a BaseOtCache>, Error> {
        if self.agreement == KeyAgreement::MlKem && level > LEAST_LEVEL {
            return Err(Error::UnfitBaseOts);
        }
        match self.cache {
            Some(cache) if may_be_cached(self.agreement, level) => Ok(Some(cache)),
            Some(cache) if cache.has() => Err(Error::UnfitBaseOts),
            _ => Ok(None),
        }
    }
}

/// Base OTs of several runs, of their sender or of their receiver.
pub struct CachedBaseOts {
    side: Side,
    level: u32,
    generation: u64,
}

enum Side {
    Sender(Vec<[Seed; 2]>),
    Receiver { choices: Zeroizing<Vec<u8>>, seeds: Vec<Seed> },
}

/// Another string derived from ρ.
fn derive(root: &Seed, domain: u8, index: usize, bound: &[u8; 32]) -> Seed {
    let mut input = [0; 41];
    input[0] = domain;
    input[1..9].copy_from_slice(&(index as u64).to_le_bytes());
    input[9..].copy_from_slice(bound);
    let mut string = Zeroizing::new([0; 32]);
    Oracle::with_key(*root.as_bytes()).hash(&input, &mut *string);
    Seed::new(*string)
}

/// H(context, label). The base OTs that a run makes query the same oracle, at inputs whose first part has one
/// byte or two.
fn bound(context: &Context, label: Label) -> [u8; 32] {
    let mut bound = [0; 32];
    context.hash_parts(label, &[b"kept base OTs"], &mut bound);
    bound
}

/// The output of the receiver of base OTs.
pub struct Chosen {
    /// Its choices, packed eight to a byte, lowest first.
    pub choices: Zeroizing<Vec<u8>>,
    /// The strings that they name.
    pub seeds: Vec<Seed>,
}

impl CachedBaseOts {
    /// The number of base OTs.
    #[must_use]
    pub fn count(&self) -> usize {
        match &self.side {
            Side::Sender(pairs) => pairs.len(),
            Side::Receiver { seeds, .. } => seeds.len(),
        }
    }

    /// The level that they serve.
    #[must_use]
    pub fn level(&self) -> u32 {
        self.level
    }

    /// Whether this is their sender's side, which has both strings of each.
    #[must_use]
    pub fn is_sender(&self) -> bool {
        matches!(self.side, Side::Sender(_))
    }

    /// How often they have been [renewed](Self::renew_until).
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Moves on to a later generation. There is no way back.
    pub fn renew_until(&mut self, generation: u64) {
        let next = |i: usize, root: &mut Seed| *root = derive(root, NEXT, i, &[0; 32]);
        while self.generation < generation {
            self.generation += 1;
            match &mut self.side {
                Side::Sender(pairs) => {
                    (0..).zip(pairs).for_each(|(i, pair)| pair.iter_mut().for_each(|root| next(i, root)));
                }
                Side::Receiver { seeds, .. } => (0..).zip(seeds).for_each(|(i, root)| next(i, root)),
            }
        }
    }

    /// The stored form: u8 side · u64 generation · u32 level · u32 count · bits and strings.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        // Capacity for all of it: a vector that grows leaves a copy behind.
        let mut bytes = Zeroizing::new(Vec::with_capacity(17 + self.count() * 65));
        let mut head = Writer::new();
        head.bool(self.is_sender()).u64(self.generation).u32(self.level).u32(self.count() as u32);
        bytes.extend_from_slice(head.as_slice());
        match &self.side {
            Side::Sender(pairs) => {
                pairs.as_flattened().iter().for_each(|root| bytes.extend_from_slice(root.as_bytes()));
            }
            Side::Receiver { choices, seeds } => {
                bytes.extend_from_slice(choices);
                seeds.iter().for_each(|root| bytes.extend_from_slice(root.as_bytes()));
            }
        }
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// If the bytes are anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CodecError> {
        let mut reader = Reader::new(bytes);
        let (is_sender, generation) = (reader.bool()?, reader.u64()?);
        let (level, count) = (reader.u32()?, reader.u32()?);
        if ![LEAST_LEVEL, 192, 256].contains(&level) {
            return Err(CodecError::Invalid { what: "level of base OTs" });
        }
        if count == 0 || count > MOST || !count.is_multiple_of(8) {
            return Err(CodecError::Invalid { what: "number of base OTs" });
        }
        let count = count as usize;
        let seed = |reader: &mut Reader<'_>| Ok::<_, CodecError>(Seed::new(reader.array()?));
        let side = if is_sender {
            let pair = |_| Ok([seed(&mut reader)?, seed(&mut reader)?]);
            Side::Sender((0..count).map(pair).collect::<Result<_, CodecError>>()?)
        } else {
            let choices = Zeroizing::new(reader.fixed(count / 8)?.to_vec());
            let seeds = (0..count).map(|_| seed(&mut reader)).collect::<Result<_, CodecError>>()?;
            Side::Receiver { choices, seeds }
        };
        reader.finish()?;
        Ok(Self { side, level, generation })
    }

    /// The side, if the base OTs serve a run at `level`.
    fn serving(&self, level: u32) -> Result<&Side, Error> {
        if level == self.level { Ok(&self.side) } else { Err(Error::UnfitBaseOts) }
    }

    /// Both strings of the first `count`, for a run.
    fn pairs_of(
        &self,
        level: u32,
        context: &Context,
        label: Label,
        count: usize,
    ) -> Result<Vec<[Seed; 2]>, Error> {
        let Side::Sender(pairs) = self.serving(level)? else { return Err(Error::UnfitBaseOts) };
        let (pairs, bound) = (pairs.get(..count).ok_or(Error::UnfitBaseOts)?, bound(context, label));
        let of_run = |(i, pair): (usize, &[Seed; 2])| [0, 1].map(|j| derive(&pair[j], RUN, i, &bound));
        Ok(pairs.iter().enumerate().map(of_run).collect())
    }

    /// Choices and chosen strings of the first `count`, for a run.
    fn chosen_of(&self, level: u32, context: &Context, label: Label, count: usize) -> Result<Chosen, Error> {
        let Side::Receiver { choices, seeds } = self.serving(level)? else { return Err(Error::UnfitBaseOts) };
        let (seeds, bound) = (seeds.get(..count).ok_or(Error::UnfitBaseOts)?, bound(context, label));
        let seeds = seeds.iter().enumerate().map(|(i, root)| derive(root, RUN, i, &bound)).collect();
        Ok(Chosen { choices: Zeroizing::new(choices[..count.div_ceil(8)].to_vec()), seeds })
    }
}

/// The cache of one run: filled before it, or filled by it with the base OTs that it makes.
#[derive(Default)]
pub struct BaseOtCache(OnceLock<CachedBaseOts>);

impl BaseOtCache {
    /// An empty cache, which the run fills.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A cache of these, which the run takes.
    #[must_use]
    pub fn of(cached: CachedBaseOts) -> Self {
        Self(OnceLock::from(cached))
    }

    /// The next generation of the base OTs, for later runs. None if the run used none.
    #[must_use]
    pub fn into_cached(self) -> Option<CachedBaseOts> {
        let mut cached = self.0.into_inner()?;
        cached.renew_until(cached.generation + 1);
        Some(cached)
    }

    fn has(&self) -> bool {
        self.0.get().is_some()
    }

    /// The base OTs that were cached already, or else these, made at `level`.
    fn put(&self, level: u32, side: Side) -> &CachedBaseOts {
        self.0.get_or_init(|| CachedBaseOts { side, level, generation: 0 })
    }
}

/// The sender of base OTs after it has sent its message. If the base OTs are cached there is no message, and from
/// ML-KEM the sender answers.
pub struct PendingSend<'a> {
    context: Context,
    label: Label,
    count: usize,
    cache: Option<&'a BaseOtCache>,
    begun: Begun,
}

/// What has begun.
enum Begun {
    Cached,
    DiffieHellman(naor_pinkas::Sender),
    MlKem(ml_kem::Sender),
}

/// Begins `count` base OTs for a code-based extension, whose level is [`LEAST_LEVEL`]: their sender sends its message,
/// if it is to send one first.
///
/// # Errors
/// If the connection fails, or the run must not use the cache.
pub fn start_send<'a>(
    context: &Context,
    label: Label,
    count: usize,
    origin: Origin<'a>,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<PendingSend<'a>, Error> {
    let cache = origin.cache_at(LEAST_LEVEL)?;
    let begun = match origin.agreement {
        _ if cache.is_some_and(BaseOtCache::has) => Begun::Cached,
        KeyAgreement::DiffieHellman => {
            let (sender, message) = naor_pinkas::Sender::new(context, label, rng);
            channel.send(&message)?;
            channel.flush()?;
            Begun::DiffieHellman(sender)
        }
        KeyAgreement::MlKem => Begun::MlKem(ml_kem::Sender::new(context, label, count, rng)),
    };
    Ok(PendingSend { context: context.clone(), label, count, cache, begun })
}

impl PendingSend<'_> {
    /// Both strings of every OT.
    ///
    /// # Errors
    /// If the connection fails, the partner's elements are not valid, or the cached base OTs do not fit.
    pub fn complete(self, channel: &mut dyn Channel) -> Result<Vec<[Seed; 2]>, Error> {
        let Self { context, label, count, cache, begun } = self;
        let made = match begun {
            Begun::Cached => None,
            Begun::DiffieHellman(sender) => Some(sender.receive(count, channel)?),
            Begun::MlKem(sender) => Some(answer(count, channel, |message| sender.finish(message))?),
        };
        pairs(LEAST_LEVEL, &context, label, count, cache, made)
    }
}

/// The sender's part from ML-KEM: `finish` makes its strings and its message of the receiver's message.
fn answer(
    count: usize,
    channel: &mut dyn Channel,
    finish: impl FnOnce(&[u8]) -> Result<(Vec<[Seed; 2]>, Vec<u8>), Error>,
) -> Result<Vec<[Seed; 2]>, Error> {
    let mut message = vec![0; KeyAgreement::MlKem.bytes(count)[0]];
    channel.recv_exact(&mut message)?;
    let (strings, answer) = finish(&message)?;
    channel.send(&answer)?;
    channel.flush()?;
    Ok(strings)
}

/// Both strings of `count` OTs: of those that are cached, or of those that were made.
fn pairs(
    level: u32,
    context: &Context,
    label: Label,
    count: usize,
    cache: Option<&BaseOtCache>,
    made: Option<Vec<[Seed; 2]>>,
) -> Result<Vec<[Seed; 2]>, Error> {
    let made = made.unwrap_or_default();
    match cache {
        None => Ok(made),
        Some(cache) => cache.put(level, Side::Sender(made)).pairs_of(level, context, label, count),
    }
}

/// Both strings of `count` OTs for a run at `level`. Base OTs of a level below [`LEAST_LEVEL`]
/// [are not cached](may_be_cached).
///
/// # Errors
/// As [`PendingSend::complete`].
pub fn send(
    level: u32,
    context: &Context,
    label: Label,
    count: usize,
    origin: Origin<'_>,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<[Seed; 2]>, Error> {
    let cache = origin.cache_at(level)?;
    let made = match (cache, origin.agreement) {
        (Some(cache), _) if cache.has() => None,
        (_, KeyAgreement::MlKem) => {
            let sender = ml_kem::Sender::new(context, label, count, rng);
            Some(answer(count, channel, |message| sender.finish(message))?)
        }
        _ if level <= LEAST_LEVEL => {
            Some(two_messages::send::<masny_rindal::Sender>(context, label, count, channel, rng)?)
        }
        _ => Some(naor_pinkas::curves::send_at_level(level, context, label, count, channel, rng)?),
    };
    pairs(level, context, label, count, cache, made)
}

/// `count` random choices and the strings that they name, for a run at `level`. Cached base OTs take no
/// message. Those of a level below [`LEAST_LEVEL`] [are not cached](may_be_cached).
///
/// # Errors
/// If the connection fails, the partner's element is not valid, or the cached base OTs do not fit.
pub fn receive(
    level: u32,
    context: &Context,
    label: Label,
    count: usize,
    origin: Origin<'_>,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Chosen, Error> {
    receive_as(level, context, label, count, origin, rng, |choices, rng| {
        if level <= LEAST_LEVEL {
            key_agreement::receive(origin.agreement, context, label, choices, count, channel, rng)
        } else {
            naor_pinkas::curves::receive_at_level(level, context, label, choices, count, channel, rng)
        }
    })
}

/// `count` random choices and the strings that they name, for a code-based extension, whose level is
/// [`LEAST_LEVEL`]. Cached base OTs take no message.
///
/// # Errors
/// As [`receive`].
pub fn receive_for_code(
    context: &Context,
    label: Label,
    count: usize,
    origin: Origin<'_>,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Chosen, Error> {
    receive_as(LEAST_LEVEL, context, label, count, origin, rng, |choices, rng| match origin.agreement {
        KeyAgreement::DiffieHellman => {
            two_messages::receive::<naor_pinkas::Receiver>(context, label, choices, count, channel, rng)
        }
        KeyAgreement::MlKem => {
            key_agreement::receive(origin.agreement, context, label, choices, count, channel, rng)
        }
    })
}

/// [`receive`], where `make` makes the strings that choices name.
fn receive_as(
    level: u32,
    context: &Context,
    label: Label,
    count: usize,
    origin: Origin<'_>,
    rng: &mut dyn CryptoRng,
    make: impl FnOnce(&[u8], &mut dyn CryptoRng) -> Result<Vec<Seed>, Error>,
) -> Result<Chosen, Error> {
    let cache = origin.cache_at(level)?;
    if let Some(cached) = cache.and_then(|cache| cache.0.get()) {
        return cached.chosen_of(level, context, label, count);
    }
    let mut choices = Zeroizing::new(vec![0; count.div_ceil(8)]);
    rng.fill_bytes(&mut choices);
    let seeds = make(&choices, rng)?;
    let Some(cache) = cache else { return Ok(Chosen { choices, seeds }) };
    cache.put(level, Side::Receiver { choices, seeds }).chosen_of(level, context, label, count)
}

#[cfg(test)]
mod tests;
