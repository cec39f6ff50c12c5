//! What semi-honest runs add to the figure: nothing but the choice to send A' early.

use std::ops::Range;
use std::time::Duration;

use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::memory::Wiped;
use vesica_encode::items::Items;
use vesica_encode::okvs::Decoded;
use vesica_ot::security::SemiHonest;
use vesica_ot::vole::Check;
use vesica_ot::vole::receiver::{Answered, Checked};

use super::elements::FieldElement;
use super::hashes::Hashes;
use super::{Coins, Hashing, Model, Order, Proofs, Setup, ShareOfW, Values, has_payloads};
use crate::error::Error;
use crate::protocol::{Ctx, Phase};

impl<V: FieldElement> Model<V> for SemiHonest {
    type W = ();
    type ReceiverShare = ();
    type SenderShare = ();
    type Proofs = KeptValues;

    fn send_masked(
        setup: &Setup,
        ctx: &mut Ctx<'_, '_>,
        (): &(),
        mut vole: Answered<V, Self>,
        p: Wiped<V>,
    ) -> Result<Checked<V>, Error> {
        let (run, n) = (ctx.run, ctx.run.sizes.receiver);
        let mut masked = Some(run.report(n, vole.masked(p))?);
        if let Some(early) = masked.take_if(|_| setup.early) {
            V::send(&early, ctx.channel, run)?;
            ctx.channel.flush()?;
        }
        run.phase(Phase::Unblind, if setup.early { 3 } else { 4 } * n);
        let (_, vole) = Self::take_flight3(vole, &setup.plan, ctx.channel, ctx.rng)?;
        run.advance(n)?;
        if let Some(late) = masked {
            V::send(&late, ctx.channel, run)?;
            ctx.channel.flush()?;
        }
        Ok(vole)
    }

    fn in_order(decoded: Decoded<()>) -> Values {
        Values { values: decoded.outputs, order: Order(Some(decoded.numbers)) }
    }

    /// H_o does not take the item: fetching the items in the order of the store would miss the cache.
    fn hash(with: &Hashing<'_, ()>, _: Range<usize>, values: &[Block], into: &mut [u8]) {
        with.hashes.output.hash_batch(Block::slice_as_bytes(values), Block::BYTES, into, 16);
    }

    fn proofs(with: &Hashing<'_, ()>, values: &Values) -> KeptValues {
        let kept = if has_payloads(with.run) { values.by_item() } else { Wiped::default() };
        KeptValues { hashes: with.hashes.clone(), values: kept }
    }
}

impl ShareOfW for () {
    type W = ();

    fn toss(ctx: &mut Ctx<'_, '_>, _: Duration) -> Result<Coins<()>, Error> {
        Ok(Coins { context: ctx.run.context.clone(), seed: None, share: () })
    }

    fn w(self, _: &mut dyn Channel) -> Result<(), Error> {
        Ok(())
    }
}

/// The decoded values of my items, in a run for payloads. Matches take no proof.
pub(crate) struct KeptValues {
    hashes: Hashes,
    values: Wiped<Block>,
}

impl Proofs for KeptValues {
    fn send(&self, _: &Items, _: &[(u32, u32)], _: &mut dyn Channel) -> Result<(), Error> {
        Ok(())
    }

    fn check(&self, _: &Items, _: &[usize], _: &mut dyn Channel) -> Result<(), Error> {
        Ok(())
    }

    /// As H_o, H_p does not take the item.
    fn pads(&self, _: &Items, of: &[u32], pads: &mut [u8]) {
        let values: Wiped<Block> =
            of.iter().map(|item| self.values[*item as usize]).collect::<Vec<_>>().into();
        self.hashes.pads(Block::slice_as_bytes(&values), Block::BYTES, pads);
    }
}
