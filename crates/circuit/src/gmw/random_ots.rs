//! Triples from random OTs, in both directions.
//!
//! ```text
//! OT j: one party has r_j and H(j, t_j)           the other has H(j, q_j) and H(j, q_j ⊕ Δ)
//!       t = H(j, t_j)                              m = H(j, q_j),   b = H(j, q_j) ⊕ H(j, q_j ⊕ Δ)
//! ```
//!
//! t = m ⊕ r_j·b, since t_j = q_j ⊕ r_j·Δ. The choices r_j are random, and H makes the pads of
//! [`random`](vesica_ot::random): a triple of one bit takes the lowest bit of a pad, a string of w bits the w
//! lowest ones. H has a label for each direction and each of these uses, and the OTs of a label are numbered
//! over the whole run, so that no hash is used twice. To the party with r_j, the pad of the other choice is pseudo-random, and so
//! is b; to the other party r_j is hidden by the extension.
//!
//! Triples of one bit are made in batches: each party first sends what its choices take, for the whole batch,
//! and then reads what the other sent, so that both directions of the link are busy. In a run of batches, the
//! next batch is sent before the last one is read. A silent OT, whose sender speaks, is asked to before
//! ([`CotSender::prepare`]). For strings, rows are kept and hashed when they are taken,
//! since their width is known only then.

use std::mem;

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::memory::Wiped;
use vesica_crypto::transpose::{COLUMNS, ROWS, Tile, transpose};
use vesica_ot::random::{OtPads, add_delta};
use vesica_ot::{CotReceiver, CotSender};
use zeroize::Zeroize;

use super::triples::{Correlations, Demand, Need, Received, Sent, Triples};
use crate::bits::Bits;
use crate::engine::{Party, STRING_BITS, Watch};
use crate::error::Error;
use crate::wires::Wires;

/// Triples of one bit that are made at once: their messages keep a slow link full.
const BITS_BATCH: usize = 1 << 20;
/// Rows for strings that are made at once.
const ROWS_BATCH: usize = 1 << 18;
/// What is made if no more is known to be needed; a multiple of the rows that extensions make together.
const LEAST_BATCH: usize = 1 << 13;
/// Rows of a call of an extension and of the hash: they stay in the second-level cache.
const CHUNK: usize = 1 << 13;

/// Bits of a word.
const WORD: usize = u64::BITS as usize;

/// Labels of the OTs that the receiver and the sender send: for bits, and for strings.
const BITS: [Label; 2] =
    [Label::new("gmw: bits, sent by the receiver"), Label::new("gmw: bits, sent by the sender")];
const STRINGS: [Label; 2] =
    [Label::new("gmw: strings, sent by the receiver"), Label::new("gmw: strings, sent by the sender")];

/// How many of a kind are known to be needed, beyond those that are made.
struct Expected {
    left: u64,
    batch: usize,
}

impl Expected {
    /// How many to make if `lacking` are lacking: a batch of those that are expected. Both parties come to the same.
    fn take(&mut self, lacking: usize) -> usize {
        let expected = usize::try_from(self.left).unwrap_or(usize::MAX);
        let whole = lacking.next_multiple_of(LEAST_BATCH);
        let count = expected.min(whole.max(self.batch)).max(if expected < lacking { whole } else { 0 });
        self.left -= self.left.min(count as u64);
        count
    }
}

/// The hash under one label, and the number of the next row that it takes.
struct Pads<const W: usize> {
    hash: OtPads<W>,
    next: u64,
}

impl<const W: usize> Pads<W> {
    fn of(context: &Context, label: Label) -> Self {
        Pads { hash: OtPads::of(context, label), next: 0 }
    }

    /// Replaces the next rows by their pads.
    fn hash(&mut self, rows: &mut [[Block; W]]) {
        self.hash.hash(self.next, rows);
        self.next += rows.len() as u64;
    }

    /// The lowest bits of the pads of the next rows, under each offset.
    fn bits<const N: usize>(
        &mut self,
        offsets: [&[Block; W]; N],
        rows: &[[Block; W]],
        words: [&mut [u64]; N],
    ) {
        offsets
            .into_iter()
            .zip(words)
            .for_each(|(offset, words)| self.hash.bits(self.next, offset, rows, words));
        self.next += rows.len() as u64;
    }

