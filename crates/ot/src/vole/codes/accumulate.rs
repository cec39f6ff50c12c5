//! Block-accumulate-accumulate: Golay blocks, permuted and accumulated twice, or three times.
//!
//! Sources: *Block-Accumulate Codes* (eprint 2025/1828) and its form with chosen blocks (eprint 2026/1903),
//! here with the extended Golay code of length 24, rate 1/2. A message word by word: 12 bits to 24 by the
//! Golay code, a permutation, running sums, another permutation, running sums. The permutations are uniformly
//! random, as the analysis has them. Short codes of two rounds have a light word too often; a third round of
//! permuting and summing makes that rare.
//!
//! The encoder here is the transposed one, from noise to outputs: running sums written through a permutation,
//! running sums of those written through another, blocks of 24 compressed to 12. Sums that run forwards or
//! backwards make the same family, since a permutation stands on either side.
//!
//! Passes: noise ─► sums into the buckets of π₁ ─► sums into the buckets of π₂ ─► blocks. Each pass reads and
//! writes memory in sequence: a permutation scatters into some hundred streams and gathers within one cached
//! bucket. The second of two rounds is in place, and so are the outputs (`layout.rs`).
//!
//! **Distance.** [`log2_light_words`] is the logarithm of the expected number of nonzero codewords of weight
//! up to δN over the choice of the permutations; by Markov's bound that of the probability that a code has
//! one at all. A vector over a larger field has at least the weight of each of its bit planes that is not
//! zero, so the bound holds for it, too.

use core::ops::Range;

use vesica_crypto::golay;
use vesica_crypto::memory::{prefetch, wipe, wipe_rest};
use vesica_crypto::prg::Prg;
use zeroize::Zeroize;

use super::layout::{Layout, Slice};
use super::permutation::{MAX_BUCKETS, Permutation};
use super::sparse::{Sparse, Steps};
use super::{AHEAD, Code, Intake, Word, append, log2_sum, make_room};

/// Blocks that one call compresses: their results stay in the first-level cache.
const BATCH: usize = 64;

/// A code drawn from the family.
pub struct Accumulate {
    outputs: usize,
    permutations: Vec<Permutation>,
    layout: Layout,
}

impl Accumulate {
    /// The noise length of the code with `outputs` outputs: whole blocks of twice as many.
    #[must_use]
    pub fn noise_for(outputs: usize) -> usize {
        outputs.div_ceil(golay::SHORT) * golay::LONG
    }

    /// The code of these outputs with `rounds` of permuting and summing, its permutations drawn from `prg`.
    ///
    /// # Panics
    /// If there are more than 2^22 outputs, or no rounds.
    #[must_use]
    pub fn new(outputs: usize, rounds: usize, prg: &mut Prg) -> Self {
        assert!(rounds > 0, "a code has at least one round");
        let noise = Self::noise_for(outputs);
        let permutations: Vec<_> = (0..rounds).map(|_| Permutation::random(noise, prg)).collect();
        let layout = match &permutations[..] {
            [first, last] => Layout::in_place(first, last),
            all => Layout::whole(&all[rounds - 1]),
        };
        Self { outputs, permutations, layout }
    }

    fn last(&self) -> &Permutation {
        &self.permutations[self.permutations.len() - 1]
    }
}

impl Code for Accumulate {
    fn noise(&self) -> usize {
        self.last().buckets().len()
    }

    fn outputs(&self) -> usize {
        self.outputs
    }

    fn intake<'a, W: Word>(&'a self, room: &'a mut Vec<W>) -> Intake<'a, W> {
        let first = &self.permutations[0];
        make_room(room, self.noise() + self.layout.window);
        Intake::summed(room, first.buckets(), self.layout.starts(first))
    }

    fn taken<W: Word>(
        &self,
        room: &[W],
        lengths: impl Iterator<Item = usize> + Clone,
        mut each: impl FnMut(&[W]),
    ) {
        let first = &self.permutations[0];
        let (mut next, mut rest) = (self.layout.starts(first), first.buckets());
        // What grows leaves copies behind.
        let longest = lengths.clone().max().unwrap_or(0);
        let (mut part, mut before) = (Vec::with_capacity(longest), W::default());
        for length in lengths {
            let (buckets, others) = rest.split_at(length);
            rest = others;
            part.clear();
            part.extend(buckets.iter().map(|bucket| {
                let next = &mut next[usize::from(*bucket)];
                prefetch(room, *next as usize + AHEAD);
                let sum = room[*next as usize];
                *next += 1;
                sum ^ core::mem::replace(&mut before, sum)
            }));
            each(&part);
        }
        wipe(&mut part);
    }

