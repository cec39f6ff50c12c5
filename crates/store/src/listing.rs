//! What the names of an export's files tell, on a disk and in a store alike.

use glob::MatchOptions;

/// `*` and `?` stand for characters of one name.
pub const OF_ONE_NAME: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

/// The logs of table formats that say which of a folder's files are current, and the formats.
pub const LOGS: [(&str, &str); 2] = [("_delta_log", "Delta"), (".hoodie", "Hudi")];

/// Whether a name is that of an export's note or unfinished file.
pub fn is_left_out(name: &[u8]) -> bool {
    name.starts_with(b"_") || name.starts_with(b".") || name.ends_with(b".crc")
}

/// Why a folder with such a log is no table.
pub fn log_refused(format: &str) -> String {
    format!(
        "is a {format} table, whose folder also has files with rows that were deleted since; export its rows as Parquet or \
         CSV"
    )
}

/// Why a folder with folders of that name is no table.
pub fn partition_refused(name: &str) -> String {
    format!(
        "has the folder `{name}`, which holds the rows of one value of a column, without that column; name that folder, or \
         a pattern of files such as `*/part-*`, or export the table without partitions"
    )
}

/// Why something else in a folder of files makes it no table.
pub fn other_refused(name: &str) -> String {
    format!("has `{name}`, which is no file; a table is files alone")
}

/// What is said of a folder, or of a pattern, that has no file.
pub fn none_there(of_pattern: bool) -> &'static str {
    if of_pattern {
        "no file has such a name (those that begin with `_` or `.` are left out)"
    } else {
        "has no file of a table (names that begin with `_` or `.` are left out); export into it again"
    }
}
