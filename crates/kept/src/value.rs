//! From the output of the PRF to a value of a set file.

use crate::error::KeptError;

/// −log2 of the probability that a query has a false match.
const STATISTICAL: u32 = 40;
/// The widest value, in bits.
pub(crate) const WIDEST: u32 = 128;

/// The value of a key: the first `width` bits of F(x), as a big-endian number. A width over 128 counts as 128.
#[must_use]
pub fn cut(output: &[u8; 64], width: u32) -> u128 {
    let first = output.first_chunk::<16>().copied().unwrap_or_default();
    u128::from_be_bytes(first).checked_shr(WIDEST.saturating_sub(width)).unwrap_or(0)
}

/// The bits of a value, for a set of `keys` keys (N) and queries of at most `most_keys_a_query` keys (n):
/// `40 + ⌈log2 N⌉ + ⌈log2 n⌉`. Then a query has a false match with probability at most `n·N / 2^w ≤ 2^-40`.
///
/// # Errors
///
/// [`KeptError::TooManyKeys`] beyond 128 bits.
pub fn width(keys: u64, most_keys_a_query: u32) -> Result<u32, KeptError> {
    let width = STATISTICAL + bits_above(keys) + bits_above(most_keys_a_query.into());
    match width <= WIDEST {
        true => Ok(width),
        false => Err(KeptError::TooManyKeys { keys, most_keys_a_query }),
    }
}

/// ⌈log2 max(number, 1)⌉.
fn bits_above(number: u64) -> u32 {
    u64::BITS - number.saturating_sub(1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_the_first_bits_of_the_output() {
        let output: [u8; 64] = std::array::from_fn(|index| index as u8 + 0x81);
        assert_eq!(cut(&output, 128), 0x8182_8384_8586_8788_898a_8b8c_8d8e_8f90);
        assert_eq!(cut(&output, 41), 0x8182_8384_8586_8788 >> 23);
        assert_eq!((cut(&output, 1), cut(&output, 0), cut(&output, 500)), (1, 0, cut(&output, 128)));
    }

    #[test]
    fn widths_are_those_of_the_formula() {
        let widths = [(0, 0), (1, 1), (2, 1), (3, 2), (1 << 20, 1 << 8), ((1 << 20) + 1, 1 << 20)];
        let widths = widths.map(|(keys, most)| width(keys, most).unwrap());
        assert_eq!(widths, [40, 40, 41, 43, 68, 81]);
        assert_eq!(width(u64::MAX, 1 << 24).unwrap(), 128);
        assert!(matches!(width(u64::MAX, (1 << 24) + 1), Err(KeptError::TooManyKeys { .. })));
    }
}
