//! Small files to start with, in every format of tables. Together they cover most choices of a writer.
//!
//! This program makes them, so that a reader sees what is in them.

use std::io::Write;
use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::*;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field, Fields};
use flate2::{Compression as Effort, GzBuilder};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{
    EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion,
};

/// The bytes that the target reads first: the rule of the key, and what to do with faults.
const RAW: [u8; 2] = [0, 0];
const EMAIL: [u8; 2] = [2, 2];
const INT: [u8; 2] = [8, 8];

const CSV: &[u8] = b"k,v\nAda@example.org,\"x,\"\"y\"\r\n,z\nbob@example.org,\"a\nb\"\n";

/// A file behind the two bytes that the target reads first.
fn seed(settings: [u8; 2], file: Vec<u8>) -> Vec<u8> {
    [settings.to_vec(), file].concat()
}

/// Two columns: the key, and a column that is only copied.
fn table(key: ArrayRef, value: ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable([("k", key, true), ("v", value, true)]).unwrap()
}

fn mails(rows: u32) -> ArrayRef {
    Arc::new(StringArray::from_iter((0..rows).map(|row| (row % 5 != 3).then(|| format!("User{row}@a.org")))))
}

fn scores(rows: u32) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values((0..rows).map(f64::from)))
}

fn numbers(rows: i32) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values((0..rows).map(|row| row * row - 9)))
}

/// A list, a structure and a map of it, beside a key.
fn nested() -> RecordBatch {
    let lists = ListArray::from_iter_primitive::<arrow_array::types::Int32Type, _, _>([
        Some(vec![Some(1), None, Some(3)]),
        None,
        Some(Vec::new()),
    ]);
    let fields = Fields::from(vec![
        Field::new("a", DataType::Utf8, true),
        Field::new("l", lists.data_type().clone(), true),
    ]);
    let inner: Vec<ArrayRef> =
        vec![Arc::new(StringArray::from(vec![Some("x"), None, Some("")])), Arc::new(lists)];
    table(numbers(3), Arc::new(StructArray::new(fields, inner, None)))
}

/// A batch for each kind of column.
fn batches() -> Vec<([u8; 2], RecordBatch)> {
    let words = || StringArray::from(vec![Some("one"), None, Some("three"), Some("three")]);
    let codes: DictionaryArray<Int8Type> = words().iter().collect();
    let times =
        TimestampMillisecondArray::from(vec![Some(0), None, Some(-1), Some(1 << 40)]).with_timezone("UTC");
    let decimals =
        Decimal128Array::from(vec![Some(125), None, Some(-5), Some(0)]).with_precision_and_scale(9, 2);
    let fixed = FixedSizeBinaryArray::try_from_iter(["abcd", "efgh", "ijkl", "mnop"].iter()).unwrap();
    let flags = BooleanArray::from(vec![Some(true), None, Some(false), Some(true)]);
    let views = StringViewArray::from(vec![Some("short"), None, Some("longer than twelve bytes"), Some("")]);
    let blobs =
        BinaryViewArray::from_iter([Some(&b"\xff\x00"[..]), None, Some(b"0123456789abcdef"), Some(b"")]);
    let days = Date32Array::from(vec![Some(0), None, Some(-719_162), Some(20_000)]);
    let large = LargeBinaryArray::from_opt_vec(vec![Some(b"a"), None, Some(b""), Some(b"bcd")]);
    vec![
        (EMAIL, table(mails(4), scores(4))),
        (INT, table(numbers(4), Arc::new(words()))),
        (RAW, table(Arc::new(codes), Arc::new(times))),
        (RAW, table(Arc::new(decimals.unwrap()), Arc::new(fixed))),
        (RAW, table(Arc::new(views), Arc::new(flags))),
        (RAW, table(Arc::new(blobs), Arc::new(days))),
        (RAW, table(Arc::new(large), Arc::new(NullArray::new(4)))),
        (RAW, nested()),
    ]
}

/// The choices of a writer of Parquet.
fn choices() -> Vec<WriterPropertiesBuilder> {
    let plain = || WriterProperties::builder().set_statistics_enabled(EnabledStatistics::None);
    let by = |encoding| plain().set_dictionary_enabled(false).set_column_encoding("k".into(), encoding);
    let packed = [
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::ZSTD(Default::default()),
        Compression::LZ4_RAW,
        Compression::BROTLI(Default::default()),
    ];
    let second = || WriterProperties::builder().set_writer_version(WriterVersion::PARQUET_2_0);
    [plain(), by(Encoding::PLAIN), by(Encoding::DELTA_BYTE_ARRAY), by(Encoding::DELTA_LENGTH_BYTE_ARRAY)]
        .into_iter()
        .chain(packed.map(|packed| plain().set_compression(packed)))
        .chain([second(), second().set_data_page_row_count_limit(4).set_compression(Compression::SNAPPY)])
        .chain([WriterProperties::builder().set_bloom_filter_enabled(true)])
        .collect()
}

fn parquet_of(batch: &RecordBatch, properties: WriterProperties) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    // Two row groups, the second one without rows if there is one row only.
    let half = batch.num_rows() / 2;
    for part in [batch.slice(0, half), batch.slice(half, batch.num_rows() - half)] {
        writer.write(&part).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();
    bytes
}

