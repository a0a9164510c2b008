//! Merges the results of several roots into one list.
//!
//! Ranked rows are in the order of their scores, then of their paths and lines, then of their roots; lines in the order of the roots,
//! then of their paths. Pure. Invariant: the reasons of a ranking stay with their rows.

use crate::indexer::refusals::no_root;
use codeyard_index::Project;
use codeyard_index::project::{is_absent_phrase_warning, is_unknown_name_warning};
use codeyard_model::code::{
    AnswerMetadata, CodeError, CodeRefusal, Completeness, Freshness, IndexingStatus, NextAction, RankingReasons,
    ResultRow, ResultRows, ResultType, SchemaStatus, SearchMode, SearchQuery,
};

/// The result of one root.
pub(super) struct RootRows {
    /// The position of the root.
    pub at: usize,
    /// What messages call it: `The root /a`, `The workspace a`.
    pub label: String,
    /// Its rows.
    pub result: Result<ResultRows, Box<CodeRefusal>>,
}

/// Rows, with the metadata of the roots that gave them.
pub(super) type Merged = Result<(ResultRows, Vec<(usize, AnswerMetadata)>), Box<CodeRefusal>>;

/// The merged result of `search_code`.
pub(super) fn search(parts: Vec<RootRows>, query: &SearchQuery) -> Merged {
    let is_of_lines = matches!(query.mode, SearchMode::Text | SearchMode::Regex);
    let found = |part: &RootRows, lines: bool| match &part.result {
        // Lines may precede ranked rows, so the last row says which of them a root answers with.
        Ok(rows) => rows.rows.last().is_some_and(|row| (row.result_type == ResultType::Line) == lines),
        Err(_) => false,
    };
    let has = |lines: bool| parts.iter().any(|part| found(part, lines));
    let begins_with_lines = Project::begins_with_lines(query);
    // A fallback of one root is left out if another root didn't need it.
    let lines = is_of_lines || if begins_with_lines { has(true) } else { has(true) && !has(false) };
    let is_mixed = has(true) && has(false);
    let keep = |part: &mut RootRows| {
        if is_mixed
            && let Ok(rows) = &mut part.result
            && rows.rows.last().is_some_and(|row| (row.result_type == ResultType::Line) != lines)
        {
            rows.rows.clear();
            (rows.total, rows.next) = (0, Vec::new());
            if let Some((_, reasons)) = &mut rows.metadata.reasons {
                reasons.clear();
            }
        }
    };
    let mut parts = parts;
    parts.iter_mut().for_each(keep);
    merged(parts, query.shape.limit, lines, Some(query))
}

/// The merged result of `locate_symbol`.
pub(super) fn ranked(parts: Vec<RootRows>, limit: usize) -> Merged {
    merged(parts, limit, false, None)
}

fn merged(parts: Vec<RootRows>, limit: usize, are_lines: bool, query: Option<&SearchQuery>) -> Merged {
    let is_alone = parts.len() == 1;
    let parts = without_refuted_warnings(parts);
    let mut reports = Vec::new();
    let mut refused = Vec::new();
    let mut answers = Vec::new();
    for RootRows { at, label, result } in parts {
        match result {
            Ok(rows) => {
                reports.push((at, rows.metadata.clone()));
                answers.push((at, rows));
            }
            // What is wrong with the query is wrong for all roots.
            Err(refusal) if refusal.code == CodeError::InvalidInput => return Err(refusal),
            Err(refusal) => refused.push((label, refusal)),
        }
    }
    if answers.is_empty() {
        let first = refused.into_iter().next().map(|(_, refusal)| refusal);
        return Err(first.unwrap_or_else(|| Box::new(no_root())));
    }
    if is_alone {
        let (_, rows) = answers.swap_remove(0);
        return Ok((rows, reports));
    }
    let mut metadata = together(answers.iter().map(|(_, rows)| &rows.metadata));
    for (label, refusal) in refused {
        metadata.warnings.push(format!("{label} is left out: {}", refusal.message));
        metadata.completeness = Completeness::Partial;
    }
    let mut total: usize = answers.iter().map(|(_, rows)| rows.total).sum();
    let level = answers.iter().find_map(|(_, rows)| rows.metadata.reasons.as_ref().map(|(level, _)| *level));
    let (intent, detail, compact) = {
        let first = &answers[0].1;
        (first.intent, first.detail, first.compact)
    };
    let mut actions: Vec<(usize, Vec<NextAction>)> = Vec::new();
    let mut rows: Vec<(usize, ResultRow, RankingReasons)> = Vec::new();
    for (at, found) in answers {
        let reasons = found.metadata.reasons.map(|(_, reasons)| reasons).unwrap_or_default();
        let reasons = reasons.into_iter().map(Some).chain(std::iter::repeat(None));
        rows.extend(found.rows.into_iter().zip(reasons).map(|(row, why)| (at, row, why.unwrap_or_default())));
        actions.push((at, found.next));
    }
    if !are_lines {
        rows.sort_by(|one, other| by_rank(&one.1, &other.1));
        let before = rows.len();
        let mut seen = std::collections::BTreeSet::new();
        // Two working trees of one repository contain the same symbol with the same content.
        rows.retain(|(_, row, _)| row.symbol_id.as_ref().is_none_or(|id| seen.insert(id.clone())));
        metadata.suppressed_duplicates += before - rows.len();
        total = total.saturating_sub(before - rows.len());
    }
    rows.truncate(limit);
    let shown = rows.len();
    let next = match (are_lines, query) {
        (true, Some(query)) => more(query, shown, total).into_iter().collect(),
        _ => {
            let first = rows.first().map_or_else(|| actions.first().map_or(0, |(at, _)| *at), |(at, ..)| *at);
            actions.into_iter().find(|(at, _)| *at == first).map(|(_, next)| next).unwrap_or_default()
        }
    };
    let skipped = query.filter(|_| are_lines).map_or(0, |query| query.offset);
    if total > shown.saturating_add(skipped) && metadata.completeness == Completeness::Complete {
        metadata.completeness = Completeness::Truncated;
    } else if total <= shown.saturating_add(skipped) && metadata.completeness == Completeness::Truncated {
        metadata.completeness = Completeness::Complete;
    }
    metadata.reasons = level.map(|level| (level, rows.iter().map(|(_, _, why)| *why).collect()));
    metadata.warnings.sort();
    metadata.warnings.dedup();
    keep_nearest_names(&mut metadata.warnings);
    let rows = rows.into_iter().map(|(_, row, _)| row).collect();
    Ok((ResultRows { rows, intent, total, next, detail, compact, asked: Default::default(), metadata }, reports))
}

