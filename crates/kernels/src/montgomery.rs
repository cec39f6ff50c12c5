//! Montgomery's multiplication on eight numbers at a time, one a lane, modulo a number that they share.
//!
//! | file | content |
//! |---|---|
//! | `columns.rs` | products and squares by columns, generic over the vectors |
//! | `x86.rs` | the vectors: IFMA with limbs of 52 bits, AVX-512 F and AVX2 with limbs of 26 bits |
//!
//! A number is a row of limbs, the least significant first; a [`Limbs`] holds the same limb of eight numbers. The
//! limbs come in blocks of ten, 520 or 260 bits, so that a modulus of 512·k bits leaves Montgomery's R = 2^(radix ·
//! limbs) at least four times the modulus m. Then factors below 2m have a product below 2m, and nothing has to be
//! subtracted between multiplications: (a·b + q·m) / R < (4m² + R·m) / R ≤ 2m.
//!
//! There is no branch and no index that depends on a number, on the modulus or on a digit that selects.

#[cfg(target_arch = "x86_64")]
mod columns;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

use zeroize::{Zeroize, Zeroizing};

#[cfg(target_arch = "x86_64")]
use super::Level;
use super::{Backend, Kernels};

/// Numbers that are computed together.
pub const LANES: usize = 8;

/// Numbers for which one vector of 256 bits suffices.
#[cfg(target_arch = "x86_64")]
const HALF: usize = LANES / 2;

/// Limbs come in multiples of this.
const BLOCK: usize = 10;

/// One limb of each of eight numbers.
#[derive(Clone, Copy, Default, Zeroize)]
#[repr(C, align(64))]
pub struct Limbs(pub [u64; LANES]);

/// Eight numbers.
pub type Numbers = Zeroizing<Vec<Limbs>>;

/// Instructions that this processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instructions {
    #[cfg(target_arch = "x86_64")]
    Ifma,
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

/// The right to run these kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel(Instructions);

impl Kernel {
    /// The kernels, if the back end has their instructions.
    #[inline]
    #[must_use]
    pub fn of(backend: Backend) -> Option<Self> {
        match backend.level_for(Kernels::Montgomery) {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512Vaes => Some(Self(Instructions::Ifma)),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => Some(Self(Instructions::Avx512)),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => Some(Self(Instructions::Avx2)),
            _ => None,
        }
    }

    /// Bits of a limb.
    #[inline]
    #[must_use]
    pub fn radix(self) -> u32 {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Instructions::Ifma => 52,
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 | Instructions::Avx2 => 26,
        }
    }

    /// Fewest numbers for which the lanes are faster than one number after another.
    #[inline]
    #[must_use]
    pub fn worthwhile(self) -> usize {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Instructions::Ifma => 1,
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 | Instructions::Avx2 => 3,
        }
    }

    /// Limbs of numbers modulo a number of `bits` bits.
    #[inline]
    #[must_use]
    pub fn limbs(self, bits: u32) -> usize {
        ((bits + 2).div_ceil(self.radix()) as usize).next_multiple_of(BLOCK)
    }
}

/// A modulus in lanes. Wiped when dropped.
pub struct Modulus {
    kernel: Kernel,
    /// m in every lane.
    limbs: Numbers,
    /// -1 / m modulo 2^radix.
    negated_inverse: u64,
}

impl Modulus {
    /// From the limbs of an odd m that leaves the two highest bits of its limbs free.
    ///
    /// # Panics
    /// If the number of limbs is not one that [`Kernel::limbs`] gives, or m is even.
    #[must_use]
    pub fn new(kernel: Kernel, limbs: &[u64]) -> Self {
        assert!(!limbs.is_empty() && limbs.len().is_multiple_of(BLOCK), "whole blocks of limbs");
        assert!(limbs[0] & 1 == 1, "an odd modulus");
        // Newton's iteration: a solution modulo 2^k gives one modulo 2^2k; m itself is one modulo 2^3.
        let inverse = (0..5).fold(limbs[0], |inverse, _| {
            inverse.wrapping_mul(2u64.wrapping_sub(inverse.wrapping_mul(limbs[0])))
        });
        let negated_inverse = inverse.wrapping_neg() & ((1 << kernel.radix()) - 1);
        Self {
            kernel,
            limbs: Zeroizing::new(limbs.iter().map(|&limb| Limbs([limb; LANES])).collect()),
            negated_inverse,
        }
    }

    /// The kernels that compute modulo this number.
    #[inline]
    #[must_use]
    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Limbs of a number.
    #[inline]
    #[must_use]
    pub fn limbs(&self) -> usize {
        self.limbs.len()
    }

