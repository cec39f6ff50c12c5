//! Parameters of the papers' tables, by the programs that derive them.

use serde::Deserialize;
use vesica::encode::hashing::Layout;
use vesica::encode::hashing::parameters::{self, paper};
use vesica::protocols::STATISTICAL_SECURITY;
use vesica::protocols::bloom_filter::rr16::parameters::Rr16Parameters;
use vesica::protocols::registry::{Entry, Gates, Shape};

use crate::BenchError;
use crate::cell::Cell;

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "program", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Program {
    /// Percent of the bins of a cuckoo table that can be filled (PSSZ15 Table 1).
    Utilisation {
        /// h.
        functions: u32,
    },
    /// Bins for each item, to the two digits that the paper counts with (PSSZ15 Table 1).
    BinsAnItem {
        /// h.
        functions: u32,
    },
    /// MiB of OT extension and masks (PSSZ15 Table 1).
    Communication {
        /// h.
        functions: u32,
        /// n_2.
        receiver: u32,
        /// n_1.
        sender: u32,
        /// t.
        chunks: u32,
    },
    /// The fullest bin by Equation 5 (PSSZ15 Table 2).
    LoadByEquation5 {
        /// n.
        items: u32,
    },
    /// The fullest bin by Equation 6 (PSSZ15 Table 2).
    LoadByEquation6 {
        /// n.
        items: u32,
    },
    /// The fullest bin by the exact binomial tail, for 2^-40, of n items by two functions in 2.4 n bins.
    Load {
        /// n.
        items: u32,
    },
    /// The stash by regression over the paper's own experiment (PSSZ15 Table 4).
    StashByRegression {
        /// n.
        items: u32,
    },
    /// The stash by our proven bound, for 2^-40, of two functions and 2.4 n bins.
    Stash {
        /// n.
        items: u32,
    },
    /// Bins for each item without a stash, three functions, as the protocols of this project have them.
    Bins {
        /// n.
        items: u32,
    },
    /// OTs of `gbf-rr16` (RR16 Figure 5).
    Rr16Ots {
        /// n.
        items: u32,
    },
    /// Operations of `dt-dl` on n items a side (HEK12 Table 2), by the formulas of its page.
    DtDl {
        /// Which.
        operation: Operation,
        /// n.
        items: u32,
    },
    /// The same of `dt-rsa` at level 80.
    DtRsa {
        /// Which.
        operation: Operation,
        /// n.
        items: u32,
    },
    /// The same of a garbled circuit at level 80: base OTs, and calls of the gates' hash by both parties.
    Garbled {
        /// Whose circuit.
        protocol: String,
        /// Which.
        operation: Operation,
        /// n.
        items: usize,
    },
    /// AND gates of a protocol's circuit (HEK12 Table 1, PSSZ15 Table 6).
    AndGates {
        /// Whose circuit.
        protocol: String,
        /// n_r.
        receiver: usize,
        /// n_s.
        sender: usize,
        /// σ.
        sigma: u32,
        /// What a gate with a private bit of the sender counts: 1 in PSSZ15, a third in HEK12.
        private_gate: f64,
    },
    /// Megabytes that both parties send, by the protocol's formulas (PSSZ15 Table 6).
    Megabytes {
        /// Which protocol.
        protocol: String,
        /// n_r.
        receiver: usize,
        /// n_s.
        sender: usize,
        /// σ.
        sigma: u32,
    },
    /// AND gates on the longest path of a protocol's circuit: its rounds under GMW (PSSZ15 Table 6).
    Depth {
        /// Whose circuit.
        protocol: String,
        /// n_r.
        receiver: usize,
        /// n_s.
        sender: usize,
        /// σ.
        sigma: u32,
    },
}

/// The entry of a protocol, and the shape of a run on native items.
fn run(
    protocol: &str,
    receiver: usize,
    sender: usize,
    sigma: u32,
) -> Result<(&'static Entry, Shape), BenchError> {
    Cell { sigma: Some(sigma), ..Cell::new(protocol, receiver, sender) }.plan()
}

/// The columns of HEK12 Table 2.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Powers to e = 3.
    ShortExponents,
    /// Powers to exponents of twice the level, as the base OTs of a circuit take them.
    MediumExponents,
    /// Powers to exponents as long as the modulus.
    LongExponents,
    /// Modular inverses.
    Inverses,
    /// Modular multiplications.
    Multiplications,
    /// Calls of a hash.
    Hashes,
}

impl Operation {
    /// How many `dt-dl` takes.
    fn of_dt_dl(self, n: f64) -> f64 {
        match self {
            Operation::ShortExponents | Operation::MediumExponents => 0.0,
            // Half of them are of fixed bases.
            Operation::LongExponents => 4.0 * n + 2.0,
            Operation::Inverses => 2.0 * (n / INVERTED).ceil(),
            Operation::Multiplications => 12.0 * n,
            Operation::Hashes => 4.0 * n,
        }
    }

