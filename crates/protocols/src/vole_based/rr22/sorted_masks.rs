//! Masks out, join in, as one sorted list: the sender's masks leave in ascending order, in Elias–Fano form,
//! and the receiver finds its own among them.

use vesica_channel::{Channel, SendHalf};
use vesica_crypto::block::Block;
use vesica_crypto::join::{Ascending, Tags};
use vesica_crypto::memory::{Wiped, large_capacity};
use vesica_encode::sorted::{self, Repeats};

use super::costs::mask_bits;
use super::payloads;
use crate::error::{Error, Misbehaviour};
use crate::masks;
use crate::oprf::{EvaluationSink, OutputSink};
use crate::parameters::Security;
use crate::protocol::{Learns, Phase, Progress, Run, Sizes};

/// Bytes of the masks between two reports of progress: whole frames.
const CHUNK: usize = 1 << 20;

/// Outputs of the OPRF, of which the low bits count.
struct Cut<'a> {
    outputs: &'a [Block],
    kept: u128,
}

impl<'a> Cut<'a> {
    fn new(outputs: &'a [Block], bits: u32) -> Self {
        Self { outputs, kept: u128::MAX >> (u128::BITS - bits) }
    }
}

impl Tags for Cut<'_> {
    #[inline]
    fn count(&self) -> usize {
        self.outputs.len()
    }

    #[inline]
    fn tag(&self, index: usize) -> u128 {
        self.outputs[index].to_u128() & self.kept
    }
}

/// The sender's masks, on their way to the receiver.
pub(super) struct OutgoingMasks<'a> {
    run: &'a Run<'a>,
    bits: u32,
    masks: Wiped<u128>,
    /// Whether the item behind each is noted: where the receiver will return positions, or payloads follow.
    noted: bool,
    items: Vec<u32>,
}

impl<'a> OutgoingMasks<'a> {
    pub(super) fn new(run: &'a Run<'_>) -> Self {
        let bits = mask_bits(run.sizes, &run.parameters);
        let noted = run.learns == Learns::Both || payloads::width(run).is_some();
        Self { run, bits, masks: Wiped::default(), noted, items: Vec::new() }
    }

    /// The item behind each position of the list that was sent.
    pub(super) fn into_order(self) -> Vec<u32> {
        self.items
    }
}

impl EvaluationSink for OutgoingMasks<'_> {
    fn begin(&mut self, _: usize, count: usize) {
        let payloads = if payloads::width(self.run).is_some() { count } else { 0 };
        self.run.phase(Phase::Exchange, 2 * count + payloads);
        self.masks = Wiped::from(large_capacity(count));
        if self.noted {
            self.items.reserve_exact(count);
        }
    }

    fn put(&mut self, positions: impl Iterator<Item = u32>, outputs: &[Block]) {
        let cut = Cut::new(outputs, self.bits);
        self.masks.extend((0..outputs.len()).map(|index| cut.tag(index)));
        if self.noted {
            self.items.extend(positions.take(outputs.len()));
        }
    }

    fn send_due(&mut self, _: usize, _: usize, _: &mut dyn SendHalf) -> Result<(), Error> {
        Ok(())
    }

    fn complete(&mut self, channel: &mut dyn SendHalf) -> Result<(), Error> {
        let threads = self.run.threads;
        if self.noted {
            masks::sort_with_items(threads, self.bits, &mut self.masks, &mut self.items);
        } else {
            masks::sort(threads, self.bits, &mut self.masks);
        }
        let bytes = sorted::encode_by_threads(threads, &self.masks, self.bits);
        let mut sent = self.run.paced(self.masks.len(), bytes.len());
        for chunk in bytes.chunks(CHUNK) {
            channel.send(chunk)?;
            sent.advance(chunk.len())?;
        }
        Ok(channel.flush()?)
    }
}

/// The receiver's masks, ready to be found in an ascending list.
pub(super) struct IndexedMasks<'a> {
    run: &'a Run<'a>,
    bits: u32,
    masks: Option<Ascending>,
}

