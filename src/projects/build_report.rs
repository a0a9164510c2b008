//! What the last build did that the operator allowed, as it is kept in a server's cache folder, for `doctor` and for the next start.
//!
//! Invariant: without an allowed build there is no report.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use codeyard_base::atomic_file::{self, Durability};
use codeyard_files::gate::read_below;
use serde_json::{Value, json};

use crate::limits::MAX_BUILD_FILE_BYTES;

/// The file in the cache folder.
const FILE: &str = "build-report.json";
/// The name of a compile database.
pub(crate) const DATABASE: &str = "compile_commands.json";
/// The folder of the build, in the cache folder.
pub(crate) const BUILD_FOLDER: &str = "build";

/// The last run of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildReport {
    pub root: PathBuf,
    /// The command with which a person can run it.
    pub command: String,
    /// When it ended, in seconds since 1970.
    pub ended_s: u64,
    /// How long it took, in seconds.
    pub took_s: u64,
    /// Why it failed. `None`: it didn't.
    pub failure: Option<String>,
    /// Whether it would end the same way as long as the build files are the same.
    pub is_repeatable: bool,
}

impl BuildReport {
    /// The reports of the builds of the project at `root`, in the cache folders `<cache>/<workspace>/<server>` of a state directory.
    /// Sorted, the last first.
    pub fn find(cache: &Path, root: &Path) -> Vec<Self> {
        find_in_folders(cache, root).into_iter().map(|(report, _)| report).collect()
    }

    /// Copies what the last build of the project at `root` left to the cache folder `target`, for
    /// [`RunBuild::Recorded`](crate::RunBuild::Recorded). Returns whether there was one.
    ///
    /// # Errors
    /// Errors of the file system.
    pub fn copy_last(cache: &Path, root: &Path, target: &Path) -> io::Result<bool> {
        let Some((_, folder)) = find_in_folders(cache, root).into_iter().next() else { return Ok(false) };
        fs::copy(folder.join(FILE), target.join(FILE))?;
        let database = Path::new(BUILD_FOLDER).join(DATABASE);
        // A build that failed may have left none.
        if folder.join(&database).is_file() {
            fs::create_dir_all(target.join(BUILD_FOLDER))?;
            fs::copy(folder.join(&database), target.join(&database))?;
        }
        Ok(true)
    }
}

/// The reports of the project at `root`, each with its cache folder; the last first.
fn find_in_folders(cache: &Path, root: &Path) -> Vec<(BuildReport, PathBuf)> {
    let children = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    // A kind of server may have a folder between that of the workspace and its own.
    let workspaces = children(cache);
    let servers: Vec<PathBuf> = workspaces.iter().flat_map(|folder| children(folder)).collect();
    let deeper: Vec<PathBuf> = servers.iter().flat_map(|folder| children(folder)).collect();
    let reports = servers.into_iter().chain(deeper).filter_map(|folder| Some((load(&folder)?.0, folder)));
    let mut own: Vec<(BuildReport, PathBuf)> = reports.filter(|(report, _)| report.root == root).collect();
    own.sort_by_key(|(report, _)| std::cmp::Reverse(report.ended_s));
    own
}

/// The report in a cache folder, and the stamp of the build files.
pub(crate) fn load(cache: &Path) -> Option<(BuildReport, Value)> {
    let value: Value =
        serde_json::from_slice(&read_below(cache, &cache.join(FILE), MAX_BUILD_FILE_BYTES).ok()?).ok()?;
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    let report = BuildReport {
        root: text("root")?.into(),
        command: text("command")?,
        ended_s: value["ended_s"].as_u64()?,
        took_s: value["took_s"].as_u64()?,
        failure: text("failure"),
        is_repeatable: value["is_repeatable"].as_bool()?,
    };
    Some((report, value["files"].clone()))
}

/// Writes the report and the stamp of the build files.
pub(crate) fn store(cache: &Path, report: &BuildReport, files: &Value) -> io::Result<()> {
    let value = json!({
        "root": report.root, "command": report.command, "ended_s": report.ended_s, "took_s": report.took_s,
        "failure": report.failure, "is_repeatable": report.is_repeatable, "files": files,
    });
    atomic_file::replace_with(&cache.join(FILE), Durability::Process, value.to_string().as_bytes())
}

/// Removes the report of a build that isn't allowed any more.
pub(crate) fn forget(cache: &Path) {
    // Mostly there is none.
    let _ = fs::remove_file(cache.join(FILE));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_found_by_their_project() {
        let folder = tempfile::tempdir().unwrap();
        let report = |root: &str, ended_s, failure: Option<&str>| BuildReport {
            root: root.into(),
            command: "make".into(),
            ended_s,
            took_s: 1,
            failure: failure.map(str::to_owned),
            is_repeatable: true,
        };
        for (at, one) in [report("/p", 1, None), report("/p", 5, Some("no")), report("/q", 9, None)].iter().enumerate()
        {
            let cache = folder.path().join(format!("w{at}/clangd"));
            fs::create_dir_all(&cache).unwrap();
            store(&cache, one, &json!([])).unwrap();
        }
        let found = BuildReport::find(folder.path(), Path::new("/p"));
        assert_eq!(found, [report("/p", 5, Some("no")), report("/p", 1, None)]);
        let last = folder.path().join("w1/clangd");
        fs::create_dir_all(last.join("build")).unwrap();
        fs::write(last.join("build/compile_commands.json"), "[1]").unwrap();
        let target = tempfile::tempdir().unwrap();
        assert!(BuildReport::copy_last(folder.path(), Path::new("/p"), target.path()).unwrap());
        assert_eq!(load(target.path()).unwrap().0.ended_s, 5);
        assert_eq!(fs::read_to_string(target.path().join("build/compile_commands.json")).unwrap(), "[1]");
        assert!(!BuildReport::copy_last(folder.path(), Path::new("/r"), target.path()).unwrap());
        forget(&last);
        assert_eq!(BuildReport::find(folder.path(), Path::new("/p")).len(), 1);
        assert_eq!(BuildReport::find(&folder.path().join("gone"), Path::new("/p")), []);
    }
}
