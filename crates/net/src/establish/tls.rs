//! TLS 1.3 with raw public keys on both sides (RFC 7250): no certificates, no authorities, one key expected.
//!
//! Key agreement is hybrid (X25519 with ML-KEM-768), so that what is recorded today cannot be read later by whoever
//! breaks the curve; authentication is Ed25519. There is no resumption: every connection proves both keys afresh.

use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::{CryptoProvider, aws_lc_rs as provider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, NoServerSessionStorage};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, ClientConnection, Connection as TlsConnection, DigitallySignedStruct,
    DistinguishedName, Error, ServerConfig, ServerConnection, SignatureScheme,
};

use crate::error::NetError;
use crate::identity::{Identity, PublicKey};

/// The protocol's name inside TLS.
pub(super) const ALPN: &[u8] = b"vesica/2";
/// The name of a part of a run, on a connection of its own.
pub(super) const PART_ALPN: &[u8] = b"vesica-part/2";
/// The name of what a party says to a relay.
pub(crate) const RELAY_ALPN: &[u8] = b"vesica-relay/2";
/// The label of the exporter that binds a session to its connection.
pub(super) const EXPORTER: &[u8] = b"EXPORTER-vesica-1";

/// Which end of TLS we are: whoever connects is the client; through a relay, whose public key is smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Client,
    Server,
}

/// Our key, and the keys we expect, of which each connection shows one.
pub(crate) struct Tls {
    provider: Arc<CryptoProvider>,
    key: Arc<CertifiedKey>,
    ours: PublicKey,
    expected: Expected,
    alpn: &'static [u8],
}

/// Which keys a connection may show. The other side has proven whichever it shows.
#[derive(Clone, Debug)]
enum Expected {
    /// One of these.
    OneOf(Vec<PublicKey>),
    /// Any: the caller looks it up afterwards.
    Any,
}

impl Tls {
    /// For parties.
    pub(crate) fn new(identity: &Identity, peers: &[PublicKey]) -> Result<Self, NetError> {
        Self::of(identity, Expected::OneOf(peers.to_vec()), ALPN)
    }

    /// For a part of a run, under keys made for the run.
    pub(super) fn of_part(identity: &Identity, peer: PublicKey) -> Result<Self, NetError> {
        Self::of(identity, Expected::OneOf(vec![peer]), PART_ALPN)
    }

    /// For a party that goes to the relay with this key.
    pub(crate) fn to_relay(identity: &Identity, relay: PublicKey) -> Result<Self, NetError> {
        Self::of(identity, Expected::OneOf(vec![relay]), RELAY_ALPN)
    }

    /// For a relay, to which anybody may come who has a key.
    pub(crate) fn of_relay(identity: &Identity) -> Result<Self, NetError> {
        Self::of(identity, Expected::Any, RELAY_ALPN)
    }

