//! The garbled Bloom filter, enhanced protocol, as published. The receiver learns X ∩ Y. **Broken:** a sender
//! that cheats learns bits of the receiver's Bloom filter, and so whether the receiver has a key that it
//! guesses.
//!
//! **Security:** published as secure against malicious parties, given OT that is. The defence against a
//! receiver that asks for too much holds: with fewer than m/2 zeros in its filter it has no key, and every
//! string looks random (`max_tested_keys` below). The receiver is *not* safe. A sender that changes the share
//! of one slot ends the run if the receiver's bit there is 0, and changes nothing if it is 1 (RR16 §3.1;
//! Lambæk, eprint 2016/665; the authors confirm it in the full version). No answer of the receiver to wrong
//! shares helps, so the protocol stands here for comparison and runs only with `--allow-insecure`; `cheating`
//! has the attack. Leaks n_r and n_s besides.
//!
//! Source: DCW13 §5, Figure 3, and appendix C; RR16 Figure 3, where Alice is the sender. Deviations:
//!
//! - The sharing is Shamir's over GF(2^128), m/2 of m ([`crate::shamir`]); the paper names none, and
//!   RR16 measured as many field multiplications in its place. sk is the value of a random polynomial. The
//!   receiver interpolates *all* shares that it got, so that it notices a wrong one wherever it is.
//! - E is a Feistel network of AES on 256 bits ([`crate::wide_block`]).
//! - Each hash function has a slice of the filter, m/k = 2n slots, since coinciding positions cancel (RR16
//!   §4.1). Every slice then has at least n zeros. There is one bin: with several, a receiver could fill half of
//!   them with ones and still reach the threshold.
//! - The XOR of an item's strings is v(x) = H(context, x), of 128 bits, in place of x.
//! - The OTs are made before the inputs are used, with random choices, and corrected by m bits afterwards
//!   (Beaver). Shares and ciphertexts have their own widths, and pads of their own.
//! - The filter's hash functions belong to the session; no coins are tossed for them.
//!
//! ```text
//!    receiver (Y)                                        sender (X), Δ ←$ {0,1}^128
//!    offline
//!               ◄─ base OTs, seeds against Δ ─►
//!    b ←$ {0,1}^m  ── the extension, checked ──►         q_j = t_j ⊕ b_j·Δ        t_j: the receiver's rows
//! 1. r_j ←$ {0,1}^128  ── r_0, …, r_m-1 ──►
//! 2.                                                     f ←$ polynomials of degree below m/2
//!                                                        sk = f(ω), shares f_j = f(ω_j)
//!    online
//! 3.               ── d = b ⊕ BF_Y ──►                   q_j ⊕= d_j·Δ
//!                  ◄── f_j ⊕ H_0(j, q_j) ──
//!    f_j where BF_Y[j] = 0                               2. GBF_X, the garbled Bloom filter of x ↦ v(x)
//! 3.               ◄── c_j ⊕ H_1(j, q_j ⊕ Δ) ──          c_j = E(sk, r_j ‖ GBF_X[j])
//! 4. sk from the f_j. Where BF_Y[j] = 1: E^-1(sk, c_j) must begin with r_j, or the run ends.
//!    output {y : ⊕_i GBF_X[h_i(y)] = v(y)}
//! ```
//!
//! **The random form** (`--variant random`; RR16 §4.1 after PSZ14): GBF_X\[j\] = H_1(j, q_j ⊕ Δ) is what the OT
//! gives, and no r_j and c_j travel. The sender sends, for each x, H(x, ⊕_i GBF_X\[h_i(x)\]) ⊕ F(sk, x),
//! sorted. (RR16 sends the XOR itself; see `random_gbf`.) Without r_j the receiver does not notice a wrong sk:
//! the same attack empties its output in place of ending its run. The filter is for n = n_r.
//!
//! **Why the OTs are those of Figure 3.** After the correction t_j = q_j ⊕ BF_Y\[j\]·Δ: the receiver has
//! H_0(j, q_j) where its bit is 0 and H_1(j, q_j ⊕ Δ) where it is 1. The other string is hidden, as H_0 and H_1
//! are correlation robust, and b hides BF_Y.
//!
//! Names: f, ω = [`Sharing`]; E = [`WideBlockCipher`]; GBF = [`garble`]; H_0, H_1 = [`OtPads`]; r = `nonces`.
//!
//! Cost: m = 256·n slots, n = max(n_r, n_s). Either party makes m OTs and 3·m hashes of rows, and encrypts m
//! blocks. The sender evaluates f by an FFT, the receiver interpolates m points. About 68·m bytes, of which 20·m
//! are offline. In the random form n = n_r, and the hashes are m + k·n; about 20·m bytes and 16·n_s.

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::gf128::Gf128;
use vesica_crypto::hash::{Label, Oracle};
use vesica_crypto::memory::{Wiped, large_vec};
use vesica_crypto::prg::Prg;
use vesica_encode::bloom::{FilterPositions, FilterShape, SLICES_PER_BLOCK, Sums, choices, garble};
use vesica_encode::items::Items;
use vesica_ot::base::cache;
use vesica_ot::random::{OtPads, add_delta};
use vesica_ot::security::Security;
use vesica_ot::small_field;
use vesica_ot::softspoken::{self, Choices, Width};
use vesica_protocols::registry::{Entry, Memory, Message, Roles, Shape, Status};
use vesica_protocols::{
    Ctx, Error, Misbehaviour, Misuse, Outcome, Pending, Phase, Role, Run, Sizes, variants,
};
use zeroize::Zeroizing;

