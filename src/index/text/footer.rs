//! The last bytes of a segment: what it is and where its parts lie.

use super::check::{damaged, sum};
use super::dictionary::part;
use std::io;

/// The first bytes of a segment, and the last.
pub(super) const MAGIC: [u8; 8] = *b"cytext\r\n";
/// Of the format. Another number is another format, and isn't read.
const VERSION: u32 = 2;
/// Bytes.
pub(super) const LENGTH: usize = 72;

/// See the module. The parts lie one after the other: magic, lists, dictionary, table of blocks, contents, this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Footer {
    /// Where the dictionary begins, and with it the lists end.
    pub(super) dictionary_at: u64,
    /// Where the table of its blocks begins.
    pub(super) table_at: u64,
    /// Where the numbers of the contents begin.
    pub(super) contents_at: u64,
    /// How many contents there are.
    pub(super) contents: u32,
    /// How many parts they have.
    pub(super) parts: u32,
    /// The sum of the table's bytes.
    pub(super) table_sum: u32,
    /// The sum of the contents' bytes.
    pub(super) contents_sum: u32,
    /// How many grams there are.
    pub(super) grams: u32,
    /// How many parts have each of them, added up.
    pub(super) pairs: u64,
}

impl Footer {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(LENGTH);
        for value in [self.dictionary_at, self.table_at, self.contents_at, self.pairs] {
            bytes.extend(value.to_le_bytes());
        }
        for value in [self.contents, self.table_sum, self.contents_sum, self.grams, self.parts, 0, VERSION] {
            bytes.extend(value.to_le_bytes());
        }
        bytes.extend(sum(&bytes).to_le_bytes());
        bytes.extend(MAGIC);
        bytes
    }

    /// Reads what stands at the end of a file of this length.
    pub(super) fn from_bytes(bytes: &[u8], file_length: u64) -> io::Result<Self> {
        let whole = || damaged("its end is missing");
        let mut rest = bytes.strip_suffix(&MAGIC).ok_or_else(whole)?;
        let (said, summed) = rest.split_last_chunk().map(|(summed, said)| (said, summed)).ok_or_else(whole)?;
        if sum(summed) != u32::from_le_bytes(*said) {
            return Err(whole());
        }
        let (footer, version) = Self::parse(&mut rest).ok_or_else(whole)?;
        if version != VERSION {
            return Err(damaged("another version of codeyard wrote it"));
        }
        let ends = file_length.checked_sub(LENGTH as u64);
        let places = [MAGIC.len() as u64, footer.dictionary_at, footer.table_at, footer.contents_at];
        if !places.is_sorted() || ends.is_none_or(|ends| ends < footer.contents_at) {
            return Err(whole());
        }
        Ok(footer)
    }

    /// With the number of the format.
    fn parse(rest: &mut &[u8]) -> Option<(Self, u32)> {
        let dictionary_at = u64::from_le_bytes(part(rest)?);
        let table_at = u64::from_le_bytes(part(rest)?);
        let contents_at = u64::from_le_bytes(part(rest)?);
        let pairs = u64::from_le_bytes(part(rest)?);
        let contents = u32::from_le_bytes(part(rest)?);
        let table_sum = u32::from_le_bytes(part(rest)?);
        let contents_sum = u32::from_le_bytes(part(rest)?);
        let grams = u32::from_le_bytes(part(rest)?);
        let parts = u32::from_le_bytes(part(rest)?);
        let version = part::<4>(rest).and_then(|_| Some(u32::from_le_bytes(part(rest)?)))?;
        let footer =
            Self { dictionary_at, table_at, contents_at, contents, parts, table_sum, contents_sum, grams, pairs };
        Some((footer, version))
    }
}
