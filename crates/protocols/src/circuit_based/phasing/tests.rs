use super::*;
use vesica_circuit::clear::Clear;
use vesica_circuit::count::Count;
use vesica_crypto::hash::Context;
use vesica_encode::hashing::parameters::paper;

use crate::parameters::Parameters;
use crate::protocol::Sizes;
use crate::testing::{Case, duel, planted_for, run_of};

fn native(sigma: u32) -> Parameters {
    Parameters { sigma: Some(sigma), ..Parameters::default() }
}

/// Runs the circuit in the clear; the rows of the receiver's that match, and how many wires say so.
fn matches(parameters: Parameters, sizes: [usize; 3]) -> (Vec<u64>, usize, Vec<u64>) {
    let [receiver, sender, common] = sizes;
    let sets = planted_for(&parameters, receiver, sender, common, 7);
    let sizes = Sizes { receiver, sender };
    let context = Context::new(&[1; 32], "test", b"", receiver as u64, sender as u64);
    let run = run_of(context, sizes, parameters);
    let plan = Plan::new(sizes, &parameters).unwrap();
    let receiver = ReceiverBins::new(&run, &plan, &sets.receiver).unwrap();
    let sender = SenderBins::new(&run, &plan, &sets.sender).unwrap();
    let circuit =
        Comparisons { run: &run, shape: &plan.shape, receiver: Some(&receiver), sender: Some(&sender) };
    let opened = circuit.run(&mut Clear::with_chunk(500)).unwrap().unwrap();
    let ones = opened[0].iter().filter(|one| *one).count();
    let items = receiver.items(opened[0].iter());
    let rows = sets.receiver.matches(items.iter().map(|item| *item as usize)).into_rows();
    (rows, ones, sets.receiver_rows)
}

#[test]
fn the_wires_that_carry_a_one_are_the_matches_and_no_others() {
    let paper = Parameters { paper: true, ..Parameters::default() };
    let sizes = [
        [1, 1, 1],
        [1, 1, 0],
        [2, 3, 1],
        [700, 700, 300],
        [257, 3000, 200],
        [3000, 100, 100],
        [1000, 1000, 0],
    ];
    for parameters in [Parameters::default(), native(12), native(32), native(64), paper] {
        for sizes in sizes {
            let common = sizes[2];
            // PSSZ15 has no stash for sets of unequal sizes.
            if parameters.paper && sizes[0] != sizes[1] {
                continue;
            }
            let (rows, ones, expected) = matches(parameters, sizes);
            assert_eq!((rows, ones), (expected, common), "{sizes:?} with {parameters:?}");
        }
    }
}

/// Bins of a receiver that knows the sender's items: it enters one of them in every bin, and more than it says to have.
struct FullBins(SenderBins);

impl Receiver for FullBins {
    fn bins(&self, bins: std::ops::Range<usize>) -> zeroize::Zeroizing<Vec<u128>> {
        self.0.bins(bins, 0..1)
    }
}

/// The declared size is within the limit, so that it alone would need no audit.
#[test]
fn flaw_a_receiver_that_fills_all_bins_is_refused() {
    for entry in [&ENTRY, &shared::ENTRY] {
        let parameters = Parameters { audit_max: Some(20), ..Parameters::default() };
        let sets = planted_for(&parameters, 20, 200, 2, 1);
        let case = Case { parameters, ..Case::default() };
        let (receiver, sender) = duel(
            (entry, &sets, case),
            Box::new(|ctx| {
                let run = ctx.run;
                let plan = Plan::new(run.sizes, &run.parameters)?;
                assert!(plan.shape.bins.bins > 20 && plan.shape.stash.bins == 0);
                let bins = FullBins(SenderBins::new(run, &plan, &sets.sender)?);
                let circuit = Comparisons { run, shape: &plan.shape, receiver: Some(&bins), sender: None };
                let gates = gates(&Shape::of(run)).all();
                Ok(if entry.name == ENTRY.name {
                    evaluate(ctx, Role::Receiver, gates, circuit)
                } else {
                    shared::evaluate(ctx, Role::Receiver, circuit)
                })
            }),
            Box::new(|ctx| Ok(entry.send(ctx, &sets.sender))),
        );
        assert_eq!(sender.unwrap(), Err(Error::AuditRefused { most: 20 }), "{}", entry.name);
        assert_eq!(receiver.unwrap(), Err(Error::AuditRefused { most: 20 }), "{}", entry.name);
    }
}

#[test]
fn the_papers_parameters_give_table_6_but_for_the_index_of_the_function() {
    for (log, printed) in [(8, 297_852u64), (12, 3_946_776), (16, 49_964_540), (20, 600_833_968)] {
        let items = 1usize << log;
        let sizes = Sizes { receiver: items, sender: items };
        let shape = Plan::new(sizes, &Parameters { paper: true, ..native(32) }).unwrap().shape;
        // The paper's table: β = ⌊2.4·n⌋, of which ours is no more than one in each segment larger, and
        // σ′ = σ - ⌊log2 β⌋.
        let bins = items * 12 / 5;
        assert!((bins..=bins + 2).contains(&shape.bins.bins));
        assert_eq!(shape.bins.bits, 32 - bins.ilog2() as usize + 1, "the index of the function");
        // Equation (5) gives 17 for 2^8 items, which Table 2 does not have; the printed count is for 15.
        assert_eq!(shape.bins.load, paper::load_by_equation_5(items as f64) as usize);
        let load = if log == 8 { 15 } else { shape.bins.load };
        let of_paper = circuit::Table { bins, load, bits: shape.bins.bits - 1 };
        assert_eq!(of_paper.and_gates() + shape.stash.and_gates(), printed);
    }
}

#[test]
fn gates_are_those_of_the_page_and_fewer_than_the_papers() {
    let page = [
        (8, 336_100, 234_576),
        (12, 4_124_406, 2_611_098),
        (16, 52_953_548, 34_793_424),
        (20, 651_166_051, 460_771_740),
    ];
    for (log, of_paper, standard) in page {
        let sizes = Sizes { receiver: 1 << log, sender: 1 << log };
        let gates = |paper| Plan::new(sizes, &Parameters { paper, ..native(32) }).unwrap().shape.and_gates();
        assert_eq!([gates(true), gates(false)], [of_paper, standard], "2^{log}");
    }
}

#[test]
fn the_gates_are_counted() {
    for (parameters, receiver, sender) in [
        (native(32), 500, 700),
        (Parameters::default(), 100, 40),
        (Parameters { paper: true, ..native(20) }, 64, 64),
    ] {
        let sizes = Sizes { receiver, sender };
        let context = Context::new(&[1; 32], "test", b"", 1, 1);
        for audit_max in [None, Some(3)] {
            let parameters = Parameters { audit_max, ..parameters };
            let run = run_of(context.clone(), sizes, parameters);
            let shape = Plan::new(sizes, &parameters).unwrap().shape;
            let mut count = Count::with_chunk(400);
            Comparisons { run: &run, shape: &shape, receiver: None, sender: None }.run(&mut count).unwrap();
            let gates = crate::registry::find("circuit-phasing-yao").unwrap();
            let of_run = crate::registry::Shape { parameters, ..crate::registry::Shape::new(sizes) };
            assert_eq!(Some(count.ands), gates.gates_of(&of_run).map(|gates| gates.ands));
        }
    }
}
