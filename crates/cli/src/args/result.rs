//! The options that say what the result of a run is.

use clap::Args;
use vesica::protocols::Noise;
use vesica::results::{ResultChoice, ResultOptions, noise};
use vesica::settings::count;

use super::words::words;

/// What the result is, and what limits it. Both sides give the same.
#[derive(Args, Clone)]
#[command(next_help_heading = "Agreed: both sides give the same")]
pub(super) struct ResultArgs {
    /// What the result is: the matching rows, how many keys match, or sums over them; the last two only with --security semi-honest (docs/results.md)
    #[arg(long, value_parser = words::<ResultChoice>(), default_value = "rows")]
    result: ResultChoice,
    /// With --result sum: a column of the sender's table to sum over the matching keys, whole numbers from 0 on; repeat for several sums
    #[arg(long, value_name = "COLUMN")]
    value: Vec<String>,
    /// With --result count: show both sides only whether at least N keys match
    #[arg(long, value_name = "N", value_parser = count)]
    at_least: Option<u64>,
    /// With --result rows: a column of the sender's table that the receiver's matching rows get, as text; repeat for several
    #[arg(long, value_name = "COLUMN")]
    payload: Vec<String>,
    /// Bytes of a row's payload at most, 1 to 65536; the sender pads to it, so that no length is seen [default: 64]
    #[arg(long, value_name = "N")]
    payload_bytes: Option<u32>,
    /// With --result count or sum: if fewer keys match (with --noise: by the count with noise), show both sides only that
    #[arg(long, value_name = "N", value_parser = count)]
    min_matches: Option<u64>,
    /// With --result count: add noise of that privacy loss (epsilon), 0.001 to 20, from each side; smaller is noisier
    #[arg(long, value_name = "EPSILON", value_parser = noise)]
    noise: Option<Noise>,
}

impl ResultArgs {
    pub(super) fn options(&self) -> ResultOptions {
        let ResultArgs { result, value, at_least, payload, payload_bytes, min_matches, noise } = self.clone();
        ResultOptions { result, value, at_least, payload, payload_bytes, min_matches, noise }
    }
}
