//! Every option of a run that is no file, once: who has to agree on it, how it is read, how the terms and a run file have it, what does not
//! go together with it, and its help. The command line's parser, help, completions and pages are made from this list, Python's
//! keywords and their types too: a new option is a field of [`Settings`] and an entry of [`OPTIONS`]. (A new flag is also named in
//! `crates/text`, for Python.)

use serde::{Deserialize, Serialize};

use vesica_text::{Text, text};

use crate::words::error::Error;
use crate::words::settings::Settings;

mod list;

pub use list::OPTIONS;

/// One option of a run.
pub struct RunOption {
    /// As the command line has it, without dashes. Python's keyword has `_` in place of `-`.
    pub name: &'static str,
    /// Whose choice it is.
    pub class: Class,
    /// What its value looks like.
    pub reads: Reads,
    /// The value where it is not given, as a user writes it; none if that is no value.
    pub usual: Option<&'static str>,
    /// Takes a value over into settings, or says what to write instead. A flag's value is empty, and of a list each value
    /// comes by itself.
    set: fn(&mut Settings, &str) -> Result<(), String>,
    /// What it is for: a line, and the template of a [`Text`].
    pub help: &'static str,
}

/// Whose choice an option is.
pub enum Class {
    /// Both sides give the same.
    Agreed(Term),
    /// What this side asks of its partner, or accepts from it. The other side's is compared with it.
    Bound,
    /// This side's alone.
    Own,
}

/// How the terms have an option on which both sides agree.
pub struct Term {
    /// Its name there.
    pub field: &'static str,
    /// Its value in some settings; none if it is not given.
    pub value: fn(&Settings) -> Option<Value>,
    /// In place of a value that is not given.
    absent: &'static str,
    /// As an error names it, where a run in several parts cannot have it.
    pub(crate) not_in_parts: Option<&'static str>,
    /// What it goes with only.
    goes_with: Option<GoesWith>,
    /// Whether it goes with results of its own, beside `result`.
    pub goes_with_result: bool,
}

/// What an option goes with only.
#[derive(Clone, Copy)]
struct GoesWith {
    /// As an error names it.
    others: &'static str,
    /// Whether settings have it.
    have: fn(&Settings) -> bool,
}

/// What a value looks like.
#[derive(Clone, Copy)]
pub enum Reads {
    /// It has none: the option is given, or not.
    Flag,
    /// One of these words.
    Word(fn() -> Vec<&'static str>),
    /// A protocol, or `auto`.
    Protocol,
    /// A name.
    Name,
    /// A number, which help calls so.
    Number(&'static str),
    /// `pow2`, or a number.
    Padding,
    /// A number with digits after the point.
    Decimal(&'static str),
    /// `90s`, `5m`, `2h`.
    Time,
    /// `512M`, `4G`, or `auto`.
    Size,
    /// `auto`, `cpu`, `cuda:N`.
    Device,
    /// Columns, each given by itself.
    Columns,
}

/// The value of an option on which both sides agree, as a run file has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// It is given.
    Flag(bool),
    /// A word or a number.
    Text(String),
    /// Names of columns.
    Several(Vec<String>),
}

impl Value {
    /// As the terms have it: printable ASCII.
    fn term(&self) -> String {
        match self {
            Value::Flag(given) => if *given { "yes" } else { "no" }.to_owned(),
            Value::Text(text) => text.clone(),
            Value::Several(names) => {
                let quoted = names.iter().map(|name| format!("\"{}\"", name.escape_default()));
                quoted.collect::<Vec<_>>().join(", ")
            }
        }
    }
}

/// In the terms, the value of an option that is not given.
pub(crate) const NONE: &str = "none";

/// The option of the protocol. It agrees too where one side leaves it to `auto`, so it is no field among the others.
pub(crate) const PROTOCOL: &str = "protocol";

/// The options on which both sides agree, in the order of the terms.
pub fn agreed_options() -> impl Iterator<Item = (&'static RunOption, &'static Term)> {
    OPTIONS.iter().filter_map(|option| match &option.class {
        Class::Agreed(term) => Some((option, term)),
        Class::Bound | Class::Own => None,
    })
}

/// The agreed option that the terms have under that name.
pub(crate) fn of_field(field: &str) -> Option<&'static RunOption> {
    agreed_options().find(|(_, term)| term.field == field).map(|(option, _)| option)
}

impl Term {
    const fn new(field: &'static str, value: fn(&Settings) -> Option<Value>, goes_with_result: bool) -> Self {
        Term { field, value, absent: NONE, not_in_parts: None, goes_with: None, goes_with_result }
    }

    /// With another word where it is not given.
    const fn absent(self, absent: &'static str) -> Self {
        Term { absent, ..self }
    }

    /// One that a run in several parts cannot have.
    const fn not_in_parts(self, named: &'static str) -> Self {
        Term { not_in_parts: Some(named), ..self }
    }

    /// One that goes with others only, which settings may have.
    const fn only_with(self, others: &'static str, have: fn(&Settings) -> bool) -> Self {
        Term { goes_with: Some(GoesWith { others, have }), ..self }
    }

