//! The audit (HEK12 §6): a run reveals its result only if the intersection has at most as many items as both
//! parties agreed to reveal (`--audit-max`). Otherwise both learn that it has more, and nothing else.
//!
//! The wires that say which items match are counted inside the circuit, the count is compared with the limit,
//! and the answer, one bit, is opened to both before anything else. Where it is yes, zeros are opened in the
//! place of the result: as many bytes go each way as if the result had been revealed.
//!
//! A limit that is no smaller than either set costs no gate. One that is smaller than the larger set is always
//! audited: a party that says to have few items may enter more, where a circuit has room for them.

use vesica_circuit::gadgets::counter::{self, Counter};
use vesica_circuit::{Bits, Engine, Opening, Wires};

use crate::entry::Shape;
use crate::error::Error;
use crate::parameters::{Parameters, Variant};
use crate::protocol::{Learns, Run, Sizes};

/// The variant whose audit counts as HEK12 does.
const LAZY_COUNTER: &str = "lazy-counter";

/// The forms of an audited protocol that has no others.
pub const VARIANTS: &[Variant] = &[Variant {
    name: LAZY_COUNTER,
    what: "the audit counts one match after the other, as in HEK12 §6, at log2 n gates each instead of one",
}];

/// How matches are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counting {
    /// By full adders.
    Tree,
    /// One after the other.
    Lazy,
}

/// The audit of a run.
#[derive(Debug, Clone, Copy)]
pub struct Audit {
    most: u64,
    counting: Counting,
}

impl Audit {
    /// That of a run with these parameters; none where nothing is to be counted.
    pub fn of(sizes: Sizes, parameters: &Parameters) -> Option<Self> {
        // A declared size may be a lie. What an honest party has is no larger than it says.
        let larger = |most: &u64| *most < sizes.receiver.max(sizes.sender) as u64;
        let most = parameters.audit_max.filter(larger)?;
        let lazy = parameters.variant_name() == LAZY_COUNTER;
        Some(Self { most, counting: if lazy { Counting::Lazy } else { Counting::Tree } })
    }

    /// AND gates for `wires` wires.
    fn ands(self, wires: u64) -> u64 {
        let counted = match self.counting {
            Counting::Tree => counter::ands(wires),
            Counting::Lazy => counter::lazy_ands(wires),
        };
        counted + counter::exceeds_ands(wires, self.most)
    }

    /// Whether more of these wires carry a one than may be revealed.
    fn refuses<E: Engine>(self, engine: &mut E, matches: &[&E::Wires]) -> Result<E::Wires, Error> {
        let number = match self.counting {
            Counting::Tree => {
                let mut counter = Counter::default();
                matches.iter().try_for_each(|row| counter.add(engine, row))?;
                counter.finish(engine)?
            }
            Counting::Lazy => counter::lazy(engine, matches)?,
        };
        Ok(counter::exceeds(engine, &number, self.most)?)
    }
}

/// AND gates of the audit of a run of this shape, which counts `wires` wires; 0 without one.
pub fn ands(shape: &Shape, wires: u64) -> u64 {
    Audit::of(shape.sizes, &shape.parameters).map_or(0, |audit| audit.ands(wires))
}

/// Bits that the audit opens to both; 0 without one.
pub fn opened(shape: &Shape) -> u64 {
    u64::from(Audit::of(shape.sizes, &shape.parameters).is_some())
}

/// Whether the matches of a run are counted before its result is opened.
pub fn counts(run: &Run<'_>) -> bool {
    Audit::of(run.sizes, &run.parameters).is_some()
}

/// To whom a result is opened.
pub fn opening(learns: Learns) -> Opening {
    match learns {
        Learns::Receiver => Opening::ToReceiver,
        Learns::Both => Opening::ToBoth,
    }
}

/// Opens the result `output` as `opening` says, unless more of `matches` carry a one than the run may
/// reveal. `matches` has a wire for each possible match, and as many ones as the intersection has items.
///
/// # Errors
/// [`Error::AuditRefused`] on both sides if there are more; and if the connection fails.
pub fn open<E: Engine>(
    run: &Run<'_>,
    engine: &mut E,
    matches: &[&E::Wires],
    opening: Opening,
    output: &[E::Wires],
) -> Result<Option<Vec<Bits>>, Error> {
    open_if(Audit::of(run.sizes, &run.parameters), engine, matches, opening, output)
}

/// Opens the result in a run of this shape, for an engine that counts.
///
/// # Errors
/// Those of the engine.
pub fn count<E: Engine>(
    shape: &Shape,
    engine: &mut E,
    matches: &[&E::Wires],
    opening: Opening,
    output: &[E::Wires],
) -> Result<(), Error> {
    open_if(Audit::of(shape.sizes, &shape.parameters), engine, matches, opening, output).map(drop)
}

