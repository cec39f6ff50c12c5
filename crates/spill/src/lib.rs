//! Encrypted temporary files, for what does not fit into memory.
//!
//! A [`Spill`] is one unlinked file in a temporary [`Directory`], with a key that exists only in the memory of
//! this process. It holds any number of [`Bucket`]s: lists of records of one width. [`Buckets`] writes many of
//! them at once, with one block of memory for each. What a bucket took of the file is used again once it is
//! dropped, so the file never grows beyond what is stored at one time.
//!
//! ```text
//! block      up to 32 KiB of the file: whole records ‖ tag of 16 bytes
//! cipher     AES-256-GCM, one key for each spill, from the caller's randomness
//! nonce      number of the bucket (u32) ‖ number of the block in its bucket (u64), both little-endian
//! data       1 for the last block of a bucket, 0 for others ‖ label of the bucket
//! extent     256 KiB of the file, for the blocks of one bucket
//! ```
//!
//! **Security.** Bucket numbers are never used twice, and a block is written once, so no nonce repeats. Where
//! a block lies in the file is not part of its nonce: a block that is read from a wrong place has another
//! nonce and does not open. Neither does a changed block, one of another bucket, one under another label, or
//! a last one in place of an earlier one. How many records a bucket has is kept in memory. After a crash, or
//! on a copy of the disk, only sizes can be read. The key is wiped when the spill is dropped.
//!
//! **Leakage.** Whoever watches the file sees how many bytes each bucket takes.
//!
//! ```
//! # use rand::{SeedableRng, rngs::StdRng};
//! use vesica_spill::{Block, Directory, Label, Spill, SpillError};
//!
//! # let (named, mut rng) = (tempfile::tempdir()?, StdRng::seed_from_u64(1));
//! # let named = Some(named.path());
//! let spill = Spill::create(Directory::choose(named)?, &mut rng)?;
//! let mut buckets = spill.buckets(Label::new("example"), 3, 8, Block::LARGE)?;
//! for number in 0..1000u64 {
//!     buckets.push((number % 3) as usize, &number.to_le_bytes())?;
//! }
//! let buckets = buckets.finish()?;
//! let mut sum = 0;
//! buckets[1].read(|records| {
//!     let numbers = records.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
//!     sum += numbers.sum::<u64>();
//!     Ok::<(), SpillError>(())
//! })?;
//! assert_eq!(sum, (1..1000).step_by(3).sum());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod bucket;
mod cipher;
mod directory;
mod error;
mod store;
mod system;
#[cfg(feature = "testing")]
pub mod testing;

pub use bucket::{Bucket, Buckets};
pub use cipher::Label;
pub use directory::{Directory, DirectoryKind};
pub use error::{Fault, SpillError};
pub use store::{Block, EXTENT, Spill, Usage};
