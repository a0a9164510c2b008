//! Prepares the start of a server: fills placeholders, creates cache folders, copies compile databases.
//!
//! It starts nothing. Invariant: it writes only below [`LaunchPaths::cache`]. [`refresh_copies`] may be called again
//! at any time.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::schema::ServerSpec;
use codeyard_base::atomic_file::{self, Durability};
use codeyard_files::gate::{FileRefusal, read_below};
use codeyard_model::uri::encode_path;

/// Largest compile database that is copied to a cache folder, in bytes.
const MAX_COPIED_BYTES: u64 = 256 * 1024 * 1024;

/// The folders that replace the placeholders.
#[derive(Debug, Clone)]
pub struct LaunchPaths {
    /// `{state}`: the state directory.
    pub state: PathBuf,
    /// `{root}`: the project root; `{rooturi}` is its file URI.
    pub root: PathBuf,
    /// `{cache}`: a folder for this server, version and project root alone. Two versions must not share one.
    pub cache: PathBuf,
    /// `{install}`: the folder of the installation, if codeyard installed the server.
    pub install: Option<PathBuf>,
    /// `{bin}`: the folder with the installation's programs.
    pub bin: Option<PathBuf>,
    /// `{checker}`: the program that the server runs for its diagnostics; empty if it is missing.
    pub checker: Option<PathBuf>,
}

/// How to start a server.
#[derive(Debug, Clone, PartialEq)]
pub struct LaunchConfig {
    /// The absolute path of the program.
    pub program: PathBuf,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    /// A folder to put at the front of the `PATH`.
    pub path_front: Option<PathBuf>,
    pub initialization_options: Option<Value>,
    /// Settings for `workspace/configuration` and `didChangeConfiguration`.
    pub settings: Option<Value>,
}

impl LaunchConfig {
    /// Creates the cache folders, makes the copies, and fills the placeholders. `args` and `env` come from the
    /// located program. An argument or value is left out when one of its placeholders has no value (`{install}` of a
    /// server found on the PATH).
    ///
    /// # Errors
    /// Errors of the file system, when the cache folder can't be written.
    pub fn prepare(
        server: &ServerSpec,
        program: &Path,
        args: &[String],
        env: &BTreeMap<String, String>,
        paths: &LaunchPaths,
    ) -> io::Result<Self> {
        for folder in server.quirks.cache_dirs.iter().map(String::as_str).chain([""]) {
            fs::create_dir_all(paths.cache.join(folder))?;
        }
        let copied = refresh_copies(server, paths)?;
        let copy_args: &[String] = if copied { &server.quirks.copy_args } else { &[] };
        let fill = |text: &String| paths.fill(text);
        let all_env = server.env.iter().chain(env);
        Ok(Self {
            program: program.into(),
            args: args.iter().chain(copy_args).filter_map(fill).collect(),
            path_front: create_shims(server, paths)?,
            env: all_env.filter_map(|(name, value)| Some((name.clone(), paths.fill(value)?))).collect(),
            initialization_options: server.initialization_options.as_ref().and_then(|value| paths.fill_value(value)),
            settings: server.settings.as_ref().and_then(|value| paths.fill_value(value)),
        })
    }
}

/// Copies the first usable file of `copy_to_cache` into the cache folder if its content changed, and removes the
/// copy when there is no such file any more. Returns whether there is a copy. Relative folders in a compile database
/// are made absolute, because they are relative to the original's folder.
///
/// # Errors
/// Errors of the file system, when the cache folder can't be written.
pub fn refresh_copies(server: &ServerSpec, paths: &LaunchPaths) -> io::Result<bool> {
    let sources = &server.quirks.copy_to_cache;
    let read = |path: PathBuf| match read_below(&paths.root, &path, MAX_COPIED_BYTES) {
        Ok(bytes) => Some((path, bytes)),
        Err(FileRefusal::Missing) => None,
        Err(why) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            tracing::warn!(file = name, error = %why, "a file of the project is not used");
            None
        }
    };
    let Some((source, bytes)) = sources.iter().map(|path| paths.root.join(path)).find_map(read) else {
        for name in sources.iter().filter_map(|path| Path::new(path).file_name()) {
            remove(&paths.cache.join(name))?;
        }
        return Ok(false);
    };
    let folder = source.parent().unwrap_or(&paths.root);
    let bytes = absolute_directories(bytes, folder);
    let target = paths.cache.join(source.file_name().unwrap_or_default());
    // The server could write there: whatever lies in its place is no reason to wait or to read more.
    let most = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if read_below(&paths.cache, &target, most).is_ok_and(|old| old == bytes) {
        return Ok(true);
    }
    atomic_file::replace_with(&target, Durability::Process, &bytes)?;
    Ok(true)
}

