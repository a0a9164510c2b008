//! The dictionary of a segment: maps each gram to its posting list. It consists of blocks; memory holds only the first gram of each.
//!
//! Invariant: a damaged block is rejected as a whole.

use super::checksum::{checksum, damaged};
use super::grams::Gram;
use super::posting_lists::{put_varint, take_varint, take_varint_u32};
use std::io;
use std::ops::Range;

/// Grams in one block.
const BLOCK_GRAMS: usize = 256;
/// Bytes of one row in the table of blocks.
const ROW_BYTES: usize = 28;

/// A gram and its posting list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DictionaryEntry {
    pub(super) gram: Gram,
    /// The number of parts that contain it.
    pub(super) count: u32,
    /// The list's offset in the file. For an inline list, the offset of the next list.
    pub(super) at: u64,
    /// The list's length in bytes.
    pub(super) length: u32,
    /// The list's checksum. For an inline list, the list itself, little-endian.
    pub(super) word: u32,
}

/// The longest list that is stored inline in the dictionary, in bytes.
const INLINE_BYTES: usize = 4;
/// The low bits of the stored count hold the length of an inline list. Most lists are inline.
const LENGTH_BITS: u32 = 3;
/// The length that marks a list outside the dictionary.
const NOT_INLINE: u64 = 7;

impl DictionaryEntry {
    /// The entry of a gram with this list, which begins at offset `at` in the file unless it is inline.
    pub(super) fn new(gram: Gram, count: u32, at: u64, list: &[u8]) -> Self {
        let mut inline = [0; INLINE_BYTES];
        let word = match inline.get_mut(..list.len()) {
            Some(place) => {
                place.copy_from_slice(list);
                u32::from_le_bytes(inline)
            }
            None => checksum(list),
        };
        Self { gram, count, at, length: list.len() as u32, word }
    }

    /// The list and its length, if it is inline.
    pub(super) fn inline_list(&self) -> Option<([u8; INLINE_BYTES], usize)> {
        let length = self.length as usize;
        (length <= INLINE_BYTES).then_some((self.word.to_le_bytes(), length))
    }

    /// The list's length outside the dictionary, in bytes; 0 for an inline list.
    pub(super) fn stored_length(&self) -> u64 {
        if self.inline_list().is_some() { 0 } else { u64::from(self.length) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DictionaryBlock {
    pub(super) first: Gram,
    /// The offset of its first list.
    lists_at: u64,
    /// Its offset in the file.
    pub(super) at: u64,
    /// Its length in bytes.
    pub(super) length: u32,
    checksum: u32,
}

#[derive(Debug, Default)]
pub(super) struct DictionaryBuilder {
    /// The encoded blocks. Offsets of blocks count from the beginning of this buffer until [`Self::table`] converts them.
    pub(super) bytes: Vec<u8>,
    blocks: Vec<DictionaryBlock>,
    entries: Vec<DictionaryEntry>,
}

impl DictionaryBuilder {
    /// Adds a gram. Grams ascend, and each list begins where the previous one ends.
    pub(super) fn add(&mut self, entry: DictionaryEntry) {
        self.entries.push(entry);
        if self.entries.len() == BLOCK_GRAMS {
            self.end_block();
        }
    }

    fn end_block(&mut self) {
        let Some(DictionaryEntry { gram: first, at: lists_at, .. }) = self.entries.first().copied() else { return };
        let at = self.bytes.len();
        let mut previous = first;
        for entry in self.entries.drain(..) {
            put_varint(&mut self.bytes, u64::from(entry.gram - previous));
            let count = u64::from(entry.count) << LENGTH_BITS;
            match entry.inline_list() {
                Some((bytes, length)) => {
                    put_varint(&mut self.bytes, count | length as u64);
                    self.bytes.extend(&bytes[..length]);
                }
                None => {
                    put_varint(&mut self.bytes, count | NOT_INLINE);
                    put_varint(&mut self.bytes, u64::from(entry.length));
                    self.bytes.extend(entry.word.to_le_bytes());
                }
            }
            previous = entry.gram;
        }
        let bytes = &self.bytes[at..];
        self.blocks.push(DictionaryBlock {
            first,
            lists_at,
            at: at as u64,
            length: bytes.len() as u32,
            checksum: checksum(bytes),
        });
    }

    /// The encoded table of blocks, for a dictionary at offset `at` in the file.
    pub(super) fn table(&mut self, at: u64) -> Vec<u8> {
        self.end_block();
        let mut table = Vec::with_capacity(self.blocks.len() * ROW_BYTES);
        for block in &self.blocks {
            table.extend(block.first.to_le_bytes());
            table.extend(block.lists_at.to_le_bytes());
            table.extend((at + block.at).to_le_bytes());
            table.extend(block.length.to_le_bytes());
            table.extend(block.checksum.to_le_bytes());
        }
        table
    }
}

/// Decodes the table of blocks, which all lie in the range `dictionary` of the file.
pub(super) fn blocks(table: &[u8], dictionary: Range<u64>) -> Option<Vec<DictionaryBlock>> {
    let (rows, rest) = table.as_chunks::<ROW_BYTES>();
    let blocks = rows.iter().map(|row| {
        let mut row = row.as_slice();
        let block = DictionaryBlock {
            first: u32::from_le_bytes(take_array(&mut row)?),
            lists_at: u64::from_le_bytes(take_array(&mut row)?),
            at: u64::from_le_bytes(take_array(&mut row)?),
            length: u32::from_le_bytes(take_array(&mut row)?),
            checksum: u32::from_le_bytes(take_array(&mut row)?),
        };
        // A block is read into memory of its length, so the length is checked first.
        let end = block.at.checked_add(u64::from(block.length))?;
        (block.at >= dictionary.start && end <= dictionary.end).then_some(block)
    });
    rest.is_empty().then(|| blocks.collect())?
}

/// Takes `N` bytes from the front.
pub(super) fn take_array<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (array, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*array)
}

impl DictionaryBlock {
    /// Its entries in order. `bytes` are the file's bytes at its position.
    ///
    /// # Errors
    /// `InvalidData` if the checksum or the encoding is wrong.
    pub(super) fn entries(&self, bytes: &[u8]) -> io::Result<Vec<DictionaryEntry>> {
        if bytes.len() != self.length as usize || checksum(bytes) != self.checksum {
            return Err(damaged("its dictionary"));
        }
        self.parse(bytes).ok_or_else(|| damaged("its dictionary"))
    }

    fn parse(&self, mut bytes: &[u8]) -> Option<Vec<DictionaryEntry>> {
        let mut entries = Vec::with_capacity(BLOCK_GRAMS);
        let mut gram = self.first;
        let mut at = self.lists_at;
        while !bytes.is_empty() {
            gram = gram.checked_add(take_varint_u32(&mut bytes)?)?;
            let packed = take_varint(&mut bytes)?;
            let count = u32::try_from(packed >> LENGTH_BITS).ok()?;
            let length = match packed & NOT_INLINE {
                NOT_INLINE => take_varint_u32(&mut bytes).filter(|length| *length as usize > INLINE_BYTES)?,
                inline => u32::try_from(inline).ok().filter(|length| *length as usize <= INLINE_BYTES)?,
            };
            let (word, rest) = bytes.split_at_checked(INLINE_BYTES.min(length as usize))?;
            let mut whole = [0; INLINE_BYTES];
            whole[..word.len()].copy_from_slice(word);
            bytes = rest;
            let entry = DictionaryEntry { gram, count, at, length, word: u32::from_le_bytes(whole) };
            at = at.checked_add(entry.stored_length())?;
            entries.push(entry);
        }
        Some(entries)
    }
}