    fn finish<W: Word>(&self, room: &mut Vec<W>, scratch: &mut Vec<W>, out: &mut Vec<W>) {
        out.reserve(self.outputs);
        let [words, _] = self.passes(room, scratch);
        self.blocks(words, |_, outputs| out.extend_from_slice(outputs));
    }

    fn finish_within<W: Word>(&self, room: &mut Vec<W>, scratch: &mut Vec<W>) -> Vec<W> {
        let [words, spent] = self.passes(room, scratch);
        let mut out = if self.layout.window > 0 {
            let mut filled = 0;
            self.blocks(words, |words, outputs| {
                words[filled..filled + outputs.len()].copy_from_slice(outputs);
                filled += outputs.len();
            });
            core::mem::take(words)
        } else {
            let mut out = core::mem::take(spent);
            out.clear();
            self.blocks(words, |_, outputs| out.extend_from_slice(outputs));
            out
        };
        out.truncate(self.outputs);
        wipe_rest(&mut out);
        // Allocators shorten memory of this size where it is: no copy stays behind.
        out.shrink_to_fit();
        out
    }

    fn add_sparse<W: Word>(&self, noise: &Sparse<'_, W>, passes: usize, sums: &mut [W]) {
        if self.permutations.len() > 1 && noise.fits_marks() {
            self.add_marked(noise, passes, sums);
        } else {
            super::add_dense(self, noise, sums);
        }
    }
}

/// Reads some buckets of the first permutation in its new order, which begin with the first word of `from`. Puts
/// running sums into the buckets of the second one.
fn accumulate<W: Word>(
    [first, second]: [&Permutation; 2],
    buckets: Range<usize>,
    from: &[W],
    (sum, to, next): (&mut W, &mut [W], &mut [u32; MAX_BUCKETS]),
) {
    let begin = first.range(buckets.clone()).start;
    for (range, positions) in first.reads(buckets) {
        let read = range.start - begin..range.end - begin;
        let (words, buckets, mut current) = (&from[read.clone()], &second.buckets()[range], *sum);
        for (ahead, (position, bucket)) in (read.end..).zip(positions.iter().zip(buckets)) {
            // The next bucket comes into the cache while this one is read out of order.
            prefetch(from, ahead);
            current ^= words[usize::from(*position)];
            append(to, next, *bucket, current);
        }
        *sum = current;
    }
}

