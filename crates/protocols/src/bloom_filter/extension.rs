//! Which OT extension makes the rows, and its messages.
//!
//! Up to level 128 the standard form uses SoftSpoken: κ/k bits an OT where IKNP sends κ, for 2^k/k blocks of
//! a generator instead of two. It gives the same correlation, at the strength of AES-128, under the same kind
//! of assumption. Above level 128, and in the forms that reproduce a paper's table, the extension is IKNP
//! with κ columns.
//!
//! Base OTs are Masny and Rindal's over ristretto255 up to level 128. Above, they are Naor and Pinkas's over
//! the curve of DCW13 Table 2 (P-384 at 192, P-521 at 256); their sender speaks first, so that a run has a
//! flight more.
//!
//! All threads of the run make IKNP's rows (DCW13 §6.1, "parallel"), and one makes SoftSpoken's. The bytes
//! depend on neither.

use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::hash::Label;
use vesica_ot::security::{Security, SemiHonest};
use vesica_ot::softspoken::{self, Choices, Width};
use vesica_ot::{CotReceiver, CotSender, iknp, small_field};

use crate::entry::{Entry, Message, Roles, Shape};
use crate::error::Error;
use crate::parameters::Parameters;
use crate::protocol::Ctx;

/// Whose hash the base OTs of IKNP use; one batch of them a run.
const BASE: Label = Label::new("bloom: base OTs");

/// k of SoftSpoken: the fastest where a byte costs about as much as a fourth of a block of the generator.
const WIDTH: Width = Width::Four;

/// The levels κ: k = κ hash functions, κ columns of the extension, strings of κ bits.
const LEVELS: &[u32] = &[80, 128, 192, 256];

/// Which extension it is.
enum Kind {
    SoftSpoken,
    Iknp,
}

impl Kind {
    fn of(parameters: &Parameters) -> Self {
        if parameters.level <= 128 && parameters.variant.is_none() { Kind::SoftSpoken } else { Kind::Iknp }
    }
}

/// The side with Δ, the sender's.
pub(super) enum Sender<const W: usize> {
    SoftSpoken(Box<softspoken::Sender<SemiHonest>>),
    Iknp(Box<iknp::Sender<W>>),
}

impl<const W: usize> Sender<W> {
    pub(super) fn setup(ctx: &mut Ctx<'_, '_>) -> Result<Self, Error> {
        let Ctx { run, channel, rng, .. } = ctx.reborrow();
        let (context, level, origin) = (&run.context, run.parameters.level, run.origin());
        Ok(match Kind::of(&run.parameters) {
            Kind::SoftSpoken => {
                let sender = softspoken::Sender::setup(context, WIDTH, origin, channel, rng)?;
                Sender::SoftSpoken(Box::new(sender))
            }
            Kind::Iknp => {
                let sender = iknp::Sender::setup(context, BASE, level, origin, channel, rng)?;
                Sender::Iknp(Box::new(sender.with_threads(run.threads)))
            }
        })
    }
}

impl<const W: usize> CotSender<W> for Sender<W> {
    type Security = SemiHonest;

    fn delta(&self) -> [Block; W] {
        match self {
            // Of one block: so wide are the rows up to level 128.
            Sender::SoftSpoken(sender) => [sender.delta()[0]; W],
            Sender::Iknp(sender) => sender.delta(),
        }
    }

    fn extend(&mut self, rows: &mut [[Block; W]], channel: &mut dyn Channel) -> Result<(), vesica_ot::Error> {
        match self {
            Sender::SoftSpoken(sender) => sender.extend(rows.as_flattened_mut().as_chunks_mut().0, channel),
            Sender::Iknp(sender) => sender.extend(rows, channel),
        }
    }
}

/// The side with choices, the receiver's.
pub(super) enum Receiver<const W: usize> {
    SoftSpoken(Box<softspoken::Receiver<SemiHonest>>),
    Iknp(Box<iknp::Receiver<W>>),
}

impl<const W: usize> Receiver<W> {
    pub(super) fn setup(ctx: &mut Ctx<'_, '_>) -> Result<Self, Error> {
        let Ctx { run, channel, rng, .. } = ctx.reborrow();
        let (context, level, origin) = (&run.context, run.parameters.level, run.origin());
        Ok(match Kind::of(&run.parameters) {
            Kind::SoftSpoken => {
                let receiver = softspoken::Receiver::setup(context, WIDTH, origin, channel, rng)?;
                Receiver::SoftSpoken(Box::new(receiver))
            }
            Kind::Iknp => {
                let receiver = iknp::Receiver::setup(context, BASE, level, origin, channel, rng)?;
                Receiver::Iknp(Box::new(receiver.with_threads(run.threads)))
            }
        })
    }
}

