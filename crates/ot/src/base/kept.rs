//! The base OTs of a run: which protocol makes them at which level, and those that the same two parties keep from one run
//! to the next.
//!
//! Up to level 128 they are Masny and Rindal's over ristretto255, above it Naor and Pinkas's over P-384 or P-521, the curves
//! of DCW13 Table 2 (what has such a level is for semi-honest parties). Kept ones serve the level for which they were made and
//! no other; those of a level below [`LEAST_LEVEL`] are not kept.
//!
//! Source: PSSZ15 §8.2, "these base-OTs only need to be computed once and can be re-used over multiple sessions".
//!
//! ```text
//! kept            ρ_i,0 and ρ_i,1 of n base OTs, i = 0..n; their receiver holds b_i and ρ_i,b_i
//! in a run        k_i,j = BLAKE3-keyed(ρ_i,j, 0 ‖ i ‖ H(context, label))     the strings that the run's extension takes
//! after it        ρ_i,j ← BLAKE3-keyed(ρ_i,j, 1 ‖ i ‖ 0)                     the next generation
//! ```
//!
//! The run that makes base OTs takes derived strings too, so that a kept one is the key of BLAKE3 and nothing else.
//!
//! **Security:** semi-honest parties alone. The context holds the session id, and with it fresh randomness of both
//! parties, so no two runs have the same strings k, whatever a partner repeats and however many run at once. The bits b,
//! which are the secret s or Δ of the extension, *are* the same in all runs. To semi-honest parties this is one long
//! extension, cut into runs: the party with the pairs sees s in nothing but hashes of rows q ⊕ (s ∧ c), each under the
//! context of its run, so what it may compute to find s is what it may compute in one run. Against a party that deviates
//! it is not: what a selective failure tells of s would add up over the runs. So nothing here is for malicious parties;
//! extensions against those take no kept base OTs.
//!
//! **One level.** A run at level κ hides κ bits of the b from 2^κ hashes, and no more. If a run at 80 took the first 80 of
//! the bits that a run at 128 takes as Δ, its partner would find those with 2^80 hashes, and the other 48 with 2^48. So what
//! serves one level serves no other.
//!
//! Going one generation on forgets the strings of the runs before: who takes kept pairs away learns nothing of past rows.
//! The bits b do not change. What theft means on either side, and why the choice bits are not renewed by another extension in
//! every run, stands in docs/base-ots.md.

use std::sync::OnceLock;

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_channel::codec::{CodecError, Reader, Writer};
use vesica_crypto::hash::{Context, Label, Oracle};
use zeroize::Zeroizing;

use super::{masny_rindal, naor_pinkas};
use crate::{Error, Seed};

/// Domains of the strings.
const RUN: u8 = 0;
const NEXT: u8 = 1;

/// No protocol takes more.
const MOST: u32 = 512;

/// The strength of ristretto255: the level up to which base OTs are over it, and the least at which they are kept.
pub const LEAST_LEVEL: u32 = 128;

/// Whether base OTs of a run at `level` may be kept. 2^80 hashes find the choices of a run at level 80: they must be of no use.
#[must_use]
pub const fn may_be_kept(level: u32) -> bool {
    level >= LEAST_LEVEL
}

/// Bytes of the messages of `count` base OTs of a run at `level`: from their receiver, from their sender.
#[must_use]
pub const fn bytes(level: u32, count: u64) -> [u64; 2] {
    if level > LEAST_LEVEL {
        return naor_pinkas::bytes_at_level(level, count);
    }
    [count * masny_rindal::RECEIVER_BYTES as u64, masny_rindal::SENDER_BYTES as u64]
}

/// Kept base OTs, of the one side or the other.
pub struct Kept {
    side: Side,
    level: u32,
    generation: u64,
}

enum Side {
    Sender(Vec<[Seed; 2]>),
    Receiver { choices: Zeroizing<Vec<u8>>, seeds: Vec<Seed> },
}

/// ρ to another string.
fn derive(root: &Seed, domain: u8, index: usize, bound: &[u8; 32]) -> Seed {
    let mut input = [0; 41];
    input[0] = domain;
    input[1..9].copy_from_slice(&(index as u64).to_le_bytes());
    input[9..].copy_from_slice(bound);
    let mut string = Zeroizing::new([0; 32]);
    Oracle::with_key(*root.as_bytes()).hash(&input, &mut *string);
    Seed::new(*string)
}

/// H(context, label). The base OTs that a run makes ask the same oracle at inputs whose first part has one byte or two.
fn bound(context: &Context, label: Label) -> [u8; 32] {
    let mut bound = [0; 32];
    context.hash_parts(label, &[b"kept base OTs"], &mut bound);
    bound
}

/// Choices, packed eight to a byte, lowest first, and the strings that they name.
pub type Chosen = (Zeroizing<Vec<u8>>, Vec<Seed>);

impl Kept {
    /// How many there are.
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

    /// Whether they are both strings of each, not the chosen ones.
    #[must_use]
    pub fn is_sender(&self) -> bool {
        matches!(self.side, Side::Sender(_))
    }

    /// How often they have been [renewed](Self::renew_until).
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Goes on to a later generation, with no way back.
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

    /// As they are stored: u8 side · u64 generation · u32 level · u32 count · bits and strings.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        // Room for all of it, so that nothing is left behind in memory where a shorter piece was.
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
    /// If they are anything else.
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

    /// What a run at `level` takes, if they serve it.
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
        Ok((Zeroizing::new(choices[..count / 8].to_vec()), seeds))
    }
}

