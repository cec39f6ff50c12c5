//! The options on which both sides have to agree, once: how each appears in the terms, in a run file and on the command
//! line, what does not go together with it, and what to do where the two sides differ.

use crate::words::results;
use crate::words::settings::{Choice, Settings};
use crate::words::word::Word;

/// One option.
pub struct AgreedOption {
    /// As the command line has it, without dashes. Python's keyword has `_` in place of `-`.
    pub name: &'static str,
    /// As the terms have it.
    pub field: &'static str,
    /// Its value in some settings.
    pub value: fn(&Settings) -> Value,
    /// As an error names it, where a run in several parts cannot have it.
    pub(crate) not_in_parts: Option<&'static str>,
}

/// The value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// It is given, or not.
    Flag(bool),
    /// A word or a number; with a word for the terms where it is not given.
    Text(Option<String>, &'static str),
    /// Names of columns.
    Columns(Vec<String>),
}

impl Value {
    fn word(word: impl ToString) -> Self {
        Value::Text(Some(word.to_string()), "")
    }

    fn number(number: Option<impl ToString>) -> Self {
        Value::Text(number.map(|number| number.to_string()), NONE)
    }

    /// As the terms have it: printable ASCII.
    pub(crate) fn term(&self) -> String {
        match self {
            Value::Flag(given) => if *given { "yes" } else { "no" }.to_owned(),
            Value::Text(text, absent) => text.clone().unwrap_or_else(|| (*absent).to_owned()),
            Value::Columns(names) if names.is_empty() => NONE.to_owned(),
            Value::Columns(names) => {
                let quoted = names.iter().map(|name| format!("\"{}\"", name.escape_default()));
                quoted.collect::<Vec<_>>().join(", ")
            }
        }
    }
}

/// In the terms, the value of an option that is not given.
pub(crate) const NONE: &str = "none";

/// The option of the protocol. It agrees too where one side leaves it to `auto`.
pub(crate) const PROTOCOL: AgreedOption = AgreedOption {
    name: "protocol",
    field: "protocol",
    value: |settings| match &settings.protocol {
        Choice::Auto => Value::word("auto"),
        Choice::Named(name) => Value::word(name),
    },
    not_in_parts: None,
};

/// What results other than rows are called where parts are.
const OTHER_RESULTS: &str = "results other than rows (`--result`, `--payload`)";

/// The options that have to be equal, in the order of the terms. Between `noise` and `sigma` the terms have the rules of the
/// keys, and behind the last one the helper and the table of `auto`.
pub static AGREED: &[AgreedOption] = &[
    plain("security", |settings| Value::word(settings.security.word())),
    plain("learns", |settings| Value::word(settings.learns.word())),
    AgreedOption { field: "match id", ..plain("match-id", |settings| Value::Flag(settings.match_id)) },
    AgreedOption {
        not_in_parts: Some(OTHER_RESULTS),
        ..plain("result", |settings| Value::word(settings.result.result.word()))
    },
    plain("value", |settings| Value::Columns(settings.result.value.clone())),
    plain("at-least", |settings| Value::number(settings.result.at_least)),
    AgreedOption {
        not_in_parts: Some(OTHER_RESULTS),
        ..plain("payload", |settings| Value::Columns(settings.result.payload.clone()))
    },
    plain("payload-bytes", |settings| {
        let given = !settings.result.payload.is_empty();
        Value::number(given.then(|| settings.result.payload_width()))
    }),
    plain("min-matches", |settings| Value::number(settings.result.min_matches)),
    plain("noise", |settings| Value::number(settings.result.noise.map(results::shown))),
    AgreedOption {
        not_in_parts: Some("native integers (`--sigma`)"),
        ..plain("sigma", |settings| Value::number(settings.sigma))
    },
    plain("level", |settings| Value::word(settings.level)),
    plain("variant", |settings| Value::Text(settings.variant.clone(), "standard")),
    plain("profile", |settings| Value::word(settings.profile.word())),
    AgreedOption {
        not_in_parts: Some("`--audit-max`"),
        ..plain("audit-max", |settings| Value::number(settings.audit_max))
    },
    AgreedOption {
        field: "paper parameters",
        not_in_parts: Some("`--paper-parameters`"),
        ..plain("paper-parameters", |settings| Value::Flag(settings.paper_parameters))
    },
];

/// An option that the terms call as the command line does, and that parts can have.
const fn plain(name: &'static str, value: fn(&Settings) -> Value) -> AgreedOption {
    AgreedOption { name, field: name, value, not_in_parts: None }
}

/// The option that the terms have under that name.
pub(crate) fn of_field(field: &str) -> Option<&'static AgreedOption> {
    AGREED.iter().find(|option| option.field == field)
}

impl AgreedOption {
    /// Whether its value in the terms is one that a run in several parts cannot have.
    pub(crate) fn hinders_parts(&self, term: &str) -> bool {
        let usual = (self.value)(&Settings::default()).term();
        self.not_in_parts.is_some() && term != usual
    }

    /// What the two sides can do where their values differ.
    pub(crate) fn remedy(&self) -> String {
        match self.name {
            "value" | "payload" => format!(
                "name the same columns of the sender's table with `--{}` on both sides, in the same order",
                self.name
            ),
            "audit-max" => {
                "agree on `--audit-max`: the stricter side's number protects both, or neither gives it".into()
            }
            name => format!("agree on `--{name}`"),
        }
    }
}
