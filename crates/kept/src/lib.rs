//! What two sides keep on disk when one prepares its set once and the other asks often.
//!
//! A *set file* ([`SetWriter`], [`SetFile`]) holds one *epoch* of a sender's set: for each key `x` the output `F(x)` of an
//! oblivious PRF, cut to `w` bits ([`cut`], [`width`]). A whole file has the set, a delta what came and went since the epoch
//! before. A [`Chain`] is a whole file and the deltas after it. A [`Ledger`] is a server's list of what was asked. This crate
//! knows nothing of groups or networks: values come in as numbers, signatures through closures.
//!
//! ```text
//! file       "vesica set 1\n" ‖ length of the header (u32) ‖ header ‖ signature (64) ‖ index ‖ blocks
//! epoch      BLAKE3("vesica set 1\n" ‖ length ‖ header): the digest that the next epoch names
//! signature  over "vesica set file" ‖ "vesica set 1\n" ‖ length ‖ header
//! index      for each block its length (u32) ‖ the first 16 bytes of its digest; the header has the BLAKE3 of the index
//! digest     BLAKE3's derive_key("vesica kept set: block v1") of list (u8: 0, 1) ‖ number of the block (u64) ‖ block
//! lists      additions, then removals; 2^b blocks each, by the top b bits of a value; about 512 values a block
//! block      count (u32) ‖ Golomb–Rice code of the gaps between the other w - b bits, ascending ‖ sealed labels
//! ```
//!
//! Numbers are little-endian. A list of N values takes `w - log2 N + 1.5` bits a value, and 0.3 bits of index.
//!
//! **Reading.** A look-up reads one block for each value, and checks its digest first; memory holds 24 bytes a block. Files
//! are read at positions and never mapped: a mapped file that somebody cuts while it is read ends the process with a signal,
//! and a read is an error that can be told.
//!
//! **Security.** Whoever holds a set file and no OPRF key sees uniform values, how many there are, and from a chain how many
//! stay. Who once learned `F(x)` sees in every epoch under that key whether `x` is in the set. Every byte that is read hangs
//! by a digest on the signature; whether the signer is the right sender is the caller's question (the `verify` closure).
//!
//! ```
//! # use vesica_kept::{Epoch, Kind, List, SetFile, SetWriter};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("monday.vset");
//! let epoch = Epoch { added: 3, keys: 3, width: 50, most_keys_a_query: 256, ..Epoch::new(Kind::Whole, "example") };
//! let mut writer = SetWriter::create(&path, epoch)?;
//! for value in [5, 70, 1 << 49] {
//!     writer.add(value, b"")?;
//! }
//! writer.finish(&mut |_message| [0; 64])?;
//!
//! let set = SetFile::open(&path, &|_sender, _message, _signature| true)?;
//! let found = set.find(List::Additions, &[70, 71])?;
//! assert_eq!(found, [Some(vec![]), None]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod append;
mod block;
mod chain;
mod error;
mod file;
mod header;
mod label;
mod layout;
mod ledger;
mod rice;
mod system;
mod temporary;
mod value;
mod values;
mod writer;

pub use append::{append, open_locked, put_last};
pub use chain::{Chain, Found, Merged, Present};
pub use error::{HeaderFault, KeptError, LabelError, LedgerError, Misuse};
pub use file::{SetFile, Verify};
pub use header::{Epoch, Header, Kind, SUITE};
pub use label::{LABEL_TAG, open_label, seal_label};
pub use layout::List;
pub use ledger::{Charge, LEDGER_MAGIC, Ledger};
pub use temporary::{Temporary, remove_stale, remove_unfinished};
pub use value::{cut, width};
pub use values::{Entry, Values};
pub use writer::SetWriter;
