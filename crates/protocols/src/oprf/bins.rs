//! The OPRF by bins, from 1-out-of-N OTs of a code-based extension: [`kkrt`](vesica_ot::kkrt) or
//! [`kk13`](vesica_ot::kk13).
//!
//! Sources: PSSZ15 §4, §6; KKRT16 (eprint 2016/799), Figures 2 and 6. Semi-honest.
//!
//! The receiver puts every item into one of its bins, by cuckoo hashing, or into the stash. Each bin and each
//! slot of the stash has OTs of its own, in which the receiver chooses the [word](BinWords) that stands for
//! its item there. So it learns the output of one word. The sender can compute the outputs of all words: it
//! evaluates each of its items in all of the item's bins and in every slot of the stash. Function i of the
//! OPRF is
//!
//! ```text
//! F_i(x) = F(h_i(x), word of x in bin h_i(x))        i < h, the hash functions
//! F_(h+j)(x) = F(slot j, word of x)                  j < s, the slots of the stash
//! ```
//!
//! Each hash function has a segment of the bins to itself ([`hashing`](vesica_encode::hashing)), so a bin
//! belongs to one function. An empty bin, or slot, has OTs as well: the sender must not know which ones are
//! empty. What the receiver chooses there is up to the words, and must be no item that the receiver does not
//! hold: it could otherwise test whether the sender holds that item.
//!
//! Both parties go through the bins in order, one [region](vesica_encode::hashing::partitioned) after the
//! other. The rows of a region's OTs stay in the cache while the sender evaluates there, and are wiped in the
//! end. Neither how much a party sends nor when depends on its items.

pub(crate) mod characters;
pub(crate) mod keys;

use std::ops::Range;

use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::memory::Wiped;
use vesica_encode::hashing::parameters::Cuckoo;
use vesica_encode::hashing::partitioned::Regions;
use vesica_encode::items::Items;
use vesica_ot::nco::{NcoReceiver, NcoSender, Step};

use super::{EvaluationSink, OprfReceiver, OprfSender, OutputSink};
use crate::error::Error;
use crate::protocol::{Phase, Run};

/// Items that the sender evaluates together in a slot of the stash. Local.
const BATCH: usize = 1 << 10;

/// What stands for an item in its bins, as words of OTs, and where both parties keep it.
pub(crate) trait BinWords {
    /// What is chosen in one OT.
    type Word: Copy + Default;
    /// The receiver's items, one a bin.
    type Table: BinTable<Self::Word> + Sync;
    /// The sender's items, by regions of bins.
    type Partition: BinPartition<Self::Word>;

    /// Functions, bins and slots of the stash. Agreed.
    fn cuckoo(&self) -> Cuckoo;

    /// OTs of a bin, and of a slot of the stash. Agreed.
    fn ots(&self) -> [usize; 2];

    /// The ranges of bins that the receiver extends in one call. The sender may cut elsewhere, but has to cut
    /// alike where a cut within a tile of OTs changes the bytes: each call begins with a new tile.
    fn extension_calls(&self) -> Regions;

    /// Puts each of the receiver's items into one of its bins.
    fn place(&self, run: &Run<'_>, items: &Items) -> Result<Self::Table, Error>;

    /// Partitions the sender's items by the regions of their bins. Item i is known by `position(i)` from here
    /// on.
    fn partition(
        &self,
        run: &Run<'_>,
        items: &Items,
        position: impl Fn(usize) -> u32,
    ) -> Result<Self::Partition, Error>;
}

/// The receiver's items in their bins.
pub(crate) trait BinTable<Word> {
    /// The number of the item in `bin`.
    fn item(&self, bin: usize) -> Option<u32>;

    /// How many of `bins` have an item.
    fn occupied(&self, bins: Range<usize>) -> usize;

    /// Replaces `words` by those of `bins`, all of one call.
    fn words(&self, bins: Range<usize>, words: &mut Vec<Word>);

    /// The items in the stash, in its first slots. Replaces `words` by those of `slots` slots.
    fn stash(&self, _slots: usize, _words: &mut Vec<Word>) -> &[u32] {
        &[]
    }
}

/// The sender's items, partitioned by the regions of all their bins.
pub(crate) trait BinPartition<Word> {
    /// The regions, in order.
    fn regions(&self) -> Regions;

