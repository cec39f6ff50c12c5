//! The rounds of a run in parts: which parts are to be played, which receipts the two sides hold, and the root of all.

use std::collections::{HashMap, HashSet};

use vesica_channel::Channel;
use vesica_channel::codec::{Reader, Writer};
use vesica_net::Connection;
use vesica_protocols::Role;

use super::line::{RunConnection, Step, StepKind};
use super::set::Kept;
use super::toss::Players;
use crate::session::SessionError;
use crate::words::parts::MOST_ROUNDS;
use crate::words::parts::PartsError;

/// What both sides have of an attempt that they saw alike.
pub(crate) type PartDigest = [u8; 32];

/// An attempt of this side that came to its end.
pub(crate) struct Attempt<'d> {
    pub(crate) receipt: PartDigest,
    /// Matching items, where both sides learn them.
    pub(crate) matches: u64,
    /// The matches of this side, if it learns them.
    pub(crate) kept: Option<Kept<'d>>,
}

/// The tally that one side keeps of its parts.
pub(crate) struct PartTally<'d> {
    parts: Vec<Part<'d>>,
    allowance: u32,
}

#[derive(Default)]
struct Part<'d> {
    held: Vec<Attempt<'d>>,
    /// Attempts whose protocol began.
    attempts: u32,
    /// Those of which the partner may have seen a result, and those that are under way.
    spent: u32,
    /// Rounds that held it.
    rounds: u16,
    /// Which of the attempts held is the one that counts.
    chosen: Option<usize>,
}

impl<'d> PartTally<'d> {
    /// Of so many parts, none of them played, of which so many may be played again.
    pub(crate) fn new(parts: usize, allowance: u32) -> Self {
        PartTally { parts: (0..parts).map(|_| Part::default()).collect(), allowance }
    }

    /// That of a task, which has one part and counts its attempts itself.
    pub(crate) fn of_task(parts: usize) -> Self {
        PartTally::new(parts, u32::MAX)
    }

