//! The source lines in results of the tool `lsp` (`docs/internals/reference/contract-agent.md#source-lines`).
//!
//! They are read once, when a result is made, and retained with it, so every page and every repetition has the same ones. Invariants: a line
//! comes from the same content as the observation of its file with which the page is compared before it is served; files are read through
//! the gate, on the blocking pool; a file that can't be read, or isn't read in time, gives no line and fails nothing.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::timeout_at;

use crate::limits::{MAX_PREVIEW_FILE_BYTES, MAX_PREVIEW_READ_BYTES, MAX_PREVIEWS};
use crate::query::file_looks::ObservedFile;
use codeyard_base::clock::Instant;
use codeyard_base::digest::sha256;
use codeyard_base::visible::visible_line;
use codeyard_files::gate::Gate;
use codeyard_lsp::text::Document;
use codeyard_model::limits::MAX_PREVIEW_CHARS;
use codeyard_model::lsp_items::LspItems;
use codeyard_model::uri::CanonicalUri;
use codeyard_paging::LspResult;

/// A line as results show it.
type Preview = Box<str>;

/// The lines that are wanted of one file, each with the entry that it is for.
struct WantedLines {
    uri: CanonicalUri,
    observed: ObservedFile,
    lines: Vec<(usize, u32)>,
}

/// Adds source lines to the first entries of `result`, as far as they are read until then, with at most `max_bytes` of text together.
/// `observed` are the files of the result.
pub(crate) async fn add(
    gate: &Gate,
    result: &mut LspResult,
    observed: &[(CanonicalUri, ObservedFile)],
    until: Instant,
    max_bytes: usize,
) {
    if !result.found.can_have_previews() || result.found.is_empty() {
        return;
    }
    let files = wanted(result, observed);
    let count = result.found.len().min(MAX_PREVIEWS);
    let shared: Arc<Mutex<Vec<Option<Preview>>>> = Arc::new(Mutex::new(vec![None; count]));
    let into = shared.clone();
    let reading = gate.run(move |gate| read(gate, &files, &into, max_bytes));
    // Without an answer in time, the lines that were read until then are used, and the next question reads them again.
    result.notes.may_improve |= timeout_at(until, reading).await.is_err();
    let lines = std::mem::take(&mut *shared.lock());
    result.notes.without_preview = result.found.len() - lines.iter().flatten().count();
    let mut lines = lines.into_iter();
    result.found.set_previews(|| lines.next().flatten());
}

/// The files in the order of their first entries, with the lines wanted of each.
fn wanted(result: &LspResult, observed: &[(CanonicalUri, ObservedFile)]) -> Vec<WantedLines> {
    let observed: HashMap<&CanonicalUri, &ObservedFile> = observed.iter().map(|(uri, seen)| (uri, seen)).collect();
    let mut files: Vec<WantedLines> = Vec::new();
    let mut known: HashMap<CanonicalUri, usize> = HashMap::new();
    for at in 0..result.found.len().min(MAX_PREVIEWS) {
        let Some((uri, line)) = place(result, at) else { continue };
        let Some(seen) = observed.get(uri) else { continue };
        let file = *known.entry(uri.clone()).or_insert_with(|| {
            files.push(WantedLines { uri: uri.clone(), observed: (*seen).clone(), lines: Vec::new() });
            files.len() - 1
        });
        files[file].lines.push((at, line));
    }
    files
}

/// The file and the line of an entry.
fn place(result: &LspResult, at: usize) -> Option<(&CanonicalUri, u32)> {
    let first = |ranges: &[codeyard_model::position::Range]| ranges.first().map(|range| range.start.line);
    match &result.found {
        LspItems::Locations(list) => Some((&list[at].uri, list[at].range.start.line)),
        LspItems::Incoming(list) => Some((&list[at].from.uri, first(&list[at].from_ranges)?)),
        LspItems::Outgoing(list) => Some((result.paths.calls_in.as_ref()?, first(&list[at].from_ranges)?)),
        LspItems::Hover(_) | LspItems::Outline(_) | LspItems::Symbols(_) | LspItems::CallItems(_) => None,
    }
}

/// Reads the lines of the files, one file after the other. Blocks.
fn read(gate: &Gate, files: &[WantedLines], into: &Mutex<Vec<Option<Preview>>>, max_bytes: usize) {
    let mut left_to_read = MAX_PREVIEW_READ_BYTES;
    let mut left_to_keep = max_bytes;
    for file in files {
        let Some(bytes) = unchanged(gate, file, left_to_read.min(MAX_PREVIEW_FILE_BYTES)) else { continue };
        left_to_read = left_to_read.saturating_sub(bytes.len());
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let document = Document::new(text);
        let mut into = into.lock();
        for (at, line) in &file.lines {
            let Some(preview) = document.line(*line).map(preview) else { continue };
            let Some(left) = left_to_keep.checked_sub(preview.len()) else { return };
            left_to_keep = left;
            // Nobody waits any more if the list is gone.
            let Some(slot) = into.get_mut(*at) else { return };
            *slot = Some(preview);
        }
    }
}

/// The content of a file that is as it was observed.
fn unchanged(gate: &Gate, file: &WantedLines, max_bytes: usize) -> Option<Vec<u8>> {
    let (bytes, stamp) = gate.read(&file.uri, max_bytes).ok()?;
    let is_same = stamp == file.observed.stamp && file.observed.hash.is_none_or(|hash| hash == sha256(&bytes));
    is_same.then_some(bytes)
}

