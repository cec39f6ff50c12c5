//! DCW13's appendix A: the garbled Bloom filter is built first, and its strings are those of the OTs.

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::memory::Wiped;
use vesica_encode::bloom::{Bin, NoFreeSlot, Sums, garble};
use vesica_ot::chosen::StringOt;

use super::super::extension;
use super::super::transfer::{STRINGS, choices_of, for_each_batch};
use super::{Form, Party, RandomStrings};
use crate::error::Error;

impl<const W: usize> Party<'_, W> {
    /// GBF_X where BF_Y is set, which the OTs give slot by slot, summed over the positions of each item.
    pub(super) fn receive_strings(
        &self,
        ot: extension::Receiver<W>,
        channel: &mut dyn Channel,
    ) -> Result<Wiped<[Block; W]>, Error> {
        let (context, threads) = (&self.run.context, self.run.threads);
        let mut ot = StringOt::new(context, STRINGS, self.width(), ot).with_threads(threads);
        let mut sums = Wiped::from(vec![[Block::ZERO; W]; self.positions.items().len()]);
        let mut strings = Wiped::default();
        for_each_batch(self.run, &self.positions, |batch| {
            strings.resize(batch.rows(), [Block::ZERO; W]);
            // 3. x_j,c_j: what was sent for c_j, ⊕ H(j, t_j). (`correlated`: for c_j = 0 nothing was.)
            match self.form {
                Form::TwoStrings => ot.receive(&choices_of(&batch), &mut strings, channel)?,
                _ => ot.receive_correlated(&choices_of(&batch), &mut strings, channel)?,
            }
            let slices = strings.chunks_exact(batch.bin.shape().slots());
            for (slice, slots) in slices.zip(batch.slots) {
                Sums(&mut sums[batch.bin.range()]).add(slice, slots);
            }
            Ok(())
        })?;
        Ok(sums)
    }

    /// The pairs (x_j,0, x_j,1) by OT, x_j,1 = GBF_X\[j\]; x_j,0 is random (`two-strings`), or H(j, q_j).
    pub(super) fn send_strings(
        &self,
        ot: extension::Sender<W>,
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Error> {
        let (context, threads) = (&self.run.context, self.run.threads);
        let mut ot = StringOt::new(context, STRINGS, self.width(), ot).with_threads(threads);
        let (mut filter, mut pairs, mut zeros) = (Wiped::default(), Wiped::default(), Wiped::default());
        let mut random = RandomStrings::new::<W>(rng);
        for_each_batch(self.run, &self.positions, |batch| {
            if batch.slice == 0 {
                // 2. GBF_X, a bin at a time.
                self.filter_of(batch.bin, &mut random, &mut filter)?;
            }
            let filter = &filter[batch.slice * batch.bin.shape().slots()..][..batch.rows()];
            // 3. x_j,0 ⊕ H(j, q_j) and x_j,1 ⊕ H(j, q_j ⊕ Δ). (`correlated`: the second alone.)
            if self.form == Form::TwoStrings {
                pairs.resize(filter.len(), [[Block::ZERO; W]; 2]);
                random.fill(pairs.as_flattened_mut());
                pairs.iter_mut().zip(filter).for_each(|(pair, string)| pair[1] = *string);
                return Ok(ot.send(&pairs, channel)?);
            }
            zeros.resize(filter.len(), [Block::ZERO; W]);
            Ok(ot.send_correlated(&mut zeros, |j, _| filter[j], channel)?)
        })
    }

    /// Algorithm 1 for a bin: its garbled Bloom filter, slice after slice.
    fn filter_of(
        &self,
        bin: &Bin<'_>,
        random: &mut RandomStrings,
        filter: &mut Wiped<[Block; W]>,
    ) -> Result<(), Error> {
        filter.clear();
        // Room for all of it: what a vector grows out of is not wiped.
        filter.reserve_exact(self.positions.shape().hashes() * bin.shape().slots());
        let mut values = Wiped::from(vec![[Block::ZERO; W]; bin.len()]);
        self.values(bin.range().start, &mut values);
        garble(
            self.run.threads,
            bin,
            &values,
            |strings| random.fill(strings),
            |slice| {
                filter.extend_from_slice(slice);
                Ok::<_, NoFreeSlot>(())
            },
        )?;
        Ok(())
    }
}
