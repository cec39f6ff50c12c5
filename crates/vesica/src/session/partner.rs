//! Who the partner is and who we are, from what a user gives: an address, an identity file, a public key.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rand_core::CryptoRng;
use vesica_net::identity::IdentityError;
use vesica_net::relay::{RelayAddress, Via};
use vesica_net::{
    Address, Connection, ConnectionSecurity, Identity, NetEvent, Options, PublicKey, meet_to_stay,
};
use vesica_protocols::registry::Security;
use vesica_protocols::{KeyAgreement, Role};
use vesica_table::shown_path;
use vesica_text::{Text, text};
use zeroize::Zeroize;

use crate::session::base_ots::file::CacheFile;
use crate::session::helper_link::HelperLink;
use crate::session::links::OverNetwork;
use crate::session::local_state::LocalState;
use crate::session::met::Met;
use crate::words::error::{Error, RunPhase};
use crate::words::ledger::RunLedger;
use crate::words::settings::Settings;
use crate::words::system::{self, read_small};

/// The most bytes that a file with a public key may have.
const PUBLIC_KEY_FILE: u64 = 4096;

/// The most relays of a run.
pub(crate) const MOST_RELAYS: usize = 16;

const ASK: &str =
    "give the line that the partner's `vesica keygen` printed, or `@FILE` with a file that holds it";
const ASK_HELPER: &str = "give `[helper HOST:PORT]`, where `vesica assist` listens, and as `[helper-key]` the line that the helper's \
     `vesica keygen` printed";
const ASK_RELAY: &str =
    "give `[via HOST:PORT]`, where `vesica relay` listens, and as `[via-key]` the public key that it shows";
const EXPOSED: &str = "let only its owner read it (`chmod 600`), or its owner and a group of this process (`chmod 640`), as in \
                       containers";
const MAKE: &str = "name the identity with `[identity]`, or make one with `vesica keygen`";

/// How the partner is found and known.
pub struct Partner {
    /// Listen, connect, or meet at a relay.
    pub address: Address,
    /// My key and theirs; none for plaintext, which only loopback addresses allow.
    pub keys: Option<(Identity, PublicKey)>,
    /// `--keep-base-ots`: where base OTs with this partner are kept from one run to the next.
    pub keep_base_ots: Option<PathBuf>,
    /// `--helper`, `--helper-key`: the helper of a protocol that has one.
    pub helper: Option<HelperAddress>,
    /// `--ledger`: where runs are written down, whoever the partner is.
    pub ledger: Option<PathBuf>,
}

/// Where a helper listens, and the key that it proves to have.
#[derive(Debug, Clone)]
pub struct HelperAddress {
    /// `HOST:PORT`.
    pub address: String,
    /// Its public key.
    pub key: PublicKey,
}

impl Partner {
    /// A partner that proves to have the key `peer`; the connection is encrypted.
    pub fn authenticated(address: Address, identity: Identity, peer: PublicKey) -> Result<Self, Error> {
        if *identity.public_key() == peer {
            return Err(Error::usage("`[peer]` is this side's own public key", ASK));
        }
        Ok(Partner { address, keys: Some((identity, peer)), keep_base_ots: None, helper: None, ledger: None })
    }

    /// A partner without keys, over a loopback address.
    pub fn insecure(address: Address) -> Self {
        Partner { address, keys: None, keep_base_ots: None, helper: None, ledger: None }
    }

    /// The key that this side shows, if it shows one.
    pub fn my_key(&self) -> Option<PublicKey> {
        self.keys.as_ref().map(|(identity, _)| *identity.public_key())
    }

    /// Keeps base OTs with this partner in that file; see docs/base-ots.md.
    #[must_use]
    pub fn keeping_base_ots(self, file: Option<PathBuf>) -> Self {
        Partner { keep_base_ots: file, ..self }
    }

    /// Writes runs with this partner into that ledger; see docs/ledger.md.
    #[must_use]
    pub fn noted_in(self, ledger: Option<PathBuf>) -> Self {
        Partner { ledger, ..self }
    }

