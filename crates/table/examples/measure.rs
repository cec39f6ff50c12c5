//! Nanoseconds a row of each step, on generated files: `measure [ROWS] [COLUMN:RULE ...]`, 2^20 rows and
//! `email:email` by default.
//!
//! The files have four columns (id, e-mail, name, score) of together about 54 bytes a row and lie in the temporary
//! directory; in the second one every name is quoted, the third one is Parquet (Snappy). Each figure is the least of five
//! runs.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use tempfile::NamedTempFile;
use vesica_encode::items::{Encoding, Width};
use vesica_table::{Input, KeySpec, Request};

const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let rows: u64 = arguments.next().map_or(Ok(1 << 20), |rows| rows.parse())?;
    let mut keys = arguments.map(|key| key.parse()).collect::<Result<Vec<KeySpec>, _>>()?;
    if keys.is_empty() {
        keys.push("email:email".parse()?);
    }
    for quote in ["", "\""] {
        let file = tempfile::NamedTempFile::new()?;
        let bytes = generate(rows, quote, &mut BufWriter::new(file.as_file()))?;
        let quoted = if quote.is_empty() { "" } else { ", with quotes" };
        println!("{rows} rows of {:.1} bytes{quoted}", bytes as f64 / rows as f64);
        measure(&file, rows, &keys)?;
    }
    let file = tempfile::NamedTempFile::new()?;
    parquet(rows, file.reopen()?)?;
    println!("{rows} rows of {:.1} bytes, Parquet", file.as_file().metadata()?.len() as f64 / rows as f64);
    measure(&file, rows, &keys)
}

fn measure(file: &NamedTempFile, rows: u64, keys: &[KeySpec]) -> Result<(), Box<dyn Error>> {
    for width in [Width::Digest128, Width::Digest256] {
        let request = Request::new(keys.to_vec(), Encoding::Digest(width));
        let (mut load, mut select) = (f64::MAX, [f64::MAX; 3]);
        for _ in 0..RUNS {
            let start = Instant::now();
            let (table, items) =
                Input::open(file.path())?.load(&request, &mut |_| ControlFlow::Continue(()))?;
            load = load.min(start.elapsed().as_secs_f64());
            for (best, every) in select.iter_mut().zip([usize::MAX, 2, 1]) {
                let start = Instant::now();
                let matches = items.matches((0..items.len()).step_by(every));
                table.select(&matches, &mut std::io::sink(), &mut |_| ControlFlow::Continue(()))?;
                *best = best.min(start.elapsed().as_secs_f64());
            }
        }
        let each = |seconds: f64| seconds * 1e9 / rows as f64;
        println!("{width:?}: load {:.1} ns a row", each(load));
        println!(
            "  select one row {:.1}, half {:.1}, all {:.1}",
            each(select[0]),
            each(select[1]),
            each(select[2])
        );
    }
    Ok(())
}

/// The same table in Parquet, row groups of 2^18 rows, text without dictionaries.
fn parquet(rows: u64, file: File) -> Result<(), Box<dyn Error>> {
    let properties =
        WriterProperties::builder().set_compression(Compression::SNAPPY).set_dictionary_enabled(false);
    let mut writer = None;
    for start in (0..rows).step_by(1 << 18) {
        let part = start..rows.min(start + (1 << 18));
        let batch = RecordBatch::try_from_iter([
            ("id", Arc::new(UInt64Array::from_iter_values(part.clone())) as ArrayRef),
            ("email", Arc::new(StringArray::from_iter_values(part.clone().map(email)))),
            (
                "name",
                Arc::new(StringArray::from_iter_values(
                    part.clone().map(|row| format!("Name {}", number(row) % 100_000)),
                )),
            ),
            ("score", Arc::new(UInt64Array::from_iter_values(part.map(|row| number(row) % 1000)))),
        ])?;
        if writer.is_none() {
            let properties = Some(properties.clone().build());
            writer = Some(ArrowWriter::try_new(file.try_clone()?, batch.schema(), properties)?);
        }
        if let Some(writer) = &mut writer {
            writer.write(&batch)?;
            writer.flush()?;
        }
    }
    writer.map(ArrowWriter::close).transpose()?;
    Ok(())
}

/// An odd multiplier permutes the numbers, so that the keys are distinct and in no order.
fn number(row: u64) -> u64 {
    row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24
}

fn email(row: u64) -> String {
    format!("user{:013}@example.org", number(row))
}

fn generate(rows: u64, quote: &str, out: &mut impl Write) -> std::io::Result<u64> {
    let mut bytes = writeln!(out, "id,email,name,score").map(|()| 20)?;
    for row in 0..rows {
        let (name, score) = (number(row) % 100_000, number(row) % 1000);
        let line = format!("{row},{},{quote}Name {name}{quote},{score}\n", email(row));
        out.write_all(line.as_bytes())?;
        bytes += line.len() as u64;
    }
    out.flush()?;
    Ok(bytes)
}
