//! The garbler: the sender of a run.

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::backend::Backend;
use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_ot::CotSender;
use vesica_ot::chosen::send_strings;
use vesica_ot::security::Malicious;
use zeroize::Zeroizing;

use super::common::{Call, Common, Openings};
use super::labels::{self, BATCH, Label, Labels};
use super::{Watch, label_bytes};
use crate::bits::Bits;
use crate::engine::{Engine, Input, Opening, Party};
use crate::error::Error;

/// The party that garbles; its wires are the labels of zero.
pub struct Garbler<'a, C, const W: usize> {
    common: Common<'a, C, W>,
    delta: Zeroizing<Label<W>>,
}

impl<'a, C: CotSender<W>, const W: usize> Garbler<'a, C, W> {
    /// The garbler of one circuit in this context, with labels of `level` bits. It opens outputs to either party.
    ///
    /// # Errors
    /// If no level has so many bits in `W` blocks.
    pub fn new(
        context: &Context,
        level: u32,
        ot: C,
        channel: &'a mut dyn Channel,
        watch: &'a mut Watch<'a>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self, Error> {
        let common = Common::new(Party::Sender, context, level, ot, channel, watch)?;
        let mut delta = Zeroizing::new([Block::ZERO; W]);
        let bytes = &mut Block::slice_as_mut_bytes(&mut *delta)[..label_bytes(level)];
        rng.fill_bytes(bytes);
        // The lowest bits of the two labels of a wire differ.
        bytes[0] |= 1;
        Ok(Garbler { common, delta })
    }

    /// Computes gates with `backend`.
    #[must_use]
    pub fn with_backend(mut self, backend: Backend) -> Self {
        self.common.gates = self.common.gates.with_backend(backend);
        self
    }

    /// The labels of zero of wires that carry `bits` and whose active labels are zero: Δ where a bit is set.
    fn selected(&self, bits: &Bits) -> Labels<W> {
        Labels::of(bits.iter().map(|bit| Block::mask_row(&self.delta, Block::mask(bit))).collect())
    }

    /// The labels of the evaluator's bits, which it gets by oblivious transfer.
    fn other_input(&mut self, rows: usize, len: usize) -> Result<Vec<Labels<W>>, Error> {
        let mut zeros = Labels::repeat([Block::ZERO; W], rows * len);
        let Garbler { common: Common { ot, channel, .. }, delta } = self;
        ot.send_correlated(&mut zeros.0, |_, zero| Block::xor_rows(zero, delta), *channel)?;
        Ok(labels::split(&zeros.0, rows, len))
    }
}

impl<'a, C: CotSender<W, Security = Malicious>, const W: usize> Garbler<'a, C, W> {
    /// The garbler of a circuit whose outputs the evaluator alone learns, over oblivious transfers that withstand
    /// malicious parties: see [the module](super) for what that guarantees. It opens to the receiver alone.
    ///
    /// ```compile_fail
    /// # use vesica_circuit::{Watch, yao::Garbler};
    /// # use vesica_ot::iknp;
    /// fn over_iknp(ot: iknp::Sender<1>) {
    ///     # let context = vesica_crypto::hash::Context::new(&[0; 32], "", b"", 0, 0);
    ///     # let (mut channel, _) = vesica_channel::memory::pair();
    ///     # let (watch, rng) = (&mut |_| Ok(()), &mut vesica_crypto::prg::Prg::from_seed([0; 16]));
    ///     let garbler = Garbler::receiver_only(&context, 128, ot, &mut channel, watch, rng);
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn receiver_only(
        context: &Context,
        level: u32,
        ot: C,
        channel: &'a mut dyn Channel,
        watch: &'a mut Watch<'a>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self, Error> {
        let mut garbler = Self::new(context, level, ot, channel, watch, rng)?;
        garbler.common.openings = Openings::ReceiverOnly;
        Ok(garbler)
    }
}

impl<C: CotSender<W>, const W: usize> Engine for Garbler<'_, C, W> {
    type Wires = Labels<W>;

    fn chunk(&self) -> usize {
        BATCH
    }

    fn channel(&mut self) -> Option<&mut dyn Channel> {
        Some(self.common.channel)
    }

    fn constant(&mut self, bit: bool, len: usize) -> Labels<W> {
        self.selected(&Bits::repeat(bit, len))
    }

    fn input(&mut self, owner: Party, bits: Input<'_>) -> Result<Vec<Labels<W>>, Error> {
        match (owner, bits) {
            (Party::Sender, Input::Known(rows)) => Ok(rows.iter().map(|bits| self.selected(bits)).collect()),
            (Party::Receiver, Input::Hidden { rows, len }) => self.other_input(rows, len),
            _ => Err(Error::NotMine),
        }
    }

    fn not(&self, a: &Labels<W>) -> Labels<W> {
        Labels::of(a.0.iter().map(|label| Block::xor_rows(label, &self.delta)).collect())
    }

    fn and(&mut self, layer: &[(&Labels<W>, &Labels<W>)]) -> Result<Vec<Labels<W>>, Error> {
        let layer: Vec<_> = layer.iter().map(|(a, b)| [*a, *b]).collect();
        let Garbler { common, delta } = self;
        common.layer(&layer, |Call { gates, inputs: [a, b], tables, outputs, channel, width }| {
            gates.garble(delta, a, b, tables, outputs);
            Ok(send_strings(tables.as_flattened(), width, channel.split().0)?)
        })
    }

    fn and_private(
        &mut self,
        owner: Party,
        select: Input<'_>,
        values: &[Labels<W>],
    ) -> Result<Vec<Labels<W>>, Error> {
        let bits = match (owner, select) {
            (Party::Sender, Input::Known([bits])) => bits,
            (Party::Receiver, Input::Hidden { rows: 1, .. }) => {
                let select = self.input(owner, select)?;
                return self.and_all(&select[0], values);
            }
            _ => return Err(Error::NotMine),
        };
        let selected = self.selected(bits);
        let layer: Vec<_> = values.iter().map(|value| [&selected, value]).collect();
        let Garbler { common, delta } = self;
        common.layer(&layer, |Call { gates, inputs: [selected, values], tables, outputs, channel, width }| {
            let tables = &mut tables.as_flattened_mut()[..values.len()];
            gates.garble_private(delta, selected, values, tables, outputs);
            Ok(send_strings(tables, width, channel.split().0)?)
        })
    }

    fn open(&mut self, opening: Opening, wires: &[Labels<W>]) -> Result<Option<Vec<Bits>>, Error> {
        self.common.open(opening, wires)
    }
}
