//! The repository to measure on: one of the user's, a public one that is fetched once with the client of its registry, or a generated
//! one.
//!
//! Invariants: a fetched repository is copied before use, except the kernel, which is only read; nothing is written into the user's
//! repository.

use std::fs;
use std::path::{Path, PathBuf};

use crate::args::CorpusName;
use crate::process::{Scratch, run_tool};
use crate::questions::SourcePosition;
use codeyard_cli::Failure;
use codeyard_lsp::install::Installer;
use codeyard_lsp::registry::Registry;

const DJANGO: &str = "5.2.19";
const RXJS: &str = "7.8.2";
const ZSTD: &str = "2.1.2";
const LINUX: &str = "linux-source-6.1";
/// Folders without sources of the repository itself.
const PASSED_OVER: [&str; 6] = [".git", "node_modules", "target", ".venv", "__pycache__", "dist"];
/// Most files that are read.
const MAX_FILES: usize = 20_000;
const TSCONFIG: &str = r#"{"compilerOptions": {"target": "es2020", "module": "esnext", "moduleResolution": "bundler", "strict": true,
"lib": ["es2020", "dom"], "types": [], "noEmit": true}, "include": ["**/*.ts"]}"#;

/// A language that can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Language {
    /// The kind of its server.
    pub kind: &'static str,
    pub endings: &'static [&'static str],
    /// Language id of opened documents.
    pub id: &'static str,
}

impl Language {
    /// Whether its server indexes the whole project in the background, after its first answers.
    pub(crate) fn indexes(&self) -> bool {
        self.kind == "clangd"
    }
}

/// The languages, in the order in which they are looked for.
pub(crate) const LANGUAGES: [Language; 3] = [
    Language { kind: "ty", endings: &["py"], id: "python" },
    Language { kind: "typescript", endings: &["ts"], id: "typescript" },
    Language { kind: "clangd", endings: &["c", "h"], id: "c" },
];

/// A repository to measure on.
#[derive(Debug, Clone)]
pub(crate) struct Corpus {
    /// Name in the tables.
    pub name: String,
    /// Canonical path of the root.
    pub root: PathBuf,
    pub language: Language,
    /// Its source files, sorted.
    pub files: Vec<PathBuf>,
}

impl Corpus {
    /// A repository of the user. `kind` selects the language; without it, the language with the most files. If no language server is
    /// needed, the repository may have no files of a known language.
    pub(crate) fn of_path(path: &Path, kind: Option<&str>, needs_server: bool) -> Result<Self, Failure> {
        let root = path.canonicalize();
        let root = root.map_err(|error| {
            Failure::missing(format!("cannot read {}: {error}; pass the path of a repository", path.display()))
        })?;
        let all = files_below(&root);
        let of = |language: &Language| sources(&all, language);
        let wanted = LANGUAGES.iter().filter(|language| kind.is_none_or(|kind| kind == language.kind));
        let most = wanted.max_by_key(|language| of(language).len()).filter(|language| !of(language).is_empty());
        let most = most.or(LANGUAGES.first().filter(|_| !needs_server));
        let language = *most.ok_or_else(|| {
            let kinds: Vec<&str> = LANGUAGES.iter().map(|language| language.kind).collect();
            Failure::missing(format!("{}: no files for {}; name another folder", root.display(), kinds.join(", ")))
        })?;
        let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { name, files: of(&language), root, language })
    }

    /// A public repository: fetched into `kept` if missing, and copied into `scratch`.
    pub(crate) async fn fetch(name: CorpusName, kept: &Path, scratch: &Scratch) -> Result<Self, Failure> {
        let (folder, language) = match name {
            CorpusName::Django => (format!("django-{DJANGO}"), LANGUAGES[0]),
            CorpusName::Rxjs => (format!("rxjs-{RXJS}"), LANGUAGES[1]),
            CorpusName::Zstd => (format!("zstd-sys-{ZSTD}"), LANGUAGES[2]),
            CorpusName::Linux => (LINUX.to_owned(), LANGUAGES[2]),
        };
        let there = kept.join(&folder);
        if !there.is_dir() {
            eprintln!("fetching {folder}");
            fs::create_dir_all(kept).map_err(|error| cannot("make", kept, &error))?;
            let fresh = kept.join(format!(".{folder}-{:08x}", rand::random::<u32>()));
            fs::create_dir(&fresh).map_err(|error| cannot("make", &fresh, &error))?;
            let done = fetch_into(name, &fresh).await.and_then(|sources| {
                fs::rename(&sources, &there).map_err(|error| cannot("put in place", &there, &error))
            });
            // Remove what remains of the download.
            let _ = fs::remove_dir_all(&fresh);
            done?;
        }
        if name == CorpusName::Linux {
            // Too large to copy, and only read.
            let root = there.canonicalize().map_err(|error| cannot("find", &there, &error))?;
            let files = sources(&files_below(&root), &language);
            return Ok(Self { name: folder, root, language, files });
        }
        let root = scratch.folder(&folder)?;
        copy_tree(&there, &root)?;
        if name == CorpusName::Rxjs {
            write(&root.join("tsconfig.json"), TSCONFIG)?;
        }
        if name == CorpusName::Zstd {
            write(&root.join("compile_commands.json"), &compile_database(&root))?;
        }
        let files = sources(&files_below(&root), &language);
        Ok(Self { name: folder, root, language, files })
    }

    /// Whether it is measured without a language server: clangd cannot read the kernel before it is built.
    pub(crate) fn is_without_server(&self) -> bool {
        self.name == LINUX
    }

    /// A generated repository: `target` is declared once and used `uses` times in each of `files` files.
    pub(crate) fn generated(language: Language, files: usize, uses: usize, scratch: &Scratch) -> Result<Self, Failure> {
        Self::generated_in(scratch.folder("generated")?, language, files, uses)
    }

    /// The same for all languages in one folder: a corpus for each.
    pub(crate) fn generated_mixed(files: usize, uses: usize, scratch: &Scratch) -> Result<Vec<Self>, Failure> {
        let root = scratch.folder("mixed")?;
        LANGUAGES.iter().map(|language| Self::generated_in(root.clone(), *language, files, uses)).collect()
    }

    fn generated_in(root: PathBuf, language: Language, files: usize, uses: usize) -> Result<Self, Failure> {
        for (name, text) in generated_files(language, files, uses) {
            write(&root.join(name), &text)?;
        }
        if language.kind == "clangd" {
            write(&root.join("compile_commands.json"), &compile_database(&root))?;
        }
        let files = sources(&files_below(&root), &language);
        Ok(Self { name: "generated".to_owned(), root, language, files })
    }

    /// The position where a generated repository declares `target`.
    pub(crate) fn declaration(&self) -> SourcePosition {
        let (name, character) = match self.language.kind {
            "ty" => ("hub.py", 4),
            "typescript" => ("hub.ts", 16),
            _ => ("hub.h", 4),
        };
        SourcePosition { path: self.root.join(name), line: 0, character }
    }

    /// Path and text of another file of a generated repository that uses `target` `uses` times.
    pub(crate) fn user(&self, name: &str, uses: usize) -> (PathBuf, String) {
        (self.root.join(format!("{name}.{}", self.language.endings[0])), user_text(self.language, name, uses))
    }

    /// The position of the `nth` use in the `user`-th file of a generated repository.
    pub(crate) fn use_at(&self, user: usize, nth: usize) -> SourcePosition {
        let name = user_name(user);
        let character = if self.language.kind == "clangd" { user_prefix(&name, nth).len() } else { 0 };
        SourcePosition {
            path: self.root.join(format!("{name}.{}", self.language.endings[0])),
            line: nth + 1,
            character,
        }
    }
}

