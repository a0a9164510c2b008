//! Outlines, the location of symbols and ranked search, about names drawn by the seed from the tree's own outlines.

use super::{Built, Ranked, refused};
use crate::args::Scenario;
use crate::corpus::Corpus;
use crate::questions::Dice;
use crate::report::{Report, Target};
use crate::stats::Times;
use crate::{Bench, figure};
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;
use codeyard_index::Project;
use codeyard_model::code::{
    Depth, FreshnessPolicy, LocateBy, LocateQuery, OutlineQuery, OutlineSymbol, SearchQuery, Shape, SymbolKind,
};

/// Calls of each tool at most.
const CALLS: usize = 400;
/// Calls that warm the process, and aren't counted.
const WARM: usize = 10;
/// Rows that are asked for: what a client gets that doesn't say.
const ROWS: usize = 10;
/// Names taken from one outline.
const NAMES_A_FILE: usize = 2;

const OUTLINE_P95_MS: f64 = 5.0;
const LOCATE_P95_MS: f64 = 5.0;
const SEARCH_P95_MS: f64 = 20.0;

/// See the module.
pub(super) fn names(bench: &Bench, corpus: &Corpus, built: &Built, report: &mut Report) -> Result<Ranked, Failure> {
    let mut dice = Dice::new(bench.args.seed);
    let mut files = built.sources.clone();
    dice.shuffle(&mut files);
    let calls = CALLS.min(bench.args.calls);
    let (mut outlines, mut names) = (Times::default(), Vec::new());
    for (nth, file) in files.iter().take(calls + WARM).enumerate() {
        let began = Instant::now();
        let path = file.to_string_lossy().into_owned();
        let freshness = Some(FreshnessPolicy::BestEffort);
        let query = OutlineQuery { path, reference: None, depth: Depth::All, freshness };
        let outline = built.project.outline(&query).map_err(refused)?;
        if nth >= WARM {
            outlines.add(began.elapsed());
        }
        let mut here = Vec::new();
        outline.symbols.iter().for_each(|symbol| named(symbol, &mut here));
        dice.shuffle(&mut here);
        names.extend(here.into_iter().take(NAMES_A_FILE));
    }
    dice.shuffle(&mut names);
    names.truncate(calls + WARM);
    let (located, first) = locate(&built.project, &names)?;
    let searched = [
        ("whole names", search(&built.project, names.iter().cloned())?),
        ("parts of names", search(&built.project, names.iter().map(|name| part(name)))?),
        ("words of names", search(&built.project, names.iter().map(|name| words(name).join(" ")))?),
    ];
    let mut add = |what: String, times: &Times, bound: Option<f64>, notes: String| {
        let target = bound.and_then(|bound| Target::at_most(bound, format!("≤ {bound} ms")));
        report.add(figure(corpus, Scenario::Ranked, format!("{what}, p50 ms"), (None, times.ms(50.0)), None, notes));
        let most = (None, times.ms(95.0));
        report.add(figure(corpus, Scenario::Ranked, format!("{what}, p95 ms"), most, target, ""));
    };
    let count = |times: &Times| format!("{} calls", times.len());
    add("get_file_outline".into(), &outlines, Some(OUTLINE_P95_MS), count(&outlines));
    let notes = format!("{} calls, the name itself first in {first}", located.len());
    add("locate_symbol".into(), &located, Some(LOCATE_P95_MS), notes);
    let mut all = Times::default();
    for (what, times) in &searched {
        add(format!("search_code, {what}"), times, None, count(times));
        all.join(times);
    }
    add("search_code".into(), &all, Some(SEARCH_P95_MS), count(&all));
    let files = built.project.files().map_err(refused)?.len();
    Ok(Ranked { corpus: corpus.clone(), files, p95_ms: all.ms(95.0) })
}

fn named(symbol: &OutlineSymbol, names: &mut Vec<String>) {
    if symbol.kind != SymbolKind::Use && symbol.name.len() > 2 {
        names.push(symbol.name.clone());
    }
    symbol.children.iter().for_each(|child| named(child, names));
}

fn shape() -> Shape {
    Shape { limit: ROWS, freshness: Some(FreshnessPolicy::BestEffort), ..Shape::default() }
}

fn locate(project: &Project, names: &[String]) -> Result<(Times, usize), Failure> {
    let (mut times, mut first) = (Times::default(), 0);
    for (nth, name) in names.iter().enumerate() {
        let query = LocateQuery { by: LocateBy::Name(name.clone()), kind: None, shape: shape() };
        let began = Instant::now();
        let found = project.locate(&query, &|| false).map_err(refused)?;
        if nth >= WARM {
            times.add(began.elapsed());
            first += usize::from(found.rows.first().is_some_and(|row| row.name == *name));
        }
    }
    Ok((times, first))
}

fn search(project: &Project, texts: impl Iterator<Item = String>) -> Result<Times, Failure> {
    let mut times = Times::default();
    for (nth, text) in texts.enumerate() {
        let query = SearchQuery { text, shape: shape(), ..SearchQuery::default() };
        let began = Instant::now();
        project.search(&query, &|| false).map_err(refused)?;
        if nth >= WARM {
            times.add(began.elapsed());
        }
    }
    Ok(times)
}

/// A name's words: at `_`, `-`, and where an upper-case letter follows a lower-case one.
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

/// A name without its last word, or half of its only one.
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
    fn names_come_apart() {
        assert_eq!(words("__getItemCount2_of"), ["get", "item", "count2", "of"]);
        assert_eq!(words("--"), ["--"]);
        assert_eq!((part("read_file_at"), part("harbour")), ("read_file".to_owned(), "harb".to_owned()));
    }
}
