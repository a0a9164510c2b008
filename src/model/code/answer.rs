//! Answers of the code index. Rows and symbols are in their final order, and no path is outside the roots.

use super::call_arguments::CallArguments;
use super::group::{GroupJobs, GroupStatus};
use super::kind::{SymbolKind, Visibility};
use super::metadata::AnswerMetadata;
use super::query::{DetailLevel, OutlineDepth, QueryIntent, words};
use super::refusal::CodeRefusal;
use super::state::{HealthReport, IndexStatus, JobAnswer};
use codeyard_base::ids::WorkspaceName;

/// An answer, or the reason why there is none.
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
    Status(Box<IndexStatus>),
    /// To `index_repo` and `sync_repo` of a group.
    Jobs(Box<GroupJobs>),
    /// To `index_status` of a group.
    Statuses(Box<GroupStatus>),
    Refused(Box<CodeRefusal>),
}

/// The rows of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultRows {
    /// In order, at most as many as requested.
    pub rows: Vec<ResultRow>,
    /// The recognised intent of the query. Only for `search_code`.
    pub intent: Option<QueryIntent>,
    /// Number of all matching rows, or of those examined.
    pub total: usize,
    /// Suggested next calls. Only for `search_code`.
    pub next: Vec<NextAction>,
    pub detail: DetailLevel,
    /// Whether large fields are left out.
    pub compact: bool,
    /// The arguments of the call, to suggest a narrower one.
    pub asked: CallArguments,
    pub metadata: AnswerMetadata,
}

words! {
    /// The kind of a row.
    ResultType {
        /// A symbol's definition.
        #[default]
        Symbol = "symbol",
        /// A use of the symbol's name.
        Reference = "reference",
        /// A file.
        File = "file",
        /// A line.
        Line = "line",
    }
}

/// One row. A field that is unknown or doesn't apply is `None` or empty, and isn't shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResultRow {
    pub result_type: ResultType,
    /// Path relative to its root, with `/` as separator.
    pub path: String,
    /// Absolute path of the root, if the workspace has several.
    pub root: Option<String>,
    /// Its workspace, in answers of a group.
    pub workspace: Option<WorkspaceName>,
    /// First line, from 1.
    pub line_start: u32,
    /// Last line, inclusive.
    pub line_end: u32,
    /// Line of the symbol's name. Not shown.
    pub name_line: Option<u32>,
    /// Kind of the symbol. `None` for lines.
    pub kind: Option<SymbolKind>,
    /// Name of the symbol, or the last segment of a file's path. Empty for lines.
    pub name: String,
    /// Name with the module or package of its file and the names of the enclosing symbols.
    pub qualified_name: Option<String>,
    /// The first part of `qualified_name`, if that follows from the file's path alone. Not shown.
    pub module: Option<String>,
    /// Signature on one line.
    pub signature: Option<String>,
    pub language: Option<&'static str>,
    pub visibility: Option<Visibility>,
    /// Other tests that are not shown. `None` without any.
    pub folded_tests: Option<FoldedTests>,
    /// Its first lines, at most 10.
    pub body_preview: Option<String>,
    pub parent: Option<RelatedSymbol>,
    /// Related symbols, at most 5.
    pub related: Vec<RelatedSymbol>,
    /// Handle of this row of this answer.
    pub result_id: String,
    /// Handle of the symbol in this version of this file.
    pub symbol_id: Option<String>,
    /// Handle of the symbol that stays when the symbol moves.
    pub symbol_stable_id: Option<String>,
    /// The score that orders rows, 0 to 1. `None` for lines.
    pub score: Option<f64>,
    /// Kind of the language server that confirms the row.
    pub confirmed_by: Option<String>,
    /// Text of the matching line.
    pub text: Option<String>,
    /// The lines before it.
    pub before: Vec<String>,
    /// The lines after it.
    pub after: Vec<String>,
}

impl Eq for ResultRow {}

/// A symbol related to a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelatedSymbol {
    pub kind: SymbolKind,
    pub name: String,
    /// Path relative to its root.
    pub path: String,
    /// Line, from 1.
    pub line: u32,
}

/// Tests that a row stands for, because they match the query less well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoldedTests {
    /// Number of tests, without the row itself.
    pub count: usize,
    /// Paths of their files, those with the most tests first; at most 5.
    pub paths: Vec<String>,
}

/// A suggested call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextAction {
    pub tool: &'static str,
    /// Its arguments as a JSON object.
    pub arguments: serde_json::Value,
    pub reason: String,
}

/// The symbols of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// Path relative to its root.
    pub path: String,
    /// Absolute path of its root, if the workspace has several.
    pub root: Option<String>,
    /// Its workspace, in answers of a group.
    pub workspace: Option<WorkspaceName>,
    /// Name of the language. `None` if it isn't parsed.
    pub language: Option<&'static str>,
    pub depth: OutlineDepth,
    /// Top-level symbols in the file's order.
    pub symbols: Vec<OutlineSymbol>,
    pub asked: CallArguments,
    pub metadata: AnswerMetadata,
}

/// One symbol of an outline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineSymbol {
    pub kind: SymbolKind,
    pub name: String,
    /// First line, from 1.
    pub line_start: u32,
    /// Last line, inclusive.
    pub line_end: u32,
    /// The source's own keyword: `pub`, `export`.
    pub visibility: Option<String>,
    /// Signature on one line.
    pub signature: Option<String>,
    /// Its child symbols in the file's order.
    pub children: Vec<OutlineSymbol>,
}
