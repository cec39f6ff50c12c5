//! The Chinese remainder theorem.

use crypto_bigint::{BoxedUint, ConcatenatingMul};
use zeroize::Zeroizing;

use super::{Modulus, Residue, Residues};

/// Two secret coprime factors of a modulus n = p·q of the same length, and what it takes to go from residues
/// modulo n to those modulo p and q, and back.
#[derive(Clone, Debug)]
pub struct Crt {
    n: Modulus,
    p: Modulus,
    q: Modulus,
    /// 1 / q modulo p.
    q_inverse: Residue,
}

impl Crt {
    /// From the factors; none if they are not odd and coprime, differ in length, or do not have a size that a
    /// [`Modulus`] may have. The larger becomes p.
    #[must_use]
    pub fn new(p: &BoxedUint, q: &BoxedUint) -> Option<Self> {
        let (p, q) = if p > q { (p, q) } else { (q, p) };
        let n = Zeroizing::new(p.concatenating_mul(q));
        let (n, p, q) =
            (Modulus::from_uint(&n).ok()?, Modulus::from_uint(p).ok()?, Modulus::from_uint(q).ok()?);
        if p.bits() != q.bits() {
            return None;
        }
        let q_inverse = p.invert(&p.batch(&p.residue(q.value())))?.get(0);
        Some(Self { n, p, q, q_inverse })
    }

    /// n.
    #[must_use]
    pub fn modulus(&self) -> &Modulus {
        &self.n
    }

    /// p and q, the larger first.
    #[must_use]
    pub fn factors(&self) -> (&Modulus, &Modulus) {
        (&self.p, &self.q)
    }

    /// The residues modulo p, and modulo q.
    #[must_use]
    pub fn split(&self, residues: &Residues) -> (Residues, Residues) {
        let mut encoded = Zeroizing::new(Vec::new());
        self.n.encode(residues, &mut encoded);
        (self.p.reduce(&encoded, self.n.bytes()), self.q.reduce(&encoded, self.n.bytes()))
    }

    /// The residues modulo n that have these residues modulo p and q: b + q·((a - b) / q mod p). As b is below q,
    /// which is below p, it is also a residue modulo p.
    ///
    /// # Panics
    /// If the batches differ in length.
    #[must_use]
    pub fn join(&self, modulo_p: &Residues, modulo_q: &Residues) -> Residues {
        let quotients = self.p.mul_one(&self.p.sub(modulo_p, modulo_q), &self.q_inverse);
        let mut joined = self.n.none(quotients.len());
        let mut words = Zeroizing::new(Vec::new());
        for (low, quotient) in modulo_q.each_words().zip(quotients.each_words()) {
            let quotient = Zeroizing::new(BoxedUint::from_words(quotient.iter().copied()));
            let mut sum = Zeroizing::new(self.q.value().concatenating_mul(&*quotient));
            let low = Zeroizing::new(BoxedUint::from_words(low.iter().copied()));
            sum.wrapping_add_assign(&*low);
            words.clear();
            words.extend_from_slice(&sum.as_words()[..self.n.words()]);
            joined.push_words(&words);
        }
        joined
    }
}
