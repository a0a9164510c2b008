//! Decodes the arguments of the tools of the code index.
//!
//! The index checks languages, globs, regular expressions and handles. Invariants: an argument that would have no effect is rejected, never
//! ignored; an error describes the accepted values in `details.allowed`.

use serde_json::value::RawValue;

use crate::arguments::Arguments;
use crate::dialect::unknown_tool;
use crate::limits::{MAX_CODE_CONTEXT_LINES, MAX_CODE_GLOBS, MAX_CODE_ROWS, MAX_CODE_TEXT_CHARS};
use codeyard_model::code::{
    CaseRule, CodeQuery, CodeRequest, DetailLevel, ExplainLevel, FreshnessPolicy, LocateBy, LocateQuery, OutlineDepth,
    OutlineQuery, RowOptions, SearchMode, SearchQuery, SymbolKind, tools,
};
use codeyard_model::error::ToolError;
use codeyard_model::limits::DEFAULT_CODE_ROWS;

/// The arguments of `search_code` besides [`ROW_OPTIONS`].
const SEARCH: &[&str] = &["query", "mode", "case", "word", "paths", "context_lines", "offset"];
/// The arguments of `locate_symbol` besides [`ROW_OPTIONS`]. Exactly one of the first four is required.
const LOCATE: &[&str] = &["name", "symbol_id", "symbol_stable_id", "result_id", "kind"];
/// The arguments that both take.
const ROW_OPTIONS: &[&str] = &[
    "ref", "language", "limit", "detail_level", "compact", "freshness_policy", "ranking_explain_level", "confirm",
    "debug", "workspace",
];
const OUTLINE: &[&str] = &["path", "ref", "depth", "language", "freshness_policy", "workspace"];
const JOB: &[&str] = &["force", "ref", "workspace"];

/// Decodes the `arguments` of `tool`, with at most `max_rows` rows.
///
/// # Errors
/// INVALID_PARAMS with `details.path`, `details.reason` and `details.allowed`.
pub(super) fn decode(tool: &str, arguments: Option<&RawValue>, max_rows: usize) -> Result<CodeRequest, ToolError> {
    let known = known(tool).ok_or_else(|| unknown_tool(tool))?;
    let request = Arguments::read(arguments, &known).and_then(|given| {
        Ok(CodeRequest { query: query(tool, &given, max_rows)?, workspace: workspace(tool, &given)? })
    });
    request.map_err(|error| with_allowed(error, tool, &known))
}

fn query(tool: &str, given: &Arguments<'_>, max_rows: usize) -> Result<CodeQuery, ToolError> {
    match tool {
        tools::SEARCH => search(given, max_rows).map(CodeQuery::Search),
        tools::LOCATE => locate(given, max_rows).map(CodeQuery::Locate),
        tools::OUTLINE => outline(given).map(CodeQuery::Outline),
        tools::HEALTH => {
            let root = given_text(given, "workspace")?.filter(|text| text.starts_with('/'));
            Ok(CodeQuery::Health { workspace: root })
        }
        tools::INDEX => {
            Ok(CodeQuery::Index { force: given.flag("force", false)?, reference: given_text(given, "ref")? })
        }
        tools::SYNC => Ok(CodeQuery::Sync { force: given.flag("force", false)?, reference: given_text(given, "ref")? }),
        _ => Ok(CodeQuery::Status { reference: given_text(given, "ref")? }),
    }
}

/// The name of a workspace or a pattern of names in the argument `workspace`. The absolute path of a root, which `health_check` takes
/// too, is part of its query.
fn workspace(tool: &str, given: &Arguments<'_>) -> Result<Option<String>, ToolError> {
    let text = given_text(given, "workspace")?;
    if tool == tools::HEALTH && text.as_ref().is_some_and(|text| text.starts_with('/')) {
        return Ok(None);
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '*' | '?');
    match text {
        Some(text) if !text.chars().all(is_plain) => {
            Err(given.rejected("workspace", if tool == tools::HEALTH { "not_absolute" } else { "no_name" }))
        }
        text => Ok(text),
    }
}

