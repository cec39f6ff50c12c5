//! The ideal twin of triples: both parties expand one seed, and each keeps its own shares. Only tests can
//! reach it.

use vesica_crypto::prg::Prg;

use super::triples::{Correlations, Received, Sent, Triples};
use crate::bits::Bits;
use crate::engine::Party;
use crate::error::Error;

/// A dealer that deals the same to both parties, without a message.
pub struct Dealer {
    party: Party,
    stream: Prg,
}

impl Dealer {
    /// The dealer of a party. The seed of both is the same.
    #[must_use]
    pub fn new(party: Party, seed: [u8; 16]) -> Self {
        Dealer { party, stream: Prg::from_seed(seed) }
    }

    fn row(&mut self, count: usize) -> Bits {
        let mut bytes = vec![0; count.div_ceil(8)];
        self.stream.fill(&mut bytes);
        Bits::from_bytes(&bytes, count)
    }

    fn rows(&mut self, count: usize, width: usize) -> Vec<Bits> {
        (0..width).map(|_| self.row(count)).collect()
    }

    fn private(&mut self, count: usize, width: usize) -> (Received, Sent) {
        let choices = self.row(count);
        let (zeros, differences) = (self.rows(count, width), self.rows(count, width));
        let pairs = zeros.iter().zip(&differences);
        let strings = pairs.map(|(zero, difference)| {
            choices
                .zip_words(difference, |choice, difference| choice & difference)
                .zip_words(zero, |a, b| a ^ b)
        });
        (Received { strings: strings.collect(), choices }, Sent { zeros, differences })
    }
}

impl Correlations for Dealer {
    fn bits(&mut self, count: usize) -> Result<Triples, Error> {
        self.strings(count, 1)
    }

    fn received(&mut self, count: usize, width: usize) -> Result<Received, Error> {
        Ok(self.private(count, width).0)
    }

    fn sent(&mut self, count: usize, width: usize) -> Result<Sent, Error> {
        Ok(self.private(count, width).1)
    }

    fn strings(&mut self, count: usize, width: usize) -> Result<Triples, Error> {
        // The receiver's bits first.
        let [(mine, theirs), (other, sent)] = [self.private(count, width), self.private(count, width)];
        Ok(match self.party {
            Party::Receiver => Triples::of(mine, sent),
            Party::Sender => Triples::of(other, theirs),
        })
    }
}
