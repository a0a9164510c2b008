//! Runs the queries and compares the scores with the floor: `cargo test --test product evaluate -- --nocapture`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use codeyard_index::extract::extract;
use codeyard_index::ranked::{RankedQuery, SymbolIndex, SymbolIndexView, classify};
use codeyard_index::{ContentNo, Facts, FileClass, Language, Manifest, ManifestEntry};
use codeyard_model::code::{QueryIntent, Weights};

use crate::ranking::repository::{Question, Repository, Sort};
use codeyard_test_support::real_servers::files_below;

/// Number of results to consider.
const LIMIT: usize = 10;

/// Index of a repository, with the data to check an answer.
struct Indexed {
    view: SymbolIndexView,
    facts: BTreeMap<ContentNo, Facts>,
    texts: Vec<(String, String)>,
    _folder: tempfile::TempDir,
}

/// Scores of a set of queries.
#[derive(Debug, Clone, Copy, Default)]
struct Figures {
    asked: usize,
    first: usize,
    among_three: usize,
    reciprocal: f64,
}

impl Figures {
    fn add(&mut self, rank: Option<usize>) {
        self.asked += 1;
        self.first += usize::from(rank == Some(1));
        self.among_three += usize::from(rank.is_some_and(|rank| rank <= 3));
        self.reciprocal += rank.map_or(0.0, |rank| 1.0 / rank as f64);
    }

    fn shares(self) -> [f64; 3] {
        let all = self.asked.max(1) as f64;
        [self.reciprocal / all, self.first as f64 / all, self.among_three as f64 / all]
            .map(|share| (share * 1e3).round() / 1e3)
    }
}

#[test]
fn evaluate() {
    let questions = questions();
    let mut figures: BTreeMap<(String, String), Figures> = BTreeMap::new();
    let mut missed = String::new();
    for repository in Repository::ALL {
        let indexed = Indexed::new(repository);
        for question in questions.iter().filter(|question| question.repository == repository) {
            let rank = indexed.rank(question);
            let sort = format!("{:?}", question.sort).to_lowercase();
            let name = format!("{repository:?}").to_lowercase();
            figures.entry((name.clone(), sort.clone())).or_default().add(rank);
            figures.entry(("all".into(), sort)).or_default().add(rank);
            if question.sort != Sort::Error {
                figures.entry((name, "symbols".into())).or_default().add(rank);
                figures.entry(("all".into(), "symbols".into())).or_default().add(rank);
            }
            if rank != Some(1) {
                writeln!(missed, "{rank:?} {question:?}\n    {}", indexed.answer(question)).unwrap();
            }
        }
    }
    println!("not first:\n{missed}");
    println!("| repository | questions | asked | MRR | top-1 | top-3 |\n|---|---|---|---|---|---|");
    let mut low = Vec::new();
    let floors = floors();
    for ((repository, sort), found) in &figures {
        let [mrr, first, three] = found.shares();
        println!("| {repository} | {sort} | {} | {mrr} | {first} | {three} |", found.asked);
        let floor = floors.get(repository).and_then(|sorts| sorts.get(sort)).copied();
        let Some(floor) = floor else {
            low.push(format!("{repository} {sort}: floor.toml has no floor; it is {:?} now", found.shares()));
            continue;
        };
        if found.shares().iter().zip(floor).any(|(share, floor)| *share < floor) {
            low.push(format!("{repository} {sort}: {:?} is below {floor:?}", found.shares()));
        }
    }
    for (repository, sorts) in &floors {
        for sort in sorts.keys().filter(|sort| !figures.contains_key(&(repository.clone(), (*sort).clone()))) {
            low.push(format!("{repository} {sort}: no query was run"));
        }
    }
    assert!(low.is_empty(), "MRR, top-1 and top-3 have dropped: {low:#?}");
}

