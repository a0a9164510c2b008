//! Behaviour of server kinds that differs from what the protocol says, as the registry's entries describe it.
//!
//! Data only. What codeyard does about changes that a server misses is in `docs/internals/decisions/missed-changes.md`.

use serde::{Deserialize, Serialize};

use crate::text::LineEnds;

/// Callers that a server leaves out of `callHierarchy/incomingCalls`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnlistedCallers {
    /// Of the functions that have the same name in several programs it lists one.
    SameName,
    /// Code of its own languages' files that is in no function.
    TopLevel,
}

/// Behaviour of a server kind that the client must take into account.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quirks {
    /// Methods for which `$/cancelRequest` must not be sent.
    pub no_cancel: Vec<String>,
    /// It has no workspace symbols, so an answer without it is still complete.
    pub no_symbols: bool,
    /// It answers a workspace symbol request like the one before from a cache, whatever has changed. Another one is therefore sent before each.
    pub caches_symbols: bool,
    /// Its workspace symbols include names that a file only imports: they are left out.
    pub lists_imports: bool,
    /// Languages that it isn't asked about in workspace symbol requests.
    pub no_symbols_of: Vec<String>,
    /// Its workspace symbols begin where the declaration does, not at the name: they are moved to the name.
    pub symbols_at_declaration: bool,
    /// The most symbols that it returns for `workspace/symbol`. 0: unlimited.
    pub symbols_max: usize,
    /// It finds no symbols for names of fewer characters.
    pub symbols_min_chars: usize,
    /// Its workspace symbols include the macros of files that are or were open only: answers that lack others are marked.
    pub macros_when_opened: bool,
    /// Its references don't follow names through CommonJS (`exports`, `require`), although it knows their definitions: they are added.
    pub links_commonjs: bool,
    /// Callers that it leaves out, although it lists their references: they are added.
    pub callers_by_references: Option<UnlistedCallers>,
    /// Its answers depend on which documents are open.
    pub open_set_matters: bool,
    /// Of the documents that are opened before it is ready, it diagnoses only the last: none is opened until then.
    pub ignores_early_opens: bool,
    /// Its references leave out scripts whose names say nothing about their language, even open ones: they count as not known.
    pub ignores_scripts: bool,
    /// Keep one document of the project open as an anchor.
    pub anchor: bool,
    /// Keep one anchor per folder that holds one of these markers (tsconfig.json).
    pub anchor_markers: Vec<String>,
    /// What ends a line in the positions that it is sent, where the protocol says otherwise.
    pub lines_asked: LineEnds,
    /// The same in the positions of its answers.
    pub lines_answered: LineEnds,
    /// It reads files without a byte order mark, which others count as a column of the first line.
    pub strips_byte_order_mark: bool,
    /// Position encodings to offer. Empty: only utf-16.
    pub encodings: Vec<String>,
    /// Folders below `{cache}` that the server may write to. They are created before it starts.
    pub cache_dirs: Vec<String>,
    /// The server rejects `params: null`: omit `params` instead.
    pub omit_null_params: bool,
    /// An error that contains this text means that the server is broken and must be restarted.
    pub restart_on_error: Option<String>,
    /// Methods the server advertises but doesn't implement.
    pub unsupported: Vec<String>,
    /// The first of these files that exists in the project root (compile databases) is copied to `{cache}`, because
    /// the server writes beside it.
    pub copy_to_cache: Vec<String>,
    /// Arguments to add when such a copy exists.
    pub copy_args: Vec<String>,
    /// Programs that the server must not find: failing replacements are put at the front of its `PATH`.
    pub shims: Vec<String>,
    /// The server notices the effect of a changed header on files that aren't open only at a start, so it is
    /// restarted then.
    pub blind_to_headers: bool,
    /// The server pushes diagnostics with the document's version.
    pub push_versioned: bool,
    /// Its index follows opened documents instead of the disk. Changed files are therefore opened. At a server that pushes diagnostics, a
    /// change counts as indexed only when those of that version have been pushed.
    pub index_follows_open: bool,
    /// Changes of its files on disk that it doesn't notice, whatever it is notified of. It is restarted then.
    pub misses: Vec<MissedChange>,
    /// Globs of files whose changes it is notified of from its start, whatever it has registered for. For a server that registers for a folder
    /// only some time after it has read it.
    pub watched_from_start: Vec<String>,
    /// A push after a change is complete only after this many ms without another push.
    pub push_settle_ms: u64,
    /// The kind has no diagnostics.
    pub no_diagnostics: bool,
    /// Exit codes that count as clean after a shutdown.
    pub clean_exit_codes: Vec<i32>,
}

impl Quirks {
    /// Whether it finds no symbols by this name, because the name is too short.
    pub fn finds_no_symbols_named(&self, name: &str) -> bool {
        name.chars().count() < self.symbols_min_chars
    }
}

/// A change of a file on disk that a server doesn't notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MissedChange {
    Created,
    /// Its text is another one.
    Changed,
    Deleted,
}
