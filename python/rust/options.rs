//! The options of a run, from Python's words to settings. Names and values are the command line's.

use std::path::PathBuf;

use pyo3::prelude::*;
use vesica::job::Partner;
use vesica::memory::Budget;
use vesica::partner::AddressOptions;
use vesica::results::{ResultOptions, noise};
use vesica::settings::{Choice, Limits, Settings, Word, duration, size};
use vesica::table::Dialect;
use vesica::{Error, partner};

use crate::identity::IdentityArg;

/// Everything that is not a table, a key or a partner. None stands for the command line's default.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    protocol: Option<String>,
    security: Option<String>,
    learns: Option<String>,
    match_id: Option<bool>,
    profile: Option<String>,
    level: Option<u32>,
    sigma: Option<u32>,
    variant: Option<String>,
    paper_parameters: Option<bool>,
    audit_max: Option<u64>,
    result: Option<String>,
    value: Option<Vec<String>>,
    at_least: Option<u64>,
    payload: Option<Vec<String>>,
    payload_bytes: Option<u32>,
    min_matches: Option<u64>,
    noise: Option<String>,
    threads: Option<usize>,
    memory: Option<String>,
    timeout: Option<String>,
    deadline: Option<String>,
    on_duplicates: Option<String>,
    on_null: Option<String>,
    on_invalid: Option<String>,
    pad_to: Option<String>,
    min_peer_rows: Option<u64>,
    max_peer_rows: Option<u64>,
    parts: Option<u32>,
    max_parts: Option<u32>,
    allow_insecure: Option<bool>,
}

/// How text is read: what separates fields, its encoding, whether there is a header.
pub(crate) fn dialect(
    delimiter: Option<&str>,
    encoding: Option<&str>,
    header: bool,
) -> Result<Dialect, Error> {
    let delimiter = delimiter.map(str::parse).transpose().map_err(|why: String| wrong("delimiter", &why))?;
    let encoding = encoding.map(str::parse).transpose().map_err(|why: String| wrong("encoding", &why))?;
    Ok(Dialect { delimiter, encoding, header })
}

/// The value of that word; `otherwise` if none is given.
fn one_of<T: Word>(option: &str, word: Option<&String>, otherwise: T) -> Result<T, Error> {
    word.map_or(Ok(otherwise), |word| T::of(word)).map_err(|why| wrong(option, &why))
}

fn wrong(option: &str, why: &str) -> Error {
    Error::usage(format!("`--{option}`: {why}"), format!("give another {}", option.replace('-', "_")))
}

impl Options {
    fn result(&self, usual: ResultOptions) -> Result<ResultOptions, Error> {
        let noise = self.noise.as_deref().map(noise).transpose().map_err(|why| wrong("noise", &why))?;
        Ok(ResultOptions {
            result: one_of("result", self.result.as_ref(), usual.result)?,
            value: self.value.clone().unwrap_or_default(),
            at_least: self.at_least,
            payload: self.payload.clone().unwrap_or_default(),
            payload_bytes: self.payload_bytes,
            min_matches: self.min_matches,
            noise,
        })
    }

    pub(crate) fn settings(&self) -> Result<Settings, Error> {
        let usual = Settings::default();
        let pad_to = self.pad_to.as_ref().map(|text| text.parse()).transpose();
        let memory = self.memory.as_deref().map(size).transpose();
        let timeout = self.timeout.as_deref().map(duration).transpose();
        let deadline = self.deadline.as_deref().map(duration).transpose();
        if self.sigma.is_some_and(|sigma| !(1..=64).contains(&sigma)) {
            return Err(wrong("sigma", "write 1 to 64"));
        }
        Ok(Settings {
            protocol: match self.protocol.as_deref() {
                None | Some("auto") => Choice::Auto,
                Some(name) => Choice::Named(name.to_owned()),
            },
            security: one_of("security", self.security.as_ref(), usual.security)?,
            level: self.level.unwrap_or(usual.level),
            sigma: self.sigma,
            variant: self.variant.clone(),
            profile: one_of("profile", self.profile.as_ref(), usual.profile)?,
            paper_parameters: self.paper_parameters.unwrap_or(usual.paper_parameters),
            audit_max: self.audit_max,
            result: self.result(usual.result)?,
            learns: one_of("learns", self.learns.as_ref(), usual.learns)?,
            match_id: self.match_id.unwrap_or(usual.match_id),
            parts: self.parts.unwrap_or(usual.parts),
            limits: Limits {
                max_parts: self.max_parts.or(usual.limits.max_parts),
                min_peer_rows: self.min_peer_rows.unwrap_or(usual.limits.min_peer_rows),
                max_peer_rows: self.max_peer_rows.unwrap_or(usual.limits.max_peer_rows),
            },
            threads: self.threads.unwrap_or(usual.threads),
            memory: memory.map_err(|why| wrong("memory", &why))?.map(Budget::named),
            temp_dir: usual.temp_dir,
            timeout: timeout.map_err(|why| wrong("timeout", &why))?.unwrap_or(usual.timeout),
            deadline: deadline.map_err(|why| wrong("deadline", &why))?,
            on_duplicates: one_of("on-duplicates", self.on_duplicates.as_ref(), usual.on_duplicates)?,
            on_null: one_of("on-null", self.on_null.as_ref(), usual.on_null)?,
            on_invalid: one_of("on-invalid", self.on_invalid.as_ref(), usual.on_invalid)?,
            pad_to: pad_to.map_err(|why: String| wrong("pad-to", &why))?,
            allow_insecure: self.allow_insecure.unwrap_or(usual.allow_insecure),
            digest_input: true,
        })
    }
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
        self.found()?.helped_by(self.helper.as_deref(), self.helper_key.as_deref())
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
                "`--insecure-plaintext` uses neither `--peer` nor `--identity`",
                "leave out `--insecure-plaintext`: TLS needs only a key on each side",
            )),
            (None, false) => Err(Error::usage(
                "the partner's public key is missing",
                "give `--peer`, the line that the partner's `vesica keygen` printed",
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
        identity.into_iter().chain(key_files).chain(self.keep_base_ots.clone()).collect()
    }
}