/// Installs the language server if it is missing.
pub(crate) fn ensure_installed(installer: &Installer, registry: &Registry, kind: &str) -> Result<(), Failure> {
    use codeyard_lsp::install::ProgramStatus;
    let server = registry.servers.get(kind).ok_or_else(|| {
        Failure::missing(format!("no language server is called {kind}; `codeyard servers list` shows the known kinds"))
    })?;
    if matches!(installer.locate(kind, server, None), ProgramStatus::Ready(_)) {
        return Ok(());
    }
    eprintln!("installing {kind}");
    let done = installer.install(registry, &[kind.to_owned()], &|_| ());
    done.map(drop).map_err(|error| codeyard_cli::shared::server_installation::install_failure(&error))
}

async fn fetch_into(name: CorpusName, fresh: &Path) -> Result<PathBuf, Failure> {
    match name {
        CorpusName::Django => {
            let wanted = format!("django=={DJANGO}");
            let args = ["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "django", &wanted];
            run_tool("python3", &args, fresh).await?;
            run_tool("tar", &["xzf", &format!("django-{DJANGO}.tar.gz")], fresh).await?;
            Ok(fresh.join(format!("django-{DJANGO}")))
        }
        CorpusName::Rxjs => {
            run_tool("npm", &["pack", "--silent", &format!("rxjs@{RXJS}")], fresh).await?;
            run_tool("tar", &["xzf", &format!("rxjs-{RXJS}.tgz")], fresh).await?;
            let sources = fresh.join("package/src");
            for entry in fs::read_dir(&sources).into_iter().flatten().flatten() {
                if entry.file_name().to_string_lossy().starts_with("tsconfig") {
                    fs::remove_file(entry.path()).map_err(|error| cannot("remove", &entry.path(), &error))?;
                }
            }
            Ok(sources)
        }
        CorpusName::Zstd => {
            fs::create_dir(fresh.join("src")).map_err(|error| cannot("make", fresh, &error))?;
            write(&fresh.join("src/lib.rs"), "")?;
            let package = "[package]\nname = \"corpus\"\nversion = \"0.0.0\"\nedition = \"2021\"\n";
            let manifest = format!("{package}[dependencies]\nzstd-sys = \"={ZSTD}\"\n[workspace]\n");
            write(&fresh.join("Cargo.toml"), &manifest)?;
            run_tool("cargo", &["vendor", "--quiet", "vendor"], fresh).await?;
            Ok(fresh.join("vendor/zstd-sys/zstd"))
        }
        CorpusName::Linux => {
            run_tool("apt-get", &["download", "--quiet", LINUX], fresh).await?;
            let is_package = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "deb");
            let package = files_below(fresh).into_iter().find(is_package);
            let package = package.ok_or_else(|| {
                Failure::new(format!("apt-get downloaded no package {LINUX}; check the package sources"))
            })?;
            run_tool("dpkg", &["-x", &package.to_string_lossy(), "."], fresh).await?;
            run_tool("tar", &["xJf", &format!("usr/src/{LINUX}.tar.xz")], fresh).await?;
            Ok(fresh.join(LINUX))
        }
    }
}