/// Without the warnings that a name doesn't exist or that no line contains a phrase, if another root has it.
fn without_refuted_warnings(mut parts: Vec<RootRows>) -> Vec<RootRows> {
    let knows_name = |rows: &ResultRows| {
        !rows.rows.is_empty() && !rows.metadata.warnings.iter().any(|warning| is_unknown_name_warning(warning))
    };
    let knows_phrase = |rows: &ResultRows| rows.rows.iter().any(|row| row.result_type == ResultType::Line);
    let any = |parts: &[RootRows], knows: &dyn Fn(&ResultRows) -> bool| {
        parts.iter().any(|part| part.result.as_ref().is_ok_and(knows))
    };
    let has_name = any(&parts, &knows_name);
    let has_phrase = any(&parts, &knows_phrase);
    for rows in parts.iter_mut().filter_map(|part| part.result.as_mut().ok()) {
        rows.metadata.warnings.retain(|warning| {
            !(has_name && is_unknown_name_warning(warning) || has_phrase && is_absent_phrase_warning(warning))
        });
    }
    parts
}

/// Leaves out the warnings that name nothing near an unknown name, if another root names something.
fn keep_nearest_names(warnings: &mut Vec<String>) {
    let all = warnings.clone();
    warnings.retain(|warning| {
        let is_longer = |other: &String| other.len() > warning.len() && other.starts_with(warning.as_str());
        !(is_unknown_name_warning(warning) && all.iter().any(is_longer))
    });
}

fn by_rank(one: &ResultRow, other: &ResultRow) -> std::cmp::Ordering {
    // Lines that a root answers with have no score and come first.
    let score = |row: &ResultRow| match row.result_type {
        ResultType::Line => f64::INFINITY,
        ResultType::Symbol | ResultType::Reference | ResultType::File => row.score.unwrap_or_default(),
    };
    score(other)
        .total_cmp(&score(one))
        .then_with(|| one.path.cmp(&other.path))
        .then_with(|| one.line_start.cmp(&other.line_start))
}

/// The call that continues after the returned lines.
fn more(query: &SearchQuery, shown: usize, total: usize) -> Option<NextAction> {
    let end = query.offset.saturating_add(shown);
    if total <= end {
        return None;
    }
    let mut query = query.clone();
    query.offset = end;
    if query.mode == SearchMode::Auto {
        query.mode = SearchMode::Text;
    }
    let arguments = codeyard_model::code::CallArguments::of(&codeyard_model::code::CodeQuery::Search(query)).arguments;
    let reason = format!("{} more lines match.", total - end);
    Some(NextAction { tool: codeyard_model::code::tools::SEARCH, arguments: arguments.into(), reason })
}

