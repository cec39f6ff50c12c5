//! `vesica plan`: what a run would take, before there is a partner or a table.

use std::fmt::Write;

use serde_json::{Value, json};
use vesica::Error;
use vesica::cost::{self, Alternative, Conditions, Estimate, Outlook, SOURCE, Time, Unfit};
use vesica::protocols::Sizes;
use vesica::settings::{Settings, learns_name};

use crate::args::Plan;
use crate::documents::print;
use crate::figures::{bytes, seconds};
use crate::screen;

/// Runs the command; its end as an exit code.
pub(crate) fn run(args: &Plan) -> u8 {
    let (settings, sizes, conditions) = (args.settings(), args.sizes(), args.conditions());
    match cost::outlook(&settings.protocol, settings.wanted(), sizes, &conditions) {
        Ok(outlook) if args.json => {
            print(format!("{:#}\n", as_json(&outlook, &settings, sizes, &conditions)).as_bytes())
        }
        Ok(outlook) => print(as_text(&outlook, &settings, sizes, &conditions).as_bytes()),
        Err(unfit) => {
            let error =
                Error::usage(unfit.to_string(), "give other sizes, another protocol or other options");
            screen::failure("plan", &error);
            error.kind.exit_code()
        }
    }
}

fn as_json(outlook: &Outlook, settings: &Settings, sizes: Sizes, conditions: &Conditions) -> Value {
    let Outlook { choice, estimate, alternatives } = outlook;
    let parameters = &choice.parameters;
    let alternatives = alternatives.iter().map(|Alternative { protocol, outcome }| match outcome {
        Ok(estimate) => json!({"protocol": protocol.name, "estimate": estimate}),
        Err(unfit) => json!({"protocol": protocol.name, "refused": unfit.to_string()}),
    });
    json!({
        "schema": 1,
        "sizes": {"receiver": sizes.receiver, "sender": sizes.sender},
        "conditions": {
            "threads": conditions.threads,
            "bits_per_s": conditions.bits_per_s,
            "round_trip_s": conditions.round_trip.as_secs_f64(),
            "kept_base_ots": conditions.kept_base_ots,
        },
        "protocol": choice.protocol.name,
        "reason": choice.reason,
        "parameters": {
            "security": parameters.security.name(),
            "level": parameters.level,
            "sigma": parameters.sigma,
            "variant": parameters.variant,
            "profile": parameters.profile.name(),
            "paper_parameters": parameters.paper,
            "caveat": parameters.caveat(),
            "learns": learns_name(settings.learns),
        },
        "estimate": estimate,
        "record": SOURCE,
        "alternatives": alternatives.collect::<Vec<_>>(),
    })
}