impl Accumulate {
    /// All passes but the first and the last: the room that holds the words then, and the other one.
    fn passes<'a, W: Word>(&self, room: &'a mut Vec<W>, scratch: &'a mut Vec<W>) -> [&'a mut Vec<W>; 2] {
        assert_eq!(room.len(), self.noise() + self.layout.window, "one word for each position");
        if let ([first, last], true) = (&self.permutations[..], self.layout.window > 0) {
            self.move_up([first, last], room);
            return [room, scratch];
        }
        if self.permutations.len() > 1 {
            make_room(scratch, self.noise());
        }
        let (mut from, mut to) = (scratch, room);
        for pair in self.permutations.windows(2) {
            // The words that were read are not needed again: their memory takes the next buckets.
            (from, to) = (to, from);
            let (mut sum, mut next) = (W::default(), pair[1].starts());
            accumulate([&pair[0], &pair[1]], 0..pair[0].count(), from, (&mut sum, to, &mut next));
        }
        [to, from]
    }

    /// The second pass of two rounds, slice by slice.
    fn move_up<W: Word>(&self, pair: [&Permutation; 2], room: &mut [W]) {
        let (mut sum, window) = (W::default(), self.layout.window);
        for Slice { buckets, place, starts } in &self.layout.slices {
            let (from, to) = room.split_at_mut(window + place.start);
            let mut next = core::array::from_fn(|bucket| starts.get(bucket).map_or(0, |start| *start as u32));
            accumulate(pair, buckets.clone(), &from[place.start..], (&mut sum, to, &mut next));
        }
    }

    /// Compresses the words of all buckets of the last permutation, and calls `put(words, outputs)` with one batch
    /// of outputs after another. What it has read of the words is no longer needed then.
    fn blocks<W: Word>(&self, words: &mut [W], mut put: impl FnMut(&mut [W], &[W])) {
        let mut blocks = Blocks::new(self.outputs, self.last());
        for (bucket, (_, positions)) in self.last().reads(0..self.last().count()).enumerate() {
            blocks.bucket.clear();
            self.layout.pieces_of(bucket).for_each(|piece| blocks.bucket.extend_from_slice(&words[piece]));
            blocks.compress(positions, |outputs| put(words, outputs));
        }
    }

    /// [`Code::add_sparse`] with marks in place of the first words. Of two rounds the second takes so many passes,
    /// each over some buckets.
    fn add_marked<W: Word>(&self, noise: &Sparse<'_, W>, passes: usize, sums: &mut [W]) {
        let [first, second] = [&self.permutations[0], &self.permutations[1]];
        let (last, passes) = (self.last(), if self.permutations.len() == 2 { passes.max(1) } else { 1 });
        let (marks, steps) = (noise.marks(first), noise.steps());
        let (mut blocks, mut filled) = (Blocks::new(self.outputs, last), 0);
        let of_pass = |count: usize, pass: usize| pass * count / passes..(pass + 1) * count / passes;
        let lengths = (0..passes).map(|pass| second.range(of_pass(second.count(), pass)).len());
        let (mut room, mut scratch) = (W::zeros(lengths.max().unwrap_or(0) + MAX_BUCKETS), Vec::new());
        for pass in 0..passes {
            scatter_marked([first, second], of_pass(second.count(), pass), &marks, &steps, &mut room);
            for pair in self.permutations[1..].windows(2) {
                make_room(&mut scratch, self.noise());
                let (mut sum, mut next) = (W::default(), pair[1].starts());
                let to = (&mut sum, &mut scratch[..], &mut next);
                accumulate([&pair[0], &pair[1]], 0..pair[0].count(), &room, to);
                core::mem::swap(&mut room, &mut scratch);
            }
            let buckets = of_pass(last.count(), pass);
            let begin = last.range(buckets.clone()).start;
            for (range, positions) in last.reads(buckets) {
                blocks.bucket.clear();
                blocks.bucket.extend_from_slice(&room[range.start - begin..range.end - begin]);
                blocks.compress(positions, |outputs| {
                    let end = sums.len().min(filled + outputs.len());
                    sums[filled..end].iter_mut().zip(outputs).for_each(|(sum, output)| *sum ^= *output);
                    filled = end;
                });
            }
        }
        [&mut room, &mut scratch].into_iter().for_each(wipe);
    }
}

/// Reads marks in the new order of the first permutation, and puts the sums of what they stand for into some buckets
/// of the second one. The room ends with a word for each bucket, which takes what belongs to another pass.
fn scatter_marked<W: Word>(
    [first, second]: [&Permutation; 2],
    of: Range<usize>,
    marks: &[u16],
    steps: &Steps<'_, W>,
    room: &mut [W],
) {
    let begin = second.range(of.clone()).start;
    let (mut next, mut by): ([u32; MAX_BUCKETS], _) =
        (core::array::from_fn(|bucket| (room.len() - MAX_BUCKETS + bucket) as u32), [0; MAX_BUCKETS]);
    for bucket in of {
        (next[bucket], by[bucket]) = ((second.range(bucket..bucket).start - begin) as u32, 1);
    }
    let mut sum = W::default();
    for (range, positions) in first.reads(0..first.count()) {
        let (marks, buckets) = (&marks[range.clone()], &second.buckets()[range]);
        for (position, bucket) in positions.iter().zip(buckets) {
            sum ^= steps.sum(marks[usize::from(*position)]);
            let next = &mut next[usize::from(*bucket)];
            prefetch(room, *next as usize + AHEAD);
            room[*next as usize] = sum;
            *next += by[usize::from(*bucket)];
        }
    }
}

/// The last pass: compresses the blocks of 24 that follow one another in the new order of the last permutation.
struct Blocks<W: Word> {
    /// Outputs that are still to come.
    left: usize,
    /// The words of the bucket that is compressed next.
    bucket: Vec<W>,
    /// A block that began in an earlier bucket, and how much of it there is.
    block: [W; golay::LONG],
    filled: usize,
    outputs: [[W; golay::SHORT]; BATCH],
}

