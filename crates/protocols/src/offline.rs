//! Protocols with an offline phase: what it leaves, and how a later run takes that.
//!
//! An *offline phase* depends on no item, so two parties can run it ahead: [`Entry::prepare`]. Each keeps its
//! [`OfflineOutput`]. A run that finds the output in [`Run::offline`] begins with the online phase. Output serves one
//! run: whoever stores it has to consume the stored form before that run sends its first byte, as `vesica::offline`
//! does.

use std::io::{self, Read, Write};
use std::sync::{Mutex, PoisonError};

use crate::bloom_filter::rr16::{OfflineReceiver, OfflineSender};
use crate::entry::{Entry, Memory, Shape};
use crate::error::{Error, Misuse};
use crate::protocol::{Ctx, Participant, Phase, Role};

#[cfg(doc)]
use crate::protocol::Run;

/// The offline phase of a protocol, in its entry.
#[derive(Debug, Clone, Copy)]
pub struct OfflinePhase {
    /// The most items of the receiver that it can be run for.
    pub most_items: usize,
    /// The phases of a run that belong to it.
    pub phases: &'static [Phase],
    /// Runs it for so many items of the receiver.
    pub(crate) run: fn(&mut Ctx<'_, '_>, Role, usize) -> Result<OfflineOutput, Error>,
    /// The bytes of a role's stored output.
    pub(crate) stored_bytes: fn(Role, usize) -> u64,
    /// Reads a role's stored output for so many items, and not beyond.
    pub(crate) read: fn(&mut dyn Read, Role, usize) -> io::Result<OfflineOutput>,
}

impl OfflinePhase {
    /// The bytes of a role's stored output for so many items of the receiver.
    #[must_use]
    pub fn stored_bytes(&self, role: Role, receiver_items: usize) -> u64 {
        (self.stored_bytes)(role, receiver_items)
    }

    /// Reads what [`OfflineOutput::write_to`] wrote on the side of this role for so many items of the receiver, and
    /// not beyond.
    ///
    /// # Errors
    /// Those of `from`, and [`io::ErrorKind::InvalidData`] if it is anything else.
    pub fn read(&self, from: &mut dyn Read, role: Role, receiver_items: usize) -> io::Result<OfflineOutput> {
        (self.read)(from, role, receiver_items)
    }
}

/// What the offline phase of `gbf-rr16` leaves to one party.
#[derive(Debug)]
pub enum OfflineOutput {
    /// To the receiver.
    Receiver(OfflineReceiver),
    /// To the sender.
    Sender(OfflineSender),
}

impl OfflineOutput {
    /// The id of the offline phase: public, and the same on both sides.
    #[must_use]
    pub fn id(&self) -> [u8; 32] {
        match self {
            OfflineOutput::Receiver(output) => output.id(),
            OfflineOutput::Sender(output) => output.id(),
        }
    }

    /// Writes the stored form, a secret.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn write_to(&self, to: &mut dyn Write) -> io::Result<()> {
        match self {
            OfflineOutput::Receiver(output) => output.write_to(to),
            OfflineOutput::Sender(output) => output.write_to(to),
        }
    }
}

/// Holds the output for one run, which takes it out.
#[derive(Debug)]
pub struct OfflineSlot(Mutex<Option<OfflineOutput>>);

impl OfflineSlot {
    /// A slot with this output.
    #[must_use]
    pub fn of(output: OfflineOutput) -> Self {
        OfflineSlot(Mutex::new(Some(output)))
    }

    /// The output, once.
    ///
    /// # Errors
    /// [`Misuse::UsedOffline`] if it was taken before: a run must not fall back to making its own.
    pub(crate) fn take(&self) -> Result<OfflineOutput, Error> {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.ok_or_else(|| Misuse::UsedOffline.into())
    }
}

/// The two phases apart.
impl Entry {
    /// Runs the offline phase alone, for as many items of the receiver as the run was agreed for; the sender's number
    /// is not known yet, and 0.
    ///
    /// # Errors
    /// If the protocol has none, the partner does not keep to it, the channel fails, or the run is cancelled.
    pub fn prepare(&self, ctx: &mut Ctx<'_, '_>, role: Role) -> Result<OfflineOutput, Error> {
        let items = ctx.run.sizes.receiver;
        match self.offline_phase() {
            Some(offline) if (1..=offline.most_items).contains(&items) => (offline.run)(ctx, role, items),
            _ => Err(Misuse::NoOfflinePhase.into()),
        }
    }

    /// DATA payload that `from` sends in the offline phase alone.
    pub fn offline_bytes(&self, from: impl Into<Participant>, shape: &Shape) -> u64 {
        self.part_bytes(true, from.into(), shape)
    }

    /// The same of the online phase; `shape` has the receiver's items of the *offline phase*.
    pub fn online_bytes(&self, from: impl Into<Participant>, shape: &Shape) -> u64 {
        self.part_bytes(false, from.into(), shape)
    }

    fn part_bytes(&self, offline: bool, from: Participant, shape: &Shape) -> u64 {
        let part = self.all_messages().filter(|message| message.offline == offline && message.from == from);
        part.map(|message| (message.bytes)(shape)).sum()
    }

    /// Bytes that the offline phase takes at its peak.
    pub fn prepare_memory(&self, shape: &Shape) -> Memory {
        self.offline_phase().map_or_else(Memory::default, |_| self.peak(shape))
    }
}
