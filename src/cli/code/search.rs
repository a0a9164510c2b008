//! `codeyard search` and `codeyard outline`.

use super::{as_json, open, refused, sync};
use crate::args::{OutlineArgs, SearchArgs};
use crate::{Failure, output};
use codeyard_index::Project;
use codeyard_model::code::{
    CaseRule, CodeAnswer, Completeness, Depth, DetailLevel, ExplainLevel, FreshnessPolicy, OutlineQuery, OutlineSymbol,
    Row, Rows, SearchMode, SearchQuery, Shape,
};
use codeyard_model::limits::MAX_PAGE_SIZE;

/// Brings the index up to date, unless a ref is asked about or it is to be asked as it is.
fn prepare(project: &Project, reference: Option<&str>, no_sync: bool) -> Result<(), Failure> {
    if reference.is_some() || no_sync && project.is_indexed() {
        return Ok(());
    }
    sync(project, None, false, !project.is_indexed()).map(drop)
}

/// Searches.
pub(crate) fn search(args: SearchArgs) -> Result<(), Failure> {
    if args.limit == 0 || args.limit > MAX_PAGE_SIZE {
        return Err(Failure::usage(format!("--limit is from 1 to {MAX_PAGE_SIZE}")));
    }
    if args.query.is_empty() {
        return Err(Failure::usage("the query is empty; name what to look for"));
    }
    let project = open(&args.place, None)?;
    prepare(&project, args.reference.as_deref(), args.no_sync)?;
    let query = SearchQuery {
        text: args.query,
        mode: SearchMode::parse(&args.mode).unwrap_or_default(),
        case: CaseRule::parse(&args.case).unwrap_or_default(),
        word: args.word,
        globs: args.globs,
        context_lines: args.context.min(10),
        offset: args.offset,
        shape: Shape {
            reference: args.reference,
            language: args.language,
            limit: args.limit,
            detail: DetailLevel::parse(&args.detail).unwrap_or_default(),
            freshness: Some(FreshnessPolicy::BestEffort),
            explain: ExplainLevel::parse(&args.explain),
            ..Shape::default()
        },
    };
    let found = project.search(&query, &|| false).map_err(|refusal| refused(&refusal))?;
    if args.place.json {
        return output::print_json(&as_json(CodeAnswer::Rows(found))?);
    }
    output::print(text_of(&found))
}

fn text_of(found: &Rows) -> String {
    let mut text = String::new();
    for (at, row) in found.rows.iter().enumerate() {
        one(row, &mut text);
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
        (0, _) => text.push_str("nothing was found; try --mode text or --mode regex, or fewer globs\n"),
        (shown, total) if total > shown => {
            text.push_str(&format!("{shown} of {total}; more with --limit, lines also with --offset\n"));
        }
        _ => {}
    }
    if found.metadata.completeness == Completeness::Partial {
        text.push_str("the index isn't complete yet; `codeyard index` completes it\n");
    }
    for warning in &found.metadata.warnings {
        text.push_str(&format!("note: {warning}\n"));
    }
    text
}

fn one(row: &Row, text: &mut String) {
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

/// Shows what a file declares.
pub(crate) fn outline(args: OutlineArgs) -> Result<(), Failure> {
    let project = open(&args.place, Some(&args.file))?;
    prepare(&project, args.reference.as_deref(), args.no_sync)?;
    // A file that is here is meant by where it is; one of another ref by its path below the root.
    let path = match args.file.canonicalize() {
        Ok(real) if real.starts_with(project.root()) => real,
        _ => args.file.clone(),
    };
    let query = OutlineQuery {
        path: path.to_string_lossy().into_owned(),
        reference: args.reference,
        depth: Depth::parse(&args.depth).unwrap_or_default(),
        freshness: Some(FreshnessPolicy::BestEffort),
    };
    let found = project.outline(&query).map_err(|refusal| refused(&refusal))?;
    if args.place.json {
        return output::print_json(&as_json(CodeAnswer::Outline(found))?);
    }
    let mut text = String::new();
    found.symbols.iter().for_each(|symbol| tree(symbol, 0, &mut text));
    if found.symbols.is_empty() {
        text.push_str(match found.language {
            Some(_) => "it declares nothing\n",
            None => "a language that isn't parsed; `codeyard search --mode text` searches it\n",
        });
    }
    output::print(text)
}

/// As deep as sources are nested, which extraction bounds.
fn tree(symbol: &OutlineSymbol, depth: usize, text: &mut String) {
    let lines = format!("{}-{}", symbol.line_start, symbol.line_end);
    let head = symbol.signature.clone().unwrap_or_else(|| symbol.name.clone());
    text.push_str(&format!("{lines:>11}  {}{} {head}\n", "  ".repeat(depth), symbol.kind.as_str()));
    symbol.children.iter().for_each(|child| tree(child, depth + 1, text));
}