    /// Replaces the next rows by their pads, and `others` by those of the other choice.
    fn hash_both(&mut self, delta: &[Block; W], rows: &mut [[Block; W]], others: &mut [[Block; W]]) {
        others.copy_from_slice(rows);
        add_delta(delta, others);
        self.hash.hash(self.next, others);
        self.hash(rows);
    }

    fn with_threads(self, threads: usize) -> Self {
        Pads { hash: self.hash.with_threads(threads), ..self }
    }
}

/// One direction: an extension `C`, and rows of it that are kept for strings.
struct Direction<C, const W: usize> {
    ot: C,
    bits: Pads<W>,
    strings: Pads<W>,
    /// Rows for strings, the first `taken` of which are gone.
    rows: Wiped<[Block; W]>,
    taken: usize,
    expected: Expected,
}

impl<C, const W: usize> Direction<C, W> {
    fn new(context: &Context, sender: Party, ot: C, strings: u64) -> Self {
        Direction {
            ot,
            bits: Pads::of(context, BITS[sender as usize]),
            strings: Pads::of(context, STRINGS[sender as usize]),
            rows: Wiped::default(),
            taken: 0,
            expected: Expected { left: strings, batch: ROWS_BATCH },
        }
    }

    fn with_threads(self, threads: usize) -> Self {
        let (bits, strings) = (self.bits.with_threads(threads), self.strings.with_threads(threads));
        Direction { bits, strings, ..self }
    }

    /// How many rows to make so that `count` can be taken.
    fn lacking(&mut self, count: usize) -> usize {
        match count.saturating_sub(self.rows.len() - self.taken) {
            0 => 0,
            lacking => self.expected.take(lacking),
        }
    }

    /// Forgets what was taken, and makes room for `count` new rows.
    fn grow(&mut self, count: usize) -> (&mut C, &mut [[Block; W]]) {
        let kept = self.rows.len() - self.taken;
        let mut rows = Wiped::from(Vec::with_capacity(kept + count));
        rows.extend_from_slice(&self.rows[self.taken..]);
        rows.resize(kept + count, [Block::ZERO; W]);
        (self.rows, self.taken) = (rows, 0);
        (&mut self.ot, &mut self.rows[kept..])
    }

    /// The next rows, which are gone afterwards.
    fn take(&mut self, count: usize) -> Result<Wiped<[Block; W]>, Error> {
        let left = self.rows.len() - self.taken;
        if count > left {
            return Err(vesica_ot::Error::Exhausted { asked: count, left }.into());
        }
        let taken = &mut self.rows[self.taken..self.taken + count];
        let rows = Wiped::from(taken.to_vec());
        taken.fill([Block::ZERO; W]);
        self.taken += count;
        Ok(rows)
    }
}

/// Random OTs in both directions, over the correlated OTs `S`, whose Δ this party holds, and `R`, whose choices
/// it makes.
pub struct RandomOts<S, R, const W: usize> {
    sent: Direction<S, W>,
    received: Direction<R, W>,
    /// Choices of the rows of `received`, from the one of the first row on.
    choices: Bits,
    triples: Triples,
    expected: Expected,
}

impl<S, R, const W: usize> RandomOts<S, R, W> {
    /// Triples over two extensions that have been set up, in a context of its own. The partner's `receive` belongs to
    /// this party's `send`.
    #[must_use]
    pub fn new(context: &Context, party: Party, send: S, receive: R, demand: Demand) -> Self {
        let strings = |owner| demand.rows(owner)[1];
        RandomOts {
            sent: Direction::new(context, party, send, strings(party.other())),
            received: Direction::new(context, party.other(), receive, strings(party)),
            choices: Bits::repeat(false, 0),
            triples: Triples::none(1),
            expected: Expected { left: demand.bits, batch: BITS_BATCH },
        }
    }

    /// Sets how many threads hash; the default is one.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        let (sent, received) = (self.sent.with_threads(threads), self.received.with_threads(threads));
        RandomOts { sent, received, ..self }
    }
}

