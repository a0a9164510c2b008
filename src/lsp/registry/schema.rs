//! The registry's entries as types: languages, servers, and everything that one server entry says.
//!
//! Data only. `loader` reads and merges it, `validation` checks it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The whole registry.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Registry {
    /// Languages by LSP language id.
    pub languages: BTreeMap<String, LanguageSpec>,
    /// Servers by kind.
    pub servers: BTreeMap<String, ServerSpec>,
}

/// How files of a language are told.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LanguageSpec {
    /// File name endings without the dot, lower case.
    pub extensions: Vec<String>,
    /// Whole file names, such as `Dockerfile`.
    pub file_names: Vec<String>,
}

/// What a server adds to its group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ServerRole {
    /// One of several alternatives, of which the first available one runs.
    #[default]
    Primary,
    /// Runs beside the primary one: diagnostics of its own, navigation only when the primary has nothing.
    Linter,
    /// Stands in for a language whose primary servers are all missing. What it answers is marked as that.
    Fallback,
}

/// One kind of language server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServerSpec {
    /// What it is, one line for people.
    pub description: String,
    /// LanguageSpec ids it serves.
    pub languages: Vec<String>,
    /// Servers of one group are alternatives (`python`, `typescript`); linters have a group of their own.
    pub group: String,
    /// Place among the alternatives of its group, the lowest first.
    pub priority: u32,
    /// Whether it is an alternative or adds to one.
    pub role: ServerRole,
    /// Off unless the user turns it on.
    pub disabled: bool,
    /// Program and arguments. `{state}`, `{root}`, `{rooturi}`, `{cache}`, `{bin}` and `{install}` are replaced,
    /// here and in environment, options and settings (see `prepare`).
    pub command: Vec<String>,
    /// The same program without the package's wrapper: paths inside the install folder (globs allowed), the program first,
    /// then arguments that precede those of `command`. Used when all of them are there, else `command`'s program is.
    pub direct: Vec<String>,
    /// Whether this entry has been run against the real server; otherwise it is only written down.
    pub tested: bool,
    /// Arguments that make the program print its version and exit with 0; empty: not probed.
    pub version_args: Vec<String>,
    /// Where it comes from.
    pub install: Option<InstallSource>,
    /// Environment added for it.
    pub env: BTreeMap<String, String>,
    /// LSP methods that it is known to answer and others of its language may not: `textDocument/implementation`,
    /// `textDocument/prepareCallHierarchy`. For telling who would answer; what runs says itself what it can.
    pub offers: Vec<String>,
    /// How its project root is found.
    pub root: RootRule,
    /// `initializationOptions`.
    pub initialization_options: Option<serde_json::Value>,
    /// Settings, answered to `workspace/configuration` by section and sent by `didChangeConfiguration`.
    pub settings: Option<serde_json::Value>,
    /// How it is known to be ready.
    pub readiness: ReadinessRule,
    /// What must be known of its behaviour.
    pub quirks: Quirks,
}

/// A package to install a server from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "from", rename_all = "lowercase", deny_unknown_fields)]
pub enum InstallSource {
    /// From PyPI, into a folder of the state directory. Packages are pinned, `name==version`.
    Pypi {
        /// Requirements for pip.
        packages: Vec<String>,
    },
    /// From npm, into a folder of the state directory. Packages are pinned, `name@version`.
    Npm {
        /// Packages for npm.
        packages: Vec<String>,
    },
    /// From crates.io with `cargo install`. Packages are pinned, `name@version`.
    Cargo {
        /// Crates for `cargo install`.
        packages: Vec<String>,
    },
    /// Not ours to install: what to tell the user to do.
    Manual {
        /// The instruction for the user.
        hint: String,
    },
    /// A part of this program: the arguments of `command` are its own.
    Builtin {},
}

/// How a project root is found: upwards from a file, never above the workspace root that holds it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RootRule {
    /// Files or folders (globs allowed in the last part) that mark a project root. `name ~ text` asks for a file with a
    /// line that begins with the text.
    pub markers: Vec<String>,
    /// Markers of a whole (`Cargo.toml ~ [workspace]`, `go.work`, a lock file): one of these wins over `markers`; which of
    /// several, `pick` says.
    pub workspace_markers: Vec<String>,
    /// Manifests that name the projects of a whole, read by their own tool's rules. Where one names the file's project the
    /// whole is the project root; of several, and of `workspace_markers`, the outermost. A list in which the project is
    /// missing takes the `workspace_markers` beside it away from it.
    pub manifests: Vec<Manifest>,
    /// Which marker counts.
    pub pick: RootPick,
    /// Without any marker the server isn't started (default: the workspace root is the project root).
    pub required: bool,
    /// Files or folders whose presence says that another server is meant (deno.json for TypeScript).
    pub excluded_by: Vec<String>,
}

