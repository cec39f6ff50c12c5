//! The side that has Δ and gets B. Each of its states is consumed by the step that leads to the next.
//!
//! ```text
//! Opened ── prepare (flight 2, its beginning) ──► Prepared
//! Prepared ── respond (the rest) ──► Answered<SemiHonest> ── accept ───────────► Checked ── expand ──► Δ, B
//!                                    Answered<Malicious>  ── reply (flight 4) ──►
//! ```

use core::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use rand_core::CryptoRng;
use vesica_crypto::block::Block;
use vesica_crypto::gf128::Gf128;
use vesica_crypto::hash::{Context, Label};
use vesica_crypto::memory::{Wiped, wipe};
use vesica_crypto::prg::Prg;
use vesica_crypto::transpose::ROWS;
use vesica_crypto::weighted_xor_sum::BLOCKS;
use zeroize::Zeroizing;

use super::check::{self, Coefficients};
use super::codes::{Code, Intake};
use super::multi_point::{Full, MultiPointPprf};
use super::pieces::{compressed, compressed_kept, compressed_last, grown};
use super::plan::{AnyCode, Plan, WIDTH};
use super::value::{Covers, Value};
use crate::base::key_agreement::Receiver as BaseReceiver;
use crate::base::{KeyAgreement, chosen_blocks};
use crate::cot::CotSender;
use crate::error::Error;
use crate::security::{Malicious, Security, SecurityModel, SemiHonest};
use crate::small_field;
use crate::softspoken::{self, Choices};

/// The label of the base OTs, on both sides.
pub(super) const BASE: Label = Label::new("vole: base OT");

/// The sender after flight 1: it has drawn Δ.
pub struct Opened {
    context: Context,
    delta: Zeroizing<Block>,
    base: BaseReceiver,
    base_bytes: usize,
}

impl Opened {
    /// Draws Δ, and begins base OTs from this key agreement. Flight 1 is for
    /// [`receiver::Begun::new`](super::receiver::Begun::new).
    #[must_use]
    pub fn new(context: &Context, agreement: KeyAgreement, rng: &mut dyn CryptoRng) -> (Self, Vec<u8>) {
        Self::with_delta(context, agreement, Block::random(rng), rng)
    }

    /// Begins with this Δ.
    pub(super) fn with_delta(
        context: &Context,
        agreement: KeyAgreement,
        delta: Block,
        rng: &mut dyn CryptoRng,
    ) -> (Self, Vec<u8>) {
        let (base, flight1) = BaseReceiver::new(agreement, context, BASE, delta.as_bytes(), ROWS, rng);
        let base_bytes = Plan::base_bytes(agreement);
        (Self { context: context.clone(), delta: Zeroizing::new(delta), base, base_bytes }, flight1)
    }

    /// Takes the beginning of flight 2, and expands the strings of the extension, or the first two megabytes of them,
    /// while the receiver makes the rest.
    ///
    /// # Errors
    /// If the part of the base OTs that it begins with is cut or not valid. Trees that are not what they must be end
    /// the run in [`respond`](Prepared::respond), as wrong corrections do: how much of flight 2 was read does not
    /// tell which check has failed.
    pub fn prepare<V: Value, S: Covers<V>>(
        self,
        plan: &Plan,
        beginning: &[u8],
    ) -> Result<Prepared<S>, Error> {
        self.with_base(beginning, |context, secrets, trees| {
            let mut extension = softspoken::Sender::new(context, WIDTH, secrets.delta, secrets.base, trees);
            if let Ok(extension) = &mut extension {
                extension.expand_ahead(plan.tiles::<V>(S::SECURITY).min(AHEAD));
            }
            Ok(Prepared { context: context.clone(), extension })
        })
    }

