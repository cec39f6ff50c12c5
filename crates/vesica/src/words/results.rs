//! The results that a run can give, as users ask for them: rows, rows with a payload, a count, whether a count reaches a
//! number, sums. Both sides ask for the same.

use serde::Serialize;
use vesica_protocols::registry::Entry;
use vesica_protocols::{
    Learns, MOST_PAYLOAD_BYTES, MOST_SUMS, Misuse, Noise, Parameters, Payloads, ResultKind, Role,
};
use vesica_table::{Attach, Attached, Cell};
use vesica_text::{Text, text};

use crate::words::error::Error;
use crate::words::word::Word;

/// The width of a payload where nothing else is asked for.
pub const USUAL_PAYLOAD_BYTES: u32 = 64;

/// `--result`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ResultChoice {
    /// The matching rows.
    #[default]
    Rows,
    /// How many keys match.
    Count,
    /// Sums of the sender's columns over the matching keys.
    Sum,
}

impl Word for ResultChoice {
    const WORDS: &'static [(&'static str, Self)] =
        &[("rows", ResultChoice::Rows), ("count", ResultChoice::Count), ("sum", ResultChoice::Sum)];
}

/// What the run gives, and what limits it. All of it is agreed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResultOptions {
    /// Rows, a count, or sums.
    pub result: ResultChoice,
    /// For sums: the sender's columns.
    pub value: Vec<String>,
    /// For a count: show only whether it is at least this. Both sides learn it.
    pub at_least: Option<u64>,
    /// For rows: the sender's columns that the receiver's matching rows get.
    pub payload: Vec<String>,
    /// Bytes of a row's payload at most; none: [`USUAL_PAYLOAD_BYTES`].
    pub payload_bytes: Option<u32>,
    /// For a count and sums: fewer matching keys are refused.
    pub min_matches: Option<u64>,
    /// For a count: noise that each side adds.
    pub noise: Option<Noise>,
}

impl ResultOptions {
    /// Bytes of a row's payload at most.
    pub fn payload_width(&self) -> u32 {
        self.payload_bytes.unwrap_or(USUAL_PAYLOAD_BYTES)
    }

    /// The result that a protocol must give.
    pub fn kind(&self) -> ResultKind {
        match (self.result, self.at_least) {
            (ResultChoice::Rows, _) if self.payload.is_empty() => ResultKind::Rows,
            (ResultChoice::Rows, _) => ResultKind::Payload { bytes: self.payload_width() },
            (ResultChoice::Count, None) => ResultKind::Count,
            (ResultChoice::Count, Some(least)) => ResultKind::AtLeast(least),
            (ResultChoice::Sum, _) => {
                ResultKind::Sums { columns: u8::try_from(self.value.len()).unwrap_or(u8::MAX) }
            }
        }
    }

    /// The columns that go with a sender's keys.
    pub(crate) fn attach(&self, role: Role) -> Attach {
        match (role, self.kind()) {
            (Role::Sender, ResultKind::Sums { .. }) => Attach::Values(self.value.clone()),
            (Role::Sender, ResultKind::Payload { bytes }) => {
                Attach::Payload { columns: self.payload.clone(), bytes: bytes as usize }
            }
            _ => Attach::Nothing,
        }
    }

    /// Whether the values are ones that a run can have.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let kind = self.kind();
        let refused = |message: Text, remedy: Text| Err(Error::usage(message, remedy));
        if kind == (ResultKind::Sums { columns: 0 }) {
            return refused(
                text!("`[result sum]` needs columns to sum"),
                text!("name columns of the sender{, on both sides}, with `[value]`"),
            );
        }
        if self.at_least == Some(0) {
            return refused(text!("every count is at least 0"), text!("give `[at-least]` 1 or more"));
        }
        for (option, columns) in [("value", &self.value), ("payload", &self.payload)] {
            if (1..columns.len()).any(|at| columns[..at].contains(&columns[at])) {
                return refused(
                    text!("`{}` names a column twice", Text::option(option)),
                    text!("name each column once"),
                );
            }
        }
        match kind {
            ResultKind::Sums { .. } if !kind.fits() => refused(
                text!("a run gives at most {} sums", MOST_SUMS.to_string()),
                text!("give fewer `[value]`, and sum the other columns in another run"),
            ),
            _ if !kind.fits() => refused(
                text!("`[payload-bytes]` is from 1 to {}", MOST_PAYLOAD_BYTES.to_string()),
                text!("give another `[payload-bytes]`"),
            ),
            _ => Ok(()),
        }
    }
}

