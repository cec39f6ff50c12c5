//! OT-Phasing. The receiver learns X ∩ Y, the sender |Y| and no more.
//!
//! **Security:** semi-honest, in the random oracle model. Leaks n_r and n_s.
//!
//! Source: PSSZ15 §4, §6, §7. Deviations: each hash function has a segment of the bins to itself and a permutation of four
//! Feistel rounds ([`vesica_encode::hashing::permutation`]), so that bin and remainder belong to one item *and one function*:
//! the paper's values lack the function, and two different items can look equal (Lambæk, eprint 2016/665). That can cost one
//! character more than the paper counts. Three functions with bins enough to do without a stash; `--paper-parameters` are the
//! paper's bins and stash. The sender's masks are lists of one random order. The paper hashes the row of each OT to a string,
//! sums the strings of a bin and hashes the sum; here the rows of a bin are hashed together, once.
//!
//! ```text
//! receiver (Y)                                          sender (X)
//!               ── base OTs, sender ──►                 32
//!               ◄── base OTs, receiver ──               64·256
//! each y in one of its bins; v_1 … v_t its remainder there, in characters of 8 bits
//!               ── t 1-out-of-256 OTs a bin, v_1 … v_t, and t' for each place of the stash ──►   32·(t·β + t'·s)
//! S_y = H(t0_{b,1} ‖ … ‖ t0_{b,t}; b)                    for each x and bin b of x:
//!                                                           S_x = H(q_{b,1} ⊕ s∧C(v_1) ‖ … ‖ q_{b,t} ⊕ s∧C(v_t); b)
//!               ◄── S_x, a list each function and place of the stash ──                          (h + s)·n_s·⌈ℓ/8⌉
//! output {y : S_y in the list of the way in which y is held}
//! ```
//!
//! **Empty bins.** What the receiver asks for there it could look for, too: as a remainder it would be that of some item, which the
//! receiver does not hold. So it asks for M, one more than any remainder ([`Permutation::vacant`]), and where whole items
//! are compared, in the stash as well, for one of its own.
//!
//! **Hashed items.** Two of the sender's items that are hashed to one number have the same bins and remainders, and so equal masks at
//! the same two places of every list, which shows that such a pair is held. So items are hashed to ℓ' = max(ℓ, λ + 2⌈log2 n_s⌉ - 1)
//! bits, where the paper has ℓ, which counts the pairs of different sides alone. Two such items of the receiver, who fills a bin with
//! each, show nothing: a match that one of them has and the other has not is a pair of different sides.
//!
//! **One hash a bin.** The OTs of a bin are one OT of all its remainders, by a code t times as long ([`nco`](vesica_ot::nco),
//! groups): remainders differ in a character, so their codewords in 128 places, and who does not know s has 128 of its bits to
//! guess for any mask but that of its own remainder. The number that H takes is that of the bin's first OT, which says bin, function
//! and place of the stash; H's key has the context. In §6.1 the sums of one bin are linearly dependent where items share characters,
//! and a second hash hides that; inputs that are put side by side are different, and a random oracle's outputs at
//! different inputs are independent. Sender and receiver treat the stash as bins that hold every item of the sender, whole.
//!
//! **Variants**, the steps of appendix A, each with those before it: `original` is [`ot_psi`] (a mask for each
//! place of a bin); `single-mask` has two functions, a stash, whole items and one mask a bin; `permutation` has remainders in
//! place of whole items; the standard form has three functions and no stash.
//!
//! Names: β = `layout.bins()`, s = `stash`, t = `characters`, t' = `stash_characters`, H = the oracle of [`kk13`]; s, t0, q, C as in
//! [`nco`](vesica_ot::nco). Cost: receiver t·β OTs and β·⌈t/2⌉ compressions of H; sender t·β OTs and h·n_s·⌈t/2⌉
//! compressions. Both work at once, as in [`kkrt16`](super::kkrt16). An OT takes the receiver 4 blocks of AES and 4 rows
//! transposed, the sender half of that; the remainders of an item are computed once, with its bins, and dealt to regions of
//! bins: the sender keeps no table.

mod dealt;
mod held;
mod receiver;
mod sender;

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::hash::Context;
use vesica_encode::hashing::Layout;
use vesica_encode::hashing::parameters::{self, Cuckoo, paper};
use vesica_encode::hashing::permutation::Permutation;
use vesica_encode::items::{Items, Matches};
use vesica_ot::kk13::{self, WalshHadamard};