    /// What is made of the context, Δ with the strings that it chose, and what follows the receiver's part of the base
    /// OTs.
    pub(super) fn with_base<T>(
        self,
        message: &[u8],
        make: impl FnOnce(&Context, &Secrets<'_>, &[u8]) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let wrong = Error::MessageLength { what: "base OT of a VOLE" };
        let (answer, rest) = message.split_at_checked(self.base_bytes).ok_or(wrong)?;
        let base = chosen_blocks(&self.base.finish(answer)?)?;
        make(&self.context, &Secrets { delta: *self.delta, base: &base }, rest)
    }
}

/// The most tiles that are expanded before the corrections have come.
const AHEAD: usize = 128;

/// The sender after the beginning of flight 2.
pub struct Prepared<S> {
    context: Context,
    /// Or what is wrong with its trees.
    extension: Result<softspoken::Sender<S>, Error>,
}

impl<S: SecurityModel> Prepared<S> {
    /// Takes the corrections, which are the rest of flight 2, and returns flight 3.
    ///
    /// # Errors
    /// If flight 2 is not what it must be or, in malicious runs, fails a check.
    pub fn respond<V: Value>(
        self,
        plan: &Plan,
        corrections: &[u8],
        rng: &mut dyn CryptoRng,
    ) -> Result<(Answered<S>, Vec<u8>), Error>
    where
        S: Covers<V>,
    {
        Answered::over::<V>(&self.context, plan, self.extension?, corrections, rng)
    }
}

/// What the sender has of the base OTs.
pub struct Secrets<'a> {
    /// Δ.
    pub delta: Block,
    /// The strings of 128 base OTs whose choices were the bits of Δ.
    pub base: &'a [Block; ROWS],
}

/// The sender after flight 3.
pub struct Answered<S> {
    pub(super) grown: Grown,
    /// The sender's share of the VOLE that the check uses up.
    spare: Wiped<Block>,
    security: PhantomData<S>,
}

/// A sender whose partner's check is behind it, or who has nothing to check: it may expand.
pub struct Checked(Grown);

/// What the sender has grown.
pub(super) struct Grown {
    plan: Plan,
    context: Context,
    delta: Zeroizing<Block>,
    pub(super) vector: Vector,
}

/// B, or what it will be made of.
pub(super) enum Vector {
    /// The outputs.
    Outputs(Wiped<Block>),
    /// What the code has taken in of the only piece.
    Taken(Box<AnyCode>, Wiped<Block>),
    /// In malicious runs the noise of each of several pieces until it is compressed.
    Noise(Box<AnyCode>, Vec<Wiped<Block>>),
}

/// What the sender ends with.
pub struct Expanded {
    /// Δ.
    pub delta: Zeroizing<Block>,
    /// B.
    pub b: Wiped<Block>,
}

impl<S: SecurityModel> Answered<S> {
    /// Grows the trees, from base OTs that are there already; `corrections` are those of
    /// [`receiver::Answered::new`](super::receiver::Answered::new) over the same values. Flight 3 is returned
    /// beside it.
    ///
    /// # Errors
    /// If the corrections have another length than they must or, in malicious runs, fail a check.
    pub fn new<V: Value>(
        context: &Context,
        plan: &Plan,
        secrets: &Secrets<'_>,
        corrections: &[u8],
        rng: &mut dyn CryptoRng,
    ) -> Result<(Self, Vec<u8>), Error>
    where
        S: Covers<V>,
    {
        let (extension, corrections) = extension(context, secrets, corrections)?;
        Self::over(context, plan, extension, corrections, rng)
    }

    /// Grows the trees over an extension that has been set up.
    fn over<V: Value>(
        context: &Context,
        plan: &Plan,
        mut extension: softspoken::Sender<S>,
        corrections: &[u8],
        rng: &mut dyn CryptoRng,
    ) -> Result<(Self, Vec<u8>), Error>
    where
        S: Covers<V>,
    {
        let Correlations { offsets, gammas, spare } =
            Correlations::new::<V, S>(plan, &mut extension, corrections)?;
        let [delta] = extension.delta();
        // The trees take memory.
        drop(extension);
        let (vector, flight3) = if plan.pieces() == 0 {
            (Vector::Outputs(gammas), Vec::new())
        } else {
            let mut prg = Prg::from_rng(rng);
            let roots: Wiped<Block> =
                (0..plan.pieces() * plan.weight()).map(|_| prg.block()).collect::<Vec<_>>().into();
            let pprf = MultiPointPprf::new(context);
            let code = plan.code(context);
            Grower { plan, pprf, delta, offsets: &offsets, gammas: &gammas, roots: &roots }.all::<S>(code)
        };
        let delta = Zeroizing::new(delta);
        let grown = Grown { plan: plan.clone(), context: context.clone(), delta, vector };
        Ok((Self { grown, spare, security: PhantomData }, flight3))
    }
}

impl Answered<SemiHonest> {
    /// Semi-honest parties check nothing.
    #[must_use]
    pub fn accept(self) -> Checked {
        Checked(self.grown)
    }
}

