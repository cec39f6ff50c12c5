//! A protocol's entry in the registry: what it is, what it costs, its two roles, and what stands around every
//! role.

use vesica_crypto::device::Device;
use vesica_crypto::hash::Context;
use vesica_encode::items::Items;

use crate::attached::Attached;
pub(crate) use crate::cost::POSITIONS;
pub use crate::cost::{Gates, Memory, Message, Power, Shape};
use crate::error::{Error, Misuse};
use crate::outcome::{Outcome, Pairs, Pending};
use crate::parameters::{Parameters, Profile, Security, Supported, Variant};
use crate::positions;
use crate::protocol::{Ctx, HelperCtx, Learns, NoProgress, Participant, Role, Run, Sizes, Step};
use crate::results::ResultName;

/// Whether a protocol may be taken without being asked for by name, or at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// Secure as its entry says.
    Standard,
    /// Protects nothing; runs only with `--allow-insecure`.
    Insecure,
    /// Broken since it was published; runs only with `--allow-insecure`.
    Broken,
}

impl Status {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Status::Standard => "standard",
            Status::Insecure => "insecure",
            Status::Broken => "broken",
        }
    }
}

/// The gates as a formula and as a program.
type GateFormula = (&'static str, fn(&Shape) -> Gates);

/// The receiver's role in a protocol that ends with a result of its own kind.
pub type Receive = for<'a> fn(&mut Ctx<'_, 'a>, &'a Items) -> Result<Pending<'a>, Error>;

/// The sender's role in such a protocol; it has a result where the run was agreed for both to learn one.
pub type Send = fn(&mut Ctx<'_, '_>, &Items) -> Result<Option<Outcome>, Error>;

/// The receiver's role in a protocol whose sender sends a list.
pub type ReceivePairs = for<'a> fn(&mut Ctx<'_, 'a>, &'a Items) -> Result<Pairs<'a>, Error>;

/// The sender's role in such a protocol: which of its items stands at each position of its list. The answer
/// may be empty where the receiver alone learns the result.
pub type SendList = fn(&mut Ctx<'_, '_>, &Items) -> Result<Vec<u32>, Error>;

/// The helper's role in a protocol that has one. It ends with what the helper learns: the size of the
/// intersection.
pub type Assist = fn(&mut HelperCtx<'_, '_>) -> Result<u64, Error>;

/// The helper of a protocol.
#[derive(Debug, Clone, Copy)]
struct Helper {
    assist: Assist,
    memory_bytes: fn(&Shape) -> u64,
}

/// The two roles of a protocol.
#[derive(Debug, Clone, Copy)]
pub enum Roles {
    /// The receiver finds its items in a list of the sender's. Under `--learns both` it returns the
    /// positions, which [`Entry`] does.
    Listed {
        /// Receiver.
        receive: ReceivePairs,
        /// Sender.
        send: SendList,
    },
    /// The roles themselves say what either party learns.
    Whole {
        /// Receiver.
        receive: Receive,
        /// Sender.
        send: Send,
    },
}

/// What of a protocol a card computes, where a party has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnCard {
    /// Nothing.
    Nothing,
    /// The products of the group: most of the protocol's time.
    Group,
    /// Positions in Bloom filters: little of the protocol's time.
    Positions,
}

