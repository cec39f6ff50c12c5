//! The header of a set file: one way to write it, and only that way is read.

use crate::error::HeaderFault;
use crate::layout::{Layout, List, best_rice};
use crate::value::{WIDEST, width};

/// The first bytes of a set file.
pub(crate) const MAGIC: &[u8; 13] = b"vesica set 1\n";
/// What a signature covers before the magic.
const SIGNED: &[u8; 15] = b"vesica set file";
/// Bytes before the header: magic and length.
pub(crate) const BEFORE: usize = MAGIC.len() + 4;
/// Bytes of a signature.
pub(crate) const SIGNATURE: usize = 64;
/// Bytes of the longest header.
pub(crate) const LONGEST: u32 = 68 << 10;
/// Bytes of all texts and their lengths.
const TEXTS: usize = 64 << 10;
const LABELS: std::ops::RangeInclusive<u32> = 16..=1 << 16;

/// The suite of RFC 9497 that set files of this version are made with.
pub const SUITE: &str = "ristretto255-SHA512";

/// What a file has of its epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The set.
    Whole,
    /// What came and went since the epoch before.
    Delta,
    /// The set at the end of a chain. It stands for the epoch whose digest it names as [`Epoch::before`], and has its number,
    /// so the next delta follows both.
    Compact,
}

/// An epoch as its publisher describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Epoch {
    /// What the file has.
    pub kind: Kind,
    /// The suite of the OPRF: [`SUITE`].
    pub suite: String,
    /// What the keys of both sides have to agree on, in words of the caller.
    pub terms: String,
    /// The public key of the OPRF.
    pub public_key: [u8; 32],
    /// The number of that key; a rotation takes the next.
    pub key_number: u32,
    /// The number of the epoch.
    pub number: u64,
    /// The digest of the epoch before ([`Kind::Compact`]: of the epoch itself); zeros for the first.
    pub before: [u8; 32],
    /// Values among the additions, padding included.
    pub added: u64,
    /// Values among the removals; 0 unless it is a delta.
    pub removed: u64,
    /// The most keys that one query may have (n).
    pub most_keys_a_query: u32,
    /// Bits of a value (w), 1 to 128.
    pub width: u8,
    /// When it was made, in seconds since 1970 by the publisher's clock.
    pub time: u64,
    /// The names of the columns in a label.
    pub columns: Vec<String>,
    /// Bytes of a sealed label, 16 of them its tag; 0 without labels.
    pub label_bytes: u32,
    /// Values in the set from this epoch on, padding included.
    pub keys: u64,
    /// The sender's identity, an Ed25519 public key.
    pub sender: [u8; 32],
}

impl Epoch {
    /// Epoch 1 of key 1 with these terms, without labels; every number that is left is 0, the suite is [`SUITE`].
    #[must_use]
    pub fn new(kind: Kind, terms: &str) -> Self {
        Epoch {
            kind,
            suite: SUITE.into(),
            terms: terms.into(),
            public_key: [0; 32],
            key_number: 1,
            number: 1,
            before: [0; 32],
            added: 0,
            removed: 0,
            most_keys_a_query: 0,
            width: 0,
            time: 0,
            columns: Vec::new(),
            label_bytes: 0,
            keys: 0,
            sender: [0; 32],
        }
    }

    /// Whether a query of the most keys has a false match with probability 2^-40 at most. A set that outgrew its width needs a
    /// new whole file.
    #[must_use]
    pub fn is_wide_enough(&self) -> bool {
        width(self.keys, self.most_keys_a_query).is_ok_and(|width| width <= self.width.into())
    }
}

/// The header of a file: its epoch, and what the writer found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// The epoch.
    pub epoch: Epoch,
    /// The parameters of the Golomb–Rice codes of additions and removals.
    pub rice: [u8; 2],
    /// The digest of the index.
    pub index: [u8; 32],
}

impl Header {
    /// The header of a file that is yet to be written.
    pub(crate) fn of(epoch: Epoch) -> Result<Self, HeaderFault> {
        let counts = [epoch.added, epoch.removed];
        let rice = counts.map(|count| best_rice(count, epoch.width.into()) as u8);
        let header = Header { epoch, rice, index: [0; 32] };
        header.check()?;
        Ok(header)
    }

    /// How the values of a list lie in blocks.
    pub(crate) fn layout(&self, list: List) -> Result<Layout, HeaderFault> {
        let (epoch, rice) = (&self.epoch, self.rice[list as usize].into());
        match list {
            List::Additions => Layout::new(epoch.added, epoch.width.into(), epoch.label_bytes, rice),
            List::Removals => Layout::new(epoch.removed, epoch.width.into(), 0, rice),
        }
    }

