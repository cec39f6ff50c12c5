//! Files on Windows.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::FileExt;

/// A new file has the permissions of its folder.
pub(crate) fn keep_private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// A new file has the permissions of its folder.
pub(crate) fn usual<'a, 'p, 's>(
    builder: &'a mut tempfile::Builder<'p, 's>,
) -> &'a mut tempfile::Builder<'p, 's> {
    builder
}

pub(crate) fn write_all_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_write(bytes, at) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => {
                bytes = bytes.get(count..).unwrap_or_default();
                at += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(crate) fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_read(bytes, at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                bytes = &mut bytes[count..];
                at += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
