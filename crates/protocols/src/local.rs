//! Both roles of a protocol in one process, over a channel in memory.

use std::thread;

use rand_core::CryptoRng;
use vesica_channel::{Channel, Stream, memory};
use vesica_crypto::prg::Prg;
use vesica_encode::items::Items;

use crate::entry::Entry;
use crate::error::Error;
use crate::outcome::Outcome;
use crate::parameters::Parameters;
use crate::protocol::{Ctx, HelperCtx, Run, Sizes};

/// Runs both roles of a protocol, semi-honest and with the usual parameters, and gives what the receiver, who
/// holds `mine`, learns.
///
/// # Errors
/// If the items are not digests of 128 bits, or the run fails.
pub fn run_local(
    entry: &Entry,
    mine: &Items,
    theirs: &Items,
    rng: &mut dyn CryptoRng,
) -> Result<Outcome, Error> {
    let sizes = Sizes { receiver: mine.len(), sender: theirs.len() };
    let mut sid = [0; 32];
    rng.fill_bytes(&mut sid);
    let run = || entry.run(&sid, sizes, Parameters::default());
    let mut sender_rng = Prg::from_rng(rng);
    let (here, there) = memory::pair();
    let links = entry.has_helper().then(|| [memory::pair(), memory::pair()]);
    let (helper, my_helper, their_helper) = match links {
        Some([(to_me, mine), (to_them, theirs)]) => (Some([to_me, to_them]), Some(mine), Some(theirs)),
        None => (None, None, None),
    };
    thread::scope(|scope| {
        if let Some(parties) = helper {
            // The parties know what went wrong: the helper only sees them go.
            scope.spawn(|| help(entry, &run(), parties));
        }
        let sender = scope
            .spawn(|| play(&run(), (there, their_helper), &mut sender_rng, |ctx| entry.send(ctx, theirs)));
        let received =
            play(&run(), (here, my_helper), rng, |ctx| entry.receive(&mut ctx.reborrow(), mine)?.finish());
        // The party that failed first knows why: the other one only sees its end go.
        match (received, sender.join()) {
            (_, Err(panic)) => std::panic::resume_unwind(panic),
            (Err(Error::Channel(_)), Ok(Err(error))) => Err(error),
            (received, _) => received,
        }
    })
}

/// Plays the helper over its ends of two channels, which go with it.
fn help(entry: &Entry, run: &Run<'_>, [mut receiver, mut sender]: [Stream; 2]) {
    let ctx = &mut HelperCtx { run, receiver: &mut receiver, sender: &mut sender };
    if entry.assist(ctx).is_err() {
        receiver.abort();
        sender.abort();
    }
}

/// Plays a role over its end of the channel, which goes with it, and its end of that to a helper.
fn play<T>(
    run: &Run<'_>,
    (mut channel, mut helper): (Stream, Option<Stream>),
    rng: &mut dyn CryptoRng,
    role: impl FnOnce(&mut Ctx<'_, '_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut ctx = Ctx::new(run, &mut channel, rng);
    ctx.helper = helper.as_mut().map(|helper| helper as &mut dyn Channel);
    let ended = role(&mut ctx);
    let ended = ended.and_then(|ended| Ok(channel.flush().map(|()| ended)?));
    if ended.is_err() {
        channel.abort();
        helper.iter_mut().for_each(Stream::abort);
    }
    ended
}
