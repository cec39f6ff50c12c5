//! Which OTs the triples of GMW are made of, in both directions.
//!
//! | form | OTs | bytes of an OT at level 128 |
//! |---|---|---|
//! | standard | SoftSpoken, k = 4 | 31/8 |
//! | `iknp`, `single-bits`, and all forms above level 128 | IKNP, those of the papers | 16 |
//! | `silent` | silent OT, piece by piece | about 1/13 |
//!
//! ```text
//! receiver                                              sender
//!         ◄─ base OTs, Δ of the sender; or kept ones ─►
//! set-up of the sender's extension, its first rows  ──►
//!         the base OTs of the other direction ([`reversed`])
//!                                                   ◄── set-up of the receiver's extension
//! ```
//!
//! **Security:** semi-honest. SoftSpoken gives the correlation of IKNP at the strength of AES-128, under the same
//! kind of assumption; silent OT rests on LPN (`docs/security-of-the-default.md`). The base OTs of one direction may
//! be kept ([`cache`]). Those of the other direction are new in every run: they take a few hundred rows of the first
//! extension, and no group operation.

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_circuit::gmw::Demand;
use vesica_crypto::hash::{Context, Label};
use vesica_ot::base::cache::{self, Chosen, Origin};
use vesica_ot::reversed;
use vesica_ot::security::{Profile, Security, SemiHonest};
use vesica_ot::softspoken::{self, Choices, Width};
use vesica_ot::vole::in_pieces::{self, Rooms};
use vesica_ot::vole::{Plan, WIDTH};
use vesica_ot::{CotReceiver, CotSender, Seed, iknp, small_field};

use super::super::party;
use crate::entry::Shape;
use crate::error::Error;
use crate::parameters::Parameters;
use crate::protocol::{Ctx, Phase, Role};

/// k of SoftSpoken: the fastest where a byte costs about as much as a fourth of a block of the generator.
pub(super) const SPOKEN: Width = Width::Four;

/// The contexts of the extension whose Δ the sender has, and of the other.
const DIRECTIONS: [Label; 2] =
    [Label::new("gmw: OTs, sent by the sender"), Label::new("gmw: OTs, sent by the receiver")];

/// The base OTs of IKNP, and those that are made of the first extension.
const BASE: Label = Label::new("gmw: base OTs");
const REVERSED: Label = Label::new("gmw: base OTs of the other direction");

/// What makes the OTs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// SoftSpoken.
    SoftSpoken,
    /// IKNP.
    Iknp,
    /// Silent OT.
    Silent,
}

impl Source {
    /// Base OTs of a direction.
    fn columns(self, level: u32) -> u32 {
        if self == Source::Iknp { level } else { cache::LEAST_LEVEL }
    }

    /// k of the extension that is set up.
    fn width(self) -> Width {
        if self == Source::Silent { WIDTH } else { SPOKEN }
    }
}

/// An extension, from base OTs on.
pub(super) trait Extension<const W: usize> {
    type Sender: CotSender<W>;
    type Receiver: CotReceiver<W>;

    /// Base OTs of a direction.
    fn columns(&self) -> usize;

    /// With base OTs.
    fn sender(&self, context: &Context, party: &mut Side<'_>) -> Result<Self::Sender, vesica_ot::Error>;
    fn receiver(&self, context: &Context, party: &mut Side<'_>) -> Result<Self::Receiver, vesica_ot::Error>;

    /// From base OTs.
    fn sender_of(
        &self,
        context: &Context,
        base: &Chosen,
        party: &mut Side<'_>,
    ) -> Result<Self::Sender, vesica_ot::Error>;
    fn receiver_of(
        &self,
        context: &Context,
        base: &[[Seed; 2]],
        party: &mut Side<'_>,
    ) -> Result<Self::Receiver, vesica_ot::Error>;
}

/// What a set-up takes of a run.
pub(super) struct Side<'a> {
    origin: Origin<'a>,
    channel: &'a mut dyn Channel,
    rng: &'a mut dyn CryptoRng,
}

impl Extension<1> for Width {
    type Sender = softspoken::Sender<SemiHonest>;
    type Receiver = softspoken::Receiver<SemiHonest>;

    fn columns(&self) -> usize {
        cache::LEAST_LEVEL as usize
    }

    fn sender(&self, context: &Context, party: &mut Side<'_>) -> Result<Self::Sender, vesica_ot::Error> {
        softspoken::Sender::setup(context, *self, party.origin, party.channel, party.rng)
    }

