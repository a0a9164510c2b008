//! The projects of a language server as they were prepared last: what its process starts with, what it is sent, and what must be sent
//! again when files change.
//!
//! `codeyard-projects` decides what a project is. Invariants: a process that answers has the projects of the files as they were when
//! its last change was applied; what can't be changed in a running process restarts it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use serde_json::{Value, json};

use crate::server::context::ServerContext;
use crate::server::documents::document_loading::LoadedDocuments;
use crate::server::program::launch_spec::merged;
use crate::server::projects::project_publication::{self, PreparedCoverage};
use crate::server::session::LiveServer;
use crate::status::project_cell::PublishedProject;
use crate::status::watch_slot::WatchSlot;
use codeyard_files::watch::{ChangeKind, Changes, FileChange};
use codeyard_lsp::client::pending_requests::{PendingReply, RequestError};
use codeyard_lsp::methods;
use codeyard_lsp::registry::{CachedFiles, MultiRoot, ProjectPlacement, ProjectRoot, place_file};
use codeyard_model::uri::{encode_path, percent_decode};
use codeyard_projects::limits::MAX_OPENED_SCRIPTS;
use codeyard_projects::{
    PreparedProject, ProjectDocument, ProjectInference, ProjectMemory, ProjectRequest, RunBuild, UnresolvedNames,
    UnwatchedFolder, counts_others, mark_uses_in_other_projects, modules, prepare,
};

/// LSP `FileChangeType` of a changed file.
const FILE_CHANGED: u8 = 2;

/// What the preparation of a server's projects needs besides its registry entry.
#[derive(Default)]
pub struct ProjectContext {
    /// Lists the workspace's files.
    pub watched: WatchSlot,
    /// Whether a build may be run.
    pub build: RunBuild,
    /// What the last preparation remembers.
    pub memory: ProjectMemory,
    /// The settings of the projects, read when the server asks for its configuration.
    pub settings: PreparedSettings,
}

/// The settings that the preparation found, by project root; `None` for a project that needs none. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct PreparedSettings(Arc<RwLock<BTreeMap<PathBuf, Option<Value>>>>);

/// The projects of one process, by project root.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::server) struct PreparedProjects(BTreeMap<PathBuf, PreparedProject>);

/// Projects that were prepared, and that no process has yet. One that is dropped changes nothing.
pub(in crate::server) struct Preparation {
    projects: PreparedProjects,
    published: BTreeMap<PathBuf, PublishedProject>,
}

/// Files by the root of their project.
type FilesByRoot = BTreeMap<PathBuf, ProjectFiles>;

/// The files of one project, sorted.
#[derive(Default)]
struct ProjectFiles {
    /// Those whose names show their language.
    named: Vec<PathBuf>,
    /// Those that only their first lines show.
    scripts: Vec<PathBuf>,
}

/// What a process with other projects than those of its start needs.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::server) enum ProjectUpdate {
    /// Nothing.
    None,
    /// Notifications and requests.
    Send,
    /// A restart.
    Restart,
}

impl PreparedSettings {
    /// `base` over the settings of the project that holds the document or folder `scope`, a URI: what the operator sets wins over what was
    /// inferred. Without a scope, those of the only project, if there is only one.
    pub(in crate::server) fn over(&self, base: &Value, scope: Option<&str>) -> Option<Value> {
        let settings = self.0.read();
        let scoped = scope.and_then(|scope| scope.strip_prefix("file://")).map(|path| percent_decode(path.as_bytes()));
        let own = match &scoped {
            Some(path) => Path::new(OsStr::from_bytes(path)).ancestors().find_map(|folder| settings.get(folder)),
            None if settings.len() == 1 => settings.values().next(),
            None => None,
        };
        // A project without settings has none, also inside one that has some.
        merged(Some(own?.clone()?), Some(base).filter(|base| !base.is_null()))
    }

    fn replace(&self, projects: &PreparedProjects) {
        let settings = projects.0.iter().map(|(root, project)| (root.clone(), project.settings.clone()));
        *self.0.write() = settings.collect();
    }
}

