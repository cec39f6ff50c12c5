//! What operating systems do each in its own way, for a run.

use std::io::Read;
use std::path::Path;

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

/// The text of a file of at most so many bytes. A pipe is not waited for.
pub(crate) fn read_small(path: &str, most: u64) -> Result<String, String> {
    let file = open_without_waiting(Path::new(path)).map_err(|error| error.to_string())?;
    if !file.metadata().is_ok_and(|about| about.is_file()) {
        return Err("it is not a file".into());
    }
    let mut text = String::new();
    match file.take(most + 1).read_to_string(&mut text) {
        Ok(bytes) if bytes as u64 <= most => Ok(text),
        Ok(_) => Err(format!("it has more than {most} bytes")),
        Err(error) => Err(error.to_string()),
    }
}
