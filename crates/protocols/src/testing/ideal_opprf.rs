//! An ideal OPPRF, which protocols can be run over: the sender tells all that it has programmed. For tests alone.

use std::collections::HashMap;

use rand_core::CryptoRng;
use vesica_channel::Channel;
use vesica_crypto::block::Block;
use vesica_crypto::hash::Oracle;
use vesica_encode::items::Items;

use crate::error::Error;
use crate::oprf::programmable::{OpprfReceiver, OpprfSender, Programming, Values};

/// The receiver, who holds each item under its function of `held`.
pub(crate) struct IdealReceiver<'a> {
    pub(crate) programming: Programming,
    pub(crate) held: &'a [u8],
}

impl OpprfReceiver for IdealReceiver<'_> {
    fn evaluate(self, _: &Items, keys: &[Block], channel: &mut dyn Channel) -> Result<Values, Error> {
        let Self { programming: Programming { functions, items, width, more, more_width, .. }, held } = self;
        let mut random = [0; 32];
        channel.recv_exact(&mut random)?;
        let mut programmed = HashMap::new();
        for j in 0..=more {
            for function in 0..functions as u8 {
                for _ in 0..items {
                    let mut point = [[0; 16]; 2];
                    channel.recv_exact(point.as_flattened_mut())?;
                    programmed.insert((j, function, point[0]), point[1]);
                }
            }
        }
        let oracle = Oracle::with_key(random);
        let value = |j: usize, (key, function): (&Block, &u8)| {
            let mut value = [0; 16];
            oracle.hash_parts(&[&[j as u8, *function], key.as_bytes()], &mut value);
            let width = if j == 0 { width } else { more_width };
            width.truncate(programmed.get(&(j, *function, key.to_bytes())).unwrap_or(&value))
        };
        let values = |j| keys.iter().zip(held).map(|point| value(j, point)).collect::<Vec<_>>().into();
        Ok((0..=more).map(values).collect())
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
        value: impl Fn(usize, usize, usize) -> u128,
        channel: &mut dyn Channel,
    ) -> Result<(), Error> {
        let mut random = [0; 32];
        self.rng.fill_bytes(&mut random);
        channel.send(&random)?;
        for j in 0..=self.programming.more {
            for function in 0..self.programming.functions {
                for (item, key) in keys.iter().enumerate() {
                    channel.send(key.as_bytes())?;
                    channel.send(&value(j, function, item).to_le_bytes())?;
                }
            }
        }
        Ok(channel.flush()?)
    }
}