use crate::shamir::{MOST_SHARES, Sharing};
use crate::wide_block::WideBlockCipher;

#[cfg(any(test, feature = "testing"))]
pub mod cheating;
mod offline;
mod random_filter;

use offline::{ReceiverOffline, SenderOffline};

/// k = κ hash functions.
const HASHES: u32 = 128;

/// k of SoftSpoken; see `extension`.
const WIDTH: Width = Width::Four;

/// Slots that are sent or received at a time.
const CHUNK: usize = 1 << 13;

/// The pads of the shares, and those of both halves of the ciphertexts.
const SHARE: Label = Label::new("gbf-dcw-malicious: row to pad of a share");
const LEFT: Label = Label::new("gbf-dcw-malicious: row to pad of the left half");
const RIGHT: Label = Label::new("gbf-dcw-malicious: row to pad of the right half, or string of the filter");

/// v.
const VALUE: Label = Label::new("gbf-dcw-malicious: item to value");

variants! {
    /// Which strings the OTs carry.
    pub(crate) enum Form {
        /// Shares, and the encrypted filter, as published.
        Published,
        /// Shares alone; the filter is random.
        Random = "random", "random garbled Bloom filter: masks under F(sk, x) (RR16 §3.1, §4.1)";
    }
}

/// The registry's entry.
pub static ENTRY: Entry = Entry::new(
    "gbf-dcw-malicious",
    "garbled Bloom filter with secret sharing",
    Roles::Whole { receive, send },
)
.family("bloom_filter")
.paper("DCW13 §5; RR16 §3.1, §4.1")
.security(&[Security::Malicious])
.makes_base_ots()
.status(Status::Broken)
.learns(
    "receiver: the intersection",
    "the sizes of both sets; to a sender that cheats, whether the receiver has a key that it guesses",
)
.variants(Form::VARIANTS)
.flights(|_| 3)
.steps(|role, shape| match (role, Form::of(&shape.parameters)) {
    (Role::Receiver, Form::Published) => &[
        (Phase::BaseOts, 5),
        (Phase::Extend, 20),
        (Phase::Exchange, 25),
        (Phase::Share, 20),
        (Phase::Unblind, 25),
        (Phase::Compare, 5),
    ],
    (Role::Receiver, Form::Random) => &[
        (Phase::BaseOts, 5),
        (Phase::Extend, 30),
        (Phase::Answer, 30),
        (Phase::Share, 25),
        (Phase::Exchange, 5),
        (Phase::Compare, 5),
    ],
    (Role::Sender, Form::Published) => &[
        (Phase::BaseOts, 5),
        (Phase::Extend, 20),
        (Phase::Share, 15),
        (Phase::Exchange, 20),
        (Phase::Answer, 40),
    ],
    (Role::Sender, Form::Random) => &[
        (Phase::BaseOts, 5),
        (Phase::Extend, 35),
        (Phase::Share, 20),
        (Phase::Answer, 30),
        (Phase::Exchange, 10),
    ],
})
.messages(&[
    Message::of_sender("base OTs: an element for each string", "64·128", |shape| base_ots(shape)[0]),
    Message::of_receiver("base OTs: the other side's element", "32", |shape| base_ots(shape)[1]),
    Message::of_receiver("the OT extension, with its check", "6144 + m·31/8 + 544·⌈m/16256⌉", |shape| {
        let once = small_field::message_bytes(WIDTH, Security::Malicious);
        (once + softspoken::bytes(WIDTH, Security::Malicious, slots(shape), Choices::Random)) as u64
    }),
    Message::of_receiver("r: a random string for each slot (random: none)", "m·16", |shape| {
        if is_random(shape) { 0 } else { 16 * slots(shape) as u64 }
    }),
    Message::of_receiver("its Bloom filter, as corrections of random choices", "m/8", |shape| {
        slots(shape) as u64 / 8
    }),
    Message::of_sender("the shares of the key, by OT", "m·16", |shape| 16 * slots(shape) as u64),
    Message::of_sender("the encrypted garbled Bloom filter, by OT (random: none)", "m·32", |shape| {
        if is_random(shape) { 0 } else { 32 * slots(shape) as u64 }
    }),
    Message::of_sender("masks of the sender (random only)", "16·n_s", |shape| {
        if is_random(shape) { 16 * shape.sender() } else { 0 }
    }),
])
.memory("receiver 106·m + 2^24, sender 66·m + 2^24, m = 256·max(n_r, n_s) (random: 256·n_r)", |shape| {
    Memory { receiver: 106 * slots(shape) as u64 + (1 << 24), sender: 66 * slots(shape) as u64 + (1 << 24) }
})
.max_tested_keys_by_search(most_tested)
.test_items(1 << 7);