    /// With this helper: where it listens, and its key as `--helper-key` has it.
    ///
    /// # Errors
    /// If one of the two is missing, or the key is another participant's.
    pub fn helped_by(self, helper: Option<&str>, key: Option<&str>) -> Result<Self, Error> {
        let helper = match (helper, key) {
            (None, None) => return Ok(self),
            (Some(helper), Some(key)) => HelperAddress { address: helper.to_owned(), key: helper_key(key)? },
            _ => return Err(Error::usage("`[helper]` and `[helper-key]` belong together", ASK_HELPER)),
        };
        let known = |(identity, peer): &(Identity, PublicKey)| {
            *identity.public_key() == helper.key || *peer == helper.key
        };
        if self.keys.as_ref().is_some_and(known) {
            return Err(Error::usage(
                "`[helper-key]` is the public key of one of the two parties",
                ASK_HELPER,
            ));
        }
        Ok(Partner { helper: Some(helper), ..self })
    }

    /// What this side brings to a run of such security.
    pub(crate) fn local_state(
        &self,
        role: Role,
        settings: &Settings,
        rng: &mut dyn CryptoRng,
    ) -> Result<LocalState, Error> {
        let identity = self.keys.as_ref().map(|(identity, _)| identity.clone());
        let cache_file = self.cache_file(role, settings)?;
        let (helper, via, ledger) = (self.helper_link()?, self.relay(), self.open_ledger(rng)?);
        Ok(LocalState { identity, cache_file, helper, via, ledger, card: None })
    }

    /// The ledger, if there is one.
    fn open_ledger(&self, rng: &mut dyn CryptoRng) -> Result<Option<Arc<RunLedger>>, Error> {
        let Some(path) = &self.ledger else { return Ok(None) };
        if self.keys.is_none() {
            return Err(Error::usage(
                "`[ledger]` needs a partner whose key is known, and `[insecure-plaintext]` uses no keys",
                "leave out `[ledger]` or `[insecure-plaintext]`",
            ));
        }
        RunLedger::open(path, rng).map(|ledger| Some(Arc::new(ledger)))
    }

    /// The relay's address, if the partner is met there.
    pub(crate) fn relay(&self) -> Option<String> {
        match &self.address {
            Address::Via(via) => Some(via.address.clone()),
            Address::Listen(_) | Address::Connect(_) => None,
        }
    }

    /// How the helper is reached, if there is one.
    fn helper_link(&self) -> Result<HelperLink, Error> {
        let Some(helper) = &self.helper else { return Ok(HelperLink::None) };
        let address = Address::Connect(helper.address.clone());
        address.check().map_err(|error| Error::net(RunPhase::Prepare, &error))?;
        match &self.keys {
            Some((identity, _)) => Ok(HelperLink::At(address, Box::new(identity.clone()), helper.key)),
            None => Err(Error::usage(
                "`[helper]` needs parties whose keys are known, and `[insecure-plaintext]` uses no keys",
                "leave out `[insecure-plaintext]`: TLS needs only a key on each side",
            )),
        }
    }

    /// What is kept with this partner, for a run with these settings.
    fn cache_file(&self, role: Role, settings: &Settings) -> Result<Option<CacheFile>, Error> {
        let Some(path) = &self.keep_base_ots else { return Ok(None) };
        let Some((identity, peer)) = &self.keys else {
            return Err(Error::usage(
                "`[keep-base-ots]` needs a partner whose key is known, and `[insecure-plaintext]` uses no keys",
                "leave out `[keep-base-ots]` or `[insecure-plaintext]`",
            ));
        };
        if settings.security != Security::SemiHonest {
            return Err(Error::usage(
                "`[keep-base-ots]` is secure only if both sides follow the protocol (`[security semi-honest]`)",
                "leave out `[keep-base-ots]`, or {agree with the partner on} `[security semi-honest]`{ and give it on both sides}",
            ));
        }
        if settings.base_ots != KeyAgreement::DiffieHellman {
            return Err(Error::usage(
                "`[keep-base-ots]` keeps base OTs from Diffie–Hellman alone",
                "leave out `[keep-base-ots]` or `[base-ots]`",
            ));
        }
        CacheFile::open(path, role, *identity.public_key(), *peer).map(Some)
    }

