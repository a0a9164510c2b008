//! `[[workspaces_from]]`: patterns of folders, each of which becomes a workspace.
//!
//! It does not read the disk: the caller lists folders. Invariants: the same folders and the same earlier workspaces give the same
//! workspaces, whatever the order of the listing; a workspace that exists keeps its name; a folder that cannot be listed removes no
//! workspace; a folder is the root of one workspace of a tenant, however many links lead to it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::ContentMode;
use crate::error::ConfigError;
use crate::folders::free_name;
use crate::limits::MAX_WORKSPACES;
use crate::permission::PermissionSection;
use crate::sections::{DiagnosticsSection, SyntacticSection};
use crate::workspace::{IsolationLevel, Prewarm, ServerChoice};
use crate::{Config, WorkspaceConfig};
use codeyard_base::ids::{TenantId, WorkspaceName};
use codeyard_model::limits::Limits;

/// Folders that one pattern of `[[workspaces_from]]` may list.
const MAX_LISTED_FOLDERS: usize = 10_000;

/// `[[workspaces_from]]`: each folder that matches is a workspace with this table's settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceTemplate {
    /// Patterns of folders, such as `/srv/repos/*`. `*`, `?`, `[a-z]` and `{a,b}` match within one name; `*` and `?` don't match a leading
    /// dot. Relative patterns start at the folder of the configuration file. `~/` is the home folder. Folders that appear or go are
    /// followed while the service runs.
    pub roots: Vec<String>,
    /// Patterns of folder names or of whole paths that don't become a workspace.
    #[serde(default)]
    pub exclude: Vec<String>,
    /// The name of each workspace. `{folder}` is the name of its folder, `{parent}` that of the folder above. Characters that a name can't
    /// have become `-`. Later folders of the same name get the suffix `-2`, `-3` and so on. `TENANT/{folder}` makes them workspaces of this
    /// tenant.
    #[serde(default = "default_name")]
    pub name: String,
    /// Further folders that are readable and appear in results, the same for each workspace.
    #[serde(default)]
    pub extra_roots: Vec<PathBuf>,
    /// Start servers before the first call: `true` for all that the files need, or a list of server kinds.
    #[serde(default)]
    pub prewarm: Prewarm,
    /// Environment added for the workspaces' language servers.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Run the builds of C and C++ projects without a compile database: `cmake`, `bear -- make` or `make -n`. A build is code of the
    /// project, so allow it only where you trust all of them.
    #[serde(default)]
    pub run_build: bool,
    /// What the workspaces' language servers may do: `restricted` or `trusted`. Default: as for a single workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<IsolationLevel>,
    /// Wins over the `content` of the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentMode>,
    /// The choice of servers of these workspaces.
    #[serde(default)]
    pub servers: ServerChoice,
    /// Settings of servers by kind, merged over those of the registry.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, serde_json::Map<String, Value>>")]
    pub settings: BTreeMap<String, Value>,
    /// Replaces the service's `[diagnostics]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<DiagnosticsSection>,
    /// Replaces the service's `[syntactic]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syntactic: Option<SyntacticSection>,
    /// Rules that win over the service's `[permission]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission: Option<PermissionSection>,
    /// Limits below the service's `[limits]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
}

/// Reads the folders that patterns are matched against.
pub trait FolderSource {
    /// The names of the folders in a folder, links to folders included.
    ///
    /// # Errors
    /// If it can't be listed.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;

    /// The path of a folder without links; the path itself if it can't be resolved.
    fn real_path(&self, folder: &Path) -> PathBuf;
}

/// A configuration whose `[[workspaces_from]]` tables are workspaces, and what prevented some.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpandedConfig {
    /// The configuration; its workspaces are those of the file, then those of the patterns.
    pub config: Config,
    /// One sentence for each pattern that matched nothing or could not be followed.
    pub problems: Vec<String>,
}

fn default_name() -> String {
    "{folder}".to_owned()
}

