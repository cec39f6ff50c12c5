//! Checks the claimed lengths of compressed Arrow IPC buffers before a decoder allocates memory for them.
//!
//! A compressed buffer begins with its uncompressed length, and the decoder trusts it. One damaged byte could
//! ask for more memory than there is, which aborts the process. (The decoder checks the lengths of messages
//! itself.)

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use arrow_ipc::{Block, CompressionType, root_as_footer, root_as_message};

use crate::input::Input;

const CONTINUATION: [u8; 4] = [0xff; 4];
/// The length of the footer and `ARROW1`, at the end of a file.
const TAIL: u64 = 10;
/// Uncompressed bytes that one byte can stand for: a length in LZ4 grows by 255 a byte, and four bytes of
/// Zstandard may be a block of 128 KiB.
const LZ4_RATIO: u64 = 256;
const ZSTD_RATIO: u64 = 1 << 15;

/// Whether every compressed buffer can be as long as it claims. The decoder finds all other damage.
pub(super) fn plausible(input: &Input, stream: bool) -> io::Result<bool> {
    let (mut file, length) = input.file()?;
    file.seek(SeekFrom::Start(0))?;
    let mut walk = Walk { file: BufReader::new(file), at: 0, length };
    if stream { walk.stream() } else { walk.file() }
}

/// Visits message after message, and skips the bytes between them.
struct Walk {
    file: BufReader<File>,
    at: u64,
    length: u64,
}

impl Walk {
    /// The bytes at an offset; none if the file ends before their end.
    fn bytes(&mut self, at: u64, count: u64) -> io::Result<Option<Vec<u8>>> {
        if at.checked_add(count).is_none_or(|end| end > self.length) {
            return Ok(None);
        }
        self.file.seek_relative(at.cast_signed().wrapping_sub(self.at.cast_signed()))?;
        let mut bytes = Vec::new();
        let read = self.file.by_ref().take(count).read_to_end(&mut bytes)?;
        self.at = at + read as u64;
        Ok((bytes.len() as u64 == count).then_some(bytes))
    }

    fn stream(&mut self) -> io::Result<bool> {
        let mut at = 0;
        loop {
            let Some((metadata, body)) = self.metadata(at)? else { return Ok(true) };
            let Ok(message) = root_as_message(&metadata) else { return Ok(true) };
            let Ok(length) = u64::try_from(message.bodyLength()) else { return Ok(true) };
            if !self.message(&metadata, body)? {
                return Ok(false);
            }
            let Some(next) = body.checked_add(length) else { return Ok(true) };
            at = next;
        }
    }

