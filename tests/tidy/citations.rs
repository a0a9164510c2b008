//! Sources cite documents of this repository only, and the cited headings exist.

use std::collections::BTreeSet;

use crate::source::{files_below, project, relative};

/// Files whose text cites documents.
fn citing_files() -> Vec<(String, String)> {
    let mut paths = Vec::new();
    for folder in ["src", "tests", "config", "examples", "docs"] {
        paths.extend(files_below(&project().join(folder)));
    }
    paths.push(project().join("README.md"));
    let text_of = |path: &std::path::PathBuf| Some((relative(path), std::fs::read_to_string(path).ok()?));
    let is_text = |path: &std::path::Path| {
        path.extension().is_some_and(|e| ["rs", "toml", "md", "scm", "sql"].iter().any(|known| e == *known))
    };
    let files: Vec<_> = paths.iter().filter(|path| is_text(path)).filter_map(text_of).collect();
    assert!(files.len() > 300, "the files weren't found");
    files
}

/// The anchor that a heading has on the pages of a repository: small letters, hyphens for spaces, no other punctuation.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// The anchors of a document's headings.
pub(crate) fn anchors(document: &str) -> BTreeSet<String> {
    let mut in_code = false;
    let mut anchors = BTreeSet::new();
    for line in document.lines() {
        in_code ^= line.starts_with("```");
        if let Some(heading) = line.strip_prefix('#').filter(|_| !in_code) {
            anchors.insert(anchor(heading.trim_start_matches('#')));
        }
    }
    anchors
}

/// The documents and anchors that a text cites: the path of a page below `docs`, a hash and an anchor.
fn citations(text: &str) -> Vec<(String, String)> {
    let is_part = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | '.');
    let mut found = Vec::new();
    for (at, _) in text.match_indices("docs/") {
        let path: String = text[at..].chars().take_while(is_part).collect();
        let rest = &text[at + path.len()..];
        let page = path.trim_end_matches('.');
        if let Some(rest) = rest.strip_prefix('#').filter(|_| page.ends_with(".md")) {
            let anchor: String = rest.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect();
            found.push((page.to_owned(), anchor));
        }
    }
    found
}

#[test]
fn no_file_cites_a_paragraph_by_number() {
    let sign = '\u{a7}';
    let citing = citing_files().into_iter().flat_map(|(path, text)| {
        let lines: Vec<String> =
            text.lines().filter(|line| line.contains(sign)).map(|line| format!("{path}: {}", line.trim())).collect();
        lines
    });
    assert_eq!(citing.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn cited_headings_exist() {
    let mut missing = Vec::new();
    let mut count = 0;
    for (path, text) in citing_files() {
        for (page, anchor) in citations(&text) {
            count += 1;
            let document = std::fs::read_to_string(project().join(&page)).unwrap_or_default();
            if !anchors(&document).contains(&anchor) {
                missing.push(format!("{path}: {page}#{anchor}"));
            }
        }
    }
    assert!(count > 20, "the citations weren't found");
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn anchors_and_citations_are_read() {
    let document = "# A b\n## `code`: what, why?\n```\n# no heading\n```\n";
    assert_eq!(anchors(document), BTreeSet::from(["a-b".to_owned(), "code-what-why".to_owned()]));
    assert_eq!(
        citations(concat!("see do", "cs/x/y.md#a-b, and docs/z.md.")),
        [("docs/x/y.md".to_owned(), "a-b".to_owned())]
    );
}
