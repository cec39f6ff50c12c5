//! `vesica plan`: what a run would take, before there is a partner or a table.

use std::fmt::Write;

use serde_json::{Value, json};
use vesica::Error;
use vesica::channel::CancelToken;
use vesica::device::{Device, NoCard};
use vesica::memory::Bytes;
use vesica::output_paths;
use vesica::page;
use vesica::parts::{self, Parts};
use vesica::plan::{
    self, Alternative, Cell, Clock, Conditions, Estimate, Forecast, GateCount, LevelScale, Parties, ScaledBy,
    Time, Unfit,
};
use vesica::protocols::registry::OnCard;
use vesica::protocols::{KeyAgreement, Learns, ResultKind, Sizes};
use vesica::settings::Word;
use vesica::text::amounts::seconds;

use crate::args::Plan;
use crate::documents::print;
use crate::screen;

/// Runs the command; its end as an exit code.
pub(crate) fn run(args: &Plan) -> u8 {
    match planned(args) {
        Ok(text) => print(text.as_bytes()),
        Err(error) => {
            screen::failure_alone("plan", &error);
            error.kind.exit_code()
        }
    }
}

/// What is printed: nothing if the plan goes to a file.
fn planned(args: &Plan) -> Result<String, Error> {
    let (settings, sizes, conditions) = (args.settings(), args.sizes(), args.conditions());
    settings.check()?;
    let place = args.output.as_deref().map(|path| output_paths::check_document(path, &[])).transpose()?;
    let forecast = plan::forecast(&settings.protocol, settings.wanted(), sizes, &conditions)
        .map_err(|unfit| Error::usage(unfit.text(), "give other sizes, another protocol or other options"))?;
    let asked = Asked { learns: settings.learns, sizes, conditions };
    let json = || format!("{:#}", as_json(&forecast, &asked));
    Ok(match place {
        Some(place) => {
            place.write(json() + "\n", Some(page::plan), &CancelToken::new())?;
            String::new()
        }
        None if args.json => json() + "\n",
        None => as_text(&forecast, &asked, args.all),
    })
}

/// What the user asked for.
struct Asked {
    learns: Learns,
    sizes: Sizes,
    conditions: Conditions,
}

fn as_json(forecast: &Forecast, asked: &Asked) -> Value {
    let Forecast { choice, estimate, parts, lanes, alternatives } = forecast;
    let Asked { learns, sizes, conditions } = asked;
    let played = parts::sizes(*parts, *sizes);
    let parameters = &choice.parameters;
    let alternatives = alternatives.iter().map(|Alternative { protocol, outcome }| match outcome {
        Ok(estimate) => json!({"protocol": protocol.name, "estimate": estimate}),
        Err(unfit) => json!({"protocol": protocol.name, "refused": unfit.text().shell()}),
    });
    json!({
        "schema": 3,
        "sizes": {"receiver": sizes.receiver, "sender": sizes.sender},
        "parts": {
            "count": parts.count(),
            "receiver": played.receiver,
            "sender": played.sender,
            "lanes": lanes,
        },
        "conditions": {
            "threads": conditions.threads,
            "bits_per_s": conditions.bits_per_s,
            "round_trip_s": conditions.round_trip.as_secs_f64(),
            "kept_base_ots": conditions.kept_base_ots,
            "memory": conditions.memory.map(|budget| budget.bytes),
        },
        "protocol": choice.protocol.name,
        "reason": choice.reason,
        "parameters": {
            "security": parameters.security.name(),
            "level": parameters.level,
            "sigma": parameters.sigma,
            "variant": parameters.variant_name(),
            "profile": parameters.profile.name(),
            "base_ots": parameters.base_ots.name(),
            "paper_parameters": parameters.paper,
            "audit_max": parameters.audit_max,
            "caveat": parameters.caveat(),
            "result": parameters.result.name().name(),
            "at_least": match parameters.result {
                ResultKind::AtLeast(least) => Some(least),
                _ => None,
            },
            "min_matches": Some(parameters.min_matches).filter(|least| *least > 0),
            "noise": parameters.noise.map(|noise| f64::from(noise.thousandths()) / 1000.0),
            "learns": learns.word(),
        },
        "estimate": estimate,
        "records": plan::sources().collect::<Vec<_>>(),
        "alternatives": alternatives.collect::<Vec<_>>(),
    })
}

