//! Search in lines, by text or regular expression.
//!
//! Invariant: every matching line of the manifest's files is counted, or the answer says which files weren't searched.
//! Files of the working tree that have changed since the last job are searched as they are on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use parking_lot::Mutex;

use super::manifest_view::ManifestView;
use super::path_filter::PathFilter;
use super::symbol_search::{invalid_argument, refuse_store_error};
use super::{CancelCheck, Project, QueryContext};
use crate::classify::Provenance;
use crate::handles::line_result_id;
use crate::language::Language;
use crate::manifest::{FileClass, ManifestEntry};
use crate::scan;
use crate::store::{FileOrigin, LIVE};
use crate::text::line_ends;
use crate::text::{
    ContentSource, FileReadOutcome, LineMatch, Pattern, SearchOptions, SearchedFile, TextMatches, TextQuery,
    UnreadReason, search,
};
use codeyard_files::gate::{DirHandleCache, ReadFailure, RootReader};
use codeyard_git::{BlobRead, BlobReader};
use codeyard_model::code::{
    AnswerMetadata, CallArguments, CodeQuery, CodeRefusal, Completeness, DetailLevel, LineCondition, NextAction,
    ResultRow, ResultRows, ResultType, SearchMode, SearchQuery, tools,
};
use codeyard_model::limits::MAX_SEARCHED_FILE_BYTES;

/// The order of the files whose lines match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineOrder {
    /// By path.
    Path,
    /// Code, then other texts, then tests, then third-party code and what programs wrote, each by path.
    CodeFirst,
}

impl LineOrder {
    fn group(self, entry: &ManifestEntry) -> u8 {
        match self {
            Self::Path => 0,
            Self::CodeFirst if entry.class.is_vendored || entry.class.provenance != Provenance::Written => 3,
            Self::CodeFirst if entry.class.is_test => 2,
            Self::CodeFirst => u8::from(entry.language.is_none_or(|language| !language.is_code())),
        }
    }
}

/// What all searches of one query share.
#[derive(Clone, Copy)]
pub(super) struct SearchScope<'s> {
    pub context: &'s QueryContext,
    pub view: &'s ManifestView,
    pub language: Option<Language>,
    pub filter: &'s PathFilter,
    pub is_cancelled: CancelCheck<'s>,
}

impl Project {
    /// The rows of the matching lines. `query` has mode `text` or `regex`, or its text is searched as it is.
    pub(super) fn lines(
        &self,
        query: &SearchQuery,
        scope: SearchScope<'_>,
        order: LineOrder,
    ) -> Result<ResultRows, Box<CodeRefusal>> {
        let SearchScope { context, view, language, filter, is_cancelled } = scope;
        let text_query = TextQuery {
            pattern: query.text.clone(),
            is_regex: query.mode == SearchMode::Regex,
            case: query.case,
            word: query.word,
        };
        let pattern = Pattern::new(&text_query).map_err(|why| {
            let allowed = "one line of text; with mode regex, an expression as ripgrep reads it";
            invalid_argument(&why.to_string(), "query", "no_pattern", allowed, context)
        })?;
        let pattern = pattern.with_conditions(line_conditions(query, context)?);
        let candidates = view.candidates(&pattern).map_err(|error| refuse_store_error(&error, context))?;
        let is_live = view.head.key.reference == LIVE;
        let changed = context.changed.clone().filter(|_| is_live).unwrap_or_default();
        let passes = |entry: &ManifestEntry| {
            language.is_none_or(|language| entry.language == Some(language)) && filter.passes(entry)
        };
        let mut files: Vec<SearchedFile<'_>> = Vec::new();
        for entry in view.manifest.entries() {
            let has_changed = !changed.is_empty() && changed.contains(&*entry.path);
            if (has_changed || candidates.may_match(entry.content)) && passes(entry) {
                let piece = if has_changed { None } else { candidates.piece(entry) };
                files.push(SearchedFile { entry, piece });
            }
        }
        let new = self.new_entries(changed.iter().filter(|path| view.manifest.find(path).is_none()).cloned().collect());
        let known = files.len();
        files.extend(new.iter().filter(|entry| passes(entry)).map(|entry| SearchedFile { entry, piece: None }));
        if files.len() > known || order != LineOrder::Path {
            files.sort_unstable_by(|one, other| {
                (order.group(one.entry), &one.entry.path).cmp(&(order.group(other.entry), &other.entry.path))
            });
        }
        let options = SearchOptions {
            context: query.context_lines,
            offset: query.offset,
            limit: query.shape.limit,
            threads: self.settings().threads,
            stop: is_cancelled,
        };
        let found = if is_live {
            let disk = DiskSource { view, root_reader: RootReader::open(&self.root), idle: Mutex::default() };
            search(&pattern, &files, &disk, &options)
        } else {
            let blobs = BlobSource { project: self, view, idle: Mutex::default() };
            search(&pattern, &files, &blobs, &options)
        };
        Ok(self.result_rows(query, order, &files, found, context.metadata.clone(), view))
    }

