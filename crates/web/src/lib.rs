//! A party in a web page. The module runs in a worker, whose functions it imports (`vesica_kernels::host`): the page's
//! socket belongs to another thread, so that a receive may wait.
//!
//! On other targets this crate is empty.
#![cfg(target_family = "wasm")]
#![forbid(unsafe_code)]

use std::panic;
use std::time::Duration;

use vesica_channel::piped::{Missing, Pipe};
use vesica_kernels::host::{self, NotReceived};

/// The connection that the host holds. There is one.
#[derive(Clone, Copy, Debug)]
pub struct Connection;

impl Pipe for Connection {
    fn send(&self, bytes: &[u8]) {
        host::send(bytes);
    }

    fn recv_exact(&self, into: &mut [u8]) -> Result<(), Missing> {
        host::receive(into).map_err(|why| match why {
            NotReceived::Closed => Missing::Closed,
            NotReceived::Late => Missing::Late,
        })
    }

    fn readable(&self) -> Option<usize> {
        host::readable()
    }

    fn expect_within(&self, limit: Option<Duration>) {
        host::expect_within(limit);
    }

    fn close(&self) {
        host::close();
    }
}

/// Has the host show what a panic says, before the module stops.
pub fn show_panics() {
    panic::set_hook(Box::new(|panic| host::print(&panic.to_string())));
}
