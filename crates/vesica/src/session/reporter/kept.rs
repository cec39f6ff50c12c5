//! What is reported of kept sets.

use vesica_net::Connection;

use super::{Reporter, transcript_of};
use crate::words::receipt::Receipt;
use crate::words::report::KeptReport;

impl Reporter<'_> {
    /// The protocol is this one, whatever the partner says.
    pub(crate) fn of_protocol(&self, name: &'static str) {
        self.state().report.protocol = Some(name);
    }

    /// Both sides have signed a look-up over this connection.
    pub(crate) fn signed(&self, receipt: Receipt, channel: &Connection) {
        if self.receipt {
            let report = &mut self.state().report;
            report.session = Some(receipt.statement.session.clone());
            report.transcript = Some(transcript_of(channel));
            report.receipt = Some(receipt);
        }
    }

    /// The kept set of the job.
    pub(crate) fn kept(&self, kept: KeptReport) {
        self.state().report.kept = Some(kept);
    }
}
