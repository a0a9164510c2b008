//! The one thing to do now for a folder: what the language with most files lacks first.

use super::projects::{ProjectRemedy, ProjectReports};
use crate::shared::server_diagnosis::{FolderDiagnosis, LanguageDiagnosis};
use crate::shared::shell;

/// What to do first, with the reason; `None`: nothing is missing and a server runs.
pub(super) fn next_step(diagnosis: &FolderDiagnosis, projects: &ProjectReports, is_running: bool) -> Option<String> {
    let root = shell::quoted(&diagnosis.root.to_string_lossy());
    let serve = || (!is_running && !diagnosis.languages.is_empty()).then(|| format!("codeyard serve --root {root}"));
    diagnosis.languages.iter().find_map(|language| of_language(&root, language, projects)).or_else(serve)
}

/// `root` as a shell reads it.
fn of_language(root: &str, language: &LanguageDiagnosis, projects: &ProjectReports) -> Option<String> {
    let files = format!("{} files of {}", language.files, language.language);
    if let Some(server) = language.missing_server() {
        let command = server.command.as_deref().unwrap_or_default();
        return Some(match command.starts_with("codeyard servers install") {
            true => format!("codeyard servers install --for {root} ({files} have no language server)"),
            false => format!("{command} ({files} have no language server)"),
        });
    }
    let ProjectRemedy { command, why } = projects.first_remedy(&language.serving()?.kind)?;
    Some(format!("{command} ({why})"))
}
