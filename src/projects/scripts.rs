//! Scripts whose names say nothing about their language, such as `bin/deploy`: no server looks for them, so they are kept open.
//!
//! They are in no project file and in no inference. Invariant: one that isn't open counts as not known.

use crate::info::ProjectSource;
use crate::limits::MAX_UNKNOWN_FILES;
use crate::prepare::{PreparedProject, ProjectRequest};

/// Adds the scripts to a prepared project: the first of them are opened, and all are counted.
pub(crate) fn keep_open(request: &ProjectRequest<'_>, prepared: &mut PreparedProject) {
    let total = request.scripts.len();
    let room = if request.server.opens_scripts() { request.scripts_max } else { 0 };
    let (opened, unknown) = request.scripts.split_at(room.min(total));
    prepared.open.extend_from_slice(opened);
    let info = &mut prepared.info;
    if !unknown.is_empty() && info.source == ProjectSource::Server {
        info.files_known = info.files_known.or(Some(info.files_total));
    }
    info.files_known = info.files_known.map(|known| known + opened.len());
    info.files_total += total;
    if !unknown.is_empty() {
        info.problems.push(match opened.is_empty() {
            true => "it leaves out scripts without a known extension".to_owned(),
            false => format!("only {} of {total} scripts without a known extension are open at it", opened.len()),
        });
        info.unknown_files
            .extend(unknown.iter().take(MAX_UNKNOWN_FILES.saturating_sub(info.unknown_files.len())).cloned());
        info.unknown_files.sort();
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use codeyard_lsp::registry::{Quirks, ServerRole, ServerSpec};

    use super::*;
    use crate::info::ProjectInfo;
    use crate::memory::ProjectMemory;

    /// The project of a server that finds two files by itself, with three scripts.
    fn with_scripts(server: &ServerSpec, scripts_max: usize, source: ProjectSource) -> PreparedProject {
        let memory = ProjectMemory::default();
        let scripts = ["/w/a", "/w/b", "/w/c"].map(PathBuf::from);
        let request = ProjectRequest {
            server,
            scripts: &scripts,
            scripts_max,
            ..ProjectRequest::for_test("bash", Path::new("/w"), &[], &memory)
        };
        let info = ProjectInfo { source, files_total: 2, ..ProjectInfo::default() };
        let mut prepared = PreparedProject { info, ..PreparedProject::default() };
        keep_open(&request, &mut prepared);
        prepared
    }

    #[test]
    fn scripts_are_open_and_those_without_room_are_not_known() {
        let server = ServerSpec::default();
        let all = with_scripts(&server, 3, ProjectSource::Server);
        assert_eq!((all.open.len(), all.info.files_total, all.info.files_known), (3, 5, None));
        let some = with_scripts(&server, 1, ProjectSource::Server);
        assert_eq!(some.open, [PathBuf::from("/w/a")]);
        assert_eq!((some.info.files_total, some.info.files_known), (5, Some(3)));
        assert_eq!(some.info.unknown_files, ["/w/b", "/w/c"].map(PathBuf::from));
        assert_eq!(some.info.problems, ["only 1 of 3 scripts without a known extension are open at it"]);
        let open_only = with_scripts(&server, 1, ProjectSource::Missing);
        assert_eq!((open_only.info.files_total, open_only.info.files_known), (5, None));
    }

    #[test]
    fn a_server_that_leaves_scripts_out_is_sent_none() {
        let quirks = Quirks { ignores_scripts: true, ..Quirks::default() };
        let blind = with_scripts(&ServerSpec { quirks, ..ServerSpec::default() }, 3, ProjectSource::Server);
        assert_eq!((blind.open.len(), blind.info.files_known), (0, Some(2)));
        assert_eq!(blind.info.problems, ["it leaves out scripts without a known extension"]);
        let linter = ServerSpec { role: ServerRole::Linter, ..ServerSpec::default() };
        assert_eq!(with_scripts(&linter, 3, ProjectSource::Server).open.len(), 0);
    }
}