fn is_random(shape: &Shape) -> bool {
    Form::of(&shape.parameters) == Form::Random
}

/// n: the items that the filter is for.
fn set_size(sizes: Sizes, form: Form) -> usize {
    match form {
        Form::Published => sizes.receiver.max(sizes.sender),
        Form::Random => sizes.receiver,
    }
}

/// Keys of its choice that a receiver can test, 4n. A set of m/2 ones leaves the slices shares f_i of ones with
/// average 1/2, and holds all positions of a key with probability Π f_i ≤ 2^-128. So the probability that n' of
/// 2^64 keys fit one of the 2^(256n) sets is at most 2^(64n' + 256n - 128n'), for n' = 4n + 1 2^-64.
fn most_tested(shape: &Shape) -> u64 {
    4 * set_size(shape.sizes, Form::of(&shape.parameters)) as u64
}

/// Bytes of the base OTs, from the sender of the protocol and from its receiver.
fn base_ots(shape: &Shape) -> [u64; 2] {
    cache::bytes(shape.parameters.base_ots, cache::LEAST_LEVEL, 128)
}

/// m.
fn slots(shape: &Shape) -> usize {
    let n = set_size(shape.sizes, Form::of(&shape.parameters));
    FilterShape::half_empty(HASHES, n).all_slots() as usize
}

/// The receiver's role.
fn receive<'a>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pending<'a>, Error> {
    let agreed = Agreed::of(ctx.run)?;
    let offline = ReceiverOffline::prepare(ctx, &agreed)?;
    let party = Party::new(ctx.run, agreed, items);
    let filter = party.bloom_filter();
    let join_shares = |zeros: &[u8], shares: &[Block]| match agreed.sharing.reconstruct(zeros, shares) {
        Some(key) => key,
        None => unreachable!("half of the slots are free whatever the items"),
    };
    let matched = party.receive(ctx, offline, &filter, &join_shares)?;
    Ok(Pending::of_items(items, move || matched))
}

