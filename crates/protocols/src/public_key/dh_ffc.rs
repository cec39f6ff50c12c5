//! Diffie–Hellman PSI modulo a prime of 3072 bits. The receiver learns X ∩ Y, the sender |Y| and no more.
//!
//! **Security:** semi-honest, in the random oracle model, under the decisional Diffie–Hellman assumption modulo the
//! prime; with the variant `short-exponents` also under the assumption that powers to exponents of 2κ bits cannot be
//! told from powers to uniform ones. Leaks n_r and n_s. A malicious party can do what it can do in `dh`.
//!
//! Source: PSZ14, "DH FFC"; Mea86, HFH99; PSSZ15 §3.3. The roles, the messages and the two forms are those of
//! [`dh`], over another group: [`modp`], the residues up to their sign modulo the primes of RFC 3526 (group
//! 15 at level 128, group 14 at 112) and, at level 80, of RFC 2409. Deviations:
//!
//! - The group is Z_p* / {1, -1}, which is isomorphic to the squares modulo p, in place of the squares themselves: a
//!   range check validates an element. See [`modp`].
//! - H reduces uniform bytes, 128 bits longer than p, modulo p; so nobody knows a logarithm. PSZ14 does not say how it
//!   hashes.
//! - Exponents are uniform modulo the order. PSZ14 names no length; its times fit about 2κ bits. Those are the
//!   variant's, at ten to twelve times the speed. An inverse is never short, so the variant always takes the form without one.
//!
//! Form [`Form::MasksOfSender`], taken when n_s ≥ n_r and exponents are of full length, with E = 384 bytes an element:
//!
//! ```text
//!    receiver (Y), b ←$ Z_q*                            sender (X), a ←$ Z_q*
//! 1.                ── H(y)^b, in random order ──►      E·n_r
//! 2.                ◄── (H(y)^b)^a, same order ──       E·n_r
//! 3.                ◄── sort{F(H(x)^a)} ──              n_s·⌈ℓ/8⌉
//!    output {y : F(((H(y)^b)^a)^(1/b)) received}
//! ```
//!
//! Form [`Form::MasksOfReceiver`], otherwise:
//!
//! ```text
//! 1.                ── H(y)^b, in random order ──►      E·n_r
//! 2.                ◄── H(x)^a, in random order ──      E·n_s
//! 3.                ◄── F((H(y)^b)^a), same order ──    n_r·⌈ℓ/8⌉
//!    output {y : F of it among F((H(x)^a)^b)}
//! ```
//!
//! Names: a, b = `secret`; E = `Choice::element`; H, F as in [`dh`].
//!
//! Cost: 2·n_r exponentiations for the receiver (n_r + n_s in the second form), n_r + n_s for the sender, of 3071 bits
//! or 256; eight at a time where the processor has IFMA.

use vesica_crypto::group::modp::{
    Bits1024, Bits1024Short, Bits2048, Bits2048Short, Bits3072, Bits3072Short, Modp,
};
use vesica_encode::items::Items;

use super::dh::{self, Form};
use crate::entry::{Entry, Memory, Message, Power, Roles, Shape};
use crate::error::Error;
use crate::outcome::Pairs;
use crate::parameters::{Parameters, variants};
use crate::protocol::{Ctx, Phase, Role, Sizes};

#[allow(unused_imports, reason = "named in the docs")]
use vesica_crypto::group::modp;

