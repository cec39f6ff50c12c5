//! What the garbler and the evaluator have in common.

use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::half_gates::HalfGates;
use vesica_crypto::hash::Context;
use vesica_ot::chosen::StringOt;
use vesica_ot::iknp::LEVELS;

use super::labels::{Label, Labels, Stage};
use super::{GATES, INPUTS, Watch, label_bytes};
use crate::bits::Bits;
use crate::engine::{Opening, Party};
use crate::error::Error;
use crate::shares;

/// A party of one circuit, over the oblivious transfers `C`.
pub(super) struct Common<'a, C, const W: usize> {
    me: Party,
    pub(super) ot: StringOt<C, W>,
    pub(super) channel: &'a mut dyn Channel,
    watch: &'a mut Watch<'a>,
    pub(super) gates: HalfGates<W>,
    stage: Stage<W>,
    width: usize,
    pub(super) openings: Openings,
}

/// Which outputs an engine opens.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Openings {
    All,
    ReceiverOnly,
}

/// What a call of a kernel works on, and where it sends or receives the ciphertexts.
pub(super) struct Call<'a, const W: usize> {
    pub(super) gates: &'a mut HalfGates<W>,
    pub(super) inputs: [&'a [Label<W>]; 2],
    /// Room for both ciphertexts of each gate.
    pub(super) tables: &'a mut [[Label<W>; 2]],
    pub(super) outputs: &'a mut [Label<W>],
    pub(super) channel: &'a mut dyn Channel,
    /// Bytes of a label.
    pub(super) width: usize,
}

impl<'a, C, const W: usize> Common<'a, C, W> {
    /// A party with labels of `level` bits.
    pub(super) fn new(
        me: Party,
        context: &Context,
        level: u32,
        ot: C,
        channel: &'a mut dyn Channel,
        watch: &'a mut Watch<'a>,
    ) -> Result<Self, Error> {
        let width = label_bytes(level);
        if !LEVELS.contains(&level) || width.div_ceil(Block::BYTES) != W {
            return Err(Error::UnfitLevel { level, blocks: W });
        }
        Ok(Common {
            me,
            ot: StringOt::new(context, INPUTS, width, ot),
            channel,
            watch,
            gates: HalfGates::of(context, GATES, level),
            stage: Stage::new(),
            width,
            openings: Openings::All,
        })
    }

    /// Hands the gates of a layer to a kernel, and gives out the labels of their outputs.
    pub(super) fn layer(
        &mut self,
        layer: &[[&Labels<W>; 2]],
        mut kernel: impl FnMut(Call<'_, W>) -> Result<(), Error>,
    ) -> Result<Vec<Labels<W>>, Error> {
        let Common { channel, watch, gates, stage, width, .. } = self;
        stage.run(layer, |inputs, tables, outputs| {
            let count = outputs.len() as u64;
            kernel(Call { gates, inputs, tables, outputs, channel: &mut **channel, width: *width })?;
            watch(count)
        })
    }

    /// Sends the lowest bits of this party's labels if the other learns the values, and adds the other's to them if this
    /// party does.
    pub(super) fn open(&mut self, opening: Opening, wires: &[Labels<W>]) -> Result<Option<Vec<Bits>>, Error> {
        if self.openings == Openings::ReceiverOnly && opening.is_to(Party::Sender) {
            return Err(Error::OpensToSender);
        }
        let shares: Vec<Bits> = wires.iter().map(Labels::low_bits).collect();
        shares::open(opening, self.me, &shares.iter().collect::<Vec<_>>(), self.channel)
    }
}
