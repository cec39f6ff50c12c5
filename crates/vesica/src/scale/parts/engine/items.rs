//! From the rows of a table to the items of parts, batch by batch, for an engine that has the rows elsewhere.

use std::ops::ControlFlow;

use vesica_crypto::hash::Oracle;
use vesica_encode::items::{Encoding, Width};
use vesica_encode::parts::Parts;
use vesica_table::{Input, MatchRules, RecordBatch, Request, RowSink, TableError};
use vesica_text::{Text, text};

use crate::words::error::{Error, RunPhase};
use crate::words::settings::Settings;

/// The digests of the keys of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digests {
    /// Bytes of a digest.
    pub width: Width,
    /// The digests of each row, one for each rule to match by, side by side; zeros where it has none.
    pub bytes: Vec<u8>,
    /// Whether a row has that key.
    pub present: Vec<bool>,
    /// Rows without a key.
    pub nulls: u64,
    /// Rows whose key breaks its rule.
    pub invalid: u64,
}

/// The digests of a batch's keys, under the settings of the run: its security, and what is done with rows at fault.
///
/// # Errors
/// As reading a table; `name` is what they call it.
pub fn digests(
    name: &str,
    batch: RecordBatch,
    keys: &MatchRules,
    settings: &Settings,
) -> Result<Digests, Error> {
    let Encoding::Digest(width) = settings.encoding() else {
        return Err(not_in_parts("sigma"));
    };
    let request = Request {
        on_null: settings.on_null,
        on_invalid: settings.on_invalid,
        ..Request::matching(keys.clone(), Encoding::Digest(width))
    };
    let rows = batch.num_rows() * keys.count();
    let mut taken = Taken { width, bytes: vec![0; rows * width.bytes()], present: vec![false; rows] };
    let failed = |error: TableError| Error::table(RunPhase::Read, &error);
    let input = Input::keep_batches(name, batch.schema(), vec![batch]).map_err(failed)?;
    let read = input.load_into(&request, &mut taken, &mut |_| ControlFlow::Continue(()));
    let counts = read.map_err(failed)?.report();
    let Taken { bytes, present, .. } = taken;
    Ok(Digests { width, bytes, present, nulls: counts.nulls, invalid: counts.invalid })
}

struct Taken {
    width: Width,
    bytes: Vec<u8>,
    present: Vec<bool>,
}

impl RowSink for Taken {
    fn take(&mut self, row: u64, digest: &[u8]) -> ControlFlow<()> {
        let (row, width) = (row as usize, self.width.bytes());
        if let (Some(place), Some(present)) =
            (self.bytes.chunks_exact_mut(width).nth(row), self.present.get_mut(row))
        {
            place.copy_from_slice(digest);
            *present = true;
        }
        ControlFlow::Continue(())
    }
}

/// A fingerprint of each of these digests, under a key that only the engine has: the first eight bytes of BLAKE3 keyed with
/// it, little-endian. Equal digests have equal ones.
pub fn fingerprints(key: &[u8; 32], width: Width, digests: &[u8]) -> Vec<i64> {
    let mut bytes = vec![0; digests.len() / width.bytes() * 8];
    Oracle::with_key(*key).hash_batch(digests, width.bytes(), &mut bytes, 8);
    bytes.as_chunks().0.iter().map(|prefix| i64::from_le_bytes(*prefix)).collect()
}

/// The items of these digests under k, side by side, and the part of each.
pub fn keyed(k: &[u8; 32], parts: Parts, width: Width, digests: &[u8]) -> (Vec<u32>, Vec<u8>) {
    let mut items = vec![0; digests.len()];
    Parts::keyed(k, width, digests, &mut items);
    let part = |item: &[u8]| {
        let prefix = item.first_chunk().copied().map_or(0, u64::from_be_bytes);
        parts.of_prefix(prefix) as u32
    };
    (items.chunks_exact(width.bytes()).map(part).collect(), items)
}

/// The refusal of what an engine cannot do.
pub(super) fn not_in_parts(option: &'static str) -> Error {
    let option = Text::option(option);
    Error::usage(
        text!("an engine plays in parts, which do not go together with `{}`", option),
        "leave it out",
    )
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};
    use vesica_encode::items::Items;
    use vesica_encode::items::Split;

    use super::*;

    #[test]
    fn items_and_parts_are_those_of_a_split_in_one_process() {
        let (k, parts) = ([3; 32], Parts::new(7).unwrap());
        let mut rng = StdRng::seed_from_u64(4);
        for width in [Width::Digest128, Width::Digest256] {
            let names: Vec<String> = (0..500).map(|_| rng.next_u64().to_string()).collect();
            let items = Items::of_keys(width, &names).unwrap();
            let split = Split::new(&items, &k, parts).unwrap();
            let digests: Vec<u8> = items.digests().flatten().copied().collect();
            let (numbers, keyed) = keyed(&k, parts, width, &digests);
            for (number, item) in numbers.iter().zip(keyed.chunks_exact(width.bytes())) {
                let part = split.part(*number as usize, &mut rng).unwrap();
                assert!(part.digests().any(|other| other == item));
            }
        }
    }
}
