//! A receipt in words, for a person.

use std::fmt::Write;

use vesica_protocols::Role;

use vesica_net::PublicKey;

use super::{Party, Receipt, Scalar, SetName, Statement};
use crate::words::registry;
use crate::words::results::{Disclosed, OTHER_SIZE, leakage};

impl Receipt {
    /// What it says, what it proves and what not; for a receipt whose signatures hold, with the keys that somebody expected.
    pub fn in_words(&self, expected: &[PublicKey]) -> String {
        let statement = &self.statement;
        let mut text = String::from("both sides have signed this receipt\n\n");
        let mut line = |name: &str, value: &str| {
            // A string takes everything.
            let _ = writeln!(text, "{name:<12}{value}");
        };
        line("session", &statement.session);
        for role in [Role::Receiver, Role::Sender] {
            let Party { key, items, started, version, sent } = statement.party(role);
            line(role.name(), key);
            match (items, &statement.set) {
                (Some(items), None) => line("", &format!("a set of {items} keys, padding included")),
                (Some(items), Some(_)) => line("", &format!("asked for {items} keys, padding included")),
                (None, _) => {}
            }
            line("", &format!("began {started} by its own clock, with vesica {version}"));
            line("", &format!("what it sent has the digest {sent}"));
            line("", &format!("was to learn {}", self.learned(role)));
        }
        if let Some(set) = &statement.set {
            let SetName { digest, epoch, served, key_number } = set;
            line("set", &format!("looked up in the epoch with the digest {digest}, under key {key_number}"));
            line("", &format!("the sender was at epoch {epoch}, with the digest {served}"));
        }
        line("protocol", &format!("{}, security {}", statement.protocol, self.security()));
        if statement.parts != 1 {
            line("parts", &statement.parts.to_string());
        }
        let parameters = statement.parameters.iter().map(|(name, value)| format!("{name} {value}"));
        let parameters = parameters.collect::<Vec<_>>().join(", ");
        if !parameters.is_empty() {
            line("parameters", &parameters);
        }
        for (at, (name, value)) in statement.terms.iter().enumerate() {
            line(if at == 0 { "terms" } else { "" }, &format!("{name}: {value}"));
        }
        let ran = match statement.set {
            None => {
                "ran this protocol under these terms, showed each other these sizes, and saw the same bytes"
            }
            Some(_) => "ran this look-up and saw the same bytes",
        };
        let _ = write!(
            text,
            "\nIt proves that the holders of both keys {ran}.\nIt does not prove that a table was honest or complete, \
             which rows matched, or that a clock was right. It holds no result.\n"
        );
        if self.stated("min-matches").or(self.stated("audit-max")).is_some() {
            text += "Whether a limit on the number of matches kept the result back, it does not show.\n";
        }
        text + &self.whose_keys(expected) + "\n"
    }

    /// Whether the keys are the expected ones.
    fn whose_keys(&self, expected: &[PublicKey]) -> String {
        let is_expected = |role| self.key(role).is_ok_and(|key| expected.contains(&key));
        match [Role::Receiver, Role::Sender].map(is_expected) {
            [true, true] => "Both keys are those that were expected.".to_owned(),
            [false, false] => {
                "Whose keys these are, it does not say: compare them with those that the two sides have \
                               exchanged."
                    .to_owned()
            }
            [receiver, _] => {
                let [known, other] = match receiver {
                    true => [Role::Receiver, Role::Sender],
                    false => [Role::Sender, Role::Receiver],
                }
                .map(Role::name);
                format!(
                    "The {known} has an expected key. No key was named for the {other}: whose it is, the receipt does \
                     not say."
                )
            }
        }
    }

    /// The value of a term that was asked for.
    fn stated(&self, term: &str) -> Option<&str> {
        self.statement.terms.get(term).map(String::as_str).filter(|value| *value != "none")
    }

    /// The security of the run.
    fn security(&self) -> &str {
        match registry::find(&self.statement.protocol) {
            Some(entry) if entry.needs_allow_insecure() => "none",
            // The answers of a look-up have proofs.
            _ if self.statement.set.is_some() => "malicious",
            _ => self.statement.terms.get("security").map_or("not stated", String::as_str),
        }
    }

    /// What a side was to learn by the run.
    fn learned(&self, role: Role) -> String {
        let number = |term| self.stated(term).and_then(|value| value.parse().ok());
        let Statement { result, learns, protocol, set, .. } = &self.statement;
        let disclosed = Disclosed {
            result,
            least: number("at-least").unwrap_or(0),
            both: learns == "both",
            noisy: self.stated("noise").is_some(),
            min_matches: number("min-matches").unwrap_or(0),
            audit_max: number("audit-max"),
            several_keys: self.stated("key rules").is_some_and(|rules| rules.contains(" + ")),
            leakage: registry::find(protocol).and_then(leakage),
        };
        let size = match (set, role) {
            (Some(_), Role::Sender) => "how many keys were asked for, padding included",
            (Some(_), Role::Receiver) => "what the set's files tell",
            (None, _) => OTHER_SIZE,
        };
        let [receiver, sender] = disclosed.by_sides();
        let result = if role == Role::Receiver { receiver } else { sender };
        [vec![size.to_owned()], result].concat().join("; ")
    }
}

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Scalar::Flag(flag) => flag.fmt(f),
            Scalar::Number(number) => number.fmt(f),
            Scalar::Name(name) => name.fmt(f),
        }
    }
}
