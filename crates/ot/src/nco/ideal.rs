//! The ideal twin of 1-out-of-N OT and of the batched OPRF: a random function F whose key a dealer draws.
//! Only tests can reach it.
//!
//! ```text
//! receiver, words w_j                              sender
//! draws the dealer's key      ── key ──►
//! F(j, w_j)                                        F(j, ·)
//! ```
//!
//! The receiver plays the dealer, since the sender cannot send later. F is BLAKE3 under the key, over the
//! number of the first OT of a group and the group's words.

use rand_core::CryptoRng;
use vesica_channel::{Channel, RecvHalf};
use vesica_crypto::block::Block;
use vesica_crypto::hash::{Context, Oracle};

use super::traits::{NcoReceiver, NcoSender, Step};
use crate::error::Error;

/// A word that can be chosen in an OT.
pub trait Word: Copy {
    /// Bytes that differ for different words.
    fn bytes(self) -> [u8; 16];
}

impl Word for u8 {
    fn bytes(self) -> [u8; 16] {
        u128::from(self).to_le_bytes()
    }
}

impl Word for Block {
    fn bytes(self) -> [u8; 16] {
        self.to_bytes()
    }
}

/// F, and the number of the next OT.
struct Dealer {
    function: Oracle,
    next: u64,
}

impl Dealer {
    fn new(key: [u8; 32]) -> Self {
        Self { function: Oracle::with_key(key), next: 0 }
    }

    /// The number of the first of the next `count` OTs.
    fn take(&mut self, count: usize) -> u64 {
        let first = self.next;
        self.next += count as u64;
        first
    }

    fn output<T: Word>(&self, number: u64, words: &[T]) -> Block {
        let input: Vec<u8> = words.iter().flat_map(|word| word.bytes()).collect();
        let mut output = Block::ZERO;
        self.function.hash_parts(&[&number.to_le_bytes(), &input], output.as_mut_bytes());
        output
    }
}

/// Learns F(j, ·) at one word.
pub struct Receiver(Dealer);

impl Receiver {
    /// Draws the dealer's key and sends it.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn setup(_: &Context, channel: &mut dyn Channel, rng: &mut dyn CryptoRng) -> Result<Self, Error> {
        let mut key = [0; 32];
        rng.fill_bytes(&mut key);
        channel.send(&key)?;
        channel.flush()?;
        Ok(Self(Dealer::new(key)))
    }
}

impl<T: Word> NcoReceiver<T> for Receiver {
    fn extend_in_steps(
        &mut self,
        size: usize,
        words: &[T],
        outputs: &mut [Block],
        _: &mut dyn Channel,
        _: &mut dyn FnMut(Step),
    ) -> Result<(), Error> {
        assert_eq!(words.len(), size * outputs.len(), "one output a group of words");
        let numbers = (self.0.take(words.len())..).step_by(size);
        for ((number, words), output) in numbers.zip(words.chunks(size)).zip(outputs) {
            *output = self.0.output(number, words);
        }
        Ok(())
    }
}

/// Can compute F(j, ·).
pub struct Sender(Dealer);

impl Sender {
    /// Receives the dealer's key.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn setup(_: &Context, channel: &mut dyn Channel, _: &mut dyn CryptoRng) -> Result<Self, Error> {
        let mut key = [0; 32];
        channel.recv_exact(&mut key)?;
        Ok(Self(Dealer::new(key)))
    }
}

impl<T: Word, const W: usize> NcoSender<T, W> for Sender {
    fn next(&self) -> u64 {
        self.0.next
    }

    /// A row holds the number of its OT and nothing else.
    fn extend(&mut self, rows: &mut [[Block; W]], _: &mut dyn RecvHalf) -> Result<(), Error> {
        for (number, row) in (self.0.take(rows.len())..).zip(rows) {
            *row = [Block::ZERO; W];
            row[0] = Block::from(u128::from(number));
        }
        Ok(())
    }

    /// # Panics
    /// If a row is not that of the OT whose number follows from `first`.
    fn evaluate_groups(
        &self,
        size: usize,
        first: u64,
        rows: &[[Block; W]],
        at: &[u32],
        words: &[T],
        outputs: &mut [Block],
    ) {
        assert!(
            words.len() == size * at.len() && at.len() == outputs.len(),
            "a group of words for each of `at`"
        );
        for ((at, words), output) in at.iter().zip(words.chunks(size)).zip(outputs) {
            let number = first + u64::from(*at);
            for (number, row) in (number..).zip(&rows[*at as usize..][..size]) {
                assert!(row[0] == Block::from(u128::from(number)), "the row of OT number {number}");
            }
            *output = self.0.output(number, words);
        }
    }
}
