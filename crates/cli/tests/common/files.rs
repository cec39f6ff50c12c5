//! The table of a CSV text `id,email` in other formats.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;

pub(crate) fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zstd(text: &str) -> Vec<u8> {
    zstd::encode_all(text.as_bytes(), zstd::DEFAULT_COMPRESSION_LEVEL).unwrap()
}

pub(crate) fn parquet(text: &str) -> Vec<u8> {
    let rows = || text.lines().skip(1).map(|line| line.split_once(',').unwrap());
    let ids: ArrayRef =
        Arc::new(Int64Array::from_iter_values(rows().map(|(id, _)| id.parse::<i64>().unwrap())));
    let mails: ArrayRef = Arc::new(StringArray::from_iter_values(rows().map(|(_, mail)| mail)));
    let batch = RecordBatch::try_from_iter([("id", ids), ("email", mails)]).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}
