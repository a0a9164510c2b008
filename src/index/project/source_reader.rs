//! Reads the bytes of manifest entries: from disk for the working tree, from git for a commit. Caches the lines that a
//! query has read.

use std::collections::HashMap;
use std::path::Path;

use super::Project;
use super::manifest_view::ManifestView;
use crate::manifest::ManifestEntry;
use crate::store::FileOrigin;
use crate::text;
use codeyard_files::gate::RootReader;
use codeyard_git::{BlobRead, BlobReader};
use codeyard_model::limits::MAX_SEARCHED_FILE_BYTES;

/// Reads the files of one query on one thread.
pub(super) struct SourceReader<'s> {
    root_reader: RootReader,
    blobs: Option<BlobReader>,
    project: &'s Project,
    read: HashMap<Box<str>, Vec<String>>,
}

impl<'s> SourceReader<'s> {
    pub(super) fn new(project: &'s Project) -> Self {
        Self { root_reader: RootReader::open(&project.root), blobs: None, project, read: HashMap::new() }
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

    /// The lines of an entry; `None`: it can't be read.
    pub(super) fn lines(&mut self, view: &ManifestView, entry: &ManifestEntry) -> Option<&[String]> {
        if !self.read.contains_key(&entry.path) {
            let mut bytes = Vec::new();
            if !self.read(view.origin(&entry.path), &entry.path, &mut bytes) {
                return None;
            }
            let decoded = text::decode(&bytes);
            let lines = String::from_utf8_lossy(&decoded).lines().map(str::to_owned).collect();
            self.read.insert(entry.path.clone(), lines);
        }
        self.read.get(&entry.path).map(Vec::as_slice)
    }

    /// The lines `from` to `to`: at most `lines` lines and `bytes` bytes, cut at a character boundary.
    pub(super) fn preview(
        &mut self,
        view: &ManifestView,
        entry: &ManifestEntry,
        from: u32,
        to: u32,
        lines: usize,
        bytes: usize,
    ) -> Option<String> {
        let all = self.lines(view, entry)?;
        let begin = (from.max(1) as usize - 1).min(all.len());
        let end = (to as usize).min(all.len()).min(begin + lines).max(begin);
        let mut preview = all[begin..end].join("\n");
        if preview.len() > bytes {
            let cut = (0..=bytes).rev().find(|at| preview.is_char_boundary(*at)).unwrap_or(0);
            preview.truncate(cut);
        }
        (!preview.is_empty()).then_some(preview)
    }
}