/// The sender's role.
fn send(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Option<Outcome>, Error> {
    let agreed = Agreed::of(ctx.run)?;
    let offline = SenderOffline::prepare(ctx, &agreed)?;
    Party::new(ctx.run, agreed, items).send(ctx, offline)?;
    Ok(None)
}

/// What both parties compute from the sizes.
#[derive(Clone, Copy)]
struct Agreed {
    form: Form,
    filter: FilterShape,
    sharing: Sharing,
}

impl Agreed {
    fn of(run: &Run<'_>) -> Result<Self, Error> {
        let form = Form::of(&run.parameters);
        let filter = FilterShape::half_empty(HASHES, set_size(run.sizes, form));
        let Sizes { receiver, sender } = run.sizes;
        if filter.all_slots() > MOST_SHARES as u64 {
            return Err(Misuse::TooManyItems { receiver, sender }.into());
        }
        let m = filter.all_slots() as usize;
        Ok(Self { form, filter, sharing: Sharing::new(m, m / 2) })
    }

    /// m.
    fn slots(&self) -> usize {
        self.sharing.shares()
    }
}

/// One party's items, and the positions of each in the filter.
struct Party<'a> {
    run: &'a Run<'a>,
    agreed: Agreed,
    items: &'a Items,
    positions: FilterPositions,
}

impl<'a> Party<'a> {
    fn new(run: &'a Run<'a>, agreed: Agreed, items: &'a Items) -> Self {
        let positions = FilterPositions::new(&run.context, agreed.filter, items, run.threads);
        Self { run, agreed, items, positions }
    }

    /// BF_Y.
    fn bloom_filter(&self) -> Wiped<u8> {
        let mut bits = Wiped::from(vec![0; self.agreed.slots() / 8]);
        self.for_each_slice(|slice, slots| {
            choices(slice * self.agreed.filter.slots(), slots, &mut bits);
            Ok(())
        })
        .unwrap_or_else(|_| unreachable!("nothing fails here"));
        bits
    }

    /// Goes through the slices of the filter with the slots of all items in each.
    fn for_each_slice(&self, mut work: impl FnMut(usize, &[u32]) -> Result<(), Error>) -> Result<(), Error> {
        let (mut blocks, mut slots) = (Vec::new(), <[Vec<u32>; SLICES_PER_BLOCK]>::default());
        for bin in self.positions.bins() {
            for group in 0..self.agreed.filter.hashes() / SLICES_PER_BLOCK {
                bin.positions(group, &mut blocks, &mut slots);
                for (slice, slots) in (SLICES_PER_BLOCK * group..).zip(&slots) {
                    work(slice, slots)?;
                }
            }
        }
        Ok(())
    }

    fn pads(&self, label: Label) -> OtPads<1> {
        OtPads::of(&self.run.context, label).with_threads(self.run.threads)
    }

    /// The receiver's items that the sender has, too. `filter` is its choice in the OTs, and `join_shares` makes
    /// a key of the shares whose bits are set.
    fn receive(
        &self,
        ctx: &mut Ctx<'_, '_>,
        offline: ReceiverOffline,
        filter: &[u8],
        join_shares: &dyn Fn(&[u8], &[Block]) -> Gf128,
    ) -> Result<Vec<u32>, Error> {
        let ReceiverOffline { mut choices, rows, nonces } = offline;
        // 3. d = b ⊕ BF_Y.
        choices.iter_mut().zip(filter).for_each(|(choice, bit)| *choice ^= bit);
        ctx.channel.send(&choices)?;
        ctx.channel.flush()?;
        let shares = self.receive_shares(&rows, ctx.channel)?;
        // 4. sk, from the shares where the filter is zero.
        self.run.phase(Phase::Share, 0);
        let zeros = Wiped::from(filter.iter().map(|bits| !bits).collect::<Vec<u8>>());
        let key = Zeroizing::new(join_shares(&zeros, &shares));
        drop(shares);
        match self.agreed.form {
            Form::Published => {
                let recovered = self.receive_filter(&rows, filter, nonces, *key, ctx.channel)?;
                self.run.phase(Phase::Compare, 0);
                Ok(self.recovered(&recovered))
            }
            Form::Random => self.receive_masks(&rows, *key, ctx.channel),
        }
    }

