//! Early reveal (HEK12 §4, Algorithm 1): a match is told to both sides soon after it is found, and matched items
//! are not compared again. Only where both learn the intersection anyway.
//!
//! The pairs (i, j) of shuffled positions come diagonal by diagonal, j = i + d mod n_s, in batches of those that
//! are still to be compared. After each batch the evaluator tells which of its pairs match. What it tells of
//! batch b is skipped from batch b + [`LAG`] + 1 on, by both sides: while it travels, the garbler goes on.

use std::collections::VecDeque;

use vesica_channel::Channel;
use vesica_circuit::bits::rows;
use vesica_circuit::circuits::pairwise::compare;
use vesica_circuit::{Bits, Engine, Opening};
use vesica_encode::items::Items;

use super::super::engines::evaluate;
use super::super::inputs::numbers_of;
use super::super::{Circuit, both_inputs};
use super::{check, total};
use crate::error::{Error, Misbehaviour};
use crate::protocol::{Ctx, Role, Run, Sizes};

/// Batches that the garbler may be ahead of what it is told.
pub(super) const LAG: usize = 3;

/// Pairs of a batch at least: so many gates take longer than their notice takes in a local network.
const LEAST_BATCH: usize = 1 << 10;

/// Batches of a run at most, unless they get too large. More would spare few more comparisons, and wait for a slow
/// network more often.
const MOST_BATCHES: usize = 128;

/// Pairs of a batch at most: their wires and notices take a few dozen megabytes.
const MOST_BATCH: usize = 1 << 18;

/// Pairs of a batch.
fn batch(sizes: Sizes) -> usize {
    let pairs = sizes.receiver.saturating_mul(sizes.sender);
    pairs.div_ceil(MOST_BATCHES).clamp(LEAST_BATCH, MOST_BATCH)
}

/// The most batches of a run.
fn batches(sizes: Sizes) -> u64 {
    sizes.receiver.saturating_mul(sizes.sender).div_ceil(batch(sizes)) as u64
}

/// The most bytes that either party sends to reveal the matches of all batches.
pub(super) fn revealed_bytes(sizes: Sizes) -> u64 {
    batches(sizes) * batch(sizes).div_ceil(8) as u64
}

/// The items of this party that the other one has too.
pub(super) fn matched(ctx: &mut Ctx<'_, '_>, role: Role, items: &Items) -> Result<Vec<u32>, Error> {
    let run = ctx.run;
    check(run.sizes)?;
    let order = items.shuffled(ctx.rng);
    let (numbers, sigma) = numbers_of(run, items)?;
    let shuffled: Vec<u128> = order.iter().map(|item| numbers[*item as usize]).collect();
    let circuit = EarlyReveal { run, role, mine: rows(&shuffled, sigma as usize) };
    let [receivers, senders] = evaluate(ctx, role, total(run), circuit)?.0;
    let mine = match role {
        Role::Receiver => receivers,
        Role::Sender => senders,
    };
    Ok((0..).zip(mine).filter(|(_, matched)| *matched).map(|(at, _): (usize, _)| order[at]).collect())
}

/// The circuit, with the notices between its batches.
struct EarlyReveal<'r, 'a> {
    run: &'r Run<'a>,
    role: Role,
    mine: Vec<Bits>,
}

impl Circuit for EarlyReveal<'_, '_> {
    type Output = Matched;

