//! Protocols over a circuit: the intersection is computed gate by gate, and nothing else is learnt.
//!
//! A protocol here is a [`Circuit`]: what it computes from the rows of wires of both parties, written for any
//! [`Engine`]. [`engines::evaluate`] runs it by Yao's protocol: the receiver evaluates what the sender garbles,
//! with half gates, and the receiver's inputs come by OTs. [`gmw::evaluate`] runs it by GMW, on shares.
//!
//! | module | what it is |
//! |---|---|
//! | [`bitwise_and`], [`pairwise`], [`sort_compare_shuffle`], [`phasing`], [`vole`] | the protocols |
//! | [`inputs`] | items as numbers of σ bits |
//! | [`engines`] | Yao's protocol at the level of the run, with its base OTs and its progress |
//! | [`gmw`] | GMW at the level of the run, and the OTs that it takes |
//! | [`audit`] | the limit on the size of the intersection that a run reveals (`--audit-max`) |
//! | `aggregate` | results that are numbers: of shared match bits, a count, a threshold, sums |
//! | `returned` | `--learns both`: the receiver tells the sender the numbers of the matches |
//!
//! **Security** is against semi-honest parties: that of Yao's protocol with OTs, in the model of a random function
//! that half gates need, or that of GMW with the OTs that its triples are made of.

mod aggregate;
pub mod audit;
pub mod bitwise_and;
pub mod engines;
pub mod gmw;
pub mod inputs;
pub mod pairwise;
pub mod phasing;
mod returned;
pub mod sort_compare_shuffle;
pub mod vole;

use vesica_circuit::{Engine, Input, Party};
use vesica_encode::items::Items;

use crate::error::Error;
use crate::outcome::Pending;
use crate::protocol::{Learns, Phase, Role, Run};

/// What a protocol computes from both parties' inputs, for any engine. Both parties run the same circuit, each
/// with its own inputs.
pub trait Circuit {
    /// What a party has of it.
    type Output;

    /// Computes it.
    ///
    /// # Errors
    /// If the connection fails, the caller asked to stop, or the audit refuses.
    fn run<E: Engine>(self, engine: &mut E) -> Result<Self::Output, Error>;
}

/// The receiver's last step: `find` makes what it found of the bits that were opened to it, and `matched` the items.
///
/// Where the receiver learns the result alone, both are left for [`Pending`], so that the time of its confirmation does
/// not depend on the matches. Where both learn it, it finds now what it has to `tell`.
///
/// # Errors
/// Those of `tell`.
pub fn receiver_result<'a, F: Send + 'a>(
    run: &Run<'a>,
    items: &'a Items,
    find: impl FnOnce() -> F + Send + 'a,
    tell: impl FnOnce(&F) -> Result<(), Error>,
    matched: impl FnOnce(F) -> Vec<u32> + Send + 'a,
) -> Result<Pending<'a>, Error> {
    let progress = run.progress;
    let find = move || {
        progress.phase(Phase::Compare, 0);
        find()
    };
    if run.learns == Learns::Receiver {
        return Ok(Pending::of_items(items, move || matched(find())));
    }
    let found = find();
    tell(&found)?;
    Ok(Pending::of_items(items, move || matched(found)))
}

/// The party of a circuit that plays `role`.
pub fn party(role: Role) -> Party {
    match role {
        Role::Receiver => Party::Receiver,
        Role::Sender => Party::Sender,
    }
}

/// The wires of the receiver's and of the sender's inputs, of which one party knows its own, `mine`. Those of
/// the other party are as many rows, of `theirs` wires each.
///
/// # Errors
/// If the connection fails, or the partner's bytes are not those of the OTs.
pub fn both_inputs<E: Engine>(
    engine: &mut E,
    role: Role,
    mine: &[vesica_circuit::Bits],
    theirs: usize,
) -> Result<[Vec<E::Wires>; 2], Error> {
    let hidden = Input::Hidden { rows: mine.len(), len: theirs };
    let [receiver, sender] = match role {
        Role::Receiver => [Input::Known(mine), hidden],
        Role::Sender => [hidden, Input::Known(mine)],
    };
    let receiver = engine.input(Party::Receiver, receiver)?;
    Ok([receiver, engine.input(Party::Sender, sender)?])
}