    fn receiver(&self, context: &Context, party: &mut Side<'_>) -> Result<Self::Receiver, vesica_ot::Error> {
        softspoken::Receiver::setup(context, *self, party.origin, party.channel, party.rng)
    }

    fn sender_of(
        &self,
        context: &Context,
        base: &Chosen,
        party: &mut Side<'_>,
    ) -> Result<Self::Sender, vesica_ot::Error> {
        softspoken::Sender::from_base(context, *self, base, party.channel)
    }

    fn receiver_of(
        &self,
        context: &Context,
        base: &[[Seed; 2]],
        party: &mut Side<'_>,
    ) -> Result<Self::Receiver, vesica_ot::Error> {
        softspoken::Receiver::from_base(context, *self, base, party.channel, party.rng)
    }
}

/// IKNP at a level.
pub(super) struct Iknp {
    pub(super) level: u32,
    pub(super) threads: usize,
}

impl<const W: usize> Extension<W> for Iknp {
    type Sender = iknp::Sender<W>;
    type Receiver = iknp::Receiver<W>;

    fn columns(&self) -> usize {
        self.level as usize
    }

    fn sender(&self, context: &Context, party: &mut Side<'_>) -> Result<Self::Sender, vesica_ot::Error> {
        let Side { origin, channel, rng } = party;
        Ok(iknp::Sender::setup(context, BASE, self.level, *origin, *channel, *rng)?
            .with_threads(self.threads))
    }

    fn receiver(&self, context: &Context, party: &mut Side<'_>) -> Result<Self::Receiver, vesica_ot::Error> {
        let Side { origin, channel, rng } = party;
        let receiver = iknp::Receiver::setup(context, BASE, self.level, *origin, *channel, *rng)?;
        Ok(receiver.with_threads(self.threads))
    }

    fn sender_of(
        &self,
        _: &Context,
        base: &Chosen,
        _: &mut Side<'_>,
    ) -> Result<Self::Sender, vesica_ot::Error> {
        Ok(iknp::Sender::from_chosen(base)?.with_threads(self.threads))
    }

