//! Connections over a network that is slower than the one at hand; see [`vesica_channel::shaped`].
//!
//! * What counts is what goes on the wire here: payload, frame headers, heartbeats, TLS. TCP and IP headers do not, nor
//!   TCP's slow start: a link is used to its rate from the first byte.
//! * Each side shapes what it sends. Two processes have the network in both directions if both name it.
//! * The handshake is not shaped: the network begins with the channel.
//! * At most 64 MiB are under way in each direction; a network that holds more comes out slower.

use rand_core::CryptoRng;
pub use vesica_channel::shaped::Network;

use crate::connection::Connection;
use crate::error::NetError;
use crate::establish::{self, Address, ConnectionSecurity, NetEvent};
use crate::options::Options;

/// As [`establish()`](crate::establish()), with a network in front of the connection for all that this side sends.
pub fn establish(
    address: &Address,
    security: &ConnectionSecurity<'_>,
    network: Network,
    options: &Options,
    rng: &mut dyn CryptoRng,
    on_event: &mut dyn FnMut(NetEvent),
) -> Result<Connection, NetError> {
    establish::establish_shaped(address, security, network, options, rng, on_event)
}
