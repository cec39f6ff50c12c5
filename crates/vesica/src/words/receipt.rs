//! The receipt of a run: a statement of what ran, which both sides have signed. It holds no result and no digest of an input.
//!
//! ```text
//! {
//!   "signatures": {"receiver": "…", "sender": "…"},        Ed25519, base64 without padding
//!   "statement": {
//!     "learns": "receiver",
//!     "parameters": {"level": 128, "mask_bits": 72},
//!     "parts": 1,
//!     "protocol": "vole",
//!     "receiver": {
//!       "items": 1000,                                     the size that the sender saw
//!       "key": "vesica-pub1-…",
//!       "sent": "…",                                       BLAKE3 of what the receiver sent
//!       "started": "2026-01-01T00:00:00.000Z",             by its own clock
//!       "version": "0.1.0"
//!     },
//!     "result": "rows",
//!     "sender": { … },
//!     "session": "…",
//!     "terms": {"security": "malicious", … },
//!     "wire": 2
//!   },
//!   "version": 1
//! }
//! ```
//!
//! Both sign the same bytes: [`SIGNED`], and the statement in the canonical form of RFC 8785. Each signs the statement as it
//! saw the run, and checks the other's signature against its own statement. So a receipt is there only if both saw the same.
//!
//! The statement has only what both sides must have alike for a run to work at all, and what each has told of itself. Texts
//! that may change from one version of the program to the next are not in it.

mod in_words;

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::error::Category;
use vesica_net::PublicKey;
use vesica_net::identity::{signature_from_text, signature_to_text};
use vesica_protocols::Role;

/// The version of the form.
const VERSION: u32 = 1;

/// What a signature covers before the statement.
pub const SIGNED: &[u8] = b"vesica receipt v1\n";

/// The most bytes of a file that may hold a receipt.
pub const MOST_BYTES: u64 = 16 << 20;

/// Numbers above are not exact in RFC 8785.
const LARGEST: u64 = 1 << 53;

/// The longest text in a statement.
const LONGEST_TEXT: usize = 1024;

/// What stands before a report in a page that was made from one, and behind it.
const IN_A_PAGE: [&str; 2] = ["<script type=\"application/json\" id=\"vesica-report\">", "</script>"];

/// A statement that both sides have signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    version: u32,
    /// What both have signed.
    pub statement: Statement,
    /// With the keys that the statement names.
    pub signatures: Signatures,
}

/// What ran, as both sides saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// The name of the run in both sides' reports.
    pub session: String,
    /// The protocol.
    pub protocol: String,
    /// Its parameters.
    #[serde(deserialize_with = "distinct")]
    pub parameters: BTreeMap<String, Scalar>,
    /// The terms that were equal on both sides.
    #[serde(deserialize_with = "distinct")]
    pub terms: BTreeMap<String, String>,
    /// What the result is: `rows`, `payload`, `count`, `at-least` or `sum`.
    pub result: String,
    /// Who learns it: `receiver` or `both`.
    pub learns: String,
    /// The parts that the run was split into.
    pub parts: u32,
    /// The receiver, as the sender saw it.
    pub receiver: Party,
    /// The sender, as the receiver saw it.
    pub sender: Party,
    /// The kept set, if it was a look-up in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<SetName>,
    /// The version of the wire.
    pub wire: u16,
}

/// A side of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Party {
    /// Its public key.
    pub key: String,
    /// The size of its set that the other side saw, padding included; in a look-up the keys that the receiver asked for, and
    /// nothing of the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<u64>,
    /// When it began, by its own clock: UTC, as RFC 3339 writes it.
    pub started: String,
    /// The version of its program.
    pub version: String,
    /// The BLAKE3 digest of all that it sent, in hexadecimal digits.
    pub sent: String,
}

/// A kept set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetName {
    /// The digest of the epoch in which the receiver looked, in hexadecimal digits.
    pub digest: String,
    /// The number of the sender's newest epoch.
    pub epoch: u64,
    /// The digest of that epoch.
    pub served: String,
    /// The number of the OPRF's key.
    pub key_number: u32,
}

/// A parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    /// Whether it is so.
    Flag(bool),
    /// A number.
    Number(u64),
    /// A name.
    Name(String),
}

impl From<Scalar> for serde_json::Value {
    fn from(value: Scalar) -> Self {
        match value {
            Scalar::Flag(flag) => flag.into(),
            Scalar::Number(number) => number.into(),
            Scalar::Name(name) => name.into(),
        }
    }
}

