//! What the offline phase leaves for one online phase.
//!
//! Nothing here depends on items. Both states have the *id* of their offline phase, a public number that is
//! the same on both sides: a hash under the context of the run that made them. A run makes at most one. An
//! online phase takes its state by value, and its first messages compare the ids.

use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::memory::Wiped;
use vesica_ot::random::OtPads;
use zeroize::Zeroizing;

use super::parameters::Rr16Parameters;
use crate::protocol::Run;

/// Bytes of an id.
pub(super) const ID: usize = 32;

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
    /// m_{j,1} = H(j, row j ⊕ offset), or row j where strings are `chosen`.
    pub(super) rows: Wiped<Block>,
    pub(super) offset: Zeroizing<Block>,
    pub(super) chosen: bool,
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
}