/// A protocol: what it is, what it costs, and its two roles.
///
/// An entry is built from what is particular to the protocol. Unless it says more, a protocol is semi-honest,
/// has one form, gives the receiver the intersection, leaks the sizes of both sets, and makes no base OTs
/// that could be kept.
#[derive(Clone, Copy)]
pub struct Entry {
    /// The name on the command line.
    pub name: &'static str,
    /// What it is, in a few words.
    pub title: &'static str,
    /// The folder it lives in.
    pub family: &'static str,
    /// Paper and section.
    pub paper: &'static str,
    /// The security models it is offered in.
    pub security: &'static [Security],
    /// The parameters it can be run with.
    pub supports: Supported,
    /// Whether it may be used freely.
    pub status: Status,
    /// Whether it has a path by which the sender learns the result too.
    pub learns_both: bool,
    /// Who learns what.
    pub learns: &'static str,
    /// What else is seen.
    pub leakage: &'static str,
    /// The memory formula, in bytes.
    pub memory: &'static str,
    /// Set size of the test that runs every protocol.
    pub test_items: usize,
    /// What of it a card computes.
    pub on_card: OnCard,
    /// The two roles.
    pub roles: Roles,
    flights: fn(&Shape) -> u32,
    steps: fn(Role, &Shape) -> &'static [Step],
    base_ots: Option<fn(&Shape) -> u64>,
    messages: &'static [Message],
    memory_bytes: fn(&Shape) -> Memory,
    at_most: fn(&Shape) -> bool,
    gates: Option<GateFormula>,
    powers: Option<fn(&Shape) -> Power>,
    max_tested_keys: Option<fn(&Shape) -> u64>,
    tests_by_search: bool,
    runs_on_empty_sets: bool,
    helper: Option<Helper>,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The builder.
impl Entry {
    /// A protocol of this name and title.
    pub const fn new(name: &'static str, title: &'static str, roles: Roles) -> Self {
        Entry {
            name,
            title,
            family: "",
            paper: "",
            security: &[Security::SemiHonest],
            supports: Supported::STANDARD,
            status: Status::Standard,
            learns_both: matches!(roles, Roles::Listed { .. }),
            learns: "receiver: the intersection",
            leakage: "the sizes of both sets",
            memory: "",
            test_items: 1 << 10,
            on_card: OnCard::Nothing,
            roles,
            flights: |_| 0,
            steps: |_, _| &[],
            base_ots: None,
            messages: &[],
            memory_bytes: |_| Memory { receiver: 0, sender: 0 },
            at_most: |_| false,
            gates: None,
            powers: None,
            max_tested_keys: None,
            tests_by_search: false,
            runs_on_empty_sets: false,
            helper: None,
        }
    }

    /// The folder it lives in.
    pub const fn family(self, family: &'static str) -> Self {
        Entry { family, ..self }
    }

    /// Paper and section.
    pub const fn paper(self, paper: &'static str) -> Self {
        Entry { paper, ..self }
    }

    /// The security models it is offered in, where they are not semi-honest parties alone.
    pub const fn security(self, security: &'static [Security]) -> Self {
        Entry { security, ..self }
    }

    /// It protects nothing, or was broken.
    pub const fn status(self, status: Status) -> Self {
        Entry { status, ..self }
    }

    /// Who learns what, and what else is seen.
    pub const fn learns(self, learns: &'static str, leakage: &'static str) -> Self {
        Entry { learns, leakage, ..self }
    }

    /// It has a path of its own by which the sender learns the result too.
    pub const fn learns_both(self) -> Self {
        Entry { learns_both: true, ..self }
    }

    /// The levels κ.
    pub const fn levels(self, levels: &'static [u32]) -> Self {
        Entry { supports: Supported { levels, ..self.supports }, ..self }
    }

    /// It takes native items of so many bits.
    pub const fn sigma(self, least: u32, most: u32) -> Self {
        Entry { supports: Supported { sigma: Some((least, most)), ..self.supports }, ..self }
    }

    /// It takes native items alone, of so many bits.
    pub const fn native_only(self, least: u32, most: u32) -> Self {
        Entry { supports: Supported { sigma: Some((least, most)), digests: false, ..self.supports }, ..self }
    }

    /// It can refuse to reveal an intersection that is larger than was agreed (`--audit-max`).
    pub const fn audited(self) -> Self {
        Entry { supports: Supported { audit: true, ..self.supports }, ..self }
    }

    /// The results it gives, where they are not rows alone.
    pub const fn results(self, results: &'static [ResultName]) -> Self {
        Entry { supports: Supported { results, ..self.supports }, ..self }
    }

    /// It evaluates a circuit of so many gates, as a formula and as a program.
    pub const fn gates(self, formula: &'static str, gates: fn(&Shape) -> Gates) -> Self {
        Entry { gates: Some((formula, gates)), ..self }
    }

    /// Most of what it computes are such powers, a few for each item.
    pub const fn powers(self, powers: fn(&Shape) -> Power) -> Self {
        Entry { powers: Some(powers), ..self }
    }

    /// The forms beside the standard one.
    pub const fn variants(self, variants: &'static [Variant]) -> Self {
        Entry { supports: Supported { variants, ..self.supports }, ..self }
    }

    /// Those of the forms in which the receiver alone learns the result, at the default level and without an audit.
    pub const fn receiver_only(self, receiver_only: &'static [Variant]) -> Self {
        Entry { supports: Supported { receiver_only, ..self.supports }, ..self }
    }

    /// The profiles.
    pub const fn profiles(self, profiles: &'static [Profile]) -> Self {
        Entry { supports: Supported { profiles, ..self.supports }, ..self }
    }

    /// It has the paper's own parameters as a switch.
    pub const fn paper_parameters(self) -> Self {
        Entry { supports: Supported { paper: true, ..self.supports }, ..self }
    }

