//! Items as numbers of σ bits, which [`vesica_circuit::bits::rows`] makes rows of.
//!
//! A number is either a native item, an integer below 2^σ, or a hash of an item under the context of the run,
//! of σ = ℓ = λ + ⌈log2 n_r⌉ + ⌈log2 n_s⌉ bits: two different items of the two parties then become one number
//! with probability at most 2^-λ.

use vesica_crypto::hash::Label;
use vesica_encode::items::Items;

use crate::error::Error;
use crate::masks::{MaskWidth, mask_bits};
use crate::parameters::Parameters;
use crate::protocol::{Run, Sizes};

/// Items hashed at a time.
const BATCH: usize = 1 << 10;

/// σ, for the formulas of an entry; also where it is more than a number can have.
pub fn sigma(sizes: Sizes, parameters: &Parameters) -> u32 {
    parameters.sigma.unwrap_or_else(|| mask_bits(sizes, parameters.statistical))
}

/// A number below 2^σ for each item, in the order of the items. Different items of this party have different
/// native numbers; hashes of `width` bits may coincide.
pub fn numbers(run: &Run<'_>, items: &Items, width: MaskWidth) -> Vec<u128> {
    if run.parameters.sigma.is_some() {
        return (0..items.len()).filter_map(|item| items.native(item)).map(u128::from).collect();
    }
    let oracle = run.context.oracle(Label::new("circuit: item to number"));
    let mut numbers = Vec::with_capacity(items.len());
    let (mut bytes, mut hashes) = (Vec::new(), vec![[0; 16]; BATCH.min(items.len())]);
    for first in (0..items.len()).step_by(BATCH) {
        let count = BATCH.min(items.len() - first);
        bytes.clear();
        items.gather(count, |index| first + index, &mut bytes);
        let hashes = &mut hashes[..count];
        oracle.hash_batch(&bytes, items.width(), hashes.as_flattened_mut(), 16);
        numbers.extend(hashes.iter().map(|hash| width.truncate(hash)));
    }
    numbers
}

/// The numbers and their width σ: native items as they are, digests hashed to ℓ bits.
///
/// # Errors
/// If the sets are so large that a number would need more than 128 bits.
pub fn numbers_of(run: &Run<'_>, items: &Items) -> Result<(Vec<u128>, u32), Error> {
    let width = MaskWidth::for_sizes(run.sizes, run.parameters.statistical)?;
    Ok((numbers(run, items, width), run.parameters.sigma.unwrap_or(width.bits())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{planted_for, run_of};
    use vesica_crypto::hash::Context;

    #[test]
    fn native_items_stay_as_they_are_and_digests_are_hashed_under_the_context() {
        let sizes = Sizes { receiver: 1500, sender: 1300 };
        let parameters = Parameters { sigma: Some(20), ..Parameters::default() };
        let sets = planted_for(&parameters, 1500, 1300, 10, 1);
        let run = run_of(Context::new(&[1; 32], "test", b"", 1500, 1300), sizes, parameters);
        let (numbers, sigma) = numbers_of(&run, &sets.receiver).unwrap();
        assert!(sigma == 20 && numbers.len() == 1500 && numbers.iter().all(|number| *number < 1 << 20));
        assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "distinct, in the order of the items");

        let sets = planted_for(&Parameters::default(), 1500, 1300, 10, 1);
        let hashed = |session: u8| {
            let context = Context::new(&[session; 32], "test", b"", 1500, 1300);
            numbers_of(&run_of(context, sizes, Parameters::default()), &sets.receiver).unwrap()
        };
        let (numbers, sigma) = hashed(1);
        assert_eq!((sigma, numbers.len()), (40 + 11 + 11, 1500));
        assert!(
            numbers.iter().all(|number| *number < 1 << 62) && numbers.iter().any(|number| *number >= 1 << 61)
        );
        let (others, _) = hashed(2);
        assert!(numbers.iter().zip(others.iter()).all(|(number, other)| number != other));
    }
}
