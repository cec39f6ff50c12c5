//! What operating systems do each in its own way, for a run.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::{
    NO_CONFIG_FOLDER, address_space, config_folder, cpu_seconds, exhausted, is_same_file,
    open_without_waiting, sync_folder,
};
#[cfg(windows)]
pub(crate) use windows::{
    NO_CONFIG_FOLDER, address_space, config_folder, cpu_seconds, exhausted, is_same_file,
    open_without_waiting, sync_folder,
};
