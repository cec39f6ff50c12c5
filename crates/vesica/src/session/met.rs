//! The partner, met.

use vesica_channel::Channel;
use vesica_net::Connection;

use crate::session::links::Links;

/// The partner, met: the connection of the run, which has sent the greeting, and how those of parts are made.
pub(crate) struct Met {
    pub(crate) channel: Connection,
    pub(crate) links: Option<Box<dyn Links>>,
}

impl Met {
    /// The partner, after the greeting has gone out.
    pub(crate) fn greeted(self, greeting: &[u8]) -> Self {
        Met { channel: greeted(self.channel, greeting), ..self }
    }
}

impl From<Connection> for Met {
    /// Over a connection of the caller's, runs have one part.
    fn from(channel: Connection) -> Self {
        Met { channel, links: None }
    }
}

/// The channel, once this has been sent.
pub(crate) fn greeted(mut channel: Connection, greeting: &[u8]) -> Connection {
    // The errors of a channel stick: what comes next reports this one.
    let _ = channel.send(greeting);
    channel
}
