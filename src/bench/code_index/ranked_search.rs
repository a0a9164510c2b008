//! The scenario `ranked`: outlines, symbol lookup and ranked search, with random names from the outlines of the repository.

use super::{BuiltIndex, RankedSearchTimes, refusal_failure};
use crate::args::Scenario;
use crate::corpus::Corpus;
use crate::questions::SeededRandom;
use crate::report::{Report, Target};
use crate::stats::CallTimes;
use crate::{Bench, figure};
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;
use codeyard_index::Project;
use codeyard_model::code::{
    FreshnessPolicy, LocateBy, LocateQuery, OutlineDepth, OutlineQuery, OutlineSymbol, RowOptions, SearchQuery,
    SymbolKind,
};

/// Most calls of each tool.
const CALLS: usize = 400;
/// Warm-up calls that are not counted.
const WARM: usize = 10;
/// Requested rows: the default of the tools.
const ROWS: usize = 10;
/// Names that are taken from one outline.
const NAMES_A_FILE: usize = 2;

const OUTLINE_P95_MS: f64 = 5.0;
const LOCATE_P95_MS: f64 = 5.0;
const SEARCH_P95_MS: f64 = 20.0;

/// Measures the three tools.
pub(super) fn measure(
    bench: &Bench,
    corpus: &Corpus,
    built: &BuiltIndex,
    report: &mut Report,
) -> Result<RankedSearchTimes, Failure> {
    let mut random = SeededRandom::new(bench.args.seed);
    let mut files = built.sources.clone();
    random.shuffle(&mut files);
    let calls = CALLS.min(bench.args.calls);
    let mut outlines = CallTimes::default();
    let mut names = Vec::new();
    for (nth, file) in files.iter().take(calls + WARM).enumerate() {
        let began = Instant::now();
        let path = file.to_string_lossy().into_owned();
        let freshness = Some(FreshnessPolicy::BestEffort);
        let query = OutlineQuery { path, reference: None, depth: OutlineDepth::All, freshness };
        let outline = built.project.outline(&query).map_err(refusal_failure)?;
        if nth >= WARM {
            outlines.add(began.elapsed());
        }
        let mut here = Vec::new();
        outline.symbols.iter().for_each(|symbol| named(symbol, &mut here));
        random.shuffle(&mut here);
        names.extend(here.into_iter().take(NAMES_A_FILE));
    }
    random.shuffle(&mut names);
    names.truncate(calls + WARM);
    let (located, first) = locate(&built.project, &names)?;
    let searched = [
        ("whole names", search(&built.project, names.iter().cloned())?),
        ("parts of names", search(&built.project, names.iter().map(|name| part(name)))?),
        ("words of names", search(&built.project, names.iter().map(|name| words(name).join(" ")))?),
    ];
    let mut add = |what: String, times: &CallTimes, bound: Option<f64>, notes: String| {
        let target = bound.and_then(|bound| Target::at_most(bound, format!("≤ {bound} ms")));
        report.add(figure(
            &corpus.name,
            Scenario::Ranked,
            format!("{what}, p50 ms"),
            None,
            times.ms(50.0),
            None,
            notes,
        ));
        report.add(figure(&corpus.name, Scenario::Ranked, format!("{what}, p95 ms"), None, times.ms(95.0), target, ""));
    };
    let count = |times: &CallTimes| format!("{} calls", times.len());
    add("get_file_outline".into(), &outlines, Some(OUTLINE_P95_MS), count(&outlines));
    let notes = format!("{} calls, the name itself first in {first}", located.len());
    add("locate_symbol".into(), &located, Some(LOCATE_P95_MS), notes);
    let mut all = CallTimes::default();
    for (what, times) in &searched {
        add(format!("search_code, {what}"), times, None, count(times));
        all.join(times);
    }
    add("search_code".into(), &all, Some(SEARCH_P95_MS), count(&all));
    let files = built.project.files().map_err(refusal_failure)?.len();
    Ok(RankedSearchTimes { corpus: corpus.clone(), files, p95_ms: all.ms(95.0) })
}

fn named(symbol: &OutlineSymbol, names: &mut Vec<String>) {
    if symbol.kind != SymbolKind::Use && symbol.name.len() > 2 {
        names.push(symbol.name.clone());
    }
    symbol.children.iter().for_each(|child| named(child, names));
}

fn shape() -> RowOptions {
    RowOptions { limit: ROWS, freshness: Some(FreshnessPolicy::BestEffort), ..RowOptions::default() }
}

fn locate(project: &Project, names: &[String]) -> Result<(CallTimes, usize), Failure> {
    let mut times = CallTimes::default();
    let mut first = 0;
    for (nth, name) in names.iter().enumerate() {
        let query = LocateQuery { by: LocateBy::Name(name.clone()), kind: None, shape: shape() };
        let began = Instant::now();
        let found = project.locate(&query, &|| false).map_err(refusal_failure)?;
        if nth >= WARM {
            times.add(began.elapsed());
            first += usize::from(found.rows.first().is_some_and(|row| row.name == *name));
        }
    }
    Ok((times, first))
}

fn search(project: &Project, texts: impl Iterator<Item = String>) -> Result<CallTimes, Failure> {
    let mut times = CallTimes::default();
    for (nth, text) in texts.enumerate() {
        let query = SearchQuery { text, shape: shape(), ..SearchQuery::default() };
        let began = Instant::now();
        project.search(&query, &|| false).map_err(refusal_failure)?;
        if nth >= WARM {
            times.add(began.elapsed());
        }
    }
    Ok(times)
}

/// The words of a name, split at `_`, `-`, and where an upper-case letter follows a lower-case one.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in name.chars() {
        let begins = !letter.is_alphanumeric() || before.is_lowercase() && letter.is_uppercase();
        if begins && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    if words.is_empty() { vec![name.to_owned()] } else { words }
}

/// A name without its last word, or half of its only word.
fn part(name: &str) -> String {
    let words = words(name);
    match words.as_slice() {
        [only] => only.chars().take(only.chars().count().div_ceil(2).max(2)).collect(),
        [first @ .., _] => first.join("_"),
        [] => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_into_words() {
        assert_eq!(words("__getItemCount2_of"), ["get", "item", "count2", "of"]);
        assert_eq!(words("--"), ["--"]);
        assert_eq!((part("read_file_at"), part("harbour")), ("read_file".to_owned(), "harb".to_owned()));
    }
}
