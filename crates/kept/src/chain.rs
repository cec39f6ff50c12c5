//! A whole file and the deltas after it, as one set.

mod merge;
mod select;

use std::path::PathBuf;

pub use merge::{Merged, Present};

use crate::error::KeptError;
use crate::file::{SetFile, Verify};
use crate::header::Header;
use crate::layout::List;

/// Where a value is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// Not in the set.
    Absent,
    /// In the set.
    Present {
        /// The number of the epoch that added it, under which its label was sealed.
        epoch: u64,
        /// Its sealed label; empty without labels.
        label: Vec<u8>,
    },
}

/// A set: the newest whole file of the newest key, and each delta after it. Many threads can read it at once.
pub struct Chain {
    /// A whole file first, then deltas, ascending.
    files: Vec<SetFile>,
}

impl Chain {
    /// Opens the files among `paths`, in any order; a folder stands for its `*.vset` files. Files of older keys and older
    /// whole files with their deltas are left aside, and so is a second copy of a file.
    ///
    /// # Errors
    ///
    /// [`KeptError`], which names the file that is damaged, missing, or no part of this chain.
    pub fn open(paths: &[PathBuf], verify: &Verify<'_>) -> Result<Self, KeptError> {
        let files = select::select(paths, verify)?;
        let files = files.iter().map(|chosen| {
            let file = SetFile::open(&chosen.path, verify)?;
            match file.is(chosen) {
                true => Ok(file),
                false => Err(KeptError::Replaced { path: chosen.path.clone() }),
            }
        });
        Ok(Chain { files: files.collect::<Result<_, _>>()? })
    }

    /// The files: a whole one first, then deltas, ascending.
    #[must_use]
    pub fn files(&self) -> &[SetFile] {
        &self.files
    }

    /// The header of the newest file.
    #[must_use]
    pub fn head(&self) -> &Header {
        self.newest().header()
    }

    /// The digest of the newest epoch, which the next delta names.
    #[must_use]
    pub fn digest(&self) -> &[u8; 32] {
        self.newest().digest()
    }

    /// Looks values up, in any order. Newer files decide over older ones.
    ///
    /// # Errors
    ///
    /// As [`SetFile::find`].
    pub fn find(&self, values: &[u128]) -> Result<Vec<Found>, KeptError> {
        let mut found = vec![Found::Absent; values.len()];
        // The positions that no newer file decides, and their values.
        let mut open: (Vec<usize>, Vec<u128>) = ((0..values.len()).collect(), values.to_vec());
        for file in self.files.iter().rev() {
            let epoch = file.header().epoch.number;
            let added = file.find(List::Additions, &open.1)?;
            open =
                undecided(&open, added, |position, label| found[position] = Found::Present { epoch, label });
            if file.header().epoch.removed > 0 {
                let removed = file.find(List::Removals, &open.1)?;
                open = undecided(&open, removed, |_, _| {});
            }
        }
        Ok(found)
    }

    /// The values of the set, ascending, each once. Memory holds two blocks of each file.
    #[must_use]
    pub fn values(&self) -> Merged<'_> {
        Merged::new(&self.files)
    }

    fn newest(&self) -> &SetFile {
        // There is a whole file, so there is a newest one.
        &self.files[self.files.len() - 1]
    }
}

/// Hands over what was found, and says what is left.
fn undecided(
    open: &(Vec<usize>, Vec<u128>),
    labels: Vec<Option<Vec<u8>>>,
    mut decide: impl FnMut(usize, Vec<u8>),
) -> (Vec<usize>, Vec<u128>) {
    let mut left = (Vec::new(), Vec::new());
    for ((position, value), label) in open.0.iter().zip(&open.1).zip(labels) {
        match label {
            Some(label) => decide(*position, label),
            None => {
                left.0.push(*position);
                left.1.push(*value);
            }
        }
    }
    left
}