    /// Zero, eight times.
    #[inline]
    #[must_use]
    pub fn zero(&self) -> Numbers {
        Zeroizing::new(vec![Limbs::default(); self.limbs()])
    }
}

/// A multiplier: a modulus and memory to work in.
pub struct Multiplier<'a> {
    modulus: &'a Modulus,
    /// The quotient by the radix, of Montgomery's reduction.
    quotient: Numbers,
    /// How many of the eight numbers matter.
    count: usize,
}

impl<'a> Multiplier<'a> {
    /// For the first `count` of eight numbers; the others may come out wrong.
    ///
    /// # Panics
    /// If there are more than eight.
    #[must_use]
    pub fn new(modulus: &'a Modulus, count: usize) -> Self {
        assert!(count <= LANES, "numbers in lanes");
        Self { modulus, quotient: modulus.zero(), count }
    }

    /// `out = a · b / R`, for factors below 2m or one below R and one below m; below 2m.
    ///
    /// # Panics
    /// If a length is wrong.
    #[inline]
    pub fn mul(&mut self, out: &mut [Limbs], a: &[Limbs], b: &[Limbs]) {
        let (modulus, inverse) = (&self.modulus.limbs[..], self.modulus.negated_inverse);
        let operands = [a, b, modulus];
        assert!(operands.iter().all(|operand| operand.len() == out.len()), "numbers of one length");
        match self.modulus.kernel.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a kernel exists only where its instructions do; the lengths are equal, in whole blocks.
            Instructions::Ifma => unsafe { x86::mul_ifma(out, a, b, &mut self.quotient, modulus, inverse) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Instructions::Avx512 if self.count > HALF => unsafe {
                x86::mul_avx512(out, a, b, &mut self.quotient, modulus, inverse)
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above; AVX-512 includes AVX2.
            Instructions::Avx512 | Instructions::Avx2 => unsafe {
                x86::mul_avx2(self.count, out, a, b, &mut self.quotient, modulus, inverse);
            },
        }
    }

    /// `out = a² / R`, for a below 2m; below 2m.
    ///
    /// # Panics
    /// If a length is wrong.
    #[inline]
    pub fn square(&mut self, out: &mut [Limbs], a: &[Limbs]) {
        let (modulus, inverse) = (&self.modulus.limbs[..], self.modulus.negated_inverse);
        assert!([a, modulus].iter().all(|operand| operand.len() == out.len()), "numbers of one length");
        match self.modulus.kernel.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a kernel exists only where its instructions do; the lengths are equal, in whole blocks.
            Instructions::Ifma => unsafe { x86::square_ifma(out, a, &mut self.quotient, modulus, inverse) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Instructions::Avx512 if self.count > HALF => unsafe {
                x86::square_avx512(out, a, &mut self.quotient, modulus, inverse)
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above; AVX-512 includes AVX2.
            Instructions::Avx512 | Instructions::Avx2 => unsafe {
                x86::square_avx2(self.count, out, a, &mut self.quotient, modulus, inverse);
            },
        }
    }

    /// In each lane the number of the table that the lane's digit names; reads all of them. The table holds limb
    /// after limb, and of each limb the entries, as many as a power of 2.
    ///
    /// # Panics
    /// If a length is wrong.
    #[inline]
    pub fn select(&self, out: &mut [Limbs], table: &[Limbs], digits: &Limbs) {
        assert!(table.len().is_multiple_of(out.len()), "whole entries");
        match self.modulus.kernel.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a kernel exists only where its instructions do; the table has whole entries.
            Instructions::Ifma | Instructions::Avx512 => unsafe { x86::select_wide(out, table, digits) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Instructions::Avx2 => unsafe { x86::select_avx2(out, table, digits) },
        }
    }

    /// As [`select`](Self::select), from a table whose entries are one number for all lanes.
    ///
    /// # Panics
    /// If a length is wrong, or the entries are not 16, 32, 48 or 64.
    #[inline]
    pub fn select_shared(&self, out: &mut [Limbs], table: &[u64], digits: &Limbs) {
        assert!(table.len().is_multiple_of(16 * out.len()), "entries in multiples of 16");
        assert!(table.len() <= 64 * out.len(), "at most 64 entries");
        match self.modulus.kernel.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a kernel exists only where its instructions do; the number of entries is checked.
            Instructions::Ifma | Instructions::Avx512 => unsafe {
                x86::select_shared_wide(out, table, digits)
            },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Instructions::Avx2 => unsafe { x86::select_shared_avx2(out, table, digits) },
        }
    }
}
