//! The values of a set's keys, ascending: in memory, or in buckets on disk.

use std::sync::{Mutex, PoisonError};

use rand_core::CryptoRng;
use vesica_crypto::device::Device;
use vesica_crypto::par;
use vesica_encode::items::Items;
use vesica_kept::cut;
use vesica_protocols::Progress as _;
use vesica_protocols::public_key::voprf::{Output, SecretKey};
use vesica_spill::{Block, Bucket, Buckets, Label};

use super::BATCH;
use crate::scale::spool::{SpoolError, SpooledKeys};
use crate::session::reporter::Reporter;
use crate::words::error::{Error, RunPhase};

const SPILLED: Label = Label::new("vesica kept set values v1");
/// Buckets of values on disk, by their top bits.
const BUCKET_BITS: u32 = 10;
/// Bytes of a value there.
const VALUE: usize = 16;

/// The item of a value that stands for none: a dummy.
pub(super) const DUMMY: u32 = u32::MAX;

/// Computes values under a key.
pub(super) struct Maker<'a> {
    pub(super) secret: &'a SecretKey,
    pub(super) width: u32,
    pub(super) threads: usize,
    /// A card, once it is there.
    pub(super) device: Device,
    pub(super) reporter: &'a Reporter<'a>,
}

/// How keys are shared out.
struct Pieces {
    /// Keys of a piece.
    keys: usize,
    /// Pieces at once.
    at_once: usize,
    /// Threads of each.
    threads: usize,
}

/// Values, which [`each`](Values::each) gives ascending.
pub(super) enum Values {
    /// Without labels.
    Plain(Vec<u128>),
    /// With the item of each, in their order.
    Labelled(Vec<(u128, u32)>),
    /// In buckets by their top bits.
    OnDisk(Vec<Bucket>),
}

impl Maker<'_> {
    /// What `of` makes of the output of each item, by its number.
    pub(super) fn each_item<T: Send + Copy + Default>(
        &self,
        items: &Items,
        of: impl Fn(Output) -> T + Sync,
    ) -> Result<Vec<T>, Error> {
        self.reporter.enter(RunPhase::Publish, items.len() as u64);
        let mut made = vec![T::default(); items.len()];
        let Pieces { keys: piece, at_once, threads } = self.pieces();
        par::fill_chunks(at_once, piece, &mut made, |number, made| {
            let first = number * piece;
            let keys: Vec<&[u8]> = (first..first + made.len()).map(|item| items.get(item)).collect();
            self.outputs(threads, &keys, made, &of)
        })?;
        Ok(made)
    }

    /// On the cores, each thread takes a small piece. A card takes one large piece after the other, and all threads hash.
    fn pieces(&self) -> Pieces {
        let keys = self.device.piece(BATCH);
        match self.device.has_card() {
            true => Pieces { keys, at_once: 1, threads: self.threads },
            false => Pieces { keys, at_once: self.threads, threads: 1 },
        }
    }

    fn outputs<T>(
        &self,
        threads: usize,
        keys: &[&[u8]],
        made: &mut [T],
        of: &impl Fn(Output) -> T,
    ) -> Result<(), Error> {
        if self.reporter.cancelled() {
            return Err(Error::interrupted(RunPhase::Publish));
        }
        let outputs = self.secret.outputs_on(&self.device, threads, keys);
        made.iter_mut().zip(outputs).for_each(|(made, output)| *made = of(output));
        self.reporter.advance(keys.len() as u64);
        Ok(())
    }

    /// The values of keys on disk, and those of `dummies`, in buckets; and how many there are, each counted once.
    pub(super) fn on_disk(
        &self,
        keys: &SpooledKeys,
        dummies: impl Iterator<Item = u128>,
    ) -> Result<(Values, u64), Error> {
        let failed = |error: SpoolError| Error::spool(RunPhase::Publish, &error);
        self.reporter.enter(RunPhase::Publish, keys.rows());
        let buckets = keys.spill().buckets(SPILLED, 1 << BUCKET_BITS, VALUE, Block::LARGE);
        let mut buckets = buckets.map_err(|error| failed(error.into()))?;
        let shift = self.width.saturating_sub(BUCKET_BITS);
        let push = |buckets: &mut Buckets, value: u128| {
            buckets
                .push((value >> shift) as usize, &value.to_le_bytes())
                .map_err(|error| failed(error.into()))
        };
        let mut outcome = Ok(());
        keys.each_bucket(|digests| {
            outcome = self
                .bucket(&digests)
                .and_then(|values| values.into_iter().try_for_each(|value| push(&mut buckets, value)));
            if outcome.is_ok() { Ok(()) } else { Err(SpoolError::Cancelled) }
        })
        .or_else(|error| outcome.and(Err(failed(error))))?;
        for value in dummies {
            push(&mut buckets, value)?;
        }
        let values = Values::OnDisk(buckets.finish().map_err(|error| failed(error.into()))?);
        let mut count = 0;
        values.each(&mut |_, _| {
            count += 1;
            Ok(())
        })?;
        Ok((values, count))
    }

    /// The values of the digests of one bucket, repeated ones too.
    fn bucket(&self, digests: &[[u8; 32]]) -> Result<Vec<u128>, Error> {
        let made = Mutex::new(Vec::with_capacity(digests.len()));
        let Pieces { keys: piece, at_once, threads } = self.pieces();
        par::for_each(at_once, digests.chunks(piece), |_, digests| {
            let keys: Vec<&[u8]> = digests.iter().map(|digest| &digest[..]).collect();
            let mut values = vec![0; keys.len()];
            self.outputs(threads, &keys, &mut values, &|output| cut(&output, self.width))?;
            made.lock().unwrap_or_else(PoisonError::into_inner).extend(values);
            Ok::<(), Error>(())
        })?;
        Ok(made.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Dummy number `number` of this key's sets: a value that no key has but with the probability of a false match, and that
    /// only the key's holder tells from others.
    pub(super) fn dummy(&self, number: u64) -> u128 {
        let mut hasher = blake3::Hasher::new_derive_key("vesica kept set: dummy v1");
        hasher.update(&*self.secret.to_bytes()).update(&number.to_le_bytes());
        let mut output = [0; 64];
        hasher.finalize_xof().fill(&mut output);
        cut(&output, self.width)
    }
}

impl Values {
    /// Hands over the values ascending, each once, with their items.
    pub(super) fn each(&self, take: &mut dyn FnMut(u128, u32) -> Result<(), Error>) -> Result<(), Error> {
        match self {
            Values::Plain(values) => values.iter().try_for_each(|value| take(*value, DUMMY)),
            Values::Labelled(values) => values.iter().try_for_each(|(value, item)| take(*value, *item)),
            Values::OnDisk(buckets) => {
                for bucket in buckets {
                    let mut values: Vec<u128> = Vec::with_capacity(bucket.records() as usize);
                    let read = bucket.read(|records| {
                        values.extend(records.as_chunks().0.iter().map(|value| u128::from_le_bytes(*value)));
                        Ok::<(), SpoolError>(())
                    });
                    read.map_err(|error| Error::spool(RunPhase::Publish, &error))?;
                    values.sort_unstable();
                    values.dedup();
                    values.into_iter().try_for_each(|value| take(value, DUMMY))?;
                }
                Ok(())
            }
        }
    }
}

/// Random bytes in the place of a sealed label that nobody opens.
pub(super) fn no_label(bytes: usize, rng: &mut dyn CryptoRng) -> Vec<u8> {
    let mut label = vec![0; bytes];
    rng.fill_bytes(&mut label);
    label
}
