//! A run with a helper: what a party reports of the helper, and what the helper reports of its two parties.

use vesica_net::Connection;
use vesica_protocols::Sizes;
use vesica_protocols::registry::Security;

use super::{Reporter, transcript_of};
use crate::session::helper::Assisted;
use crate::words::report;
use crate::words::settings::Word;

impl Reporter<'_> {
    /// The helper has agreed to the run.
    pub(crate) fn helper_joined(&self, helper: &Connection) {
        {
            let mut state = self.state();
            state.meters.push(helper.meter());
            let key = helper.peer_key().map(ToString::to_string);
            state.report.helper = Some(report::HelperReport { key, transcript: None });
        }
        if let Some(address) = helper.peer_address() {
            self.notice(format!("connected to the helper at {address}"));
        }
    }

    /// Digests of what went over the connection to the helper.
    pub(crate) fn helper_transcript(&self, helper: &Connection) {
        if let Some(report) = &mut self.state().report.helper {
            report.transcript = Some(transcript_of(helper));
        }
    }

    /// A helper takes part in this run of the receiver and the sender.
    pub(crate) fn assists(&self, assisted: &Assisted, parties: &[Connection; 2]) {
        {
            let mut state = self.state();
            state.meters.extend(parties.iter().map(|party| party.meter()));
            let [receiver, sender] =
                [(0, assisted.sizes.receiver), (1, assisted.sizes.sender)].map(|(at, items)| {
                    let key = parties[at].peer_key().map(ToString::to_string);
                    report::PartyReport { key, items: items as u64, transcript: None }
                });
            let report = &mut state.report;
            report.parties = Some(report::PartiesReport { receiver, sender, common_items: None });
            report.protocol = Some(assisted.protocol.name);
            report.session = Some(assisted.public_id());
            report.learns = assisted.learns().word();
            report.security = Security::SemiHonest.name();
        }
        let Sizes { receiver, sender } = assisted.sizes;
        let name = assisted.protocol.name;
        self.notice(format!("protocol {name}: the receiver has {receiver} keys, the sender {sender}"));
    }

    /// Digests of what went over the connections to the parties.
    pub(crate) fn parties_transcripts(&self, [receiver, sender]: &[Connection; 2]) {
        if let Some(report) = &mut self.state().report.parties {
            report.receiver.transcript = Some(transcript_of(receiver));
            report.sender.transcript = Some(transcript_of(sender));
        }
    }

    /// A helper's two parties have so many keys in common.
    pub(crate) fn assisted(&self, common: u64) {
        if let Some(report) = &mut self.state().report.parties {
            report.common_items = Some(common);
        }
    }
}
