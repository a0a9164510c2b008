//! Generates the queries: `cargo test --test product -- --ignored draw`. The same seed, packages and servers give the same file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::bare::{Bare, list, uri_of};
use crate::question::source_files;
use crate::ranking::repository::{Question, Repository, Sort};
use crate::ranking::sources::{comment_of, message, phrase};

const SEED: u64 = 20_261_122;
/// Number of queries of each kind and repository.
const COUNTS: [(Sort, usize); 4] = [(Sort::Name, 45), (Sort::Part, 35), (Sort::Doc, 25), (Sort::Error, 12)];
/// LSP symbol kinds to query: classes, methods, enumerations, interfaces, functions, constants, structs.
const KINDS: [u64; 8] = [5, 6, 9, 10, 11, 12, 14, 23];

/// A symbol that a language server lists outside functions.
struct Listed {
    name: String,
    path: String,
    line: usize,
    kind: u64,
}

#[test]
#[ignore = "starts three language servers and writes tests/product/ranking/questions.jsonl"]
fn draw_questions_from_the_corpus() {
    let mut all = Vec::new();
    for repository in Repository::ALL {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap().join("code");
        fs::create_dir(&root).unwrap();
        repository.copy_to(&root);
        all.extend(questions(repository, &root));
    }
    assert!(all.len() >= 300, "{} questions", all.len());
    let lines: Vec<String> = all.iter().map(|question| serde_json::to_string(question).unwrap() + "\n").collect();
    fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/product/ranking/questions.jsonl"), lines.concat())
        .unwrap();
}

fn questions(repository: Repository, root: &Path) -> Vec<Question> {
    let files = source_files(root, repository.endings());
    let listed = listed(repository, root, &files);
    let texts: BTreeMap<String, String> =
        files.iter().map(|path| (relative(root, path), fs::read_to_string(path).unwrap())).collect();
    let all_text: String = texts.values().flat_map(|text| text.split_whitespace()).collect::<Vec<_>>().join(" ");
    let mut by_name: BTreeMap<&str, usize> = BTreeMap::new();
    for symbol in &listed {
        *by_name.entry(&symbol.name).or_default() += 1;
    }
    let names: BTreeSet<Vec<String>> = by_name.keys().map(|name| words(name)).collect();
    let asked: Vec<&Listed> = listed.iter().filter(|symbol| KINDS.contains(&symbol.kind)).collect();
    let unique: Vec<&Listed> =
        asked.iter().copied().filter(|symbol| by_name[symbol.name.as_str()] == 1 && symbol.name.len() > 3).collect();
    let mut random = Random(SEED + repository as u64);
    let mut found = Vec::new();
    for (sort, count) in COUNTS {
        let mut drawn = BTreeSet::new();
        let mut add = |query: String, symbol: &Listed| {
            let name = symbol.name.clone();
            let line = symbol.line as u32 + 1;
            drawn.insert(Question { repository, sort, query, path: symbol.path.clone(), line, name });
            drawn.len() >= count
        };
        match sort {
            Sort::Name => drop(random.shuffled(&unique).into_iter().any(|symbol| add(symbol.name.clone(), symbol))),
            Sort::Part => {
                for symbol in random.shuffled(&unique) {
                    let query = part_of(&symbol.name, random.below(4));
                    if query.is_some_and(|query| fits_one(&query, &names) && add(query, symbol)) {
                        break;
                    }
                }
            }
            Sort::Doc => {
                for symbol in random.shuffled(&asked) {
                    let lines: Vec<&str> = texts[&symbol.path].lines().collect();
                    let phrase = phrase(&comment_of(repository, &lines, symbol.line));
                    let once = phrase.filter(|phrase| all_text.matches(phrase.as_str()).count() == 1);
                    if once.is_some_and(|phrase| add(phrase, symbol)) {
                        break;
                    }
                }
            }
            Sort::Error => {
                let lines: Vec<(&String, usize, &str)> = texts
                    .iter()
                    .flat_map(|(path, text)| text.lines().enumerate().map(move |(line, text)| (path, line, text)))
                    .collect();
                for (path, line, text) in random.shuffled(&lines.iter().collect::<Vec<_>>()) {
                    let Some(query) = message(repository, text) else { continue };
                    let symbol = Listed { name: String::new(), path: (*path).clone(), line: *line, kind: 0 };
                    if texts.values().map(|text| text.matches(&query).count()).sum::<usize>() == 1
                        && add(query, &symbol)
                    {
                        break;
                    }
                }
            }
        }
        eprintln!("{repository:?} {sort:?}: {}", drawn.len());
        found.extend(drawn);
    }
    found
}

