//! The scenario `search`: twenty questions, asked several times in turn of ripgrep and of the index, with all matching lines compared.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::ripgrep::{MatchedLine, Ripgrep};
use super::search_questions::{PatternKind, SearchQuestion, questions};
use super::{BuiltIndex, http_search, refusal_failure};
use crate::args::Scenario;
use crate::corpus::Corpus;
use crate::report::{Report, Target};
use crate::stats::median;
use crate::{Bench, figure};
use codeyard_base::clock::Instant;
use codeyard_cli::Failure;
use codeyard_index::Project;
use codeyard_model::code::{CaseRule, FreshnessPolicy, RowOptions, SearchMode, SearchQuery};
use codeyard_model::limits::MAX_PAGE_SIZE;

/// Rounds for each side.
const ROUNDS: usize = 7;
/// Target: median of the index relative to that of ripgrep.
const MEDIAN_SHARE: f64 = 1.0 / 20.0;
/// Target: time of the index relative to that of ripgrep, for each question.
const WORST_SHARE: f64 = 1.2;
/// Questions that ripgrep answers faster than this have no target; in milliseconds.
pub(super) const MIN_COMPARABLE_MS: f64 = 20.0;
/// A row limit above the number of lines of any question.
const ALL_LINES: usize = 100_000_000;

/// The median durations of a question, in milliseconds.
struct QuestionTimes {
    theirs: f64,
    ours: f64,
}

/// Measures and compares all questions.
pub(super) async fn search(
    bench: &Bench,
    corpus: &Corpus,
    built: &BuiltIndex,
    ripgrep: &Ripgrep,
    report: &mut Report,
) -> Result<(), Failure> {
    eprintln!("  {}: twenty questions, compared with {}", corpus.name, ripgrep.version);
    let root = corpus.root.as_path();
    let project = &built.project;
    let question = questions(&built.sources, bench.args.seed);
    let mut all = Vec::new();
    for one in &question {
        let (took, lines) = take_turns(bench, root, project, ripgrep, one).await?;
        let notes = format!("{}: `{}`, {lines} lines", one.kind, one.pattern);
        let bound = took.theirs * WORST_SHARE;
        let number = all.len() + 1;
        // Shorter times cannot be distinguished from the start of the process.
        let target =
            Target::at_most(bound, format!("≤ {WORST_SHARE} × ripgrep")).filter(|_| took.theirs >= MIN_COMPARABLE_MS);
        let what = format!("question {number}, ms");
        report.add(figure(&corpus.name, Scenario::Search, what, Some(took.theirs), took.ours, target, notes));
        all.push(took);
    }
    let of = |side: fn(&QuestionTimes) -> f64| all.iter().map(side).collect::<Vec<f64>>();
    let worst = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let theirs = of(|took| took.theirs);
    let ours = of(|took| took.ours);
    let mut add = |what: &str, bare: Option<f64>, codeyard: f64, target: Option<Target>, notes: String| {
        report.add(figure(&corpus.name, Scenario::Search, what, bare, codeyard, target, notes));
    };
    let middle = (median(theirs.clone()), median(ours.clone()));
    let target =
        Target::at_most(middle.0 * MEDIAN_SHARE, "≤ 1/20 of ripgrep").filter(|_| middle.0 >= MIN_COMPARABLE_MS);
    let notes = format!("ripgrep takes {:.1} times as long", middle.0 / middle.1);
    add("the median of the questions, ms", Some(middle.0), middle.1, target, notes);
    add("the longest of the questions, ms", Some(worst(&theirs)), worst(&ours), None, String::new());
    http_search::questions(bench, corpus, built, &question, &theirs, report).await?;
    compare(corpus, project, ripgrep, &question, report).await
}

/// Asks both sides in turn, and alternates which is first.
async fn take_turns(
    bench: &Bench,
    root: &Path,
    project: &Project,
    ripgrep: &Ripgrep,
    question: &SearchQuestion,
) -> Result<(QuestionTimes, usize), Failure> {
    let query = query(question, MAX_PAGE_SIZE);
    let mut theirs = Vec::new();
    let mut ours = Vec::new();
    let mut lines = 0;
    let ms = |took: Duration| took.as_secs_f64() * 1e3;
    let began = Instant::now();
    // The first round warms both sides up and is not counted.
    for round in 0..=ROUNDS {
        if round > 2 && began.elapsed() > 2 * bench.time() {
            break;
        }
        for turn in [round % 2, (round + 1) % 2] {
            if turn == 0 {
                let (took, _) = ripgrep.time(question, root).await?;
                theirs.push(ms(took));
            } else {
                let began = Instant::now();
                lines = project.search(&query, &|| false).map_err(refusal_failure)?.total;
                ours.push(ms(began.elapsed()));
            }
        }
    }
    Ok((QuestionTimes { theirs: median(theirs.split_off(1)), ours: median(ours.split_off(1)) }, lines))
}

