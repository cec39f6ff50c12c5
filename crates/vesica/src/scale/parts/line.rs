//! The connection of a run in parts, from the rounds on: it may break for less than the time-out, and is made again.
//!
//! ```text
//!   TLS with the identities' keys (ALPN `vesica/2`), hello, as at first
//!   u8 2 · 32 tag · u16 round · u8 step      ◄──►   the step whose message this side awaits next
//!   messages that the other side lacks, and all that follow
//! ```
//!
//! On this connection each side says one message a step, and takes one: ROUND, the list of receipts, again for every round,
//! then the root, then DONE. A side goes on to the next step when it has the other's message. So the two are never more than
//! one step apart, and what a side says in a step is fixed once it has begun to say it.
//!
//! | the partner awaits | so it has | this side says |
//! | --- | --- | --- |
//! | the step that this side awaits | all before it | its message of that step, if it is there already |
//! | the step before | all before that | its message of the step before, then as above |
//! | the step after | this side's message, too | nothing; it awaits the partner's |
//! | any other, or another tag | | the run ends, 76 |
//!
//! **Security.** Who takes up a run has the key of the partner's identity, as who began it. The tag follows from J, which the
//! coins of both sides and the session id of the first connection go into, so no connection of another run passes for one of
//! this run. TLS keeps what a relay or a network has recorded from being said again, and each message is taken once, in its
//! step. A partner that has a message said twice hears the same bytes. DONE compares what went over the last connection; what
//! went over earlier ones is bound by J, the receipts and the root.
//!
//! A side that has the partner's DONE has ended well, and takes up nothing. If its own DONE was lost, the partner ends with 69,
//! as in every run.

use rand_core::CryptoRng;
use vesica_channel::codec::{CodecError, Reader, Writer};
use vesica_channel::{Channel, ChannelError, Fault};
use vesica_crypto::wide_prg::WidePrg;
use vesica_net::{Connection, NetEvent, Options};
use zeroize::Zeroizing;

use super::options::{PlayOptions, check_kind};
use super::partitioned::PartitionedRun;
use crate::session::links::Links;
use crate::session::reporter::Reporter;
use crate::session::{SessionError, TAKEN_UP};
use crate::words::parts::PartsError;

/// Bytes of what a side says first on it.
pub(super) const HEADER: usize = 1 + 32 + 2 + 1;

/// How far the conversation is: what is awaited next from the partner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Step {
    pub(crate) round: u16,
    pub(crate) of: StepKind,
}

/// What a step of the conversation is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum StepKind {
    /// Which parts a round has.
    Round = 0,
    /// Which receipts a side holds after it.
    Ended = 1,
    /// The root of all receipts.
    Root = 2,
    /// DONE.
    Done = 3,
}

impl Step {
    /// Of the first round.
    const FIRST: Self = Step { round: 0, of: StepKind::Round };

    pub(super) fn encode(self, tag: &[u8; 32]) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.u8(TAKEN_UP).fixed(tag).u16(self.round).u8(self.of as u8);
        writer.into_vec()
    }

    /// The step in what the partner says first, if it is of that run.
    pub(super) fn decode(bytes: &[u8; HEADER], tag: &[u8; 32]) -> Result<Self, SessionError> {
        let what = "the beginning of a run taken up";
        let decode = |cause| SessionError::Decode { what, cause };
        let mut reader = Reader::new(bytes);
        check_kind(reader.u8().map_err(decode)?, TAKEN_UP, what)?;
        if reader.array::<32>().map_err(decode)? != *tag {
            return Err(PartsError::Differ("run in mind").into());
        }
        let round = reader.u16().map_err(decode)?;
        let of = match reader.u8().map_err(decode)? {
            0 => StepKind::Round,
            1 => StepKind::Ended,
            2 => StepKind::Root,
            3 => StepKind::Done,
            _ => return Err(decode(CodecError::Invalid { what: "step" })),
        };
        Ok(Step { round, of })
    }

    /// The step after this one; after a list of receipts it may also be that of the root.
    fn following(self) -> Self {
        match self.of {
            StepKind::Round => Step { of: StepKind::Ended, ..self },
            StepKind::Ended => Step { round: self.round.saturating_add(1), of: StepKind::Round },
            StepKind::Root | StepKind::Done => Step { of: StepKind::Done, ..self },
        }
    }

    /// Whether that one comes right after this one.
    fn is_before(self, next: Self) -> bool {
        match (self.of, next.of) {
            (StepKind::Round, StepKind::Ended)
            | (StepKind::Ended, StepKind::Root)
            | (StepKind::Root, StepKind::Done) => self.round == next.round,
            (StepKind::Ended, StepKind::Round) => self.round.checked_add(1) == Some(next.round),
            _ => false,
        }
    }
}

