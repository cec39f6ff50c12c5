//! Salted hashing, as most data exchanges do it. The receiver learns X ∩ Y, and every other sender item it
//! can guess.
//!
//! **Security: none.** The receiver can hash any candidate and look it up; e-mail addresses, telephone
//! numbers and most other identifiers can all be tried (PSSZ15 §3.1, "Security"). It is here as the papers'
//! speed baseline.
//!
//! Source: PSSZ15 §3.1. The paper hashes x ⊕ k; items here are strings, so the salt is a prefix under the
//! protocol context. The masks are sent sorted where the paper permutes them: no order of the sender's is
//! left either way, and sorted masks join faster.
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

use vesica_crypto::hash::Label;
use vesica_crypto::join::join;
use vesica_encode::items::Items;
use vesica_protocols::masks::{self, MaskWidth};
use vesica_protocols::registry::{Entry, Memory, Message, Roles, Status};
use vesica_protocols::{Ctx, Error, Pairs, Phase, Role, Run};

/// Bytes of the salt: 2κ bits.
const SALT: usize = 32;

/// Items hashed between two signs of progress.
const PROGRESS: usize = 1 << 12;

/// The registry's entry.
pub static ENTRY: Entry = Entry::new("naive-hash", "salted hashing", Roles::Listed { receive, send })
    .family("insecure")
    .paper("PSSZ15 §3.1")
    .security(&[])
    .status(Status::Insecure)
    .learns(
        "receiver: the intersection, and any other sender item it can guess",
        "the sizes of both sets; every sender item of guessable form, now or later",
    )
    .flights(|_| 2)
    .steps(|role, _| match role {
        Role::Receiver => &[(Phase::Blind, 50), (Phase::Exchange, 30), (Phase::Compare, 20)],
        Role::Sender => &[(Phase::Blind, 60), (Phase::Exchange, 40)],
    })
    .messages(&[
        Message::of_receiver("salt", "32", |_| SALT as u64),
        Message::of_sender("masks", "n_s·⌈ℓ/8⌉", |shape| shape.sender() * shape.mask()),
    ])
    .memory("receiver 52·n_r + 36·n_s, sender 48·n_s", |shape| Memory {
        receiver: 52 * shape.receiver() + 36 * shape.sender(),
        sender: 48 * shape.sender(),
    })
    .runs_on_empty_sets()
    .test_items(1 << 12);

/// The receiver's role.
fn receive<'a>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pairs<'a>, Error> {
    let (run, threads) = (ctx.run, ctx.run.threads);
    let width = MaskWidth::for_sizes(run.sizes, run.parameters.statistical)?;
    let (outgoing, incoming) = ctx.channel.split();
    // 1. P2 samples a 2κ-bit salt k and sends it to P1.
    let mut salt = [0; SALT];
    ctx.rng.fill_bytes(&mut salt);
    outgoing.send(&salt)?;
    outgoing.flush()?;
    // 2. Both compute their hashes; P1's arrive sorted.
    let mine = hash_all(run, width, &salt, items)?;
    let theirs = masks::recv_sorted(run, width, incoming)?;
    // 3. P2 outputs the items whose hashes it received.
    Ok(Pairs::joined(run, move || join(threads, &mine[..], &theirs[..])))
}

/// The sender's role.
fn send(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Vec<u32>, Error> {
    let run = ctx.run;
    let width = MaskWidth::for_sizes(run.sizes, run.parameters.statistical)?;
    let (outgoing, incoming) = ctx.channel.split();
    // 1. The salt.
    let mut salt = [0; SALT];
    incoming.recv_exact(&mut salt)?;
    // 2. The hashes, sorted.
    let hashes = hash_all(run, width, &salt, items)?;
    masks::send_sorted(run, width, hashes.into_iter().zip(0..), outgoing)
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
