//! What the offline phase leaves for one online phase, and its stored form.
//!
//! Nothing here depends on items. Both states have the *id* of their offline phase, a public number that is
//! the same on both sides: a hash under the context of the run that made them. A run makes at most one. An
//! online phase takes its state by value, and its first messages compare the ids.

use std::io::{self, Read, Write};

use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::memory::{Blank, Wiped, large_capacity};
use vesica_ot::random::OtPads;
use zeroize::Zeroizing;

use super::parameters::{MOST_ITEMS, Rr16Parameters};
use crate::protocol::Run;

/// Bytes of an id.
pub(super) const ID: usize = 32;

/// Begins the stored form: name and version.
const MAGIC: [u8; 16] = *b"vesica gbf-rr16\x01";

/// Numbers that are read or written at a time.
const CHUNK: usize = 1 << 16;

/// By how much the room for numbers grows, where it does.
const GROWTH: usize = 16;

/// The id of the offline phase that a run does.
pub(super) fn id_of(run: &Run<'_>, parameters: &Rr16Parameters) -> [u8; ID] {
    let mut id = [0; ID];
    let items = parameters.items() as u64;
    run.context.hash(Label::new("gbf-rr16: id of an offline phase"), &items.to_le_bytes(), &mut id);
    id
}

/// The hashes of an offline phase's rows, tweaked by the numbers of the OTs.
pub(super) struct RowHashes {
    /// Of rows of opened OTs, m_{j,0}.
    pub(super) opened: OtPads<1>,
    /// Of rows of the others, m_{j,1}.
    pub(super) strings: OtPads<1>,
}

impl RowHashes {
    pub(super) fn of(id: &[u8; ID]) -> Self {
        let context = Context::new(id, "gbf-rr16", b"offline", 0, 0);
        let pads = |label| OtPads::of(&context, Label::new(label));
        Self {
            opened: pads("gbf-rr16: row to opened string"),
            strings: pads("gbf-rr16: row to string of the filter"),
        }
    }
}

/// The receiver's state: unopened OTs of each group in a random order, those with choice 1 first, and their
/// strings.
pub struct OfflineReceiver {
    pub(super) id: [u8; ID],
    pub(super) parameters: Rr16Parameters,
    /// Group by group its unopened OTs.
    pub(super) order: Wiped<u16>,
    /// How many of each group have choice 1.
    pub(super) ones: Vec<u32>,
    /// m*_j of these, in their order, in rooms of [`Rr16Parameters::ones`] strings.
    pub(super) strings: Wiped<Block>,
}

/// The sender's state: the rows of all OTs.
pub struct OfflineSender {
    pub(super) id: [u8; ID],
    pub(super) parameters: Rr16Parameters,
    /// The challenge of each batch.
    pub(super) challenges: Vec<Block>,
    /// m_{j,1} = H(j, row j ⊕ offset).
    pub(super) rows: Wiped<Block>,
    pub(super) offset: Zeroizing<Block>,
}

impl std::fmt::Debug for OfflineReceiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OfflineReceiver").field("parameters", &self.parameters).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for OfflineSender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OfflineSender").field("parameters", &self.parameters).finish_non_exhaustive()
    }
}

impl OfflineReceiver {
    /// The id of the offline phase.
    #[must_use]
    pub fn id(&self) -> [u8; ID] {
        self.id
    }

    /// The most items of the receiver that it serves.
    #[must_use]
    pub fn receiver_items(&self) -> usize {
        self.parameters.items()
    }

    /// The bytes of the stored form for so many items of the receiver.
    #[must_use]
    pub fn stored_bytes(receiver_items: usize) -> u64 {
        let parameters = Rr16Parameters::for_items(receiver_items);
        let order = parameters.all_slots() * 2 + parameters.groups() * 4;
        (HEAD + order + parameters.groups() * parameters.ones() * Block::BYTES) as u64
    }

