//! The types of the registry's entries: languages, servers, and the parts of a server entry.
//!
//! Data only. `loader` reads and merges entries, `validation` checks them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::install_source::InstallSource;
use super::quirks::Quirks;

/// The whole registry.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Registry {
    /// Languages by LSP language id.
    pub languages: BTreeMap<String, LanguageSpec>,
    /// Servers by kind.
    pub servers: BTreeMap<String, ServerSpec>,
}

/// How files of a language are recognised.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LanguageSpec {
    /// File name extensions without the dot, in lower case.
    pub extensions: Vec<String>,
    /// File names, such as `Dockerfile`. One `*` stands for any text that isn't empty: `compose.*.yaml`.
    pub file_names: Vec<String>,
    /// Programs that the first line of a script may name after `#!`, without a version: `python`, not `python3`. Read only if the file's
    /// name says nothing.
    pub interpreters: Vec<String>,
    /// Its name for people. Empty: the id with a capital first letter.
    pub name: String,
}

impl Registry {
    /// The name of a language for people.
    pub fn language_name(&self, id: &str) -> String {
        match self.languages.get(id).map(|language| language.name.as_str()) {
            Some(name) if !name.is_empty() => name.to_owned(),
            _ => {
                let mut rest = id.chars();
                rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
            }
        }
    }

    /// The names of languages for people, each once, as a part of a sentence: "C, C++ and CUDA".
    pub fn language_names<'a>(&self, ids: impl IntoIterator<Item = &'a str>) -> String {
        let mut names: Vec<String> = Vec::new();
        for id in ids {
            let name = self.language_name(id);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        match names.split_last() {
            None => String::new(),
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
        }
    }
}

/// The role of a server in its group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServerRole {
    /// One of several alternatives. The first available one runs.
    #[default]
    Primary,
    /// Runs beside the primary server: contributes diagnostics, and navigation only when the primary one has no
    /// result.
    Linter,
    /// Replaces the primary servers of a language while none is available. Its answers are marked as such.
    Fallback,
}

/// One kind of language server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerSpec {
    /// A one-line description for people.
    pub description: String,
    /// What it knows of a project without any configuration, and how that was found out. For people.
    pub without_configuration: String,
    /// Ids of the languages that it serves.
    pub languages: Vec<String>,
    /// Servers of one group are alternatives (`python`, `typescript`). Linters have their own group.
    pub group: String,
    /// The order among the alternatives of its group, the lowest first.
    pub priority: u32,
    /// Whether it is an alternative or adds to one.
    pub role: ServerRole,
    /// The languages of other servers whose names its files use.
    pub uses: Option<UsedLanguages>,
    /// Off unless the user selects it.
    pub disabled: bool,
    /// Program and arguments. `{state}`, `{root}`, `{rooturi}`, `{cache}`, `{bin}` and `{install}` are replaced here
    /// and in the environment, options and settings (see [`LaunchConfig::prepare`](super::LaunchConfig::prepare)).
    pub command: Vec<String>,
    /// The same program without the package's wrapper: paths inside the install folder (globs allowed), first the
    /// program, then the arguments before those of `command`. Used when all of them exist; otherwise the program of
    /// `command` runs.
    pub direct: Vec<String>,
    /// Whether this entry has been run against the real server. Otherwise it follows the server's documentation.
    pub tested: bool,
    /// Arguments that make the program print its version and exit with 0. Empty: no version probe.
    pub version_args: Vec<String>,
    /// The first version that codeyard can't use, such as `3`: a program of the `PATH` must be older.
    pub below_version: Option<String>,
    /// The source of its packages.
    pub install: Option<InstallSource>,
    /// The size of its installation in MiB, measured on Linux. 0: it isn't known.
    pub installed_mib: u32,
    pub env: BTreeMap<String, String>,
    /// The most memory that one process of this kind may use together with its child processes, in MiB. A server that uses more is
    /// restarted; one that needs more to start is given up until `supervision.quarantine_s` has passed. 0: no limit.
    pub memory_limit_mib: u64,
    /// LSP methods that it is known to answer and other servers of its language may not:
    /// `textDocument/implementation`, `textDocument/prepareCallHierarchy`. Used for servers that don't run; a running
    /// server announces its capabilities.
    pub offers: Vec<String>,
    /// Libraries that it takes from the project: the project, or a folder above it, must hold one of these paths. Without one the server finds
    /// nothing, so it isn't started.
    pub needs: Vec<String>,
    /// The program on the `PATH` that finds its diagnostics. Without it there are none, and answers say so.
    pub checker: Option<CheckerSpec>,
    /// The rule for its project root.
    pub root: RootRule,
    /// How many project roots one process handles.
    pub multi_root: MultiRoot,
    pub initialization_options: Option<serde_json::Value>,
    /// Settings: the answers to `workspace/configuration` by section, also sent with `didChangeConfiguration`.
    pub settings: Option<serde_json::Value>,
    /// The rule that says when it is ready.
    pub readiness: ReadinessRule,
    /// How codeyard finds or infers its project before a start. Absent: it finds its project by itself.
    pub project: Option<ProjectInference>,
    /// The configuration of the server that leaves files out of its answers. Absent: none is known.
    pub scope: Option<ConfiguredScope>,
    /// Which files of a project it knows, where codeyard infers no project for it.
    pub view: ProjectView,
    /// How it runs in a restricted workspace. Absent: it isn't started there, because it may run code of the project.
    pub restricted: Option<RestrictedLaunch>,
    /// Behaviour that the client must take into account.
    pub quirks: Quirks,
}