    /// The last attempt at that part, taken out.
    pub(crate) fn take(&mut self, part: u32) -> Option<Attempt<'d>> {
        self.parts.get_mut(part as usize)?.held.pop()
    }

    /// The parts that are not done, ascending.
    pub(crate) fn missing(&self) -> Vec<u32> {
        let parts = (0..).zip(&self.parts);
        parts.filter(|(_, part)| part.chosen.is_none()).map(|(number, _)| number).collect()
    }

    /// A round begins with these parts. None of them may have been in [`MOST_ROUNDS`] before.
    pub(crate) fn enter(&mut self, parts: &[u32]) -> Result<(), PartsError> {
        let (mut missing, count) = (0, self.parts.len());
        for number in parts {
            if let Some(part) = self.parts.get_mut(*number as usize) {
                missing += usize::from(part.rounds == MOST_ROUNDS);
                part.rounds += 1;
            }
        }
        if missing == 0 { Ok(()) } else { Err(PartsError::Missing { missing, count }) }
    }

    /// Whether this side holds that receipt of a part.
    pub(crate) fn has(&self, part: u32, receipt: &PartDigest) -> bool {
        let held = self.parts.get(part as usize).map_or(&[][..], |part| &part.held);
        held.iter().any(|held| held.receipt == *receipt)
    }

    /// The receipts that count so far, with their parts.
    pub(crate) fn counting(&self) -> Vec<(u32, PartDigest)> {
        let parts = (0..).zip(&self.parts);
        parts.filter_map(|(number, part)| Some((number, part.held.get(part.chosen?)?.receipt))).collect()
    }

    /// How many attempts this side holds of each of these parts.
    pub(crate) fn lengths(&self, parts: &[u32]) -> Vec<(u32, usize)> {
        let held = |part: u32| self.parts.get(part as usize).map_or(0, |part| part.held.len());
        parts.iter().map(|part| (*part, held(*part))).collect()
    }

    /// The parts of which it still holds as many.
    pub(crate) fn same_length(&self, lengths: &[(u32, usize)]) -> Vec<u32> {
        let parts: Vec<u32> = lengths.iter().map(|(part, _)| *part).collect();
        let now = self.lengths(&parts).into_iter().zip(lengths);
        now.filter(|(now, before)| now == *before).map(|((part, _), _)| part).collect()
    }

    /// Whether this side holds a receipt of that part.
    pub(crate) fn holds(&self, part: u32) -> bool {
        self.parts.get(part as usize).is_some_and(|part| !part.held.is_empty())
    }

    /// An attempt at a part begins; it gets a number. It counts as spent, since the partner may learn something by it, unless
    /// it [turns out](Self::show_nothing) that it did not.
    pub(crate) fn begin(&mut self, part: u32) -> Result<u32, PartsError> {
        let part = self.parts.get_mut(part as usize);
        let number = part.map_or(0, |part| {
            part.attempts += 1;
            part.spent += 1;
            part.attempts
        });
        if self.repeated() > self.allowance {
            return Err(PartsError::Allowance { allowance: self.allowance });
        }
        Ok(number)
    }

    /// Whether another attempt at each of these parts is within the allowance: for who hears of attempts when all of them
    /// are over.
    pub(crate) fn afford(&self, parts: &[u32]) -> Result<(), PartsError> {
        let spent = |part: &u32| self.parts.get(*part as usize).map_or(0, |part| part.spent);
        let again = parts.iter().filter(|part| spent(part) > 0).count() as u32;
        let allowance = self.allowance;
        match self.repeated().saturating_add(again) > allowance {
            true => Err(PartsError::Allowance { allowance }),
            false => Ok(()),
        }
    }

    /// An attempt at that part has shown the partner nothing, and is over.
    pub(crate) fn show_nothing(&mut self, part: u32) {
        if let Some(part) = self.parts.get_mut(part as usize) {
            part.spent = part.spent.saturating_sub(1);
        }
    }

    /// An attempt came to its end.
    pub(crate) fn hold(&mut self, part: u32, held: Attempt<'d>) {
        if let Some(part) = self.parts.get_mut(part as usize) {
            part.held.push(held);
        }
    }

    /// Attempts of all parts.
    pub(crate) fn attempts(&self) -> u32 {
        self.parts.iter().map(|part| part.attempts).sum()
    }

    /// Attempts beyond the first of each part that count as spent.
    pub(crate) fn repeated(&self) -> u32 {
        self.parts.iter().map(|part| part.spent.saturating_sub(1)).sum()
    }

    /// The last receipt that this side holds of each part.
    #[cfg(test)]
    pub(crate) fn receipts_mut(&mut self) -> impl Iterator<Item = &mut PartDigest> {
        self.parts.iter_mut().filter_map(|part| part.held.last_mut()).map(|held| &mut held.receipt)
    }

    /// Exchanges the receipts of all parts that are not done, and chooses.
    pub(crate) fn compare(
        &mut self,
        run: &mut RunConnection<'_>,
        round: u16,
        role: Role,
    ) -> Result<(), SessionError> {
        let mine: Vec<(u32, PartDigest)> = self.receipts().collect();
        let most = self.parts.len() * usize::from(MOST_ROUNDS) + self.allowance as usize;
        let theirs = exchange_receipts(run, round, &mine, (self.parts.len(), most))?;
        self.choose(&theirs, role);
        Ok(())
    }

    /// Receipts that this side holds of parts that are not done.
    fn receipts(&self) -> impl Iterator<Item = (u32, PartDigest)> {
        let open = (0..).zip(&self.parts).filter(|(_, part)| part.chosen.is_none());
        open.flat_map(|(number, part)| part.held.iter().map(move |held| (number, held.receipt)))
    }

    /// Of each part the first receipt of the receiver's list that is in both.
    fn choose(&mut self, theirs: &[(u32, PartDigest)], role: Role) {
        let known: HashSet<&(u32, PartDigest)> = theirs.iter().collect();
        let mut of_part: HashMap<u32, Vec<&PartDigest>> = HashMap::new();
        theirs.iter().for_each(|(part, receipt)| of_part.entry(*part).or_default().push(receipt));
        let missing = self.missing();
        for number in missing {
            let part = &mut self.parts[number as usize];
            let place = |receipt: &PartDigest| part.held.iter().position(|held| held.receipt == *receipt);
            part.chosen = match role {
                Role::Receiver => part.held.iter().position(|held| known.contains(&(number, held.receipt))),
                Role::Sender => of_part.get(&number).into_iter().flatten().copied().find_map(place),
            };
        }
    }

    /// The attempts that count, in the order of the parts.
    fn chosen(&self) -> impl Iterator<Item = &Attempt<'d>> {
        self.parts.iter().filter_map(|part| part.held.get(part.chosen?))
    }

    /// The root of all receipts, if every part is done.
    pub(crate) fn root(&self, job: &[u8; 32]) -> Result<[u8; 32], PartsError> {
        let mut hasher = blake3::Hasher::new_derive_key("vesica job root v2");
        hasher.update(job);
        self.chosen().for_each(|held| {
            hasher.update(&held.receipt);
        });
        match self.missing().len() {
            0 => Ok(*hasher.finalize().as_bytes()),
            missing => Err(PartsError::Missing { missing, count: self.parts.len() }),
        }
    }

    /// Matching items of all parts, where both sides learn them.
    pub(crate) fn matches(&self) -> u64 {
        self.chosen().map(|held| held.matches).sum()
    }

    /// The matches of the attempts that count, in the order of the parts.
    pub(crate) fn into_chosen(self) -> impl Iterator<Item = Option<Kept<'d>>> {
        self.parts.into_iter().filter_map(|mut part| Some(part.held.swap_remove(part.chosen?).kept))
    }
}

