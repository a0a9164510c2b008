//! Confirmation of code index rows by language servers (`confirm: true`, `docs/internals/reference/contract-code.md#confirmed-rows`): it
//! queries the declarations of each symbol's file, all files at once.
//!
//! It sets `confirmed_by` and warnings and changes nothing else. Invariants: no row is lost, whatever servers do: a row without an
//! answer at the deadline stays unconfirmed, and a warning says why; a fallback for a language server confirms nothing; a server that
//! knows only a part of the files is named in a warning; dropping the future cancels its queries.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::join_all;
use serde_json::Value;
use tokio::time::timeout_at;

use super::language_servers;
use super::wait_status::{WaitStatus, Waiting};
use crate::limits::MAX_CONFIRMED_ROWS;
use crate::query::file_looks::{NOT_UTF8, Sight, look_at_checked};
use crate::workspace::handle::WorkspaceHandle;
use codeyard_base::clock::Deadline;
use codeyard_files::gate::Gate;
use codeyard_model::answer::{Answer, AnswerNotes, DeclaredSymbols};
use codeyard_model::code::{ResultRow, ResultRows, ResultType};
use codeyard_model::coverage::{AnswerCoverage, AnswerScope};
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::query::Query;
use codeyard_model::uri::CanonicalUri;
use codeyard_telemetry::CallTrace;

/// The warning for rows that are no symbols.
const NO_SYMBOL: &str = "only symbols are asked about, not files, lines and imports";
/// The warning for rows of a branch, tag or commit.
const OTHER_REVISION: &str = "language servers know the working tree only; ask without `ref`";

/// The confirmation of one answer's rows.
pub(super) struct RowConfirmation<'a> {
    /// The workspaces that rows are from, in the order of their names. Rows that name none are from the first.
    pub(super) workspaces: &'a [&'a WorkspaceHandle],
    /// The branch, tag or commit that the query names.
    pub(super) reference: Option<&'a str>,
    /// When the confirmation must end.
    pub(super) deadline: Deadline,
    pub(super) status: &'a WaitStatus,
    pub(super) call: &'a CallTrace,
}

/// A file inside the roots, and what was seen of it.
type AdmittedFile = (CanonicalUri, Sight);

/// The declarations of a file, if its language server answers in time.
type Declarations = Result<(DeclaredSymbols, AnswerNotes), ToolError>;

/// The rows of one file, as indexes into the answer.
struct FileRows {
    path: PathBuf,
    rows: Vec<usize>,
}

/// The number of unconfirmed rows for each workspace and reason; those beyond the maximum have no workspace.
#[derive(Default)]
struct UnconfirmedCounts(BTreeMap<(Option<usize>, String), usize>);

