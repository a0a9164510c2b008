//! Identifiers contain no word that `docs/internals/glossary.md` refuses.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::source::{files_below, project, relative};
use crate::table::{names, rows};

const PAGE: &str = "docs/internals/glossary.md";

/// Each refused word, with the term to use.
fn refused() -> BTreeMap<String, String> {
    let page = std::fs::read_to_string(project().join(PAGE)).unwrap();
    let mut refused = BTreeMap::new();
    for row in rows(&page, "Terms") {
        refused.extend(names(&row[2]).into_iter().map(|word| (word, row[0].clone())));
    }
    let empty = page.lines().find(|line| line.starts_with("Words with no meaning")).expect("the empty words");
    refused.extend(names(empty).into_iter().map(|word| (word, "a word with a meaning".to_owned())));
    assert!(refused.len() > 40, "the glossary wasn't read");
    refused
}

/// The identifiers of a Rust source, without those in comments and string literals.
fn identifiers(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut word = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        let prefix = std::mem::take(&mut word);
        let is_raw =
            c == '"' && matches!(prefix.as_str(), "r" | "br") || c == '#' && matches!(prefix.as_str(), "r" | "br");
        if !is_raw && !prefix.is_empty() {
            found.insert(prefix);
        }
        match c {
            '/' if rest.peek() == Some(&'/') => while rest.next_if(|c| *c != '\n').is_some() {},
            _ if is_raw => skip_raw(c, &mut rest),
            '"' => skip_string(&mut rest),
            '\'' => skip_char(&mut rest),
            _ => {}
        }
    }
    found.insert(word);
    found.retain(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_'));
    found
}

/// Names of foreign crates and constants, which are not ours to choose.
const FOREIGN: [&str; 5] = ["tokio_util", "hyper_util", "http_body_util", "BENEATH", "PathBeneath"];

type Rest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_string(rest: &mut Rest<'_>) {
    while let Some(c) = rest.next() {
        match c {
            '\\' => drop(rest.next()),
            '"' => return,
            _ => {}
        }
    }
}

/// After `r` came `first`: a quotation mark, or the first `#`.
fn skip_raw(first: char, rest: &mut Rest<'_>) {
    let mut hashes = usize::from(first == '#');
    if first == '#' {
        while rest.next_if_eq(&'#').is_some() {
            hashes += 1;
        }
        if rest.next_if_eq(&'"').is_none() {
            // `r#name`, an identifier.
            return;
        }
    }
    let mut closing = None;
    for c in rest.by_ref() {
        closing = match (c, closing) {
            ('"', _) => Some(0),
            ('#', Some(count)) => Some(count + 1),
            _ => None,
        };
        if closing == Some(hashes) {
            return;
        }
    }
}

/// After a quotation mark: a character, or the name of a lifetime.
fn skip_char(rest: &mut Rest<'_>) {
    match rest.peek() {
        Some('\\') => {
            rest.next();
            rest.next();
            while rest.next_if(|c| *c != '\'').is_some() {}
            rest.next();
        }
        _ => {
            let mut ahead = rest.clone();
            ahead.next();
            if ahead.next() == Some('\'') {
                rest.next();
                rest.next();
            }
        }
    }
}

/// The words of an identifier, in small letters: `StandsFor_x` has `stands`, `for` and `x`.
fn words(identifier: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = '_';
    for c in identifier.chars() {
        if c == '_' {
            before = c;
            continue;
        }
        if before == '_' || c.is_uppercase() && !before.is_uppercase() {
            words.push(String::new());
        }
        words.last_mut().unwrap().extend(c.to_lowercase());
        before = c;
    }
    words
}

/// The refused word that an identifier contains; refused words of several parts are looked for in order.
fn refused_in<'a>(identifier: &str, refused: &'a BTreeMap<String, String>) -> Option<&'a str> {
    let parts = words(identifier);
    let contains = |word: &str| {
        let wanted: Vec<&str> = word.split('_').collect();
        parts.windows(wanted.len()).any(|window| window.iter().map(String::as_str).eq(wanted.iter().copied()))
    };
    refused.keys().map(String::as_str).find(|word| contains(word))
}

fn rust_files() -> Vec<(String, String)> {
    let mut paths = files_below(&project().join("src"));
    paths.extend(files_below(&project().join("tests")));
    let is_rust = |path: &Path| path.extension().is_some_and(|extension| extension == "rs");
    let own = |path: &Path| {
        !path.components().any(|part| ["samples", "sources", "corpora"].iter().any(|name| part.as_os_str() == *name))
    };
    paths.retain(|path| is_rust(path) && own(path));
    paths.iter().map(|path| (relative(path), std::fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn no_identifier_contains_a_refused_word() {
    let refused = refused();
    // Few identifiers are new in a file.
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for (path, text) in rust_files() {
        for identifier in identifiers(&text) {
            files.entry(identifier).or_insert_with(|| path.clone());
        }
    }
    let own = files.iter().filter(|(identifier, _)| !FOREIGN.contains(&identifier.as_str()));
    let found: Vec<String> = own
        .filter_map(|(identifier, path)| {
            let word = refused_in(identifier, &refused)?;
            Some(format!("{path}: {identifier} contains `{word}`; use: {}", refused[word]))
        })
        .collect();
    assert!(found.is_empty(), "{} identifiers: {found:#?}", found.len());
}

#[test]
fn the_terms_are_in_order_and_unique() {
    let page = std::fs::read_to_string(project().join(PAGE)).unwrap();
    let terms: Vec<String> = rows(&page, "Terms").into_iter().map(|row| row[0].clone()).collect();
    let unique: BTreeSet<&String> = terms.iter().collect();
    assert_eq!(unique.len(), terms.len());
}

#[test]
fn identifiers_are_found_and_texts_are_not() {
    let text = "// door\nfn a<'seat>(x: &'seat str) -> char { let told = \"door \\\" desk\"; let y = 'd'; r#\"spot \" lane\"#; '\\'' }";
    let found = identifiers(text);
    assert!(found.contains("told") && found.contains("seat"), "{found:?}");
    assert!(["door", "desk", "spot", "lane", "d"].iter().all(|word| !found.contains(*word)), "{found:?}");
    assert_eq!(words("StandInFor_xY"), ["stand", "in", "for", "x", "y"]);
    let refused = BTreeMap::from([("stand_in".to_owned(), String::new()), ("told".to_owned(), String::new())]);
    assert_eq!(refused_in("StandInFor", &refused), Some("stand_in"));
    assert_eq!(refused_in("is_told", &refused), Some("told"));
    assert_eq!(refused_in("standing_told_off_standard", &refused), Some("told"));
    assert_eq!(refused_in("inland", &refused), None);
}