impl<S: CotSender<W>, R: CotReceiver<W>, const W: usize> RandomOts<S, R, W> {
    /// The lowest bits of `count` new OTs with random choices, which are made and forgotten chunk by chunk.
    fn receive_bits(
        &mut self,
        count: usize,
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<Received, Error> {
        let Direction { ot, bits: pads, .. } = &mut self.received;
        let mut choices = Wiped::from(vec![0; count.div_ceil(8)]);
        let mut strings = vec![0; count.div_ceil(WORD)];
        let mut rows = Wiped::from(vec![[Block::ZERO; W]; count.min(CHUNK)]);
        for (i, (choices, strings)) in
            choices.chunks_mut(CHUNK / 8).zip(strings.chunks_mut(CHUNK / WORD)).enumerate()
        {
            let rows = &mut rows[..CHUNK.min(count - i * CHUNK)];
            ot.extend_random(choices, rows, channel, rng)?;
            pads.bits([&[Block::ZERO; W]], rows, [strings]);
        }
        channel.flush()?;
        let choices = Bits::from_bytes(&choices, count);
        Ok(Received { choices, strings: vec![Bits::from_words(strings, count)] })
    }

    /// The other side of [`receive_bits`](Self::receive_bits).
    fn send_bits(&mut self, count: usize, channel: &mut dyn Channel) -> Result<Sent, Error> {
        let Direction { ot, bits: pads, .. } = &mut self.sent;
        let [mut zeros, mut ones] = [(); 2].map(|()| vec![0; count.div_ceil(WORD)]);
        let mut rows = Wiped::from(vec![[Block::ZERO; W]; count.min(CHUNK)]);
        for (i, (zeros, ones)) in
            zeros.chunks_mut(CHUNK / WORD).zip(ones.chunks_mut(CHUNK / WORD)).enumerate()
        {
            let rows = &mut rows[..CHUNK.min(count - i * CHUNK)];
            ot.extend_random(rows, channel)?;
            pads.bits([&[Block::ZERO; W], &ot.delta()], rows, [zeros, ones]);
        }
        let [zeros, ones] = [zeros, ones].map(|words| Bits::from_words(words, count));
        Ok(Sent { differences: vec![zeros.zip_words(&ones, |zero, one| zero ^ one)], zeros: vec![zeros] })
    }

    /// Sends what the partner waits for in so many rows that this party sends and receives.
    fn prepare(&mut self, [received, sent]: [usize; 2], channel: &mut dyn Channel) -> Result<(), Error> {
        self.received.ot.prepare(received, channel)?;
        channel.flush()?;
        self.sent.ot.prepare(sent, channel)?;
        Ok(channel.flush()?)
    }

    /// Makes triples of one bit, a batch ahead of what is read.
    fn make_bits(
        &mut self,
        count: usize,
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
        watch: &mut Watch<'_>,
    ) -> Result<(), Error> {
        let mut made = vec![mem::replace(&mut self.triples, Triples::none(1))];
        let (mut received, mut unsent) = (None::<Received>, count);
        loop {
            let next = match unsent.min(BITS_BATCH) {
                0 => None,
                batch => {
                    let before = received.as_ref().map_or(0, |received| received.choices.len());
                    self.prepare([batch, before + batch], channel)?;
                    Some(self.receive_bits(batch, channel, rng)?)
                }
            };
            unsent -= next.as_ref().map_or(0, |next| next.choices.len());
            if let Some(received) = mem::replace(&mut received, next) {
                let sent = self.send_bits(received.choices.len(), channel)?;
                made.push(Triples::of(received, sent));
                watch(0)?;
            }
            if received.is_none() {
                break;
            }
        }
        self.triples = Triples::join(&made, 1);
        Ok(())
    }

    /// Makes so many rows with own choices, for strings.
    fn receive_rows(
        &mut self,
        count: usize,
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Error> {
        let kept = self.choices.slice(self.received.taken..self.choices.len());
        let mut choices = Wiped::from(vec![0; count.div_ceil(8)]);
        let (ot, rows) = self.received.grow(count);
        ot.extend_random(&mut choices, rows, channel, rng)?;
        channel.flush()?;
        self.choices = Bits::join(&[&kept, &Bits::from_bytes(&choices, count)]);
        Ok(())
    }

    /// Makes what is lacking for strings, of so many rows with own choices and with the partner's.
    fn make_rows(
        &mut self,
        [received, sent]: [usize; 2],
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Error> {
        let lacking = [self.received.lacking(received), self.sent.lacking(sent)];
        let [received, sent] = lacking;
        if lacking != [0; 2] {
            self.prepare(lacking, channel)?;
        }
        // The own message goes first, so that both parties' are on their way together.
        if received > 0 {
            self.receive_rows(received, channel, rng)?;
        }
        if sent > 0 {
            let (ot, rows) = self.sent.grow(sent);
            ot.extend_random(rows, channel)?;
        }
        Ok(())
    }
}

impl<S: CotSender<W>, R: CotReceiver<W>, const W: usize> Correlations for RandomOts<S, R, W> {
    fn reserve(
        &mut self,
        need: Need,
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
        watch: &mut Watch<'_>,
    ) -> Result<(), Error> {
        match need {
            Need::Bits(count) => match count.saturating_sub(self.triples.len()) {
                0 => Ok(()),
                lacking => {
                    let count = self.expected.take(lacking);
                    self.make_bits(count, channel, rng, watch)
                }
            },
            Need::Strings(count) => self.make_rows([count; 2], channel, rng),
            Need::Received(count) => self.make_rows([count, 0], channel, rng),
            Need::Sent(count) => self.make_rows([0, count], channel, rng),
        }
    }

    fn bits(&mut self, count: usize) -> Result<Triples, Error> {
        self.triples.take(count)
    }

    fn received(&mut self, count: usize, width: usize) -> Result<Received, Error> {
        let at = self.received.taken;
        let mut rows = self.received.take(count)?;
        self.received.strings.hash(&mut rows);
        Ok(Received { choices: self.choices.slice(at..at + count), strings: columns(&rows, width) })
    }

    fn sent(&mut self, count: usize, width: usize) -> Result<Sent, Error> {
        let mut zeros = self.sent.take(count)?;
        let mut differences = Wiped::from(vec![[Block::ZERO; W]; count]);
        self.sent.strings.hash_both(&self.sent.ot.delta(), &mut zeros, &mut differences);
        for (difference, zero) in differences.iter_mut().zip(zeros.iter()) {
            difference[0] ^= zero[0];
        }
        Ok(Sent { zeros: columns(&zeros, width), differences: columns(&differences, width) })
    }
}

/// Bit i of every pad as row i, for the `width` lowest bits.
fn columns<const W: usize>(pads: &[[Block; W]], width: usize) -> Vec<Bits> {
    assert!(W > 0 && width <= STRING_BITS, "strings of {width} bits from rows of {W} blocks");
    let words = pads.len().div_ceil(64);
    let mut rows: Vec<Vec<u64>> = (0..width).map(|_| Vec::with_capacity(words + 1)).collect();
    let mut squares: Tile = [[Block::ZERO; COLUMNS / Block::BITS]; ROWS];
    let mut turned = [Block::ZERO; COLUMNS];
    for pads in pads.chunks(COLUMNS) {
        // The tile is eight squares of 128 pads, which are transposed one by one.
        for (j, pad) in pads.iter().enumerate() {
            squares[j % ROWS][j / ROWS] = pad[0];
        }
        transpose(&squares, &mut turned);
        for square in turned.chunks(ROWS).take(pads.len().div_ceil(ROWS)) {
            for (row, block) in rows.iter_mut().zip(square) {
                let (low, high) = block.to_halves();
                row.extend_from_slice(&[low, high]);
            }
        }
    }
    squares.as_flattened_mut().zeroize();
    turned.zeroize();
    let bits = rows.into_iter().map(|mut row| {
        row.truncate(words);
        Bits::from_words(row, pads.len())
    });
    bits.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of OTs start at 0 under each label: a hash is used twice where two uses have one label.
    #[test]
    fn flaw_bits_and_strings_of_each_direction_have_pads_of_their_own() {
        let context = Context::new(&[3; 32], "test", b"", 1, 1);
        let pads = |party| {
            let RandomOts { sent, received, .. } =
                RandomOts::<(), (), 1>::new(&context, party, (), (), Demand::default());
            [sent.bits, sent.strings, received.bits, received.strings].map(|mut pads| {
                let mut row = [[Block::ZERO]];
                pads.hash(&mut row);
                row[0][0].to_u128()
            })
        };
        let [mine, theirs] = [Party::Receiver, Party::Sender].map(pads);
        assert_eq!(mine[..2], theirs[2..]);
        assert_eq!(mine[2..], theirs[..2]);
        assert_eq!(mine.iter().collect::<std::collections::HashSet<_>>().len(), 4);
    }
}
