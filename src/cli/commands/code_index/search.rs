//! `codeyard search` and `codeyard outline`: query the code index and print the result.
//!
//! Exit codes of `search` are those of ripgrep: 0 if something was found, 1 if nothing was, 2 on errors.

use std::io::IsTerminal;

use serde_json::Value;

use super::group_search;
use super::search_printer::SearchPrinter;
use super::search_rows::{PrintedRow, PrintedRows, RowContent, one_root};
use super::{Extent, as_json, open, refusal_failure, sync};
use crate::Failure;
use crate::args::{OutlineArgs, SearchArgs};
use crate::shared::output;
use crate::terminal_style::TerminalStyle;
use codeyard_engine::indexer::repo_filter::{self, RepoFilter};
use codeyard_index::{LinePattern, Project};
use codeyard_model::code::{
    CaseRule, CodeAnswer, CodeQuery, DetailLevel, ExplainLevel, FreshnessPolicy, OutlineDepth, OutlineQuery,
    OutlineSymbol, RowOptions, SearchMode, SearchQuery,
};
use codeyard_model::limits::MAX_PAGE_SIZE;

/// Most matches that `codeyard search` reads to list or count files.
const MAX_LISTED_MATCHES: usize = 1_000_000;

/// The exit code of a search that found nothing.
const NOTHING_FOUND: u8 = 1;
/// The exit code of a search that failed.
const SEARCH_FAILED: u8 = 2;

/// Updates the index unless `--no-sync` is set: that of the working tree, or that of a ref that has moved. A missing index of the working tree is
/// always built, one of a ref never.
pub(super) fn prepare(project: &Project, reference: Option<&str>, no_sync: bool) -> Result<(), Failure> {
    let is_current = match reference {
        None => no_sync && project.is_indexed(),
        Some(reference) => no_sync || !project.is_behind(reference),
    };
    if is_current {
        return Ok(());
    }
    sync(project, reference, false, !project.is_indexed()).map(drop)
}

/// Runs `codeyard search`.
pub(crate) fn search(args: SearchArgs) -> Result<(), Failure> {
    let found = find(&args).map_err(|failure| Failure { code: SEARCH_FAILED, ..failure })?;
    match found {
        true => Ok(()),
        // The exit code says it; the hint has been printed.
        false => Err(Failure { message: String::new(), code: NOTHING_FOUND }),
    }
}

/// The answer of a search: the rows to print, and the JSON of the tool, made only if it is printed.
pub(super) struct SearchAnswer {
    pub(super) rows: PrintedRows,
    pub(super) json: Option<Value>,
}

/// Searches and prints. Whether something was found.
fn find(args: &SearchArgs) -> Result<bool, Failure> {
    if args.limit == 0 || args.limit > MAX_PAGE_SIZE {
        return Err(Failure::usage(format!("--limit {}: must be from 1 to {MAX_PAGE_SIZE}", args.limit)));
    }
    if args.query.is_empty() {
        return Err(Failure::usage("the query is empty; pass a name, words, a text, or a regular expression"));
    }
    let query = query_of(args)?;
    let answer = match args.scope.is_group() {
        true => group_search::search(args, &query)?,
        false => search_here(args, &query)?,
    };
    let found = !answer.rows.rows.is_empty();
    match answer.json {
        Some(json) => output::print_json(&json)?,
        None => print(args, &query, &answer.rows)?,
    }
    Ok(found)
}

fn query_of(args: &SearchArgs) -> Result<SearchQuery, Failure> {
    let case = match (args.ignore_case, args.case_sensitive) {
        (true, _) => CaseRule::Insensitive,
        (_, true) => CaseRule::Sensitive,
        _ => CaseRule::parse(&args.case).unwrap_or_default(),
    };
    let (before, after) = args.context_lines();
    let query = SearchQuery {
        text: args.query.clone(),
        mode: SearchMode::parse(&args.mode).unwrap_or_default(),
        case,
        word: args.word,
        globs: args.globs.clone(),
        context_lines: before.max(after),
        offset: args.offset,
        shape: RowOptions {
            reference: args.reference.clone(),
            language: args.language.clone(),
            limit: if args.lists_files() { MAX_LISTED_MATCHES } else { args.limit },
            detail: DetailLevel::parse(&args.detail).unwrap_or_default(),
            freshness: Some(FreshnessPolicy::BestEffort),
            explain: ExplainLevel::parse(&args.explain),
            ..RowOptions::default()
        },
        ..SearchQuery::default()
    };
    query.with_language().map_err(|error| Failure::usage(error.to_string()))
}

