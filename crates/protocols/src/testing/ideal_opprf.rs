//! An ideal OPPRF, which protocols can be run over: the sender tells all that it has programmed. For tests alone.

use std::collections::HashMap;

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::hash::Oracle;
use vesica_encode::items::Items;
use zeroize::Zeroizing;

use crate::error::Error;
use crate::oprf::programmable::{OpprfReceiver, OpprfSender, Programming};

/// The receiver, who holds each item under its function of `held`.
pub(crate) struct IdealReceiver<'a> {
    pub(crate) programming: Programming,
    pub(crate) held: &'a [u8],
}

impl OpprfReceiver for IdealReceiver<'_> {
    fn evaluate(
        self,
        _: &Items,
        keys: &[Block],
        channel: &mut dyn Channel,
    ) -> Result<Zeroizing<Vec<u128>>, Error> {
        let Self { programming: Programming { functions, items, width }, held } = self;
        let mut random = [0; 32];
        channel.recv_exact(&mut random)?;
        let mut programmed = HashMap::new();
        for function in 0..functions as u8 {
            for _ in 0..items {
                let mut point = [[0; 16]; 2];
                channel.recv_exact(point.as_flattened_mut())?;
                programmed.insert((function, point[0]), point[1]);
            }
        }
        let oracle = Oracle::with_key(random);
        let value = |(key, function): (&Block, &u8)| {
            let mut value = [0; 16];
            oracle.hash_parts(&[&[*function], key.as_bytes()], &mut value);
            width.truncate(programmed.get(&(*function, key.to_bytes())).unwrap_or(&value))
        };
        Ok(keys.iter().zip(held).map(value).collect::<Vec<_>>().into())
    }
}

/// The sender.
pub(crate) struct IdealSender<'a> {
    pub(crate) programming: Programming,
    pub(crate) rng: &'a mut dyn CryptoRng,
}

impl OpprfSender for IdealSender<'_> {
    fn program(
        self,
        _: &Items,
        keys: &[Block],
        value: impl Fn(usize, usize) -> u128,
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        let mut random = [0; 32];
        self.rng.fill_bytes(&mut random);
        channel.send(&random)?;
        for function in 0..self.programming.functions {
            for (item, key) in keys.iter().enumerate() {
                channel.send(key.as_bytes())?;
                channel.send(&value(function, item).to_le_bytes())?;
            }
        }
        Ok(channel.flush()?)
    }
}