    /// Replaces `batch` by some of the items that `function` has in the region that begins with bin `first`;
    /// false if none is left.
    fn take(&mut self, function: usize, first: usize, batch: &mut Batch<Word>) -> bool;

    /// Replaces `words` by those of the items at these positions, for a slot of the stash.
    fn stash_words(&self, _positions: Range<usize>, _words: &mut Vec<Word>) {}
}

/// Items that the sender evaluates together.
#[derive(Default)]
pub(crate) struct Batch<Word> {
    /// The position of each item.
    pub(crate) positions: Vec<u32>,
    /// The first row of its bin, of the region's.
    pub(crate) rows: Vec<u32>,
    /// Its words, as many as a bin has OTs.
    pub(crate) words: Vec<Word>,
}

impl<Word> Batch<Word> {
    /// Takes all items out; their room remains.
    pub(crate) fn clear(&mut self) {
        self.positions.clear();
        self.rows.clear();
        self.words.clear();
    }
}

/// How a run reports its OTs.
#[derive(Clone, Copy)]
pub(crate) enum Reported {
    /// As one phase.
    As(Phase),
    /// By the phases of PSSZ15's appendix B: base OTs, extension, evaluation and exchange each apart.
    InPhases,
}

impl Reported {
    fn phase(self) -> Phase {
        match self {
            Reported::As(phase) => phase,
            Reported::InPhases => Phase::Extend,
        }
    }

    fn in_phase<T>(self, run: &Run<'_>, phase: Phase, work: impl FnOnce() -> T) -> T {
        match self {
            Reported::As(_) => work(),
            Reported::InPhases => run.in_phase(phase, work),
        }
    }

    fn step(self, run: &Run<'_>, step: Step) {
        if let Reported::InPhases = self {
            step_begins(run, step);
        }
    }
}

/// Tells what a receiver of OTs does within [`Phase::Extend`].
pub(crate) fn step_begins(run: &Run<'_>, step: Step) {
    run.progress.attribute_time((step == Step::Evaluate).then_some(Phase::Evaluate));
}

/// Some of our items have no bin.
pub(crate) fn cuckoo_failure(paper: bool) -> Error {
    let kind = if paper { Error::PaperParameters } else { Error::Chance };
    kind("some of our items found no place in the hash table")
}

/// The receiver, whose first message of the base OTs is on its way. `complete_base_ots` ends them.
pub(crate) struct Receiver<'a, K, F> {
    pub(crate) run: &'a Run<'a>,
    pub(crate) words: &'a K,
    pub(crate) reported: Reported,
    pub(crate) complete_base_ots: F,
}

impl<K, R, F> OprfReceiver for Receiver<'_, K, F>
where
    K: BinWords,
    R: NcoReceiver<K::Word>,
    F: FnOnce(&mut dyn Channel) -> Result<R, vesica_ot::Error>,
{
    type Proofs = ();

    fn evaluate(
        self,
        items: &Items,
        channel: &mut dyn Channel,
        sink: &mut impl OutputSink,
    ) -> Result<Self::Proofs, Error> {
        let Self { run, words: scheme, reported, complete_base_ots } = self;
        let (Cuckoo { layout, stash }, [size, slot_size]) = (scheme.cuckoo(), scheme.ots());
        // While the sender answers: each item in one of its bins.
        let table = scheme.place(run, items)?;
        let mut ots = reported.in_phase(run, Phase::BaseOts, || complete_base_ots(channel))?;
        // The OTs of all bins, and the outputs of the items there.
        run.phase(reported.phase(), layout.bins());
        let (mut words, mut outputs) = (Vec::new(), Vec::new());
        let on_step = &mut |step| reported.step(run, step);
        for bins in scheme.extension_calls().iter() {
            table.words(bins.clone(), &mut words);
            outputs.resize(bins.len(), Block::ZERO);
            ots.extend_in_steps(size, &words, &mut outputs, channel, on_step)?;
            for part in layout.segments_of(bins.clone()) {
                let function = layout.function_of(part.start);
                let all = layout.segment_of(function);
                if part.start == all.start {
                    sink.begin(function, table.occupied(all));
                }
                let outputs = &outputs[part.start - bins.start..][..part.len()];
                sink.put(function, outputs, |i| table.item(part.start + i));
            }
            run.advance(bins.len())?;
            sink.receive_available(layout.function_of(bins.end), channel)?;
        }
        // The OTs of the stash.
        if stash > 0 {
            let held = table.stash(stash, &mut words);
            outputs.resize(stash, Block::ZERO);
            ots.extend_groups(slot_size, &words, &mut outputs, channel)?;
            for ((function, item), output) in (layout.functions()..).zip(held).zip(&outputs) {
                sink.put(function, std::slice::from_ref(output), |_| Some(*item));
            }
        }
        Ok(channel.flush()?)
    }
}