    /// Listens or connects until the partner is there and has proven who it is. With a `greeting`, which goes out at once,
    /// until the partner's own has begun to come ([`vesica_net::meet`]).
    pub fn meet(
        &self,
        greeting: &[u8],
        options: &Options,
        rng: &mut dyn CryptoRng,
        on_event: &mut dyn FnMut(NetEvent),
    ) -> Result<Connection, Error> {
        self.meet_to_stay(greeting, options, rng, on_event).map(|met| met.channel)
    }

    /// Meets the partner, and keeps how connections of parts are made.
    pub(crate) fn meet_to_stay(
        &self,
        greeting: &[u8],
        options: &Options,
        rng: &mut dyn CryptoRng,
        on_event: &mut dyn FnMut(NetEvent),
    ) -> Result<Met, Error> {
        let security = match &self.keys {
            Some((identity, peer)) => ConnectionSecurity::Tls { identity, peer },
            None => ConnectionSecurity::InsecurePlaintext,
        };
        let met = meet_to_stay(&self.address, &security, greeting, options, rng, on_event);
        let (channel, place) = met.map_err(|error| Error::net(RunPhase::Connect, &error))?;
        let links = OverNetwork::new(place);
        Ok(Met { channel, links: Some(Box::new(links)) })
    }
}

/// Where the partner is met. `:PORT` to listen at is that port of every IPv4 address of this machine
/// (`[::]:PORT` of its IPv6 ones).
pub fn address(listen: Option<&str>, connect: Option<&str>) -> Result<Address, Error> {
    for text in [listen, connect].into_iter().flatten() {
        if let Some((scheme, rest)) = text.split_once("://") {
            let message = format!("`{text}`: an address has no `{scheme}://` in front");
            return Err(Error::usage(
                message,
                format!("write only HOST:PORT: `{}`", rest.trim_end_matches('/')),
            ));
        }
    }
    match (listen, connect) {
        (Some(text), None) if text.starts_with(':') => Ok(Address::Listen(format!("0.0.0.0{text}"))),
        (Some(text), None) => Ok(Address::Listen(text.to_owned())),
        (None, Some(text)) => Ok(Address::Connect(text.to_owned())),
        (None, None) => Err(Error::usage("no address", "give `[listen]`, `[connect]` or `[via]`")),
        (Some(_), Some(_)) => Err(Error::usage("two addresses", "give either `[listen]` or `[connect]`")),
    }
}

/// What a user says about where the partner is met: one of `listen`, `connect` and `via`.
#[derive(Debug, Clone, Copy, Default)]
pub struct AddressOptions<'a> {
    /// `--listen`: [`address`].
    pub listen: Option<&'a str>,
    /// `--connect`.
    pub connect: Option<&'a str>,
    /// `--via`: relays, `HOST:PORT`. The run goes through the first one, part i through relay i mod count.
    pub via: &'a [String],
    /// `--via-key`: the relays' public keys, in the same order, as [`peer_key`] has them.
    pub via_keys: &'a [String],
    /// `--run`: which of several runs with this partner at the same time.
    pub run: Option<&'a str>,
}

impl AddressOptions<'_> {
    /// The one address.
    ///
    /// # Errors
    /// If there is none or are two, or a relay has no key.
    pub fn address(&self) -> Result<Address, Error> {
        if self.via.is_empty() && self.via_keys.is_empty() && self.run.is_none() {
            return address(self.listen, self.connect);
        }
        if self.via.is_empty() && self.listen.or(self.connect).is_some() {
            let option = Text::option(if self.run.is_some() { "run" } else { "via-key" });
            return Err(Error::usage(
                text!("`{}` goes with `[via]` only", option),
                "leave it out, or meet the partner at a relay with `[via]` and `[via-key]`",
            ));
        }
        if self.listen.or(self.connect).is_some() {
            return Err(Error::usage(
                "`[via]` takes the place of `[listen]` and `[connect]`, and one of them is given too",
                "give `[via HOST:PORT]` and `[via-key PUBKEY]` alone{, on both sides}",
            ));
        }
        if self.via.len() != self.via_keys.len() {
            return Err(Error::usage("`[via]` and `[via-key]` belong together", ASK_RELAY));
        }
        if self.via.len() > MOST_RELAYS {
            let message = text!("`[via]` names more than {} relays", MOST_RELAYS);
            return Err(Error::usage(message, "give fewer relays, the same ones{ on both sides}"));
        }
        let relays = self.via.iter().zip(self.via_keys).map(|(relay, key)| relay_address(relay, key));
        let mut relays = relays.collect::<Result<Vec<_>, Error>>()?.into_iter();
        let Some(RelayAddress { address, key }) = relays.next() else {
            return Err(Error::usage("no address", ASK_RELAY));
        };
        let run = self.run.unwrap_or_default().to_owned();
        Ok(Address::Via(Via { address, key, run, more: relays.collect() }))
    }
}