    /// The bytes of the header. Decoding them gives the same header.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let (epoch, mut out) = (&self.epoch, Vec::new());
        let text = |out: &mut Vec<u8>, text: &str| {
            out.extend_from_slice(&(text.len() as u32).to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        };
        out.push(epoch.kind as u8);
        text(&mut out, &epoch.suite);
        text(&mut out, &epoch.terms);
        out.extend_from_slice(&epoch.public_key);
        out.extend_from_slice(&epoch.key_number.to_le_bytes());
        out.extend_from_slice(&epoch.number.to_le_bytes());
        out.extend_from_slice(&epoch.before);
        for (count, rice) in [epoch.added, epoch.removed].iter().zip(self.rice) {
            out.extend_from_slice(&count.to_le_bytes());
            out.push(rice);
        }
        out.extend_from_slice(&epoch.most_keys_a_query.to_le_bytes());
        out.push(epoch.width);
        out.extend_from_slice(&epoch.time.to_le_bytes());
        out.extend_from_slice(&(epoch.columns.len() as u32).to_le_bytes());
        epoch.columns.iter().for_each(|column| text(&mut out, column));
        out.extend_from_slice(&epoch.label_bytes.to_le_bytes());
        out.extend_from_slice(&epoch.keys.to_le_bytes());
        out.extend_from_slice(&epoch.sender);
        out.extend_from_slice(&self.index);
        out
    }

    /// Reads a header from all of `bytes`.
    ///
    /// # Errors
    ///
    /// The byte at which it is not a header, and what is wrong there.
    pub fn decode(bytes: &[u8]) -> Result<Self, (usize, HeaderFault)> {
        if bytes.len() > LONGEST as usize {
            return Err((0, HeaderFault::TooLong));
        }
        let mut fields = Fields { bytes, at: 0, texts: 0 };
        let header = fields.header().map_err(|fault| (fields.at, fault))?;
        match fields.at == bytes.len() {
            true => header.check().map_err(|fault| (0, fault)).map(|()| header),
            false => Err((fields.at, HeaderFault::Long)),
        }
    }

    fn check(&self) -> Result<(), HeaderFault> {
        let epoch = &self.epoch;
        if !(1..=WIDEST).contains(&epoch.width.into()) {
            return Err(HeaderFault::Width);
        }
        if epoch.kind != Kind::Delta && epoch.removed > 0 {
            return Err(HeaderFault::Removals);
        }
        if epoch.label_bytes != 0 && !LABELS.contains(&epoch.label_bytes) {
            return Err(HeaderFault::Label);
        }
        let texts = epoch.columns.iter().chain([&epoch.suite, &epoch.terms]);
        if texts.map(|text| text.len().saturating_add(4)).sum::<usize>() > TEXTS {
            return Err(HeaderFault::Texts);
        }
        List::BOTH.into_iter().try_for_each(|list| self.layout(list).map(drop))
    }
}

/// Magic, length and header: what a digest covers.
pub(crate) fn framed(header: &[u8]) -> Vec<u8> {
    [&MAGIC[..], &(header.len() as u32).to_le_bytes(), header].concat()
}

/// What a signature covers.
pub(crate) fn signed(framed: &[u8]) -> Vec<u8> {
    [&SIGNED[..], framed].concat()
}

/// The fields of a header from byte `at` on.
struct Fields<'b> {
    bytes: &'b [u8],
    at: usize,
    texts: usize,
}

