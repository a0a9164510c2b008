//! What a product's repository consists of: its files, languages, manifests, README and licence texts.
//!
//! It takes the list of files from the pinned commit and reads only what it needs to tell them apart. Invariants: a file is opened strictly below
//! the folder, never through a link; equal commits give equal inventories, on any machine; nothing is left out silently.

use std::collections::BTreeMap;
use std::path::Path;

use codeyard_ecosystems::metadata::{self, PackageManifest};
use codeyard_files::gate::RootReader;
use codeyard_index::Language;
use codeyard_process::git::Git;
use codeyard_runs::stage::{StageError, StopFlag};

use crate::artifacts::SCHEMA_VERSION;
use crate::artifacts::repository::{FileKind, InventoryFile, LanguageShare, OmittedFile, RepoInventory};
use crate::limits::{
    MAX_INVENTORY_FILE_BYTES, MAX_INVENTORY_FILES, MAX_PACKAGE_MANIFEST_BYTES, MAX_TREE_LISTING_BYTES,
};
use crate::repository::checkout::CheckedOut;
use crate::repository::file_kinds::{kind_of, rank};
use crate::repository::git_errors::{of_io, of_local};
use crate::request::sites::Sites;

/// Manifests of a repository that are read; the first ones by depth, then by path.
const MAX_MANIFESTS: usize = 200;
/// Files that an inventory names as omitted.
const MAX_OMITTED_FILES: usize = 1_000;
/// Size of a file whose first line is read to find its language, in bytes.
const MAX_FIRST_LINE_FILE_BYTES: u64 = 64 * 1024;

/// One entry of a commit's tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeEntry {
    /// The path; bytes that aren't UTF-8 are replaced.
    pub(crate) path: String,
    /// Whether the path is UTF-8.
    pub(crate) is_utf8: bool,
    pub(crate) kind: TreeEntryKind,
    /// The size of a file or a link.
    pub(crate) bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeEntryKind {
    File,
    Link,
    Submodule,
}

/// How a file of large file storage begins.
const LARGE_FILE_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/v1\n";
/// Largest such file.
const LARGE_FILE_POINTER_BYTES: u64 = 1_024;
/// Longest target of a link that is looked at.
const MAX_LINK_TARGET_BYTES: u64 = 1_024;
/// Names of READMEs without their ending, and the endings, best first.
const README_ENDINGS: [&str; 8] = [".md", ".markdown", ".mdx", ".rst", ".adoc", ".asciidoc", ".txt", ""];

/// The inventory of the repository in the folder `repo`.
///
/// # Errors
/// `INVALID_INPUT` if it has too many files, `CANCELLED` if the work has to stop, `INTERNAL` if it can't be read.
pub fn inventory(
    repo: &Path,
    checkout: &CheckedOut,
    sites: &Sites,
    stop: &StopFlag,
) -> Result<RepoInventory, StageError> {
    let entries = tree(repo, &checkout.commit, stop)?;
    let root = repo.canonicalize().map_err(|error| of_io("opening the working copy", &error))?;
    let reader = RootReader::open(&root);
    let readme = readme_of(&entries, &reader);
    let mut inventory = RepoInventory {
        schema_version: SCHEMA_VERSION.into(),
        commit: checkout.commit.clone(),
        commit_date: checkout.commit_date.clone(),
        tags: checkout.tags.clone(),
        files: Vec::new(),
        files_total: entries.len(),
        omitted: Vec::new(),
        languages: Vec::new(),
        manifests: Vec::new(),
        readme: readme.clone(),
        license_files: Vec::new(),
    };
    for entry in &entries {
        if stop.is_set() {
            return Err(StageError::cancelled());
        }
        let is_readme = readme.as_ref() == Some(&entry.path);
        match omission(entry, is_readme, &reader) {
            Some(reason) => {
                inventory.omitted.push(OmittedFile { path: entry.path.clone(), reason: reason.into() });
            }
            None => inventory.files.push(listed(entry, is_readme, &reader)),
        }
    }
    limit_files(&mut inventory);
    inventory.license_files = paths_of(&inventory, FileKind::License);
    inventory.languages = languages(&inventory.files);
    inventory.manifests = manifests_of(&inventory, &reader, sites, stop);
    if stop.is_set() { Err(StageError::cancelled()) } else { Ok(inventory) }
}

