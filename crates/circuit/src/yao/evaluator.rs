//! The evaluator: the receiver of a run.

use vesica_channel::Channel;
use vesica_crypto::backend::Backend;
use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_crypto::memory::Wiped;
use vesica_ot::CotReceiver;
use vesica_ot::chosen::recv_strings;
use vesica_ot::security::Malicious;

use super::Watch;
use super::common::{Call, Common, Openings};
use super::labels::{self, BATCH, Labels};
use crate::bits::Bits;
use crate::engine::{Engine, Input, Opening, Party};
use crate::error::Error;
use crate::wires::Wires;

/// The party that evaluates; its wires are the labels of the values that they carry.
pub struct Evaluator<'a, C, const W: usize> {
    common: Common<'a, C, W>,
}

impl<'a, C: CotReceiver<W>, const W: usize> Evaluator<'a, C, W> {
    /// The evaluator of one circuit in this context, with labels of `level` bits. It opens outputs to either party.
    ///
    /// # Errors
    /// If no level has so many bits in `W` blocks.
    pub fn new(
        context: &Context,
        level: u32,
        ot: C,
        channel: &'a mut dyn Channel,
        watch: &'a mut Watch<'a>,
    ) -> Result<Self, Error> {
        Ok(Evaluator { common: Common::new(Party::Receiver, context, level, ot, channel, watch)? })
    }

    /// Computes gates with `backend`.
    #[must_use]
    pub fn with_backend(mut self, backend: Backend) -> Self {
        self.common.gates = self.common.gates.with_backend(backend);
        self
    }

    /// The labels of this party's bits, by oblivious transfer.
    fn own_input(&mut self, rows: &[Bits]) -> Result<Vec<Labels<W>>, Error> {
        let [first, ..] = rows else { return Ok(Vec::new()) };
        let len = first.len();
        assert!(rows.iter().all(|row| row.len() == len), "rows of one length");
        let choices = Bits::join(&rows.iter().collect::<Vec<_>>());
        let bytes = Wiped::from(choices.to_bytes());
        let mut strings = Labels::repeat([Block::ZERO; W], choices.len());
        let Common { ot, channel, .. } = &mut self.common;
        ot.receive_correlated(&bytes, &mut strings.0, *channel)?;
        Ok(labels::split(&strings.0, rows.len(), len))
    }
}

impl<'a, C: CotReceiver<W, Security = Malicious>, const W: usize> Evaluator<'a, C, W> {
    /// The evaluator of a circuit whose outputs it alone learns, over oblivious transfers that withstand malicious
    /// parties: see [the module](super) for what that guarantees. It opens to the receiver alone.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn receiver_only(
        context: &Context,
        level: u32,
        ot: C,
        channel: &'a mut dyn Channel,
        watch: &'a mut Watch<'a>,
    ) -> Result<Self, Error> {
        let mut evaluator = Self::new(context, level, ot, channel, watch)?;
        evaluator.common.openings = Openings::ReceiverOnly;
        Ok(evaluator)
    }
}

impl<C: CotReceiver<W>, const W: usize> Engine for Evaluator<'_, C, W> {
    type Wires = Labels<W>;

    fn chunk(&self) -> usize {
        BATCH
    }

    fn channel(&mut self) -> Option<&mut dyn Channel> {
        Some(self.common.channel)
    }

    fn constant(&mut self, _: bool, len: usize) -> Labels<W> {
        Labels::repeat([Block::ZERO; W], len)
    }

    fn input(&mut self, owner: Party, bits: Input<'_>) -> Result<Vec<Labels<W>>, Error> {
        match (owner, bits) {
            (Party::Receiver, Input::Known(rows)) => self.own_input(rows),
            (Party::Sender, Input::Hidden { rows, len }) => {
                Ok((0..rows).map(|_| Labels::repeat([Block::ZERO; W], len)).collect())
            }
            _ => Err(Error::NotMine),
        }
    }

    /// The garbler exchanges the meaning of the labels.
    fn not(&self, a: &Labels<W>) -> Labels<W> {
        a.clone()
    }

    fn and(&mut self, layer: &[(&Labels<W>, &Labels<W>)]) -> Result<Vec<Labels<W>>, Error> {
        let layer: Vec<_> = layer.iter().map(|(a, b)| [*a, *b]).collect();
        self.common.channel.flush()?;
        self.common.layer(&layer, |Call { gates, inputs: [a, b], tables, outputs, channel, width }| {
            recv_strings(tables.as_flattened_mut(), width, channel.split().1)?;
            gates.evaluate(a, b, tables, outputs);
            Ok(())
        })
    }

    fn and_private(
        &mut self,
        owner: Party,
        select: Input<'_>,
        values: &[Labels<W>],
    ) -> Result<Vec<Labels<W>>, Error> {
        match (owner, select) {
            (Party::Sender, Input::Hidden { rows: 1, len }) => {
                assert!(values.iter().all(|value| value.len() == len), "rows of one length");
            }
            (Party::Receiver, Input::Known([_])) => {
                let select = self.input(owner, select)?;
                return self.and_all(&select[0], values);
            }
            _ => return Err(Error::NotMine),
        }
        let layer: Vec<_> = values.iter().map(|value| [value, value]).collect();
        self.common.channel.flush()?;
        self.common.layer(&layer, |Call { gates, inputs: [values, _], tables, outputs, channel, width }| {
            let tables = &mut tables.as_flattened_mut()[..values.len()];
            recv_strings(tables, width, channel.split().1)?;
            gates.evaluate_private(values, tables, outputs);
            Ok(())
        })
    }

    fn open(&mut self, opening: Opening, wires: &[Labels<W>]) -> Result<Option<Vec<Bits>>, Error> {
        self.common.open(opening, wires)
    }
}
