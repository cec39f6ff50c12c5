//! The two threads of a connection: the writer, which also sends the heartbeats, and the reader.
//!
//! Over TLS both use one rustls connection behind a lock that is never held across a socket call. Only the writer
//! takes ciphertext out, so that records reach the socket in the order in which they were made.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustls::Connection as TlsConnection;
use vesica_channel::{ChannelError, Frame, HEADER, Kind, LONGEST, header, parse_header};

use crate::socket::{Sent, SocketTransport, WriterTask};
use crate::socket_writer::{Pace, Plan};

/// Bytes gathered for one write to the socket, and plaintext given to TLS at a time.
const PIECE: usize = 64 << 10;
/// Bytes read ahead where a frame begins; what it has beyond goes straight into its buffer, and the next header with it.
const READ_AHEAD: usize = 8 << 10;
/// Ciphertext taken from the socket at a time.
const CIPHERTEXT: usize = 64 << 10;

/// The TLS state of both threads.
type Tls = Arc<Mutex<TlsConnection>>;

/// Starts both threads. The socket blocks and has no timeouts.
pub(crate) fn start(
    transport: &Arc<SocketTransport>,
    socket: TcpStream,
    pace: Box<dyn Pace>,
    tls: Option<TlsConnection>,
    heartbeat: Duration,
) -> Result<Vec<JoinHandle<()>>, ChannelError> {
    let tls = tls.map(|connection| Arc::new(Mutex::new(connection)));
    let writer = Writer { pace, tls: tls.clone(), out: Vec::new() };
    let reader = Reader {
        transport: transport.clone(),
        socket,
        tls,
        ciphertext: Vec::new(),
        unread: 0..0,
        ended: false,
    };
    let spawn = |name: &str, body: Box<dyn FnOnce() + Send>| {
        thread::Builder::new()
            .name(name.into())
            .spawn(body)
            .map_err(|error| ChannelError::system("cannot start a thread", &error))
    };
    let writing = transport.clone();
    let reading = spawn("vesica-net-reader", Box::new(move || read_frames(reader)))?;
    match spawn("vesica-net-writer", Box::new(move || write_frames(&writing, writer, heartbeat))) {
        Ok(writing) => Ok(vec![reading, writing]),
        Err(error) => {
            transport.fail(error.clone());
            // It ends at once: the socket is closed.
            let _ = reading.join();
            Err(error)
        }
    }
}

fn lock(tls: &Tls) -> MutexGuard<'_, TlsConnection> {
    tls.lock().unwrap_or_else(PoisonError::into_inner)
}

// ---- the writer -----------------------------------------------------------------------------------------------------

struct Writer {
    pace: Box<dyn Pace>,
    tls: Option<Tls>,
    /// What is to be written next: ciphertext, or small frames gathered.
    out: Vec<u8>,
}

fn write_frames(transport: &SocketTransport, mut writer: Writer, heartbeat: Duration) {
    writer.pace.enter();
    let mut batch = VecDeque::new();
    let mut spent = Vec::new();
    let how = loop {
        // Who is done says no more, and waits for the peer.
        let beat = if transport.is_talking() { heartbeat } else { LONGEST };
        let Plan { frames, until } = writer.pace.plan(beat);
        let outcome = match transport.next_outgoing(&mut batch, &mut spent, frames, until) {
            WriterTask::Frames => writer.send_batch(&mut batch, &mut spent),
            WriterTask::TlsOutput => writer.flush(),
            WriterTask::TimedOut if writer.pace.wants_heartbeat(beat) => {
                writer.send(&header(Kind::Heartbeat, 0)).and_then(|()| writer.flush())
            }
            WriterTask::TimedOut => Ok(()),
            WriterTask::Last if !writer.pace.drained() => Ok(()),
            WriterTask::Last => {
                // The peer has all it needs in the frames: closing well is a courtesy.
                let _ = writer.close();
                break Sent::All;
            }
            WriterTask::Closed => break Sent::All,
        };
        if outcome.and_then(|()| writer.pace.deliver()).is_err() {
            break Sent::Failed;
        }
    };
    transport.outgoing_ended(how);
}

