//! What a receiver and a server say to each other.
//!
//! ```text
//! both, at once      server: "vesica S" ‖ public key (32) ‖ key number (u32) ‖ epoch (u64) ‖ digest of the epoch (32)
//!                            ‖ most keys a query (u32) ‖ most keys a day (u64; 0: any number) ‖ start and version
//!                    receiver: "vesica Q" ‖ what it wants (u8) ‖ digest of its newest epoch (32) ‖ keys (u32)
//!                            ‖ start and version
//! fetch              ◄── files (u32), then each: length (u64) ‖ bytes
//! query, a batch     ──► count (u32) ‖ blinded elements (32 each)
//!                    ◄── 0 (u8) ‖ evaluated elements (32 each) ‖ proof (64), or a refusal
//! end                ──► 0 (u32)
//!                    ◄─► DONE: digests of what was sent and received, 2^64-1 (u64), signature (64) of the receipt
//! refusal            ◄── reason (u8) ‖ keys left (u64) ‖ when the budget renews (u64, Unix seconds)
//! ```
//!
//! Start and version are as in a run: milliseconds since 1970 (u64), length (u8), version. What is signed is of this
//! connection alone ([`crate::receipt`]): a look-up whose connection broke has a receipt of its last one.
//!
//! Numbers are little-endian. A batch that was charged is answered again for nothing, so a receiver whose connection breaks
//! sends those batches again that it has no answer to, as they were.

use vesica_channel::codec::{CodecError, Reader, Writer};
use vesica_channel::{Channel, ChannelError};

use crate::words::receipt::SetName;

/// What a server says at its door; the rest of its hello follows.
pub(super) const SERVER: &[u8; 8] = b"vesica S";
const RECEIVER: &[u8; 8] = b"vesica Q";

/// Bytes of the server's first message.
pub(super) const SERVER_HELLO: usize = 8 + 32 + 4 + 8 + 32 + 4 + 8;
/// Bytes of the receiver's.
pub(super) const RECEIVER_HELLO: usize = 8 + 1 + 32 + 4;

/// In place of an answer: the batch was evaluated.
pub(super) const ANSWERED: u8 = 0;
/// What a server refuses.
pub(super) const OVER_BUDGET: u8 = 1;
pub(super) const TOO_MANY: u8 = 2;
pub(super) const FAILED: u8 = 3;

/// What a server says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ServerHello {
    pub(super) public_key: [u8; 32],
    pub(super) key_number: u32,
    pub(super) epoch: u64,
    pub(super) digest: [u8; 32],
    pub(super) most_keys: u32,
    /// 0: any number.
    pub(super) most_a_day: u64,
}

impl ServerHello {
    /// The rest, behind [`SERVER`].
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.fixed(&self.public_key).u32(self.key_number).u64(self.epoch);
        writer.fixed(&self.digest).u32(self.most_keys).u64(self.most_a_day);
        writer.into_vec()
    }

    /// What a receipt says of the set, if the receiver looks in the epoch with this digest.
    pub(super) fn set_name(&self, looked_in: &[u8; 32]) -> SetName {
        let hex = |digest: [u8; 32]| blake3::Hash::from_bytes(digest).to_hex().to_string();
        let (digest, served) = (hex(*looked_in), hex(self.digest));
        SetName { digest, epoch: self.epoch, served, key_number: self.key_number }
    }

    pub(super) fn decode(bytes: &[u8; SERVER_HELLO]) -> Option<Self> {
        let read = || -> Result<Option<Self>, CodecError> {
            let mut reader = Reader::new(bytes);
            let known = reader.array::<8>()? == *SERVER;
            let hello = Self {
                public_key: reader.array()?,
                key_number: reader.u32()?,
                epoch: reader.u64()?,
                digest: reader.array()?,
                most_keys: reader.u32()?,
                most_a_day: reader.u64()?,
            };
            reader.finish()?;
            Ok(known.then_some(hello))
        };
        read().ok().flatten()
    }
}

/// What a receiver wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// Answers.
    Query,
    /// Answers to what a connection that broke has left.
    Rest,
    /// The files of the newest epochs.
    Files,
}

/// What a receiver says first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReceiverHello {
    pub(super) want: Want,
    /// Zeros if it has none.
    pub(super) digest: [u8; 32],
    /// Keys that it asks for.
    pub(super) keys: u32,
}

impl ReceiverHello {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.fixed(RECEIVER).u8(self.want as u8).fixed(&self.digest).u32(self.keys);
        writer.into_vec()
    }

    pub(super) fn decode(bytes: &[u8; RECEIVER_HELLO]) -> Option<Self> {
        let read = || -> Result<Option<Self>, CodecError> {
            let mut reader = Reader::new(bytes);
            let known = reader.array::<8>()? == *RECEIVER;
            let want = [Want::Query, Want::Rest, Want::Files].get(usize::from(reader.u8()?)).copied();
            let (digest, keys) = (reader.array()?, reader.u32()?);
            reader.finish()?;
            Ok(want.filter(|_| known).map(|want| Self { want, digest, keys }))
        };
        read().ok().flatten()
    }
}

/// Sends a refusal.
pub(super) fn refuse(
    channel: &mut dyn Channel,
    reason: u8,
    left: u64,
    renews: u64,
) -> Result<(), ChannelError> {
    let mut writer = Writer::new();
    writer.u8(reason).u64(left).u64(renews);
    channel.send(&writer.into_vec())?;
    channel.flush()
}

/// A number from the channel.
pub(super) fn recv_u32(channel: &mut dyn Channel) -> Result<u32, ChannelError> {
    let mut bytes = [0; 4];
    channel.recv_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

/// A number from the channel.
pub(super) fn recv_u64(channel: &mut dyn Channel) -> Result<u64, ChannelError> {
    let mut bytes = [0; 8];
    channel.recv_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// So many elements of 32 bytes from the channel.
pub(super) fn recv_elements(channel: &mut dyn Channel, count: usize) -> Result<Vec<[u8; 32]>, ChannelError> {
    let mut elements = vec![[0; 32]; count];
    channel.recv_exact(elements.as_flattened_mut())?;
    Ok(elements)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_say_first_has_one_form() {
        let server = ServerHello {
            public_key: [1; 32],
            key_number: 2,
            epoch: 3,
            digest: [4; 32],
            most_keys: 5,
            most_a_day: 6,
        };
        let bytes = [&SERVER[..], &server.encode()].concat();
        let bytes: [u8; SERVER_HELLO] = bytes.try_into().unwrap();
        assert_eq!(ServerHello::decode(&bytes), Some(server));
        for want in [Want::Query, Want::Rest, Want::Files] {
            let receiver = ReceiverHello { want, digest: [7; 32], keys: 8 };
            let mut bytes: [u8; RECEIVER_HELLO] = receiver.encode().try_into().unwrap();
            assert_eq!(ReceiverHello::decode(&bytes), Some(receiver));
            bytes[8] = 3;
            assert_eq!(ReceiverHello::decode(&bytes), None);
        }
        assert_eq!(ServerHello::decode(&[0; SERVER_HELLO]), None);
    }
}
