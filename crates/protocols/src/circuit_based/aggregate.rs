//! Results that are numbers: how many bins match, whether enough of them do, and sums of the sender's values over
//! them. The match bits z_b are shared and stay so; what is opened is made of their shares.
//!
//! **Security:** semi-honest, that of GMW and of the silent OTs.
//!
//! ```text
//! receiver, its shares z'_b, values u_b               sender, its shares z''_b, values s_b
//! 0. GMW: two layers of full adders              fewer bits z_j with weights, Σ 2^(w_j)·z_j = Σ z_b
//! 1. shares modulo 2^k of Σ 2^(w_j)·z_j      ◄──      silent OTs: z'_j times 2^(w_j)·(1 - 2·z''_j)
//!    of Σ z_b·(u_b + s_b)                    ◄─►      and the same each way with values
//! 2. + its own noise                                  + its own noise
//! 3. GMW: is the count at least the minimum?          opened to both; from here on zeros if it is not
//! 4. the result                              ◄──      its share of each number
//!    [--learns both: its own                 ──►]
//! ```
//!
//! since z' ⊕ z'' = z' + z'' - 2·z'·z'': the product of a number x of one party with z_b is x·(own share), which that
//! party has, and x·(1 - 2·own share)·(the other's share), of which [`additive`] gives shares. A count is that of x = 1.
//! A value is the sum of u_b, which the receiver has, and of s_b, which the sender has, where the bin matches; where it
//! does not, u_b is a random number, which is multiplied by zero.
//!
//! **What is opened.** A minimum is decided before anything else is opened. Where the answer is no, zeros are opened in
//! the place of all that follows: as many bytes go each way as otherwise, and both parties know why. A threshold (`at
//! least`) is a minimum after which nothing is opened. Nothing else about a sum is decided in the circuit, not even
//! whether it is large: of values that the sender chooses, such an answer would tell it which items match.
//!
//! **Noise.** Each party draws from the discrete Laplace distribution by itself ([`laplace`]), and adds what it drew
//! to its share. A party knows its own noise: the other party's alone makes the opened count ε-differentially private
//! for the other party's items, given how many there are, since another item in the place of one changes the count by
//! at most one. The sizes n_r and n_s are known without noise, so one item more or less shows unless they are padded
//! to a fixed number. The minimum is decided on the noisy count; what follows from that is as private.
//!
//! **Moduli.** A count takes k bits, such that every difference between a noisy count and a threshold lies between
//! -2^(k-1) and 2^(k-1); the noise of both lies beyond its bound with probability at most 2^-40, and the count is
//! then wrong and no less private. A threshold above all counts is replaced by the least such. A sum of m = min(n_r,
//! n_s) values is below 2^(64 + ⌈log2 m⌉), the modulus, so it is exact, and is opened with all its bits.
//!
//! **Why OTs, and not adders alone.** Adders in GMW take two gates a bit of a value, 128 in each bin for a sum; OTs take
//! 2·(64 + log2 m) bits. For a count an adder tree takes the fewest bytes, a gate a bin of 4 bits where an OT has about 24,
//! and 40 layers, each a round trip. Two layers of full adders leave 4/9 of the bits; OTs add those.
//!
//! Names: z', z'' = the shares in `matches`; u, s = `values`; k = `count_bits`, `sum_bits`.

use std::ops::Range;

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_circuit::gadgets::comparison_tree::greater_by_tree;
use vesica_circuit::{Bits, Engine, Opening, Wires, bits};
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::laplace;
use vesica_ot::additive::{self, Products};
use vesica_ot::base::KeyAgreement;
use vesica_ot::security::{Security, SemiHonest};
use vesica_ot::silent;
use vesica_ot::vole::{Bit, Plan};
use zeroize::Zeroizing;

use super::{both_inputs, party};
use crate::entry::Shape;
use crate::error::{Error, Misbehaviour, Misuse};
use crate::outcome::Outcome;
use crate::parameters::{Parameters, Profile};
use crate::protocol::{Learns, Role, Run};
use crate::results::{Noise, ResultKind};

