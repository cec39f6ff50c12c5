//! Silent correlated OT that is made piece by piece, when its rows are asked for.
//!
//! [`silent`](crate::silent) makes all rows at once. A circuit takes hundreds of millions, and uses each once. Here
//! the pieces of the vector are expanded one after the other, in memory that the next one takes again.
//!
//! ```text
//! receiver: choices a_j, rows t_j                        sender: Δ, rows q_j = t_j ⊕ a_j·Δ
//! for each group of up to 8 pieces:
//!   α of all blocks; corrections for correlated OTs
//!   with choices ¬α by bits                      ──►
//! for each piece:
//!                                                ◄──     correction words
//!   expand: the trees and the code                       expand
//! ```
//!
//! Both start from an extension of the width [`WIDTH`](super::WIDTH), which also makes the rows of plans without
//! pieces, and those that are asked for beyond the plan.
//!
//! **Security:** semi-honest, that of [`vole`](super). All pieces have one Δ and one code. A group has a context of
//! its own, under which its trees are numbered, so that no two trees have keys in common.
//!
//! **Choices.** The noise is 1 at one position of each block. The pieces of a group have one bit each of a byte, and
//! their choices are compressed at once.
//!
//! **Memory:** for either side about 80 bytes for each output of a piece, and 20 for each row that is asked for at
//! once; on two threads or more twice that.

use core::convert::Infallible;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::memory::{Wiped, large_capacity};
use vesica_crypto::par;
use vesica_crypto::prg::Prg;
use zeroize::Zeroizing;

use super::codes::{Code, MARGIN};
use super::multi_point::MultiPointPprf;
use super::plan::{AnyCode, Plan};
use super::receiver::{Noise, draw_points, path_ots};
use super::sender::Grower;
use super::value::{Bit, Value};
use crate::base::bit;
use crate::cot::{CotReceiver, CotSender};
use crate::derandomized;
use crate::error::Error;
use crate::security::{Security, SemiHonest};
use crate::softspoken::{self, Choices};

/// Pieces of a group: bits of a byte.
const GROUP: usize = u8::BITS as usize;

/// Pieces that are expanded at once, each on a thread.
const MOST_AT_ONCE: usize = 2;

/// The context of a group, by its number.
const GROUPS: Label = Label::new("vole: group of pieces");

/// Bytes that the receiver and the sender send for so many rows, all but the last call of which asks for multiples
/// of 1024. The extension has been set up.
#[must_use]
pub fn bytes(plan: &Plan) -> [u64; 2] {
    if plan.pieces() == 0 {
        let count = plan.length();
        return [softspoken::bytes(super::WIDTH, Security::SemiHonest, count, Choices::Random) as u64, 0];
    }
    let groups = groups(plan.pieces()).map(|pieces| plan.of_pieces(pieces).choices());
    let choices = groups
        .map(|count| softspoken::bytes(super::WIDTH, Security::SemiHonest, count, Choices::Chosen) as u64);
    [choices.sum(), plan.flight3_bytes() as u64]
}

/// Groups, and pieces, of which each takes a message: the receiver's and the sender's.
#[must_use]
pub fn messages(plan: &Plan) -> [u32; 2] {
    [plan.pieces().div_ceil(GROUP) as u32, plan.pieces() as u32]
}

/// The pieces of each group.
fn groups(pieces: usize) -> impl Iterator<Item = usize> {
    (0..pieces).step_by(GROUP).map(move |first| GROUP.min(pieces - first))
}

/// What both sides have: the pieces that are left, and room to expand them.
struct Progress {
    context: Context,
    plan: Plan,
    code: Option<AnyCode>,
    /// Pieces of groups that have begun, and groups.
    begun: usize,
    groups: u64,
    /// Rows that were made, the first `used` of which are gone.
    rows: Wiped<Block>,
    used: usize,
    rooms: Rooms,
}

/// Room to expand pieces in. A party of both roles gives the same to both: fresh memory costs as much as several
/// passes over it.
#[derive(Clone, Default)]
pub struct Rooms(Arc<Mutex<Vec<Room>>>);

impl Rooms {
    /// One that is free, or a new one.
    fn take(&self) -> Room {
        self.lock().pop().unwrap_or_default()
    }