/// The arguments that `tool` takes.
fn known(tool: &str) -> Option<Vec<&'static str>> {
    Some(match tool {
        tools::SEARCH => [SEARCH, ROW_OPTIONS].concat(),
        tools::LOCATE => [LOCATE, ROW_OPTIONS].concat(),
        tools::OUTLINE => OUTLINE.to_vec(),
        tools::HEALTH => vec!["workspace"],
        tools::INDEX | tools::SYNC => JOB.to_vec(),
        tools::STATUS => vec!["ref", "workspace"],
        _ => return None,
    })
}

fn search(given: &Arguments<'_>, max_rows: usize) -> Result<SearchQuery, ToolError> {
    let mode = enum_value(given, "mode", SearchMode::parse)?.unwrap_or_default();
    let text = given.text("query")?;
    // White space is a valid text to search for, but not a valid name.
    let text = if matches!(mode, SearchMode::Text | SearchMode::Regex) { text } else { text.trim().to_owned() };
    let query = SearchQuery {
        text: checked(given, "query", text)?,
        mode,
        case: enum_value(given, "case", CaseRule::parse)?.unwrap_or_default(),
        word: given.flag("word", false)?,
        globs: globs(given)?,
        context_lines: given.integer("context_lines", 0..=MAX_CODE_CONTEXT_LINES)?.unwrap_or_default(),
        offset: given.integer("offset", 0..=usize::MAX)?.unwrap_or_default(),
        shape: shape(given, max_rows)?,
        ..SearchQuery::default()
    };
    let is_case_given = query.case != CaseRule::default();
    let query = query
        .with_language()
        .map_err(|error| given.rejected("query", "language").with("allowed", error.to_string()))?;
    // A phrase or an expression of the language makes it a search in lines.
    let is_of_lines = matches!(query.mode, SearchMode::Text | SearchMode::Regex);
    let without_effect = [
        ("case", mode == SearchMode::Symbol && is_case_given),
        ("word", mode == SearchMode::Symbol && query.word),
        ("context_lines", mode == SearchMode::Symbol && query.context_lines > 0),
        ("offset", !is_of_lines && query.offset > 0),
    ];
    match without_effect.into_iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => Err(given.rejected(name, "needs_mode")),
        None => Ok(query),
    }
}

fn globs(given: &Arguments<'_>) -> Result<Vec<String>, ToolError> {
    let globs = given.texts("paths")?;
    if globs.len() > MAX_CODE_GLOBS {
        return Err(given.rejected("paths", "range"));
    }
    globs.into_iter().map(|glob| checked(given, "paths", glob)).collect()
}

fn locate(given: &Arguments<'_>, max_rows: usize) -> Result<LocateQuery, ToolError> {
    let by = [
        given_text(given, "name")?.map(|name| LocateBy::Name(name.trim().to_owned())),
        given_text(given, "symbol_id")?.map(LocateBy::SymbolId),
        given_text(given, "symbol_stable_id")?.map(LocateBy::StableId),
        given_text(given, "result_id")?.map(LocateBy::ResultId),
    ];
    let mut by = by.into_iter().flatten();
    let by = match (by.next(), by.next()) {
        (Some(by), None) => by,
        (None, _) => return Err(given.rejected("name", "missing")),
        (Some(_), Some(_)) => return Err(given.rejected("name", "several")),
    };
    Ok(LocateQuery { by, kind: enum_value(given, "kind", SymbolKind::parse)?, shape: shape(given, max_rows)? })
}

fn outline(given: &Arguments<'_>) -> Result<OutlineQuery, ToolError> {
    // A hint of the contract without effect: the index knows the language of a file.
    given_text(given, "language")?;
    Ok(OutlineQuery {
        path: checked(given, "path", given.text("path")?)?,
        reference: given_text(given, "ref")?,
        depth: enum_value(given, "depth", OutlineDepth::parse)?.unwrap_or_default(),
        freshness: enum_value(given, "freshness_policy", FreshnessPolicy::parse)?,
    })
}

