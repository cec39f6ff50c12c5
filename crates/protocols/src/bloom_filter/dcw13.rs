//! The garbled Bloom filter, basic protocol. The receiver learns X ∩ Y, the sender |Y| and no more.
//!
//! **Security:** semi-honest, in the random oracle model, given OT. Leaks n_r and n_s. Beyond the
//! intersection, the receiver could learn an item of the sender whose k positions are all set in its own
//! filter. Over the hash functions ([`FilterShape`]) this has probability n_s·2^-κ; two items with one digest
//! or one seed ([`FilterPositions`]) add n_r·n_s·2^-128, or 2^-256 in place of 2^-128 above level 128.
//! Building the filter fails with probability at most n_s·2^-κ; the run then ends with an error. Nothing
//! holds a malicious party to the protocol: a receiver whose filter is all ones learns X, and DCW13's own
//! remedy (§5) is broken (RR16 §3.1).
//!
//! Source: DCW13 §4.3 and appendix A, where the receiver is the client C and the sender the server S; §6.1:
//! computing and transfer overlap, on one thread ("pipelined") or all cores ("parallel"); §6.4: bins. The
//! forms are the steps of PSZ14. All of them deviate in these points:
//!
//! - Each hash function has a slice of its own. Positions that coincide would cancel in the XOR and overwrite
//!   each other in Algorithm 1 (`vesica_encode::bloom`). From 2^13 items on, bins keep slices in the cache.
//! - The XOR of an item's strings is not x but v(x) = H(context, x), of κ bits: keys have any length, and
//!   nothing of them is on the wire. The receiver compares what it recovers with v(y) itself; no summary
//!   travels.
//! - Up to level 128 the standard form uses SoftSpoken in place of IKNP (`extension.rs`). The other forms
//!   send IKNP's columns as ALSZ13 does, half of what IKNP03 sends.
//!
//! The standard form, "\[DCW13\] + random OT extension" of PSZ14:
//!
//! ```text
//!    receiver (Y)                                       sender (X), Δ ←$ {0,1}^κ
//! 1.                ◄─ base OTs, seeds against Δ ─►     64·128 + 32 + 4096 bytes (IKNP: 64·κ + 32)
//!    for each slice of the filter: c = BF_Y
//!                   ── the extension, choices c ──►     4 bytes a slot (IKNP: κ/8)
//!    t_j                                                q_j = t_j ⊕ c_j·Δ
//! 2. S(y) = ⊕_i H(h_i(y), t_h_i(y))                     S(x) = ⊕_i H(h_i(x), q_h_i(x) ⊕ Δ)
//! 3.                                                    D: garbled Bloom filter of x ↦ v(x) ⊕ S(x)
//!                   ◄── D ──                            κ/8 bytes a slot
//! 4. output {y : ⊕_i D[h_i(y)] ⊕ S(y) = v(y)}
//! ```
//!
//! **Why this is DCW13.** Let R_j = H(j, q_j ⊕ Δ). Then GBF_X\[j\] = D\[j\] ⊕ R_j is a garbled Bloom filter
//! of x ↦ v(x). It is uniformly random among those that exist, because D is uniformly random among its own.
//! And D\[j\] = GBF_X\[j\] ⊕ R_j is the one string per OT that the sender sends (x_j,1 = GBF_X\[j\], x_j,0
//! random). Built in this order, a string is hashed only when an item has it, on either side, and rows are
//! dropped as soon as they are used.
//!
//! The other forms reproduce PSZ14's table. `two-strings` and `correlated` (`appendix_a.rs`) build GBF_X in
//! step 2, send it slice by slice in step 3 and hash all strings; `iknp` is the standard form over the papers'
//! OT extension.
//!
//! | form | sent by the sender for slot j | receiver hashes | sender hashes |
//! |---|---|---|---|
//! | `two-strings` | x_j,0 ⊕ H(j, q_j), GBF_X\[j\] ⊕ H(j, q_j ⊕ Δ) | m | 2m |
//! | `correlated` | GBF_X\[j\] ⊕ H(j, q_j ⊕ Δ); x_j,0 = H(j, q_j) | m | 2m |
//! | `iknp`, standard | D\[j\] | k·n_r | k·n_s |
//!
//! The first two take the strings of an OT from [`vesica_ot::chosen`], the others from [`vesica_ot::random`].
//!
//! Names: k = κ hash functions h_i, [`FilterPositions`]; GBF, D = [`garble`]; S = `receiver_sums`,
//! `sender_sums`; v = `values`.
//!
//! Cost: m = b·k·s slots for n = max(n_r, n_s), where b = ⌈n/2^13⌉ bins have k slices each, and s is the
//! least number of slots with which a foreign item is positive with probability 2^-k ([`FilterShape`]). With
//! one bin s = ⌈1/(1 - 2^(-1/n))⌉, about n·log2 e + ½. Several bins have unequal loads and take 0.4 to 1.1 %
//! more at 2^20 items. Where a party has a card (`run.device`), the card computes positions, as DCW13 §6.4
//! proposes. Then the party takes 16 bytes more an item and 4·κ bytes for each of 2^17 items.