impl<'a> IndexedMasks<'a> {
    pub(super) fn new(run: &'a Run<'_>) -> Self {
        Self { run, bits: mask_bits(run.sizes, &run.parameters), masks: None }
    }

    /// Receives the sender's masks and holds them to their form, which tells nothing of mine.
    ///
    /// In malicious runs no mask may stand there twice. Otherwise the sender could send one that it made up
    /// n_s times: the time that n_s matches take would show it whether the receiver has that item. The masks
    /// of an honest sender are 128 bits of a hash; two of them are equal with probability 2^-89 at n_s = 2^20
    /// (n_s²/2 pairs, 2^-128 each). Shorter masks of semi-honest runs may be equal.
    pub(super) fn receive(self, channel: &mut dyn Channel) -> Result<ReceivedMasks, Error> {
        let Self { run, bits, masks } = self;
        let count = run.sizes.sender;
        let mut theirs = vec![0; sorted::encoded_bytes(count, bits)];
        let mut received = run.paced(count, theirs.len());
        for chunk in theirs.chunks_mut(CHUNK) {
            channel.recv_exact(chunk)?;
            received.advance(chunk.len())?;
        }
        // The limit that a malicious run has set ends here.
        channel.expect_within(None);
        let repeats = match run.parameters.security {
            Security::SemiHonest => Repeats::Allowed,
            Security::Malicious => Repeats::Refused,
        };
        sorted::check(run.threads, &theirs, count, bits, repeats).map_err(Misbehaviour::InvalidMasks)?;
        Ok(ReceivedMasks { mine: masks, theirs, sizes: run.sizes, bits, threads: run.threads })
    }
}

impl OutputSink for IndexedMasks<'_> {
    fn begin(&mut self, _: usize, count: usize) {
        let theirs = self.run.sizes.sender;
        let payloads = if payloads::width(self.run).is_some() { theirs } else { 0 };
        self.run.phase(Phase::Exchange, count + theirs + payloads);
    }

    /// All outputs come in one call.
    fn put(&mut self, _: usize, outputs: &[Block], item: impl Fn(usize) -> Option<u32> + Sync) {
        // An output that belongs to no item is found like the others, and stands for none.
        let item = |index| item(index).unwrap_or(u32::MAX);
        self.masks = Some(Ascending::new(self.run.threads, &Cut::new(outputs, self.bits), self.bits, item));
    }

    fn receive_available(&mut self, _: usize, _: &mut dyn Channel) -> Result<(), Error> {
        Ok(())
    }
}

/// The masks of both, which are still to be joined.
pub(super) struct ReceivedMasks {
    mine: Option<Ascending>,
    /// The sender's, in their short form, which has been checked.
    theirs: Vec<u8>,
    sizes: Sizes,
    bits: u32,
    threads: usize,
}

impl ReceivedMasks {
    /// The pairs of an item of mine and the position of its mask in the sender's list. How long that takes
    /// depends on how many there are.
    pub(super) fn join(self, progress: &dyn Progress) -> Result<Vec<(u32, u32)>, Error> {
        let Sizes { receiver, sender } = self.sizes;
        progress.phase(Phase::Compare, sender as u64);
        let Some(mine) = self.mine else { return Ok(Vec::new()) };
        let found = sorted::by_stretches(
            self.threads,
            &self.theirs,
            (sender, self.bits),
            || (mine.walk(), Vec::new()),
            |(walk, pairs), first, theirs| {
                walk.find(theirs, |item, position| pairs.push((item, (first + position) as u32)));
                progress.advance(theirs.len() as u64);
            },
            |(_, pairs)| pairs,
        );
        let mut pairs = large_capacity(sender.min(receiver));
        found.map_err(Misbehaviour::InvalidMasks)?.into_iter().for_each(|found| pairs.extend(found));
        Ok(pairs)
    }
}