impl Fields<'_> {
    fn header(&mut self) -> Result<Header, HeaderFault> {
        let kind = match self.bytes.first() {
            Some(0) => Kind::Whole,
            Some(1) => Kind::Delta,
            Some(2) => Kind::Compact,
            Some(_) => return Err(HeaderFault::Kind),
            None => return Err(HeaderFault::Short),
        };
        self.at += 1;
        let (suite, terms) = (self.text()?, self.text()?);
        let (public_key, key_number) = (self.array()?, self.u32()?);
        let (number, before) = (self.u64()?, self.array()?);
        let (added, [additions]) = (self.u64()?, self.array()?);
        let (removed, [removals]) = (self.u64()?, self.array()?);
        let (most_keys_a_query, [width]) = (self.u32()?, self.array()?);
        let time = self.u64()?;
        // Nothing is reserved for a stated number of columns: each takes bytes that are there.
        let columns = (0..self.u32()?).map(|_| self.text()).collect::<Result<_, _>>()?;
        let (label_bytes, keys) = (self.u32()?, self.u64()?);
        let (sender, index) = (self.array()?, self.array()?);
        let epoch = Epoch {
            kind,
            suite,
            terms,
            public_key,
            key_number,
            number,
            before,
            added,
            removed,
            most_keys_a_query,
            width,
            time,
            columns,
            label_bytes,
            keys,
            sender,
        };
        Ok(Header { epoch, rice: [additions, removals], index })
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], HeaderFault> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let array = rest.first_chunk().ok_or(HeaderFault::Short)?;
        self.at += N;
        Ok(*array)
    }

    fn u32(&mut self) -> Result<u32, HeaderFault> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, HeaderFault> {
        self.array().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Result<String, HeaderFault> {
        let length = self.u32()? as usize;
        self.texts = self.texts.saturating_add(length).saturating_add(4);
        if self.texts > TEXTS {
            return Err(HeaderFault::Texts);
        }
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let text = rest.get(..length).ok_or(HeaderFault::Short)?;
        let text = str::from_utf8(text).map_err(|_| HeaderFault::Utf8)?;
        self.at += length;
        Ok(text.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Header {
        let epoch = Epoch {
            public_key: [1; 32],
            key_number: 2,
            number: 3,
            before: [4; 32],
            added: 5,
            removed: 6,
            most_keys_a_query: 7,
            width: 80,
            time: 8,
            columns: vec!["name".into(), "größe".into(), String::new()],
            label_bytes: 40,
            keys: 9,
            sender: [10; 32],
            ..Epoch::new(Kind::Delta, "terms")
        };
        Header { index: [11; 32], ..Header::of(epoch).unwrap() }
    }

    #[test]
    fn a_header_comes_back_and_no_other_bytes_are_its() {
        let bytes = example().encode();
        assert_eq!(Header::decode(&bytes).unwrap(), example());
        for length in 0..bytes.len() {
            let (at, fault) = Header::decode(&bytes[..length]).unwrap_err();
            assert!(at <= length && fault == HeaderFault::Short, "{length}: {fault}");
        }
        let long = [&bytes[..], &[0]].concat();
        assert_eq!(Header::decode(&long), Err((bytes.len(), HeaderFault::Long)));
        for (position, bit) in (0..bytes.len()).flat_map(|byte| (0..8).map(move |bit| (byte, bit))) {
            let mut changed = bytes.clone();
            changed[position] ^= 1 << bit;
            if let Ok(header) = Header::decode(&changed) {
                assert_ne!(header, example());
                assert_eq!(header.encode(), changed);
            }
        }
    }

    #[test]
    fn a_set_can_outgrow_its_width() {
        let with = |keys| Epoch { keys, most_keys_a_query: 4, width: 50, ..Epoch::new(Kind::Delta, "") };
        assert!(with(256).is_wide_enough() && !with(257).is_wide_enough());
        assert!(!Epoch { most_keys_a_query: 5, ..with(256) }.is_wide_enough());
    }

    #[test]
    fn what_no_writer_states_is_refused() {
        let with = |change: &dyn Fn(&mut Header)| {
            let mut header = example();
            change(&mut header);
            Header::decode(&header.encode()).unwrap_err().1
        };
        assert_eq!(with(&|header| header.epoch.width = 0), HeaderFault::Width);
        assert_eq!(with(&|header| header.epoch.width = 129), HeaderFault::Width);
        assert_eq!(with(&|header| header.epoch.kind = Kind::Whole), HeaderFault::Removals);
        assert_eq!(with(&|header| header.epoch.label_bytes = 15), HeaderFault::Label);
        assert_eq!(with(&|header| header.epoch.label_bytes = u32::MAX), HeaderFault::Label);
        assert_eq!(with(&|header| header.rice = [81, 0]), HeaderFault::Rice);
        assert_eq!(with(&|header| header.rice = [0, 255]), HeaderFault::Rice);
        assert_eq!(with(&|header| (header.epoch.width, header.epoch.added) = (10, 1025)), HeaderFault::Count);
        assert_eq!(with(&|header| header.epoch.terms = "x".repeat(65 << 10)), HeaderFault::Texts);
        assert_eq!(with(&|header| header.epoch.columns = vec![String::new(); 17000]), HeaderFault::Texts);
        assert_eq!(with(&|header| header.epoch.columns = vec![String::new(); 20000]), HeaderFault::TooLong);
    }

    #[test]
    fn a_stated_number_of_columns_reserves_nothing() {
        let mut bytes = example().encode();
        let at = bytes.windows(8).position(|window| window == b"\x04\0\0\0name").unwrap() - 4;
        bytes[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(matches!(Header::decode(&bytes).unwrap_err().1, HeaderFault::Texts | HeaderFault::Short));
    }
}
