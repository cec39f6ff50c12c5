//! How one side plays its parts, and what the connections of a run begin with.

use vesica_channel::codec::CodecError;
use vesica_crypto::device::Device;

use crate::session::reporter::Reporter;
use crate::session::{RUN, SessionError};

/// How this side plays.
pub(crate) struct PlayOptions<'a> {
    pub(crate) threads: usize,
    pub(crate) device: Device,
    /// Parts that it plays at once, if the partner does.
    pub(crate) lanes: u16,
    pub(crate) options: vesica_net::Options,
    pub(crate) reporter: &'a Reporter<'a>,
}

/// Refuses a connection of a run or of a part that does not begin with that byte.
pub(super) fn check_kind(first: u8, kind: u8, what: &'static str) -> Result<(), SessionError> {
    match first {
        _ if first == kind => Ok(()),
        RUN => Err(SessionError::OtherRun("has started a new run, and this side goes on with this one")),
        _ => Err(SessionError::Decode { what, cause: CodecError::Invalid { what: "kind of connection" } }),
    }
}