    /// The shares where the filter is zero; anything where it is one.
    fn receive_shares(&self, rows: &[[Block; 1]], channel: &mut dyn Channel) -> Result<Wiped<Block>, Error> {
        let phase = if self.agreed.form == Form::Published { Phase::Exchange } else { Phase::Answer };
        self.run.phase(phase, rows.len());
        let mut shares = Wiped::from(large_vec([Block::ZERO], rows.len()));
        shares.copy_from_slice(rows);
        self.pads(SHARE).hash(0, &mut shares);
        let mut sent = vec![Block::ZERO; CHUNK];
        for shares in shares.as_flattened_mut().chunks_mut(CHUNK) {
            let sent = &mut sent[..shares.len()];
            channel.recv_exact(Block::slice_as_mut_bytes(sent))?;
            shares.iter_mut().zip(sent).for_each(|(share, sent)| *share ^= *sent);
            self.run.advance(shares.len())?;
        }
        Ok(Wiped::from(shares.into_vec().into_flattened()))
    }

    /// ⊕_i GBF_X[h_i(y)] of each item, after every string where the filter is one was found to belong to its r_j.
    fn receive_filter(
        &self,
        rows: &[[Block; 1]],
        filter: &[u8],
        nonces: Block,
        key: Gf128,
        channel: &mut dyn Channel,
    ) -> Result<Wiped<[Block; 1]>, Error> {
        self.run.phase(Phase::Unblind, rows.len());
        let (cipher, mut nonces) = (WideBlockCipher::new(key.into()), Prg::from_seed(nonces));
        let pads = [LEFT, RIGHT].map(|label| self.pads(label));
        let per_slice = self.agreed.filter.slots();
        let mut sums = Wiped::from(vec![[Block::ZERO]; self.positions.items().len()]);
        let mut halves = [(); 2].map(|()| Wiped::from(vec![[Block::ZERO]; per_slice]));
        let (mut sent, mut expected) = (vec![Block::ZERO; per_slice], vec![Block::ZERO; per_slice]);
        let mut wrong = 0;
        self.for_each_slice(|slice, slots| {
            let first = slice * per_slice;
            for (half, pads) in halves.iter_mut().zip(&pads) {
                channel.recv_exact(Block::slice_as_mut_bytes(&mut sent))?;
                half.copy_from_slice(&rows[first..first + per_slice]);
                pads.hash(first as u64, half);
                half.as_flattened_mut().iter_mut().zip(&sent).for_each(|(half, sent)| *half ^= *sent);
            }
            let [left, right] = &mut halves;
            cipher.decrypt(left.as_flattened_mut(), right.as_flattened_mut());
            nonces.fill_blocks(&mut expected);
            for (j, ([left], nonce)) in (first..).zip(left.iter().zip(&expected)) {
                let one = Block::mask(filter[j / 8] >> (j % 8) & 1 == 1);
                wrong |= ((*left ^ *nonce) & one).to_u128();
            }
            Sums(&mut sums).add(right, slots);
            self.run.advance(per_slice)
        })?;
        if wrong == 0 { Ok(sums) } else { Err(Misbehaviour::FailedCheck.into()) }
    }

    /// The items whose recovered string is their value: QueryGBF.
    fn recovered(&self, recovered: &[[Block; 1]]) -> Vec<u32> {
        let values = self.hashed(&self.run.context.oracle(VALUE), &[]);
        let equal = |at: &usize| recovered[*at] == values[*at];
        (0..recovered.len()).filter(equal).map(|at| self.positions.items()[at]).collect()
    }

    /// H(secret, x) of each item.
    fn hashed(&self, oracle: &Oracle, secret: &[u8]) -> Wiped<[Block; 1]> {
        let width = secret.len() + self.items.width();
        let mut hashes = Wiped::from(vec![[Block::ZERO]; self.positions.items().len()]);
        for (hashes, items) in hashes.chunks_mut(CHUNK).zip(self.positions.items().chunks(CHUNK)) {
            let mut inputs = Wiped::from(Vec::with_capacity(hashes.len() * width));
            for &item in items {
                inputs.extend_from_slice(secret);
                inputs.extend_from_slice(self.items.get(item as usize));
            }
            let hashes = Block::slice_as_mut_bytes(hashes.as_flattened_mut());
            oracle.hash_batch(&inputs, width, hashes, Block::BYTES);
        }
        hashes
    }

