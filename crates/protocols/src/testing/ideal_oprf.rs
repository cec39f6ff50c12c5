//! What every OPRF has to do, checked by recording sinks; and an ideal OPRF, which protocols can be run over.
//! For tests alone.

use std::collections::HashMap;

use rand_core::CryptoRng;
use vesica_channel::{Channel, SendHalf};
use vesica_crypto::block::Block;
use vesica_crypto::hash::Oracle;
use vesica_encode::items::Items;

use crate::error::Error;
use crate::oprf::vole::Proofs;
use crate::oprf::{EvaluationSink, OprfReceiver, OprfSender, OutputSink};

/// The receiver's outputs: item and output by function.
#[derive(Default)]
pub(crate) struct Outputs {
    by_function: HashMap<usize, Vec<(u32, Block)>>,
    complete: usize,
}

impl OutputSink for Outputs {
    fn begin(&mut self, function: usize, _: usize) {
        assert!(self.by_function.insert(function, Vec::new()).is_none(), "one beginning");
    }

    fn put(&mut self, function: usize, outputs: &[Block], item: impl Fn(usize) -> Option<u32> + Sync) {
        assert!(function >= self.complete, "function {function} was complete");
        let outputs = outputs.iter().enumerate().filter_map(|(i, output)| Some((item(i)?, *output)));
        self.by_function.entry(function).or_default().extend(outputs);
    }

    fn receive_available(&mut self, functions: usize, _: &mut dyn Channel) -> Result<(), Error> {
        assert!(functions >= self.complete);
        self.complete = functions;
        Ok(())
    }
}

/// The sender's outputs: position and output, function after function.
#[derive(Default)]
pub(crate) struct Evaluations {
    lists: Vec<Vec<(u32, Block)>>,
    current: Vec<(u32, Block)>,
    done: (usize, usize),
}

impl EvaluationSink for Evaluations {
    fn begin(&mut self, function: usize, _: usize) {
        assert!(function == self.lists.len() && self.current.is_empty(), "function after function");
        self.done = (0, 1);
    }

    fn put(&mut self, positions: impl Iterator<Item = u32>, outputs: &[Block]) {
        let before = self.current.len();
        self.current.extend(positions.zip(outputs.iter().copied()));
        assert_eq!(self.current.len() - before, outputs.len(), "a position for each output");
    }

    fn send_due(&mut self, done: usize, all: usize, _: &mut dyn SendHalf) -> Result<(), Error> {
        // As fractions.
        assert!(done <= all && done * self.done.1 >= self.done.0 * all, "steps go on");
        self.done = (done, all);
        Ok(())
    }

    fn complete(&mut self, _: &mut dyn SendHalf) -> Result<(), Error> {
        self.lists.push(std::mem::take(&mut self.current));
        Ok(())
    }
}

/// Panics unless these are the outputs of one OPRF with so many functions. `same` says which of the sender's
/// items is the receiver's of a number, by its position.
pub(crate) fn check(
    functions: usize,
    items: [usize; 2],
    receiver: &Outputs,
    sender: &Evaluations,
    same: impl Fn(u32) -> Option<u32>,
) {
    let [mine, theirs] = items;
    assert!(sender.lists.len() == functions && sender.current.is_empty(), "a list for each function");
    let lists: Vec<HashMap<u32, Block>> =
        sender.lists.iter().map(|list| list.iter().copied().collect()).collect();
    for (list, entries) in lists.iter().zip(&sender.lists) {
        assert_eq!((list.len(), entries.len()), (theirs, theirs), "every item of the sender once a function");
        assert!(list.keys().all(|position| (*position as usize) < theirs));
    }
    let mut seen = vec![false; mine];
    for (function, outputs) in &receiver.by_function {
        let theirs: HashMap<u128, u32> =
            lists[*function].iter().map(|(at, output)| (output.to_u128(), *at)).collect();
        for (item, output) in outputs {
            assert!(!std::mem::replace(&mut seen[*item as usize], true), "every item of the receiver once");
            assert_eq!(
                theirs.get(&output.to_u128()).copied(),
                same(*item),
                "equal outputs of equal items, and no others"
            );
        }
    }
    assert!(seen.into_iter().all(|seen| seen), "every item of the receiver");
}

/// A random oracle whose key the receiver draws and tells: any party can compute it everywhere.
struct Functions(Oracle);

impl Functions {
    fn output(&self, function: usize, item: &[u8]) -> Block {
        let mut output = Block::ZERO;
        self.0.hash_parts(&[&(function as u64).to_le_bytes(), item], output.as_mut_bytes());
        output
    }
}

