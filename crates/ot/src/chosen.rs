//! OTs of strings: the sender chooses both, or a function gives the second string from a random first one.
//!
//! ```text
//! receiver, choices c                                 sender
//! rows t_j              ◄── correlated OTs ──►        rows q_j, Δ
//! chosen:               ◄── y_j,0, y_j,1 ──           y_j,b = x_j,b ⊕ H(j, q_j ⊕ b·Δ)
//!    x_j,c = y_j,c ⊕ H(j, t_j)
//! correlated:           ◄── y_j ──                    x_j,0 = H(j, q_j)    y_j = x_j,1 ⊕ H(j, q_j ⊕ Δ)
//!    x_j,c = H(j, t_j) ⊕ c_j·y_j                      x_j,1 = f_j(x_j,0)
//! ```
//!
//! **Sources:** chosen strings as in Ishai, Kilian, Nissim, Petrank, CRYPTO 2003, Figure 1, which is how
//! DCW13 sends them; correlated ones as in Asharov, Lindell, Schneider, Zohner, CCS 2013, §5.4 (C-OT). H
//! makes the pads of [`random`](crate::random). A string has up to 128 bits for each block of a row; only the
//! bytes of its width are sent.
//!
//! **Security** is that of the extension that the rows come from. A [`StringOt`] owns its
//! extension and numbers the rows over all calls, so that no number is used twice under a label. Two of them
//! in one run need two labels.
//!
//! Cost on top of the extension: 2 strings (chosen) or 1 (correlated) an OT; the sender hashes two rows, the
//! receiver one.

use vesica_channel::{Channel, ChannelError, RecvHalf, SendHalf};
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::memory::Wiped;

use crate::base::bit;
use crate::cot::{CotReceiver, CotSender};
use crate::error::Error;
use crate::random::{OtPads, add_delta};

/// OTs of a call of the extension. Both parties have to agree on it, since an extension pads the message of a
/// call.
const CHUNK: usize = 1 << 15;

/// Strings packed to their width at a time.
const BATCH: usize = 1 << 10;

/// OTs of strings over the correlated OTs `C`: the side with the strings if that is a [`CotSender`], the side
/// with the choices if it is a [`CotReceiver`].
pub struct StringOt<C, const W: usize> {
    rows: C,
    pads: OtPads<W>,
    width: usize,
    next: u64,
}

/// How many OTs each call of the extension makes for `count` OTs.
pub fn calls(count: usize) -> impl Iterator<Item = usize> {
    (0..count).step_by(CHUNK).map(move |start| CHUNK.min(count - start))
}

/// Bytes that the sender sends for `count` chosen OTs of strings of `width` bytes, the extension's aside.
#[must_use]
pub const fn bytes(width: usize, count: usize) -> u64 {
    2 * correlated_bytes(width, count)
}

/// Bytes that the sender sends for `count` correlated OTs of strings of `width` bytes, the extension's aside.
#[must_use]
pub const fn correlated_bytes(width: usize, count: usize) -> u64 {
    width as u64 * count as u64
}

impl<C, const W: usize> StringOt<C, W> {
    /// OTs of strings of `width` bytes, over `rows`.
    ///
    /// # Panics
    /// If rows are narrower than that.
    #[must_use]
    pub fn new(context: &Context, label: Label, width: usize, rows: C) -> Self {
        assert!((1..=W * Block::BYTES).contains(&width), "strings of {width} bytes from rows of {W} blocks");
        Self { rows, pads: OtPads::of(context, label), width, next: 0 }
    }

    /// Sets how many threads hash; the default is one.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { pads: self.pads.with_threads(threads), ..self }
    }
}

impl<C: CotSender<W>, const W: usize> StringOt<C, W> {
    /// Transfers one of each pair, without the bytes beyond the width.
    ///
    /// # Errors
    /// If the extension or the connection fails.
    pub fn send(&mut self, pairs: &[[[Block; W]; 2]], channel: &mut dyn Channel) -> Result<(), Error> {
        for pairs in pairs.chunks(CHUNK) {
            let [zeros, ones] = self.both_pads(pairs.len(), channel)?;
            let mut sent = Wiped::from(pairs.to_vec());
            for (sent, (zero, one)) in sent.iter_mut().zip(zeros.iter().zip(ones.iter())) {
                *sent = [Block::xor_rows(&sent[0], zero), Block::xor_rows(&sent[1], one)];
            }
            send_strings(sent.as_flattened(), self.width, channel.split().0)?;
        }
        Ok(channel.flush()?)
    }

    /// Draws x_j,0 into `zeros` and transfers it or `other(j, x_j,0)`.
    ///
    /// # Errors
    /// If the extension or the connection fails.
    pub fn send_correlated(
        &mut self,
        zeros: &mut [[Block; W]],
        mut other: impl FnMut(usize, &[Block; W]) -> [Block; W],
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        for (chunk, zeros) in zeros.chunks_mut(CHUNK).enumerate() {
            let [mut drawn, mut sent] = self.both_pads(zeros.len(), channel)?;
            drawn.iter_mut().for_each(|string| cut(string, self.width));
            for (j, (sent, drawn)) in (chunk * CHUNK..).zip(sent.iter_mut().zip(drawn.iter())) {
                *sent = Block::xor_rows(&other(j, drawn), sent);
            }
            send_strings(&sent, self.width, channel.split().0)?;
            zeros.copy_from_slice(&drawn);
        }
        Ok(channel.flush()?)
    }