/// Products of one set-up of silent OTs, at most. Agreed.
const BATCH: usize = 1 << 22;

/// Bits of a value.
const VALUE_BITS: u32 = u64::BITS;

/// Layers of full adders before a count's products. Agreed.
const ADDERS: usize = 2;

/// The set-ups of each [`Group`], by the number of the batch; and the products of each of its numbers.
const SETUPS: [Label; 3] = [
    Label::new("aggregate: silent OTs, the count"),
    Label::new("aggregate: silent OTs, the sender's values"),
    Label::new("aggregate: silent OTs, the receiver's values"),
];
const PRODUCTS: Label = Label::new("aggregate: shares of products");

/// Bits of a number.
fn bits_of(most: u64) -> u32 {
    u64::BITS - most.leading_zeros()
}

/// What is computed of the match bits of a run. Agreed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Aggregate {
    bins: usize,
    result: ResultKind,
    /// To whom the result is opened.
    opening: Opening,
    noise: Option<Noise>,
    /// The least count from which on something is revealed, or from which on the answer is yes.
    least: Option<u64>,
    /// The most items that match.
    most: u64,
    /// k of a count.
    count_bits: u32,
    /// What silent OTs rest on, and what their base OTs are made from.
    silent: (Profile, KeyAgreement),
}

/// Products of shared bits with numbers of one party.
struct Group {
    setups: Label,
    owner: Role,
    /// Bits, and for each number of a bit the k of its modulus.
    bits: usize,
    moduli: Vec<u32>,
}

impl Group {
    /// The bits of each set-up of silent OTs.
    fn batches(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let size = (BATCH / self.moduli.len()).next_multiple_of(64);
        (0..self.bits).step_by(size).map(move |at| at..self.bits.min(at + size))
    }

    /// The silent OTs for so many bits.
    fn plan(&self, bits: usize, (profile, base_ots): (Profile, KeyAgreement)) -> Plan {
        Plan::of_bits(bits * self.moduli.len(), profile).with_base_ots(base_ots)
    }
}

/// What a party brings.
pub(super) struct Own<'a> {
    pub(super) role: Role,
    /// Its shares of the match bits.
    pub(super) matches: Bits,
    /// For each sum, its number for each bin.
    pub(super) values: Vec<&'a [u128]>,
    /// Its noise; 0 without.
    pub(super) noise: i64,
}

/// This party's shares: of the count, if it is taken, and of each sum.
struct Shares {
    count: u128,
    sums: Zeroizing<Vec<u128>>,
}

impl Aggregate {
    /// Those of a run of this shape with so many bins; none if its result is another one.
    pub(super) fn of(shape: &Shape, bins: usize) -> Option<Self> {
        let Parameters { result, min_matches, noise, profile, base_ots, .. } = shape.parameters;
        let least = match result {
            ResultKind::Rows | ResultKind::Payload { .. } => return None,
            ResultKind::AtLeast(least) => Some(least),
            ResultKind::Count | ResultKind::Sums { .. } => (min_matches > 0).then_some(min_matches),
        };
        let opening = match shape.learns {
            Learns::Receiver => Opening::ToReceiver,
            Learns::Both => Opening::ToBoth,
        };
        let most = shape.receiver().min(shape.sender());
        let spread = noise.map_or(0, |noise| 2 * laplace::bound(noise.thousandths(), Noise::WHOLE));
        // From the lowest noisy count to one more than the highest, and a sign.
        let count_bits = bits_of(most + 2 * spread + 1) + 1;
        let numbers =
            Self { bins, result, opening, noise, least, most, count_bits, silent: (profile, base_ots) };
        Some(Self { least: least.map(|least| least.min(most + spread + 1)), ..numbers })
    }

    /// Whether the matches are counted.
    fn counts(&self) -> bool {
        self.least.is_some() || !matches!(self.result, ResultKind::Sums { .. })
    }

    /// How many sums there are.
    pub(super) fn sums(&self) -> usize {
        match self.result {
            ResultKind::Sums { columns } => columns.into(),
            _ => 0,
        }
    }