impl<W: Word> Blocks<W> {
    /// For so many outputs, from the buckets of this permutation.
    fn new(outputs: usize, last: &Permutation) -> Self {
        // What grows leaves copies behind.
        let longest = last.reads(0..last.count()).map(|(range, _)| range.len()).max().unwrap_or(0);
        let word = W::default();
        Self {
            left: outputs,
            bucket: Vec::with_capacity(longest),
            block: [word; golay::LONG],
            filled: 0,
            outputs: [[word; golay::SHORT]; BATCH],
        }
    }

    /// Compresses the bucket, which is read at these positions.
    fn compress(&mut self, mut positions: &[u16], mut put: impl FnMut(&[W])) {
        let Self { left, bucket, block, filled, outputs } = self;
        let mut put = |outputs: &[W]| {
            let count = outputs.len().min(*left);
            *left -= count;
            put(&outputs[..count]);
        };
        // A block may begin in one bucket and end in the next.
        while *filled > 0
            && let Some((position, others)) = positions.split_first()
        {
            block[*filled] = bucket[usize::from(*position)];
            (*filled, positions) = ((*filled + 1) % golay::LONG, others);
            if *filled == 0 {
                put(&golay::compress(block));
            }
        }
        let (whole, rest) = positions.as_chunks::<{ golay::LONG }>();
        for positions in whole.chunks(BATCH) {
            let outputs = &mut outputs[..positions.len()];
            W::compress_from(bucket, positions, &[], outputs);
            put(outputs.as_flattened());
        }
        for position in rest {
            block[*filled] = bucket[usize::from(*position)];
            *filled += 1;
        }
    }
}

impl<W: Word> Drop for Blocks<W> {
    fn drop(&mut self) {
        wipe(&mut self.bucket);
        self.outputs.zeroize();
        self.block.zeroize();
    }
}

/// log2 of the expected number of nonzero codewords of weight at most `distance` times the length, for codes
/// of `noise` positions (a multiple of 24) and so many rounds.
///
/// With G_h the number of words of weight h of the Golay blocks, C the binomial coefficient, and p(h → w) =
/// C(N-w, ⌊h/2⌋)·C(w-1, ⌈h/2⌉-1) / C(N, h) the probability that the running sums of a random word of weight h
/// have weight w, it is Σ G_h · p(h → g) · p(g → w) over h, g ≥ 1 and 1 ≤ w ≤ δN for two rounds. What has
/// weight w after a round had weight at most 2w before.
#[must_use]
pub fn log2_light_words(noise: usize, rounds: usize, distance: f64) -> f64 {
    let factorials = Factorials::new(noise);
    let step = |from: usize, to: usize| factorials.step(noise, from, to);
    // log2 of the probability that a word of each weight, from 1, ends light.
    let mut light = vec![0.0; (distance * noise as f64) as usize];
    for _ in 1..rounds {
        let heaviest = (2 * light.len()).min(noise);
        light = (1..=heaviest)
            .map(|from| sum_of_logs(1..=light.len(), |to| step(from, to) + light[to - 1]))
            .collect();
    }
    let blocks = log2_block_weights(noise / golay::LONG, (2 * light.len()).min(noise));
    blocks.iter().enumerate().skip(1).fold(f64::NEG_INFINITY, |total, (fours, blocks)| {
        let from = 4 * fours;
        log2_sum(total, blocks + sum_of_logs(1..=light.len(), |to| step(from, to) + light[to - 1]))
    })
}

/// log2 of the part of [`log2_light_words`] for two rounds that comes from words with at most `ones` ones
/// before either round; and of the part of that which comes from a single Golay word of weight 8 through
/// fewer than `fewer` ones.
#[must_use]
pub fn log2_light_words_of_few_ones(noise: usize, distance: f64, ones: usize, fewer: usize) -> (f64, f64) {
    let factorials = Factorials::new(noise);
    let step = |from: usize, to: usize| factorials.step(noise, from, to);
    let lightest = (distance * noise as f64) as usize;
    let light: Vec<f64> = (1..=ones).map(|from| sum_of_logs(1..=lightest, |to| step(from, to))).collect();
    let through = |from: usize, last: usize| sum_of_logs(1..=last, |to| step(from, to) + light[to - 1]);
    let blocks = log2_block_weights(noise / golay::LONG, ones);
    let all =
        blocks.iter().enumerate().skip(1).fold(f64::NEG_INFINITY, |total, (fours, blocks)| {
            log2_sum(total, blocks + through(4 * fours, ones))
        });
    (all, (759.0 * (noise / golay::LONG) as f64).log2() + through(8, fewer - 1))
}