/// Creates failing replacements of programs that the server must not find, and returns their folder.
fn create_shims(server: &ServerSpec, paths: &LaunchPaths) -> io::Result<Option<PathBuf>> {
    if server.quirks.shims.is_empty() {
        return Ok(None);
    }
    let folder = paths.cache.join("shims");
    fs::create_dir_all(&folder)?;
    for name in &server.quirks.shims {
        let shim = folder.join(name);
        fs::write(&shim, "#!/bin/sh\nexit 1\n")?;
        fs::set_permissions(&shim, fs::Permissions::from_mode(0o755))?;
    }
    Ok(Some(folder))
}

fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// The same compile database with every relative `directory` made absolute. Other content stays unchanged.
fn absolute_directories(bytes: Vec<u8>, folder: &Path) -> Vec<u8> {
    let Ok(mut entries) = serde_json::from_slice::<Vec<serde_json::Map<String, Value>>>(&bytes) else { return bytes };
    let mut changed = false;
    for entry in &mut entries {
        let directory = entry.get("directory").and_then(Value::as_str).unwrap_or(".");
        if !Path::new(directory).is_absolute() {
            let absolute: PathBuf = folder.join(directory).components().collect();
            entry.insert("directory".into(), absolute.to_string_lossy().into());
            changed = true;
        }
    }
    if changed { serde_json::to_vec(&entries).unwrap_or(bytes) } else { bytes }
}