fn as_text(forecast: &Forecast, asked: &Asked, all: bool) -> String {
    let protocol = forecast.choice.protocol;
    let mut text = format!("{}: {}\n", protocol.name, protocol.title);
    // Writing to a string cannot fail.
    for (name, value) in about_choice(forecast, asked).into_iter().chain(about_cost(forecast, asked)) {
        let _ = writeln!(text, "  {name:10} {value}");
    }
    let _ = write!(
        text,
        "\n{}\nTraffic and memory are the protocols' formulas. Time starts from runs of these records, both parties on\n\
         one machine, from keys in memory to matches. It is scaled to your keys; sending and computing may overlap.\n\
         Times of different machines cannot be compared:\n",
        table(forecast, all),
    );
    for (number, source) in used(forecast).into_iter().enumerate() {
        let _ = writeln!(text, "{}{source}", if number == 0 { "  " } else { "* " });
    }
    text
}

/// The first record, and those of the times in the table.
fn used(forecast: &Forecast) -> Vec<&'static str> {
    let costs = || forecast.alternatives.iter().filter_map(|other| other.outcome.as_ref().ok());
    let times = || costs().chain([&forecast.estimate]).filter_map(|cost| cost.time);
    let is_used = |source: &&str| times().any(|time| time.nearest.record == *source);
    plan::sources()
        .enumerate()
        .filter(|(number, source)| *number == 0 || is_used(source))
        .map(|(_, s)| s)
        .collect()
}

/// Whether a time is of the first record.
fn is_of_first(time: &Time) -> bool {
    plan::sources().next() == Some(time.nearest.record)
}

/// What would run, and why.
fn about_choice(forecast: &Forecast, asked: &Asked) -> Vec<(&'static str, String)> {
    let Forecast { choice, parts, lanes, .. } = forecast;
    let Asked { sizes, conditions, .. } = asked;
    let mut lines = vec![
        ("why", choice.reason.to_owned()),
        ("keys", format!("receiver {}, sender {}", sizes.receiver, sizes.sender)),
        ("parameters", parameters(forecast, asked)),
    ];
    if *parts != Parts::ONE {
        let Sizes { receiver, sender } = parts::sizes(*parts, *sizes);
        let count = parts.count();
        lines.push((
            "parts",
            format!(
                "{count}, each of {receiver} keys of the receiver, {sender} of the sender; {lanes} at once"
            ),
        ));
    }
    if let Some(caveat) = choice.parameters.caveat() {
        lines.push(("rests on", caveat.to_owned()));
    }
    lines.push(("network", network(conditions)));
    if Device::CAN_HAVE_CARD && choice.protocol.on_card == OnCard::Group {
        lines.push(("card", of_card(Device::count()).to_owned()));
    }
    if conditions.kept_base_ots {
        let takes = choice.protocol.keeps_base_ots();
        let what = if takes { "those of an earlier run" } else { "none that could be kept" };
        lines.push(("base OTs", what.to_owned()));
    }
    lines
}

/// What a card would do. No rate of one is known, so the time stays that of the cores.
fn of_card(count: Result<usize, NoCard>) -> &'static str {
    match count {
        Ok(1..) => {
            "would compute the group's operations (`--device`); its rate is not known, and not in the time"
        }
        _ => "would compute the group's operations; this machine has none",
    }
}