    /// The files among these changed paths that aren't in the manifest and aren't ignored.
    fn new_entries(&self, paths: BTreeSet<String>) -> Vec<ManifestEntry> {
        if paths.is_empty() {
            return Vec::new();
        }
        let found = scan::scan_paths(&self.root, &paths, &self.stop).unwrap_or_default();
        found.files.iter().map(|file| new_entry(&file.path)).collect()
    }

    fn result_rows(
        &self,
        query: &SearchQuery,
        order: LineOrder,
        files: &[SearchedFile<'_>],
        found: TextMatches,
        mut metadata: AnswerMetadata,
        view: &ManifestView,
    ) -> ResultRows {
        let total = usize::try_from(found.total).unwrap_or(usize::MAX);
        let mut otherwise: Vec<usize> =
            found.lines.iter().filter(|line| line.is_numbered_otherwise).map(|line| line.entry).collect();
        otherwise.dedup();
        metadata.warnings.extend(line_ends::warning(otherwise.into_iter().map(|at| &*files[at].entry.path)));
        let row = |line: LineMatch| self.line_row(files[line.entry].entry, line, query);
        let rows: Vec<ResultRow> = found.lines.into_iter().map(row).collect();
        let end = query.offset.saturating_add(rows.len());
        let mut next = Vec::new();
        if total > end {
            metadata.completeness = match metadata.completeness {
                Completeness::Partial => Completeness::Partial,
                Completeness::Complete | Completeness::Truncated => Completeness::Truncated,
            };
            next.push(NextAction {
                tool: tools::SEARCH,
                // Pages are in the order of paths.
                arguments: next_page_arguments(query, if order == LineOrder::Path { end } else { 0 }),
                reason: format!("{} more lines match.", total - end),
            });
        }
        if !found.is_complete {
            mark_cut(&mut metadata);
        }
        let mut unread: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, why) in &found.unread {
            match why {
                // `freshness_status` tells about deleted and changed files.
                UnreadReason::Gone | UnreadReason::Changed => {}
                UnreadReason::Unreadable => *unread.entry("unreadable").or_default() += 1,
                UnreadReason::TooLarge => *unread.entry("too large").or_default() += 1,
                UnreadReason::Binary => *unread.entry("binary").or_default() += 1,
            }
        }
        for (why, files) in unread {
            metadata.warnings.push(format!("{files} files could not be searched: {why}."));
        }
        let left: Vec<String> = view.left_out.iter().map(|(why, files)| format!("{files} {}", why.as_str())).collect();
        if !left.is_empty() {
            metadata
                .warnings
                .push(format!("Some files are never searched: {}. index_status counts them.", left.join(", ")));
        }
        metadata.warnings.sort();
        let detail = query.shape.detail;
        let compact = query.shape.compact;
        ResultRows { rows, intent: None, total, next, detail, compact, asked: query.into(), metadata }
    }

    fn line_row(&self, entry: &ManifestEntry, line: LineMatch, query: &SearchQuery) -> ResultRow {
        let number = u32::try_from(line.line).unwrap_or(u32::MAX);
        ResultRow {
            result_type: ResultType::Line,
            path: entry.path.to_string(),
            root: self.root_in_rows(),
            line_start: number,
            line_end: number,
            language: entry.language.map(Language::name).filter(|_| query.shape.detail != DetailLevel::Location),
            result_id: line_result_id(&entry.path, number, &line.text),
            text: Some(line.text),
            before: line.before,
            after: line.after,
            ..ResultRow::default()
        }
    }
}

/// Marks an answer whose search of lines ended before all files were searched.
pub(super) fn mark_cut(metadata: &mut AnswerMetadata) {
    metadata.completeness = Completeness::Partial;
    metadata.safety_limit = Some("time");
    let warning = "The time was up before all files were searched. Narrow the search with paths or language.";
    metadata.warnings.push(warning.to_owned());
    metadata.warnings.sort();
    metadata.warnings.dedup();
}

/// The patterns that matching lines must also match, or must not if the flag is set, from the query language.
fn line_conditions(query: &SearchQuery, context: &QueryContext) -> Result<Vec<(Pattern, bool)>, Box<CodeRefusal>> {
    let compiled = |condition: LineCondition| {
        let pattern = condition.pattern;
        let text_query = TextQuery { pattern, is_regex: condition.is_regex, case: query.case, word: false };
        let pattern = Pattern::new(&text_query).map_err(|why| {
            invalid_argument(&why.to_string(), "query", "no_pattern", "an expression as ripgrep reads it", context)
        })?;
        Ok((pattern, condition.is_excluded))
    };
    query.line_conditions().into_iter().map(compiled).collect()
}

