//! The addresses of a name, tried side by side (RFC 8305), so that one that answers nothing costs no time.
//!
//! An attempt *wins* when the other side has proven its key, before anything is asked of it. From then on no other attempt
//! goes on: two connections to the same partner would each be half a meeting. All attempts have ended when a race has.

use std::io;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use vesica_channel::CancelToken;

use super::{NetEvent, POLL, Wanted};
use crate::error::{NetError, RetryReason};

/// Between the starts of two attempts (RFC 8305, section 5), unless the earlier one fails sooner.
const STAGGER: Duration = Duration::from_millis(250);
/// Attempts at once. A name may have any number of addresses.
const AT_ONCE: usize = 16;
/// Stack of an attempt's thread.
const STACK: usize = 512 << 10;

/// One attempt among others.
pub(crate) struct Lane<'a> {
    /// Which of the addresses.
    pub(crate) number: usize,
    pub(crate) address: SocketAddr,
    course: &'a Course<'a>,
    tell: &'a dyn Fn(NetEvent),
}

/// Why an attempt did not lead to the partner.
pub(crate) enum Miss {
    /// Nobody is there yet.
    Again(RetryReason),
    /// Trying again is of no use.
    Fatal(NetError),
    /// Nobody is waited for any more.
    Over,
}

impl From<io::Error> for Miss {
    fn from(error: io::Error) -> Self {
        Self::Again(RetryReason::from(&error))
    }
}

/// What the attempts share.
struct Course<'a> {
    cancel: &'a CancelToken,
    winner: OnceLock<usize>,
    unwanted: AtomicBool,
}

impl Lane<'_> {
    /// Whether this attempt has to end: all have, or another one has won.
    pub(crate) fn stopped(&self) -> bool {
        self.course.cancel.is_cancelled()
            || self.course.winner.get().is_some_and(|winner| *winner != self.number)
    }

    /// The other side has proven its key. False where another attempt was first; then this one has to end.
    pub(crate) fn wins(&self) -> bool {
        *self.course.winner.get_or_init(|| self.number) == self.number
    }

    /// Whether the partner is still waited for.
    pub(crate) fn wanted(&self) -> bool {
        !self.course.unwanted.load(Relaxed)
    }

    /// Tells whoever waits for the race.
    pub(crate) fn tell(&self, event: NetEvent) {
        (self.tell)(event);
    }
}

/// What the attempts say.
enum Said<T> {
    Event(NetEvent),
    Ended(usize, Result<T, Miss>),
}

/// The order in which addresses are tried: the known one first, then both families in turn (RFC 8305, section 4).
pub(crate) fn in_turn(addresses: Vec<SocketAddr>, known: Option<SocketAddr>) -> Vec<SocketAddr> {
    let first = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (one, other): (Vec<_>, Vec<_>) =
        addresses.into_iter().partition(|address| address.is_ipv6() == first);
    let mut turns: Vec<SocketAddr> = Vec::new();
    let known = known.filter(|known| one.contains(known) || other.contains(known));
    let longer = one.len().max(other.len());
    let pairs = (0..longer).flat_map(|place| [one.get(place), other.get(place)]).flatten().copied();
    for address in known.into_iter().chain(pairs) {
        if !turns.contains(&address) {
            turns.push(address);
        }
    }
    turns
}

