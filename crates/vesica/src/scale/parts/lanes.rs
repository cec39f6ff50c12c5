//! The parts of a round, several at once: a lane plays one part after the other.
//!
//! While a lane waits for the partner, others compute. Each side says in the coin toss how many parts it plays at once, and the
//! smaller number is taken. Threads are shared out among the lanes.
//!
//! * A side that listens takes all connections of a round at one door, and its lanes take them from a queue.
//! * On another side each lane opens its own, for the next part, or for whichever the partner asks for at a relay.
//!
//! What the protocol draws depends on part and attempt, and not on the lane. An error of one lane lets no other begin a part.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rand_core::CryptoRng;
use vesica_channel::{Channel as _, ChannelError, Fault};
use vesica_net::Connection;
use vesica_protocols::Role;

use super::attempts::{Seed, SharedTally, locked};
use super::options::PlayOptions;
use super::part::{ANY, AttemptContext, PartProgress};
use super::partitioned::PartitionedRun;
use super::rounds::PartTally;
use super::toss::Player;
use crate::session::SessionError;
use crate::session::links::Links;

/// The most connections that wait for each lane.
///
/// **Memory.** A partner whose program is honest has a connection for each lane, playing or waiting, and that many are
/// in the budget. One that is not can make this side hold QUEUE more for each lane; what has arrived over a connection
/// and was not taken is bounded by the transport, to 8 MiB. Whatever comes beyond is closed at once.
const QUEUE: usize = 2;

/// Before a lane that takes any part asks again.
const PAUSE: Duration = Duration::from_millis(10);

/// How often a side that opens connections looks whether the partner has ended the round.
const POLL: Duration = Duration::from_millis(50);

/// Plays the parts of a round that are still `open`: one attempt at each.
pub(super) fn round<'d>(
    partitioned: &'d PartitionedRun<'_>,
    tally: &mut PartTally<'d>,
    (run, links): (&mut Connection, &dyn Links),
    (round, missing, open): (u16, &[u32], Vec<u32>),
    play_options: &PlayOptions<'_>,
    progress: &'d PartProgress<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<(), SessionError> {
    let players = partitioned.job.players;
    let lanes = players.at_once();
    let threads = play_options.threads.div_ceil(lanes.into());
    let table = AttemptContext {
        partitioned,
        play_options,
        progress,
        round,
        missing,
        threads,
        seed: Seed::draw(rng),
    };
    let lanes_of = Lanes {
        table: &table,
        links,
        tally: SharedTally::new(tally),
        follows: follows(links, players.theirs, partitioned.agreed.role()),
        again: players.theirs.names,
        opened: Mutex::new(open.iter().copied().rev().collect()),
        unplayed: Mutex::new(open),
        over: AtomicBool::new(false),
        failed: Mutex::new(None),
    };
    // Receipts on the run's connection say that the partner has ended the round.
    let wanted = || {
        let holds = run.check().is_ok();
        if !holds {
            table.stop_if_for_cores();
        }
        run.readable() == 0 && holds && !lanes_of.is_over()
    };
    let played = lanes_of.play(lanes, &wanted, rng);
    if played.is_err() {
        // The partner still plays, and takes no leave.
        run.abort();
    }
    played?;
    Ok(run.check()?)
}

/// Whether this process takes whichever part the partner asks for. Where neither side listens, an engine asks for its tasks'
/// parts, and of two processes the receiver asks.
fn follows(links: &dyn Links, partner: Player, role: Role) -> bool {
    let asks = partner.names || role == Role::Sender;
    links.comes_here() || links.at_relays() && asks
}

/// What the lanes of a round have in common.
struct Lanes<'l, 'd, 'r> {
    table: &'l AttemptContext<'d, 'l>,
    links: &'l dyn Links,
    tally: SharedTally<'d, 'r>,
    /// Whether the partner says which part comes next.
    follows: bool,
    /// An engine may lose what a task has played, and plays it again. Only its receipts tell that it does not.
    again: bool,
    /// The parts that this side has not opened yet, the next one last.
    opened: Mutex<Vec<u32>>,
    /// The parts that have not come to their end here.
    unplayed: Mutex<Vec<u32>>,
    /// Nobody is to begin another part.
    over: AtomicBool,
    failed: Mutex<Option<SessionError>>,
}