/// The receiver of an ideal OPRF. It holds items under functions by turns.
pub(crate) struct IdealReceiver<'a> {
    pub(crate) functions: usize,
    pub(crate) rng: &'a mut dyn CryptoRng,
}

impl OprfReceiver for IdealReceiver<'_> {
    type Proofs = ();

    fn evaluate(
        self,
        items: &Items,
        channel: &mut dyn Channel,
        sink: &mut impl OutputSink,
    ) -> Result<(), Error> {
        let mut key = [0; 32];
        self.rng.fill_bytes(&mut key);
        channel.send(&key)?;
        channel.flush()?;
        let ideal = Functions(Oracle::with_key(key));
        for function in 0..self.functions {
            let held: Vec<usize> = (function..items.len()).step_by(self.functions).collect();
            sink.begin(function, held.len());
            let outputs: Vec<Block> =
                held.iter().map(|item| ideal.output(function, items.get(*item))).collect();
            sink.put(function, &outputs, |i| Some(held[i] as u32));
            sink.receive_available(function + 1, channel)?;
        }
        Ok(())
    }
}

/// What a run over it keeps: nothing, so that it has no payloads and takes no proofs.
impl Proofs for () {
    fn send(&self, _: &Items, _: &[(u32, u32)], _: &mut dyn Channel) -> Result<(), Error> {
        Ok(())
    }

    fn check(&self, _: &Items, _: &[usize], _: &mut dyn Channel) -> Result<(), Error> {
        Ok(())
    }

    fn pads(&self, _: &Items, _: &[u32], _: &mut [u8]) {
        unreachable!("no payloads over an ideal OPRF");
    }
}

/// The sender of an ideal OPRF.
pub(crate) struct IdealSender {
    pub(crate) functions: usize,
}

impl OprfSender for IdealSender {
    type Proofs = ();

