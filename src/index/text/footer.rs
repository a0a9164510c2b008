//! The footer of a segment: its format, its counts and the offsets of its sections.

use super::checksum::{checksum, damaged};
use super::dictionary::take_array;
use std::io;

/// The first and the last bytes of a segment.
pub(super) const MAGIC: [u8; 8] = *b"cytext\r\n";
/// The format's version. A segment of a later version isn't read.
pub(super) const VERSION: u32 = 2;
/// The version of a segment with parts that aren't indexed. A reader that doesn't know them would miss their lines.
const UNINDEXED_VERSION: u32 = 3;
/// Bytes of the footer.
pub(super) const FOOTER_BYTES: usize = 72;

/// A segment's sections in file order: magic, posting lists, dictionary, table of blocks, contents, footer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Footer {
    /// The offset of the dictionary, where the posting lists end.
    pub(super) dictionary_at: u64,
    /// The offset of the table of blocks.
    pub(super) table_at: u64,
    /// The offset of the contents section.
    pub(super) contents_at: u64,
    pub(super) contents: u32,
    pub(super) parts: u32,
    /// The checksum of the table of blocks.
    pub(super) table_checksum: u32,
    /// The checksum of the contents section.
    pub(super) contents_checksum: u32,
    /// The number of different grams.
    pub(super) grams: u32,
    /// The number of postings: pairs of a gram and a part that contains it.
    pub(super) pairs: u64,
    /// Some parts aren't indexed.
    pub(super) has_unindexed: bool,
}

impl Footer {
    /// Encodes the footer.
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FOOTER_BYTES);
        for value in [self.dictionary_at, self.table_at, self.contents_at, self.pairs] {
            bytes.extend(value.to_le_bytes());
        }
        let version = if self.has_unindexed { UNINDEXED_VERSION } else { VERSION };
        for value in [self.contents, self.table_checksum, self.contents_checksum, self.grams, self.parts, 0, version] {
            bytes.extend(value.to_le_bytes());
        }
        bytes.extend(checksum(&bytes).to_le_bytes());
        bytes.extend(MAGIC);
        bytes
    }

    /// Decodes the last bytes of a file of this length.
    ///
    /// # Errors
    /// `InvalidData` if they aren't a whole footer of this format.
    pub(super) fn from_bytes(bytes: &[u8], file_length: u64) -> io::Result<Self> {
        let incomplete = || damaged("its end is missing");
        let mut rest = bytes.strip_suffix(&MAGIC).ok_or_else(incomplete)?;
        let (stored, summed) =
            rest.split_last_chunk().map(|(summed, stored)| (stored, summed)).ok_or_else(incomplete)?;
        if checksum(summed) != u32::from_le_bytes(*stored) {
            return Err(incomplete());
        }
        let (footer, version) = Self::parse(&mut rest).ok_or_else(incomplete)?;
        if !(VERSION..=UNINDEXED_VERSION).contains(&version) {
            return Err(damaged("another version of codeyard wrote it"));
        }
        let end = file_length.checked_sub(FOOTER_BYTES as u64);
        let offsets = [MAGIC.len() as u64, footer.dictionary_at, footer.table_at, footer.contents_at];
        if !offsets.is_sorted() || end.is_none_or(|end| end < footer.contents_at) {
            return Err(incomplete());
        }
        Ok(footer)
    }

    /// The footer and its format version.
    fn parse(rest: &mut &[u8]) -> Option<(Self, u32)> {
        let dictionary_at = u64::from_le_bytes(take_array(rest)?);
        let table_at = u64::from_le_bytes(take_array(rest)?);
        let contents_at = u64::from_le_bytes(take_array(rest)?);
        let pairs = u64::from_le_bytes(take_array(rest)?);
        let contents = u32::from_le_bytes(take_array(rest)?);
        let table_checksum = u32::from_le_bytes(take_array(rest)?);
        let contents_checksum = u32::from_le_bytes(take_array(rest)?);
        let grams = u32::from_le_bytes(take_array(rest)?);
        let parts = u32::from_le_bytes(take_array(rest)?);
        let version = take_array::<4>(rest).and_then(|_| Some(u32::from_le_bytes(take_array(rest)?)))?;
        let footer = Self {
            dictionary_at,
            table_at,
            contents_at,
            contents,
            parts,
            table_checksum,
            contents_checksum,
            grams,
            pairs,
            has_unindexed: version == UNINDEXED_VERSION,
        };
        Some((footer, version))
    }
}
