//! Decoders of what the two sides of a run in parts say to each other beside the protocol, and of an engine's ticket.

use vesica::parts::engine::Task;
use vesica::parts::testing::{header, promise, receipts, round, taken_up};

use crate::Target;

const TAG: [u8; 32] = [5; 32];

/// Parts of the run that receipts are of, and how many of these there may be.
const PARTS: usize = 3;
const MOST: usize = 7;

pub(crate) fn targets() -> Vec<Target> {
    let promises = vec![[&[0, 1, 0][..], &TAG].concat(), [&[1, 0xff, 0xff][..], &TAG].concat()];
    let headers = vec![[&[1][..], &TAG, &[0xff; 4], &[3, 0]].concat()];
    let steps = (0..4).map(|step| [&[2][..], &TAG, &[1, 0, step]].concat()).collect();
    let tickets = vec![vec![1; 300]];
    vec![
        Target::new("parts-promise", read_promise, promises, 5000),
        Target::new("part-header", |input| again(input, header(input)), headers, 5000),
        Target::new("run-taken-up", |input| again(input, taken_up(input, &TAG)), steps, 20000),
        Target::new("parts-round", read_round, rounds(), 20000),
        Target::new("parts-receipts", read_receipts, lists(), 5000),
        Target::new("parts-ticket", read_ticket, tickets, 5000),
    ]
}

/// One form for one meaning; what follows is not looked at.
fn again(input: &[u8], decoded: Option<Vec<u8>>) {
    if let Some(decoded) = decoded {
        assert!(input.starts_with(&decoded));
    }
}

/// Who promises plays some part at once.
fn read_promise(input: &[u8]) {
    let decoded = promise(input);
    assert!(decoded.as_ref().is_none_or(|decoded| decoded[1..3] != [0; 2]));
    again(input, decoded);
}

/// This side's round: its number, the parts of the run, and those to play.
fn my_round(seed: [u8; 2]) -> (u16, usize, Vec<u32>) {
    let [number, parts] = seed;
    let parts = 1 + u32::from(parts) % 20;
    // Every third part is done.
    (
        u16::from(number) * 257,
        parts as usize,
        (0..parts).filter(|part| (part + u32::from(number)) % 3 != 0).collect(),
    )
}

/// Two bytes that choose this side's round, and ROUND of a partner in the same one.
fn rounds() -> Vec<Vec<u8>> {
    let said = |seed: [u8; 2]| [&seed[..], &as_bytes(&my_round(seed))].concat();
    [[0, 0], [1, 6], [2, 7], [3, 8], [255, 19]].map(said).into()
}

/// ROUND as the format has it, made without the code that is tested.
fn as_bytes((number, parts, missing): &(u16, usize, Vec<u32>)) -> Vec<u8> {
    let bits = |octet: usize| (0..8).filter(move |bit| missing.contains(&((8 * octet + bit) as u32)));
    let bitmap = (0..parts.div_ceil(8)).map(|octet| bits(octet).map(|bit| 1 << bit).sum());
    number.to_le_bytes().into_iter().chain(bitmap).collect()
}

/// A partner's ROUND is this side's, byte for byte; nothing else is taken. What follows is not looked at.
fn read_round(input: &[u8]) {
    let Some((seed, said)) = input.split_first_chunk() else { return };
    let mine = my_round(*seed);
    let taken = round(said, mine.0, mine.1, &mine.2);
    assert_eq!(taken, said.starts_with(&as_bytes(&mine)).then(|| as_bytes(&mine)));
}

fn lists() -> Vec<Vec<u8>> {
    let list = |count: u8| {
        let entries = (0..count).flat_map(|number| [&[number % 3, 0, 0, 0][..], &TAG].concat());
        [count, 0, 0, 0].into_iter().chain(entries).collect()
    };
    [0, 1, 2, MOST as u8, MOST as u8 + 1].map(list).into()
}

fn read_receipts(input: &[u8]) {
    let decoded = receipts(input, PARTS, MOST);
    if let Some(decoded) = &decoded {
        assert!(decoded.len() <= 4 + MOST * 36, "no more than there may be");
        assert!(decoded[4..].chunks(36).all(|entry| usize::from(entry[0]) < PARTS && entry[1..4] == [0; 3]));
    }
    again(input, decoded);
}

/// A ticket with these fields, whose hash fits.
fn read_ticket(input: &[u8]) {
    let ticket = [input, &blake3::derive_key("vesica ticket v1", input)].concat();
    if let Ok(task) = Task::new(&ticket, 0) {
        assert!([16, 32].contains(&task.item_bytes()));
    }
    assert!(Task::new(input, 0).is_err(), "a hash that nobody computed");
}