fn generated_files(language: Language, files: usize, uses: usize) -> Vec<(String, String)> {
    let ending = language.endings[0];
    let mut files: Vec<(String, String)> =
        (0..files).map(user_name).map(|name| (format!("{name}.{ending}"), user_text(language, &name, uses))).collect();
    match language.kind {
        "ty" => files.extend([
            ("hub.py".to_owned(), "def target(value: int) -> int:\n    return value + 1\n".to_owned()),
            ("pyproject.toml".to_owned(), "[project]\nname = \"generated\"\nversion = \"1.0.0\"\n".to_owned()),
        ]),
        "typescript" => files.extend([
            (
                "hub.ts".to_owned(),
                "export function target(value: number): number {\n  return value + 1;\n}\n".to_owned(),
            ),
            ("tsconfig.json".to_owned(), TSCONFIG.to_owned()),
        ]),
        _ => files.extend([
            ("hub.h".to_owned(), "int target(int value);\n".to_owned()),
            ("hub.c".to_owned(), "#include \"hub.h\"\nint target(int value) {\n  return value + 1;\n}\n".to_owned()),
        ]),
    }
    files
}

fn user_text(language: Language, name: &str, uses: usize) -> String {
    let lines = |line: &dyn Fn(usize) -> String| (0..uses).map(line).collect::<String>();
    match language.kind {
        "ty" => format!("from hub import target\n{}", lines(&|nth| format!("target({nth})\n"))),
        "typescript" => format!("import {{ target }} from \"./hub\";\n{}", lines(&|nth| format!("target({nth});\n"))),
        _ => {
            let one = |nth: usize| format!("{}target({nth}); }}\n", user_prefix(name, nth));
            format!("#include \"hub.h\"\n{}", lines(&one))
        }
    }
}

/// The text before a use in a C file.
fn user_prefix(name: &str, nth: usize) -> String {
    format!("int {name}_{nth}(void) {{ return ")
}

fn user_name(number: usize) -> String {
    format!("use_{number:03}")
}

/// A compile database that lists every C file and every folder as an include folder.
pub(crate) fn compile_database(root: &Path) -> String {
    let all = files_below(root);
    let file = |path: &PathBuf| path.strip_prefix(root).map(|path| path.to_string_lossy().into_owned()).ok();
    let folders: std::collections::BTreeSet<&Path> = all.iter().filter_map(|path| path.parent()).collect();
    let includes: Vec<String> = folders.iter().map(|folder| format!("-I{}", folder.display())).collect();
    let entry = |path: &PathBuf| {
        let mut arguments = vec!["cc".to_owned(), "-std=c99".to_owned()];
        arguments.extend(includes.iter().cloned());
        arguments.extend(["-c".to_owned(), file(path)?]);
        Some(serde_json::json!({"directory": root, "file": file(path)?, "arguments": arguments}))
    };
    let sources = all.iter().filter(|path| path.extension().is_some_and(|ending| ending == "c"));
    serde_json::Value::Array(sources.filter_map(entry).collect()).to_string()
}

/// The files of a language among `all`.
pub(crate) fn sources(all: &[PathBuf], language: &Language) -> Vec<PathBuf> {
    let is_one = |path: &&PathBuf| {
        path.extension().is_some_and(|ending| language.endings.iter().any(|wanted| ending == *wanted))
    };
    all.iter().filter(is_one).cloned().collect()
}

/// The files below a folder, sorted, without folders that contain no sources of the repository itself.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            if kind.is_dir() && !PASSED_OVER.iter().any(|passed| name == *passed) {
                waiting.push(entry.path());
            } else if kind.is_file() && found.len() < MAX_FILES {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// Copies the files below a folder, without folders that contain no sources of the repository itself.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> Result<(), Failure> {
    for path in files_below(from) {
        copy_file(&path, from, to)?;
    }
    Ok(())
}

/// Copies a file to the same relative path in another tree.
pub(crate) fn copy_file(path: &Path, from: &Path, to: &Path) -> Result<(), Failure> {
    let target = to.join(path.strip_prefix(from).unwrap_or(path));
    let parent = target.parent().unwrap_or(to);
    fs::create_dir_all(parent).map_err(|error| cannot("make", parent, &error))?;
    fs::copy(path, &target).map(drop).map_err(|error| cannot("write", &target, &error))
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| cannot("write", path, &error))
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!(
        "cannot {what} {}: {error}; check the free space and the permissions of the folder",
        path.display()
    ))
}
