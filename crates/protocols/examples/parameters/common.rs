//! What all protocols share: security parameters, masks, digests, groups.

use vesica_crypto::group::{Group, P256, P384, P521, Ristretto255};
use vesica_encode::hashing::parameters::three_way;
use vesica_encode::items::Width;
use vesica_ot::base::{KeyAgreement, cache, masny_rindal, naor_pinkas::curves};
use vesica_protocols::registry::Security;
use vesica_protocols::{DEFAULT_LEVEL, MaskWidth, STATISTICAL_SECURITY, Sizes, encoding_for};

use crate::table::{Section, count, power};

pub(crate) fn sections() -> Vec<Section> {
    vec![levels(), masks(), numbers(), merged_numbers(), values(), digests(), groups()]
}

fn levels() -> Section {
    let mut section = Section::new(
        "Security parameters",
        "κ is the computational security parameter, in bits. λ is the statistical one: each event that would \
         make a run wrong, or make it fail, or reveal something, has probability at most 2^-λ a run, over \
         coins drawn after the sets are fixed. A protocol has a few such events: `ot-phasing` has three \
         (numbers, masks, bins), and so has `kkrt` (code, masks, bins). Each parameter is one constant that \
         all crates share.",
        &["parameter", "in the code", "must be", "from"],
    );
    section.same("κ where nothing else is asked for", DEFAULT_LEVEL, 128, "the default of `--level`");
    section.same("λ", STATISTICAL_SECURITY, 40, "PSSZ15 §2.1");
    section
}

/// Sizes that are tried: small, odd, unequal, the largest.
const SIZES: [(usize, usize); 8] = [
    (1, 1),
    (3, 5),
    (256, 1 << 24),
    (1 << 10, 1 << 10),
    (1_000_000, 1_000_000),
    (1 << 20, 1 << 20),
    ((1 << 20) + 1, 1 << 20),
    (1 << 24, 1 << 24),
];

fn masks() -> Section {
    let mut section = Section::new(
        "Masks",
        "A mask has ℓ bits. ℓ is the least number with n_r·n_s·2^-ℓ ≤ 2^-λ, for the sizes rounded up to \
         powers of two. So the probability that two different items have equal masks is at most 2^-λ over \
         all pairs (PSSZ15 §3.1). In malicious runs of `vole` a mask has 128 bits, and its hash takes the \
         item too, because the sender's set is extracted from it (RS21 §4).",
        &["n_r", "n_s", "ℓ in the code", "ℓ derived", "false matches"],
    );
    for (receiver, sender) in SIZES {
        let bits = MaskWidth::for_sizes(Sizes { receiver, sender }, STATISTICAL_SECURITY).unwrap().bits();
        let log2 = |n: usize| (n as f64).log2();
        let derived = (0u32..).find(|&bits| {
            let pairs = log2(receiver.next_power_of_two()) + log2(sender.next_power_of_two());
            pairs - f64::from(bits) <= -f64::from(STATISTICAL_SECURITY)
        });
        let failure = log2(receiver) + log2(sender) - f64::from(bits);
        section.row(
            &[count(receiver), count(sender), bits.to_string(), derived.unwrap().to_string(), power(failure)],
            Some(bits) == derived && failure <= -f64::from(STATISTICAL_SECURITY),
        );
    }
    section
}

fn numbers() -> Section {
    let mut section = Section::new(
        "Numbers of hashed items",
        "`ot-phasing` hashes items to ℓ' bits. ℓ' is the least number, not below ℓ, with n_s²/2·2^-ℓ' ≤ \
         2^-λ, for the size rounded up to a power of two. Two items of the sender that are hashed to one \
         number have equal masks, which shows that the sender has such a pair. PSSZ15's ℓ counts only the \
         pairs of different sides.",
        &["n_r", "n_s", "ℓ", "ℓ' in the code", "ℓ' derived", "a pair within n_s", "with ℓ bits"],
    );
    for (receiver, sender) in SIZES.into_iter().chain([(1, 1 << 24), (1 << 12, 1 << 24)]) {
        let sizes = Sizes { receiver, sender };
        let masks = MaskWidth::for_sizes(sizes, STATISTICAL_SECURITY).unwrap().bits();
        let bits = MaskWidth::for_hashed_items(sizes, STATISTICAL_SECURITY).unwrap().bits();
        let rounded = (sender.next_power_of_two() as f64).log2();
        let derived = (masks..)
            .find(|&bits| {
                sender == 1 || 2.0 * rounded - 1.0 - f64::from(bits) <= -f64::from(STATISTICAL_SECURITY)
            })
            .unwrap();
        let within = (sender as f64).log2() + (sender as f64 - 1.0).log2() - 1.0;
        section.row(
            &[
                count(receiver),
                count(sender),
                masks.to_string(),
                bits.to_string(),
                derived.to_string(),
                power(within - f64::from(bits)),
                power(within - f64::from(masks)),
            ],
            bits == derived && within - f64::from(bits) <= -f64::from(STATISTICAL_SECURITY),
        );
    }
    section
}

