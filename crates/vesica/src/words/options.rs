//! Every option of a run that is no file, once: who has to agree on it, how it is read, how the terms and a run file have it, what does not
//! go together with it, and its help. The command line's parser, help, completions and pages are made from this list, Python's
//! keywords and their types too: a new option is a field of [`Settings`] and an entry here. (A new flag is also named in
//! `crates/text`, for Python.)

use serde::{Deserialize, Serialize};
use vesica_encode::items::OnDuplicates;
use vesica_protocols::{Learns, MOST_PAYLOAD_BYTES, Profile, ResultKind, Security};
use vesica_table::OnFault;

use vesica_text::{Text, text};

use crate::words::error::Error;
use crate::words::memory::Budget;
use crate::words::parts::MOST;
use crate::words::results::{self, ResultChoice};
use crate::words::settings::{Choice, Settings, count, duration, size};
use crate::words::word::Word;

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
    /// Whether settings have it, or not the option.
    holds: fn(&Settings) -> bool,
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

/// What `level` asks for.
const LEVELS: &str = "write 80, 112, 128, 192 or 256";

/// What results other than rows are called where parts are.
const OTHER_RESULTS: &str = "results other than rows (`[result]`, `[payload]`)";

/// Results, as an error names what an option goes with.
const ROWS: &str = "`[result rows]`";
const COUNT: &str = "`[result count]`";

/// A word or a number of the terms.
const fn agreed(field: &'static str, value: fn(&Settings) -> Option<Value>) -> Term {
    Term { field, value, absent: NONE, not_in_parts: None, goes_with: None, goes_with_result: false }
}

/// One that goes with a result.
const fn of_result(field: &'static str, value: fn(&Settings) -> Option<Value>) -> Term {
    Term { goes_with_result: true, ..agreed(field, value) }
}

fn word(text: impl ToString) -> Option<Value> {
    Some(Value::Text(text.to_string()))
}

fn flag(given: bool) -> Option<Value> {
    given.then_some(Value::Flag(true))
}

fn columns(names: &[String]) -> Option<Value> {
    (!names.is_empty()).then(|| Value::Several(names.to_vec()))
}

/// The words of a setting.
fn words<T: Word>() -> Vec<&'static str> {
    T::WORDS.iter().map(|(word, _)| *word).collect()
}

/// Puts what was read in its place.
fn put<T>(place: &mut T, read: Result<T, String>) -> Result<(), String> {
    *place = read?;
    Ok(())
}

/// A number between these.
fn between<T: TryFrom<u64>>(text: &str, least: u64, most: u64) -> Result<T, String> {
    let number = count(text).ok().filter(|number| (least..=most).contains(number));
    number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| format!("write {least} to {most}"))
}

