//! Triples for AND gates of one bit from silent OT: a batch of random OTs in each direction at a time.
//!
//! ```text
//! receiver                                            sender
//! batch k, for up to 2^22 gates:
//!   its OTs as their sender      ◄─ silent OT ─►      random choices
//!   random choices               ◄─ silent OT ─►      its OTs as their sender
//! [the OTs become triples without a message]
//! ```
//!
//! A silent OT makes all of its rows at once, and takes memory for all of them. So a circuit of 10^8 gates has
//! many set-ups, each with base OTs, noise and a Δ of its own. What a row costs on the wire hardly depends on
//! how many a batch has, since a set-up of that many is made in pieces anyway.
//!
//! **Security:** semi-honest, that of [`silent`] and of
//! [`random_ots`](vesica_circuit::gmw::random_ots). Each batch has a context of its own, so no hash is used
//! twice. Both parties make the same batches at the same gates, whatever their inputs.

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_circuit::gmw::{Correlations, Demand, Need, RandomOts, Received, Sent, Triples};
use vesica_circuit::{Error, Party};
use vesica_crypto::hash::{Context, Label};
use vesica_ot::security::{Profile, Security, SemiHonest};
use vesica_ot::silent;
use vesica_ot::vole::{Bit, Plan};

/// Gates of a batch, at most. Agreed.
pub(crate) const BATCH: usize = 1 << 22;

/// Whose hashes a batch uses, by its number; and those of its two silent OTs.
const BATCHES: Label = Label::new("gmw: batch of silent OTs");
const DIRECTIONS: [Label; 2] =
    [Label::new("gmw: silent OTs, sent by the receiver"), Label::new("gmw: silent OTs, sent by the sender")];

/// The batches for so many gates.
fn batches(gates: u64) -> impl Iterator<Item = usize> {
    let (full, rest) = (gates / BATCH as u64, (gates % BATCH as u64) as usize);
    (0..full).map(|_| BATCH).chain((rest > 0).then_some(rest))
}

/// Bytes that each party sends for the triples of so many gates, as the receiver of its OTs, and as the sender
/// of its own: base OTs, and what follows.
pub(crate) fn parts(gates: u64, profile: Profile) -> [u64; 3] {
    let full = gates / BATCH as u64;
    let rest = (gates % BATCH as u64) as usize;
    [(BATCH, full), (rest, u64::from(rest > 0))].iter().fold([0; 3], |sums, &(count, times)| {
        let plan = Plan::of_bits(count, profile);
        let sent =
            [plan.flight2_bytes::<Bit>(Security::SemiHonest), Plan::FLIGHT1_BYTES, plan.flight3_bytes()];
        std::array::from_fn(|part| sums[part] + times * sent[part] as u64)
    })
}

/// Flights of the triples of so many gates, the first of which is the receiver's: three in each direction,
/// or two where there is no noise, of which the second one's first crosses.
pub(crate) fn flights(gates: u64, profile: Profile) -> u32 {
    let of_batch = |count| match Plan::of_bits(count, profile).pieces() {
        0 => 3,
        _ => 6,
    };
    batches(gates).map(of_batch).sum()
}

/// The triples of a party, for a number of gates that both know.
pub(crate) struct SilentTriples<'a> {
    context: &'a Context,
    party: Party,
    profile: Profile,
    threads: usize,
    /// Gates for which there are no triples yet.
    left: u64,
    /// Batches that have been made.
    made: u64,
    ready: Triples,
}

impl<'a> SilentTriples<'a> {
    /// None yet, of `gates`.
    pub(crate) fn new(
        context: &'a Context,
        party: Party,
        gates: u64,
        profile: Profile,
        threads: usize,
    ) -> Self {
        Self { context, party, profile, threads, left: gates, made: 0, ready: Triples::none(1) }
    }

