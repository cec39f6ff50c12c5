//! Diffie–Hellman PSI over ristretto255. The receiver learns X ∩ Y, the sender |Y| and no more.
//!
//! **Security:** semi-honest, in the random oracle model, under the decisional Diffie–Hellman assumption (the
//! proof is that of AES03, cited in PSSZ15 §3.3). Leaks n_r and n_s. A malicious party can use any set, and a
//! malicious sender can answer wrongly.
//!
//! Source: Mea86, HFH99; PSSZ15 §3.3, with the second message hashed to ℓ bits as it says there. Deviations:
//!
//! - The sizes decide the order of the messages: the form that sends fewer bytes.
//! - Masks that need not keep an order are sorted where the paper permutes them.
//! - H maps to the whole prime-order group (RFC 9496 one-way map), never "hash times generator". The encoding
//!   keeps P and -P apart.
//!
//! Form [`Form::MasksOfSender`], taken when n_s ≥ n_r; 32·n_r + 32·n_r + n_s·⌈ℓ/8⌉ bytes:
//!
//! ```text
//!    receiver (Y), b ←$ Z_q*                            sender (X), a ←$ Z_q*
//! 1.                ── H(y)^b, in random order ──►      32·n_r
//! 2.                ◄── (H(y)^b)^a, same order ──       32·n_r
//! 3.                ◄── sort{F(H(x)^a)} ──              n_s·⌈ℓ/8⌉
//!    output {y : F(((H(y)^b)^a)^(1/b)) received}
//! ```
//!
//! Form [`Form::MasksOfReceiver`], PSSZ15's own, taken when n_s < n_r; 32·(n_r + n_s) + n_r·⌈ℓ/8⌉ bytes:
//!
//! ```text
//! 1.                ── H(y)^b, in random order ──►      32·n_r
//! 2.                ◄── H(x)^a, in random order ──      32·n_s
//! 3.                ◄── F((H(y)^b)^a), same order ──    n_r·⌈ℓ/8⌉
//!    output {y : F of it among F((H(x)^a)^b)}
//! ```
//!
//! Names: a, b = `secret`; H = the oracle `item_to_group`, then the group's map; F = the oracle
//! `element_to_mask` on the encoded element, cut to ℓ bits.
//!
//! Cost: 2·n_r exponentiations for the receiver (n_r + n_s in the second form), n_r + n_s for the sender.
//! Everything is streamed: while one party's elements are on the way, both compute. Where a party has a card
//! (`run.device`), the card computes its exponentiations, a large piece at a time, and the cores hash.

use std::marker::PhantomData;

use rand_core::CryptoRng;
use vesica_channel::{Channel, RecvHalf, SendHalf};
use vesica_crypto::group::{Group, InvalidElement, Ristretto255};
use vesica_crypto::hash::{Label, Oracle};
use vesica_crypto::join::join;
use vesica_crypto::par;
use vesica_encode::items::Items;

use super::steps::answer_first;
use crate::entry::{Entry, Memory, Message, OnCard, Roles, Shape};
use crate::error::{Error, Misbehaviour};
use crate::masks::{self, MaskWidth};
use crate::outcome::Pairs;
use crate::overlap::{Inbound, Stopped, overlap};
use crate::protocol::{Ctx, Phase, Role, Run, Sizes};

/// The registry's entry.
pub static ENTRY: Entry = Over::<Ristretto255>::ENTRY;

/// The protocol over a group.
struct Over<G>(PhantomData<G>);

