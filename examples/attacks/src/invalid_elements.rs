//! The identity, and encodings that no group element has, against every protocol on groups.
//!
//! If a party took them, then in `dh`
//!
//! - a sender that answers with the identity would know what the receiver computes from it, whatever the
//!   receiver's key: it adds the mask of the identity to its own, and all items of the receiver match;
//! - an element of small order in an answer, raised to a secret key, would tell the key modulo that order;
//! - a second encoding of one element would tell an item by the bytes of its answer;
//!
//! and in a base OT the identity would make both strings known. Every element that arrives is decoded by its
//! group: ristretto255 (RFC 9496) has one encoding for each element and no small order. The identity is
//! refused besides.

use std::fmt;

use vesica::registry::{self, Entry};
use vesica_channel::tampered::{self, Direction};
use vesica_channel::{Kind, Stream};
use vesica_crypto::bigint::modp;
use vesica_protocols::testing::{Case, Planted, planted_for, run_over};
use vesica_protocols::{DEFAULT_LEVEL, Error, Misbehaviour, Parameters, Role, Security};

/// Bytes in place of a group element.
pub type Encoding = (&'static str, Vec<u8>);

/// A protocol whose parties send group elements first.
struct Target {
    protocol: &'static str,
    security: Security,
    level: u32,
    /// Items of the two parties; `dh` has a form for each order of the sizes.
    sizes: [usize; 2],
    cheaters: &'static [Role],
    encodings: fn() -> Vec<Encoding>,
}

/// Every protocol on groups, and every one that starts from base OTs.
const TARGETS: &[Target] = &[
    Target::new("dh", [20, 30], ristretto255),
    Target::new("dh", [30, 20], ristretto255),
    Target::new("dh-ffc", [20, 30], modulo_1024_bits).at_level_80(),
    Target::new("dh-ffc", [30, 20], modulo_1024_bits).at_level_80(),
    Target::new("dt-dl", [20, 30], modulo_1024_bits).at_level_80(),
    // The sender begins with a modulus, which has a proof of its own.
    Target::new("blind-rsa", [20, 30], no_residue).at_level_80().from(&[Role::Receiver]),
    Target::new("dt-rsa", [20, 30], no_residue).at_level_80().from(&[Role::Receiver]),
    Target::new("ope", [20, 30], ristretto255),
    Target::new("dkt", [20, 30], ristretto255).malicious(),
    Target::new("vole", [20, 30], ristretto255),
    Target::new("kkrt", [20, 30], ristretto255),
    Target::new("ot-phasing", [20, 30], ristretto255),
    Target::new("ot-psi", [20, 30], ristretto255),
    Target::new("gbf-random", [20, 30], ristretto255),
    Target::new("gbf", [20, 30], ristretto255),
    Target::new("gbf-rr16", [20, 30], ristretto255).malicious(),
    Target::new("gbf-dcw-malicious", [20, 30], ristretto255).malicious(),
];

impl Target {
    const fn new(protocol: &'static str, sizes: [usize; 2], encodings: fn() -> Vec<Encoding>) -> Self {
        let cheaters = &[Role::Receiver, Role::Sender];
        Target { protocol, security: Security::SemiHonest, level: DEFAULT_LEVEL, sizes, cheaters, encodings }
    }

    const fn at_level_80(self) -> Self {
        Target { level: 80, ..self }
    }

    const fn malicious(self) -> Self {
        Target { security: Security::Malicious, ..self }
    }

    const fn from(self, cheaters: &'static [Role]) -> Self {
        Target { cheaters, ..self }
    }

    fn case(&self) -> Case {
        let parameters = Parameters { security: self.security, level: self.level, ..Parameters::default() };
        Case { parameters, ..Case::default() }
    }

    /// The protocol, if the registry has it, and its sets.
    fn agreed(&self) -> Option<(&'static Entry, Planted)> {
        let [receiver, sender] = self.sizes;
        let sets = planted_for(&self.case().parameters, receiver, sender, 5, 1);
        Some((registry::find(self.protocol)?, sets))
    }
}

/// What is wrong modulo the prime of level 80, where x and -x are one element, written as the lesser.
fn modulo_1024_bits() -> Vec<Encoding> {
    let prime = modp::modulus(1024).map_or_else(Vec::new, |modulus| modulus.to_be_bytes());
    let small = |value: u8| {
        let mut bytes = vec![0; 128];
        bytes[127] = value;
        bytes
    };
    let mut negative = prime.clone();
    if let Some(last) = negative.last_mut() {
        // 4 is an element, and p - 4 another encoding of it.
        *last -= 4;
    }
    vec![
        ("zero", small(0)),
        ("the identity", small(1)),
        ("an element with the other sign", negative),
        ("the modulus", prime),
        ("a number of 1024 bits", vec![0xff; 128]),
    ]
}

/// What is no residue of any modulus of 1024 bits.
fn no_residue() -> Vec<Encoding> {
    vec![("zero", vec![0; 128]), ("a number above the modulus", vec![0xff; 128])]
}

/// What is wrong in ristretto255.
fn ristretto255() -> Vec<Encoding> {
    let mut prime = vec![0xff; 32];
    (prime[0], prime[31]) = (0xed, 0x7f);
    let mut negative = vec![0; 32];
    negative[0] = 1;
    vec![
        ("the identity", vec![0; 32]),
        ("the identity, not canonical", prime),
        ("a negative field element", negative),
        ("a number of 256 bits", vec![0xff; 32]),
    ]
}

/// What came of one encoding.
#[derive(Debug)]
pub struct Refusal {
    /// The protocol.
    pub protocol: &'static str,
    /// Who sent it.
    pub cheater: Role,
    /// What it was.
    pub encoding: &'static str,
    /// What the other party ended with.
    pub result: Result<(), Error>,
}

impl Refusal {
    /// Whether it was refused as what it is, at its position.
    #[must_use]
    pub fn is_right(&self) -> bool {
        matches!(
            &self.result,
            Err(Error::PeerMisbehaved(Misbehaviour::InvalidElement { position: 0 }))
                | Err(Error::PeerMisbehaved(Misbehaviour::Transfer(vesica_ot::Error::InvalidElement {
                    position: 0
                })))
        )
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: the {} sends {}: ", self.protocol, self.cheater, self.encoding)?;
        match &self.result {
            Ok(()) => f.write_str("ACCEPTED"),
            Err(error) => write!(f, "refused: {error}"),
        }
    }
}

/// Sends each wrong encoding in place of the first element of each party of every protocol.
#[must_use]
pub fn send_all() -> Vec<Refusal> {
    let mut refusals = Vec::new();
    for target in TARGETS {
        let Some((entry, sets)) = target.agreed() else { continue };
        for &cheater in target.cheaters {
            for (encoding, bytes) in (target.encodings)() {
                let result = send(entry, &sets, target.case(), cheater, bytes);
                refusals.push(Refusal { protocol: target.protocol, cheater, encoding, result });
            }
        }
    }
    refusals
}

/// What the honest party ends with.
fn send(entry: &Entry, sets: &Planted, case: Case, cheater: Role, bytes: Vec<u8>) -> Result<(), Error> {
    let ended = run_over(entry, sets, case, forging(cheater, bytes));
    match cheater {
        Role::Receiver => ended.sender.map(|_| ()),
        Role::Sender => ended.receiver.map(|_| ()),
    }
}

/// A connection, receiver's end first, on which the first bytes that `cheater` sends are others.
fn forging(cheater: Role, bytes: Vec<u8>) -> (Stream, Stream) {
    let mut unsent = bytes;
    tampered::pair(move |direction, mut frame| {
        let from = match direction {
            Direction::FirstToSecond => Role::Receiver,
            Direction::SecondToFirst => Role::Sender,
        };
        if from == cheater && frame.kind == Kind::Data {
            let count = unsent.len().min(frame.payload.len());
            frame.payload[..count].copy_from_slice(&unsent[..count]);
            unsent.drain(..count);
        }
        vec![frame]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wrong_encoding_is_refused() {
        let refusals = send_all();
        assert!(refusals.len() > 100);
        for refusal in &refusals {
            assert!(refusal.is_right(), "{refusal}");
        }
    }

    /// The wire forges nothing else: a run with the bytes that were sent anyway ends well.
    #[test]
    fn a_wire_that_forges_nothing_is_honest() {
        for target in TARGETS {
            let Some((entry, sets)) = target.agreed() else { continue };
            assert_eq!(send(entry, &sets, target.case(), Role::Sender, Vec::new()), Ok(()));
        }
    }
}