    /// The next batch; an error if there are no more gates.
    fn batch(&mut self, channel: &mut dyn Channel, rng: &mut dyn CryptoRng) -> Result<Triples, Error> {
        let count = self.left.min(BATCH as u64) as usize;
        if count == 0 {
            return Err(vesica_ot::Error::Exhausted { asked: 1, left: 0 }.into());
        }
        let context = self.context.derive(BATCHES, &self.made.to_le_bytes());
        (self.left, self.made) = (self.left - count as u64, self.made + 1);
        let [first, second] = DIRECTIONS.map(|direction| context.derive(direction, b""));
        let plan = &Plan::of_bits(count, self.profile).with_threads(self.threads);
        let (send, receive) = match self.party {
            Party::Receiver => {
                let send = silent::Sender::<SemiHonest>::of_plan(&first, plan, channel, rng)?;
                (send, silent::Receiver::<SemiHonest>::of_plan(&second, plan, channel, rng)?)
            }
            Party::Sender => {
                let receive = silent::Receiver::<SemiHonest>::of_plan(&first, plan, channel, rng)?;
                (silent::Sender::<SemiHonest>::of_plan(&second, plan, channel, rng)?, receive)
            }
        };
        let demand = Demand { bits: count as u64, ..Demand::default() };
        let mut ots =
            RandomOts::<_, _, 1>::new(&context, self.party, send, receive, demand).with_threads(self.threads);
        ots.reserve(Need::Bits(count), channel, rng)?;
        ots.bits(count)
    }
}

impl Correlations for SilentTriples<'_> {
    fn reserve(
        &mut self,
        need: Need,
        channel: &mut dyn Channel,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Error> {
        let Need::Bits(count) = need else { return Err(strings()) };
        while self.ready.len() < count {
            let batch = self.batch(channel, rng)?;
            let before = std::mem::replace(&mut self.ready, Triples::none(1));
            self.ready = Triples::join(&[before, batch], 1);
        }
        Ok(())
    }

    fn bits(&mut self, count: usize) -> Result<Triples, Error> {
        self.ready.take(count)
    }

    fn received(&mut self, _: usize, _: usize) -> Result<Received, Error> {
        Err(strings())
    }

    fn sent(&mut self, _: usize, _: usize) -> Result<Sent, Error> {
        Err(strings())
    }
}

/// A circuit asks for what is not here: it is not made of AND gates of one bit alone.
fn strings() -> Error {
    vesica_ot::Error::Exhausted { asked: 1, left: 0 }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vesica_channel::memory;
    use vesica_crypto::prg::Prg;

    #[test]
    fn triples_multiply_and_cost_what_the_formula_says() {
        for gates in [1, 1000, 70_000] {
            let context = Context::new(&[1; 32], "test", b"", 1, 1);
            let (mut here, mut there) = memory::pair();
            let make = |party, channel: &mut dyn Channel| {
                let rng = &mut Prg::from_seed([party as u8; 16]);
                let mut triples = SilentTriples::new(&context, party, gates, Profile::Conservative, 1);
                triples.reserve(Need::Bits(gates as usize), channel, rng).unwrap();
                assert!(triples.reserve(Need::Bits(gates as usize + 1), channel, rng).is_err());
                assert!(triples.reserve(Need::Strings(1), channel, rng).is_err());
                triples.bits(gates as usize).unwrap()
            };
            let [mine, theirs] = std::thread::scope(|scope| {
                let theirs = scope.spawn(|| make(Party::Sender, &mut there));
                let mine = make(Party::Receiver, &mut here);
                [mine, theirs.join().unwrap()]
            });
            let opened = |mine: &vesica_circuit::Bits, theirs: &vesica_circuit::Bits| {
                mine.zip_words(theirs, |mine, theirs| mine ^ theirs)
            };
            let (a, b) = (opened(&mine.a, &theirs.a), opened(&mine.b[0], &theirs.b[0]));
            assert_eq!(opened(&mine.c[0], &theirs.c[0]), a.zip_words(&b, |a, b| a & b));
            let traffic = here.traffic();
            let expected: u64 = parts(gates, Profile::Conservative).iter().sum();
            assert_eq!([traffic.payload_sent, traffic.payload_received], [expected; 2], "{gates} gates");
        }
    }

    #[test]
    fn a_gate_takes_about_a_bit_of_each_party() {
        let bytes: u64 = parts(1 << 26, Profile::Conservative).iter().sum();
        let bits = 8.0 * bytes as f64 / f64::from(1 << 26);
        assert!(bits < 1.0, "{bits}");
    }
}
