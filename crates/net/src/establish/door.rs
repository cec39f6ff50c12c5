//! Who stands at a listener's door, and who has to leave when there is no room for one more.
//!
//! * **Nobody who has proven the expected key is sent away.**
//! * Of the others one has to leave whose source address has most visitors (for IPv6: whose /64): a crowd from one
//!   address does not touch a partner at another.
//! * Of those, first one who has had time to send a whole ClientHello, and has not.
//! * Of those one is drawn by lot. Were it the newest, a crowd that shares the partner's address (the same NAT) would
//!   leave it no seat but those that fall free when somebody's time is over; were it the oldest, a crowd that comes fast
//!   enough would leave it none. By lot the partner's attempt lives long enough with a probability that no crowd makes
//!   zero, and it makes many attempts.
//!
//! A visitor takes a thread and a descriptor until it has proven its key. Where the system gives no more of either, the
//! door holds as many as there are, and the same rules apply.

use std::collections::HashMap;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::handshake::Stage;
use crate::system;

/// Handshakes at the same time, where the system allows it.
const SEATS: usize = 512;
/// At least so many are tried.
const FEWEST_SEATS: usize = 4;
/// Threads and descriptors that a connection takes beside its visitor's.
const SPARE: usize = 4;
/// How long a visitor may take for its ClientHello before it is the first to leave. One round trip is enough, and some
/// time for a busy machine.
const GREETING: Duration = Duration::from_secs(1);

/// Where a visitor comes from, as far as one party has it to itself: an IPv4 address, or the first half of an IPv6 one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Source(IpAddr);

impl From<SocketAddr> for Source {
    fn from(address: SocketAddr) -> Self {
        Self(match address.ip().to_canonical() {
            IpAddr::V6(ip) => IpAddr::V6((ip.to_bits() & !u128::from(u64::MAX)).into()),
            ip => ip,
        })
    }
}

/// How far a visitor has come, and whether it has to go: shared with its thread.
#[derive(Debug, Default)]
pub(crate) struct State {
    stage: AtomicU8,
    stop: AtomicBool,
}

impl State {
    pub(crate) fn reached(&self, stage: Stage) {
        self.stage.fetch_max(stage as u8, Relaxed);
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    pub(crate) fn is(&self, stage: Stage) -> bool {
        self.stage.load(Relaxed) == stage as u8
    }
}

/// Somebody who is shaking hands.
pub(crate) struct Visitor {
    pub(crate) number: u64,
    pub(crate) socket: Arc<TcpStream>,
    pub(crate) state: Arc<State>,
    source: Source,
    since: Instant,
}

impl Visitor {
    pub(crate) fn new(number: u64, socket: Arc<TcpStream>, from: SocketAddr) -> Self {
        let (state, source) = (Arc::default(), Source::from(from));
        Self { number, socket, state, source, since: Instant::now() }
    }

    fn overdue(&self, now: Instant) -> bool {
        self.state.is(Stage::Silent) && now.saturating_duration_since(self.since) >= GREETING
    }

