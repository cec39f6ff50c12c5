//! A run of `dh` by [post](crate::job::post_box): three files take the place of a connection.
//!
//! ```text
//! ID.offer   sender     "vesica dh post 1\n" ‖ 1 (u8) ‖ nonce (32) ‖ keys (u64) ‖ length of the terms (u32) ‖ terms
//! ID.query   receiver   "vesica dh post 1\n" ‖ 2 (u8) ‖ digest of the offer (32) ‖ nonce (32) ‖ keys (u64) ‖ length ‖ terms
//!                       ‖ the receiver's messages of the protocol
//! ID.reply   sender     "vesica dh post 1\n" ‖ 3 (u8) ‖ digest of the query (32) ‖ the sender's messages
//! ```
//!
//! ID hashes both identities and the name of the run. The session id hashes both identities, the offer, and the query up to
//! the messages. The protocol is the one that runs over a connection: its receiver sends before it waits, so a first pass
//! over the same randomness makes the query and a second one, with the reply, the result. No one confirms: the reply is
//! bound to the query and signed, and the sender learns the receiver's size alone.
//!
//! *Crashes.* A side's seed is durable in a file of its own before it posts anything, so a run that is repeated makes the same
//! files. The receiver removes its seed after its rows are in place, and then the three files; the sender removes its own after
//! the reply is posted.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rand_core::CryptoRng;
use vesica_channel::codec::{Reader, Writer};
use vesica_channel::{CancelToken, Channel, ChannelError, RecvHalf, SendHalf};
use vesica_crypto::device::Device;
use vesica_crypto::prg::Prg;
use vesica_encode::items::Items;
use vesica_net::private_file::{self, Readers};
use vesica_net::{Identity, PublicKey};
use vesica_protocols::registry::Entry;
use vesica_protocols::{Ctx, Learns, Outcome, Pending, Role, Run, Sizes};
use vesica_table::shown_path;
use vesica_text::text;
use zeroize::Zeroizing;

use super::post_box::{PostBox, check_records, not_theirs, waiting};
use super::run::{Set, alone, answered, deliver, open, read};
use super::{Ended, Job, OnEvent, TableArgs};
use crate::session::card::{Opening, tell_failure};
use crate::session::local_state::{LocalState, prepare};
use crate::session::reporter::Reporter;
use crate::session::run_ledger::{self, NotedSet};
use crate::session::{Agreed, SessionError};
use crate::words::auto;
use crate::words::ended::RunResult;
use crate::words::error::{Error, Kind, RunPhase, Side};
use crate::words::ledger::RunLedger;
use crate::words::parts::Parts;
use crate::words::results::ResultChoice;
use crate::words::system::config_folder;
use crate::words::terms::{self, Terms};

const MAGIC: &[u8; 17] = b"vesica dh post 1\n";
const OFFER: u8 = 1;
const QUERY: u8 = 2;
const REPLY: u8 = 3;
/// The one protocol whose messages go by post.
const PROTOCOL: &str = "dh";
/// The most bytes before the messages.
const HEAD: u64 = 256 + terms::MAX_BYTES as u64;
/// Bytes of an element of the protocol.
const ELEMENT: u64 = 32;

/// Where the partner is met by post, and who both are.
pub struct ByPost<'a> {
    /// A folder, or an address in an object store, that both sides read and write.
    pub post: &'a Path,
    /// Who this side is.
    pub identity: &'a Identity,
    /// Who the partner is.
    pub peer: PublicKey,
    /// Which of several runs with this partner.
    pub run: &'a str,
    /// `--ledger`: where the run is written down.
    pub ledger: Option<&'a Path>,
}