    /// Writes the stored form.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn write_to(&self, to: &mut dyn Write) -> io::Result<()> {
        write_head(to, Side::Receiver, &self.id, &self.parameters)?;
        for ones in &self.ones {
            to.write_all(&ones.to_le_bytes())?;
        }
        let mut bytes = Wiped::from(Vec::with_capacity(2 * CHUNK));
        for order in self.order.chunks(CHUNK) {
            bytes.clear();
            order.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
            to.write_all(&bytes)?;
        }
        to.write_all(Block::slice_as_bytes(&self.strings))
    }

    /// Reads what [`write_to`](Self::write_to) wrote for so many items, and not beyond.
    ///
    /// # Errors
    /// Those of `from`, and [`io::ErrorKind::InvalidData`] if it is anything else.
    pub fn read_from(from: &mut dyn Read, receiver_items: usize) -> io::Result<Self> {
        let (id, parameters) = read_head(from, Side::Receiver, receiver_items)?;
        let mut ones = Vec::with_capacity(parameters.groups());
        for _ in 0..parameters.groups() {
            let mut number = [0; 4];
            from.read_exact(&mut number)?;
            let number = u32::from_le_bytes(number);
            if number as usize > parameters.ones().min(parameters.kept()) {
                return Err(invalid());
            }
            ones.push(number);
        }
        let mut bytes = Wiped::from(vec![0; 2 * CHUNK]);
        let order = read_all(parameters.all_slots(), |order| {
            let bytes = &mut bytes[..2 * order.len()];
            from.read_exact(bytes)?;
            let numbers = bytes.as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes));
            order.iter_mut().zip(numbers).for_each(|(slot, number)| *slot = number);
            Ok(())
        })?;
        for order in order.chunks(parameters.kept()) {
            different(order, parameters.ots_of_group() as usize)?;
        }
        let strings = read_blocks(from, parameters.groups() * parameters.ones())?;
        Ok(Self { id, parameters, order, ones, strings })
    }
}

/// Reads so many, a chunk a call. The head may claim more than there is: room is made for at most [`GROWTH`] times what
/// has been read.
fn read_all<T: Blank>(
    count: usize,
    mut read: impl FnMut(&mut [T]) -> io::Result<()>,
) -> io::Result<Wiped<T>> {
    let mut all = Wiped::from(large_capacity(CHUNK.min(count)));
    while all.len() < count {
        let (first, left) = (all.len(), count - all.len());
        let more = left.min(CHUNK);
        if all.capacity() - first < more {
            all.reserve_exact(left.min((GROWTH - 1) * first).max(more));
        }
        all.resize(first + more, T::BLANK);
        read(&mut all[first..])?;
    }
    Ok(all)
}

/// Reads so many blocks.
fn read_blocks(from: &mut dyn Read, count: usize) -> io::Result<Wiped<Block>> {
    read_all(count, |blocks| from.read_exact(Block::slice_as_mut_bytes(blocks)))
}

/// Whether the numbers are different and below `ots`.
fn different(order: &[u16], ots: usize) -> io::Result<()> {
    let mut seen = vec![false; ots];
    for &number in order {
        match seen.get_mut(usize::from(number)) {
            Some(seen) if !*seen => *seen = true,
            _ => return Err(invalid()),
        }
    }
    Ok(())
}

impl OfflineSender {
    /// The id of the offline phase.
    #[must_use]
    pub fn id(&self) -> [u8; ID] {
        self.id
    }

    /// The most items of the receiver that it serves.
    #[must_use]
    pub fn receiver_items(&self) -> usize {
        self.parameters.items()
    }

    /// The bytes of the stored form for so many items of the receiver.
    #[must_use]
    pub fn stored_bytes(receiver_items: usize) -> u64 {
        let parameters = Rr16Parameters::for_items(receiver_items);
        let batches = super::ots::Batches::of(&parameters).count();
        (HEAD + (1 + batches + parameters.ots()) * Block::BYTES) as u64
    }

    /// Writes the stored form.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn write_to(&self, to: &mut dyn Write) -> io::Result<()> {
        write_head(to, Side::Sender, &self.id, &self.parameters)?;
        to.write_all(self.offset.as_bytes())?;
        to.write_all(Block::slice_as_bytes(&self.challenges))?;
        to.write_all(Block::slice_as_bytes(&self.rows))
    }

    /// Reads what [`write_to`](Self::write_to) wrote for so many items, and not beyond.
    ///
    /// # Errors
    /// Those of `from`, and [`io::ErrorKind::InvalidData`] if it is anything else.
    pub fn read_from(from: &mut dyn Read, receiver_items: usize) -> io::Result<Self> {
        let (id, parameters) = read_head(from, Side::Sender, receiver_items)?;
        let mut offset = Zeroizing::new(Block::ZERO);
        from.read_exact(offset.as_mut_bytes())?;
        let mut challenges = vec![Block::ZERO; super::ots::Batches::of(&parameters).count()];
        from.read_exact(Block::slice_as_mut_bytes(&mut challenges))?;
        let rows = read_blocks(from, parameters.ots())?;
        Ok(Self { id, parameters, challenges, rows, offset })
    }
}

