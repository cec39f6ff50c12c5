//! Decoders of what the two sides of a run in parts say to each other beside the protocol, and of an engine's ticket.

use vesica::parts::engine::Task;
use vesica::parts::testing::{header, promise, receipts, taken_up};

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
        Target::new("parts-promise", |input| again(input, promise(input)), promises, 5000),
        Target::new("part-header", |input| again(input, header(input)), headers, 5000),
        Target::new("run-taken-up", |input| again(input, taken_up(input, &TAG)), steps, 20000),
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