impl ServerSpec {
    /// Whether the server is codeyard itself, which runs no code of a project and whose messages hold no text of another program.
    pub fn is_built_in(&self) -> bool {
        matches!(self.install, Some(InstallSource::Builtin {}))
    }

    /// Whether scripts whose names say nothing about their language are kept open at it: no server looks for them, and most answer from them
    /// once they are open.
    pub fn opens_scripts(&self) -> bool {
        self.role == ServerRole::Primary && self.view != ProjectView::OneDocument && !self.quirks.ignores_scripts
    }
}

/// Languages of another server, such as TypeScript for `.vue` files. The uses of a name of theirs include those in this server's files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UsedLanguages {
    pub languages: Vec<String>,
    /// Whether it answers questions at places in files of these languages. Otherwise their answers say that its files aren't included.
    pub answers: bool,
}

/// What a server gets in addition where it is confined, so that it runs no code of the project. It wins over all other settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RestrictedLaunch {
    /// Arguments to add.
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    /// Members of `initializationOptions`.
    pub initialization_options: Option<serde_json::Value>,
    pub settings: Option<serde_json::Value>,
    /// Folders of its toolchain, which it may read and whose programs it may run. `~/` is the home folder, and `$NAME/` a variable of the
    /// environment; what doesn't exist is left out.
    pub toolchain: Vec<String>,
}

/// Which files of a project a server knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProjectView {
    /// All of its languages.
    #[default]
    Whole,
    /// Each answer is about one document only, so no file can be missing.
    OneDocument,
    /// Open documents, and what they refer to.
    OpenDocuments,
    /// Open documents, unless one of these files (globs allowed) is in the project root or above it in the workspace.
    OpenDocumentsWithout(Vec<String>),
    FirstFiles(usize),
}

/// A configuration that leaves files out of a server's answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfiguredScope {
    /// `src.include` and `src.exclude` in `ty.toml` or `pyproject.toml`.
    Ty,
    /// `include` and `exclude` in `pyrightconfig.json` or `pyproject.toml`.
    Pyright,
}

/// How a server's project is found or inferred where it has no project file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProjectInference {
    /// `compile_commands.json`: found, completed, or inferred from build files and includes.
    CompileDatabase,
    /// `tsconfig.json` for the files that no configuration lists, as a document that is open at the server.
    TypescriptDocument,
    /// The same as a request of `tsserver`.
    TypescriptExternal,
    /// Nothing is passed to the server: components that no `tsconfig.json` lists are counted.
    TypescriptComponents,
    /// The folders that files of Python import from and the environment, as settings and initialization options.
    PythonPaths,
    /// The same in a configuration of pyrefly.
    PythonConfiguration,
    /// The same, for a server that has no setting for the folders: imports that need them are counted.
    PythonImports,
    /// The source folders of Java, from the packages of the files, as a project of Eclipse in the cache folder.
    JavaPackages,
    /// Nothing is passed to the server: modules of Go that another module takes from a folder.
    GoModules,
    /// The same for packages of Cargo.
    CargoPackages,
}

impl ProjectInference {
    /// Whether projects of this kind may import modules of each other.
    pub fn shares_modules(self) -> bool {
        let is_of_python = matches!(self, Self::PythonPaths | Self::PythonConfiguration | Self::PythonImports);
        is_of_python
            || matches!(self, Self::GoModules | Self::CargoPackages)
            || matches!(self, Self::TypescriptExternal | Self::TypescriptComponents)
    }

    /// Whether projects of this kind import files of each other by their paths.
    pub fn names_files(self) -> bool {
        matches!(self, Self::TypescriptExternal | Self::TypescriptComponents)
    }

    /// The project file that the server reads, for people.
    pub fn file(self) -> &'static str {
        match self {
            Self::CompileDatabase => "compile_commands.json",
            Self::TypescriptDocument | Self::TypescriptExternal | Self::TypescriptComponents => "tsconfig.json",
            Self::PythonPaths | Self::PythonConfiguration | Self::PythonImports => {
                codeyard_ecosystems::python::MANIFEST
            }
            Self::JavaPackages => "pom.xml",
            Self::GoModules => codeyard_ecosystems::go::MANIFEST,
            Self::CargoPackages => codeyard_ecosystems::cargo::MANIFEST,
        }
    }
}