/// What comes of the attempt that has won; of all of them where none has. There is nothing where it was cancelled before the
/// first began. An attempt that succeeds has called [`Lane::wins`].
pub(crate) fn race<T: Send>(
    addresses: &[SocketAddr],
    (cancel, wanted): (&CancelToken, Wanted<'_>),
    on_event: &mut dyn FnMut(NetEvent),
    attempt: &(dyn Fn(&Lane<'_>) -> Result<T, Miss> + Sync),
) -> Result<T, Vec<(SocketAddr, Miss)>> {
    let course = Course { cancel, winner: OnceLock::new(), unwanted: AtomicBool::new(false) };
    let (mut won, mut missed) = (None, Vec::new());
    thread::scope(|scope| {
        let (sender, said) = mpsc::channel();
        // Once it is gone, the end of the last attempt is that of the channel, also if it has panicked.
        let mut sender = Some(sender);
        let (mut waiting, mut running, mut due) = (addresses.iter().copied().enumerate(), 0, Instant::now());
        loop {
            if course.winner.get().is_some() || cancel.is_cancelled() || waiting.len() == 0 {
                sender = None;
            }
            let left = due.saturating_duration_since(Instant::now());
            let next = sender.as_ref().filter(|_| running == 0 || (running < AT_ONCE && left.is_zero()));
            if let Some((sender, (number, address))) = next.and_then(|sender| Some((sender, waiting.next()?)))
            {
                on_event(NetEvent::Connecting { address });
                let (course, sender) = (&course, sender.clone());
                let body = move || {
                    // It is received until all have ended.
                    let tell = |event| drop(sender.send(Said::Event(event)));
                    let outcome = attempt(&Lane { number, address, course, tell: &tell });
                    let _ = sender.send(Said::Ended(number, outcome));
                };
                let thread = thread::Builder::new().name("vesica-net-connect".into()).stack_size(STACK);
                match thread.spawn_scoped(scope, body) {
                    Ok(_) => running += 1,
                    Err(error) => {
                        missed.push((number, Miss::Fatal(NetError::system("cannot start a thread", &error))));
                    }
                }
                due = Instant::now() + STAGGER;
                continue;
            }
            if running == 0 && sender.is_none() {
                break;
            }
            let wait = if sender.is_some() && running < AT_ONCE { POLL.min(left) } else { POLL };
            match said.recv_timeout(wait) {
                Ok(Said::Event(event)) => on_event(event),
                Ok(Said::Ended(number, outcome)) => {
                    (running, due) = (running - 1, Instant::now());
                    match outcome {
                        Ok(end) => won = Some(end),
                        Err(miss) => missed.push((number, miss)),
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            course.unwanted.fetch_or(!wanted(), Relaxed);
        }
    });
    if let Some(won) = won {
        return Ok(won);
    }
    missed.retain(|(number, _)| course.winner.get().is_none_or(|winner| winner == number));
    missed.sort_by_key(|(number, _)| *number);
    Err(missed.into_iter().filter_map(|(number, miss)| Some((*addresses.get(number)?, miss))).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn families_take_turns_and_the_known_address_is_first() {
        let given = addresses(&["[::1]:1", "[::2]:1", "1.1.1.1:1", "[::1]:1", "2.2.2.2:1", "3.3.3.3:1"]);
        let turns = addresses(&["[::1]:1", "1.1.1.1:1", "[::2]:1", "2.2.2.2:1", "3.3.3.3:1"]);
        assert_eq!(in_turn(given.clone(), None), turns);
        let known = in_turn(given.clone(), Some(turns[3]));
        assert_eq!((known[0], &known[1..4], known[4]), (turns[3], &turns[..3], turns[4]));
        assert_eq!(in_turn(given, addresses(&["9.9.9.9:9"]).pop()), turns, "an address it has no longer");
    }

    #[test]
    fn of_attempts_that_prove_the_key_together_one_wins() {
        let three = addresses(&["1.1.1.1:1", "2.2.2.2:2", "3.3.3.3:3"]);
        let (together, won, over) = (Barrier::new(3), AtomicUsize::new(0), AtomicUsize::new(0));
        let token = CancelToken::new();
        let met = race(&three, (&token, &|| true), &mut |_| (), &|lane| {
            together.wait();
            let wins = lane.wins();
            won.fetch_add(usize::from(wins), Relaxed);
            over.fetch_add(1, Relaxed);
            if wins { Ok(lane.address) } else { Err(Miss::Over) }
        });
        assert!(met.is_ok_and(|address| three.contains(&address)));
        assert_eq!((won.into_inner(), over.into_inner()), (1, 3));
    }
}