/// Searches the index of one root.
fn search_here(args: &SearchArgs, query: &SearchQuery) -> Result<SearchAnswer, Failure> {
    let extent = if args.force { Extent::Any } else { Extent::Ordinary("search QUERY") };
    let project = open(&args.location, None, extent)?;
    let asked = CodeQuery::Search(query.clone());
    let filter = RepoFilter::of(&asked).map_err(|refusal| refusal_failure(&refusal))?;
    let folder = project.root().file_name().unwrap_or_default().to_string_lossy().into_owned();
    if filter.is_some_and(|filter| filter.roots(&folder, &[project.root().to_owned()]).is_empty()) {
        return Err(refusal_failure(&repo_filter::selects_nothing(&asked, &folder)));
    }
    prepare(&project, args.reference.as_deref(), args.no_sync)?;
    let found = project.search(query, &|| false).map_err(|refusal| refusal_failure(&refusal))?;
    let rows = PrintedRows::of_answer(&found, one_root(project.root()));
    let json = args.location.json.then(|| as_json(CodeAnswer::Rows(found))).transpose()?;
    Ok(SearchAnswer { rows, json })
}

/// Prints rows, and on standard error what there is to know about them.
fn print(args: &SearchArgs, query: &SearchQuery, found: &PrintedRows) -> Result<(), Failure> {
    let is_terminal = std::io::stdout().is_terminal();
    let style = TerminalStyle::choose(args.color, args.hyperlink, is_terminal, |name| std::env::var_os(name));
    let printer = SearchPrinter {
        style,
        has_headings: args.heading || is_terminal && !args.no_heading,
        context: args.context_lines(),
        highlights: highlights(query, &found.rows),
    };
    let text = match (args.files_with_matches, args.count) {
        (true, _) => printer.paths(&found.rows),
        (_, true) => printer.counts(&found.rows),
        _ => printer.print(&found.rows),
    };
    output::print_styled(&text)?;
    for note in notes(args, found) {
        output::eprint_line(note);
    }
    Ok(())
}

/// What there is to know about the rows.
fn notes(args: &SearchArgs, found: &PrintedRows) -> Vec<String> {
    let mut notes = Vec::new();
    match (found.rows.len(), found.total) {
        (0, 0) => notes.push(format!("no match; {}", wider(args))),
        (shown, total) if total > shown.saturating_add(args.offset) => {
            notes.push(format!("{shown} of {total}; use --limit for more, with text and regex also --offset"));
        }
        _ => {}
    }
    if found.is_partial {
        notes.push("the result is incomplete; `codeyard index` completes an index".to_owned());
    }
    notes.extend(found.notes.iter().map(|note| format!("note: {note}")));
    notes
}

/// What may find more.
fn wider(args: &SearchArgs) -> String {
    let is_of_lines = matches!(args.mode.as_str(), "text" | "regex");
    let mut ways =
        vec![if is_of_lines { "--mode auto, which finds similar names" } else { "--mode text or --mode regex" }];
    if args.case_sensitive || !args.ignore_case && args.case == "sensitive" {
        ways.push("--ignore-case");
    }
    let filters = [
        (!args.globs.is_empty(), "fewer globs"),
        (args.language.is_some(), "no --language"),
        (is_of_lines && args.word, "no --word"),
        (args.offset > 0, "no --offset"),
    ];
    ways.extend(filters.iter().filter(|(is_used, _)| *is_used).map(|(_, way)| *way));
    format!("try {}", ways.join(", or "))
}