impl<const W: usize> CotReceiver<W> for Receiver<W> {
    type Security = SemiHonest;

    fn extend(
        &mut self,
        choices: &[u8],
        rows: &mut [[Block; W]],
        channel: &mut dyn Channel,
    ) -> Result<(), vesica_ot::Error> {
        match self {
            Receiver::SoftSpoken(receiver) => {
                receiver.extend(choices, rows.as_flattened_mut().as_chunks_mut().0, channel)
            }
            Receiver::Iknp(receiver) => receiver.extend(choices, rows, channel),
        }
    }
}

/// Columns of the base OTs.
fn columns(parameters: &Parameters) -> u32 {
    match Kind::of(parameters) {
        Kind::SoftSpoken => 128,
        Kind::Iknp => parameters.level,
    }
}

/// What the entries of the family have in common.
pub(super) const fn entry(name: &'static str, title: &'static str, roles: Roles) -> Entry {
    let entry = Entry::new(name, title, roles).family("bloom_filter").levels(LEVELS);
    entry.flights(flights).base_ots(kept_base_ots).test_items(1 << 9)
}

/// The receiver's choices, with the size of the filter in words.
pub(super) const fn choices(formula: &'static str, bytes: fn(&Shape) -> u64) -> Message {
    Message::of_receiver("the Bloom filter of the receiver, as choices of OTs", formula, bytes)
}

/// The OTs' rows and the masks, which wait for each other; the base OTs before them are one message of Masny
/// and Rindal up to level 128, where the other one crosses it, and two of Naor and Pinkas above.
pub(super) fn flights(shape: &Shape) -> u32 {
    match (shape.kept_base_ots, shape.parameters.level) {
        (true, _) => 2,
        (false, ..=128) => 3,
        (false, _) => 4,
    }
}

/// How many base OTs there are that may be kept.
pub(super) fn kept_base_ots(shape: &Shape) -> u64 {
    if shape.parameters.may_keep_base_ots() { u64::from(columns(&shape.parameters)) } else { 0 }
}

/// Bytes of a message of the base OTs, by who sends it: 0 the sender, 1 the receiver.
fn base_bytes(shape: &Shape, from: usize) -> u64 {
    shape.unless_kept(iknp::setup_bytes(shape.parameters.base_ots, columns(&shape.parameters))[from])
}

/// The base OTs' messages. Their choice is Δ, so the sender of the protocol is their receiver.
pub(super) const BASE_MESSAGES: [Message; 2] = [
    Message::of_sender(
        "base OTs: an element for each string; not sent where they are kept",
        "64·128 (IKNP: 64·κ; 49·κ at level 192, 67·κ at 256)",
        |shape| base_bytes(shape, 0),
    ),
    Message::of_receiver(
        "base OTs: the other side's element; not sent where they are kept",
        "32 (98 at level 192, 134 at 256)",
        |shape| base_bytes(shape, 1),
    ),
];

/// The receiver's bytes in the OTs after that, made for so many bins in calls of so many rows for each.
pub(super) fn choice_bytes(parameters: &Parameters, bins: u64, calls: impl Iterator<Item = usize>) -> u64 {
    match Kind::of(parameters) {
        Kind::Iknp => bins * calls.map(|rows| iknp::bytes(parameters.level, rows)).sum::<u64>(),
        Kind::SoftSpoken => {
            let call = |rows| softspoken::bytes(WIDTH, Security::SemiHonest, rows, Choices::Chosen) as u64;
            let once = small_field::message_bytes(WIDTH, Security::SemiHonest) as u64;
            once + bins * calls.map(call).sum::<u64>()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bloom_filter::{dcw13, random_gbf};
    use crate::testing::{Case, lying_wire, planted_for, run_over};

    /// The base OTs' messages on the wire: elements of ristretto255 up to level 128, of P-384 at 192, of
    /// P-521 at 256.
    #[test]
    fn base_ots_are_over_the_curve_of_the_level() {
        for entry in [&dcw13::ENTRY, &random_gbf::ENTRY] {
            for (level, once, all) in
                [(80, 32, 64 * 128), (128, 32, 64 * 128), (192, 2 * 49, 49 * 192), (256, 2 * 67, 67 * 256)]
            {
                let parameters = Parameters { level, ..Parameters::default() };
                let sets = planted_for(&parameters, 30, 20, 7, 1);
                let (first, second, wire) = lying_wire(None);
                let ended = run_over(entry, &sets, Case { parameters, ..Case::default() }, (first, second));
                assert!(ended.confirmed());
                assert_eq!(ended.receiver.unwrap().rows(), sets.receiver_rows);
                let [receiver, sender] = wire.frames();
                assert_eq!([receiver[0], sender[0]], [once, all], "{} at {level}", entry.name);
            }
        }
    }
}
