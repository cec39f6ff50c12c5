//! What one side brings to a run, and the terms that follow from it.

use rand_core::CryptoRng;
use vesica_encode::items::Items;
use vesica_net::{Identity, PublicKey};
use vesica_protocols::{Learns, Role};
use vesica_table::{Address, shown_path};
use vesica_text::text;

use crate::session::base_ots::file::CacheFile;
use crate::session::card::Opening;
use crate::session::helper_link::HelperLink;
use crate::words::auto;
use crate::words::base_ots::CacheState;
use crate::words::error::{Error, RunPhase, Side};
use crate::words::parts;
use crate::words::settings::Settings;
use crate::words::terms::Terms;

/// What this side brings: who it is, if it shows a key, the file of kept base OTs, if there is one, and how it reaches the
/// helper, if the protocol has one.
#[derive(Default)]
pub(crate) struct LocalState {
    pub(crate) identity: Option<Identity>,
    pub(crate) cache_file: Option<CacheFile>,
    pub(crate) helper: HelperLink,
    /// The relay through which the partner is met, if it is.
    pub(crate) via: Option<String>,
    /// A card, where both parties of one process share it; none: the settings say.
    pub(crate) card: Option<Opening>,
}

impl LocalState {
    /// The key that this side shows, if it shows one.
    pub(crate) fn my_key(&self) -> Option<PublicKey> {
        self.identity.as_ref().map(|identity| *identity.public_key())
    }

    /// What the terms say of the base OTs.
    pub(crate) fn cache_state(&self) -> CacheState {
        self.cache_file.as_ref().map_or(CacheState::Disabled, CacheFile::state)
    }
}

/// The terms of a run, if its settings are possible.
pub(crate) fn prepare(
    role: Role,
    settings: &Settings,
    rules: &[String],
    local: &LocalState,
) -> Result<Terms, Error> {
    local.helper.check(&settings.protocol)?;
    settings.check()?;
    auto::choose(&settings.protocol, settings.wanted(), None)
        .map_err(|e| Error::plan(RunPhase::Prepare, Side::Ours, &e))?;
    let limits = settings.limits;
    if limits.min_peer_rows > limits.max_peer_rows {
        return Err(Error::usage(
            "`[min-peer-rows]` is above `[max-peer-rows]`",
            "give a `[min-peer-rows]` that is not above `[max-peer-rows]`",
        ));
    }
    check_parts(settings)?;
    check_temp_dir(settings)?;
    if settings.receipt && local.identity.is_none() {
        return Err(Error::usage(
            "`[receipt]` needs two sides whose keys are known: a receipt is what both sign",
            "leave out `[receipt]`, or meet {the partner} with `[peer]`",
        ));
    }
    if settings.match_id && settings.learns != Learns::Both {
        let message = "`[match-id]` numbers the matching rows of both sides, and only one side learns them";
        return Err(Error::usage(
            message,
            "{agree with the partner on} `[learns both]`, or leave `[match-id]` out",
        ));
    }
    let terms = Terms::new(role, settings, rules);
    let terms = terms.with_base_ots(local.cache_state()).with_helper(local.helper.term());
    if let Some(what) = terms.not_in_parts().filter(|_| settings.parts > 1) {
        let message = text!("`[parts]` does not go together with {}", what);
        return Err(Error::usage(message, "leave out one of the two"));
    }
    if terms.fit() {
        Ok(terms)
    } else {
        Err(Error::usage("too many columns, or too long names", "name fewer columns"))
    }
}

/// Whether this side can have as many parts as it asks for.
fn check_parts(settings: &Settings) -> Result<(), Error> {
    let (parts, most) = (settings.parts, settings.limits.max_parts.unwrap_or(parts::MOST));
    if !(1..=parts::MOST).contains(&parts) || !(1..=parts::MOST).contains(&most) {
        let message = format!("a run has 1 to {} parts", parts::MOST);
        return Err(Error::usage(message, "give another `[parts]` or `[max-parts]`"));
    }
    if parts > most {
        return Err(Error::usage(
            text!("`[parts {}]` is above `[max-parts {}]`", parts, most),
            "give a `[parts]` that is not above `[max-parts]`",
        ));
    }
    Ok(())
}

/// Whether temporary files are to lie on this machine.
fn check_temp_dir(settings: &Settings) -> Result<(), Error> {
    match settings.temp_dir.as_deref() {
        // A text that looks like an address and is none may not become the name of a folder either.
        Some(named) if !matches!(Address::of(named), Ok(None)) => Err(Error::usage(
            format!("{}: temporary files lie in a folder of this machine, not in a store", shown_path(named)),
            "name a folder on a disk of this machine with `[temp-dir]`, or leave it out",
        )),
        _ => Ok(()),
    }
}

/// Adds the dummy items that the settings ask for.
pub(crate) fn pad(items: &mut Items, settings: &Settings, rng: &mut dyn CryptoRng) -> Result<(), Error> {
    let size = padded(items.len(), settings)?;
    if size == items.len() {
        return Ok(());
    }
    items.pad(size, rng).map_err(|error| {
        let remedy = "give a smaller `[pad-to]`, or leave it out";
        Error { phase: RunPhase::Read, ..Error::usage(text!("`[pad-to]`: {}", error.to_string()), remedy) }
    })
}

/// The size that the partner sees of a set of so many items.
pub(crate) fn padded(items: usize, settings: &Settings) -> Result<usize, Error> {
    let Some(pad_to) = settings.pad_to else { return Ok(items) };
    pad_to.size(items).ok_or_else(|| {
        let message = text!("the table has {} different keys, more than `[pad-to]` allows", items);
        let remedy = "give a larger `[pad-to]`, or `[pad-to pow2]`";
        Error { phase: RunPhase::Read, ..Error::usage(message, remedy) }
    })
}
