//! One block: count ‖ code ‖ labels.

use crate::layout::{COUNT, Layout};
use crate::rice::{BitReader, BitWriter};

/// The values of one block and its labels, as they are read.
#[derive(Default)]
pub(crate) struct Block {
    /// Ascending.
    pub(crate) values: Vec<u128>,
    bytes: Vec<u8>,
    labels: usize,
    label: usize,
}

impl Block {
    /// Decodes a block; none if it does not follow the format, which leaves it empty. `fill` writes the bytes of the block.
    pub(crate) fn read<E>(
        &mut self,
        layout: &Layout,
        number: u64,
        length: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<Option<()>, E> {
        self.values.clear();
        self.bytes.clear();
        self.bytes.resize(length, 0);
        fill(&mut self.bytes)?;
        let decoded = decode(layout, number, &self.bytes, &mut self.values);
        match decoded {
            Some(labels) => (self.labels, self.label) = (labels, layout.label),
            None => self.values.clear(),
        }
        Ok(decoded.map(drop))
    }

    /// The sealed label of the value at `position`.
    pub(crate) fn label(&self, position: usize) -> &[u8] {
        let from = self.labels + position * self.label;
        self.bytes.get(from..from + self.label).unwrap_or_default()
    }
}

/// Appends the values and says where the labels begin.
fn decode(layout: &Layout, number: u64, bytes: &[u8], values: &mut Vec<u128>) -> Option<usize> {
    let (count, rest) = bytes.split_first_chunk::<COUNT>()?;
    let count = u32::from_le_bytes(*count) as usize;
    let code = rest.len().checked_sub(count.checked_mul(layout.label)?)?;
    let code_bytes = rest.get(..code)?;
    // A value takes rice + 1 bits at least, so a count that lies is known before anything is allocated.
    if count as u64 * u64::from(layout.rice + 1) > code as u64 * 8 {
        return None;
    }
    values.reserve(count);
    let (base, mask) = (layout.base(number), layout.rest_mask());
    let mut reader = BitReader::new(code_bytes);
    let mut next = Some(0u128);
    for _ in 0..count {
        let rest = next?.checked_add(reader.gap(layout.rice)?)?;
        if rest > mask {
            return None;
        }
        values.push(base | rest);
        next = rest.checked_add(1);
    }
    reader.is_finished().then_some(COUNT + code)
}

/// A block that is being collected.
#[derive(Default)]
pub(crate) struct Collected {
    values: Vec<u128>,
    labels: Vec<u8>,
}

impl Collected {
    pub(crate) fn push(&mut self, value: u128, label: &[u8]) {
        self.values.push(value);
        self.labels.extend_from_slice(label);
    }

    /// The bytes that it has by now, without the code.
    pub(crate) fn least_bytes(&self) -> usize {
        self.labels.len() + self.values.len()
    }

    /// Encodes it into `bytes`, which are cleared, and empties it.
    pub(crate) fn encode(&mut self, layout: &Layout, bytes: &mut Vec<u8>) {
        bytes.clear();
        bytes.extend_from_slice(&(self.values.len() as u32).to_le_bytes());
        let mut writer = BitWriter::new(bytes);
        let mut next = 0;
        for value in &self.values {
            let rest = value & layout.rest_mask();
            writer.gap(rest.wrapping_sub(next), layout.rice);
            next = rest.wrapping_add(1);
        }
        writer.finish();
        bytes.append(&mut self.labels);
        self.values.clear();
    }
}
