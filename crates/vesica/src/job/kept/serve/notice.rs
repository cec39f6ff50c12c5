//! What a server tells whoever runs it.

use std::time::Instant;

use serde::Serialize;

use crate::words::receipt::Receipt;
use crate::words::report::json_line;

/// What a server tells. Keys are shortened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ServeNotice {
    /// It listens.
    Listening {
        /// Where.
        address: String,
        /// Its whole public key, which receivers need.
        key: String,
    },
    /// The set that it is of.
    Set {
        /// The number of the epoch.
        epoch: u64,
        /// The number of the OPRF's key.
        key_number: u32,
        /// Keys in the set.
        keys: u64,
    },
    /// Somebody got no service.
    TurnedAway {
        /// Who and why.
        message: String,
    },
    /// A query was answered, or a part of it before its connection broke.
    Answered {
        /// Whose.
        key: String,
        /// Keys that were answered.
        keys: u64,
        /// Keys of these that had been charged before.
        again: u64,
        /// How long it took.
        seconds: f64,
        /// What both sides have signed of it; none by post, or if the receiver went without.
        #[serde(skip_serializing_if = "Option::is_none")]
        receipt: Option<Box<Receipt>>,
    },
    /// A query was refused.
    Refused {
        /// Whose.
        key: String,
        /// Why.
        why: &'static str,
    },
    /// Files were handed out.
    Fetched {
        /// To whom.
        key: String,
        /// How many.
        files: usize,
    },
    /// The files of the set cannot be used; the older ones still are.
    Trouble {
        /// Why.
        message: String,
    },
    /// More was to be told than whoever reads this has taken.
    LeftOut {
        /// How often.
        events: u64,
    },
    /// It was told to stop.
    Stopping,
}

impl ServeNotice {
    /// The notice as a line of JSON with `t`, the seconds since the start; no line end.
    pub fn to_json_line(&self, started: Instant) -> Result<String, serde_json::Error> {
        json_line(self, started)
    }
}