    /// The longest chain of messages of a run that wait for each other, up to the receiver's last; two
    /// flights make a round trip. Messages that cross on their way count once.
    pub const fn flights(self, flights: fn(&Shape) -> u32) -> Self {
        Entry { flights, ..self }
    }

    /// The phases that a role goes through, in order, with their rough shares of the time in percent.
    pub const fn steps(self, steps: fn(Role, &Shape) -> &'static [Step]) -> Self {
        Entry { steps, ..self }
    }

    /// How many base OTs of a run the two parties may keep for their next one; see
    /// [`vesica_ot::base::cache`].
    pub const fn base_ots(self, count: fn(&Shape) -> u64) -> Self {
        Entry { base_ots: Some(count), ..self.makes_base_ots() }
    }

    /// It makes base OTs, of which none may be kept.
    pub const fn makes_base_ots(self) -> Self {
        Entry { supports: Supported { base_ots: true, ..self.supports }, ..self }
    }

    /// Its messages, in the order in which each party sends its own; those of `positions` apart in a listed
    /// protocol.
    pub const fn messages(self, messages: &'static [Message]) -> Self {
        Entry { messages, ..self }
    }

    /// The bytes that it adds to the items at its peak, as a formula and as a program.
    pub const fn memory(self, memory: &'static str, memory_bytes: fn(&Shape) -> Memory) -> Self {
        Entry { memory, memory_bytes, ..self }
    }

    /// In a malicious run: the most keys of its choice that a receiver can test against the sender's set;
    /// more with probability at most 2^-40. What a limit on the receiver's size is worth.
    pub const fn max_tested_keys(self, most: fn(&Shape) -> u64) -> Self {
        Entry { max_tested_keys: Some(most), ..self }
    }

    /// As [`max_tested_keys`](Self::max_tested_keys), of a receiver that tries at most 2^64 keys on its own to
    /// find those that fit together: a hash evaluation or more each.
    pub const fn max_tested_keys_by_search(self, most: fn(&Shape) -> u64) -> Self {
        Entry { tests_by_search: true, ..self.max_tested_keys(most) }
    }

    /// It runs, and sends its messages, where a set is empty too.
    pub const fn runs_on_empty_sets(self) -> Self {
        Entry { runs_on_empty_sets: true, ..self }
    }

    /// In a run of such a shape, its formulas of bytes and gates are upper bounds: how much is sent depends on
    /// chance.
    pub const fn at_most(self, at_most: fn(&Shape) -> bool) -> Self {
        Entry { at_most, ..self }
    }

    /// It has a helper: a third process, with this role, and with so many bytes of memory at its peak.
    pub const fn helper(self, assist: Assist, memory_bytes: fn(&Shape) -> u64) -> Self {
        Entry { helper: Some(Helper { assist, memory_bytes }), ..self }
    }

    /// What of it a card computes.
    pub const fn on_card(self, on_card: OnCard) -> Self {
        Entry { on_card, ..self }
    }

    /// The set size of the test that runs every protocol, where 2^10 is not right.
    pub const fn test_items(self, test_items: usize) -> Self {
        Entry { test_items, ..self }
    }
}

/// What a run costs.
impl Entry {
    /// Whether the roles are run at all: where a set is empty, the result is known without them.
    pub fn takes_place(&self, sizes: Sizes) -> bool {
        self.runs_on_empty_sets || (sizes.receiver > 0 && sizes.sender > 0)
    }

    /// Whether the sender can learn the result too in a run with these parameters.
    pub fn learns_both_with(&self, parameters: &Parameters) -> bool {
        self.learns_both && !self.supports.is_receiver_only(parameters)
    }

    /// The message around a listed protocol: the positions of the matches.
    fn positions(&self) -> Option<&'static Message> {
        matches!(self.roles, Roles::Listed { .. }).then_some(&POSITIONS)
    }