    fn evaluate_all(
        self,
        items: &Items,
        position: impl Fn(usize) -> u32,
        channel: &mut dyn Channel,
        sink: &mut impl EvaluationSink,
    ) -> Result<(), Error> {
        let mut key = [0; 32];
        channel.recv_exact(&mut key)?;
        let ideal = Functions(Oracle::with_key(key));
        for function in 0..self.functions {
            sink.begin(function, items.len());
            for item in 0..items.len() {
                let output = ideal.output(function, items.get(item));
                sink.put(std::iter::once(position(item)), &[output]);
                sink.send_due(item + 1, items.len(), channel.split().0)?;
            }
            sink.complete(channel.split().0)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::mask_lists;
    use crate::masks::MaskWidth;
    use crate::oprf::bins::characters::Characters;
    use crate::oprf::bins::keys::ItemKeys;
    use crate::oprf::bins::{self, BinWords, Reported};
    use crate::oprf::vole::elements::FieldElement;
    use crate::oprf::vole::store::Store;
    use crate::oprf::vole::{Functions, Model, Oprf, Setup};
    use crate::ot_based::kkrt16::ENTRY;
    use crate::parameters::STATISTICAL_SECURITY;
    use crate::protocol::{Ctx, Phase, Sizes};
    use crate::testing::{Case, Party, Planted, duel, planted};
    use vesica_crypto::hash::Label;
    use vesica_encode::hashing::Layout;
    use vesica_encode::hashing::parameters::{self, Cuckoo};
    use vesica_ot::base::Origin;
    use vesica_ot::kk13::{self, WalshHadamard};
    use vesica_ot::kkrt::{self, PseudoRandomCode};
    use vesica_ot::security::{Malicious, Profile, Security, SemiHonest};
    use vesica_ot::vole::Plan;

    const RECEIVER: usize = 1500;
    const SENDER: usize = 2500;

    /// A permutation of the sender's items.
    fn position(item: usize) -> u32 {
        (item * 7 % SENDER) as u32
    }

    /// Runs both parties and checks what they have in the end.
    fn run<'a>(
        functions: usize,
        sets: &'a Planted,
        receiver: Box<Party<'a, Outputs>>,
        sender: Box<Party<'a, Evaluations>>,
    ) {
        let (mine, theirs) = duel((&ENTRY, sets, Case::default()), receiver, sender);
        let positions: HashMap<&[u8], u32> =
            (0..SENDER).map(|item| (sets.sender.get(item), position(item))).collect();
        let same = |item: u32| positions.get(sets.receiver.get(item as usize)).copied();
        check(functions, [RECEIVER, SENDER], &mine.unwrap(), &theirs.unwrap(), same);
    }

    #[test]
    fn the_ideal_oprf_keeps_the_contract() {
        for functions in [1, 3] {
            let sets = &planted(RECEIVER, SENDER, 400, 1);
            run(
                functions,
                sets,
                Box::new(move |ctx| {
                    let mut outputs = Outputs::default();
                    let oprf = IdealReceiver { functions, rng: ctx.rng };
                    oprf.evaluate(&sets.receiver, ctx.channel, &mut outputs).map(|()| outputs)
                }),
                Box::new(move |ctx| {
                    let mut outputs = Evaluations::default();
                    let oprf = IdealSender { functions };
                    oprf.evaluate_all(&sets.sender, position, ctx.channel, &mut outputs).map(|_| outputs)
                }),
            );
        }
    }

    #[test]
    fn keys_in_bins_keep_the_contract() {
        let (sets, layout) = (
            &planted(RECEIVER, SENDER, 400, 1),
            parameters::three_way(RECEIVER, STATISTICAL_SECURITY).layout,
        );
        let keys = |ctx: &Ctx<'_, '_>| {
            ItemKeys::new(layout, ctx.run.context.oracle(Label::new("kkrt: item to key")))
        };
        let code = |ctx: &Ctx<'_, '_>| PseudoRandomCode::new(&ctx.run.context, 424);
        run(
            3,
            sets,
            Box::new(move |ctx| {
                let (run, mut outputs) = (ctx.run, Outputs::default());
                let setup = kkrt::Receiver::start_setup(
                    code(ctx),
                    &run.context,
                    Origin::default(),
                    ctx.channel,
                    ctx.rng,
                )?;
                let complete_base_ots = |channel: &mut dyn Channel| setup.complete_base_ots(channel);
                let reported = Reported::As(Phase::Answer);
                let oprf = bins::Receiver { run, words: &keys(ctx), reported, complete_base_ots };
                oprf.evaluate(&sets.receiver, ctx.channel, &mut outputs).map(|()| outputs)
            }),
            Box::new(move |ctx| {
                let (run, mut outputs) = (ctx.run, Evaluations::default());
                let ots =
                    kkrt::Sender::setup(code(ctx), &run.context, Origin::default(), ctx.channel, ctx.rng)?;
                let oprf =
                    bins::Sender { run, words: &keys(ctx), reported: Reported::As(Phase::Answer), ots };
                oprf.evaluate_all(&sets.sender, position, ctx.channel, &mut outputs).map(|_| outputs)
            }),
        );
    }

    #[test]
    fn characters_in_bins_keep_the_contract() {
        // Fewer bins than the parameters ask for, so that there are items in the stash.
        let width =
            MaskWidth::for_sizes(Sizes { receiver: RECEIVER, sender: SENDER }, STATISTICAL_SECURITY).unwrap();
        let crowded = Cuckoo { layout: Layout::new(2, RECEIVER as u64 * 16 / 10), stash: 60 };
        for (cuckoo, permuted) in
            [(parameters::three_way(RECEIVER, STATISTICAL_SECURITY), true), (crowded, true), (crowded, false)]
        {
            let sets = &planted(RECEIVER, SENDER, 400, 1);
            let words = &Characters::new(cuckoo, None, width, permuted);
            let functions = words.cuckoo().layout.functions() + words.cuckoo().stash;
            run(
                functions,
                sets,
                Box::new(move |ctx| {
                    let (run, mut outputs) = (ctx.run, Outputs::default());
                    let code = WalshHadamard::default();
                    let setup = kk13::Receiver::start_setup(
                        code,
                        &run.context,
                        Origin::default(),
                        ctx.channel,
                        ctx.rng,
                    )?;
                    let complete_base_ots = |channel: &mut dyn Channel| setup.complete_base_ots(channel);
                    let oprf = bins::Receiver { run, words, reported: Reported::InPhases, complete_base_ots };
                    oprf.evaluate(&sets.receiver, ctx.channel, &mut outputs)?;
                    assert_eq!(
                        outputs.by_function.keys().any(|list| *list >= cuckoo.layout.functions()),
                        cuckoo.stash > 0
                    );
                    Ok(outputs)
                }),
                Box::new(move |ctx| {
                    let (run, mut outputs) = (ctx.run, Evaluations::default());
                    let code = WalshHadamard::default();
                    let ots =
                        kk13::Sender::setup(code, &run.context, Origin::default(), ctx.channel, ctx.rng)?;
                    let oprf = bins::Sender { run, words, reported: Reported::InPhases, ots };
                    oprf.evaluate_all(&sets.sender, position, ctx.channel, &mut outputs).map(|_| outputs)
                }),
            );
        }
    }

    /// The OPRF by VOLE of a model and a field.
    fn vole_keeps_the_contract<M: Model<V>, V: FieldElement>(early: bool) {
        let sets = &planted(RECEIVER, SENDER, 400, 1);
        fn setup(security: Security, early: bool) -> Setup {
            let slots = Store::new(security, RECEIVER, STATISTICAL_SECURITY, Block::ZERO).unwrap().slots();
            let plan = Plan::new(slots, Profile::Conservative);
            Setup { plan, early, limit: Duration::from_secs(600) }
        }
        run(
            1,
            sets,
            Box::new(move |ctx| {
                let mut outputs = Outputs::default();
                let oprf = Oprf::<M, V>::new(ctx.run, setup(M::SECURITY, early), ctx.rng);
                oprf.evaluate(&sets.receiver, ctx.channel, &mut outputs).map(|_| outputs)
            }),
            Box::new(move |ctx| {
                let mut outputs = Evaluations::default();
                let oprf = Oprf::<M, V>::new(ctx.run, setup(M::SECURITY, early), ctx.rng);
                oprf.evaluate_all(&sets.sender, position, ctx.channel, &mut outputs).map(|_| outputs)
            }),
        );
    }

    #[test]
    fn vole_of_every_model_keeps_the_contract() {
        vole_keeps_the_contract::<SemiHonest, Block>(false);
        vole_keeps_the_contract::<SemiHonest, Block>(true);
        vole_keeps_the_contract::<SemiHonest, u64>(true);
        vole_keeps_the_contract::<Malicious, Block>(false);
    }

    #[test]
    fn vole_of_several_functions_keeps_the_contract() {
        let sets = &planted(RECEIVER, SENDER, 400, 1);
        let held: &Vec<u8> = &(0..RECEIVER).map(|item| (item * item % 3) as u8).collect();
        let setup = || {
            let slots = Store::new(Security::SemiHonest, RECEIVER, STATISTICAL_SECURITY, Block::ZERO)
                .unwrap()
                .slots();
            let (plan, limit) = (Plan::new(slots, Profile::Conservative), Duration::ZERO);
            Setup { plan, early: false, limit }
        };
        run(
            3,
            sets,
            Box::new(move |ctx| {
                let mut outputs = Outputs::default();
                let oprf = Oprf::<SemiHonest, Block>::new(ctx.run, setup(), ctx.rng)
                    .with_functions(Functions::Several { count: 3, held });
                oprf.evaluate(&sets.receiver, ctx.channel, &mut outputs)?;
                for (function, outputs) in &outputs.by_function {
                    assert!(outputs.iter().all(|(item, _)| usize::from(held[*item as usize]) == *function));
                }
                Ok(outputs)
            }),
            Box::new(move |ctx| {
                let mut outputs = Evaluations::default();
                let oprf = Oprf::<SemiHonest, Block>::new(ctx.run, setup(), ctx.rng)
                    .with_functions(Functions::Several { count: 3, held: &[] });
                oprf.evaluate_all(&sets.sender, position, ctx.channel, &mut outputs).map(|_| outputs)
            }),
        );
    }

    #[test]
    fn masks_out_join_in_over_the_ideal_oprf_is_the_plain_join() {
        let sets = &planted(RECEIVER, SENDER, 400, 1);
        let width =
            MaskWidth::for_sizes(Sizes { receiver: RECEIVER, sender: SENDER }, STATISTICAL_SECURITY).unwrap();
        for functions in [1, 4] {
            let (pairs, order) = duel(
                (&ENTRY, sets, Case::default()),
                Box::new(|ctx| {
                    let rng = &mut vesica_crypto::prg::Prg::from_seed([2; 16]);
                    mask_lists::receive(
                        ctx,
                        width,
                        functions,
                        &sets.receiver,
                        IdealReceiver { functions, rng },
                    )
                }),
                Box::new(|ctx| {
                    mask_lists::send(ctx, width, functions, &sets.sender, IdealSender { functions })
                }),
            );
            order.unwrap();
            let found = sets.receiver.matches(pairs.unwrap().into_iter().map(|(item, _)| item as usize));
            assert_eq!(found.rows(), sets.receiver_rows);
        }
    }
}