fn query(question: &SearchQuestion, limit: usize) -> SearchQuery {
    SearchQuery {
        text: question.pattern.clone(),
        mode: if question.pattern_kind == PatternKind::Regex { SearchMode::Regex } else { SearchMode::Text },
        case: if question.ignores_case { CaseRule::Insensitive } else { CaseRule::Sensitive },
        word: question.is_word,
        shape: RowOptions { limit, freshness: Some(FreshnessPolicy::BestEffort), ..RowOptions::default() },
        ..SearchQuery::default()
    }
}

/// Compares the matching lines. ripgrep may find more only in files that the index reports as left out.
async fn compare(
    corpus: &Corpus,
    project: &Project,
    ripgrep: &Ripgrep,
    question: &[SearchQuestion],
    report: &mut Report,
) -> Result<(), Failure> {
    let files = project.files().map_err(refusal_failure)?;
    let left_out: BTreeSet<&str> =
        files.iter().filter(|file| file.left_out.is_some()).map(|file| &*file.path).collect();
    let known: BTreeSet<&str> = files.iter().map(|file| &*file.path).collect();
    let unknown: Vec<String> = ripgrep.files(&corpus.root).await?;
    let unknown: Vec<&String> = unknown.iter().filter(|path| !known.contains(path.as_str())).collect();
    let mut compared = 0_u64;
    let mut wrong = 0_u64;
    let mut examples = Vec::new();
    wrong += unknown.len() as u64;
    examples.extend(unknown.iter().take(3).map(|path| format!("{path} is not in the index")));
    let mut more = 0_u64;
    for one in question {
        let mut theirs = ripgrep.lines(one, &corpus.root).await?;
        let before = theirs.len();
        theirs.retain(|(path, _)| !left_out.contains(path.as_str()));
        more += (before - theirs.len()) as u64;
        let found = project.search(&query(one, ALL_LINES), &|| false).map_err(refusal_failure)?;
        let mut ours: Vec<MatchedLine> = found.rows.into_iter().map(|row| (row.path, row.line_start)).collect();
        ours.sort_unstable();
        let differing = differing(&theirs, &ours);
        compared += theirs.len() as u64;
        wrong += differing.len() as u64 + u64::from(found.total != ours.len());
        examples.extend(differing.iter().take(2).map(|(path, line)| format!("`{}`: {path}:{line}", one.pattern)));
    }
    report.lines(compared, wrong, &examples);
    let what = "lines that only ripgrep finds, in files reported as left out";
    let notes = format!("{compared} lines compared, {wrong} differ, {} files left out", left_out.len());
    report.add(figure(&corpus.name, Scenario::Search, what, None, more as f64, None, notes));
    Ok(())
}

/// The elements that are in only one of two sorted lists.
fn differing<'l>(one: &'l [MatchedLine], other: &'l [MatchedLine]) -> Vec<&'l MatchedLine> {
    let mut at = 0;
    let mut from = 0;
    let mut found = Vec::new();
    while at < one.len() || from < other.len() {
        match (one.get(at), other.get(from)) {
            (Some(left), Some(right)) if left == right => (at, from) = (at + 1, from + 1),
            (Some(left), right) if right.is_none_or(|right| left < right) => {
                found.push(left);
                at += 1;
            }
            (_, right) => {
                found.extend(right);
                from += 1;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_found_on_both_sides() {
        let lines =
            |numbers: &[u32]| numbers.iter().map(|number| ("a".to_owned(), *number)).collect::<Vec<MatchedLine>>();
        let one = lines(&[1, 2, 4, 6]);
        let numbers: Vec<u32> = differing(&one, &lines(&[2, 3, 4, 7, 8])).iter().map(|(_, number)| *number).collect();
        assert_eq!(numbers, [1, 3, 6, 7, 8]);
        assert!(differing(&one, &one).is_empty());
        assert_eq!(differing(&[], &one).len(), 4);
    }
}
