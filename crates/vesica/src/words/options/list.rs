//! The list of options: a new one is an entry here and a field of [`Settings`].

use vesica_encode::items::OnDuplicates;
use vesica_protocols::{KeyAgreement, Learns, MOST_PAYLOAD_BYTES, Profile, ResultKind, Security};
use vesica_table::OnFault;

use super::{Class, PROTOCOL, Reads, RunOption, Term, Value};
use crate::words::parts::MOST;
use crate::words::results::{self, ResultChoice, ResultOptions};
use crate::words::settings::{Choice, Settings, count, duration, memory};
use crate::words::word::Word;

/// What `level` asks for.
const LEVELS: &str = "write 80, 112, 128, 192 or 256";

/// The most counts that a ledger can allow.
const MOST_COUNTS: u64 = 1_000_000;

/// What results other than rows are called where parts are.
const OTHER_RESULTS: &str = "results other than rows (`[result]`, `[payload]`)";

/// Results, as an error names what an option goes with.
const ROWS: &str = "`[result rows]`";
const COUNT: &str = "`[result count]`";

fn word(text: impl ToString) -> Option<Value> {
    Some(Value::Text(text.to_string()))
}

fn flag(given: bool) -> Option<Value> {
    given.then_some(Value::Flag(true))
}

fn columns(names: &[String]) -> Option<Value> {
    (!names.is_empty()).then(|| Value::Several(names.to_vec()))
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

/// A word or a number of the terms.
const fn agreed(field: &'static str, value: fn(&Settings) -> Option<Value>) -> Term {
    Term::new(field, value, false)
}

/// One that goes with a result.
const fn of_result(field: &'static str, value: fn(&Settings) -> Option<Value>) -> Term {
    Term::new(field, value, true)
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
        name: "device",
        class: Class::Own,
        reads: Reads::Device,
        usual: Some("auto"),
        set: |settings, text| put(&mut settings.device, text.parse()),
        help: "Where products of a group are computed: on the cores (cpu), or on a card of NVIDIA (cuda:0 is the first), in a build \
               with cards; auto takes a card where the set is large enough",
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
        name: "max-counts",
        class: Class::Own,
        reads: Reads::Number("N"),
        usual: None,
        set: |settings, text| put(&mut settings.budgets.max_counts, between(text, 0, MOST_COUNTS).map(Some)),
        help: "With [ledger]: refuse a run by which the partner would learn more than N counts, sums or thresholds about nearly \
               the same set of mine, all runs together [default: 4]",
    },
    RunOption {
        name: "max-questions",
        class: Class::Own,
        reads: Reads::Number("N"),
        usual: None,
        set: |settings, text| put(&mut settings.budgets.max_questions, count(text).map(Some)),
        help: "With [ledger]: refuse a run in which the partner would learn of more than N of its keys, padding included, whether \
               they are in nearly the same set of mine, all runs together [default: no limit]",
    },
    RunOption {
        name: "max-epsilon",
        class: Class::Own,
        reads: Reads::Decimal("EPSILON"),
        usual: None,
        set: |settings, text| put(&mut settings.budgets.max_epsilon, results::noise(text).map(Some)),
        help: "With [ledger] and [noise]: refuse a run with which the privacy loss about nearly the same set of mine would be more \
               than EPSILON, 0.001 to 20, all runs with the partner together [default: no limit]",
    },
    RunOption {
        name: "on-duplicates",
        class: Class::Own,
        reads: Reads::Word(OnDuplicates::words),
        usual: Some("all"),
        set: |settings, text| put(&mut settings.on_duplicates, OnDuplicates::of(text)),
        help: "My rows with the same key: all of them match, only the first matches, or they are an error",
    },
    RunOption {
        name: "on-null",
        class: Class::Own,
        reads: Reads::Word(OnFault::words),
        usual: Some("skip"),
        set: |settings, text| put(&mut settings.on_null, OnFault::of(text)),
        help: "My rows whose key is empty",
    },
    RunOption {
        name: "on-invalid",
        class: Class::Own,
        reads: Reads::Word(OnFault::words),
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
        help: "Split the run into at least N parts, several played at once; the larger number of both sides is taken (a long run \
               takes one for each core of both sides by itself)",
    },
    RunOption {
        name: "max-parts",
        class: Class::Bound,
        reads: Reads::Number("N"),
        usual: None,
        set: |settings, text| put(&mut settings.limits.max_parts, between(text, 1, MOST.into()).map(Some)),
        help: "Refuse a run that needs more than N parts, and take no more for the cores; 1 is a run on one connection [default: \
               what suits the sizes: 64, or one for each 65,536 keys if that is \
               more, with little padding]",
    },
    RunOption {
        name: "allow-insecure",
        class: Class::Bound,
        reads: Reads::Flag,
        usual: None,
        set: |settings, _| put(&mut settings.allow_insecure, Ok(true)),
        help: "Allow protocols that `vesica protocols` marks insecure or broken",
    },
    RunOption {
        name: PROTOCOL,
        class: Class::Agreed(agreed(PROTOCOL, |settings| word(&settings.protocol))),
        reads: Reads::Protocol,
        usual: Some("auto"),
        set: |settings, text| put(&mut settings.protocol, Ok(Choice::of(text))),
        help: "Protocol by name (see `vesica protocols`), or auto",
    },
    RunOption {
        name: "security",
        class: Class::Agreed(agreed("security", |settings| word(settings.security.word()))),
        reads: Reads::Word(Security::words),
        usual: Some("malicious"),
        set: |settings, text| put(&mut settings.security, Security::of(text)),
        help: "Protect against a partner that cheats (malicious), or only against a curious one (semi-honest)",
    },
    RunOption {
        name: "learns",
        class: Class::Agreed(agreed("learns", |settings| word(settings.learns.word()))),
        reads: Reads::Word(Learns::words),
        usual: Some("receiver"),
        set: |settings, text| put(&mut settings.learns, Learns::of(text)),
        help: "Who learns the result",
    },
    RunOption {
        name: "match-id",
        class: Class::Agreed(
            agreed("match id", |settings| flag(settings.match_id))
                .absent("no")
                .only_with(ROWS, |settings| settings.result.result == ResultChoice::Rows),
        ),
        reads: Reads::Flag,
        usual: None,
        set: |settings, _| put(&mut settings.match_id, Ok(true)),
        help: "Add a column match_id to the matching rows: the same number on both sides for the same key; with [learns both]",
    },
    RunOption {
        name: "result",
        class: Class::Agreed(
            agreed("result", |settings| word(settings.result.result.word())).not_in_parts(OTHER_RESULTS),
        ),
        reads: Reads::Word(ResultChoice::words),
        usual: Some("rows"),
        set: |settings, text| put(&mut settings.result.result, ResultChoice::of(text)),
        help: "What the result is: the matching rows, how many keys match, or sums over them; the last two only with \
               [security semi-honest] (docs/results.md)",
    },
    RunOption {
        name: "value",
        class: Class::Agreed(
            of_result("value", |settings| columns(&settings.result.value))
                .only_with("`[result sum]`", |settings| settings.result.result == ResultChoice::Sum),
        ),
        reads: Reads::Columns,
        usual: None,
        set: |settings, text| {
            settings.result.value.push(text.to_owned());
            Ok(())
        },
        help: "With [result sum]: a column of the sender's table to sum over the matching keys, whole numbers from 0 on; several give \
               several sums",
    },
    RunOption {
        name: "at-least",
        class: Class::Agreed(
            of_result("at-least", |settings| settings.result.at_least.and_then(word))
                .only_with(COUNT, |settings| settings.result.result == ResultChoice::Count),
        ),
        reads: Reads::Number("N"),
        usual: None,
        set: |settings, text| put(&mut settings.result.at_least, count(text).map(Some)),
        help: "With [result count]: show both sides only whether at least N keys match",
    },
    RunOption {
        name: "payload",
        class: Class::Agreed(
            of_result("payload", |settings| columns(&settings.result.payload))
                .not_in_parts(OTHER_RESULTS)
                .only_with(ROWS, |settings| settings.result.result == ResultChoice::Rows),
        ),
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
        class: Class::Agreed(
            of_result("payload-bytes", |settings| {
                let ResultOptions { payload, payload_bytes, .. } = &settings.result;
                (payload_bytes.is_some() || !payload.is_empty())
                    .then(|| settings.result.payload_width())
                    .and_then(word)
            })
            .only_with("`[payload]`", |settings| !settings.result.payload.is_empty()),
        ),
        reads: Reads::Number("N"),
        usual: None,
        set: |settings, text| {
            put(&mut settings.result.payload_bytes, between(text, 1, MOST_PAYLOAD_BYTES.into()).map(Some))
        },
        help: "Bytes of a row's payload at most, 1 to 65536; the sender pads to it, so that no length is seen [default: 64]",
    },
    RunOption {
        name: "min-matches",
        class: Class::Agreed(
            of_result("min-matches", |settings| settings.result.min_matches.and_then(word))
                .only_with("`[result count]` (without `[at-least]`) or `[result sum]`", |settings| {
                    settings.result.kind().takes_minimum()
                }),
        ),
        reads: Reads::Number("N"),
        usual: None,
        set: |settings, text| put(&mut settings.result.min_matches, count(text).map(Some)),
        help: "With [result count] or sum: if fewer keys match (with [noise]: by the count with noise), show both sides only that",
    },
    RunOption {
        name: "noise",
        class: Class::Agreed(
            of_result("noise", |settings| settings.result.noise.map(results::shown).and_then(word))
                .only_with(COUNT, |settings| settings.result.kind().takes_noise()),
        ),
        reads: Reads::Decimal("EPSILON"),
        usual: None,
        set: |settings, text| put(&mut settings.result.noise, results::noise(text).map(Some)),
        help: "With [result count]: add noise of that privacy loss (epsilon), 0.001 to 20, from each side; smaller is noisier",
    },
    RunOption {
        name: "sigma",
        class: Class::Agreed(
            agreed("sigma", |settings| settings.sigma.and_then(word))
                .not_in_parts("native integers (`[sigma]`)"),
        ),
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
        class: Class::Agreed(
            agreed("variant", |settings| settings.variant.as_ref().and_then(word)).absent("standard"),
        ),
        reads: Reads::Name,
        usual: None,
        set: |settings, text| put(&mut settings.variant, Ok(Some(text.to_owned()))),
        help: "A variant of the named protocol, for comparison (see `vesica protocols`)",
    },
    RunOption {
        name: "profile",
        class: Class::Agreed(agreed("profile", |settings| word(settings.profile.word()))),
        reads: Reads::Word(Profile::words),
        usual: Some("conservative"),
        set: |settings, text| put(&mut settings.profile, Profile::of(text)),
        help: "What the protocol's parameters rest on: published bounds, our own arguments (fast), or estimates (lean)",
    },
    RunOption {
        name: "base-ots",
        class: Class::Agreed(agreed("base-ots", |settings| word(settings.base_ots.word()))),
        reads: Reads::Word(KeyAgreement::words),
        usual: Some("diffie-hellman"),
        set: |settings, text| put(&mut settings.base_ots, KeyAgreement::of(text)),
        help: "What base OTs are made from, in the protocols that make them: ml-kem is ML-KEM-768, which no quantum \
               computer is known to break, and takes 577 kB for each 128 of them (docs/post-quantum.md)",
    },
    RunOption {
        name: "audit-max",
        class: Class::Agreed(
            agreed("audit-max", |settings| settings.audit_max.and_then(word))
                .not_in_parts("`[audit-max]`")
                .only_with("`[result rows]` without `[payload]`", |settings| {
                    settings.result.kind() == ResultKind::Rows
                }),
        ),
        reads: Reads::Number("N"),
        usual: None,
        // What a receipt can state.
        set: |settings, text| put(&mut settings.audit_max, between(text, 0, 1 << 53).map(Some)),
        help: "Reveal the result only if at most N keys match; otherwise both sides learn only that more do",
    },
    RunOption {
        name: "paper-parameters",
        class: Class::Agreed(
            agreed("paper parameters", |settings| flag(settings.paper_parameters))
                .absent("no")
                .not_in_parts("`[paper-parameters]`"),
        ),
        reads: Reads::Flag,
        usual: None,
        set: |settings, _| put(&mut settings.paper_parameters, Ok(true)),
        help: "The paper's own parameters, for comparison with its tables; a run on real tables needs [allow-insecure]",
    },
];
