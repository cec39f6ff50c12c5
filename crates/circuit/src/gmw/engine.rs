//! The gates of GMW: what goes into each message, and what both parties compute from it.

use std::collections::VecDeque;
use std::ops::Range;

use vesica_channel::Channel;

use super::triples::{Need, Received, Sent, Triples};
use super::{Gmw, Parts};
use crate::bits::Bits;
use crate::engine::{Engine, Input, Opening, Party, STRING_BITS};
use crate::error::Error;
use crate::shares;
use crate::wires::Wires;

/// A row of rows: the wires of a layer one after the other.
struct Joined<'a> {
    rows: Vec<&'a Bits>,
}

impl Joined<'_> {
    fn len(&self) -> usize {
        self.rows.iter().map(|row| row.len()).sum()
    }

    /// The wires of a range, from whatever rows they lie in.
    fn slice(&self, range: &Range<usize>) -> Bits {
        let mut slice = Bits::repeat(false, range.len());
        let mut start = 0;
        for row in &self.rows {
            let (from, to) = (range.start.max(start), range.end.min(start + row.len()));
            if from < to {
                slice.write(from - range.start, &row.slice(from - start..to - start));
            }
            start += row.len();
        }
        slice
    }
}

/// What a party waits for an answer with.
struct Asked<T> {
    range: Range<usize>,
    kept: T,
    /// Bits of the answer.
    answer: usize,
}

/// A part of a multiplication by triples that has been sent.
struct Masked {
    triples: Triples,
    /// The own shares of x ⊕ a.
    select: Bits,
    /// The own shares of y ⊕ b.
    values: Vec<Bits>,
}

impl Gmw<'_> {
    /// Sends one message for each part of `count` instances, receives one for each, and hands it on with what was
    /// kept. All parts of a group are on their way before the first answer is read.
    fn exchange<T>(
        &mut self,
        count: usize,
        Parts { part, group, width }: Parts,
        need: impl Fn(usize) -> Need,
        mut ask: impl FnMut(&mut Self, Range<usize>) -> Result<(Bits, T, usize), Error>,
        mut finish: impl FnMut(&Self, Range<usize>, T, &Bits),
    ) -> Result<(), Error> {
        for start in (0..count).step_by(group) {
            let end = count.min(start + group);
            self.correlations.reserve(need(end - start), self.channel, self.rng, self.watch)?;
            let mut asked = VecDeque::new();
            for at in (start..end).step_by(part) {
                let range = at..end.min(at + part);
                let (message, kept, answer) = ask(self, range.clone())?;
                shares::send(&message, self.channel)?;
                asked.push_back(Asked { range, kept, answer });
            }
            self.channel.flush()?;
            for Asked { range, kept, answer } in asked {
                let answer = shares::receive(answer, self.channel)?;
                let gates = range.len() * width;
                finish(self, range, kept, &answer);
                (self.watch)(gates as u64)?;
            }
        }
        Ok(())
    }

    /// x·y for a row x and `width` rows y of instances, by triples of strings, or of bits if y is one row: part by
    /// part from `part`, whose products go to `put`.
    fn multiply(
        &mut self,
        (count, width): (usize, usize),
        need: fn(usize) -> Need,
        part: impl Fn(&Range<usize>) -> (Bits, Vec<Bits>),
        mut put: impl FnMut(Range<usize>, Vec<Bits>),
    ) -> Result<(), Error> {
        let parts = match need(count) {
            Need::Bits(_) => self.sizes.of_bits(),
            _ => self.sizes.of_strings(width),
        };
        let ask = |engine: &mut Self, range: Range<usize>| {
            let triples = match need(range.len()) {
                Need::Bits(count) => engine.correlations.bits(count)?,
                _ => engine.correlations.strings(range.len(), width)?,
            };
            let (x, y) = part(&range);
            // x ⊕ a and y ⊕ b
            let select = xor(&x, &triples.a);
            let values: Vec<_> = y.iter().zip(&triples.b).map(|(y, b)| xor(y, b)).collect();
            let message = Bits::join(&[&select].into_iter().chain(&values).collect::<Vec<_>>());
            let bits = message.len();
            Ok((message, Masked { triples, select, values }, bits))
        };
        let finish = |engine: &Self, range: Range<usize>, masked: Masked, answer: &Bits| {
            put(range, engine.products(masked, answer));
        };
        self.exchange(count, parts, need, ask, finish)
    }

    /// Shares of x·y: c ⊕ d·b ⊕ e·a, and d·e in one party's share, where d = x ⊕ a and e = y ⊕ b are opened.
    fn products(&self, Masked { triples, select, values }: Masked, answer: &Bits) -> Vec<Bits> {
        let Triples { a, b, c } = triples;
        let theirs = split(answer, select.len());
        let d = xor(&select, &theirs[0]);
        let rows = values.iter().zip(&theirs[1..]).zip(b.iter().zip(&c));
        let products = rows.map(|((mine, theirs), (b, c))| {
            let e = xor(mine, theirs);
            let with_e = xor(c, &e.zip_words(&a, |e, a| e & a));
            let with_d = match self.party {
                Party::Receiver => d.zip_words(&xor(b, &e), |d, b| d & b),
                Party::Sender => d.zip_words(b, |d, b| d & b),
            };
            xor(&with_e, &with_d)
        });
        products.collect()
    }

    /// The owner's side of a multiplication by its private bits.
    fn multiply_own(&mut self, select: &Bits, values: &[Bits], out: &mut [Bits]) -> Result<(), Error> {
        let width = values.len();
        let ask = |engine: &mut Self, range: Range<usize>| {
            let received = engine.correlations.received(range.len(), width)?;
            // s ⊕ r
            let message = xor(&select.slice(range.clone()), &received.choices);
            Ok((message, received, range.len() * width))
        };
        // s·(own share ⊕ u) ⊕ t
        let finish = |_: &Self, range: Range<usize>, received: Received, answer: &Bits| {
            let select = select.slice(range.clone());
            let theirs = split(answer, range.len());
            let rows = values.iter().zip(&theirs).zip(&received.strings);
            for (out, ((value, u), t)) in out.iter_mut().zip(rows) {
                let sum = xor(&value.slice(range.clone()), u);
                out.write(range.start, &xor(&select.zip_words(&sum, |s, sum| s & sum), t));
            }
        };
        self.exchange(select.len(), self.sizes.of_strings(width), Need::Received, ask, finish)
    }

    /// The other side: its shares of the values are multiplied by bits that it does not know.
    fn multiply_other(&mut self, count: usize, values: &[Bits], out: &mut [Bits]) -> Result<(), Error> {
        let width = values.len();
        let ask = |engine: &mut Self, range: Range<usize>| {
            let sent = engine.correlations.sent(range.len(), width)?;
            // u = own share ⊕ b
            let rows = values.iter().zip(&sent.differences);
            let rows: Vec<_> = rows.map(|(value, b)| xor(&value.slice(range.clone()), b)).collect();
            let message = Bits::join(&rows.iter().collect::<Vec<_>>());
            Ok((message, sent, range.len()))
        };
        // m ⊕ e·b
        let finish = |_: &Self, range: Range<usize>, sent: Sent, e: &Bits| {
            for (out, (m, b)) in out.iter_mut().zip(sent.zeros.iter().zip(&sent.differences)) {
                out.write(range.start, &xor(m, &e.zip_words(b, |e, b| e & b)));
            }
        };
        self.exchange(count, self.sizes.of_strings(width), Need::Sent, ask, finish)
    }
}