/// The options, in the order of the help; those on which both sides agree also in the order of the terms, which have the
/// rules of the keys between `noise` and `sigma`, and behind the last one the helper and the table of `auto`.
pub static OPTIONS: &[RunOption] = &[
    RunOption {
        name: "threads",
        class: Class::Own,
        reads: Reads::Number("N"),
        usual: None,
        set: |settings, text| put(&mut settings.threads, between(text, 0, 1024)),
        help: "Threads to keep busy; 0 is all cores [default: all cores]",
    },
    RunOption {
        name: "memory",
        class: Class::Own,
        reads: Reads::Size,
        usual: None,
        set: |settings, text| put(&mut settings.memory, memory(text).map(Some)),
        help: "Memory that this program may use, such as 512M or 4G, or half of the free memory (auto): what does not fit goes \
               to disk, and a run that may take more is refused [default: 90 % of the free memory, and nothing goes to disk]",
    },
    RunOption {
        name: "timeout",
        class: Class::Own,
        reads: Reads::Time,
        usual: Some("5m"),
        set: |settings, text| put(&mut settings.timeout, duration(text)),
        help: "How long to wait for the partner (a helper: for each party), and how long it may be silent: 90s, 5m, 2h",
    },
    RunOption {
        name: "deadline",
        class: Class::Own,
        reads: Reads::Time,
        usual: None,
        set: |settings, text| put(&mut settings.deadline, duration(text).map(Some)),
        help: "End the run if it is not done after this time, whatever it waits for: 90s, 5m, 2h [default: no end]",
    },
    RunOption {
        name: "min-peer-rows",
        class: Class::Bound,
        reads: Reads::Number("N"),
        usual: Some("0"),
        set: |settings, text| put(&mut settings.limits.min_peer_rows, count(text)),
        help: "Refuse a partner (a helper: a party) with fewer keys, padding included: a number, or 2^N",
    },
    RunOption {
        name: "max-peer-rows",
        class: Class::Bound,
        reads: Reads::Number("N"),
        usual: Some("2^30"),
        set: |settings, text| put(&mut settings.limits.max_peer_rows, count(text)),
        help: "Refuse a partner (a helper: a party) with more keys, padding included: a number, or 2^N",
    },
    RunOption {
        name: "on-duplicates",
        class: Class::Own,
        reads: Reads::Word(words::<OnDuplicates>),
        usual: Some("all"),
        set: |settings, text| put(&mut settings.on_duplicates, OnDuplicates::of(text)),
        help: "My rows with the same key: all of them match, only the first matches, or they are an error",
    },
    RunOption {
        name: "on-null",
        class: Class::Own,
        reads: Reads::Word(words::<OnFault>),
        usual: Some("skip"),
        set: |settings, text| put(&mut settings.on_null, OnFault::of(text)),
        help: "My rows whose key is empty",
    },
    RunOption {
        name: "on-invalid",
        class: Class::Own,
        reads: Reads::Word(words::<OnFault>),
        usual: Some("error"),
        set: |settings, text| put(&mut settings.on_invalid, OnFault::of(text)),
        help: "My rows whose key breaks its rule",
    },
    RunOption {
        name: "pad-to",
        class: Class::Own,
        reads: Reads::Padding,
        usual: None,
        set: |settings, text| put(&mut settings.pad_to, text.parse().map(Some)),
        help: "Hide my exact size: pad to the next power of two (pow2), or to N keys: a number, or 2^N",
    },
    RunOption {
        name: "parts",
        class: Class::Bound,
        reads: Reads::Number("N"),
        usual: Some("1"),
        set: |settings, text| put(&mut settings.parts, between(text, 1, MOST.into())),
        help: "Split the run into at least N parts, several played at once; the larger number of both sides is taken",
    },
    RunOption {
        name: "max-parts",
        class: Class::Bound,
        reads: Reads::Number("N"),
        usual: None,
        set: |settings, text| put(&mut settings.limits.max_parts, between(text, 1, MOST.into()).map(Some)),
        help: "Refuse a run of more than N parts [default: what suits the sizes: 64, or one for each 65,536 keys if that is \
               more, with little padding]",
    },
    RunOption {
        name: "allow-insecure",
        class: Class::Bound,
        reads: Reads::Flag,
        usual: None,
        set: |settings, _| put(&mut settings.allow_insecure, Ok(true)),
        help: "Allow protocols that are marked insecure or broken",
    },
    RunOption {
        name: PROTOCOL,
        class: Class::Agreed(agreed(PROTOCOL, |settings| word(&settings.protocol))),
        reads: Reads::Protocol,
        usual: Some("auto"),
        set: |settings, text| put(&mut settings.protocol, Ok(Choice::of(text))),
        help: "Protocol by name, or auto",
    },
    RunOption {
        name: "security",
        class: Class::Agreed(agreed("security", |settings| word(settings.security.word()))),
        reads: Reads::Word(words::<Security>),
        usual: Some("malicious"),
        set: |settings, text| put(&mut settings.security, Security::of(text)),
        help: "Protect against a partner that cheats (malicious), or only against a curious one (semi-honest)",
    },
    RunOption {
        name: "learns",
        class: Class::Agreed(agreed("learns", |settings| word(settings.learns.word()))),
        reads: Reads::Word(words::<Learns>),
        usual: Some("receiver"),
        set: |settings, text| put(&mut settings.learns, Learns::of(text)),
        help: "Who learns the result",
    },
    RunOption {
        name: "match-id",
        class: Class::Agreed(Term {
            goes_with: Some(GoesWith {
                others: ROWS,
                holds: |settings| !settings.match_id || settings.result.result == ResultChoice::Rows,
            }),
            absent: "no",
            ..agreed("match id", |settings| flag(settings.match_id))
        }),
        reads: Reads::Flag,
        usual: None,
        set: |settings, _| put(&mut settings.match_id, Ok(true)),
        help: "Add a column match_id to the matching rows: the same number on both sides for the same key; with [learns both]",
    },
    RunOption {
        name: "result",
        class: Class::Agreed(Term {
            not_in_parts: Some(OTHER_RESULTS),
            ..agreed("result", |settings| word(settings.result.result.word()))
        }),
        reads: Reads::Word(words::<ResultChoice>),
        usual: Some("rows"),
        set: |settings, text| put(&mut settings.result.result, ResultChoice::of(text)),
        help: "What the result is: the matching rows, how many keys match, or sums over them; the last two only with \
               [security semi-honest] (docs/results.md)",
    },
    RunOption {
        name: "value",
        class: Class::Agreed(Term {
            goes_with: Some(GoesWith {
                others: "`[result sum]`",
                holds: |settings| {
                    settings.result.value.is_empty() || settings.result.result == ResultChoice::Sum
                },
            }),
            ..of_result("value", |settings| columns(&settings.result.value))
        }),
        reads: Reads::Columns,
        usual: None,
        set: |settings, text| {
            settings.result.value.push(text.to_owned());
            Ok(())
        },
        help: "With [result sum]: a column of the sender's table to sum over the matching keys, whole numbers from 0 on; several \
               for several sums",
    },
    RunOption {
        name: "at-least",
        class: Class::Agreed(Term {
            goes_with: Some(GoesWith {
                others: COUNT,
                holds: |settings| {
                    settings.result.at_least.is_none() || settings.result.result == ResultChoice::Count
                },
            }),
            ..of_result("at-least", |settings| settings.result.at_least.and_then(word))
        }),
        reads: Reads::Number("N"),
        usual: None,
        set: |settings, text| put(&mut settings.result.at_least, count(text).map(Some)),
        help: "With [result count]: show both sides only whether at least N keys match",
    },
    RunOption {
        name: "payload",
        class: Class::Agreed(Term {
            goes_with: Some(GoesWith {
                others: ROWS,
                holds: |settings| {
                    settings.result.payload.is_empty() || settings.result.result == ResultChoice::Rows
                },
            }),
            not_in_parts: Some(OTHER_RESULTS),
            ..of_result("payload", |settings| columns(&settings.result.payload))
        }),
        reads: Reads::Columns,
        usual: None,
        set: |settings, text| {
            settings.result.payload.push(text.to_owned());
            Ok(())
        },
        help: "With [result rows]: a column of the sender's table that the receiver's matching rows get, as text; or several",
    },
    RunOption {
        name: "payload-bytes",
        class: Class::Agreed(Term {
            goes_with: Some(GoesWith {
                others: "`[payload]`",
                holds: |settings| {
                    settings.result.payload_bytes.is_none() || !settings.result.payload.is_empty()
                },
            }),
            ..of_result("payload-bytes", |settings| {
                let given = !settings.result.payload.is_empty();
                given.then(|| settings.result.payload_width()).and_then(word)
            })
        }),
        reads: Reads::Number("N"),
        usual: None,
        set: |settings, text| {
            put(&mut settings.result.payload_bytes, between(text, 1, MOST_PAYLOAD_BYTES.into()).map(Some))
        },
        help: "Bytes of a row's payload at most, 1 to 65536; the sender pads to it, so that no length is seen [default: 64]",
    },
    RunOption {
        name: "min-matches",
        class: Class::Agreed(Term {
            goes_with: Some(GoesWith {
                others: "`[result count]` (without `[at-least]`) or `[result sum]`",
                holds: |settings| {
                    settings.result.min_matches.is_none() || settings.result.kind().takes_minimum()
                },
            }),
            ..of_result("min-matches", |settings| settings.result.min_matches.and_then(word))
        }),
        reads: Reads::Number("N"),
        usual: None,
        set: |settings, text| put(&mut settings.result.min_matches, count(text).map(Some)),
        help: "With [result count] or sum: if fewer keys match (with [noise]: by the count with noise), show both sides only that",
    },
    RunOption {
        name: "noise",
        class: Class::Agreed(Term {
            goes_with: Some(GoesWith {
                others: COUNT,
                holds: |settings| settings.result.noise.is_none() || settings.result.kind().takes_noise(),
            }),
            ..of_result("noise", |settings| settings.result.noise.map(results::shown).and_then(word))
        }),
        reads: Reads::Decimal("EPSILON"),
        usual: None,
        set: |settings, text| put(&mut settings.result.noise, results::noise(text).map(Some)),
        help: "With [result count]: add noise of that privacy loss (epsilon), 0.001 to 20, from each side; smaller is noisier",
    },
    RunOption {
        name: "sigma",
        class: Class::Agreed(Term {
            not_in_parts: Some("native integers (`[sigma]`)"),
            ..agreed("sigma", |settings| settings.sigma.and_then(word))
        }),
        reads: Reads::Number("W"),
        usual: None,
        set: |settings, text| put(&mut settings.sigma, between(text, 1, 64).map(Some)),
        help: "Use keys as they are: integers of at most so many bits; one key column of rule int or ip, where the protocol offers it",
    },
    RunOption {
        name: "level",
        class: Class::Agreed(agreed("level", |settings| word(settings.level))),
        reads: Reads::Number("BITS"),
        usual: Some("128"),
        set: |settings, text| put(&mut settings.level, text.parse().map_err(|_| LEVELS.to_owned())),
        help: "Security level in bits, where the protocol offers it: 80, 112, 128, 192 or 256",
    },
    RunOption {
        name: "variant",
        class: Class::Agreed(Term {
            absent: "standard",
            ..agreed("variant", |settings| settings.variant.as_ref().and_then(word))
        }),
        reads: Reads::Name,
        usual: None,
        set: |settings, text| put(&mut settings.variant, Ok(Some(text.to_owned()))),
        help: "A variant of the named protocol, for comparison (see `vesica protocols`)",
    },
    RunOption {
        name: "profile",
        class: Class::Agreed(agreed("profile", |settings| word(settings.profile.word()))),
        reads: Reads::Word(words::<Profile>),
        usual: Some("conservative"),
        set: |settings, text| put(&mut settings.profile, Profile::of(text)),
        help: "What the protocol's parameters rest on: published bounds, our own arguments (fast), or estimates (lean)",
    },
    RunOption {
        name: "audit-max",
        class: Class::Agreed(Term {
            goes_with: Some(GoesWith {
                others: "`[result rows]` without `[payload]`",
                holds: |settings| settings.audit_max.is_none() || settings.result.kind() == ResultKind::Rows,
            }),
            not_in_parts: Some("`[audit-max]`"),
            ..agreed("audit-max", |settings| settings.audit_max.and_then(word))
        }),
        reads: Reads::Number("N"),
        usual: None,
        set: |settings, text| put(&mut settings.audit_max, count(text).map(Some)),
        help: "Reveal the result only if at most N keys match; otherwise both sides learn only that more do",
    },
    RunOption {
        name: "paper-parameters",
        class: Class::Agreed(Term {
            absent: "no",
            not_in_parts: Some("`[paper-parameters]`"),
            ..agreed("paper parameters", |settings| flag(settings.paper_parameters))
        }),
        reads: Reads::Flag,
        usual: None,
        set: |settings, _| put(&mut settings.paper_parameters, Ok(true)),
        help: "The paper's own parameters, for comparison with its tables; a run on real tables needs [allow-insecure]",
    },
];

/// `512M`, `4G`, or `auto`.
///
/// # Errors
/// What to write instead.
pub fn memory(text: &str) -> Result<Budget, String> {
    match text {
        "auto" => Budget::automatic().ok_or_else(|| "this system does not tell its free memory".to_owned()),
        text => size(text).map(Budget::named),
    }
}

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
            if let Some(GoesWith { others, .. }) = term.goes_with.filter(|goes| !(goes.holds)(self)) {
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
