//! What an error or a notice says, as data: the words are made where they are read, for a shell, for Python or for Rust, and
//! for one person, for two parties or for three.
//!
//! A text is made from a template in the source. In it
//!
//! - `{}` is an argument. What it holds is never read as a template, unless it is one of this program;
//! - `[on-null skip]` is an option, with or without a value: `--on-null skip` in a shell, `on_null="skip"` in Python and
//!   `on_null: skip` in Rust;
//! - `{the partner}`, `{ask the partner}` and the like are phrases: words that depend on who is spoken to.
//!
//! ```
//! use vesica_text::{Audience, Voice, text};
//!
//! let column = "mail";
//! let text = text!("`{}` is empty: give `[on-null skip]`{ on both sides}", column.to_owned());
//! assert_eq!(text.render(Voice::Shell), "`mail` is empty: give `--on-null skip` on both sides");
//! let alone = text.told(Audience::One);
//! assert_eq!(alone.render(Voice::Python), "`mail` is empty: give `on_null=\"skip\"`");
//! ```

#![forbid(unsafe_code)]

pub mod amounts;
mod visible;

pub use visible::visible;

use std::borrow::Cow;
use std::fmt;

/// Where a text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// On the command line: `--on-null skip`.
    Shell,
    /// In Python: `on_null="skip"`.
    Python,
    /// In Rust: `on_null: skip`.
    Rust,
}