/// The files, links and submodules of a commit, by path.
pub(crate) fn tree(repo: &Path, commit: &str, stop: &StopFlag) -> Result<Vec<TreeEntry>, StageError> {
    let git = Git::in_repository(repo).args(["ls-tree", "-r", "-l", "-z", "--full-tree", commit]);
    let git = git.max_output_bytes(MAX_TREE_LISTING_BYTES);
    let listing = git.run(&|| stop.is_set()).map_err(|error| of_local(&error))?;
    let mut entries: Vec<TreeEntry> = listing.split(|byte| *byte == 0).filter_map(entry_of).collect();
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(entries)
}

/// The entry of `MODE TYPE OBJECT SIZE\tPATH`.
fn entry_of(line: &[u8]) -> Option<TreeEntry> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let head = std::str::from_utf8(&line[..tab]).ok()?;
    let mut fields = head.split_ascii_whitespace();
    let kind = match fields.next()? {
        "120000" => TreeEntryKind::Link,
        "160000" => TreeEntryKind::Submodule,
        _ => TreeEntryKind::File,
    };
    let bytes = fields.nth(2).and_then(|size| size.parse().ok()).unwrap_or_default();
    let path = &line[tab + 1..];
    let is_utf8 = std::str::from_utf8(path).is_ok();
    Some(TreeEntry { path: String::from_utf8_lossy(path).into_owned(), is_utf8, kind, bytes })
}

/// Why a file isn't read further.
fn omission(entry: &TreeEntry, is_readme: bool, reader: &RootReader) -> Option<&'static str> {
    if !entry.is_utf8 {
        return Some("not UTF-8 path");
    }
    match entry.kind {
        TreeEntryKind::Link => return Some("link"),
        TreeEntryKind::Submodule => return Some("submodule"),
        TreeEntryKind::File => {}
    }
    if entry.bytes > MAX_INVENTORY_FILE_BYTES && !is_readme {
        return Some("too large");
    }
    let may_be_pointer = entry.bytes > LARGE_FILE_POINTER.len() as u64 && entry.bytes <= LARGE_FILE_POINTER_BYTES;
    let mut bytes = Vec::new();
    let is_pointer = may_be_pointer
        && reader.read(Path::new(&entry.path), LARGE_FILE_POINTER_BYTES, &mut bytes).is_ok()
        && bytes.starts_with(LARGE_FILE_POINTER);
    is_pointer.then_some("large file storage")
}

fn listed(entry: &TreeEntry, is_readme: bool, reader: &RootReader) -> InventoryFile {
    let language = language_of(entry, reader);
    let kind = if is_readme {
        FileKind::Readme
    } else if is_license(&entry.path) {
        FileKind::License
    } else {
        kind_of(&entry.path, language.is_some_and(Language::is_code))
    };
    let language = language.map(|language| language.name().to_owned());
    InventoryFile { path: entry.path.clone(), bytes: entry.bytes, kind, language }
}

/// The language by the name, or by the first line of a small file whose name doesn't say it.
fn language_of(entry: &TreeEntry, reader: &RootReader) -> Option<Language> {
    let name = entry.path.rsplit('/').next().unwrap_or(&entry.path);
    let needs_line = !name.trim_start_matches('.').contains('.') || name.ends_with(".h");
    let mut bytes = Vec::new();
    if needs_line && entry.bytes <= MAX_FIRST_LINE_FILE_BYTES {
        // A file that can't be read has no first line.
        let _ = reader.read(Path::new(&entry.path), MAX_FIRST_LINE_FILE_BYTES, &mut bytes);
    }
    let first_line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Language::of_file(&entry.path, first_line)
}

/// The README at the top, or the file of the repository that a link of this name leads to.
pub(crate) fn readme_of(entries: &[TreeEntry], reader: &RootReader) -> Option<String> {
    let at_top = || entries.iter().filter(|entry| entry.is_utf8 && !entry.path.contains('/'));
    let file_of = |entry: &TreeEntry| match entry.kind {
        TreeEntryKind::File => Some(entry.path.clone()),
        TreeEntryKind::Link => link_target(&entry.path, entries, reader),
        TreeEntryKind::Submodule => None,
    };
    README_ENDINGS.iter().find_map(|ending| {
        let name = format!("readme{ending}");
        at_top().filter(|entry| entry.path.eq_ignore_ascii_case(&name)).find_map(file_of)
    })
}

