//! Salted hashing, as most data exchanges do it. The receiver learns X ∩ Y, and every other sender item it can guess.
//!
//! **Security: none.** The receiver can hash any candidate and look it up; e-mail addresses, telephone numbers and most
//! other identifiers can all be tried (PSSZ15 §3.1, "Security"). It is here as the papers' speed baseline.
//!
//! Source: PSSZ15 §3.1. The paper hashes x ⊕ k; items here are strings, so the salt is a prefix under the protocol
//! context. The masks are sent sorted where the paper permutes them: no order of the sender's is left either way, and
//! sorted masks join faster.
//!
//! ```text
//! receiver P2 (Y)                                   sender P1 (X)
//! k ←$ {0,1}^256           ── k, 32 bytes ──►
//!                          ◄── sort{H(k, x)} ──     n_s · ⌈ℓ/8⌉ bytes
//! output {y : H(k, y) received}
//! ```
//!
//! Names: k = `salt`, H = `Context::hash` cut to ℓ bits, ℓ = [`MaskWidth`].
//! Cost: n_r hashes, n_s hashes, 32 + n_s · ⌈ℓ/8⌉ bytes.

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::hash::Label;
use vesica_crypto::join::join;
use vesica_encode::items::{Items, Matches};

use crate::error::Error;
use crate::masks::{self, MaskWidth, Tagged};
use crate::parameters::Supported;
use crate::positions;
use crate::protocol::{Pending, Phase, Role, Run};
use crate::registry::{Entry, Memory, Message, Status};

/// Bytes of the salt: 2κ bits.
const SALT: usize = 32;

/// Items hashed between two signs of progress.
const PROGRESS: usize = 1 << 12;

/// The registry's entry.
pub static ENTRY: Entry = Entry {
    name: "naive-hash",
    title: "salted hashing",
    family: "insecure",
    paper: "PSSZ15 §3.1",
    security: &[],
    supports: Supported::STANDARD,
    status: Status::Insecure,
    learns_both: true,
    learns: "receiver: the intersection, and any other sender item it can guess",
    leakage: "the sizes of both sets; every sender item of guessable form, now or later",
    flights: |_| 2,
    steps: |role, _| match role {
        Role::Receiver => &[(Phase::Blind, 50), (Phase::Exchange, 30), (Phase::Compare, 20)],
        Role::Sender => &[(Phase::Blind, 60), (Phase::Exchange, 40)],
    },
    base_ots: None,
    messages: &[
        Message { from: Role::Receiver, what: "salt", formula: "32", bytes: |_| SALT as u64 },
        Message {
            from: Role::Sender,
            what: "masks",
            formula: "n_s·⌈ℓ/8⌉",
            bytes: |shape| shape.sender() * shape.mask(),
        },
        positions::MESSAGE,
    ],
    memory: "receiver 52·n_r + 36·n_s, sender 48·n_s",
    memory_bytes: |shape| Memory {
        receiver: 52 * shape.receiver() + 36 * shape.sender(),
        sender: 48 * shape.sender(),
    },
    test_items: 1 << 12,
    receive,
    send,
};

/// The receiver's role.
pub fn receive<'a>(
    run: &Run<'a>,
    items: &'a Items,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Pending<'a>, Error> {
    run.expect_items(Role::Receiver, items)?;
    let width = MaskWidth::for_sizes(run.sizes)?;
    let (outgoing, incoming) = channel.split();
    // 1. P2 samples a 2κ-bit salt k and sends it to P1.
    let mut salt = [0; SALT];
    rng.fill_bytes(&mut salt);
    outgoing.send(&salt)?;
    outgoing.flush()?;
    // 2. Both compute their hashes; P1's arrive sorted.
    let mine = hash_all(run, width, &salt, items)?;
    run.phase(Phase::Exchange, run.sizes.sender);
    let theirs = masks::recv_sorted(width, run.sizes.sender, incoming, &mut |masks| run.advance(masks))?;
    // 3. P2 outputs the items whose hashes it received.
    let threads = run.threads;
    positions::finish_with(run, move || join(threads, &mine[..], &theirs[..]), outgoing, items)
}

/// The sender's role.
pub fn send(
    run: &Run<'_>,
    items: &Items,
    channel: &mut dyn Channel,
    _rng: &mut dyn CryptoRng,
) -> Result<Option<Matches>, Error> {
    run.expect_items(Role::Sender, items)?;
    let width = MaskWidth::for_sizes(run.sizes)?;
    let (outgoing, incoming) = channel.split();
    let mut salt = [0; SALT];
    incoming.recv_exact(&mut salt)?;
    let masks = hash_all(run, width, &salt, items)?;
    let mut mine: Vec<Tagged> =
        masks.into_iter().zip(0..).map(|(mask, item)| Tagged { mask, item }).collect();
    masks::sort(&mut mine);
    run.phase(Phase::Exchange, items.len());
    masks::send(width, mine.iter().map(|tagged| tagged.mask), outgoing, &mut |masks| run.advance(masks))?;
    positions::recv_if_both(run, incoming, |position| mine[position].item, items)
}

/// H(k, x) for every item, in the items' order.
fn hash_all(run: &Run<'_>, width: MaskWidth, salt: &[u8; SALT], items: &Items) -> Result<Vec<u128>, Error> {
    run.phase(Phase::Blind, items.len());
    let oracle = run.context.oracle(Label::new("naive-hash: salt and item to mask"));
    let mut masks = Vec::with_capacity(items.len());
    let mut input = salt.to_vec();
    for item in items.digests() {
        input.truncate(SALT);
        input.extend_from_slice(item);
        let mut hash = [0; 16];
        oracle.hash(&input, &mut hash);
        masks.push(width.truncate(&hash));
        if masks.len().is_multiple_of(PROGRESS) {
            run.advance(PROGRESS)?;
        }
    }
    run.advance(masks.len() % PROGRESS)?;
    Ok(masks)
}