/// The parts of a round, of those that are missing, which ascend: all of them, or where both sides are engines the lowest,
/// as many as the larger of the two plays at once.
///
/// The tasks of an engine have fixed parts, and it may start them in any order. Two engines that both have all slots busy
/// play at least one part in common if their slots are more than the parts of the round. So neither waits for ever, even
/// where the larger one has lost slots, as long as both together have more slots than the round has parts.
pub(crate) fn in_round(missing: &[u32], Players { mine, theirs }: Players) -> &[u32] {
    let most = match mine.names && theirs.names {
        true => usize::from(mine.at_once.max(theirs.at_once)),
        false => missing.len(),
    };
    &missing[..most.min(missing.len())]
}

/// Says which parts this round has; both sides compute the same.
pub(crate) fn exchange_round(
    run: &mut RunConnection<'_>,
    round: u16,
    parts: usize,
    missing: &[u32],
) -> Result<(), SessionError> {
    let mine = encode_round(round, parts, missing);
    let step = Step { round, of: StepKind::Round };
    run.exchange(step, mine.clone(), &mut |run| recv_round(run, &mine))
}

/// ROUND: the number of a round, and a bit for each part of the run.
pub(super) fn encode_round(round: u16, parts: usize, missing: &[u32]) -> Vec<u8> {
    let mut bitmap = vec![0u8; parts.div_ceil(8)];
    missing.iter().for_each(|part| bitmap[*part as usize / 8] |= 1 << (part % 8));
    [&round.to_le_bytes()[..], &bitmap].concat()
}

/// Takes the partner's ROUND, which has to be this side's.
pub(super) fn recv_round(run: &mut Connection, mine: &[u8]) -> Result<(), SessionError> {
    let mut theirs = vec![0; mine.len()];
    run.recv_exact(&mut theirs)?;
    if theirs == mine { Ok(()) } else { Err(PartsError::Differ("parts to play").into()) }
}

