//! The formulas of the registry, as people read them, are the programs that stand beside them: a message's
//! text is evaluated over many shapes and compared with its bytes.
//!
//! Evaluated is what is written in the sizes n_r and n_s, ℓ, κ, σ and the matches k alone. A formula with
//! names of its own protocol is passed over.

use crate::entry::{Entry, Shape};
use crate::testing::ways;
use crate::{KeyAgreement, Learns, MaskWidth, Parameters, Sizes};

/// A formula's parts.
#[derive(Debug, Clone, PartialEq)]
enum Token {
    Number(f64),
    Name(String),
    Sign(char),
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let belongs: fn(char) -> bool = if first.is_ascii_digit() {
            |c| c.is_ascii_digit() || c == '.'
        } else if first.is_alphabetic() {
            |c| c.is_alphanumeric() || c == '_' || c == '\''
        } else {
            |_| false
        };
        let length = rest.find(|c| !belongs(c)).unwrap_or(rest.len()).max(first.len_utf8());
        let (word, later) = rest.split_at(length);
        tokens.push(match first {
            '0'..='9' => Token::Number(word.parse().unwrap()),
            _ if first.is_alphabetic() => Token::Name(word.to_owned()),
            _ => Token::Sign(first),
        });
        rest = later.trim_start();
    }
    tokens
}

/// What a name stands for; none if it is not one that every protocol has.
fn value(name: &str, shape: &Shape) -> Option<f64> {
    Some(match name {
        "n_r" => shape.receiver() as f64,
        "n_s" => shape.sender() as f64,
        "ℓ" => f64::from(MaskWidth::for_sizes(shape.sizes, shape.parameters.statistical).unwrap().bits()),
        "κ" => f64::from(shape.parameters.level),
        "σ" => f64::from(shape.parameters.sigma.unwrap_or(0)),
        "k" => shape.matches as f64,
        _ => return None,
    })
}

struct Formula<'a> {
    tokens: &'a [Token],
    shape: &'a Shape,
}

impl Formula<'_> {
    /// The value of the whole text; none if it holds an unknown name.
    fn evaluate(text: &str, shape: &Shape) -> Option<f64> {
        let tokens = tokens(text);
        let known = |token: &Token| match token {
            Token::Name(name) => name == "log2" || value(name, shape).is_some(),
            _ => true,
        };
        if !tokens.iter().all(known) {
            return None;
        }
        let mut formula = Formula { tokens: &tokens, shape };
        let result = formula.sum();
        assert!(formula.tokens.is_empty(), "`{text}` goes on with {:?}", formula.tokens);
        Some(result)
    }

    fn take(&mut self, sign: char) -> bool {
        let found = self.tokens.first() == Some(&Token::Sign(sign));
        self.tokens = &self.tokens[usize::from(found)..];
        found
    }

    fn sum(&mut self) -> f64 {
        let mut result = self.product();
        loop {
            if self.take('+') {
                result += self.product();
            } else if self.take('−') || self.take('-') {
                result -= self.product();
            } else {
                return result;
            }
        }
    }

    fn product(&mut self) -> f64 {
        let mut result = self.power();
        loop {
            if self.take('·') {
                result *= self.power();
            } else if self.take('/') {
                result /= self.power();
            } else {
                return result;
            }
        }
    }

    fn power(&mut self) -> f64 {
        let base = self.factor();
        if self.take('^') { base.powf(self.factor()) } else { base }
    }

    fn factor(&mut self) -> f64 {
        if self.take('(') {
            let inner = self.sum();
            assert!(self.take(')'), "a parenthesis is not closed");
            return inner;
        }
        if self.take('⌈') {
            // Whole numbers stay what they are, however they came out.
            let inner = (self.sum() - 1e-9).ceil();
            assert!(self.take('⌉'), "a ceiling is not closed");
            return inner;
        }
        let (first, later) =
            self.tokens.split_first().unwrap_or_else(|| panic!("the formula ends too early"));
        self.tokens = later;
        match first {
            Token::Number(number) => *number,
            Token::Name(name) if name == "log2" => self.factor().max(1.0).log2(),
            Token::Name(name) => value(name, self.shape).unwrap(),
            Token::Sign(sign) => panic!("a formula has no place for {sign}"),
        }
    }
}

