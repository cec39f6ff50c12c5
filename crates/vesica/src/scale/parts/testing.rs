//! What the partner says between the parts of a run, taken apart without a partner. Only with the feature `testing`.
//!
//! Each function gives what it takes the bytes for, encoded again; none if they are not that.

use vesica_channel::codec::Writer;
use vesica_channel::{CancelToken, Channel};
use vesica_net::{Connection, memory};

use super::line::{self, Step};
use super::part::Header;
use super::{rounds, toss};

/// A connection over which these bytes come, and nothing else.
fn heard(bytes: &[u8]) -> Option<Connection> {
    let (mine, mut theirs) = memory::pair(&CancelToken::new());
    theirs.send(bytes).and_then(|()| theirs.flush()).ok()?;
    Some(mine)
}

/// How the partner plays, and its commitment.
pub fn promise(bytes: &[u8]) -> Option<Vec<u8>> {
    let (player, commitment) = toss::recv_promise(&mut heard(bytes)?).ok()?;
    Some([&player.encode()[..], &commitment].concat())
}

/// The beginning of a part's connection.
pub fn header(bytes: &[u8]) -> Option<Vec<u8>> {
    Some(Header::recv(&mut heard(bytes)?).ok()?.encode())
}

/// The beginning of a connection that takes up the run with that tag.
pub fn taken_up(bytes: &[u8], tag: &[u8; 32]) -> Option<Vec<u8>> {
    let bytes = bytes.first_chunk::<{ line::HEADER }>()?;
    Some(Step::decode(bytes, tag).ok()?.encode(tag))
}

/// ROUND, where this side plays these parts of so many.
pub fn round(bytes: &[u8], round: u16, parts: usize, missing: &[u32]) -> Option<Vec<u8>> {
    let mine = rounds::encode_round(round, parts, missing);
    rounds::recv_round(&mut heard(bytes)?, &mine).ok()?;
    Some(mine)
}

/// ENDED: a list of receipts of a run with so many parts, `most` of them at most.
pub fn receipts(bytes: &[u8], parts: usize, most: usize) -> Option<Vec<u8>> {
    let receipts = rounds::recv_receipts(&mut heard(bytes)?, (parts, most)).ok()?;
    let mut writer = Writer::new();
    writer.list(&receipts, |writer, (part, receipt)| {
        writer.u32(*part).fixed(receipt);
    });
    Some(writer.into_vec())
}
