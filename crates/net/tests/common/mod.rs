//! Connections for the tests: all three kinds, and raw sockets that stand in for a peer that misbehaves.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "scaffolding: every test file uses a part of it"
)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rand::{SeedableRng, rngs::StdRng};
use vesica_channel::{CancelToken, Channel, ChannelError};
use vesica_net::{
    Address, Connection, ConnectionSecurity, Identity, NetError, NetEvent, Options, PublicKey, establish,
    meet, memory,
    shaped::{self, Network},
};

pub const MAGIC: &[u8] = b"VESICA\r\n";

pub fn options(silence: Duration) -> Options {
    Options { silence, cancel: CancelToken::new() }
}

pub fn patient() -> Options {
    options(Duration::from_secs(20))
}

/// Long enough for a busy machine to schedule a thread, short enough to wait for.
pub fn impatient() -> Options {
    options(Duration::from_millis(600))
}

pub fn rng(seed: u64) -> StdRng {
    StdRng::seed_from_u64(seed)
}

/// A listener on a thread of its own: its address, and what becomes of it.
pub struct Listener {
    pub address: SocketAddr,
    pub events: mpsc::Receiver<NetEvent>,
    outcome: thread::JoinHandle<Result<Connection, NetError>>,
}

impl Listener {
    pub fn start(keys: Option<(Identity, PublicKey)>, options: Options) -> Self {
        Self::at("127.0.0.1:0", keys, options)
    }

    pub fn at(address: &str, keys: Option<(Identity, PublicKey)>, options: Options) -> Self {
        let address = Address::Listen(address.to_owned());
        Self::run(move |tell| establish(&address, &security(&keys), &options, &mut rng(1), tell))
    }

    /// One that says this first.
    pub fn meeting(keys: Option<(Identity, PublicKey)>, first: &'static [u8], options: Options) -> Self {
        let address = Address::Listen("127.0.0.1:0".to_owned());
        Self::run(move |tell| meet(&address, &security(&keys), first, &options, &mut rng(1), tell))
    }

    pub fn start_shaped(keys: Option<(Identity, PublicKey)>, network: Network, options: Options) -> Self {
        let address = Address::Listen("127.0.0.1:0".to_owned());
        Self::run(move |tell| {
            shaped::establish(&address, &security(&keys), network, &options, &mut rng(1), tell)
        })
    }

    fn run(
        establish: impl FnOnce(&mut dyn FnMut(NetEvent)) -> Result<Connection, NetError> + Send + 'static,
    ) -> Self {
        let (sender, events) = mpsc::channel();
        let outcome = thread::spawn(move || establish(&mut |event| drop(sender.send(event))));
        let address = match events.recv() {
            Ok(NetEvent::Listening(address)) => address,
            other => panic!("no listener: {other:?}, {:?}", outcome.join().map(|result| result.map(drop))),
        };
        Self { address, events, outcome }
    }

    pub fn outcome(self) -> Result<Connection, NetError> {
        self.outcome.join().unwrap()
    }
}

pub fn security(keys: &Option<(Identity, PublicKey)>) -> ConnectionSecurity<'_> {
    match keys {
        Some((identity, peer)) => ConnectionSecurity::Tls { identity, peer },
        None => ConnectionSecurity::InsecurePlaintext,
    }
}

pub fn dial(
    address: SocketAddr,
    keys: Option<(Identity, PublicKey)>,
    options: &Options,
) -> Result<Connection, NetError> {
    let address = Address::Connect(address.to_string());
    establish(&address, &security(&keys), options, &mut rng(2), &mut |_| ())
}

pub fn identities() -> (Identity, Identity) {
    (Identity::generate().unwrap(), Identity::generate().unwrap())
}

pub fn plain_pair(options: &Options) -> (Connection, Connection) {
    let listener = Listener::start(None, options.clone());
    let there = dial(listener.address, None, options).unwrap();
    (listener.outcome().unwrap(), there)
}

pub fn tls_pair(options: &Options) -> (Connection, Connection) {
    let (one, two) = identities();
    let (one_key, two_key) = (*one.public_key(), *two.public_key());
    let listener = Listener::start(Some((one, two_key)), options.clone());
    let there = dial(listener.address, Some((two, one_key)), options).unwrap();
    (listener.outcome().unwrap(), there)
}

/// Runs a test over every kind of connection.
pub fn everywhere(options: &Options, test: impl Fn(&str, Connection, Connection)) {
    let (one, two) = memory::pair(&options.cancel);
    test("memory", one, two);
    let (one, two) = plain_pair(options);
    test("tcp", one, two);
    let (one, two) = tls_pair(options);
    test("tls", one, two);
}

/// A channel over plaintext whose other end is a bare socket that has said a proper hello.
pub fn against_raw(options: &Options) -> (Connection, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let peer = thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        raw_hello(&mut socket, vesica_net::VERSION);
        socket
    });
    let channel = dial(address, None, options).unwrap();
    (channel, peer.join().unwrap())
}

/// The hello as a partner of the given version would say it.
pub fn raw_hello(socket: &mut TcpStream, version: u16) {
    socket.write_all(&[MAGIC, &version.to_le_bytes(), &[7; 32]].concat()).unwrap();
    let mut theirs = [0; 42];
    socket.read_exact(&mut theirs).unwrap();
    socket.write_all(&theirs[10..]).unwrap();
    let mut echo = [0; 32];
    socket.read_exact(&mut echo).unwrap();
}

pub fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    [&[kind][..], &(payload.len() as u32).to_le_bytes(), payload].concat()
}

/// Bytes that differ everywhere, so that a shift would show.
pub fn bytes(length: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; length];
    rand::Rng::fill_bytes(&mut rng(seed), &mut bytes);
    bytes
}

pub fn receive(channel: &mut Connection, length: usize) -> Result<Vec<u8>, ChannelError> {
    let mut bytes = vec![0; length];
    channel.recv_exact(&mut bytes)?;
    Ok(bytes)
}