mod appendix_a;

use rand_core::CryptoRng;
use vesica_channel::{RecvHalf, SendHalf};
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Label, Oracle};
use vesica_crypto::memory::Wiped;
use vesica_crypto::par;
use vesica_crypto::prg::Prg;
use vesica_encode::bloom::{FilterPositions, FilterShape, SLICES_PER_BLOCK, Sums, garble};
use vesica_encode::items::Items;
use vesica_ot::chosen::{recv_strings, send_strings};
use zeroize::Zeroizing;

use super::extension;
use super::transfer::{self, receiver_sums, sender_sums};
use crate::entry::{Entry, Memory, Message, OnCard, Roles, Shape};
use crate::error::Error;
use crate::outcome::{Outcome, Pending};
use crate::parameters::variants;
use crate::protocol::{Ctx, Phase, Role, Run};

/// Items that one thread hashes at a time.
const CHUNK: usize = 1 << 12;

variants! {
    /// Which strings the OTs carry, and which extension makes them.
    pub(super) enum Form {
        /// D, whose strings random OTs mask.
        Standard,
        /// D, over IKNP's extension.
        Iknp = "iknp", transfer::IKNP.what;
        /// x_j,0 and x_j,1.
        TwoStrings = "two-strings", "two strings an OT, as DCW13 sends them";
        /// x_j,1 alone.
        Correlated = "correlated", "one string an OT by correlated OT (ALSZ13)";
    }
}

/// The registry's entry.
pub static ENTRY: Entry = extension::entry("gbf", "garbled Bloom filter", Roles::Whole { receive, send })
    .paper("DCW13 §4, appendix A; PSZ14")
    .variants(Form::VARIANTS)
    .on_card(OnCard::Positions)
    .steps(|role, shape| match (role, Form::of(&shape.parameters)) {
        (Role::Receiver, Form::TwoStrings | Form::Correlated) => &[(Phase::Answer, 95), (Phase::Compare, 5)],
        (Role::Sender, Form::TwoStrings | Form::Correlated) => &[(Phase::Answer, 100)],
        (Role::Receiver, _) => &[(Phase::Answer, 50), (Phase::Exchange, 45), (Phase::Compare, 5)],
        (Role::Sender, _) => &[(Phase::Answer, 50), (Phase::Exchange, 50)],
    })
    .messages(&[
        extension::BASE_MESSAGES[0],
        extension::BASE_MESSAGES[1],
        extension::choices("4096 + m·4 (IKNP: m·κ/8), m = b·κ·s for n = max(n_r, n_s)", |shape| {
            transfer::choice_bytes(shape, filter(shape))
        }),
        Message::of_sender(
            "the garbled Bloom filter of the sender, under the strings of the OTs",
            "m·κ/8 (two-strings: 2·m·κ/8)",
            |shape| {
                let strings = if Form::of(&shape.parameters) == Form::TwoStrings { 2 } else { 1 };
                strings * u64::from(shape.parameters.level) / 8 * filter(shape).all_slots()
            },
        ),
    ])
    .memory(
        "receiver 84·n_r + 2^24, sender 52·n_s + 2^24 ([variant]: both + 2^27; above level 128: 24 more an own item)",
        |shape| {
            let form = if shape.parameters.variant.is_none() { 1 << 24 } else { (1 << 24) + (1 << 27) };
            let wider = transfer::wider(&shape.parameters);
            Memory {
                receiver: (84 + wider) * shape.receiver() + form,
                sender: (52 + wider) * shape.sender() + form,
            }
        },
    );

