//! A receipt in words, for a person.

use std::fmt::Write;

use vesica_protocols::Role;

use super::{Party, Receipt, Scalar, SetName};
use crate::words::registry;

impl Receipt {
    /// What it says, what it proves and what not; for a receipt whose signatures hold. `known`: whether the keys are those that
    /// somebody expected.
    pub fn in_words(&self, known: bool) -> String {
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
            line("", &format!("learnt {}", self.learnt(role)));
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
        line("parameters", &parameters.collect::<Vec<_>>().join(", "));
        for (at, (name, value)) in statement.terms.iter().enumerate() {
            line(if at == 0 { "terms" } else { "" }, &format!("{name}: {value}"));
        }
        let _ = write!(
            text,
            "\nIt proves that the holders of both keys ran this protocol under these terms, showed each other these \
             sizes, and saw the same bytes.\nIt does not prove that a table was honest or complete, which rows matched, or \
             that a clock was right. It holds no result.\n{}\n",
            match known {
                true => "The keys are those that were expected.",
                false =>
                    "Whose keys these are, it does not say: compare them with those that the two sides have exchanged.",
            }
        );
        text
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

    /// What a side learnt by the run.
    fn learnt(&self, role: Role) -> String {
        let result = match self.statement.result.as_str() {
            "rows" => "which of its own rows match",
            "payload" if role == Role::Sender => "which of its own rows match",
            "payload" => "which of its own rows match, and the agreed columns of the sender's",
            "count" => "how many keys match",
            "at-least" => "whether as many keys match as agreed",
            "sum" => "the sums of the agreed columns over the keys that match",
            other => other,
        };
        let alone = self.statement.learns == "receiver" && self.statement.result != "at-least";
        let size = match (&self.statement.set, role) {
            (Some(_), Role::Sender) => "how many keys were asked for, padding included",
            (Some(_), Role::Receiver) => "what the set's files tell",
            (None, _) => "the size of the other set, padding included",
        };
        if role == Role::Sender && alone { size.to_owned() } else { format!("{size}; {result}") }
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
