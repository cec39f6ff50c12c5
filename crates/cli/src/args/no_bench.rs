//! The arguments of `vesica bench` of a program that was built without it: any.

use std::ffi::OsString;

use clap::Args;

#[derive(Args)]
pub(crate) struct Bench {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _words: Vec<OsString>,
}
