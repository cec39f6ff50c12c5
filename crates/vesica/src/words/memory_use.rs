//! What runs take of the memory, and of the disk where that is short.

pub(crate) mod disk;
pub(crate) mod side;