/// ε as a user writes it: `0.5`, at most 20, and at most three digits after the point.
pub fn noise(text: &str) -> Result<Noise, String> {
    let read = || {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || fraction.len() > 3 || whole.len() > 2 {
            return None;
        }
        let thousandths = format!("{whole}{fraction:0<3}").parse().ok()?;
        Noise::of_thousandths(thousandths)
    };
    read().ok_or_else(|| "write a number from 0.001 to 20, with at most three digits after the point".into())
}

/// ε as it is read.
pub(crate) fn shown(noise: Noise) -> String {
    shown_thousandths(noise.thousandths().into())
}

/// A number of thousandths, as ε is read.
pub(crate) fn shown_thousandths(thousandths: u64) -> String {
    let (whole, fraction) = (thousandths / 1000, thousandths % 1000);
    let text = format!("{whole}.{fraction:03}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A result that is not rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// How many keys match; below 0 only with noise.
    Count(i64),
    /// Whether as many keys match as was asked.
    AtLeast(bool),
    /// Each sum with the name of its column, in the order of `--value`.
    Sums(Vec<(String, u128)>),
}

impl Answer {
    /// The answer as a table of one row: names and values.
    pub(crate) fn row(&self) -> Vec<(String, Cell)> {
        match self {
            Answer::Count(count) => vec![("matches".to_owned(), Cell::Integer(*count))],
            Answer::AtLeast(reached) => vec![("at_least".to_owned(), Cell::Truth(*reached))],
            Answer::Sums(sums) => sums.iter().map(|(name, sum)| (name.clone(), Cell::Number(*sum))).collect(),
        }
    }
}

/// What a sender attaches to its items, as a protocol takes it.
pub(crate) enum Attachments {
    Nothing,
    Values(Vec<Vec<u64>>),
    Payloads(Payloads),
}

impl Attachments {
    pub(crate) fn of(attached: Attached) -> Result<Self, Misuse> {
        Ok(match attached {
            Attached::Nothing => Attachments::Nothing,
            Attached::Values(columns) => Attachments::Values(columns),
            Attached::Payloads { blocks, width } => {
                Attachments::Payloads(Payloads::new(width, blocks).ok_or(Misuse::UnfitAttached)?)
            }
        })
    }

    pub(crate) fn lend(&self) -> vesica_protocols::Attached<'_> {
        match self {
            Attachments::Nothing => vesica_protocols::Attached::Nothing,
            Attachments::Values(columns) => vesica_protocols::Attached::Values(columns),
            Attachments::Payloads(payloads) => vesica_protocols::Attached::Payloads(payloads),
        }
    }
}

/// The result in a report: what it is, what each side learns by it, and what it says that is not rows.
#[derive(Debug, Clone, Serialize)]
pub struct ResultReport {
    /// `rows`, `payload`, `count`, `at-least` or `sum`.
    pub kind: &'static str,
    /// What the receiver learns.
    pub receiver_learns: Vec<String>,
    /// What the sender learns.
    pub sender_learns: Vec<String>,
    /// How many keys match, for a party that learns a count.
    pub count: Option<i64>,
    /// Whether as many keys match as was asked, if that is the result.
    pub at_least: Option<bool>,
    /// The sums, for a party that learns them.
    pub sums: Option<Vec<SumReport>>,
    /// Matching rows whose payload does not decode, so that its fields are empty; for a party that gets payloads.
    pub undecodable_rows: Option<u64>,
}

/// A sum in a report.
#[derive(Debug, Clone, Serialize)]
pub struct SumReport {
    /// The sender's column.
    pub column: String,
    /// The sum, in digits: programs that read JSON numbers as floats round those above 2^53.
    pub sum: String,
}

impl ResultReport {
    /// Of a run whose result is not known yet.
    pub(crate) fn of(entry: &Entry, parameters: &Parameters, learns: Learns, several_keys: bool) -> Self {
        let kind = parameters.result.name().name();
        let disclosed = Disclosed {
            result: kind,
            least: if let ResultKind::AtLeast(least) = parameters.result { least } else { 0 },
            both: learns == Learns::Both,
            noisy: parameters.noise.is_some(),
            min_matches: parameters.min_matches,
            audit_max: parameters.audit_max,
            several_keys,
            leakage: leakage(entry),
        };
        let with_size = |learned| [vec![OTHER_SIZE.to_owned()], learned].concat();
        let [receiver_learns, sender_learns] = disclosed.by_sides().map(with_size);
        let (count, at_least, sums, undecodable_rows) = (None, None, None, None);
        ResultReport { kind, receiver_learns, sender_learns, count, at_least, sums, undecodable_rows }
    }