/// A relay, and its key as `--via-key` has it.
fn relay_address(relay: &str, key: &str) -> Result<RelayAddress, Error> {
    match address(None, Some(relay))? {
        Address::Connect(address) => Ok(RelayAddress { address, key: named_key("via-key", key, ASK_RELAY)? }),
        _ => Err(Error::usage("no address", ASK_RELAY)),
    }
}

/// The partner's public key: the text itself, or `@FILE` that holds it.
pub fn peer_key(argument: &str) -> Result<PublicKey, Error> {
    named_key("peer", argument, ASK)
}

/// The helper's public key, in the same forms.
fn helper_key(argument: &str) -> Result<PublicKey, Error> {
    named_key("helper-key", argument, ASK_HELPER)
}

/// A public key that another option has, in the same forms.
pub(crate) fn named_key(
    option: &'static str,
    argument: &str,
    remedy: &'static str,
) -> Result<PublicKey, Error> {
    let wrong = |value: Option<String>, why: Text| {
        let option = value.map_or(Text::option(option), |value| Text::option_with(option, value));
        Error::usage(text!("`{}`: {}", option, why), remedy)
    };
    let file = argument.strip_prefix('@').unwrap_or(argument);
    if argument.contains(PRIVATE) || is_private(Path::new(file)) {
        let why = "THIS IS A PRIVATE KEY. Keep it secret: anybody who has it can pose as its owner";
        return Err(wrong(None, why.into()));
    }
    let Some(path) = argument.strip_prefix('@') else {
        let hint = if Path::new(argument).exists() {
            format!(" (for the file, write `@{argument}`)")
        } else {
            String::new()
        };
        let key = argument.trim().parse();
        return key.map_err(|error| wrong(None, text!("{}{}", Text::words(error), hint)));
    };
    let key = read_small(path, PUBLIC_KEY_FILE)
        .and_then(|text| text.trim().parse().map_err(|error| format!("{error}")));
    key.map_err(|why| wrong(Some(format!("@{}", shown_path(Path::new(path)))), why.into()))
}

/// What a file with a private key has in its first line.
pub(crate) const PRIVATE: &str = "PRIVATE KEY-----";

/// Whether that file holds a private key.
pub(crate) fn is_private(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = fs::metadata(path)
        .ok()
        .filter(fs::Metadata::is_file)
        .and_then(|_| File::open(path).ok()?.take(PUBLIC_KEY_FILE).read_to_end(&mut head).ok());
    let found = read.is_some() && String::from_utf8_lossy(&head).contains(PRIVATE);
    head.zeroize();
    found
}

/// The identity in that file, or in the [default one](default_identity); `-` is standard input.
pub fn identity(path: Option<&Path>) -> Result<Identity, Error> {
    let path = path.map_or_else(default_identity, |path| Ok(path.to_owned()))?;
    Identity::load(&path).map_err(|error| {
        let remedy = match &error {
            IdentityError::Exposed { .. } => EXPOSED,
            _ => MAKE,
        };
        let message = error.to_string();
        Error::short(RunPhase::Prepare, &message).unwrap_or_else(|| Error::usage(message, remedy))
    })
}

/// Where an identity is if nothing else is said.
pub fn default_identity() -> Result<PathBuf, Error> {
    let path = system::config_folder().map(|config| config.join("vesica").join("identity.pem"));
    path.ok_or_else(|| {
        Error::usage(
            system::NO_CONFIG_FOLDER,
            "name the identity with `[identity]` (`[output]` for `vesica keygen`)",
        )
    })
}