impl Preparation {
    /// Prepares the projects of the server at these roots, which it had at some moment. Blocks.
    ///
    /// # Errors
    /// Errors of the file system, when the cache folder can't be written.
    pub(in crate::server) fn begin(context: &ServerContext, at: &[PathBuf]) -> io::Result<Self> {
        let mut projects = BTreeMap::new();
        let (by_root, others) = files_by_root(context, at);
        let generated = context.generated();
        let request = |root, files, scripts, scripts_max| ProjectRequest {
            server: &context.server,
            root,
            top: context.gate.root_set().root_of(root).unwrap_or(root),
            files,
            scripts,
            scripts_max,
            cache: &context.cache,
            generated: &generated,
            build: context.project.build,
            memory: &context.project.memory,
        };
        let mut scripts_max = MAX_OPENED_SCRIPTS;
        for (root, ProjectFiles { named, scripts }) in &by_root {
            projects.insert(root.clone(), prepare(&request(root, named, scripts, scripts_max))?);
            scripts_max = scripts_max.saturating_sub(scripts.len());
        }
        let of_others = others
            .iter()
            .map(|(root, ProjectFiles { named, scripts })| (root.clone(), modules(&request(root, named, scripts, 0))));
        let of_others = of_others.collect();
        let top = by_root.keys().next().and_then(|root| context.gate.root_set().root_of(root));
        if let Some(inference) = context.server.project {
            mark_uses_in_other_projects(&mut projects, &of_others, top.unwrap_or(&context.root), inference);
        }
        let of_project = |(root, files): (PathBuf, ProjectFiles)| {
            let info = projects.get(&root).map(|project| project.info.clone()).unwrap_or_default();
            let files = files.named.into_iter().chain(files.scripts).collect();
            PreparedCoverage { root, files, info }
        };
        let coverage = by_root.into_iter().map(of_project).collect();
        let published = project_publication::publication(context, coverage);
        Ok(Self { projects: PreparedProjects(projects), published })
    }

    /// The projects are those of the process from now on: publishes them, and gives their settings to the process, which may ask for them as soon
    /// as it is notified of a project. No request may be sent before it has them.
    pub(in crate::server) fn accept(self, context: &ServerContext) -> PreparedProjects {
        context.status.projects().publish(self.published);
        context.project.settings.replace(&self.projects);
        self.projects
    }
}

impl PreparedProjects {
    /// Whether they are the projects at these roots, which are sorted.
    pub(in crate::server) fn are_at(&self, roots: &[PathBuf]) -> bool {
        self.0.keys().eq(roots)
    }

    /// Their roots.
    pub(in crate::server) fn roots(&self) -> BTreeSet<PathBuf> {
        self.0.keys().cloned().collect()
    }

    /// Whether a process has other settings once it is ready. Until then documents are read without them.
    pub(in crate::server) fn have_settings_when_ready(&self) -> bool {
        self.0.values().any(|project| project.settings_when_ready.is_some())
    }

    /// Whether there are folders that no watcher follows.
    pub(in crate::server) fn have_unwatched(&self) -> bool {
        self.0.values().any(|project| !project.unwatched.is_empty())
    }

    /// The folders that no watcher follows, of each project.
    pub(in crate::server) fn unwatched(&self) -> Vec<Arc<[UnwatchedFolder]>> {
        self.0.values().map(|project| project.unwatched.clone()).collect()
    }

    /// The arguments to add to the server's command.
    pub(in crate::server) fn args(&self) -> impl Iterator<Item = &String> {
        self.0.values().flat_map(|project| &project.args)
    }

    /// `base` with the members of all projects.
    pub(in crate::server) fn initialization_options(&self, base: Option<Value>) -> Option<Value> {
        let all = self.0.values().filter_map(|project| project.initialization_options.as_ref());
        all.fold(base, |base, own| merged(base, Some(own)))
    }

    /// What a process with these projects needs to have those of `now`.
    pub(in crate::server) fn update_to(&self, now: &Self) -> ProjectUpdate {
        let mut update = ProjectUpdate::None;
        for (root, project) in &now.0 {
            // A project that joined is announced on its own; its settings are asked for then.
            let Some(before) = self.0.get(root) else {
                if project.settings_when_ready.is_some() {
                    return ProjectUpdate::Restart;
                }
                update = ProjectUpdate::Send;
                continue;
            };
            let is_started_alike = before.args == project.args
                && before.initialization_options == project.initialization_options
                && before.settings == project.settings
                && before.settings_when_ready == project.settings_when_ready
                && before.digest == project.digest;
            if !is_started_alike {
                return ProjectUpdate::Restart;
            }
            if before != project {
                update = ProjectUpdate::Send;
            }
        }
        if self.0.len() == now.0.len() { update } else { ProjectUpdate::Send }
    }

    /// The documents that exist only at the server, by path.
    fn documents(&self) -> BTreeMap<&Path, &ProjectDocument> {
        let all = self.0.values().flat_map(|project| &project.documents);
        all.map(|document| (document.path.as_path(), document)).collect()
    }

    /// The same projects without files to keep open.
    pub(in crate::server) fn without_open(mut self) -> Self {
        self.0.values_mut().for_each(|project| project.open.clear());
        self
    }

    /// The files to keep open.
    pub(in crate::server) fn open(&self) -> BTreeSet<&Path> {
        self.0.values().flat_map(|project| &project.open).map(PathBuf::as_path).collect()
    }
}

