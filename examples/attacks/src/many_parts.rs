//! A receiver that declares ten numbers, asks for many parts, and fills the places of each with guesses.
//!
//! Each part of a run is a run of its own, padded to a bound, so that nobody sees how many keys fell into it. Of ten keys
//! that bound is ten. A receiver that cheats waits for the key of the split, sorts its guesses by it, and puts ten of them
//! into each part, where an honest one puts its keys and padding. No check of a protocol can see that: in each part
//! it asks for no more than it has declared.
//!
//! What prevents it: both sides compare the places of all parts with the limit on the partner's keys before anything is
//! asked, and a side accepts many small parts only if its user asks for them (`vesica::parts`, `docs/scale.md`). Whoever
//! lifts both limits is told how many keys the receiver can ask about.

use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use vesica::channel::CancelToken;
use vesica::job::{Destination, Job, Partner, TableArgs};
use vesica::net::{Address, Identity};
use vesica::parts::engine::{Engine, EngineJob, Outline, Played, Round, RoundEnded, Task, Watch, keyed};
use vesica::protocols::Role;
use vesica::report::Event;
use vesica::settings::{Choice, Limits, Settings};
use vesica::table::{Dialect, KeySpec, TableReport};
use vesica::{Error as RunError, randomness, sets};

use crate::{Error, phone_book, phone_number, row_of};

/// The numbers that the receiver declares.
pub const DECLARED: u64 = 10;

/// The parts that it asks for.
pub const PARTS: u32 = 64;

/// What came of the attack.
pub struct Outcome {
    /// The sender's numbers.
    pub theirs: Vec<u32>,
    /// Those that the receiver found.
    pub found: Vec<u32>,
    /// Numbers that it asked about.
    pub asked: usize,
    /// What receiver and sender ended with, if they refused.
    pub refused: [Option<RunError>; 2],
    /// Keys that the receiver could test at most, as the sender's report has it.
    pub told: Option<u64>,
}

