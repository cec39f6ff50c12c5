//! Files on Unix.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};

/// A new file is for its owner alone.
pub(crate) fn keep_private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

/// A new file has the usual permissions: the umask is applied.
pub(crate) fn usual<'a, 'p, 's>(
    builder: &'a mut tempfile::Builder<'p, 's>,
) -> &'a mut tempfile::Builder<'p, 's> {
    builder.permissions(Permissions::from_mode(0o666))
}

pub(crate) fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    file.write_all_at(bytes, at)
}

pub(crate) fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    file.read_exact_at(bytes, at)
}
