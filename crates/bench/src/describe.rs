//! What is told of cells before they are run, and of the parameters that papers' tables count: JSON in, JSON out, for
//! `benchmarks/run.py`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use vesica::encode::hashing::Layout;
use vesica::encode::hashing::parameters::{self, paper};
use vesica::plan::{COLUMNS, Configuration};
use vesica::protocols::STATISTICAL_SECURITY;
use vesica::protocols::bloom_filter::rr16::parameters::Rr16Parameters;
use vesica::protocols::registry::{Entry, Gates};
use vesica::registry::{self, Security};

use crate::BenchError;
use crate::cell::Cell;

/// What the program is, and its answers.
#[derive(Serialize)]
pub struct Told {
    /// Its version.
    version: &'static str,
    /// Whether it is optimised, so that its figures mean something.
    optimised: bool,
    /// The cells that its protocols usually have, but for their sizes.
    protocols: Vec<Usual>,
    /// The protocols that it lacks, and why.
    left_out: BTreeMap<&'static str, String>,
    /// Bytes that the parties of a run may take together.
    memory: u64,
    /// The columns of a file of cells for `vesica plan`.
    columns: &'static str,
    /// The answer to each question.
    answers: Vec<Answer>,
}

#[derive(Serialize)]
struct Usual {
    protocol: &'static str,
    security: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sigma: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Question {
    Cell(Cell),
    Circuit(Cell),
    Parameter(Parameter),
}

/// An answer; one that has an `error` says why there is none.
#[derive(Serialize)]
#[serde(untagged)]
enum Answer {
    Cell(Box<Description>),
    Circuit(Circuit),
    Parameter { value: f64 },
    None { error: String },
}

/// Whether this program is optimised: a debug build and the quick build are not.
pub fn optimised() -> bool {
    !cfg!(debug_assertions) && env!("VESICA_BENCH_OPT_LEVEL") != "0"
}

/// The answers to questions: `{"cell": …}` for its costs, `{"circuit": …}` for the flights and gates of a cell, and
/// `{"parameter": …}` with the parameter's name as `program`. The parties of a run may take `memory` bytes.
pub fn describe(questions: &[Value], memory: u64) -> Told {
    let security = |offered: &[Security]| match offered {
        [Security::Malicious] => Security::Malicious,
        _ => Security::SemiHonest,
    };
    let usual = |entry: &&'static Entry| Usual {
        protocol: entry.name,
        security: security(entry.security).name(),
        sigma: entry.supports.usual().sigma,
    };
    Told {
        version: env!("CARGO_PKG_VERSION"),
        optimised: optimised(),
        protocols: registry::PROTOCOLS.iter().map(usual).collect(),
        left_out: registry::left_out().map(|name| (name, registry::absent(name))).collect(),
        memory,
        columns: COLUMNS,
        answers: questions.iter().map(answer).collect(),
    }
}

fn answer(question: &Value) -> Answer {
    let answer = Question::deserialize(question).map_err(|error| error.to_string());
    let answer = answer.and_then(|question| {
        let answer = match question {
            Question::Cell(cell) => {
                Description::of(cell).map(|description| Answer::Cell(Box::new(description)))
            }
            Question::Circuit(cell) => Circuit::of(&cell).map(Answer::Circuit),
            Question::Parameter(parameter) => Ok(Answer::Parameter { value: parameter.value() }),
        };
        answer.map_err(|error| error.to_string())
    });
    answer.unwrap_or_else(|error| Answer::None { error })
}

/// What follows from a cell.
#[derive(Serialize)]
struct Description {
    /// The cell without its defaults, as records name it.
    cell: Cell,
    /// Its protocol.
    protocol: &'static str,
    /// The security of its run.
    security: &'static str,
    /// Whether a run on real tables needs no `--allow-insecure`.
    standard: bool,
    /// All but sizes and threads, as the cells of `vesica plan` have it.
    configuration: String,
    /// Bytes that all parties send.
    bytes: u64,
    /// Whether these are the most that they send, and a run may send fewer.
    at_most: bool,
    /// Bytes of memory that all parties may take.
    memory: u64,
}

