//! Names with several addresses, slow ways, and strangers on them.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};

use rand::{SeedableRng, rngs::StdRng};
use vesica_channel::CancelToken;

use super::*;
use crate::establish::HANDSHAKE_LIMIT;
use crate::{Address, ConnectionSecurity, Identity, MeetingPlace, Options, PartCall, meet};

const PARTNER: &str = "partner.test:7471";

/// Both sides of a run.
struct Parties {
    here: Identity,
    there: Identity,
}

impl Parties {
    fn new() -> Self {
        Self { here: Identity::generate().unwrap(), there: Identity::generate().unwrap() }
    }

    /// The partner waits at this address.
    fn listen(&self, at: &str) -> (SocketAddr, JoinHandle<Result<Connection, NetError>>) {
        listen(at, self.there.clone(), *self.here.public_key())
    }

    fn seek(
        &self,
        names: &Names,
        options: &Options,
        limit: Duration,
        on_event: &mut dyn FnMut(NetEvent),
    ) -> Result<Connection, NetError> {
        let route = Route { text: PARTNER, relay: None, names, limit };
        let tls = Tls::new(&self.here, &[*self.there.public_key()]).unwrap();
        let opener = Opener { network: None, options: options.clone(), first: b"first".to_vec() };
        let mut rng = StdRng::seed_from_u64(7);
        connect(&route, Some(tls), &opener, &|| true, &mut rng, on_event).map(Option::unwrap)
    }

    /// Seeks the partner at these addresses.
    fn seek_at(&self, addresses: &[SocketAddr], silence: Duration) -> Result<Connection, NetError> {
        self.seek(&names(addresses), &options(silence), HANDSHAKE_LIMIT, &mut |_| ())
    }
}

fn listen(
    at: &str,
    identity: Identity,
    peer: PublicKey,
) -> (SocketAddr, JoinHandle<Result<Connection, NetError>>) {
    let (sender, told) = mpsc::channel();
    let at = Address::Listen(at.to_owned());
    let met = thread::spawn(move || {
        let security = ConnectionSecurity::Tls { identity: &identity, peer: &peer };
        let mut tell = |event| {
            if let NetEvent::Listening(address) = event {
                sender.send(address).unwrap();
            }
        };
        let options = options(Duration::from_secs(20));
        meet(&at, &security, b"FIRST", &options, &mut StdRng::seed_from_u64(8), &mut tell)
    });
    (told.recv().unwrap(), met)
}

fn options(silence: Duration) -> Options {
    Options { silence, cancel: CancelToken::new() }
}

/// Every name has these addresses.
fn names(addresses: &[SocketAddr]) -> Names {
    let addresses = addresses.to_vec();
    Names::by(move |_, _| Ok(addresses.clone()))
}

/// A server that does one thing with every connection.
fn serve(act: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, act) = (listener.local_addr().unwrap(), Arc::new(act));
    thread::spawn(move || {
        for socket in listener.incoming().map_while(Result::ok) {
            let act = act.clone();
            thread::spawn(move || act(socket));
        }
    });
    address
}

/// One that takes every connection and says nothing; how many it has taken, and a word from each when it has ended.
fn silent() -> (SocketAddr, Arc<AtomicUsize>, mpsc::Receiver<()>) {
    let (taken, (sender, ended)) = (Arc::<AtomicUsize>::default(), mpsc::channel());
    let (count, sender) = (taken.clone(), Mutex::new(sender));
    let address = serve(move |mut socket| {
        count.fetch_add(1, Relaxed);
        drop(socket.read_to_end(&mut Vec::new()));
        let _ = sender.lock().unwrap().send(());
    });
    (address, taken, ended)
}