    /// Its messages, in the order in which each party sends its own.
    pub fn all_messages(&self) -> impl Iterator<Item = &'static Message> {
        self.messages.iter().chain(self.positions())
    }

    /// The messages of a run of this shape with their bytes, 0 where one is not sent.
    pub fn sent(&self, shape: &Shape) -> impl Iterator<Item = (&'static Message, u64)> {
        let runs = self.takes_place(shape.sizes);
        let own = move |message: &'static Message| (message, if runs { (message.bytes)(shape) } else { 0 });
        let around = move |message: &'static Message| (message, (message.bytes)(shape));
        self.messages.iter().map(own).chain(self.positions().map(around))
    }

    /// DATA payload that `from` sends in a run of this shape, to the other party and to a helper.
    pub fn bytes(&self, from: impl Into<Participant>, shape: &Shape) -> u64 {
        let from = from.into();
        self.sent(shape).filter(|(message, _)| message.from == from).map(|(_, bytes)| bytes).sum()
    }

    /// DATA payload that comes to `to` in a run of this shape.
    pub fn bytes_to(&self, to: impl Into<Participant>, shape: &Shape) -> u64 {
        let to = to.into();
        self.sent(shape).filter(|(message, _)| message.to == to).map(|(_, bytes)| bytes).sum()
    }

    /// DATA payload of all participants.
    pub fn total_bytes(&self, shape: &Shape) -> u64 {
        self.sent(shape).map(|(_, bytes)| bytes).sum()
    }

    /// The flights of a run of this shape; see [`Entry::flights`].
    pub fn flights_of(&self, shape: &Shape) -> u32 {
        if self.takes_place(shape.sizes) { (self.flights)(shape) } else { 0 }
    }

    /// The flights of a run on 2^20 keys a side with the usual parameters, at each security that the protocol
    /// offers.
    pub fn usual_flights(&self) -> impl Iterator<Item = (Security, u32)> + '_ {
        self.security.iter().map(|&security| {
            let parameters = Parameters { security, ..Parameters::default() };
            let sizes = Sizes { receiver: 1 << 20, sender: 1 << 20 };
            (security, self.flights_of(&Shape { parameters, ..Shape::new(sizes) }))
        })
    }

    /// The phases of a role, in order, unless a set is empty. Their shares serve the time left on the screen
    /// alone.
    pub fn steps_of(&self, role: Role, shape: &Shape) -> &'static [Step] {
        (self.steps)(role, shape)
    }

    /// Whether it has runs whose base OTs may be kept.
    pub fn keeps_base_ots(&self) -> bool {
        self.base_ots.is_some()
    }

    /// The base OTs of a run that may be kept; 0 where it has none, or none that may be used again.
    pub fn kept_base_ots(&self, shape: &Shape) -> u64 {
        let may = self.takes_place(shape.sizes) && shape.parameters.may_keep_base_ots();
        self.base_ots.filter(|_| may).map_or(0, |count| count(shape))
    }

    /// Bytes that a run adds to the items at its peak.
    pub fn memory_of(&self, shape: &Shape) -> Memory {
        if self.takes_place(shape.sizes) { (self.memory_bytes)(shape) } else { Memory::default() }
    }

    /// The gates of the circuit that a run of this shape evaluates; none of a protocol without one.
    pub fn gates_of(&self, shape: &Shape) -> Option<Gates> {
        let (_, gates) = self.gates?;
        Some(if self.takes_place(shape.sizes) { gates(shape) } else { Gates::default() })
    }

    /// The powers that a run of this shape mostly computes; none of a protocol whose time does not follow from a modulus.
    pub fn power_of(&self, shape: &Shape) -> Option<Power> {
        self.powers.map(|power| power(shape))
    }

    /// Whether bytes and gates of a run of this shape are upper bounds, and not exact.
    pub fn is_at_most(&self, shape: &Shape) -> bool {
        self.takes_place(shape.sizes) && (self.at_most)(shape)
    }

    /// The formula of its gates; none of a protocol without a circuit.
    pub fn gates_formula(&self) -> Option<&'static str> {
        self.gates.map(|(formula, _)| formula)
    }

    /// Whether a third process helps the two parties.
    pub fn has_helper(&self) -> bool {
        self.helper.is_some()
    }

    /// Bytes of memory that the helper takes at its peak; 0 without one.
    pub fn helper_memory(&self, shape: &Shape) -> u64 {
        self.helper.filter(|_| self.takes_place(shape.sizes)).map_or(0, |helper| (helper.memory_bytes)(shape))
    }

    /// See [`Entry::max_tested_keys`]; none of semi-honest runs.
    pub fn max_tested_keys_of(&self, shape: &Shape) -> Option<u64> {
        let most = self.max_tested_keys.filter(|_| shape.parameters.security == Security::Malicious)?;
        Some(most(shape))
    }

    /// Whether the bound of [`Entry::max_tested_keys_of`] is for a receiver that evaluates the run's hash at most 2^64
    /// times.
    pub fn tests_by_search(&self) -> bool {
        self.tests_by_search
    }

    /// Whether it runs only with `--allow-insecure`.
    pub fn needs_allow_insecure(&self) -> bool {
        self.status != Status::Standard
    }
}