    /// The value in these settings, as the terms have it.
    pub(crate) fn text(&self, settings: &Settings) -> String {
        (self.value)(settings).map_or_else(|| self.absent.to_owned(), |value| value.term())
    }

    /// Whether that value in the terms is one that a run in several parts cannot have.
    pub(crate) fn hinders_parts(&self, term: &str) -> bool {
        self.not_in_parts.is_some() && term != self.text(&Settings::default())
    }
}

impl RunOption {
    /// Takes a value over into settings; a flag's is empty, and of a list each comes by itself.
    ///
    /// # Errors
    /// What to write instead.
    pub fn set(&self, settings: &mut Settings, value: &str) -> Result<(), String> {
        (self.set)(settings, value)
    }

    /// What the two sides can do where their values differ.
    pub(crate) fn remedy(&self) -> Text {
        let option = Text::option(self.name);
        match self.name {
            "value" | "payload" => text!(
                "name the same columns of the sender's table with `{}`{ on both sides}, in the same order",
                option
            ),
            "audit-max" => {
                text!("agree on `[audit-max]`: the stricter side's number protects both, or neither gives it")
            }
            _ => text!("agree on `{}`", option),
        }
    }
}

impl Settings {
    /// Checks that the options which are given go together.
    ///
    /// # Errors
    /// If one of them goes with others only.
    pub fn check(&self) -> Result<(), Error> {
        for (option, term) in agreed_options() {
            let given = (term.value)(self).is_some();
            let lacks = term.goes_with.filter(|goes| given && !(goes.have)(self));
            if let Some(GoesWith { others, .. }) = lacks {
                let named = || Text::option(option.name);
                return Err(Error::usage(
                    text!("`{}` goes with {} only", named(), others),
                    text!("leave out `{}`, or ask for {}{, on both sides}", named(), others),
                ));
            }
        }
        self.result.check()
    }

    /// Takes an option's value as a user writes it: `set("memory", "4G")`; a flag's is empty, and of a list each value comes
    /// by itself.
    ///
    /// # Errors
    /// If there is no such option, or it has no such value.
    pub fn set(&mut self, option: &str, value: &str) -> Result<(), Error> {
        let Some(known) = OPTIONS.iter().find(|known| known.name == option) else {
            let names = OPTIONS.iter().map(|known| known.name).collect::<Vec<_>>().join(", ");
            let none = Text::words(format!("there is no option {option:?}"));
            return Err(Error::usage(none, Text::words(format!("give one of these: {names}"))));
        };
        let named = || Text::option(known.name);
        if matches!(known.reads, Reads::Flag) && !value.is_empty() {
            let message = text!("`{}` is given or not, and has no value", named());
            return Err(Error::usage(message, "leave out the value, or the option"));
        }
        known
            .set(self, value)
            .map_err(|why| Error::usage(text!("`{}`: {}", named(), why), text!("give another `{}`", named())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_usual_is_what_settings_have_by_default() {
        for option in OPTIONS {
            let Some(usual) = option.usual else { continue };
            let mut settings = Settings::default();
            option.set(&mut settings, usual).unwrap();
            assert_eq!(format!("{settings:?}"), format!("{:?}", Settings::default()), "{}", option.name);
        }
    }

    #[test]
    fn words_and_numbers_are_set_and_what_is_neither_is_refused() {
        for option in OPTIONS {
            let mut settings = Settings::default();
            let (value, wrong) = match option.reads {
                Reads::Flag => ("", None),
                Reads::Word(words) => (*words().last().unwrap(), Some("word")),
                Reads::Protocol | Reads::Name => ("kkrt", None),
                Reads::Number(_) => ("63", Some("-1")),
                Reads::Padding => ("pow2", Some("-1")),
                Reads::Decimal(_) => ("0.5", Some("many")),
                Reads::Time => ("2m", Some("2d")),
                Reads::Size => ("3G", Some("3")),
                Reads::Device => ("cpu", Some("card")),
                Reads::Columns => ("city", None),
            };
            option.set(&mut settings, value).unwrap();
            assert!(
                format!("{settings:?}") != format!("{:?}", Settings::default())
                    || option.usual == Some(value)
            );
            assert!(wrong.is_none_or(|wrong| option.set(&mut settings, wrong).is_err()), "{}", option.name);
        }
    }

    #[test]
    fn flags_are_flags_in_python() {
        for option in OPTIONS {
            let python = Text::option(option.name).render(vesica_text::Voice::Python);
            assert_eq!(python.ends_with("=True"), matches!(option.reads, Reads::Flag), "{python}");
        }
    }

    #[test]
    fn an_unknown_option_is_an_error() {
        let mut settings = Settings::default();
        assert_eq!(settings.set("memory", "4G"), Ok(()));
        for (option, value, said) in
            [("memori", "4G", "no option"), ("level", "x", "level"), ("match-id", "yes", "no value")]
        {
            assert!(settings.set(option, value).unwrap_err().message.shell().contains(said), "{option}");
        }
    }
}
