//! Ideal OTs for protocols by bins, and a sender of them that notes how much its party had sent whenever it asked
//! for the next rows.

use std::sync::Mutex;

use rand_core::CryptoRng;
use vesica_channel::{Channel, Meter, RecvHalf, memory};
use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_crypto::prg::Prg;
use vesica_ot::Error;
use vesica_ot::nco::NcoSender;
use vesica_ot::nco::ideal::{self, Word};

use super::{Case, Party, Planted, duel_over};

/// Ends the set-up of ideal OTs, whose dealer has one key.
pub(crate) fn complete_base_ots(channel: &mut dyn Channel) -> Result<ideal::Receiver, Error> {
    ideal::Receiver::setup(&Context::new(&[0; 32], "", b"", 0, 0), channel, &mut Prg::from_seed([8; 16]))
}

/// What had been sent at each call, in bytes, by the meter of the sender's end.
pub(crate) struct Sent {
    meter: Meter,
    notes: Mutex<Vec<u64>>,
}

/// The sender of the ideal OPRF, which notes.
pub(crate) struct Sender<'a> {
    ideal: ideal::Sender,
    sent: &'a Sent,
}

impl<'a> Sender<'a> {
    pub(crate) fn setup(
        context: &Context,
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
        sent: &'a Sent,
    ) -> Result<Self, Error> {
        Ok(Self { ideal: ideal::Sender::setup(context, channel, rng)?, sent })
    }
}

impl<T: Word, const W: usize> NcoSender<T, W> for Sender<'_> {
    fn next(&self) -> u64 {
        NcoSender::<T, W>::next(&self.ideal)
    }

    fn extend(&mut self, rows: &mut [[Block; W]], channel: &mut dyn RecvHalf) -> Result<(), Error> {
        self.sent.notes.lock().unwrap().push(self.sent.meter.traffic().payload_sent);
        NcoSender::<T, W>::extend(&mut self.ideal, rows, channel)
    }

    fn evaluate_groups(
        &self,
        size: usize,
        first: u64,
        rows: &[[Block; W]],
        at: &[u32],
        words: &[T],
        outputs: &mut [Block],
    ) {
        self.ideal.evaluate_groups(size, first, rows, at, words, outputs);
    }
}

/// What a sender had sent whenever it asked for rows, against a receiver that takes whatever comes.
pub(crate) fn noted(
    agreed: (&crate::entry::Entry, &Planted, Case),
    sender: impl Fn(&mut crate::Ctx<'_, '_>, &Sent) -> Result<(), crate::Error> + Send + Sync,
) -> Vec<u64> {
    let ends = memory::pair();
    let sent = Sent { meter: ends.1.meter(), notes: Mutex::default() };
    let all = agreed.0.bytes(crate::Role::Sender, &crate::testing::shape(agreed.1, agreed.2));
    let receiver: Box<Party<'_, ()>> = Box::new(|ctx| {
        let _: ideal::Receiver = ideal::Receiver::setup(&ctx.run.context, ctx.channel, ctx.rng)?;
        // Base OTs aside; what does not come ends with the other end.
        let mut byte = [0];
        (0..all).try_for_each(|_| ctx.channel.recv_exact(&mut byte)).or(Ok(()))
    });
    let (_, ended) = duel_over(agreed, ends, receiver, Box::new(|ctx| sender(ctx, &sent)));
    ended.unwrap();
    sent.notes.into_inner().unwrap()
}
