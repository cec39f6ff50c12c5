//! What both sides agreed on, and the protocol under it.

use std::sync::Arc;

use rand_core::CryptoRng;
use vesica_channel::{Channel, ChannelError};
use vesica_crypto::device::Device;
use vesica_encode::items::{Items, Matches};
use vesica_net::Connection;
use vesica_ot::base::cache::BaseOtCache;
use vesica_protocols::registry::{Entry, Shape};
use vesica_protocols::{
    self as protocols, Attached, Ctx, Learns, MaskWidth, Parameters, Pending, Progress, Role, Run, Sizes,
};

use crate::session::error::{SessionError, partner_gone};
use crate::session::signing::Signing;
use crate::words::auto;
use crate::words::base_ots::BaseOts;
use crate::words::match_numbers;
use crate::words::memory::Budget;
use crate::words::memory_use::side::RunCosts;
use crate::words::parts::{self, Parts, questions};
use crate::words::receipt::Scalar;

/// What computes a party's part of a protocol.
#[derive(Clone)]
pub struct Workers {
    /// Threads that it may keep busy, at least 1.
    pub threads: usize,
    /// A card beside them, if it has one.
    pub device: Device,
}

/// Threads alone.
impl From<usize> for Workers {
    fn from(threads: usize) -> Self {
        Workers { threads, device: Device::default() }
    }
}

/// What both sides agreed on.
#[derive(Clone)]
pub struct Agreed {
    /// The protocol that will run.
    pub protocol: &'static Entry,
    /// Its parameters.
    pub parameters: Parameters,
    /// Why that one.
    pub reason: &'static str,
    /// Both set sizes, after padding.
    pub sizes: Sizes,
    /// B: the parts that the run is split into.
    pub parts: Parts,
    /// Whether they are there for the cores of both sides alone. Such parts are not played again by a side that shows
    /// something, and the run's connection is not made again.
    pub(crate) for_cores: bool,
    /// Who learns the result.
    pub learns: Learns,
    /// Where its base OTs come from, and whether they are kept.
    pub base_ots: BaseOts,
    /// How many parts may be played again within both sides' limits.
    pub(super) repeats: u32,
    pub(super) role: Role,
    pub(super) sid: [u8; 32],
    /// What both sides sign when it has ended, where their keys are known.
    pub(super) signing: Option<Arc<Signing>>,
}

impl Agreed {
    /// What a task of an engine knows of the agreement: enough for an [`attempt`](Self::attempt).
    pub(crate) fn of_task(
        role: Role,
        choice: auto::Choice,
        learns: Learns,
        sizes: Sizes,
        parts: Parts,
    ) -> Self {
        let auto::Choice { protocol, parameters, reason } = choice;
        let (base_ots, sid) = (BaseOts::Unneeded, [0; 32]);
        // A task counts nothing. Its driver does.
        let repeats = u32::MAX;
        let for_cores = false;
        Agreed {
            protocol,
            parameters,
            reason,
            sizes,
            parts,
            for_cores,
            learns,
            base_ots,
            repeats,
            role,
            sid,
            signing: None,
        }
    }

    /// How many attempts beyond the first of each part the run may have, if so many parts are played at once.
    pub(crate) fn allowance(&self, lanes: u16) -> u32 {
        if self.for_cores { 0 } else { questions::allowance(self.parts, lanes).min(self.repeats) }
    }

    /// The most keys of its choice that a receiver can test that cheats, if so many parts are played again; none of
    /// semi-honest runs.
    pub(crate) fn max_tested_keys(&self, repeated: u32) -> Option<u64> {
        let of_part = self.protocol.max_tested_keys_of(&self.shape())?;
        Some(questions::tested(self.parts, of_part, repeated))
    }

    /// The role of this side.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The number of each matching row, in the order of the rows. Both sides give the same key the same number.
    pub fn match_numbers(&self, items: &Items, matches: &Matches) -> Vec<u64> {
        match_numbers::numbers(&self.sid, items, matches)
    }

    /// The sizes of each run of the protocol: M_r and M_s, or those of the sets if there is one part.
    pub(crate) fn played(&self) -> Sizes {
        parts::sizes(self.parts, self.sizes)
    }

    /// The session id. It goes into hashes, and nowhere else.
    pub(crate) fn sid(&self) -> &[u8; 32] {
        &self.sid
    }

    /// What an attempt at a part agrees on, under an id of its own. Nobody signs it: the run is signed as a whole.
    pub(crate) fn attempt(&self, sid: [u8; 32]) -> Self {
        Agreed { sizes: self.played(), parts: Parts::ONE, sid, signing: None, ..*self }
    }

