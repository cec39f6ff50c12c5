//! What runs take of the memory, and of the disk where memory is short.

pub(crate) mod disk;
pub(crate) mod side;
