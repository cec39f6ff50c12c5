//! The sender's part of `dkt`: messages 1 to 3 come in piece by piece, and message 4 is made of them while they
//! do. It leaves this file only after π holds.

use rand_core::CryptoRng;
use vesica_channel::{RecvHalf, SendHalf};
use vesica_crypto::group::{BatchGroup, Elements};
use vesica_encode::items::Items;
use zeroize::Zeroizing;

use super::super::proofs::EqualLogarithms;
use super::{
    BLOCK, CHALLENGE, CHUNK, Party, Statement, decode, decode_scalar, encode_doubles, ranges, recv_elements,
    recv_scalar, scalar,
};
use crate::error::{Error, Misbehaviour};
use crate::overlap::{Inbound, Stopped};
use crate::protocol::Run;

/// What the sender takes in, piece by piece.
pub(super) enum Received<G: BatchGroup> {
    /// Some M_i, then X, then some N_i.
    Elements(Vec<G::Encoding>),
    /// c and s.
    Challenge(u128, G::ScalarEncoding),
    /// Some s_i.
    Responses(Vec<G::ScalarEncoding>),
}

/// Reads messages 1 to 3.
#[allow(clippy::type_complexity, reason = "what `overlap` takes")]
pub(super) fn collect<G: BatchGroup>(
    count: usize,
) -> impl FnOnce(&mut dyn RecvHalf, &mut dyn FnMut(Received<G>)) -> Result<(), Error> {
    move |channel, push| {
        for block in ranges(count, BLOCK) {
            push(Received::Elements(recv_elements::<G>(block.len(), channel)?));
        }
        push(Received::Elements(recv_elements::<G>(1, channel)?));
        for block in ranges(count, BLOCK) {
            push(Received::Elements(recv_elements::<G>(block.len(), channel)?));
        }
        let mut challenge = [0; CHALLENGE];
        channel.recv_exact(&mut challenge)?;
        push(Received::Challenge(u128::from_le_bytes(challenge), recv_scalar::<G>(channel)?));
        for block in ranges(count, BLOCK) {
            let responses = block.map(|_| recv_scalar::<G>(channel)).collect::<Result<_, _>>()?;
            push(Received::Responses(responses));
        }
        Ok(())
    }
}

/// The sender and its secret.
pub(super) struct Sender<'a, G: BatchGroup> {
    pub(super) party: Party<'a, G>,
    /// z.
    pub(super) secret: G::Scalar,
    /// z/2.
    half: G::Scalar,
    /// F(z·H(x), x) of the first items.
    pub(super) masks: Zeroizing<Vec<u128>>,
}

impl<'a, G: BatchGroup> Sender<'a, G> {
    pub(super) fn new(run: &'a Run<'a>, items: &'a Items, rng: &mut dyn CryptoRng) -> Self {
        let secret = G::random_scalar(rng);
        let half = G::mul_scalars(&secret, &G::invert(&scalar::<G>(2)));
        let masks = Zeroizing::new(Vec::with_capacity(items.len()));
        Sender { party: Party::new(run, items), secret, half, masks }
    }

    /// The next piece; own items are masked while there is none.
    fn next(&mut self, incoming: &Inbound<Received<G>>) -> Result<Received<G>, Stopped> {
        loop {
            if let Some(piece) = incoming.ready()? {
                return Ok(piece);
            }
            if !self.mask_some()? {
                return incoming.wait();
            }
        }
    }

    /// Masks the sender's items up to number `end`, or a few more.
    pub(super) fn mask_until(&mut self, end: usize, channel: &mut dyn SendHalf) -> Result<(), Error> {
        while self.masks.len() < end && self.mask_some()? {
            channel.check()?;
        }
        Ok(())
    }

    /// Masks some of the sender's items; false if there are none left.
    pub(super) fn mask_some(&mut self) -> Result<bool, Error> {
        let party = &self.party;
        let first = self.masks.len();
        let end = party.items.len().min(first + CHUNK * party.run.threads);
        if first == end {
            return Ok(false);
        }
        let twice = G::add_scalars(&self.secret, &self.secret);
        let chunks = (first..end).step_by(CHUNK).map(|first| first as u32..end.min(first + CHUNK) as u32);
        let masks = party.each(chunks, |chunk| {
            let indices: Vec<u32> = chunk.collect();
            Ok(party.mask(&party.hash_to_group(&indices).multiply(&twice), &indices))
        })?;
        self.masks.extend(masks.into_iter().flatten());
        party.run.advance(end - first)?;
        Ok(true)
    }