/// The merged metadata of several roots: the worst value of each field.
fn together<'m>(all: impl Iterator<Item = &'m AnswerMetadata>) -> AnswerMetadata {
    let mut together: Option<AnswerMetadata> = None;
    for one in all {
        let Some(so_far) = &mut together else {
            together = Some(AnswerMetadata { reasons: None, ..one.clone() });
            continue;
        };
        let worse = |rank: fn(&AnswerMetadata) -> u8, so_far: &AnswerMetadata| rank(one) > rank(so_far);
        if worse(|of| stale(of.freshness), so_far) {
            so_far.freshness = one.freshness;
        }
        if worse(|of| unready(of.indexing), so_far) {
            so_far.indexing = one.indexing;
        }
        if worse(|of| incomplete(of.completeness), so_far) {
            so_far.completeness = one.completeness;
        }
        if worse(|of| foreign(of.schema), so_far) {
            so_far.schema = one.schema;
        }
        so_far.warnings.extend(one.warnings.iter().cloned());
        so_far.suppressed_duplicates += one.suppressed_duplicates;
        so_far.safety_limit = so_far.safety_limit.or(one.safety_limit);
        so_far.retry_after_ms = so_far.retry_after_ms.max(one.retry_after_ms);
    }
    together.unwrap_or_default()
}

fn stale(word: Freshness) -> u8 {
    match word {
        Freshness::Fresh => 0,
        Freshness::Syncing => 1,
        Freshness::Stale => 2,
    }
}

pub(super) fn unready(word: IndexingStatus) -> u8 {
    match word {
        IndexingStatus::Ready => 0,
        IndexingStatus::Indexing => 1,
        IndexingStatus::NotIndexed => 2,
        IndexingStatus::Failed => 3,
    }
}

fn incomplete(word: Completeness) -> u8 {
    match word {
        Completeness::Complete => 0,
        Completeness::Truncated => 1,
        Completeness::Partial => 2,
    }
}

