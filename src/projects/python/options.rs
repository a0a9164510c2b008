//! How each server of Python is told where modules are: the search paths and the virtual environment.
//!
//! Each server reads its own section of the settings and ignores the others. Observed with the versions that the registry installs: ty and
//! basedpyright find `.venv` themselves, pyright finds none, pyrefly finds `.venv`, `venv` and `env`, zuban finds every folder with a
//! `pyvenv.cfg`, jedi and python-lsp-server find none. All but ty and zuban run the interpreter of the environment to learn its paths.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use codeyard_base::digest::sha256;
use codeyard_lsp::registry::{DiskFiles, MarkerFiles, ProjectInference};
use serde_json::{Value, json};

use crate::prepare::{PreparedProject, ProjectRequest};

/// The configuration of pyrefly in the cache folder.
const PYREFLY_FILE: &str = "pyrefly.toml";
/// Folders that pyrefly leaves out by default, at any depth. Its defaults count only where its configuration is.
const PYREFLY_EXCLUDED: [&str; 4] = ["node_modules", "__pycache__", "site-packages", ".[!/.]*"];

/// What a server is told.
#[derive(Debug, Default)]
pub(super) struct PythonOptions {
    /// Folders besides the root that modules are imported from, sorted.
    pub(super) folders: BTreeSet<PathBuf>,
    /// The virtual environment.
    pub(super) environment: Option<PathBuf>,
}

impl PythonOptions {
    /// What a start needs. A project that configures its server (`is_configured`) isn't told an environment that it may have chosen itself.
    ///
    /// # Errors
    /// Errors of the file system, when the cache folder can't be written.
    pub(super) fn prepare(
        &self,
        request: &ProjectRequest<'_>,
        inference: ProjectInference,
        is_configured: bool,
    ) -> io::Result<PreparedProject> {
        let mut prepared = PreparedProject::default();
        if is_configured {
            return Ok(prepared);
        }
        let mut settings = json!({});
        if !self.folders.is_empty() {
            merge(&mut settings, self.search_paths());
            if inference == ProjectInference::PythonConfiguration {
                let text = self.pyrefly_configuration(request.root);
                let path = request.cache.join(PYREFLY_FILE);
                write_if_changed(&path, &text)?;
                prepared.digest = sha256(text.as_bytes());
                merge(&mut settings, json!({"python": {"pyrefly": {"configPath": path}}}));
            }
        }
        if let Some((folder, interpreter)) = self.interpreter() {
            merge(&mut settings, interpreter_settings(&folder, &interpreter));
        }
        let jedi = self.jedi_options();
        prepared.initialization_options = (!is_empty(&jedi)).then(|| json!({"workspace": jedi}));
        prepared.settings = (!is_empty(&settings)).then_some(settings);
        Ok(prepared)
    }

    fn search_paths(&self) -> Value {
        let folders = &self.folders;
        let analysis = json!({"analysis": {"extraPaths": folders}});
        json!({
            "ty": {"configuration": {"environment": {"extra-paths": folders}}},
            "python": analysis,
            "basedpyright": analysis,
            "pylsp": {"plugins": {"jedi": {"extra_paths": folders}}},
        })
    }

    /// The environment and its interpreter; `None` if it can't be used on this system.
    fn interpreter(&self) -> Option<(PathBuf, PathBuf)> {
        let folder = self.environment.clone()?;
        // A link to a Python that isn't there comes from another system.
        let interpreter = folder.join("bin/python");
        DiskFiles.exists(&interpreter).then_some((folder, interpreter))
    }

    fn jedi_options(&self) -> Value {
        let mut options = json!({});
        if !self.folders.is_empty() {
            options["extraPaths"] = json!(self.folders);
        }
        if let Some((_, interpreter)) = self.interpreter() {
            options["environmentPath"] = json!(interpreter);
        }
        options
    }

    /// A configuration of pyrefly for a project that has none. It stands in another folder, so all paths are absolute.
    fn pyrefly_configuration(&self, root: &Path) -> String {
        let below = |pattern: &str| format!("{}/**/{pattern}", glob_escaped(root));
        let mut excluded: Vec<String> = PYREFLY_EXCLUDED.iter().map(|name| below(&format!("{name}/**"))).collect();
        excluded.extend(self.environment.as_ref().map(|folder| format!("{}/**", glob_escaped(folder))));
        let mut table = toml::Table::new();
        let mut put = |key: &str, list: Vec<String>| {
            table.insert(key.into(), toml::Value::Array(list.into_iter().map(toml::Value::String).collect()));
        };
        put("project-includes", vec![below("*.py*")]);
        put("project-excludes", excluded);
        let own = [root.to_path_buf(), root.join("src")];
        let search: Vec<String> = self.folders.iter().chain(&own).map(|folder| folder.display().to_string()).collect();
        put("search-path", search);
        if let Some((_, interpreter)) = self.interpreter() {
            let interpreter = interpreter.display().to_string();
            table.insert("python-interpreter-path".into(), toml::Value::String(interpreter));
        }
        table.to_string()
    }
}

/// The settings that name an environment.
fn interpreter_settings(folder: &Path, interpreter: &Path) -> Value {
    let mut settings = json!({
        "python": {"pythonPath": interpreter},
        "pylsp": {"plugins": {"jedi": {"environment": interpreter}}},
    });
    if !folder.ends_with(".venv") {
        merge(&mut settings, json!({"ty": {"configuration": {"environment": {"python": folder}}}}));
    }
    settings
}

/// A path as a glob that matches only itself.
fn glob_escaped(path: &Path) -> String {
    let mut escaped = String::new();
    for c in path.display().to_string().chars() {
        match c {
            '*' | '?' | '[' | ']' => {
                escaped.push('[');
                escaped.push(c);
                escaped.push(']');
            }
            _ => escaped.push(c),
        }
    }
    escaped
}

fn write_if_changed(path: &Path, text: &str) -> io::Result<()> {
    if std::fs::read_to_string(path).is_ok_and(|before| before == text) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, text)
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(serde_json::Map::is_empty)
}

fn merge(into: &mut Value, value: Value) {
    match (into, value) {
        (Value::Object(into), Value::Object(members)) => {
            for (key, value) in members {
                merge(into.entry(key).or_insert_with(|| json!({})), value);
            }
        }
        (into, value) => *into = value,
    }
}
