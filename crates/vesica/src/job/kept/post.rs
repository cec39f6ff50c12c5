//! Look-ups by [post](crate::job::post_box): a receiver leaves its query, and a sender its answer.
//!
//! ```text
//! ID.request   "vesica post 1\n" ‖ 1 (u8) ‖ id (16) ‖ receiver (32) ‖ sender (32) ‖ public key of the set (32)
//!              ‖ keys (u32) ‖ blinded elements (32 each) ‖ signature of the receiver (64)
//! ID.answer    "vesica post 1\n" ‖ 2 (u8) ‖ id ‖ receiver ‖ sender ‖ public key ‖ digest of the request (32)
//!              ‖ reason (u8; 0: answered)
//!                answered: for each batch of 512 keys evaluated elements (32 each) ‖ proof (64)
//!                refused:  keys left (u64) ‖ when the budget renews (u64)
//!              ‖ signature of the sender (64)
//! ```
//!
//! What the receiver needs to go on, the seed of its blinds, is in a file beside its output that only its owner can read.
//!
//! *Crashes.* The receiver's state is durable before the request is posted, and the same state makes the same request. The
//! sender's ledger has each batch before the answer is written, and charges none twice. The state goes before the request
//! and the answer do, and after the output is in place.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use rand_core::CryptoRng;
use vesica_crypto::prg::Prg;
use vesica_encode::items::Items;
use vesica_net::private_file::{self, Readers};
use vesica_net::{Identity, PublicKey};
use vesica_protocols::public_key::voprf::{Blinded, Client, Evaluation, Output, PROOF};
use vesica_table::shown_path;
use vesica_text::text;
use zeroize::Zeroizing;

use super::wire::ANSWERED;
use super::{BATCH, ask};
use crate::job::post_box::{PostBox, not_theirs, waiting};
use crate::session::SessionError;
use crate::words::error::{Error, Kind, RunPhase};

const MAGIC: &[u8; 14] = b"vesica post 1\n";
const REQUEST: u8 = 1;
const ANSWER: u8 = 2;
/// Bytes of magic, kind, id, both identities and the set's key.
const HEAD: usize = 14 + 1 + 16 + 3 * 32;
const STATE: &[u8; 15] = b"vesica query 1\n";

/// The parties and the set of a query.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) id: [u8; 16],
    pub(super) receiver: PublicKey,
    pub(super) sender: PublicKey,
    pub(super) public_key: [u8; 32],
}

impl Head {
    fn encode(&self, kind: u8) -> Vec<u8> {
        let parts: [&[u8]; 6] =
            [MAGIC, &[kind], &self.id, self.receiver.as_bytes(), self.sender.as_bytes(), &self.public_key];
        parts.concat()
    }

    /// The head of a file of that kind, and what is behind it.
    fn decode(bytes: &[u8], kind: u8) -> Option<(Self, &[u8])> {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let rest_of_head = head.strip_prefix(MAGIC)?.strip_prefix(&[kind])?;
        let (id, keys) = rest_of_head.split_first_chunk::<16>()?;
        let [receiver, sender, public_key] = keys.as_chunks::<32>().0 else { return None };
        let (receiver, sender) = (PublicKey::from_bytes(*receiver), PublicKey::from_bytes(*sender));
        Some((Self { id: *id, receiver, sender, public_key: *public_key }, rest))
    }

    /// The name of the file of that kind.
    fn name(&self, ending: &str) -> String {
        name(&self.id, ending)
    }
}

fn name(id: &[u8; 16], ending: &str) -> String {
    let digits: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{digits}.{ending}")
}

/// A query that was found in the box.
pub(super) struct Request {
    pub(super) head: Head,
    pub(super) blinded: Vec<[u8; 32]>,
    digest: [u8; 32],
}

/// What the sender says to it.
pub(super) enum Answer {
    Evaluated(Vec<Evaluation>),
    Refused { reason: u8, left: u64, renews: u64 },
}

/// Takes the queries of these receivers for this sender and set that have no answer, one after the other. What is none of
/// them is told of.
pub(super) fn requests(
    post: &PostBox<'_>,
    allowed: &[PublicKey],
    (sender, public_key): (PublicKey, [u8; 32]),
    most_keys: u32,
    (mut each, mut other): (impl FnMut(Request) -> Result<(), Error>, impl FnMut(String)),
) -> Result<(), Error> {
    let most = (HEAD + 4) as u64 + 32 * u64::from(most_keys);
    let names = post.names()?;
    for name in names.iter().filter(|name| name.ends_with(".request") && !name.starts_with('.')) {
        if names.binary_search(&name.replace(".request", ".answer")).is_ok() {
            continue;
        }
        let writer = |content: &[u8]| Head::decode(content, REQUEST).map(|(head, _)| head.receiver);
        let Some(content) = post.read(name, most, writer)? else { continue };
        match content.and_then(|content| Request::decode(&content)) {
            Some(request) if request.head.sender != sender => {}
            Some(request) if request.head.public_key != public_key => {
                other(format!("{name}: it is for another key of the set; its receiver needs the new files"));
            }
            Some(request) if !allowed.contains(&request.head.receiver) => {
                other(format!("{name}: its receiver {} is not allowed", request.head.receiver.short()));
            }
            Some(request) if request.head.name("request") == *name => each(request)?,
            _ => other(format!("{name}: it is no query, or it was changed, or it has too many keys")),
        }
    }
    Ok(())
}