impl Engine for Gmw<'_> {
    type Wires = Bits;

    fn chunk(&self) -> usize {
        usize::MAX
    }

    fn channel(&mut self) -> Option<&mut dyn Channel> {
        Some(self.channel)
    }

    fn constant(&mut self, bit: bool, len: usize) -> Bits {
        Bits::repeat(bit && self.party == Party::Receiver, len)
    }

    fn input(&mut self, owner: Party, bits: Input<'_>) -> Result<Vec<Bits>, Error> {
        let mine = owner == self.party;
        let masks = self.masks(owner, bits.rows(), bits.row_len());
        match bits {
            Input::Known(rows) if mine => {
                Ok(rows.iter().zip(&masks).map(|(row, mask)| xor(row, mask)).collect())
            }
            Input::Hidden { .. } if !mine => Ok(masks),
            _ => Err(Error::NotMine),
        }
    }

    fn not(&self, a: &Bits) -> Bits {
        match self.party {
            Party::Receiver => a.zip_words(a, |word, _| !word),
            Party::Sender => a.clone(),
        }
    }

    fn and(&mut self, layer: &[(&Bits, &Bits)]) -> Result<Vec<Bits>, Error> {
        let (a, b): (Vec<_>, Vec<_>) = layer.iter().copied().unzip();
        assert!(layer.iter().all(|(a, b)| a.len() == b.len()), "rows of one length");
        let (a, b) = (Joined { rows: a }, Joined { rows: b });
        let mut products = Bits::repeat(false, a.len());
        let part = |range: &Range<usize>| (a.slice(range), vec![b.slice(range)]);
        self.multiply((a.len(), 1), Need::Bits, part, |range, rows| products.write(range.start, &rows[0]))?;
        Ok(products.parts(layer.iter().map(|(row, _)| row.len())).collect())
    }

    fn and_all(&mut self, select: &Bits, values: &[Bits]) -> Result<Vec<Bits>, Error> {
        if values.len() < 2 {
            let layer: Vec<_> = values.iter().map(|value| (select, value)).collect();
            return self.and(&layer);
        }
        let mut out = vec![Bits::repeat(false, select.len()); values.len()];
        for (values, out) in values.chunks(STRING_BITS).zip(out.chunks_mut(STRING_BITS)) {
            let part = |range: &Range<usize>| {
                (select.slice(range.clone()), values.iter().map(|value| value.slice(range.clone())).collect())
            };
            self.multiply((select.len(), values.len()), Need::Strings, part, |range, rows| {
                out.iter_mut().zip(&rows).for_each(|(out, row)| out.write(range.start, row));
            })?;
        }
        Ok(out)
    }

    fn and_private(&mut self, owner: Party, select: Input<'_>, values: &[Bits]) -> Result<Vec<Bits>, Error> {
        let mut out = vec![Bits::repeat(false, select.row_len()); values.len()];
        for (values, out) in values.chunks(STRING_BITS).zip(out.chunks_mut(STRING_BITS)) {
            match select {
                Input::Known([select]) if owner == self.party => self.multiply_own(select, values, out)?,
                Input::Hidden { rows: 1, len } if owner != self.party => {
                    self.multiply_other(len, values, out)?
                }
                _ => return Err(Error::NotMine),
            }
        }
        Ok(out)
    }

    fn open(&mut self, opening: Opening, wires: &[Bits]) -> Result<Option<Vec<Bits>>, Error> {
        shares::open(opening, self.party, &wires.iter().collect::<Vec<_>>(), self.channel)
    }
}

fn xor(a: &Bits, b: &Bits) -> Bits {
    a.zip_words(b, |a, b| a ^ b)
}

/// The rows of `len` bits that were joined.
fn split(joined: &Bits, len: usize) -> Vec<Bits> {
    (0..joined.len()).step_by(len).map(|start| joined.slice(start..start + len)).collect()
}