/// What it would cost.
fn about_cost(forecast: &Forecast, asked: &Asked) -> Vec<(&'static str, String)> {
    let Estimate { traffic, memory, disk, helper, gates, max_tested_keys, time } = &forecast.estimate;
    let parties = |receiver, sender| format!("receiver {}, sender {}", Bytes(receiver), Bytes(sender));
    let sent = Bytes(traffic.receiver + traffic.sender);
    let mut lines = vec![
        ("traffic", format!("{sent}: {} sent", parties(traffic.receiver, traffic.sender))),
        ("memory", format!("{} at most, tables and keys included", parties(memory.receiver, memory.sender))),
    ];
    if asked.conditions.memory.is_some() {
        lines.push(("disk", on_disk(disk)));
    }
    if let Some(helper) = helper {
        let cost = format!("{} sent, {} of memory at most", Bytes(helper.sent), Bytes(helper.memory));
        lines.push(("helper", cost));
    }
    if let Some(GateCount { ands, private_ands, depth }) = gates {
        let depth = depth.map_or(String::new(), |depth| format!("; at most {depth} after one another"));
        lines.push((
            "gates",
            format!("{ands} AND, {private_ands} AND with a bit that the sender knows{depth}"),
        ));
    }
    if let Some(tested) = max_tested_keys {
        let search = match forecast.choice.protocol.tests_by_search() {
            true => ", with 2^64 hash evaluations",
            false => "",
        };
        let bound = format!("a receiver that cheats can ask about {tested} keys at most{search}");
        lines.push(("questions", bound));
    }
    let Some(time) = time else {
        lines.push(("time", "this protocol was not measured".to_owned()));
        return lines;
    };
    lines.push(("time", explain(time, &asked.conditions)));
    lines.push(("measured", measured(time, forecast.choice.protocol.name)));
    lines.push(("record", time.nearest.record.to_owned()));
    lines
}

/// The cell that a protocol's time starts from, and how it differs from the run.
fn measured(time: &Time, protocol: &str) -> String {
    let Cell { configuration, threads, receiver, sender, clock, seconds: measured_s, .. } = time.nearest;
    let mut measured = format!(
        "{}{} at {} and {} keys, {}",
        seconds(measured_s),
        if clock == Clock::Processor { " of the processor" } else { "" },
        power(receiver),
        power(sender),
        counted_threads(threads)
    );
    // Writing to a string cannot fail.
    if configuration.protocol != protocol {
        let _ = write!(measured, "; of `{configuration}`, by its gates: {protocol} was not measured");
    } else if !time.same_configuration {
        let _ = write!(measured, "; of `{configuration}`: these parameters were not measured");
    }
    if let Some(LevelScale { from_level, by, factor }) = time.level_scale {
        let by = match by {
            ScaledBy::Powers => "the length of modulus and exponent",
            ScaledBy::Traffic => "traffic",
        };
        let _ = write!(measured, "; scaled from level {from_level} by {by}: × {}", three_digits(factor));
    }
    measured
}

/// A factor in three digits.
fn three_digits(factor: f64) -> String {
    let digits = (2.0 - factor.log10().floor()).clamp(0.0, 4.0) as usize;
    format!("{factor:.digits$}")
}

/// The temporary files of both parties.
fn on_disk(disk: &Parties) -> String {
    let party = |name, bytes| match bytes {
        0 => format!("{name} none"),
        bytes => format!("{name} {}", Bytes(bytes)),
    };
    let parties = [party("receiver", disk.receiver), party("sender", disk.sender)].join(", ");
    if (disk.receiver, disk.sender) == (0, 0) {
        return "none: all keys fit into memory".to_owned();
    }
    format!("{parties} of temporary files at most; keys are written twice and read four times")
}

/// The longest name of a protocol.
const WIDTH: usize = "circuit-phasing-gmw".len();

/// Every protocol with its cost, and below them those that cannot be taken, or how many these are. A star marks a time of
/// another record than the first.
fn table(forecast: &Forecast, all: bool) -> String {
    let Forecast { choice, alternatives, .. } = forecast;
    let times = alternatives.iter().filter_map(|other| {
        let time = other.outcome.as_ref().ok()?.time.filter(is_of_first)?;
        Some((time.total_s, other.protocol.name))
    });
    let fastest = times.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name);
    let line = |mark: &str, [name, time, traffic, receiver, sender]: [&str; 5], remark: &str| {
        format!("{mark} {name:WIDTH$} {time:>10} {traffic:>10} {receiver:>10} {sender:>10}{remark}\n")
    };
    let mut text = line(" ", ["protocol", "time ", "traffic", "memory", "sender's"], "");
    let mut refused = Vec::new();
    for Alternative { protocol, outcome } in alternatives {
        match outcome {
            Ok(Estimate { traffic, memory, time, .. }) => text.push_str(&line(
                if protocol.name == choice.protocol.name { ">" } else { " " },
                [
                    protocol.name,
                    &time.map_or("?".to_owned(), |time| {
                        seconds(time.total_s) + if is_of_first(&time) { " " } else { "*" }
                    }),
                    &Bytes(traffic.receiver + traffic.sender).to_string(),
                    &Bytes(memory.receiver).to_string(),
                    &Bytes(memory.sender).to_string(),
                ],
                if fastest == Some(protocol.name) { "  fastest here" } else { "" },
            )),
            Err(unfit) => refused.push((protocol.name, unfit)),
        }
    }
    if all {
        text.extend(
            refused.iter().map(|(name, unfit)| format!("  {name:WIDTH$} no: {}\n", unfit.text().shell())),
        );
    } else if !refused.is_empty() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {} (--all says why)", counted_refusals(&refused));
    }
    text
}