/// Posts an answer.
pub(super) fn answer(
    post: &PostBox<'_>,
    request: &Request,
    answer: &Answer,
    identity: &Identity,
) -> Result<(), Error> {
    let mut bytes = request.head.encode(ANSWER);
    bytes.extend(request.digest);
    match answer {
        Answer::Evaluated(batches) => {
            bytes.push(ANSWERED);
            for batch in batches {
                bytes.extend(batch.elements.as_flattened());
                bytes.extend(batch.proof);
            }
        }
        Answer::Refused { reason, left, renews } => {
            bytes.push(*reason);
            bytes.extend(left.to_le_bytes());
            bytes.extend(renews.to_le_bytes());
        }
    }
    post.put(&request.head.name("answer"), bytes, identity).map(drop)
}

fn decode_answer(rest: &[u8], batches: &[usize]) -> Option<Answer> {
    let (reason, mut rest) = rest.split_first()?;
    if *reason != ANSWERED {
        let (left, renews) = rest.split_first_chunk::<8>()?;
        let renews = <[u8; 8]>::try_from(renews).ok()?;
        let (left, renews) = (u64::from_le_bytes(*left), u64::from_le_bytes(renews));
        return Some(Answer::Refused { reason: *reason, left, renews });
    }
    let mut evaluations = Vec::new();
    for keys in batches {
        let (elements, behind) = rest.split_at_checked(32 * keys)?;
        let (proof, behind) = behind.split_first_chunk::<PROOF>()?;
        evaluations.push(Evaluation { elements: elements.as_chunks().0.to_vec(), proof: *proof });
        rest = behind;
    }
    rest.is_empty().then_some(Answer::Evaluated(evaluations))
}

impl Request {
    fn decode(content: &[u8]) -> Option<Self> {
        let (head, rest) = Head::decode(content, REQUEST)?;
        let (keys, elements) = rest.split_first_chunk::<4>()?;
        let (blinded, over) = elements.as_chunks::<32>();
        (over.is_empty() && blinded.len() == u32::from_le_bytes(*keys) as usize).then_some(())?;
        Some(Request { head, blinded: blinded.to_vec(), digest: *blake3::hash(content).as_bytes() })
    }
}

/// What a receiver keeps until its answer is there.
pub(super) struct State {
    id: [u8; 16],
    seed: Zeroizing<[u8; 16]>,
}

impl State {
    /// Randomness for stream number `stream` of the query: 0 for its table, then one for each batch.
    pub(super) fn rng(&self, stream: u64) -> Prg {
        Prg::fork(*self.seed, stream)
    }
}

/// A query by post.
pub(super) struct Posted<'a> {
    pub(super) post: PostBox<'a>,
    pub(super) identity: &'a Identity,
    pub(super) sender: PublicKey,
    /// Where the state is.
    pub(super) state: PathBuf,
}

/// The file with the state of a query whose rows go to that output.
pub(super) fn state_of(output: &Path) -> PathBuf {
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    output.with_file_name(format!(".{name}.vesica-query"))
}