impl Job {
    /// Goes as far as the files in the post-box allow: to the end, or to an error of [`Kind::Waiting`], after which the same
    /// job goes on once the partner has done its part.
    pub fn run_by_post(
        mut self,
        way: &ByPost<'_>,
        cancel: &CancelToken,
        rng: &mut dyn CryptoRng,
        on_event: OnEvent<'_>,
    ) -> Ended {
        // A run about the same file is about the same set.
        self.settings.digest_input |= way.ledger.is_some();
        let (role, settings) = (self.role, self.settings.clone());
        let my_key = Some(*way.identity.public_key());
        alone(role, &settings, my_key, cancel, on_event, |reporter| {
            let ledger = way.ledger.map(|path| RunLedger::open(path, rng)).transpose()?.map(Arc::new);
            let ended = self.steps_by_post(way, ledger.clone(), reporter, rng);
            if !matches!(&ended, Err(Error { kind: Kind::Waiting, .. })) {
                run_ledger::ended(ledger.as_deref(), ended.as_ref().err(), reporter);
            }
            ended
        })
    }

    fn steps_by_post(
        self,
        way: &ByPost<'_>,
        ledger: Option<Arc<RunLedger>>,
        reporter: &Reporter<'_>,
        rng: &mut dyn CryptoRng,
    ) -> Result<RunResult, Error> {
        let identity = Some(way.identity.clone());
        let local = LocalState { identity, ledger, ..LocalState::default() };
        let terms = prepare(self.role, &self.settings, &[self.table.keys.agreed()], &local)?;
        self.check_keys()?;
        check_records(&self.settings)?;
        let fits = self.settings.result.result == ResultChoice::Rows
            && self.settings.result.payload.is_empty()
            && self.settings.learns == Learns::Receiver;
        if self.settings.protocol.to_string() != PROTOCOL || !fits {
            return Err(Error::usage(
                "by post only `dh` runs, and its result is the receiver's rows",
                "give `[protocol dh]` and `[security semi-honest]`{ on both sides}, or meet {the partner} with `[connect]`",
            ));
        }
        let file = self.output()?;
        let Job { role, table: TableArgs { input, keys, dialect, output, .. }, settings } = self;
        let rules = keys.agreed();
        let session = Session::new(role, way, reporter.cancel)?;
        // Before anything is read: whether there is anything to do.
        reporter.enter(RunPhase::Post, 0);
        let offer = session.begun()?;
        let seed = session.seed(rng)?;
        reporter.enter(RunPhase::Read, 0);
        let card = Opening::for_run(&settings);
        card.begin();
        let path = input.path().cloned();
        let input = open(input, dialect, (&output, file.as_ref(), role == Role::Receiver), reporter)?;
        let keys = match role {
            Role::Receiver => {
                keys.with_variants().map_err(|error| Error::table(RunPhase::Prepare, &error))?
            }
            Role::Sender => keys,
        };
        // Padding is random, and the same in each run.
        let chosen = (role, &settings, None);
        let (table, set) = read((input, path.as_deref()), keys, chosen, &card, reporter, &mut seed.rng(0))?;
        let noted = set.note(local.ledger.as_ref(), rules, settings.encoding(), reporter)?;
        let Set::InMemory(items, _) = set else {
            return Err(Error::usage("by post a run has its keys in memory", "leave out `[memory]`"));
        };
        let device = card.wait(reporter)?;
        reporter.enter(RunPhase::Post, 0);
        let side = PostSide {
            session: &session,
            seed: &seed,
            items: &items,
            terms: &terms,
            settings: &settings,
            device: &device,
            noted: noted.as_ref(),
            reporter,
        };
        match role {
            Role::Sender => side.send(rng),
            Role::Receiver => {
                let (agreed, outcome) = side.receive(&offer.unwrap_or_default())?;
                let found = answered(&settings, &agreed, &items, Some(outcome), reporter)?;
                let delivered = deliver(found, table, (output, file), reporter)?;
                session.done(true);
                Ok(delivered)
            }
        }
    }
}

/// The files of a run.
struct Session<'a> {
    post: PostBox<'a>,
    identity: &'a Identity,
    role: Role,
    /// Receiver and sender.
    keys: [PublicKey; 2],
    id: String,
    state: PathBuf,
}

/// A side's seed, and where it is kept.
struct Seed(Zeroizing<[u8; 16]>);

impl Seed {
    /// Randomness for stream number `stream`: 0 the table, 1 the nonce, 2 the protocol.
    fn rng(&self, stream: u64) -> Prg {
        Prg::fork(*self.0, stream)
    }