    fn send(&self, ctx: &mut Ctx<'_, '_>, offline: SenderOffline) -> Result<(), Error> {
        let SenderOffline { delta, mut rows, nonces, key, shares } = offline;
        let Ctx { channel, rng, .. } = ctx.reborrow();
        // 3. q_j ⊕ d_j·Δ.
        let mut corrections = vec![0; self.agreed.slots() / 8];
        channel.recv_exact(&mut corrections)?;
        for (j, [row]) in rows.iter_mut().enumerate() {
            *row ^= *delta & Block::mask(corrections[j / 8] >> (j % 8) & 1 == 1);
        }
        self.send_shares(&rows, shares, channel)?;
        add_delta(&[*delta], &mut rows);
        match self.agreed.form {
            Form::Published => self.send_filter(&rows, &nonces, *key, channel, rng),
            Form::Random => self.send_masks(&rows, *key, channel),
        }
    }

    /// x_j,0 = f_j, under H_0(j, q_j).
    fn send_shares(
        &self,
        rows: &[[Block; 1]],
        shares: Wiped<Block>,
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        let phase = if self.agreed.form == Form::Published { Phase::Exchange } else { Phase::Answer };
        self.run.phase(phase, rows.len());
        let (pads, mut sent) = (self.pads(SHARE), Wiped::from(vec![[Block::ZERO]; CHUNK]));
        for ((first, rows), shares) in (0..).step_by(CHUNK).zip(rows.chunks(CHUNK)).zip(shares.chunks(CHUNK))
        {
            let sent = &mut sent[..rows.len()];
            sent.copy_from_slice(rows);
            pads.hash(first, sent);
            sent.as_flattened_mut().iter_mut().zip(shares).for_each(|(sent, share)| *sent ^= *share);
            channel.send(Block::slice_as_bytes(sent.as_flattened()))?;
            self.run.advance(rows.len())?;
        }
        Ok(channel.flush()?)
    }

    /// x_j,1 = E(sk, r_j ‖ GBF_X\[j\]), under H_1(j, q_j ⊕ Δ): slice by slice, the left halves first.
    fn send_filter(
        &self,
        rows: &[[Block; 1]],
        nonces: &[Block],
        key: Gf128,
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Error> {
        self.run.phase(Phase::Answer, rows.len());
        let (cipher, mut random) = (WideBlockCipher::new(key.into()), Prg::from_rng(rng));
        let pads = [LEFT, RIGHT].map(|label| self.pads(label));
        let values = self.hashed(&self.run.context.oracle(VALUE), &[]);
        let per_slice = self.agreed.filter.slots();
        let [mut left, mut right, mut pad] = [(); 3].map(|()| Wiped::from(vec![[Block::ZERO]; per_slice]));
        let mut first = 0;
        for bin in self.positions.bins() {
            garble(
                self.run.threads,
                &bin,
                &values[bin.range()],
                |strings| random.fill_blocks(strings.as_flattened_mut()),
                |slice| {
                    left.as_flattened_mut().copy_from_slice(&nonces[first..first + per_slice]);
                    right.copy_from_slice(slice);
                    cipher.encrypt(left.as_flattened_mut(), right.as_flattened_mut());
                    for (half, pads) in [&mut left, &mut right].into_iter().zip(&pads) {
                        pad.copy_from_slice(&rows[first..first + per_slice]);
                        pads.hash(first as u64, &mut pad);
                        half.iter_mut().zip(pad.iter()).for_each(|([half], [pad])| *half ^= *pad);
                        channel.send(Block::slice_as_bytes(half.as_flattened()))?;
                    }
                    first += per_slice;
                    self.run.advance(per_slice)
                },
            )?;
        }
        Ok(channel.flush()?)
    }
}

#[cfg(test)]
mod tests;
