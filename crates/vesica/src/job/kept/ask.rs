//! A receiver's part of the conversation: its keys blinded, the answers checked.

use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

use chrono::{DateTime, SecondsFormat, Utc};
use rand_core::CryptoRng;
use vesica_channel::{Channel, ChannelError};
use vesica_crypto::par;
use vesica_crypto::prg::Prg;
use vesica_encode::items::Items;
use vesica_kept::Chain;
use vesica_net::{Connection, Options};
use vesica_protocols::public_key::voprf::{Blinded, Client, Evaluation, Output, PROOF};
use vesica_protocols::{Progress as _, Role};
use vesica_text::text;

use super::wire::{
    ANSWERED, OVER_BUDGET, ReceiverHello, SERVER_HELLO, ServerHello, TOO_MANY, Want, recv_elements, recv_u32,
    recv_u64,
};
use super::{BATCH, PROTOCOL, public_key};
use crate::session::partner::Partner;
use crate::session::reporter::Reporter;
use crate::session::signing::{Signing, Told};
use crate::session::{SessionError, exchange_digests};
use crate::words::error::{Error, Kind, RunPhase, Side};
use crate::words::receipt::Receipt;
use crate::words::settings::Settings;

/// Between a connection that broke and the next one.
const PAUSE: Duration = Duration::from_millis(100);

/// Asks for the outputs of items, in their order. A connection that breaks is made again, and what was not answered is asked
/// again as it was, which costs nothing.
pub(super) fn ask(
    partner: &Partner,
    chain: &Chain,
    items: &Items,
    settings: &Settings,
    reporter: &Reporter<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<Vec<Output>, Error> {
    let client = Client::new(public_key(chain)?);
    let threads = settings.threads();
    let mut query = Query {
        client,
        items,
        threads,
        outputs: vec![[0; 64]; items.len()],
        answered: 0,
        next: 0,
        waiting: VecDeque::new(),
    };
    let mut progress = Instant::now();
    let mut want = Want::Query;
    while query.left() > 0 {
        let before = query.left();
        let hello = ReceiverHello { want, digest: *chain.digest(), keys: query.left() as u32 };
        let asked = meet(partner, &hello, settings, reporter, rng).and_then(|met| {
            let Met { mut channel, server, signing } = met;
            check(&server, chain, items.len())?;
            if let Want::Query = want {
                tell(&server, chain, reporter);
            }
            reporter.enter(RunPhase::Lookup, items.len() as u64);
            reporter.advance((items.len() - before) as u64);
            query.run(&mut channel, reporter, rng)?;
            // All answers are here. How the server ends matters to a receipt alone.
            let signing = signing.map(|signing| signing.asked(before as u64));
            match end(&mut channel, signing.as_ref()) {
                Ok(receipt) => receipt.into_iter().for_each(|receipt| reporter.signed(receipt, &channel)),
                Err(error) if settings.receipt => return Err(Error::session(RunPhase::Confirm, &error)),
                Err(_) => {}
            }
            Ok(())
        });
        if query.left() < before {
            progress = Instant::now();
        }
        match asked {
            Err(error)
                if query.left() > 0
                    && error.kind == Kind::Partner
                    && progress.elapsed() < settings.timeout =>
            {
                reporter.notice("the connection broke; asking again for what was not answered");
                thread::sleep(PAUSE);
            }
            asked => asked?,
        }
        want = Want::Rest;
    }
    Ok(query.outputs)
}

/// The sender, met.
pub(super) struct Met {
    pub(super) channel: Connection,
    /// What it says of itself.
    pub(super) server: ServerHello,
    /// What both sign at the end, where they have keys.
    signing: Option<Signing>,
}

/// Ends the conversation, after the last batch.
fn end(channel: &mut Connection, signing: Option<&Signing>) -> Result<Option<Receipt>, SessionError> {
    channel.send(&0u32.to_le_bytes())?;
    channel.flush()?;
    exchange_digests(u64::MAX, signing, channel, &|| ())
}

/// Meets the sender.
pub(super) fn meet(
    partner: &Partner,
    hello: &ReceiverHello,
    settings: &Settings,
    reporter: &Reporter<'_>,
    rng: &mut dyn CryptoRng,
) -> Result<Met, Error> {
    reporter.enter(RunPhase::Connect, 0);
    let options = Options { silence: settings.timeout, cancel: reporter.cancel.clone() };
    let mine = Told::at(reporter.started);
    let first = [hello.encode(), mine.encode()].concat();
    let mut channel = partner.meet(&first, &options, rng, &mut |event| reporter.net_event(&event))?;
    reporter.connected(&channel);
    channel.expect_prompt();
    let mut bytes = [0; SERVER_HELLO];
    channel.recv_exact(&mut bytes).map_err(|error| failed(&error))?;
    let server = ServerHello::decode(&bytes).ok_or_else(|| Error {
        side: Side::Partner,
        phase: RunPhase::Agree,
        kind: Kind::Protocol,
        message: "the partner does not serve a set".into(),
        remedy: "ask {the partner} for the address of its `vesica serve`, and for its version".into(),
    })?;
    let theirs = Told::recv(&mut channel).map_err(|error| Error::session(RunPhase::Agree, &error))?;
    let set = server.set_name(&hello.digest);
    let signing = partner.keys.as_ref().map(|(identity, sender)| {
        let (mine, theirs) = ((identity, mine), (sender, theirs));
        Signing::of_look_up(&channel, Role::Receiver, PROTOCOL, set, mine, theirs)
    });
    Ok(Met { channel, server, signing })
}

/// Refuses a server of another key, and a query that it would not answer.
fn check(server: &ServerHello, chain: &Chain, keys: usize) -> Result<(), Error> {
    let refused = |message, remedy: &'static str| Error {
        side: Side::Both,
        phase: RunPhase::Agree,
        kind: Kind::Refused,
        message,
        remedy: remedy.into(),
    };
    let epoch = &chain.head().epoch;
    if server.public_key != epoch.public_key {
        let message = text!(
            "the sender answers under key {}, and the set here is of key {}",
            server.key_number,
            epoch.key_number
        );
        return Err(refused(message, "get the set anew, with `[fetch]` or from the sender"));
    }
    if keys > server.most_keys as usize {
        let message =
            text!("the table has {} keys, and the sender takes {} in a query", keys, server.most_keys);
        return Err(refused(message, "ask for fewer keys at a time"));
    }
    Ok(())
}

