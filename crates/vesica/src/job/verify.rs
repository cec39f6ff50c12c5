//! `verify`: whether a receipt is what both sides have signed, without a partner and without a network.

use std::path::Path;

use vesica_net::PublicKey;
use vesica_table::shown_path;
use vesica_text::text;

use crate::session::partner::peer_key;
use crate::words::error::{Error, Kind, Side};
use crate::words::receipt::{MOST_BYTES, Receipt, ReceiptError, ReportedRun};
use crate::words::system::read_small;

/// The receipt in a file, if it holds: of a receipt, of a report that has one, or of a page that was made from such a report.
///
/// With keys, in the forms that `--peer` takes, it has to be between their holders: one of the two, or both. With a report it has
/// to be of its run.
///
/// # Errors
/// If the file cannot be read ([`Kind::Input`]), a signature does not hold or the run is another ([`Kind::Protocol`]), or a key
/// is a stranger's ([`Kind::Refused`]).
pub fn verify(file: &Path, keys: &[String], report: Option<&Path>) -> Result<Receipt, Error> {
    let expected = keys.iter().map(|key| peer_key(key)).collect::<Result<Vec<PublicKey>, Error>>()?;
    if expected.len() > 2 {
        return Err(Error::usage("a run has two sides", "give `[peer]` once or twice"));
    }
    let receipt = Receipt::find(&read(file)?).map_err(|error| refused(file, &error))?;
    receipt.verify().map_err(|error| refused(file, &error))?;
    if !expected.is_empty() {
        receipt.is_between(&expected).map_err(|error| refused(file, &error))?;
    }
    if let Some(report) = report {
        let told = ReportedRun::find(&read(report)?).map_err(|error| refused(report, &error))?;
        receipt.is_of(&told).map_err(|error| refused(file, &error))?;
    }
    Ok(receipt)
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let read = read_small(&path.to_string_lossy(), MOST_BYTES);
    read.map(String::into_bytes).map_err(|why| {
        let message = text!("{}: {}", shown_path(path), why);
        Error {
            kind: Kind::Input,
            ..Error::usage(message, "name the file that `[receipt]` or `[report]` wrote")
        }
    })
}

fn refused(path: &Path, error: &ReceiptError) -> Error {
    let (side, kind, remedy) = match error {
        ReceiptError::Form(_)
        | ReceiptError::NoReport(_)
        | ReceiptError::None
        | ReceiptError::Version(_)
        | ReceiptError::Field(_) => {
            (Side::Ours, Kind::Input, "name the file that `[receipt]` or `[report]` wrote")
        }
        ReceiptError::Signature(_) => (
            Side::Ours,
            Kind::Protocol,
            "take it for no evidence; get it again from whoever had it, or from the other side",
        ),
        ReceiptError::OtherRun(_) => {
            (Side::Ours, Kind::Protocol, "find the receipt with the `session` of the report")
        }
        ReceiptError::Stranger { .. } => (
            Side::Both,
            Kind::Refused,
            "compare the keys with those that the two sides have exchanged; the run was with somebody else",
        ),
    };
    let message = text!("{}: {}", shown_path(path), error.to_string());
    Error { side, kind, ..Error::usage(message, remedy) }
}