    fn nonce(&self) -> [u8; 32] {
        let mut nonce = [0; 32];
        self.rng(1).fill(&mut nonce);
        nonce
    }
}

impl<'a> Session<'a> {
    fn new(role: Role, way: &ByPost<'a>, cancel: &'a CancelToken) -> Result<Self, Error> {
        let mine = *way.identity.public_key();
        if mine == way.peer {
            return Err(Error::usage(
                "`[peer]` is this side's own public key",
                "give the partner's with `[peer]`",
            ));
        }
        let keys = match role {
            Role::Receiver => [mine, way.peer],
            Role::Sender => [way.peer, mine],
        };
        let mut hasher = blake3::Hasher::new_derive_key("vesica run by post: id v1");
        hasher.update(keys[0].as_bytes()).update(keys[1].as_bytes());
        let id = hasher.update(way.run.as_bytes()).finalize().to_hex()[..32].to_owned();
        let folder = config_folder().map(|config| config.join("vesica").join("post"));
        let folder = folder.ok_or_else(|| {
            Error::usage("there is no folder for the state of a run by post", "set HOME or XDG_CONFIG_HOME")
        })?;
        let state = folder.join(format!("{id}.{}", role.name()));
        Ok(Session { post: PostBox::at(way.post, cancel)?, identity: way.identity, role, keys, id, state })
    }

    fn name(&self, ending: &str) -> String {
        format!("{}.{ending}", self.id)
    }

    /// What a file of that side has behind its magic; none if there is none.
    fn read(&self, ending: &str, kind: u8, writer: Role, most: u64) -> Result<Option<Vec<u8>>, Error> {
        let name = self.name(ending);
        let writer = self.keys[usize::from(writer == Role::Sender)];
        let Some(content) = self.post.read(&name, most, |_| Some(writer))? else { return Ok(None) };
        let is_whole =
            |content: &Vec<u8>| content.starts_with(MAGIC) && content.get(MAGIC.len()) == Some(&kind);
        content.filter(is_whole).map(Some).ok_or_else(|| not_theirs(&name))
    }

    /// Posts a file of this side, unless the same is there.
    fn put(&self, ending: &str, kind: u8, content: Vec<u8>) -> Result<[u8; 32], Error> {
        let (digest, most) = (*blake3::hash(&content).as_bytes(), content.len() as u64);
        if self.post.put(&self.name(ending), content, self.identity)? {
            return Ok(digest);
        }
        let there = self.read(ending, kind, self.role, most).ok().flatten();
        match there.is_none_or(|there| *blake3::hash(&there).as_bytes() != digest) {
            false => Ok(digest),
            true => Err(Error::usage(
                text!(
                    "the run in the post-box was begun with another table or other options: {}",
                    self.name(ending)
                ),
                text!(
                    "run with those until it ends; or give it up: remove {} and this run's files in the post-box{, on both sides}",
                    shown_path(&self.state)
                ),
            )),
        }
    }

    /// The offer, if this side is the receiver. An error where this side has nothing to do yet.
    fn begun(&self) -> Result<Option<Vec<u8>>, Error> {
        match self.role {
            Role::Receiver => match self.read("offer", OFFER, Role::Sender, HEAD)? {
                Some(offer) => Ok(Some(offer)),
                None => Err(waiting(
                    "the sender has not begun yet",
                    "run the same command again after {the partner}'s `vesica send`".into(),
                )),
            },
            Role::Sender => {
                let names = self.post.names()?;
                let replied = names.binary_search(&self.name("reply")).is_ok();
                if replied && !self.state.exists() {
                    return Err(waiting(
                        "the reply is in the post-box, and the receiver has not taken it yet",
                        "a new run begins once {the partner} has run `vesica receive` again".into(),
                    ));
                }
                Ok(None)
            }
        }
    }