    fn of(identity: &Identity, expected: Expected, alpn: &'static [u8]) -> Result<Self, NetError> {
        let key = provider::sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(identity.pkcs8()))
            .map_err(|error| setup_error(&error))?;
        let ours = *identity.public_key();
        let key = Arc::new(CertifiedKey::new(vec![CertificateDer::from(ours.to_spki())], key));
        let mut provider = provider::default_provider();
        provider.cipher_suites = vec![
            provider::cipher_suite::TLS13_AES_128_GCM_SHA256,
            provider::cipher_suite::TLS13_AES_256_GCM_SHA384,
            provider::cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
        ];
        provider.kx_groups = vec![provider::kx_group::X25519MLKEM768, provider::kx_group::X25519];
        Ok(Self { provider: Arc::new(provider), key, ours, expected, alpn })
    }

    pub(crate) fn ours(&self) -> &PublicKey {
        &self.ours
    }

    /// The name that both ends must have agreed on.
    pub(super) fn alpn(&self) -> &'static [u8] {
        self.alpn
    }

    /// Who is expected; nobody in particular at a relay.
    pub(crate) fn peers(&self) -> &[PublicKey] {
        match &self.expected {
            Expected::OneOf(peers) => peers,
            Expected::Any => &[],
        }
    }

    /// A fresh connection, and where the key that the other side presents will be found.
    pub(crate) fn connection(
        &self,
        role: Role,
    ) -> Result<(TlsConnection, Arc<OnceLock<PublicKey>>), NetError> {
        let pin = self.pin();
        let presented = pin.presented.clone();
        let connection = match role {
            Role::Client => self.client(pin).map(TlsConnection::Client),
            Role::Server => self.server(pin).map(TlsConnection::Server),
        };
        connection.map(|connection| (connection, presented)).map_err(|error| setup_error(&error))
    }

    fn pin(&self) -> Pin {
        Pin { expected: self.expected.clone(), presented: Arc::default(), provider: self.provider.clone() }
    }

    fn client(&self, pin: Pin) -> Result<ClientConnection, Error> {
        // The key is who the peer is; the name is not sent and not looked at.
        let name = ServerName::try_from("vesica.invalid").map_err(|_| Error::UnsupportedNameType)?;
        ClientConnection::new(Arc::new(self.client_config(pin)?), name)
    }

    fn server(&self, pin: Pin) -> Result<ServerConnection, Error> {
        ServerConnection::new(Arc::new(self.server_config(pin)?))
    }

    fn client_config(&self, pin: Pin) -> Result<ClientConfig, Error> {
        let mut config = ClientConfig::builder_with_provider(self.provider.clone())
            .with_protocol_versions(&[&TLS13])?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(pin))
            .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(self.key.clone())));
        config.alpn_protocols = vec![self.alpn.to_vec()];
        if self.alpn == ALPN {
            // A partner that plays the parts of another run says so by taking this one. It is never gone on with.
            config.alpn_protocols.push(PART_ALPN.to_vec());
        }
        config.resumption = Resumption::disabled();
        config.enable_sni = false;
        Ok(config)
    }

    fn server_config(&self, pin: Pin) -> Result<ServerConfig, Error> {
        let mut config = ServerConfig::builder_with_provider(self.provider.clone())
            .with_protocol_versions(&[&TLS13])?
            .with_client_cert_verifier(Arc::new(pin))
            .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(self.key.clone())));
        config.alpn_protocols = vec![self.alpn.to_vec()];
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(config)
    }
}

fn setup_error(error: &Error) -> NetError {
    NetError::system("TLS cannot be set up", error)
}

/// Accepts the expected keys and no other.
#[derive(Debug)]
struct Pin {
    expected: Expected,
    presented: Arc<OnceLock<PublicKey>>,
    provider: Arc<CryptoProvider>,
}

impl Pin {
    /// Keys are public: they are compared plainly.
    fn check(&self, spki: &CertificateDer<'_>, others: &[CertificateDer<'_>]) -> Result<(), Error> {
        let refused = Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure);
        let key =
            PublicKey::from_spki(spki).ok_or(Error::InvalidCertificate(CertificateError::BadEncoding))?;
        let presented = self.presented.get_or_init(|| key);
        let expected = match &self.expected {
            Expected::OneOf(keys) => keys.contains(&key),
            Expected::Any => true,
        };
        if *presented == key && expected && others.is_empty() { Ok(()) } else { Err(refused) }
    }
}

/// What both ends ask of the other's signature.
macro_rules! signatures_of_raw_keys {
    () => {
        fn verify_tls12_signature(
            &self,
            _message: &[u8],
            _cert: &CertificateDer<'_>,
            _dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            // TLS 1.2 is not offered, so that nobody can ask for this.
            Err(Error::PeerIncompatible(rustls::PeerIncompatible::Tls13RequiredForQuic))
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            cert: &CertificateDer<'_>,
            dss: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            let key = SubjectPublicKeyInfoDer::from(cert.as_ref());
            let algorithms = &self.provider.signature_verification_algorithms;
            verify_tls13_signature_with_raw_key(message, &key, dss, algorithms)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            vec![SignatureScheme::ED25519]
        }

        fn requires_raw_public_keys(&self) -> bool {
            true
        }
    };
}

