//! What operating systems do each in its own way, for sockets. [`private_file`](crate::private_file) has private files.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::{Bell, bell, is_connecting, is_short_of_descriptors, most_descriptors};
#[cfg(windows)]
pub(crate) use windows::{Bell, bell, is_connecting, is_short_of_descriptors, most_descriptors};
