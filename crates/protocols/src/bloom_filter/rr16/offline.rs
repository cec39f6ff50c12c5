//! The offline phase: random OTs of which a bounded number has choice 1 (RR16, Figure 4, steps 2 to 4).
//!
//! ```text
//! receiver                                              sender, Δ
//! for each group a random order of its OTs;
//! b_j = 1 for the first so many of the order
//! for each batch of groups:
//!    2. t_j                       ── OTs, choices b ──►  q_j = t_j ⊕ b_j·Δ
//!    3.                           ◄── seed of C ──       C: c random OTs of each group
//! 4. b_j for j ∈ C, r* = ⊕ m_{j,0} over b_j = 0   ──►    at most N_maxones ones, and r* is right
//! ```
//!
//! m_{j,0} = H(j, q_j) and m_{j,1} = H'(j, q_j ⊕ Δ); in the variant `chosen-strings` the sender chooses both, and sends
//! them masked by these before the challenge ([`chosen`]). The receiver settles a batch as soon as it
//! has its challenge: it keeps the strings of the ones, in the order, and drops all rows. The challenge of a batch is
//! drawn after its OTs, and OTs of the next batches are on their way meanwhile. A cheater may choose these by the
//! challenges that it has seen; the bound holds for such a cheater.

use std::collections::VecDeque;

use subtle::ConstantTimeEq;
use vesica_crypto::block::Block;
use vesica_crypto::memory::{Wiped, large_zeros, prefetch};
use vesica_crypto::par;
use zeroize::Zeroizing;

use super::chosen::{self, ChosenStrings, Masked};
use super::draws::{challenge, vartime_shuffle};
use super::ots::{Batches, Form, MOST_WAITING, ReceiverOts, SenderOts};
use super::parameters::Rr16Parameters;
use super::state::{OfflineReceiver, OfflineSender, RowHashes, id_of};
use crate::error::{Error, Misbehaviour};
use crate::protocol::{Ctx, Phase, Run};

/// Rows that are hashed at a time.
const PICKED: usize = 256;

/// Bytes that a prefetch brings.
const LINE: usize = 64;

/// The choices of a batch and what belongs to them, until its challenge is there.
#[derive(Default)]
struct Batch {
    number: usize,
    /// Group by group a random order of the OTs.
    orders: Wiped<u16>,
    /// The choices b_j, packed eight to a byte.
    choices: Wiped<u8>,
    rows: Wiped<Block>,
}

/// The receiver's offline phase, for at most `items` items of its own, at least one.
///
/// # Errors
/// If the partner does not keep to the protocol, the channel fails, or the run is cancelled.
pub fn offline_receive(ctx: &mut Ctx<'_, '_>, items: usize) -> Result<OfflineReceiver, Error> {
    Settled::make(ctx, Rr16Parameters::within(items, ctx.run.parameters.statistical))?.answer(ctx)
}

impl Batch {
    /// Draws the orders of the groups, and with them the choices.
    fn choose(
        &mut self,
        run: &Run<'_>,
        parameters: &Rr16Parameters,
        batches: &Batches,
        number: usize,
        seed: Block,
    ) {
        let (first, groups) = batches.groups(number);
        let ots = parameters.ots_of_group() as usize;
        self.number = number;
        // Of fresh batches only: the first one is the longest, and shorter ones keep its room.
        if self.orders.is_empty() {
            self.orders = Wiped::from(large_zeros(groups * ots));
            self.choices = Wiped::from(large_zeros(groups * ots / 8));
            self.rows = Wiped::from(large_zeros(groups * ots));
        }
        self.orders.truncate(groups * ots);
        self.choices.truncate(groups * ots / 8);
        self.choices.fill(0);
        self.rows.truncate(groups * ots);
        let tasks = self.orders.chunks_mut(ots).zip(self.choices.chunks_mut(ots / 8));
        let Ok(()) = par::for_each(run.threads, tasks, |group, (order, choices)| {
            vartime_shuffle(seed, (first + group) as u64, order);
            for &number in &order[..parameters.ones()] {
                choices[usize::from(number / 8)] |= 1 << (number % 8);
            }
            Ok::<_, std::convert::Infallible>(())
        });
    }
}

/// The receiver's state in the making, and its answer to the challenges.
pub(super) struct Settled {
    pub(super) state: OfflineReceiver,
    hashes: RowHashes,
    /// The choices of the opened OTs.
    pub(super) opened: Vec<u8>,
    /// r*.
    pub(super) sum: Block,
}

