//! Where the writer thread puts its bytes: into the socket, or over a shaped link into the socket.

use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::air::Air;
use crate::link::Link;
use crate::shaped::Network;

pub(crate) struct Outlet {
    link: Arc<Link>,
    socket: TcpStream,
    air: Option<Air<Vec<u8>>>,
    /// Since when nothing leaves, or from when on.
    quiet: Instant,
    /// Nothing more will be sent.
    closing: bool,
}

/// What the writer does next.
pub(crate) struct Plan {
    /// How many frames it takes.
    pub(crate) frames: usize,
    /// When it comes back if there are none.
    pub(crate) until: Instant,
}

impl Outlet {
    pub(crate) fn new(link: Arc<Link>, socket: TcpStream, network: Option<Network>) -> Self {
        let now = Instant::now();
        let air = network.map(|network| Air::new(network, now));
        Self { link, socket, air, quiet: now, closing: false }
    }

    /// Called on the writer's thread before all else.
    pub(crate) fn enter(&self) {
        // Linux lets a sleeping thread oversleep a little, which is much in a LAN. Where that cannot be changed, the
        // network comes out a little slower.
        #[cfg(target_os = "linux")]
        if self.air.is_some() {
            let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        }
    }

    /// Without shaping the socket sets the pace. With it the writer takes one frame at a time, as the link takes them,
    /// so that an abort finds the others still in the lane and can drop them.
    pub(crate) fn plan(&self, heartbeat: Duration) -> Plan {
        let beat = self.quiet + heartbeat;
        let Some(air) = &self.air else { return Plan { frames: usize::MAX, until: beat } };
        let Some(arrival) = air.next_arrival() else { return Plan { frames: 1, until: beat } };
        if self.closing {
            return Plan { frames: 0, until: arrival };
        }
        match air.busy(Instant::now()) {
            None => Plan { frames: 1, until: arrival.min(beat) },
            Some(end) => Plan { frames: 0, until: arrival.min(end) },
        }
    }

    /// Whether it is time for a sign of life.
    pub(crate) fn wants_heartbeat(&self, heartbeat: Duration) -> bool {
        !self.closing && Instant::now() >= self.quiet + heartbeat
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(air) = &mut self.air else {
            write_all(&self.socket, &self.link, bytes)?;
            self.quiet = Instant::now();
            return Ok(());
        };
        let now = Instant::now();
        for slice in bytes.chunks(air.slice()) {
            air.push(now, slice.len(), slice.to_vec());
        }
        self.quiet = air.free();
        Ok(())
    }

    /// Hands to the socket what has arrived at the far end of the link.
    pub(crate) fn deliver(&mut self) -> io::Result<()> {
        let Some(air) = &mut self.air else { return Ok(()) };
        while let Some(slice) = air.pop(Instant::now()) {
            write_all(&self.socket, &self.link, &slice)?;
        }
        Ok(())
    }

    /// Takes nothing more; true once everything is in the socket. What is written from then on goes there at once.
    pub(crate) fn drained(&mut self) -> bool {
        self.closing = true;
        self.air.take_if(|air| air.is_empty());
        self.air.is_none()
    }

    pub(crate) fn shutdown(&self) -> io::Result<()> {
        self.socket.shutdown(Shutdown::Write)
    }
}

fn write_all(mut socket: &TcpStream, link: &Link, bytes: &[u8]) -> io::Result<()> {
    socket.write_all(bytes)?;
    link.count_sent(bytes.len());
    Ok(())
}