/// Both signatures: Ed25519, base64 without padding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signatures {
    /// The receiver's.
    pub receiver: String,
    /// The sender's.
    pub sender: String,
}

/// Why a receipt proves nothing, or not what is asked of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiptError {
    /// Not JSON.
    #[error("it is no receipt: it is not JSON")]
    NotJson,
    /// Other JSON.
    #[error("it is no receipt of this form: {0}")]
    Form(String),
    /// Not the report of a run.
    #[error("it is no report of a run: {0}")]
    NoReport(String),
    /// A report, or a page made from one, without a receipt.
    #[error("it holds no receipt: the run was not confirmed, or nobody asked for its receipt")]
    None,
    /// The version of another program.
    #[error("it is a receipt of version {0}, and this program knows version {VERSION}")]
    Version(u32),
    /// A text or a number that no run has.
    #[error("`{0}` of the statement is not as a run has it")]
    Field(&'static str),
    /// A statement that its side did not sign.
    #[error("the {} did not sign this statement: the receipt was changed, or made up", .0.name())]
    Signature(Role),
    /// Not the key that is expected.
    #[error("the {} of this receipt has the key {key}, which is none of the expected ones", .role.name())]
    Stranger {
        /// Whose key.
        role: Role,
        /// The key.
        key: PublicKey,
    },
    /// Of another run than the report.
    #[error("it is the receipt of another run than the report: {0} differs")]
    OtherRun(&'static str),
}

/// What tells of a run in its report, as far as a receipt has it too.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ReportedRun {
    role: String,
    session: Option<String>,
    protocol: Option<String>,
    keys: Option<ReportedKeys>,
    transcript: Option<ReportedTranscript>,
    started: String,
    #[serde(default)]
    confirmed: bool,
    #[serde(default, deserialize_with = "distinct")]
    terms: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "distinct")]
    parameters: BTreeMap<String, serde_json::Value>,
    learns: Option<String>,
    result: Option<ReportedResult>,
    sizes: Option<ReportedSizes>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct ReportedResult {
    kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct ReportedSizes {
    shown_items: Option<u64>,
    peer_items: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct ReportedKeys {
    mine: String,
    partner: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct ReportedTranscript {
    sent: String,
    received: String,
}

impl Statement {
    /// The bytes that both sides sign.
    pub(crate) fn message(&self) -> Result<Vec<u8>, ReceiptError> {
        let canonical = serde_json_canonicalizer::to_vec(self);
        let canonical = canonical.map_err(|error| ReceiptError::Form(error.to_string()))?;
        Ok([SIGNED, &canonical].concat())
    }

    /// The side of that role.
    pub fn party(&self, role: Role) -> &Party {
        match role {
            Role::Receiver => &self.receiver,
            Role::Sender => &self.sender,
        }
    }

    /// The side of that role, to be completed.
    pub(crate) fn party_mut(&mut self, role: Role) -> &mut Party {
        match role {
            Role::Receiver => &mut self.receiver,
            Role::Sender => &mut self.sender,
        }
    }

    /// Refuses what no run states: texts that would do something to a screen, numbers that RFC 8785 rounds.
    pub(crate) fn check(&self) -> Result<(), ReceiptError> {
        let shown =
            |text: &str| text.len() <= LONGEST_TEXT && text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
        let Statement { session, protocol, parameters, terms, result, learns, receiver, sender, set, .. } =
            self;
        let texts = [("session", session), ("protocol", protocol), ("result", result), ("learns", learns)];
        let of_parties = [receiver, sender].into_iter().flat_map(|party| {
            let Party { key, started, version, sent, .. } = party;
            [("key", key), ("started", started), ("version", version), ("sent", sent)]
        });
        let of_terms = terms.iter().flat_map(|(name, value)| [("terms", name), ("terms", value)]);
        let of_parameters = parameters.iter().flat_map(|(name, value)| {
            let value = if let Scalar::Name(value) = value { Some(value) } else { None };
            [Some(name), value].into_iter().flatten().map(|text| ("parameters", text))
        });
        let of_set = set.iter().flat_map(|set| [("set", &set.digest), ("set", &set.served)]);
        let all = texts.into_iter().chain(of_parties).chain(of_terms).chain(of_parameters).chain(of_set);
        for (field, text) in all {
            shown(text).then_some(()).ok_or(ReceiptError::Field(field))?;
        }
        let numbers =
            parameters.values().map(|value| if let Scalar::Number(number) = value { *number } else { 0 });
        let numbers = numbers.map(|number| ("parameters", number));
        let sizes = [receiver, sender].map(|party| ("items", party.items.unwrap_or(0)));
        let of_set = set.iter().map(|set| ("set", set.epoch));
        for (field, number) in numbers.chain(sizes).chain(of_set) {
            (number <= LARGEST).then_some(()).ok_or(ReceiptError::Field(field))?;
        }
        Ok(())
    }
}

impl Receipt {
    /// A statement with both signatures, which have been checked.
    pub(crate) fn of(statement: Statement, receiver: &[u8; 64], sender: &[u8; 64]) -> Self {
        let [receiver, sender] = [receiver, sender].map(signature_to_text);
        Receipt { version: VERSION, statement, signatures: Signatures { receiver, sender } }
    }

    /// The receipt in the bytes of a file: of a receipt, of a report that holds one, or of a page that was made from such a
    /// report; and the run that the report around it tells of. Nothing has been checked but its form.
    ///
    /// # Errors
    /// If there is none, or it has another form.
    pub fn find(bytes: &[u8]) -> Result<(Self, Option<ReportedRun>), ReceiptError> {
        let text = json_of(bytes)?;
        let form = |error: serde_json::Error| match error.classify() {
            Category::Syntax | Category::Eof => ReceiptError::NotJson,
            Category::Data | Category::Io => ReceiptError::Form(error.to_string()),
        };
        let probe: Probe = serde_json::from_str(text).map_err(form)?;
        let (receipt, report) = match probe.statement {
            Some(_) => match probe.version {
                Some(VERSION) => (serde_json::from_str::<Receipt>(text).map_err(form)?, None),
                version => return Err(ReceiptError::Version(version.unwrap_or(0))),
            },
            None => match serde_json::from_str::<Holder>(text).map_err(form)?.receipt {
                Some(receipt) => (receipt, Some(ReportedRun::find(bytes)?)),
                None => return Err(ReceiptError::None),
            },
        };
        if receipt.version != VERSION {
            return Err(ReceiptError::Version(receipt.version));
        }
        receipt.statement.check()?;
        Ok((receipt, report))
    }

    /// The key of that side, as the statement names it.
    ///
    /// # Errors
    /// If it is none.
    pub fn key(&self, role: Role) -> Result<PublicKey, ReceiptError> {
        self.statement.party(role).key.parse().map_err(|_| ReceiptError::Field("key"))
    }

    /// Checks both signatures with the keys that the statement names.
    ///
    /// # Errors
    /// If one does not hold.
    pub fn verify(&self) -> Result<(), ReceiptError> {
        let message = self.statement.message()?;
        let Signatures { receiver, sender } = &self.signatures;
        if self.key(Role::Receiver)? == self.key(Role::Sender)? {
            return Err(ReceiptError::Field("key"));
        }
        for (role, text) in [(Role::Receiver, receiver), (Role::Sender, sender)] {
            let signature = signature_from_text(text).ok_or(ReceiptError::Signature(role))?;
            if !self.key(role)?.has_signed(&message, &signature) {
                return Err(ReceiptError::Signature(role));
            }
        }
        Ok(())
    }

    /// Checks that the run was between holders of these keys: one that took part, or both.
    ///
    /// # Errors
    /// Whoever is a stranger.
    pub fn is_between(&self, expected: &[PublicKey]) -> Result<(), ReceiptError> {
        let mut strangers = Vec::new();
        for role in [Role::Receiver, Role::Sender] {
            let key = self.key(role)?;
            if !expected.contains(&key) {
                strangers.push(ReceiptError::Stranger { role, key });
            }
        }
        // Who asks with one key does not name its own.
        let unnamed = 2usize.saturating_sub(expected.len());
        strangers.into_iter().nth(unnamed).map_or(Ok(()), Err)
    }

    /// Checks that the receipt is of the run that a report tells of.
    ///
    /// # Errors
    /// What differs.
    pub fn is_of(&self, report: &ReportedRun) -> Result<(), ReceiptError> {
        let ReportedRun { role, session, protocol, keys, transcript, started, terms, .. } = report;
        let other = |what| Err(ReceiptError::OtherRun(what));
        let [mine, theirs] = match role.as_str() {
            "receiver" => [Role::Receiver, Role::Sender],
            "sender" => [Role::Sender, Role::Receiver],
            _ => return other("the role"),
        }
        .map(|role| self.statement.party(role));
        if session.as_ref() != Some(&self.statement.session) {
            return other("the session");
        }
        if protocol.as_ref() != Some(&self.statement.protocol) {
            return other("the protocol");
        }
        if keys.as_ref().is_none_or(|keys| keys.mine != mine.key || keys.partner != theirs.key) {
            return other("the keys of the two sides");
        }
        let differs = |told: &ReportedTranscript| told.sent != mine.sent || told.received != theirs.sent;
        if transcript.as_ref().is_none_or(differs) {
            return other("the transcript");
        }
        if *started != mine.started {
            return other("the time");
        }
        if *terms != self.statement.terms {
            return other("the terms");
        }
        if self.statement.set.is_some() {
            return Ok(());
        }
        // What the report of a look-up has elsewhere.
        let ReportedRun { parameters, learns, result, sizes, confirmed, .. } = report;
        let states = |(name, value): (&String, &Scalar)| parameters.get(name) == Some(&value.clone().into());
        if !self.statement.parameters.iter().all(states) {
            return other("a parameter");
        }
        if learns.as_ref() != Some(&self.statement.learns)
            || result.as_ref().is_none_or(|result| result.kind != self.statement.result)
        {
            return other("the result, or who learns it,");
        }
        if sizes.as_ref().is_none_or(|told| told.shown_items != mine.items || told.peer_items != theirs.items)
        {
            return other("a size");
        }
        if *confirmed { Ok(()) } else { other("whether the run was confirmed") }
    }

    /// The receipt as it stands in a file: in the canonical form of RFC 8785, on one line.
    ///
    /// # Errors
    /// If it cannot be written in that form.
    pub fn to_line(&self) -> Result<String, ReceiptError> {
        let form = |error: String| ReceiptError::Form(error);
        let bytes = serde_json_canonicalizer::to_vec(self).map_err(|error| form(error.to_string()))?;
        let line = String::from_utf8(bytes).map_err(|error| form(error.to_string()))?;
        Ok(line + "\n")
    }
}

impl ReportedRun {
    /// The run that a report tells of, or a page that was made from it.
    ///
    /// # Errors
    /// If it is no report.
    pub fn find(bytes: &[u8]) -> Result<Self, ReceiptError> {
        serde_json::from_str(json_of(bytes)?).map_err(|error| ReceiptError::NoReport(error.to_string()))
    }
}

/// A report.
#[derive(Deserialize)]
struct Holder {
    receipt: Option<Receipt>,
}

/// What tells a receipt from a report.
#[derive(Deserialize)]
struct Probe {
    statement: Option<IgnoredAny>,
    version: Option<u32>,
}

/// The JSON of a file, or in a page.
fn json_of(bytes: &[u8]) -> Result<&str, ReceiptError> {
    if bytes.len() as u64 > MOST_BYTES {
        return Err(ReceiptError::Form(format!("it has more than {MOST_BYTES} bytes")));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| ReceiptError::NotJson)?;
    if !text.trim_start().starts_with('<') {
        return Ok(text);
    }
    let [before, behind] = IN_A_PAGE;
    let inside = text.split_once(before).and_then(|(_, rest)| rest.split_once(behind));
    match inside {
        // Which of two is meant, nobody could tell.
        Some((json, rest)) if !rest.contains(before) => Ok(json),
        _ => Err(ReceiptError::None),
    }
}

/// A map in which no name stands twice.
fn distinct<'de, D: Deserializer<'de>, V: Deserialize<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, V>, D::Error> {
    struct Distinct<V>(std::marker::PhantomData<V>);

    impl<'de, V: Deserialize<'de>> Visitor<'de> for Distinct<V> {
        type Value = BTreeMap<String, V>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
            let mut map = BTreeMap::new();
            while let Some((name, value)) = access.next_entry::<String, V>()? {
                if map.insert(name, value).is_some() {
                    return Err(A::Error::custom("a name stands twice"));
                }
            }
            Ok(map)
        }
    }

    deserializer.deserialize_map(Distinct(std::marker::PhantomData))
}

#[cfg(test)]
mod tests;
