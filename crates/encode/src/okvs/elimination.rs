//! Gaussian elimination of rows with bands.
//!
//! A row is kept at its *pivot*, the column of its first one, and shifted so that this is bit 0. A new row
//! meets the row that is kept at its first one. That row is added to it, which moves its first one further,
//! and so on until the new row reaches a free column. No row grows out of its band: the row kept at column c
//! started at c or before, hence it ends before c + w.
//!
//! Which columns become pivots depends on the space that the rows span, not on their order. So does the
//! solution, once the free columns are given. Rows may therefore come in any order, and segments of the table
//! may be treated on their own: a row whose first one moves beyond its segment is put aside and goes on
//! later.

use vesica_crypto::band::{BandRow, XorValue};

use super::rows::WORDS;

/// A row whose first one lies beyond its segment, with its value.
pub(super) struct Overhang<V> {
    pub(super) row: BandRow<WORDS>,
    pub(super) value: V,
}

/// A row was the sum of others.
#[derive(Debug)]
pub(super) struct Dependent;

/// Columns `first`, `first + 1`, … of the table, and the rows kept there.
pub(super) struct Segment<'a, V> {
    pub(super) first: usize,
    /// Zero where no row is kept.
    pub(super) bands: &'a mut [[u64; WORDS]],
    /// At pivots the values of the rows kept.
    pub(super) table: &'a mut [V],
}

impl<V: XorValue> Segment<'_, V> {
    /// Keeps a row whose bit 0 is set. If its first one moves beyond the segment, returns what the row has
    /// become.
    #[inline]
    pub(super) fn insert(
        &mut self,
        row: BandRow<WORDS>,
        mut value: V,
    ) -> Result<Option<Overhang<V>>, Dependent> {
        let (mut column, mut band) = (row.start as usize - self.first, row.band);
        while let Some(kept) = self.bands.get_mut(column) {
            if kept[0] == 0 {
                *kept = band;
                self.table[column] = value;
                return Ok(None);
            }
            for word in 0..WORDS {
                band[word] ^= kept[word];
            }
            value ^= self.table[column];
            column += skip_zeros(&mut band).ok_or(Dependent)?;
        }
        Ok(Some(Overhang { row: BandRow { start: (self.first + column) as u32, band }, value }))
    }
}

/// Shifts the first one of a band to bit 0. Returns by how far, or nothing if the band is zero.
#[inline]
fn skip_zeros<const N: usize>(band: &mut [u64; N]) -> Option<usize> {
    let mut skipped = 0;
    while band[0] == 0 {
        if skipped == 64 * N {
            return None;
        }
        band.copy_within(1.., 0);
        band[N - 1] = 0;
        skipped += 64;
    }
    let by = band[0].trailing_zeros();
    for word in 0..N - 1 {
        band[word] = band[word] >> by | (band[word + 1] << 1) << (63 - by);
    }
    band[N - 1] >>= by;
    Some(skipped + by as usize)
}
