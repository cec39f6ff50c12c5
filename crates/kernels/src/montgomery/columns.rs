//! Products and squares with Montgomery's reduction, by columns.
//!
//! With n limbs, column k of a·b is Σ a_i·b_(k-i). Montgomery's reduction adds q·m, whose limbs q_k are chosen one
//! after another so that the columns below n become zero; the columns from n on, carried, are the result. Ten
//! columns at a time stay in registers, with the halves of their products apart where the instructions give
//! halves: the high half of column k belongs to column k + 1.
//!
//! In a block of columns c to c + 9, the pairs (i, k - i) fill a parallelogram: rows of i in which all ten columns
//! have a partner, and a triangle at either end. The rows are a loop. The triangles have the same form in every
//! block, because blocks start at multiples of ten, and are written out.
//!
//! # Bounds
//!
//! A column takes at most 2n products (of a·b and q·m; doubled in squares) and, where halves are apart, as many
//! high halves. Below 8192 bits that is 4·160·2^52 < 2^62 for limbs of 52 bits and 2·320·2^52 < 2^62 for limbs of
//! 26 bits.

#![allow(clippy::inline_always, reason = "the functions take the target features of their caller")]

use super::BLOCK;

/// A vector of lanes of 64 bits.
///
/// # Safety
/// The methods may be called only where the processor has the instructions of the vector.
pub(super) trait Vector: Copy {
    /// Bits of a limb.
    const RADIX: u32;
    /// Vectors that eight lanes take.
    const PARTS: usize;

    unsafe fn load(from: *const Self) -> Self;
    unsafe fn store(self, to: *mut Self);
    unsafe fn all(value: u64) -> Self;
    /// a + b.
    unsafe fn add(self, other: Self) -> Self;
    /// The low limb.
    unsafe fn low(self) -> Self;
    /// What is above the low limb.
    unsafe fn high(self) -> Self;
    /// The low limb of the product of the low limbs.
    unsafe fn mul_low(self, other: Self) -> Self;
    /// Adds the product of two limbs to a column: all of it to `low`, or its halves.
    unsafe fn mul_add(low: &mut Self, high: &mut Self, a: Self, b: Self);
    /// All ones where the lanes are equal, otherwise zero.
    unsafe fn equal(self, other: Self) -> Self;
    /// self | (mask & value).
    unsafe fn or_masked(self, mask: Self, value: Self) -> Self;
}

/// A number: its limbs, in the part of the lanes that a vector holds.
#[derive(Clone, Copy)]
pub(super) struct Number<V>(pub(super) *mut V);

impl<V: Vector> Number<V> {
    #[inline(always)]
    pub(super) unsafe fn limb(self, index: usize) -> V {
        // SAFETY: the caller's index is that of a limb.
        unsafe { V::load(self.0.add(index * V::PARTS)) }
    }

    #[inline(always)]
    pub(super) unsafe fn set(self, index: usize, limb: V) {
        // SAFETY: the caller's index is that of a limb.
        unsafe { limb.store(self.0.add(index * V::PARTS)) }
    }
}

/// Ten columns.
struct Columns<V> {
    low: [V; BLOCK],
    high: [V; BLOCK],
}

/// The block for each of the numbers, as constants. Written out: otherwise the columns end up in memory.
macro_rules! unroll {
    ($t:ident in [$($value:literal)*] $body:block) => {
        $({
            let $t: usize = $value;
            $body
        })*
    };
}

