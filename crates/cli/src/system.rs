//! What operating systems do each in its own way, for the program.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::{
    IDENTITY_CAUTION, Signals, grant_descriptors, guard_memory, ignore_warnings, reader_left,
};
#[cfg(windows)]
pub(crate) use windows::{
    IDENTITY_CAUTION, Signals, grant_descriptors, guard_memory, ignore_warnings, reader_left,
};
