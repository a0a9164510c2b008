//! Arguments to a question of the index.
//!
//! Invariants: an argument that would not be heeded is refused, never passed over; a refusal says in `details.allowed` what the
//! argument may be. Not here: whether a language, a glob, a regular expression or a handle is one that the index knows.

use serde_json::value::RawValue;

use crate::arguments::Arguments;
use crate::dialect::unknown_tool;
use crate::limits::{MAX_CODE_CONTEXT_LINES, MAX_CODE_GLOBS, MAX_CODE_ROWS, MAX_CODE_TEXT_CHARS};
use codeyard_model::code::{
    CaseRule, CodeQuery, Depth, DetailLevel, ExplainLevel, FreshnessPolicy, LocateBy, LocateQuery, OutlineQuery,
    SearchMode, SearchQuery, Shape, SymbolKind, tools,
};
use codeyard_model::error::ToolError;
use codeyard_model::limits::DEFAULT_CODE_ROWS;

/// What `search_code` takes beside [`SHAPE`].
const SEARCH: &[&str] = &["query", "mode", "case", "word", "paths", "context_lines", "offset"];
/// What `locate_symbol` takes beside [`SHAPE`]; of the first four exactly one.
const LOCATE: &[&str] = &["name", "symbol_id", "symbol_stable_id", "result_id", "kind"];
/// What both take.
const SHAPE: &[&str] = &[
    "ref",
    "language",
    "limit",
    "detail_level",
    "compact",
    "freshness_policy",
    "ranking_explain_level",
    "confirm",
    "debug",
];
const OUTLINE: &[&str] = &["path", "ref", "depth", "language", "freshness_policy"];
const JOB: &[&str] = &["force", "ref"];

/// The question that `tool` asks with `arguments`; at most `max_rows` rows. INVALID_PARAMS with `details.path`, `details.reason` and
/// what is allowed.
pub(super) fn decode(tool: &str, arguments: Option<&RawValue>, max_rows: usize) -> Result<CodeQuery, ToolError> {
    let known = known(tool).ok_or_else(|| unknown_tool(tool))?;
    let query = Arguments::read(arguments, &known).and_then(|given| match tool {
        tools::SEARCH => search(&given, max_rows).map(CodeQuery::Search),
        tools::LOCATE => locate(&given, max_rows).map(CodeQuery::Locate),
        tools::OUTLINE => outline(&given).map(CodeQuery::Outline),
        tools::HEALTH => Ok(CodeQuery::Health { workspace: absolute(&given, "workspace")? }),
        tools::INDEX => {
            Ok(CodeQuery::Index { force: given.flag("force", false)?, reference: given_text(&given, "ref")? })
        }
        tools::SYNC => {
            Ok(CodeQuery::Sync { force: given.flag("force", false)?, reference: given_text(&given, "ref")? })
        }
        _ => Ok(CodeQuery::Status { reference: given_text(&given, "ref")? }),
    });
    query.map_err(|error| explained(error, tool, &known))
}

/// The arguments that `tool` takes.
fn known(tool: &str) -> Option<Vec<&'static str>> {
    Some(match tool {
        tools::SEARCH => [SEARCH, SHAPE].concat(),
        tools::LOCATE => [LOCATE, SHAPE].concat(),
        tools::OUTLINE => OUTLINE.to_vec(),
        tools::HEALTH => vec!["workspace"],
        tools::INDEX | tools::SYNC => JOB.to_vec(),
        tools::STATUS => vec!["ref"],
        _ => return None,
    })
}

fn search(given: &Arguments<'_>, max_rows: usize) -> Result<SearchQuery, ToolError> {
    let mode = word(given, "mode", SearchMode::parse)?.unwrap_or_default();
    let is_of_lines = matches!(mode, SearchMode::Text | SearchMode::Regex);
    let text = given.text("query")?;
    // White space is a text to look for, but no name and no words.
    let text = if is_of_lines { text } else { text.trim().to_owned() };
    let query = SearchQuery {
        text: checked(given, "query", text)?,
        mode,
        case: word(given, "case", CaseRule::parse)?.unwrap_or_default(),
        word: given.flag("word", false)?,
        globs: globs(given)?,
        context_lines: given.integer("context_lines", 0..=MAX_CODE_CONTEXT_LINES)?.unwrap_or_default(),
        offset: given.integer("offset", 0..=usize::MAX)?.unwrap_or_default(),
        shape: shape(given, max_rows)?,
    };
    let is_idle = [
        ("case", mode == SearchMode::Symbol && query.case != CaseRule::default()),
        ("word", mode == SearchMode::Symbol && query.word),
        ("context_lines", mode == SearchMode::Symbol && query.context_lines > 0),
        ("offset", !is_of_lines && query.offset > 0),
    ];
    match is_idle.into_iter().find(|(_, is_idle)| *is_idle) {
        Some((name, _)) => Err(given.refused(name, "needs_mode")),
        None => Ok(query),
    }
}

fn globs(given: &Arguments<'_>) -> Result<Vec<String>, ToolError> {
    let globs = given.texts("paths")?;
    if globs.len() > MAX_CODE_GLOBS {
        return Err(given.refused("paths", "range"));
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
        (None, _) => return Err(given.refused("name", "missing")),
        (Some(_), Some(_)) => return Err(given.refused("name", "several")),
    };
    Ok(LocateQuery { by, kind: word(given, "kind", SymbolKind::parse)?, shape: shape(given, max_rows)? })
}