impl<G: Group> Over<G> {
    const ENTRY: Entry = Entry::new("dh", "Diffie–Hellman over ristretto255", Self::ROLES)
        .family("public_key")
        .paper("Mea86, HFH99; PSSZ15 §3.3")
        .flights(|_| 2)
        .steps(|role, shape| match (Form::for_sizes(shape.sizes), role) {
            (Form::MasksOfSender, Role::Receiver) => {
                &[(Phase::Blind, 50), (Phase::Unblind, 40), (Phase::Exchange, 8), (Phase::Compare, 2)]
            }
            (Form::MasksOfSender, Role::Sender) => &[(Phase::Answer, 92), (Phase::Exchange, 8)],
            (Form::MasksOfReceiver, Role::Receiver) => {
                &[(Phase::Blind, 49), (Phase::Answer, 49), (Phase::Compare, 2)]
            }
            (Form::MasksOfReceiver, Role::Sender) => &[(Phase::Blind, 50), (Phase::Answer, 50)],
        })
        .messages(&[
            Message::of_receiver("blinded items of the receiver", "32·n_r", |shape| {
                Self::ELEMENT * shape.receiver()
            }),
            Message::of_sender("the same, raised to the sender's key (n_s ≥ n_r)", "32·n_r", |shape| {
                Self::in_form(Form::MasksOfSender, shape, Self::ELEMENT * shape.receiver())
            }),
            Message::of_sender("masks of the sender (n_s ≥ n_r)", "n_s·⌈ℓ/8⌉", |shape| {
                Self::in_form(Form::MasksOfSender, shape, shape.sender() * shape.mask())
            }),
            Message::of_sender("blinded items of the sender (n_s < n_r)", "32·n_s", |shape| {
                Self::in_form(Form::MasksOfReceiver, shape, Self::ELEMENT * shape.sender())
            }),
            Message::of_sender("masks of the receiver's items (n_s < n_r)", "n_r·⌈ℓ/8⌉", |shape| {
                Self::in_form(Form::MasksOfReceiver, shape, shape.receiver() * shape.mask())
            }),
        ])
        .memory(
            "receiver 72·n_r + 36·n_s (n_s < n_r: 40·n_r + 84·n_s), sender 32·n_r + 56·n_s (n_s < n_r: 32·n_r + 4·n_s)",
            |shape| {
                let (receiver, sender) = (shape.receiver(), shape.sender());
                match Form::for_sizes(shape.sizes) {
                    Form::MasksOfSender => Memory {
                        receiver: (40 + Self::ELEMENT) * receiver + 36 * sender,
                        sender: Self::ELEMENT * receiver + 56 * sender,
                    },
                    Form::MasksOfReceiver => Memory {
                        receiver: 40 * receiver + (52 + Self::ELEMENT) * sender,
                        sender: Self::ELEMENT * receiver + 4 * sender,
                    },
                }
            },
        )
        .on_card(OnCard::Group)
        .runs_on_empty_sets();

    const ROLES: Roles = Roles::Listed { receive: receive::<G>, send: send::<G> };

    /// Bytes of an encoded element.
    const ELEMENT: u64 = G::ENCODED as u64;

    /// These bytes, if the sizes choose this form.
    fn in_form(form: Form, shape: &Shape, bytes: u64) -> u64 {
        if Form::for_sizes(shape.sizes) == form { bytes } else { 0 }
    }
}

/// Whose items come back as masks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The sender returns the receiver's elements, raised, and sends masks of its own items.
    MasksOfSender,
    /// The sender sends its own elements, and masks of the receiver's items.
    MasksOfReceiver,
}

impl Form {
    /// The form with fewer bytes: 64·n_r + n_s·⌈ℓ/8⌉ against 32·(n_r + n_s) + n_r·⌈ℓ/8⌉, where ⌈ℓ/8⌉ < 32.
    pub fn for_sizes(sizes: Sizes) -> Self {
        if sizes.sender < sizes.receiver { Form::MasksOfReceiver } else { Form::MasksOfSender }
    }
}

/// The receiver's role, over any group.
fn receive<'a, G: Group>(ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pairs<'a>, Error> {
    receive_in::<G>(Form::for_sizes(ctx.run.sizes), ctx, items)
}

/// The receiver's role in this form, over any group.
pub(super) fn receive_in<'a, G: Group>(
    form: Form,
    ctx: &mut Ctx<'_, 'a>,
    items: &'a Items,
) -> Result<Pairs<'a>, Error> {
    let (run, threads) = (ctx.run, ctx.run.threads);
    // b ←$ Z_q*, and the random order in which H(y)^b travels.
    let party = Party::<G>::new(run, items, ctx.rng)?;
    let order = items.shuffled(ctx.rng);
    match form {
        Form::MasksOfSender => {
            let (mine, theirs) = party.receive_returned(&order, ctx.channel)?;
            Ok(Pairs::joined(run, move || {
                let pairs = join(threads, &mine[..], &theirs[..]).into_iter();
                pairs.map(|(mine, theirs)| (order[mine as usize], theirs)).collect()
            }))
        }
        Form::MasksOfReceiver => {
            let (theirs, mine) = party.receive_masks(&order, ctx.channel)?;
            // The masks received may be anything; the tables of the join are made of those computed here.
            Ok(Pairs::joined(run, move || {
                let pairs = join(threads, &theirs[..], &mine[..]).into_iter();
                pairs.map(|(theirs, mine)| (order[mine as usize], theirs)).collect()
            }))
        }
    }
}