    fn give_back(&self, room: Room) {
        self.lock().push(room);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Room>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one thread expands a piece in.
#[derive(Default)]
struct Room {
    noise: [Wiped<Block>; 2],
    out: Wiped<Block>,
}

impl Room {
    /// Expands a piece, whose leaves `grow` makes.
    fn expand(&mut self, code: &AnyCode, grow: impl FnOnce(&mut super::codes::Intake<'_, Block>)) {
        let [room, scratch] = &mut self.noise;
        grow(&mut code.intake(room));
        self.out.clear();
        code.finish(room, scratch, &mut self.out);
    }
}

impl Progress {
    fn new(context: &Context, plan: &Plan, rooms: Rooms) -> Self {
        Self {
            context: context.clone(),
            plan: plan.clone(),
            code: None,
            begun: 0,
            groups: 0,
            rows: Wiped::default(),
            used: 0,
            rooms,
        }
    }

    /// Rows that can be taken.
    fn ready(&self) -> usize {
        self.rows.len() - self.used
    }

    /// The next group: its context, and its plan. None after the last.
    fn next_group(&mut self) -> Option<(Context, Plan)> {
        let pieces = GROUP.min(self.plan.pieces() - self.begun);
        let context = self.context.derive(GROUPS, &self.groups.to_le_bytes());
        (self.begun, self.groups) = (self.begun + pieces, self.groups + 1);
        (pieces > 0).then(|| (context, self.plan.of_pieces(pieces)))
    }

    /// Expands pieces, one in each room, by `expand(threads, index, code, room)`, and appends their rows.
    fn expand(&mut self, pieces: usize, expand: impl Fn(usize, usize, &AnyCode, &mut Room) + Sync) {
        let (outputs, threads) = (self.plan.outputs(), self.plan.threads());
        let code = self.code.get_or_insert_with(|| self.plan.code(&self.context));
        let mut rooms: Vec<Room> = (0..pieces).map(|_| self.rooms.take()).collect();
        let threads_each = if pieces > 1 { 1 } else { threads };
        let Ok(()) = par::for_each(threads, rooms.iter_mut(), |index, room| {
            if room.out.capacity() < outputs + MARGIN {
                room.out = Wiped::from(large_capacity(outputs + MARGIN));
            }
            expand(threads_each, index, code, room);
            Ok::<_, Infallible>(())
        });
        let kept = self.ready();
        self.rows.copy_within(self.used.., 0);
        self.rows.truncate(kept);
        self.rows.reserve(pieces * outputs);
        self.used = 0;
        for room in rooms {
            self.rows.extend_from_slice(&room.out[..outputs]);
            self.rooms.give_back(room);
        }
    }

    /// Pieces to expand at once, of those that are left of a group.
    fn at_once(&self, left: usize) -> usize {
        self.plan.threads().clamp(1, MOST_AT_ONCE).min(left)
    }

    /// Moves the next rows to `rows`, as many as there are.
    fn take(&mut self, rows: &mut [[Block; 1]]) -> usize {
        let count = rows.len().min(self.ready());
        rows.as_flattened_mut()[..count].copy_from_slice(&self.rows[self.used..self.used + count]);
        self.used += count;
        count
    }
}

/// The side that holds Δ.
pub struct Sender {
    field: softspoken::Sender<SemiHonest>,
    progress: Progress,
    roots: Prg,
    /// The group whose pieces are being expanded.
    group: Option<SenderGroup>,
}

struct SenderGroup {
    plan: Plan,
    context: Context,
    offsets: Wiped<[Block; 1]>,
    roots: Wiped<Block>,
    /// The VOLEs of the only value, which are Δ.
    gammas: Wiped<Block>,
    done: usize,
}

impl Sender {
    /// From an extension of the width [`WIDTH`](super::WIDTH), for the rows of a [plan of bits](Plan::of_bits).
    #[must_use]
    pub fn new(
        context: &Context,
        plan: &Plan,
        field: softspoken::Sender<SemiHonest>,
        rooms: &Rooms,
        rng: &mut dyn CryptoRng,
    ) -> Self {
        Self {
            field,
            progress: Progress::new(context, plan, rooms.clone()),
            roots: Prg::from_rng(rng),
            group: None,
        }
    }

    /// Expands pieces of the group that has begun, or of the next one; nothing if there is none.
    fn expand(&mut self, channel: &mut dyn Channel) -> Result<bool, Error> {
        let Self { field, progress, roots, group } = self;
        if group.as_ref().is_none_or(|group| group.done == group.plan.pieces()) {
            let Some((context, plan)) = progress.next_group() else { return Ok(false) };
            let mut offsets = Wiped::from(vec![[Block::ZERO]; plan.choices()]);
            field.extend_from(Choices::Chosen, &mut offsets, |bytes| Ok(channel.recv_exact(bytes)?))?;
            let mut trees = Wiped::from(vec![Block::ZERO; plan.values()]);
            roots.fill_blocks(&mut trees);
            let gammas = Wiped::from(vec![field.delta()[0]; plan.values()]);
            *group = Some(SenderGroup { plan, context, offsets, roots: trees, gammas, done: 0 });
        }
        let Some(SenderGroup { plan, context, offsets, roots, gammas, done }) = group else {
            return Ok(false);
        };
        let pieces = progress.at_once(plan.pieces() - *done);
        let each = plan.flight3_bytes() / plan.pieces() / Block::BYTES;
        let mut words = vec![Block::ZERO; pieces * each];
        let (pprf, delta) = (MultiPointPprf::new(context), field.delta()[0]);
        let grower = Grower { plan, pprf, delta, offsets, gammas, roots };
        let slots: Vec<_> = words.chunks_mut(each).map(Mutex::new).collect();
        progress.expand(pieces, |threads, index, code, room| {
            let mut words = slots[index].lock().unwrap_or_else(PoisonError::into_inner);
            room.expand(code, |intake| grower.piece(threads, *done + index, &mut words, intake));
        });
        drop(slots);
        *done += pieces;
        channel.send(Block::slice_as_bytes(&words))?;
        Ok(true)
    }
}

impl CotSender<1> for Sender {
    type Security = SemiHonest;

    fn delta(&self) -> [Block; 1] {
        self.field.delta()
    }

    fn extend(&mut self, rows: &mut [[Block; 1]], channel: &mut dyn Channel) -> Result<(), Error> {
        derandomized::send(self.delta()[0], rows, channel, |rows, channel| {
            self.extend_random(rows, channel)?;
            Ok(channel.flush()?)
        })
    }

    fn extend_random(&mut self, rows: &mut [[Block; 1]], channel: &mut dyn Channel) -> Result<(), Error> {
        self.prepare(rows.len(), channel)?;
        let taken = self.progress.take(rows);
        self.field.extend_random(&mut rows[taken..], channel)
    }

    fn prepare(&mut self, count: usize, channel: &mut dyn Channel) -> Result<(), Error> {
        while self.progress.ready() < count && self.expand(channel)? {}
        Ok(())
    }
}

/// The side that holds choices.
pub struct Receiver {
    field: softspoken::Receiver<SemiHonest>,
    progress: Progress,
    points: Prg,
    /// Groups whose choices have been sent.
    groups: VecDeque<ReceiverGroup>,
    /// Choices of the rows that were made.
    choices: Wiped<u8>,
    /// Noise of choices, and room to compress it.
    rooms: [Wiped<u8>; 2],
}

struct ReceiverGroup {
    noise: Noise<Bit>,
    /// Choices of all its pieces, one bit of each byte.
    choices: Wiped<u8>,
    done: usize,
}

impl Receiver {
    /// From an extension of the width [`WIDTH`](super::WIDTH), for the rows of a [plan of bits](Plan::of_bits).
    #[must_use]
    pub fn new(
        context: &Context,
        plan: &Plan,
        field: softspoken::Receiver<SemiHonest>,
        rooms: &Rooms,
        rng: &mut dyn CryptoRng,
    ) -> Self {
        Self {
            field,
            progress: Progress::new(context, plan, rooms.clone()),
            points: Prg::from_rng(rng),
            groups: VecDeque::new(),
            choices: Wiped::default(),
            rooms: Default::default(),
        }
    }

    /// Draws the noise of the next group, and sends what the sender's trees depend on; nothing if there is none.
    fn begin(&mut self, channel: &mut dyn Channel) -> Result<bool, Error> {
        let Some((context, plan)) = self.progress.next_group() else { return Ok(false) };
        let points = draw_points(&plan, &mut self.points);
        let known = path_ots(&plan, &points, &mut self.field, |bytes| Ok(channel.send(bytes)?))?;
        let values = Wiped::from(Bit::ONLY.map_or_else(Vec::new, |only| vec![only; plan.values()]));
        let deltas = Wiped::from(vec![Block::ZERO; plan.values()]);
        let noise = Noise { plan, context, points, known, values, deltas, code: None };
        self.groups.push_back(ReceiverGroup { noise, choices: Wiped::default(), done: 0 });
        Ok(true)
    }

    /// Expands pieces of the first group that is left; nothing if there is none.
    fn expand(&mut self, channel: &mut dyn Channel) -> Result<bool, Error> {
        if self.groups.is_empty() && !self.begin(channel)? {
            return Ok(false);
        }
        channel.flush()?;
        let Self { progress, groups, choices, rooms, .. } = self;
        let Some(ReceiverGroup { noise, choices: of_group, done }) = groups.front_mut() else {
            return Ok(false);
        };
        let plan = &noise.plan;
        let pieces = progress.at_once(plan.pieces() - *done);
        let each = plan.flight3_bytes() / plan.pieces();
        let mut words = vec![0; pieces * each];
        let kept = progress.ready();
        choices.copy_within(progress.used.., 0);
        choices.truncate(kept);
        if *done == 0 {
            // While the sender works.
            let code = progress.code.get_or_insert_with(|| progress.plan.code(&progress.context));
            *of_group = compressed_choices(noise, code, rooms);
        }
        channel.recv_exact(&mut words)?;
        progress.expand(pieces, |threads, index, code, room| {
            let words = &words[index * each..(index + 1) * each];
            room.expand(code, |intake| {
                noise.grow_piece(threads, *done + index, words, |leaves| intake.push(leaves))
            });
        });
        choices.reserve(pieces * of_group.len());
        for piece in *done..*done + pieces {
            choices.extend(of_group.iter().map(|bits| bits >> piece & 1));
        }
        *done += pieces;
        if *done == plan.pieces() {
            groups.pop_front();
        }
        Ok(true)
    }

    /// The next rows and their random choices.
    fn next(
        &mut self,
        choices: &mut [u8],
        rows: &mut [[Block; 1]],
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        assert!(choices.len() * 8 >= rows.len(), "one choice for each row");
        while self.progress.ready() < rows.len() && self.expand(channel)? {}
        let used = self.progress.used;
        let taken = self.progress.take(rows);
        let (eights, rest) = self.choices[used..used + taken].as_chunks::<8>();
        let packed = eights.iter().map(packed).chain((!rest.is_empty()).then(|| {
            let mut last = Zeroizing::new([0; 8]);
            last[..rest.len()].copy_from_slice(rest);
            packed(&last)
        }));
        choices.iter_mut().zip(packed).for_each(|(byte, packed)| *byte = packed);
        if taken == rows.len() {
            return Ok(());
        }
        // Rows beyond the plan.
        let rows = &mut rows[taken..];
        let mut others = Zeroizing::new(vec![0; rows.len().div_ceil(8)]);
        self.field.extend_to(Choices::Random, &mut others, rows, |message| Ok(channel.send(message)?))?;
        for j in 0..rows.len() {
            let to = taken + j;
            choices[to / 8] = choices[to / 8] & !(1 << (to % 8)) | bit(&others, j) << (to % 8);
        }
        Ok(())
    }
}

/// The choices of all pieces of a group, one bit of each byte.
fn compressed_choices(noise: &Noise<Bit>, code: &AnyCode, rooms: &mut [Wiped<u8>; 2]) -> Wiped<u8> {
    let (plan, [room, scratch]) = (&noise.plan, rooms);
    let longest = plan.blocks().map(|block| block.len()).max().unwrap_or(0);
    let mut block = Wiped::from(Vec::with_capacity(longest));
    let mut intake = code.intake(room);
    for (number, range) in plan.blocks().enumerate() {
        block.clear();
        block.resize(range.len(), 0u8);
        for (piece, points) in noise.points.chunks(plan.weight()).enumerate() {
            let (point, one) = (points[number], 1 << piece);
            block
                .iter_mut()
                .enumerate()
                .for_each(|(i, byte)| *byte ^= one & 0u8.wrapping_sub(u8::from(i == point)));
        }
        intake.push(&block);
    }
    let mut out = Wiped::from(Vec::with_capacity(plan.outputs() + MARGIN));
    code.finish(room, scratch, &mut out);
    out
}

/// Eight bytes of one bit each in a byte, lowest first.
fn packed(bits: &[u8; 8]) -> u8 {
    // Byte i is multiplied by 2^(56 - 7i), which takes its bit to bit 56 + i.
    (u64::from_le_bytes(*bits).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

impl CotReceiver<1> for Receiver {
    type Security = SemiHonest;

    fn extend(
        &mut self,
        choices: &[u8],
        rows: &mut [[Block; 1]],
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        derandomized::receive(choices, rows, channel, |random, rows, channel| {
            // The partner waits for the choices of the rows before.
            channel.flush()?;
            self.prepare(rows.len(), channel)?;
            self.next(random, rows, channel)
        })?;
        Ok(channel.flush()?)
    }

    fn extend_random(
        &mut self,
        choices: &mut [u8],
        rows: &mut [[Block; 1]],
        channel: &mut dyn Channel,
        _: &mut dyn CryptoRng,
    ) -> Result<(), Error> {
        self.next(choices, rows, channel)
    }

    fn prepare(&mut self, count: usize, channel: &mut dyn Channel) -> Result<(), Error> {
        let announced = |groups: &VecDeque<ReceiverGroup>| -> usize {
            groups
                .iter()
                .map(|group| (group.noise.plan.pieces() - group.done) * group.noise.plan.outputs())
                .sum()
        };
        while self.progress.ready() + announced(&self.groups) < count && self.begin(channel)? {}
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::security::Profile;
    use crate::small_field::tests::{context, deal};
    use vesica_channel::{Stream, memory};

    fn ends(plan: &Plan) -> (Receiver, Sender) {
        let (pairs, delta, chosen) = deal(3);
        let rng = &mut Prg::from_seed([9; 16]);
        let (receiver, message) = softspoken::Receiver::new(&context(), super::super::WIDTH, &pairs, rng);
        let sender =
            softspoken::Sender::new(&context(), super::super::WIDTH, delta, &chosen, &message).unwrap();
        let rooms = Rooms::default();
        (
            Receiver::new(&context(), plan, receiver, &rooms, rng),
            Sender::new(&context(), plan, sender, &rooms, rng),
        )
    }

    /// Rows in calls of these lengths: choices, t and q.
    fn rows(plan: &Plan, calls: &[usize]) -> (Vec<u8>, Vec<Block>, Vec<Block>, Block, [u64; 2]) {
        let (mut receiver, mut sender) = ends(plan);
        let (mut here, mut there) = memory::pair();
        let receive = |receiver: &mut Receiver, here: &mut Stream| {
            let (mut all, mut bits) = (Vec::new(), Vec::new());
            for count in calls {
                let (mut rows, mut choices) = (vec![[Block::ZERO]; *count], vec![0; count.div_ceil(8)]);
                receiver.prepare(*count, here).unwrap();
                here.flush().unwrap();
                receiver.extend_random(&mut choices, &mut rows, here, &mut Prg::from_seed([1; 16])).unwrap();
                here.flush().unwrap();
                bits.extend((0..*count).map(|j| bit(&choices, j)));
                all.extend_from_slice(rows.as_flattened());
            }
            (bits, all)
        };
        let (q, (choices, t)) = std::thread::scope(|scope| {
            let sending = scope.spawn(|| {
                let mut all = Vec::new();
                for count in calls {
                    let mut rows = vec![[Block::ZERO]; *count];
                    sender.extend_random(&mut rows, &mut there).unwrap();
                    there.flush().unwrap();
                    all.extend_from_slice(rows.as_flattened());
                }
                all
            });
            let received = receive(&mut receiver, &mut here);
            (sending.join().unwrap(), received)
        });
        let traffic = here.traffic();
        (choices, t, q, sender.delta()[0], [traffic.payload_sent, traffic.payload_received])
    }

    fn check(plan: &Plan, calls: &[usize]) {
        let (choices, t, q, delta, _) = rows(plan, calls);
        assert_eq!(choices.len(), calls.iter().sum::<usize>());
        for (j, (choice, (t, q))) in choices.iter().zip(t.iter().zip(&q)).enumerate() {
            assert!(*q == *t ^ (delta & Block::mask(*choice == 1)), "row {j} of {plan:?}");
        }
        let ones = choices.iter().filter(|choice| **choice == 1).count() as f64;
        let mean = choices.len() as f64 / 2.0;
        assert!((ones - mean).abs() <= 5.0 * (mean / 2.0).sqrt(), "{ones} of {}", 2.0 * mean);
        let distinct: std::collections::HashSet<_> = q.iter().map(|row| row.to_u128()).collect();
        assert_eq!(distinct.len(), q.len(), "{plan:?}");
    }

    /// Nineteen short pieces: three groups.
    fn short(threads: usize) -> Plan {
        Plan::of_bits(19 * 1500, Profile::Conservative).in_pieces(19).with_threads(threads)
    }

    #[test]
    fn rows_are_correlated_across_pieces_groups_and_beyond_the_plan() {
        for threads in [1, 2, 3] {
            check(&short(threads), &[1, 1023, 5000, 20_000, 2475, 3000]);
            check(&short(threads), &[30_001]);
        }
        check(&Plan::of_bits(70_000, Profile::Conservative), &[70_000]);
        check(&Plan::of_bits(500, Profile::Conservative), &[100, 400, 7]);
    }

    #[test]
    fn threads_change_no_row_and_no_byte() {
        let all = [1, 2, 3].map(|threads| rows(&short(threads), &[9000, 19_500]));
        assert!(all[0].1 == all[1].1 && all[0].1 == all[2].1 && all[0].0 == all[1].0 && all[0].2 == all[2].2);
        assert!(all[0].4 == all[1].4 && all[0].4 == all[2].4);
    }

    #[test]
    fn bytes_are_those_of_the_formula() {
        for plan in [
            short(1),
            Plan::of_bits(100_000, Profile::Conservative),
            Plan::of_bits(100_000, Profile::Lean),
            Plan::of_bits(2000, Profile::Conservative),
        ] {
            let (.., sent) = rows(&plan, &[plan.length()]);
            assert_eq!(sent, bytes(&plan), "{plan:?}");
        }
        let of_many = bytes(&Plan::of_bits(1 << 28, Profile::Conservative));
        assert!(8.0 * of_many.iter().sum::<u64>() as f64 / f64::from(1 << 28) < 0.7, "{of_many:?}");
    }

    #[test]
    fn chosen_bits_are_those_of_the_receiver() {
        let (mut receiver, mut sender) = ends(&short(1));
        let (mut here, mut there) = memory::pair();
        let count = 70_001;
        let choices: Vec<u8> = (0..=count / 8).map(|i| (37 * i + 11) as u8).collect();
        let (mut t, mut q) = (vec![[Block::ZERO]; count], vec![[Block::ZERO]; count]);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                sender.extend(&mut q, &mut there).unwrap();
                there.flush().unwrap();
            });
            receiver.extend(&choices, &mut t, &mut here).unwrap();
        });
        let delta = sender.delta()[0];
        assert!((0..count).all(|j| q[j][0] == t[j][0] ^ (delta & Block::mask(bit(&choices, j) == 1))));
    }

    /// A reference to a party is that party: without its preparation two parties of both roles wait for each other.
    #[test]
    fn a_reference_prepares_what_it_refers_to() {
        fn announce(mut ot: impl CotReceiver<1>, channel: &mut Stream) {
            ot.prepare(1, channel).unwrap();
            channel.flush().unwrap();
        }
        fn answer(mut ot: impl CotSender<1>, channel: &mut Stream) {
            ot.prepare(1, channel).unwrap();
            channel.flush().unwrap();
        }
        let (mut receiver, mut sender) = ends(&short(1));
        let (mut here, mut there) = memory::pair();
        announce(&mut receiver, &mut here);
        assert!(here.traffic().payload_sent > 0);
        answer(&mut sender, &mut there);
        assert!(there.traffic().payload_sent > 0);
    }

    /// No two trees of a run have a key: groups have contexts of their own, and trees of a group other numbers.
    #[test]
    fn flaw_groups_repeat_no_context() {
        let mut progress = Progress::new(&context(), &short(1), Rooms::default());
        let keys: Vec<_> = std::iter::from_fn(|| progress.next_group())
            .map(|(context, plan)| {
                let mut key = [0; 32];
                context.hash(Label::new("vole: keys of the trees"), b"", &mut key);
                (key, plan.pieces())
            })
            .collect();
        assert_eq!(keys.iter().map(|(_, pieces)| *pieces).collect::<Vec<_>>(), [8, 8, 3]);
        assert!(keys[0].0 != keys[1].0 && keys[1].0 != keys[2].0 && keys[0].0 != keys[2].0);
    }

    #[test]
    fn a_peer_that_stops_causes_an_error() {
        let (mut receiver, mut sender) = ends(&short(1));
        let (mut here, there) = memory::pair();
        drop(there);
        let mut rows = vec![[Block::ZERO]; 10];
        assert!(sender.extend_random(&mut rows, &mut here).is_err());
        assert!(
            receiver.extend_random(&mut [0; 2], &mut rows, &mut here, &mut Prg::from_seed([1; 16])).is_err()
        );
    }
}