fn outline(given: &Arguments<'_>) -> Result<OutlineQuery, ToolError> {
    // A hint by the contract; a file's language is known from the file.
    given_text(given, "language")?;
    Ok(OutlineQuery {
        path: checked(given, "path", given.text("path")?)?,
        reference: given_text(given, "ref")?,
        depth: word(given, "depth", Depth::parse)?.unwrap_or_default(),
        freshness: word(given, "freshness_policy", FreshnessPolicy::parse)?,
    })
}

fn shape(given: &Arguments<'_>, max_rows: usize) -> Result<Shape, ToolError> {
    let limit = given.integer("limit", 1..=MAX_CODE_ROWS)?.unwrap_or(DEFAULT_CODE_ROWS);
    let legacy = given.object_if_given("debug", "debug.", &["ranking_reasons"])?;
    let legacy = legacy.map(|debug| debug.flag("ranking_reasons", false)).transpose()?;
    let legacy = legacy.map(|full| if full { ExplainLevel::Full } else { ExplainLevel::Off });
    let shape = Shape {
        reference: given_text(given, "ref")?,
        language: given_text(given, "language")?,
        limit: limit.min(max_rows),
        detail: word(given, "detail_level", DetailLevel::parse)?.unwrap_or_default(),
        compact: given.flag("compact", false)?,
        freshness: word(given, "freshness_policy", FreshnessPolicy::parse)?,
        explain: word(given, "ranking_explain_level", ExplainLevel::parse)?.or(legacy),
        confirm: given.flag("confirm", false)?,
    };
    if shape.confirm && shape.detail != DetailLevel::Context {
        return Err(given.refused("confirm", "needs_context"));
    }
    Ok(shape)
}

fn given_text(given: &Arguments<'_>, name: &str) -> Result<Option<String>, ToolError> {
    given
        .text_if_given(name)?
        .map(|text| if text.trim().is_empty() { Err(given.refused(name, "empty")) } else { checked(given, name, text) })
        .transpose()
}

fn absolute(given: &Arguments<'_>, name: &str) -> Result<Option<String>, ToolError> {
    match given_text(given, name)? {
        Some(path) if !path.starts_with('/') => Err(given.refused(name, "not_absolute")),
        path => Ok(path),
    }
}

/// `text`, if it isn't empty or too long.
fn checked(given: &Arguments<'_>, name: &str, text: String) -> Result<String, ToolError> {
    match text.chars().take(MAX_CODE_TEXT_CHARS + 1).count() {
        0 => Err(given.refused(name, "empty")),
        chars if chars > MAX_CODE_TEXT_CHARS => Err(given.refused(name, "range")),
        _ => Ok(text),
    }
}

fn word<T>(given: &Arguments<'_>, name: &str, parse: fn(&str) -> Option<T>) -> Result<Option<T>, ToolError> {
    let text = given.text_if_given(name)?;
    text.map(|text| parse(&text).ok_or_else(|| given.refused(name, "unknown_word"))).transpose()
}

/// `error` with what is allowed in place of what was given.
fn explained(error: ToolError, tool: &str, known: &[&str]) -> ToolError {
    let detail = |key: &str| error.details.get(key).and_then(serde_json::Value::as_str).unwrap_or_default();
    let allowed = match (detail("path"), detail("reason")) {
        ("name", "missing" | "several") => "exactly one of name, symbol_id, symbol_stable_id, result_id".to_owned(),
        (path, "unknown") if path.starts_with("debug.") => "debug.ranking_reasons".to_owned(),
        (_, "unknown") => known.join(", "),
        (path, _) => allowed(path),
    };
    error.with("allowed", allowed).with("tool", tool)
}

/// What the argument `name` may be, in words.
fn allowed(name: &str) -> String {
    match name {
        "mode" => one_of(SearchMode::ALL, SearchMode::as_str),
        "case" => one_of(CaseRule::ALL, CaseRule::as_str),
        "depth" => one_of(Depth::ALL, Depth::as_str),
        "detail_level" => one_of(DetailLevel::ALL, DetailLevel::as_str),
        "freshness_policy" => one_of(FreshnessPolicy::ALL, FreshnessPolicy::as_str),
        "ranking_explain_level" => one_of(ExplainLevel::ALL, ExplainLevel::as_str),
        "kind" => one_of(&SymbolKind::ALL, SymbolKind::as_str),
        "limit" => format!("an integer from 1 to {MAX_CODE_ROWS}"),
        "context_lines" => format!("an integer from 0 to {MAX_CODE_CONTEXT_LINES}"),
        "offset" => "an integer from 0".to_owned(),
        "compact" | "confirm" | "word" | "force" | "debug.ranking_reasons" => "true or false".to_owned(),
        "paths" => format!("an array of at most {MAX_CODE_GLOBS} globs of 1 to {MAX_CODE_TEXT_CHARS} characters"),
        "workspace" => "the absolute path of the workspace's root".to_owned(),
        "debug" | "" => "an object".to_owned(),
        _ => format!("a text of 1 to {MAX_CODE_TEXT_CHARS} characters"),
    }
}

fn one_of<T: Copy>(all: &[T], spelt: fn(T) -> &'static str) -> String {
    format!("one of {}", all.iter().map(|word| spelt(*word)).collect::<Vec<_>>().join(", "))
}