/// The receiver, which asks about the first `range` numbers, against a sender of `count` of them with these limits.
///
/// # Errors
/// If a party cannot be set up.
pub fn ask(protocol: &str, range: u32, count: usize, limits: Limits) -> Result<Outcome, Error> {
    let settings = Settings {
        protocol: Choice::Named(protocol.to_owned()),
        timeout: Duration::from_secs(30),
        ..Settings::default()
    };
    let generated = || Identity::generate().map_err(|error| std::io::Error::other(error.to_string()));
    let (mine, theirs) = (generated()?, generated()?);
    let (my_key, their_key) = (*mine.public_key(), *theirs.public_key());
    let key: KeySpec = "phone".parse().map_err(|_| std::io::Error::other("no rule"))?;
    // The sender, an honest program.
    let book = phone_book(range, count, 21);
    let folder = tempfile::tempdir()?;
    let input = folder.path().join("sender.csv");
    let rows: String = book.iter().map(|number| phone_number(*number) + "\n").collect();
    std::fs::write(&input, format!("phone\n{rows}"))?;
    let table = TableArgs {
        input: input.into(),
        keys: vec![key.clone()].into(),
        dialect: Dialect::default(),
        output: Destination::RowNumbers,
        protected: Vec::new(),
    };
    let sender = Job { role: Role::Sender, table, settings: Settings { limits, ..settings.clone() } };
    let listener = Partner::authenticated(Address::Listen("127.0.0.1:0".into()), theirs, my_key)?;
    // The receiver is an engine, whose tasks get what it likes.
    let numbers: Vec<String> = (0..range).map(phone_number).collect();
    let guesses = sets::items(numbers.iter().map(String::as_bytes), &settings)?;
    // Items have an order of their own.
    let numbers = (0..guesses.len()).map(|item| row_of(&guesses, item)).collect();
    let guesses = guesses.digests().flatten().copied().collect();
    let mut guesser = Guesser { guesses, numbers, run: None, asked: 0, found: Vec::new() };
    let counts = TableReport { rows: DECLARED, items: DECLARED, ..TableReport::default() };
    let settings = Settings { parts: PARTS, ..settings };
    let receiver = EngineJob { role: Role::Receiver, counts, keys: vec![key].into(), settings, slots: 1 };
    let (mut rng, mut their_rng) = (randomness()?, randomness()?);
    let (tell, told) = mpsc::channel();
    let (received, sent) = thread::scope(|scope| {
        let sender = scope.spawn(move || {
            let tell = Mutex::new(tell);
            let hear = |event: &Event| {
                if let Event::Listening { address, .. } = event {
                    drop(tell.lock().unwrap_or_else(PoisonError::into_inner).send(address.clone()));
                }
            };
            sender.run(&listener, &CancelToken::new(), &mut their_rng, &hear)
        });
        let address = Address::Connect(told.recv().unwrap_or_else(|_| "127.0.0.1:9".into()));
        let partner = Partner::authenticated(address, mine, their_key);
        let received = partner
            .map(|partner| receiver.run(&partner, &mut guesser, &CancelToken::new(), &mut rng, &|_| {}));
        (received, sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    guesser.found.sort_unstable();
    let told = sent.report.parameters.get("max_tested_keys").and_then(|told| told.as_u64());
    let refused = [received?.result.err(), sent.result.err()];
    Ok(Outcome { theirs: book, found: guesser.found, asked: guesser.asked, refused, told })
}

/// An engine that fills each part with guesses.
struct Guesser {
    /// Digests, one after the other.
    guesses: Vec<u8>,
    /// The number of each.
    numbers: Vec<u32>,
    run: Option<Outline>,
    asked: usize,
    /// Numbers of those that the sender has.
    found: Vec<u32>,
}

impl Engine for Guesser {
    fn begin(&mut self, run: &Outline) -> Result<(), RunError> {
        self.run = Some(*run);
        Ok(())
    }

    fn play(&mut self, round: Round, _: Watch<'_>) -> Result<RoundEnded, RunError> {
        let mut ended = RoundEnded::default();
        let Some(Outline { parts, bounds, items_key, width, .. }) = self.run else { return Ok(ended) };
        let (of, items) = keyed(&items_key, parts, width, &self.guesses);
        let items: Vec<&[u8]> = items.chunks_exact(width.bytes()).collect();
        for part in round.parts {
            let fall = of.iter().zip(&items).filter(|(of, _)| **of == part).take(bounds.receiver);
            let mut task = Task::new(round.ticket.as_slice(), part)?;
            for (_, item) in fall {
                task.add(part, item, 0)?;
                self.asked += 1;
            }
            let Played { receipt, attempts, matched, .. } =
                task.play(&CancelToken::new(), &mut randomness()?);
            ended.attempts.push((part, attempts));
            ended.receipts.push(receipt?);
            let is_matched = |item: &[u8]| matched.chunks_exact(width.bytes()).any(|found| found == item);
            let found = self
                .numbers
                .iter()
                .zip(&items)
                .filter(|(_, item)| is_matched(item))
                .map(|(number, _)| *number);
            self.found.extend(found);
        }
        Ok(ended)
    }

    fn chosen(&mut self, _: &[(u32, [u8; 32])], _: bool, _: Watch<'_>) -> Result<(), RunError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: u32 = 400;
    const COUNT: usize = 40;

    #[test]
    fn both_sides_refuse_more_questions_than_the_sender_allows() -> Result<(), Error> {
        let limits = |max_peer_rows, max_parts| Limits { max_peer_rows, max_parts, ..Limits::default() };
        for protocol in ["dkt", "vole"] {
            for (limits, words) in [
                (
                    limits(DECLARED, Some(PARTS)),
                    "64 parts with room for 640 keys of the receiver, which has 10",
                ),
                (limits(DECLARED, None), "the run would have 64 parts"),
                (limits(1 << 30, None), "the run would have 64 parts"),
            ] {
                let Outcome { found, asked, refused, .. } = ask(protocol, RANGE, COUNT, limits)?;
                assert_eq!((found.len(), asked), (0, 0));
                for end in &refused {
                    let (code, message) =
                        end.as_ref().map_or((0, String::new()), |e| (e.kind.exit_code(), e.message.shell()));
                    assert!(code == 77 && message.contains(words), "{protocol} {code}: {message}");
                }
            }
        }
        Ok(())
    }

    #[test]
    fn without_limits_it_finds_nearly_all_and_the_sender_is_told() -> Result<(), Error> {
        let limits = Limits { max_parts: Some(PARTS), ..Limits::default() };
        let Outcome { theirs, found, asked, refused, told } = ask("dkt", RANGE, COUNT, limits)?;
        let refused: Vec<_> = refused.iter().flatten().map(|error| &error.message).collect();
        assert!(refused.is_empty(), "{refused:?}");
        assert!(asked > 30 * DECLARED as usize && found.len() > COUNT * 3 / 4, "{asked} {}", found.len());
        assert!(found.iter().all(|number| theirs.contains(number)));
        assert_eq!(told, Some(u64::from(PARTS) * DECLARED));
        Ok(())
    }
}
