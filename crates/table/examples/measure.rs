//! Nanoseconds a row of each step, on generated files: `measure [ROWS] [plain|quoted|parquet ...] [load]
//! [COLUMN:RULE ...]`, 2^20 rows, all files, all steps and `email:email` by default.
//!
//! The files have four columns (id, e-mail, name, score) of together about 54 bytes a row and lie in the
//! temporary directory; in the second one every name is quoted, the third one is Parquet (Snappy). `load`
//! reads the file from the page cache, applies the rule, digests, sorts the digests and looks for duplicates;
//! what the last two take is measured on as many other digests and said too. Each figure is the least of five
//! runs: wall time, and processor time of the thread where the system tells it.

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
use vesica_encode::items::{Encoding, ItemsBuilder, KeyKind, OnDuplicates, Width};
use vesica_table::{Input, KeySpec, Request};

const RUNS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut rows: u64 = 1 << 20;
    let (mut files, mut keys, mut load_only) = (Vec::new(), Vec::<KeySpec>::new(), false);
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "plain" | "quoted" | "parquet" => files.push(argument),
            "load" => load_only = true,
            number if number.bytes().all(|byte| byte.is_ascii_digit()) => rows = number.parse()?,
            key => keys.push(key.parse()?),
        }
    }
    if files.is_empty() {
        files = ["plain", "quoted", "parquet"].map(String::from).into();
    }
    if keys.is_empty() {
        keys.push("email:email".parse()?);
    }
    for kind in files {
        let file = NamedTempFile::new()?;
        match kind.as_str() {
            "parquet" => parquet(rows, file.reopen()?)?,
            "quoted" => generate(rows, "\"", &mut BufWriter::new(file.as_file()))?,
            _ => generate(rows, "", &mut BufWriter::new(file.as_file()))?,
        }
        println!("{rows} rows of {:.1} bytes, {kind}", file.as_file().metadata()?.len() as f64 / rows as f64);
        measure(&file, rows, &keys, load_only)?;
    }
    Ok(())
}

/// Nanoseconds that this thread has run; 0 where the system does not tell.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0.0)
}

fn measure(file: &NamedTempFile, rows: u64, keys: &[KeySpec], load_only: bool) -> Result<(), Box<dyn Error>> {
    for width in [Width::Digest128, Width::Digest256] {
        let request = Request::new(keys.to_vec(), Encoding::Digest(width));
        let (mut load, mut processor, mut select) = (f64::MAX, f64::MAX, [f64::MAX; 3]);
        let mut sort = f64::MAX;
        for _ in 0..RUNS {
            let (start, before) = (Instant::now(), processor_time());
            let (table, items) =
                Input::open(file.path())?.load(&request, &mut |_| ControlFlow::Continue(()))?;
            load = load.min(start.elapsed().as_secs_f64());
            processor = processor.min(processor_time() - before);
            sort = sort.min(sorting(rows, width)?);
            if load_only {
                continue;
            }
            for (best, every) in select.iter_mut().zip([usize::MAX, 2, 1]) {
                let start = Instant::now();
                let matches = items.matches((0..items.len()).step_by(every));
                table.select(&matches, &mut std::io::sink(), &mut |_| ControlFlow::Continue(()))?;
                *best = best.min(start.elapsed().as_secs_f64());
            }
        }
        let each = |seconds: f64| seconds * 1e9 / rows as f64;
        let processor = processor / rows as f64;
        println!(
            "{width:?}: load {:.1} ns a row, {processor:.1} of the processor; the sort {:.1}, the rest {:.1}",
            each(load),
            each(sort),
            each(load - sort)
        );
        if load_only {
            continue;
        }
        println!(
            "  select one row {:.1}, half {:.1}, all {:.1}",
            each(select[0]),
            each(select[1]),
            each(select[2])
        );
    }
    Ok(())
}

/// Seconds to sort the digests of so many rows and to look for duplicates.
fn sorting(rows: u64, width: Width) -> Result<f64, Box<dyn Error>> {
    let mut builder = ItemsBuilder::new(Encoding::Digest(width), rows as usize)?;
    for row in 0..rows {
        builder.key(KeyKind::ONE_PART).part(&row.to_le_bytes())?;
        builder.push_key(row)?;
    }
    let start = Instant::now();
    let items = builder.build(OnDuplicates::All)?;
    std::hint::black_box(items.len());
    Ok(start.elapsed().as_secs_f64())
}

/// The table in Parquet, row groups of 2^18 rows, text without dictionaries.
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

fn generate(rows: u64, quote: &str, out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "id,email,name,score")?;
    for row in 0..rows {
        let (name, score) = (number(row) % 100_000, number(row) % 1000);
        writeln!(out, "{row},{},{quote}Name {name}{quote},{score}", email(row))?;
    }
    out.flush()
}