impl Answered<Malicious> {
    /// Takes flight 4, the receiver's challenge, and returns flight 5, the reply.
    ///
    /// # Errors
    /// If the challenge has another length than it must.
    pub fn reply(self, flight4: &[u8]) -> Result<(Checked, Vec<u8>), Error> {
        let Grown { plan, context, delta, vector } = &self.grown;
        if flight4.len() != plan.flight4_bytes(Security::Malicious) {
            return Err(Error::MessageLength { what: "challenge of the check of a VOLE" });
        }
        let mut reply = Vec::new();
        if let ([seed, hidden], Some(share)) = (flight4.as_chunks::<16>().0, self.spare.first()) {
            let (seed, hidden) = (Block::from_bytes(*seed), Gf128::from(Block::from_bytes(*hidden)));
            let mut sum = Gf128::from(*share) + Gf128::from(**delta) * hidden;
            let mut add = |coefficients: &mut Coefficients, noise: &[Block]| {
                sum += coefficients.next(noise.len()).sum(noise);
            };
            match vector {
                Vector::Outputs(_) => (),
                Vector::Taken(code, room) => {
                    let mut coefficients = Coefficients::new(plan, seed, 0);
                    let lengths = plan.blocks().map(|block| block.len());
                    code.taken(room, lengths, |noise| add(&mut coefficients, noise));
                }
                Vector::Noise(_, pieces) => {
                    for (piece, noise) in pieces.iter().enumerate() {
                        let mut coefficients = Coefficients::new(plan, seed, piece);
                        plan.blocks().for_each(|block| add(&mut coefficients, &noise[block]));
                    }
                }
            }
            reply.extend_from_slice(&check::hash(context, sum.to_block()));
        }
        Ok((Checked(self.grown), reply))
    }
}

impl Checked {
    /// B.
    #[must_use]
    pub fn expand(self) -> Expanded {
        let Grown { plan, delta, vector, .. } = self.0;
        let b = match vector {
            Vector::Outputs(outputs) => outputs,
            Vector::Taken(code, taken) => {
                compressed_last(&plan, &code, [taken.into_vec(), Vec::new()], |_, _, _| {}).into()
            }
            Vector::Noise(code, noise) => compressed_kept(&plan, &code, noise).into(),
        };
        Expanded { delta, b }
    }
}

/// The extension, by the trees that the receiver's message begins with; the corrections are the rest.
pub(super) fn extension<'a, S: SecurityModel>(
    context: &Context,
    secrets: &Secrets<'_>,
    message: &'a [u8],
) -> Result<(softspoken::Sender<S>, &'a [u8]), Error> {
    let wrong = Error::MessageLength { what: "corrections of a VOLE" };
    let trees = small_field::message_bytes(WIDTH, S::SECURITY);
    let (trees, corrections) = message.split_at_checked(trees).ok_or(wrong)?;
    Ok((softspoken::Sender::new(context, WIDTH, secrets.delta, secrets.base, trees)?, corrections))
}

/// The sender's side of what the trees are made of.
pub(super) struct Correlations {
    /// q of the correlated OTs.
    pub(super) offsets: Wiped<[Block; 1]>,
    /// γ of each noise value, or of each output.
    pub(super) gammas: Wiped<Block>,
    pub(super) spare: Wiped<Block>,
}

impl Correlations {
    /// From the receiver's corrections, held to their length and, in malicious runs, its checks.
    pub(super) fn new<V: Value, S: SecurityModel>(
        plan: &Plan,
        field: &mut softspoken::Sender<S>,
        mut corrections: &[u8],
    ) -> Result<Self, Error> {
        let security = S::SECURITY;
        if corrections.len() != plan.rest_bytes::<V>(security) {
            return Err(Error::MessageLength { what: "corrections of a VOLE" });
        }
        let mut offsets = Wiped::from(vec![[Block::ZERO]; plan.choices()]);
        field.extend_from(Choices::Chosen, &mut offsets, |bytes| {
            let (now, later) = corrections.split_at(bytes.len());
            bytes.copy_from_slice(now);
            corrections = later;
            Ok(())
        })?;
        let gammas = gammas::<V, S>(plan, field, &mut corrections)?;
        let spare = draw::<Block, S>(plan.spare(security), field, &mut corrections)?;
        Ok(Self { offsets, gammas, spare })
    }
}

