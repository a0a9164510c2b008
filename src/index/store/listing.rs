//! A manifest as it is kept: every path, with what it holds or why it was left out, and what it looked like.
//!
//! This is what a later walk compares with, and what a [`Manifest`] is made of.

use crate::codec::{DamagedBytes, ByteReader, put_text, put_varint};
use crate::language::Language;
use crate::manifest::{ContentNo, ManifestEntry, Manifest, PathClass};
use codeyard_files::gate::FileStamp;

/// One path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedFile {
    /// Relative to the root.
    pub path: Box<str>,
    /// See there.
    pub held: FileState,
    /// In bytes.
    pub size: u64,
    /// Where the bytes came from.
    pub origin: FileOrigin,
}

/// What a path holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileState {
    /// This content.
    Content(ContentNo, Option<Language>),
    /// Nothing that is searched.
    Excluded(ExclusionReason),
}

/// Why a file isn't searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum ExclusionReason {
    /// It isn't text.
    Binary = 0,
    /// It is larger than the configuration allows.
    TooLarge = 1,
    /// A program wrote it.
    Generated = 2,
    /// It was squeezed for machines.
    Minified = 3,
    /// It couldn't be read.
    Unreadable = 4,
}

/// Where a path's bytes came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileOrigin {
    /// A file on disk that looked like this.
    Disk(FileStamp),
    /// A blob of git.
    Blob([u8; 20]),
}

impl ListedFile {
    /// Whether questions look into it.
    pub(crate) fn is_searched(&self) -> bool {
        matches!(self.held, FileState::Content(..))
    }
}

impl ExclusionReason {
    /// All of them.
    pub(crate) const ALL: [Self; 5] = [Self::Binary, Self::TooLarge, Self::Generated, Self::Minified, Self::Unreadable];

    /// As `index_status` says it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::TooLarge => "too_large",
            Self::Generated => "generated",
            Self::Minified => "minified",
            Self::Unreadable => "unreadable",
        }
    }
}

/// The bytes of a listing that is ordered by path. Each path is told by what it has in common with the one before it.
pub(crate) fn encode(listing: &[ListedFile]) -> Vec<u8> {
    let mut out = Vec::with_capacity(listing.len() * 48);
    put_varint(&mut out, listing.len() as u64);
    let mut before: &str = "";
    for file in listing {
        let mut same = before.bytes().zip(file.path.bytes()).take_while(|(one, other)| one == other).count();
        while !file.path.is_char_boundary(same) {
            same -= 1;
        }
        put_varint(&mut out, same as u64);
        put_text(&mut out, &file.path[same..]);
        before = &file.path;
        match file.held {
            FileState::Excluded(why) => out.extend([0, why as u8]),
            FileState::Content(content, language) => {
                out.extend([1, language.map_or(0, |language| language.number() + 1)]);
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

/// Undoes [`encode`].
pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<ListedFile>, DamagedBytes> {
    let mut from = ByteReader(bytes);
    let count = from.count()?;
    let mut listing: Vec<ListedFile> = Vec::with_capacity(count);
    for _ in 0..count {
        let same = usize::try_from(from.number()?).map_err(|_| DamagedBytes)?;
        let before = listing.last().map_or("", |file| &*file.path);
        let mut path = before.get(..same).ok_or(DamagedBytes)?.to_owned();
        path.push_str(from.text()?);
        let held = match from.byte()? {
            0 => FileState::Excluded(ExclusionReason::ALL.get(usize::from(from.byte()?)).copied().ok_or(DamagedBytes)?),
            1 => {
                let language = match from.byte()? {
                    0 => None,
                    number => Some(Language::from_number(number - 1).ok_or(DamagedBytes)?),
                };
                FileState::Content(from.number_u32()?, language)
            }
            _ => return Err(DamagedBytes),
        };
        let size = from.number()?;
        let origin = match from.byte()? {
            0 => FileOrigin::Blob(from.bytes(20)?.try_into().map_err(|_| DamagedBytes)?),
            1 => {
                let mut time =
                    || from.bytes(16).and_then(|bytes| bytes.try_into().map_err(|_| DamagedBytes)).map(i128::from_le_bytes);
                let (mtime_ns, ctime_ns) = (time()?, time()?);
                let (inode, device) = (from.number()?, from.number()?);
                FileOrigin::Disk(FileStamp { size, mtime_ns, ctime_ns, inode, device })
            }
            _ => return Err(DamagedBytes),
        };
        listing.push(ListedFile { path: path.into(), held, size, origin });
    }
    let ordered = listing.windows(2).all(|pair| pair[0].path < pair[1].path);
    if from.0.is_empty() && ordered { Ok(listing) } else { Err(DamagedBytes) }
}

/// The manifest of the files that are searched.
pub(crate) fn manifest(listing: &[ListedFile]) -> Manifest {
    let searched = listing.iter().filter_map(|file| match file.held {
        FileState::Content(content, language) => Some(ManifestEntry {
            path: file.path.clone(),
            content,
            language,
            size: file.size,
            class: PathClass::of(&file.path),
        }),
        FileState::Excluded(_) => None,
    });
    Manifest::new(searched.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_comes_back_and_half_of_it_is_damage() {
        let stamp = FileStamp { size: 5, mtime_ns: 1 << 70, ctime_ns: -3, inode: 77, device: 9 };
        let listed = |path: &str, held, origin| ListedFile { path: path.into(), held, size: 5, origin };
        let listing = vec![
            listed("a/é", FileState::Content(1, None), FileOrigin::Disk(stamp)),
            listed("a/ê", FileState::Content(900, Language::from_number(0)), FileOrigin::Blob([7; 20])),
            listed("b", FileState::Excluded(ExclusionReason::Minified), FileOrigin::Disk(stamp)),
        ];
        let bytes = encode(&listing);
        assert_eq!(decode(&bytes), Ok(listing.clone()));
        for end in 0..bytes.len() {
            assert_eq!(decode(&bytes[..end]), Err(DamagedBytes), "{end}");
        }
        assert_eq!(manifest(&listing).entries().len(), 2);
    }
}