impl Writer {
    fn send_batch(&mut self, batch: &mut VecDeque<Frame>, spent: &mut Vec<Vec<u8>>) -> io::Result<()> {
        for frame in batch.drain(..) {
            self.send(&frame.bytes)?;
            spent.push(frame.bytes);
        }
        self.flush()
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(tls) = self.tls.clone() else {
            if self.out.len() + bytes.len() > PIECE {
                self.write_out()?;
            }
            if bytes.len() < PIECE {
                self.out.extend_from_slice(bytes);
                return Ok(());
            }
            return self.pace.write(bytes);
        };
        for piece in bytes.chunks(PIECE) {
            let mut rest = piece;
            while !rest.is_empty() {
                let mut connection = lock(&tls);
                let taken = connection.writer().write(rest)?;
                take_ciphertext(&mut connection, &mut self.out)?;
                rest = &rest[taken..];
            }
            if self.out.len() >= PIECE {
                self.write_out()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(tls) = &self.tls {
            take_ciphertext(&mut lock(tls), &mut self.out)?;
        }
        self.write_out()
    }

    fn close(&mut self) -> io::Result<()> {
        if let Some(tls) = &self.tls {
            lock(tls).send_close_notify();
        }
        self.flush()?;
        self.pace.shutdown()
    }

    fn write_out(&mut self) -> io::Result<()> {
        self.pace.write(&self.out)?;
        self.out.clear();
        Ok(())
    }
}

fn take_ciphertext(connection: &mut TlsConnection, out: &mut Vec<u8>) -> io::Result<()> {
    while connection.wants_write() {
        connection.write_tls(out)?;
    }
    Ok(())
}

// ---- the reader -----------------------------------------------------------------------------------------------------

struct Reader {
    transport: Arc<SocketTransport>,
    socket: TcpStream,
    tls: Option<Tls>,
    ciphertext: Vec<u8>,
    /// The part of `ciphertext` that TLS has not got yet.
    unread: Range<usize>,
    /// The peer has closed its direction.
    ended: bool,
}

fn read_frames(mut reader: Reader) {
    if reader.tls.is_some() {
        reader.ciphertext = vec![0; CIPHERTEXT];
    }
    let transport = reader.transport.clone();
    let mut source = Frames::new(reader);
    let mut buffer = Vec::new();
    let error = loop {
        match source.next(buffer) {
            Ok(frame) => match transport.incoming(frame) {
                Some(spare) => buffer = spare,
                None => break None,
            },
            Err(error) => break error,
        }
    };
    transport.incoming_ended(error);
}

/// Takes a stream of bytes apart into frames.
pub(crate) struct Frames<R> {
    source: R,
    ahead: Vec<u8>,
    /// The part of `ahead` that no frame has got yet.
    unread: Range<usize>,
}

impl<R: Read> Frames<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, ahead: vec![0; READ_AHEAD], unread: 0..0 }
    }

    /// The next frame, in this buffer, or why there is none; nothing special where the connection just ended.
    pub(crate) fn next(&mut self, mut buffer: Vec<u8>) -> Result<Frame, Option<ChannelError>> {
        while self.unread.len() < HEADER {
            self.read_ahead()?;
        }
        let mut head = [0; HEADER];
        head.copy_from_slice(&self.ahead[self.unread.start..][..HEADER]);
        let (kind, length) = parse_header(head)?;
        let whole = HEADER + length;
        // Room for the header that follows: a stream of long frames takes one read for each.
        buffer.resize(whole + HEADER, 0);
        let mut filled = whole.min(self.unread.len());
        buffer[..filled].copy_from_slice(&self.ahead[self.unread.start..][..filled]);
        self.unread.start += filled;
        while filled < whole {
            filled += self.read(&mut buffer[filled..])?;
        }
        if filled > whole {
            // Everything read ahead before is in the frame.
            self.unread = 0..filled - whole;
            self.ahead[self.unread.clone()].copy_from_slice(&buffer[whole..filled]);
        }
        buffer.truncate(whole);
        Ok(Frame { kind, bytes: buffer })
    }

    fn read_ahead(&mut self) -> Result<(), Option<ChannelError>> {
        self.ahead.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        let mut ahead = std::mem::take(&mut self.ahead);
        let length = self.read(&mut ahead[self.unread.end..]);
        self.ahead = ahead;
        self.unread.end += length?;
        Ok(())
    }

    /// Reads something, once.
    fn read(&mut self, into: &mut [u8]) -> Result<usize, Option<ChannelError>> {
        loop {
            match self.source.read(into) {
                Ok(0) => return Err(None),
                Ok(length) => return Ok(length),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(damage(&error)),
            }
        }
    }
}

fn damage(error: &io::Error) -> Option<ChannelError> {
    let cause = error.get_ref()?.downcast_ref::<rustls::Error>()?.to_string();
    Some(ChannelError::Damaged { cause })
}

impl Read for Reader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &self.tls else {
            let length = self.socket.read(into)?;
            self.transport.count_received(length);
            self.transport.heard();
            return Ok(length);
        };
        let tls = tls.clone();
        loop {
            let length = self.decrypt(&mut lock(&tls), into)?;
            if length > 0 {
                // Not before: bytes that make no whole record could be anybody's.
                self.transport.heard();
            }
            if length > 0 || into.is_empty() || self.ended {
                return Ok(length);
            }
            let length = self.socket.read(&mut self.ciphertext)?;
            self.transport.count_received(length);
            self.unread = 0..length;
            self.ended = length == 0;
        }
    }
}

