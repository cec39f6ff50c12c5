//! The random form: the OTs give the filter, and masks of the items travel in its place.

use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::gf128::Gf128;
use vesica_crypto::hash::Label;
use vesica_crypto::join::join;
use vesica_crypto::memory::Wiped;
use vesica_protocols::masks::{self, MaskWidth};
use vesica_protocols::{Error, Phase};

use super::{Party, RIGHT};

/// Rows picked and hashed at a time.
const PICKED: usize = 256;

/// F(sk, ·).
const KEYED: Label = Label::new("gbf-dcw-malicious: key and item to pad of a mask");

/// Masks have 128 bits: a proof against a cheating sender would extract its set from them.
const MASK_WIDTH: MaskWidth = MaskWidth::WHOLE;

/// H of an item and its XOR.
const MASK: Label = Label::new("gbf-dcw-malicious: sum and item to mask");

impl Party<'_> {
    /// H(x, ⊕_i H_1(j, row of j = h_i(x))) ⊕ F(sk, x) of each item.
    fn masks(&self, rows: &[[Block; 1]], key: Gf128) -> Result<Vec<u128>, Error> {
        let pads = self.pads(RIGHT);
        let mut sums = Wiped::from(vec![[Block::ZERO]; self.positions.items().len()]);
        let mut picked = Wiped::from(vec![[Block::ZERO]; PICKED]);
        self.for_each_slice(|slice, slots| {
            let first = slice * self.agreed.filter.slots();
            for (slots, sums) in slots.chunks(PICKED).zip(sums.chunks_mut(PICKED)) {
                let numbers: Vec<u64> = slots.iter().map(|slot| (first + *slot as usize) as u64).collect();
                let picked = &mut picked[..slots.len()];
                picked.iter_mut().zip(&numbers).for_each(|(picked, j)| *picked = rows[*j as usize]);
                pads.hash_at(&numbers, picked);
                sums.iter_mut().zip(picked).for_each(|([sum], [string])| *sum ^= *string);
            }
            Ok(())
        })?;
        let keyed = self.hashed(&self.run.context.oracle(KEYED), key.to_block().as_bytes());
        let oracle = self.run.context.oracle(MASK);
        let masks = self.positions.items().iter().zip(sums.iter().zip(keyed.iter()));
        Ok(masks
            .map(|(&item, ([sum], [keyed]))| {
                let mut mask = [0; Block::BYTES];
                oracle.hash_parts(&[sum.as_bytes(), self.items.get(item as usize)], &mut mask);
                (Block::from_bytes(mask) ^ *keyed).to_u128()
            })
            .collect())
    }

    pub(super) fn receive_masks(
        &self,
        rows: &[[Block; 1]],
        key: Gf128,
        channel: &mut dyn Channel,
    ) -> Result<Vec<u32>, Error> {
        let mine = self.masks(rows, key)?;
        let theirs = masks::recv_sorted(self.run, MASK_WIDTH, channel.split().1)?;
        self.run.phase(Phase::Compare, 0);
        let pairs = join(self.run.threads, &mine[..], &theirs[..]);
        Ok(pairs.iter().map(|(mine, _)| self.positions.items()[*mine as usize]).collect())
    }

    pub(super) fn send_masks(
        &self,
        rows: &[[Block; 1]],
        key: Gf128,
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        let mine = self.masks(rows, key)?.into_iter().zip(self.positions.items().iter().copied());
        masks::send_sorted(self.run, MASK_WIDTH, mine, channel.split().0)?;
        Ok(())
    }
}