impl Posted<'_> {
    /// The outputs of the items, if the answer is there; else the query is posted, and the error says to run again.
    pub(super) fn ask(
        &self,
        state: &State,
        client: &Client,
        public_key: [u8; 32],
        items: &Items,
    ) -> Result<Vec<Output>, Error> {
        let receiver = *self.identity.public_key();
        let head = Head { id: state.id, receiver, sender: self.sender, public_key };
        let keys: Vec<&[u8]> = items.digests().collect();
        let blind = |(number, keys): (usize, &[&[u8]])| client.blind(keys, &mut state.rng(number as u64 + 1));
        let blinded: Vec<Blinded> = keys.chunks(BATCH).enumerate().map(blind).collect();
        let batches: Vec<usize> = blinded.iter().map(|batch| batch.elements.len()).collect();
        let digest = self.request(&head, &blinded)?;
        match self.answer_to(&head, digest, &batches)? {
            None => Err(waiting(
                "the query is in the post-box, and the sender has not answered yet",
                text!(
                    "run the same command again after the sender's `vesica serve`; until then {} has to stay",
                    shown_path(&self.state)
                ),
            )),
            Some(Answer::Refused { reason, left, renews }) => {
                self.done(state);
                Err(ask::refused(reason, left, renews))
            }
            Some(Answer::Evaluated(evaluations)) => {
                let steps = keys.chunks(BATCH).zip(&blinded).zip(&evaluations);
                let outputs = steps.map(|((keys, blinded), answer)| client.finalize(keys, blinded, answer));
                let outputs = outputs.collect::<Result<Vec<_>, _>>();
                let outputs = outputs
                    .map_err(|error| Error::session(RunPhase::Post, &SessionError::Protocol(error)))?;
                Ok(outputs.concat())
            }
        }
    }

    /// Posts the query, unless it is there; its digest.
    fn request(&self, head: &Head, blinded: &[Blinded]) -> Result<[u8; 32], Error> {
        let mut bytes = head.encode(REQUEST);
        let keys: usize = blinded.iter().map(|batch| batch.elements.len()).sum();
        bytes.extend((keys as u32).to_le_bytes());
        blinded.iter().for_each(|batch| bytes.extend(batch.elements.as_flattened()));
        let (digest, most) = (*blake3::hash(&bytes).as_bytes(), bytes.len() as u64);
        let name = head.name("request");
        if self.post.put(&name, bytes, self.identity)? {
            return Ok(digest);
        }
        let there = self.post.read(&name, most, |_| Some(head.receiver))?.flatten();
        match there.is_none_or(|there| *blake3::hash(&there).as_bytes() != digest) {
            true => Err(Error::usage(
                text!("a query for other keys, or for another set, still waits: {}", shown_path(&self.state)),
                "run with the table of that query until it ends; or remove this file, which gives the query up",
            )),
            false => Ok(digest),
        }
    }

    /// The answer to a query with this digest, whose batches have so many keys; none if there is none yet.
    fn answer_to(&self, head: &Head, digest: [u8; 32], batches: &[usize]) -> Result<Option<Answer>, Error> {
        let keys: usize = batches.iter().sum();
        let most = HEAD + 32 + 1 + 32 * keys.max(1) + PROOF * batches.len();
        let name = head.name("answer");
        let Some(content) = self.post.read(&name, most as u64, |_| Some(head.sender))? else {
            return Ok(None);
        };
        let decoded = content.as_deref().and_then(|content| {
            let (found, rest) = Head::decode(content, ANSWER)?;
            let (of, rest) = rest.split_first_chunk::<32>()?;
            (found == *head && *of == digest).then_some(())?;
            decode_answer(rest, batches)
        });
        decoded.map(Some).ok_or_else(|| not_theirs(&name))
    }

    /// The query is over: its rows are in place, or it was refused.
    pub(super) fn done(&self, state: &State) {
        drop(fs::remove_file(&self.state));
        let names = ["request", "answer"].map(|ending| name(&state.id, ending));
        self.post.remove(&names);
    }

    /// The state of the query: that of an earlier run, or a new one.
    pub(super) fn state(&self, rng: &mut dyn CryptoRng) -> Result<State, Error> {
        if let Some(state) = self.load()? {
            return Ok(state);
        }
        let mut state = State { id: [0; 16], seed: Zeroizing::new([0; 16]) };
        rng.fill_bytes(&mut state.id);
        rng.fill_bytes(&mut *state.seed);
        let parts: [&[u8]; 3] = [STATE, &state.id, &*state.seed];
        let bytes = Zeroizing::new(parts.concat());
        let save = || {
            let mut file = private_file::create_new(&self.state)?;
            file.write_all(&bytes).and_then(|()| file.sync_all()).inspect_err(|_| {
                drop(fs::remove_file(&self.state));
            })
        };
        save().map_err(|error| self.no_state(&error.to_string()))?;
        Ok(state)
    }

    fn load(&self) -> Result<Option<State>, Error> {
        if !self.state.exists() {
            return Ok(None);
        }
        let bytes = private_file::read(&self.state, 1 << 10, Readers::Owner);
        let bytes = bytes.map_err(|error| self.no_state(&error.to_string()))?;
        let decode = || {
            let (id, rest) = bytes.strip_prefix(STATE)?.split_first_chunk::<16>()?;
            Some(State { id: *id, seed: Zeroizing::new(rest.try_into().ok()?) })
        };
        match decode() {
            Some(state) => Ok(Some(state)),
            // A crash while it was made: nothing was posted for it.
            None if bytes.len() < STATE.len() + 16 + 16 => {
                drop(fs::remove_file(&self.state));
                Ok(None)
            }
            None => Err(self.no_state("it is no state of a query")),
        }
    }

    fn no_state(&self, why: &str) -> Error {
        Error {
            kind: Kind::Output,
            ..Error::usage(
                text!("{}: {}", shown_path(&self.state), why.to_owned()),
                "the query's state lies beside the output: name an `[output]` in a folder that you may write to",
            )
        }
    }
}