/// The registry's entry.
pub static ENTRY: Entry = Entry::new("dh-ffc", "Diffie–Hellman modulo a prime", Roles::Listed { receive, send })
    .family("public_key")
    .paper("PSZ14; Mea86, HFH99; PSSZ15 §3.3")
    .levels(&[80, 112, 128])
    .powers(|shape| {
        let Choice { exponents, element, .. } = Choice::of(shape);
        let modulus = 8 * element as u32;
        match exponents {
            Exponents::Full => Power::full(modulus),
            Exponents::Short => Power { modulus, exponent: 2 * shape.parameters.level },
        }
    })
    .variants(Exponents::VARIANTS)
    .flights(|_| 2)
    .steps(|role, shape| match (Choice::of(shape).form, role) {
        (Form::MasksOfSender, Role::Receiver) => {
            &[(Phase::Blind, 50), (Phase::Unblind, 48), (Phase::Exchange, 1), (Phase::Compare, 1)]
        }
        (Form::MasksOfSender, Role::Sender) => &[(Phase::Answer, 99), (Phase::Exchange, 1)],
        (Form::MasksOfReceiver, Role::Receiver) => {
            &[(Phase::Blind, 50), (Phase::Answer, 49), (Phase::Compare, 1)]
        }
        (Form::MasksOfReceiver, Role::Sender) => &[(Phase::Blind, 50), (Phase::Answer, 50)],
    })
    .messages(&[
        Message::of_receiver(
            "blinded items of the receiver; E = 384 bytes (128 at level 80, 256 at 112)",
            "E·n_r",
            |shape| Choice::of(shape).element * shape.receiver(),
        ),
        Message::of_sender("the same, raised to the sender's key (n_s ≥ n_r, full exponents)", "E·n_r", |shape| {
            Choice::of(shape).in_form(Form::MasksOfSender, |element| element * shape.receiver())
        }),
        Message::of_sender("masks of the sender (n_s ≥ n_r, full exponents)", "n_s·⌈ℓ/8⌉", |shape| {
            Choice::of(shape).in_form(Form::MasksOfSender, |_| shape.sender() * shape.mask())
        }),
        Message::of_sender("blinded items of the sender (otherwise)", "E·n_s", |shape| {
            Choice::of(shape).in_form(Form::MasksOfReceiver, |element| element * shape.sender())
        }),
        Message::of_sender("masks of the receiver's items (otherwise)", "n_r·⌈ℓ/8⌉", |shape| {
            Choice::of(shape).in_form(Form::MasksOfReceiver, |_| shape.receiver() * shape.mask())
        }),
    ])
    .memory(
        "receiver (32 + E)·n_r + 36·n_s (without unblinding: 40·n_r + (52 + E)·n_s), sender E·n_r + 56·n_s (E·n_r + 4·n_s)",
        |shape| {
            let (receiver, sender) = (shape.receiver(), shape.sender());
            let Choice { element, form, .. } = Choice::of(shape);
            match form {
                Form::MasksOfSender => Memory {
                    receiver: (32 + element) * receiver + 36 * sender,
                    sender: element * receiver + 56 * sender,
                },
                Form::MasksOfReceiver => Memory {
                    receiver: 40 * receiver + (52 + element) * sender,
                    sender: element * receiver + 4 * sender,
                },
            }
        },
    )
    .test_items(8)
    .runs_on_empty_sets();

variants! {
    /// How long secret exponents are.
    pub(crate) enum Exponents {
        /// As long as the order.
        Full,
        /// Twice the level.
        Short = "short-exponents", "exponents of 2κ bits (224 at level 112), an assumption more; about ten times as fast";
    }
}

/// What the parameters and sizes of a run decide.
#[derive(Debug, Clone, Copy)]
struct Choice {
    exponents: Exponents,
    form: Form,
    /// E: bytes of an encoded element.
    element: u64,
}

impl Choice {
    fn of(shape: &Shape) -> Self {
        Self::for_run(&shape.parameters, shape.sizes)
    }

    fn for_run(parameters: &Parameters, sizes: Sizes) -> Self {
        let exponents = Exponents::of(parameters);
        // The inverse of a short exponent is long.
        let form = match exponents {
            Exponents::Full => Form::for_sizes(sizes),
            Exponents::Short => Form::MasksOfReceiver,
        };
        let element = match parameters.level {
            80 => 128,
            112 => 256,
            _ => 384,
        };
        Self { exponents, form, element }
    }

    /// These bytes, if the run has this form.
    fn in_form(self, form: Form, bytes: impl FnOnce(u64) -> u64) -> u64 {
        if self.form == form { bytes(self.element) } else { 0 }
    }
}