    fn receiver_of(
        &self,
        _: &Context,
        base: &[[Seed; 2]],
        _: &mut Side<'_>,
    ) -> Result<Self::Receiver, vesica_ot::Error> {
        Ok(iknp::Receiver::from_base(base)?.with_threads(self.threads))
    }
}

/// The contexts of the OTs that a party sends, and of those that it receives.
fn contexts(context: &Context, role: Role) -> [Context; 2] {
    let [by_sender, by_receiver] = DIRECTIONS.map(|direction| context.derive(direction, b""));
    match role {
        Role::Sender => [by_sender, by_receiver],
        Role::Receiver => [by_receiver, by_sender],
    }
}

/// Sets up both directions: where this party sends OTs, and where it receives them.
pub(super) fn both<const W: usize, E: Extension<W>>(
    extension: &E,
    ctx: &mut Ctx<'_, '_>,
    role: Role,
    keeps: bool,
) -> Result<(E::Sender, E::Receiver), Error> {
    let Ctx { run, channel, rng, .. } = ctx.reborrow();
    let [first, second] = contexts(&run.context, Role::Sender);
    run.phase(Phase::BaseOts, 0);
    let origin = if keeps { run.origin() } else { run.parameters.base_ots.into() };
    let (columns, party) = (extension.columns(), &mut Side { origin, channel, rng });
    match role {
        Role::Receiver => {
            let mut receiver = extension.receiver(&first, party)?;
            let base = reversed::receive(&first, REVERSED, &mut receiver, columns, party.channel, party.rng)?;
            Ok((extension.sender_of(&second, &base, party)?, receiver))
        }
        Role::Sender => {
            let mut sender = extension.sender(&first, party)?;
            let base = reversed::send(&first, REVERSED, &mut sender, columns, party.channel)?;
            Ok((sender, extension.receiver_of(&second, &base, party)?))
        }
    }
}

/// The plan of the OTs whose choices `role` makes.
fn plan_of(demand: &Demand, role: Role, profile: Profile) -> Plan {
    Plan::of_bits(demand.rows(party(role)).iter().sum::<u64>() as usize, profile)
}

/// Silent OTs in both directions, over extensions that are set up.
pub(super) fn silent(
    ctx: &mut Ctx<'_, '_>,
    role: Role,
    demand: &Demand,
    (sender, receiver): (softspoken::Sender<SemiHonest>, softspoken::Receiver<SemiHonest>),
) -> (in_pieces::Sender, in_pieces::Receiver) {
    let (run, rng, rooms) = (ctx.run, &mut *ctx.rng, Rooms::default());
    let plan = |of| plan_of(demand, of, run.parameters.profile).with_threads(run.threads);
    let [sending, receiving] = contexts(&run.context, role);
    let sender = in_pieces::Sender::new(&sending, &plan(role.other()), sender, &rooms, rng);
    (sender, in_pieces::Receiver::new(&receiving, &plan(role), receiver, &rooms, rng))
}

/// How many base OTs there are that may be kept.
pub fn kept_base_ots(shape: &Shape, source: Source) -> u64 {
    if shape.parameters.may_keep_base_ots() { source.columns(shape.parameters.level).into() } else { 0 }
}

/// Bytes of a message of the base OTs.
pub fn base_bytes(shape: &Shape, source: Source, from: Role) -> u64 {
    let Parameters { level, base_ots, .. } = shape.parameters;
    let [sender, receiver] = iknp::setup_bytes(base_ots, source.columns(level));
    shape.unless_kept(if from == Role::Sender { sender } else { receiver })
}

/// Bytes of the set-up of an extension, and of the rows that the other direction starts from.
pub fn setup_bytes(shape: &Shape, source: Source, from: Role) -> u64 {
    let (level, security) = (shape.parameters.level, Security::SemiHonest);
    let columns = source.columns(level) as usize;
    let (setup, rows) = match source {
        Source::Iknp => (0, iknp::bytes(level, columns)),
        _ => (
            small_field::message_bytes(source.width(), security) as u64,
            softspoken::bytes(source.width(), security, columns, Choices::Chosen) as u64,
        ),
    };
    if from == Role::Receiver { setup + rows } else { setup }
}

/// Bytes of the OTs that a party sends after that.
pub fn extension_bytes(shape: &Shape, source: Source, from: Role, demand: &Demand) -> u64 {
    let Parameters { level, profile, .. } = shape.parameters;
    let spoken = |width, rows| softspoken::bytes(width, Security::SemiHonest, rows, Choices::Random) as u64;
    let rows = demand.rows(party(from)).map(|rows| rows as usize);
    match source {
        Source::Iknp => rows.map(|rows| iknp::bytes(level, rows)).iter().sum(),
        Source::SoftSpoken => rows.map(|rows| spoken(SPOKEN, rows)).iter().sum(),
        Source::Silent => {
            let [own, other] = [from, from.other()].map(|role| plan_of(demand, role, profile));
            let choices = match own.pieces() {
                0 => rows.map(|rows| spoken(WIDTH, rows)).iter().sum(),
                _ => in_pieces::bytes(&own)[0],
            };
            choices + in_pieces::bytes(&other)[1]
        }
    }
}

/// Flights of base OTs, set-up and OTs, but for those of the layers that wait for OTs.
pub fn flights(shape: &Shape, source: Source, demand: &Demand) -> u32 {
    let base = match (shape.kept_base_ots, shape.parameters.level) {
        (true, _) => 0,
        (false, ..=128) => 1,
        (false, _) => 2,
    };
    let ots = match source {
        // A group of pieces begins with a message of its own.
        Source::Silent => {
            let plans =
                [Role::Receiver, Role::Sender].map(|role| plan_of(demand, role, shape.parameters.profile));
            plans.iter().map(|plan| in_pieces::messages(plan).iter().sum()).max().unwrap_or(0)
        }
        _ => 1,
    };
    // The receiver waits for the trees of the other extension; IKNP has none.
    let setup = if source == Source::Iknp { 2 } else { 3 };
    base + setup + ots
}

/// Bytes of memory that the OTs take at their peak.
pub fn memory(source: Source, demand: &Demand, profile: Profile) -> u64 {
    let outputs = |role| plan_of(demand, role, profile).outputs() as u64;
    match source {
        Source::Silent => 140 * outputs(Role::Receiver).max(outputs(Role::Sender)) + (80 << 20),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hashes of one direction are not those of the other.
    #[test]
    fn flaw_directions_have_contexts_of_their_own() {
        let context = Context::new(&[3; 32], "test", b"", 1, 1);
        let key = |context: &Context| {
            let mut key = [0; 32];
            context.hash(BASE, b"", &mut key);
            key
        };
        let [mine, theirs] =
            [Role::Receiver, Role::Sender].map(|role| contexts(&context, role).each_ref().map(key));
        assert_eq!([mine[0], mine[1]], [theirs[1], theirs[0]]);
        assert!(mine[0] != mine[1] && !mine.contains(&key(&context)));
    }
}