fn open_if<E: Engine>(
    audit: Option<Audit>,
    engine: &mut E,
    matches: &[&E::Wires],
    opening: Opening,
    output: &[E::Wires],
) -> Result<Option<Vec<Bits>>, Error> {
    let Some(audit) = audit else {
        return Ok(engine.open(opening, output)?);
    };
    let refuses = audit.refuses(engine, matches)?;
    let refused = engine.open(Opening::ToBoth, &[refuses])?;
    if refused.is_some_and(|bits| bits.iter().any(|row| row.get(0))) {
        let zeros: Vec<_> = output.iter().map(|row| engine.constant(false, row.len())).collect();
        engine.open(opening, &zeros)?;
        return Err(Error::AuditRefused { most: audit.most });
    }
    Ok(engine.open(opening, output)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::run_of;
    use vesica_circuit::clear::Clear;
    use vesica_circuit::count::Count;
    use vesica_circuit::{Input, Party};
    use vesica_crypto::hash::Context;

    fn run(sizes: Sizes, audit_max: Option<u64>, variant: Option<&'static Variant>) -> Run<'static> {
        let parameters = Parameters { audit_max, variant, ..Parameters::default() };
        run_of(Context::new(&[1; 32], "test", b"", 1, 1), sizes, parameters)
    }

    #[test]
    fn a_result_is_opened_up_to_the_limit_and_not_above() {
        let sizes = Sizes { receiver: 20, sender: 25 };
        for ones in [0, 1, 7, 8, 9, 20] {
            let matches: Bits = (0..20).map(|at| at < ones).collect();
            let output = [matches.clone()];
            for variant in [None, VARIANTS.first()] {
                for most in [0, 1, 7, 8, 9, 19, 20, u64::MAX] {
                    let run = run(sizes, Some(most), variant);
                    let opened = open(&run, &mut Clear::default(), &[&matches], Opening::ToReceiver, &output);
                    let expected = if ones as u64 > most {
                        Err(Error::AuditRefused { most })
                    } else {
                        Ok(Some(output.to_vec()))
                    };
                    assert_eq!(opened, expected, "{ones} of at most {most}");
                }
            }
        }
    }

    /// Computes in the clear, and keeps what is opened.
    struct Opened(Clear, Vec<Vec<Bits>>);

    impl Engine for Opened {
        type Wires = Bits;

        fn chunk(&self) -> usize {
            self.0.chunk()
        }

        fn constant(&mut self, bit: bool, len: usize) -> Bits {
            self.0.constant(bit, len)
        }

        fn input(&mut self, owner: Party, bits: Input<'_>) -> Result<Vec<Bits>, vesica_circuit::Error> {
            self.0.input(owner, bits)
        }

        fn not(&self, a: &Bits) -> Bits {
            self.0.not(a)
        }

        fn xor(&self, a: &Bits, b: &Bits) -> Bits {
            self.0.xor(a, b)
        }

        fn and(&mut self, layer: &[(&Bits, &Bits)]) -> Result<Vec<Bits>, vesica_circuit::Error> {
            self.0.and(layer)
        }

        fn open(
            &mut self,
            opening: Opening,
            wires: &[Bits],
        ) -> Result<Option<Vec<Bits>>, vesica_circuit::Error> {
            self.1.push(wires.to_vec());
            self.0.open(opening, wires)
        }
    }

    #[test]
    fn above_the_limit_nothing_is_opened_but_that() {
        let run = run(Sizes { receiver: 20, sender: 25 }, Some(8), None);
        let matches: Bits = (0..20).map(|at| at < 9).collect();
        let mut engine = Opened(Clear::default(), Vec::new());
        let ended = open(&run, &mut engine, &[&matches], Opening::ToBoth, std::slice::from_ref(&matches));
        assert_eq!(ended, Err(Error::AuditRefused { most: 8 }));
        assert_eq!(engine.1, [vec![Bits::repeat(true, 1)], vec![Bits::repeat(false, 20)]]);
    }

    #[test]
    fn the_gates_are_those_of_the_formula() {
        for variant in [None, VARIANTS.first()] {
            for (receiver, sender, most) in [(100, 90, 0), (100, 90, 31), (5, 100, 4), (5, 100, 5), (1, 1, 0)]
            {
                let run = run(Sizes { receiver, sender }, Some(most), variant);
                let mut count = Count::default();
                let row = count.input(Party::Receiver, Input::Hidden { rows: 1, len: 100 }).unwrap();
                open(&run, &mut count, &[&row[0]], Opening::ToBoth, &row).unwrap();
                let shape = Shape { parameters: run.parameters, ..Shape::new(run.sizes) };
                assert_eq!((count.ands, count.outputs), (ands(&shape, 100), 100 + opened(&shape)));
                assert_eq!(count.ands == 0, most >= receiver.max(sender) as u64);
            }
        }
    }
}