impl LaunchPaths {
    /// The text with its placeholders filled, in one pass; `None` if one of them has no value.
    pub fn fill(&self, text: &str) -> Option<String> {
        let uri = encode_path(&self.root);
        let placeholders: [(&str, Option<&Path>); 7] = [
            ("{rooturi}", Some(Path::new(&uri))),
            ("{state}", Some(&self.state)),
            ("{root}", Some(&self.root)),
            ("{cache}", Some(&self.cache)),
            ("{install}", self.install.as_deref()),
            ("{bin}", self.bin.as_deref()),
            ("{checker}", Some(self.checker.as_deref().unwrap_or(Path::new("")))),
        ];
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            filled.push_str(&rest[..open]);
            rest = &rest[open..];
            match placeholders.iter().find(|(name, _)| rest.starts_with(name)) {
                Some((name, path)) => {
                    filled.push_str(&(*path)?.to_string_lossy());
                    rest = &rest[name.len()..];
                }
                None => {
                    filled.push('{');
                    rest = &rest[1..];
                }
            }
        }
        filled.push_str(rest);
        Some(filled)
    }

    /// The value with the placeholders of all its strings filled. Members and items without a value are left out.
    pub fn fill_value(&self, value: &Value) -> Option<Value> {
        Some(match value {
            Value::String(text) => Value::String(self.fill(text)?),
            Value::Array(items) => items.iter().filter_map(|item| self.fill_value(item)).collect(),
            Value::Object(members) => {
                members.iter().filter_map(|(key, member)| Some((key.clone(), self.fill_value(member)?))).collect()
            }
            other => other.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, Mode, mkfifoat};
    use serde_json::json;

    use super::*;
    use crate::registry::schema::Registry;

    fn paths(base: &Path) -> LaunchPaths {
        let root = base.join("root");
        let cache = base.join("state/cache/k");
        fs::create_dir_all(root.join("build")).unwrap();
        let install = Some("/i".into());
        let bin = Some("/i/bin".into());
        LaunchPaths { state: base.join("state"), root, cache, install, bin, checker: None }
    }

    #[test]
    fn placeholders_are_filled_once_and_values_without_one_are_left_out() {
        let mut paths = paths(tempfile::tempdir().unwrap().path());
        paths.root = "/a{cache}".into();
        paths.cache = "/c".into();
        assert_eq!(paths.fill("x={root}/{cache}{}{other}").unwrap(), "x=/a{cache}//c{}{other}");
        let value = json!({"a": ["{bin}/x", 1], "b": {"c": "{install}", "d": true}});
        assert_eq!(paths.fill_value(&value).unwrap(), json!({"a": ["/i/bin/x", 1], "b": {"c": "/i", "d": true}}));
        (paths.install, paths.bin) = (None, None);
        assert_eq!(paths.fill_value(&value).unwrap(), json!({"a": [1], "b": {"d": true}}));
        assert_eq!(paths.fill("{bin}"), None);
        paths.root = "/a b/ü#%".into();
        assert_eq!(paths.fill("{rooturi}").unwrap(), "file:///a%20b/%C3%BC%23%25");
    }

    #[test]
    fn a_compile_database_is_copied_and_kept_up_to_date() {
        let base = tempfile::tempdir().unwrap();
        let paths = paths(base.path());
        let mut server = ServerSpec::default();
        server.quirks.copy_to_cache = vec!["compile_commands.json".into(), "build/compile_commands.json".into()];
        server.quirks.copy_args = vec!["--compile-commands-dir={cache}".into()];
        let server = &server;
        let start = || {
            let args = ["--background-index".to_string()];
            LaunchConfig::prepare(server, Path::new("/p/clangd"), &args, &BTreeMap::new(), &paths).unwrap()
        };
        let directory = || {
            let text = fs::read_to_string(paths.cache.join("compile_commands.json")).unwrap();
            serde_json::from_str::<Value>(&text).unwrap()[0]["directory"].as_str().unwrap().to_string()
        };
        let flag = format!("--compile-commands-dir={}", paths.cache.display());
        assert_eq!(start().args, ["--background-index"]);
        let in_build = paths.root.join("build/compile_commands.json");
        fs::write(&in_build, r#"[{"directory": "./", "file": "../a.c", "command": "cc a.c"}]"#).unwrap();
        assert_eq!(start().args, ["--background-index", &flag]);
        assert_eq!(directory(), paths.root.join("build").to_str().unwrap());
        let in_root = paths.root.join("compile_commands.json");
        fs::write(&in_root, r#"[{"directory": "/abs", "file": "a.c", "command": "cc a.c"}]"#).unwrap();
        assert!(refresh_copies(server, &paths).unwrap());
        assert_eq!(directory(), "/abs");
        fs::remove_file(in_root).unwrap();
        fs::remove_file(in_build).unwrap();
        assert_eq!(start().args, ["--background-index"]);
        assert!(!paths.cache.join("compile_commands.json").exists());
        assert_eq!(fs::read_dir(&paths.root).unwrap().count(), 1, "nothing but build is in the root");
    }

    #[test]
    fn a_copy_replaces_whatever_the_server_has_put_in_its_place() {
        let base = tempfile::tempdir().unwrap();
        let paths = paths(base.path());
        let mut server = ServerSpec::default();
        server.quirks.copy_to_cache = vec!["tool.json".into()];
        fs::create_dir_all(&paths.cache).unwrap();
        fs::write(paths.root.join("tool.json"), "{}").unwrap();
        let copy = paths.cache.join("tool.json");
        let outside = base.path().join("outside");
        fs::write(&outside, "kept").unwrap();
        let pipe = || mkfifoat(CWD, &copy, Mode::RWXU).unwrap();
        let huge = || fs::File::create(&copy).unwrap().set_len(1 << 40).unwrap();
        let links = ["/dev/zero", outside.to_str().unwrap()];
        let link = |at: usize| std::os::unix::fs::symlink(links[at], &copy).unwrap();
        for put in [&pipe as &dyn Fn(), &huge, &|| link(0), &|| link(1)] {
            fs::remove_file(&copy).ok();
            put();
            assert!(refresh_copies(&server, &paths).unwrap());
            assert!(fs::symlink_metadata(&copy).unwrap().is_file());
            assert_eq!(fs::read_to_string(&copy).unwrap(), "{}");
        }
        assert_eq!(fs::read_to_string(outside).unwrap(), "kept");
    }

    #[test]
    fn shims_fail_and_lie_in_the_cache() {
        let base = tempfile::tempdir().unwrap();
        let paths = paths(base.path());
        let server = &Registry::builtin().servers["rust-analyzer"];
        let launch = LaunchConfig::prepare(server, Path::new("/p/ra"), &[], &BTreeMap::new(), &paths).unwrap();
        let shims = launch.path_front.unwrap();
        assert!(shims.starts_with(&paths.cache));
        assert_ne!(fs::metadata(shims.join("rustup")).unwrap().permissions().mode() & 0o111, 0);
        let target = paths.cache.join("target").to_str().unwrap().to_string();
        assert_eq!(launch.initialization_options.unwrap()["cargo"]["targetDir"], target);
    }

    #[test]
    fn another_file_is_copied_unchanged() {
        let text = b"{ not json".to_vec();
        assert_eq!(absolute_directories(text.clone(), Path::new("/x")), text);
    }
}