/// log2 of a bound on the expected number of nonzero codewords with at most `flips` flips that see a bias of
/// 2^-`test` or more in noise of bits, for codes of `noise` positions and so many rounds.
///
/// Noise has a single one, at a uniform position, in each of `blocks` runs of positions. A codeword with w ones
/// among the b positions of a run sees a bias of |1 - 2w/b| there, and the product of them in all: a run that
/// it covers whole hides no more than one that it leaves out. A codeword is the running sums of a word with ones
/// at random positions. It flips at those, and only the runs in which it flips hide anything.
///
/// With A_f the expected number of words that have f ones before the last running sums, and p as in
/// [`log2_light_words`], Markov's bound of bias^s makes it, for every s ≥ 0,
/// Σ A_f · 2^(test·s) · [z^f] Π (Σ C(b, k)·m_k·z^k) / C(N, f), where the product goes over the runs, the inner
/// sum over the flips k in one, and m_k = Σ p(k → w)·|1 - 2w/b|^s. Each f takes the best s of some.
#[must_use]
pub fn log2_words_of_few_flips(noise: usize, rounds: usize, blocks: usize, test: f64, flips: usize) -> f64 {
    let factorials = Factorials::new(noise);
    let likely = (0..SLOPES).map(|i| f64::from(i) / 4.0).map(|s| {
        let biases = factorials.log2_moments(noise, blocks, s, flips);
        biases.iter().map(|bias| test * s + bias).collect::<Vec<_>>()
    });
    let likely = likely.reduce(|least, other| least.iter().zip(other).map(|(a, b)| a.min(b)).collect());
    let words = factorials.log2_words(noise, rounds - 1, flips);
    words
        .iter()
        .zip(likely.iter().flatten())
        .skip(1)
        .fold(f64::NEG_INFINITY, |total, (words, likely)| log2_sum(total, words + likely))
}

/// The values of s that [`log2_words_of_few_flips`] tries: quarters.
const SLOPES: u32 = 10;

/// log2 of the number of words of weight 0, 4, 8, … up to `heaviest` of `count` Golay blocks side by side:
/// the coefficients of (1 + 759·y² + 2576·y³ + 759·y⁴ + y⁶)^count, by doubling and adding.
fn log2_block_weights(count: usize, heaviest: usize) -> Vec<f64> {
    let none = f64::NEG_INFINITY;
    let one = [0.0, none, 759f64.log2(), 2576f64.log2(), 759f64.log2(), none, 0.0];
    power(&one, count, heaviest / 4 + 1)
}

/// A power of a polynomial whose coefficients are given by their logarithms, cut to `length` coefficients.
fn power(base: &[f64], exponent: usize, length: usize) -> Vec<f64> {
    let mut power = vec![0.0];
    for bit in (0..exponent.checked_ilog2().map_or(0, |top| top + 1)).rev() {
        power = product(&power, &power, length);
        if exponent >> bit & 1 == 1 {
            power = product(&power, base, length);
        }
    }
    power
}

/// The product of two polynomials whose coefficients are given by their logarithms, cut to `length`
/// coefficients.
fn product(a: &[f64], b: &[f64], length: usize) -> Vec<f64> {
    let degree = (a.len() + b.len() - 1).min(length);
    (0..degree)
        .map(|k| sum_of_logs(k.saturating_sub(b.len() - 1)..=k.min(a.len() - 1), |i| a[i] + b[k - i]))
        .collect()
}

/// log2 of the sum of 2^term(i).
fn sum_of_logs(range: core::ops::RangeInclusive<usize>, term: impl Fn(usize) -> f64) -> f64 {
    // Terms rise to one maximum and fall; those far below it do not count.
    let largest = range.clone().map(&term).fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return largest;
    }
    largest + range.map(|i| (term(i) - largest).exp2()).sum::<f64>().log2()
}