    /// Puts the answer into it.
    pub(crate) fn answered(&mut self, answer: &Answer) {
        match answer {
            Answer::Count(count) => self.count = Some(*count),
            Answer::AtLeast(reached) => self.at_least = Some(*reached),
            Answer::Sums(sums) => {
                let sum = |(column, sum): &(String, u128)| SumReport {
                    column: column.clone(),
                    sum: sum.to_string(),
                };
                self.sums = Some(sums.iter().map(sum).collect());
            }
        }
    }
}

/// What each side learns of the other, whatever the result is.
pub(crate) const OTHER_SIZE: &str = "the size of the other set, padding included";

/// What decides what each side learns: of a run, or of the terms that a receipt states.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Disclosed<'a> {
    /// `rows`, `payload`, `count`, `at-least` or `sum`.
    pub result: &'a str,
    /// What `at-least` asks for.
    pub least: u64,
    /// Whether the sender learns the result too.
    pub both: bool,
    /// Whether a count has noise.
    pub noisy: bool,
    /// The matches below which nothing else is shown, or 0.
    pub min_matches: u64,
    /// The matches above which nothing else is shown.
    pub audit_max: Option<u64>,
    /// Whether a row has several keys, so that the receiver learns more than the output shows.
    pub several_keys: bool,
    /// What the protocol shows besides.
    pub leakage: Option<&'a str>,
}

/// What a protocol shows besides the result and the sizes, if it is one of those that need `--allow-insecure`.
pub(crate) fn leakage(entry: &Entry) -> Option<&str> {
    entry.needs_allow_insecure().then_some(entry.leakage)
}

impl Disclosed<'_> {
    /// What the receiver and the sender learn by the result, and not what sizes tell them.
    pub(crate) fn by_sides(self) -> [Vec<String>; 2] {
        let Disclosed { result, least, both, noisy, min_matches, audit_max, several_keys, leakage } = self;
        let which = match several_keys {
            false => "which of its own rows match".to_owned(),
            true => {
                "which of its own rows match, by each rule and not only by the first that hits".to_owned()
            }
        };
        let judged = if noisy { ", by a count with noise" } else { "" };
        let receivers = match result {
            "rows" => which.clone(),
            "payload" => format!("{which}, and the agreed columns of the sender's rows that match them"),
            "count" if noisy => "how many keys match, with noise".to_owned(),
            "count" => "how many keys match".to_owned(),
            "at-least" => format!("whether at least {least} keys match{judged}"),
            "sum" => "the sums of the agreed columns over the keys that match".to_owned(),
            // Of a later program's receipt.
            other => other.to_owned(),
        };
        let senders = match result {
            "at-least" => Some(receivers.clone()),
            _ if !both => None,
            "payload" => Some(which),
            _ => Some(receivers.clone()),
        };
        let limits = [
            (min_matches > 0).then(|| format!("whether at least {min_matches} keys match{judged}")),
            audit_max.map(|most| format!("whether more than {most} keys match")),
            leakage.map(str::to_owned),
        ];
        let with = |result| limits.iter().flatten().cloned().chain(result).collect();
        [with(Some(receivers)), with(senders)]
    }
}

#[cfg(test)]
mod tests {
    use vesica_protocols::registry;

    use super::*;
    use crate::words::settings::Settings;