fn as_text(outlook: &Outlook, settings: &Settings, sizes: Sizes, conditions: &Conditions) -> String {
    let Outlook { choice, estimate, alternatives } = outlook;
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}: {}", choice.protocol.name, choice.protocol.title);
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:10} {value}");
    };
    line("why", choice.reason.to_owned());
    line("keys", format!("receiver {}, sender {}", sizes.receiver, sizes.sender));
    line("parameters", parameters(outlook, settings));
    if let Some(caveat) = choice.parameters.caveat() {
        line("rests on", caveat.to_owned());
    }
    line("network", network(conditions));
    if conditions.kept_base_ots {
        let takes = choice.protocol.base_ots.is_some();
        line(
            "base OTs",
            if takes { "those of an earlier run" } else { "none that could be kept" }.to_owned(),
        );
    }
    let Estimate { traffic, memory, .. } = estimate;
    let parties = |receiver, sender| format!("receiver {}, sender {}", bytes(receiver), bytes(sender));
    let sent = bytes(traffic.receiver + traffic.sender);
    line("traffic", format!("{sent}: {} sent", parties(traffic.receiver, traffic.sender)));
    line("memory", format!("{} at most, tables and keys included", parties(memory.receiver, memory.sender)));
    if let Some(tested) = estimate.max_tested_keys {
        let bound =
            format!("a receiver that cheats can ask about {tested} keys at most, with 2^64 hash evaluations");
        line("questions", bound);
    }
    line(
        "time",
        estimate.time.map_or("no record of this protocol".to_owned(), |time| explain(&time, conditions)),
    );
    text.push('\n');
    let cheapest = alternatives
        .iter()
        .filter_map(|other| Some((other.outcome.as_ref().ok()?.time?.total_s, other.protocol.name)));
    let cheapest = cheapest.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name);
    let _ = writeln!(
        text,
        "  {:12} {:>10} {:>10} {:>10} {:>10}",
        "protocol", "time", "traffic", "memory", "sender's"
    );
    let mut refused = String::new();
    for Alternative { protocol, outcome } in alternatives {
        let chosen = if protocol.name == choice.protocol.name { ">" } else { " " };
        match outcome {
            Ok(Estimate { traffic, memory, time, .. }) => {
                let fastest = if cheapest == Some(protocol.name) { "  fastest here" } else { "" };
                let _ = writeln!(
                    text,
                    "{chosen} {:12} {:>10} {:>10} {:>10} {:>10}{fastest}",
                    protocol.name,
                    time.map_or("?".to_owned(), |time| seconds(time.total_s)),
                    bytes(traffic.receiver + traffic.sender),
                    bytes(memory.receiver),
                    bytes(memory.sender),
                );
            }
            Err(unfit) => refused.push_str(&refusal(protocol.name, unfit)),
        }
    }
    let _ = write!(
        text,
        "{refused}\nTraffic and memory are the protocols' formulas; time is fitted to {SOURCE},\n\
         both parties on one machine, from keys in memory to matches.\n"
    );
    text
}

fn refusal(name: &str, unfit: &Unfit) -> String {
    format!("  {name:12} no: {unfit}\n")
}

/// What was agreed, in the words of the options.
fn parameters(outlook: &Outlook, settings: &Settings) -> String {
    let parameters = &outlook.choice.parameters;
    let mut text = if outlook.choice.protocol.needs_allow_insecure() {
        format!("security none ({})", outlook.choice.protocol.status.name())
    } else {
        format!("security {}", parameters.security)
    };
    let _ = write!(text, ", level {}, profile {}", parameters.level, parameters.profile.name());
    if let Some(sigma) = parameters.sigma {
        let _ = write!(text, ", sigma {sigma}");
    }
    if !parameters.variant.is_empty() {
        let _ = write!(text, ", variant {}", parameters.variant);
    }
    if parameters.paper {
        text.push_str(", the paper's own parameters");
    }
    let _ = write!(text, ", learns {}", learns_name(settings.learns));
    text
}

fn network(conditions: &Conditions) -> String {
    let rate = match conditions.bits_per_s {
        None => "no limit (--bandwidth)".to_owned(),
        Some(bits) if bits >= 1e9 => format!("{} Gbit/s", bits / 1e9),
        Some(bits) => format!("{} Mbit/s", bits / 1e6),
    };
    let threads = match conditions.threads {
        1 => "1 thread".to_owned(),
        threads => format!("{threads} threads"),
    };
    format!("{rate}, round trip {} ms; {threads} a party", conditions.round_trip.as_secs_f64() * 1e3)
}

fn explain(time: &Time, conditions: &Conditions) -> String {
    let mut text = format!("about {}", seconds(time.total_s));
    if conditions.bits_per_s.is_some() || !conditions.round_trip.is_zero() {
        let (computing, waiting, sending) =
            (seconds(time.compute_s), seconds(time.latency_s), seconds(time.transfer_s));
        let _ =
            write!(text, ": computing {computing}, round trips {waiting}, sending {sending}, partly at once");
    }
    if !time.measured {
        text.push_str("; not measured with these parameters, a form like it was taken");
    }
    if !time.within {
        text.push_str("; beyond the sizes of the record");
    }
    text
}
