//! After the protocol: digests, signatures and DONE.

use vesica_channel::codec::{Reader, Writer};
use vesica_net::Connection;
use vesica_protocols::{self as protocols, Learns, Outcome, Participant, Pending};

use super::agreed::Agreed;
use super::error::{SessionError, partner_gone};
use super::signing::Signing;
use crate::words::receipt::Receipt;

/// What a confirmed run has.
pub struct Confirmation<'a> {
    /// My result, where I learn it.
    pub pending: Option<Pending<'a>>,
    /// What both sides have signed, where they have keys.
    pub receipt: Option<Receipt>,
    /// The count that was compared: 2^64-1 unless both learn it.
    pub(crate) count: u64,
}

impl Agreed {
    /// Exchanges digests, the count if both learn it, signatures if the sides have keys, and DONE. If only the receiver learns
    /// the matches, it looks for them afterwards: from the time of DONE a sender could otherwise tell how many matches and
    /// rows there are. `confirming` is called when what was found is known, if it has to be, and the exchange begins.
    pub fn confirm<'a>(
        &self,
        pending: Option<Pending<'a>>,
        channel: &mut Connection,
        confirming: &dyn Fn(),
    ) -> Result<Confirmation<'a>, SessionError> {
        let exchange = |count, channel: &mut Connection| {
            exchange_digests(count, self.signing.as_deref(), channel, confirming)
        };
        if self.learns == Learns::Receiver {
            let receipt = exchange(u64::MAX, channel)?;
            return Ok(Confirmation { pending, receipt, count: u64::MAX });
        }
        let found = match pending.map(Pending::finish).transpose() {
            Err(refused) if refused.is_agreed_refusal() => {
                let receipt = exchange(u64::MAX, channel)?;
                let pending = Some(Pending::new(|| Err(refused)));
                return Ok(Confirmation { pending, receipt, count: u64::MAX });
            }
            found => found.inspect_err(|_| channel.abort())?,
        };
        // Parties that learn something else compare digests alone: they have opened it to each other.
        let count = match &found {
            Some(Outcome::Matches(matches)) => matches.items() as u64,
            Some(Outcome::Payloads(matched)) => matched.matches().items() as u64,
            Some(Outcome::Count(count)) => count.cast_unsigned(),
            Some(Outcome::AtLeast(_) | Outcome::Sums(_)) | None => u64::MAX,
        };
        let receipt = exchange(count, channel)?;
        Ok(Confirmation { pending: found.map(Pending::found), receipt, count })
    }

    /// What both sides sign, if they do.
    pub(crate) fn signing(&self) -> Option<&Signing> {
        self.signing.as_deref()
    }
}

/// Compares with the helper what went over its connection. It comes before [`Agreed::confirm`].
pub fn confirm_helper(
    helper: &mut Connection,
    partner: &mut Connection,
    confirming: &dyn Fn(),
) -> Result<(), SessionError> {
    let exchanged = exchange_digests(u64::MAX, None, helper, confirming);
    exchanged.map(drop).map_err(|error| {
        let gone = match &error {
            SessionError::Channel(error) => {
                partner_gone(&protocols::Error::from(error.clone()).with(Participant::Helper), partner)
            }
            _ => None,
        };
        partner.abort();
        gone.map_or_else(|| error.with(Participant::Helper), SessionError::from)
    })
}

/// Exchanges digests, a count, what is signed if there is something, and DONE. Each side signs the statement with the digests
/// that it saw, so a signature that holds here is one of what both saw.
///
/// `digest of what I sent (32) · of what I received (32) · u64 count · signature (64), where there is one`
pub(crate) fn exchange_digests(
    count: u64,
    signing: Option<&Signing>,
    channel: &mut Connection,
    confirming: &dyn Fn(),
) -> Result<Option<Receipt>, SessionError> {
    confirming();
    let digests = channel.digests();
    let signed =
        signing.map(|signing| signing.sign(&digests)).transpose().inspect_err(|_| channel.abort())?;
    let mut mine = Writer::new();
    mine.fixed(&digests.sent).fixed(&digests.received).u64(count);
    if let Some(signed) = &signed {
        mine.fixed(signed.signature());
    }
    let theirs = channel.finish(mine.as_slice())?;
    let decode = |cause| SessionError::Decode { what: "a confirmation", cause };
    let mut reader = Reader::new(&theirs);
    let sent = reader.fixed(32).map_err(decode)?;
    let received = reader.fixed(32).map_err(decode)?;
    let their_count = reader.u64().map_err(decode)?;
    if sent != digests.received || received != digests.sent {
        return Err(SessionError::Unconfirmed("the digests of what was sent and received"));
    }
    if their_count != count {
        return Err(SessionError::Unconfirmed("the counts of matches"));
    }
    let receipt = match signed {
        Some(signed) => Some(signed.countersigned(&reader.array().map_err(decode)?)?),
        None => None,
    };
    reader.finish().map_err(decode)?;
    Ok(receipt)
}
