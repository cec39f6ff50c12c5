//! The side that waits for the partner.
//!
//! Every caller is handled on a thread of its own, a bounded number at once; when one more comes, the one who has been
//! at the door longest is sent away. So neither silence nor a crowd keeps the partner out.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rand_core::CryptoRng;
use rustix::event::{PollFd, PollFlags, poll};

use super::connect::timespec;
use super::shake::{Shaken, Trouble, shake};
use super::tls::{Role, Tls};
use super::{
    HANDSHAKE_LIMIT, NetEvent, POLL, Patience, Security, Unresolved, check_form, check_loopback, hello,
    nonce, resolve,
};
use crate::Options;
use crate::error::{NetError, StrangerReason};

/// Handshakes at the same time.
const VISITORS: usize = 32;

pub(super) fn listen(
    text: &str,
    security: &Security<'_>,
    options: &Options,
    rng: &mut dyn CryptoRng,
    on_event: &mut dyn FnMut(NetEvent),
) -> Result<Shaken, NetError> {
    check_form(text)?;
    let patience = Patience::new(options);
    let tls = super::tls_of(security)?.map(Arc::new);
    let listener = bind(text, security, &patience)?;
    let failed = |error: &io::Error| NetError::Bind { address: text.to_owned(), cause: error.to_string() };
    let address = listener.local_addr().map_err(|error| failed(&error))?;
    let mut door = Door::new(tls).map_err(|error| failed(&error))?;
    on_event(NetEvent::Listening(address));
    loop {
        patience.cancel.check()?;
        if patience.left().is_zero() {
            return Err(door.nobody_came(address, patience.waited()));
        }
        door.wait(&listener, POLL.min(patience.left()), &patience)?;
        // No more at once than there is room for, so that a crowd does not keep the reports waiting.
        for _ in 0..VISITORS {
            match listener.accept() {
                Ok((socket, from)) => door.admit(socket, from, nonce(rng)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // Out of file descriptors, or a caller gone already: both pass.
                Err(_) => {
                    patience.cancel.sleep(Duration::from_millis(10))?;
                    break;
                }
            }
        }
        while let Ok(report) = door.reports.try_recv() {
            match door.judge(report)? {
                Ok(shaken) => return Ok(shaken),
                Err(event) => on_event(event),
            }
        }
    }
}

fn bind(text: &str, security: &Security<'_>, patience: &Patience<'_>) -> Result<TcpListener, NetError> {
    let failed = |cause: String| NetError::Bind { address: text.to_owned(), cause };
    let addresses = resolve(text, patience).map_err(|unresolved| match unresolved {
        Unresolved::Name(cause) => failed(cause),
        Unresolved::Fatal(error) => error,
    })?;
    for address in &addresses {
        check_loopback(text, address, security)?;
    }
    let listener = TcpListener::bind(&addresses[..]).map_err(|error| failed(error.to_string()))?;
    listener.set_nonblocking(true).map_err(|error| failed(error.to_string()))?;
    Ok(listener)
}

/// Those who are shaking hands, and what became of the others.
struct Door {
    tls: Option<Arc<Tls>>,
    visitors: VecDeque<Visitor>,
    next: u64,
    reports: mpsc::Receiver<Report>,
    sender: mpsc::Sender<Report>,
    /// A byte comes out of the first when there is a report.
    bell: UnixStream,
    rope: UnixStream,
    strangers: u64,
    last: Option<StrangerReason>,
    other_key: Option<crate::PublicKey>,
}

struct Visitor {
    number: u64,
    socket: TcpStream,
    stop: Arc<AtomicBool>,
}

struct Report {
    number: u64,
    from: SocketAddr,
    outcome: Result<Shaken, Trouble>,
}

impl Door {
    fn new(tls: Option<Arc<Tls>>) -> io::Result<Self> {
        let (bell, rope) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        rope.set_nonblocking(true)?;
        let (sender, reports) = mpsc::channel();
        let visitors = VecDeque::new();
        Ok(Self {
            tls,
            visitors,
            next: 0,
            reports,
            sender,
            bell,
            rope,
            strangers: 0,
            last: None,
            other_key: None,
        })
    }

    /// Waits for a caller or a report.
    fn wait(
        &mut self,
        listener: &TcpListener,
        limit: Duration,
        patience: &Patience<'_>,
    ) -> Result<(), NetError> {
        let mut interest = [PollFd::new(listener, PollFlags::IN), PollFd::new(&self.bell, PollFlags::IN)];
        if poll(&mut interest, Some(&timespec(limit))).is_err() {
            // Interrupted, or short of memory: both pass.
            patience.cancel.sleep(Duration::from_millis(1))?;
        }
        let mut rung = [0; 64];
        while self.bell.read(&mut rung).is_ok_and(|length| length > 0) {}
        Ok(())
    }

    fn admit(&mut self, socket: TcpStream, from: SocketAddr, nonce: [u8; 32]) {
        if self.visitors.len() >= VISITORS
            && let Some(oldest) = self.visitors.pop_front()
        {
            oldest.send_away();
        }
        let stop = Arc::new(AtomicBool::new(false));
        let number = self.next;
        self.next += 1;
        let (Ok(clone), Ok(rope)) = (socket.try_clone(), self.rope.try_clone()) else { return };
        let (tls, sender, stopped) = (self.tls.clone(), self.sender.clone(), stop.clone());
        let body = move || {
            let deadline = Instant::now() + HANDSHAKE_LIMIT;
            let stop = || stopped.load(Relaxed);
            let outcome = shake(socket, Role::Server, tls.as_deref(), nonce, deadline, &stop);
            // Nobody listens any more once the partner has come, and a full pipe has rung already.
            let _ = sender.send(Report { number, from, outcome });
            let _ = (&rope).write(&[0]);
        };
        // Without a thread the caller is dropped, and may come again.
        if thread::Builder::new().name("vesica-net-visitor".into()).spawn(body).is_ok() {
            self.visitors.push_back(Visitor { number, socket: clone, stop });
        }
    }

    /// The partner, or somebody else to be told of, or an end to the waiting.
    fn judge(&mut self, report: Report) -> Result<Result<Shaken, NetEvent>, NetError> {
        self.visitors.retain(|visitor| visitor.number != report.number);
        let reason = match report.outcome {
            Ok(shaken) => return Ok(Ok(shaken)),
            Err(Trouble::Version(theirs)) => {
                return Err(NetError::VersionMismatch { mine: hello::VERSION, theirs });
            }
            Err(Trouble::Ours(error)) => return Err(error),
            Err(Trouble::OtherKey(key)) => StrangerReason::OtherKey(key),
            Err(Trouble::RefusedUs) => StrangerReason::RefusedUs,
            Err(Trouble::NotVesica) => StrangerReason::NotVesica,
            Err(Trouble::TooSlow | Trouble::Stopped) => StrangerReason::TooSlow,
            Err(Trouble::ClosedEarly | Trouble::Io(_)) => StrangerReason::ClosedEarly,
        };
        self.strangers += 1;
        self.last = Some(reason.clone());
        if let StrangerReason::OtherKey(key) = reason {
            self.other_key = Some(key);
        }
        Ok(Err(NetEvent::StrangerDropped { from: report.from, reason }))
    }

    /// Somebody with another key is most likely the partner, with a key that we were not told of.
    fn nobody_came(&mut self, address: SocketAddr, waited: Duration) -> NetError {
        match (&self.tls, self.other_key, self.last.take()) {
            (Some(tls), Some(presented), _) => NetError::WrongPeer { expected: *tls.peer(), presented },
            (Some(tls), None, Some(StrangerReason::RefusedUs)) => {
                NetError::RefusedByPeer { ours: *tls.ours() }
            }
            (_, _, last) => NetError::NobodyCame { address, waited, strangers: self.strangers, last },
        }
    }
}

impl Visitor {
    fn send_away(&self) {
        self.stop.store(true, Relaxed);
        // Fails if it has gone by itself.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.visitors.iter().for_each(Visitor::send_away);
    }
}
