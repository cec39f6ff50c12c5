//! Hashing to bins: cuckoo tables, stashes, loads, permutations.

use vesica_crypto::hash::Context;
use vesica_encode::hashing::Layout;
use vesica_encode::hashing::parameters::bounds::{self, Table};
use vesica_encode::hashing::parameters::experiment::left_over;
use vesica_encode::hashing::parameters::{Cuckoo, FAILURE, maximum_load, paper, three_way, two_way};
use vesica_encode::hashing::permutation::Permutation;
use vesica_protocols::{MaskWidth, STATISTICAL_SECURITY, Sizes};

use crate::table::{Section, count, power};

pub(crate) fn sections() -> Vec<Section> {
    vec![cuckoo(), loads(), permutations(), papers()]
}

fn failure(items: usize, cuckoo: Cuckoo) -> f64 {
    let Cuckoo { layout, stash } = cuckoo;
    bounds::cuckoo(Table::Segments, layout.functions(), items as u64, layout.bins() as u64, stash)
}

/// Sizes that are shown.
const SIZES: [usize; 9] = [1, 16, 1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 20, 1 << 24];

fn cuckoo() -> Section {
    let mut section = Section::new(
        "Cuckoo tables",
        "The failure is the probability that some items get no bin, by Hall's theorem and a union over the \
         sets of bins that could be the cause. It is a proven bound, summed term by term \
         (`hashing::parameters::bounds`). With three functions there is no stash (`kkrt`, `ot-phasing`). \
         With two functions there are 2.4 n bins and the smallest sufficient stash (`ot-psi`). A test checks \
         the bound at four sizes of each power of two.",
        &["items", "three: bins", "failure", "two: bins", "stash", "failure", "with one position less"],
    );
    for items in SIZES {
        let (three, two) = (three_way(items, STATISTICAL_SECURITY), two_way(items, STATISTICAL_SECURITY));
        let (of_three, of_two) = (failure(items, three), failure(items, two));
        let less = (two.stash > 0).then(|| failure(items, Cuckoo { stash: two.stash - 1, ..two }));
        // A stash serves all sizes from a power of two to the next.
        let last = 2 * items - 1;
        let least = less.is_none_or(|less| less > FAILURE)
            || failure(last, Cuckoo { stash: two.stash - 1, ..two_way(last, STATISTICAL_SECURITY) })
                > FAILURE;
        section.row(
            &[
                count(items),
                three.layout.bins().to_string(),
                power(of_three),
                two.layout.bins().to_string(),
                two.stash.to_string(),
                power(of_two),
                less.map_or("–".into(), power),
            ],
            of_three <= FAILURE && of_two <= FAILURE && least && three.stash == 0,
        );
    }
    section
}

fn loads() -> Section {
    let mut section = Section::new(
        "Loads of simple hashing",
        "The load is the least number that some bin exceeds with probability at most 2^-40: the binomial \
         tail times the number of bins. Two functions hash into 2.4 n bins, as in `ot-psi`. PSSZ15 Table 2's \
         bound is looser.",
        &["items", "load in the code", "overflow", "overflow at one less", "PSSZ15 Equation (5)"],
    );
    for items in [1 << 8, 1 << 12, 1 << 16, 1 << 20, 1 << 24] {
        let layout = two_way(items, STATISTICAL_SECURITY).layout;
        let load = maximum_load(items, layout, STATISTICAL_SECURITY);
        let overflow =
            |load: usize| bounds::overflow(items as u64, layout.segment().into(), load as u64) + 1.0;
        section.row(
            &[
                count(items),
                load.to_string(),
                power(overflow(load)),
                power(overflow(load - 1)),
                paper::load_by_equation_5(items as f64).to_string(),
            ],
            overflow(load) <= FAILURE && overflow(load - 1) > FAILURE,
        );
    }
    section
}