/// Who is spoken to, and of whom.
#[derive(Debug, Clone, Copy)]
pub enum Audience<'a> {
    /// A run of three, where that one, such as "helper", stands in the place of the partner.
    Three(&'static str),
    /// A run through the relay at that address, which may have ended the connection in the partner's place.
    Relayed(&'a str),
    /// One person without a partner.
    One,
}

/// Words, and what in them depends on the reader.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Words(Cow<'static, str>),
    Option(&'static str, Value),
    Phrase(&'static Phrase),
    /// What has one form in a shell and in Rust, and another in Python.
    InPython(Box<[Text; 2]>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    None,
    /// Of the template: a word, a number, or what stands for a value, such as `HOST:PORT`.
    Word(&'static str),
    /// What a file or a user has given.
    Given(String),
    /// One value for each of two tables.
    Pair([String; 2]),
}

/// Words for two parties, for one person, for three parties and for two that a relay connects. `$` is whoever stands in the
/// place of the partner, or the relay's address.
#[derive(Debug, PartialEq, Eq)]
struct Phrase {
    two: &'static str,
    one: &'static str,
    three: &'static str,
    relayed: &'static str,
}

/// A phrase that only one person hears in another form.
const fn phrase(two: &'static str, one: &'static str) -> Phrase {
    Phrase { two, one, three: two, relayed: two }
}

/// A phrase that names the partner.
const fn named(two: &'static str, three: &'static str) -> Phrase {
    Phrase { three, ..phrase(two, two) }
}

/// The phrases that templates may hold.
const PHRASES: &[Phrase] = &[
    named("the partner", "the $"),
    named("the expected partner", "the expected $"),
    // A relay can do so, too, and nobody can tell which of the two it was.
    Phrase {
        relayed: "the partner, or the relay at $, closed",
        ..named("the partner closed", "the $ closed")
    },
    Phrase {
        relayed: "the partner, or the relay at $, fell silent",
        ..named("the partner fell silent", "the $ fell silent")
    },
    Phrase { relayed: "ask the partner and whoever runs the relay", ..named("ask the partner", "ask the $") },
    phrase("agree with the partner on", "give"),
    phrase("; the partner has not been contacted", ""),
    phrase("the exchange was complete and the partner has ended well; ", ""),
    Phrase { three: "start all three sides again", ..phrase("start both sides again", "start it again") },
    phrase("nothing was written here", "nothing was written"),
    phrase("if both sides give", "with"),
    phrase("run again on both sides", "run again"),
    phrase(" and give it on both sides", ""),
    phrase(", on both sides", ""),
    phrase(" on both sides", ""),
];

/// The options without a value.
const FLAGS: &[&str] = &[
    "allow-insecure",
    "compact",
    "fetch",
    "insecure-plaintext",
    "match-id",
    "no-header",
    "paper-parameters",
    "quiet",
    "rotate",
];

/// Whether that may be the name of an option. A test of the command line compares those in templates with its own.
pub fn is_option(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|letter| letter.is_ascii_lowercase() || letter == b'-')
}

/// Whether templates may hold that phrase.
pub fn is_phrase(words: &str) -> bool {
    PHRASES.iter().any(|phrase| phrase.two == words)
}

/// How many arguments the template has.
#[doc(hidden)]
pub const fn holes(template: &str) -> usize {
    let (template, mut at, mut holes) = (template.as_bytes(), 1, 0);
    while at < template.len() {
        holes += (template[at - 1] == b'{' && template[at] == b'}') as usize;
        at += 1;
    }
    holes
}

/// A text from a template and a value for each `{}` in it.
#[macro_export]
macro_rules! text {
    ($template:literal $(, $argument:expr)* $(,)?) => {{
        const { assert!($crate::holes($template) == <[&str]>::len(&[$(stringify!($argument)),*])) };
        $crate::Text::filled($template, [$($crate::Text::from($argument)),*])
    }};
}

impl Text {
    /// Words that are no template: what a file, a user or the system says.
    pub fn words(words: impl fmt::Display) -> Self {
        Text(vec![Piece::Words(Cow::Owned(words.to_string()))])
    }

    /// The option of that name.
    pub fn option(name: &'static str) -> Self {
        Text(vec![Piece::Option(name, Value::None)])
    }

    /// The option of that name with a value.
    pub fn option_with(name: &'static str, value: String) -> Self {
        Text(vec![Piece::Option(name, Value::Given(value))])
    }

    /// What has another form in Python.
    pub fn in_python(elsewhere: impl Into<Text>, python: impl Into<Text>) -> Self {
        Text(vec![Piece::InPython(Box::new([elsewhere.into(), python.into()]))])
    }

    /// Texts, one behind the other with those words between.
    pub fn joined(texts: impl IntoIterator<Item = Text>, between: &'static str) -> Self {
        texts.into_iter().reduce(|first, next| text!("{}{}{}", first, between, next)).unwrap_or_default()
    }

    /// The template, with the arguments in place of `{}`; [`text!`] calls it.
    #[doc(hidden)]
    pub fn filled<const N: usize>(template: &'static str, arguments: [Text; N]) -> Self {
        let mut arguments = arguments.into_iter();
        let mut text = Text::default();
        let mut rest = template;
        while let Some(at) = rest.find(['{', '[']) {
            text.say(&rest[..at]);
            let close = if rest[at..].starts_with('{') { '}' } else { ']' };
            let Some(length) = rest[at..].find(close) else { break };
            let marked = &rest[at + 1..at + length];
            match close {
                '}' => text.mark(marked, &mut arguments),
                _ if is_option(marked.split(' ').next().unwrap_or_default()) => {
                    text.name(marked, &mut arguments);
                }
                _ => text.say(&rest[at..=at + length]),
            }
            rest = &rest[at + length + 1..];
        }
        text.say(rest);
        debug_assert!(arguments.next().is_none(), "an argument too many: {template}");
        text
    }

    fn say(&mut self, words: &'static str) {
        if !words.is_empty() {
            self.0.push(Piece::Words(Cow::Borrowed(words)));
        }
    }

    /// An argument, or a phrase.
    fn mark(&mut self, marked: &'static str, arguments: &mut impl Iterator<Item = Text>) {
        if marked.is_empty() {
            let argument = arguments.next();
            debug_assert!(argument.is_some(), "an argument too few");
            return self.0.extend(argument.unwrap_or_default().0);
        }
        let phrase = PHRASES.iter().find(|phrase| phrase.two == marked);
        debug_assert!(phrase.is_some(), "no such phrase: {marked}");
        self.0.push(phrase.map_or(Piece::Words(Cow::Borrowed(marked)), Piece::Phrase));
    }

    /// An option.
    fn name(&mut self, marked: &'static str, arguments: &mut impl Iterator<Item = Text>) {
        let (name, value) =
            marked.split_once(' ').map_or((marked, None), |(name, value)| (name, Some(value)));
        let value = value.map(|value| match value.strip_suffix("{}") {
            Some(before) => Value::Given(format!("{before}{}", arguments.next().unwrap_or_default().shell())),
            None => Value::Word(value),
        });
        self.0.push(Piece::Option(name, value.unwrap_or(Value::None)));
    }

    /// The value that the text has of that option.
    pub fn value_of(&self, name: &str) -> Option<&str> {
        self.0.iter().find_map(|piece| match piece {
            Piece::Option(option, Value::Given(value)) if *option == name => Some(&**value),
            _ => None,
        })
    }

    /// Where the text has a value of that option, one for each of two tables in its place.
    pub fn set_pair(&mut self, name: &str, values: &[String; 2]) {
        for piece in &mut self.0 {
            if let Piece::Option(option, value @ Value::Given(_)) = piece
                && *option == name
            {
                *value = Value::Pair(values.clone());
            }
        }
    }

    /// The text for that audience.
    pub fn told(self, audience: Audience<'_>) -> Self {
        Text(self.0.into_iter().map(|piece| piece.told(audience)).collect())
    }

    /// The words, for that place.
    pub fn render(&self, voice: Voice) -> String {
        let mut words = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Words(text) => words.push_str(text),
                Piece::Option(name, value) => words.push_str(&option(name, value, voice)),
                Piece::Phrase(phrase) => words.push_str(phrase.two),
                Piece::InPython(forms) => {
                    words.push_str(&forms[usize::from(voice == Voice::Python)].render(voice));
                }
            }
        }
        words
    }

    /// This text as that place writes it, wherever it is read.
    #[must_use]
    pub fn told_in(&self, voice: Voice) -> Self {
        Text::words(self.render(voice))
    }

    /// The words for the command line, and for reports.
    pub fn shell(&self) -> String {
        self.render(Voice::Shell)
    }
}

impl Piece {
    fn told(self, audience: Audience<'_>) -> Self {
        let phrase = match self {
            Piece::Phrase(phrase) => phrase,
            Piece::InPython(forms) => {
                return Piece::InPython(Box::new(forms.map(|form| form.told(audience))));
            }
            piece => return piece,
        };
        Piece::Words(match audience {
            Audience::One => Cow::Borrowed(phrase.one),
            Audience::Relayed(relay) => filled(phrase.relayed, relay),
            Audience::Three(who) => filled(phrase.three, who),
        })
    }
}

/// The words, with whom they are of in place of `$`.
fn filled(words: &'static str, who: &str) -> Cow<'static, str> {
    match words.split_once('$') {
        Some((before, behind)) => Cow::Owned(format!("{before}{who}{behind}")),
        None => Cow::Borrowed(words),
    }
}

/// An option, as it is written there.
fn option(name: &str, value: &Value, voice: Voice) -> String {
    let known = name.replace('-', "_");
    match (voice, value) {
        (Voice::Shell, Value::None) => format!("--{name}"),
        (Voice::Shell, Value::Word(value)) => format!("--{name} {value}"),
        (Voice::Shell, Value::Given(value)) => format!("--{name} {value}"),
        (Voice::Shell, Value::Pair([one, other])) => format!("--{name} '{one}={other}'"),
        (Voice::Rust, Value::None) => known,
        (Voice::Rust, Value::Word(value)) => format!("{known}: {value}"),
        (Voice::Rust, Value::Given(value)) => format!("{known}: {value}"),
        (Voice::Rust, Value::Pair([one, other])) => format!("{known}: {one} and {other}"),
        (Voice::Python, Value::Pair([one, other])) => format!("{known}=(\"{one}\", \"{other}\")"),
        (Voice::Python, Value::None) if name == "no-header" => "header=False".to_owned(),
        (Voice::Python, Value::None) if FLAGS.contains(&name) => format!("{known}=True"),
        (Voice::Python, Value::None) => known,
        // A shell's quotes are no part of the value.
        (Voice::Python, Value::Given(value)) => match value.trim_matches('\'') {
            number if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
                format!("{known}={number}")
            }
            word => format!("{known}={word:?}"),
        },
        (Voice::Python, Value::Word(value)) => match value.trim_matches('\'') {
            number if number.bytes().all(|byte| byte.is_ascii_digit()) => format!("{known}={number}"),
            // What stands for a value: `HOST:PORT`.
            form if form.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b':') => {
                format!("{known} {value}")
            }
            word => format!("{known}=\"{word}\""),
        },
    }
}

