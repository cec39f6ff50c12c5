//! Two channels connected inside a process: the same frames and digests as over a network, without threads.

use std::sync::Arc;

use crate::Options;
use crate::connection::{About, Connection, Hello};
use crate::link::{HERE, Link, THERE};
use crate::shaped::Network;

/// Two ends of one conversation. There is no limit on silence here: an end waits until the other sends, or is dropped.
///
/// One thread may drive both ends as long as no more than 8 MiB wait to be received.
pub fn pair(options: &Options) -> (Connection, Connection) {
    connect(Link::memory(options), options)
}

/// A [`pair`] over a network; see [`shaped::pair`](crate::shaped::pair).
pub(crate) fn shaped_pair(options: &Options, network: Network) -> (Connection, Connection) {
    connect(Link::shaped(options, network), options)
}

fn connect(link: Link, options: &Options) -> (Connection, Connection) {
    let link = Arc::new(link);
    options.cancel.watch(&link);
    let nonces = [constant::<32>("first nonce"), constant::<32>("second nonce")];
    let channel = |side: usize| {
        let hello = Hello { mine: nonces[side], theirs: nonces[1 - side] };
        let about = About { hello, binding: no_binding(), peer_key: None, peer_address: None };
        Connection::new(link.clone(), side, about, Vec::new())
    };
    (channel(HERE), channel(THERE))
}

/// What stands in for the TLS exporter where there is no TLS.
pub(crate) fn no_binding() -> [u8; 64] {
    constant("no binding")
}

fn constant<const N: usize>(label: &str) -> [u8; N] {
    let mut bytes = [0; N];
    blake3::Hasher::new_derive_key("vesica-net 2026 constants")
        .update(label.as_bytes())
        .finalize_xof()
        .fill(&mut bytes);
    bytes
}

#[cfg(feature = "testing")]
pub use tapped::{Direction, Frame, tapped_pair};

#[cfg(feature = "testing")]
mod tapped {
    use crate::connection::Connection;
    use crate::link::{HERE, Link};
    use crate::{Options, memory};
    use vesica_channel::{HEADER, Kind};

    /// Which of the pair a frame comes from.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Direction {
        /// From the first channel to the second.
        FirstToSecond,
        /// From the second channel to the first.
        SecondToFirst,
    }

    /// A frame on its way.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Frame {
        /// What it is for.
        pub kind: Kind,
        /// What it carries.
        pub payload: Vec<u8>,
    }

    /// A [`pair`](memory::pair) whose every frame goes through `tap`, which returns the frames that arrive in its place.
    pub fn tapped_pair(
        options: &Options,
        mut tap: impl FnMut(Direction, Frame) -> Vec<Frame> + Send + 'static,
    ) -> (Connection, Connection) {
        let tap = move |side: usize, mut frame: vesica_channel::Frame| {
            let direction = if side == HERE { Direction::FirstToSecond } else { Direction::SecondToFirst };
            let payload = frame.bytes.split_off(HEADER);
            let frames = tap(direction, Frame { kind: frame.kind, payload });
            frames.into_iter().map(|frame| vesica_channel::Frame::new(frame.kind, &frame.payload)).collect()
        };
        memory::connect(Link::tapped(Box::new(tap), options), options)
    }
}
