//! A run in its ledger: before anything of the set leaves, before the protocol begins, and at the end.

use std::sync::Arc;

use vesica_net::PublicKey;
use vesica_protocols::Role;
use vesica_text::text;

use crate::session::Agreed;
use crate::session::reporter::Reporter;
use crate::words::error::Error;
use crate::words::ledger::{NewRun, OwnSet, RunLedger};
use crate::words::settings::Settings;

/// This side's set with the ledger of the run.
pub(crate) struct NotedSet {
    pub(crate) ledger: Arc<RunLedger>,
    pub(crate) set: OwnSet,
}

impl NotedSet {
    /// Writes the run into the ledger, before anything of the set leaves. `post` is what a run by post is known by: the call
    /// that goes on with it finds it there.
    pub(crate) fn begin(
        &self,
        role: Role,
        settings: &Settings,
        partner: &PublicKey,
        post: Option<String>,
        reporter: &Reporter<'_>,
    ) -> Result<(), Error> {
        let run = NewRun { role, settings, set: &self.set, partner: partner.to_string(), post };
        self.ledger.begin(&run, &|told| reporter.notice(told))
    }

    /// Writes the agreement into the ledger, before any message of the protocol leaves.
    /// By post, `query` is what the sender answers: with the same head, another one asks for other keys in the same session.
    pub(crate) fn agreed(&self, agreed: &Agreed, query: Option<&[u8]>) -> Result<(), Error> {
        let query = query.map(|query| blake3::hash(query).to_hex().to_string());
        let peer_keys = agreed.sizes.of(agreed.role().other()) as u64;
        self.ledger.agreed(agreed.public_id(), agreed.protocol.name, peer_keys, query)
    }
}

/// Writes into the ledger how a run has ended, and into the report where it stands there. If that fails, the run has its
/// result all the same, and the ledger has it as one that was killed.
pub(crate) fn ended(ledger: Option<&RunLedger>, error: Option<&Error>, reporter: &Reporter<'_>) {
    let Some(ledger) = ledger else { return };
    match ledger.ended(error) {
        Ok(Some(last)) => {
            reporter.notice(ledger.last_line(&last));
            reporter.ledger(last);
        }
        Ok(None) => {}
        Err(error) => reporter.notice(text!("the end of the run is not in the ledger: {}", error.message)),
    }
}