/// Exchanges lists of receipts. The partner holds one of a part for each round that held it, and those of the allowance,
/// where a part was played again within a round: `most` in all.
fn exchange_receipts(
    run: &mut RunConnection<'_>,
    round: u16,
    mine: &[(u32, PartDigest)],
    most: (usize, usize),
) -> Result<Vec<(u32, PartDigest)>, SessionError> {
    let mut writer = Writer::new();
    writer.list(mine, |writer, (part, receipt)| {
        writer.u32(*part).fixed(receipt);
    });
    run.exchange(Step { round, of: StepKind::Ended }, writer.into_vec(), &mut |run| recv_receipts(run, most))
}

pub(super) fn recv_receipts(
    run: &mut Connection,
    (parts, most): (usize, usize),
) -> Result<Vec<(u32, PartDigest)>, SessionError> {
    let mut count = [0; 4];
    run.recv_exact(&mut count)?;
    let count = u32::from_le_bytes(count) as usize;
    if count > most {
        return Err(PartsError::Differ("number of receipts").into());
    }
    let mut bytes = vec![0; count * 36];
    run.recv_exact(&mut bytes)?;
    let decode = |cause| SessionError::Decode { what: "a list of receipts", cause };
    let mut reader = Reader::new(&bytes);
    let entry = |_| Ok((reader.u32().map_err(decode)?, reader.array().map_err(decode)?));
    let receipts: Vec<(u32, PartDigest)> = (0..count).map(entry).collect::<Result<_, SessionError>>()?;
    match receipts.iter().all(|(part, _)| (*part as usize) < parts) {
        true => Ok(receipts),
        false => Err(PartsError::Differ("number of parts").into()),
    }
}

