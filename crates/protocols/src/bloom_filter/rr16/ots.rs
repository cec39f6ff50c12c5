//! The OTs of a run, batch by batch: which extension makes them, and its messages.
//!
//! The standard form is SoftSpoken's with its check. `silent` is for slow links: 32 bits an OT become a bit
//! for the choice and a fraction of one for the set-ups, each of which serves a few million OTs, so that its
//! memory is bounded. Every set-up has base OTs and a Δ of its own. `kos15` is what RR16 ran, with the check
//! of KOS15's revision. `chosen-strings` is the standard form's extension with strings on top of it
//! ([`chosen`]).

use vesica_crypto::block::Block;
use vesica_crypto::hash::Label;
use vesica_ot::kos;
use vesica_ot::security::{Malicious, Profile, Security};
use vesica_ot::softspoken::{self, Choices, Width};
use vesica_ot::{CotReceiver, CotSender, base, silent, small_field};

use super::chosen;
use super::parameters::Rr16Parameters;
use crate::entry::Shape;
use crate::error::Error;
use crate::parameters::variants;
use crate::protocol::Ctx;

/// k of SoftSpoken: twice the work of k = 2 for half its bytes, of which a channel makes more than that.
const WIDTH: Width = Width::Four;

/// OTs of a batch, about: so few that its rows are still in the cache when its challenge is there.
const BATCH: usize = 1 << 17;

/// OTs of a silent set-up, about.
const SETUP: usize = 1 << 22;

const SILENT: Label = Label::new("gbf-rr16: a silent set-up");

/// Batches whose challenge the receiver waits for while the OTs go on, at most: a gigabit a second at a
/// round trip of 95 ms.
pub(super) const MOST_WAITING: usize = 23;

variants! {
    /// Which extension makes the OTs.
    pub(super) enum Form {
        /// SoftSpoken.
        Standard,
        /// Silent OT.
        Silent = "silent", "silent OT, for slow links: a few bits an OT, and several times the work";
        /// KOS15.
        Kos = "kos15", "OTs of 128 bits by KOS15, as RR16 ran them; with the check of its revision";
        /// SoftSpoken, with strings of the sender's choice.
        Chosen = "chosen-strings", "OTs of chosen strings, 32 bytes more each: their hash need not be programmable";
    }
}

/// How the groups of a run are split into batches.
#[derive(Clone, Copy)]
pub(super) struct Batches {
    groups: usize,
    ots_of_group: usize,
    /// Groups of a batch, the last one excepted.
    pub(super) size: usize,
}

impl Batches {
    pub(super) fn of(parameters: &Rr16Parameters) -> Self {
        let ots_of_group = parameters.ots_of_group() as usize;
        Self { groups: parameters.groups(), ots_of_group, size: BATCH.div_ceil(ots_of_group) }
    }

    /// How many there are.
    pub(super) fn count(self) -> usize {
        self.groups.div_ceil(self.size)
    }

    /// The first group of a batch, and how many it has.
    pub(super) fn groups(self, batch: usize) -> (usize, usize) {
        let first = batch * self.size;
        (first, self.size.min(self.groups - first))
    }

    /// OTs of a batch.
    pub(super) fn ots(self, batch: usize) -> usize {
        self.groups(batch).1 * self.ots_of_group
    }

    /// The OTs of the silent set-up that this batch begins, if it begins one.
    fn setup(self, batch: usize) -> Option<usize> {
        let batches = SETUP.div_ceil(self.size * self.ots_of_group);
        let all = batch..(batch + batches).min(self.count());
        batch.is_multiple_of(batches).then(|| all.map(|batch| self.ots(batch)).sum())
    }
}

/// The side with choices, the receiver's.
pub(super) enum ReceiverOts {
    Extension(Box<dyn CotReceiver<1, Security = Malicious>>),
    Silent(Option<Box<silent::Receiver<Malicious>>>),
}

impl ReceiverOts {
    pub(super) fn setup(ctx: &mut Ctx<'_, '_>) -> Result<Self, Error> {
        let Ctx { run, channel, rng, .. } = ctx.reborrow();
        Ok(match Form::of(&run.parameters) {
            Form::Standard | Form::Chosen => {
                let ots =
                    softspoken::Receiver::setup(&run.context, WIDTH, run.parameters.base_ots, channel, rng)?;
                ReceiverOts::Extension(Box::new(ots))
            }
            Form::Kos => {
                let ots = kos::Receiver::<kos::Revised>::setup(
                    &run.context,
                    run.parameters.base_ots,
                    channel,
                    rng,
                )?;
                ReceiverOts::Extension(Box::new(ots.with_threads(run.threads)))
            }
            Form::Silent => ReceiverOts::Silent(None),
        })
    }

    /// Whether the OTs of this batch begin with messages of the sender, behind its challenges.
    pub(super) fn begins_anew(&self, batches: Batches, batch: usize) -> bool {
        matches!(self, ReceiverOts::Silent(_)) && batches.setup(batch).is_some()
    }

    /// The rows t_j of a batch, for these choices.
    pub(super) fn extend(
        &mut self,
        ctx: &mut Ctx<'_, '_>,
        batches: Batches,
        batch: usize,
        choices: &[u8],
        rows: &mut [Block],
    ) -> Result<(), Error> {
        let rows = rows.as_chunks_mut().0;
        match self {
            ReceiverOts::Extension(ots) => ots.extend(choices, rows, ctx.channel)?,
            ReceiverOts::Silent(ots) => {
                if let Some(count) = batches.setup(batch) {
                    *ots = None;
                    let context = ctx.run.context.derive(SILENT, &(batch as u64).to_le_bytes());
                    let profile = Profile::Conservative;
                    let new = silent::Receiver::setup(
                        &context,
                        count,
                        profile,
                        ctx.run.parameters.base_ots,
                        ctx.channel,
                        ctx.rng,
                    )?;
                    *ots = Some(Box::new(new));
                }
                if let Some(ots) = ots {
                    ots.extend(choices, rows, ctx.channel)?;
                }
            }
        }
        Ok(ctx.channel.flush()?)
    }
}

