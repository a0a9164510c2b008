//! The dictionary of a segment: for each gram the place of its list. It lies in blocks, of which only the first grams are kept
//! in memory.
//!
//! Invariant: a block that was damaged is refused as a whole.

use super::check::{damaged, sum};
use super::grams::Gram;
use super::lists::{put, take, take_u32};
use std::io;

/// Grams in one block.
const BLOCK: usize = 256;
/// Bytes of one block's line in the table of blocks.
const LINE: usize = 28;

/// One gram's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) gram: Gram,
    /// How many parts have it.
    pub(super) count: u32,
    /// Where the list begins in the file, or would begin.
    pub(super) at: u64,
    /// Its bytes.
    pub(super) length: u32,
    /// Their sum; a short list's are these themselves, the first in the lowest place, and aren't in the file.
    pub(super) word: u32,
}

/// Bytes of a list that is kept in the dictionary.
const SHORT: usize = 4;
/// The length of such a list stands in so many bits beside its count: most lists are short.
const LENGTH_BITS: u32 = 3;
/// There instead: it isn't short.
const APART: u64 = 7;

impl Item {
    /// A gram with this list, which begins at `at` in the file if it isn't short.
    pub(super) fn new(gram: Gram, count: u32, at: u64, list: &[u8]) -> Self {
        let mut short = [0; SHORT];
        let word = match short.get_mut(..list.len()) {
            Some(place) => {
                place.copy_from_slice(list);
                u32::from_le_bytes(short)
            }
            None => sum(list),
        };
        Self { gram, count, at, length: list.len() as u32, word }
    }

    /// The list, if it is short.
    pub(super) fn short(&self) -> Option<([u8; SHORT], usize)> {
        let length = self.length as usize;
        (length <= SHORT).then_some((self.word.to_le_bytes(), length))
    }

    /// Bytes that the list has in the file.
    pub(super) fn apart(&self) -> u64 {
        if self.short().is_some() { 0 } else { u64::from(self.length) }
    }
}

/// Where a block lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    /// Its first gram.
    pub(super) first: Gram,
    /// Where its first list begins in the file.
    lists_at: u64,
    /// Where it begins in the file.
    pub(super) at: u64,
    /// Its bytes.
    pub(super) length: u32,
    sum: u32,
}

/// The dictionary while it is made.
#[derive(Debug, Default)]
pub(super) struct Dictionary {
    /// All blocks, one after the other; places in it count from its own beginning until it is written.
    pub(super) bytes: Vec<u8>,
    blocks: Vec<Block>,
    items: Vec<Item>,
}

impl Dictionary {
    /// Adds a gram, which is larger than all before; its list begins where the one before ended.
    pub(super) fn add(&mut self, item: Item) {
        self.items.push(item);
        if self.items.len() == BLOCK {
            self.end_block();
        }
    }

    fn end_block(&mut self) {
        let Some(Item { gram: first, at: lists_at, .. }) = self.items.first().copied() else { return };
        let at = self.bytes.len();
        let mut before = first;
        for item in self.items.drain(..) {
            put(&mut self.bytes, u64::from(item.gram - before));
            let count = u64::from(item.count) << LENGTH_BITS;
            match item.short() {
                Some((bytes, length)) => {
                    put(&mut self.bytes, count | length as u64);
                    self.bytes.extend(&bytes[..length]);
                }
                None => {
                    put(&mut self.bytes, count | APART);
                    put(&mut self.bytes, u64::from(item.length));
                    self.bytes.extend(item.word.to_le_bytes());
                }
            }
            before = item.gram;
        }
        let bytes = &self.bytes[at..];
        self.blocks.push(Block { first, lists_at, at: at as u64, length: bytes.len() as u32, sum: sum(bytes) });
    }

    /// The table of blocks, for a dictionary that begins at `at` in the file.
    pub(super) fn table(&mut self, at: u64) -> Vec<u8> {
        self.end_block();
        let mut table = Vec::with_capacity(self.blocks.len() * LINE);
        for block in &self.blocks {
            table.extend(block.first.to_le_bytes());
            table.extend(block.lists_at.to_le_bytes());
            table.extend((at + block.at).to_le_bytes());
            table.extend(block.length.to_le_bytes());
            table.extend(block.sum.to_le_bytes());
        }
        table
    }
}

/// The table of blocks, read back.
pub(super) fn blocks(table: &[u8]) -> Option<Vec<Block>> {
    let (lines, rest) = table.as_chunks::<LINE>();
    let blocks = lines.iter().map(|line| {
        let mut line = line.as_slice();
        Some(Block {
            first: u32::from_le_bytes(part(&mut line)?),
            lists_at: u64::from_le_bytes(part(&mut line)?),
            at: u64::from_le_bytes(part(&mut line)?),
            length: u32::from_le_bytes(part(&mut line)?),
            sum: u32::from_le_bytes(part(&mut line)?),
        })
    });
    rest.is_empty().then(|| blocks.collect())?
}

/// Takes so many bytes off the front.
pub(super) fn part<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (part, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*part)
}

impl Block {
    /// What stands in it, in order. `bytes` is what was read from its place.
    pub(super) fn items(&self, bytes: &[u8]) -> io::Result<Vec<Item>> {
        if bytes.len() != self.length as usize || sum(bytes) != self.sum {
            return Err(damaged("its dictionary"));
        }
        self.parse(bytes).ok_or_else(|| damaged("its dictionary"))
    }

    fn parse(&self, mut bytes: &[u8]) -> Option<Vec<Item>> {
        let mut items = Vec::with_capacity(BLOCK);
        let (mut gram, mut at) = (self.first, self.lists_at);
        while !bytes.is_empty() {
            gram = gram.checked_add(take_u32(&mut bytes)?)?;
            let said = take(&mut bytes)?;
            let count = u32::try_from(said >> LENGTH_BITS).ok()?;
            let length = match said & APART {
                APART => take_u32(&mut bytes).filter(|length| *length as usize > SHORT)?,
                short => u32::try_from(short).ok().filter(|length| *length as usize <= SHORT)?,
            };
            let (word, rest) = bytes.split_at_checked(SHORT.min(length as usize))?;
            let mut whole = [0; SHORT];
            whole[..word.len()].copy_from_slice(word);
            bytes = rest;
            let item = Item { gram, count, at, length, word: u32::from_le_bytes(whole) };
            at = at.checked_add(item.apart())?;
            items.push(item);
        }
        Some(items)
    }
}