    /// H(j, q_j) and H(j, q_j ⊕ Δ) of the next rows.
    fn both_pads(
        &mut self,
        count: usize,
        channel: &mut dyn Channel,
    ) -> Result<[Wiped<[Block; W]>; 2], Error> {
        let mut zeros = Wiped::from(vec![[Block::ZERO; W]; count]);
        self.rows.extend(&mut zeros, channel)?;
        let mut ones = Wiped::from(zeros.to_vec());
        add_delta(&self.rows.delta(), &mut ones);
        self.pads.hash(self.next, &mut zeros);
        self.pads.hash(self.next, &mut ones);
        self.next += count as u64;
        Ok([zeros, ones])
    }
}

impl<C: CotReceiver<W>, const W: usize> StringOt<C, W> {
    /// The string of each pair that `choices` name, packed eight to a byte. Bytes beyond the width are zero.
    ///
    /// # Errors
    /// If the extension or the connection fails.
    ///
    /// # Panics
    /// If there are fewer choices than strings.
    pub fn receive(
        &mut self,
        choices: &[u8],
        strings: &mut [[Block; W]],
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        self.chosen_pads(choices, strings, channel)?;
        self.unmask(choices, strings, channel.split().1, |[zero, one]: &[[Block; W]; 2], chosen| {
            Block::xor_rows(zero, &Block::mask_row(&Block::xor_rows(zero, one), chosen))
        })
    }

    /// As [`receive`](Self::receive), from a sender that uses [`send_correlated`](Self::send_correlated).
    ///
    /// # Errors
    /// If the extension or the connection fails.
    ///
    /// # Panics
    /// If there are fewer choices than strings.
    pub fn receive_correlated(
        &mut self,
        choices: &[u8],
        strings: &mut [[Block; W]],
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        self.chosen_pads(choices, strings, channel)?;
        self.unmask(choices, strings, channel.split().1, |[sent]: &[[Block; W]; 1], chosen| {
            Block::mask_row(sent, chosen)
        })
    }

    /// Adds `pick` of the `N` strings sent for an OT to its pad. `pick` takes the choice as a block of ones
    /// or of zeros.
    fn unmask<const N: usize>(
        &self,
        choices: &[u8],
        strings: &mut [[Block; W]],
        channel: &mut dyn RecvHalf,
        pick: impl Fn(&[[Block; W]; N], Block) -> [Block; W],
    ) -> Result<(), Error> {
        let mut sent = vec![[[Block::ZERO; W]; N]; strings.len().min(CHUNK)];
        for (chunk, strings) in strings.chunks_mut(CHUNK).enumerate() {
            let sent = &mut sent[..strings.len()];
            recv_strings(sent.as_flattened_mut(), self.width, channel)?;
            for (j, (string, sent)) in (chunk * CHUNK..).zip(strings.iter_mut().zip(&*sent)) {
                *string = Block::xor_rows(string, &pick(sent, Block::mask(bit(choices, j) == 1)));
            }
        }
        Ok(())
    }

    /// H(j, t_j) of the next rows. All calls of the extension come before the first string, so that any
    /// number of OTs takes one flight each way.
    fn chosen_pads(
        &mut self,
        choices: &[u8],
        rows: &mut [[Block; W]],
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        for (rows, choices) in rows.chunks_mut(CHUNK).zip(choices.chunks(CHUNK / 8)) {
            self.rows.extend(choices, rows, channel)?;
        }
        channel.flush()?;
        self.pads.hash(self.next, rows);
        self.next += rows.len() as u64;
        rows.iter_mut().for_each(|row| cut(row, self.width));
        Ok(())
    }
}

/// Clears the bytes beyond the width.
fn cut<const W: usize>(string: &mut [Block; W], width: usize) {
    Block::slice_as_mut_bytes(string)[width..].fill(0);
}

/// Sends the first `width` bytes of each string.
///
/// # Errors
/// If the connection fails.
pub fn send_strings<const W: usize>(
    strings: &[[Block; W]],
    width: usize,
    channel: &mut dyn SendHalf,
) -> Result<(), ChannelError> {
    if width == W * Block::BYTES {
        return channel.send(Block::slice_as_bytes(strings.as_flattened()));
    }
    let mut packed = Vec::with_capacity(BATCH * width);
    for strings in strings.chunks(BATCH) {
        packed.clear();
        strings.iter().for_each(|string| packed.extend_from_slice(&Block::slice_as_bytes(string)[..width]));
        channel.send(&packed)?;
    }
    Ok(())
}

/// Receives strings of `width` bytes; the bytes beyond are zero.
///
/// # Errors
/// If the connection fails.
pub fn recv_strings<const W: usize>(
    strings: &mut [[Block; W]],
    width: usize,
    channel: &mut dyn RecvHalf,
) -> Result<(), ChannelError> {
    if width == W * Block::BYTES {
        return channel.recv_exact(Block::slice_as_mut_bytes(strings.as_flattened_mut()));
    }
    let mut packed = vec![0; BATCH.min(strings.len()) * width];
    for strings in strings.chunks_mut(BATCH) {
        let packed = &mut packed[..strings.len() * width];
        channel.recv_exact(packed)?;
        for (string, packed) in strings.iter_mut().zip(packed.chunks_exact(width)) {
            *string = [Block::ZERO; W];
            Block::slice_as_mut_bytes(string)[..width].copy_from_slice(packed);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