/// The side with Δ, the sender's.
pub(super) enum SenderOts {
    Extension(Box<dyn CotSender<1, Security = Malicious>>),
    Silent(Option<Box<silent::Sender<Malicious>>>),
}

impl SenderOts {
    pub(super) fn setup(ctx: &mut Ctx<'_, '_>) -> Result<Self, Error> {
        let Ctx { run, channel, rng, .. } = ctx.reborrow();
        Ok(match Form::of(&run.parameters) {
            Form::Standard | Form::Chosen => {
                let ots =
                    softspoken::Sender::setup(&run.context, WIDTH, run.parameters.base_ots, channel, rng)?;
                SenderOts::Extension(Box::new(ots))
            }
            Form::Kos => {
                let ots =
                    kos::Sender::<kos::Revised>::setup(&run.context, run.parameters.base_ots, channel, rng)?;
                SenderOts::Extension(Box::new(ots.with_threads(run.threads)))
            }
            Form::Silent => SenderOts::Silent(None),
        })
    }

    /// The rows q_j of a batch, and its Δ.
    pub(super) fn extend(
        &mut self,
        ctx: &mut Ctx<'_, '_>,
        batches: Batches,
        batch: usize,
        rows: &mut [Block],
    ) -> Result<Block, Error> {
        let rows = rows.as_chunks_mut().0;
        match self {
            SenderOts::Extension(ots) => {
                ots.extend(rows, ctx.channel)?;
                Ok(ots.delta()[0])
            }
            SenderOts::Silent(ots) => {
                if let Some(count) = batches.setup(batch) {
                    *ots = None;
                    let context = ctx.run.context.derive(SILENT, &(batch as u64).to_le_bytes());
                    let profile = Profile::Conservative;
                    let new = silent::Sender::setup(
                        &context,
                        count,
                        profile,
                        ctx.run.parameters.base_ots,
                        ctx.channel,
                        ctx.rng,
                    )?;
                    *ots = Some(Box::new(new));
                }
                let Some(ots) = ots else { return Ok(Block::ZERO) };
                ots.extend(rows, ctx.channel)?;
                Ok(ots.delta()[0])
            }
        }
    }
}

/// Bytes of the base OTs of all set-ups, from the protocol's sender and from its receiver.
pub(super) fn base_bytes(shape: &Shape) -> [u64; 2] {
    let [elements, element] = base::cache::bytes(shape.parameters.base_ots, base::cache::LEAST_LEVEL, 128);
    let setups = setups(shape).count() as u64;
    [setups * elements, setups * element]
}

/// Bytes of the extension after that, from the receiver and from the sender.
pub(super) fn extension_bytes(shape: &Shape) -> [u64; 2] {
    let batches = Batches::of(&Rr16Parameters::of_shape(shape));
    let ots = (0..batches.count()).map(|batch| batches.ots(batch));
    match Form::of(&shape.parameters) {
        Form::Standard | Form::Chosen => {
            let batch = |ots| softspoken::bytes(WIDTH, Security::Malicious, ots, Choices::Chosen) as u64;
            let once = small_field::message_bytes(WIDTH, Security::Malicious) as u64;
            [once + ots.map(batch).sum::<u64>(), 0]
        }
        Form::Kos => [ots.map(kos::bytes).sum(), 0],
        Form::Silent => {
            let bytes = |ots| silent::setup_bytes(ots, Profile::Conservative, Security::Malicious);
            let [from_receiver, from_sender] = setups(shape)
                .map(bytes)
                .fold([0, 0], |sum, setup| [sum[0] + setup[0] as u64, sum[1] + setup[1] as u64]);
            [from_receiver + ots.map(|ots| ots as u64 / 8).sum::<u64>(), from_sender]
        }
    }
}

/// Bytes of the sender's strings.
pub(super) fn string_bytes(shape: &Shape) -> u64 {
    match Form::of(&shape.parameters) {
        Form::Chosen => (chosen::BYTES * Rr16Parameters::of_shape(shape).ots()) as u64,
        _ => 0,
    }
}

/// The OTs of each set-up.
fn setups(shape: &Shape) -> impl Iterator<Item = usize> {
    let batches = Batches::of(&Rr16Parameters::of_shape(shape));
    let silent = Form::of(&shape.parameters) == Form::Silent;
    (0..batches.count()).filter_map(move |batch| match silent {
        true => batches.setup(batch),
        false => (batch == 0).then_some(0),
    })
}

/// The base OTs, OTs, challenges, answer with commitment, coin, coin with permutation, and masks. Challenges
/// of a long run hold up its later OTs. A silent set-up has five messages before the choices.
pub(super) fn flights(shape: &Shape) -> u32 {
    let batches = Batches::of(&Rr16Parameters::of_shape(shape));
    match Form::of(&shape.parameters) {
        Form::Standard | Form::Kos | Form::Chosen => {
            7 + 2 * ((batches.count() - 1) / (MOST_WAITING + 1)) as u32
        }
        Form::Silent => 6 * setups(shape).count() as u32 + 5,
    }
}