/// The filter of a run: k = κ functions, the larger set.
fn filter(shape: &Shape) -> FilterShape {
    FilterShape::for_items(shape.parameters.level, shape.sizes.receiver.max(shape.sizes.sender))
}

/// The receiver's role.
fn receive<'a>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pending<'a>, Error> {
    let matched = match ctx.run.parameters.level {
        ..=128 => Party::<1>::new(ctx.run, items).receive(ctx)?,
        _ => Party::<2>::new(ctx.run, items).receive(ctx)?,
    };
    Ok(Pending::of_items(items, move || matched))
}

/// The sender's role.
fn send(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Option<Outcome>, Error> {
    match ctx.run.parameters.level {
        ..=128 => Party::<1>::new(ctx.run, items).send(ctx)?,
        _ => Party::<2>::new(ctx.run, items).send(ctx)?,
    }
    Ok(None)
}

/// One party's items and the positions of each in the filter.
struct Party<'a, const W: usize> {
    run: &'a Run<'a>,
    form: Form,
    items: &'a Items,
    positions: FilterPositions,
    values: Oracle,
}

impl<'a, const W: usize> Party<'a, W> {
    fn new(run: &'a Run<'a>, items: &'a Items) -> Self {
        let filter = FilterShape::for_items(run.parameters.level, run.sizes.receiver.max(run.sizes.sender));
        Party {
            run,
            form: Form::of(&run.parameters),
            items,
            positions: FilterPositions::new_on(&run.device, &run.context, filter, items, run.threads),
            values: run.context.oracle(Label::new("gbf: item to value")),
        }
    }

    /// The receiver's items that the sender has, too.
    fn receive(&self, ctx: &mut Ctx<'_, '_>) -> Result<Vec<u32>, Error> {
        // 1. An OT for each slot: c_j = BF_Y[j] chooses.
        let mut ot = extension::Receiver::<W>::setup(ctx)?;
        let recovered = match self.form {
            Form::Standard | Form::Iknp => {
                // 2. S(y) = ⊕_i H(h_i(y), t_h_i(y)).
                let sums = receiver_sums(self.run, &self.positions, &mut ot, ctx.channel)?;
                // 3. ⊕_i D[h_i(y)] ⊕ S(y).
                self.receive_filter(sums, ctx.channel.split().1)?
            }
            // 3. ⊕_i GBF_X[h_i(y)] (`appendix_a.rs`).
            Form::TwoStrings | Form::Correlated => self.receive_strings(ot, ctx.channel)?,
        };
        // 4. The y for which that is v(y): Algorithm 2.
        Ok(self.recovered(&recovered))
    }

    fn send(&self, ctx: &mut Ctx<'_, '_>) -> Result<(), Error> {
        // 1. An OT for each slot.
        let mut ot = extension::Sender::<W>::setup(ctx)?;
        let Ctx { channel, rng, .. } = ctx.reborrow();
        match self.form {
            Form::Standard | Form::Iknp => {
                // 2. S(x) = ⊕_i H(h_i(x), q_h_i(x) ⊕ Δ).
                let sums = sender_sums(self.run, &self.positions, &mut ot, channel)?;
                // 3. D, the garbled Bloom filter of x ↦ v(x) ⊕ S(x): Algorithm 1.
                self.send_filter(sums, channel.split().0, rng)
            }
            // 2. and 3. GBF_X, and its strings by the OTs (`appendix_a.rs`).
            Form::TwoStrings | Form::Correlated => self.send_strings(ot, channel, rng),
        }
    }

    /// Bytes of a string on the wire: κ bits.
    fn width(&self) -> usize {
        self.run.parameters.level as usize / 8
    }

    /// The items whose recovered string is their value.
    fn recovered(&self, recovered: &[[Block; W]]) -> Vec<u32> {
        self.run.phase(Phase::Compare, 0);
        let mut values = vec![[Block::ZERO; W]; recovered.len()];
        self.values(0, &mut values);
        let equal = |at: &usize| {
            let [recovered, value] = [recovered, &values].map(|strings| Block::slice_as_bytes(&strings[*at]));
            recovered[..self.width()] == value[..self.width()]
        };
        (0..recovered.len()).filter(equal).map(|at| self.positions.items()[at]).collect()
    }

