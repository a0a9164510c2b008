//! Contents, their facts, the git blobs they come from, and the segments that cover them.

use std::collections::BTreeSet;

use rusqlite::{OptionalExtension, Row, params};

use super::facts_codec::{LazyFacts, decode, encode};
use super::{IndexStore, StoreError, StoreTransaction};
use crate::classify::ContentTraits;
use crate::codec::{pack, unpack};
use crate::facts::Facts;
use crate::language::Language;
use crate::manifest::ContentNo;

/// Encoded facts of one content, in bytes; more counts as damage.
const MAX_PACKED_FACTS_BYTES: usize = 256 * 1024 * 1024;

/// The key of a content: the hash of its bytes, and the language they are read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ContentKey {
    /// The SHA-256 of the bytes.
    pub hash: [u8; 32],
    /// `None`: no language; the text is searched but not parsed.
    pub language: Option<Language>,
}

/// A content to add to the database.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewContent {
    /// Its number, already reserved.
    pub no: ContentNo,
    /// Its hash and language.
    pub key: ContentKey,
    /// Its size in bytes.
    pub size: u64,
}

/// A content whose facts are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ParsedContent {
    /// Its number.
    pub no: ContentNo,
    pub symbols: u32,
    /// Parsing it costs more than one source may cost, so it has no facts.
    pub is_too_complex: bool,
}

/// What follows from the bytes of a git blob alone. Several paths may have the blob, so nothing here depends on a path, and nothing on
/// the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlobFacts {
    /// The SHA-256 of the bytes.
    pub hash: [u8; 32],
    /// Their number.
    pub size: u64,
    /// What may exclude them.
    pub traits: ContentTraits,
    /// The first line, if a language may be detected by it; otherwise empty.
    pub first_line: Box<[u8]>,
}

/// A segment of the text index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SegmentRow {
    /// Its id in the database.
    pub id: i64,
    /// Its file name in the folder of segments.
    pub file: String,
    /// The number of contents that it covers.
    pub contents: u64,
    /// The length of the file in bytes.
    pub bytes: u64,
}

fn number(language: Option<Language>) -> u16 {
    language.map_or(0, |language| u16::from(language.number()) + 1)
}

impl IndexStore {
    /// The number of the content with this key.
    pub(crate) fn content(&self, key: &ContentKey) -> Result<Option<ContentNo>, StoreError> {
        let mut statement = self.0.prepare_cached("SELECT no FROM contents WHERE hash = ? AND language = ?")?;
        Ok(statement.query_row(params![key.hash, number(key.language)], |row| row.get(0)).optional()?)
    }

    /// The contents whose hashes begin with these bytes, ordered by hash and language; at most 64.
    pub(crate) fn contents_with_prefix(&self, prefix: &[u8]) -> Result<Vec<ContentNo>, StoreError> {
        let mut above = prefix.to_vec();
        above.resize(33, 0xff);
        let mut statement = self
            .0
            .prepare_cached("SELECT no FROM contents WHERE hash >= ? AND hash < ? ORDER BY hash, language LIMIT 64")?;
        let found = statement.query_map(params![prefix, above], |row| row.get(0))?.collect::<Result<_, _>>()?;
        Ok(found)
    }

    pub(crate) fn hash_of(&self, no: ContentNo) -> Result<Option<[u8; 32]>, StoreError> {
        let mut statement = self.0.prepare_cached("SELECT hash FROM contents WHERE no = ?")?;
        Ok(statement.query_row([no], |row| row.get(0)).optional()?)
    }