    /// How many `dt-rsa` takes, whose proof has t = ⌈80 / log2 3⌉ roots.
    fn of_dt_rsa(self, n: f64) -> f64 {
        let roots = (80.0 / 3f64.log2()).ceil();
        match self {
            Operation::MediumExponents => 0.0,
            Operation::ShortExponents => 2.0 * n + roots,
            Operation::LongExponents => 2.0 * n + roots,
            Operation::Inverses => (n / INVERTED).ceil(),
            Operation::Multiplications => 5.0 * n,
            Operation::Hashes => 4.0 * n,
        }
    }
}

impl Operation {
    /// How many a garbled circuit takes at this level: an OT of the base takes four powers, and one is for all of them; a
    /// gate is hashed four times by the garbler and twice by the evaluator, one with a private bit half as often.
    fn of_garbled(self, level: u32, gates: Gates) -> f64 {
        match self {
            Operation::MediumExponents => f64::from(4 * level + 1),
            Operation::Hashes => (6 * gates.ands + 3 * gates.private_ands) as f64,
            Operation::ShortExponents
            | Operation::LongExponents
            | Operation::Inverses
            | Operation::Multiplications => 0.0,
        }
    }
}

/// Items whose inverses cost one.
const INVERTED: f64 = 64.0;

impl Program {
    /// Its result; an error if the protocol that it names does not offer such a run.
    pub fn value(&self) -> Result<f64, BenchError> {
        let value = match *self {
            Program::Garbled { ref protocol, operation, items } => {
                let (entry, shape) = Cell { level: 80, ..Cell::new(protocol, items, items) }.plan()?;
                operation.of_garbled(80, entry.gates_of(&shape).unwrap_or_default())
            }
            Program::AndGates { ref protocol, receiver, sender, sigma, private_gate } => {
                let (entry, shape) = run(protocol, receiver, sender, sigma)?;
                let gates = entry.gates_of(&shape).unwrap_or_default();
                gates.ands as f64 + private_gate * gates.private_ands as f64
            }
            Program::Megabytes { ref protocol, receiver, sender, sigma } => {
                let (entry, shape) = run(protocol, receiver, sender, sigma)?;
                entry.total_bytes(&shape) as f64 / 1e6
            }
            Program::Depth { ref protocol, receiver, sender, sigma } => {
                let (entry, shape) = run(protocol, receiver, sender, sigma)?;
                entry.gates_of(&shape).and_then(|gates| gates.depth).unwrap_or_default().into()
            }
            Program::Utilisation { functions } => 100.0 * paper::utilisation(functions),
            Program::BinsAnItem { functions } => (100.0 / paper::utilisation(functions)).round() / 100.0,
            Program::Communication { functions, receiver, sender, chunks } => {
                let [receiver, sender, chunks] = [receiver, sender, chunks].map(f64::from);
                paper::communication(functions, receiver, sender, chunks) / f64::from(1 << 20)
            }
            Program::LoadByEquation5 { items } => paper::load_by_equation_5(items.into()).into(),
            Program::LoadByEquation6 { items } => paper::load_by_equation_6(items.into()).into(),
            Program::Load { items } => {
                let layout = Layout::new(2, (u64::from(items) * 12).div_ceil(5));
                parameters::maximum_load(items as usize, layout, STATISTICAL_SECURITY) as f64
            }
            Program::StashByRegression { items } => paper::stash_by_regression(items.into()).into(),
            Program::Stash { items } => {
                parameters::two_way(items as usize, STATISTICAL_SECURITY).stash as f64
            }
            Program::Rr16Ots { items } => Rr16Parameters::for_items(items as usize).ots() as f64,
            Program::DtDl { operation, items } => operation.of_dt_dl(items.into()),
            Program::DtRsa { operation, items } => operation.of_dt_rsa(items.into()),
            Program::Bins { items } => {
                parameters::three_way(items as usize, STATISTICAL_SECURITY).layout.bins() as f64
                    / f64::from(items)
            }
        };
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_say_what_the_paper_prints() {
        let near = |program: Program, printed: f64, slack: f64| {
            assert!(
                (program.value().unwrap() - printed).abs() <= slack,
                "{program:?}: {} {printed}",
                program.value().unwrap()
            );
        };
        near(Program::Utilisation { functions: 3 }, 91.8, 0.05);
        near(Program::BinsAnItem { functions: 3 }, 1.09, 1e-9);
        near(Program::Communication { functions: 3, receiver: 256, sender: 1 << 20, chunks: 3 }, 25.5, 0.05);
        near(Program::LoadByEquation5 { items: 1 << 20 }, 20.0, 0.0);
        near(Program::LoadByEquation6 { items: 1 << 20 }, 26.0, 0.0);
        near(Program::StashByRegression { items: 1 << 20 }, 3.0, 0.0);
        near(Program::Stash { items: 1 << 20 }, 2.0, 0.0);
        near(Program::Load { items: 1 << 20 }, 18.0, 0.0);
        near(Program::Bins { items: 1 << 20 }, 1.3, 0.001);
        near(Program::Rr16Ots { items: 1 << 20 }, 260e6, 10e6);
        near(Program::DtRsa { operation: Operation::LongExponents, items: 1024 }, 2048.0, 60.0);
        near(Program::DtDl { operation: Operation::LongExponents, items: 1024 }, 5000.0, 1000.0);
    }
}
