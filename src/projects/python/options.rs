//! The settings that give each server of Python the search paths and the virtual environment.
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

use crate::changed_file::write_if_changed;
use crate::prepare::{PreparedProject, ProjectRequest};

/// The configuration of pyrefly in the cache folder.
const PYREFLY_FILE: &str = "pyrefly.toml";
/// Folders that pyrefly leaves out by default, at any depth. Its defaults count only where its configuration is.
const PYREFLY_EXCLUDED: [&str; 4] = ["node_modules", "__pycache__", "site-packages", ".[!/.]*"];

/// The settings of a server.
#[derive(Debug, Default)]
pub(super) struct PythonOptions {
    /// Folders besides the root that modules are imported from, sorted.
    pub(super) folders: BTreeSet<PathBuf>,
    pub(super) environment: Option<PathBuf>,
}

impl PythonOptions {
    /// What a start needs.
    ///
    /// # Errors
    /// Errors of the file system, when the cache folder can't be written.
    pub(super) fn prepare(
        &self,
        request: &ProjectRequest<'_>,
        inference: ProjectInference,
    ) -> io::Result<PreparedProject> {
        let mut prepared = PreparedProject::default();
        let folders = (!self.folders.is_empty()).then_some(&self.folders);
        let mut configuration = None;
        if folders.is_some() && inference == ProjectInference::PythonConfiguration {
            let text = self.pyrefly_configuration(request.root);
            let path = request.cache.join(PYREFLY_FILE);
            write_if_changed(&path, &text)?;
            prepared.digest = sha256(text.as_bytes());
            configuration = Some(path);
        }
        let interpreter = self.interpreter();
        // ty finds `.venv` itself.
        let environment =
            self.environment.as_ref().filter(|folder| interpreter.is_some() && !folder.ends_with(".venv"));
        let settings = json!({
            "ty": {"configuration": {"environment": {"extra-paths": folders, "python": environment}}},
            "python": {
                "pythonPath": interpreter,
                "analysis": {"extraPaths": folders},
                "pyrefly": {"configPath": configuration},
            },
            "basedpyright": {"analysis": {"extraPaths": folders}},
            "pylsp": {"plugins": {"jedi": {"extra_paths": folders, "environment": interpreter}}},
        });
        let jedi = json!({"workspace": {"extraPaths": folders, "environmentPath": interpreter}});
        prepared.settings = without_nulls(settings);
        prepared.initialization_options = without_nulls(jedi);
        Ok(prepared)
    }

    /// The interpreter of the environment; `None` if it can't be used on this system.
    fn interpreter(&self) -> Option<PathBuf> {
        // A link to a Python that isn't there comes from another system.
        self.environment.as_ref().map(|folder| folder.join("bin/python")).filter(|path| DiskFiles.exists(path))
    }

    /// A configuration of pyrefly for a project that has none. It stands in another folder, so all paths are absolute.
    fn pyrefly_configuration(&self, root: &Path) -> String {
        let below = |pattern: &str| format!("{}/**/{pattern}", glob_of(root));
        let mut excluded: Vec<String> = PYREFLY_EXCLUDED.iter().map(|name| below(&format!("{name}/**"))).collect();
        excluded.extend(self.environment.as_ref().map(|folder| format!("{}/**", glob_of(folder))));
        let mut table = toml::Table::new();
        let mut put = |key: &str, list: Vec<String>| {
            table.insert(key.into(), toml::Value::Array(list.into_iter().map(toml::Value::String).collect()));
        };
        put("project-includes", vec![below("*.py*")]);
        put("project-excludes", excluded);
        let own = [root.to_path_buf(), root.join("src")];
        let search: Vec<String> = self.folders.iter().chain(&own).map(|folder| folder.display().to_string()).collect();
        put("search-path", search);
        if let Some(interpreter) = self.interpreter() {
            let interpreter = interpreter.display().to_string();
            table.insert("python-interpreter-path".into(), toml::Value::String(interpreter));
        }
        table.to_string()
    }
}

/// A path as a glob that matches only itself.
fn glob_of(path: &Path) -> String {
    globset::escape(&path.display().to_string())
}

/// A value without nulls, and without objects that hold nothing else.
fn without_nulls(value: Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Object(members) => {
            let kept = members.into_iter().filter_map(|(key, value)| Some((key, without_nulls(value)?)));
            let kept: serde_json::Map<String, Value> = kept.collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        value => Some(value),
    }
}
