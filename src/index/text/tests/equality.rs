//! Search results equal those of ripgrep's crates, line for line.

use super::*;
use grep_regex::RegexMatcherBuilder;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use proptest::test_runner::{Config, TestRunner};
use std::io;

/// Flags and pattern. `F`: a text; `i`, `S`: any case, smart case; `w`: whole words.
const PATTERNS: &[(&str, &str)] = &[
    ("F", "struct"),
    ("F", "Struct"),
    ("F", "fn "),
    ("F", "if"),
    ("F", "qz"),
    ("F", "x"),
    ("F", ""),
    ("F", "}"),
    ("F", "Vec<u8>"),
    ("F", "()."),
    ("F", "a.b"),
    ("F", "\\w+"),
    ("F", "Straße"),
    ("F", "привет"),
    ("F", "日本"),
    ("F", "漢字"),
    ("F", "needle"),
    ("F", "tail tail"),
    ("F", "no such text anywhere, surely not"),
    ("Fi", "struct"),
    ("Fi", "STRUCT FOO"),
    ("Fi", "kill"),
    ("Fi", "kelvin"),
    ("Fi", "static"),
    ("Fi", "straße"),
    ("Fi", "ПРИВЕТ"),
    ("Fi", "σίσυφοσ"),
    ("Fi", "if"),
    ("Fi", "ks"),
    ("Fi", "todo"),
    ("FS", "struct foo"),
    ("FS", "struct Foo"),
    ("FS", "привет"),
    ("FS", "Привет"),
    ("FS", "42"),
    ("Fw", "if"),
    ("Fw", "struct"),
    ("Fw", "Foo"),
    ("Fw", "u8"),
    ("Fw", "="),
    ("Fw", "fn new"),
    ("Fiw", "foo"),
    ("Fw", "漢"),
    ("FSw", "entry"),
    ("", "struct"),
    ("", "struct (Foo|Bar)"),
    ("", "(foo|bar|baz|Foo)"),
    ("", "fn \\w+\\("),
    ("", "\\w+_init\\("),
    ("", "[a-z]{12,}"),
    ("", "[a-z]{30,}"),
    ("", "[A-Z]{4}"),
    ("", "[0-9]+"),
    ("", "[^ -~]"),
    ("", "^$"),
    ("", "^"),
    ("", "$"),
    ("", "^use "),
    ("", "^use .*;$"),
    ("", ";\r?$"),
    ("", "\\}$"),
    ("", "^\\}"),
    ("", "^if$"),
    ("", "^..$"),
    ("", "^.$"),
    ("", "\\bif\\b"),
    ("", "\\Bif"),
    ("", "\\b{start}if\\b{end}"),
    ("", "a.*b.*c.*d"),
    ("", "impl.*for"),
    ("", "(?i)impl.*FOR"),
    ("", "(?i:s)truct"),
    ("", "stat(?i:IC)"),
    ("", "x*"),
    ("", "x?struct"),
    ("", "(abc)?def"),
    ("", "(str|str)uct"),
    ("", "st(r|x|y)u?ct"),
    ("", "(fn|struct|enum) [A-Z][a-z]+"),
    ("", "s[t]r[u]ct"),
    ("", "[st][tr][ru]"),
    ("", "[[:upper:]][[:lower:]]{3}[[:upper:]]"),
    ("", "\\p{Cyrillic}+"),
    ("", "\\p{Han}"),
    ("", "\\pL{3}\\PL"),
    ("", "\\d{3,5}"),
    ("", "\\s{8}\\S"),
    ("", "\\w+\\s+=\\s+\\w+;"),
    ("", "(?-u)\\w+\\xe9"),
    ("", "(?-u:\\xff\\xfe)"),
    ("", "(?-u)[\\x80-\\xff]{2}"),
    ("", "caf."),
    ("", "caf(?-u:.)"),
    ("", "é|ß"),
    ("", "(a{3}|b{3})"),
    ("", "(ab){2,}"),
    ("", "(?:lo|sho)(?:ng|rt)"),
    ("", "[a\\n]bc"),
    ("", "foo[^a]bar"),
    ("", "(?s)struct.Foo"),
    ("", "(?x) struct \\s Foo # with a comment"),
    ("", "(?x:s t r)uct"),
    ("", "(?U)a.+b"),
    ("", "\\Ause"),
    ("", "use\\z"),
    ("", "[a-c&&[^b]]struct|[b&&[^b]]|Foo"),
    ("", "(|struct)Foo"),
    ("", "a|b|"),
    ("", "()"),
    ("", "0x[0-9a-f]{4,}"),
    ("", "\\\"[^\\\"]+\\\""),
    ("", "(one|two|three|four|five|six|seven|eight|nine|ten) (lines?|files?|bytes?)"),
    ("", "needle.*tail$"),
    ("", "\\u{212a}elvin"),
    ("i", "kelvin"),
    ("i", "\\u{212a}elvin"),
    ("i", "[k-s]{3}t"),
    ("i", "long .tatic"),
    ("i", "straSSe|straße"),
    ("i", "^FN [a-z]+"),
    ("i", "ς"),
    ("i", "(error|WARNING): .*"),
    ("i", "[^s]tatic"),
    ("S", "impl.*for"),
    ("S", "Impl.*for"),
    ("S", "\\Simpl"),
    ("S", "\\p{Lu}mpl"),
    ("S", "[b&&[^B]]ounded"),
    ("S", "[bB&&[^b]]ounded"),
    ("S", "[B-D]ound"),
    ("S", "\\x41sk"),
    ("S", "\\d+ms"),
    ("S", "(?i)Impl"),
    ("w", "fn|struct"),
    ("w", "\\w+_of"),
    ("w", "[a-z]+"),
    ("w", "-?\\d+"),
    ("w", "^use"),
    ("iw", "(foo|if)"),
    ("Sw", "os|io"),
];