    fn run<E: Engine>(self, engine: &mut E) -> Result<Matched, Error> {
        let EarlyReveal { run, role, mine } = self;
        let [receiver, sender] = both_inputs(engine, role, &mine, run.sizes.of(role.other()))?;
        let mut cursor = Cursor::new(run.sizes);
        let (mut told, mut skipped) = (Matched::new(run.sizes), Matched::new(run.sizes));
        let mut ahead = VecDeque::new();
        loop {
            let pairs = cursor.next(batch(run.sizes), &skipped);
            if !pairs.is_empty() {
                let same = compare(engine, &receiver, &sender, &pairs)?;
                let opened = engine.open(Opening::ToReceiver, &[same])?;
                // The evaluator finds the matches and tells them.
                let found = opened.and_then(|rows| Some(told.find(&pairs, rows.first()?)));
                if let (Some(found), Some(channel)) = (&found, engine.channel()) {
                    send_notice(found, channel)?;
                }
                ahead.push_back((pairs, found));
            } else if ahead.is_empty() {
                return Ok(skipped);
            }
            // The garbler takes what it was told of the oldest batch that is not settled.
            if ahead.len() > LAG || cursor.is_at_end() {
                let Some((pairs, found)) = ahead.pop_front() else { continue };
                let found = match (found, engine.channel()) {
                    (Some(found), _) => found,
                    (None, Some(channel)) => recv_notice(pairs.len(), channel)?,
                    (None, None) => Bits::repeat(false, pairs.len()),
                };
                skipped.add(&pairs, &found)?;
            }
        }
    }
}

/// Which positions of the receiver and of the sender matched.
struct Matched([Vec<bool>; 2]);

impl Matched {
    fn new(sizes: Sizes) -> Self {
        Self([vec![false; sizes.receiver], vec![false; sizes.sender]])
    }

    fn has(&self, (receiver, sender): (u32, u32)) -> bool {
        self.0[0][receiver as usize] || self.0[1][sender as usize]
    }

    /// Which pairs of a batch are new matches, which are added. A pair of an item that has matched is none: two
    /// different items can be hashed to one number, with probability 2^-40.
    fn find(&mut self, pairs: &[(u32, u32)], same: &Bits) -> Bits {
        let mut is_new = |(pair, same): (&(u32, u32), bool)| {
            let new = same && !self.has(*pair);
            if new {
                self.set(*pair);
            }
            new
        };
        pairs.iter().zip(same.iter()).map(&mut is_new).collect()
    }

    /// Adds the matches of a batch.
    fn add(&mut self, pairs: &[(u32, u32)], found: &Bits) -> Result<(), Error> {
        for (pair, _) in pairs.iter().zip(found.iter()).filter(|(_, found)| *found) {
            if self.has(*pair) {
                return Err(Misbehaviour::InvalidPositions.into());
            }
            self.set(*pair);
        }
        Ok(())
    }

    fn set(&mut self, (receiver, sender): (u32, u32)) {
        self.0[0][receiver as usize] = true;
        self.0[1][sender as usize] = true;
    }
}

/// The pairs that have been listed: those before position `item` of diagonal `diagonal`.
struct Cursor {
    sizes: Sizes,
    diagonal: usize,
    item: usize,
}

impl Cursor {
    fn new(sizes: Sizes) -> Self {
        Self { sizes, diagonal: 0, item: 0 }
    }

    fn is_at_end(&self) -> bool {
        self.diagonal == self.sizes.sender
    }

    /// The next pairs, at most so many, but those of matched items.
    fn next(&mut self, most: usize, matched: &Matched) -> Vec<(u32, u32)> {
        let Sizes { receiver, sender } = self.sizes;
        let mut pairs = Vec::new();
        while !self.is_at_end() && pairs.len() < most {
            let pair = (self.item as u32, ((self.item + self.diagonal) % sender) as u32);
            if !matched.has(pair) {
                pairs.push(pair);
            }
            self.item += 1;
            if self.item == receiver {
                (self.diagonal, self.item) = (self.diagonal + 1, 0);
            }
        }
        pairs
    }
}

/// Tells which pairs of a batch matched: a bit for each.
fn send_notice(found: &Bits, channel: &mut dyn Channel) -> Result<(), Error> {
    let half = channel.split().0;
    half.send(&found.to_bytes())?;
    Ok(half.flush()?)
}