fn shape(given: &Arguments<'_>, max_rows: usize) -> Result<RowOptions, ToolError> {
    let limit = given.integer("limit", 1..=MAX_CODE_ROWS)?.unwrap_or(DEFAULT_CODE_ROWS);
    let legacy = given.object_if_given("debug", "debug.", &["ranking_reasons"])?;
    let legacy = legacy.map(|debug| debug.flag("ranking_reasons", false)).transpose()?;
    let legacy = legacy.map(|full| if full { ExplainLevel::Full } else { ExplainLevel::Off });
    let shape = RowOptions {
        reference: given_text(given, "ref")?,
        language: given_text(given, "language")?,
        limit: limit.min(max_rows),
        detail: enum_value(given, "detail_level", DetailLevel::parse)?.unwrap_or_default(),
        compact: given.flag("compact", false)?,
        freshness: enum_value(given, "freshness_policy", FreshnessPolicy::parse)?,
        explain: enum_value(given, "ranking_explain_level", ExplainLevel::parse)?.or(legacy),
        confirm: given.flag("confirm", false)?,
    };
    if shape.confirm && shape.detail != DetailLevel::Context {
        return Err(given.rejected("confirm", "needs_context"));
    }
    Ok(shape)
}

fn given_text(given: &Arguments<'_>, name: &str) -> Result<Option<String>, ToolError> {
    given
        .text_if_given(name)?
        .map(
            |text| if text.trim().is_empty() { Err(given.rejected(name, "empty")) } else { checked(given, name, text) },
        )
        .transpose()
}

/// Checks the length of `text`.
fn checked(given: &Arguments<'_>, name: &str, text: String) -> Result<String, ToolError> {
    match text.chars().take(MAX_CODE_TEXT_CHARS + 1).count() {
        0 => Err(given.rejected(name, "empty")),
        chars if chars > MAX_CODE_TEXT_CHARS => Err(given.rejected(name, "range")),
        _ => Ok(text),
    }
}

fn enum_value<T>(given: &Arguments<'_>, name: &str, parse: fn(&str) -> Option<T>) -> Result<Option<T>, ToolError> {
    let text = given.text_if_given(name)?;
    text.map(|text| parse(&text).ok_or_else(|| given.rejected(name, "unknown_word"))).transpose()
}

/// Adds the accepted values to `error`.
fn with_allowed(error: ToolError, tool: &str, known: &[&str]) -> ToolError {
    let detail = |key: &str| error.details.get(key).and_then(serde_json::Value::as_str).unwrap_or_default();
    let allowed = match (detail("path"), detail("reason")) {
        ("name", "missing" | "several") => "exactly one of name, symbol_id, symbol_stable_id, result_id".to_owned(),
        (_, "language") => detail("allowed").to_owned(),
        (path, "unknown") if path.starts_with("debug.") => "debug.ranking_reasons".to_owned(),
        (_, "unknown") => known.join(", "),
        (path, _) => allowed(path),
    };
    error.with("allowed", allowed).with("tool", tool)
}

/// Describes the accepted values of the argument `name`.
fn allowed(name: &str) -> String {
    match name {
        "mode" => one_of(SearchMode::ALL, SearchMode::as_str),
        "case" => one_of(CaseRule::ALL, CaseRule::as_str),
        "depth" => one_of(OutlineDepth::ALL, OutlineDepth::as_str),
        "detail_level" => one_of(DetailLevel::ALL, DetailLevel::as_str),
        "freshness_policy" => one_of(FreshnessPolicy::ALL, FreshnessPolicy::as_str),
        "ranking_explain_level" => one_of(ExplainLevel::ALL, ExplainLevel::as_str),
        "kind" => one_of(&SymbolKind::ALL, SymbolKind::as_str),
        "limit" => format!("an integer from 1 to {MAX_CODE_ROWS}"),
        "context_lines" => format!("an integer from 0 to {MAX_CODE_CONTEXT_LINES}"),
        "offset" => "an integer from 0".to_owned(),
        "compact" | "confirm" | "word" | "force" | "debug.ranking_reasons" => "true or false".to_owned(),
        "paths" => format!("an array of at most {MAX_CODE_GLOBS} globs of 1 to {MAX_CODE_TEXT_CHARS} characters"),
        "workspace" => {
            "a workspace's name, or a pattern with * and ?; of health_check also the absolute path of a root".to_owned()
        }
        "debug" | "" => "an object".to_owned(),
        _ => format!("a text of 1 to {MAX_CODE_TEXT_CHARS} characters"),
    }
}

fn one_of<T: Copy>(all: &[T], spelt: fn(T) -> &'static str) -> String {
    format!("one of {}", all.iter().map(|word| spelt(*word)).collect::<Vec<_>>().join(", "))
}