/// All matching lines: the file's index, the line's number from 1, the line's bytes.
type Lines = Vec<(usize, u64, Vec<u8>)>;

struct LineSink<'a>(usize, &'a mut Lines);

impl Sink for LineSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.1.push((self.0, found.line_number().unwrap(), found.bytes().to_vec()));
        Ok(true)
    }
}

/// The lines that ripgrep's crates find with ripgrep's settings.
fn ripgrep(files: &[File], query: &TextQuery) -> Option<Lines> {
    let mut builder = RegexMatcherBuilder::new();
    builder.multi_line(true).unicode(true).octal(false).fixed_strings(!query.is_regex).word(query.word);
    builder.line_terminator(Some(b'\n')).dot_matches_new_line(false).ban_byte(Some(0));
    match query.case {
        CaseRule::Smart => builder.case_smart(true),
        CaseRule::Sensitive => builder.case_insensitive(false),
        CaseRule::Insensitive => builder.case_insensitive(true),
    };
    let matcher = builder.build(&query.pattern).ok()?;
    let mut searcher =
        SearcherBuilder::new().line_number(true).binary_detection(BinaryDetection::none()).bom_sniffing(true).build();
    let mut lines = Vec::new();
    for (at, (_, bytes)) in files.iter().enumerate() {
        searcher.search_slice(&matcher, bytes, LineSink(at, &mut lines)).unwrap();
    }
    Some(lines)
}

fn assert_equal(files: &[File], segment: &Segment, query: &TextQuery) -> u64 {
    let expected = ripgrep(files, query);
    let pattern = Pattern::new(query);
    assert_eq!(pattern.is_ok(), expected.is_some(), "{query:?}: {pattern:?}");
    let (Ok(pattern), Some(expected)) = (pattern, expected) else { return 0 };
    let found = find(files, segment, &pattern, &ALL);
    assert_eq!((found.total, found.unread.len(), found.is_complete), (expected.len() as u64, 0, true), "{query:?}");
    assert_eq!(found.lines.len(), expected.len(), "{query:?}");
    // Without a limit of lines to keep, only pieces are read.
    let counted = find(files, segment, &pattern, &SearchOptions { limit: 0, ..ALL });
    assert_eq!((counted.total, counted.files), (found.total, found.files), "{query:?}");
    assert_eq!((counted.unread.len(), counted.is_complete), (0, true), "{query:?}");
    for (line, (at, number, bytes)) in found.lines.iter().zip(&expected) {
        let ours = (line.entry, line.line);
        assert_eq!(ours, (*at, *number), "{query:?} in {}", files[*at].0);
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let whole = String::from_utf8_lossy(&bytes[line.skipped..]);
        if line.is_cut {
            assert!(whole.starts_with(&line.text), "{query:?}: {line:?}");
        } else {
            assert_eq!(whole, line.text, "{query:?}");
        }
    }
    found.total
}

#[test]
fn lines_equal_those_of_ripgrep() {
    let files = tree();
    let folder = tempfile::tempdir().unwrap();
    let segment = segment(&files, &folder.path().join("segment"));
    assert!(PATTERNS.len() >= 100);
    let with_lines = PATTERNS.iter().filter(|(flags, text)| assert_equal(&files, &segment, &query(text, flags)) > 0);
    // Patterns that match nowhere prove nothing.
    let count = with_lines.count();
    assert!(count * 10 >= PATTERNS.len() * 8, "{count} of {}", PATTERNS.len());
}

#[test]
fn texts_taken_from_files_are_found_as_by_ripgrep() {
    let files = tree();
    let folder = tempfile::tempdir().unwrap();
    let segment = segment(&files, &folder.path().join("segment"));
    let texts: Vec<_> = files.iter().filter(|(_, bytes)| bytes.len() > 40).collect();
    let mut runner = TestRunner::deterministic();
    let strategy = (0..texts.len(), 0.0..1.0, 1..24_usize, 0..8_usize);
    for _ in 0..120 {
        let (file, place, length, flags) = proptest::strategy::ValueTree::current(
            &proptest::strategy::Strategy::new_tree(&strategy, &mut runner).unwrap(),
        );
        let bytes = decode(&texts[file].1);
        let from = ((bytes.len() - 1) as f64 * place) as usize;
        let piece = String::from_utf8_lossy(&bytes[from..bytes.len().min(from + length)]).into_owned();
        let flags = ["F", "Fi", "FS", "Fw", "Fiw", "", "i", "S"][flags];
        assert_equal(&files, &segment, &query(&piece, flags));
    }
}

#[test]
fn decoding_equals_that_of_ripgrep() {
    let mut runner = TestRunner::new(Config { cases: 512, failure_persistence: None, ..Config::default() });
    let units = proptest::collection::vec(
        proptest::prop_oneof![0x20..0x7f_u16, 0xd7f0..0xe010_u16, proptest::num::u16::ANY],
        0..12,
    );
    let strategy = (units, proptest::bool::ANY, proptest::option::of(proptest::num::u8::ANY));
    runner
        .run(&strategy, |(units, is_little, rest)| {
            let unit = if is_little { u16::to_le_bytes } else { u16::to_be_bytes };
            let mut bytes: Vec<u8> = std::iter::once(0xfeff).chain(units).flat_map(unit).collect();
            bytes.extend(rest);
            let everything = query("(?s)^.*", "");
            let files = [("a".to_owned(), bytes)];
            let lines: Vec<u8> = ripgrep(&files, &everything).unwrap().into_iter().flat_map(|line| line.2).collect();
            proptest::prop_assert_eq!(&*decode(&files[0].1), &lines[..]);
            Ok(())
        })
        .unwrap();
}