    /// Message 4: Z, and z·M_i with π' for each block, if π holds.
    pub(super) fn answer(
        &mut self,
        incoming: &Inbound<Received<G>>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<Vec<u8>>, Stopped> {
        let count = self.party.run.sizes.receiver;
        let public = G::mul_base(&self.secret);
        let equal = EqualLogarithms::<G>::new(&self.party.run.context, G::generator(), public);
        let (mut blinded, mut elements, mut answers) = (Vec::new(), Vec::new(), Vec::new());
        for (number, block) in ranges(count, BLOCK).enumerate() {
            let Received::Elements(encoded) = self.next(incoming)? else { unreachable!("`collect` says so") };
            let (mut answer, decoded) = self.raise(&equal, number, &encoded, rng)?;
            if number == 0 {
                answer.splice(..0, G::encode(&public).as_ref().iter().copied());
            }
            answers.push(answer);
            elements.extend(decoded);
            blinded.extend(encoded);
            self.party.run.advance(block.len())?;
        }
        let Received::Elements(x) = self.next(incoming)? else { unreachable!("`collect` says so") };
        let minus_x = G::decode(&x[0]).map_err(|_| Misbehaviour::InvalidElement { position: count })?;
        let minus_x = G::sub(&G::identity(), &minus_x);
        let mut statement = Statement::<G> { x: x[0], pieces: Vec::new(), commitments: Vec::new() };
        let mut elements = elements.into_iter();
        let mut relations = Vec::new();
        for block in ranges(count, BLOCK) {
            let Received::Elements(encoded) = self.next(incoming)? else { unreachable!("`collect` says so") };
            let tasks: Vec<_> =
                encoded.chunks(CHUNK).zip(elements.by_ref()).zip(block.clone().step_by(CHUNK)).collect();
            let done = self.party.each(tasks.into_iter(), |((complements, mut relation), first)| {
                relation.add_assign(&decode::<G>(count + 1 + first, complements)?);
                relation.add_to_all(&minus_x);
                let blinded = &blinded[first..first + complements.len()];
                Ok((relation, self.party.proofs.digest(&[blinded, complements])))
            })?;
            for (relation, piece) in done {
                relations.push(relation);
                statement.pieces.push(piece);
            }
            self.party.run.advance(block.len())?;
        }
        self.check(statement, relations, incoming)?;
        Ok(answers)
    }

    /// z·M_i of a block with π', and M_i by chunk.
    fn raise(
        &self,
        equal: &EqualLogarithms<G>,
        number: usize,
        encoded: &[G::Encoding],
        rng: &mut dyn CryptoRng,
    ) -> Result<(Vec<u8>, Vec<G::Elements>), Error> {
        let first = number * BLOCK;
        let chunks = encoded.chunks(CHUNK).enumerate();
        let done = self.party.each(chunks, |(chunk, encoded)| {
            let elements = decode::<G>(first + chunk * CHUNK, encoded)?;
            let raised = encode_doubles::<G>(&elements.multiply(&self.half));
            Ok((elements, raised))
        })?;
        let (elements, raised): (Vec<_>, Vec<_>) = done.into_iter().unzip();
        let raised = raised.concat();
        let folded = equal.fold(number as u64, encoded, &raised);
        let tasks = elements.iter().zip(folded.weights.chunks(CHUNK));
        let sums = self
            .party
            .each(tasks, |(elements, weights)| Ok(elements.vartime_double_weighted_sum(weights)))?;
        let sum = sums.iter().fold(G::identity(), |sum, part| G::add(&sum, part));
        let proof = equal.prove(&folded, &sum, &self.secret, rng);
        let mut answer: Vec<u8> = raised.iter().flat_map(AsRef::as_ref).copied().collect();
        answer.extend(proof.challenge.to_le_bytes());
        answer.extend(G::encode_scalar(&proof.response).as_ref());
        Ok((answer, elements))
    }

    /// Checks π.
    fn check(
        &mut self,
        mut statement: Statement<G>,
        relations: Vec<G::Elements>,
        incoming: &Inbound<Received<G>>,
    ) -> Result<(), Stopped> {
        let Received::Challenge(challenge, common) = self.next(incoming)? else {
            unreachable!("`collect` says so")
        };
        let common = G::mul(&decode_scalar::<G>(&common)?, &self.party.proofs.common);
        let mut relations = relations.into_iter();
        for block in ranges(self.party.run.sizes.receiver, BLOCK) {
            let Received::Responses(encoded) = self.next(incoming)? else {
                unreachable!("`collect` says so")
            };
            let tasks: Vec<_> = encoded.chunks(CHUNK).zip(relations.by_ref()).collect();
            let proofs = &self.party.proofs;
            let commitments = self.party.each(tasks.into_iter(), |(encoded, relation)| {
                let responses = encoded.iter().map(decode_scalar::<G>).collect::<Result<Vec<_>, _>>()?;
                Ok(proofs.digest(&[&proofs.recommit(&common, &responses, challenge, &relation)]))
            })?;
            statement.commitments.extend(commitments);
            self.party.run.advance(block.len())?;
        }
        let Statement { x, pieces, commitments } = &statement;
        if self.party.proofs.challenge(x.as_ref(), pieces, commitments) != challenge {
            return Err(Misbehaviour::FailedCheck.into());
        }
        Ok(())
    }
}