fn foreign(word: SchemaStatus) -> u8 {
    match word {
        SchemaStatus::Compatible => 0,
        SchemaStatus::NotIndexed => 1,
        SchemaStatus::ReindexRequired => 2,
        SchemaStatus::CorruptManifest => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_model::code::{ExplainLevel, QueryIntent, RowOptions};

    fn row(path: &str, line: u32, score: f64) -> ResultRow {
        ResultRow {
            path: path.into(),
            line_start: line,
            score: Some(score),
            symbol_id: Some(format!("{path}:{line}")),
            ..ResultRow::default()
        }
    }

    fn line(path: &str, number: u32) -> ResultRow {
        ResultRow { result_type: ResultType::Line, path: path.into(), line_start: number, ..ResultRow::default() }
    }

    fn part(at: usize, rows: Vec<ResultRow>, total: usize) -> RootRows {
        let why = rows
            .iter()
            .map(|row| RankingReasons { final_score: row.score.unwrap_or(0.0), ..RankingReasons::default() });
        let metadata = AnswerMetadata {
            indexing: IndexingStatus::Ready,
            schema: SchemaStatus::Compatible,
            reasons: Some((ExplainLevel::Full, why.collect())),
            ..AnswerMetadata::default()
        };
        let rows = ResultRows {
            rows,
            intent: Some(QueryIntent::Symbol),
            total,
            next: vec![],
            detail: Default::default(),
            compact: false,
            asked: Default::default(),
            metadata,
        };
        RootRows { at, label: format!("The root /r{at}"), result: Ok(rows) }
    }

    fn paths(rows: &ResultRows) -> Vec<&str> {
        rows.rows.iter().map(|row| row.path.as_str()).collect()
    }

    #[test]
    fn ranked_rows_are_ordered_by_score_path_and_line_with_their_reasons() {
        let one = part(0, vec![row("b", 1, 0.9), row("c", 1, 0.5), row("x", 1, 0.1)], 3);
        let two = part(1, vec![row("a", 1, 0.9), row("c", 1, 0.5), row("c", 0, 0.5)], 7);
        let (rows, reports) = ranked(vec![one, two], 4).unwrap();
        assert_eq!(paths(&rows), ["a", "b", "c", "c"]);
        assert_eq!(rows.rows[2].line_start, 0);
        assert_eq!((rows.total, rows.metadata.suppressed_duplicates), (9, 1));
        assert_eq!(rows.metadata.completeness, Completeness::Truncated);
        let scores: Vec<f64> = rows.metadata.reasons.unwrap().1.iter().map(|why| why.final_score).collect();
        assert_eq!(scores, [0.9, 0.9, 0.5, 0.5]);
        assert_eq!(reports.len(), 2);
    }

    #[test]
    fn lines_that_one_root_falls_back_to_are_no_part_of_what_others_ranked() {
        let query = SearchQuery {
            text: "x".into(),
            shape: RowOptions { limit: 9, ..RowOptions::default() },
            ..Default::default()
        };
        let (rows, _) =
            search(vec![part(0, vec![line("l", 1)], 5), part(1, vec![row("a", 1, 0.4)], 1)], &query).unwrap();
        assert_eq!((paths(&rows), rows.total), (vec!["a"], 1));
        let (rows, _) = search(vec![part(0, vec![line("l", 1)], 1), part(1, vec![line("a", 1)], 1)], &query).unwrap();
        assert_eq!(paths(&rows), ["l", "a"], "in the order of the roots");
    }

    #[test]
    fn lines_before_ranked_rows_stay_first() {
        let query = SearchQuery {
            text: "how a parser reads".into(),
            shape: RowOptions { limit: 9, ..RowOptions::default() },
            ..Default::default()
        };
        let mixed = part(1, vec![line("z", 1), row("c", 1, 0.3)], 2);
        let (rows, _) = search(vec![part(0, vec![row("a", 1, 0.9)], 1), mixed], &query).unwrap();
        assert_eq!((paths(&rows), rows.total), (vec!["z", "a", "c"], 3));
    }

    #[test]
    fn a_name_that_one_root_has_exists() {
        let unknown = |at, rows: Vec<ResultRow>| {
            let mut part = part(at, rows, 1);
            part.result.as_mut().unwrap().metadata.warnings = vec!["No symbol is named 'x'.".into(), "other".into()];
            part
        };
        let warnings = |parts| ranked(parts, 9).unwrap().0.metadata.warnings;
        let known = || part(1, vec![row("a", 1, 0.9)], 1);
        assert_eq!(warnings(vec![unknown(0, vec![row("b", 1, 0.4)]), known()]), ["other"]);
        assert_eq!(warnings(vec![unknown(0, vec![]), unknown(1, vec![])]), ["No symbol is named 'x'.", "other"]);
        let mut near = unknown(1, vec![]);
        let nearest = "No symbol is named 'x'. The nearest name is xy.";
        near.result.as_mut().unwrap().metadata.warnings = vec![nearest.into()];
        assert_eq!(warnings(vec![unknown(0, vec![]), near]), [nearest, "other"]);
    }

    #[test]
    fn a_phrase_that_one_root_has_exists() {
        let shape = RowOptions { limit: 9, ..RowOptions::default() };
        let query = SearchQuery { text: "\"a phrase\"".into(), shape, ..Default::default() };
        let lacks = |at| {
            let mut part = part(at, vec![row("b", 1, 0.4)], 1);
            part.result.as_mut().unwrap().metadata.warnings = vec!["No line contains \"a phrase\".".into()];
            part
        };
        let (rows, _) = search(vec![lacks(0), part(1, vec![line("l", 1)], 1)], &query).unwrap();
        assert_eq!((paths(&rows), rows.metadata.warnings.len()), (vec!["l"], 0));
        let (rows, _) = search(vec![lacks(0), lacks(1)], &query).unwrap();
        assert_eq!(rows.metadata.warnings, ["No line contains \"a phrase\"."]);
    }

    #[test]
    fn one_root_that_refuses_is_named_and_all_refuse_together() {
        let no = |at: usize| RootRows {
            at,
            label: format!("The root /r{at}"),
            result: Err(Box::new(CodeRefusal::new(CodeError::RefNotIndexed, format!("no {at}.")))),
        };
        let (rows, _) = ranked(vec![no(0), part(1, vec![row("a", 1, 0.4)], 1)], 9).unwrap();
        assert_eq!(paths(&rows), ["a"]);
        assert_eq!(rows.metadata.warnings, ["The root /r0 is left out: no 0."]);
        assert_eq!(rows.metadata.completeness, Completeness::Partial);
        assert_eq!(ranked(vec![no(0), no(1)], 9).unwrap_err().message, "no 0.");
        let wrong = RootRows { result: Err(Box::new(CodeRefusal::new(CodeError::InvalidInput, "wrong."))), ..no(1) };
        assert_eq!(ranked(vec![part(0, vec![], 0), wrong], 9).unwrap_err().message, "wrong.");
    }

    #[test]
    fn lines_go_on_where_they_ended() {
        let shape = RowOptions { limit: 2, ..RowOptions::default() };
        let query = SearchQuery { text: "x".into(), mode: SearchMode::Text, shape, offset: 3, ..Default::default() };
        let (rows, _) = search(vec![part(0, vec![line("a", 4)], 4), part(1, vec![line("a", 1)], 3)], &query).unwrap();
        assert_eq!((rows.rows.len(), rows.total), (2, 7));
        assert_eq!(rows.next[0].arguments["offset"], 5);
        assert_eq!(rows.metadata.completeness, Completeness::Truncated);
    }
}