    fn file(&mut self) -> io::Result<bool> {
        let Some(tail) = self.length.checked_sub(TAIL) else { return Ok(true) };
        let Some(length) = self.number(tail)? else { return Ok(true) };
        let Some(start) = tail.checked_sub(length) else { return Ok(true) };
        let Some(footer) = self.bytes(start, length)? else { return Ok(true) };
        let Ok(footer) = root_as_footer(&footer) else { return Ok(true) };
        let blocks = [footer.dictionaries(), footer.recordBatches()];
        for block in blocks.iter().flatten().flat_map(|blocks| blocks.iter()) {
            if !self.block(block)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The decoder allocates a whole block before it reads any of it, so a block beyond the file's end counts
    /// as damage.
    fn block(&mut self, block: &Block) -> io::Result<bool> {
        let (Ok(at), Ok(head), Ok(rest)) = (
            u64::try_from(block.offset()),
            u64::try_from(block.metaDataLength()),
            u64::try_from(block.bodyLength()),
        ) else {
            return Ok(false);
        };
        // Only the footer says where the body begins: the decoder reads no length before the metadata.
        let (Some(head_bytes), Some(body)) = (self.bytes(at, head)?, at.checked_add(head)) else {
            return Ok(false);
        };
        if body.checked_add(rest).is_none_or(|end| end > self.length) {
            return Ok(false);
        }
        let skipped = if head_bytes.starts_with(&CONTINUATION) { 8 } else { 4 };
        // Copied to a vector, because a flat buffer must be aligned.
        let Some(metadata) = head_bytes.get(skipped..).map(<[u8]>::to_vec) else { return Ok(true) };
        self.message(&metadata, body)
    }

    /// The metadata of the message at an offset, and where it ends; none at the end of a stream.
    fn metadata(&mut self, at: u64) -> io::Result<Option<(Vec<u8>, u64)>> {
        let Some(first) = self.bytes(at, 4)? else { return Ok(None) };
        // Old writers omit the marker before the length.
        let at = if first == CONTINUATION { at + 4 } else { at };
        let Some(length) = self.number(at)?.filter(|length| *length > 0) else { return Ok(None) };
        Ok(self.bytes(at + 4, length)?.map(|metadata| (metadata, at + 4 + length)))
    }

    fn number(&mut self, at: u64) -> io::Result<Option<u64>> {
        let bytes = self.bytes(at, 4)?;
        let number = bytes.and_then(|bytes| Some(i32::from_le_bytes(*bytes.first_chunk()?)));
        Ok(number.and_then(|number| number.try_into().ok()))
    }

    /// The decoder of a file would read bytes behind the metadata as more metadata. A message whose parts do
    /// not lie within its metadata therefore counts as damage.
    fn message(&mut self, metadata: &[u8], body: u64) -> io::Result<bool> {
        let Ok(message) = root_as_message(metadata) else { return Ok(false) };
        let dictionary = || message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data());
        let Some(batch) = message.header_as_record_batch().or_else(dictionary) else { return Ok(true) };
        let (Some(packed), Some(buffers)) = (batch.compression(), batch.buffers()) else { return Ok(true) };
        let ratio = if packed.codec() == CompressionType::LZ4_FRAME { LZ4_RATIO } else { ZSTD_RATIO };
        for buffer in buffers {
            let offset_in_file =
                u64::try_from(buffer.offset()).ok().and_then(|offset| body.checked_add(offset));
            let (Some(offset_in_file), Ok(length)) = (offset_in_file, u64::try_from(buffer.length())) else {
                return Ok(false);
            };
            let claim = if length < 8 { None } else { self.bytes(offset_in_file, 8)? };
            let claim = claim.and_then(|claim| Some(i64::from_le_bytes(*claim.first_chunk()?)));
            // Minus one means that the buffer is not compressed.
            if let Some(claim) = claim.and_then(|claim| u64::try_from(claim).ok())
                && !can_be(claim, (length - 8).saturating_mul(ratio))
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether the compressed bytes can yield so many bytes, and whether the memory for them can be had.
fn can_be(claim: u64, most: u64) -> bool {
    let room = |claim| Vec::<u8>::new().try_reserve_exact(claim).is_ok();
    claim <= most && usize::try_from(claim).is_ok_and(room)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int32Array, RecordBatch};
    use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};

    use crate::error::TableError;
    use crate::testing::{load, request};

    use super::*;

    fn packed(rows: usize, codec: CompressionType, stream: bool) -> Vec<u8> {
        let zeros: ArrayRef = Arc::new(Int32Array::from(vec![0; rows]));
        let batch = RecordBatch::try_from_iter([("k", zeros)]).unwrap();
        let options = IpcWriteOptions::default().try_with_compression(Some(codec)).unwrap();
        let (mut bytes, schema) = (Vec::new(), batch.schema());
        if stream {
            let mut writer = StreamWriter::try_new_with_options(&mut bytes, &schema, options).unwrap();
            writer.write(&batch).and_then(|()| writer.finish()).unwrap();
        } else {
            let mut writer = FileWriter::try_new_with_options(&mut bytes, &schema, options).unwrap();
            writer.write(&batch).and_then(|()| writer.finish()).unwrap();
        }
        bytes
    }

    #[test]
    fn a_block_lies_within_the_file() {
        let whole = packed(1000, CompressionType::LZ4_FRAME, false);
        assert!(load(&whole, &request(&["k"])).is_ok());
        // In the footer: offset, length of the metadata, and of the body.
        let tail = whole.len() - TAIL as usize;
        let footer = tail - i32::from_le_bytes(*whole[tail..].first_chunk().unwrap()) as usize;
        let aligned = whole[footer..tail].to_vec();
        let blocks = root_as_footer(&aligned).unwrap().recordBatches().unwrap();
        let [block] = *blocks.bytes().as_chunks::<24>().0 else { panic!("one batch") };
        let at = footer + whole[footer..].windows(24).position(|bytes| bytes == block).unwrap();
        for (byte, value) in [(5, 1), (7, 0x80), (11, 0x80), (20, 1), (21, 0x10), (23, 0x80)] {
            let mut bytes = whole.clone();
            bytes[at + byte] = value;
            let error = load(&bytes, &request(&["k"])).map(|_| ()).unwrap_err();
            assert!(matches!(error, TableError::Damaged { .. }), "{byte}: {error}");
        }
    }

    #[test]
    fn a_buffer_is_as_long_as_its_bytes_allow() {
        for (codec, stream) in [CompressionType::LZ4_FRAME, CompressionType::ZSTD]
            .into_iter()
            .flat_map(|codec| [(codec, true), (codec, false)])
        {
            // The most that so few bytes can yield is not damage.
            let (table, _) = load(&packed(1 << 20, codec, stream), &request(&["k"])).unwrap();
            assert_eq!(table.report().rows, 1 << 20);
            let whole = packed(1000, codec, stream);
            let at = whole.windows(8).position(|bytes| bytes == 4000u64.to_le_bytes()).unwrap();
            for claim in [1 << 40, 1 << 62, i64::MAX] {
                let mut bytes = whole.clone();
                bytes[at..at + 8].copy_from_slice(&claim.to_le_bytes());
                let loaded = load(&bytes, &request(&["k"]));
                assert!(matches!(loaded, Err(TableError::Damaged { .. })), "{codec:?} {stream} {claim}");
            }
        }
    }
}
