//! A writer at the pace of a simulated network; see [`shaped`](crate::shaped).

use std::io;
use std::time::{Duration, Instant};

use vesica_channel::DelayLine;
use vesica_channel::shaped::Network;

use crate::socket_writer::{Pace, Plan, SocketWriter};

/// Holds bytes back until they have arrived at the far end of a link, then hands them to the socket.
pub(crate) struct ShapedWriter {
    socket: SocketWriter,
    /// None once it is closed and empty.
    line: Option<DelayLine<Vec<u8>>>,
    /// Since when nothing leaves, or from when on.
    quiet: Instant,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// Nothing more will be sent.
    Closing,
}

impl ShapedWriter {
    pub(crate) fn new(socket: SocketWriter, network: Network) -> Self {
        let now = Instant::now();
        Self { socket, line: Some(DelayLine::new(network, now)), quiet: now, phase: Phase::Open }
    }
}

impl Pace for ShapedWriter {
    fn enter(&self) {
        // Linux lets a sleeping thread oversleep a little, which is much in a LAN. Where that cannot be changed, the
        // network comes out a little slower.
        #[cfg(target_os = "linux")]
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    }

    /// The writer takes one frame at a time, as the link takes them, so that an abort finds the others still in the queue
    /// and can drop them.
    fn plan(&self, heartbeat: Duration) -> Plan {
        let beat = self.quiet + heartbeat;
        let arrival = self.line.as_ref().and_then(|line| Some((line, line.next_arrival()?)));
        let Some((line, arrival)) = arrival else { return Plan { frames: 1, until: beat } };
        if self.phase == Phase::Closing {
            return Plan { frames: 0, until: arrival };
        }
        match line.busy(Instant::now()) {
            None => Plan { frames: 1, until: arrival.min(beat) },
            Some(end) => Plan { frames: 0, until: arrival.min(end) },
        }
    }

    fn wants_heartbeat(&self, heartbeat: Duration) -> bool {
        self.phase == Phase::Open && Instant::now() >= self.quiet + heartbeat
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(line) = &mut self.line else { return self.socket.write(bytes) };
        let now = Instant::now();
        for slice in bytes.chunks(line.slice()) {
            line.push(now, slice.len(), slice.to_vec());
        }
        self.quiet = line.free();
        Ok(())
    }

    fn deliver(&mut self) -> io::Result<()> {
        let Some(line) = &mut self.line else { return Ok(()) };
        while let Some(slice) = line.pop(Instant::now()) {
            self.socket.write(&slice)?;
        }
        Ok(())
    }

    fn drained(&mut self) -> bool {
        self.phase = Phase::Closing;
        self.line.take_if(|line| line.is_empty());
        self.line.is_none()
    }

    fn shutdown(&self) -> io::Result<()> {
        self.socket.shutdown()
    }
}