/// The sender's role, over any group.
fn send<G: Group>(ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Vec<u32>, Error> {
    send_in::<G>(Form::for_sizes(ctx.run.sizes), ctx, items)
}

/// The sender's role in this form, over any group.
pub(super) fn send_in<G: Group>(form: Form, ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Vec<u32>, Error> {
    // a ←$ Z_q*.
    let party = Party::<G>::new(ctx.run, items, ctx.rng)?;
    match form {
        Form::MasksOfSender => party.send_returned(ctx.channel),
        Form::MasksOfReceiver => party.send_masks(items.shuffled(ctx.rng), ctx.channel),
    }
}

/// One party's secret and oracles.
struct Party<'a, G: Group> {
    run: &'a Run<'a>,
    items: &'a Items,
    width: MaskWidth,
    item_to_group: Oracle,
    element_to_mask: Oracle,
    secret: G::Scalar,
}

impl<'a, G: Group> Party<'a, G> {
    fn new(run: &'a Run<'a>, items: &'a Items, rng: &mut dyn CryptoRng) -> Result<Self, Error> {
        Ok(Party {
            run,
            items,
            width: MaskWidth::for_sizes(run.sizes, run.parameters.statistical)?,
            item_to_group: run.context.oracle(Label::new("dh: item to group")),
            element_to_mask: run.context.oracle(Label::new("dh: element to mask")),
            secret: G::random_scalar(rng),
        })
    }

    /// Receiver, [`Form::MasksOfSender`]: its masks in this order, and the sender's.
    fn receive_returned(
        &self,
        order: &[u32],
        channel: &mut dyn Channel,
    ) -> Result<(Vec<u128>, Vec<u128>), Error> {
        let (mine, ()) = overlap(channel, self.elements(order.len()), |channel, returned| {
            // 1. H(y)^b, in the order drawn.
            self.send_blinded(order, channel)?;
            // 2. ((H(y)^b)^a)^(1/b) = H(y)^a, masked.
            self.masks_of(Phase::Unblind, &G::invert(&self.secret), order.len(), returned)
        })?;
        // 3. The sender's masks, sorted.
        let theirs = masks::recv_sorted(self.run, self.width, channel.split().1)?;
        Ok((mine, theirs))
    }

    /// Sender, [`Form::MasksOfSender`]: the item behind each mask sent.
    fn send_returned(&self, channel: &mut dyn Channel) -> Result<Vec<u32>, Error> {
        let (mine, ()) = overlap(channel, self.elements(self.run.sizes.receiver), |channel, blinded| {
            // 2. (H(y)^b)^a, in the order received, and F(H(x)^a) while none waits to be answered.
            self.return_and_mask(blinded, channel)
        })?;
        // 3. The masks, sorted.
        masks::send_sorted(self.run, self.width, mine.into_iter().zip(0..), channel.split().0)
    }

    /// Receiver, [`Form::MasksOfReceiver`]: the masks of the sender's elements, and what it sent for the
    /// receiver's in this order.
    fn receive_masks(
        &self,
        order: &[u32],
        channel: &mut dyn Channel,
    ) -> Result<(Vec<u128>, Vec<u128>), Error> {
        let (count, elements) = (self.run.sizes.sender, self.elements(self.run.sizes.sender));
        let collect = |channel: &mut dyn RecvHalf, push: &mut dyn FnMut(_)| {
            elements(channel, push)?;
            // 3. F((H(y)^b)^a).
            masks::recv(self.width, order.len(), channel, &mut |_| Ok(()))
        };
        overlap(channel, collect, |channel, elements| {
            // 1. H(y)^b, in the order drawn.
            self.send_blinded(order, channel)?;
            // 2. F((H(x)^a)^b).
            self.masks_of(Phase::Answer, &self.secret, count, elements)
        })
    }

    /// Sender, [`Form::MasksOfReceiver`]: the item behind each element sent.
    fn send_masks(&self, order: Vec<u32>, channel: &mut dyn Channel) -> Result<Vec<u32>, Error> {
        let count = self.run.sizes.receiver;
        overlap(channel, self.elements(count), |channel, blinded| {
            // 2. H(x)^a, in the order drawn.
            self.send_blinded(&order, channel)?;
            // 3. F((H(y)^b)^a), in the order received.
            self.raise_all(Phase::Answer, &self.secret, count, blinded, |piece| {
                let mut masks = Vec::with_capacity(piece.len());
                self.mask(&piece, &mut masks);
                masks::send(self.width, masks.into_iter(), channel, &mut |_| Ok(()))
            })
        })?;
        Ok(order)
    }

    /// Returns the receiver's elements, raised to the sender's secret, and computes the masks of the sender's
    /// items.
    fn return_and_mask(
        &self,
        blinded: &Inbound<Vec<G::Encoding>>,
        channel: &mut dyn SendHalf,
    ) -> Result<Vec<u128>, Stopped> {
        let (theirs, items) = (self.run.sizes.receiver, self.items.len());
        self.run.phase(Phase::Answer, theirs + items);
        let mut mine: Vec<u128> = Vec::with_capacity(items);
        answer_first(
            self.run,
            (theirs, items, self.piece()),
            blinded,
            channel,
            |first, piece: Vec<G::Encoding>, channel| {
                send_elements::<G>(&self.raise(&self.secret, first, &piece)?, channel)?;
                Ok(piece.len())
            },
            |own| {
                let own: Vec<u32> = own.map(|item| item as u32).collect();
                self.mask(&self.blind(&own)?, &mut mine);
                Ok(())
            },
        )?;
        Ok(mine)
    }

    /// F of `count` elements of the other party, raised to this exponent, as they come.
    fn masks_of(
        &self,
        phase: Phase,
        exponent: &G::Scalar,
        count: usize,
        elements: &Inbound<Vec<G::Encoding>>,
    ) -> Result<Vec<u128>, Stopped> {
        // Not more room than this party's own set takes: the other size may be made up.
        let mut masks = Vec::with_capacity(count.min(self.items.len()));
        self.raise_all(phase, exponent, count, elements, |piece| {
            self.mask(&piece, &mut masks);
            Ok(())
        })?;
        Ok(masks)
    }

    /// Raises `count` elements of the other party to this exponent, as they come; `take` has them piece by
    /// piece.
    fn raise_all(
        &self,
        phase: Phase,
        exponent: &G::Scalar,
        count: usize,
        elements: &Inbound<Vec<G::Encoding>>,
        mut take: impl FnMut(Vec<G::Encoding>) -> Result<(), Error>,
    ) -> Result<(), Stopped> {
        self.run.phase(phase, count);
        let mut raised = 0;
        while raised < count {
            let piece = self.raise(exponent, raised, &elements.wait()?)?;
            let more = piece.len();
            take(piece)?;
            raised += more;
            self.run.advance(more)?;
        }
        Ok(())
    }

    /// Elements in one piece of a message: as many for each thread as it handles at a time, or as a card takes at
    /// once. Local: changes no byte.
    fn piece(&self) -> usize {
        let on_cores = G::BATCH * self.run.threads;
        if G::ON_CARD { self.run.device.piece(on_cores) } else { on_cores }
    }

    /// Sends H(item)^secret for the items at `indices`, in that order.
    fn send_blinded(&self, indices: &[u32], channel: &mut dyn SendHalf) -> Result<(), Stopped> {
        self.run.phase(Phase::Blind, indices.len());
        for piece in indices.chunks(self.piece()) {
            send_elements::<G>(&self.blind(piece)?, channel)?;
            self.run.advance(piece.len())?;
        }
        Ok(())
    }

    /// H(item)^secret, encoded, for the items at `indices`.
    fn blind(&self, indices: &[u32]) -> Result<Vec<G::Encoding>, Error> {
        let (threads, device) = (self.run.threads, &self.run.device);
        let mut elements = vec![G::EMPTY; indices.len()];
        if G::ON_CARD && device.has_card() {
            let mut uniform = vec![G::UNIFORM_EMPTY; indices.len()];
            par::for_each_chunk(threads, G::BATCH, indices, &mut uniform, |_, indices, uniform| {
                self.hash(indices, uniform);
                Ok::<_, Error>(())
            })?;
            if G::map_mul_encode_on_card(device, &self.secret, &uniform, &mut elements) {
                return Ok(elements);
            }
        }
        par::for_each_chunk(threads, G::BATCH, indices, &mut elements, |_, indices, elements| {
            let mut uniform = vec![G::UNIFORM_EMPTY; indices.len()];
            self.hash(indices, &mut uniform);
            G::map_mul_encode(&self.secret, &uniform, elements);
            Ok::<_, Error>(())
        })?;
        Ok(elements)
    }

    /// What the group's map makes H(item) of, for the items at `indices`.
    fn hash(&self, indices: &[u32], uniform: &mut [G::Uniform]) {
        let items: Vec<u8> =
            indices.iter().flat_map(|&index| self.items.get(index as usize)).copied().collect();
        let mut bytes = vec![0; indices.len() * G::UNIFORM];
        self.item_to_group.hash_batch(&items, self.items.width(), &mut bytes, G::UNIFORM);
        for (uniform, bytes) in uniform.iter_mut().zip(bytes.chunks_exact(G::UNIFORM)) {
            uniform.as_mut().copy_from_slice(bytes);
        }
    }

    /// element^exponent, encoded, for elements of the partner; `first` is the position of the first in its
    /// message.
    fn raise(
        &self,
        exponent: &G::Scalar,
        first: usize,
        elements: &[G::Encoding],
    ) -> Result<Vec<G::Encoding>, Error> {
        let mut raised = vec![G::EMPTY; elements.len()];
        let invalid = |chunk, InvalidElement { index }: InvalidElement| Misbehaviour::InvalidElement {
            position: first + chunk * G::BATCH + index,
        };
        if let Some(done) = G::decode_mul_encode_on_card(&self.run.device, exponent, elements, &mut raised) {
            done.map_err(|error| invalid(0, error))?;
            return Ok(raised);
        }
        par::for_each_chunk(self.run.threads, G::BATCH, elements, &mut raised, |chunk, elements, raised| {
            G::decode_mul_encode(exponent, elements, raised).map_err(|error| invalid(chunk, error))
        })?;
        Ok(raised)
    }

    /// F: the masks of elements.
    fn mask(&self, elements: &[G::Encoding], masks: &mut Vec<u128>) {
        let elements: Vec<u8> = elements.iter().flat_map(AsRef::as_ref).copied().collect();
        let mut hashes = vec![[0; 16]; elements.len() / G::ENCODED];
        self.element_to_mask.hash_batch(&elements, G::ENCODED, hashes.as_flattened_mut(), 16);
        masks.extend(hashes.iter().map(|hash| self.width.truncate(hash)));
    }

    /// Reads `count` elements and passes them on, piece by piece.
    #[allow(clippy::type_complexity, reason = "what `overlap` takes")]
    fn elements(
        &self,
        count: usize,
    ) -> impl Fn(&mut dyn RecvHalf, &mut dyn FnMut(Vec<G::Encoding>)) -> Result<(), Error> {
        move |channel, push| {
            let mut left = count;
            while left > 0 {
                let mut piece = vec![G::EMPTY; left.min(self.piece())];
                for element in &mut piece {
                    channel.recv_exact(element.as_mut())?;
                }
                left -= piece.len();
                push(piece);
            }
            Ok(())
        }
    }
}

fn send_elements<G: Group>(elements: &[G::Encoding], channel: &mut dyn SendHalf) -> Result<(), Error> {
    for element in elements {
        channel.send(element.as_ref())?;
    }
    Ok(channel.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Learns;
    use crate::parameters::STATISTICAL_SECURITY;
    use crate::testing::{Case, IdealGroup, duel, order, planted, run_over, run_pair, shape};
    use rand::{SeedableRng, rngs::StdRng};
    use std::sync::{Arc, Mutex};
    use vesica_channel::Kind;
    use vesica_channel::tampered::{self, Direction};

    /// `dh` over the ideal group: the protocol at sizes that need no waiting for a curve.
    static IDEAL: Entry = Over::<IdealGroup>::ENTRY;

    #[test]
    fn over_the_ideal_group_both_forms_find_the_plain_join() {
        for (receiver, sender, common) in
            [(1 << 16, 1 << 16, 20_000), (1 << 8, 1 << 17, 100), (1 << 17, 1 << 8, 100)]
        {
            for (threads, learns) in [(1, Learns::Receiver), (2, Learns::Both)] {
                let sets = planted(receiver, sender, common, 1);
                let case = Case { threads, learns, ..Case::default() };
                let ended = run_pair(&IDEAL, &sets, case);
                assert_eq!(ended.receiver.unwrap().rows(), sets.receiver_rows);
                if learns == Learns::Both {
                    assert_eq!(ended.sender.unwrap().unwrap().rows(), sets.sender_rows);
                }
                let shape = shape(&sets, case);
                assert_eq!(ended.traffic.payload_sent, IDEAL.bytes(Role::Receiver, &shape));
                assert_eq!(ended.traffic.payload_received, IDEAL.bytes(Role::Sender, &shape));
            }
        }
    }

    /// In the order of the receiver's elements, and in that of the sender's where it sends its own. An item's
    /// element is known from its party's seed.
    #[test]
    fn flaw_positions_in_the_messages_do_not_tell_of_items() {
        for (receiver, sender) in [(64, 72), (72, 64)] {
            let sets = planted(receiver, sender, 9, 1);
            let (context, _) = duel::<_, ()>(
                (&IDEAL, &sets, Case::default()),
                Box::new(|ctx| Ok(ctx.run.context.clone())),
                Box::new(|_| Ok(())),
            );
            let sizes = Sizes { receiver, sender };
            let run = crate::testing::run_of(context.unwrap(), sizes, crate::Parameters::default());
            let form = Form::for_sizes(sizes);
            let of_seed = |seed: u64| {
                let sent = Arc::new(Mutex::new([Vec::new(), Vec::new()]));
                let seen = sent.clone();
                let ends = tampered::pair(move |direction, frame| {
                    if frame.kind == Kind::Data {
                        let sender = usize::from(direction == Direction::SecondToFirst);
                        seen.lock().unwrap()[sender].extend_from_slice(&frame.payload);
                    }
                    vec![frame]
                });
                let ended = run_over(&IDEAL, &sets, Case { seed, ..Case::default() }, ends);
                assert_eq!(ended.receiver.unwrap().rows(), sets.receiver_rows);
                let sent = sent.lock().unwrap();
                let positions = |party: usize, items: &Items| {
                    let rng = &mut StdRng::seed_from_u64(seed << 1 | party as u64);
                    let blinded = Party::<IdealGroup>::new(&run, items, rng).unwrap();
                    let blinded = blinded.blind(&(0..items.len() as u32).collect::<Vec<_>>()).unwrap();
                    let wire: Vec<&[u8]> =
                        sent[party].chunks(IdealGroup::ENCODED).take(items.len()).collect();
                    let position =
                        |element: &[u8]| wire.iter().position(|sent| *sent == element).unwrap() as u32;
                    blinded.iter().map(|element| position(element.as_ref())).collect::<Vec<u32>>()
                };
                let senders = (form == Form::MasksOfReceiver).then(|| positions(1, &sets.sender));
                (positions(0, &sets.receiver), senders)
            };
            let (receivers, senders): (Vec<_>, Vec<_>) = (0..40).map(of_seed).unzip();
            order::assert_hidden(&receivers);
            if form == Form::MasksOfReceiver {
                order::assert_hidden(&senders.into_iter().flatten().collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn the_form_chosen_is_the_one_with_fewer_bytes() {
        for (receiver, sender) in [(0, 0), (1, 1), (10, 11), (11, 10), (1 << 8, 1 << 20), (1 << 20, 1 << 8)] {
            let sizes = Sizes { receiver, sender };
            let mask = MaskWidth::for_sizes(sizes, STATISTICAL_SECURITY).unwrap().bytes();
            let masks_of_sender = 64 * receiver + sender * mask;
            let masks_of_receiver = 32 * (receiver + sender) + receiver * mask;
            let parameters = crate::Parameters::default();
            let shape =
                Shape { sizes, parameters, learns: Learns::Receiver, matches: 0, kept_base_ots: false };
            let bytes = ENTRY.bytes(Role::Receiver, &shape) + ENTRY.bytes(Role::Sender, &shape);
            assert_eq!(bytes as usize, masks_of_sender.min(masks_of_receiver));
        }
    }
}
