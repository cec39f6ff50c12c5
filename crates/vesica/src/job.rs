//! A whole run for one party: table in, partner, protocol, matching rows out.
//!
//! The command line and the Python package use it. It prints nothing, installs no signal handler and never exits the
//! process. The order of its steps is fixed: bad input is found before the partner is contacted, and an output appears only
//! after both sides have confirmed the run.

pub mod assist;
mod by_post;
pub mod inspect;
pub mod kept;
pub mod local;
mod on_disk;
pub mod output_paths;
mod post_box;
mod queue;
pub mod relay;
mod run;
pub mod sets;
pub mod verify;

pub(crate) use crate::session::local_state::padded as padded_size;
pub use crate::session::partner::Partner;
pub use crate::words::ended::{Ended, RunResult};
pub use crate::words::report::OnEvent;
pub use crate::words::tables::{Batches, Destination, Source, TableArgs};
pub use by_post::ByPost;
pub use run::Job;
pub(crate) use run::{Set, alone, converse, deliver, open, output_of, read};