use super::numbers::{characters, item_bits};
use super::{check_sizes, ot_psi, six_phases, with_base_ots};
use crate::error::Error;
use crate::masks::MaskWidth;
use crate::parameters::{Parameters, Security, Supported, Variant};
use crate::positions;
use crate::protocol::{Pending, Phase, Role, Run, Sizes};
use crate::registry::{Entry, Memory, Message, Shape, Status};

/// OTs of one call, about. Local, as calls are multiples of [`BINS`] or end a segment.
const ROWS: usize = 1 << 13;

/// Bins of one call are a multiple of this, so that OTs fill their tiles.
const BINS: usize = 1 << 10;

const ORIGINAL: &str = "original";
const SINGLE_MASK: &str = "single-mask";
const PERMUTATION: &str = "permutation";

/// The registry's entry.
pub static ENTRY: Entry = Entry {
    name: "ot-phasing",
    title: "OT-Phasing, permutation-based hashing",
    family: "ot_based",
    paper: "PSSZ15 §4, §6, §7",
    security: &[Security::SemiHonest],
    supports: Supported {
        sigma: Some((1, 64)),
        variants: &[
            Variant { name: ORIGINAL, what: "appendix A: ot-psi, a mask for each place of a bin" },
            Variant { name: SINGLE_MASK, what: "appendix A: two functions, whole items, one mask a bin" },
            Variant { name: PERMUTATION, what: "appendix A: two functions, permutation-based hashing" },
        ],
        paper: true,
        ..Supported::STANDARD
    },
    status: Status::Standard,
    learns_both: true,
    learns: "receiver: the intersection",
    leakage: "the sizes of both sets",
    flights: with_base_ots,
    steps: six_phases,
    base_ots: ot_psi::ENTRY.base_ots,
    messages: &[
        Message {
            from: Role::Receiver,
            what: "base OTs, sender's part; not sent where they are kept",
            formula: "32",
            bytes: |shape| bytes(shape, 0, |_| shape.unless_kept(32)),
        },
        Message {
            from: Role::Sender,
            what: "base OTs, receiver's part; not sent where they are kept",
            formula: "64·256",
            bytes: |shape| bytes(shape, 1, |_| shape.unless_kept(64 * kk13::COLUMNS as u64)),
        },
        Message {
            from: Role::Receiver,
            what: "OT extension, t rows for each of β bins, t' for each of s places of the stash",
            formula: "32·(t·β + t'·s)",
            bytes: |shape| bytes(shape, 2, |plan| 32 * plan.ots()),
        },
        Message {
            from: Role::Sender,
            what: "masks, a list for each function and place of the stash",
            formula: "(h + s)·n_s·⌈ℓ/8⌉",
            bytes: |shape| bytes(shape, 3, |plan| plan.lists() as u64 * shape.sender() * shape.mask()),
        },
        positions::MESSAGE,
    ],
    memory: "receiver (32 + h·t)·n_r + 4·β, sender (12 + h·(6 + t) + ⌈ℓ/8⌉)·n_s",
    memory_bytes: |shape| match Plan::new(shape.sizes, &shape.parameters) {
        _ if shape.parameters.variant == ORIGINAL => (ot_psi::ENTRY.memory_bytes)(shape),
        Ok(Some(plan)) => {
            let layout = plan.cuckoo.layout;
            let (bins, functions, characters) =
                (layout.bins() as u64, layout.functions() as u64, plan.characters as u64);
            Memory {
                receiver: (32 + functions * characters) * shape.receiver() + 4 * bins,
                sender: (12 + functions * (6 + characters) + shape.mask()) * shape.sender(),
            }
        }
        _ => Memory { receiver: 0, sender: 0 },
    },
    test_items: 1 << 10,
    receive,
    send,
};

/// The bytes of a message in a run of this shape; 0 where a set is empty, and nothing is to be compared.
fn bytes(shape: &Shape, message: usize, count: impl Fn(&Plan) -> u64) -> u64 {
    if shape.parameters.variant == ORIGINAL {
        return (ot_psi::ENTRY.messages[message].bytes)(shape);
    }
    Plan::new(shape.sizes, &shape.parameters).ok().flatten().map_or(0, |plan| count(&plan))
}

/// What both parties derive from sizes and parameters.
struct Plan {
    /// ℓ, of the masks.
    width: MaskWidth,
    /// ℓ', of items that are hashed.
    hashed: MaskWidth,
    cuckoo: Cuckoo,
    /// σ′.
    sigma: u32,
    /// Whether remainders stand for items.
    permuted: bool,
    characters: usize,
    stash_characters: usize,
}