impl From<&'static str> for Text {
    /// From a template without arguments.
    fn from(template: &'static str) -> Self {
        Text::filled(template, [])
    }
}

impl From<String> for Text {
    fn from(words: String) -> Self {
        Text::words(words)
    }
}

impl From<&String> for Text {
    fn from(words: &String) -> Self {
        Text::words(words)
    }
}

impl From<&Text> for Text {
    fn from(text: &Text) -> Self {
        text.clone()
    }
}

macro_rules! of_numbers {
    ($($number:ty)*) => {$(
        impl From<$number> for Text {
            fn from(number: $number) -> Self {
                Text::words(number)
            }
        }
    )*};
}
of_numbers!(u32 u64 usize);

/// For a Rust caller.
impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Voice::Rust))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(text: &Text) -> [String; 3] {
        [Voice::Shell, Voice::Python, Voice::Rust].map(|voice| text.render(voice))
    }

    #[test]
    fn an_option_is_written_as_its_reader_writes_it() {
        let cases = [
            ("`[on-null skip]`", ["`--on-null skip`", "`on_null=\"skip\"`", "`on_null: skip`"]),
            ("`[delimiter ';']`", ["`--delimiter ';'`", "`delimiter=\";\"`", "`delimiter: ';'`"]),
            ("[allow-insecure]", ["--allow-insecure", "allow_insecure=True", "allow_insecure"]),
            ("[no-header]", ["--no-header", "header=False", "no_header"]),
            ("[via HOST:PORT]", ["--via HOST:PORT", "via HOST:PORT", "via: HOST:PORT"]),
            ("[parts 5]", ["--parts 5", "parts=5", "parts: 5"]),
        ];
        for (template, expected) in cases {
            assert_eq!(forms(&template.into()), expected, "{template}");
        }
        let odd = text!("[key {}]", "ID:\"UPC".to_owned());
        assert_eq!(odd.told_in(Voice::Python).shell(), odd.render(Voice::Python));
        assert_eq!(forms(&odd), ["--key ID:\"UPC", "key=\"ID:\\\"UPC\"", "key: ID:\"UPC"]);
        let mut pair = Text::option_with("delimiter", "';'".into());
        assert_eq!(pair.value_of("delimiter"), Some("';'"));
        pair.set_pair("delimiter", &[";".into(), "tab".into()]);
        assert_eq!(
            forms(&pair),
            ["--delimiter ';=tab'", "delimiter=(\";\", \"tab\")", "delimiter: ; and tab"]
        );
    }

    #[test]
    fn what_an_argument_holds_is_no_template() {
        let column = "--key [peer] {the partner} {}";
        let text = text!("no column `{}`: repeat `[key]` {} times", column.to_owned(), 2_u64);
        assert_eq!(text.shell(), format!("no column `{column}`: repeat `--key` 2 times"));
        assert_eq!(text.told(Audience::One).render(Voice::Python).matches(column).count(), 1);
        let value = text!("`[run-file {}]`: no file", "a[b]".to_owned());
        assert_eq!(value.render(Voice::Python), "`run_file=\"a[b]\"`: no file");
    }

    #[test]
    fn who_is_spoken_to_chooses_the_phrase() {
        let text = "{the partner closed} it: {ask the partner}, {start both sides again}, leave `[via]` out{ on both sides}";
        let told = |audience| Text::from(text).told(audience).shell();
        assert_eq!(
            told(Audience::Three("helper")),
            "the helper closed it: ask the helper, start all three sides again, leave `--via` out on both sides"
        );
        assert_eq!(
            told(Audience::One),
            "the partner closed it: ask the partner, start it again, leave `--via` out"
        );
        assert_eq!(
            told(Audience::Relayed("r:1")),
            "the partner, or the relay at r:1, closed it: ask the partner and whoever runs the relay, start both sides \
             again, leave `--via` out on both sides"
        );
    }
}