/// Says what the sender's hello has that a person may want to know.
fn tell(server: &ServerHello, chain: &Chain, reporter: &Reporter<'_>) {
    let here = chain.head().epoch.number;
    if server.epoch > here {
        reporter.notice(text!(
            "the sender's set is at epoch {}, and the one here at {}: `[fetch]` gets the newer files",
            server.epoch,
            here
        ));
    }
    if server.most_a_day > 0 {
        reporter.notice(format!("the sender answers up to {} keys a day", server.most_a_day));
    }
}

/// A broken connection, or the like.
pub(super) fn failed(error: &ChannelError) -> Error {
    Error::channel(RunPhase::Lookup, error)
}

/// What has been asked and answered.
struct Query<'a> {
    client: Client,
    items: &'a Items,
    threads: usize,
    outputs: Vec<Output>,
    /// Items that have an answer.
    answered: usize,
    /// Items that have been blinded.
    next: usize,
    /// Batches without an answer, in their order.
    waiting: VecDeque<Batch>,
}

/// A part of the items, blinded.
struct Batch {
    first: usize,
    blinded: Blinded,
}

impl Query<'_> {
    /// Items without an answer.
    fn left(&self) -> usize {
        self.items.len() - self.answered
    }

    fn keys(&self, first: usize, count: usize) -> Vec<&[u8]> {
        (first..first + count).map(|item| self.items.get(item)).collect()
    }

    /// Sends what waits, then the rest, while the answers come. There are answers to check while the server computes others.
    fn run(
        &mut self,
        channel: &mut Connection,
        reporter: &Reporter<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Error> {
        self.waiting.iter().try_for_each(|batch| send(batch, channel)).map_err(|error| failed(&error))?;
        loop {
            if self.waiting.len() < 2 * self.threads && self.next < self.items.len() {
                // They wait before they are sent: where the connection breaks in between, they are sent on the next one.
                let first = self.waiting.len();
                let batches = self.blind(rng)?;
                self.waiting.extend(batches);
                let mut unsent = self.waiting.iter().skip(first);
                unsent.try_for_each(|batch| send(batch, channel)).map_err(|error| failed(&error))?;
            }
            channel.flush().map_err(|error| failed(&error))?;
            if self.waiting.len() < 2 * self.threads && self.next < self.items.len() {
                continue;
            }
            let answered = self.waiting.len().min(self.threads);
            if answered == 0 {
                return Ok(());
            }
            let counts: Vec<usize> =
                self.waiting.iter().take(answered).map(|batch| batch.blinded.elements.len()).collect();
            let answers = counts.iter().map(|count| recv(channel, *count)).collect::<Result<Vec<_>, _>>()?;
            self.finalize(&answers)?;
            reporter.advance(counts.iter().sum::<usize>() as u64);
            if reporter.cancelled() {
                return Err(Error::interrupted(RunPhase::Lookup));
            }
        }
    }

    /// The next batches, one for each thread.
    fn blind(&mut self, rng: &mut dyn CryptoRng) -> Result<Vec<Batch>, Error> {
        let mut parts = Vec::new();
        let mut first = self.next;
        while first < self.items.len() && parts.len() < self.threads {
            let count = BATCH.min(self.items.len() - first);
            parts.push((first, count, Prg::from_rng(rng)));
            first += count;
        }
        let mut batches: Vec<Option<Batch>> = parts.iter().map(|_| None).collect();
        let this = &*self;
        par::for_each(
            self.threads,
            parts.into_iter().zip(&mut batches),
            |_, ((first, count, mut rng), batch)| {
                let blinded = this.client.blind(&this.keys(first, count), &mut rng);
                *batch = Some(Batch { first, blinded });
                Ok::<(), Error>(())
            },
        )?;
        self.next = first;
        Ok(batches.into_iter().flatten().collect())
    }

    /// Checks the answers to the oldest batches, and takes the outputs.
    fn finalize(&mut self, answers: &[Evaluation]) -> Result<(), Error> {
        let mut outputs: Vec<Vec<Output>> = answers.iter().map(|_| Vec::new()).collect();
        let batches = self.waiting.iter().zip(answers).zip(&mut outputs);
        let this = &*self;
        par::for_each(
            self.threads,
            batches.collect::<Vec<_>>().into_iter(),
            |_, ((batch, answer), outputs)| {
                let keys = this.keys(batch.first, batch.blinded.elements.len());
                *outputs = this.client.finalize(&keys, &batch.blinded, answer)?;
                Ok(())
            },
        )
        .map_err(|error| Error::session(RunPhase::Lookup, &SessionError::Protocol(error)))?;
        for outputs in outputs {
            let Some(batch) = self.waiting.pop_front() else { break };
            self.outputs[batch.first..batch.first + outputs.len()].copy_from_slice(&outputs);
            self.answered += outputs.len();
        }
        Ok(())
    }
}

