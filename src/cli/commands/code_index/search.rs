//! `codeyard search` and `codeyard outline`: query the code index and print the result.

use super::{as_json, open, refusal_failure, sync};
use crate::Failure;
use crate::args::{OutlineArgs, SearchArgs};
use crate::shared::output;
use codeyard_index::Project;
use codeyard_model::code::{
    CaseRule, CodeAnswer, Completeness, DetailLevel, ExplainLevel, FreshnessPolicy, OutlineDepth, OutlineQuery,
    OutlineSymbol, ResultRow, ResultRows, RowOptions, SearchMode, SearchQuery,
};
use codeyard_model::limits::MAX_PAGE_SIZE;

/// Updates the index, unless the query is about a ref or `--no-sync` is set. A missing index is always built.
fn prepare(project: &Project, reference: Option<&str>, no_sync: bool) -> Result<(), Failure> {
    if reference.is_some() || no_sync && project.is_indexed() {
        return Ok(());
    }
    sync(project, None, false, !project.is_indexed()).map(drop)
}

/// Runs `codeyard search`.
pub(crate) fn search(args: SearchArgs) -> Result<(), Failure> {
    if args.limit == 0 || args.limit > MAX_PAGE_SIZE {
        return Err(Failure::usage(format!("--limit {}: must be from 1 to {MAX_PAGE_SIZE}", args.limit)));
    }
    if args.query.is_empty() {
        return Err(Failure::usage("the query is empty; pass a name, words, a text, or a regular expression"));
    }
    let project = open(&args.location, None)?;
    prepare(&project, args.reference.as_deref(), args.no_sync)?;
    let query = SearchQuery {
        text: args.query,
        mode: SearchMode::parse(&args.mode).unwrap_or_default(),
        case: CaseRule::parse(&args.case).unwrap_or_default(),
        word: args.word,
        globs: args.globs,
        context_lines: args.context.min(10),
        offset: args.offset,
        shape: RowOptions {
            reference: args.reference,
            language: args.language,
            limit: args.limit,
            detail: DetailLevel::parse(&args.detail).unwrap_or_default(),
            freshness: Some(FreshnessPolicy::BestEffort),
            explain: ExplainLevel::parse(&args.explain),
            ..RowOptions::default()
        },
    };
    let found = project.search(&query, &|| false).map_err(|refusal| refusal_failure(&refusal))?;
    if args.location.json {
        return output::print_json(&as_json(CodeAnswer::Rows(found))?);
    }
    output::print(text_of(&found))
}

fn text_of(found: &ResultRows) -> String {
    let mut text = String::new();
    for (at, row) in found.rows.iter().enumerate() {
        row_text(row, &mut text);
        if let Some((_, reasons)) = &found.metadata.reasons
            && let Some(reasons) = reasons.get(at)
        {
            text.push_str(&format!(
                "    score {:.4}: name {:.2}, qualified {:.2}, path {:.2}, definition {:.2}, kind {:.2}, words {:.2}\n",
                reasons.final_score,
                reasons.exact_match_boost,
                reasons.qualified_name_boost,
                reasons.path_affinity,
                reasons.definition_boost,
                reasons.kind_match,
                reasons.bm25_score
            ));
        }
    }
    match (found.rows.len(), found.total) {
        (0, _) => text.push_str("no match; try --mode text or --mode regex, or fewer globs\n"),
        (shown, total) if total > shown => {
            text.push_str(&format!("{shown} of {total}; use --limit for more, with text and regex also --offset\n"));
        }
        _ => {}
    }
    if found.metadata.completeness == Completeness::Partial {
        text.push_str("the index is incomplete; `codeyard index` completes it\n");
    }
    for warning in &found.metadata.warnings {
        text.push_str(&format!("note: {warning}\n"));
    }
    text
}

fn row_text(row: &ResultRow, text: &mut String) {
    if let Some(line) = &row.text {
        let first = row.line_start as usize - row.before.len().min(row.line_start as usize - 1);
        for (at, before) in row.before.iter().enumerate() {
            text.push_str(&format!("{}-{}-{before}\n", row.path, first + at));
        }
        text.push_str(&format!("{}:{}:{line}\n", row.path, row.line_start));
        for (at, after) in row.after.iter().enumerate() {
            text.push_str(&format!("{}-{}-{after}\n", row.path, row.line_start as usize + 1 + at));
        }
        return;
    }
    let kind = row.kind.map_or("", |kind| kind.as_str());
    let name = row.qualified_name.as_deref().unwrap_or(&row.name);
    text.push_str(&format!("{}:{}: {kind} {name}\n", row.path, row.line_start));
    for line in row.signature.iter().filter(|_| row.body_preview.is_none()) {
        text.push_str(&format!("    {line}\n"));
    }
    for line in row.body_preview.iter().flat_map(|preview| preview.lines()) {
        text.push_str(&format!("    {line}\n"));
    }
}

/// Runs `codeyard outline`.
pub(crate) fn outline(args: OutlineArgs) -> Result<(), Failure> {
    let project = open(&args.location, Some(&args.file))?;
    prepare(&project, args.reference.as_deref(), args.no_sync)?;
    // An existing file is named by its path on disk, a file of a ref by its path below the root.
    let path = match args.file.canonicalize() {
        Ok(real) if real.starts_with(project.root()) => real,
        _ => args.file.clone(),
    };
    let query = OutlineQuery {
        path: path.to_string_lossy().into_owned(),
        reference: args.reference,
        depth: OutlineDepth::parse(&args.depth).unwrap_or_default(),
        freshness: Some(FreshnessPolicy::BestEffort),
    };
    let found = project.outline(&query).map_err(|refusal| refusal_failure(&refusal))?;
    if args.location.json {
        return output::print_json(&as_json(CodeAnswer::Outline(found))?);
    }
    let mut text = String::new();
    found.symbols.iter().for_each(|symbol| outline_text(symbol, 0, &mut text));
    if found.symbols.is_empty() {
        text.push_str(match found.language {
            Some(_) => "no declarations in this file\n",
            None => "codeyard does not parse this language; `codeyard search --mode text` searches the text\n",
        });
    }
    output::print(text)
}

/// Formats a symbol with its children. The extraction bounds the nesting, and so the recursion.
fn outline_text(symbol: &OutlineSymbol, depth: usize, text: &mut String) {
    let lines = format!("{}-{}", symbol.line_start, symbol.line_end);
    let head = symbol.signature.clone().unwrap_or_else(|| symbol.name.clone());
    text.push_str(&format!("{lines:>11}  {}{} {head}\n", "  ".repeat(depth), symbol.kind.as_str()));
    symbol.children.iter().for_each(|child| outline_text(child, depth + 1, text));
}
