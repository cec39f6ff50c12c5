//! The options of a run, from Python's words to settings. Names and values are the command line's.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use pyo3::prelude::*;
use vesica::job::Partner;
use vesica::options::{OPTIONS, Reads};
use vesica::partner::AddressOptions;
use vesica::settings::Settings;
use vesica::table::Dialect;
use vesica::text::{Text, text};
use vesica::{Error, partner};

use crate::identity::IdentityArg;

/// Everything that is not a table, a key or a partner, by the names of the command line's options with `_` in place of `-`.
/// None stands for the command line's default.
#[derive(FromPyObject)]
#[pyo3(transparent)]
pub(crate) struct Options(BTreeMap<String, Option<Value>>);

/// A value of an option.
#[derive(FromPyObject)]
enum Value {
    Flag(bool),
    Text(String),
    Number(i128),
    Decimal(f64),
    Several(Vec<String>),
    Other(#[expect(dead_code, reason = "that it is there is all that counts")] Py<PyAny>),
}

impl Value {
    /// The values as the command line has them; none if it is of a type that the option does not have.
    fn texts(&self, reads: Reads) -> Option<Vec<String>> {
        match (self, reads) {
            (Value::Flag(given), Reads::Flag) => Some(given.then(String::new).into_iter().collect()),
            (Value::Several(texts), Reads::Columns) => Some(texts.clone()),
            (_, Reads::Flag) | (Value::Flag(_) | Value::Several(_) | Value::Other(_), _) => None,
            (Value::Text(text), _) => Some(vec![text.clone()]),
            (Value::Number(number), _) => Some(vec![number.to_string()]),
            (Value::Decimal(number), _) => Some(vec![number.to_string()]),
        }
    }
}

impl Options {
    pub(crate) fn settings(&self) -> Result<Settings, Error> {
        let mut settings = Settings { digest_input: true, ..Settings::default() };
        for option in OPTIONS {
            let Some(Some(value)) = self.0.get(&option.name.replace('-', "_")) else { continue };
            let texts = value
                .texts(option.reads)
                .ok_or_else(|| wrong_option(option.name, "a value of another type"))?;
            texts.iter().try_for_each(|text| settings.set(option.name, text))?;
        }
        Ok(settings)
    }
}

/// How text is read.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ReadOptions {
    delimiter: Option<String>,
    encoding: Option<String>,
    header: bool,
    skip_lines: Option<u64>,
    comment: Option<String>,
    quote: Option<String>,
    escape: Option<String>,
    stray_quotes: Option<String>,
    ragged: Option<String>,
    null: Option<Texts>,
}

impl ReadOptions {
    pub(crate) fn dialect(&self) -> Result<Dialect, Error> {
        let usual = Dialect::default();
        Ok(Dialect {
            delimiter: read("delimiter", self.delimiter.as_ref())?,
            encoding: read("encoding", self.encoding.as_ref())?,
            header: self.header,
            skip_lines: self.skip_lines.unwrap_or(usual.skip_lines),
            comment: read("comment", self.comment.as_ref())?,
            quote: read("quote", self.quote.as_ref())?.unwrap_or(usual.quote),
            escape: read("escape", self.escape.as_ref())?,
            stray_quotes: read("stray-quotes", self.stray_quotes.as_ref())?.unwrap_or(usual.stray_quotes),
            ragged: read("ragged", self.ragged.as_ref())?.unwrap_or(usual.ragged),
            nulls: self.null.as_ref().map_or(&[][..], Texts::as_slice).to_vec(),
        })
    }
}

/// The value of an option, if it is given.
fn read<T: FromStr<Err = String>>(name: &'static str, text: Option<&String>) -> Result<Option<T>, Error> {
    text.map(|text| text.parse()).transpose().map_err(|why: String| wrong_option(name, &why))
}

pub(crate) fn wrong_option(option: &'static str, why: &str) -> Error {
    let remedy = text!("give another {}", Text::option(option));
    Error::usage(text!("`{}`: {}", Text::option(option), why.to_owned()), remedy)
}

/// Where the partner is and how it is authenticated.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PartnerArgs<'py> {
    listen: Option<String>,
    connect: Option<String>,
    via: Option<Texts>,
    via_key: Option<Texts>,
    run: Option<String>,
    identity: Option<IdentityArg<'py>>,
    peer: Option<String>,
    insecure_plaintext: bool,
    keep_base_ots: Option<PathBuf>,
    ledger: Option<PathBuf>,
    helper: Option<String>,
    helper_key: Option<String>,
}

/// One text, or several.
#[derive(FromPyObject)]
pub(crate) enum Texts {
    One(String),
    Several(Vec<String>),
}

impl Texts {
    fn as_slice(&self) -> &[String] {
        match self {
            Texts::One(text) => std::slice::from_ref(text),
            Texts::Several(texts) => texts,
        }
    }
}

impl PartnerArgs<'_> {
    pub(crate) fn partner(&self) -> Result<Partner, Error> {
        let found = self.found()?.noted_in(self.ledger.clone());
        found.helped_by(self.helper.as_deref(), self.helper_key.as_deref())
    }

    fn found(&self) -> Result<Partner, Error> {
        let place = AddressOptions {
            listen: self.listen.as_deref(),
            connect: self.connect.as_deref(),
            via: self.via.as_ref().map_or(&[], Texts::as_slice),
            via_keys: self.via_key.as_ref().map_or(&[], Texts::as_slice),
            run: self.run.as_deref(),
        };
        let address = place.address()?;
        match (&self.peer, self.insecure_plaintext) {
            (None, true) if self.identity.is_none() => {
                Ok(Partner::insecure(address).keeping_base_ots(self.keep_base_ots.clone()))
            }
            (_, true) => Err(Error::usage(
                "`[insecure-plaintext]` uses neither `[peer]` nor `[identity]`",
                "leave out `[insecure-plaintext]`: TLS needs only a key on each side",
            )),
            (None, false) => Err(Error::usage(
                "the partner's public key is missing",
                "give `[peer]`, the line that the partner's `vesica keygen` printed",
            )),
            (Some(peer), false) => {
                let peer = partner::peer_key(peer)?;
                let partner =
                    Partner::authenticated(address, IdentityArg::load(self.identity.as_ref())?, peer)?;
                Ok(partner.keeping_base_ots(self.keep_base_ots.clone()))
            }
        }
    }

    /// Files that nothing may replace.
    pub(crate) fn protected(&self) -> Vec<PathBuf> {
        let identity = match &self.identity {
            Some(IdentityArg::File(path)) => Some(path.clone()),
            Some(IdentityArg::Object(_)) => None,
            None => partner::default_identity().ok(),
        };
        let relays = self.via_key.as_ref().map_or(&[][..], Texts::as_slice);
        let keys = self.peer.iter().chain(&self.helper_key).chain(relays);
        let key_files = keys.filter_map(|key| Some(PathBuf::from(key.strip_prefix('@')?)));
        // A folder is no such file, which whoever opens it says. Only as an input it stands for its files.
        let kept = [&self.keep_base_ots, &self.ledger].into_iter().flatten();
        let kept = kept.filter(|path| !path.is_dir()).cloned();
        identity.into_iter().chain(key_files).chain(kept).collect()
    }
}