/// Whose state it is.
#[derive(Clone, Copy)]
enum Side {
    Receiver = 0,
    Sender = 1,
}

/// Bytes before the side's own: magic, side, items, id, and a digest of the parameters.
const HEAD: usize = MAGIC.len() + 1 + 8 + ID + 16;

/// A digest of the parameters, so that a program with others reads nothing.
fn digest(parameters: &Rr16Parameters) -> [u8; 16] {
    let mut digest = [0; 16];
    let oracle = vesica_crypto::hash::Oracle::derive_key("vesica gbf-rr16 parameters v1");
    oracle.hash(format!("{parameters:?}").as_bytes(), &mut digest);
    digest
}

fn write_head(to: &mut dyn Write, side: Side, id: &[u8; ID], parameters: &Rr16Parameters) -> io::Result<()> {
    to.write_all(&MAGIC)?;
    to.write_all(&[side as u8])?;
    to.write_all(&(parameters.items() as u64).to_le_bytes())?;
    to.write_all(id)?;
    to.write_all(&digest(parameters))
}

fn read_head(
    from: &mut dyn Read,
    side: Side,
    receiver_items: usize,
) -> io::Result<([u8; ID], Rr16Parameters)> {
    let mut head = [0; HEAD];
    from.read_exact(&mut head)?;
    let fixed = head.strip_prefix(&MAGIC).and_then(|rest| rest.strip_prefix(&[side as u8]));
    let parts = fixed.and_then(|rest| rest.split_first_chunk::<8>());
    let Some((items, rest)) = parts else { return Err(invalid()) };
    let Some((id, expected)) = rest.split_first_chunk::<ID>() else { return Err(invalid()) };
    let known = (1..=MOST_ITEMS).contains(&receiver_items);
    if !known || u64::from_le_bytes(*items) != receiver_items as u64 {
        return Err(invalid());
    }
    let parameters = Rr16Parameters::for_items(receiver_items);
    if digest(&parameters) == *expected { Ok((*id, parameters)) } else { Err(invalid()) }
}

fn invalid() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "no output of an offline phase of gbf-rr16, or not of this role",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use vesica_crypto::memory::wiped_bytes;

    #[test]
    fn a_head_that_claims_more_than_there_is_takes_little_room() {
        let parameters = Rr16Parameters::for_items(MOST_ITEMS);
        for side in [Side::Receiver, Side::Sender] {
            let mut stored = Vec::new();
            write_head(&mut stored, side, &[7; ID], &parameters).unwrap();
            // Enough for what comes before the secrets, and for some of them.
            stored.resize(stored.len() + 4 * parameters.groups() + 3 * CHUNK * Block::BYTES, 0);
            let (from, before) = (&mut &stored[..], wiped_bytes());
            let error = match side {
                Side::Receiver => OfflineReceiver::read_from(from, MOST_ITEMS).map(|_| ()),
                Side::Sender => OfflineSender::read_from(from, MOST_ITEMS).map(|_| ()),
            };
            assert_eq!(error.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
            // All room for secrets is wiped in the end.
            let room = wiped_bytes() - before;
            assert!(room > 0 && room < 2 * GROWTH * stored.len(), "{room} for {}", stored.len());
        }
    }

    #[test]
    fn what_is_read_in_growing_room_is_what_there_was() {
        for count in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, (GROWTH + 3) * CHUNK + 5] {
            let written: Vec<Block> = (0..count as u128).map(Block::from).collect();
            let from = &mut Block::slice_as_bytes(&written);
            assert!(*read_blocks(from, count).unwrap() == written && from.is_empty(), "{count}");
        }
    }
}