    /// k of a sum.
    pub(super) fn sum_bits(&self) -> u32 {
        VALUE_BITS + bits_of(self.most.saturating_sub(1)).max(1)
    }

    /// The noise that a party adds.
    pub(super) fn draw_noise(&self, rng: &mut dyn CryptoRng) -> i64 {
        self.noise.map_or(0, |noise| laplace::sample(noise.thousandths(), Noise::WHOLE, rng))
    }

    /// The products: of the count, and of the sums with the sender's and with the receiver's values.
    fn groups(&self) -> impl Iterator<Item = Group> + '_ {
        let counted: usize = weights(self.bins).iter().map(|(_, len)| len).sum();
        let count = self.counts().then(|| (Role::Sender, counted, vec![self.count_bits]));
        let values = [Role::Sender, Role::Receiver].into_iter().filter(|_| self.sums() > 0);
        let values = values.map(|owner| (owner, self.bins, vec![self.sum_bits(); self.sums()]));
        let of = |(setups, (owner, bits, moduli))| Group { setups, owner, bits, moduli };
        SETUPS.into_iter().skip(usize::from(!self.counts())).zip(count.into_iter().chain(values)).map(of)
    }
}

/// The weights of the bits that [`added`] leaves of `bits` bits of weight 1, as exponents, and how many have each.
fn weights(bits: usize) -> Vec<(u32, usize)> {
    (0..ADDERS).fold(vec![(0, bits)], |rows, _| {
        rows.iter()
            .flat_map(|&(weight, len)| [(weight, len.div_ceil(3)), (weight + 1, len.div_ceil(3))])
            .collect()
    })
}

/// Fewer bits, with [`weights`], whose sum is the number of ones among `matches`: each layer takes three bits of a weight
/// to their sum and their carry.
fn added<E: Engine>(engine: &mut E, matches: &E::Wires) -> Result<Vec<E::Wires>, Error> {
    let mut rows = vec![matches.clone()];
    for _ in 0..ADDERS {
        let mut thirds = Vec::with_capacity(rows.len());
        for row in &rows {
            let third = row.len().div_ceil(3);
            let missing = engine.constant(false, 3 * third - row.len());
            let row = Wires::join(&[row, &missing]);
            let [a, b, c] = [0, 1, 2].map(|part| row.slice(part * third..(part + 1) * third));
            thirds.push((engine.xor(&a, &c), engine.xor(&b, &c), b, c));
        }
        let products =
            engine.and(&thirds.iter().map(|(left, right, ..)| (left, right)).collect::<Vec<_>>())?;
        let next = thirds.iter().zip(&products);
        rows = next
            .flat_map(|((left, _, b, c), product)| [engine.xor(left, b), engine.xor(product, c)])
            .collect();
    }
    Ok(rows)
}

/// What both roles need beside the engine.
pub(super) struct Tools<'c, 'a> {
    pub(super) run: &'c Run<'a>,
    pub(super) rng: &'c mut dyn CryptoRng,
}

impl Aggregate {
    /// The result, from the shares of the match bits; none for a party that learns nothing.
    ///
    /// # Errors
    /// [`Error::BelowMinimum`] for both parties; and if the connection fails, or the partner's bytes are not those of
    /// the protocol.
    pub(super) fn reveal<E: Engine<Wires = Bits>>(
        &self,
        engine: &mut E,
        own: &Own<'_>,
        tools: &mut Tools<'_, '_>,
    ) -> Result<Option<Outcome>, Error> {
        // 0.
        let counted = match self.counts() {
            true => Bits::join(&added(engine, &own.matches)?.iter().collect::<Vec<_>>()),
            false => Bits::repeat(false, 0),
        };
        // 1. and 2.
        let mut shares = self.shares(own, &counted, channel_of(engine)?, tools)?;
        shares.count = shares.count.wrapping_add_signed(own.noise.into());
        // 3.
        let mut refused = false;
        if self.least.is_some() {
            let reached = self.reaches(engine, own.role, shares.count)?;
            if matches!(self.result, ResultKind::AtLeast(_)) {
                return Ok(Some(Outcome::AtLeast(reached)));
            }
            if !reached {
                refused = true;
                shares = Shares { count: 0, sums: vec![0; self.sums()].into() };
            }
        }
        // 4.
        let channel = channel_of(engine)?;
        let outcome = match self.result {
            ResultKind::Sums { .. } => self.open_sums(own.role, &shares.sums, channel)?,
            _ => self.open_count(own.role, shares.count, channel)?,
        };
        if refused {
            let least = tools.run.parameters.min_matches;
            return Err(Error::BelowMinimum { least, noisy: self.noise.is_some() });
        }
        Ok(outcome)
    }

