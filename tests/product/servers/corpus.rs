//! A copy of real code with the servers of its language, and the comparison of the product's answers with theirs.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::bare::{Bare, canonical_diagnostics, uri_of};
use crate::mcp::{Failure, Mcp};
use crate::question::{Ask, source_files};
use crate::running_server::listing;
use codeyard_test_support::real_servers::{Package, build_folder, copy_sample, copy_tree, files_below};

/// Page sizes in the order of use.
const PAGE_SIZES: [usize; 3] = [7, 50, 200];

/// A language with its servers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Language {
    pub kind: &'static str,
    /// The server that adds diagnostics.
    pub linter: Option<&'static str>,
    pub endings: &'static [&'static str],
    /// Its folder next to this file.
    source: &'static str,
    sample: Option<&'static str>,
    package: Option<Package>,
}

/// Python by ty and ruff.
pub(crate) const PYTHON: Language = Language {
    kind: "ty",
    linter: Some("ruff"),
    endings: &["py"],
    source: "python",
    sample: Some("python"),
    package: Some(Package::Click),
};
/// TypeScript by the native server.
pub(crate) const TYPESCRIPT: Language = Language {
    kind: "typescript",
    linter: None,
    endings: &["ts"],
    source: "typescript",
    sample: Some("typescript"),
    package: Some(Package::Rxjs),
};
/// C by clangd.
pub(crate) const C: Language = Language {
    kind: "clangd",
    linter: None,
    endings: &["c", "h", "cpp", "hpp"],
    source: "cpp",
    sample: Some("c"),
    package: Some(Package::Lz4),
};
/// TypeScript by the server on Node.
pub(crate) const OLD_TYPESCRIPT: Language = Language { kind: "typescript-language-server", ..TYPESCRIPT };

/// Rust by rust-analyzer, which may be missing.
pub(crate) const RUST: Language =
    Language { kind: "rust-analyzer", linter: None, endings: &["rs"], source: "rust", sample: None, package: None };
/// The server on Node and the native one: both answer all operations.
pub(crate) const TWO_TYPESCRIPTS: Language = Language { linter: Some("typescript-language-server"), ..TYPESCRIPT };

/// A copy of real code.
pub(crate) struct Corpus {
    pub root: PathBuf,
    pub language: Language,
    before: std::collections::BTreeMap<PathBuf, String>,
    _folder: tempfile::TempDir,
}

impl Corpus {
    /// A copy of the sample workspace.
    pub(crate) fn sample(language: Language) -> Self {
        Self::new(language, |root| copy_sample(language.sample.expect("it has a sample"), root))
    }

    /// Sources written for the operations of the tool `lsp`: interfaces with several implementations, calls across files, and
    /// a file with Windows line endings and lines on which columns are easily miscounted.
    pub(crate) fn harbour(language: Language) -> Self {
        Self::new(language, |root| copy_harbour(language.source, root))
    }

    /// A copy of the real package.
    pub(crate) fn package(language: Language) -> Self {
        Self::new(language, |root| language.package.expect("it has a package").copy_to(root))
    }

    /// A copy of the Django that the questions about ranking fetch.
    pub(crate) fn django() -> Self {
        let fetched = build_folder().join("codeyard-packages/django-5.2.8");
        assert!(fetched.exists(), "fetch it with `cargo test --test product ranking::`");
        Self::new(PYTHON, |root| {
            copy_tree(&fetched, root);
            let project = "[project]\nname = \"django\"\nversion = \"5.2.8\"\n";
            fs::write(root.join("pyproject.toml"), project).expect("a file");
        })
    }

    fn new(language: Language, copy: impl FnOnce(&Path)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(folder.path()).expect("a path").join("code");
        fs::create_dir(&root).expect("a folder");
        copy(&root);
        let before = listing(&root);
        Self { root, language, before, _folder: folder }
    }

    /// Its source files, sorted.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        source_files(&self.root, self.language.endings)
    }

    /// Configuration with this code as the workspace `name`.
    pub(crate) fn workspace(&self, name: &str) -> String {
        format!(
            "[[workspace]]\nname = {name:?}\nroots = [{:?}]\nservers = {{ prefer = [{:?}] }}\n",
            self.root, self.language.kind
        )
    }

    /// Asserts that nothing was written, changed or removed since the copy was made.
    pub(crate) fn assert_untouched(&self) {
        assert_eq!(listing(&self.root), self.before, "something was written into the root");
    }

    /// Its bare servers, started and ready, with the queried files open, because open files affect some servers.
    pub(crate) fn bare(&self, asks: &[Ask]) -> Expected {
        self.bare_with(&["utf-16"], asks)
    }

    /// Same with other encodings offered.
    pub(crate) fn bare_with(&self, encodings: &[&str], asks: &[Ask]) -> Expected {
        let mut primary = Bare::start(self.language.kind, &self.root, encodings);
        let mut linter = self.language.linter.map(|kind| Bare::start(kind, &self.root, encodings));
        for server in [&mut primary].into_iter().chain(&mut linter) {
            for path in self.anchor().iter().map(PathBuf::as_path).chain(asks.iter().filter_map(Ask::path)) {
                server.open(path);
            }
            server.settle();
        }
        Expected { primary, linter }
    }

    /// The file opened before any query: the first one at the top level that isn't a header.
    fn anchor(&self) -> Option<PathBuf> {
        let files = self.files().into_iter();
        files.min_by_key(|path| {
            (path.extension().is_some_and(|end| end == "h" || end == "hpp"), path.components().count(), path.clone())
        })
    }
}

