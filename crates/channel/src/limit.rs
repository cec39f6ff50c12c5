//! Until when what a side awaits from its peer has to be there.

use std::time::{Duration, Instant};

use crate::error::ChannelError;

/// A wait that is about to fail lasts this much longer, or as long again if that is shorter: after the whole process stood
/// still, whoever brings what is awaited gets a chance first.
pub const GRACE: Duration = Duration::from_secs(1);
/// No time is longer, so that it can be added to any moment.
pub const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// The end of a side's patience with a peer that is alive; see [`Channel::expect_within`](crate::Channel::expect_within).
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    at: Instant,
    length: Duration,
    graced: bool,
}

impl Limit {
    /// A limit that begins now.
    pub fn of(length: Duration) -> Self {
        let length = length.min(LONGEST);
        Self { at: Instant::now() + length, length, graced: false }
    }

    /// When it ends.
    pub fn at(&self) -> Instant {
        self.at
    }

    /// The error of a wait that it ended.
    pub fn error(&self) -> ChannelError {
        ChannelError::Unanswered { after: self.length }
    }

    /// Whether a wait that it ended may go on for a moment, which is so once.
    pub fn grace(&mut self) -> bool {
        let grants = !self.graced;
        if grants {
            self.graced = true;
            self.at = Instant::now() + self.length.min(GRACE);
        }
        grants
    }
}