impl RowConfirmation<'_> {
    /// Confirms the first [`MAX_CONFIRMED_ROWS`] symbols of `found`, each with the language servers of its workspace as far as they answer in
    /// time, and adds a warning for all other rows.
    pub(super) async fn confirm(&self, found: &mut ResultRows) {
        let mut unconfirmed = UnconfirmedCounts::default();
        let by_workspace = self.files(&found.rows, &mut unconfirmed);
        let statuses = |files: &Vec<FileRows>| files.iter().map(|_| WaitStatus::default()).collect();
        let statuses: Vec<Vec<WaitStatus>> = by_workspace.values().map(statuses).collect();
        self.status.write(Waiting::Each(statuses.concat()));
        let asked = by_workspace.iter().zip(&statuses);
        let asked = asked.map(|((at, files), statuses)| self.declared_in(self.workspaces[*at], files, statuses));
        let results = join_all(asked).await;
        for ((at, files), results) in by_workspace.iter().zip(results) {
            let mut partial_views = BTreeSet::new();
            for (file, result) in files.iter().zip(results) {
                if let Ok((_, notes)) = &result {
                    partial_views.extend(notes.known_files.servers.iter().filter(|view| view.is_partial()).cloned());
                }
                for row in &file.rows {
                    let row = &mut found.rows[*row];
                    match &result {
                        Ok((declared, _)) if codeyard_canon::declares(&declared.symbols, row) => {
                            row.confirmed_by = Some(declared.by.to_string());
                        }
                        Ok((declared, _)) => {
                            unconfirmed.add(Some(*at), format!("{} lists no such symbol there", declared.by));
                        }
                        Err(error) => unconfirmed.add(Some(*at), reason(row.language.unwrap_or("this file"), error)),
                    }
                }
            }
            let views = AnswerCoverage { servers: partial_views.into_iter().collect(), scope: AnswerScope::Project };
            found.metadata.warnings.extend(views.sentences(false));
        }
        found.metadata.warnings.extend(unconfirmed.warnings());
        found.metadata.warnings.sort_unstable();
    }

    /// The files to query, by workspace, with their rows.
    fn files(&self, rows: &[ResultRow], unconfirmed: &mut UnconfirmedCounts) -> BTreeMap<usize, Vec<FileRows>> {
        let mut all: BTreeMap<usize, Vec<FileRows>> = BTreeMap::new();
        let mut left = MAX_CONFIRMED_ROWS;
        for (at, row) in rows.iter().enumerate() {
            let is_from =
                |workspace: &&WorkspaceHandle| row.workspace.as_ref().is_none_or(|name| *name == workspace.name);
            let Some(from) = self.workspaces.iter().position(is_from) else { continue };
            if self.reference.is_some() {
                unconfirmed.add(Some(from), OTHER_REVISION);
            } else if row.result_type != ResultType::Symbol {
                unconfirmed.add(Some(from), NO_SYMBOL);
            } else if left == 0 {
                unconfirmed.add(None, format!("only the first {MAX_CONFIRMED_ROWS} symbols are asked about"));
            } else {
                left -= 1;
                let path = path_of(self.workspaces[from], row);
                let files = all.entry(from).or_default();
                match files.iter_mut().find(|file| file.path == path) {
                    Some(file) => file.rows.push(at),
                    None => files.push(FileRows { path, rows: vec![at] }),
                }
            }
        }
        all
    }

    /// The declarations of files of one workspace.
    async fn declared_in(
        &self,
        workspace: &WorkspaceHandle,
        files: &[FileRows],
        statuses: &[WaitStatus],
    ) -> Vec<Declarations> {
        let admitted = self.admitted(workspace, files, statuses).await;
        join_all(admitted.into_iter().zip(statuses).map(|(file, status)| self.declared(workspace, file, status))).await
    }

    /// What the path gate says of the files, if the file system answers in time. One piece of work for all of them.
    async fn admitted(
        &self,
        workspace: &WorkspaceHandle,
        files: &[FileRows],
        statuses: &[WaitStatus],
    ) -> Vec<Result<AdmittedFile, ToolError>> {
        let paths: Vec<String> = files.iter().map(|file| file.path.to_string_lossy().into_owned()).collect();
        let known = workspace.known.clone();
        let see = move |gate: &Gate, path: &String| {
            let (uri, stamp) = gate.agent_path_stamped(path)?;
            let sight = look_at_checked(gate, &known, &uri, stamp);
            Ok((uri, sight))
        };
        let admit = move |gate: &Gate| paths.iter().map(|path| see(gate, path)).collect();
        match timeout_at(self.deadline.instant(), workspace.gate.run(admit)).await {
            Ok(Ok(admitted)) => admitted,
            Ok(Err(error)) => files.iter().map(|_| Err(error.clone())).collect(),
            // As of a server that doesn't answer in time.
            Err(_) => statuses.iter().map(|status| Err(status.timeout(ErrorCode::CapExceeded))).collect(),
        }
    }

    async fn declared(
        &self,
        workspace: &WorkspaceHandle,
        admitted: Result<AdmittedFile, ToolError>,
        status: &WaitStatus,
    ) -> Declarations {
        let (uri, sight) = admitted?;
        let query = Arc::new(Query::Declarations { uri });
        let declarations = language_servers::ask(workspace, query, Some(sight), self.deadline, status, self.call);
        match timeout_at(self.deadline.instant(), declarations).await {
            Ok(Ok(Answer::Declarations(declared, notes))) => Ok((declared, notes)),
            Ok(Ok(_)) => Err(ToolError::internal()),
            Ok(Err(error)) => Err(error),
            // Never a reply of its own: `reason` turns it into a warning.
            Err(_) => Err(status.timeout(ErrorCode::CapExceeded)),
        }
    }
}

fn path_of(workspace: &WorkspaceHandle, row: &ResultRow) -> PathBuf {
    let only = || workspace.gate.root_set().roots().first().map(PathBuf::as_path);
    let root = row.root.as_deref().map(Path::new).or_else(only).unwrap_or(Path::new(""));
    root.join(&row.path)
}

impl UnconfirmedCounts {
    fn add(&mut self, workspace: Option<usize>, reason: impl Into<String>) {
        *self.0.entry((workspace, reason.into())).or_default() += 1;
    }

    fn warnings(self) -> impl Iterator<Item = String> {
        self.0.into_iter().map(|((_, reason), count)| match count {
            1 => format!("1 row is unconfirmed: {reason}."),
            _ => format!("{count} rows are unconfirmed: {reason}."),
        })
    }
}

/// Why the declarations of a file are unknown, and what to do.
fn reason(language: &str, error: &ToolError) -> String {
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
