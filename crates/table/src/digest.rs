//! The digest of the bytes that a table is read from, for the report of a run.

use std::io::{self, Read, Seek, SeekFrom};
use std::ops::ControlFlow;

use crate::error::TableError;
use crate::format::Format;
use crate::input::{Input, Progress, Stamp};
use crate::table::Table;

/// Bytes that one read takes.
const BATCH: usize = 1 << 20;

/// The digest of an input's bytes, and the times of its files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InputDigest {
    /// How many bytes there are.
    pub bytes: u64,
    /// The BLAKE3 digest of the bytes.
    pub blake3: [u8; 32],
    stamps: Vec<Stamp>,
}

impl Input {
    /// Reads all bytes and computes their digest; returns nothing for batches in memory. The bytes of several files come one
    /// after the other. Calls `on_progress` for each MiB; `Break` ends the pass with [`TableError::Cancelled`].
    pub fn digest(
        &self,
        on_progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Option<InputDigest>, TableError> {
        if self.format() == Format::Batches {
            return Ok(None);
        }
        let (mut hasher, mut piece) = (blake3::Hasher::new(), vec![0; BATCH]);
        let mut stamps = Vec::new();
        for input in self.each() {
            let input = input?;
            let failed = |source| input.read_error(source);
            stamps.push(input.stamp()?);
            let (mut file, _) = input.file().map_err(failed)?;
            file.seek(SeekFrom::Start(0)).map_err(failed)?;
            loop {
                let done = hasher.count();
                if on_progress(Progress { done, total: self.length().max(done) }).is_break() {
                    return Err(TableError::Cancelled);
                }
                match file.read(&mut piece) {
                    Ok(0) => break,
                    Ok(count) => hasher.update(&piece[..count]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(failed(error)),
                };
            }
        }
        Ok(Some(InputDigest { bytes: hasher.count(), blake3: hasher.finalize().into(), stamps }))
    }
}

impl Table {
    /// Checks that the table was read from the bytes of that digest: its files have not been touched since.
    pub fn is_of(&self, digest: &InputDigest) -> Result<(), TableError> {
        for (index, stamp) in digest.stamps.iter().enumerate() {
            let file = self.input().one_again(index)?;
            if file.stamp()? != *stamp {
                return Err(TableError::Changed { file: file.name().to_owned() });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Request;
    use std::fs::{self, File};
    use std::io::Write;
    use vesica_encode::items::{Encoding, Width};

    #[test]
    fn the_digest_is_of_all_bytes_and_of_the_file_that_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        let text = format!("id,mail\n{}", "1,ada@example.org\n".repeat(100_000));
        fs::write(&path, &text).unwrap();
        let mut go = |_| ControlFlow::Continue(());
        for touched in [false, true] {
            let input = Input::open(&path).unwrap();
            let digest = input.digest(&mut go).unwrap().unwrap();
            assert_eq!(
                (digest.bytes, digest.blake3),
                (text.len() as u64, blake3::hash(text.as_bytes()).into())
            );
            assert!(matches!(input.digest(&mut |_| ControlFlow::Break(())), Err(TableError::Cancelled)));
            let request = Request::new(vec!["mail".parse().unwrap()], Encoding::Digest(Width::Digest128));
            let (table, _) = input.load(&request, &mut go).unwrap();
            if touched {
                File::options().append(true).open(&path).unwrap().write_all(b"2,bob@example.org\n").unwrap();
            }
            assert_eq!(table.is_of(&digest).is_ok(), !touched);
        }
    }
}