fn permutations() -> Section {
    let mut section = Section::new(
        "Permutation-based hashing",
        "Of an item below 2^σ a bin holds the remainder. The remainder is below M = ⌊(2^σ - 1)/m⌋ + 1 for m \
         bins a function, and M is at least 64. Bin, remainder and the function's segment determine the \
         item, so no two different items look equal. M itself stands for an empty bin. Remainders are \
         compared in characters of eight bits, each by a 1-out-of-256 OT. σ is that of native items, or the \
         ℓ' bits of a hash (PSSZ15 §4; three functions).",
        &["items", "σ", "bits in the code", "bits derived", "OTs a bin"],
    );
    for items in [1 << 8, 1 << 12, 1 << 16, 1 << 20, 1 << 24] {
        let sizes = Sizes { receiver: items, sender: items };
        let hashed = MaskWidth::for_hashed_items(sizes, STATISTICAL_SECURITY).unwrap().bits();
        for sigma in [32, hashed] {
            let layout: Layout = three_way(items, STATISTICAL_SECURITY).layout;
            let context = Context::new(&[0; 32], "parameters", b"", 0, 0);
            let bits = Permutation::new(&context, sigma, layout).bits();
            // The fewest that, with the bin, tell 2^σ items apart, and leave one value for an empty bin.
            let m = u128::from(layout.segment());
            let derived = (7u32..128).find(|bits| m * ((1 << bits) - 1) >= 1 << sigma).unwrap();
            section.row(
                &[
                    count(items),
                    sigma.to_string(),
                    bits.to_string(),
                    derived.to_string(),
                    bits.div_ceil(8).to_string(),
                ],
                bits == derived,
            );
        }
    }
    section
}

fn papers() -> Section {
    let mut section = Section::new(
        "The papers' parameters",
        "`--paper-parameters` runs with these, only for comparison with PSSZ15's tables: two functions with \
         the stash of its Table 4. The failure is by this project's bound. (For three functions in 1.2 n \
         bins there is no bound, only extrapolation.) The bound is for a table that the functions share, as \
         in the paper; in the runs each function has a segment.",
        &["items", "stash of Table 4", "failure by our bound", "below 2^-40"],
    );
    for items in [1 << 8, 1 << 12, 1 << 16, 1 << 20] {
        let theirs = paper::two_way(items, items);
        let bins = theirs.layout.bins() as u64;
        let log2 = bounds::cuckoo(Table::Shared, 2, items as u64, bins, theirs.stash);
        let holds = if log2 <= -f64::from(STATISTICAL_SECURITY) { "yes" } else { "no" };
        // Two printed values of Table 4; the rest is interpolated there, too.
        let right = paper::STASH.iter().any(|(_, stash)| *stash == theirs.stash);
        section.row(&[count(items), theirs.stash.to_string(), power(log2), holds.into()], right);
    }
    section
}

/// What takes minutes.
pub(crate) fn slow_sections() -> Vec<Section> {
    vec![experiment()]
}

/// PSSZ15 Table 3 at a thousandth of its 2^30 repetitions. A line is wrong where a count is more than five deviations off
/// the paper's, or more runs need a larger stash than the bound allows.
fn experiment() -> Section {
    /// log2 of the repetitions.
    const REPETITIONS: u32 = 20;
    let mut section = Section::new(
        "PSSZ15 Table 3 again",
        "Two functions hash n items into 2.4 n bins by cuckoo hashing, 2^20 times. The table counts the \
         repetitions that left so many items over, here and in the paper (its 2^30 repetitions divided by \
         2^10). Ours are the items that no assignment can place. The paper's insertion gives up after some \
         number of evictions (§2.3.2), which would explain why it left one over 4 to 11 % more often. The \
         bound is ours, on leaving more than that over.",
        &["items", "left over", "here", "the paper's", "more than that, here", "bound"],
    );
    for (log, printed) in (11u32..).zip(paper::EXPERIMENT) {
        let (items, bins) = (1usize << log, (1u32 << log) * 12 / 5);
        let counts = left_over(Table::Shared, items, bins, 0, 1 << REPETITIONS);
        for (left, printed) in printed.into_iter().enumerate().take(5) {
            let here = counts.get(left).copied().unwrap_or(0);
            let expected = printed as f64 / f64::from(1u32 << (30 - REPETITIONS));
            // Most leave nothing over: the deviation is that of the others.
            let spread = expected.min(f64::from(1u32 << REPETITIONS) - expected).max(1.0).sqrt();
            let more: u64 = counts.iter().skip(left + 1).sum();
            let frequency = (more as f64).log2() - f64::from(REPETITIONS);
            let bound = bounds::cuckoo(Table::Shared, 2, items as u64, bins.into(), left);
            section.row(
                &[
                    count(items),
                    left.to_string(),
                    here.to_string(),
                    format!("{expected:.1}"),
                    power(frequency),
                    power(bound),
                ],
                (here as f64 - expected).abs() <= 5.0 * spread && frequency <= bound,
            );
        }
    }
    section
}