/// The arguments of the call that returns the next lines.
fn next_page_arguments(query: &SearchQuery, offset: usize) -> serde_json::Value {
    let mode = if query.mode == SearchMode::Regex { SearchMode::Regex } else { SearchMode::Text };
    let next = SearchQuery { mode, offset, ..query.clone() };
    CallArguments::of(&CodeQuery::Search(next)).arguments.into()
}

/// The entry of a file that no job has indexed.
fn new_entry(path: &str) -> ManifestEntry {
    ManifestEntry {
        path: path.into(),
        content: 0,
        language: Language::of_file(path, b""),
        size: 0,
        class: FileClass::of(path),
    }
}

/// Reads files of the working tree. Each thread borrows a handle of the folder that was read last.
struct DiskSource<'d> {
    view: &'d ManifestView,
    root_reader: RootReader,
    idle: Mutex<Vec<DirHandleCache>>,
}

impl DiskSource<'_> {
    /// Calls `read` with a borrowed folder handle. `None`: the file differs from the indexed one.
    fn with_dir_handles(
        &self,
        read: impl FnOnce(&RootReader, &mut DirHandleCache) -> Result<bool, ReadFailure>,
    ) -> Option<FileReadOutcome> {
        let mut dir_handles = self.idle.lock().pop().unwrap_or_default();
        let read = read(&self.root_reader, &mut dir_handles);
        self.idle.lock().push(dir_handles);
        Some(match read {
            Ok(true) => FileReadOutcome::Done,
            Ok(false) => return None,
            Err(ReadFailure::Missing) => FileReadOutcome::Failed(UnreadReason::Gone),
            Err(ReadFailure::TooLarge(_)) => FileReadOutcome::Failed(UnreadReason::TooLarge),
            Err(ReadFailure::Busy | ReadFailure::Failed) => FileReadOutcome::Failed(UnreadReason::Unreadable),
        })
    }
}

impl ContentSource for DiskSource<'_> {
    fn read(&self, entry: &ManifestEntry, into: &mut Vec<u8>) -> FileReadOutcome {
        let path = Path::new(&*entry.path);
        let read = self.with_dir_handles(|root_reader, dir_handles| {
            root_reader.read_cached(dir_handles, path, entry.size, MAX_SEARCHED_FILE_BYTES, into).map(|()| true)
        });
        read.unwrap_or(FileReadOutcome::Failed(UnreadReason::Changed))
    }

    fn read_piece(&self, entry: &ManifestEntry, from: u64, length: u64, into: &mut Vec<u8>) -> Option<FileReadOutcome> {
        // A longer part is read with its whole file, which is then reported as too large.
        let length = usize::try_from(length).ok().filter(|_| length <= MAX_SEARCHED_FILE_BYTES)?;
        let Some(FileOrigin::Disk(stamp)) = self.view.origin(&entry.path).filter(|_| self.root_reader.has_dir_handle())
        else {
            return None;
        };
        // The index knows the place of a part in the indexed bytes only, so a changed file is read as a whole.
        let path = Path::new(&*entry.path);
        self.with_dir_handles(|root_reader, dir_handles| {
            root_reader.read_range_cached(dir_handles, path, stamp, from, length, into)
        })
    }
}

/// Reads files of a commit. Each thread borrows a blob reader.
struct BlobSource<'b> {
    project: &'b Project,
    view: &'b ManifestView,
    idle: Mutex<Vec<BlobReader>>,
}

impl ContentSource for BlobSource<'_> {
    fn read(&self, entry: &ManifestEntry, into: &mut Vec<u8>) -> FileReadOutcome {
        let Some(FileOrigin::Blob(oid)) = self.view.origin(&entry.path) else {
            return FileReadOutcome::Failed(UnreadReason::Changed);
        };
        let idle = self.idle.lock().pop();
        let Some(reader) = idle.or_else(|| self.project.git().ok().map(|git| git.reader())) else {
            return FileReadOutcome::Failed(UnreadReason::Unreadable);
        };
        let read = reader.read(&oid, MAX_SEARCHED_FILE_BYTES, into);
        self.idle.lock().push(reader);
        match read {
            BlobRead::Done => FileReadOutcome::Done,
            BlobRead::TooLarge(_) => FileReadOutcome::Failed(UnreadReason::TooLarge),
            BlobRead::Failed | BlobRead::ReaderEnded(_) => FileReadOutcome::Failed(UnreadReason::Unreadable),
        }
    }
}
