//! Kept sets: one side prepares its set once, others look keys up in it often.
//!
//! `publish` makes set files of a table ([`vesica_kept`]): outputs of the sender's oblivious PRF
//! ([`vesica_protocols::public_key::voprf`]), signed with its identity. `serve` answers queries under that key, within
//! budgets. `lookup` asks for its own keys, checks the proofs, and looks the outputs up in the files it has.
//!
//! ```text
//! sender                                                              receiver
//!   publish: table ──► F(k, x), cut, sorted ──► set file ───────────►   (once, by any way, or `--fetch`)
//!   serve:   ledger    ◄────────── C = H(y) + r·G, 32 bytes a key ──  lookup: table
//!            k·C, proof ─────────────────────────────────────────►   F(k, y) ──► blocks of the files ──► rows
//! ```

mod ask;
pub mod lookup;
mod post;
pub mod publish;
mod secret;
pub mod serve;
mod values;
mod wire;

use std::io;

use vesica_kept::{Chain, Epoch, KeptError, LedgerError, Verify};
use vesica_net::PublicKey;
use vesica_protocols::public_key::voprf;
use vesica_text::text;

use crate::words::error::{Error, Kind, REPORT_A_BUG, RunPhase, Side};
use crate::words::report::KeptReport;
use crate::words::system::exhausted;

/// The protocol, in reports.
const PROTOCOL: &str = "voprf";

/// Keys in one batch of a query: a proof is for one batch, and the ledger has a record of each.
const BATCH: usize = 512;

/// Whether the sender with this identity has signed a file.
fn signed_by(sender: PublicKey) -> impl Fn(&[u8; 32], &[u8], &[u8; 64]) -> bool {
    move |signer, message, signature| signer == sender.as_bytes() && sender.has_signed(message, signature)
}

/// The files at these paths, if they are a chain of that sender's.
fn open_chain(paths: &[std::path::PathBuf], sender: PublicKey) -> Result<Chain, Error> {
    let verify: &Verify<'_> = &signed_by(sender);
    Chain::open(paths, verify).map_err(|error| Error::kept(RunPhase::Prepare, &error))
}

/// The OPRF's public key of a chain.
fn public_key(chain: &Chain) -> Result<voprf::PublicKey, Error> {
    voprf::PublicKey::decode(chain.head().epoch.public_key).map_err(|_| {
        let remedy = "ask whoever published it; nothing is sent for such a set";
        Error { kind: Kind::Input, ..Error::usage("the public key of the set is no group element", remedy) }
    })
}

/// What a report says of an epoch.
fn report_of(epoch: &Epoch, digest: &[u8; 32]) -> KeptReport {
    let digest = blake3::Hash::from_bytes(*digest).to_hex().to_string();
    let Epoch { number, key_number, keys, added, removed, .. } = *epoch;
    KeptReport { epoch: number, key_number, digest, keys, added, removed, asked: None }
}

impl Error {
    /// A set file cannot be read or written.
    fn kept(phase: RunPhase, error: &KeptError) -> Self {
        let message = text!("{}", error.to_string());
        let of = |kind, remedy: &'static str| Error {
            side: Side::Ours,
            phase,
            kind,
            message: message.clone(),
            remedy: remedy.into(),
        };
        match error {
            KeptError::Write { source, .. } => of_system(source, || {
                of(
                    Kind::Output,
                    "make room there, or name another place with `[output]`; nothing is left there",
                )
            }),
            KeptError::Read { source, .. } => of_system(source, || {
                of(Kind::Input, "check the path; a set is a file, or a folder with files that end in `.vset`")
            }),
            KeptError::Exists { .. } => of(Kind::Usage, "name a new file with `[output]`"),
            KeptError::Misuse { .. } => of(Kind::Internal, REPORT_A_BUG),
            KeptError::TooManyKeys { .. } => of(Kind::Usage, "give a smaller `[max-keys]`"),
            KeptError::NoFile { .. }
            | KeptError::NoWhole { .. }
            | KeptError::Missing { .. }
            | KeptError::OtherBefore { .. }
            | KeptError::TwoHeads { .. }
            | KeptError::Differs { .. } => {
                of(Kind::Input, "name all files from one whole set on, each night's once, in any order")
            }
            KeptError::Signature { .. } => of(
                Kind::Refused,
                "check that `[peer]` is the key of the set's sender, and get the file again from there",
            ),
            _ => of(Kind::Input, "the file is not what the sender signed: get it again"),
        }
    }

    /// The ledger cannot be used.
    fn ledger(error: &LedgerError) -> Self {
        let of = |kind, remedy: &'static str| Error {
            kind,
            ..Error::usage(text!("{}", error.to_string()), remedy)
        };
        match error {
            LedgerError::InUse { .. } => {
                of(Kind::Usage, "end the other `vesica serve`, or give each a ledger of its own")
            }
            LedgerError::Open { source, .. } | LedgerError::Write { source, .. } => of_system(source, || {
                of(
                    Kind::Output,
                    "name a file in a folder that you may write to with `[ledger]`; nothing was answered",
                )
            }),
            LedgerError::NoLock { .. } => {
                of(Kind::Usage, "name a file on a disk of this machine: the system cannot lock this one")
            }
            _ => of(
                Kind::Input,
                "nothing is answered on a damaged ledger: restore it, or move it away, which gives every receiver its \
                 budget anew",
            ),
        }
    }
}

/// The system's shortage, if it is one.
fn of_system(source: &io::Error, other: impl FnOnce() -> Error) -> Error {
    let error = other();
    match exhausted(source) {
        Some(remedy) => Error { kind: Kind::Resources, remedy: remedy.into(), ..error },
        None => error,
    }
}