/// Parquet: every kind of column, and for one column all encodings, versions and codecs.
pub(crate) fn parquet() -> Vec<Vec<u8>> {
    let plain = || WriterProperties::builder().set_statistics_enabled(EnabledStatistics::None).build();
    let kinds = batches().into_iter().map(|(settings, batch)| seed(settings, parquet_of(&batch, plain())));
    let many = table(mails(16), scores(16));
    let forms = choices().into_iter().map(|choice| seed(EMAIL, parquet_of(&many, choice.build())));
    let deltas = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_column_encoding("k".into(), Encoding::DELTA_BINARY_PACKED)
        .set_column_encoding("v".into(), Encoding::BYTE_STREAM_SPLIT);
    let deltas = seed(INT, parquet_of(&table(numbers(16), scores(16)), deltas.build()));
    kinds.chain(forms).chain([deltas]).collect()
}

fn ipc(batch: &RecordBatch, as_file: bool, packed: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(packed).unwrap();
    let (mut bytes, schema) = (Vec::new(), batch.schema());
    if as_file {
        let mut writer = FileWriter::try_new_with_options(&mut bytes, &schema, options).unwrap();
        writer.write(batch).and_then(|()| writer.finish()).unwrap();
    } else {
        let mut writer = StreamWriter::try_new_with_options(&mut bytes, &schema, options).unwrap();
        let half = batch.num_rows() / 2;
        writer.write(&batch.slice(0, half)).unwrap();
        writer.write(&batch.slice(half, batch.num_rows() - half)).and_then(|()| writer.finish()).unwrap();
    }
    bytes
}

/// Arrow IPC: every kind of column as file and as stream, and for one column all codecs.
pub(crate) fn arrow() -> Vec<Vec<u8>> {
    let kinds = batches().into_iter().flat_map(|(settings, batch)| {
        [true, false].map(|as_file| seed(settings, ipc(&batch, as_file, None)))
    });
    let many = table(mails(16), scores(16));
    let codecs = [CompressionType::LZ4_FRAME, CompressionType::ZSTD];
    let packed = codecs.into_iter().flat_map(|codec| {
        let many = &many;
        [true, false].map(|as_file| seed(EMAIL, ipc(many, as_file, Some(codec))))
    });
    kinds.chain(packed).chain(claims()).collect()
}

/// Packed buffers whose stated length is more than any memory, or a few bytes more than the true one.
fn claims() -> Vec<Vec<u8>> {
    let many = table(mails(16), scores(16));
    let whole = ipc(&many, false, Some(CompressionType::LZ4_FRAME));
    let lengths = whole.windows(8).enumerate().filter(|(_, bytes)| **bytes == 128u64.to_le_bytes());
    let altered = lengths.flat_map(|(at, _)| {
        let whole = &whole;
        [1, 3, 5].map(|byte| {
            let mut bytes = whole.clone();
            bytes[at + byte] = 0x10;
            seed(EMAIL, bytes)
        })
    });
    altered.collect()
}

/// Packs one member with gzip, with the given effort.
pub(crate) fn gzip_member(text: &[u8], effort: u32) -> Vec<u8> {
    let mut member = GzBuilder::new().write(Vec::new(), Effort::new(effort));
    member.write_all(text).and_then(|()| member.finish()).unwrap()
}

/// gzip: stored, fixed and dynamic blocks, one member and two, all header fields, and one cut.
pub(crate) fn gzip() -> Vec<Vec<u8>> {
    let long = CSV.repeat(20);
    let mut named = GzBuilder::new()
        .filename("a.csv")
        .comment("c")
        .extra(vec![1, 2, 0, 0])
        .mtime(7)
        .write(Vec::new(), Effort::fast());
    named.write_all(CSV).unwrap();
    let whole = gzip_member(CSV, 9);
    [
        gzip_member(CSV, 0),
        gzip_member(&long[..600], 1),
        gzip_member(&long[..600], 9),
        named.finish().unwrap(),
        [gzip_member(&CSV[..9], 6), gzip_member(&CSV[9..], 6)].concat(),
        [gzip_member(b"", 6), whole.clone()].concat(),
        whole[..whole.len() - 5].to_vec(),
        whole,
    ]
    .map(|file| seed(EMAIL, file))
    .into()
}

/// Packs one frame with Zstandard.
pub(crate) fn zstd_frame(text: &[u8], level: i32) -> Vec<u8> {
    zstd::encode_all(text, level).unwrap()
}

/// Zstandard: raw, repeated and packed blocks, with and without a checksum, several frames, one to be skipped, and one cut.
pub(crate) fn zstd() -> Vec<Vec<u8>> {
    let long = [&CSV.repeat(8)[..], b"1,", &[b'x'; 900], b"\n"].concat();
    let mut checked = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    checked.include_checksum(true).and_then(|()| checked.write_all(&long)).unwrap();
    let skipped = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc";
    let whole = zstd_frame(CSV, 3);
    [
        whole.clone(),
        zstd_frame(&long, 1),
        zstd_frame(&long, 19),
        checked.finish().unwrap(),
        [zstd_frame(&CSV[..9], 3), zstd_frame(&CSV[9..], 3)].concat(),
        [&whole, &skipped[..], &whole].concat(),
        whole[..whole.len() - 3].to_vec(),
    ]
    .map(|file| seed(EMAIL, file))
    .into()
}
