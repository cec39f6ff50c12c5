//! Copies short texts into blocks of 64 bytes and classifies their bytes: one vector a text.

#[cfg(target_arch = "x86_64")]
use super::Level;
use super::{Backend, Kernels};

/// Bytes of a block.
pub const BLOCK: usize = 64;

/// The classes of the bytes of a text: bit `j` of each word stands for byte `j`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CharClasses {
    /// Visible ASCII characters, `!` to `~`.
    pub visible: u64,
    /// ASCII digits.
    pub digits: u64,
    /// `@`.
    pub ats: u64,
    /// Bytes outside of ASCII.
    pub beyond_ascii: u64,
}

/// Copies `texts[i]` into `blocks[i]` from byte `AT` on and sets the other bytes of the block to zero. With `LOWER`, ASCII
/// letters become lower case. Sets `classes[i]` to the classes of the text's bytes. A text that does not fit counts as
/// empty.
///
/// # Panics
/// If the lengths differ.
pub fn copy_to_blocks<const AT: usize, const LOWER: bool>(
    backend: Backend,
    texts: &[&[u8]],
    blocks: &mut [[u8; BLOCK]],
    classes: &mut [CharClasses],
) {
    const { assert!(0 < AT && AT < BLOCK, "a byte of the block") };
    assert!(
        texts.len() == blocks.len() && texts.len() == classes.len(),
        "a block and its classes for each text"
    );
    match backend.level_for(Kernels::ShortKeys) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a back end of this level exists only where its instructions do.
        Level::Avx512 => unsafe { x86::copy_to_blocks::<AT, LOWER>(texts, blocks, classes) },
        _ => {
            for ((text, block), classes) in texts.iter().zip(blocks).zip(classes) {
                *classes = portable::<AT, LOWER>(text, block);
            }
        }
    }
}

/// Eight bytes at a time.
fn portable<const AT: usize, const LOWER: bool>(text: &[u8], block: &mut [u8; BLOCK]) -> CharClasses {
    const HIGH: u64 = repeated(0x80);
    *block = [0; BLOCK];
    let mut padded = [0; BLOCK];
    let mut classes = CharClasses::default();
    let Some(own) = block[AT..].get_mut(..text.len()) else { return classes };
    padded[..text.len()].copy_from_slice(text);
    let words = padded.as_chunks_mut::<8>().0;
    for (number, word) in words.iter_mut().enumerate().take(text.len().div_ceil(8)) {
        let bytes = u64::from_le_bytes(*word);
        let low = bytes & !HIGH;
        // The high bit of each byte that is in the range; no sum carries into the next byte.
        let within = |first: u8, last: u8| {
            (low + repeated(0x80 - first)) & !(low + repeated(0x7f - last)) & !bytes & HIGH
        };
        // The eight high bits side by side.
        let mark = |high: u64| ((high >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * number);
        classes.visible |= mark(within(b'!', b'~'));
        classes.digits |= mark(within(b'0', b'9'));
        classes.ats |= mark(within(b'@', b'@'));
        classes.beyond_ascii |= mark(bytes & HIGH);
        if LOWER {
            *word = (bytes | within(b'A', b'Z') >> 2).to_le_bytes();
        }
    }
    own.copy_from_slice(&padded[..text.len()]);
    classes
}

const fn repeated(byte: u8) -> u64 {
    byte as u64 * 0x0101_0101_0101_0101
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::*;

    use super::{BLOCK, CharClasses};

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn copy_to_blocks<const AT: usize, const LOWER: bool>(
        texts: &[&[u8]],
        blocks: &mut [[u8; BLOCK]],
        classes: &mut [CharClasses],
    ) {
        let mut i = 0;
        while i < texts.len() && i < blocks.len() && i < classes.len() {
            let text = texts[i];
            let there = if text.len() <= BLOCK - AT { ((1 << text.len()) - 1) << AT } else { 0 };
            // SAFETY: the bytes of the mask are those of the text; others are not accessed, so it may begin
            // before the text.
            let bytes = unsafe { _mm512_maskz_loadu_epi8(there, text.as_ptr().wrapping_sub(AT).cast()) };
            classes[i] = CharClasses {
                visible: within(bytes, b'!', b'~') >> AT,
                digits: within(bytes, b'0', b'9') >> AT,
                ats: within(bytes, b'@', b'@') >> AT,
                beyond_ascii: _mm512_movepi8_mask(bytes) >> AT,
            };
            let mut own = bytes;
            if LOWER {
                let lower = _mm512_set1_epi8(0x20);
                own = _mm512_mask_add_epi8(bytes, within(bytes, b'A', b'Z'), bytes, lower);
            }
            // SAFETY: 64 writable bytes; the store has no alignment.
            unsafe { _mm512_storeu_si512(blocks[i].as_mut_ptr().cast(), own) };
            i += 1;
        }
    }

    /// The bytes in a range without zero.
    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    fn within(bytes: __m512i, first: u8, last: u8) -> u64 {
        let above = _mm512_sub_epi8(bytes, _mm512_set1_epi8(first as i8));
        _mm512_cmple_epu8_mask(above, _mm512_set1_epi8((last - first) as i8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<const AT: usize, const LOWER: bool>(texts: &[&[u8]]) {
        for backend in Backend::available() {
            let mut blocks = vec![[0xaa; BLOCK]; texts.len()];
            let mut classes =
                vec![CharClasses { visible: !0, digits: !0, ats: !0, beyond_ascii: !0 }; texts.len()];
            copy_to_blocks::<AT, LOWER>(backend, texts, &mut blocks, &mut classes);
            for ((text, block), classes) in texts.iter().zip(&blocks).zip(&classes) {
                let text = if text.len() <= BLOCK - AT { *text } else { &[] };
                let mut expected = [0; BLOCK];
                let own = if LOWER { text.to_ascii_lowercase() } else { text.to_vec() };
                expected[AT..][..text.len()].copy_from_slice(&own);
                assert_eq!(*block, expected, "{backend:?}");
                let marks = |is: fn(&u8) -> bool| {
                    text.iter().enumerate().map(|(at, byte)| u64::from(is(byte)) << at).sum()
                };
                let expected = CharClasses {
                    visible: marks(u8::is_ascii_graphic),
                    digits: marks(u8::is_ascii_digit),
                    ats: marks(|byte| *byte == b'@'),
                    beyond_ascii: marks(|byte| !byte.is_ascii()),
                };
                assert_eq!(*classes, expected, "{backend:?} {text:x?}");
            }
        }
    }

    #[test]
    fn every_back_end_copies_every_byte() {
        let bytes: Vec<u8> = (0..1000u32).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 13) as u8).collect();
        let all: Vec<u8> = (0..=255).collect();
        let mut texts: Vec<&[u8]> = (0..70).map(|length| &bytes[length * 13..][..length]).collect();
        texts.extend(all.chunks(59));
        texts.extend(all.chunks(7));
        check::<5, true>(&texts);
        check::<5, false>(&texts);
        check::<1, true>(&texts);
        check::<63, false>(&texts);
    }
}
