//! What a run of few keys is made of, step by step, beside its floor.
//!
//! `cargo run --release -p vesica-protocols --example small_sets [-- NAME [LOG2]]`: one of the runs that it prints,
//! with 2^LOG2 keys a side; without, all of them with 2^8 and with 2^12 keys.
//!
//! *Flights:* both parties run in one process, a thread each, over a channel in memory, whose ends note when frames go
//! through. A line is what a party did up to a change of direction: work, then bytes that it sent or took, and how long
//! it waited for them. With fewer than two idle cores, waiting takes longer.
//!
//! *Blocks:* each building block by itself, on one thread, the least of several times. Its floor is what it consists
//! of, at the rates of large batches that the program measures first.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement that fails has nobody to tell")]

mod blocks;
mod flights;
mod rates;

use vesica_crypto::block::Block;
use vesica_crypto::hash::Context;
use vesica_encode::hashing::parameters::three_way;
use vesica_encode::okvs::Band;
use vesica_ot::security::{Malicious, SemiHonest};
use vesica_ot::{kk13, kkrt};
use vesica_protocols::{Parameters, Profile, STATISTICAL_SECURITY, Security, registry};

use rates::Rates;

/// What is run.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Conservative,
    Fast,
    Malicious,
    Kkrt,
    OtPhasing,
}

const RUNS: [(&str, Kind); 5] = [
    ("vole-conservative", Kind::Conservative),
    ("vole-fast", Kind::Fast),
    ("vole-malicious", Kind::Malicious),
    ("kkrt", Kind::Kkrt),
    ("ot-phasing", Kind::OtPhasing),
];

fn main() {
    vesica_crypto::memory::keep_freed_memory();
    let mut args = std::env::args().skip(1);
    let (name, log) = (args.next(), args.next().map(|log| log.parse::<u32>().unwrap()));
    let rates = Rates::measure();
    rates.print();
    for (run, kind) in RUNS.into_iter().filter(|(run, _)| name.as_ref().is_none_or(|name| name == run)) {
        for log in log.map_or(vec![8, 12], |log| vec![log]) {
            println!("\n{run}, 2^{log} keys a side");
            let (protocol, parameters) = kind.parameters();
            flights::print(registry::find(protocol).unwrap(), parameters, 1 << log);
            kind.print_blocks(1 << log, &rates);
        }
    }
}

impl Kind {
    fn parameters(self) -> (&'static str, Parameters) {
        let usual = Parameters::default();
        match self {
            Kind::Conservative => ("vole", usual),
            Kind::Fast => ("vole", Parameters { profile: Profile::Fast, ..usual }),
            Kind::Malicious => ("vole", Parameters { security: Security::Malicious, ..usual }),
            Kind::Kkrt => ("kkrt", usual),
            Kind::OtPhasing => ("ot-phasing", Parameters { sigma: Some(32), ..usual }),
        }
    }

    fn print_blocks(self, count: usize, rates: &Rates) {
        println!("blocks, each by itself:");
        let profile = self.parameters().1.profile;
        // A malicious run of few keys takes a polynomial, with a slot for each.
        let few = self == Kind::Malicious && count <= 1 << 8;
        let slots = if few { count } else { Band::new(count, Block::ZERO).unwrap().columns() };
        match self {
            Kind::Conservative | Kind::Fast | Kind::Malicious => blocks::masny_rindal(rates),
            Kind::Kkrt => blocks::naor_pinkas(Self::columns(count), rates),
            Kind::OtPhasing => blocks::naor_pinkas(kk13::COLUMNS, rates),
        }
        let bins = three_way(count, STATISTICAL_SECURITY).layout.bins();
        match self {
            Kind::Conservative => blocks::vole::<Block, SemiHonest>(slots, profile, rates),
            Kind::Fast => blocks::vole::<u64, SemiHonest>(slots, profile, rates),
            Kind::Malicious => blocks::vole::<Block, Malicious>(slots, profile, rates),
            Kind::Kkrt => {
                let context = Context::new(&[0; 32], "small sets", b"", 1, 1);
                let code = || kkrt::PseudoRandomCode::new(&context, Self::columns(count));
                let words: Vec<Block> = (0..bins as u128).map(Block::from).collect();
                blocks::one_out_of_n(code, &words, 3 * count, rates);
            }
            Kind::OtPhasing => {
                let words: Vec<u8> = (0..bins).map(|bin| bin as u8).collect();
                blocks::one_out_of_n(kk13::WalshHadamard::default, &words, 3 * count, rates);
            }
        }
        match self {
            Kind::Fast => blocks::store(count, |block| block.to_u128() as u64),
            Kind::Conservative | Kind::Malicious if !few => blocks::store(count, |block| block),
            _ => (),
        }
    }

    /// Base OTs of `kkrt`.
    fn columns(count: usize) -> usize {
        kkrt::columns(3 * count as u64, STATISTICAL_SECURITY).unwrap()
    }
}
