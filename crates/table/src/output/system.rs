//! What operating systems do each in its own way, for outputs.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::room;
#[cfg(unix)]
pub use unix::standard;
#[cfg(unix)]
pub(super) use unix::{
    can_be_named, duplicate, id, is_closed, is_mounted, is_wider, link, may_replace, names_descriptor,
    open_stream, permit, takes_bytes, unnamed,
};
#[cfg(windows)]
pub(crate) use windows::room;
#[cfg(windows)]
pub use windows::standard;
#[cfg(windows)]
pub(super) use windows::{
    can_be_named, duplicate, id, is_closed, is_mounted, is_wider, link, may_replace, names_descriptor,
    open_stream, permit, takes_bytes, unnamed,
};