impl Reader {
    /// Decrypts as much as there is, or as fits. rustls holds one record of plaintext only, so records go through it
    /// one at a time.
    fn decrypt(&mut self, connection: &mut TlsConnection, into: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < into.len() {
            match connection.reader().read(&mut into[filled..]) {
                Ok(0) => self.ended = true,
                Ok(length) => filled += length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            if filled == into.len() || self.unread.is_empty() || self.ended {
                break;
            }
            let mut ciphertext = &self.ciphertext[self.unread.clone()];
            self.unread.start += connection.read_tls(&mut ciphertext)?;
            let outcome = connection.process_new_packets();
            if connection.wants_write() {
                self.transport.wake_writer();
            }
            outcome.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        }
        Ok(filled)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use vesica_channel::transport::{FrameSender as _, Meanwhile, Urgency};

    use super::*;
    use crate::options::Options;
    use crate::socket::End;
    use crate::socket_writer::SocketWriter;

    /// Counts how often the writer asks what to do.
    struct Counting(SocketWriter, Arc<AtomicUsize>);

    impl Pace for Counting {
        fn plan(&self, heartbeat: Duration) -> Plan {
            self.1.fetch_add(1, Relaxed);
            self.0.plan(heartbeat)
        }

        fn wants_heartbeat(&self, heartbeat: Duration) -> bool {
            self.0.wants_heartbeat(heartbeat)
        }

        fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
            self.0.write(bytes)
        }

        fn shutdown(&self) -> io::Result<()> {
            self.0.shutdown()
        }
    }

    #[test]
    fn who_is_done_sends_no_heartbeats_and_sleeps() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut peer = listener.accept().unwrap().0;
        let (socket, other) = (socket.try_clone().unwrap(), socket);
        let transport = SocketTransport::new(socket, Arc::default(), Duration::ZERO, &Options::default());
        let plans = Arc::<AtomicUsize>::default();
        let pace = Counting(SocketWriter::new(transport.clone(), other), plans.clone());
        let writer = Writer { pace: Box::new(pace), tls: None, out: Vec::new() };
        thread::scope(|scope| {
            scope.spawn(|| write_frames(&transport, writer, Duration::from_millis(20)));
            let done = Frame::new(Kind::Done, b"");
            End(transport.clone()).push(done, Urgency::Now, Meanwhile::TakeIn).unwrap();
            thread::sleep(Duration::from_millis(300));
            transport.fail(ChannelError::Closed);
        });
        assert!(plans.load(Relaxed) <= 6, "{plans:?}");
        let mut said = Vec::new();
        peer.read_to_end(&mut said).unwrap();
        assert_eq!(said, Frame::new(Kind::Done, b"").bytes, "its last word");
    }

    /// Gives out at most so many bytes a read: 1, 2, …, `most`, 1, 2, ….
    struct Halting<'a> {
        bytes: &'a [u8],
        next: usize,
        most: usize,
    }

    impl Read for Halting<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.next = self.next % self.most + 1;
            let (now, later) = self.bytes.split_at(self.next.min(into.len()).min(self.bytes.len()));
            into[..now.len()].copy_from_slice(now);
            self.bytes = later;
            Ok(now.len())
        }
    }

    /// The slow reference: header, then payload, each read whole.
    fn one_by_one(mut bytes: &[u8]) -> Vec<(Kind, Vec<u8>)> {
        let mut frames = Vec::new();
        while let Some((head, rest)) = bytes.split_first_chunk() {
            let (kind, length) = parse_header(*head).unwrap();
            frames.push((kind, rest[..length].to_vec()));
            bytes = &rest[length..];
        }
        frames
    }

    #[test]
    fn frames_are_the_same_however_the_stream_is_cut() {
        let mut bytes = Vec::new();
        for (number, length) in
            [1, 4, 5, 6, 3000, 0, 8187, 8192, 8197, 65536, 65536, 65536, 2, 0, 20_000].into_iter().enumerate()
        {
            let kind = if length == 0 { Kind::Heartbeat } else { Kind::Data };
            bytes.extend_from_slice(&Frame::new(kind, &vec![number as u8; length]).bytes);
        }
        let expected = one_by_one(&bytes);
        for most in [1, 2, 5, 7, 4000, 10_000, 100_000] {
            let mut frames = Frames::new(Halting { bytes: &bytes, next: 0, most });
            // The buffer of the last frame, as it is.
            let mut buffer = Vec::new();
            for expected in &expected {
                let frame = frames.next(buffer).unwrap_or_else(|_| panic!("a frame is missing"));
                assert_eq!((frame.kind, frame.payload()), (expected.0, &expected.1[..]));
                buffer = frame.bytes;
            }
            assert!(matches!(frames.next(buffer), Err(None)), "nothing more");
        }
    }

    #[test]
    fn a_frame_that_is_cut_short_is_none() {
        let bytes = Frame::new(Kind::Data, &[7; 70_000]).bytes;
        for length in [0, 1, 4, 5, 100, 8192, 69_999, 70_004] {
            let mut frames = Frames::new(Halting { bytes: &bytes[..length], next: 0, most: 9000 });
            assert!(matches!(frames.next(Vec::new()), Err(None)));
        }
    }
}