    /// The parameters that both sides have to have alike.
    pub(crate) fn stated_parameters(&self) -> Vec<(&'static str, Scalar)> {
        let Parameters { level, sigma, variant, paper, audit_max, .. } = self.parameters;
        let number = |number: u32| Scalar::Number(number.into());
        let mask_bits = MaskWidth::for_run(self.played(), &self.parameters).ok();
        let all = [
            ("mask_bits", mask_bits.map(|width| number(width.bits()))),
            ("level", Some(number(level))),
            ("sigma", sigma.map(number)),
            ("variant", variant.map(|variant| Scalar::Name(variant.name.to_owned()))),
            ("paper_parameters", paper.then_some(Scalar::Flag(true))),
            ("audit_max", audit_max.map(Scalar::Number)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// What the costs of the run depend on, or of each part.
    pub(crate) fn shape(&self) -> Shape {
        let (parameters, learns) = (self.parameters, self.learns);
        Shape { sizes: self.played(), parameters, learns, matches: 0, kept_base_ots: false }
    }

    /// The most bytes of memory that the protocol takes on the side of that role. A receiver keeps of each part what its
    /// matches are found from until the run ends, so that it counts the whole sets.
    pub fn memory_bound(&self, role: Role) -> u64 {
        RunCosts::of(self.protocol, &self.shape(), (role, self.sizes), self.parts).whole
    }

    /// What it takes of this side's memory.
    pub(crate) fn costs(&self) -> RunCosts {
        RunCosts::of(self.protocol, &self.shape(), (self.role, self.sizes), self.parts)
    }

    /// Compares the memory that the run may take here, `needed`, with the budget. If it is too much, this side declines the run
    /// before the first message of the protocol.
    pub fn check_memory(
        &self,
        needed: u64,
        budget: Option<Budget>,
        channel: &mut Connection,
    ) -> Result<(), SessionError> {
        match budget {
            Some(budget) if !budget.allows(needed) => {
                channel.decline();
                Err(SessionError::TooLarge { needed, budget })
            }
            _ => Ok(()),
        }
    }

    /// The error of a run. The partner declines a run for which it has not enough memory.
    pub(crate) fn failed(&self, error: impl Into<SessionError>, channel: &Connection) -> SessionError {
        match error.into() {
            SessionError::Channel(ChannelError::PeerFinished)
            | SessionError::Protocol(protocols::Error::Channel(ChannelError::PeerFinished))
                if channel.was_declined() =>
            {
                SessionError::TooLargeForPartner { needed: self.memory_bound(self.role.other()) }
            }
            error => error,
        }
    }

    /// The name of base OTs that are made in this session. It does not reveal the session id.
    pub fn base_ots_id(&self) -> [u8; 32] {
        blake3::derive_key("vesica kept base OTs id v1", &self.sid)
    }

    /// The name of the run in both sides' reports. It does not reveal the session id, and neither side can choose it.
    pub fn public_id(&self) -> String {
        blake3::Hash::from_bytes(blake3::derive_key("vesica run name v1", &self.sid)).to_hex().to_string()
    }

    /// The name of the run for a helper. It does not reveal the session id, nor the run's name in the reports.
    pub(crate) fn helper_id(&self) -> [u8; 32] {
        blake3::derive_key("vesica run name for a helper v1", &self.sid)
    }

    /// Runs the protocol up to its last message. What is pending are my matches, where I learn them: for
    /// [`confirm`](Self::confirm). `cache` is for [`base_ots`](Self::base_ots) that are kept, or to be kept.
    pub fn run<'a>(
        &self,
        items: &'a Items,
        channel: &mut Connection,
        workers: impl Into<Workers>,
        progress: &'a dyn Progress,
        cache: Option<&'a BaseOtCache>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<Pending<'a>>, SessionError> {
        self.run_helped((items, Attached::Nothing), (channel, None), workers, progress, cache, rng)
    }

    /// Runs the protocol with what a sender attaches to its items, and with a connection to a helper that has [joined](super::helper::join),
    /// which [`confirm_helper`](super::confirm_helper) is for.
    pub fn run_helped<'a>(
        &self,
        (items, attached): (&'a Items, Attached<'a>),
        (channel, mut helper): (&mut Connection, Option<&mut Connection>),
        workers: impl Into<Workers>,
        progress: &'a dyn Progress,
        base_ots: Option<&'a BaseOtCache>,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<Pending<'a>>, SessionError> {
        let run = self.protocol.run(&self.sid, self.sizes, self.parameters);
        let Workers { threads, device } = workers.into();
        let run = Run { learns: self.learns, threads, device, progress, base_ots, attached, ..run };
        let mut ctx = Ctx::new(&run, &mut *channel, rng);
        ctx.helper = helper.as_mut().map(|helper| &mut **helper as &mut dyn Channel);
        let pending = match self.role {
            Role::Receiver => self.protocol.receive(&mut ctx, items).map(Some),
            Role::Sender => self.protocol.send(&mut ctx, items).map(|outcome| outcome.map(Pending::found)),
        };
        let pending = match pending {
            Ok(pending) => pending,
            // Both sides know it, and confirm what they saw before they say so.
            Err(refused) if refused.is_agreed_refusal() => Some(Pending::new(|| Err(refused))),
            Err(error) => {
                let gone = partner_gone(&error, channel);
                // One fixed ABORT, the same for every check.
                channel.abort();
                helper.into_iter().for_each(|helper| helper.abort());
                return Err(gone.map_or_else(|| self.failed(error, channel), SessionError::from));
            }
        };
        channel.flush()?;
        Ok(pending)
    }
}