    /// 1. This party's shares of the count and of the sums.
    fn shares(
        &self,
        own: &Own<'_>,
        counted: &Bits,
        channel: &mut dyn Channel,
        tools: &mut Tools<'_, '_>,
    ) -> Result<Shares, Error> {
        let of_rows = weights(self.bins);
        let weights: Vec<u128> =
            of_rows.iter().flat_map(|&(weight, len)| std::iter::repeat_n(1 << weight, len)).collect();
        let mut shares = Shares { count: 0, sums: vec![0; self.sums()].into() };
        for group in self.groups() {
            if group.setups == SETUPS[0] {
                let number = |_, bit: usize| weights[bit];
                shares.count = selected(&group, self.silent, own.role, counted, number, channel, tools)?[0];
            } else {
                let number = |sum: usize, bin: usize| own.values[sum][bin];
                let of = selected(&group, self.silent, own.role, &own.matches, number, channel, tools)?;
                shares.sums.iter_mut().zip(of.iter()).for_each(|(sum, of)| *sum = sum.wrapping_add(*of));
            }
        }
        Ok(shares)
    }

    /// 3. Whether the count is at least the least one, opened to both: whether the number that this party has this
    ///    share of, less that count, has no sign.
    ///
    /// The sign of a + b is that of a, that of b, and the carry into it, which there is if the other bits of a are more
    /// than those of b leave room for.
    fn reaches<E: Engine>(&self, engine: &mut E, role: Role, share: u128) -> Result<bool, Error> {
        let least = u128::from(self.least.unwrap_or(0));
        let (k, sign) = (self.count_bits as usize, self.count_bits as usize - 1);
        let number = match role {
            Role::Receiver => share.wrapping_sub(least),
            Role::Sender => !share,
        };
        let [a, not_b] = both_inputs(engine, role, &bits::rows(&[number], k), 1)?;
        let carry = greater_by_tree(engine, &a[..sign], &not_b[..sign])?;
        // Two negations, of b's sign and of the sum's, cancel.
        let reached = engine.xor(&engine.xor(&a[sign], &not_b[sign]), &carry);
        Ok(open_to_both(engine, reached)?.first().is_some_and(|reached| *reached))
    }

    /// 4. The count.
    fn open_count(
        &self,
        role: Role,
        share: u128,
        channel: &mut dyn Channel,
    ) -> Result<Option<Outcome>, Error> {
        let Some(opened) = self.open(role, &[share], self.count_bits, channel)? else { return Ok(None) };
        // Two's complement.
        let unused = u128::BITS - self.count_bits;
        let count = (opened[0] << unused).cast_signed() >> unused;
        let possible = self.noise.is_some() || (0..=i128::from(self.most)).contains(&count);
        let count = i64::try_from(count).ok().filter(|_| possible);
        Ok(Some(Outcome::Count(count.ok_or(Misbehaviour::FailedCheck)?)))
    }

    /// 4. The sums.
    fn open_sums(
        &self,
        role: Role,
        shares: &[u128],
        channel: &mut dyn Channel,
    ) -> Result<Option<Outcome>, Error> {
        let Some(opened) = self.open(role, shares, self.sum_bits(), channel)? else { return Ok(None) };
        let largest = u128::from(u64::MAX) * u128::from(self.most);
        if opened.iter().any(|sum| *sum > largest) {
            return Err(Misbehaviour::FailedCheck.into());
        }
        Ok(Some(Outcome::Sums(opened)))
    }