/// The files that the server serves at these project roots, by root, and if projects share modules the files of those that the server isn't
/// started for. Each list is sorted.
fn files_by_root(context: &ServerContext, at: &[PathBuf]) -> (FilesByRoot, FilesByRoot) {
    let roots = context.gate.root_set();
    let mut by_root: FilesByRoot = at.iter().map(|root| (root.clone(), ProjectFiles::default())).collect();
    let mut others = FilesByRoot::new();
    let Some(watched) = context.project.watched.get() else { return (by_root, others) };
    let sees_others = context.server.project.is_some_and(ProjectInference::shares_modules);
    let disk = CachedFiles::default();
    let mut placed: BTreeMap<PathBuf, Option<PathBuf>> = BTreeMap::new();
    for file in watched.source_files().iter().filter(|file| context.servers.serves(&context.server, file)) {
        let Some(folder) = file.parent() else { continue };
        if !placed.contains_key(folder) {
            let project = match place_file(roots, &context.server.root, file, &disk) {
                Some(ProjectPlacement { root: ProjectRoot::At { root, .. }, within }) => {
                    Some(if context.multi_root == MultiRoot::ByFile { within } else { root })
                }
                _ => None,
            };
            placed.insert(folder.to_path_buf(), project);
        }
        let Some(root) = placed.get(folder).and_then(Option::as_ref) else { continue };
        let files = match by_root.get_mut(root) {
            Some(files) => files,
            None if sees_others => others.entry(root.clone()).or_default(),
            None => continue,
        };
        let of_kind = if context.servers.index.is_script(file) { &mut files.scripts } else { &mut files.named };
        of_kind.push(file.clone());
    }
    (by_root, others)
}

/// Whether these changes may change a project of the server. Updates what the memory of the projects knows of the files.
pub(in crate::server) fn may_change(context: &ServerContext, changes: &Changes) -> bool {
    let Some(inference) = context.server.project else { return false };
    let memory = &context.project.memory;
    if changes.bulk {
        memory.forget_all();
        return true;
    }
    let roots = context.gate.root_set();
    let is_affected = |change: &FileChange| {
        let path = &change.path;
        let counts = || context.servers.serves(&context.server, path) || counts_others(inference, path);
        if change.kind != ChangeKind::Changed && counts() {
            memory.forget(path);
            return true;
        }
        roots.root_of(path).is_some_and(|top| memory.is_affected_by_text(inference, path, top))
    };
    changes.files.iter().filter(|change| is_affected(change)).count() > 0
}

impl LiveServer {
    /// Sends the projects of its start. The replies must be kept until they arrive: dropping one cancels its request.
    pub(in crate::server) fn open_projects(
        &mut self,
        projects: &PreparedProjects,
        documents: &LoadedDocuments,
    ) -> Result<Vec<PendingReply>, RequestError> {
        self.change_projects(&PreparedProjects::default(), projects, documents)
    }

    /// Sends what differs between two preparations. `documents` are the files to keep open, as they are on disk.
    pub(in crate::server) fn change_projects(
        &mut self,
        before: &PreparedProjects,
        now: &PreparedProjects,
        documents: &LoadedDocuments,
    ) -> Result<Vec<PendingReply>, RequestError> {
        let old = before.documents();
        let new = now.documents();
        for path in old.keys().filter(|path| !new.contains_key(*path)) {
            let params = json!({"textDocument": {"uri": encode_path(path)}});
            self.client.notify("textDocument/didClose", &params)?;
        }
        for (path, document) in &new {
            let version = self.next_project_version();
            match old.get(path) {
                Some(before) if before.text == document.text => {}
                Some(_) => {
                    let params = json!({
                        "textDocument": {"uri": encode_path(path), "version": version},
                        "contentChanges": [{"text": document.text}],
                    });
                    self.client.notify("textDocument/didChange", &params)?;
                }
                None => {
                    let item = json!({
                        "uri": encode_path(path),
                        "languageId": document.language,
                        "version": version,
                        "text": document.text,
                    });
                    self.client.notify("textDocument/didOpen", &json!({"textDocument": item}))?;
                }
            }
        }
        self.notify_of_resolution(before, now)?;
        let mut replies = Vec::new();
        for (root, project) in &now.0 {
            if before.0.get(root).is_none_or(|before| before.commands != project.commands) {
                for command in &project.commands {
                    replies.push(self.client.request(command.method, &command.params)?);
                }
            }
        }
        let old = before.open();
        let new = now.open();
        for path in old.difference(&new) {
            self.documents.pin(&encode_path(path), false);
        }
        for loaded in new.iter().filter_map(|path| documents.text(path)) {
            self.open_pinned(loaded)?;
        }
        Ok(replies)
    }