    /// This side's seed: that of an earlier run, or a new one.
    fn seed(&self, rng: &mut dyn CryptoRng) -> Result<Seed, Error> {
        let failed = |why: String| Error {
            kind: Kind::Output,
            ..Error::usage(
                text!("{}: {}", shown_path(&self.state), why),
                "the state of a run by post lies there: make that folder one that you may write to",
            )
        };
        if self.state.exists() {
            let bytes = private_file::read(&self.state, 64, Readers::Owner)
                .map_err(|error| failed(error.to_string()))?;
            match <[u8; 16]>::try_from(&bytes[..]) {
                Ok(seed) => return Ok(Seed(Zeroizing::new(seed))),
                // A crash while it was made: nothing was posted for it.
                Err(_) => drop(fs::remove_file(&self.state)),
            }
        }
        let mut seed = Zeroizing::new([0; 16]);
        rng.fill_bytes(&mut *seed);
        let save = || {
            self.state.parent().map_or(Ok(()), private_file::create_folder)?;
            let mut file = private_file::create_new(&self.state)?;
            file.write_all(&*seed).and_then(|()| file.sync_all())
        };
        save().map_err(|error: std::io::Error| failed(error.to_string()))?;
        Ok(Seed(seed))
    }

    /// This side is done; the receiver clears the box.
    fn done(&self, clears: bool) {
        drop(fs::remove_file(&self.state));
        if clears {
            self.post.remove(&["offer", "query", "reply"].map(|ending| self.name(ending)));
        }
    }
}

/// One side of a run whose table is read.
struct PostSide<'a> {
    session: &'a Session<'a>,
    seed: &'a Seed,
    items: &'a Items,
    terms: &'a Terms,
    settings: &'a crate::words::settings::Settings,
    device: &'a Device,
    noted: Option<&'a NotedSet>,
    reporter: &'a Reporter<'a>,
}

/// What a side says before the messages.
struct Head {
    nonce: [u8; 32],
    keys: u64,
    terms: Vec<u8>,
}

impl Head {
    fn encode(&self, writer: &mut Writer) {
        writer.fixed(&self.nonce).u64(self.keys).bytes(&self.terms);
    }

    fn decode(reader: &mut Reader<'_>) -> Option<Self> {
        let (nonce, keys) = (reader.array().ok()?, reader.u64().ok()?);
        Some(Head { nonce, keys, terms: reader.bytes(terms::MAX_BYTES).ok()?.to_vec() })
    }
}