impl ServerCertVerifier for Pin {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(end_entity, intermediates).map(|()| ServerCertVerified::assertion())
    }

    signatures_of_raw_keys!();
}

impl ClientCertVerifier for Pin {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(end_entity, intermediates).map(|()| ClientCertVerified::assertion())
    }

    signatures_of_raw_keys!();
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::thread;
    use std::time::{Duration, Instant};

    use rustls::client::WebPkiServerVerifier;
    use rustls::{CipherSuite, NamedGroup, ProtocolVersion, RootCertStore, StreamOwned};

    use super::super::handshake::{Trouble, shake_hands};
    use super::*;

    fn keys() -> (Tls, Tls) {
        let (one, two) = (Identity::generate().unwrap(), Identity::generate().unwrap());
        (Tls::new(&one, &[*two.public_key()]).unwrap(), Tls::new(&two, &[*one.public_key()]).unwrap())
    }

    fn pass(from: &mut TlsConnection, to: &mut TlsConnection) -> Result<(), Error> {
        let mut flight = Vec::new();
        while from.wants_write() {
            from.write_tls(&mut flight).unwrap();
        }
        let mut flight = &flight[..];
        while !flight.is_empty() {
            to.read_tls(&mut flight).unwrap();
            to.process_new_packets()?;
        }
        Ok(())
    }

    #[test]
    fn what_is_negotiated() {
        let (one, two) = keys();
        let (mut client, presented_to_client) = one.connection(Role::Client).unwrap();
        let (mut server, presented_to_server) = two.connection(Role::Server).unwrap();
        for _ in 0..3 {
            pass(&mut client, &mut server).unwrap();
            pass(&mut server, &mut client).unwrap();
        }
        for side in [&client, &server] {
            assert!(!side.is_handshaking());
            assert_eq!(side.protocol_version(), Some(ProtocolVersion::TLSv1_3));
            let suite = side.negotiated_cipher_suite().unwrap().suite();
            assert_eq!(suite, CipherSuite::TLS13_AES_128_GCM_SHA256);
            let group = side.negotiated_key_exchange_group().unwrap().name();
            assert_eq!(group, NamedGroup::X25519MLKEM768);
            assert_eq!(side.alpn_protocol(), Some(ALPN));
        }
        assert_eq!(presented_to_client.get(), Some(two.ours()));
        assert_eq!(presented_to_server.get(), Some(one.ours()));
        let TlsConnection::Client(client) = client else { panic!("a client") };
        assert_eq!(client.tls13_tickets_received(), 0);
    }

    /// A connection of one kind passes for none of another, also under the same keys.
    #[test]
    fn runs_parts_and_relays_have_names_of_their_own() {
        let (one, two) = (Identity::generate().unwrap(), Identity::generate().unwrap());
        let kinds = |mine: &Identity, theirs: &Identity| {
            let peer = *theirs.public_key();
            [Tls::new(mine, &[peer]), Tls::of_part(mine, peer), Tls::to_relay(mine, peer)].map(Result::unwrap)
        };
        let (clients, servers) = (kinds(&one, &two), kinds(&two, &one));
        let names: [&[u8]; 3] = [b"vesica/2", b"vesica-part/2", b"vesica-relay/2"];
        assert_eq!(clients.each_ref().map(Tls::alpn), names);
        for (here, there) in (0..3).flat_map(|here| (0..3).map(move |there| (here, there))) {
            let (mut client, _) = clients[here].connection(Role::Client).unwrap();
            let (mut server, _) = servers[there].connection(Role::Server).unwrap();
            let mut exchange =
                || pass(&mut client, &mut server).and_then(|()| pass(&mut server, &mut client));
            let met = (0..3).try_for_each(|_| exchange());
            let name = client.alpn_protocol().filter(|_| met.is_ok());
            assert_eq!(name == Some(names[here]), here == there, "{here} {there}: {met:?}");
        }
    }

    /// Whoever plays parts has keys of that run alone.
    #[test]
    fn whoever_begins_a_run_where_parts_are_played_hears_that_and_not_that_it_met_a_stranger() {
        let [one, two, other] = [(); 3].map(|()| Identity::generate().unwrap());
        let begins = Tls::new(&one, &[*two.public_key()]).unwrap();
        let plays = Tls::of_part(&other, *other.public_key()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let deadline = Instant::now() + Duration::from_secs(5);
        let meet = |socket: &TcpStream, role, tls: &Tls| {
            let met = shake_hands(socket, role, Some(tls), [1; 32], deadline, &|| false, &|_| ());
            met.map(drop).unwrap_err()
        };
        thread::scope(|scope| {
            let door = scope.spawn(|| meet(&listener.accept().unwrap().0, Role::Server, &plays));
            let heard = meet(&socket, Role::Client, &begins);
            assert!(matches!(heard, Trouble::Busy), "{heard:?}");
            let seen = door.join().unwrap();
            assert!(matches!(seen, Trouble::RefusedUs | Trouble::ClosedEarly), "{seen:?}");
        });
    }

    /// What our listener makes of a TLS client with this configuration.
    fn judged(tls: Tls, config: ClientConfig) -> Trouble {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let caller = thread::spawn(move || {
            let name = ServerName::try_from("localhost").unwrap();
            let client = ClientConnection::new(Arc::new(config), name).unwrap();
            let mut stream = StreamOwned::new(client, TcpStream::connect(address).unwrap());
            std::io::copy(&mut stream, &mut std::io::sink())
        });
        let (socket, _) = listener.accept().unwrap();
        let deadline = Instant::now() + Duration::from_secs(5);
        let outcome = shake_hands(&socket, Role::Server, Some(&tls), [1; 32], deadline, &|| false, &|_| ());
        drop(caller.join().unwrap());
        outcome.map(drop).unwrap_err()
    }

    #[test]
    fn other_protocols_inside_tls_are_strangers() {
        let (one, two) = keys();
        let mut silent = one.client_config(one.pin()).unwrap();
        silent.alpn_protocols = Vec::new();
        assert!(matches!(judged(two, silent), Trouble::NotVesica));
        let (one, two) = keys();
        let mut other = one.client_config(one.pin()).unwrap();
        other.alpn_protocols = vec![b"h2".to_vec()];
        assert!(matches!(judged(two, other), Trouble::NotVesica));
    }

    #[test]
    fn a_client_without_a_raw_key_is_a_stranger() {
        let (one, two) = keys();
        let mut anonymous = ClientConfig::builder_with_provider(one.provider.clone())
            .with_protocol_versions(&[&TLS13])
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(one.pin()))
            .with_no_client_auth();
        anonymous.alpn_protocols = vec![ALPN.to_vec()];
        assert!(matches!(judged(two, anonymous), Trouble::NotVesica));

        let (one, two) = keys();
        let mut roots = RootCertStore::empty();
        roots.extend([rustls::pki_types::TrustAnchor {
            subject: rustls::pki_types::Der::from_slice(&[]),
            subject_public_key_info: rustls::pki_types::Der::from_slice(&[]),
            name_constraints: None,
        }]);
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), one.provider.clone())
            .build()
            .unwrap();
        let mut certificates = ClientConfig::builder_with_provider(one.provider.clone())
            .with_protocol_versions(&[&TLS13])
            .unwrap()
            .with_webpki_verifier(verifier)
            .with_no_client_auth();
        certificates.alpn_protocols = vec![ALPN.to_vec()];
        assert!(matches!(judged(two, certificates), Trouble::NotVesica));
    }
}