fn copy_harbour(name: &str, root: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/product/servers/sources").join(name);
    let mut database = Vec::new();
    for path in files_below(&from) {
        let relative = path.strip_prefix(&from).expect("below");
        let target = root.join(relative);
        let mut text = fs::read_to_string(&path).expect("UTF-8");
        if path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("_windows")) {
            text = text.replace('\n', "\r\n");
        }
        fs::create_dir_all(target.parent().expect("a folder")).expect("a folder");
        fs::write(&target, text).expect("a file");
        if path.extension().is_some_and(|ending| ending == "cpp") {
            let arguments = json!(["c++", "-std=c++17", "-Wall", "-c", relative]);
            database.push(json!({"directory": root, "file": relative, "arguments": arguments}));
        }
    }
    if !database.is_empty() {
        fs::write(root.join("compile_commands.json"), Value::from(database).to_string()).expect("a file");
    }
}

/// The bare servers of a corpus.
pub(crate) struct Expected {
    pub primary: Bare,
    linter: Option<Bare>,
}

impl Expected {
    /// All servers in the registry's order.
    pub(crate) fn into_servers(self) -> Vec<Bare> {
        [self.primary].into_iter().chain(self.linter).collect()
    }

    /// The canonical answer.
    pub(crate) fn answer(&mut self, ask: &Ask) -> Value {
        match (ask, &mut self.linter) {
            (Ask::Diagnostics(path), Some(linter)) => {
                let mut all = self.primary.diagnostics(path);
                all.extend(linter.diagnostics(path));
                json!({"uri": uri_of(path), "diagnostics": canonical_diagnostics(&self.primary.root, path, all)})
            }
            _ => self.primary.answer(ask),
        }
    }
}

/// The product's answer with all pages joined, without the summary.
pub(crate) fn product(client: &mut Mcp, ask: &Ask) -> Result<Value, Failure> {
    let (tool, arguments) = ask.to_call();
    if ask.is_paged() {
        return Ok(json!({"items": client.pages(tool, &arguments, &PAGE_SIZES)?}));
    }
    let mut answer = client.ask(tool, &arguments)?;
    answer.as_object_mut().expect("an object").remove("summary");
    Ok(answer)
}

/// Makes the product open all queried files, and waits until their servers have read them.
pub(crate) fn warm_up(client: &mut Mcp, asks: &[Ask]) {
    let mut files: Vec<&Path> = asks.iter().filter_map(Ask::path).collect();
    files.dedup();
    for path in files {
        let (tool, arguments) = Ask::Diagnostics(path.into()).to_call();
        client.ask(tool, &arguments).expect("diagnostics");
    }
}

/// Queries both and counts non-empty answers. Panics with the first differences.
pub(crate) fn compare(client: &mut Mcp, expected: &mut Expected, asks: &[Ask]) -> usize {
    let mut different = Vec::new();
    let mut nonempty = 0;
    for ask in asks {
        let right = expected.answer(ask);
        let ours = product(client, ask);
        nonempty += usize::from(
            right
                .as_object()
                .expect("an object")
                .values()
                .any(|value| value.as_array().is_some_and(|items| !items.is_empty())),
        );
        if ours.as_ref() != Ok(&right) {
            different.push(format!("{ask:?}\n{}", difference(&right, &ours)));
        }
    }
    let shown: Vec<&str> = different.iter().take(5).map(String::as_str).collect();
    assert!(different.is_empty(), "{} of {} differ:\n{}", different.len(), asks.len(), shown.join("\n"));
    nonempty
}

/// Shortened difference of two answers.
pub(crate) fn difference(right: &Value, ours: &Result<Value, Failure>) -> String {
    let ours = match ours {
        Ok(ours) => ours,
        Err(failure) => return format!("  ours {failure:?}"),
    };
    let parts = |value: &Value| -> Vec<String> {
        let lists = value.as_object().into_iter().flatten().flat_map(|(_, value)| match value {
            Value::Array(items) => items.clone(),
            other => vec![other.clone()],
        });
        lists.map(|part| part.to_string()).collect()
    };
    let right = parts(right);
    let ours = parts(ours);
    let only = |one: &[String], other: &[String]| {
        let missing = one.iter().filter(|part| !other.contains(part)).take(3);
        missing.map(|part| part.chars().take(600).collect::<String>()).collect::<Vec<_>>().join("\n    ")
    };
    let bare_only = only(&right, &ours);
    let ours_only = only(&ours, &right);
    format!("  {} bare, {} ours; only bare:\n    {bare_only}\n  only ours:\n    {ours_only}", right.len(), ours.len())
}
