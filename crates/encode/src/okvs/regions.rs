//! Regions of a table.
//!
//! A table of millions of columns is visited region by region: what is read and written at random then stays in the first
//! or second cache, and the table itself moves through the caches once.

/// Columns of a region, at least: with bands and values they fit the first cache.
const REGION_LOG: u32 = 10;

/// Regions, at most: more streams of writes than this the processor cannot follow.
const MOST_REGIONS: usize = 1 << 10;

/// Regions of a table: numbers of 2^log columns.
#[derive(Clone, Copy)]
pub(super) struct Regions {
    log: u32,
    count: usize,
}

impl Regions {
    /// Regions of a table whose rows start at `starts` places.
    pub(super) fn of(starts: usize) -> Self {
        let mut log = REGION_LOG;
        while starts.div_ceil(1 << log) > MOST_REGIONS {
            log += 1;
        }
        Self { log, count: starts.div_ceil(1 << log) }
    }

    /// One region a start.
    pub(super) fn single(starts: usize) -> Self {
        Self { log: 0, count: starts }
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
