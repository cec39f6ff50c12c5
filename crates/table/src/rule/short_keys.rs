//! Applies rules to a batch of short values. Values are copied to the blocks in which they will be hashed,
//! and their classes of bytes tell whether the copy is canonical. Invalid, unusual and long values are left
//! to [`Rule::apply`].

use vesica_crypto::short_keys::{BLOCK, CharClasses, copy_to_blocks};
use vesica_encode::items::ShortKey;

use super::Rule;
use super::email::{GMAIL, GOOGLEMAIL};

impl Rule {
    /// Whether [`Rule::is_canonical`] is true for some values.
    pub(crate) fn has_short_keys(self) -> bool {
        use Rule::*;
        matches!(self, Raw | Text | Email | EmailUid2 | EmailMeta | EmailGoogle | Int)
    }

    /// Copies values into blocks, in lower case unless the rule is case-sensitive. A value that is too long
    /// counts as empty.
    pub(crate) fn copy_to_blocks(
        self,
        values: &[&[u8]],
        blocks: &mut [[u8; BLOCK]],
        classes: &mut [CharClasses],
    ) {
        match self {
            Rule::Raw => copy_to_blocks::<{ ShortKey::AT }, false>(values, blocks, classes),
            _ => copy_to_blocks::<{ ShortKey::AT }, true>(values, blocks, classes),
        }
    }

    /// Whether the bytes that [`Rule::copy_to_blocks`] wrote, of these classes, are the canonical bytes of the value.
    #[inline]
    pub(crate) fn is_canonical(self, classes: &CharClasses, bytes: &[u8]) -> bool {
        let Some(last) = bytes.len().checked_sub(1) else { return false };
        let all = u64::MAX >> (BLOCK - bytes.len());
        // The conditions of `check`, for visible characters and a short address.
        let is_address = || {
            let at = classes.ats.trailing_zeros() as usize;
            classes.visible == all && classes.ats.is_power_of_two() && 0 < at && at < last
        };
        match self {
            Rule::Raw => true,
            // Case folding and NFC do not change lower-case ASCII, and there is no white space at the ends.
            Rule::Text => {
                classes.beyond_ascii == 0 && classes.visible & 1 << last != 0 && classes.visible & 1 != 0
            }
            Rule::Email | Rule::EmailMeta => is_address(),
            Rule::EmailUid2 => is_address() && !bytes.ends_with(GMAIL),
            Rule::EmailGoogle => is_address() && ![GMAIL, GOOGLEMAIL].iter().any(|of| bytes.ends_with(of)),
            Rule::Int => classes.digits == all && (bytes[0] != b'0' || last == 0),
            _ => false,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::rule::{Part, Value};

    #[test]
    fn what_is_canonical_is_what_the_rule_gives() {
        let mut rng = StdRng::seed_from_u64(18);
        let mut placed = [0; Rule::ALL.len()];
        for _ in 0..3000 {
            let values: Vec<Vec<u8>> = (0..ShortKey::BATCH).map(|_| value(&mut rng)).collect();
            let texts: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
            for (rule, count) in Rule::ALL.into_iter().zip(&mut placed) {
                let (mut blocks, mut classes) =
                    (vec![[0xaa; BLOCK]; texts.len()], vec![CharClasses::default(); texts.len()]);
                rule.copy_to_blocks(&texts, &mut blocks, &mut classes);
                for ((text, block), classes) in texts.iter().zip(&blocks).zip(&classes) {
                    if text.len() > ShortKey::LONGEST {
                        assert_eq!(*classes, CharClasses::default());
                        continue;
                    }
                    let (bytes, behind) = block[ShortKey::AT..].split_at(text.len());
                    assert!(behind.iter().all(|byte| *byte == 0));
                    let mut expected = Vec::new();
                    let found = rule.apply(Value::Text((*text).into()), &mut expected);
                    if rule.is_canonical(classes, bytes) {
                        let text = String::from_utf8_lossy(text);
                        assert!(found == Ok(Part::Present) && expected == bytes, "{rule} {text:?}");
                        *count += 1;
                    }
                }
            }
        }
        for (rule, count) in Rule::ALL.into_iter().zip(placed) {
            assert_eq!(count > 1000, rule.has_short_keys(), "{rule}: {count}");
        }
    }

    /// Something like an address, a number or text, sometimes with an unusual byte.
    pub(crate) fn value(rng: &mut StdRng) -> Vec<u8> {
        let length = rng.random_range(0..70);
        let letters: &[u8] =
            [&b"0123456789"[..], b"aZ09.+ -", b"bcxyzABCXYZ09@[`{!~_"][rng.random_range(0..3)];
        let mut bytes: Vec<u8> = (0..length).map(|_| letters[rng.random_range(0..letters.len())]).collect();
        if rng.random_range(0..3) > 0 {
            bytes.retain(|byte| *byte != b'@');
            let domain = [&b"@gmail.com"[..], b"@GMail.com", b"@notgmail.com", b"@googlemail.com", b"@e.org"]
                [rng.random_range(0..5)];
            bytes.truncate(rng.random_range(0..50));
            bytes.extend_from_slice(domain);
        }
        if !bytes.is_empty() && rng.random_range(0..4) == 0 {
            let at = rng.random_range(0..bytes.len());
            bytes[at] = [rng.random(), b' ', b'\t', 0x0b, 0x7f, b'@', b'0', 0][rng.random_range(0..8)];
        }
        bytes
    }
}