fn send(batch: &Batch, channel: &mut Connection) -> Result<(), ChannelError> {
    let elements = &batch.blinded.elements;
    channel.send(&(elements.len() as u32).to_le_bytes())?;
    channel.send(elements.as_flattened())
}

/// The answer to a batch of so many keys.
fn recv(channel: &mut Connection, count: usize) -> Result<Evaluation, Error> {
    let answer = |channel: &mut Connection| {
        let mut reason = [0];
        channel.recv_exact(&mut reason)?;
        if reason[0] != ANSWERED {
            return Ok(Err((reason[0], recv_u64(channel)?, recv_u64(channel)?)));
        }
        let elements = recv_elements(channel, count)?;
        let mut proof = [0; PROOF];
        channel.recv_exact(&mut proof)?;
        Ok(Ok(Evaluation { elements, proof }))
    };
    match answer(channel).map_err(|error| failed(&error))? {
        Ok(evaluation) => Ok(evaluation),
        Err((reason, left, renews)) => Err(refused(reason, left, renews)),
    }
}

/// Why the server does not answer.
pub(super) fn refused(reason: u8, left: u64, renews: u64) -> Error {
    let renews = i64::try_from(renews).ok().and_then(|seconds| DateTime::<Utc>::from_timestamp(seconds, 0));
    let renews =
        renews.map_or("an unknown time".into(), |time| time.to_rfc3339_opts(SecondsFormat::Secs, true));
    let (kind, message, remedy) = match reason {
        OVER_BUDGET => (
            Kind::Refused,
            text!(
                "the sender's budget for this side is used up: {} keys are left until {}",
                left,
                renews.clone()
            ),
            text!("ask for fewer keys, or run again after {}", renews),
        ),
        TOO_MANY => (
            Kind::Refused,
            text!("the sender takes fewer keys in a query"),
            text!("ask for fewer keys at a time"),
        ),
        _ => (
            Kind::Partner,
            text!("the sender could not answer"),
            text!("ask {the partner} what its program said, and run again"),
        ),
    };
    Error { side: Side::Partner, phase: RunPhase::Lookup, kind, message, remedy }
}

