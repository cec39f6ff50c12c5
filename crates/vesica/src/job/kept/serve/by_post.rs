//! Answers to the queries that lie in a post-box.

use std::time::Instant;

use rand_core::CryptoRng;
use vesica_kept::Charge;
use vesica_net::PublicKey;
use vesica_protocols::public_key::voprf::Evaluation;

use super::super::BATCH;
use super::super::post::{self, Answer, Request};
use super::super::wire::{FAILED, OVER_BUDGET};
use super::{Hall, ServeNotice, now, query};
use crate::job::post_box::PostBox;
use crate::words::error::{Error, RunPhase};

/// Why a query by post is not answered.
enum Unanswered {
    Over { left: u64, renews: u64 },
    Misbehaved,
    Failed,
}

impl Hall<'_> {
    /// Answers the queries in a post-box, each once.
    pub(super) fn post(&self, post: &PostBox<'_>, rng: &mut dyn CryptoRng) -> Result<(), Error> {
        let chain = self.chain();
        let epoch = &chain.head().epoch;
        let of = (*self.job.identity.public_key(), epoch.public_key);
        let other = |message| self.queue.put(ServeNotice::Trouble { message });
        let each = |request: Request| self.answer_by_post(post, &request, rng);
        post::requests(post, &self.job.allow, of, epoch.most_keys_a_query, (each, other))
    }

    fn answer_by_post(
        &self,
        post: &PostBox<'_>,
        request: &Request,
        rng: &mut dyn CryptoRng,
    ) -> Result<(), Error> {
        self.stop.check().map_err(|error| Error::channel(RunPhase::Post, &error))?;
        let (receiver, began) = (request.head.receiver, Instant::now());
        let key = receiver.short();
        let (answer, notice) = match self.evaluate(receiver, &request.blinded, rng) {
            Ok((evaluations, again)) => {
                let (keys, seconds) = (request.blinded.len() as u64, began.elapsed().as_secs_f64());
                (
                    Answer::Evaluated(evaluations),
                    ServeNotice::Answered { key, keys, again, seconds, receipt: None },
                )
            }
            Err(Unanswered::Over { left, renews }) => {
                let why = "it is over its budget";
                (Answer::Refused { reason: OVER_BUDGET, left, renews }, ServeNotice::Refused { key, why })
            }
            Err(Unanswered::Misbehaved) => {
                let why = "it sent what is no blinded key";
                (Answer::Refused { reason: FAILED, left: 0, renews: 0 }, ServeNotice::Refused { key, why })
            }
            // The ledger's error takes the place of this one: nothing more can be answered.
            Err(Unanswered::Failed) => return Err(Error::interrupted(RunPhase::Post)),
        };
        post::answer(post, request, &answer, &self.job.identity)?;
        self.queue.put(notice);
        Ok(())
    }

    /// Charges and evaluates a whole query; and how many of its keys had been charged before.
    fn evaluate(
        &self,
        receiver: PublicKey,
        blinded: &[[u8; 32]],
        rng: &mut dyn CryptoRng,
    ) -> Result<(Vec<Evaluation>, u64), Unanswered> {
        // What was charged when an earlier run was killed is less than what is left.
        if let Some(most_a_day) = self.job.most_a_day {
            let first = blinded.first_chunk::<1>().map(|_| &blinded[..blinded.len().min(BATCH)]);
            let (left, renews) = self.job.ledger.left(receiver.as_bytes(), most_a_day, now());
            let begun = first.is_some_and(|first| {
                self.job.ledger.has(receiver.as_bytes(), &query(receiver, first), first.len() as u32)
            });
            if !begun && blinded.len() as u64 > left {
                return Err(Unanswered::Over { left, renews });
            }
        }
        let (mut evaluations, mut again) = (Vec::new(), 0);
        for batch in blinded.chunks(BATCH) {
            match self.charge(receiver, batch, batch.len() as u32).map_err(|_| Unanswered::Failed)? {
                Charge::New => {}
                Charge::Paid => again += batch.len() as u64,
                Charge::Over { left, renews } => return Err(Unanswered::Over { left, renews }),
            }
            evaluations.push(self.job.secret.evaluate(batch, rng).map_err(|_| Unanswered::Misbehaved)?);
        }
        Ok((evaluations, again))
    }
}