    /// What is known about a git blob; `None`: no job has read it.
    pub(crate) fn blob(&self, oid: &[u8; 20]) -> Result<Option<BlobFacts>, StoreError> {
        let mut statement = self.0.prepare_cached("SELECT hash, size, traits, first_line FROM blobs WHERE oid = ?")?;
        let read = |row: &Row<'_>| {
            let first_line: Vec<u8> = row.get(3)?;
            Ok(BlobFacts {
                hash: row.get(0)?,
                size: row.get::<_, i64>(1)?.cast_unsigned(),
                traits: ContentTraits::from_bits(row.get(2)?),
                first_line: first_line.into(),
            })
        };
        Ok(statement.query_row([oid], read).optional()?)
    }

    /// The facts of a content; `None`: it has none.
    pub(crate) fn facts(&self, no: ContentNo) -> Result<Option<Facts>, StoreError> {
        Ok(self.unpacked(no)?.map(|bytes| decode(&bytes)).transpose()?)
    }

    /// The same facts, decoded symbol by symbol.
    pub(crate) fn lazy_facts(&self, no: ContentNo) -> Result<Option<LazyFacts>, StoreError> {
        Ok(self.unpacked(no)?.map(LazyFacts::new).transpose()?)
    }

    fn unpacked(&self, no: ContentNo) -> Result<Option<Vec<u8>>, StoreError> {
        let mut statement = self.0.prepare_cached("SELECT packed FROM facts WHERE no = ?")?;
        let mut rows = statement.query([no])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let packed = row.get_ref(0)?.as_blob().map_err(|_| StoreError::Damaged)?;
        Ok(Some(unpack(packed, MAX_PACKED_FACTS_BYTES)?))
    }

    /// The contents that no segment covers, ordered.
    pub(crate) fn unsegmented(&self) -> Result<Vec<ContentNo>, StoreError> {
        let mut statement = self.0.prepare_cached("SELECT no FROM contents WHERE segment IS NULL ORDER BY no")?;
        Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
    }

    /// The number of symbols of each parsed content, ordered by content.
    pub(crate) fn symbol_counts(&self) -> Result<Vec<(ContentNo, u32)>, StoreError> {
        let mut statement =
            self.0.prepare_cached("SELECT no, symbols FROM contents WHERE symbols IS NOT NULL ORDER BY no")?;
        Ok(statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?)
    }

    /// The contents that are too complex, ordered.
    pub(crate) fn too_complex_contents(&self) -> Result<Vec<ContentNo>, StoreError> {
        let mut statement = self.0.prepare_cached("SELECT no FROM contents WHERE is_too_complex ORDER BY no")?;
        Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
    }

    /// All contents, ordered.
    pub(crate) fn all_contents(&self) -> Result<Vec<ContentNo>, StoreError> {
        let mut statement = self.0.prepare_cached("SELECT no FROM contents ORDER BY no")?;
        Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
    }

    /// The segments, ordered.
    pub(crate) fn segments(&self) -> Result<Vec<SegmentRow>, StoreError> {
        let mut statement = self.0.prepare_cached("SELECT id, file, contents, bytes FROM segments ORDER BY id")?;
        let rows = statement.query_map([], |row| {
            let contents: i64 = row.get(2)?;
            let bytes: i64 = row.get(3)?;
            Ok(SegmentRow {
                id: row.get(0)?,
                file: row.get(1)?,
                contents: contents.cast_unsigned(),
                bytes: bytes.cast_unsigned(),
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// Facts in the stored form. Any thread can encode them before the transaction begins.
pub(crate) struct PackedFacts(Option<Vec<u8>>);

impl PackedFacts {
    /// Encodes the facts of a content.
    pub(crate) fn of(facts: &Facts) -> Self {
        let is_empty = facts.symbols.is_empty() && facts.references.is_empty() && !facts.is_too_complex;
        Self((!is_empty).then(|| pack(&encode(facts))))
    }

    /// Their size in bytes.
    pub(crate) fn size(&self) -> usize {
        self.0.as_ref().map_or(0, Vec::len)
    }
}

impl StoreTransaction<'_> {
    /// Reserves this many content numbers and returns the first. They are never reused, even if nothing is stored
    /// under them.
    pub(crate) fn reserve(&self, count: u32) -> Result<ContentNo, StoreError> {
        // Numbers begin at 1; 0 means none.
        let first = self.add_to("contents", count)?;
        u32::try_from(first + 1).ok().filter(|first| first.checked_add(count).is_some()).ok_or(StoreError::Full)
    }

    /// Adds contents that no segment covers.
    pub(crate) fn add_contents(&self, new: &[NewContent]) -> Result<(), StoreError> {
        let mut statement =
            self.0.prepare_cached("INSERT INTO contents (no, hash, language, size) VALUES (?, ?, ?, ?)")?;
        for content in new {
            statement.execute(params![
                content.no,
                content.key.hash,
                number(content.key.language),
                content.size.cast_signed()
            ])?;
        }
        Ok(())
    }

    /// Stores what is known about a git blob.
    pub(crate) fn put_blob(&self, oid: &[u8; 20], blob: &BlobFacts) -> Result<(), StoreError> {
        let mut statement = self.0.prepare_cached("INSERT OR REPLACE INTO blobs VALUES (?, ?, ?, ?, ?)")?;
        statement.execute(params![oid, blob.hash, blob.size.cast_signed(), blob.traits.bits(), blob.first_line])?;
        Ok(())
    }

    /// Forgets all git blobs but these.
    pub(crate) fn keep_blobs(&self, kept: &BTreeSet<[u8; 20]>) -> Result<(), StoreError> {
        let mut stored = self.0.prepare_cached("SELECT oid FROM blobs")?;
        let stored: Vec<[u8; 20]> = stored.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let mut delete = self.0.prepare_cached("DELETE FROM blobs WHERE oid = ?")?;
        for oid in stored.iter().filter(|oid| !kept.contains(*oid)) {
            delete.execute([oid])?;
        }
        Ok(())
    }

    /// Stores the facts of a content. It counts as parsed after [`Self::mark_parsed`].
    pub(crate) fn put_facts(&self, no: ContentNo, facts: &PackedFacts) -> Result<(), StoreError> {
        let Some(packed) = &facts.0 else {
            self.0.prepare_cached("DELETE FROM facts WHERE no = ?")?.execute([no])?;
            return Ok(());
        };
        let mut statement = self.0.prepare_cached("INSERT OR REPLACE INTO facts VALUES (?, ?)")?;
        statement.execute(params![no, packed])?;
        Ok(())
    }

    /// Marks contents as parsed and stores the number of symbols of each, and whether it is too complex.
    pub(crate) fn mark_parsed(&self, contents: &[ParsedContent]) -> Result<(), StoreError> {
        let mut statement =
            self.0.prepare_cached("UPDATE contents SET symbols = ?, is_too_complex = ? WHERE no = ?")?;
        for content in contents {
            statement.execute(params![content.symbols, content.is_too_complex, content.no])?;
        }
        Ok(())
    }

    pub(crate) fn mark_unparsed(&self, contents: &[ContentNo]) -> Result<(), StoreError> {
        let mut statement =
            self.0.prepare_cached("UPDATE contents SET symbols = NULL, is_too_complex = FALSE WHERE no = ?")?;
        for no in contents {
            statement.execute([no])?;
        }
        Ok(())
    }

    /// Adds a segment that covers these contents.
    pub(crate) fn add_segment(&self, file: &str, bytes: u64, contents: &[ContentNo]) -> Result<(), StoreError> {
        let insert = "INSERT INTO segments (file, contents, bytes) VALUES (?, ?, ?) RETURNING id";
        let id: i64 =
            self.0.query_row(insert, params![file, contents.len() as i64, bytes.cast_signed()], |row| row.get(0))?;
        let mut statement = self.0.prepare_cached("UPDATE contents SET segment = ? WHERE no = ?")?;
        for no in contents {
            statement.execute(params![id, no])?;
        }
        Ok(())
    }

    /// Deletes segments. Contents that only they cover are covered by none afterwards.
    pub(crate) fn drop_segments(&self, ids: &[i64]) -> Result<(), StoreError> {
        for id in ids {
            self.0.execute("UPDATE contents SET segment = NULL WHERE segment = ?", [id])?;
            self.0.execute("DELETE FROM segments WHERE id = ?", [id])?;
        }
        Ok(())
    }

    /// Deletes contents, with their facts.
    pub(crate) fn drop_contents(&self, contents: &[ContentNo]) -> Result<(), StoreError> {
        for statement in ["DELETE FROM contents WHERE no = ?", "DELETE FROM facts WHERE no = ?"] {
            let mut statement = self.0.prepare_cached(statement)?;
            for no in contents {
                statement.execute([no])?;
            }
        }
        Ok(())
    }
}
