//! Arrow IPC, the file and the stream format.

use std::io::{self, BufReader, Read, Seek, SeekFrom};

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, SchemaRef};

use super::{What, claims, damaged, guarded};
use crate::error::TableError;
use crate::format::Format;
use crate::input::{Fingerprint, Input, OnProgress, Pass};

/// The marker at the end of a stream. The format allows streams without it, but then a truncated stream looks
/// complete.
const END_OF_STREAM: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
const BUFFER: usize = 256 << 10;

/// The record batches of a file, one after the other.
pub(super) struct Messages<'a> {
    input: &'a Input,
    reader: Reader<'a>,
    number: u64,
}

enum Reader<'a> {
    File(Box<FileReader<Pass<'a>>>),
    Stream(Box<StreamReader<BufReader<Pass<'a>>>>),
}

impl<'a> Messages<'a> {
    pub(super) fn open(
        input: &'a Input,
        columns: Option<&[usize]>,
        on_progress: OnProgress<'a>,
    ) -> Result<Self, TableError> {
        let columns = columns.map(<[usize]>::to_vec);
        let stream = input.format() == Format::ArrowStream;
        if stream && !ends_whole(input).map_err(|source| input.read_error(source))? {
            return Err(damaged(input, None, What::EndsEarly));
        }
        match guarded(|| claims::plausible(input, stream)) {
            Some(Ok(true)) => {}
            Some(Err(source)) => return Err(input.read_error(source)),
            _ => return Err(damaged(input, None, What::Data)),
        }
        let pass = input.pass(on_progress)?;
        let opened = guarded(|| {
            Ok(if stream {
                let buffered = BufReader::with_capacity(BUFFER, pass);
                Reader::Stream(Box::new(StreamReader::try_new(buffered, columns)?))
            } else {
                Reader::File(Box::new(FileReader::try_new(pass, columns)?))
            })
        });
        let reader = match opened {
            Some(Ok(reader)) => reader,
            Some(Err(error)) => return Err(explain(input, None, &error)),
            None => return Err(damaged(input, None, What::Data)),
        };
        Ok(Messages { input, reader, number: 0 })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        match &self.reader {
            Reader::File(reader) => reader.schema(),
            Reader::Stream(reader) => reader.schema(),
        }
    }

    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>, TableError> {
        self.number += 1;
        let next = match &mut self.reader {
            Reader::File(reader) => guarded(|| reader.next().transpose()),
            Reader::Stream(reader) => guarded(|| reader.next().transpose()),
        };
        let place = || Some(format!("record batch {}", self.number));
        match next {
            Some(Ok(None)) => self.end().map(|()| None),
            Some(Ok(batch)) => Ok(batch),
            Some(Err(_)) if self.pass().cancelled() => Err(TableError::Cancelled),
            Some(Err(error)) => Err(explain(self.input, place(), &error)),
            None => Err(damaged(self.input, place(), What::Data)),
        }
    }

    /// Checks that nothing follows the end of the stream, such as a second stream of two concatenated files.
    fn end(&mut self) -> Result<(), TableError> {
        let Reader::Stream(reader) = &mut self.reader else { return Ok(()) };
        let mut rest = [0; 1];
        match reader.get_mut().read(&mut rest) {
            Ok(0) => Ok(()),
            Ok(_) => Err(damaged(self.input, Some("after the end of its stream".to_owned()), What::Data)),
            Err(source) => Err(self.input.read_error(source)),
        }
    }

    fn pass(&self) -> &Pass<'a> {
        match &self.reader {
            Reader::File(reader) => reader.get_ref(),
            Reader::Stream(reader) => reader.get_ref().get_ref(),
        }
    }

    /// The notes in the footer of a file.
    pub(super) fn notes(&self) -> Vec<(String, String)> {
        match &self.reader {
            Reader::File(reader) => {
                reader.custom_metadata().iter().map(|(key, value)| (key.clone(), value.clone())).collect()
            }
            Reader::Stream(_) => Vec::new(),
        }
    }

    /// The fingerprint of the bytes in the order of reading, which the bytes themselves determine.
    pub(super) fn fingerprint(&self) -> Fingerprint {
        self.pass().fingerprint()
    }
}

fn explain(input: &Input, place: Option<String>, error: &ArrowError) -> TableError {
    match error {
        ArrowError::IoError(_, source) if source.to_string() == Pass::CANCELLED => TableError::Cancelled,
        error => damaged(input, place, error.into()),
    }
}

fn ends_whole(input: &Input) -> io::Result<bool> {
    let (mut file, length) = input.file()?;
    let mut end = [0; END_OF_STREAM.len()];
    if length < end.len() as u64 {
        return Ok(false);
    }
    file.seek(SeekFrom::Start(length - end.len() as u64))?;
    file.read_exact(&mut end)?;
    Ok(end == END_OF_STREAM)
}