/// γ of each value; Δ where there is but one value, whose VOLE is γ = Δ, δ = 0.
fn gammas<V: Value, S: SecurityModel>(
    plan: &Plan,
    field: &mut softspoken::Sender<S>,
    corrections: &mut &[u8],
) -> Result<Wiped<Block>, Error> {
    if plan.pieces() > 0 && V::ONLY.is_some() {
        return Ok(vec![field.delta()[0]; plan.values()].into());
    }
    let mut gammas = draw::<V, S>(plan.blocks_of_columns::<V>(), field, corrections)?;
    gammas.truncate(plan.values());
    Ok(gammas)
}

/// The sender's shares of random values times Δ, from so many blocks of columns.
fn draw<V: Value, S: SecurityModel>(
    mut left: usize,
    field: &mut softspoken::Sender<S>,
    corrections: &mut &[u8],
) -> Result<Wiped<Block>, Error> {
    // Room for all of them: what grows leaves copies behind.
    let mut shares = Wiped::from(Vec::with_capacity(left * Block::BITS / V::COLUMNS));
    while left > 0 {
        let count = left.min(field.chunk_blocks());
        let (now, later) = corrections.split_at(field.chunk_bytes(count, Choices::Random));
        for (i, tile) in
            field.chunk(count, Choices::Random, now)?.iter().take(count.div_ceil(BLOCKS)).enumerate()
        {
            V::correlations(tile, &[], (count - i * BLOCKS).min(BLOCKS), &mut Vec::new(), &mut shares);
        }
        (*corrections, left) = (later, left - count);
    }
    Ok(shares)
}

/// What the trees of a run are grown from.
pub(super) struct Grower<'a> {
    pub(super) plan: &'a Plan,
    pub(super) pprf: MultiPointPprf,
    pub(super) delta: Block,
    pub(super) offsets: &'a [[Block; 1]],
    pub(super) gammas: &'a [Block],
    pub(super) roots: &'a [Block],
}

impl Grower<'_> {
    /// The leaves of all trees, and flight 3. The pieces of a long vector are compressed at once, since
    /// nothing checks their noise in a semi-honest run; of one piece flight 3 should be on its way first.
    fn all<S: SecurityModel>(&self, code: AnyCode) -> (Vector, Vec<u8>) {
        let plan = self.plan;
        let each = plan.flight3_bytes() / Block::BYTES / plan.pieces();
        let mut correction_words = vec![Block::ZERO; each * plan.pieces()];
        let vector = if plan.pieces() == 1 {
            let mut taken = Vec::new();
            self.piece(plan.threads(), 0, &mut correction_words, &mut code.intake(&mut taken));
            Vector::Taken(Box::new(code), taken.into())
        } else if S::SECURITY == Security::Malicious {
            let of_piece = |(piece, words): (usize, &mut [Block])| {
                let mut noise = Vec::new();
                self.piece(plan.threads(), piece, words, &mut Intake::whole(&mut noise, plan.noise()));
                noise.into()
            };
            let noise = correction_words.chunks_mut(each).enumerate().map(of_piece).collect();
            Vector::Noise(Box::new(code), noise)
        } else {
            let slots: Vec<Mutex<&mut [Block]>> = correction_words.chunks_mut(each).map(Mutex::new).collect();
            let mut room = Default::default();
            let outputs = compressed(plan, &code, &mut room, |threads, piece, [room, _]| {
                let mut words = slots[piece].lock().unwrap_or_else(PoisonError::into_inner);
                self.piece(threads, piece, &mut words, &mut code.intake(room));
            });
            room.iter_mut().for_each(wipe);
            Vector::Outputs(outputs.into())
        };
        (vector, Block::slice_as_bytes(&correction_words).to_vec())
    }

    /// Takes in the leaves of the trees of a piece, and makes its correction words.
    pub(super) fn piece(
        &self,
        threads: usize,
        piece: usize,
        words: &mut [Block],
        intake: &mut Intake<'_, Block>,
    ) {
        let mut rest = words;
        let slots = self.plan.trees(piece).map(|tree| {
            let (own, others) = core::mem::take(&mut rest).split_at_mut(tree.correction_words.len());
            rest = others;
            own
        });
        grown(
            self.plan,
            threads,
            piece,
            slots,
            |leaves| intake.push(leaves),
            |tree, words, leaves| {
                let full = Full {
                    index: tree.choices.start as u64,
                    offsets: &self.offsets[tree.choices.clone()],
                    delta: self.delta,
                    root: self.roots[tree.number],
                    gamma: self.gammas[tree.number],
                };
                let mut made = Vec::with_capacity(words.len());
                self.pprf.grow(&full, leaves, &mut made);
                words.copy_from_slice(&made);
            },
        );
    }
}
