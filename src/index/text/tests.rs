//! Tests of the text index as a whole, over this project's own files and files with unusual bytes.

mod equality;
mod line_display;
mod pieces;
mod plans;
mod segments;
mod stopping;

use super::{
    CandidateSet, ContentSource, FilePiece, FileReadOutcome, Pattern, SearchOptions, SearchedFile, Segment,
    SegmentWriter, TextMatches, TextQuery, decode, is_binary, search,
};
use crate::{FileClass, ManifestEntry};
use codeyard_model::code::CaseRule;
use std::path::Path;

/// A file: its path and its bytes.
type File = (String, Vec<u8>);

fn entries(files: &[File]) -> Vec<ManifestEntry> {
    let entry = |(content, (path, bytes)): (u32, &File)| ManifestEntry {
        path: path.as_str().into(),
        content,
        language: None,
        size: bytes.len() as u64,
        class: FileClass::of(path),
    };
    (0..).zip(files).map(entry).collect()
}

/// A segment of all files, where the content's number is the file's position.
fn segment(files: &[File], path: &Path) -> Segment {
    let writer = SegmentWriter::create(path, 1, u64::MAX).unwrap();
    for (content, (_, bytes)) in (0..).zip(files) {
        writer.add(content, bytes).unwrap();
    }
    writer.finish().unwrap();
    Segment::open(path).unwrap()
}

fn query(pattern: &str, flags: &str) -> TextQuery {
    let case = match flags {
        flags if flags.contains('i') => CaseRule::Insensitive,
        flags if flags.contains('S') => CaseRule::Smart,
        _ => CaseRule::Sensitive,
    };
    TextQuery { pattern: pattern.to_owned(), is_regex: !flags.contains('F'), case, word: flags.contains('w') }
}

const ALL: SearchOptions<'static> =
    SearchOptions { context: 0, offset: 0, limit: usize::MAX, threads: 2, stop: &|| false };

/// Files in memory that can be read in pieces, as from a disk.
struct Memory<'a>(&'a [File]);

impl ContentSource for Memory<'_> {
    fn read(&self, entry: &ManifestEntry, into: &mut Vec<u8>) -> FileReadOutcome {
        into.extend(&self.0[entry.content as usize].1);
        FileReadOutcome::Done
    }

    fn read_piece(&self, entry: &ManifestEntry, from: u64, length: u64, into: &mut Vec<u8>) -> Option<FileReadOutcome> {
        into.clear();
        let bytes = &self.0[entry.content as usize].1;
        let end = bytes.len().min((from + length) as usize);
        into.extend(&bytes[end.min(from as usize)..end]);
        Some(FileReadOutcome::Done)
    }
}

/// Searches the files that the segment doesn't exclude.
fn find(files: &[File], segment: &Segment, pattern: &Pattern, options: &SearchOptions<'_>) -> TextMatches {
    let entries = entries(files);
    let candidates = CandidateSet::from_segments([segment], pattern.plan()).unwrap();
    let left = entries.iter().filter(|entry| candidates.may_match(entry.content));
    let left: Vec<_> = left.map(|entry| SearchedFile { entry, piece: candidates.piece(entry) }).collect();
    let mut found = search(pattern, &left, &Memory(files), options);
    for line in &mut found.lines {
        line.entry = left[line.entry].entry.content as usize;
    }
    found
}

/// These entries as files to search completely.
fn whole_files(entries: &[ManifestEntry]) -> Vec<SearchedFile<'_>> {
    entries.iter().map(|entry| SearchedFile { entry, piece: None }).collect()
}

/// This project's own files, and some with unusual bytes.
fn tree() -> Vec<File> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut files: Vec<File> = unusual_files();
    let mut folders: Vec<_> = ["src", "docs", "tests", "schemas", "config"].map(|name| root.join(name)).into();
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else if entry.file_type().unwrap().is_file() {
                let name = entry.path().strip_prefix(root).unwrap().display().to_string();
                files.push((name, std::fs::read(entry.path()).unwrap()));
            }
        }
    }
    files.retain(|(_, bytes)| bytes.len() < 12_000 && !is_binary(&decode(bytes)));
    files.sort();
    // Every third file, so that the tests stay fast.
    let files: Vec<File> = files
        .into_iter()
        .enumerate()
        .filter(|(at, file)| at % 3 == 0 || file.0.starts_with("unusual/"))
        .map(|(_, file)| file)
        .collect();
    assert!(files.len() > 100);
    files
}

fn utf16(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(unit).collect()
}

fn unusual_files() -> Vec<File> {
    let sample = "first Line of struct Foo\nfn Straße() { kill(42); }\n// Kelvin \u{212a}elvin, long \u{17f}tatic\n\nif\n}\nlast";
    let long = format!("{}needle{}\nshort struct\n", "x1y2 ".repeat(900), " tail".repeat(4_000));
    let mut broken_pair = utf16("half a pair ", u16::to_le_bytes);
    broken_pair.extend([0x00, 0xd8, b'a', 0, 0x00, 0xd8, 0x41]);
    let file = |name: &str, bytes: Vec<u8>| (format!("unusual/{name}"), bytes);
    vec![
        file("plain.txt", sample.into()),
        file("crlf.txt", sample.replace('\n', "\r\n").into()),
        file("cr.txt", sample.replace('\n', "\r").into()),
        file("utf8-bom.txt", ["\u{feff}", sample].concat().into()),
        file("two-boms.txt", ["\u{feff}\u{feff}", sample].concat().into()),
        file("utf16le.txt", utf16(sample, u16::to_le_bytes)),
        file("utf16be.txt", utf16(&sample.replace('\n', "\r\n"), u16::to_be_bytes)),
        file("utf16-broken.txt", broken_pair),
        file("latin1.txt", b"caf\xe9 struct Stra\xdfe\n\xff\xfe\xfd foo\nkill\xe9(42)\n".to_vec()),
        file("long.txt", long.into()),
        file("empty.txt", Vec::new()),
        file("breaks.txt", b"\n\n\n".to_vec()),
        file("short-lines.txt", b"a\nab\nqz\nabc\nzq".to_vec()),
        file("only-bom.txt", vec![0xff, 0xfe]),
        file("one.txt", b"x".to_vec()),
        file("cyrillic.txt", "Привет, мир\nпривет и ПРИВЕТ\nΣίσυφος σ ς\n".into()),
        file("wide.txt", "日本語のテキスト struct\n漢字 漢 字\n".into()),
    ]
}
