//! Files and functions stay small, begin with what they are, and have names of the field.

use crate::source::{Source, files_below, project, relative, sources};

/// Lines without tests.
const FILE_LINES_MAX: usize = 400;
/// Nineteen functions in twenty have no more statements than this.
const STATEMENTS_USUAL: usize = 20;
/// No function has more.
const STATEMENTS_MAX: usize = 60;
/// Files that may be longer, each with its reason. Empty is best.
const LONG_FILES: [(&str, &str); 0] = [];
/// Words that say nothing about a thing.
const EMPTY_WORDS: [&str; 3] = [concat!("man", "ager"), concat!("help", "er"), concat!("ut", "il")];

/// The functions of `lines`: name and number of statements.
fn functions(lines: &[&str]) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        if let Some(body) = body(&lines[start..]) {
            found.push((name, body.iter().map(|line| statements(line)).sum()));
        }
    }
    found
}

/// The statements that end or begin in a line: a block and an arm of a `match` are one. So long tables don't change
/// the measure.
fn statements(line: &str) -> usize {
    let line = line.trim();
    let ends = line.ends_with([';', '{']) || line.contains("=>") && line.ends_with(',');
    usize::from(ends && !line.starts_with("//"))
}

fn function_name(line: &str) -> Option<String> {
    let (before, after) = line.trim_start().split_once("fn ")?;
    let words = before.split_whitespace();
    let qualifiers = ["pub", "pub(crate)", "pub(super)", "async", "const", "unsafe", "extern", "\"C\""];
    let is_function = words.into_iter().all(|word| qualifiers.contains(&word) || word.starts_with("pub(in"));
    let name: String = after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (is_function && !name.is_empty()).then_some(name)
}

/// The lines of the body of the function beginning at `lines[0]`; `None` if it has no body.
fn body<'t, 'l>(lines: &'t [&'l str]) -> Option<&'t [&'l str]> {
    let indent = lines[0].len() - lines[0].trim_start().len();
    let open = lines.iter().position(|line| line.ends_with('{') || line.ends_with('}') || line.ends_with(';'))?;
    if !lines[open].ends_with('{') {
        return lines[open].ends_with('}').then_some(&[]);
    }
    let closes = |line: &&str| line.trim() == "}" && line.len() == indent + 1;
    let length = lines[open + 1..].iter().position(closes)?;
    Some(&lines[open + 1..open + 1 + length])
}

#[test]
fn every_file_says_what_it_is() {
    let tests =
        files_below(&project().join("tests")).into_iter().filter(|path| path.extension().is_some_and(|e| e == "rs"));
    let mut silent: Vec<String> = tests
        .filter(|path| !std::fs::read_to_string(path).unwrap().starts_with("//!"))
        .map(|path| relative(&path))
        .collect();
    silent.extend(sources().into_iter().filter(|source| !source.text.starts_with("//! ")).map(|source| source.path));
    assert_eq!(silent, Vec::<String>::new());
    let unfinished = |source: &Source| source.text.starts_with("//! (");
    assert!(!sources().iter().any(unfinished), "a file's first line is a placeholder");
}

#[test]
fn files_are_short() {
    let too_long: Vec<(String, usize)> = sources()
        .iter()
        .map(|source| (source.path.clone(), source.code().len()))
        .filter(|(path, lines)| *lines > FILE_LINES_MAX && !LONG_FILES.iter().any(|(long, _)| long == path))
        .collect();
    assert!(too_long.is_empty(), "more than {FILE_LINES_MAX} lines: {too_long:#?}");
}

#[test]
fn functions_are_short() {
    let mut all: Vec<(usize, String)> = Vec::new();
    for source in sources() {
        let found = functions(&source.code());
        all.extend(found.into_iter().map(|(name, count)| (count, format!("{}: {name}", source.path))));
    }
    assert!(all.len() > 300, "functions weren't found");
    let over = |max: usize| all.iter().filter(|(count, _)| *count > max).collect::<Vec<_>>();
    assert!(over(STATEMENTS_MAX).is_empty(), "more than {STATEMENTS_MAX} statements: {:#?}", over(STATEMENTS_MAX));
    let long = over(STATEMENTS_USUAL);
    assert!(long.len() * 20 <= all.len(), "more than one in twenty has over {STATEMENTS_USUAL}: {long:#?}");
}

#[test]
fn names_mean_something() {
    let empty = |text: &str| EMPTY_WORDS.iter().any(|word| text.to_lowercase().contains(word));
    let mut found = Vec::new();
    for source in sources() {
        if empty(source.path.rsplit('/').next().unwrap()) {
            found.push(source.path.clone());
        }
        for line in source.statements() {
            let declared = ["struct ", "enum ", "trait ", "mod "].iter().find_map(|word| {
                let rest =
                    line.trim_start_matches("pub ").trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ");
                rest.strip_prefix(word)
            });
            let name =
                declared.map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default());
            if name.is_some_and(empty) {
                found.push(format!("{}: {line}", source.path));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn the_measure_itself_is_right() {
    let text = "pub fn one() {}\nfn two(\n    a: u8,\n) -> u8 {\n    if a > 0 {\n        b();\n    }\n    // c;\n    let c = 1;\n    let d = 2;\n    \
                match a {\n        0 => c,\n        _ => d,\n    }\n}\ntrait T {\n    fn none(&self);\n    async fn three(&self) {\n        x(\n            1,\n        );\n    }\n}\n";
    let expected = [("one".to_owned(), 0), ("two".to_owned(), 7), ("three".to_owned(), 1)];
    assert_eq!(functions(&text.lines().collect::<Vec<_>>()), expected);
}
