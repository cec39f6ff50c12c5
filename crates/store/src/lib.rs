//! Objects of a store as files: fetched whole before they are read, and put in their place complete or not at all.
//!
//! [`Address::of`] reads `s3://`, `gs://`, `az://` and `https://` addresses. [`Found::at`] finds what stands there: one
//! object, or all objects of a folder or pattern; [`Found::fetch`] copies them into unlinked temporary files.
//! [`Target::check`] tells whether an object may be written, and [`Target::put`] writes it. A put is one request, or an
//! upload in parts that the store shows nobody before it is complete; a process that is killed leaves at most parts that
//! nobody can read.
//!
//! Credentials are those that the store's own tools use: environment variables, profiles in `~/.aws`, a service account,
//! the machine's own identity. Nothing here prints them, nor the query of an address, which may be a signature.
//!
//! [`Folder`] is for small objects under one prefix.
//!
//! Calls block. Each takes a function that it calls several times a second and that can stop it.

#![forbid(unsafe_code)]

mod address;
mod aws_profile;
mod connect;
mod error;
mod fetch;
mod folder;
pub mod listing;
mod put;
mod wait;

pub use address::Address;
pub use error::StoreError;
pub use fetch::{Found, Object};
pub use folder::Folder;
pub use put::Target;