    fn columns(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn noise_is_read_and_shown() {
        for (text, thousandths) in
            [("0.5", 500), ("1", 1000), ("0.001", 1), ("20", 20_000), ("12.34", 12_340)]
        {
            let read = noise(text).unwrap();
            assert_eq!((read.thousandths(), shown(read)), (thousandths, text.to_owned()));
        }
        assert_eq!(noise("1.0").map(shown), Ok("1".into()));
        for bad in ["", "0", "0.0", "-1", "20.001", "0.0001", ".5", "5.", "1e3", "100", "NaN", "١"] {
            assert!(noise(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn options_that_do_not_go_together_are_refused_by_name() {
        let usual = ResultOptions::default();
        let sum = ResultOptions { result: ResultChoice::Sum, value: columns(&["a"]), ..usual.clone() };
        let count = ResultOptions { result: ResultChoice::Count, ..usual.clone() };
        let rows = ResultOptions { payload: columns(&["a"]), ..usual.clone() };
        let least = ResultOptions { at_least: Some(5), ..count.clone() };
        let settings = |result: &ResultOptions| Settings { result: result.clone(), ..Settings::default() };
        let error = |options: &ResultOptions| settings(options).check().err();
        for fine in [&usual, &sum, &count, &rows, &least] {
            assert_eq!(error(fine), None, "{fine:?}");
        }
        let few = Some(5);
        for (options, named) in [
            (ResultOptions { value: columns(&["a"]), ..count.clone() }, "`--value`"),
            (ResultOptions { value: vec![], ..sum.clone() }, "`--value`"),
            (ResultOptions { value: columns(&["a", "b", "a"]), ..sum.clone() }, "`--value`"),
            (ResultOptions { value: (0..17).map(|n| n.to_string()).collect(), ..sum.clone() }, "`--value`"),
            (ResultOptions { at_least: few, ..sum.clone() }, "`--at-least`"),
            (ResultOptions { at_least: few, ..usual.clone() }, "`--at-least`"),
            (ResultOptions { at_least: Some(0), ..count.clone() }, "`--at-least`"),
            (ResultOptions { payload: columns(&["a"]), ..count.clone() }, "`--payload`"),
            (ResultOptions { payload: columns(&["a", "a"]), ..usual.clone() }, "`--payload`"),
            (ResultOptions { payload_bytes: Some(9), ..usual.clone() }, "`--payload-bytes`"),
            (ResultOptions { payload_bytes: Some(0), ..rows.clone() }, "`--payload-bytes`"),
            (ResultOptions { payload_bytes: Some(65_537), ..rows.clone() }, "`--payload-bytes`"),
            (ResultOptions { min_matches: few, ..usual.clone() }, "`--min-matches`"),
            (ResultOptions { min_matches: few, ..rows.clone() }, "`--min-matches`"),
            (ResultOptions { min_matches: few, ..least.clone() }, "`--min-matches`"),
            (ResultOptions { noise: Noise::of_thousandths(5), ..sum.clone() }, "`--noise`"),
            (ResultOptions { noise: Noise::of_thousandths(5), ..usual.clone() }, "`--noise`"),
        ] {
            let error = error(&options).unwrap();
            assert!(error.render(vesica_text::Voice::Shell).contains(named), "{options:?}: {error}");
            assert_eq!(error.kind.exit_code(), 64);
        }
        let numbered = Settings { match_id: true, ..settings(&count) };
        let bounded = Settings { audit_max: few, ..settings(&rows) };
        for (settings, named) in [(numbered, "`--match-id`"), (bounded, "`--audit-max`")] {
            assert!(settings.check().unwrap_err().render(vesica_text::Voice::Shell).contains(named));
        }
    }

    #[test]
    fn each_side_is_told_what_both_learn() {
        let entry = registry::find("vole").unwrap();
        let all = |result, min_matches, learns| {
            let parameters = Parameters { result, min_matches, ..Parameters::default() };
            let report = ResultReport::of(entry, &parameters, learns, false);
            [report.receiver_learns, report.sender_learns]
        };
        let size = OTHER_SIZE;
        let [receiver, sender] = all(ResultKind::Rows, 0, Learns::Receiver);
        assert_eq!(receiver, [size, "which of its own rows match"]);
        assert_eq!(sender, [size]);
        let [receiver, sender] = all(ResultKind::Count, 7, Learns::Receiver);
        assert_eq!(receiver, [size, "whether at least 7 keys match", "how many keys match"]);
        assert_eq!(sender, receiver[..2]);
        let [receiver, sender] = all(ResultKind::AtLeast(9), 0, Learns::Receiver);
        assert_eq!((receiver.len(), &receiver), (2, &sender));
        let [_, sender] = all(ResultKind::Payload { bytes: 9 }, 0, Learns::Both);
        assert_eq!(sender, [size, "which of its own rows match"]);
        let [_, sender] = all(ResultKind::Sums { columns: 1 }, 0, Learns::Receiver);
        assert_eq!(sender, [size]);
    }
}