/// The sender, whose base OTs are done.
pub(crate) struct Sender<'a, K, S, const W: usize> {
    pub(crate) run: &'a Run<'a>,
    pub(crate) words: &'a K,
    pub(crate) reported: Reported,
    pub(crate) ots: S,
}

impl<K, S, const W: usize> OprfSender for Sender<'_, K, S, W>
where
    K: BinWords,
    S: NcoSender<K::Word, W>,
{
    type Proofs = ();

    fn evaluate_all(
        self,
        items: &Items,
        position: impl Fn(usize) -> u32,
        channel: &mut dyn Channel,
        sink: &mut impl EvaluationSink,
    ) -> Result<Self::Proofs, Error> {
        let Self { run, words: scheme, reported, mut ots } = self;
        let (Cuckoo { layout, stash }, [size, slot_size]) = (scheme.cuckoo(), scheme.ots());
        // Each item to the regions of its bins.
        let mut partition = scheme.partition(run, items, position)?;
        // The outputs, region by region.
        run.phase(reported.phase(), layout.bins());
        let (mut rows, mut batch, mut outputs) = (Wiped::default(), Batch::default(), Vec::new());
        for bins in partition.regions().iter() {
            rows.resize(bins.len() * size, [Block::ZERO; W]);
            let number = ots.next();
            ots.extend(&mut rows, channel.split().1)?;
            for part in layout.segments_of(bins.clone()) {
                let function = layout.function_of(part.start);
                let segment = layout.segment_of(function);
                if part.start == segment.start {
                    sink.begin(function, items.len());
                }
                reported.in_phase(run, Phase::Evaluate, || {
                    while partition.take(function, bins.start, &mut batch) {
                        outputs.resize(batch.positions.len(), Block::ZERO);
                        ots.evaluate_groups(size, number, &rows, &batch.rows, &batch.words, &mut outputs);
                        sink.put(batch.positions.iter().copied(), &outputs);
                    }
                });
                run.advance(part.len())?;
                // In proportion to the bins. How many items were in them is the sender's secret.
                let (done, channel) = (part.end - segment.start, channel.split().0);
                reported.in_phase(run, Phase::Exchange, || sink.send_due(done, segment.len(), channel))?;
                if part.end == segment.end {
                    sink.complete(channel)?;
                }
            }
        }
        // The outputs of all items in each slot of the stash.
        if stash == 0 {
            return Ok(());
        }
        let mut rows = Wiped::from(vec![[Block::ZERO; W]; stash * slot_size]);
        let number = ots.next();
        ots.extend(&mut rows, channel.split().1)?;
        for slot in 0..stash {
            sink.begin(layout.functions() + slot, items.len());
            batch.rows.clear();
            batch.rows.resize(BATCH, (slot * slot_size) as u32);
            reported.in_phase(run, Phase::Evaluate, || {
                for first in (0..items.len()).step_by(BATCH) {
                    let positions = first..items.len().min(first + BATCH);
                    partition.stash_words(positions.clone(), &mut batch.words);
                    outputs.resize(positions.len(), Block::ZERO);
                    let at = &batch.rows[..positions.len()];
                    ots.evaluate_groups(slot_size, number, &rows, at, &batch.words, &mut outputs);
                    sink.put(positions.map(|position| position as u32), &outputs);
                }
            });
            sink.complete(channel.split().0)?;
        }
        Ok(())
    }
}
