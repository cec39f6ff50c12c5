//! Every block's messages and outputs, from fixed seeds, against a file of digests: one for what the sender
//! sent, one for the receiver, one for the outputs of both.
//!
//! A change of a line is a change of the protocol, named in the commit.
//! `UPDATE_VECTORS=1 cargo test -p vesica-ot --test blocks` writes the file anew.

use std::fmt::Write;
use std::fs;

use super::*;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/blocks/vectors.baseline");

/// The output of a party, for the digest.
trait Output {
    fn absorb(&self, hasher: &mut blake3::Hasher);
}

impl Output for Seed {
    fn absorb(&self, hasher: &mut blake3::Hasher) {
        hasher.update(self.as_bytes());
    }
}

impl Output for Block {
    fn absorb(&self, hasher: &mut blake3::Hasher) {
        hasher.update(self.as_bytes());
    }
}

impl<T: Output> Output for [T] {
    fn absorb(&self, hasher: &mut blake3::Hasher) {
        self.iter().for_each(|part| part.absorb(hasher));
    }
}

impl<T: Output, const N: usize> Output for [T; N] {
    fn absorb(&self, hasher: &mut blake3::Hasher) {
        self.as_slice().absorb(hasher);
    }
}

impl<T: Output> Output for Vec<T> {
    fn absorb(&self, hasher: &mut blake3::Hasher) {
        self.as_slice().absorb(hasher);
    }
}

impl<A: Output, B: Output> Output for (A, B) {
    fn absorb(&self, hasher: &mut blake3::Hasher) {
        self.0.absorb(hasher);
        self.1.absorb(hasher);
    }
}

impl Output for Evaluated {
    fn absorb(&self, hasher: &mut blake3::Hasher) {
        self.own.absorb(hasher);
        self.other.absorb(hasher);
    }
}

/// One line of the file.
fn pin<S: Output, R: Output>(lines: &mut String, name: &str, ran: &Ran<S, R>) {
    let mut hasher = blake3::Hasher::new();
    ran.sender.absorb(&mut hasher);
    ran.receiver.absorb(&mut hasher);
    let short = |digest: &[u8; 32]| digest[..8].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let [sender, receiver] = ran.sent.each_ref().map(short);
    let outputs = short(hasher.finalize().as_bytes());
    writeln!(lines, "{name}: sender {sender} receiver {receiver} outputs {outputs}").unwrap();
}

/// Lines of one extension: its rows, the strings of random OTs from them, and chosen and correlated OTs.
fn pin_extension<const W: usize, E: Extension<W>>(extension: E, lines: &mut String) {
    const COUNT: usize = 1500;
    let (name, choices) = (extension.name(), bytes(COUNT.div_ceil(8), 7));
    if name.starts_with("ideal") {
        return;
    }
    let ran = correlated_rows(extension, &choices, COUNT);
    pin(lines, &format!("{name}, rows"), &ran);
    let (sender, receiver) = random_strings(&ran);
    pin(lines, &format!("{name}, random strings"), &Ran { sender, receiver, sent: ran.sent });
    let pairs: Vec<_> =
        rows::<W>(COUNT, 8).into_iter().zip(rows(COUNT, 9)).map(|(zero, one)| [zero, one]).collect();
    pin(lines, &format!("{name}, chosen and correlated"), &transfer(extension, &choices, &pairs));
}

#[test]
fn messages_and_outputs_are_those_of_the_file() {
    let mut lines = String::new();
    let real = |name: &str| !name.starts_with("ideal");
    for (name, ran) in bases(&bytes(2, 10), 12) {
        if real(&name) {
            pin(&mut lines, &name, &ran);
        }
    }
    for_each_extension!(pin_extension(&mut lines));
    for (name, ran) in oprfs() {
        if real(&name) {
            pin(&mut lines, &name, &ran);
        }
    }
    if std::env::var_os("UPDATE_VECTORS").is_some() {
        fs::write(FILE, &lines).unwrap();
    }
    let pinned = fs::read_to_string(FILE).unwrap_or_default();
    for (now, pinned) in lines.lines().zip(pinned.lines()) {
        assert_eq!(now, pinned, "a block's bytes changed; if that was meant, write the file anew");
    }
    assert_eq!(lines.lines().count(), pinned.lines().count(), "blocks in the file");
}