/// How many files a server may hand out, and the bytes of each.
pub(super) const MOST_FILES: u32 = 1 << 16;

/// The number of files that follow.
pub(super) fn recv_files(channel: &mut Connection) -> Result<u32, Error> {
    let files = recv_u32(channel).map_err(|error| failed(&error))?;
    match files {
        0..=MOST_FILES => Ok(files),
        _ => Err(Error {
            side: Side::Partner,
            phase: RunPhase::Lookup,
            kind: Kind::Protocol,
            message: "the partner announces too many files".into(),
            remedy: "ask {the partner} for the version of its program".into(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};
    use vesica_channel::CancelToken;
    use vesica_encode::items::Width;
    use vesica_net::memory;
    use vesica_protocols::public_key::voprf::SecretKey;

    use super::*;

    /// Answers batches until the receiver ends, or `most` of them; then the connection breaks.
    fn serve(mut channel: Connection, key: &SecretKey, most: usize) {
        for _ in 0..most {
            let count = recv_u32(&mut channel).unwrap();
            if count == 0 {
                drop(channel.finish(&[]));
                return;
            }
            let blinded = recv_elements(&mut channel, count as usize).unwrap();
            let Evaluation { elements, proof } =
                key.evaluate(&blinded, &mut StdRng::seed_from_u64(3)).unwrap();
            channel.send(&[ANSWERED]).unwrap();
            channel.send(elements.as_flattened()).unwrap();
            channel.send(&proof).unwrap();
            channel.flush().unwrap();
        }
    }

    /// A connection may break at any place: also where batches are blinded and none of them is sent.
    #[test]
    fn flaw_batches_that_a_broken_connection_takes_with_it() {
        let rng = &mut StdRng::seed_from_u64(1);
        let key = SecretKey::random(rng);
        let names: Vec<String> = (0..9 * BATCH + 7).map(|number| format!("key {number}")).collect();
        let items = Items::of_keys(Width::Digest256, &names).unwrap();
        let (settings, cancel) = (Settings::default(), CancelToken::new());
        let reporter = Reporter::new(Role::Receiver, &settings, &cancel, &|_| ());
        // With many threads a group of batches is more than a channel gathers before it sends.
        for threads in [1, 2, 8] {
            let client = Client::new(*key.public_key());
            let outputs = vec![[0; 64]; items.len()];
            let mut query = Query {
                client,
                items: &items,
                threads,
                outputs,
                answered: 0,
                next: 0,
                waiting: VecDeque::new(),
            };
            for most in [0, 1, 0, 3, 2, usize::MAX] {
                let (mut here, there) = memory::pair(&cancel);
                let left = query.left();
                let asked = thread::scope(|scope| {
                    scope.spawn(|| serve(there, &key, most));
                    query.run(&mut here, &reporter, rng).map(|()| drop(end(&mut here, None)))
                });
                assert_eq!(asked.is_ok(), most == usize::MAX, "{threads} threads, {most} answers");
                assert!(query.left() <= left && (asked.is_ok() || query.left() > 0));
            }
            let keys: Vec<&[u8]> = items.digests().collect();
            assert_eq!((query.left(), query.outputs), (0, key.outputs(&keys)), "{threads} threads");
        }
    }
}