impl PostSide<'_> {
    fn head(&self) -> Head {
        Head { nonce: self.seed.nonce(), keys: self.items.len() as u64, terms: self.terms.encode() }
    }

    /// Writes the run into the ledger, if there is one. Its nonce is the same in each call.
    fn begin(&self) -> Result<(), Error> {
        let Some(noted) = self.noted else { return Ok(()) };
        let role = self.session.role;
        let partner = &self.session.keys[usize::from(role == Role::Receiver)];
        let post = blake3::hash(&self.seed.nonce()).to_hex()[..32].to_owned();
        noted.begin(role, self.settings, partner, Some(post), self.reporter)
    }

    /// Writes the agreement into the ledger, before any message of the protocol is posted.
    fn agreed(&self, agreed: &Agreed, query: Option<&[u8]>) -> Result<(), Error> {
        self.noted.map_or(Ok(()), |noted| noted.agreed(agreed, query))
    }

    /// Compares terms and sizes with the other side's, and takes the protocol.
    fn agree(&self, theirs: &Head, sid: [u8; 32]) -> Result<Agreed, Error> {
        self.reporter.enter(RunPhase::Agree, 0);
        let failed = |error: SessionError| Error::session(RunPhase::Agree, &error);
        let terms = Terms::decode(&theirs.terms)
            .map_err(|cause| failed(SessionError::Decode { what: "a list of terms", cause }))?;
        let differences = self.terms.differences(&terms);
        if !differences.is_empty() {
            return Err(failed(SessionError::TermsDiffer(differences)));
        }
        let role = self.session.role;
        let (least, most) = (self.terms.limits().min_peer_rows, self.terms.limits().max_peer_rows);
        if !(least..=most).contains(&theirs.keys) || theirs.keys > u32::MAX.into() {
            let whose = if role == Role::Receiver { "sender's" } else { "receiver's" };
            let limiter = "this side";
            return Err(failed(SessionError::OutOfLimits { whose, size: theirs.keys, limiter, least, most }));
        }
        let (mine, theirs) = (self.items.len(), theirs.keys as usize);
        let sizes = match role {
            Role::Receiver => Sizes { receiver: mine, sender: theirs },
            Role::Sender => Sizes { receiver: theirs, sender: mine },
        };
        let choice = auto::choose(&self.settings.protocol, self.settings.wanted(), Some(sizes))
            .map_err(|error| Error::plan(RunPhase::Agree, Side::Ours, &error))?;
        let agreed = Agreed::of_task(role, choice, Learns::Receiver, sizes, Parts::ONE).attempt(sid);
        self.reporter.agreed(&agreed, self.terms);
        Ok(agreed)
    }

    /// The session id, of the offer and of the query up to its messages.
    fn sid(&self, offer: &[u8], query_head: &[u8]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("vesica run by post: session v1");
        let [receiver, sender] = &self.session.keys;
        hasher.update(receiver.as_bytes()).update(sender.as_bytes());
        for part in [offer, query_head] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        *hasher.finalize().as_bytes()
    }

    /// The sender's part.
    fn send(&self, rng: &mut dyn CryptoRng) -> Result<RunResult, Error> {
        let session = self.session;
        let mut offer = Writer::new();
        offer.fixed(MAGIC).u8(OFFER);
        self.head().encode(&mut offer);
        let offer = offer.into_vec();
        self.begin()?;
        self.reporter.size_leaves();
        session.put("offer", OFFER, offer.clone())?;
        let most = HEAD.saturating_add(ELEMENT.saturating_mul(self.terms.limits().max_peer_rows));
        let Some(query) = session.read("query", QUERY, Role::Receiver, most)? else {
            return Err(waiting(
                "the offer is in the post-box, and the receiver has not sent its query yet",
                "run the same command again after {the partner}'s `vesica receive`".into(),
            ));
        };
        let decoded = || {
            let mut reader = Reader::new(&query[MAGIC.len() + 1..]);
            let of = reader.array::<32>().ok()?;
            let head = Head::decode(&mut reader)?;
            (of == *blake3::hash(&offer).as_bytes()).then_some((head, reader.left()))
        };
        let (head, left) = decoded().ok_or_else(|| not_theirs(&session.name("query")))?;
        let (query_head, messages) = query.split_at(query.len() - left);
        let agreed = self.agree(&head, self.sid(&offer, query_head))?;
        self.agreed(&agreed, Some(&query))?;
        let mut channel = Letters::new(messages.to_vec());
        self.play(agreed.protocol, &agreed, rng, &mut channel).map_err(|error| self.failed(error))?;
        if !channel.incoming.is_at_end() {
            return Err(not_theirs(&session.name("query")));
        }
        let mut reply = Writer::new();
        reply.fixed(MAGIC).u8(REPLY).fixed(blake3::hash(&query).as_bytes()).fixed(&channel.outgoing.0);
        session.post.put(&session.name("reply"), reply.into_vec(), session.identity)?;
        session.done(false);
        Ok(RunResult::default())
    }

    /// The receiver's part.
    fn receive(&self, offer: &[u8]) -> Result<(Agreed, Outcome), Error> {
        let session = self.session;
        let head = Head::decode(&mut Reader::new(&offer[(MAGIC.len() + 1).min(offer.len())..]));
        let head = head.ok_or_else(|| not_theirs(&session.name("offer")))?;
        let mut query = Writer::new();
        query.fixed(MAGIC).u8(QUERY).fixed(blake3::hash(offer).as_bytes());
        self.head().encode(&mut query);
        let mut query = query.into_vec();
        let agreed = self.agree(&head, self.sid(offer, &query))?;
        self.begin()?;
        self.agreed(&agreed, None)?;
        // The first pass ends where the protocol waits for the sender.
        let mut channel = Letters::new(Vec::new());
        let first = self.play(agreed.protocol, &agreed, &mut self.seed.rng(2), &mut channel);
        match first {
            Err(vesica_protocols::Error::Channel(ChannelError::Closed)) | Ok(_) => {}
            Err(error) => return Err(self.failed(error)),
        }
        query.extend(&channel.outgoing.0);
        self.reporter.size_leaves();
        let digest = session.put("query", QUERY, query)?;
        let sender_keys = agreed.sizes.sender as u64;
        let most = HEAD.saturating_add(ELEMENT.saturating_mul(sender_keys + self.items.len() as u64));
        self.reporter.enter(RunPhase::Post, 0);
        let Some(reply) = session.read("reply", REPLY, Role::Sender, most)? else {
            return Err(waiting(
                "the query is in the post-box, and the sender has not replied yet",
                "run the same command again after {the partner}'s `vesica send`".into(),
            ));
        };
        let messages = reply[MAGIC.len() + 1..].strip_prefix(&digest);
        let messages = messages.ok_or_else(|| not_theirs(&session.name("reply")))?;
        let mut channel = Letters::new(messages.to_vec());
        let outcome = self.play(agreed.protocol, &agreed, &mut self.seed.rng(2), &mut channel);
        let outcome = outcome.map_err(|error| self.failed(error))?;
        match outcome.filter(|_| channel.incoming.is_at_end()) {
            Some(outcome) => Ok((agreed, outcome)),
            None => Err(not_theirs(&session.name("reply"))),
        }
    }

    fn failed(&self, error: vesica_protocols::Error) -> Error {
        Error::session(self.reporter.current(), &SessionError::Protocol(error))
    }

    /// The protocol itself.
    fn play(
        &self,
        protocol: &'static Entry,
        agreed: &Agreed,
        rng: &mut dyn CryptoRng,
        channel: &mut Letters,
    ) -> Result<Option<Outcome>, vesica_protocols::Error> {
        let run = protocol.run(agreed.sid(), agreed.sizes, agreed.parameters);
        let (threads, device) = (self.settings.threads(), self.device.clone());
        let run = Run { threads, device, progress: self.reporter, ..run };
        let mut ctx = Ctx::new(&run, channel, rng);
        let played = match self.session.role {
            Role::Receiver => protocol.receive(&mut ctx, self.items).and_then(Pending::finish).map(Some),
            Role::Sender => protocol.send(&mut ctx, self.items),
        };
        tell_failure(self.device, self.reporter);
        played
    }
}