    /// Notifies the server of a change of the configurations of projects in which names can be resolved that couldn't before.
    fn notify_of_resolution(&self, before: &PreparedProjects, now: &PreparedProjects) -> Result<(), RequestError> {
        let is_changed = |root: &PathBuf, project: &PreparedProject| {
            let remains = |cause: &UnresolvedNames| {
                project.info.unresolved.iter().any(|now| now.what == cause.what && now.count >= cause.count)
            };
            before.0.get(root).is_some_and(|before| !before.info.unresolved.iter().all(remains))
        };
        let changed = now.0.iter().filter(|(root, project)| is_changed(root, project));
        let paths: BTreeSet<&PathBuf> = changed.flat_map(|(_, project)| &project.configurations).collect();
        if paths.is_empty() {
            return Ok(());
        }
        let events: Vec<Value> =
            paths.into_iter().map(|path| json!({"uri": encode_path(path), "type": FILE_CHANGED})).collect();
        self.client.notify(methods::DID_CHANGE_WATCHED_FILES, &json!({"changes": events}))
    }

    /// Sends the settings that the projects have for a process that is ready.
    pub(in crate::server) fn send_settings_when_ready(
        &mut self,
        projects: &PreparedProjects,
    ) -> Result<(), RequestError> {
        let all = projects.0.values().filter_map(|project| project.settings_when_ready.as_ref());
        match all.fold(None, |base, own| merged(base, Some(own))) {
            Some(settings) => self.client.notify("workspace/didChangeConfiguration", &json!({"settings": settings})),
            None => Ok(()),
        }
    }

    /// A version that no document of a project has had at this process.
    fn next_project_version(&mut self) -> i32 {
        self.project_versions = self.project_versions.saturating_add(1);
        self.project_versions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn projects(change: impl FnOnce(&mut PreparedProject)) -> PreparedProjects {
        let mut project = PreparedProject::default();
        change(&mut project);
        PreparedProjects(BTreeMap::from([("/w".into(), project)]))
    }

    #[test]
    fn what_a_process_read_at_its_start_restarts_it() {
        let before = projects(|_| {});
        assert_eq!(before.update_to(&projects(|_| {})), ProjectUpdate::None);
        assert_eq!(before.update_to(&projects(|project| project.open = vec!["/w/a".into()])), ProjectUpdate::Send);
        assert_eq!(before.update_to(&projects(|project| project.info.files_total = 1)), ProjectUpdate::Send);
        assert_eq!(before.update_to(&projects(|project| project.settings = Some(json!({})))), ProjectUpdate::Restart);
        let when_ready = projects(|project| project.settings_when_ready = Some(json!({})));
        assert_eq!(before.update_to(&when_ready), ProjectUpdate::Restart);
        assert_eq!(before.update_to(&projects(|project| project.args = vec!["-x".into()])), ProjectUpdate::Restart);
        assert_eq!(before.update_to(&projects(|project| project.digest = [1; 32])), ProjectUpdate::Restart);
        assert_eq!(before.update_to(&PreparedProjects::default()), ProjectUpdate::Send, "a project left");
        assert_eq!(PreparedProjects::default().update_to(&before), ProjectUpdate::Send, "a project joined");
    }

    #[test]
    fn settings_are_those_of_the_innermost_project() {
        let settings = PreparedSettings::default();
        assert_eq!(settings.over(&json!({"a": 1}), None), None);
        let mut two = projects(|project| project.settings = Some(json!({"b": {"c": 2}})));
        settings.replace(&two);
        assert_eq!(settings.over(&json!({"a": 1}), None), Some(json!({"a": 1, "b": {"c": 2}})));
        let of_operator = settings.over(&json!({"b": {"c": 9}}), None);
        assert_eq!(of_operator, Some(json!({"b": {"c": 9}})), "the operator's settings win");
        two.0.insert("/w/x".into(), PreparedProject { settings: Some(json!({"b": 3})), ..PreparedProject::default() });
        settings.replace(&two);
        assert_eq!(settings.over(&json!({}), None), None, "several projects: only with a scope");
        assert_eq!(settings.over(&json!({}), Some("file:///w/x/y.py")), Some(json!({"b": 3})));
        assert_eq!(settings.over(&json!({}), Some("file:///w/z.py")), Some(json!({"b": {"c": 2}})));
        assert_eq!(settings.over(&json!({}), Some("file:///other")), None);
        two.0.insert("/w/plain".into(), PreparedProject::default());
        settings.replace(&two);
        assert_eq!(settings.over(&json!({}), Some("file:///w/plain/x.py")), None, "not those of the project around it");
    }
}
