//! Steps of the Walsh–Hadamard transform modulo 2^32 - 1.
//!
//! Numbers are residues below 2^32, so that zero has two forms. A carry has the weight 2^32 = 1 and is added
//! back; -b is !b. The loops are plain Rust, compiled once for each level.

#[cfg(target_arch = "x86_64")]
use super::Level;
use super::{Backend, Kernels};

/// Side of a tile.
const SIDE: usize = 16;
/// Numbers of a tile, which takes the lowest eight steps of the transform at once.
pub(crate) const TILE: usize = SIDE * SIDE;

/// a + b.
#[inline(always)]
pub(crate) fn add(a: u32, b: u32) -> u32 {
    let sum = a.wrapping_add(b);
    sum.wrapping_add(u32::from(sum < a))
}

/// a·b.
#[inline(always)]
pub(crate) fn multiply(a: u32, b: u32) -> u32 {
    let product = u64::from(a) * u64::from(b);
    add(product as u32, (product >> 32) as u32)
}

/// (a, b) ← (a + b, a - b).
#[inline(always)]
fn step(low: &mut [u32], high: &mut [u32]) {
    for (low, high) in low.iter_mut().zip(high) {
        (*low, *high) = (add(*low, *high), add(*low, !*high));
    }
}

/// Steps of the rows of a tile, with rows 8, 4, 2, 1 apart.
#[inline(always)]
fn steps_of_rows(rows: &mut [[u32; SIDE]; SIDE]) {
    let mut apart = SIDE / 2;
    while apart > 0 {
        for pair in rows.chunks_exact_mut(2 * apart) {
            let (low, high) = pair.split_at_mut(apart);
            low.iter_mut().zip(high).for_each(|(low, high)| step(low, high));
        }
        apart /= 2;
    }
}

/// The transform of each tile, transposed.
#[inline(always)]
fn all_tiles(values: &mut [u32]) {
    for tile in values.as_chunks_mut::<TILE>().0 {
        let rows: &mut [[u32; SIDE]] = tile.as_chunks_mut().0;
        let Some((rows, _)) = rows.split_first_chunk_mut::<SIDE>() else { return };
        steps_of_rows(rows);
        let mut turned = [[0; SIDE]; SIDE];
        for (i, row) in rows.iter().enumerate() {
            for (j, value) in row.iter().enumerate() {
                turned[j][i] = *value;
            }
        }
        steps_of_rows(&mut turned);
        *rows = turned;
    }
}

macro_rules! compiled_for {
    ($module:ident, $features:literal) => {
        #[cfg(target_arch = "x86_64")]
        mod $module {
            #[target_feature(enable = $features)]
            pub(super) fn step(low: &mut [u32], high: &mut [u32]) {
                super::step(low, high);
            }

            #[target_feature(enable = $features)]
            pub(super) fn all_tiles(values: &mut [u32]) {
                super::all_tiles(values);
            }

            #[target_feature(enable = $features)]
            pub(super) fn multiply(a: &mut [u32], b: &[u32], turn: u32) {
                super::multiply_all(a, b, turn);
            }
        }
    };
}

compiled_for!(avx2, "avx2");
compiled_for!(avx512, "avx512f,avx512bw,avx512dq,avx512vl");

/// Defines a step under the best level.
macro_rules! dispatch {
    ($backend:ident, $function:ident($($argument:ident),*), $portable:expr) => {
        match $backend.level_for(Kernels::Walsh) {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: a back end of this level exists only where its instructions do.
            Level::Avx512 => unsafe { avx512::$function($($argument),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Level::Avx2 => unsafe { avx2::$function($($argument),*) },
            _ => $portable,
        }
    };
}

/// (low, high) ← (low + high, low - high).
pub(crate) fn butterflies(backend: Backend, low: &mut [u32], high: &mut [u32]) {
    assert_eq!(low.len(), high.len(), "halves of one length");
    dispatch!(backend, step(low, high), step(low, high));
}

/// The lowest eight steps; the lower four bits of an index and the next four have changed places after it.
pub(crate) fn tiles(backend: Backend, values: &mut [u32]) {
    dispatch!(backend, all_tiles(values), all_tiles(values));
}

/// a ← a·b·2^turn.
pub(crate) fn multiply_slices(backend: Backend, a: &mut [u32], b: &[u32], turn: u32) {
    assert_eq!(a.len(), b.len(), "one factor for each number");
    dispatch!(backend, multiply(a, b, turn), multiply_all(a, b, turn));
}

#[inline(always)]
fn multiply_all(a: &mut [u32], b: &[u32], turn: u32) {
    for (a, b) in a.iter_mut().zip(b) {
        *a = multiply(*a, *b).rotate_left(turn);
    }
}