/// The receiver's role.
fn receive<'a>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pairs<'a>, Error> {
    let Choice { exponents, form, .. } = Choice::for_run(&ctx.run.parameters, ctx.run.sizes);
    match (ctx.run.parameters.level, exponents) {
        (80, Exponents::Full) => dh::receive_in::<Modp<Bits1024>>(form, ctx, items),
        (80, Exponents::Short) => dh::receive_in::<Modp<Bits1024Short>>(form, ctx, items),
        (112, Exponents::Full) => dh::receive_in::<Modp<Bits2048>>(form, ctx, items),
        (112, Exponents::Short) => dh::receive_in::<Modp<Bits2048Short>>(form, ctx, items),
        (_, Exponents::Full) => dh::receive_in::<Modp<Bits3072>>(form, ctx, items),
        (_, Exponents::Short) => dh::receive_in::<Modp<Bits3072Short>>(form, ctx, items),
    }
}

/// The sender's role.
fn send(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Vec<u32>, Error> {
    let Choice { exponents, form, .. } = Choice::for_run(&ctx.run.parameters, ctx.run.sizes);
    match (ctx.run.parameters.level, exponents) {
        (80, Exponents::Full) => dh::send_in::<Modp<Bits1024>>(form, ctx, items),
        (80, Exponents::Short) => dh::send_in::<Modp<Bits1024Short>>(form, ctx, items),
        (112, Exponents::Full) => dh::send_in::<Modp<Bits2048>>(form, ctx, items),
        (112, Exponents::Short) => dh::send_in::<Modp<Bits2048Short>>(form, ctx, items),
        (_, Exponents::Full) => dh::send_in::<Modp<Bits3072>>(form, ctx, items),
        (_, Exponents::Short) => dh::send_in::<Modp<Bits3072Short>>(form, ctx, items),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Learns;
    use crate::testing::{Case, planted, run_pair, shape};
    use vesica_crypto::group::Group;

    #[test]
    fn every_group_and_form_finds_the_plain_join_in_the_bytes_it_says() {
        for level in [80, 112, 128] {
            for exponents in [Exponents::Full, Exponents::Short] {
                // Full exponents at 3072 bits take long without lanes.
                let most = if level == 128 && exponents == Exponents::Full { 20 } else { 100 };
                for (receiver, sender, threads) in [(most, 9, 2), (9, most, 1)] {
                    let sets = planted(receiver, sender, 5, 1);
                    let parameters =
                        Parameters { level, variant: exponents.variant(), ..Parameters::default() };
                    let case = Case { threads, parameters, learns: Learns::Both, ..Case::default() };
                    let ended = run_pair(&ENTRY, &sets, case);
                    assert_eq!(ended.receiver.unwrap().rows(), sets.receiver_rows);
                    assert_eq!(ended.sender.unwrap().unwrap().rows(), sets.sender_rows);
                    let shape = shape(&sets, case);
                    assert_eq!(ended.traffic.payload_sent, ENTRY.bytes(Role::Receiver, &shape));
                    assert_eq!(ended.traffic.payload_received, ENTRY.bytes(Role::Sender, &shape));
                }
            }
        }
    }

    #[test]
    fn elements_have_the_size_of_the_level() {
        for (level, size) in [
            (80, Modp::<Bits1024>::ENCODED),
            (112, Modp::<Bits2048Short>::ENCODED),
            (128, Modp::<Bits3072>::ENCODED),
        ] {
            let parameters = Parameters { level, ..Parameters::default() };
            let choice = Choice::for_run(&parameters, Sizes { receiver: 1, sender: 1 });
            assert_eq!(choice.element, size as u64);
        }
    }

    /// An inverse would be long.
    #[test]
    fn short_exponents_are_never_inverted() {
        let parameters = Parameters { variant: Exponents::Short.variant(), ..Parameters::default() };
        for (receiver, sender) in [(1, 1), (1, 1000), (1000, 1)] {
            let choice = Choice::for_run(&parameters, Sizes { receiver, sender });
            assert_eq!(choice.form, Form::MasksOfReceiver);
        }
    }
}