/// The connection of a run in parts.
pub(crate) struct RunConnection<'l> {
    channel: Connection,
    links: &'l mut dyn Links,
    tag: [u8; 32],
    /// Whether it is made again if it breaks.
    mends: bool,
    options: Options,
    reporter: &'l Reporter<'l>,
    rng: WidePrg,
    /// What is awaited next.
    next: Step,
    /// What this side says in that step, once it has begun to.
    mine: Option<Vec<u8>>,
    /// What it said in the step before.
    before: Vec<u8>,
}

impl<'l> RunConnection<'l> {
    /// From a connection on which the coins have been tossed. The links make it again if it breaks, but for a run whose parts
    /// are there for the cores: it ends like one in one piece.
    pub(crate) fn begin(
        mut channel: Connection,
        links: &'l mut dyn Links,
        partitioned: &PartitionedRun<'_>,
        play_options: &PlayOptions<'l>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self, SessionError> {
        let (options, reporter) = (play_options.options.clone(), play_options.reporter);
        let PartitionedRun { agreed, job, .. } = partitioned;
        let begun = links.begin(job.mine.public_key(), job.tag, &options).inspect_err(|_| channel.abort());
        begun.map_err(|error| partitioned.link_failed(error))?;
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *seed);
        let rng = WidePrg::from_seed(&seed);
        let (next, mine, before) = (Step::FIRST, None, Vec::new());
        let (tag, mends) = (job.tag, !agreed.for_cores);
        Ok(RunConnection { channel, links, tag, mends, options, reporter, rng, next, mine, before })
    }

    pub(crate) fn channel(&self) -> &Connection {
        &self.channel
    }

    pub(crate) fn channel_mut(&mut self) -> &mut Connection {
        &mut self.channel
    }

    /// The connection, and the links of the parts.
    pub(crate) fn both(&mut self) -> (&mut Connection, &dyn Links) {
        (&mut self.channel, &*self.links)
    }

    /// That round is over for this side.
    pub(crate) fn end_round(&mut self, round: u16) {
        self.links.end_round(round);
    }

    /// The rounds are over, and the root is next.
    pub(crate) fn end_rounds(&mut self) {
        self.next = self.root();
    }

    /// The step of the root, after the last round.
    pub(crate) fn root(&self) -> Step {
        match self.next.of {
            StepKind::Root => self.next,
            _ => Step { round: self.next.round.saturating_sub(1), of: StepKind::Root },
        }
    }

    /// The step of DONE, after the root.
    pub(crate) fn done(&self) -> Step {
        Step { of: StepKind::Done, ..self.next }
    }

    /// Says what this side has to say in that step, and takes what the partner has, however often the connection breaks.
    /// `take` begins anew each time.
    pub(crate) fn exchange<T>(
        &mut self,
        step: Step,
        mine: Vec<u8>,
        take: &mut dyn FnMut(&mut Connection) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        self.next = step;
        #[cfg(test)]
        super::tests::cut(step, super::tests::When::Before, &mut self.channel);
        let mut outcome = self.channel.send(&mine).and_then(|()| self.channel.flush());
        #[cfg(test)]
        super::tests::cut(step, super::tests::When::Said, &mut self.channel);
        self.mine = Some(mine);
        loop {
            let taken = outcome.map_err(SessionError::from).and_then(|()| take(&mut self.channel));
            match taken {
                Err(error) if is_broken(&error) => {
                    self.take_up(&error)?;
                    outcome = Ok(());
                }
                Err(error) => return Err(error),
                Ok(taken) => {
                    self.before = self.mine.take().unwrap_or_default();
                    self.next = step.following();
                    #[cfg(test)]
                    super::tests::cut(step, super::tests::When::Taken, &mut self.channel);
                    return Ok(taken);
                }
            }
        }
    }

    /// Makes the connection again if it has broken.
    pub(crate) fn mend(&mut self) -> Result<(), SessionError> {
        match self.channel.check().map_err(SessionError::from) {
            Err(error) if is_broken(&error) => self.take_up(&error),
            outcome => outcome,
        }
    }

    /// Makes the connection again, and says what the partner lacks. It may break again meanwhile.
    fn take_up(&mut self, broken: &SessionError) -> Result<(), SessionError> {
        loop {
            self.again(broken)?;
            match self.catch_up() {
                Err(error) if is_broken(&error) => {}
                outcome => return outcome,
            }
        }
    }

    /// Makes the connection again. Where that cannot be, it has broken for good.
    fn again(&mut self, broken: &SessionError) -> Result<(), SessionError> {
        if !self.mends {
            return Err(broken.clone());
        }
        let first = self.next.encode(&self.tag);
        let reporter = self.reporter;
        let on_event = &mut |event| match event {
            // That has been told.
            NetEvent::Listening(_) => {}
            event => reporter.net_event(&event),
        };
        match self.links.take_up(&first, &self.options, &mut self.rng, on_event) {
            Ok(Some(channel)) => self.channel = channel,
            Ok(None) => return Err(broken.clone()),
            // Others than the partner came, or were there.
            Err(error) if error.fault() == Fault::Identity => return Err(broken.clone()),
            Err(error) => return Err(PartsError::from(Box::new(error)).into()),
        }
        self.channel.cancel_on(reporter.cancel);
        reporter.taken_up(&self.channel);
        Ok(())
    }

    /// Hears how far the partner is, and says what it lacks.
    fn catch_up(&mut self) -> Result<(), SessionError> {
        let mut bytes = [0; HEADER];
        self.channel.expect_prompt();
        self.channel.recv_exact(&mut bytes)?;
        self.channel.expect_within(None);
        let theirs = Step::decode(&bytes, &self.tag).inspect_err(|_| self.channel.abort())?;
        if self.mine.is_some() && self.next.is_before(theirs) {
            return Ok(());
        }
        if theirs.is_before(self.next) {
            self.channel.send(&self.before)?;
        } else if theirs != self.next {
            self.channel.abort();
            return Err(PartsError::Differ("step of the run").into());
        }
        if let Some(mine) = &self.mine {
            self.channel.send(mine)?;
        }
        Ok(self.channel.flush()?)
    }
}

