//! The rounds of a run in parts: which parts are to be played, which receipts the two sides hold, and the root of all.

use std::collections::HashSet;

use vesica_channel::Channel;
use vesica_channel::codec::{Reader, Writer};
use vesica_net::Connection;
use vesica_protocols::Role;

use super::PartsError;
use super::set::Kept;
use crate::session::SessionError;

/// A part that is missing after so many rounds ends the run.
pub(crate) const MOST_ROUNDS: u16 = 4;

/// Attempts beyond the first of each part that a small run may have.
const LEAST_ALLOWANCE: u32 = 4;

/// Of a larger one, one for so many parts.
const PARTS_AN_ATTEMPT: u32 = 16;

/// What both sides have of an attempt that they saw alike.
pub(crate) type Receipt = [u8; 32];

/// An attempt of this side that came to its end.
pub(crate) struct Held<'d> {
    pub(crate) receipt: Receipt,
    /// Matching items, where both sides learn them.
    pub(crate) matches: u64,
    /// The matches of this side, if it learns them.
    pub(crate) kept: Option<Kept<'d>>,
}

/// The book that one side keeps of its parts.
pub(crate) struct Book<'d> {
    parts: Vec<Part<'d>>,
    allowance: u32,
}

#[derive(Default)]
struct Part<'d> {
    held: Vec<Held<'d>>,
    /// Attempts whose protocol began: the partner may have seen a result of each.
    attempts: u32,
    /// Which of the attempts held is the one that counts.
    chosen: Option<usize>,
}

impl<'d> Book<'d> {
    /// Of so many parts, none of them played.
    pub(crate) fn new(parts: usize) -> Self {
        let allowance = LEAST_ALLOWANCE.max((parts as u32).div_ceil(PARTS_AN_ATTEMPT));
        Book { parts: (0..parts).map(|_| Part::default()).collect(), allowance }
    }

    /// The parts that are not done, ascending.
    pub(crate) fn missing(&self) -> Vec<u32> {
        let parts = (0..).zip(&self.parts);
        parts.filter(|(_, part)| part.chosen.is_none()).map(|(number, _)| number).collect()
    }

    /// Whether this side holds a receipt of that part.
    pub(crate) fn holds(&self, part: u32) -> bool {
        self.parts.get(part as usize).is_some_and(|part| !part.held.is_empty())
    }

    /// An attempt at a part begins. It counts as spent: from here on the partner may learn something by it.
    pub(crate) fn begin(&mut self, part: u32) -> Result<(), PartsError> {
        if let Some(part) = self.parts.get_mut(part as usize) {
            part.attempts += 1;
        }
        if self.repeated() > self.allowance {
            return Err(PartsError::Allowance { allowance: self.allowance });
        }
        Ok(())
    }

    /// An attempt came to its end.
    pub(crate) fn hold(&mut self, part: u32, held: Held<'d>) {
        if let Some(part) = self.parts.get_mut(part as usize) {
            part.held.push(held);
        }
    }

    /// Attempts of all parts.
    pub(crate) fn attempts(&self) -> u32 {
        self.parts.iter().map(|part| part.attempts).sum()
    }

    /// Attempts beyond the first of each part.
    pub(crate) fn repeated(&self) -> u32 {
        self.parts.iter().map(|part| part.attempts.saturating_sub(1)).sum()
    }

    /// The last receipt that this side holds of each part.
    #[cfg(test)]
    pub(crate) fn receipts_mut(&mut self) -> impl Iterator<Item = &mut Receipt> {
        self.parts.iter_mut().filter_map(|part| part.held.last_mut()).map(|held| &mut held.receipt)
    }

    /// Exchanges the receipts of all parts that are not done, and chooses.
    pub(crate) fn compare(&mut self, run: &mut Connection, role: Role) -> Result<(), SessionError> {
        let mine: Vec<(u32, Receipt)> = self.receipts().collect();
        let theirs = exchange_receipts(run, &mine, self.parts.len())?;
        self.choose(&theirs, role);
        Ok(())
    }

    /// Receipts that this side holds of parts that are not done.
    fn receipts(&self) -> impl Iterator<Item = (u32, Receipt)> {
        let open = (0..).zip(&self.parts).filter(|(_, part)| part.chosen.is_none());
        open.flat_map(|(number, part)| part.held.iter().map(move |held| (number, held.receipt)))
    }

