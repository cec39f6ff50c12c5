//! Where the commas and line ends are.
//!
//! 64 bytes at a time become a word with a bit for each byte that is one; what is compared a byte at a time here, a
//! compiler compares a vector at a time. To look for each of them alone would cost a search a field.

/// Bytes that are looked at together.
const CHUNK: usize = 64;
/// Bytes whose marks are kept at a time: as many as stay in the cache until their fields are read.
const AHEAD: usize = 32 << 10;

/// Places of commas, carriage returns and line feeds in part of a buffer, ascending.
#[derive(Default)]
pub(super) struct Marks {
    places: Vec<u32>,
    next: usize,
    /// Up to here the buffer was looked at.
    end: usize,
}

impl Marks {
    /// Forgets all, for bytes that moved.
    pub(super) fn clear(&mut self) {
        self.restart(0);
    }

    fn restart(&mut self, end: usize) {
        self.places.clear();
        (self.next, self.end) = (0, end);
    }

    /// Goes back or ahead to the first mark that is not before `start`. `start` never goes back across bytes that were
    /// looked at before the last call with a larger one.
    pub(super) fn seek(&mut self, start: usize) {
        if self.end <= start {
            self.restart(start);
        }
        while self.places.get(self.next).is_some_and(|place| (*place as usize) < start) {
            self.next += 1;
        }
        while self.next > 0 && self.places[self.next - 1] as usize >= start {
            self.next -= 1;
        }
    }

    /// The next mark in `buffer`, of which nothing is looked at beyond `limit`.
    #[inline(always)]
    pub(super) fn next(&mut self, buffer: &[u8], limit: usize) -> Option<usize> {
        loop {
            if let Some(place) = self.places.get(self.next) {
                self.next += 1;
                return Some(*place as usize);
            }
            if self.end >= limit {
                return None;
            }
            self.look(buffer, limit);
        }
    }

    /// Looks further; the marks of an unfinished line are kept.
    #[inline(never)]
    fn look(&mut self, buffer: &[u8], limit: usize) {
        let (start, end) = (self.end, limit.min(self.end + AHEAD));
        let (chunks, rest) = buffer[start..end].as_chunks::<CHUNK>();
        for (number, chunk) in chunks.iter().enumerate() {
            self.keep(bits(chunk), start + number * CHUNK);
        }
        let mut last = [0; CHUNK];
        last[..rest.len()].copy_from_slice(rest);
        self.keep(bits(&last), end - rest.len());
        self.end = end;
    }

    #[inline(always)]
    fn keep(&mut self, mut bits: u64, base: usize) {
        while bits != 0 {
            self.places.push((base + bits.trailing_zeros() as usize) as u32);
            bits &= bits - 1;
        }
    }
}

/// Bit `i` is set if byte `i` is a comma, a carriage return or a line feed.
#[inline(always)]
fn bits(chunk: &[u8; CHUNK]) -> u64 {
    let mut found = [0u8; CHUNK];
    for (found, byte) in found.iter_mut().zip(chunk) {
        *found = u8::from(*byte == b',') | u8::from(*byte == b'\n') | u8::from(*byte == b'\r');
    }
    let (words, _) = found.as_chunks::<8>();
    let mut bits = 0;
    for (at, word) in words.iter().enumerate() {
        // Eight bytes of 0 or 1 move to the eight highest bits.
        let gathered = u64::from_le_bytes(*word).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bits |= gathered << (8 * at);
    }
    bits
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn marks_are_where_the_bytes_are() {
        let mut rng = StdRng::seed_from_u64(1);
        for length in [0, 1, 7, 63, 64, 65, 200, 5000, AHEAD - 1, AHEAD + 1, 3 * AHEAD + 17] {
            let buffer: Vec<u8> =
                (0..length).map(|_| b"abc,\n\r\xac\x0b\x8d-"[rng.random_range(0..10)]).collect();
            let is_mark = |place: &usize| matches!(buffer[*place], b',' | b'\n' | b'\r');
            let mut marks = Marks::default();
            for start in [0, length / 3, (length / 3 + 1).min(length), length / 2, length] {
                let limit = rng.random_range(start..=length);
                marks.seek(start);
                let found: Vec<usize> = std::iter::from_fn(|| marks.next(&buffer, limit)).collect();
                let expected: Vec<usize> = (start..limit).filter(is_mark).collect();
                // What was looked at under an earlier limit is known already.
                assert!(found.starts_with(&expected), "{length} {start} {limit}");
                assert!(found[expected.len()..].iter().all(|place| *place >= limit && is_mark(place)));
                marks.clear();
            }
            marks.seek(0);
            let all: Vec<usize> = std::iter::from_fn(|| marks.next(&buffer, length)).collect();
            marks.seek(length / 2);
            let half: Vec<usize> = std::iter::from_fn(|| marks.next(&buffer, length)).collect();
            assert!(all.iter().filter(|place| **place >= length / 2).eq(&half));
        }
    }
}