    fn send_away(&self) {
        self.state.stop.store(true, Relaxed);
        // Fails if it has gone by itself.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

/// Those who are shaking hands.
pub(crate) struct Visitors {
    seats: usize,
    seated: Vec<Visitor>,
}

impl Visitors {
    /// Half of the descriptors that this process may have is for visitors, at most.
    pub(super) fn new() -> Self {
        Self::with_seats(SEATS)
    }

    /// At most so many visitors, and half of the descriptors.
    pub(crate) fn with_seats(most: usize) -> Self {
        let descriptors = system::most_descriptors().unwrap_or(u64::MAX);
        let seats = usize::try_from(descriptors / 2).unwrap_or(usize::MAX);
        Self { seats: seats.clamp(FEWEST_SEATS, most.max(FEWEST_SEATS)), seated: Vec::new() }
    }

    /// Makes room for one more who comes from there; false if all who are here have proven their keys.
    pub(crate) fn make_room(&mut self, from: SocketAddr, lot: u32) -> bool {
        if self.seated.len() < self.seats {
            return true;
        }
        let leaves = self.choose(Some(from.into()), lot, Instant::now());
        leaves.map(|index| self.seated.swap_remove(index).send_away()).is_some()
    }

    /// The system gives no more threads or descriptors: fewer seats than there are have to do, so that the partner's
    /// connection finds what it needs.
    pub(crate) fn full(&mut self, lot: u32) {
        self.seats = self.seated.len().saturating_sub(SPARE).max(FEWEST_SEATS);
        for _ in 0..=self.seated.len().saturating_sub(self.seats) {
            if let Some(index) = self.choose(None, lot, Instant::now()) {
                self.seated.swap_remove(index).send_away();
            }
        }
    }

    /// Makes room for one more who comes from there, of whom there may be so many; false if all of them have proven
    /// their keys.
    pub(crate) fn make_room_there(&mut self, from: SocketAddr, most: usize, lot: u32) -> bool {
        let from = Source::from(from);
        let mut there: Vec<usize> = (0..self.seated.len()).collect();
        there.retain(|&index| self.seated[index].source == from);
        if there.len() < most {
            return true;
        }
        there.retain(|&index| !self.seated[index].state.is(Stage::Proven));
        let leaves = self.draw(there, lot, Instant::now());
        leaves.map(|index| self.seated.swap_remove(index).send_away()).is_some()
    }

    pub(crate) fn add(&mut self, visitor: Visitor) {
        self.seated.push(visitor);
    }

    pub(crate) fn remove(&mut self, number: u64) {
        self.seated.retain(|visitor| visitor.number != number);
    }

    pub(crate) fn send_all_away(&mut self) {
        self.seated.drain(..).for_each(|visitor| visitor.send_away());
    }

    /// Whether somebody is here who has proven the expected key.
    pub(super) fn any_proven(&self) -> bool {
        self.seated.iter().any(|visitor| visitor.state.is(Stage::Proven))
    }

    /// Who has to leave; `comes` is where one more comes from.
    fn choose(&self, comes: Option<Source>, lot: u32, now: Instant) -> Option<usize> {
        let mut others: Vec<usize> = (0..self.seated.len()).collect();
        others.retain(|&index| !self.seated[index].state.is(Stage::Proven));
        let mut counts: HashMap<Source, usize> = comes.map(|source| (source, 1)).into_iter().collect();
        for &index in &others {
            *counts.entry(self.seated[index].source).or_default() += 1;
        }
        let count = |index: &usize| counts[&self.seated[*index].source];
        let most = others.iter().map(count).max()?;
        others.retain(|index| count(index) == most);
        self.draw(others, lot, now)
    }

    /// One of these by lot: of those who should have said something by now, if there are any.
    fn draw(&self, mut others: Vec<usize>, lot: u32, now: Instant) -> Option<usize> {
        if others.iter().any(|&index| self.seated[index].overdue(now)) {
            others.retain(|&index| self.seated[index].overdue(now));
        }
        others.get((lot as usize).checked_rem(others.len())?).copied()
    }
}

impl Drop for Visitors {
    fn drop(&mut self) {
        self.send_all_away();
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A door with these visitors: their addresses, and how far they have come.
    fn door(seats: usize, visitors: &[(&str, Stage)]) -> Visitors {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = Arc::new(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        let seated = visitors.iter().zip(0..).map(|(&(ip, stage), number)| {
            let from = SocketAddr::new(ip.parse().unwrap(), 9);
            let visitor = Visitor::new(number, socket.clone(), from);
            visitor.state.reached(stage);
            visitor
        });
        Visitors { seats, seated: seated.collect() }
    }

    /// The numbers of those who may have to leave when one more comes from there, so much later.
    fn leaving(door: &Visitors, from: &str, later: Duration) -> Vec<u64> {
        let from = SocketAddr::new(from.parse().unwrap(), 9).into();
        let choose = |lot| door.choose(Some(from), lot, Instant::now() + later);
        let mut numbers: Vec<u64> =
            (0..100).filter_map(choose).map(|index| door.seated[index].number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    const NOW: Duration = Duration::ZERO;
    const LATER: Duration = Duration::from_secs(2);

    #[test]
    fn who_has_proven_the_key_stays() {
        let all = door(2, &[("192.0.2.1", Stage::Proven), ("192.0.2.1", Stage::Proven)]);
        assert_eq!(leaving(&all, "192.0.2.1", LATER), []);
        let one = door(2, &[("192.0.2.1", Stage::Proven), ("192.0.2.2", Stage::Greeted)]);
        assert_eq!(leaving(&one, "192.0.2.1", LATER), [1]);
        let mut all = all;
        assert!(!all.make_room("192.0.2.9:9".parse().unwrap(), 7) && all.seated.len() == 2);
        assert!(all.any_proven());
    }

    #[test]
    fn the_address_that_has_most_loses_one() {
        let crowd = [
            ("192.0.2.1", Stage::Greeted),
            ("192.0.2.2", Stage::Silent),
            ("192.0.2.1", Stage::Greeted),
            ("192.0.2.3", Stage::Silent),
        ];
        let door = door(4, &crowd);
        assert_eq!(leaving(&door, "192.0.2.4", LATER), [0, 2]);
        assert_eq!(leaving(&door, "192.0.2.1", LATER), [0, 2]);
        // One more from there makes two of them, of whom the one here has said nothing.
        assert_eq!(leaving(&door, "192.0.2.3", NOW), [0, 2, 3]);
        assert_eq!(leaving(&door, "192.0.2.3", LATER), [3]);
    }

    #[test]
    fn a_network_of_ipv6_is_one_address_and_so_is_ipv4_in_it() {
        let crowd = [
            ("2001:db8:0:1::1", Stage::Greeted),
            ("2001:db8:0:1:ffff::9", Stage::Greeted),
            ("2001:db8:0:2::1", Stage::Greeted),
            ("::ffff:192.0.2.1", Stage::Greeted),
        ];
        let door = door(4, &crowd);
        assert_eq!(leaving(&door, "2001:db8:0:3::1", NOW), [0, 1]);
        assert_eq!(leaving(&door, "2001:db8:0:1::7", NOW), [0, 1]);
        assert_eq!(Source::from(SocketAddr::new("192.0.2.1".parse().unwrap(), 1)), door.seated[3].source);
    }

    #[test]
    fn who_has_said_nothing_in_time_leaves_first_and_else_the_lot_decides() {
        let crowd =
            [("192.0.2.1", Stage::Silent), ("192.0.2.1", Stage::Greeted), ("192.0.2.1", Stage::Silent)];
        let door = door(3, &crowd);
        assert_eq!(leaving(&door, "192.0.2.1", NOW), [0, 1, 2], "a newcomer has time for its greeting");
        assert_eq!(leaving(&door, "192.0.2.1", LATER), [0, 2]);
    }

    #[test]
    fn flaw_who_comes_first_from_an_address_does_not_keep_out_who_comes_later() {
        let from = "192.0.2.1:9".parse().unwrap();
        let mut left = [0; 4];
        for lot in 0..30 {
            let crowd = [Stage::Greeted; 3].map(|stage| ("192.0.2.1", stage));
            let mut door = door(9, &[&crowd[..], &[("192.0.2.2", Stage::Silent)]].concat());
            assert!(door.make_room_there(from, 4, lot) && door.seated.len() == 4);
            assert!(door.make_room_there(from, 3, lot) && door.seated.len() == 3);
            let numbers: Vec<u64> = door.seated.iter().map(|visitor| visitor.number).collect();
            (0..4).filter(|number| !numbers.contains(number)).for_each(|number| left[number as usize] += 1);
        }
        assert_eq!(left, [10, 10, 10, 0]);
        let mut proven = door(9, &[("192.0.2.1", Stage::Proven), ("192.0.2.2", Stage::Silent)]);
        assert!(!proven.make_room_there(from, 1, 7) && proven.seated.len() == 2);
    }

    #[test]
    fn short_of_threads_the_door_holds_what_there_is() {
        let crowd = vec![("192.0.2.1", Stage::Silent); 9];
        let mut door = door(SEATS, &crowd);
        door.full(3);
        assert_eq!((door.seats, door.seated.len()), (5, 4), "and leaves some for the partner's connection");
        assert!(door.make_room("192.0.2.9:9".parse().unwrap(), 7) && door.seated.len() == 4);
    }
}
