//! What semi-honest runs add to the figure: nothing but the choice to send A' early.

use std::ops::Range;

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_encode::items::Items;
use vesica_encode::okvs::Decoded;
use vesica_ot::security::SemiHonest;
use vesica_ot::vole::Check;
use vesica_ot::vole::receiver::{Answered, Checked, Held};

use super::elements::FieldElement;
use super::hashes::Hashes;
use super::{Model, Proofs, Setup, Tossed, Values};
use crate::error::Error;
use crate::protocol::{Phase, Run};

impl<V: FieldElement> Model<V> for SemiHonest {
    type ReceiverCoins = ();
    type SenderCoins = ();
    type W = ();
    type Proofs = ();

    fn toss_as_receiver(
        setup: &Setup<'_>,
        _: &mut dyn Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<Tossed<()>, Error> {
        Ok(Tossed { context: setup.run.context.clone(), seed: None, coins: () })
    }

    fn toss_as_sender(
        setup: &Setup<'_>,
        _: &mut dyn Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<Tossed<()>, Error> {
        Ok(Tossed { context: setup.run.context.clone(), seed: None, coins: () })
    }

    fn send_masked(
        setup: &Setup<'_>,
        (): &(),
        vole: Answered<V, Self>,
        masked: Held<Vec<V>, Self>,
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Checked<V>, Error> {
        let (run, n) = (setup.run, setup.run.sizes.receiver);
        let send = |channel: &mut dyn Channel| {
            let masked = masked.release();
            V::send(&masked, channel, run)?;
            Ok::<_, Error>(channel.flush()?)
        };
        if setup.early {
            send(channel)?;
            run.phase(Phase::Unblind, 3 * n);
            let vole = Self::check(vole, &setup.plan, channel, rng)?;
            run.advance(n)?;
            Ok(vole)
        } else {
            run.phase(Phase::Unblind, 4 * n);
            let vole = Self::check(vole, &setup.plan, channel, rng)?;
            run.advance(n)?;
            send(channel)?;
            Ok(vole)
        }
    }

    fn w_of_receiver((): (), _: &mut dyn Channel) -> Result<(), Error> {
        Ok(())
    }

    fn w_of_sender((): (), _: &mut dyn Channel) -> Result<(), Error> {
        Ok(())
    }

    fn in_order(decoded: Decoded<()>) -> Values {
        Values { values: decoded.outputs, items: Some(decoded.numbers) }
    }

    /// H_o does not take the item: fetched in the order of the store, the items would cost a fifth of a run's
    /// time at 2^20 (cache misses).
    fn hash(hashes: &Hashes, _: &Items, (): (), _: Range<usize>, values: &[Block], into: &mut [u8]) {
        hashes.output.hash_batch(Block::slice_as_bytes(values), Block::BYTES, into, 16);
    }

    fn proofs(_: &Run<'_>, _: &Hashes, _: &Values, (): ()) {}
}

impl Proofs for () {
    fn send(&self, _: &Items, _: &[(u32, u32)], _: &mut dyn Channel) -> Result<(), Error> {
        Ok(())
    }

    fn check(&self, _: &Items, _: &[usize], _: &mut dyn Channel) -> Result<(), Error> {
        Ok(())
    }
}
