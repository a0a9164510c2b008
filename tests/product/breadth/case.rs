//! The case of a kind: a small project and what each operation must answer about it. `docs/internals/testing.md` describes the format.
//!
//! Places are written as `file: text`, so that they stay right when a change moves them: the text is looked up in the file as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use codeyard_test_support::real_servers::copy_tree;

/// The cursor in the `at` of an operation.
const CURSOR: &str = "@@";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// The kind of language server.
    pub kind: String,
    /// A folder of `tests/product/breadth/shared` with files that several projects have. A file of the case replaces the shared one.
    pub shares: Option<String>,
    /// Programs on the `PATH` that the server or its project needs.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Commands that prepare the copy of the project, such as the installation of what the server takes from it.
    #[serde(default)]
    pub prepare: Vec<String>,
    /// Operations that the server doesn't have.
    #[serde(default)]
    pub unsupported: Vec<String>,
    /// Answers that are known to be wrong, each `phase operation: why`. They must be marked.
    #[serde(default)]
    pub known: Vec<String>,
    /// Answers that differ from those of the bare server, each `state operation: why`. The state is `first` or `changed`.
    #[serde(default)]
    pub differs: Vec<String>,
    pub definition: Option<One>,
    pub references: Option<Many>,
    pub hover: Option<Hover>,
    pub document_symbols: Option<Of>,
    pub workspace_symbols: Option<Search>,
    pub implementation: Option<Many>,
    pub incoming_calls: Option<Many>,
    pub outgoing_calls: Option<Many>,
    pub diagnostics: Option<Of>,
    pub edit: Option<Edit>,
    pub new_file: Option<NewFile>,
    pub rename: Option<Rename>,
}

/// A question at a place with one kind of answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct One {
    pub at: String,
    pub is: Vec<String>,
}

/// The same with several.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Many {
    pub at: String,
    pub are: Vec<String>,
}

/// A hover that contains a text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hover {
    pub at: String,
    pub has: String,
}

/// Names or messages of a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Of {
    pub of: String,
    pub has: Vec<String>,
}

/// Places that a search by name finds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    pub query: String,
    pub has: Vec<String>,
}

/// A change of a text that moves the definition.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    pub file: String,
    pub find: String,
    pub replace: String,
}

/// A new file, and the references that it adds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewFile {
    pub path: String,
    pub text: String,
    pub adds: Vec<String>,
}

/// A file with a use gets another name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rename {
    pub from: String,
    pub to: String,
}

/// A line of a file of the project, counted from 0.
pub(crate) type Place = (String, usize);

impl Case {
    /// The folder of the case of `kind`.
    pub(crate) fn folder(kind: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/product/breadth/cases").join(kind)
    }

    /// Reads the case of `kind`.
    pub(crate) fn read(kind: &str) -> Self {
        let path = Self::folder(kind).join("case.toml");
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Copies its project, with the files that it shares, to `target`.
    pub(crate) fn copy_project(&self, target: &Path) {
        let own = Self::folder(&self.kind).join("project");
        let shared = self.shares.as_ref().map(|name| Self::folder("../shared").join(name));
        for part in shared.into_iter().chain(own.is_dir().then_some(own)) {
            copy_tree(&part, target);
        }
    }

    pub(crate) fn operations(&self) -> Vec<&'static str> {
        let given = [
            ("definition", self.definition.is_some()),
            ("references", self.references.is_some()),
            ("hover", self.hover.is_some()),
            ("document_symbols", self.document_symbols.is_some()),
            ("workspace_symbols", self.workspace_symbols.is_some()),
            ("implementation", self.implementation.is_some()),
            ("incoming_calls", self.incoming_calls.is_some()),
            ("outgoing_calls", self.outgoing_calls.is_some()),
            ("diagnostics", self.diagnostics.is_some()),
        ];
        given.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect()
    }

    pub(crate) fn at(&self, operation: &str) -> Option<&str> {
        match operation {
            "definition" => self.definition.as_ref().map(|one| one.at.as_str()),
            "references" => self.references.as_ref().map(|many| many.at.as_str()),
            "hover" => self.hover.as_ref().map(|hover| hover.at.as_str()),
            "implementation" => self.implementation.as_ref().map(|many| many.at.as_str()),
            "incoming_calls" | "prepare" => self.incoming_calls.as_ref().map(|many| many.at.as_str()),
            "outgoing_calls" => self.outgoing_calls.as_ref().map(|many| many.at.as_str()),
            _ => None,
        }
    }
}

/// The project of a case as it is on disk.
pub(crate) struct Project {
    pub root: PathBuf,
    renamed: BTreeMap<String, String>,
    /// References that the new file has added.
    pub added: Vec<String>,
}

impl Project {
    /// The project at `root`.
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root, renamed: BTreeMap::new(), added: vec![] }
    }

    /// The present name of a file.
    pub(crate) fn name<'a>(&'a self, file: &'a str) -> &'a str {
        self.renamed.get(file).map_or(file, String::as_str)
    }

    /// The file, line and column of `file: text`, at the cursor or the beginning of the text. Lines and columns count from 0, columns in UTF-16.
    pub(crate) fn find(&self, place: &str) -> (String, usize, usize) {
        let (file, text) = place.split_once(": ").unwrap_or_else(|| panic!("no `file: text`: {place}"));
        let file = self.name(file);
        let content = fs::read_to_string(self.root.join(file)).unwrap_or_else(|error| panic!("{place}: {error}"));
        let plain = text.replacen(CURSOR, "", 1);
        assert_eq!(content.matches(&plain).count(), 1, "`{plain}` must occur once in {file}");
        let offset = content.find(&plain).expect("it occurs") + text.find(CURSOR).unwrap_or_default();
        let before = &content[..offset];
        let line = before.matches('\n').count();
        let column = before.rsplit('\n').next().unwrap_or_default().encode_utf16().count();
        (file.to_owned(), line, column)
    }

    /// The lines of these texts.
    pub(crate) fn places<'a>(&self, texts: impl IntoIterator<Item = &'a String>) -> BTreeSet<Place> {
        let line = |text: &String| {
            let (file, line, _) = self.find(text);
            (file, line)
        };
        texts.into_iter().map(line).collect()
    }

    /// Makes the changes of the case.
    pub(crate) fn edit(&self, edit: &Edit) {
        let path = self.root.join(self.name(&edit.file));
        let text = fs::read_to_string(&path).expect("a text");
        assert_eq!(text.matches(&edit.find).count(), 1, "`{}` must occur once in {}", edit.find, edit.file);
        fs::write(path, text.replacen(&edit.find, &edit.replace, 1)).expect("it can be written");
    }

    pub(crate) fn create(&mut self, new: &NewFile) {
        let path = self.root.join(&new.path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, &new.text).expect("it can be written");
        self.added.clone_from(&new.adds);
    }

    pub(crate) fn rename(&mut self, rename: &Rename) {
        let to = self.root.join(&rename.to);
        fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        fs::rename(self.root.join(&rename.from), to).expect("it can be renamed");
        self.renamed.insert(rename.from.clone(), rename.to.clone());
    }

    /// The changes are gone.
    pub(crate) fn reset(&mut self) {
        self.renamed.clear();
        self.added.clear();
    }
}