/// log2 of factorials, tabulated.
struct Factorials(Vec<f64>);

impl Factorials {
    fn new(up_to: usize) -> Self {
        let mut sum = 0.0;
        let factorials = (0..=up_to).map(|i| {
            sum += (i.max(1) as f64).log2();
            sum
        });
        Self(factorials.collect())
    }

    /// log2 of p(from → to), the probability that running sums take that weight to this.
    fn step(&self, noise: usize, from: usize, to: usize) -> f64 {
        self.binomial(noise - to, from / 2) + self.binomial(to - 1, from.div_ceil(2) - 1)
            - self.binomial(noise, from)
    }

    /// log2 of the expected number of words that have 0, 1, … up to `most` ones after so many rounds.
    fn log2_words(&self, noise: usize, rounds: usize, most: usize) -> Vec<f64> {
        // What has weight w after a round had weight at most 2w before.
        let heaviest = |round: usize| (most << (rounds - round)).min(noise);
        let blocks = log2_block_weights(noise / golay::LONG, heaviest(0));
        let mut words = vec![f64::NEG_INFINITY; 4 * blocks.len() - 3];
        blocks.iter().enumerate().skip(1).for_each(|(fours, blocks)| words[4 * fours] = *blocks);
        for round in 1..=rounds {
            let before = words.len() - 1;
            words = (0..=heaviest(round))
                .map(|to| match to {
                    0 => f64::NEG_INFINITY,
                    _ => sum_of_logs(1..=before.min(2 * to), |from| words[from] + self.step(noise, from, to)),
                })
                .collect();
        }
        words
    }

    /// log2 of the mean of bias^s over the words that flip at 0, 1, … up to `flips` random positions.
    fn log2_moments(&self, noise: usize, blocks: usize, s: f64, flips: usize) -> Vec<f64> {
        let (short, longer) = (noise / blocks, noise % blocks);
        let of_runs = |positions: usize, runs: usize| {
            let moment = |k: usize| {
                let bias = |w: usize| (1.0 - 2.0 * w as f64 / positions as f64).abs().log2();
                let seen = |w: usize| self.step(positions, k, w) + if s > 0.0 { s * bias(w) } else { 0.0 };
                if k == 0 { 0.0 } else { self.binomial(positions, k) + sum_of_logs(1..=positions, seen) }
            };
            power(&(0..=flips.min(positions)).map(moment).collect::<Vec<_>>(), runs, flips + 1)
        };
        let all = product(&of_runs(short, blocks - longer), &of_runs(short + 1, longer), flips + 1);
        all.iter().enumerate().map(|(f, all)| all - self.binomial(noise, f)).collect()
    }

