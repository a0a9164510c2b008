//! Reads the bytes of manifest entries: from disk for the working tree, from git for a commit. Caches the lines that a
//! query has read.
//!
//! Invariant: lines that the index knows by their numbers are shown only from the bytes that were indexed.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use super::Project;
use super::manifest_view::ManifestView;
use crate::limits::{MAX_PREVIEW_BYTES, MAX_PREVIEW_LINES};
use crate::manifest::ManifestEntry;
use crate::store::FileOrigin;
use crate::text::{self, Pattern, line_ends};
use codeyard_base::digest::sha256;
use codeyard_files::gate::RootReader;
use codeyard_git::{BlobRead, BlobReader};
use codeyard_model::limits::MAX_SEARCHED_FILE_BYTES;

/// Changed files that a warning names.
const MAX_NAMED_FILES: usize = 5;

/// Reads the files of one query on one thread.
pub(super) struct SourceReader<'s> {
    root_reader: RootReader,
    blobs: Option<BlobReader>,
    project: &'s Project,
    read: HashMap<Box<str>, SourceLines>,
    /// The files whose bytes aren't those that were indexed.
    changed: BTreeSet<Box<str>>,
}

/// The present lines of an entry.
struct SourceLines {
    lines: Vec<String>,
    /// The hash of the bytes that they come from.
    hash: [u8; 32],
    /// They may have other numbers elsewhere ([`line_ends`]).
    is_numbered_otherwise: bool,
}

impl<'s> SourceReader<'s> {
    pub(super) fn new(project: &'s Project) -> Self {
        Self {
            root_reader: RootReader::open(&project.root),
            blobs: None,
            project,
            read: HashMap::new(),
            changed: BTreeSet::new(),
        }
    }

    /// What there is to know about the lines of the files that were read.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut changed: Vec<&str> = self.changed.iter().map(|path| &**path).collect();
        let more = if changed.len() > MAX_NAMED_FILES { ", …" } else { "" };
        changed.truncate(MAX_NAMED_FILES);
        let moved = (!changed.is_empty()).then(|| {
            format!(
                "Changed since the last job: {}{more}. Symbols of these files may have moved, so no body of them is shown. Call sync_repo and repeat \
                 the call.",
                changed.join(", ")
            )
        });
        let mut otherwise: Vec<&str> =
            self.read.iter().filter(|(_, source)| source.is_numbered_otherwise).map(|(path, _)| &**path).collect();
        otherwise.sort_unstable();
        moved.into_iter().chain(line_ends::warning(otherwise.into_iter())).collect()
    }

    /// Reads the present bytes of an entry. Returns whether they could be read.
    pub(super) fn read(&mut self, origin: Option<FileOrigin>, path: &str, into: &mut Vec<u8>) -> bool {
        match origin {
            Some(FileOrigin::Blob(oid)) => {
                if self.blobs.is_none() {
                    self.blobs = self.project.git().ok().map(|git| git.reader());
                }
                let read = self.blobs.as_ref().map(|blobs| blobs.read(&oid, MAX_SEARCHED_FILE_BYTES, into));
                read == Some(BlobRead::Done)
            }
            Some(FileOrigin::Disk(_)) | None => {
                self.root_reader.read(Path::new(path), MAX_SEARCHED_FILE_BYTES, into).is_ok()
            }
        }
    }

    /// The number of lines that an entry has now; `None`: it can't be read.
    pub(super) fn line_count(&mut self, view: &ManifestView, entry: &ManifestEntry) -> Option<usize> {
        self.source(view, entry).map(|source| source.lines.len())
    }

    fn source(&mut self, view: &ManifestView, entry: &ManifestEntry) -> Option<&SourceLines> {
        if !self.read.contains_key(&entry.path) {
            let mut bytes = Vec::new();
            if !self.read(view.origin(&entry.path), &entry.path, &mut bytes) {
                return None;
            }
            let decoded = text::decode(&bytes);
            let lines = String::from_utf8_lossy(&decoded).lines().map(str::to_owned).collect();
            let is_numbered_otherwise = line_ends::has_other_line_ends(&decoded);
            let source = SourceLines { lines, hash: sha256(&bytes), is_numbered_otherwise };
            self.read.insert(entry.path.clone(), source);
        }
        self.read.get(&entry.path)
    }

    /// Whether a line of an entry, as it is now, has a match. True if it can't be read.
    pub(super) fn contains(&mut self, view: &ManifestView, entry: &ManifestEntry, pattern: &Pattern) -> bool {
        let mut bytes = Vec::new();
        !self.read(view.origin(&entry.path), &entry.path, &mut bytes) || pattern.is_in(&text::decode(&bytes))
    }

    /// The first lines of an entry as it is now.
    pub(super) fn beginning(&mut self, view: &ManifestView, entry: &ManifestEntry) -> Option<String> {
        self.source(view, entry).and_then(|source| source.preview(1, u32::MAX))
    }

    /// The lines `from` to `to` of the bytes that were indexed, whose hash is `indexed`. `None` if the file has others now.
    pub(super) fn preview(
        &mut self,
        view: &ManifestView,
        entry: &ManifestEntry,
        indexed: &[u8; 32],
        from: u32,
        to: u32,
    ) -> Option<String> {
        if !self.is_unchanged(view, entry, indexed) {
            return None;
        }
        self.source(view, entry).and_then(|source| source.preview(from, to))
    }

    /// Whether an entry still has the bytes that were indexed, whose hash is `indexed`. If not, a warning will say so.
    pub(super) fn is_unchanged(&mut self, view: &ManifestView, entry: &ManifestEntry, indexed: &[u8; 32]) -> bool {
        let is_same = self.source(view, entry).is_some_and(|source| source.hash == *indexed);
        if !is_same {
            self.changed.insert(entry.path.clone());
        }
        is_same
    }
}

impl SourceLines {
    /// The lines `from` to `to`: at most [`MAX_PREVIEW_LINES`] and [`MAX_PREVIEW_BYTES`], cut at a character boundary.
    fn preview(&self, from: u32, to: u32) -> Option<String> {
        let begin = (from.max(1) as usize - 1).min(self.lines.len());
        let end = (to as usize).min(self.lines.len()).min(begin + MAX_PREVIEW_LINES).max(begin);
        let mut preview = self.lines[begin..end].join("\n");
        if preview.len() > MAX_PREVIEW_BYTES {
            let cut = (0..=MAX_PREVIEW_BYTES).rev().find(|at| preview.is_char_boundary(*at)).unwrap_or(0);
            preview.truncate(cut);
        }
        (!preview.is_empty()).then_some(preview)
    }
}