/// How many protocols cannot be taken, and what many of them need.
fn counted_refusals(refused: &[(&str, &Unfit)]) -> String {
    let weaker = refused.iter().filter(|(_, unfit)| unfit.is_of_security()).count();
    let others = refused.len() - weaker;
    match (weaker, others) {
        (0, _) => format!("{others} others cannot be taken with these options"),
        (_, 0) => format!("{weaker} others need `--security semi-honest`"),
        _ => format!(
            "{weaker} others need `--security semi-honest`, and {others} cannot be taken with these options"
        ),
    }
}

/// What was agreed, in the words of the options.
fn parameters(forecast: &Forecast, asked: &Asked) -> String {
    let parameters = &forecast.choice.parameters;
    let mut text = if forecast.choice.protocol.needs_allow_insecure() {
        format!("security none ({})", forecast.choice.protocol.status.name())
    } else {
        format!("security {}", parameters.security)
    };
    let _ = write!(text, ", level {}, profile {}", parameters.level, parameters.profile.name());
    if let Some(sigma) = parameters.sigma {
        let _ = write!(text, ", sigma {sigma}");
    }
    if let Some(variant) = parameters.variant {
        let _ = write!(text, ", variant {}", variant.name);
    }
    if parameters.base_ots != KeyAgreement::default() {
        let _ = write!(text, ", base OTs from {}", parameters.base_ots.name());
    }
    if parameters.paper {
        text.push_str(", the paper's own parameters");
    }
    if let Some(most) = parameters.audit_max {
        let _ = write!(text, ", reveals at most {most} keys");
    }
    match parameters.result {
        ResultKind::Rows => {}
        ResultKind::Payload { bytes } => {
            let _ = write!(text, ", rows with {bytes} bytes of payload");
        }
        ResultKind::AtLeast(least) => {
            let _ = write!(text, ", whether at least {least} keys match");
        }
        ResultKind::Count => text.push_str(", a count"),
        ResultKind::Sums { columns } => {
            let _ = write!(text, ", {columns} sum{}", if columns == 1 { "" } else { "s" });
        }
    }
    if parameters.min_matches > 0 {
        let _ = write!(text, ", of at least {} keys", parameters.min_matches);
    }
    if let Some(noise) = parameters.noise {
        let _ = write!(text, ", noise {}", f64::from(noise.thousandths()) / 1000.0);
    }
    let _ = write!(text, ", learns {}", asked.learns.word());
    text
}

fn network(conditions: &Conditions) -> String {
    let rate = match conditions.bits_per_s {
        None => "no limit (--bandwidth)".to_owned(),
        Some(bits) if bits >= 1e9 => format!("{} Gbit/s", bits / 1e9),
        Some(bits) => format!("{} Mbit/s", bits / 1e6),
    };
    let (round_trip_ms, threads) = (conditions.round_trip.as_secs_f64() * 1e3, conditions.threads);
    format!("{rate}, round trip {round_trip_ms} ms; {}", counted_threads(threads))
}

fn counted_threads(threads: usize) -> String {
    match threads {
        1 => "1 thread a party".to_owned(),
        threads => format!("{threads} threads a party"),
    }
}

/// A size as its power of two, if it is one.
fn power(n: usize) -> String {
    if n.is_power_of_two() { format!("2^{}", n.ilog2()) } else { n.to_string() }
}

fn explain(time: &Time, conditions: &Conditions) -> String {
    let total = format!("about {}", seconds(time.total_s));
    if conditions.bits_per_s.is_none() && conditions.round_trip.is_zero() {
        return total;
    }
    let [computing, sending, waiting] = [time.compute_s, time.transfer_s, time.latency_s].map(seconds);
    format!("{total}: computing {computing}, sending {sending}, round trips {waiting}")
}