/// A channel whose other side has said all that it will say.
struct Letters {
    incoming: Incoming,
    outgoing: Outgoing,
}

struct Incoming {
    bytes: Vec<u8>,
    taken: usize,
}

struct Outgoing(Vec<u8>);

impl Letters {
    fn new(bytes: Vec<u8>) -> Self {
        Letters { incoming: Incoming { bytes, taken: 0 }, outgoing: Outgoing(Vec::new()) }
    }
}

impl Incoming {
    fn is_at_end(&self) -> bool {
        self.taken == self.bytes.len()
    }
}

impl RecvHalf for Incoming {
    fn recv_exact(&mut self, into: &mut [u8]) -> Result<(), ChannelError> {
        let Some(bytes) = self.bytes.get(self.taken..self.taken + into.len()) else {
            return Err(ChannelError::Closed);
        };
        into.copy_from_slice(bytes);
        self.taken += into.len();
        Ok(())
    }

    fn readable(&self) -> usize {
        self.bytes.len() - self.taken
    }
}

impl SendHalf for Outgoing {
    fn send(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ChannelError> {
        Ok(())
    }

    fn check(&self) -> Result<(), ChannelError> {
        Ok(())
    }

    fn abort(&mut self) {}
}

impl Channel for Letters {
    fn send(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
        self.outgoing.send(bytes)
    }

    fn flush(&mut self) -> Result<(), ChannelError> {
        Ok(())
    }

    fn recv_exact(&mut self, into: &mut [u8]) -> Result<(), ChannelError> {
        self.incoming.recv_exact(into)
    }

    fn readable(&self) -> usize {
        self.incoming.readable()
    }

    fn split(&mut self) -> (&mut dyn SendHalf, &mut dyn RecvHalf) {
        (&mut self.outgoing, &mut self.incoming)
    }

    fn expect_within(&mut self, _limit: Option<std::time::Duration>) {}
}
