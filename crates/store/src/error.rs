//! What goes wrong with a store, without the secrets that an address or an answer may have.

use std::error::Error;
use std::io;

use object_store::client::{HttpError, HttpErrorKind};
use thiserror::Error;

use crate::address::Address;
use crate::connect::credentials;

/// An error of a store.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The address cannot be read.
    #[error("is no address of an object: {0}")]
    Address(String),
    /// The options or credentials in the environment do not fit.
    #[error("the store cannot be used: {0}")]
    Setup(String),
    /// There is no such object, and no folder of that name.
    #[error("there is no such object, folder or bucket")]
    NotFound,
    /// What stands there is no table.
    #[error("{0}")]
    NotOneTable(String),
    /// There are no credentials.
    #[error("no credentials were found: {0}")]
    NoCredentials(&'static str),
    /// The store refuses.
    #[error("the store refuses access{0}; check the credentials, and what they allow")]
    Denied(Said),
    /// The object is not the one that was found.
    #[error("changed while it was fetched; run again when nobody writes to it")]
    Changed,
    /// The store does not answer.
    #[error("the store cannot be reached: {0}")]
    Unreachable(&'static str),
    /// There is an object already, and it was to be a new one.
    #[error("there is one already")]
    Exists,
    /// Any other answer.
    #[error("the store answers with an error{0}")]
    Answer(Said),
    /// The copy cannot be kept on this machine.
    #[error("cannot be kept in a temporary file (is there room in TMPDIR?): {0}")]
    Local(#[source] io::Error),
    /// The caller stopped it.
    #[error("cancelled")]
    Cancelled,
}

/// What a store says of an error: a code, a message, or neither.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said(Option<String>);

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.as_deref().map_or(Ok(()), |said| write!(f, " ({said})"))
    }
}

/// Where a machine asks for its own identity, if nothing else gives credentials.
const IDENTITY_SERVICES: [&str; 3] = ["169.254.169.254", "metadata.google.internal", "fd00:ec2::254"];
/// What S3 and its library say of a bucket in another region.
const OF_ANOTHER_REGION: [&str; 4] = [
    "PermanentRedirect",
    "AuthorizationHeaderMalformed",
    "redirect without LOCATION",
    "301 Moved Permanently",
];
/// Longest code or message of a store that is shown.
const LONGEST: usize = 200;

impl StoreError {
    /// Reads an error of the library. Its own text may have an address with its signature, or a key's name.
    pub(crate) fn of(error: object_store::Error, address: &Address) -> Self {
        use object_store::Error as E;
        let text = error.to_string();
        if IDENTITY_SERVICES.iter().any(|service| text.contains(service)) {
            return StoreError::NoCredentials(credentials(address));
        }
        // What a web server writes may repeat the address.
        let said = |text| if address.is_of_web() { status(text) } else { said(text) };
        match &error {
            E::NotFound { .. } => StoreError::NotFound,
            E::PermissionDenied { .. } | E::Unauthenticated { .. } => StoreError::Denied(said(&text)),
            E::Precondition { .. } | E::NotModified { .. } => StoreError::Changed,
            E::AlreadyExists { .. } => StoreError::Exists,
            E::InvalidPath { .. } => StoreError::NotOneTable(
                "has an object with an empty part or a dot in its name, which cannot be told from others; move it away".to_owned(),
            ),
            E::UnknownConfigurationKey { key, .. } => StoreError::Setup(format!("{key} is unknown")),
            _ if OF_ANOTHER_REGION.iter().any(|said| text.contains(said)) => {
                StoreError::Setup("the bucket is in another region than AWS_REGION or the profile says".to_owned())
            }
            _ if text.to_ascii_lowercase().contains("content-length") => {
                StoreError::Answer(Said(Some("it does not say how long the file is".to_owned())))
            }
            _ => match transport(&error) {
                Some(what) => StoreError::Unreachable(what),
                None => StoreError::Answer(said(&text)),
            },
        }
    }
}

/// What the network did, if that is the cause.
fn transport(error: &object_store::Error) -> Option<&'static str> {
    let mut cause: Option<&(dyn Error + 'static)> = error.source();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<HttpError>() {
            return Some(match error.kind() {
                HttpErrorKind::Connect => "no connection; check the name, the network and HTTPS_PROXY",
                HttpErrorKind::Timeout => "it does not answer in time",
                HttpErrorKind::Interrupted | HttpErrorKind::Request => "the connection broke",
                _ => "its answer cannot be read",
            });
        }
        cause = error.source();
    }
    None
}

/// Code and message of an answer in XML or JSON, or its status. The rest may hold keys and what was signed.
fn said(text: &str) -> Said {
    let between = |open: &str, close: &str| {
        let rest = text.split_once(open)?.1;
        rest.split_once(close).map(|(inside, _)| inside.trim()).filter(|inside| !inside.is_empty())
    };
    let code = between("<Code>", "</Code>").or_else(|| between("\"status\": \"", "\""));
    let message = between("<Message>", "</Message>").or_else(|| between("\"message\": \"", "\""));
    let all: Vec<&str> = [code, message].into_iter().flatten().collect();
    if all.is_empty() { status(text) } else { Said(Some(shown(&all.join(": ")))) }
}

/// The status of an answer.
fn status(text: &str) -> Said {
    let status = text.split_once("status code: ").and_then(|(_, rest)| rest.split(':').next());
    Said(status.map(|status| shown(status.trim())))
}

fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_tells_its_code_and_message_alone() {
        let xml = "Generic S3 error: Server returned non-2xx status code: 403 Forbidden: <?xml?><Error><Code>\
                   SignatureDoesNotMatch</Code><Message>The request signature differs</Message><AWSAccessKeyId>AKIA\
                   </AWSAccessKeyId><StringToSign>AWS4-HMAC secret</StringToSign></Error>";
        assert_eq!(said(xml).to_string(), " (SignatureDoesNotMatch: The request signature differs)");
        let json =
            r#"status code: 404 Not Found: {"error": {"code": 404, "message": "The bucket is not there"}}"#;
        assert_eq!(said(json).to_string(), " (The bucket is not there)");
        assert_eq!(
            said("status code: 500 Internal Server Error: <html>").to_string(),
            " (500 Internal Server Error)"
        );
        assert_eq!(
            status("status code: 403 Forbidden: <Message>/a?sig=secret").to_string(),
            " (403 Forbidden)"
        );
        assert_eq!(said("https://a.example/x?sig=secret failed").to_string(), "");
    }
}