/// What is highlighted: in lines the query, in names its words.
fn highlights(query: &SearchQuery, rows: &[PrintedRow]) -> Vec<LinePattern> {
    let are_lines = rows.first().is_some_and(|row| matches!(row.content, RowContent::Line { .. }));
    let is_regex = query.mode == SearchMode::Regex;
    if are_lines || is_regex || query.mode == SearchMode::Text {
        let conditions = query.line_conditions().into_iter().filter(|condition| !condition.is_excluded);
        let more = conditions.filter_map(|of| LinePattern::new(&of.pattern, of.is_regex, query.case, false).ok());
        let text = LinePattern::new(quoted_text(&query.text), is_regex, query.case, query.word).into_iter();
        return text.chain(more).collect();
    }
    let words = query.text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    words.filter_map(|word| LinePattern::new(word, false, CaseRule::Insensitive, false).ok()).collect()
}

/// The text without quotation marks around it, which lines don't have.
fn quoted_text(text: &str) -> &str {
    text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).filter(|text| !text.is_empty()).unwrap_or(text)
}

/// Runs `codeyard outline`.
pub(crate) fn outline(args: OutlineArgs) -> Result<(), Failure> {
    // A file of a ref may be gone from the working tree.
    if args.reference.is_none() {
        let below = args.location.root.as_ref().map(|root| root.join(&args.file));
        if !args.file.exists() && !below.is_some_and(|path| path.exists()) {
            let shown = args.file.display();
            return Err(Failure::missing(format!(
                "cannot read {shown}: there is no such file; `codeyard search {shown}` finds files by a part of their path"
            )));
        }
    }
    let extent = if args.force { Extent::Any } else { Extent::Ordinary("outline FILE") };
    let project = open(&args.location, Some(&args.file), extent)?;
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
    found.metadata.warnings.iter().for_each(|warning| output::eprint_line(format!("note: {warning}")));
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

/// Words of declarations that say what is declared.
const DECLARING_WORDS: &[&str] = &[
    "#define", "#include", "class", "const", "def", "enum", "extension", "fn", "fun", "func", "function", "impl",
    "import", "interface", "let", "macro_rules!", "mod", "module", "namespace", "object", "package", "protocol",
    "record", "static", "struct", "trait", "type", "typedef", "union", "use", "val", "var",
];

/// Whether a signature says what it declares, so that the kind in front of it would only repeat that.
fn names_its_kind(signature: &str) -> bool {
    let before_parameters = signature.split(['(', '=', ':']).next().unwrap_or_default();
    before_parameters.split_whitespace().any(|word| DECLARING_WORDS.contains(&word))
}

/// Formats a symbol with its children. The extraction bounds the nesting, and so the recursion.
fn outline_text(symbol: &OutlineSymbol, depth: usize, text: &mut String) {
    let lines = format!("{}-{}", symbol.line_start, symbol.line_end);
    let head = symbol.signature.clone().unwrap_or_else(|| symbol.name.clone());
    let kind = if names_its_kind(&head) { String::new() } else { format!("{} ", symbol.kind.as_str()) };
    text.push_str(&format!("{lines:>11}  {}{kind}{head}\n", "  ".repeat(depth)));
    symbol.children.iter().for_each(|child| outline_text(child, depth + 1, text));
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeyard_model::code::SymbolKind;

    #[test]
    fn a_kind_is_shown_unless_the_signature_names_it() {
        let line = |kind, signature: &str| {
            let mut text = String::new();
            let symbol = OutlineSymbol {
                kind,
                name: "x".into(),
                line_start: 1,
                line_end: 2,
                visibility: None,
                signature: Some(signature.into()),
                children: Vec::new(),
            };
            outline_text(&symbol, 0, &mut text);
            text.trim().to_owned()
        };
        assert_eq!(line(SymbolKind::Class, "export class A"), "1-2  export class A");
        assert_eq!(line(SymbolKind::Fn, "async def f(x)"), "1-2  async def f(x)");
        assert_eq!(line(SymbolKind::Field, "x: type"), "1-2  field x: type");
        assert_eq!(line(SymbolKind::Method, "get(class)"), "1-2  method get(class)");
    }
}