#[test]
fn the_question_set_is_large_and_varied() {
    let questions = questions();
    assert!(questions.len() >= 300);
    for repository in Repository::ALL {
        for (sort, least) in [(Sort::Name, 40), (Sort::Part, 20), (Sort::Doc, 20), (Sort::Error, 5)] {
            let count = questions.iter().filter(|one| (one.repository, one.sort) == (repository, sort)).count();
            assert!(count >= least, "{repository:?} {sort:?}: {count}");
        }
    }
}

fn here() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/product/ranking"))
}

fn questions() -> Vec<Question> {
    let text = fs::read_to_string(here().join("questions.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// By repository and kind: the floor of MRR, top-1 and top-3.
fn floors() -> BTreeMap<String, BTreeMap<String, [f64; 3]>> {
    toml::from_str(&fs::read_to_string(here().join("floor.toml")).unwrap()).unwrap()
}

impl Indexed {
    fn new(repository: Repository) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("code");
        fs::create_dir(&root).unwrap();
        repository.copy_to(&root);
        let index = SymbolIndex::open(&folder.path().join("index")).unwrap();
        let mut writer = index.writer().unwrap();
        let mut entries = Vec::new();
        let mut all = BTreeMap::new();
        let mut texts = Vec::new();
        for (content, path) in (0..).zip(files_below(&root)) {
            let relative = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let language = Language::of_file(&relative, text.lines().next().unwrap_or_default().as_bytes());
            if let Some(language) = language {
                let facts = extract(language, &text);
                writer.add(index.documents(content, language, &facts)).unwrap();
                all.insert(content, facts);
            }
            let class = FileClass::of(&relative);
            entries.push(ManifestEntry {
                path: relative.as_str().into(),
                content,
                language,
                size: text.len() as u64,
                class,
            });
            texts.push((relative, text));
        }
        writer.commit().unwrap();
        index.reload().unwrap();
        let view = index.view(Arc::new(Manifest::new(entries))).unwrap();
        Self { view, facts: all, texts, _folder: folder }
    }

    /// Rank of the correct answer, from 1.
    fn rank(&self, question: &Question) -> Option<usize> {
        if question.sort == Sort::Error {
            return self.rank_of_message(question);
        }
        // The comment may belong to a prototype or an overload of the same function.
        let same = |path: &str, name: &str| {
            question.sort == Sort::Doc
                && name == question.name
                && (path == question.path || question.repository == Repository::Zstd)
        };
        let right = |(path, line, name): &(String, u32, String)| {
            (*path == question.path && *line == question.line) || same(path, name)
        };
        self.found(&question.query).iter().position(right).map(|at| at + 1)
    }

    /// Messages are found as text lines in path order, if the query is classified as a message or has no ranked result.
    fn rank_of_message(&self, question: &Question) -> Option<usize> {
        if classify(&question.query) != QueryIntent::Error && !self.found(&question.query).is_empty() {
            return None;
        }
        let lines =
            self.texts.iter().flat_map(|(path, text)| (1_u32..).zip(text.lines()).map(move |line| (path, line)));
        let mut holding = lines.filter(|(_, (_, text))| text.contains(&question.query));
        holding.position(|(path, (line, _))| *path == question.path && line == question.line).map(|at| at + 1)
    }

    /// Path, line and name of each result.
    fn found(&self, query: &str) -> Vec<(String, u32, String)> {
        let ask = RankedQuery { text: query, kind: None, language: None, filter: None, files: true, limit: LIMIT };
        let hits = self.view.search(&ask, &Weights::default()).unwrap().hits;
        let answer = hits.into_iter().map(|hit| {
            let path = self.view.manifest().entries()[hit.entry].path.to_string();
            let symbol = hit.ordinal.map(|ordinal| &self.facts[&hit.content].symbols[ordinal as usize]);
            symbol.map_or((path.clone(), 0, String::new()), |symbol| (path, symbol.name_line, symbol.name.clone()))
        });
        answer.collect()
    }

    fn answer(&self, question: &Question) -> String {
        let found = self.found(&question.query).into_iter().take(3);
        let answer: Vec<String> = found.map(|(path, line, name)| format!("{path}:{line} {name}")).collect();
        format!("{:?}: {}", classify(&question.query), answer.join(", "))
    }
}
