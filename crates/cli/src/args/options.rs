//! The options of a run, from the library's one list to the parser's arguments and back to settings.

use std::marker::PhantomData;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser};
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Args, Command, Error, FromArgMatches};
use vesica::options::{Class, OPTIONS, Reads, RunOption};
use vesica::registry::{self, PROTOCOLS};
use vesica::settings::{Settings, Word};
use vesica::text::Text;

/// Which of the options a command takes.
pub(crate) trait Takes: Clone + Send + Sync + 'static {
    /// Whether it takes this one.
    fn takes(option: &RunOption) -> bool;
}

/// A run between two parties takes all of them.
#[derive(Clone)]
pub(crate) struct Run;

impl Takes for Run {
    fn takes(_: &RunOption) -> bool {
        true
    }
}

/// A run of both parties in one program takes those that are not about a ledger.
#[derive(Clone)]
pub(crate) struct InOneProgram;

impl Takes for InOneProgram {
    fn takes(option: &RunOption) -> bool {
        !["max-counts", "max-questions", "max-epsilon"].contains(&option.name)
    }
}

/// A helper takes those that are not about a table or the terms.
#[derive(Clone)]
pub(crate) struct Help;

impl Takes for Help {
    fn takes(option: &RunOption) -> bool {
        ["threads", "memory", "timeout", "deadline", "min-peer-rows", "max-peer-rows"].contains(&option.name)
    }
}

/// A forecast takes what both sides agree on.
#[derive(Clone)]
pub(crate) struct Forecast;

impl Takes for Forecast {
    fn takes(option: &RunOption) -> bool {
        matches!(option.class, Class::Agreed(_)) || option.name == "allow-insecure"
    }
}

/// What a benchmark compares: forms of a protocol, which it names itself.
#[derive(Clone)]
pub(crate) struct Compare;

impl Takes for Compare {
    fn takes(option: &RunOption) -> bool {
        let other = ["protocol", "security", "match-id"].contains(&option.name);
        matches!(option.class, Class::Agreed(_)) && !other
    }
}

/// All options of the list that a command takes, as a group of the parser.
pub(super) const GROUP: &str = "options";

/// The settings that the options give which a command takes.
#[derive(Clone)]
pub(crate) struct Chosen<T> {
    pub(crate) settings: Settings,
    taken: PhantomData<T>,
}

impl<T: Takes> Args for Chosen<T> {
    fn augment_args(command: Command) -> Command {
        let taken = || OPTIONS.iter().filter(|option| T::takes(option));
        let group = ArgGroup::new(GROUP).args(taken().map(|option| option.name)).multiple(true);
        command.args(taken().map(argument)).group(group)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<T: Takes> FromArgMatches for Chosen<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut settings = Settings::default();
        for option in OPTIONS.iter().filter(|option| T::takes(option)) {
            let values = match option.reads {
                Reads::Flag => matches.get_flag(option.name).then(String::new).into_iter().collect(),
                _ => {
                    matches.get_many::<String>(option.name).into_iter().flatten().cloned().collect::<Vec<_>>()
                }
            };
            for value in values {
                let set = option.set(&mut settings, &value);
                set.map_err(|why| Error::raw(clap::error::ErrorKind::InvalidValue, why))?;
            }
        }
        Ok(Chosen { settings, taken: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// An option as the parser has it.
fn argument(option: &'static RunOption) -> Arg {
    let heading = match option.class {
        Class::Agreed(_) => "Agreed: both sides give the same",
        Class::Bound | Class::Own => "This side's choices",
    };
    let help = Text::from(option.help).shell();
    let mut argument = Arg::new(option.name).long(option.name).help(help).help_heading(heading);
    if let Some(usual) = option.usual {
        argument = argument.default_value(usual);
    }
    let read = move |text: &str| option.set(&mut Settings::default(), text).map(|()| text.to_owned());
    let (name, parser): (&'static str, ValueParser) = match option.reads {
        Reads::Flag => return argument.action(ArgAction::SetTrue),
        Reads::Word(words) => ("WORD", PossibleValuesParser::new(words()).into()),
        Reads::Protocol => {
            argument = argument.hide_possible_values(true);
            ("NAME", protocols().into())
        }
        Reads::Name => ("NAME", read.into()),
        Reads::Number(name) | Reads::Decimal(name) => (name, read.into()),
        Reads::Padding => ("pow2|N", read.into()),
        Reads::Time => ("TIME", read.into()),
        Reads::Size => ("SIZE|auto", read.into()),
        Reads::Device => ("auto|cpu|cuda:N", read.into()),
        Reads::Columns => {
            argument = argument.action(ArgAction::Append);
            ("COLUMN", read.into())
        }
    };
    argument.value_name(name).value_parser(parser)
}

/// The words of a setting.
pub(super) fn words<T: Word>() -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(T::words()).try_map(|word| T::of(&word))
}

/// How to get the protocols that this build leaves out.
pub(crate) const GET_EXHIBITS: &str = "`cargo install --locked --path crates/cli --features exhibits`";

/// `auto` and every protocol, for the parser and for completions.
fn protocols() -> impl TypedValueParser<Value = String> {
    names_and(&["auto"])
}

/// Every protocol.
pub(super) fn names() -> impl TypedValueParser<Value = String> {
    names_and(&[])
}

/// Every protocol after these words. Of one that this build leaves out it tells how to get it.
fn names_and(words: &'static [&'static str]) -> impl TypedValueParser<Value = String> {
    let known = words.iter().copied().chain(PROTOCOLS.iter().map(|entry| entry.name));
    let left_out = registry::left_out().map(|name| PossibleValue::new(name).hide(true));
    PossibleValuesParser::new(known.map(PossibleValue::new).chain(left_out)).try_map(|name| {
        if registry::left_out().any(|left_out| left_out == name) {
            Err(format!("{}: {GET_EXHIBITS}", registry::absent(&name)))
        } else {
            Ok(name)
        }
    })
}