/// Whether only the connection failed. An abort is the partner's last word.
pub(crate) fn is_broken(error: &SessionError) -> bool {
    let SessionError::Channel(error) = error else { return false };
    matches!(error, ChannelError::Closed | ChannelError::Silent { .. } | ChannelError::Unanswered { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: [u8; 32] = [9; 32];

    fn steps() -> Vec<Step> {
        let of = [StepKind::Round, StepKind::Ended, StepKind::Root, StepKind::Done];
        (0..3).flat_map(|round| of.map(|of| Step { round, of })).collect()
    }

    #[test]
    fn what_takes_up_a_run_round_trips_and_anything_else_is_none() {
        for step in steps() {
            let bytes: [u8; HEADER] = step.encode(&TAG).try_into().unwrap();
            assert_eq!(Step::decode(&bytes, &TAG), Ok(step));
            for at in 0..33 {
                let mut other = bytes;
                other[at] ^= 1;
                assert!(Step::decode(&other, &TAG).is_err(), "{at}");
            }
            for of in 4..=u8::MAX {
                let mut other = bytes;
                other[35] = of;
                assert!(Step::decode(&other, &TAG).is_err(), "{of}");
            }
        }
    }

    #[test]
    fn what_the_partner_has_ended_is_not_taken_up() {
        let silent = ChannelError::Silent { after: Default::default() };
        assert!([ChannelError::Closed, silent].into_iter().all(|error| is_broken(&error.into())));
        let damaged = ChannelError::Damaged { cause: String::new() };
        for error in [ChannelError::PeerAborted, ChannelError::PeerFinished, damaged] {
            assert!(!is_broken(&error.into()));
        }
        assert!(!is_broken(&PartsError::Differ("run in mind").into()));
    }

    #[test]
    fn each_step_comes_right_before_those_that_may_follow_it() {
        let last = |step: &Step| Step { of: StepKind::Root, ..*step };
        for (one, other) in steps().iter().flat_map(|one| steps().into_iter().map(move |other| (*one, other)))
        {
            let follows = one.of != StepKind::Done && other == one.following();
            let ends = one.of == StepKind::Ended && other == last(&one);
            assert_eq!(one.is_before(other), follows || ends, "{one:?} {other:?}");
        }
    }
}