fn http() -> SocketAddr {
    serve(|mut socket| {
        drop(socket.read(&mut [0; 100]));
        drop(socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
    })
}

/// An address that nobody listens on.
fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Passes a connection on, both ways, from one end to the other.
fn pass_on(here: TcpStream, to: SocketAddr) {
    let there = TcpStream::connect(to).unwrap();
    let ways = [(here.try_clone().unwrap(), there.try_clone().unwrap()), (there, here)];
    for (mut from, mut to) in ways {
        thread::spawn(move || {
            drop(std::io::copy(&mut from, &mut to));
            drop(to.shutdown(Shutdown::Both));
        });
    }
}

/// Silence, another service and another party at the first addresses of a name keep nobody from the last, and take less time
/// than any one of them might.
#[test]
fn flaw_the_first_addresses_of_a_name_are_no_hindrance() {
    let (parties, wrong) = (Parties::new(), Identity::generate().unwrap());
    let (silent, _, ended) = silent();
    let (other, _turns_us_away) = listen("127.0.0.1:0", wrong, *parties.here.public_key());
    let (address, there) = parties.listen("127.0.0.1:0");
    let all = [silent, http(), other, free(), address];
    let met = parties.seek_at(&all, Duration::from_secs(8)).unwrap();
    assert_eq!(met.peer_address(), Some(address));
    assert_eq!(there.join().unwrap().unwrap().peer_key(), Some(parties.here.public_key()));
    ended.recv_timeout(Duration::from_secs(20)).unwrap();
}

/// Either side may start first, also where a stranger is at another address.
#[test]
fn flaw_a_stranger_at_one_address_does_not_end_the_wait_for_the_partner_at_another() {
    let (parties, wrong) = (Parties::new(), Identity::generate().unwrap());
    let (other, _turns_us_away) = listen("127.0.0.1:0", wrong, *parties.here.public_key());
    for stranger in [http(), other] {
        let late = free();
        let (names, options) = (names(&[stranger, late]), options(Duration::from_secs(20)));
        let mut there = None;
        let met = parties.seek(&names, &options, HANDSHAKE_LIMIT, &mut |event| {
            if let NetEvent::Retrying { reason, .. } = event {
                let said = reason.to_string();
                assert!(said.contains(&format!("at {stranger}: ")), "{said}");
                there.get_or_insert_with(|| parties.listen(&late.to_string()));
            }
        });
        // Both sides keep the connection until both have it.
        let met = met.unwrap();
        assert_eq!(met.peer_address(), Some(late));
        there.unwrap().1.join().unwrap().unwrap();
    }
}

#[test]
fn where_only_strangers_are_the_most_telling_one_is_told() {
    let (parties, wrong) = (Parties::new(), Identity::generate().unwrap());
    let presented = *wrong.public_key();
    let (other, _turns_us_away) = listen("127.0.0.1:0", wrong, *parties.here.public_key());
    let silence = Duration::from_secs(30);
    let error = parties.seek_at(&[other, http()], silence).map(drop).unwrap_err();
    assert_eq!(error, NetError::WrongPeer { expected: *parties.there.public_key(), presented });
    let services = [http(), http()];
    let error = parties.seek_at(&services, silence).map(drop).unwrap_err();
    assert!(matches!(error, NetError::NotVesica { address } if services.contains(&address)), "{error}");
    // Where nobody is at the other address all the time, the wrong key was the partner's.
    let error = parties.seek_at(&[other, free()], Duration::from_secs(1)).map(drop).unwrap_err();
    assert!(matches!(error, NetError::WrongPeer { .. }), "{error}");
    let service = http();
    let error = parties.seek_at(&[service, free()], Duration::from_secs(1)).map(drop).unwrap_err();
    let said = error.to_string();
    assert!(error.fault() == Fault::Partner && said.contains(&format!("at {service}: ")), "{said}");
}

/// The address at which the partner was met is the first for the run's next connections.
#[test]
fn flaw_parts_begin_where_the_partner_was_met() {
    let (parties, keys) = (Parties::new(), [(); 2].map(|()| Identity::generate().unwrap()));
    let (silent, taken, _ended) = silent();
    let (address, there) = parties.listen("127.0.0.1:0");
    let names = names(&[silent, address]);
    let options = options(Duration::from_secs(20));
    let met = parties.seek(&names, &options, HANDSHAKE_LIMIT, &mut |_| ()).unwrap();
    drop((there.join().unwrap().unwrap(), met));
    assert_eq!(taken.load(Relaxed), 1);
    let [ours, theirs] = &keys;
    let security = ConnectionSecurity::Tls { identity: &parties.here, peer: parties.there.public_key() };
    let place = MeetingPlace::there(&Address::Connect(PARTNER.to_owned()), &security, names);
    // On a busy machine an attempt may take so long that the next one begins.
    let listener = TcpListener::bind(address).unwrap();
    let quickly = (0..10).any(|_| {
        let before = taken.load(Relaxed);
        let part = thread::scope(|scope| {
            scope.spawn(|| {
                let socket = listener.accept().unwrap().0;
                let tls = Tls::of_part(theirs, *ours.public_key()).unwrap();
                let deadline = Instant::now() + HANDSHAKE_LIMIT;
                shake_hands(&socket, Role::Server, Some(&tls), [1; 32], deadline, &|| false, &|_| ())
                    .unwrap();
            });
            let call = PartCall {
                keys: Some((ours, theirs.public_key())),
                tag: [9; 32],
                part: 0,
                round: 0,
                first: &[],
                options: &options,
                wanted: &|| true,
            };
            place.meet_again(&call, &mut StdRng::seed_from_u64(9))
        });
        assert_eq!(part.unwrap().unwrap().peer_address(), Some(address));
        taken.load(Relaxed) == before
    });
    assert!(quickly, "the first address is not asked again");
}

#[test]
fn a_cancelled_search_leaves_no_attempt_behind() {
    let parties = Parties::new();
    let (silent, taken, ended) = silent();
    let many: Vec<_> = [silent].into_iter().chain((0..3).map(|_| self::silent().0)).collect();
    let options = options(Duration::from_secs(30));
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            while taken.load(Relaxed) == 0 {
                thread::sleep(Duration::from_millis(5));
            }
            options.cancel.cancel();
        });
        parties.seek(&names(&many), &options, HANDSHAKE_LIMIT, &mut |_| ())
    });
    assert_eq!(outcome.map(drop).unwrap_err(), ChannelError::Cancelled.into());
    ended.recv_timeout(Duration::from_secs(20)).unwrap();
}

/// A handshake that takes longer than an attempt may take at first is given more time.
#[test]
fn flaw_a_long_way_is_given_more_time() {
    let parties = Parties::new();
    let (address, there) = parties.listen("127.0.0.1:0");
    let slow = serve(move |socket| {
        thread::sleep(Duration::from_millis(500));
        pass_on(socket, address);
    });
    let options = options(Duration::from_secs(20));
    let met = parties.seek(&names(&[slow]), &options, Duration::from_millis(50), &mut |_| ()).unwrap();
    assert_eq!(met.peer_address(), Some(slow));
    there.join().unwrap().unwrap();
}

/// What one damaged byte may look like is no reason to give up.
#[test]
fn flaw_who_is_not_understood_once_is_tried_again() {
    let parties = Parties::new();
    let (address, there) = parties.listen("127.0.0.1:0");
    let first = Mutex::new(true);
    let garbled = serve(move |mut socket| match std::mem::take(&mut *first.lock().unwrap()) {
        true => drop(socket.write_all(b"\x17HTTP/1.1 400 Bad Request\r\n\r\n")),
        false => pass_on(socket, address),
    });
    let met = parties.seek_at(&[garbled], Duration::from_secs(20)).unwrap();
    assert_eq!(met.peer_address(), Some(garbled));
    there.join().unwrap().unwrap();
}
