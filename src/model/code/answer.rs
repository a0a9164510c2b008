//! What the index answers. Canonical: rows and symbols are in their final order, and nothing here names a path outside the roots.

use super::asked::CallArguments;
use super::kind::{SymbolKind, Visibility};
use super::metadata::AnswerMetadata;
use super::query::{DetailLevel, OutlineDepth, QueryIntent, words};
use super::refusal::CodeRefusal;
use super::state::{HealthReport, IndexStatus, JobAnswer};

/// An answer, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodeAnswer {
    /// To `search_code` and `locate_symbol`.
    Rows(ResultRows),
    /// To `get_file_outline`.
    Outline(Outline),
    /// To `health_check`.
    Health(Box<HealthReport>),
    /// To `index_repo` and `sync_repo`.
    Job(JobAnswer),
    /// To `index_status`.
    Status(Box<IndexStatus>),
    /// There is none.
    Refused(Box<CodeRefusal>),
}

/// Rows that were found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultRows {
    /// In order; at most as many as were asked for.
    pub rows: Vec<ResultRow>,
    /// What the query looked like; only of `search_code`.
    pub intent: Option<QueryIntent>,
    /// How many there are, or at least were looked at.
    pub total: usize,
    /// What to ask next; only of `search_code`.
    pub next: Vec<NextAction>,
    /// How much of each row to show.
    pub detail: DetailLevel,
    /// Leave the large fields out.
    pub compact: bool,
    /// What was asked, so that a narrower call can be made of it.
    pub asked: CallArguments,
    /// See there.
    pub metadata: AnswerMetadata,
}

words! {
    /// What a row is.
    ResultType {
        /// A symbol's definition.
        #[default]
        Symbol = "symbol",
        /// A place that names the symbol.
        Reference = "reference",
        /// A file.
        File = "file",
        /// A line.
        Line = "line",
    }
}

/// One row. What isn't known or doesn't apply is `None` or empty, and isn't shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResultRow {
    /// What it is.
    pub result_type: ResultType,
    /// Relative to its root, with `/` between.
    pub path: String,
    /// The root's absolute path, if the workspace has several.
    pub root: Option<String>,
    /// From 1.
    pub line_start: u32,
    /// The last line.
    pub line_end: u32,
    /// The line of a symbol's name; not shown.
    pub name_line: Option<u32>,
    /// Not of lines.
    pub kind: Option<SymbolKind>,
    /// Not of lines; a file's is its last segment.
    pub name: String,
    /// With the names around it.
    pub qualified_name: Option<String>,
    /// Its head on one line.
    pub signature: Option<String>,
    /// The language's name.
    pub language: Option<&'static str>,
    /// See there.
    pub visibility: Option<Visibility>,
    /// Its first lines, at most 10.
    pub body_preview: Option<String>,
    /// What it stands in.
    pub parent: Option<RelatedSymbol>,
    /// What it has to do with, at most 5.
    pub related: Vec<RelatedSymbol>,
    /// Names this row of this answer.
    pub result_id: String,
    /// Names the symbol in this content of this file.
    pub symbol_id: Option<String>,
    /// Names the symbol wherever it moves.
    pub symbol_stable_id: Option<String>,
    /// What rows are ordered by, 0 to 1; not of lines.
    pub score: Option<f64>,
    /// The language server that says the same, by its kind.
    pub confirmed_by: Option<String>,
    /// The line that was found.
    pub text: Option<String>,
    /// The lines before it.
    pub before: Vec<String>,
    /// The lines after it.
    pub after: Vec<String>,
}

impl Eq for ResultRow {}

/// A symbol beside a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelatedSymbol {
    /// Its kind.
    pub kind: SymbolKind,
    /// Its name.
    pub name: String,
    /// Relative to its root.
    pub path: String,
    /// From 1.
    pub line: u32,
}

/// A call that would help.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextAction {
    /// The tool.
    pub tool: &'static str,
    /// Its arguments, as a JSON object.
    pub arguments: serde_json::Value,
    /// Why.
    pub reason: String,
}

/// What a file declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// Relative to its root.
    pub path: String,
    /// Its root, if the workspace has several.
    pub root: Option<String>,
    /// `None`: a language that isn't parsed.
    pub language: Option<&'static str>,
    /// How deep it goes.
    pub depth: OutlineDepth,
    /// What stands at the top, in the file's order.
    pub symbols: Vec<OutlineSymbol>,
    /// What was asked.
    pub asked: CallArguments,
    /// See there.
    pub metadata: AnswerMetadata,
}

/// One symbol of an outline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineSymbol {
    /// Its kind.
    pub kind: SymbolKind,
    /// Its name.
    pub name: String,
    /// From 1.
    pub line_start: u32,
    /// The last line.
    pub line_end: u32,
    /// The source's own word: `pub`, `export`.
    pub visibility: Option<String>,
    /// Its head on one line.
    pub signature: Option<String>,
    /// What stands in it, in the file's order.
    pub children: Vec<OutlineSymbol>,
}
