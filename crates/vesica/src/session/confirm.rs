//! After the protocol: digests and DONE.

use vesica_channel::codec::{Reader, Writer};
use vesica_net::Connection;
use vesica_protocols::{self as protocols, Learns, Outcome, Participant, Pending};

use super::agreed::Agreed;
use super::error::{SessionError, partner_gone};

impl Agreed {
    /// Exchanges digests, the count if both learn it, and DONE. If only the receiver learns the matches, it looks for them
    /// afterwards: from the time of DONE a sender could otherwise tell how many matches and rows there are. `confirming` is
    /// called when what was found is known, if it has to be, and the exchange begins.
    pub fn confirm<'a>(
        &self,
        pending: Option<Pending<'a>>,
        channel: &mut Connection,
        confirming: &dyn Fn(),
    ) -> Result<Option<Pending<'a>>, SessionError> {
        self.confirm_counted(pending, channel, confirming).map(|(pending, _)| pending)
    }

    /// Confirms, and gives the count that was compared: 2^64-1 unless both learn it.
    pub(crate) fn confirm_counted<'a>(
        &self,
        pending: Option<Pending<'a>>,
        channel: &mut Connection,
        confirming: &dyn Fn(),
    ) -> Result<(Option<Pending<'a>>, u64), SessionError> {
        if self.learns == Learns::Receiver {
            exchange_digests(u64::MAX, channel, confirming)?;
            return Ok((pending, u64::MAX));
        }
        let found = match pending.map(Pending::finish).transpose() {
            Err(refused) if refused.is_agreed_refusal() => {
                exchange_digests(u64::MAX, channel, confirming)?;
                return Ok((Some(Pending::new(|| Err(refused))), u64::MAX));
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
        exchange_digests(count, channel, confirming)?;
        Ok((found.map(Pending::found), count))
    }
}

/// Compares with the helper what went over its connection. It comes before [`Agreed::confirm`].
pub fn confirm_helper(
    helper: &mut Connection,
    partner: &mut Connection,
    confirming: &dyn Fn(),
) -> Result<(), SessionError> {
    exchange_digests(u64::MAX, helper, confirming).map_err(|error| {
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

/// Exchanges digests, a count and DONE.
pub(crate) fn exchange_digests(
    count: u64,
    channel: &mut Connection,
    confirming: &dyn Fn(),
) -> Result<(), SessionError> {
    confirming();
    let digests = channel.digests();
    let mut mine = Writer::new();
    mine.fixed(&digests.sent).fixed(&digests.received).u64(count);
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
    reader.finish().map_err(decode)
}
