//! Has language servers confirm the first symbols that the code index found (`confirm: true`): each symbol's file is asked for what it
//! declares, the way that every question to a language server goes, and all files at once.
//!
//! It decides nothing about rows but `confirmed_by`. Invariants: rows are never lost, whatever servers do: what isn't there by the
//! deadline is left unconfirmed, and a warning says why; whoever stands in for a language server confirms nothing; dropping the
//! future cancels what it asked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tokio::time::timeout_at;

use super::pipeline::{self, Board, Waiting};
use crate::limits::MAX_CONFIRMED_ROWS;
use codeyard_base::clock::Deadline;
use codeyard_engine::directory::WorkspaceHandle;
use codeyard_engine::known_files::NOT_UTF8;
use codeyard_model::answer::{Answer, Declared};
use codeyard_model::code::{ResultType, Row, Rows};
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::query::Query;
use codeyard_telemetry::CallTrace;

/// Why a row that is no symbol isn't confirmed.
const NO_SYMBOL: &str = "only symbols are asked about, not files, lines and imports";
/// Why a row of a branch, tag or commit isn't.
const ELSEWHERE: &str = "language servers know the working tree only; ask without `ref`";

/// What rows are confirmed with.
pub(super) struct Confirming<'a> {
    pub(super) workspace: &'a WorkspaceHandle,
    /// The branch, tag or commit that was asked about.
    pub(super) reference: Option<&'a str>,
    /// By when it must be over.
    pub(super) deadline: Deadline,
    pub(super) board: &'a Board,
    pub(super) call: &'a CallTrace,
}

/// Rows of one file, by their places in the answer.
struct File {
    path: PathBuf,
    rows: Vec<usize>,
}

/// How many rows aren't confirmed, by why.
#[derive(Default)]
struct Unconfirmed(BTreeMap<String, usize>);

impl Confirming<'_> {
    /// Confirms the first symbols of `found`, as far as servers answer in time, and warns of all other rows.
    pub(super) async fn confirm(&self, found: &mut Rows) {
        let mut unconfirmed = Unconfirmed::default();
        let files = self.files(&found.rows, &mut unconfirmed);
        let boards: Vec<Board> = files.iter().map(|_| Board::default()).collect();
        self.board.write(Waiting::Each(boards.clone()));
        let asked = files.iter().zip(&boards).map(|(file, board)| self.declared(&file.path, board));
        let said = futures::future::join_all(asked).await;
        for (file, said) in files.iter().zip(said) {
            for at in &file.rows {
                let row = &mut found.rows[*at];
                match &said {
                    Ok(declared) if codeyard_canon::declares(&declared.symbols, row) => {
                        row.confirmed_by = Some(declared.by.to_string());
                    }
                    Ok(declared) => unconfirmed.add(format!("{} lists no such symbol there", declared.by)),
                    Err(error) => unconfirmed.add(why(row.language.unwrap_or("this file"), error)),
                }
            }
        }
        found.metadata.warnings.extend(unconfirmed.warnings());
        found.metadata.warnings.sort_unstable();
    }

    /// The files to ask about.
    fn files(&self, rows: &[Row], unconfirmed: &mut Unconfirmed) -> Vec<File> {
        let mut files: Vec<File> = Vec::new();
        let mut left = MAX_CONFIRMED_ROWS;
        for (at, row) in rows.iter().enumerate() {
            if self.reference.is_some() {
                unconfirmed.add(ELSEWHERE);
            } else if row.result_type != ResultType::Symbol {
                unconfirmed.add(NO_SYMBOL);
            } else if left == 0 {
                unconfirmed.add(format!("only the first {MAX_CONFIRMED_ROWS} symbols are asked about"));
            } else {
                left -= 1;
                let path = self.path_of(row);
                match files.iter_mut().find(|file| file.path == path) {
                    Some(file) => file.rows.push(at),
                    None => files.push(File { path, rows: vec![at] }),
                }
            }
        }
        files
    }

    fn path_of(&self, row: &Row) -> PathBuf {
        let only = || self.workspace.gate.root_set().roots().first().map(PathBuf::as_path);
        let root = row.root.as_deref().map(Path::new).or_else(only).unwrap_or(Path::new(""));
        root.join(&row.path)
    }

    /// What the language server of the file at `path` says it declares, if it says so in time.
    async fn declared(&self, path: &Path, board: &Board) -> Result<Declared, ToolError> {
        let (uri, seen) = self.workspace.gate.named_seen(&path.to_string_lossy())?;
        let query = Arc::new(Query::Declarations { uri });
        let asked = pipeline::of_servers(self.workspace, (query, seen), self.deadline, board, self.call);
        match timeout_at(self.deadline.instant(), asked).await {
            Ok(Ok(Answer::Declarations(declared))) => Ok(declared),
            Ok(Ok(_)) => Err(ToolError::internal()),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(board.timeout()),
        }
    }
}

impl Unconfirmed {
    fn add(&mut self, why: impl Into<String>) {
        *self.0.entry(why.into()).or_default() += 1;
    }

    fn warnings(self) -> impl Iterator<Item = String> {
        self.0.into_iter().map(|(why, count)| match count {
            1 => format!("1 row is unconfirmed: {why}."),
            _ => format!("{count} rows are unconfirmed: {why}."),
        })
    }
}

/// Why nothing is known of a file's symbols, and what helps.
fn why(language: &str, error: &ToolError) -> String {
    let text = |key: &str| error.details.get(key).and_then(Value::as_str).unwrap_or_default();
    match (error.code, text("reason"), text("phase")) {
        (ErrorCode::CapExceeded, "timeout", "starting") => {
            format!("the language server for {language} is still starting; ask again")
        }
        (ErrorCode::CapExceeded, "timeout", "indexing") => {
            format!("the language server for {language} is still indexing; ask again")
        }
        (ErrorCode::CapExceeded, "timeout", _) => {
            format!("the language server for {language} did not answer in time; ask again")
        }
        (ErrorCode::CapExceeded, "document_too_large", _) => "the file is too large for a language server".to_owned(),
        (ErrorCode::CapExceeded | ErrorCode::SnapshotTooLarge, ..) => {
            format!("the language server for {language} lists more symbols than are looked at")
        }
        (ErrorCode::ProviderUnavailable, ..) => {
            format!("no language server answers for {language}: {}; run `{}`", error.message, text("command"))
        }
        (ErrorCode::NotFound, ..) if error.message == NOT_UTF8 => {
            "the file is not UTF-8 text, so no language server is asked".to_owned()
        }
        (ErrorCode::NotFound | ErrorCode::WorkspaceDenied | ErrorCode::UriInvalid, ..) => {
            "the file is not there any more".to_owned()
        }
        _ => format!("asking the language server for {language} failed; see the server's log"),
    }
}