fn merged_numbers() -> Section {
    let mut section = Section::new(
        "Numbers of merged items",
        "`scs-sort`, `scs-wn`, `scs-he` and `scs-gmw` hash items to ℓ' bits and merge those of both parties, so \
         that two equal ones look like a match, whosever they are. With n = n_r + n_s, ℓ' is the least number \
         with n·(n - 1)/2·2^-ℓ' ≤ 2^-λ.",
        &["n_r", "n_s", "ℓ' in the code", "ℓ' derived", "false matches"],
    );
    for (receiver, sender) in SIZES {
        let bits = MaskWidth::for_all_items(Sizes { receiver, sender }, STATISTICAL_SECURITY).unwrap().bits();
        let both = (receiver + sender) as f64;
        let failure = |bits: u32| both.log2() + (both - 1.0).log2() - 1.0 - f64::from(bits);
        let allowed = -f64::from(STATISTICAL_SECURITY);
        let derived = (0u32..).find(|&bits| failure(bits) <= allowed);
        section.row(
            &[
                count(receiver),
                count(sender),
                bits.to_string(),
                derived.unwrap().to_string(),
                power(failure(bits)),
            ],
            Some(bits) == derived && failure(bits) <= allowed,
        );
    }
    section
}

fn values() -> Section {
    let mut section = Section::new(
        "Values in bins",
        "`circuit-vole` compares two values of w bits in each of β bins. Where the items differ, the \
         receiver's value is random. w is the least number with β·2^-w ≤ 2^-λ, for β rounded up to a power of \
         two.",
        &["n_r", "β", "w in the code", "w derived", "false matches"],
    );
    for (receiver, _) in SIZES {
        let bins = three_way(receiver, STATISTICAL_SECURITY).layout.bins();
        let bits = MaskWidth::for_pairs(bins, STATISTICAL_SECURITY).bits();
        let failure = |pairs: usize, bits: u32| (pairs as f64).log2() - f64::from(bits);
        let allowed = -f64::from(STATISTICAL_SECURITY);
        let derived = (0u32..).find(|&bits| failure(bins.next_power_of_two(), bits) <= allowed);
        section.row(
            &[
                count(receiver),
                bins.to_string(),
                bits.to_string(),
                derived.unwrap().to_string(),
                power(failure(bins, bits)),
            ],
            Some(bits) == derived && failure(bins, bits) <= allowed,
        );
    }
    section
}

fn digests() -> Section {
    let mut section = Section::new(
        "Digests of items",
        "An item is a BLAKE3 digest of its canonical bytes.\n- In semi-honest runs nobody searches for \
         collisions: 2^33 items have one with probability 2^(2·33 - 1 - d).\n- A malicious party does \
         search, with 2^κ work, so d = 2κ.\n- Above level 128 (`gbf*`), an item that shares its digest with \
         another (2^-d a pair) must be no likelier than a false positive of the filter: d ≥ κ.",
        &["parameter", "bits in the code", "bits derived", "from"],
    );
    let birthday = (8..).step_by(8).find(|bits| 2 * 33 - 1 - bits <= -(STATISTICAL_SECURITY as i32)).unwrap();
    let code = 8 * Width::Digest128.bytes() as i32;
    section.row(
        &["semi-honest", &code.to_string(), &format!("at least {birthday}"), "birthday bound for 2^33 items"],
        code >= birthday,
    );
    let wide = encoding_for(Security::SemiHonest, 256, None).bytes() as u32;
    section.same("semi-honest, levels 192 and 256", 8 * wide, 256, "2^-κ a pair");
    section.same("malicious", 8 * Width::Digest256.bytes() as u32, 2 * DEFAULT_LEVEL, "collisions cost 2^κ");
    section
}

fn groups() -> Section {
    let mut section = Section::new(
        "Groups",
        "A discrete logarithm in a group of order q takes about √q steps (Pollard). So level κ needs 2κ bits \
         of order, or a few less: ristretto255, which is in use everywhere, has order 2^252 + … (RFC 9496). \
         The NIST curves are DCW13's levels. (Table 2 there has P-192 for level 80. In the benchmark of its \
         base OTs P-256 replaces it.) The number of bits of the order is that of an element's x coordinate; \
         an encoding has one byte more on NIST curves.",
        &["group", "bits of the order", "needed", "used for"],
    );
    let bits = |encoded: usize, spare: usize| 8 * (encoded - spare);
    section.row(
        &["ristretto255", "252", "2·128 - 4", "`dh`, `ope`, base OTs up to level 128"],
        bits(Ristretto255::ENCODED, 0) == 256 && masny_rindal::RECEIVER_BYTES == 2 * Ristretto255::ENCODED,
    );
    for (name, bytes, order, level) in [
        ("P-256", curves::receiver_bytes::<P256>(), 256, 128),
        ("P-384", curves::receiver_bytes::<P384>(), 384, 192),
        ("P-521", curves::receiver_bytes::<P521>(), 521, 256),
    ] {
        let right = bytes == (order as usize).div_ceil(8) + 1 && order >= 2 * level;
        // What a run's base OTs send, or the benchmark's alone.
        let in_runs = cache::bytes(KeyAgreement::DiffieHellman, level, 1)[0] == bytes as u64;
        let used =
            format!("Naor–Pinkas at level {level}, {}", if in_runs { "`gbf*`" } else { "in no protocol" });
        section.row(&[name, &order.to_string(), &format!("2·{level}"), &used], right);
    }
    section
}
