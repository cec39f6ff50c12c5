//! Regions of a table.
//!
//! A table of millions of columns is visited region by region. Random reads and writes then stay in the
//! first- or second-level cache, and the table itself moves through the caches once.

/// Columns of a region, at least: with bands and values they fit the first-level cache.
const COLUMNS_LOG2: u32 = 10;

/// Regions, at most: the processor cannot follow more streams of writes than this.
const MOST_REGIONS: usize = 1 << 10;

/// The regions of a table, each of 2^log columns.
#[derive(Clone, Copy)]
pub(super) struct Regions {
    log: u32,
    count: usize,
}

impl Regions {
    /// Regions of a table whose rows start at `starts` columns.
    pub(super) fn of(starts: usize) -> Self {
        let mut log = COLUMNS_LOG2;
        while starts.div_ceil(1 << log) > MOST_REGIONS {
            log += 1;
        }
        Self { log, count: starts.div_ceil(1 << log) }
    }

    pub(super) fn count(self) -> usize {
        self.count
    }

    /// The region of a column.
    #[inline]
    pub(super) fn of_column(self, column: u32) -> usize {
        (column >> self.log) as usize
    }

    /// Columns of a region.
    pub(super) fn columns(self) -> usize {
        1 << self.log
    }
}