/// Makes an identity in a new file, the [default one](default_identity) if none is named. Never overwrites one.
pub fn make_identity(path: Option<&Path>) -> Result<(PathBuf, PublicKey), Error> {
    let refused = |message: String| {
        Error::usage(message, "name a file in a folder that you may write to, with `[output]`")
    };
    let place = path.map_or_else(default_identity, |path| Ok(path.to_owned()))?;
    if path.is_none()
        && let Some(folder) = place.parent()
    {
        fs::create_dir_all(folder)
            .map_err(|error| refused(format!("{}: cannot be created: {error}", shown_path(folder))))?;
    }
    match Identity::generate().and_then(|identity| identity.save(&place).map(|()| identity)) {
        Ok(identity) => Ok((place, *identity.public_key())),
        Err(error @ IdentityError::Exists { .. }) => {
            let known = Identity::load(&place)
                .map(|identity| format!("\n  its public key is {}", identity.public_key()));
            let message = format!("{error}{}", known.unwrap_or_default());
            let remedy = text!(
                "name another file with `[output]`, or use this identity; {} its public key",
                Text::in_python("`vesica pubkey` prints", "`vesica.public_key` returns")
            );
            Err(Error::usage(message, remedy))
        }
        Err(error) => Err(refused(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_listened_at_everywhere() {
        assert_eq!(address(Some(":7400"), None), Ok(Address::Listen("0.0.0.0:7400".into())));
        assert_eq!(address(Some("[::]:7400"), None), Ok(Address::Listen("[::]:7400".into())));
        assert_eq!(address(None, Some("a:1")), Ok(Address::Connect("a:1".into())));
        assert!(address(None, None).is_err() && address(Some("a:1"), Some("b:1")).is_err());
    }

    #[test]
    fn a_relay_takes_the_place_of_both_addresses() {
        let key = Identity::generate().unwrap().public_key().to_string();
        let (via, keys) = (["a:1".to_owned()], [key]);
        let place = AddressOptions { via: &via, via_keys: &keys, ..AddressOptions::default() };
        let Ok(Address::Via(Via { address, run, .. })) = place.address() else { panic!("no relay") };
        assert_eq!((&*address, &*run), ("a:1", ""));
        let two = [via[0].clone(), "b:1".to_owned()];
        let two_keys = [keys[0].clone(), keys[0].clone()];
        let several = AddressOptions { via: &two, via_keys: &two_keys, ..place };
        let Ok(Address::Via(several)) = several.address() else { panic!("no relays") };
        let addresses: Vec<String> = several.relays().into_iter().map(|relay| relay.address).collect();
        assert_eq!(addresses, two, "in their order");
        let wrong = [
            AddressOptions { listen: Some(":1"), ..place },
            AddressOptions { connect: Some("b:1"), ..place },
            AddressOptions { via: &[], ..place },
            AddressOptions { via_keys: &[], ..place },
            AddressOptions { via: &two, ..place },
            AddressOptions { via_keys: &two_keys, ..place },
            AddressOptions { via: &[], via_keys: &[], run: Some("x"), ..place },
        ];
        assert!(wrong.iter().all(|place| place.address().is_err()));
        let url = AddressOptions { via: &["tcp://a:1".to_owned()], ..place }.address().unwrap_err();
        assert!(url.message.shell().contains("tcp://"), "{url}");
    }

    #[test]
    fn an_address_is_no_url() {
        let error = address(None, Some("http://partner.example:7400/")).unwrap_err();
        assert!(error.remedy.shell().contains("`partner.example:7400`"), "{error}");
        assert!(address(Some("tcp://:7400"), None).is_err());
    }

    #[test]
    fn a_private_key_is_no_public_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("identity.pem");
        Identity::generate().unwrap().save(&path).unwrap();
        let (path, text) = (path.display().to_string(), fs::read_to_string(&path).unwrap());
        for argument in [path.clone(), format!("@{path}"), text.clone()] {
            let error = peer_key(&argument).unwrap_err();
            assert!(error.message.shell().contains("THIS IS A PRIVATE KEY"), "{error}");
            let secret = text.lines().nth(1).unwrap();
            assert!(!error.to_string().contains(secret));
        }
    }

    #[test]
    fn nobody_is_their_own_partner() {
        let identity = Identity::generate().unwrap();
        let (key, address) = (*identity.public_key(), Address::Connect("a:1".into()));
        let error = Partner::authenticated(address, identity, key).err().unwrap();
        assert!(error.message.shell().contains("own public key"), "{error}");
    }
}
