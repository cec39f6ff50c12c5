//! How many bins, how large a stash, how full a bin.

use super::places::Layout;

/// What both parties agree on for a cuckoo table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cuckoo {
    /// Functions and bins.
    pub layout: Layout,
    /// Items that find no bin, at most.
    pub stash: usize,
}

/// Three functions and no stash for the `items` of the receiver, dummies included.
#[must_use]
pub fn three_way(items: usize) -> Cuckoo {
    let items = items as u64;
    let bins = if items < 4096 { (items * 3).max(600) } else { items * 127 / 100 };
    Cuckoo { layout: Layout::new(3, bins), stash: 0 }
}