    fn binomial(&self, n: usize, k: usize) -> f64 {
        if k > n { f64::NEG_INFINITY } else { self.0[n] - self.0[k] - self.0[n - k] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vesica_crypto::block::Block;

    fn compressed<W: Word + PartialEq>(code: &Accumulate, noise: &[W]) -> Vec<W> {
        crate::vole::codes::compressed(code, noise)
    }

    #[test]
    fn follows_its_definition() {
        for outputs in [12, 13, 100, 5000, 20_000] {
            let code = Accumulate::new(outputs, 2, &mut Prg::from_seed([7; 16]));
            let noise: Vec<u64> = (0..code.noise() as u64).map(|i| i * i + 3).collect();
            // The permutations by themselves, from the positions of a vector that is its own index.
            let apply = |permutation: &Permutation, words: &[u64]| {
                let (mut buckets, mut next) = (vec![0; words.len()], permutation.starts());
                for (word, bucket) in words.iter().zip(permutation.buckets()) {
                    append(&mut buckets, &mut next, *bucket, *word);
                }
                let mut order = Vec::new();
                for (range, positions) in permutation.reads(0..permutation.count()) {
                    order.extend(
                        positions.iter().map(|position| buckets[range.clone()][usize::from(*position)]),
                    );
                }
                order
            };
            let sums = |words: &[u64]| {
                words
                    .iter()
                    .scan(0, |sum, word| {
                        *sum ^= word;
                        Some(*sum)
                    })
                    .collect::<Vec<_>>()
            };
            let twice = apply(&code.permutations[1], &sums(&apply(&code.permutations[0], &sums(&noise))));
            let expected: Vec<u64> =
                twice.as_chunks().0.iter().flat_map(golay::compress).take(outputs).collect();
            assert_eq!(compressed(&code, &noise), expected);
        }
    }

    #[test]
    fn is_linear_and_the_same_for_every_word() {
        let code = Accumulate::new(1000, 3, &mut Prg::from_seed([8; 16]));
        let mut prg = Prg::from_seed([9; 16]);
        let [a, b]: [Vec<Block>; 2] =
            core::array::from_fn(|_| (0..code.noise()).map(|_| prg.block()).collect());
        let both: Vec<Block> = a.iter().zip(&b).map(|(a, b)| *a ^ *b).collect();
        let [a_out, b_out, both_out] = [&a, &b, &both].map(|words| compressed(&code, words));
        for i in 0..1000 {
            assert!(both_out[i] == a_out[i] ^ b_out[i]);
        }
        let low: Vec<u64> = a.iter().map(|block| block.to_halves().0).collect();
        for (low, block) in compressed(&code, &low).iter().zip(&a_out) {
            assert_eq!(*low, block.to_halves().0);
        }
    }

    #[test]
    fn words_of_few_flips_are_counted_right() {
        // All words see a bias as small as that.
        let all = log2_words_of_few_flips(48, 2, 5, 1e6, 48);
        assert!((all - f64::from((1 << 24) - 1).log2()).abs() < 1e-6, "{all}");
        // Against an experiment: what words of so many flips see, on average, of noise in seven runs of 6 or 7.
        let (noise, blocks, s) = (48, 7, 0.5);
        let means = Factorials::new(noise).log2_moments(noise, blocks, s, 6);
        let mut prg = Prg::from_seed([11; 16]);
        for (flips, mean) in means.iter().enumerate() {
            let tries = 20_000;
            let seen: f64 = (0..tries)
                .map(|_| {
                    let mut at = std::collections::BTreeSet::new();
                    while at.len() < flips {
                        at.insert((prg.block().to_halves().0 % noise as u64) as usize);
                    }
                    let one = |position: usize| at.range(..=position).count() % 2 == 1;
                    let bias = |block: usize| {
                        let run = block * noise / blocks..(block + 1) * noise / blocks;
                        let ones = run.clone().filter(|position| one(*position)).count();
                        (1.0 - 2.0 * ones as f64 / run.len() as f64).abs()
                    };
                    (0..blocks).map(bias).product::<f64>().powf(s)
                })
                .sum();
            let seen = seen / f64::from(tries);
            assert!((seen / mean.exp2() - 1.0).abs() < 0.05, "{flips}: {seen} against {}", mean.exp2());
        }
    }

    #[test]
    fn light_words_are_counted_right() {
        // One block: every word is a permuted Golay word; small enough to go through all of them and all
        // weights.
        let all = log2_light_words(24, 2, 1.0);
        assert!((all - 4095f64.log2()).abs() < 1e-6, "{all}");
        let two = log2_light_words(48, 2, 1.0);
        assert!((two - f64::from((1 << 24) - 1).log2()).abs() < 1e-6, "{two}");
        // Against an experiment: words of weight up to 4 among those of random codes of one block.
        let (mut light, codes) = (0u32, 400);
        let mut prg = Prg::from_seed([10; 16]);
        for _ in 0..codes {
            let code = Accumulate::new(12, 2, &mut prg);
            // Place j of the noise under the unit vector j gives column j of the generator; rows make the
            // words.
            let columns: Vec<u64> = (0..24)
                .map(|j| {
                    let mut noise = vec![0u64; 24];
                    noise[j] = 1;
                    compressed(&code, &noise).iter().enumerate().fold(0, |bits, (i, word)| bits | word << i)
                })
                .collect();
            for message in 1..1u64 << 12 {
                let weight =
                    columns.iter().filter(|column| (*column & message).count_ones() % 2 == 1).count();
                light += u32::from(weight <= 4);
            }
        }
        let (expected, seen) =
            (log2_light_words(24, 2, 4.5 / 24.0).exp2(), f64::from(light) / f64::from(codes));
        assert!((seen / expected - 1.0).abs() < 0.15, "{seen} against {expected}");
    }
}
