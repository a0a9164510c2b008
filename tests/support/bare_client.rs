//! The parts of a client of a bare language server that tests and benchmarks share: how the server is started, what it is told of its client,
//! and the replies to its requests.
//!
//! It uses nothing of the product's LSP client, only the data of the registry (program, options, settings). How messages travel is not here:
//! tests wait for one answer after the other, benchmarks have many requests in flight.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use codeyard_lsp::install::{Installer, ProgramStatus};
use codeyard_lsp::registry::{LaunchConfig, LaunchPaths, Registry, ServerSpec};
use serde_json::{Value, json};

/// Why a server can't be started.
#[derive(Debug)]
pub enum LaunchFailure {
    /// Its program is missing or broken.
    Missing(String),
    /// Its cache can't be written.
    Cache(std::io::Error),
}

/// How a server is started.
pub struct BareLaunch {
    pub server: ServerSpec,
    pub config: LaunchConfig,
    pub cache: PathBuf,
}

impl BareLaunch {
    /// The registry's server of this kind for `root`, with its cache below `folder`.
    ///
    /// # Errors
    /// See [`LaunchFailure`].
    pub fn prepare(kind: &str, root: &Path, installer: &Installer, folder: &Path) -> Result<Self, LaunchFailure> {
        let registry = Registry::builtin();
        let missing = |what: String| LaunchFailure::Missing(format!("{kind}: {what}"));
        let mut server = registry.servers.get(kind).ok_or_else(|| missing("no such kind".to_owned()))?.clone();
        if kind == "clangd" {
            // It would write its index beside the database, into the repository.
            server.quirks.copy_to_cache = vec!["compile_commands.json".into(), "build/compile_commands.json".into()];
            server.quirks.copy_args = vec!["--compile-commands-dir={cache}".into()];
        }
        let program = match installer.locate(kind, &server, None) {
            ProgramStatus::Ready(program) => program,
            ProgramStatus::NotInstalled { command } => return Err(missing(command)),
            ProgramStatus::Broken { why, command } => return Err(missing(format!("{why}; {command}"))),
        };
        let paths = LaunchPaths {
            state: folder.into(),
            root: root.into(),
            cache: folder.join("cache"),
            install: program.install,
            bin: program.bin,
            checker: program.checker,
        };
        let config = LaunchConfig::prepare(&server, &program.program, &program.args, &program.env, &paths)
            .map_err(LaunchFailure::Cache)?;
        Ok(Self { server, config, cache: paths.cache })
    }
}

/// The parameters of `initialize`. `encodings` are offered in this order.
pub fn initialize_params(root: &Path, uri: &str, options: Option<Value>, encodings: &[&str]) -> Value {
    let dynamic = json!({"dynamicRegistration": true});
    let linked = json!({"dynamicRegistration": true, "linkSupport": true});
    let kinds: Vec<u8> = (1..=26).collect();
    let capabilities = json!({
        "general": {"positionEncodings": encodings},
        "workspace": {"configuration": true, "workspaceFolders": true, "didChangeConfiguration": dynamic,
            "didChangeWatchedFiles": {"dynamicRegistration": true, "relativePatternSupport": true},
            "symbol": {"dynamicRegistration": true, "symbolKind": {"valueSet": kinds}},
            "diagnostics": {"refreshSupport": true}},
        "textDocument": {
            "synchronization": {"dynamicRegistration": true, "didSave": true},
            "definition": linked,
            "references": dynamic,
            "implementation": linked,
            "callHierarchy": dynamic,
            "hover": {"dynamicRegistration": true, "contentFormat": ["markdown", "plaintext"]},
            "documentSymbol": {"dynamicRegistration": true, "hierarchicalDocumentSymbolSupport": true,
                "symbolKind": {"valueSet": kinds}, "tagSupport": {"valueSet": [1]}},
            "publishDiagnostics": {"versionSupport": true, "relatedInformation": true, "tagSupport": {"valueSet": [1, 2]}},
            "diagnostic": {"dynamicRegistration": true, "relatedDocumentSupport": true}},
        "window": {"workDoneProgress": true},
    });
    let mut params = json!({"processId": std::process::id(), "rootUri": uri, "rootPath": root,
        "workspaceFolders": [{"uri": uri, "name": "root"}], "capabilities": capabilities});
    if let Some(options) = options {
        params["initializationOptions"] = options;
    }
    params
}

/// The result of a server's request.
pub fn result_for(method: &str, params: &Value, root_uri: &str, settings: &Value) -> Value {
    let setting = |item: &Value| {
        let section = item["section"].as_str().unwrap_or_default();
        let walked = section.split('.').try_fold(settings, |value, key| value.get(key));
        match section {
            "" => settings.clone(),
            section => settings.get(section).or(walked).cloned().unwrap_or(Value::Null),
        }
    };
    match method {
        "workspace/configuration" => params["items"].as_array().into_iter().flatten().map(setting).collect(),
        "workspace/workspaceFolders" => json!([{"uri": root_uri, "name": "root"}]),
        _ => Value::Null,
    }
}

/// Updates the progress that a server is reporting by one `$/progress`.
pub fn note_progress(running: &mut HashSet<String>, params: &Value) {
    let token = params["token"].to_string();
    match params["value"]["kind"].as_str() {
        Some("begin") => drop(running.insert(token)),
        Some("end") => drop(running.remove(&token)),
        _ => {}
    }
}
