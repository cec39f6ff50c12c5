//! What a run is asked for, what it ends with, and what it may take: no connection and no thread.

pub mod auto;
pub mod base_ots;
pub(crate) mod device;
pub(crate) mod ended;
pub(crate) mod error;
pub(crate) mod match_numbers;
pub(crate) mod measured;
pub mod memory;
pub(crate) mod memory_use;
pub mod options;
pub(crate) mod parts;
pub mod profile;
pub(crate) mod randomness;
pub mod receipt;
pub mod registry;
pub mod report;
pub mod resources;
pub mod results;
pub mod run_file;
pub mod settings;
pub(crate) mod system;
pub(crate) mod tables;
pub mod terms;
mod word;