/// The file of the repository that a link at the top names; a clone has the name as the link's content. No link is followed.
fn link_target(path: &str, entries: &[TreeEntry], reader: &RootReader) -> Option<String> {
    let mut content = Vec::new();
    reader.read(Path::new(path), MAX_LINK_TARGET_BYTES, &mut content).ok()?;
    let target = std::str::from_utf8(&content).ok()?;
    let target = target.strip_prefix("./").unwrap_or(target);
    let is_file = |entry: &&TreeEntry| entry.kind == TreeEntryKind::File && entry.is_utf8 && entry.path == target;
    entries.iter().find(is_file).map(|entry| entry.path.clone())
}

/// Whether it is a licence text at the top.
fn is_license(path: &str) -> bool {
    let upper = path.to_ascii_uppercase();
    let is_named = ["LICENSE", "LICENCE", "COPYING", "UNLICENSE"]
        .iter()
        .any(|word| upper.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '_'])));
    is_named && !path.contains('/') && !upper.ends_with(".PY") && !upper.ends_with(".JS")
}

/// Takes the least important files out of a list that is too long, and bounds the list of omitted ones.
fn limit_files(inventory: &mut RepoInventory) {
    if inventory.files.len() > MAX_INVENTORY_FILES {
        inventory.files.sort_by(|one, other| (rank(one.kind), &one.path).cmp(&(rank(other.kind), &other.path)));
        let rest = inventory.files.split_off(MAX_INVENTORY_FILES);
        let rest = rest.into_iter().map(|file| OmittedFile { path: file.path, reason: "too many files".into() });
        inventory.omitted.extend(rest);
        inventory.files.sort_by(|one, other| one.path.cmp(&other.path));
        inventory.omitted.sort_by(|one, other| one.path.cmp(&other.path));
    }
    inventory.omitted.truncate(MAX_OMITTED_FILES);
}

fn paths_of(inventory: &RepoInventory, kind: FileKind) -> Vec<String> {
    inventory.files.iter().filter(|file| file.kind == kind).map(|file| file.path.clone()).collect()
}

fn languages(files: &[InventoryFile]) -> Vec<LanguageShare> {
    let mut shares: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    for file in files.iter().filter(|file| file.kind == FileKind::Source) {
        let Some(language) = &file.language else { continue };
        let share = shares.entry(language).or_default();
        share.0 += 1;
        share.1 = share.1.saturating_add(file.bytes);
    }
    let share = |(language, (files, bytes)): (&str, (usize, u64))| LanguageShare {
        language: language.to_owned(),
        files,
        bytes,
    };
    let mut languages: Vec<LanguageShare> = shares.into_iter().map(share).collect();
    // The map has them by name; equal sizes keep that order.
    languages.sort_by_key(|share| std::cmp::Reverse(share.bytes));
    languages
}

fn manifests_of(
    inventory: &RepoInventory,
    reader: &RootReader,
    sites: &Sites,
    stop: &StopFlag,
) -> Vec<PackageManifest> {
    let mut paths = paths_of(inventory, FileKind::Manifest);
    paths.sort_by_key(|path| path.matches('/').count());
    paths.truncate(MAX_MANIFESTS);
    paths.sort();
    let mut found = Vec::new();
    let mut texts = Vec::new();
    for path in paths.into_iter().take_while(|_| !stop.is_set()) {
        let mut content = Vec::new();
        if reader.read(Path::new(&path), MAX_PACKAGE_MANIFEST_BYTES, &mut content).is_err() {
            // It is listed, without values.
            content.clear();
        }
        let folder = path.rfind('/').map_or("", |at| &path[..=at]);
        let beside = format!("{folder}tsconfig.json");
        let has_typescript = inventory.files.binary_search_by(|file| file.path.as_str().cmp(&beside)).is_ok();
        if let Some(mut manifest) = metadata::read(&path, &content, has_typescript) {
            manifest.platforms.retain(|platform| sites.platforms.contains_key(platform));
            found.push(manifest);
            texts.push(String::from_utf8_lossy(&content).into_owned());
        }
    }
    let read = |path: &str| {
        let mut content = Vec::new();
        let is_listed = inventory.files.binary_search_by(|file| file.path.as_str().cmp(path)).is_ok();
        let is_read = is_listed && reader.read(Path::new(path), MAX_PACKAGE_MANIFEST_BYTES, &mut content).is_ok();
        is_read.then(|| String::from_utf8_lossy(&content).into_owned())
    };
    metadata::inherit(&mut found, &texts, &read);
    found
}

#[cfg(test)]
mod tests;