impl Lanes<'_, '_, '_> {
    /// Plays in so many lanes until all parts are played, or are not `wanted` any more.
    fn play(
        &self,
        lanes: u16,
        wanted: &dyn Fn() -> bool,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), SessionError> {
        let (give, queue) = mpsc::sync_channel(QUEUE * usize::from(lanes));
        let queue = Mutex::new(queue);
        let queue = self.links.comes_here().then_some(&queue);
        thread::scope(|scope| {
            let (running, ended) = mpsc::channel::<()>();
            for lane in 0..lanes {
                let running = running.clone();
                let body = move || {
                    self.run_lane(lane, queue);
                    drop(running);
                };
                let thread = thread::Builder::new().name("vesica-part".into());
                if let Err(cause) = thread.spawn_scoped(scope, body) {
                    // One lane is enough.
                    if lane == 0 {
                        self.fail(ChannelError::system("cannot start a thread", &cause).into());
                    }
                    break;
                }
            }
            drop(running);
            match queue {
                Some(_) => self.take(wanted, rng, &mut |met| drop(give.try_send(met))),
                None => {
                    while ended.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                        self.over.fetch_or(!wanted(), Relaxed);
                    }
                }
            }
            self.over.store(true, Relaxed);
            drop(give);
        });
        locked(&self.failed).take().map_or(Ok(()), Err)
    }

    /// Takes the connections that come here. If there are too many, some are dropped, and the partner comes again.
    fn take(&self, wanted: &dyn Fn() -> bool, rng: &mut dyn CryptoRng, each: &mut dyn FnMut(Connection)) {
        let first = self.table.header(ANY).encode();
        let call = self.table.call(ANY, &first, wanted);
        while wanted() {
            match self.links.take(&call, rng, each) {
                Err(error) if error.fault() != Fault::Partner => {
                    self.fail(self.table.partitioned.link_failed(error).into());
                }
                _ => {}
            }
        }
    }

    /// One part after the other.
    fn run_lane(&self, lane: u16, queue: Option<&Mutex<Receiver<Connection>>>) {
        let mut rng = self.table.seed.of_lane(lane);
        loop {
            let ended = match queue {
                Some(queue) => {
                    let met = locked(queue).recv();
                    let Ok(mut met) = met else { return };
                    if self.is_over() {
                        return;
                    }
                    // One that ended while it waited is no attempt.
                    if met.check().is_err() {
                        continue;
                    }
                    self.table.attempt_over(&self.tally, &mut met, ANY)
                }
                None => {
                    let Some(part) = self.next().filter(|_| !self.is_over()) else { return };
                    self.table.attempt(&self.tally, self.links, part, &|| !self.is_over(), &mut rng)
                }
            };
            match ended {
                Ok(Some(played)) => locked(&self.unplayed).retain(|part| *part != played),
                // Whoever takes any part asks again.
                Ok(None) if queue.is_none() && self.follows => thread::sleep(PAUSE),
                Ok(None) => {}
                Err(error) => self.fail(error),
            }
        }
    }

    /// The part for which a lane opens its next connection.
    fn next(&self) -> Option<u32> {
        if self.follows { Some(ANY) } else { locked(&self.opened).pop() }
    }

    fn is_over(&self) -> bool {
        let all_played = self.follows && !self.again && locked(&self.unplayed).is_empty();
        self.over.load(Relaxed) || all_played
    }

    fn fail(&self, error: SessionError) {
        locked(&self.failed).get_or_insert(error);
        self.over.store(true, Relaxed);
        self.table.stop_if_for_cores();
    }
}

#[cfg(test)]
mod tests {
    use vesica_net::{NetError, PartCall};

    use super::*;

    /// Where parts come from, and nothing else.
    struct Somewhere {
        comes_here: bool,
        at_relays: bool,
    }

    impl Links for Somewhere {
        fn comes_here(&self) -> bool {
            self.comes_here
        }

        fn at_relays(&self) -> bool {
            self.at_relays
        }

        fn open(&self, _: &PartCall<'_>, _: &mut dyn CryptoRng) -> Result<Option<Connection>, NetError> {
            Ok(None)
        }
    }

    #[test]
    fn a_side_takes_any_part_where_the_partner_names_it() {
        let at = |comes_here, at_relays| Somewhere { comes_here, at_relays };
        let (process, engine) = (Player::process(1), Player::engine(1));
        for role in [Role::Receiver, Role::Sender] {
            for partner in [process, engine] {
                assert!(follows(&at(true, false), partner, role), "who listens cannot name a part");
                assert!(!follows(&at(false, false), partner, role), "who connects names it");
            }
            assert!(follows(&at(false, true), engine, role), "the tasks of an engine have fixed parts");
        }
        let follow = [Role::Receiver, Role::Sender].map(|role| follows(&at(false, true), process, role));
        assert_eq!(follow, [false, true], "of two processes the receiver names");
    }
}