impl WorkspaceTemplate {
    /// The workspace of one matching folder.
    pub(crate) fn workspace(&self, name: WorkspaceName, root: PathBuf) -> WorkspaceConfig {
        WorkspaceConfig {
            name,
            roots: vec![root],
            extra_roots: self.extra_roots.clone(),
            prewarm: self.prewarm.clone(),
            env: self.env.clone(),
            run_build: self.run_build,
            isolation: self.isolation,
            content: self.content,
            servers: self.servers.clone(),
            settings: self.settings.clone(),
            diagnostics: self.diagnostics.clone(),
            syntactic: self.syntactic.clone(),
            permission: self.permission.clone(),
            limits: self.limits.clone(),
        }
    }

    /// Applies the rules that the types don't express. `key` is the table's path.
    pub(crate) fn check(&self, key: &str) -> Result<(), ConfigError> {
        if self.roots.is_empty() {
            let problem = "the list is empty, so no folder would become a workspace";
            return Err(ConfigError::at(format!("{key}.roots"), problem, "add a pattern such as `/srv/repos/*`"));
        }
        for (list, patterns) in [("roots", &self.roots), ("exclude", &self.exclude)] {
            for (index, pattern) in patterns.iter().enumerate() {
                check_pattern(pattern).map_err(|(problem, remedy)| {
                    ConfigError::at(format!("{key}.{list}[{index}]"), format!("`{pattern}` {problem}"), remedy)
                })?;
            }
        }
        let (tenant, name) = self.split_name();
        if tenant.is_some_and(|tenant| TenantId::new(tenant).is_none()) || name.contains('/') {
            let problem = format!("what `{}` has before the last `/` is not the name of a tenant", self.name);
            let remedy = "write the name of one tenant there, such as `team-a/{folder}`, or remove the `/`";
            return Err(ConfigError::at(format!("{key}.name"), problem, remedy));
        }
        if !name.contains("{folder}") {
            let problem = format!("`{}` does not contain `{{folder}}`, so all folders would get one name", self.name);
            let remedy = "write a name such as `{folder}` or `{parent}-{folder}`";
            return Err(ConfigError::at(format!("{key}.name"), problem, remedy));
        }
        Ok(())
    }

    fn name_of(&self, root: &Path) -> WorkspaceName {
        let text = |path: Option<&Path>| {
            let name = path.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
            name.unwrap_or_default()
        };
        let (_, name) = self.split_name();
        let name = name.replace("{folder}", &text(Some(root))).replace("{parent}", &text(root.parent()));
        WorkspaceName::from_folder(&self.tenant(), &name)
    }

    /// The tenant of the workspaces of a checked table.
    pub(crate) fn tenant(&self) -> TenantId {
        let (tenant, _) = self.split_name();
        tenant.and_then(TenantId::new).unwrap_or_else(TenantId::default_tenant)
    }

    /// The name of the tenant, if there is one, and the name in the tenant.
    fn split_name(&self) -> (Option<&str>, &str) {
        self.name.split_once('/').map_or((None, &self.name), |(tenant, name)| (Some(tenant), name))
    }
}

impl Config {
    /// Turns the `[[workspaces_from]]` tables into workspaces. `before` are the workspaces that run now: their folders keep their names,
    /// and they stay if the folder above them can't be listed.
    pub fn expanded(&self, folders: &dyn FolderSource, before: &[WorkspaceConfig]) -> ExpandedConfig {
        let mut problems = Vec::new();
        let mut roots: BTreeSet<TenantRoot> = self.workspaces.iter().flat_map(roots_of).collect();
        let own: BTreeSet<TenantRoot> =
            roots.iter().map(|(tenant, root)| (tenant.clone(), folders.real_path(root))).collect();
        let mut matched: Vec<(&WorkspaceTemplate, PathBuf)> = Vec::new();
        for template in &self.workspaces_from {
            let excluded = Exclusion::of(template);
            for pattern in &template.roots {
                let kept = BTreeSet::new();
                let mut walk = PatternWalk { pattern, folders, before, listed: 0, problem: None, kept };
                let found = walk.run();
                problems.extend(walk.problem);
                let new = found.into_iter().filter(|folder| !excluded.covers(folder));
                let tenant = template.tenant();
                let new = new.filter(|folder| roots.insert((tenant.clone(), folder.clone())));
                matched.extend(new.map(|folder| (template, folder)));
            }
        }
        let mut matched = without_links(matched, &own, folders, before);
        let room = MAX_WORKSPACES.saturating_sub(self.workspaces.len());
        if matched.len() > room {
            let left_out = matched.len() - room;
            problems.push(format!("{left_out} folders are left out: at most {MAX_WORKSPACES} workspaces are allowed"));
            matched.truncate(room);
        }
        let mut config = self.clone();
        config.workspaces.extend(named(matched, &self.workspaces, before));
        problems.extend(config.check_default().err().map(|error| error.to_string()));
        ExpandedConfig { config, problems }
    }
}

