//! What connections begin with.

/// The connection of a run.
pub(crate) const RUN: u8 = 0;
/// The connection of a part.
pub(crate) const PART: u8 = 1;
/// The connection of a run that is taken up.
pub(crate) const TAKEN_UP: u8 = 2;