impl Settled {
    /// 2. and 3. The receiver's OTs and the challenges.
    pub(super) fn make(ctx: &mut Ctx<'_, '_>, parameters: Rr16Parameters) -> Result<Self, Error> {
        let batches = Batches::of(&parameters);
        ctx.run.phase(Phase::BaseOts, 0);
        let mut ots = ReceiverOts::setup(ctx)?;
        ctx.run.phase(Phase::Extend, parameters.ots());
        let mut receiver = Self::new(ctx.run, &parameters);
        let seed = Zeroizing::new(Block::random(ctx.rng));
        let (mut waiting, mut spare) = (VecDeque::new(), Vec::new());
        for number in 0..batches.count() {
            let mut batch: Batch = spare.pop().unwrap_or_default();
            let most = if ots.begins_anew(batches, number) { 0 } else { MOST_WAITING };
            receiver.settle_but(most, ctx, &batches, (&mut waiting, &mut spare))?;
            batch.choose(ctx.run, &parameters, &batches, number, *seed);
            ots.extend(ctx, batches, number, &batch.choices, &mut batch.rows)?;
            waiting.push_back(batch);
        }
        receiver.settle_but(0, ctx, &batches, (&mut waiting, &mut spare))?;
        Ok(receiver)
    }

    /// 4. Sends the answer to the challenges.
    pub(super) fn answer(self, ctx: &mut Ctx<'_, '_>) -> Result<OfflineReceiver, Error> {
        ctx.channel.send(&self.opened)?;
        ctx.channel.send(self.sum.as_bytes())?;
        ctx.channel.flush()?;
        Ok(self.state)
    }

    fn new(run: &Run<'_>, parameters: &Rr16Parameters) -> Self {
        let id = id_of(run, parameters);
        let state = OfflineReceiver {
            id,
            parameters: *parameters,
            order: Wiped::from(large_zeros(parameters.all_slots())),
            ones: vec![0; parameters.groups()],
            strings: Wiped::from(large_zeros(parameters.groups() * parameters.ones())),
        };
        let opened = vec![0; parameters.groups() * parameters.opened() / 8];
        Self { state, hashes: RowHashes::of(&id), opened, sum: Block::ZERO }
    }

    /// Settles the batches whose challenge is there, and further ones until at most so many wait.
    fn settle_but(
        &mut self,
        most: usize,
        ctx: &mut Ctx<'_, '_>,
        batches: &Batches,
        (waiting, spare): (&mut VecDeque<Batch>, &mut Vec<Batch>),
    ) -> Result<(), Error> {
        while waiting.len() > most || ctx.channel.readable() >= Block::BYTES {
            let Some(batch) = waiting.pop_front() else { break };
            self.settle(ctx, batches, &batch)?;
            spare.push(batch);
        }
        Ok(())
    }

    /// Takes the challenge of a batch.
    fn settle(&mut self, ctx: &mut Ctx<'_, '_>, batches: &Batches, batch: &Batch) -> Result<(), Error> {
        let masked = match Form::of(&ctx.run.parameters) {
            Form::Chosen => chosen::receive(batch.rows.len(), ctx.channel)?,
            _ => Vec::new(),
        };
        let mut seed = Block::ZERO;
        ctx.channel.recv_exact(seed.as_mut_bytes())?;
        let parameters = self.state.parameters;
        let ots = parameters.ots_of_group() as usize;
        let (first, groups) = batches.groups(batch.number);
        let mut sums = vec![Block::ZERO; groups];
        let inputs = batch.orders.chunks(ots).zip(batch.choices.chunks(ots / 8)).zip(batch.rows.chunks(ots));
        let outputs = self.state.order[first * parameters.kept()..]
            .chunks_mut(parameters.kept())
            .zip(self.state.strings[first * parameters.ones()..].chunks_mut(parameters.ones()))
            .zip(&mut self.state.ones[first..])
            .zip(self.opened[first * parameters.opened() / 8..].chunks_mut(parameters.opened() / 8))
            .zip(&mut sums);
        let tasks = inputs.zip(outputs);
        let hashes = &self.hashes;
        let Ok(()) = par::for_each(ctx.run.threads, tasks, |index, (input, output)| {
            let ((all, choices), rows) = input;
            let ((((order, strings), ones), answers), sum) = output;
            let masked = masked.get(index * ots..(index + 1) * ots);
            let group = Group { parameters: &parameters, number: first + index, rows, masked, hashes };
            let (mut opened, mut marks) = (vec![0; parameters.opened()], vec![0; ots]);
            group.prefetch();
            challenge(seed, group.number as u64, &mut opened, &mut marks);
            *sum = group.answer(&opened, choices, answers);
            *ones = group.keep(all, &marks, order);
            group.strings(&order[..*ones as usize], strings);
            Ok::<_, std::convert::Infallible>(())
        });
        sums.iter().for_each(|sum| self.sum ^= *sum);
        ctx.run.advance(batches.ots(batch.number))
    }
}

/// The rows of a group.
struct Group<'a> {
    parameters: &'a Rr16Parameters,
    number: usize,
    rows: &'a [Block],
    /// The sender's strings; of chosen ones.
    masked: Option<&'a [Masked]>,
    hashes: &'a RowHashes,
}

