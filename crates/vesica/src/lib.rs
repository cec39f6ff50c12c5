//! Private set intersection: find the rows two tables share, and show neither side anything else.
//!
//! [`job::Job`] is a whole run for one party: a table, a partner, a protocol, the matching rows. [`local::run`] plays
//! both parties in one process. Below them, [`session`] is the conversation around a protocol, and
//! [`vesica_protocols::registry`] the protocols themselves, for use over any [`Channel`](vesica_net::Channel).

#![forbid(unsafe_code)]

mod error;
mod explain;
pub mod job;
pub mod local;
pub mod plan;
pub mod report;
mod resources;
pub mod session;
pub mod settings;
pub mod terms;

pub use error::{Error, Kind, Side};
pub use vesica_encode as encode;
pub use vesica_net as net;
pub use vesica_protocols as protocols;
pub use vesica_table as table;