impl Plan {
    /// None if a set is empty.
    fn new(sizes: Sizes, parameters: &Parameters) -> Result<Option<Self>, Error> {
        let Sizes { receiver, sender } = sizes;
        if receiver == 0 || sender == 0 {
            return Ok(None);
        }
        check_sizes(sizes)?;
        let width = MaskWidth::for_sizes(sizes)?;
        let hashed = if parameters.paper { width } else { MaskWidth::for_hashed_items(sizes)? };
        let sigma = item_bits(parameters.sigma, hashed);
        let two_way = !parameters.variant.is_empty();
        let permuted = matches!(parameters.variant, "" | PERMUTATION);
        let cuckoo = match (parameters.paper, two_way) {
            // §8.2.2: two functions where the sender's set is much the larger one.
            (true, false) if sender / receiver < 16 => paper::three_way(receiver, sender),
            (true, _) => paper::two_way(receiver, sender),
            (false, false) => parameters::three_way(receiver),
            (false, true) => parameters::two_way(receiver),
        };
        let stash_characters = characters(sigma);
        let of_bins =
            if permuted { characters(remainder_bits(sigma, cuckoo.layout)) } else { stash_characters };
        Ok(Some(Self { width, hashed, cuckoo, sigma, permuted, characters: of_bins, stash_characters }))
    }

    fn permutation(&self, context: &Context) -> Permutation {
        Permutation::new(context, self.sigma, self.cuckoo.layout)
    }

    fn lists(&self) -> usize {
        self.cuckoo.layout.functions() + self.cuckoo.stash
    }

    fn ots(&self) -> u64 {
        (self.characters * self.cuckoo.layout.bins() + self.stash_characters * self.cuckoo.stash) as u64
    }

    /// The receiver's calls of the OT extension: function, first bin, bins. A segment begins with a new tile.
    fn calls(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let segment = self.cuckoo.layout.segment() as usize;
        let size = (ROWS / self.characters / BINS).max(1) * BINS;
        (0..self.cuckoo.layout.functions()).flat_map(move |function| {
            let bins = (0..segment).step_by(size);
            bins.map(move |first| (function, function * segment + first, size.min(segment - first)))
        })
    }
}

/// Bits of a remainder, which do not depend on the context.
fn remainder_bits(sigma: u32, layout: Layout) -> u32 {
    Permutation::new(&Context::new(&[0; 32], "", b"", 0, 0), sigma, layout).bits()
}

/// The receiver's role.
pub fn receive<'a>(
    run: &Run<'a>,
    items: &'a Items,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Pending<'a>, Error> {
    if run.parameters.variant == ORIGINAL {
        return ot_psi::receive(run, items, channel, rng);
    }
    run.expect_items(Role::Receiver, items)?;
    let pairs = match Plan::new(run.sizes, &run.parameters)? {
        Some(plan) => {
            // 1. The base OTs.
            run.phase(Phase::BaseOts, 0);
            let (context, code) = (&run.context, WalshHadamard::default());
            let setup = kk13::Receiver::start_setup(code, context, run.threads, run.base_ots, channel, rng)?;
            receiver::pairs(run, &plan, items, |channel| setup.complete_base_ots(channel), channel)?
        }
        None => Vec::new(),
    };
    positions::finish(run, pairs, channel.split().0, items)
}

/// The sender's role.
pub fn send(
    run: &Run<'_>,
    items: &Items,
    channel: &mut dyn Channel,
    rng: &mut dyn CryptoRng,
) -> Result<Option<Matches>, Error> {
    if run.parameters.variant == ORIGINAL {
        return ot_psi::send(run, items, channel, rng);
    }
    run.expect_items(Role::Sender, items)?;
    let order = match Plan::new(run.sizes, &run.parameters)? {
        Some(plan) => {
            // 1. The base OTs.
            run.phase(Phase::BaseOts, 0);
            let (context, code) = (&run.context, WalshHadamard::default());
            let ots = kk13::Sender::setup(code, context, run.threads, run.base_ots, channel, rng)?;
            sender::masks(run, &plan, items, ots, channel, rng)?
        }
        None => Vec::new(),
    };
    positions::recv_if_both(run, channel.split().1, |place| order[place], items)
}

#[cfg(test)]
mod tests;
