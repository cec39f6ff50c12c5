//! The registry of protocols for programs: `vesica protocols --json`, and the Python package's `protocols()`.

use serde_json::{Map, Value, json};
use vesica_text::Text;

use crate::words::registry::PROTOCOLS;
use crate::words::report::SCHEMA;

/// Every protocol, with what `vesica protocols` tells of it.
pub fn json() -> serde_json::Value {
    let shell = |template: &'static str| Text::from(template).shell();
    let entries: Vec<_> = PROTOCOLS
        .iter()
        .map(|entry| {
            let messages = entry.all_messages().map(
                |message| json!({"from": message.from.name(), "to": message.to.name(), "what": shell(message.what), "bytes": shell(message.formula)}),
            );
            let variants =
                entry.supports.variants.iter().map(|v| json!({"name": v.name, "what": v.what}));
            let flights: Map<String, Value> = entry
                .usual_flights()
                .map(|(security, flights)| (security.name().to_owned(), flights.into()))
                .collect();
            json!({
                "name": entry.name,
                "title": entry.title,
                "family": entry.family,
                "paper": entry.paper,
                "security": entry.security.iter().map(|security| security.name()).collect::<Vec<_>>(),
                "needs_allow_insecure": entry.needs_allow_insecure(),
                "standing": entry.status.name(),
                "levels": entry.supports.levels,
                "sigma": entry.supports.sigma.map(|(least, most)| [least, most]),
                "variants": variants.collect::<Vec<_>>(),
                "profiles": entry.supports.profiles.iter().map(|profile| profile.name()).collect::<Vec<_>>(),
                "paper_parameters": entry.supports.paper,
                "native_only": !entry.supports.digests,
                "audit": entry.supports.audit,
                "results": entry.supports.results.iter().map(|result| result.name()).collect::<Vec<_>>(),
                "gates": entry.gates_formula().map(shell),
                "learns": entry.learns,
                "learns_both": entry.learns_both,
                "leakage": entry.leakage,
                "flights": flights,
                "helper": entry.has_helper(),
                "makes_base_ots": entry.supports.base_ots,
                "keeps_base_ots": entry.keeps_base_ots(),
                "messages": messages.collect::<Vec<_>>(),
                "memory": shell(entry.memory),
            })
        })
        .collect();
    json!({"schema": SCHEMA, "protocols": entries})
}