    /// The numbers modulo 2^k of which this party has these shares, for a party that learns them.
    fn open(
        &self,
        role: Role,
        shares: &[u128],
        k: u32,
        channel: &mut dyn Channel,
    ) -> Result<Option<Vec<u128>>, Error> {
        let (modulo, width) = (u128::MAX >> (u128::BITS - k), share_bytes(k));
        if self.opening.is_to(party(role.other())) {
            for share in shares {
                channel.send(&Zeroizing::new((share & modulo).to_le_bytes())[..width])?;
            }
            channel.flush()?;
        }
        if !self.opening.is_to(party(role)) {
            return Ok(None);
        }
        let mut opened = Vec::with_capacity(shares.len());
        for (position, share) in shares.iter().enumerate() {
            let mut bytes = [0; 16];
            channel.recv_exact(&mut bytes[..width])?;
            let theirs = u128::from_le_bytes(bytes);
            if theirs > modulo {
                return Err(Misbehaviour::WideMask { position }.into());
            }
            opened.push(share.wrapping_add(theirs) & modulo);
        }
        Ok(Some(opened))
    }
}

/// This party's shares of Σ_j z_j·x_j of shared bits z, for each number x that the owner has of a bit: `number(i, j)`, which
/// the other party does not ask for.
fn selected(
    group: &Group,
    silent: (Profile, KeyAgreement),
    role: Role,
    bits: &Bits,
    number: impl Fn(usize, usize) -> u128,
    channel: &mut dyn Channel,
    Tools { run, rng }: &mut Tools<'_, '_>,
) -> Result<Zeroizing<Vec<u128>>, Error> {
    let mut shares = Zeroizing::new(vec![0u128; group.moduli.len()]);
    let bytes = Zeroizing::new(bits.to_bytes());
    // All ones, or zeros.
    let mask = |j: usize| u128::from(bytes[j / 8] >> (j % 8) & 1).wrapping_neg();
    for (batch, range) in (0u64..).zip(group.batches()) {
        let context = run.context.derive(group.setups, &batch.to_le_bytes());
        let plan = &group.plan(range.len(), silent).with_threads(run.threads);
        if role == group.owner {
            let rows = &mut silent::Sender::<SemiHonest>::of_plan(&context, plan, channel, *rng)?;
            for (i, (share, &k)) in shares.iter_mut().zip(&group.moduli).enumerate() {
                // x·(1 - 2·z) of the own share z, and x·z, without a branch.
                let signed = |j: usize| {
                    let mask = mask(range.start + j);
                    (number(i, range.start + j) ^ mask).wrapping_sub(mask)
                };
                let theirs = products(&of_number(&context, i), k, &mut *rows, run).send(
                    range.len(),
                    signed,
                    channel,
                )?;
                let mine = range.clone().fold(0u128, |sum, j| sum.wrapping_add(number(i, j) & mask(j)));
                *share = share.wrapping_add(theirs).wrapping_add(mine);
                run.advance(0)?;
            }
        } else {
            let rows = &mut silent::Receiver::<SemiHonest>::of_plan(&context, plan, channel, *rng)?;
            let choices = &bytes[range.start / 8..range.end.div_ceil(8)];
            for (i, (share, &k)) in shares.iter_mut().zip(&group.moduli).enumerate() {
                let received = products(&of_number(&context, i), k, &mut *rows, run).receive(
                    range.len(),
                    choices,
                    channel,
                )?;
                *share = share.wrapping_add(received);
                run.advance(0)?;
            }
        }
    }
    Ok(shares)
}

/// The context of the products of number `i`, in that of their set-up: each numbers its OTs from 0.
fn of_number(context: &Context, i: usize) -> Context {
    context.derive(PRODUCTS, &(i as u64).to_le_bytes())
}