/// What a run does with base OTs beside using them: it takes kept ones, or makes them and lets them be kept.
#[derive(Default)]
pub struct Keeping(OnceLock<Kept>);

impl Keeping {
    /// The run makes base OTs, which are then to be kept.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The run takes these.
    #[must_use]
    pub fn of(kept: Kept) -> Self {
        Self(OnceLock::from(kept))
    }

    /// What is to be kept after the run, the strings that it took forgotten; none if it made none.
    #[must_use]
    pub fn finish(self) -> Option<Kept> {
        let mut kept = self.0.into_inner()?;
        kept.renew_until(kept.generation + 1);
        Some(kept)
    }

    fn has(&self) -> bool {
        self.0.get().is_some()
    }

    /// Those that were there already, or these, made at `level`.
    fn put(&self, level: u32, side: Side) -> &Kept {
        self.0.get_or_init(|| Kept { side, level, generation: 0 })
    }

    /// What a run at `level` has to do with those to be kept: nothing, where none are kept.
    ///
    /// # Errors
    /// If there are some that such a run must not take.
    fn at(keeping: Option<&Self>, level: u32) -> Result<Option<&Self>, Error> {
        match keeping {
            Some(keeping) if may_be_kept(level) => Ok(Some(keeping)),
            Some(keeping) if keeping.has() => Err(Error::UnfitBaseOts),
            _ => Ok(None),
        }
    }
}

/// The sender of base OTs after its message, if there is one.
pub struct Opening<'a> {
    context: Context,
    label: Label,
    keeping: Option<&'a Keeping>,
    made: Option<masny_rindal::Sender>,
}

/// Sends the first message of the sender of base OTs, for a run at [`LEAST_LEVEL`]. Kept ones take no message.
///
/// # Errors
/// If the connection fails.
pub fn open<'a>(
    context: &Context,
    label: Label,
    keeping: Option<&'a Keeping>,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Opening<'a>, Error> {
    let opening = |made| Opening { context: context.clone(), label, keeping, made };
    if keeping.is_some_and(Keeping::has) {
        return Ok(opening(None));
    }
    let (sender, message) = masny_rindal::Sender::new(context, label, rng);
    channel.send(&message)?;
    channel.flush()?;
    Ok(opening(Some(sender)))
}

impl Opening<'_> {
    /// Both strings of `count` OTs.
    ///
    /// # Errors
    /// If the connection fails, the partner's elements are not valid, or kept ones do not fit.
    pub fn finish(self, count: usize, channel: &mut dyn Channel) -> Result<Vec<[Seed; 2]>, Error> {
        let made = self.made.map(|sender| sender.receive(count, channel)).transpose()?;
        pairs(LEAST_LEVEL, &self.context, self.label, count, self.keeping, made)
    }
}

/// Both strings of `count` OTs that are kept already, or of those made.
fn pairs(
    level: u32,
    context: &Context,
    label: Label,
    count: usize,
    keeping: Option<&Keeping>,
    made: Option<Vec<[Seed; 2]>>,
) -> Result<Vec<[Seed; 2]>, Error> {
    let made = made.unwrap_or_default();
    match keeping {
        None => Ok(made),
        Some(keeping) => keeping.put(level, Side::Sender(made)).pairs_of(level, context, label, count),
    }
}

/// Both strings of `count` OTs for a run at `level`: up to [`LEAST_LEVEL`], [`open`] and [`Opening::finish`]. Those of a lower
/// level [are not kept](may_be_kept).
///
/// # Errors
/// As [`Opening::finish`].
pub fn send(
    level: u32,
    context: &Context,
    label: Label,
    count: usize,
    keeping: Option<&Keeping>,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<[Seed; 2]>, Error> {
    let keeping = Keeping::at(keeping, level)?;
    if level <= LEAST_LEVEL {
        return open(context, label, keeping, channel, rng)?.finish(count, channel);
    }
    let made = match keeping {
        Some(keeping) if keeping.has() => None,
        _ => Some(naor_pinkas::send_at_level(level, context, label, count, channel, rng)?),
    };
    pairs(level, context, label, count, keeping, made)
}

/// `count` random choices and the strings that they name, for a run at `level`. Kept ones take no message. Those of a level
/// below [`LEAST_LEVEL`] [are not kept](may_be_kept).
///
/// # Errors
/// If the connection fails, the partner's element is not valid, or kept ones do not fit.
///
/// # Panics
/// If the number is not a multiple of eight.
pub fn receive(
    level: u32,
    context: &Context,
    label: Label,
    count: usize,
    keeping: Option<&Keeping>,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Chosen, Error> {
    assert!(count.is_multiple_of(8), "whole bytes of choices");
    let keeping = Keeping::at(keeping, level)?;
    if let Some(kept) = keeping.and_then(|keeping| keeping.0.get()) {
        return kept.chosen_of(level, context, label, count);
    }
    let mut choices = Zeroizing::new(vec![0; count / 8]);
    rng.fill_bytes(&mut choices);
    let seeds = if level <= LEAST_LEVEL {
        masny_rindal::receive(context, label, &choices, count, channel, rng)?
    } else {
        naor_pinkas::receive_at_level(level, context, label, &choices, count, channel, rng)?
    };
    let Some(keeping) = keeping else { return Ok((choices, seeds)) };
    keeping.put(level, Side::Receiver { choices, seeds }).chosen_of(level, context, label, count)
}

#[cfg(test)]
mod tests;
