//! The three repositories, each with the language server that lists its symbols, and their queries.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};
use serde_json::json;

use codeyard_test_support::real_servers::{Package, build_folder, files_below};

/// One of the three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Repository {
    /// 880 files of Python, from PyPI.
    Django,
    /// 250 files of TypeScript, from npm.
    Rxjs,
    /// 110 files of C, from crates.io.
    Zstd,
}

/// Kind of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Sort {
    /// A whole unique name.
    Name,
    Part,
    /// Words of a comment.
    Doc,
    Error,
}

/// A query with its answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Question {
    pub repository: Repository,
    /// Kind of the query.
    pub sort: Sort,
    pub query: String,
    /// File of the answer.
    pub path: String,
    /// Line of the name, or of the message, from 1.
    pub line: u32,
    /// The symbol's name; empty for a message.
    pub name: String,
}

impl Repository {
    /// All repositories. The ranking weights were tuned on the first two; the third validates them.
    pub(crate) const ALL: [Self; 3] = [Self::Django, Self::Rxjs, Self::Zstd];

    /// Its language server.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Django => "ty",
            Self::Rxjs => "typescript",
            Self::Zstd => "clangd",
        }
    }

    /// File extensions of the queried files.
    pub(crate) fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Django => &["py"],
            Self::Rxjs => &["ts"],
            Self::Zstd => &["c", "h"],
        }
    }

    /// A copy of it at `target`.
    pub(crate) fn copy_to(self, target: &Path) {
        match self {
            Self::Rxjs => Package::Rxjs.copy_to(target),
            Self::Django => {
                copy(&fetched("django-5.2.8", django), target);
                fs::write(target.join("pyproject.toml"), "[project]\nname = \"django\"\nversion = \"5.2.8\"\n")
                    .unwrap();
            }
            Self::Zstd => {
                copy(&fetched("zstd-1.5.7", zstd), target);
                let sources =
                    files_below(target).into_iter().filter(|path| path.extension().is_some_and(|end| end == "c"));
                let entries: Vec<_> = sources
                    .map(|path| json!({"directory": target, "file": path, "arguments": ["cc", "-std=c99", "-c", path]}))
                    .collect();
                fs::write(target.join("compile_commands.json"), json!(entries).to_string()).unwrap();
            }
        }
    }
}

fn copy(from: &Path, to: &Path) {
    for path in files_below(from) {
        let target = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(&path, &target).unwrap();
    }
}

/// The sources of a package, fetched once into the build folder.
pub(crate) fn fetched(name: &str, fetch: fn(&Path) -> PathBuf) -> PathBuf {
    let all = build_folder().join("codeyard-packages");
    fs::create_dir_all(&all).unwrap();
    let lock = File::create(all.join(".lock")).unwrap();
    lock.lock().unwrap();
    let done = all.join(name);
    if !done.exists() {
        eprintln!("fetching {name}");
        let fresh = tempfile::tempdir_in(&all).unwrap();
        fs::rename(fetch(fresh.path()), &done).unwrap();
    }
    done
}

fn django(fresh: &Path) -> PathBuf {
    run(
        "python3",
        &["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "django==5.2.8"],
        fresh,
    );
    run("python3", &["-m", "zipfile", "-e", "django-5.2.8-py3-none-any.whl", "out"], fresh);
    let sources = fresh.join("sources");
    fs::create_dir(&sources).unwrap();
    fs::rename(fresh.join("out/django"), sources.join("django")).unwrap();
    sources
}

fn zstd(fresh: &Path) -> PathBuf {
    let manifest = "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n[lib]\npath = \"lib.rs\"\n\
                    [dependencies]\nzstd-sys = \"=2.1.2\"\n";
    fs::write(fresh.join("Cargo.toml"), manifest).unwrap();
    fs::write(fresh.join("lib.rs"), "").unwrap();
    run("cargo", &["vendor", "--quiet", "vendor"], fresh);
    fresh.join("vendor/zstd-sys/zstd/lib")
}

/// Runs a program that must succeed.
pub(crate) fn run(program: &str, args: &[&str], folder: &Path) {
    #[expect(clippy::disallowed_methods, reason = "tests fetch their packages with the registries' own clients")]
    let output = Command::new(program).args(args).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("{program} can't be started: {error}"));
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}