/// Receives that of a batch of so many pairs.
fn recv_notice(pairs: usize, channel: &mut dyn Channel) -> Result<Bits, Error> {
    let mut bytes = vec![0; pairs.div_ceil(8)];
    channel.split().1.recv_exact(&mut bytes)?;
    Ok(Bits::from_bytes(&bytes, pairs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Learns;
    use crate::testing::{Case, duel, planted, run_pair, shape};
    use rand::SeedableRng;
    use rand::rngs::StdRng;
    use vesica_encode::items::random_order;

    /// Comparisons of n items a side, of which the first `both` are common, in batches of so many.
    fn compared(n: usize, both: usize, batch: usize) -> usize {
        let mut rng = StdRng::seed_from_u64(1);
        let [receiver, sender] = [(); 2].map(|()| random_order(n as u32, &mut rng));
        let sizes = Sizes { receiver: n, sender: n };
        let (mut cursor, mut skipped, mut compared) = (Cursor::new(sizes), Matched::new(sizes), 0);
        while !cursor.is_at_end() {
            let pairs = cursor.next(batch, &skipped);
            compared += pairs.len();
            for &(i, j) in &pairs {
                let item = receiver[i as usize];
                if item == sender[j as usize] && (item as usize) < both {
                    skipped.set((i, j));
                }
            }
        }
        assert_eq!(skipped.0.map(|side| side.iter().filter(|matched| **matched).count()), [both; 2]);
        compared
    }

    #[test]
    fn matches_spare_about_as_many_comparisons_as_the_formula_says() {
        let n = 600;
        for both in [0, 100, 300, 600] {
            let f = both as f64 / n as f64;
            let share = compared(n, both, n) as f64 / (n * n) as f64;
            assert!((share - (1.0 - f + f * f / 3.0)).abs() < 0.02, "{both}: {share}");
        }
    }

    #[test]
    fn what_is_revealed_early_spares_gates_between_two_parties() {
        let sets = planted(130, 120, 110, 1);
        let case = Case { learns: Learns::Both, ..Case::default() };
        let ended = run_pair(&super::super::ENTRY, &sets, case);
        assert_eq!(ended.receiver.unwrap().rows(), sets.receiver_rows);
        assert_eq!(ended.sender.unwrap().unwrap().rows(), sets.sender_rows);
        let most = super::super::ENTRY.bytes_to(crate::Role::Receiver, &shape(&sets, case));
        assert!(ended.traffic.payload_received * 4 < most * 3, "{}", ended.traffic.payload_received);
    }

    /// The positions of a party's items that match, as its partner sees them, do not follow from their places in its
    /// table: half of 64 positions match, and two draws are the same with probability 2^-60.
    #[test]
    fn flaw_neither_party_is_told_where_matches_stand_in_the_others_table() {
        let sets = &planted(64, 64, 32, 1);
        for honest in [Role::Receiver, Role::Sender] {
            // The partner, which leaves its own items in their order.
            let partner = |ctx: &mut Ctx<'_, '_>| {
                let (run, role) = (ctx.run, honest.other());
                let items = if role == Role::Receiver { &sets.receiver } else { &sets.sender };
                let (numbers, sigma) = numbers_of(run, items)?;
                let circuit = EarlyReveal { run, role, mine: rows(&numbers, sigma as usize) };
                let [receivers, senders] = evaluate(ctx, role, total(run), circuit)?.0;
                Ok(if honest == Role::Receiver { receivers } else { senders })
            };
            let seen = |seed| {
                let case = Case { learns: Learns::Both, seed, ..Case::default() };
                let agreed = (&super::super::ENTRY, sets, case);
                if honest == Role::Sender {
                    let send = |ctx: &mut Ctx<'_, '_>| matched(ctx, honest, &sets.sender);
                    duel(agreed, Box::new(partner), Box::new(send)).0.unwrap()
                } else {
                    let receive = |ctx: &mut Ctx<'_, '_>| matched(ctx, honest, &sets.receiver);
                    duel(agreed, Box::new(receive), Box::new(partner)).1.unwrap()
                }
            };
            let in_table = if honest == Role::Receiver { &sets.receiver_rows } else { &sets.sender_rows };
            let in_table: Vec<bool> = (0..64).map(|row| in_table.contains(&row)).collect();
            let [first, second] = [1, 2].map(seen);
            assert_eq!(
                [&first, &second].map(|seen| seen.iter().filter(|matched| **matched).count()),
                [32; 2]
            );
            assert!(first != in_table && second != in_table && first != second, "what the {honest} shows");
        }
    }
}