/// Symbols that its server lists for all files.
fn listed(repository: Repository, root: &Path, files: &[PathBuf]) -> Vec<Listed> {
    let mut server = Bare::start(repository.kind(), root, &["utf-16"]);
    let mut found = Vec::new();
    for path in files {
        server.open(path);
        let params = json!({"textDocument": {"uri": uri_of(path)}});
        let raw = server.request("textDocument/documentSymbol", &params).unwrap();
        let mut waiting: Vec<Value> = list(&raw);
        let text = fs::read_to_string(path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        while let Some(entry) = waiting.pop() {
            let name = entry["name"].as_str().unwrap().to_owned();
            let kind = entry["kind"].as_u64().unwrap();
            // Symbols inside functions are not searched.
            if ![6, 9, 12].contains(&kind) {
                waiting.extend(list(&entry["children"]));
            }
            let range = entry.get("selectionRange").unwrap_or(&entry["location"]["range"]);
            let line = usize::try_from(range["start"]["line"].as_u64().unwrap()).unwrap();
            // A name that a macro generates isn't in the source.
            let is_written = lines.get(line).is_some_and(|text| text.contains(&name));
            if is_written && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
                found.push(Listed { name, path: relative(root, path), line, kind });
            }
        }
    }
    found.sort_by(|one, other| (&one.path, one.line, &one.name).cmp(&(&other.path, other.line, &other.name)));
    found
}

fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap().to_str().unwrap().to_owned()
}

/// Words of a name in lower case, split by the generator's own rules.
fn words(name: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let letters: Vec<char> = name.chars().collect();
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| letters[before]);
        let next = letters.get(at + 1);
        let starts = before.is_none_or(|before| {
            before == '_'
                || (before.is_lowercase() && letter.is_uppercase())
                || (before.is_uppercase() && letter.is_uppercase() && next.is_some_and(|next| next.is_lowercase()))
                || before.is_ascii_digit() != letter.is_ascii_digit()
        });
        match found.last_mut() {
            _ if *letter == '_' => {}
            Some(word) if !starts => word.push(letter.to_ascii_lowercase()),
            _ => found.push(letter.to_ascii_lowercase().to_string()),
        }
    }
    found
}

/// A part of a name, as typed by a person who remembers only a part of it.
fn part_of(name: &str, way: u64) -> Option<String> {
    let words = words(name);
    if words.len() < 3 || words.iter().any(|word| word.len() < 3) {
        return None;
    }
    let last = words.len() - 1;
    let chosen: Vec<String> = match way {
        // All but the last word.
        0 => words[..last].to_vec(),
        // The last word is cut short.
        1 => words[..last].iter().cloned().chain([words[last][..3].to_owned()]).collect(),
        // The first word is missing.
        2 => words[1..].to_vec(),
        // The first and the last word.
        _ => vec![words[0].clone(), words[last].clone()],
    };
    let is_camel = !name.trim_matches('_').contains('_') && name.chars().any(char::is_uppercase);
    Some(if is_camel {
        let capital = |word: &String| word[..1].to_uppercase() + &word[1..];
        chosen.iter().map(capital).collect()
    } else {
        chosen.join("_")
    })
}

/// Whether one name alone has words that begin with the query's, in this order.
fn fits_one(query: &str, names: &BTreeSet<Vec<String>>) -> bool {
    let query = words(query);
    let fits = |name: &&Vec<String>| {
        let mut rest = name.iter();
        query.iter().all(|word| rest.any(|part| part.starts_with(word.as_str())))
    };
    names.iter().filter(fits).take(2).count() == 1
}

/// SplitMix64: small and portable.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn shuffled<'a, T>(&mut self, items: &[&'a T]) -> Vec<&'a T> {
        let mut items = items.to_vec();
        for at in (1..items.len()).rev() {
            let other = self.below(at as u64 + 1) as usize;
            items.swap(at, other);
        }
        items
    }
}
