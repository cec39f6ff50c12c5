//! `verify`: whether a receipt is what both sides have signed, without a partner and without a network.

use std::path::{Path, PathBuf};

use vesica_net::PublicKey;
use vesica_table::shown_path;
use vesica_text::text;

use crate::session::partner::peer_key;
use crate::words::error::{Error, Kind, Side};
use crate::words::receipt::{MOST_BYTES, Receipt, ReceiptError, ReportedRun};
use crate::words::system::read_small;

/// A receipt whose signatures hold, and what it was compared with.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Verified {
    /// The receipt.
    pub receipt: Receipt,
    /// The keys that were expected.
    pub expected: Vec<PublicKey>,
    /// The reports, or pages made from reports, that are of its run.
    pub reports: Vec<PathBuf>,
}

impl Verified {
    /// What the receipt says, what it proves and what not.
    pub fn in_words(&self) -> String {
        let mut text = self.receipt.in_words(&self.expected);
        let compared = match self.receipt.statement.set {
            None => "time, parameters, terms, sizes and the kind of the result",
            Some(_) => "and time",
        };
        for report in &self.reports {
            text += &format!(
                "{} tells of this run: role, session, protocol, keys, digests, {compared} are those of the receipt. All \
                 else in it, and the text that a page shows, is that side's own word.\n",
                shown_path(report)
            );
        }
        text
    }
}

/// The receipt in a file, if it holds: of a receipt, of a report that has one, or of a page that was made from such a report.
/// A report around it has to be of its run.
///
/// With keys, in the forms that `--peer` takes, it has to be between their holders: one of the two, or both. With a report it has
/// to be of its run.
///
/// # Errors
/// If the file cannot be read ([`Kind::Input`]), a signature does not hold or the run is another ([`Kind::Protocol`]), or a key
/// is a stranger's ([`Kind::Refused`]).
pub fn verify(file: &Path, keys: &[String], report: Option<&Path>) -> Result<Verified, Error> {
    let expected = keys.iter().map(|key| peer_key(key)).collect::<Result<Vec<PublicKey>, Error>>()?;
    if expected.len() > 2 {
        return Err(Error::usage("a run has two sides", "give `[peer]` once or twice"));
    }
    let (receipt, around) = Receipt::find(&read(file)?).map_err(|error| refused(file, &error))?;
    receipt.verify().map_err(|error| refused(file, &error))?;
    if !expected.is_empty() {
        receipt.is_between(&expected).map_err(|error| refused(file, &error))?;
    }
    let around = around.map(|told| Ok((file, told)));
    let named = report.map(|report| {
        let told = ReportedRun::find(&read(report)?).map_err(|error| refused(report, &error))?;
        Ok((report, told))
    });
    let mut reports = Vec::new();
    for told in around.into_iter().chain(named) {
        let (path, told) = told?;
        receipt.is_of(&told).map_err(|error| refused(file, &error))?;
        reports.push(path.to_owned());
    }
    reports.dedup();
    Ok(Verified { receipt, expected, reports })
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
    let wrote = "name the file that `[receipt]` wrote, or a report of a run with `[receipt]`";
    let (side, kind, remedy) = match error {
        ReceiptError::NotJson
        | ReceiptError::Form(_)
        | ReceiptError::NoReport(_)
        | ReceiptError::None
        | ReceiptError::Field(_) => (Side::Ours, Kind::Input, wrote),
        ReceiptError::Version(_) => (Side::Ours, Kind::Input, "take the newest vesica"),
        ReceiptError::Signature(_) => (
            Side::Ours,
            Kind::Protocol,
            "take it for no evidence; get it again from whoever had it, or from the other side",
        ),
        ReceiptError::OtherRun(_) => {
            (Side::Ours, Kind::Protocol, "find the receipt with the `session` of the report")
        }
        ReceiptError::Stranger { .. } => (
            Side::Ours,
            Kind::Refused,
            "compare the keys with those that the two sides have exchanged; the run was with somebody else",
        ),
    };
    let message = text!("{}: {}", shown_path(path), error.to_string());
    Error { side, kind, ..Error::usage(message, remedy) }
}
