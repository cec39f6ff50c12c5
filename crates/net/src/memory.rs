//! Two connections inside a process, for runs of both parties on one machine.

use vesica_channel::{CancelToken, Stream, memory};

use crate::connection::{Connection, ConnectionInfo, Nonces};

/// Two ends of one conversation, which ends when the token is cancelled.
pub fn pair(cancel: &CancelToken) -> (Connection, Connection) {
    connections(memory::pair_under(cancel))
}

/// The two ends of a pair of streams as connections; nonces and binding are constants.
pub fn connections((one, two): (Stream, Stream)) -> (Connection, Connection) {
    let [first, second] = [constant("first nonce"), constant("second nonce")];
    let info = |mine, theirs| ConnectionInfo {
        nonces: Nonces { mine, theirs },
        channel_binding: no_binding(),
        peer_key: None,
        peer_address: None,
        silence: None,
    };
    (Connection::new(one, info(first, second)), Connection::new(two, info(second, first)))
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