    /// v of the items from position `first` of `positions` on, XORed into `values`.
    fn values(&self, first: usize, values: &mut [[Block; W]]) {
        let Ok(()) = par::fill_chunks(self.run.threads, CHUNK, values, |chunk, values| {
            let indices = &self.positions.items()[first + chunk * CHUNK..][..values.len()];
            let mut inputs = Vec::with_capacity(indices.len() * self.items.width());
            indices.iter().for_each(|&index| inputs.extend_from_slice(self.items.get(index as usize)));
            let mut hashes = vec![[Block::ZERO; W]; values.len()];
            let bytes = Block::slice_as_mut_bytes(hashes.as_flattened_mut());
            self.values.hash_batch(&inputs, self.items.width(), bytes, W * Block::BYTES);
            for (value, hash) in values.as_flattened_mut().iter_mut().zip(hashes.as_flattened()) {
                *value ^= *hash;
            }
            Ok::<_, std::convert::Infallible>(())
        });
    }

    /// Sends D, the garbled Bloom filter of x ↦ v(x) ⊕ S(x).
    fn send_filter(
        &self,
        mut sums: Wiped<[Block; W]>,
        channel: &mut dyn SendHalf,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Error> {
        self.run.phase(Phase::Exchange, self.positions.shape().all_slots() as usize);
        self.values(0, &mut sums);
        for bin in self.positions.bins() {
            let mut random = RandomStrings::new::<W>(rng);
            garble(
                self.run.threads,
                &bin,
                &sums[bin.range()],
                |strings| random.fill(strings),
                |slice| {
                    send_strings(slice, self.width(), channel)?;
                    self.run.advance(slice.len())
                },
            )?;
        }
        Ok(channel.flush()?)
    }

    /// Receives D and adds its strings to the sums.
    fn receive_filter(
        &self,
        mut sums: Wiped<[Block; W]>,
        channel: &mut dyn RecvHalf,
    ) -> Result<Wiped<[Block; W]>, Error> {
        let shape = self.positions.shape();
        self.run.phase(Phase::Exchange, shape.all_slots() as usize);
        let mut slice = vec![[Block::ZERO; W]; shape.slots()];
        let (mut blocks, mut slots) = (Vec::new(), <[Vec<u32>; SLICES_PER_BLOCK]>::default());
        for bin in self.positions.bins() {
            for group in 0..shape.hashes() / SLICES_PER_BLOCK {
                bin.positions(group, &mut blocks, &mut slots);
                for slots in &slots {
                    recv_strings(&mut slice, self.width(), channel)?;
                    Sums(&mut sums[bin.range()]).add(&slice, slots);
                    self.run.advance(slice.len())?;
                }
            }
        }
        Ok(sums)
    }
}

/// Uniformly random strings: of AES-128 for strings of one block, else of BLAKE3 under a key of 256 bits.
enum RandomStrings {
    Narrow(Box<Prg>),
    Wide { key: Oracle, counter: u64 },
}

impl RandomStrings {
    fn new<const W: usize>(rng: &mut dyn CryptoRng) -> Self {
        if W == 1 {
            return Self::Narrow(Box::new(Prg::from_rng(rng)));
        }
        let mut key = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *key);
        Self::Wide { key: Oracle::with_key(*key), counter: 0 }
    }

    fn fill<const W: usize>(&mut self, strings: &mut [[Block; W]]) {
        let blocks = strings.as_flattened_mut();
        match self {
            Self::Narrow(prg) => prg.fill_blocks(blocks),
            Self::Wide { key, counter } => {
                key.hash(&counter.to_le_bytes(), Block::slice_as_mut_bytes(blocks));
                *counter += 1;
            }
        }
    }
}

/// A receiver that cheats. Only tests and demonstrations can reach it.
#[cfg(any(test, feature = "testing"))]
pub mod cheating {
    use super::{Ctx, Error, Items, Party};

    /// The receiver's role with other items than were agreed on, any number of them, at level 128: indices of
    /// those that the sender has. With many, every choice bit is a one.
    pub fn receive(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Vec<u32>, Error> {
        Party::<1>::new(ctx.run, items).receive(ctx)
    }
}

#[cfg(test)]
mod tests;