/// A folder as the root of a workspace of a tenant: several tenants may have the same one.
type TenantRoot = (TenantId, PathBuf);

fn roots_of(workspace: &WorkspaceConfig) -> impl Iterator<Item = TenantRoot> {
    workspace.roots.iter().map(|root| (workspace.name.tenant(), root.clone()))
}

/// The folders of `matched` by different real paths, without those of `own`. Of several paths to one folder, that of the first table counts,
/// then that of a running workspace, then the one that is no link, then the first.
fn without_links<'a>(
    matched: Vec<(&'a WorkspaceTemplate, PathBuf)>,
    own: &BTreeSet<TenantRoot>,
    folders: &dyn FolderSource,
    before: &[WorkspaceConfig],
) -> Vec<(&'a WorkspaceTemplate, PathBuf)> {
    let running: BTreeSet<TenantRoot> = before.iter().flat_map(roots_of).collect();
    let mut chosen: BTreeMap<TenantRoot, (usize, bool, bool, usize)> = BTreeMap::new();
    let mut table = 0;
    for (at, (template, folder)) in matched.iter().enumerate() {
        if at > 0 && !std::ptr::eq(matched[at - 1].0, *template) {
            table = at;
        }
        let real = folders.real_path(folder);
        let is_link = real.file_name() != folder.file_name();
        let tenant = template.tenant();
        let rank = (table, !running.contains(&(tenant.clone(), folder.clone())), is_link, at);
        let real = (tenant, real);
        if !own.contains(&real) {
            let best = chosen.entry(real).or_insert(rank);
            *best = rank.min(*best);
        }
    }
    let kept: BTreeSet<usize> = chosen.into_values().map(|(.., at)| at).collect();
    matched.into_iter().enumerate().filter(|(at, _)| kept.contains(at)).map(|(_, one)| one).collect()
}

/// The workspaces of `matched`. Folders that have a workspace keep its name; the others get free ones in the order of their paths.
fn named(
    matched: Vec<(&WorkspaceTemplate, PathBuf)>,
    own: &[WorkspaceConfig],
    before: &[WorkspaceConfig],
) -> Vec<WorkspaceConfig> {
    let mut taken: BTreeSet<WorkspaceName> = own.iter().map(|workspace| workspace.name.clone()).collect();
    let mut earlier: BTreeMap<TenantRoot, &WorkspaceName> = BTreeMap::new();
    for workspace in before {
        if let [_] = workspace.roots.as_slice() {
            earlier.extend(roots_of(workspace).map(|root| (root, &workspace.name)));
        }
    }
    let kept: Vec<Option<WorkspaceName>> = matched
        .iter()
        .map(|(template, root)| earlier.get(&(template.tenant(), root.clone())))
        .map(|name| name.filter(|name| taken.insert((**name).clone())).copied().cloned())
        .collect();
    let each = matched.into_iter().zip(kept);
    each.map(|((template, root), kept)| {
        let name = kept.unwrap_or_else(|| {
            let name = free_name(template.name_of(&root), &taken);
            taken.insert(name.clone());
            name
        });
        template.workspace(name, root)
    })
    .collect()
}

/// The patterns of `exclude`.
struct Exclusion(Vec<GlobMatcher>);

impl Exclusion {
    fn of(template: &WorkspaceTemplate) -> Self {
        Self(template.exclude.iter().filter_map(|pattern| matcher(pattern)).collect())
    }

