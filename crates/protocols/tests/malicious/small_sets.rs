//! What a limit on the receiver's size is worth: as many questions as the receiver declares items, while they
//! are few.

use vesica_protocols::Learns;
use vesica_protocols::testing::items_for;
use vesica_protocols::vole_based::rr22::cheating::{ReceiverCheat, max_malicious_items};

use super::{MALICIOUS, case, cheating_receiver, sets};

#[test]
fn a_receiver_of_few_items_asks_no_more_questions_than_it_says() {
    // 1000 guesses in stores that were agreed for fewer items, against a sender that has them all.
    let keys: Vec<String> = (0..1000).map(|number| format!("key {number}")).collect();
    let guesses = items_for(&MALICIOUS, &keys);
    let matched = |declared: usize, learns: Learns| {
        let mut sets = sets(declared, 1000, 0);
        sets.sender = items_for(&MALICIOUS, &keys);
        let (learnt, sender) = cheating_receiver(&sets, &guesses, case(learns, 1), &ReceiverCheat::default());
        let (learnt, told) = (learnt.unwrap(), sender.unwrap());
        assert_eq!(learnt.matched, learnt.stored);
        assert!(learnt.matched.len() <= max_malicious_items(declared, 40));
        assert!(told.is_none_or(|told| told.items() == learnt.matched.len()));
        (learnt.slots, learnt.matched.len())
    };
    // The largest store without slack is that for 256.
    for declared in [1, 2, 10, 100, 256] {
        assert_eq!(matched(declared, Learns::Receiver), (declared, declared));
    }
    // Under `--learns both`, too.
    assert_eq!(matched(3, Learns::Both), (3, 3));
    // Larger ones have a band: its slots, and no more.
    let (slots, tested) = matched(257, Learns::Receiver);
    assert_eq!(slots, 436);
    assert!((257..=slots).contains(&tested), "{tested}");
}

#[test]
fn hash_evaluations_add_less_than_the_declared_size() {
    // (2^40 evaluations of a second or so, 2^64 of a large machine's week.)
    for declared in [1, 2, 10, 100, 256] {
        let [second, week] = [40, 64].map(|queries| max_malicious_items(declared, queries));
        assert!(second <= declared * 3 / 2 + 1 && week <= 2 * declared + 2, "{declared}: {second}, {week}");
    }
}