impl Group<'_> {
    /// The number of an OT among all of the run.
    fn ot(&self, number: u16) -> u64 {
        self.number as u64 * u64::from(self.parameters.ots_of_group()) + u64::from(number)
    }

    /// What the hash of an OT's row is added to for m_{j,choice}.
    fn masked(&self, number: u16, choice: usize) -> Block {
        self.masked.map_or(Block::ZERO, |masked| masked[usize::from(number)][choice])
    }

    /// Prefetches the rows, which are then read in random order.
    fn prefetch(&self) {
        let line = LINE / Block::BYTES;
        (0..self.rows.len()).step_by(line).for_each(|at| prefetch(self.rows, at));
    }

    /// 4. The choices of the opened OTs, and the sum of the strings of the zeros among them.
    fn answer(&self, opened: &[u16], choices: &[u8], answers: &mut [u8]) -> Block {
        for (answer, opened) in answers.iter_mut().zip(opened.chunks(8)) {
            let bit = |number: u16| choices[usize::from(number / 8)] >> (number % 8) & 1;
            *answer = opened.iter().enumerate().fold(0, |bits, (at, &number)| bits | bit(number) << at);
        }
        self.sum_of_zeros(opened, answers)
    }

    /// ⊕ m_{j,0} over the opened OTs whose answer is zero. Which these are decides no branch and no access.
    fn sum_of_zeros(&self, opened: &[u16], answers: &[u8]) -> Block {
        let (mut sum, mut rows, mut numbers) = (Block::ZERO, Wiped::from(Vec::new()), Vec::new());
        for (opened, answers) in opened.chunks(PICKED).zip(answers.chunks(PICKED / 8)) {
            rows.clear();
            numbers.clear();
            opened.iter().for_each(|&number| prefetch(self.rows, usize::from(number)));
            rows.extend(opened.iter().map(|&number| [self.rows[usize::from(number)]]));
            numbers.extend(opened.iter().map(|&number| self.ot(number)));
            self.hashes.opened.hash_at(&numbers, &mut rows);
            for (at, ([string], &number)) in rows.iter().zip(opened).enumerate() {
                let string = *string ^ self.masked(number, 0);
                sum ^= string & !Block::mask(answers[at / 8] >> (at % 8) & 1 == 1);
            }
        }
        sum
    }

    /// The OTs of the order that are not opened, and how many of them have choice 1. The order decides which numbers are
    /// read and where they are written, as in [`vartime_shuffle`], and no branch.
    fn keep(&self, all: &[u16], marks: &[u8], order: &mut [u16]) -> u32 {
        let last = order.len() as u32 - 1;
        let (mut count, mut ones) = (0, 0);
        for (at, &number) in all.iter().enumerate() {
            ones = if at == self.parameters.ones() { count } else { ones };
            // An opened one is written, too, and then replaced by the next. Behind the last place there are none
            // but opened ones, which are not written: `beyond` is all ones there, and zero before.
            let beyond = (last.wrapping_sub(count) >> (u32::BITS - 1)).wrapping_neg();
            let slot = &mut order[(count ^ (count ^ last) & beyond) as usize];
            *slot ^= (*slot ^ number) & !beyond as u16;
            count += u32::from(1 - marks[usize::from(number)]);
        }
        ones
    }

    /// m_{j,1} of these OTs.
    fn strings(&self, order: &[u16], strings: &mut [Block]) {
        let mut numbers = [0; PICKED];
        for (order, strings) in order.chunks(PICKED).zip(strings.chunks_mut(PICKED)) {
            let strings = &mut strings[..order.len()];
            for ((string, &number), slot) in strings.iter_mut().zip(order).zip(&mut numbers) {
                *string = self.rows[usize::from(number)];
                *slot = self.ot(number);
            }
            self.hashes.strings.hash_at(&numbers[..order.len()], strings.as_chunks_mut().0);
            strings.iter_mut().zip(order).for_each(|(string, &number)| *string ^= self.masked(number, 1));
        }
    }
}