    fn covers(&self, folder: &Path) -> bool {
        let name = folder.file_name().map(Path::new);
        self.0.iter().any(|pattern| pattern.is_match(folder) || name.is_some_and(|name| pattern.is_match(name)))
    }
}

/// Finds the folders that match one pattern, component by component.
struct PatternWalk<'a> {
    pattern: &'a str,
    folders: &'a dyn FolderSource,
    /// The workspaces that run now.
    before: &'a [WorkspaceConfig],
    listed: usize,
    /// What prevented matches.
    problem: Option<String>,
    /// Roots that stay, because a folder above them can't be listed.
    kept: BTreeSet<PathBuf>,
}

impl PatternWalk<'_> {
    /// The matching folders.
    fn run(&mut self) -> BTreeSet<PathBuf> {
        let mut found: BTreeSet<PathBuf> = BTreeSet::from([PathBuf::new()]);
        let mut is_first = true;
        for component in Path::new(self.pattern).components() {
            let text = component.as_os_str().to_string_lossy();
            match is_pattern(&text).then(|| matcher(&text)).flatten() {
                Some(wanted) => {
                    let next = found.iter().flat_map(|folder| self.children(folder, &text, &wanted, is_first));
                    found = next.collect();
                    is_first = false;
                }
                None => found = found.into_iter().map(|folder| folder.join(component)).collect(),
            }
        }
        if !Path::new(self.pattern).file_name().is_some_and(|name| is_pattern(&name.to_string_lossy())) {
            found.retain(|folder| self.folders.list(folder).is_ok());
        }
        found.append(&mut self.kept);
        if found.is_empty() && self.problem.is_none() {
            self.problem =
                Some(format!("no folder matches `{}`; a folder that appears there becomes a workspace", self.pattern));
        }
        found
    }

    /// The folders in `folder` that match one component.
    fn children(&mut self, folder: &Path, component: &str, wanted: &GlobMatcher, is_first: bool) -> Vec<PathBuf> {
        self.listed += 1;
        if self.listed > MAX_LISTED_FOLDERS {
            let problem = "needs too many folders to be listed";
            self.problem =
                Some(format!("`{}` {problem}: more than {MAX_LISTED_FOLDERS}; write a narrower pattern", self.pattern));
            return Vec::new();
        }
        match self.folders.list(folder) {
            Ok(names) => {
                let fits = |name: &String| {
                    (component.starts_with('.') || !name.starts_with('.')) && wanted.is_match(name.as_str())
                };
                names.iter().filter(|name| fits(name)).map(|name| folder.join(name)).collect()
            }
            // A folder between two patterns has gone.
            Err(error) if !is_first && is_absent(&error) => Vec::new(),
            Err(error) => {
                let shown = folder.display();
                let pattern = self.pattern;
                self.problem = Some(format!(
                    "cannot list {shown} for the pattern `{pattern}`: {error}; its workspaces stay as they are"
                ));
                self.keep_below(folder);
                Vec::new()
            }
        }
    }

    /// Keeps the roots below `folder` that match the whole pattern.
    fn keep_below(&mut self, folder: &Path) {
        let Some(whole) = matcher(self.pattern) else { return };
        let roots = self.before.iter().flat_map(|workspace| &workspace.roots);
        self.kept.extend(roots.filter(|root| root.starts_with(folder) && whole.is_match(root)).cloned());
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

fn matcher(pattern: &str) -> Option<GlobMatcher> {
    GlobBuilder::new(pattern).literal_separator(true).build().ok().map(|glob| glob.compile_matcher())
}

/// The problem and the remedy of a wrong pattern.
fn check_pattern(pattern: &str) -> Result<(), (String, &'static str)> {
    if pattern.split('/').any(|component| component.contains("**")) {
        return Err(("contains `**`".into(), "write one `*` for each level of folders, such as `/srv/*/*`"));
    }
    let wrong = pattern.split('/').find_map(|component| GlobBuilder::new(component).build().err());
    match wrong {
        Some(error) => Err((format!("is not a valid pattern: {}", error.kind()), "correct the brackets")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
