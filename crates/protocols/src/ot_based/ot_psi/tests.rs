use super::*;
use crate::Learns;
use crate::testing::{Case, planted_for, run_pair, shape};

#[test]
fn unequal_sets_and_short_items_end_with_the_plain_join() {
    for (receiver, sender, common) in
        [(1, 3000, 1), (100, 1 << 13, 60), (1 << 13, 100, 60), (9000, 11_000, 4000)]
    {
        for sigma in [None, Some(18), Some(64)] {
            let parameters = Parameters { sigma, ..Parameters::default() };
            let sets = planted_for(&parameters, receiver, sender, common, 1);
            let case = Case { parameters, learns: Learns::Both, threads: 2, ..Case::default() };
            let ended = run_pair(&ENTRY, &sets, case);
            assert_eq!(ended.receiver.unwrap().rows(), sets.receiver_rows);
            assert_eq!(ended.sender.unwrap().unwrap().rows(), sets.sender_rows);
            let shape = shape(&sets, case);
            assert_eq!(ended.traffic.payload_sent, ENTRY.bytes(Role::Receiver, &shape));
            assert_eq!(ended.traffic.payload_received, ENTRY.bytes(Role::Sender, &shape));
        }
    }
}

#[test]
fn items_in_the_stash_are_found() {
    // With 2.4 n bins and tens of thousands of runs some items are left over; here bins are too few for all.
    let layout = vesica_encode::hashing::Layout::new(2, 8);
    let context = || vesica_crypto::hash::Context::new(&[5; 32], "ot-psi", b"stash", 12, 30);
    let sizes = Sizes { receiver: 12, sender: 30 };
    let run = || Run {
        context: context(),
        sizes,
        parameters: Parameters::default(),
        learns: Learns::Receiver,
        threads: 1,
        watch: &crate::protocol::Unwatched,
        base_ots: None,
    };
    let plan = || Plan {
        width: MaskWidth::for_sizes(sizes).unwrap(),
        cuckoo: Cuckoo { layout, stash: 8 },
        load: 30,
        characters: 7,
    };
    let sets = planted_for(&Parameters::default(), 12, 30, 9, 2);
    let (mut a, mut b) = vesica_net::memory::pair(&vesica_net::Options::default());
    let pairs = std::thread::scope(|scope| {
        scope.spawn(|| {
            send_masks(&run(), &plan(), &sets.sender, &mut a, &mut Prg::from_seed([1; 16])).unwrap()
        });
        receive_pairs(&run(), &plan(), &sets.receiver, &mut b, &mut Prg::from_seed([2; 16])).unwrap()
    });
    let found = sets.receiver.matches(pairs.iter().map(|(item, _)| *item as usize));
    assert_eq!((found.rows(), pairs.len()), (&sets.receiver_rows[..], 9));
}

#[test]
fn an_empty_bin_asks_for_an_item_of_the_receivers_own() {
    // Of a native item 0 that the receiver does not hold it could tell otherwise whether the sender has it.
    let parameters = Parameters { sigma: Some(18), ..Parameters::default() };
    let sets = planted_for(&parameters, 20, 30, 9, 2);
    let run = Run {
        context: vesica_crypto::hash::Context::new(&[5; 32], "ot-psi", b"", 20, 30),
        sizes: Sizes { receiver: 20, sender: 30 },
        parameters,
        learns: Learns::Receiver,
        threads: 1,
        watch: &crate::protocol::Unwatched,
        base_ots: None,
    };
    let (words, mut asked) = (Words::of(&run, &sets.receiver, None).unwrap(), Vec::new());
    words.push(None, 3, &mut asked);
    let integer = u64::from_le_bytes([asked[0], asked[1], asked[2], 0, 0, 0, 0, 0]);
    assert!(integer != 0 && (0..20).any(|item| sets.receiver.native(item) == Some(integer)));
}

#[test]
fn slots_are_different_and_uniform() {
    let mut slots = Slots::new(5, &mut Prg::from_seed([3; 16]));
    let mut counts = [0u32; 25];
    for _ in 0..20_000 {
        let mut dealt = Vec::new();
        slots.deal(2, 1, &mut dealt);
        let [a, b] = [0, 1].map(|i| dealt[i].to_u128() as usize);
        assert_ne!(a, b);
        counts[a * 5 + b] += 1;
    }
    // Each of the 20 ordered pairs a thousand times, within six deviations.
    assert!(counts.iter().filter(|count| **count > 0).all(|count| count.abs_diff(1000) < 190));
    slots.deal(5, 3, &mut Vec::new());
}

#[test]
fn traffic_with_the_papers_parameters() {
    // PSSZ15 §3.5.5 with the stash: 2κ·t·(β + s) bits of OTs and (2 + s)·n·ℓ of masks.
    let n = 1u64 << 16;
    let sizes = Sizes { receiver: n as usize, sender: n as usize };
    let parameters = Parameters { sigma: Some(32), paper: true, ..Parameters::default() };
    let shape = Shape { sizes, parameters, learns: Learns::Receiver, matches: 0, kept_base_ots: false };
    let (from_receiver, from_sender) = (32 * (157_288 + 4) * 4, 6 * n * 9);
    assert_eq!(ENTRY.bytes(Role::Receiver, &shape), 32 + from_receiver);
    assert_eq!(ENTRY.bytes(Role::Sender, &shape), 64 * 256 + from_sender);
}