impl<V: Vector> Columns<V> {
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller has the instructions.
        let zero = unsafe { V::all(0) };
        Self { low: [zero; BLOCK], high: [zero; BLOCK] }
    }

    /// Adds x·y_(from + k) to every column k of the block.
    #[inline(always)]
    unsafe fn add_row(&mut self, x: V, y: Number<V>, from: usize) {
        for k in 0..BLOCK {
            // SAFETY: passed on to the caller.
            unsafe { V::mul_add(&mut self.low[k], &mut self.high[k], x, y.limb(from + k)) }
        }
    }

    /// Adds x·y to column k of the block.
    #[inline(always)]
    unsafe fn add_at(&mut self, k: usize, x: V, y: V) {
        // SAFETY: passed on to the caller.
        unsafe { V::mul_add(&mut self.low[k], &mut self.high[k], x, y) }
    }

    /// Adds the pairs (i, c + k - i) of x and y with i < `rows`, for the block at c, where all have a partner.
    #[inline(always)]
    unsafe fn add_rows(&mut self, x: Number<V>, y: Number<V>, c: usize, rows: core::ops::Range<usize>) {
        for i in rows {
            // SAFETY: passed on to the caller.
            unsafe { self.add_row(x.limb(i), y, c - i) }
        }
    }

    /// Adds all pairs of x and y in the block at c, below n.
    #[inline(always)]
    unsafe fn add_lower(&mut self, x: Number<V>, y: Number<V>, c: usize) {
        // SAFETY: c + 9 < n, and so are all indices.
        unsafe {
            self.add_rows(x, y, c, 0..c + 1);
            unroll!(t in [1 2 3 4 5 6 7 8 9] {
                let limb = x.limb(c + t);
                for k in t..BLOCK {
                    self.add_at(k, limb, y.limb(k - t));
                }
            });
        }
    }

    /// Adds all pairs of x and y in the block at n + d.
    #[inline(always)]
    unsafe fn add_upper(&mut self, x: Number<V>, y: Number<V>, n: usize, d: usize) {
        // SAFETY: d ≤ n - 10, so that indices of x are at most d + 9 or below n, those of y from n - 9 to n - 1 or
        // from d + 1 to n - 1.
        unsafe {
            unroll!(t in [0 1 2 3 4 5 6 7 8] {
                let limb = x.limb(d + 1 + t);
                for k in 0..=t {
                    self.add_at(k, limb, y.limb(n - 1 - t + k));
                }
            });
            self.add_rows(x, y, n + d, d + BLOCK..n);
        }
    }

    /// Adds the square of x to the block at c: pairs i < j doubled, from row `first` on, then those of i = j.
    #[inline(always)]
    unsafe fn add_square_rows(&mut self, x: Number<V>, c: usize, first: usize) {
        let half = c / 2;
        // SAFETY: half + 9 < n, and so are all indices.
        unsafe {
            self.add_rows(x, x, c, first..half);
            unroll!(t in [0 1 2 3 4] {
                let limb = x.limb(half + t);
                for k in 2 * t + 1..BLOCK {
                    self.add_at(k, limb, x.limb(half + k - t));
                }
            });
            self.double();
            unroll!(t in [0 1 2 3 4] {
                let limb = x.limb(half + t);
                self.add_at(2 * t, limb, limb);
            });
        }
    }

    /// Adds the square of x to the block at n + d.
    #[inline(always)]
    unsafe fn add_square_upper(&mut self, x: Number<V>, n: usize, d: usize) {
        // SAFETY: d ≤ n - 10, so that all indices are below n.
        unsafe {
            if d + BLOCK < n {
                unroll!(t in [0 1 2 3 4 5 6 7 8] {
                    let limb = x.limb(d + 1 + t);
                    for k in 0..=t {
                        self.add_at(k, limb, x.limb(n - 1 - t + k));
                    }
                });
                self.add_square_rows(x, n + d, d + BLOCK);
            } else {
                // The last block: both limbs are among the last ten, i and j.
                unroll!(i in [1 2 3 4 5 6 7 8] {
                    let limb = x.limb(d + i);
                    for j in (if i < 5 { BLOCK - i } else { i + 1 })..BLOCK {
                        self.add_at(i + j - BLOCK, limb, x.limb(d + j));
                    }
                });
                self.double();
                unroll!(i in [5 6 7 8 9] {
                    let limb = x.limb(d + i);
                    self.add_at(2 * i - BLOCK, limb, limb);
                });
            }
        }
    }

    #[inline(always)]
    unsafe fn double(&mut self) {
        for k in 0..BLOCK {
            // SAFETY: passed on to the caller.
            unsafe {
                self.low[k] = self.low[k].add(self.low[k]);
                self.high[k] = self.high[k].add(self.high[k]);
            }
        }
    }

    /// Chooses the limbs of q for the block at c, adds their products, and returns the carry to the next block.
    #[inline(always)]
    unsafe fn reduce(mut self, q: Number<V>, m: Number<V>, inverse: V, c: usize, mut carry: V) -> V {
        // SAFETY: c + 9 < n, and so are all indices.
        unsafe {
            self.add_rows(q, m, c, 0..c);
            unroll!(t in [0 1 2 3 4 5 6 7 8 9] {
                let mut column = self.low[t].add(carry);
                let limb = column.mul_low(inverse);
                q.set(c + t, limb);
                V::mul_add(&mut column, &mut self.high[t], limb, m.limb(0));
                carry = column.high().add(self.high[t]);
                for k in t + 1..BLOCK {
                    self.add_at(k, limb, m.limb(k - t));
                }
            });
        }
        carry
    }

    /// Adds the products of q and stores the limbs of the result in the block at n + d; returns the carry.
    #[inline(always)]
    unsafe fn finish(
        mut self,
        out: Number<V>,
        q: Number<V>,
        m: Number<V>,
        n: usize,
        d: usize,
        mut carry: V,
    ) -> V {
        // SAFETY: d ≤ n - 10, and so all indices are below n.
        unsafe {
            self.add_upper(q, m, n, d);
            unroll!(t in [0 1 2 3 4 5 6 7 8 9] {
                let column = self.low[t].add(carry);
                out.set(d + t, column.low());
                carry = column.high().add(self.high[t]);
            });
        }
        carry
    }
}