/// A line without white space around it and a byte order mark before it, cut, and without characters that a terminal obeys.
fn preview(line: &str) -> Preview {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    // What is cut off later isn't looked at: a line may be a whole minified file.
    let start: String = line.chars().take(MAX_PREVIEW_CHARS + 1).collect();
    let shown: String = visible_line(start.trim_end()).chars().take(MAX_PREVIEW_CHARS).collect();
    shown.trim_end().into()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::query::file_looks;
    use codeyard_model::answer::AnswerNotes;
    use codeyard_model::lsp_items::{Place, ResultPaths};
    use codeyard_model::operation::Operation;
    use codeyard_model::position::Range;

    struct Folder {
        _temporary: tempfile::TempDir,
        path: PathBuf,
        gate: Gate,
    }

    impl Folder {
        fn new() -> Self {
            let temporary = tempfile::tempdir().unwrap();
            let path = temporary.path().canonicalize().unwrap();
            let gate = Gate::open(std::slice::from_ref(&path), &[]).unwrap();
            Self { _temporary: temporary, path, gate }
        }

        fn file(&self, name: &str, bytes: &[u8]) -> (CanonicalUri, ObservedFile) {
            std::fs::write(self.path.join(name), bytes).unwrap();
            let uri = self.gate.path(&self.path.join(name)).unwrap();
            let stamp = self.gate.stat(&uri).unwrap();
            let observed = file_looks::observed(&self.gate, &uri, stamp).unwrap();
            (uri, observed)
        }

        async fn lines(&self, files: &[(CanonicalUri, ObservedFile)], max_bytes: usize) -> (Vec<String>, usize) {
            let places = files.iter().flat_map(|(uri, _)| [0, 1].map(|line| (uri.clone(), line)));
            let places =
                places.map(|(uri, line)| Place { uri, range: Range::new(line, 0, line, 1), preview: None }).collect();
            let mut result = LspResult {
                operation: Operation::FindReferences,
                title: String::new(),
                found: LspItems::Locations(places),
                notes: AnswerNotes::default(),
                paths: ResultPaths::default(),
            };
            let until = Instant::now() + std::time::Duration::from_secs(60);
            add(&self.gate, &mut result, files, until, max_bytes).await;
            let LspItems::Locations(list) = result.found else { unreachable!() };
            let shown = list.into_iter().map(|place| place.preview.map_or("-".to_owned(), String::from)).collect();
            (shown, result.notes.without_preview)
        }
    }

    #[tokio::test]
    async fn lines_are_trimmed_cut_and_visible() {
        let folder = Folder::new();
        let long = format!("\t {}\u{1b}[2J \r\n  é\u{202e} \n", "x".repeat(155));
        let file = folder.file("a", long.as_bytes());
        let (lines, missing) = folder.lines(&[file], 1_000).await;
        assert_eq!(missing, 0);
        assert!(lines[0].starts_with("xxx") && lines[0].chars().count() <= MAX_PREVIEW_CHARS, "{lines:?}");
        assert!(
            !lines.iter().any(|line| line.contains(['\u{1b}', '\u{202e}'])) && lines[1].starts_with('é'),
            "{lines:?}"
        );
    }

    #[test]
    fn a_byte_order_mark_is_left_out() {
        assert_eq!(&*preview("\u{feff} import a"), "import a");
    }

    #[tokio::test]
    async fn what_cannot_be_read_as_it_was_seen_has_no_line() {
        let folder = Folder::new();
        let good = folder.file("good", b"one\ntwo");
        let other = folder.file("other", b"\xff\xfe\n\n");
        let changed = folder.file("changed", b"old\n");
        std::fs::write(folder.path.join("changed"), b"newer\n").unwrap();
        let gone = folder.file("gone", b"x\n");
        std::fs::remove_file(folder.path.join("gone")).unwrap();
        let (lines, missing) = folder.lines(&[changed, gone, other, good.clone()], 1_000).await;
        assert_eq!((lines, missing), (["-", "-", "-", "-", "-", "-", "one", "two"].map(String::from).to_vec(), 6));
        let (lines, missing) = folder.lines(&[good], 5).await;
        assert_eq!((lines, missing), (["one", "-"].map(String::from).to_vec(), 1), "too much text for the result");
    }

    #[tokio::test]
    async fn reading_that_takes_too_long_is_not_waited_for() {
        let folder = Folder::new();
        let (uri, seen) = folder.file("a", b"one\n");
        let place = Place { uri: uri.clone(), range: Range::new(0, 0, 0, 1), preview: None };
        let mut result = LspResult {
            operation: Operation::FindReferences,
            title: String::new(),
            found: LspItems::Locations(vec![place]),
            notes: AnswerNotes::default(),
            paths: ResultPaths::default(),
        };
        // All places for work on files are taken.
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let ended = Arc::new(Mutex::new(ended));
        let (reached, reaches) = std::sync::mpsc::channel();
        let count = codeyard_files::limits::MAX_GATE_WORK;
        let busy: Vec<_> = (0..count)
            .map(|_| {
                let ended = ended.clone();
                let reached = reached.clone();
                let work = move |_: &Gate| {
                    reached.send(()).unwrap();
                    assert!(ended.lock().recv().is_err());
                };
                tokio::spawn(folder.gate.run(work))
            })
            .collect();
        assert_eq!(tokio::task::spawn_blocking(move || reaches.iter().take(count).count()).await.unwrap(), count);
        add(&folder.gate, &mut result, &[(uri, seen)], Instant::now(), 1_000).await;
        assert_eq!(
            (result.notes.without_preview, result.notes.may_improve),
            (1, true),
            "the next question may have them"
        );
        drop(end);
        for one in busy {
            one.await.unwrap().unwrap();
        }
    }
}