    /// Of each part the first receipt of the receiver's list that is in both.
    fn choose(&mut self, theirs: &[(u32, Receipt)], role: Role) {
        let known: HashSet<&(u32, Receipt)> = theirs.iter().collect();
        let missing = self.missing();
        for number in missing {
            let part = &mut self.parts[number as usize];
            let place = |receipt: &Receipt| part.held.iter().position(|held| held.receipt == *receipt);
            part.chosen = match role {
                Role::Receiver => part.held.iter().position(|held| known.contains(&(number, held.receipt))),
                Role::Sender => {
                    let of_part = theirs.iter().filter(|(part, _)| *part == number);
                    of_part.map(|(_, receipt)| receipt).find_map(place)
                }
            };
        }
    }

    /// The attempts that count, in the order of the parts.
    fn chosen(&self) -> impl Iterator<Item = &Held<'d>> {
        self.parts.iter().filter_map(|part| part.held.get(part.chosen?))
    }

    /// The root of all receipts, if every part is done.
    pub(crate) fn root(&self, job: &[u8; 32]) -> Result<[u8; 32], PartsError> {
        let mut hasher = blake3::Hasher::new_derive_key("vesica job root v2");
        hasher.update(job);
        self.chosen().for_each(|held| {
            hasher.update(&held.receipt);
        });
        match self.missing().len() {
            0 => Ok(*hasher.finalize().as_bytes()),
            missing => Err(PartsError::Missing { missing, count: self.parts.len() }),
        }
    }

    /// Matching items of all parts, where both sides learn them.
    pub(crate) fn matches(&self) -> u64 {
        self.chosen().map(|held| held.matches).sum()
    }

    /// The matches of the attempts that count, in the order of the parts.
    pub(crate) fn into_chosen(self) -> impl Iterator<Item = Option<Kept<'d>>> {
        self.parts.into_iter().filter_map(|mut part| Some(part.held.swap_remove(part.chosen?).kept))
    }
}

/// Says which parts this round has; both sides compute the same.
pub(crate) fn exchange_round(
    run: &mut Connection,
    round: u16,
    parts: usize,
    missing: &[u32],
) -> Result<(), SessionError> {
    let mut bitmap = vec![0u8; parts.div_ceil(8)];
    missing.iter().for_each(|part| bitmap[*part as usize / 8] |= 1 << (part % 8));
    let mine = [&round.to_le_bytes()[..], &bitmap].concat();
    run.send(&mine)?;
    let mut theirs = vec![0; mine.len()];
    run.recv_exact(&mut theirs)?;
    if theirs == mine { Ok(()) } else { Err(PartsError::Differ("parts to play").into()) }
}

/// Exchanges lists of receipts. The partner holds at most as many of a part as there were rounds.
fn exchange_receipts(
    run: &mut Connection,
    mine: &[(u32, Receipt)],
    parts: usize,
) -> Result<Vec<(u32, Receipt)>, SessionError> {
    let mut writer = Writer::new();
    writer.list(mine, |writer, (part, receipt)| {
        writer.u32(*part).fixed(receipt);
    });
    run.send(writer.as_slice())?;
    let mut count = [0; 4];
    run.recv_exact(&mut count)?;
    let count = u32::from_le_bytes(count) as usize;
    if count > parts * usize::from(MOST_ROUNDS) {
        return Err(PartsError::Differ("number of parts").into());
    }
    let mut bytes = vec![0; count * 36];
    run.recv_exact(&mut bytes)?;
    let decode = |cause| SessionError::Decode { what: "a list of receipts", cause };
    let mut reader = Reader::new(&bytes);
    let entry = |_| Ok((reader.u32().map_err(decode)?, reader.array().map_err(decode)?));
    let receipts: Vec<(u32, Receipt)> = (0..count).map(entry).collect::<Result<_, SessionError>>()?;
    match receipts.iter().all(|(part, _)| (*part as usize) < parts) {
        true => Ok(receipts),
        false => Err(PartsError::Differ("number of parts").into()),
    }
}

/// Compares the root of all receipts, and the number of matches where both sides learn it.
pub(crate) fn exchange_root(run: &mut Connection, root: &[u8; 32], matches: u64) -> Result<(), SessionError> {
    run.send(&[&root[..], &matches.to_le_bytes()].concat())?;
    let mut theirs = [0; 40];
    run.recv_exact(&mut theirs)?;
    if theirs[..32] != root[..] {
        return Err(PartsError::Differ("receipts of the parts").into());
    }
    if theirs[32..] != matches.to_le_bytes() {
        return Err(PartsError::Differ("number of matches").into());
    }
    Ok(())
}
