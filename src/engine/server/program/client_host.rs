//! Answers a server's own requests: its settings, by project where they differ, and its workspace folders.
//!
//! The reader task of the connection calls it: it never waits and reads no file.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::server::program::launch_spec::merged;
use crate::server::projects::prepared_projects::PreparedSettings;
use crate::server::projects::project_folders::ProjectFolders;
use codeyard_lsp::client::lifecycle::workspace_folder_name;
use codeyard_lsp::client::server_requests::{ClientHost, configuration_section};
use codeyard_lsp::registry::LaunchPaths;
use codeyard_model::uri::{encode_path, percent_decode};

/// The host of one server process.
pub(in crate::server) struct FolderHost {
    /// The settings without a scope.
    pub settings: Value,
    /// What the settings of each project are made from; `None` if they are the same for all.
    pub by_project: Option<ProjectSettings>,
    /// The settings that the preparation of the projects found, merged over the others.
    pub prepared: PreparedSettings,
    /// The workspace folders.
    pub folders: FolderSource,
    /// Further notifications that are wanted.
    pub wanted: Vec<String>,
}

/// Settings with a placeholder for the project root.
pub(in crate::server) struct ProjectSettings {
    /// The registry's settings, with placeholders.
    pub unfilled: Value,
    /// The workspace's settings, merged over them.
    pub own: Option<Value>,
    /// The other placeholders.
    pub paths: LaunchPaths,
    /// The projects.
    pub projects: ProjectFolders,
}

/// Where the list of workspace folders comes from.
pub(in crate::server) enum FolderSource {
    /// It doesn't change.
    Fixed(Vec<PathBuf>),
    /// The projects are the folders.
    Projects(ProjectFolders),
}

impl FolderSource {
    /// The folders as they are now.
    pub(in crate::server) fn current(&self) -> Vec<PathBuf> {
        match self {
            Self::Fixed(folders) => folders.clone(),
            Self::Projects(projects) => projects.roots(),
        }
    }
}

impl ProjectSettings {
    /// The settings of the project that holds the document or folder `scope`, a URI.
    fn of(&self, scope: &str) -> Option<Value> {
        let path = percent_decode(scope.strip_prefix("file://")?.as_bytes());
        let root = self.projects.root_of(Path::new(OsStr::from_bytes(&path)))?;
        merged(LaunchPaths { root, ..self.paths.clone() }.fill_value(&self.unfilled), self.own.as_ref())
    }
}

impl ClientHost for FolderHost {
    fn configuration(&self, section: Option<&str>, scope: Option<&str>) -> Value {
        let scoped = self.by_project.as_ref().zip(scope).and_then(|(by_project, scope)| by_project.of(scope));
        let settings = scoped.as_ref().unwrap_or(&self.settings);
        let prepared = self.prepared.over(settings, scope);
        configuration_section(prepared.as_ref().unwrap_or(settings), section)
    }

    fn workspace_folders(&self) -> Vec<(String, String)> {
        let folders = self.folders.current();
        folders.into_iter().map(|folder| (encode_path(&folder), workspace_folder_name(&folder))).collect()
    }

    fn wants(&self, method: &str) -> bool {
        self.wanted.iter().any(|wanted| wanted == method)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn host() -> FolderHost {
        let projects = ProjectFolders::new(["/w", "/w/a b"].map(|root| (root.into(), vec![])).into());
        let paths = LaunchPaths {
            state: "/s".into(),
            root: "/w".into(),
            cache: "/c".into(),
            install: None,
            bin: None,
            checker: None,
        };
        let unfilled = json!({"tool": {"root": "{root}", "level": 1}});
        FolderHost {
            settings: json!({"tool": {"root": "/w", "level": 2}}),
            by_project: Some(ProjectSettings {
                unfilled,
                own: Some(json!({"tool": {"level": 2}})),
                paths,
                projects: projects.clone(),
            }),
            prepared: PreparedSettings::default(),
            folders: FolderSource::Projects(projects),
            wanted: vec![],
        }
    }

    #[test]
    fn settings_of_a_scope_are_those_of_its_project() {
        let host = host();
        let root = |scope: Option<&str>| host.configuration(Some("tool.root"), scope);
        assert_eq!(root(Some("file:///w/a%20b/x.py")), "/w/a b");
        assert_eq!(root(Some("file:///w/a%20bc/x.py")), "/w");
        assert_eq!(root(Some("file:///w/a%20b")), "/w/a b");
        for elsewhere in [None, Some("file:///other/x.py"), Some("untitled:1"), Some("file:///w/%ff")] {
            assert_eq!(root(elsewhere), "/w");
        }
        assert_eq!(host.configuration(Some("tool.level"), Some("file:///w/a%20b/x.py")), 2, "the workspace's own");
    }

    #[test]
    fn folders_are_listed_as_they_are_now() {
        let host = host();
        let FolderSource::Projects(projects) = &host.folders else { panic!("projects") };
        projects.retain(|root| root == Path::new("/w/a b"));
        assert_eq!(host.workspace_folders(), [("file:///w/a%20b".to_owned(), "a b".to_owned())]);
    }
}
