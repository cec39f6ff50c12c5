//! Bits that are shared between two parties: a bit is the XOR of its shares.

use vesica_channel::Channel;
use vesica_crypto::memory::Wiped;

use crate::bits::Bits;
use crate::engine::{Opening, Party};
use crate::error::Error;
use crate::wires::Wires;

/// Opens rows of bits, of which the party `me` has these shares: what it learns, in the same rows.
pub(crate) fn open(
    opening: Opening,
    me: Party,
    shares: &[&Bits],
    channel: &mut dyn Channel,
) -> Result<Option<Vec<Bits>>, Error> {
    if shares.is_empty() {
        return Ok(opening.is_to(me).then(Vec::new));
    }
    let mine = Bits::join(shares);
    if opening.is_to(me.other()) {
        send(&mine, channel)?;
        channel.flush()?;
    }
    if !opening.is_to(me) {
        return Ok(None);
    }
    let opened = mine.xor(&receive(mine.len(), channel)?);
    Ok(Some(opened.parts(shares.iter().map(|share| share.len())).collect()))
}

/// Bytes that a party sends to open so many bits in one call.
pub(crate) fn opening_bytes(opening: Opening, sender: Party, bits: u64) -> u64 {
    if opening.is_to(sender.other()) { bits.div_ceil(8) } else { 0 }
}

/// Eight bits to a byte.
pub(crate) fn send(bits: &Bits, channel: &mut dyn Channel) -> Result<(), Error> {
    Ok(channel.send(&Wiped::from(bits.to_bytes()))?)
}

pub(crate) fn receive(count: usize, channel: &mut dyn Channel) -> Result<Bits, Error> {
    let mut bytes = Wiped::from(vec![0; count.div_ceil(8)]);
    channel.recv_exact(&mut bytes)?;
    Ok(Bits::from_bytes(&bytes, count))
}
