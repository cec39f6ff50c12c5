//! What is reported of kept sets.

use super::Reporter;
use crate::words::report::KeptReport;

impl Reporter<'_> {
    /// The protocol is this one, whatever the partner says.
    pub(crate) fn of_protocol(&self, name: &'static str) {
        self.state().report.protocol = Some(name);
    }

    /// The kept set of the job.
    pub(crate) fn kept(&self, kept: KeptReport) {
        self.state().report.kept = Some(kept);
    }
}