/// How many project roots of a workspace one process of a server handles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MultiRoot {
    /// One: each project root has a process of its own.
    #[default]
    No,
    /// All: each project root is a workspace folder, in `initialize` or later by `workspace/didChangeWorkspaceFolders`. Its projects
    /// don't see each other.
    WorkspaceFolders,
    /// All: the server finds the project of each file by itself. It answers across projects.
    ByFile,
}

/// A program that a server runs for its diagnostics. `{checker}` in the server's options and settings is its path, and empty if it is missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckerSpec {
    pub program: String,
    /// The command that installs it.
    pub command: String,
}

/// The rule for a project root: upwards from a file, never above the workspace root that holds the file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RootRule {
    /// Files or folders (globs allowed in the last part) that mark a project root. `name ~ text` needs a file with a
    /// line that begins with the text.
    pub markers: Vec<String>,
    /// Files or folders that mark a build workspace (`Cargo.toml ~ [workspace]`, `go.work`, a lock file). They win
    /// over `markers`; `pick` chooses among several.
    pub workspace_markers: Vec<String>,
    /// Manifests that list the projects of a build workspace, read by the rules of their tool. If one lists the
    /// file's project, its folder is the project root; among several, and `workspace_markers`, the outermost wins. In
    /// a folder whose list omits the project, `workspace_markers` don't count.
    pub manifests: Vec<ManifestKind>,
    pub pick: RootPick,
    /// Whether the server needs a marker. Without one it isn't started. Default: the workspace root is the project
    /// root.
    pub required: bool,
    /// Files or folders that show that another server is responsible (deno.json for TypeScript).
    pub excluded_by: Vec<String>,
}

/// Which of several markers decides the project root.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RootPick {
    /// Always the workspace root.
    #[default]
    Workspace,
    /// The nearest marker.
    Nearest,
    /// The outermost marker inside the workspace root.
    Outermost,
}

/// A text that can be taken out of an entry by an empty one.
fn unless_empty<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(value)?.filter(|text| !text.is_empty()))
}

/// The rule that says when a server has loaded its workspace. All given conditions must hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadinessRule {
    /// `$/progress` tokens or titles (prefix match) that mean loading while they run.
    pub progress: Vec<String>,
    /// Such progress should begin within this many ms after `initialized` (with `after_open`: after the first
    /// `didOpen`). If it doesn't, the server counts as ready. 0: no progress is expected. Without `progress` it is a wait, for a server that
    /// shows in no way when it has loaded.
    pub expect_within_ms: u64,
    /// The wait starts at the first opened document, because the server loads only then.
    pub after_open: bool,
    /// Ready after this many ms without relevant progress, for servers whose progress ends and begins again.
    pub settle_ms: u64,
    /// Ready when `experimental/serverStatus` has `quiescent: true`.
    pub server_status: bool,
    /// After a change of its files it counts as loading for this many ms, unless it reports relevant progress before: then until that ends. For a
    /// server that reads changed files only some time after it was notified.
    pub after_change_ms: u64,
    /// Ready when a `window/logMessage` contains this text. Empty: it isn't waited for, whatever the built-in entry says.
    #[serde(deserialize_with = "unless_empty")]
    pub log_message: Option<String>,
    /// Ready when the server sends a request or notification of this method. Empty: it isn't waited for, whatever the built-in entry says.
    #[serde(deserialize_with = "unless_empty")]
    pub method: Option<String>,
    /// A progress token counts as ended after this many ms without a report. 0: 30000.
    pub token_limit_ms: u64,
    /// Ready after this many ms without any sign of progress, whatever the other conditions. 0: 120000.
    pub limit_ms: u64,
}

/// A kind of manifest, by the name of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ManifestKind {
    /// Cargo: `[workspace]` with `members` and `exclude`, and `package.workspace`, which names a workspace.
    #[serde(rename = "Cargo.toml")]
    Cargo,
    /// Go: the modules of a workspace.
    #[serde(rename = "go.work")]
    Go,
    /// npm, yarn, bun: `workspaces`; pnpm: the `packages` of a `pnpm-workspace.yaml` beside it.
    #[serde(rename = "package.json")]
    Node,
    /// TypeScript: `references`, followed transitively.
    #[serde(rename = "tsconfig.json")]
    TypeScript,
    /// Python: the workspaces of uv, rye and hatch, the path dependencies of poetry, pdm and uv, a lock file, or a virtual environment, which all
    /// projects below it share.
    #[serde(rename = "pyproject.toml")]
    Python,
}
