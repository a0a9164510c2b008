//! A manifest in its stored form: every path with its content or the reason for its exclusion, and its stamp or blob.
//!
//! A later scan compares files with it, and a [`Manifest`] is made from it.

use crate::classify::{ExclusionReason, Provenance};
use crate::codec::{ByteReader, DamagedBytes, put_text, put_varint};
use crate::language::Language;
use crate::manifest::{ContentNo, FileClass, Manifest, ManifestEntry};
use codeyard_files::gate::FileStamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedFile {
    /// The path, relative to the root.
    pub path: Box<str>,
    /// Its content, or why it has none.
    pub state: FileState,
    /// Its size in bytes.
    pub size: u64,
    /// The source of its bytes.
    pub origin: FileOrigin,
}

/// What the index has of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileState {
    /// This content, read as this language.
    Content(ContentNo, Option<Language>, Provenance),
    /// Nothing: the file isn't searched.
    Excluded(ExclusionReason),
}

/// The source of a path's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileOrigin {
    Disk(FileStamp),
    /// A git blob with this id.
    Blob([u8; 20]),
}

impl ListedFile {
    /// Whether searches look into the file.
    pub(crate) fn is_searched(&self) -> bool {
        matches!(self.state, FileState::Content(..))
    }
}

/// Encodes a listing that is ordered by path. Each path is stored as its common prefix with the previous path, and the
/// rest.
pub(crate) fn encode(listing: &[ListedFile]) -> Vec<u8> {
    let mut out = Vec::with_capacity(listing.len() * 48);
    put_varint(&mut out, listing.len() as u64);
    let mut before: &str = "";
    for file in listing {
        let mut common = before.bytes().zip(file.path.bytes()).take_while(|(one, other)| one == other).count();
        while !file.path.is_char_boundary(common) {
            common -= 1;
        }
        put_varint(&mut out, common as u64);
        put_text(&mut out, &file.path[common..]);
        before = &file.path;
        match file.state {
            FileState::Excluded(why) => out.extend([0, why as u8]),
            FileState::Content(content, language, provenance) => {
                out.extend([1 + provenance as u8, language.map_or(0, |language| language.number() + 1)]);
                put_varint(&mut out, u64::from(content));
            }
        }
        put_varint(&mut out, file.size);
        match file.origin {
            FileOrigin::Blob(oid) => {
                out.push(0);
                out.extend(oid);
            }
            FileOrigin::Disk(stamp) => {
                out.push(1);
                out.extend(stamp.mtime_ns.to_le_bytes());
                out.extend(stamp.ctime_ns.to_le_bytes());
                put_varint(&mut out, stamp.inode);
                put_varint(&mut out, stamp.device);
            }
        }
    }
    out
}

/// The inverse of [`encode`].
pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<ListedFile>, DamagedBytes> {
    let mut from = ByteReader(bytes);
    let count = from.count()?;
    let mut listing: Vec<ListedFile> = Vec::with_capacity(count);
    for _ in 0..count {
        let common = usize::try_from(from.number()?).map_err(|_| DamagedBytes)?;
        let before = listing.last().map_or("", |file| &*file.path);
        let mut path = before.get(..common).ok_or(DamagedBytes)?.to_owned();
        path.push_str(from.text()?);
        let state = match from.byte()? {
            0 => FileState::Excluded(ExclusionReason::ALL.get(usize::from(from.byte()?)).copied().ok_or(DamagedBytes)?),
            number => {
                let provenance = Provenance::from_number(number - 1).ok_or(DamagedBytes)?;
                let language = match from.byte()? {
                    0 => None,
                    number => Some(Language::from_number(number - 1).ok_or(DamagedBytes)?),
                };
                FileState::Content(from.number_u32()?, language, provenance)
            }
        };
        let size = from.number()?;
        let origin = match from.byte()? {
            0 => FileOrigin::Blob(from.bytes(20)?.try_into().map_err(|_| DamagedBytes)?),
            1 => {
                let mut time = || {
                    from.bytes(16).and_then(|bytes| bytes.try_into().map_err(|_| DamagedBytes)).map(i128::from_le_bytes)
                };
                let mtime_ns = time()?;
                let ctime_ns = time()?;
                FileOrigin::Disk(FileStamp { size, mtime_ns, ctime_ns, inode: from.number()?, device: from.number()? })
            }
            _ => return Err(DamagedBytes),
        };
        listing.push(ListedFile { path: path.into(), state, size, origin });
    }
    let ordered = listing.windows(2).all(|pair| pair[0].path < pair[1].path);
    if from.0.is_empty() && ordered { Ok(listing) } else { Err(DamagedBytes) }
}

/// The manifest of the searched files.
pub(crate) fn manifest(listing: &[ListedFile]) -> Manifest {
    let searched = listing.iter().filter_map(|file| match file.state {
        FileState::Content(content, language, provenance) => Some(ManifestEntry {
            path: file.path.clone(),
            content,
            language,
            size: file.size,
            class: FileClass { provenance, ..FileClass::of(&file.path) },
        }),
        FileState::Excluded(_) => None,
    });
    Manifest::new(searched.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_round_trips_and_truncated_bytes_are_damaged() {
        let stamp = FileStamp { size: 5, mtime_ns: 1 << 70, ctime_ns: -3, inode: 77, device: 9 };
        let listed = |path: &str, state, origin| ListedFile { path: path.into(), state, size: 5, origin };
        let listing = vec![
            listed("a/é", FileState::Content(1, None, Provenance::Written), FileOrigin::Disk(stamp)),
            listed(
                "a/ê",
                FileState::Content(900, Language::from_number(0), Provenance::Minified),
                FileOrigin::Blob([7; 20]),
            ),
            listed("b", FileState::Excluded(ExclusionReason::Unreadable), FileOrigin::Disk(stamp)),
        ];
        let bytes = encode(&listing);
        assert_eq!(decode(&bytes), Ok(listing.clone()));
        for end in 0..bytes.len() {
            assert_eq!(decode(&bytes[..end]), Err(DamagedBytes), "{end}");
        }
        assert_eq!(manifest(&listing).entries().len(), 2);
    }
}
