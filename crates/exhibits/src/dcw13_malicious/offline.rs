//! What either party prepares before its items count: OTs with random choices, the random strings, the shares.

use vesica_crypto::block::Block;
use vesica_crypto::gf128::Gf128;
use vesica_crypto::memory::{Wiped, large_vec};
use vesica_crypto::prg::Prg;
use vesica_ot::CotSender;
use vesica_ot::security::Malicious;
use vesica_ot::softspoken::{self, Choices};
use vesica_protocols::{Ctx, Error, Phase};
use zeroize::Zeroizing;

use super::{Agreed, CHUNK, Form, WIDTH};

/// OTs made between two signs of progress: whole chunks of the checked extension.
const PIECE: usize = 8 * 127 * Block::BITS;

/// The receiver's OTs with random choices, before its items count.
pub(super) struct ReceiverOffline {
    /// b.
    pub(super) choices: Wiped<u8>,
    /// t_j.
    pub(super) rows: Wiped<[Block; 1]>,
    /// The seed of r.
    pub(super) nonces: Block,
}

impl ReceiverOffline {
    /// 1. The OTs, and r_0, …, r_m-1.
    pub(super) fn prepare(ctx: &mut Ctx<'_, '_>, agreed: &Agreed) -> Result<Self, Error> {
        let Ctx { run, channel, rng, .. } = ctx.reborrow();
        run.phase(Phase::BaseOts, 0);
        let mut ot = softspoken::Receiver::<Malicious>::setup(
            &run.context,
            WIDTH,
            run.parameters.base_ots,
            channel,
            rng,
        )?;
        run.phase(Phase::Extend, agreed.slots());
        let mut rows = Wiped::from(large_vec([Block::ZERO], agreed.slots()));
        let mut choices = Wiped::from(vec![0; agreed.slots() / 8]);
        for (rows, choices) in rows.chunks_mut(PIECE).zip(choices.chunks_mut(PIECE / 8)) {
            ot.extend_to(Choices::Random, choices, rows, |message| Ok(channel.send(message)?))?;
            run.advance(rows.len())?;
        }
        channel.flush()?;
        let nonces = Block::random(rng);
        if agreed.form == Form::Published {
            let (mut stream, mut chunk) = (Prg::from_seed(nonces), vec![Block::ZERO; CHUNK]);
            for first in (0..agreed.slots()).step_by(CHUNK) {
                let chunk = &mut chunk[..CHUNK.min(agreed.slots() - first)];
                stream.fill_blocks(chunk);
                channel.send(Block::slice_as_bytes(chunk))?;
            }
            channel.flush()?;
        }
        Ok(Self { choices, rows, nonces })
    }
}

/// The sender's OTs, and the shares of its key, before its items count.
pub(super) struct SenderOffline {
    /// Δ.
    pub(super) delta: Zeroizing<Block>,
    /// q_j.
    pub(super) rows: Wiped<[Block; 1]>,
    /// r_j.
    pub(super) nonces: Vec<Block>,
    /// sk.
    pub(super) key: Zeroizing<Gf128>,
    /// f_j.
    pub(super) shares: Wiped<Block>,
}

impl SenderOffline {
    pub(super) fn prepare(ctx: &mut Ctx<'_, '_>, agreed: &Agreed) -> Result<Self, Error> {
        let Ctx { run, channel, rng, .. } = ctx.reborrow();
        run.phase(Phase::BaseOts, 0);
        let mut ot = softspoken::Sender::<Malicious>::setup(
            &run.context,
            WIDTH,
            run.parameters.base_ots,
            channel,
            rng,
        )?;
        run.phase(Phase::Extend, agreed.slots());
        let mut rows = Wiped::from(large_vec([Block::ZERO], agreed.slots()));
        for rows in rows.chunks_mut(PIECE) {
            ot.extend_from(Choices::Random, rows, |message| Ok(channel.recv_exact(message)?))?;
            run.advance(rows.len())?;
        }
        // 1. r_0, …, r_m-1.
        let mut nonces = Vec::new();
        if agreed.form == Form::Published {
            nonces = large_vec(Block::ZERO, agreed.slots());
            channel.recv_exact(Block::slice_as_mut_bytes(&mut nonces))?;
        }
        // 2. A random key, and its m shares.
        run.phase(Phase::Share, 0);
        let (key, shares) = agreed.sharing.share(rng);
        let [delta] = ot.delta();
        Ok(Self { delta: Zeroizing::new(delta), rows, nonces, key: Zeroizing::new(key), shares })
    }
}
