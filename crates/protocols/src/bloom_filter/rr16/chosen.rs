//! OTs of strings that the sender chooses: RR16 without a programmable random oracle (§4.1, Figure 4 as it stands).
//!
//! The strings of the standard form are hashes of rows. A proof that hands out strings of an ideal OT has to program
//! that hash. Here the sender draws both strings of each OT first, and sends them masked by hashes of its rows:
//!
//! ```text
//! receiver, t_j = q_j ⊕ b_j·Δ                 sender, q_j and Δ
//!                                             m_{j,0}, m_{j,1} ←$ {0, 1}^128
//!              ◄── y_{j,0}, y_{j,1} ──        y_{j,0} = m_{j,0} ⊕ H(j, q_j), y_{j,1} = m_{j,1} ⊕ H'(j, q_j ⊕ Δ)
//! m_{j,b} = y_{j,b} ⊕ H or H'(j, t_j)
//! ```
//!
//! A simulator of either party knows the choices, or q_j and Δ, from the extension. Against a receiver it masks the one
//! string that it was given and sends 128 random bits for the other, which nobody can tell from a mask as long as H and
//! H' are correlation robust. Against a sender it takes the masks off. It programs no hash.
//!
//! A batch's strings are sent before its challenge. They come from a generator, two streams a group, so that the sender
//! makes those of opened OTs again for the check and keeps m_{j,1} alone.

use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::memory::Wiped;
use vesica_crypto::par;
use vesica_crypto::prg::Prg;
use zeroize::Zeroizing;

use super::parameters::Rr16Parameters;
use super::state::RowHashes;
use crate::error::Error;

/// Both strings of an OT, masked.
pub(super) type Masked = [Block; 2];

/// Bytes of the strings of an OT.
pub(super) const BYTES: usize = 2 * Block::BYTES;

/// The sender's strings of all OTs.
pub(super) struct ChosenStrings {
    seed: Zeroizing<Block>,
    ots_of_group: usize,
}

impl ChosenStrings {
    pub(super) fn new(parameters: &Rr16Parameters, seed: Block) -> Self {
        Self { seed: Zeroizing::new(seed), ots_of_group: parameters.ots_of_group() as usize }
    }

    /// m_{j,choice} of a group's OTs.
    pub(super) fn of_group(&self, group: usize, choice: bool) -> Wiped<Block> {
        let mut strings = Wiped::from(vec![Block::ZERO; self.ots_of_group]);
        Prg::fork(*self.seed, 2 * group as u64 + u64::from(choice)).fill_blocks(&mut strings);
        strings
    }

    /// Sends the strings of the OTs of groups from number `first` on, whose rows are there: each row becomes m_{j,1}.
    pub(super) fn send(
        &self,
        (threads, hashes): (usize, &RowHashes),
        (first, delta): (usize, Block),
        rows: &mut [Block],
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        let mut masked: Vec<Masked> = vec![[Block::ZERO; 2]; rows.len()];
        let ots = self.ots_of_group;
        let tasks = rows.chunks_mut(ots).zip(masked.chunks_mut(ots));
        let Ok(()) = par::for_each(threads, tasks, |index, (rows, masked)| {
            let group = first + index;
            let number = (group * ots) as u64;
            let mut pads = Wiped::from(rows.to_vec());
            hashes.opened.hash(number, pads.as_chunks_mut().0);
            rows.iter_mut().for_each(|row| *row ^= delta);
            hashes.strings.hash(number, rows.as_chunks_mut().0);
            let strings = [false, true].map(|choice| self.of_group(group, choice));
            for (at, masked) in masked.iter_mut().enumerate() {
                *masked = [strings[0][at] ^ pads[at], strings[1][at] ^ rows[at]];
            }
            rows.copy_from_slice(&strings[1]);
            Ok::<_, std::convert::Infallible>(())
        });
        Ok(channel.send(Block::slice_as_bytes(masked.as_flattened()))?)
    }
}

/// The masked strings of so many OTs.
pub(super) fn receive(count: usize, channel: &mut dyn Channel) -> Result<Vec<Masked>, Error> {
    let mut masked: Vec<Masked> = vec![[Block::ZERO; 2]; count];
    channel.recv_exact(Block::slice_as_mut_bytes(masked.as_flattened_mut()))?;
    Ok(masked)
}
