//! What operating systems do each in its own way, for temporary files.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::{
    USUAL, environment, free, in_memory, make_private, read_exact_at, usual, write_all_at,
};
#[cfg(windows)]
pub(crate) use windows::{
    USUAL, environment, free, in_memory, make_private, read_exact_at, usual, write_all_at,
};