/// `out = a·b / R mod m`.
///
/// # Safety
/// The processor has the instructions of the vector; each number has `n` limbs, whole blocks; `out` and `q` overlap
/// nothing.
#[inline(always)]
pub(super) unsafe fn mul<V: Vector>(
    n: usize,
    out: Number<V>,
    [a, b]: [Number<V>; 2],
    q: Number<V>,
    m: Number<V>,
    inverse: u64,
) {
    // SAFETY: blocks start at multiples of ten below n.
    unsafe {
        let inverse = V::all(inverse);
        let mut carry = V::all(0);
        for c in (0..n).step_by(BLOCK) {
            let mut columns = Columns::zero();
            columns.add_lower(a, b, c);
            carry = columns.reduce(q, m, inverse, c, carry);
        }
        for d in (0..n).step_by(BLOCK) {
            let mut columns = Columns::zero();
            columns.add_upper(a, b, n, d);
            carry = columns.finish(out, q, m, n, d, carry);
        }
    }
}

/// `out = a² / R mod m`.
///
/// # Safety
/// As [`mul`].
#[inline(always)]
pub(super) unsafe fn square<V: Vector>(
    n: usize,
    out: Number<V>,
    a: Number<V>,
    q: Number<V>,
    m: Number<V>,
    inverse: u64,
) {
    // SAFETY: blocks start at multiples of ten below n.
    unsafe {
        let inverse = V::all(inverse);
        let mut carry = V::all(0);
        for c in (0..n).step_by(BLOCK) {
            let mut columns = Columns::zero();
            columns.add_square_rows(a, c, 0);
            carry = columns.reduce(q, m, inverse, c, carry);
        }
        for d in (0..n).step_by(BLOCK) {
            let mut columns = Columns::zero();
            columns.add_square_upper(a, n, d);
            carry = columns.finish(out, q, m, n, d, carry);
        }
    }
}

/// In each lane the entry of its digit.
///
/// # Safety
/// The processor has the instructions of the vector; the table has `n` times `entries` limbs, `out` has `n`.
#[inline(always)]
pub(super) unsafe fn select<V: Vector>(
    n: usize,
    entries: usize,
    out: Number<V>,
    table: Number<V>,
    digits: Number<V>,
) {
    /// Entries whose masks are in registers.
    const MASKS: usize = 8;
    // SAFETY: passed on to the caller.
    unsafe {
        let digits = digits.limb(0);
        for first in (0..entries).step_by(MASKS) {
            let mut masks = [V::all(0); MASKS];
            for (number, mask) in masks.iter_mut().enumerate() {
                *mask = digits.equal(V::all((first + number) as u64));
            }
            for limb in 0..n {
                let mut chosen = if first == 0 { V::all(0) } else { out.limb(limb) };
                for (number, &mask) in masks.iter().enumerate().take(entries - first) {
                    chosen = chosen.or_masked(mask, table.limb(limb * entries + first + number));
                }
                out.set(limb, chosen);
            }
        }
    }
}