fn shapes(entry: &Entry, parameters: Parameters) -> Vec<Shape> {
    let sizes = [0, 1, 2, 9, 256, 257, 5000];
    let modes: &[Learns] =
        if entry.learns_both { &[Learns::Receiver, Learns::Both] } else { &[Learns::Receiver] };
    let mut shapes = Vec::new();
    for receiver in sizes {
        for sender in sizes {
            for &learns in modes {
                let matches = if learns == Learns::Both { receiver.min(sender) } else { 0 };
                for matches in [matches / 2, matches] {
                    let sizes = Sizes { receiver, sender };
                    shapes.push(Shape { sizes, parameters, learns, matches, kept_base_ots: false });
                }
            }
        }
    }
    shapes
}

fn bytes_of(entry: &Entry, message: usize, shape: &Shape) -> u64 {
    entry.sent(shape).nth(message).unwrap().1
}

pub fn every_formula_is_its_program(protocols: &[&'static Entry]) {
    for entry in protocols {
        // What base OTs from ML-KEM take stands beside the formulas, for all protocols alike.
        let usual = |way: &Parameters| way.base_ots == KeyAgreement::DiffieHellman;
        let shapes: Vec<Shape> =
            ways(entry).into_iter().filter(usual).flat_map(|way| shapes(entry, way)).collect();
        for (number, message) in entry.all_messages().enumerate() {
            let (name, what, text) = (entry.name, message.what, message.formula);
            let mut sent = false;
            for shape in &shapes {
                let Some(written) = Formula::evaluate(text, shape) else {
                    sent = true;
                    break;
                };
                let bytes = bytes_of(entry, number, shape);
                // A message that this form of the protocol does not send has no bytes.
                assert!(
                    bytes == 0 || bytes as f64 == written,
                    "{name}, {what}: `{text}` is {written}, the program {bytes}: {shape:?}"
                );
                sent |= bytes > 0;
            }
            assert!(sent, "{name}, {what}: never sent");
        }
    }
}

pub fn a_partner_that_names_any_size_stops_no_program(protocols: &[&'static Entry]) {
    // What a session asks a protocol about before it runs: sizes that the partner made up, as far as items
    // are numbered.
    let most = u32::MAX as usize;
    let sizes = [(most, 1), (1, 1 << 20), (most, most), ((1 << 30) + 1, 1 << 30)];
    for entry in protocols {
        for parameters in ways(entry) {
            for (receiver, sender) in sizes {
                let (sizes, learns) = (Sizes { receiver, sender }, Learns::Receiver);
                let shape = Shape { sizes, parameters, learns, matches: 0, kept_base_ots: false };
                let memory = entry.memory_of(&shape);
                let base_ots = entry.kept_base_ots(&shape);
                let bytes: u64 = entry.sent(&shape).map(|(_, bytes)| bytes).sum();
                assert!(base_ots <= 1024 && memory.receiver.max(bytes) < 1 << 62, "{} {sizes:?}", entry.name);
            }
        }
    }
}

pub fn formulas_are_read() {
    let sizes = Sizes { receiver: 1000, sender: 9 };
    let shape = Shape {
        sizes,
        parameters: Parameters::default(),
        learns: Learns::Receiver,
        matches: 4,
        kept_base_ots: false,
    };
    let read = |text| Formula::evaluate(text, &shape);
    for (text, value) in [
        ("32", 32.0),
        ("32·n_r", 32_000.0),
        // ℓ = 40 + 10 + 4.
        ("n_s·⌈ℓ/8⌉", 63.0),
        ("(2 + k)·n_s - 4", 50.0),
        ("3·2^k", 48.0),
        ("κ·⌈log2 n_r⌉/8", 160.0),
    ] {
        assert_eq!(read(text), Some(value), "{text}");
    }
    assert_eq!(read("β·32"), None);
}