impl Description {
    fn of(cell: Cell) -> Result<Self, BenchError> {
        let (entry, shape) = cell.plan()?;
        Ok(Description {
            protocol: entry.name,
            security: shape.parameters.security.name(),
            standard: !entry.needs_allow_insecure(),
            configuration: Configuration::of(entry, &shape).columns(),
            bytes: cell.formula_bytes()?,
            at_most: entry.is_at_most(&shape),
            memory: cell.memory_bytes()?,
            cell,
        })
    }
}

/// How often a run waits for the other party, and the gates of its circuit.
#[derive(Serialize)]
struct Circuit {
    flights: u32,
    ands: u64,
    /// Those with a private bit of the sender.
    private_ands: u64,
    /// The most AND gates on a path, where that is what a run costs.
    depth: Option<u32>,
}

impl Circuit {
    fn of(cell: &Cell) -> Result<Self, BenchError> {
        let (entry, shape) = cell.plan()?;
        let Gates { ands, private_ands, depth } = entry.gates_of(&shape).unwrap_or_default();
        Ok(Circuit { flights: entry.flights_of(&shape), ands, private_ands, depth })
    }
}

/// A parameter of a paper's table, by the program that derives it.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(tag = "program", rename_all = "kebab-case", deny_unknown_fields)]
enum Parameter {
    /// Percent of the bins of a cuckoo table of h functions that can be filled (PSSZ15 Table 1).
    Utilisation { functions: u32 },
    /// Bins for each item, to the two digits that the paper counts with (PSSZ15 Table 1).
    BinsAnItem { functions: u32 },
    /// MiB of OT extension and masks, for h functions, n_2 and n_1 items, and t chunks (PSSZ15 Table 1).
    Communication { functions: u32, receiver: u32, sender: u32, chunks: u32 },
    /// The fullest bin by Equation 5 (PSSZ15 Table 2).
    LoadByEquation5 { items: u32 },
    /// The fullest bin by Equation 6 (PSSZ15 Table 2).
    LoadByEquation6 { items: u32 },
    /// The fullest bin by the exact binomial tail, for 2^-40, of n items by two functions in 2.4 n bins.
    Load { items: u32 },
    /// The stash by regression over the paper's own experiment (PSSZ15 Table 4).
    StashByRegression { items: u32 },
    /// The stash by our proven bound, for 2^-40, of two functions and 2.4 n bins.
    Stash { items: u32 },
    /// Bins for each item without a stash, three functions, as the protocols of this project have them.
    Bins { items: u32 },
    /// OTs of `gbf-rr16` (RR16 Figure 5).
    Rr16Ots { items: u32 },
}

