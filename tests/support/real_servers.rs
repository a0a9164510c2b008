//! Real language servers and real code for the tests, fetched once into the build folder.
//!
//! The product's installer fetches the servers; the usual clients of the package registries fetch the code. All versions are
//! pinned. None of it is committed or changed after the fetch: tests work on copies.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use codeyard_lsp::install::{InstallProgress, InstallStep, Installer};
use codeyard_lsp::registry::Registry;

/// Servers that the tests need.
pub const KINDS: [&str; 5] = ["ty", "ruff", "typescript", "clangd", "typescript-language-server"];

/// The servers directory, with [`KINDS`] in it.
pub fn servers_dir() -> &'static Path {
    static READY: OnceLock<PathBuf> = OnceLock::new();
    READY.get_or_init(|| {
        let folder = build_folder().join("codeyard-servers");
        let kinds = KINDS.map(String::from);
        Installer::with_servers_dir(&folder)
            .install(&Registry::builtin(), &kinds, &print_progress)
            .unwrap_or_else(|error| panic!("the language servers can't be installed: {error}"));
        folder
    })
}

fn print_progress(progress: InstallProgress) {
    if !matches!(progress.step, InstallStep::AlreadyThere { .. }) {
        eprintln!("{}: {:?} after {} s", progress.kind, progress.step, progress.elapsed.as_secs());
    }
}

/// Parent of this profile's build folder; it holds the files that tests fetch.
pub fn build_folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let test = std::env::current_exe().expect("the test's program");
        // The test is in the folder `deps` of its profile.
        test.ancestors().nth(3).expect("the build folder").to_owned()
    })
}

/// Packages of real code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Package {
    /// 22 files of Python.
    Click,
    /// 250 files of TypeScript.
    Rxjs,
    /// 10 files of C and their headers.
    Lz4,
}

impl Package {
    /// A fresh copy of its sources at `target`, with the project file that its language server requires.
    pub fn copy_to(self, target: &Path) {
        copy_tree(&self.fetched(), target);
        match self {
            Self::Click => write(&target.join("pyproject.toml"), "[project]\nname = \"click\"\nversion = \"8.5.1\"\n"),
            Self::Rxjs => write(&target.join("tsconfig.json"), TSCONFIG),
            Self::Lz4 => write(&target.join("compile_commands.json"), &compile_database(target)),
        }
    }

    fn fetched(self) -> PathBuf {
        let name = match self {
            Self::Click => "click-8.5.1",
            Self::Rxjs => "rxjs-7.8.2",
            Self::Lz4 => "lz4-0.6.5",
        };
        let all = build_folder().join("codeyard-packages");
        let done = all.join(name);
        fs::create_dir_all(&all).expect("the build folder can be written");
        let lock = File::create(all.join(".lock")).expect("the build folder can be written");
        lock.lock().expect("a lock");
        if !done.exists() {
            eprintln!("fetching {name}");
            let fresh = tempfile::tempdir_in(&all).expect("a folder");
            let sources = self.fetch(fresh.path());
            fs::rename(sources, &done).expect("one file system");
        }
        done
    }

    /// Downloads and unpacks into `fresh`; returns the folder of the sources.
    fn fetch(self, fresh: &Path) -> PathBuf {
        match self {
            Self::Click => {
                let args = ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "click==8.5.1"];
                run("python3", &args, fresh);
                run("python3", &["-m", "zipfile", "-e", "click-8.5.1-py3-none-any.whl", "out"], fresh);
                let sources = fresh.join("sources");
                fs::create_dir(&sources).expect("a folder");
                fs::rename(fresh.join("out/click"), sources.join("click")).expect("the wheel holds click");
                sources
            }
            Self::Rxjs => {
                run("npm", &["pack", "--silent", "rxjs@7.8.2"], fresh);
                run("tar", &["xzf", "rxjs-7.8.2.tgz"], fresh);
                for name in fs::read_dir(fresh.join("package/src")).expect("sources").flatten() {
                    if name.file_name().to_string_lossy().starts_with("tsconfig") {
                        fs::remove_file(name.path()).expect("a file");
                    }
                }
                fresh.join("package/src")
            }
            Self::Lz4 => {
                run("npm", &["pack", "--silent", "lz4@0.6.5"], fresh);
                run("tar", &["xzf", "lz4-0.6.5.tgz"], fresh);
                let sources = fresh.join("sources");
                fs::create_dir(&sources).expect("a folder");
                for part in ["lib", "programs"] {
                    fs::rename(fresh.join("package/deps/lz4").join(part), sources.join(part)).expect("lz4's sources");
                }
                sources
            }
        }
    }
}

const TSCONFIG: &str = r#"{"compilerOptions": {"target": "es2020", "module": "esnext", "moduleResolution": "bundler", "strict": true,
"lib": ["es2020", "dom"], "types": [], "noEmit": true}, "include": ["**/*.ts"]}"#;

fn compile_database(root: &Path) -> String {
    let sources = files_below(root).into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "c"));
    let entries = sources.map(|path| {
        let file = path.strip_prefix(root).expect("below").to_string_lossy().into_owned();
        serde_json::json!({"directory": root, "file": file,
            "arguments": ["cc", "-std=c99", "-Wall", "-Ilib", "-Iprograms", "-DXXH_NAMESPACE=LZ4_", "-c", file]})
    });
    serde_json::Value::Array(entries.collect()).to_string()
}

/// A fresh copy of a sample workspace at `target`.
pub fn copy_sample(name: &str, target: &Path) {
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workspaces").join(name), target);
}

/// All files in a folder and its subfolders, sorted, without `.git`.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.expect("an entry").path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != ".git") {
                waiting.push(path);
            } else if path.is_file() {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Copies a folder with all that is below it.
pub fn copy_tree(from: &Path, to: &Path) {
    for path in files_below(from) {
        let target = to.join(path.strip_prefix(from).expect("below"));
        fs::create_dir_all(target.parent().expect("a folder")).expect("a folder");
        fs::copy(&path, &target).expect("a copy");
    }
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).expect("a file");
}

fn run(program: &str, args: &[&str], folder: &Path) {
    #[expect(clippy::disallowed_methods, reason = "tests fetch their packages with the registries' own clients")]
    let output = Command::new(program).args(args).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("{program} can't be started: {error}"));
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}
