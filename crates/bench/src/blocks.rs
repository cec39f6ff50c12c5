//! Building blocks in a record: what criterion measured, for each element.
//!
//! `make bench-blocks` runs criterion, which makes a folder for each block. [`collect`] reads the folders, and
//! [`Folder::keep_blocks`] writes `blocks.csv` in the record's folder, which the report shows.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::BenchError;
use crate::measure::short;
use crate::record::{BLOCKS, Folder};

/// One building block's time, in nanoseconds an element: a block, an item, an OT.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// What it belongs to.
    pub group: String,
    /// What was timed.
    pub name: String,
    /// Elements of one iteration.
    pub elements: u64,
    /// The median.
    pub median_ns: f64,
    /// The lower end of the median's 95 % confidence interval.
    pub least_ns: f64,
    /// Its upper end.
    pub most_ns: f64,
}

/// Criterion's description of a benchmark, as far as it is needed.
#[derive(Deserialize)]
struct Description {
    group_id: String,
    function_id: Option<String>,
    /// `{"Elements": 1024}`, or another unit.
    #[serde(default)]
    throughput: serde_json::Value,
}

/// Criterion's estimates, as far as they are needed.
#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
    confidence_interval: Interval,
}

#[derive(Deserialize)]
struct Interval {
    lower_bound: f64,
    upper_bound: f64,
}

fn json<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<T, BenchError> {
    let text = fs::read_to_string(path).map_err(|cause| BenchError::file(path, cause))?;
    serde_json::from_str(&text).map_err(|error| BenchError::form(path, error))
}

/// The last run of each benchmark below criterion's folder, in the order of their names.
pub fn collect(criterion: &Path) -> Result<Vec<Block>, BenchError> {
    let mut blocks = Vec::new();
    let mut folders = vec![criterion.to_owned()];
    while let Some(folder) = folders.pop() {
        let failed = |cause| BenchError::file(&folder, cause);
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if !entry.file_type().map_err(failed)?.is_dir() {
                continue;
            }
            let path = entry.path();
            if entry.file_name() != "new" {
                folders.push(path);
                continue;
            }
            let about: Description = json(&path.join("benchmark.json"))?;
            let median = json::<Estimates>(&path.join("estimates.json"))?.median;
            let elements =
                about.throughput.get("Elements").and_then(serde_json::Value::as_u64).unwrap_or(1).max(1);
            let each = |ns: f64| ns / elements as f64;
            blocks.push(Block {
                group: about.group_id,
                name: about.function_id.unwrap_or_default(),
                elements,
                median_ns: each(median.point_estimate),
                least_ns: each(median.confidence_interval.lower_bound),
                most_ns: each(median.confidence_interval.upper_bound),
            });
        }
    }
    blocks.sort_by(|a, b| (&a.group, &a.name).cmp(&(&b.group, &b.name)));
    Ok(blocks)
}

/// The blocks as a Markdown table; empty if there are none.
pub fn table(blocks: &[Block]) -> String {
    let mut text = String::new();
    if blocks.is_empty() {
        return text;
    }
    text.push_str("| | ns | 95 % confidence | elements at once |\n|---|---|---|---|\n");
    for Block { group, name, elements, median_ns, least_ns, most_ns } in blocks {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {group}: {name} | **{}** | {}–{} | {elements} |",
            short(*median_ns),
            short(*least_ns),
            short(*most_ns)
        );
    }
    text.push('\n');
    text
}

impl Folder {
    /// The blocks of the record; none if they were never measured.
    pub fn blocks(&self) -> Result<Vec<Block>, BenchError> {
        let path = self.path().join(BLOCKS);
        if !path.exists() {
            return Ok(Vec::new());
        }
        let mut reader = csv::Reader::from_path(&path).map_err(|error| BenchError::form(&path, error))?;
        reader.deserialize().collect::<Result<_, _>>().map_err(|error| BenchError::form(&path, error))
    }

    /// Replaces the record's blocks by these.
    pub fn keep_blocks(&self, blocks: &[Block]) -> Result<(), BenchError> {
        let path = self.path().join(BLOCKS);
        let mut writer = csv::Writer::from_path(&path).map_err(|error| BenchError::form(&path, error))?;
        for block in blocks {
            writer.serialize(block).map_err(|error| BenchError::form(&path, error))?;
        }
        writer.flush().map_err(|cause| BenchError::file(&path, cause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_criterion_left_comes_into_the_record_and_the_report() {
        let folder = tempfile::tempdir().unwrap();
        let one = folder.path().join("criterion/aes/counter/new");
        fs::create_dir_all(&one).unwrap();
        fs::create_dir_all(folder.path().join("criterion/aes/counter/base")).unwrap();
        let about = r#"{"group_id":"aes","function_id":"counter mode","value_str":null,"throughput":{"Elements":1024}}"#;
        fs::write(one.join("benchmark.json"), about).unwrap();
        let median = r#"{"confidence_level":0.95,"lower_bound":1000.0,"upper_bound":1100.0}"#;
        let estimates = format!(
            r#"{{"mean":{{}},"median":{{"confidence_interval":{median},"point_estimate":1024.0,"standard_error":1.0}}}}"#
        );
        fs::write(one.join("estimates.json"), estimates).unwrap();
        let blocks = collect(&folder.path().join("criterion")).unwrap();
        assert_eq!(blocks.len(), 1);
        assert_eq!((blocks[0].elements, blocks[0].median_ns), (1024, 1.0));
        let record = Folder::open(&folder.path().join("record")).unwrap();
        assert!(record.blocks().unwrap().is_empty());
        record.keep_blocks(&blocks).unwrap();
        assert_eq!(record.blocks().unwrap(), blocks);
        assert!(record.read_all().unwrap().is_empty(), "blocks are no runs");
        assert!(table(&blocks).contains("| aes: counter mode | **1.00** | 0.977–1.07 | 1024 |"));
        fs::write(one.join("estimates.json"), "{").unwrap();
        assert!(collect(&folder.path().join("criterion")).is_err());
    }
}