impl Parameter {
    fn value(self) -> f64 {
        match self {
            Parameter::Utilisation { functions } => 100.0 * paper::utilisation(functions),
            Parameter::BinsAnItem { functions } => (100.0 / paper::utilisation(functions)).round() / 100.0,
            Parameter::Communication { functions, receiver, sender, chunks } => {
                let [receiver, sender, chunks] = [receiver, sender, chunks].map(f64::from);
                paper::communication(functions, receiver, sender, chunks) / f64::from(1 << 20)
            }
            Parameter::LoadByEquation5 { items } => paper::load_by_equation_5(items.into()).into(),
            Parameter::LoadByEquation6 { items } => paper::load_by_equation_6(items.into()).into(),
            Parameter::Load { items } => {
                let layout = Layout::new(2, (u64::from(items) * 12).div_ceil(5));
                parameters::maximum_load(items as usize, layout, STATISTICAL_SECURITY) as f64
            }
            Parameter::StashByRegression { items } => paper::stash_by_regression(items.into()).into(),
            Parameter::Stash { items } => {
                parameters::two_way(items as usize, STATISTICAL_SECURITY).stash as f64
            }
            Parameter::Bins { items } => {
                let layout = parameters::three_way(items as usize, STATISTICAL_SECURITY).layout;
                layout.bins() as f64 / f64::from(items)
            }
            Parameter::Rr16Ots { items } => Rr16Parameters::for_items(items as usize).ots() as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ask(question: &Value) -> Value {
        serde_json::to_value(answer(question)).unwrap()
    }

    #[test]
    fn parameters_are_what_the_papers_print() {
        let n = 1 << 20;
        for (question, printed, slack) in [
            (json!({ "parameter": { "program": "utilisation", "functions": 3 } }), 91.8, 0.05),
            (json!({ "parameter": { "program": "bins-an-item", "functions": 3 } }), 1.09, 1e-9),
            (
                json!({ "parameter": { "program": "communication", "functions": 3, "receiver": 256, "sender": n, "chunks": 3 } }),
                25.5,
                0.05,
            ),
            (json!({ "parameter": { "program": "load-by-equation5", "items": n } }), 20.0, 0.0),
            (json!({ "parameter": { "program": "load-by-equation6", "items": n } }), 26.0, 0.0),
            (json!({ "parameter": { "program": "stash-by-regression", "items": n } }), 3.0, 0.0),
            (json!({ "parameter": { "program": "stash", "items": n } }), 2.0, 0.0),
            (json!({ "parameter": { "program": "load", "items": n } }), 18.0, 0.0),
            (json!({ "parameter": { "program": "bins", "items": n } }), 1.3, 0.001),
            (json!({ "parameter": { "program": "rr16-ots", "items": n } }), 260e6, 10e6),
        ] {
            let answer = ask(&question);
            let value = answer["value"].as_f64().unwrap_or(f64::NAN);
            assert!((value - printed).abs() <= slack, "{question}: {answer}");
        }
    }

    #[test]
    fn a_cell_is_told_in_the_form_of_records_with_its_costs() {
        let question = json!({ "cell": { "receiver": 100, "protocol": "dh", "sender": 100, "threads": 1 } });
        let text = serde_json::to_string(&answer(&question)).unwrap();
        assert!(text.starts_with(r#"{"cell":{"protocol":"dh","receiver":100,"sender":100},"#), "{text}");
        let answer = ask(&question);
        assert_eq!(answer["bytes"], 64 * 100 + 100 * 7);
        assert_eq!(answer["configuration"], "dh,semi-honest,conservative,,,128,false,false");
        assert_eq!((&answer["standard"], &answer["at_most"]), (&json!(true), &json!(false)));
        // Pairs that match are revealed early, and the rest of their circuits is not sent.
        let early = json!({ "protocol": "pwc", "receiver": 9, "sender": 9, "sigma": 32, "learns": "both" });
        assert_eq!(ask(&json!({ "cell": early }))["at_most"], true);
    }

    #[test]
    fn a_circuit_is_told_with_its_gates() {
        let cell = json!({ "protocol": "scs-gmw", "receiver": 16, "sender": 16, "sigma": 32 });
        let answer = ask(&json!({ "circuit": cell }));
        let number = |field: &str| answer[field].as_u64().unwrap();
        assert!(number("ands") > 0 && number("flights") > number("depth") && number("depth") > 0, "{answer}");
    }

    #[test]
    fn what_is_not_offered_is_told() {
        for (question, words) in [
            (json!({ "cell": { "protocol": "none", "receiver": 1, "sender": 1 } }), "no protocol named"),
            (json!({ "cell": { "protocol": "dh", "receiver": 1, "sender": 1, "thread": 2 } }), "`thread`"),
            (json!({ "parameter": { "program": "none", "items": 1 } }), "`none`"),
            (json!({ "parameter": { "program": "stash", "functions": 1 } }), "`functions`"),
        ] {
            let answer = ask(&question);
            assert!(answer["error"].as_str().is_some_and(|error| error.contains(words)), "{answer}");
        }
    }
}