/// The two roles, with what every protocol has in common: they check the items against the agreed sizes, skip
/// a protocol where a set is empty, and tell the sender the positions of the matches where both parties learn
/// the result.
impl Entry {
    /// A run on one thread, in which the receiver alone learns the result and nobody is told of progress. The
    /// session id is fresh and known to both parties; `vesica::session` derives it from the connection and
    /// the terms.
    pub fn run<'a>(&self, session_id: &[u8; 32], sizes: Sizes, parameters: Parameters) -> Run<'a> {
        let (receiver, sender) = (sizes.receiver as u64, sizes.sender as u64);
        let agreed = parameters.text();
        let context = Context::new(session_id, self.name, agreed.as_bytes(), receiver, sender);
        let learns = Learns::Receiver;
        let progress = &NoProgress;
        let (base_ots, attached) = (None, Attached::Nothing);
        let device = Device::default();
        Run { context, sizes, parameters, learns, threads: 1, device, progress, base_ots, attached }
    }

    /// The receiver's role: its items in, its result out, once it is worked out.
    ///
    /// # Errors
    /// If the partner does not keep to the protocol, the channel fails, or the run is cancelled.
    pub fn receive<'a>(&self, ctx: &mut Ctx<'_, 'a>, items: &'a Items) -> Result<Pending<'a>, Error> {
        let run = ctx.run;
        self.expect(run, Role::Receiver, items)?;
        let takes_place = self.takes_place(run.sizes);
        match self.roles {
            Roles::Whole { receive, .. } if takes_place => receive(ctx, items),
            Roles::Whole { .. } => Outcome::of_no_matches(run, Role::Receiver, items).map(Pending::found),
            Roles::Listed { receive, .. } => {
                let pairs = if takes_place { receive(ctx, items)? } else { Pairs::found(Vec::new()) };
                if run.learns == Learns::Receiver {
                    return Ok(Pending::of_join(items, || Ok(pairs.find())));
                }
                let pairs = pairs.find();
                let positions = pairs.iter().map(|&(_, position)| position);
                positions::send(run.sizes.sender, positions, ctx.channel.split().0)?;
                Ok(Pending::of_join(items, || Ok(pairs)))
            }
        }
    }

    /// The sender's role: its items in; a result out where the run was agreed for both to learn one.
    ///
    /// # Errors
    /// If the partner does not keep to the protocol, the channel fails, or the run is cancelled.
    pub fn send(&self, ctx: &mut Ctx<'_, '_>, items: &Items) -> Result<Option<Outcome>, Error> {
        let run = ctx.run;
        self.expect(run, Role::Sender, items)?;
        let takes_place = self.takes_place(run.sizes);
        let matched: Vec<usize> = match self.roles {
            Roles::Whole { send, .. } if takes_place => return send(ctx, items),
            Roles::Whole { .. } => {
                let outcome = Outcome::of_no_matches(run, Role::Sender, items)?;
                return Ok(run.sender_learns().then_some(outcome));
            }
            Roles::Listed { send, .. } => {
                let list = if takes_place { send(ctx, items)? } else { Vec::new() };
                if run.learns == Learns::Receiver {
                    return Ok(None);
                }
                let Sizes { receiver, sender } = run.sizes;
                let positions = positions::recv(sender, receiver, ctx.channel.split().1)?;
                positions.into_iter().map(|position| list[position as usize] as usize).collect()
            }
        };
        let matches = || Outcome::Matches(items.matches(matched.into_iter()));
        Ok((run.learns == Learns::Both).then(matches))
    }

    /// Checks the items and what is attached to them, and that the protocol gives the result.
    fn expect(&self, run: &Run<'_>, role: Role, items: &Items) -> Result<(), Error> {
        if self.supports.unsupported_result(&run.parameters).is_some() {
            return Err(Misuse::UnsupportedResult(run.parameters.result.name()).into());
        }
        run.expect_items(role, items)
    }

    /// The helper's role: the size of the intersection out. Where a set is empty, nothing is sent.
    ///
    /// # Errors
    /// If a party does not keep to the protocol, a channel fails, or the run is cancelled. Such an error is an
    /// [`Error::With`], which says which party it is.
    pub fn assist(&self, ctx: &mut HelperCtx<'_, '_>) -> Result<u64, Error> {
        match self.helper {
            Some(helper) if self.takes_place(ctx.run.sizes) => (helper.assist)(ctx),
            Some(_) => Ok(0),
            None => Err(Misuse::NoHelper.into()),
        }
    }
}