/// Which of several markers upwards is the project root.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
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

/// How a server is known to have read the workspace. All given conditions must hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReadinessRule {
    /// `$/progress` tokens or titles (prefix match) that mean loading while they run.
    pub progress: Vec<String>,
    /// Such progress is expected to begin within this many ms after `initialized` (and, where `after_open`, after the first
    /// `didOpen`); without one by then the server counts as ready. 0: nothing is expected.
    pub expect_within_ms: u64,
    /// The wait counts from the first opened document, because the server loads only then.
    pub after_open: bool,
    /// No relevant progress for this long means ready: progress that ends and begins again.
    pub settle_ms: u64,
    /// `experimental/serverStatus` with `quiescent: true` says ready.
    pub server_status: bool,
    /// A `window/logMessage` with this text says ready.
    pub log_message: Option<String>,
    /// A server-to-client request or notification of this method says ready.
    pub method: Option<String>,
    /// A progress token that hasn't ended counts as ended after this many ms without a report; 0: 30000.
    pub token_limit_ms: u64,
    /// Ready at the latest after this many ms without any sign of progress; 0: 120000.
    pub limit_ms: u64,
}

/// Behaviour of a server kind that the client must know.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    /// Methods for which `$/cancelRequest` must not be sent.
    pub no_cancel: Vec<String>,
    /// It knows no symbols of a workspace, so that nobody misses it there.
    pub no_symbols: bool,
    /// Languages whose files it isn't asked about in questions about the whole workspace.
    pub no_symbols_of: Vec<String>,
    /// The most symbols that it names in an answer to `workspace/symbol`; 0: as many as there are.
    pub symbols_max: usize,
    /// Its answers depend on which documents are open.
    pub open_set_matters: bool,
    /// Keep one document of the project open as an anchor.
    pub anchor: bool,
    /// An anchor per folder that holds one of these markers (tsconfig.json).
    pub anchor_markers: Vec<String>,
    /// Position encodings to offer; empty: utf-16 only.
    pub encodings: Vec<String>,
    /// Folders the server may write to, below `{cache}`; made before it starts.
    pub cache_dirs: Vec<String>,
    /// `params: null` is refused: leave it out.
    pub omit_null_params: bool,
    /// A message in an error that means the server is broken and must be restarted.
    pub restart_on_error: Option<String>,
    /// Methods the server advertises but doesn't implement.
    pub unsupported: Vec<String>,
    /// A copy of the first of these files of the project root that exists (compile databases) is put in `{cache}`, because
    /// the server writes beside it.
    pub copy_to_cache: Vec<String>,
    /// Arguments added when such a copy was made.
    pub copy_args: Vec<String>,
    /// Names of programs that the server must not find: failing stand-ins are put in front of its `PATH`.
    pub shims: Vec<String>,
    /// What a changed header means for files that aren't open is seen at the next start only: the server is replaced then.
    pub blind_to_headers: bool,
    /// The server pushes diagnostics with the document's version.
    pub push_versioned: bool,
    /// Its index of the project follows opened documents, not the disk: changed files are opened, and what it was sent
    /// counts only once the diagnostics of that version have been pushed.
    pub index_follows_open: bool,
    /// A push that follows a sync is only complete after this many ms of quiet.
    pub push_settle_ms: u64,
    /// The kind gives no diagnostics.
    pub no_diagnostics: bool,
    /// Exit codes that count as clean after a shutdown.
    pub clean_exit_codes: Vec<i32>,
}

/// A kind of manifest, by its file's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub enum Manifest {
    /// Cargo's: `[workspace]` with `members` and `exclude`, and `package.workspace`, which points at one.
    #[serde(rename = "Cargo.toml")]
    Cargo,
    /// Go's list of modules that are used together.
    #[serde(rename = "go.work")]
    Go,
    /// `workspaces`, or the `packages` of a `pnpm-workspace.yaml` beside it.
    #[serde(rename = "package.json")]
    Node,
    /// TypeScript's `references`, followed from configuration to configuration.
    #[serde(rename = "tsconfig.json")]
    TypeScript,
}