/// The sender's offline phase, for at most `items` items of the receiver, at least one.
///
/// # Errors
/// If the partner does not keep to the protocol, which its answer to the challenges may show, the channel
/// fails, or the run is cancelled.
pub fn offline_send(ctx: &mut Ctx<'_, '_>, items: usize) -> Result<OfflineSender, Error> {
    let parameters = Rr16Parameters::within(items, ctx.run.parameters.statistical);
    let batches = Batches::of(&parameters);
    ctx.run.phase(Phase::BaseOts, 0);
    let mut ots = SenderOts::setup(ctx)?;
    ctx.run.phase(Phase::Extend, parameters.ots());
    let form = Form::of(&ctx.run.parameters);
    let strings = (form == Form::Chosen).then(|| ChosenStrings::new(&parameters, Block::random(ctx.rng)));
    let mut sender = OfflineSender {
        id: id_of(ctx.run, &parameters),
        parameters,
        challenges: Vec::with_capacity(batches.count()),
        rows: Wiped::from(large_zeros(parameters.ots())),
        offset: Zeroizing::new(Block::ZERO),
        chosen: strings.is_some(),
    };
    let hashes = RowHashes::of(&sender.id);
    // Δ of each batch: set-ups have their own.
    let mut deltas = Wiped::from(Vec::with_capacity(batches.count()));
    for number in 0..batches.count() {
        let group = batches.groups(number).0;
        let first = group * parameters.ots_of_group() as usize;
        let rows = &mut sender.rows[first..first + batches.ots(number)];
        let delta = ots.extend(ctx, batches, number, rows)?;
        deltas.push(delta);
        if let Some(strings) = &strings {
            strings.send((ctx.run.threads, &hashes), (group, delta), rows, ctx.channel)?;
        }
        let seed = Block::random(ctx.rng);
        sender.challenges.push(seed);
        ctx.channel.send(seed.as_bytes())?;
        ctx.channel.flush()?;
        ctx.run.advance(batches.ots(number))?;
    }
    sender.check(ctx, &hashes, strings.as_ref())?;
    sender.add_offsets(form, &batches, &deltas);
    Ok(sender)
}

impl OfflineSender {
    /// 4. Receives the answer, and checks it.
    fn check(
        &self,
        ctx: &mut Ctx<'_, '_>,
        hashes: &RowHashes,
        strings: Option<&ChosenStrings>,
    ) -> Result<(), Error> {
        let parameters = &self.parameters;
        let mut answers = vec![0; parameters.groups() * parameters.opened() / 8];
        let mut claimed = Block::ZERO;
        ctx.channel.recv_exact(&mut answers)?;
        ctx.channel.recv_exact(claimed.as_mut_bytes())?;
        let ones: u64 = answers.iter().map(|answers| u64::from(answers.count_ones())).sum();
        let sum = self.sum_of_zeros(ctx.run.threads, hashes, strings, &answers);
        let right = bool::from(sum.as_bytes().ct_eq(claimed.as_bytes()));
        if right && ones <= parameters.most_opened_ones() {
            Ok(())
        } else {
            Err(Misbehaviour::FailedCheck.into())
        }
    }

    /// ⊕ m_{j,0} over the opened OTs that were answered with zero.
    fn sum_of_zeros(
        &self,
        threads: usize,
        hashes: &RowHashes,
        strings: Option<&ChosenStrings>,
        answers: &[u8],
    ) -> Block {
        let parameters = &self.parameters;
        let mut sums = vec![Block::ZERO; parameters.groups()];
        let tasks = answers.chunks(parameters.opened() / 8).zip(&mut sums);
        let Ok(()) = par::for_each(threads, tasks, |number, (answers, sum)| {
            let ots = parameters.ots_of_group() as usize;
            let (mut opened, mut marks) = (vec![0; parameters.opened()], vec![0; ots]);
            challenge(self.challenge_of(number), number as u64, &mut opened, &mut marks);
            *sum = match strings {
                Some(strings) => {
                    let zeros = strings.of_group(number, false);
                    let answered = (0..).zip(&opened).filter(|(at, _)| answers[at / 8] >> (at % 8) & 1 == 0);
                    answered.fold(Block::ZERO, |sum, (_, &opened)| sum ^ zeros[usize::from(opened)])
                }
                None => {
                    let rows = &self.rows[number * ots..][..ots];
                    Group { parameters, number, rows, masked: None, hashes }.sum_of_zeros(&opened, answers)
                }
            };
            Ok::<_, std::convert::Infallible>(())
        });
        sums.into_iter().fold(Block::ZERO, |all, sum| all ^ sum)
    }

    /// The seed of a group's opened OTs.
    pub(super) fn challenge_of(&self, group: usize) -> Block {
        self.challenges[group / Batches::of(&self.parameters).size]
    }

    /// From here on, m_{j,1} = H(j, row j ⊕ offset). One Δ is the offset; several go into the rows. Chosen strings
    /// have none.
    fn add_offsets(&mut self, form: Form, batches: &Batches, deltas: &[Block]) {
        if form == Form::Chosen {
            return;
        }
        if form != Form::Silent {
            *self.offset = deltas.first().copied().unwrap_or(Block::ZERO);
            return;
        }
        let mut rows = &mut self.rows[..];
        for (number, delta) in deltas.iter().enumerate() {
            let (batch, later) = rows.split_at_mut(batches.ots(number));
            batch.iter_mut().for_each(|row| *row ^= *delta);
            rows = later;
        }
    }
}
