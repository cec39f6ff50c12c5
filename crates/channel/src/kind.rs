//! The types of frames.

/// The most payload one frame may carry.
pub const MAX_PAYLOAD: usize = 1 << 20;

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes of the stream; never empty.
    Data,
    /// A sign of life; empty.
    Heartbeat,
    /// The sender has given up; empty, the same for every cause.
    Abort,
    /// The sender is done and sends nothing more; carries a last message.
    Done,
}

impl Kind {
    pub(crate) fn byte(self) -> u8 {
        match self {
            Self::Data => 1,
            Self::Heartbeat => 2,
            Self::Abort => 3,
            Self::Done => 4,
        }
    }

    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        [Self::Data, Self::Heartbeat, Self::Abort, Self::Done].into_iter().find(|kind| kind.byte() == byte)
    }
}