/// Compares the root of all receipts, and the number of matches where both sides learn it.
pub(crate) fn exchange_root(
    run: &mut RunConnection<'_>,
    root: &[u8; 32],
    matches: u64,
) -> Result<(), SessionError> {
    let mine = [&root[..], &matches.to_le_bytes()].concat();
    let mut theirs = [0; 40];
    run.exchange(run.root(), mine, &mut |run| Ok(run.recv_exact(&mut theirs)?))?;
    if theirs[..32] != root[..] {
        return Err(PartsError::Differ("receipts of the parts").into());
    }
    if theirs[32..] != matches.to_le_bytes() {
        return Err(PartsError::Differ("number of matches").into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use vesica_encode::items::{Items, Width};
    use vesica_protocols::{Outcome, Pending};

    use super::super::toss::Player;
    use super::*;

    fn players(mine: Player, theirs: Player) -> Players {
        Players { mine, theirs }
    }

    #[test]
    fn a_round_of_two_engines_has_as_many_parts_as_the_larger_has_slots() {
        let missing: Vec<u32> = (3..20).collect();
        let (one, three, process) = (Player::engine(1), Player::engine(3), Player::process(1));
        for pair in [players(one, three), players(three, one), players(three, three)] {
            assert_eq!(in_round(&missing, pair), [3, 4, 5]);
        }
        for pair in [players(process, three), players(three, process), players(process, process)] {
            assert_eq!(in_round(&missing, pair), missing);
        }
        assert_eq!(in_round(&missing[..2], players(three, three)), [3, 4]);
        assert!(in_round(&[], players(one, one)).is_empty());
    }

    /// Whatever orders two engines take, some part is played on both sides at once.
    #[test]
    fn two_engines_always_have_a_part_in_common() {
        for (mine, theirs) in [(1, 1), (1, 4), (3, 4), (4, 4)] {
            let missing: Vec<u32> = (0..9).collect();
            let round = in_round(&missing, players(Player::engine(mine), Player::engine(theirs)));
            let first = |slots: u16| round.iter().take(slots.into()).collect::<HashSet<_>>();
            let last = |slots: u16| round.iter().rev().take(slots.into()).collect::<HashSet<_>>();
            assert!(!first(mine).is_disjoint(&last(theirs)), "{mine} {theirs}");
        }
    }

    #[test]
    fn parts_that_were_played_are_played_again_as_far_as_the_allowance_goes() {
        let mut tally = PartTally::new(128, 8);
        for part in 0..128 {
            tally.begin(part).unwrap();
        }
        let eight: Vec<u32> = (3..11).collect();
        tally.afford(&eight).unwrap();
        assert_eq!(tally.afford(&[&eight[..], &[99]].concat()), Err(PartsError::Allowance { allowance: 8 }));
        tally.begin(0).unwrap();
        assert_eq!(tally.afford(&eight), Err(PartsError::Allowance { allowance: 8 }));
        PartTally::new(128, 8).afford(&(0..128).collect::<Vec<_>>()).unwrap();
    }

    #[test]
    fn an_attempt_that_shows_nothing_takes_off_itself_alone() {
        let mut tally = PartTally::new(2, 4);
        tally.begin(1).unwrap();
        let numbers = [(); 3].map(|()| tally.begin(0).unwrap());
        assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), 3, "each draws its own randomness");
        assert_eq!((tally.attempts(), tally.repeated()), (4, 2));
        for left in [1, 0, 0] {
            tally.show_nothing(0);
            assert_eq!((tally.attempts(), tally.repeated()), (4, left));
        }
        tally.begin(1).unwrap();
        tally.begin(0).unwrap();
        assert_eq!(tally.repeated(), 1, "the first attempt of a part that shows something is free");
    }

    /// What a side makes of those bytes that has this ROUND itself.
    fn compared(mine: &[u8], bytes: &[u8]) -> Result<(), SessionError> {
        let (mut run, mut theirs) = vesica_net::memory::pair(&vesica_channel::CancelToken::new());
        theirs.send(bytes).and_then(|()| theirs.flush()).unwrap();
        drop(theirs);
        recv_round(&mut run, mine)
    }

    #[test]
    fn a_round_has_a_number_and_a_bit_for_each_part_and_both_sides_mean_the_same() {
        let mine = encode_round(0x0102, 11, &[0, 3, 9]);
        assert_eq!(mine, [2, 1, 0b1001, 0b10]);
        assert_eq!(compared(&mine, &mine), Ok(()));
        for bit in 0..8 * mine.len() {
            let mut theirs = mine.clone();
            theirs[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(compared(&mine, &theirs), Err(PartsError::Differ("parts to play").into()), "{bit}");
        }
        for length in 0..mine.len() {
            assert!(matches!(compared(&mine, &mine[..length]), Err(SessionError::Channel(_))), "{length}");
        }
        let lengths = [1, 8, 9, 65_536].map(|parts| encode_round(0, parts, &[]).len());
        assert_eq!(lengths, [3, 3, 4, 8194], "as many bytes as the run has parts, whichever are played");
    }

    /// What a side makes of a list with these bytes, of three parts and five receipts at most.
    fn taken(bytes: &[u8]) -> Result<Vec<(u32, PartDigest)>, SessionError> {
        let (mut mine, mut theirs) = vesica_net::memory::pair(&vesica_channel::CancelToken::new());
        theirs.send(bytes).and_then(|()| theirs.flush()).unwrap();
        drop(theirs);
        recv_receipts(&mut mine, (3, 5))
    }

    fn list(count: u32, entries: &[(u32, PartDigest)]) -> Vec<u8> {
        let bytes = entries.iter().flat_map(|(part, receipt)| [&part.to_le_bytes()[..], receipt].concat());
        count.to_le_bytes().into_iter().chain(bytes).collect()
    }

    #[test]
    fn a_list_of_receipts_is_bounded_before_it_is_read() {
        let entries = [(0, [1; 32]), (2, [2; 32]), (2, [3; 32])];
        assert_eq!(taken(&list(3, &entries)), Ok(entries.to_vec()));
        assert_eq!(taken(&list(0, &[])), Ok(Vec::new()));
        // None of the bytes that they announce are there: nobody waits for them, or makes room.
        for count in [6, u32::MAX] {
            assert_eq!(taken(&list(count, &[])), Err(PartsError::Differ("number of receipts").into()));
        }
        assert_eq!(taken(&list(1, &[(3, [1; 32])])), Err(PartsError::Differ("number of parts").into()));
    }

    fn held(receipt: u8) -> Attempt<'static> {
        Attempt { receipt: [receipt; 32], matches: receipt.into(), kept: None }
    }

    fn tally(of_parts: &[&[u8]]) -> PartTally<'static> {
        let mut tally = PartTally::new(of_parts.len(), 4);
        let each =
            (0..).zip(of_parts).flat_map(|(part, held)| held.iter().map(move |receipt| (part, *receipt)));
        each.for_each(|(part, receipt)| tally.hold(part, held(receipt)));
        tally
    }

    #[test]
    fn the_first_receipt_of_the_receiver_that_the_sender_has_of_the_same_part_is_chosen() {
        let (mut receiver, mut sender) =
            (tally(&[&[1, 2, 3], &[4], &[5, 6], &[]]), tally(&[&[9, 3, 2], &[6], &[7, 5], &[8]]));
        let [mine, theirs] = [&receiver, &sender].map(|tally| tally.receipts().collect::<Vec<_>>());
        receiver.choose(&theirs, Role::Receiver);
        sender.choose(&mine, Role::Sender);
        for tally in [&receiver, &sender] {
            assert_eq!(tally.counting(), [(0, [2; 32]), (2, [5; 32])]);
            assert_eq!((tally.missing(), tally.matches()), (vec![1, 3], 7));
            assert_eq!(tally.root(&[0; 32]), Err(PartsError::Missing { missing: 2, count: 4 }));
        }
    }

    /// The partner may have played another attempt with other keys.
    #[test]
    fn the_matches_are_those_of_the_attempts_that_count() {
        let items = Items::of_keys(Width::Digest128, &["one", "two", "three"]).unwrap();
        let mut tally = PartTally::new(2, 4);
        for (part, receipt, item) in [(0, 1, 0), (0, 2, 1), (0, 3, 2), (1, 4, 2), (1, 5, 0)] {
            let found = Outcome::Matches(items.matches(std::iter::once(item)));
            let kept = Some(Kept::Pending(Pending::found(found)));
            tally.hold(part, Attempt { receipt: [receipt; 32], matches: receipt.into(), kept });
        }
        tally.choose(&[(1, [4; 32]), (0, [2; 32])], Role::Receiver);
        assert_eq!(tally.matches(), 6);
        let rows = |kept| match kept {
            Some(Kept::Pending(pending)) => Pending::matches(pending).unwrap().into_rows(),
            _ => panic!("each attempt has matches"),
        };
        let rows: Vec<Vec<u64>> = tally.into_chosen().map(rows).collect();
        assert_eq!(rows, [1, 2].map(|item| items.rows_of(item).collect::<Vec<_>>()));
    }

    #[test]
    fn the_root_depends_on_the_run_and_on_every_receipt_and_its_part() {
        let root = |job: u8, of_parts: [u8; 2]| {
            let mut tally = tally(&[&of_parts[..1], &of_parts[1..]]);
            let theirs: Vec<_> = tally.receipts().collect();
            tally.choose(&theirs, Role::Receiver);
            tally.root(&[job; 32]).unwrap()
        };
        let roots = [root(0, [1, 2]), root(1, [1, 2]), root(0, [2, 1]), root(0, [1, 3]), root(0, [3, 2])];
        assert_eq!(roots.iter().collect::<HashSet<_>>().len(), roots.len());
    }

    #[test]
    fn a_part_is_in_four_rounds_at_most() {
        let mut tally = PartTally::new(4, 4);
        for _ in 0..MOST_ROUNDS {
            tally.enter(&[0, 2]).unwrap();
        }
        tally.enter(&[1, 3]).unwrap();
        assert_eq!(tally.enter(&[1, 2, 3]), Err(PartsError::Missing { missing: 1, count: 4 }));
    }
}