/// Products of a number over rows that several numbers take.
fn products<'r, R>(context: &Context, k: u32, rows: &'r mut R, run: &Run<'_>) -> Products<&'r mut R> {
    Products::new(context, PRODUCTS, k, rows).with_threads(run.threads)
}

/// Bytes of a share modulo 2^k.
fn share_bytes(k: u32) -> usize {
    k.div_ceil(8) as usize
}

/// The engine's connection. One that computes for both parties has none, and cannot be used here.
fn channel_of<E: Engine>(engine: &mut E) -> Result<&mut dyn Channel, Error> {
    engine.channel().ok_or_else(|| Misuse::UnfitInputs.into())
}

/// The bits of a row of wires, opened to both.
fn open_to_both<E: Engine>(engine: &mut E, wires: E::Wires) -> Result<Vec<bool>, Error> {
    let opened = engine.open(Opening::ToBoth, &[wires])?;
    Ok(opened.iter().flatten().flat_map(Bits::iter).collect())
}

/// What it costs.
impl Aggregate {
    /// The gates, and what their layers send, on an engine that counts.
    ///
    /// # Errors
    /// Those of the engine.
    pub(super) fn count<E: Engine>(&self, engine: &mut E, matches: &E::Wires) -> Result<(), Error> {
        if self.counts() {
            added(engine, matches)?;
        }
        if self.least.is_some() {
            self.reaches(engine, Role::Receiver, 0)?;
        }
        Ok(())
    }

    /// Bytes of the products with numbers of `owner`: base OTs of the owner, the trees of the other party, the owner's
    /// correction words, the other party's bits, the owner's corrections.
    pub(super) fn product_bytes(&self, owner: Role) -> [u64; 5] {
        let mut sums = [0; 5];
        for group in self.groups().filter(|group| group.owner == owner) {
            for bits in group.batches().map(|range| range.len()) {
                let plan = group.plan(bits, self.silent);
                let flight2 = plan.flight2_bytes::<Bit>(Security::SemiHonest);
                let numbers: u64 = group.moduli.iter().map(|&k| additive::bytes(k, bits)).sum();
                let choices = group.moduli.len() * bits.div_ceil(8);
                let sent = [Plan::flight1_bytes(plan.base_ots()), flight2, plan.flight3_bytes(), choices]
                    .map(|bytes| bytes as u64);
                let sent = sent.into_iter().chain([numbers]);
                sums.iter_mut().zip(sent).for_each(|(sum, sent)| *sum += sent);
            }
        }
        sums
    }

    /// Bytes of memory that the silent OTs of the products take, with the strings that they give.
    pub(super) fn memory(&self) -> u64 {
        let rows = |group: Group| group.batches().map(|range| range.len() * group.moduli.len()).max();
        68 * self.groups().filter_map(rows).max().unwrap_or(0) as u64
    }

    /// Flights from the products on: of each set-up three, or five with trees; the bit that is opened, whose messages
    /// cross; and the result, which goes with the last message before if that is the sender's own.
    pub(super) fn flights(&self) -> u32 {
        let opened = u32::from(self.least.is_some());
        let result =
            u32::from(!matches!(self.result, ResultKind::AtLeast(_)) && opened as usize + self.sums() > 0);
        self.product_flights() + opened + result
    }

    /// Those of the products.
    fn product_flights(&self) -> u32 {
        let flights = |group: Group| -> u32 {
            let of =
                |range: Range<usize>| if group.plan(range.len(), self.silent).pieces() == 0 { 3 } else { 5 };
            group.batches().map(of).sum()
        };
        self.groups().map(flights).sum()
    }

    /// Bytes of a party's shares of what is opened at the end.
    pub(super) fn opened_bytes(&self, from: Role) -> u64 {
        if !self.opening.is_to(party(from.other())) {
            return 0;
        }
        match self.result {
            ResultKind::Count => share_bytes(self.count_bits) as u64,
            _ => (self.sums() * share_bytes(self.sum_bits())) as u64,
        }
    }
}

#[cfg(test)]
mod tests;
