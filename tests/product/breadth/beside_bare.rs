//! The same questions to the bare language server, with every file of its languages open, in the same project as codeyard's answers found it.
//!
//! It runs after codeyard has stopped, because a bare server may write into the project. Answers of the tools of `lsp-v1` must be the same in every
//! field, and calls and implementations in their places. Diagnostics of the bare server must all be there; codeyard adds those of linters.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use codeyard_lsp::registry::{LanguageIndex, Registry};
use serde_json::{Value, json};

use crate::bare::{Bare, list};
use crate::breadth::case::Place;
use crate::breadth::phases::breadth_servers_dir;
use crate::breadth::served::{difference, places, short};
use crate::question::{Ask, At};
use codeyard_test_support::git::git;

/// A question to both.
#[derive(Debug, Clone)]
pub(crate) enum Question {
    /// By a tool of `lsp-v1`.
    Tool(Ask),
    /// `textDocument/implementation`
    Implementations(At),
    /// The calls of this method.
    Calls(&'static str, At),
}

/// What is compared.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    Json(Value),
    Places(BTreeSet<Place>),
}

/// An answer of codeyard.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    pub operation: &'static str,
    pub question: Question,
    pub answer: Answer,
}

#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// Their number.
    pub asked: usize,
    /// What differs, by `state operation`.
    pub differences: BTreeMap<String, String>,
}

impl Comparison {
    /// Compares the answers in one state of the project, which is on disk now.
    pub(crate) fn add(&mut self, state: &str, kind: &str, root: &Path, recorded: &[Recorded]) {
        self.asked += recorded.len();
        let mut left: Vec<&Recorded> = recorded.iter().collect();
        // A server that ends answers nothing more, and the client panics.
        let asked = catch_unwind(AssertUnwindSafe(|| {
            let mut bare = Bare::start_from(&breadth_servers_dir(kind), kind, root, &["utf-16"]);
            // Some servers lose documents that are opened before they have read their settings.
            bare.settle();
            for file in files(kind, root) {
                bare.open(&file);
            }
            bare.settle();
            while let Some(one) = left.first() {
                if let Err(why) = compare(&mut bare, one) {
                    self.differences.insert(format!("{state} {}", one.operation), why);
                }
                left.remove(0);
            }
        }));
        if let Err(why) = asked {
            let why = why.downcast_ref::<String>().cloned().unwrap_or_else(|| "the client failed".to_owned());
            for one in left {
                self.differences.insert(format!("{state} {}", one.operation), why.clone());
            }
        }
    }
}

/// The files of the languages of a kind.
fn files(kind: &str, root: &Path) -> Vec<PathBuf> {
    let registry = Registry::builtin();
    let index = LanguageIndex::new(&registry);
    let server = &registry.servers[kind];
    let is_own =
        |path: &PathBuf| index.language_of(path).is_some_and(|id| server.languages.iter().any(|own| own == id));
    let tracked = git(root, &["ls-files"]);
    tracked.lines().map(|file| root.join(file)).filter(is_own).collect()
}

/// `Err`: what is different.
fn compare(bare: &mut Bare, recorded: &Recorded) -> Result<(), String> {
    match (&recorded.question, &recorded.answer) {
        (Question::Tool(ask), Answer::Json(ours)) => {
            let theirs = bare.answer(ask);
            if let Ask::Diagnostics(_) = ask {
                let all = list(&ours["diagnostics"]);
                let has_all = list(&theirs["diagnostics"]).iter().all(|one| all.contains(one));
                return if has_all { Ok(()) } else { Err(unlike(&ours["diagnostics"], &theirs["diagnostics"])) };
            }
            let fields = theirs.as_object().into_iter().flatten();
            match fields.into_iter().find(|(name, value)| ours[name.as_str()] != **value) {
                None => Ok(()),
                Some((name, value)) => Err(unlike(&ours[name.as_str()], value)),
            }
        }
        (Question::Implementations(at), Answer::Places(ours)) => {
            let raw = bare.at("textDocument/implementation", &at.path, at.line, at.character, None);
            same(&places(&json!(bare.locations(&raw)), &bare.root), ours)
        }
        (Question::Calls(method, at), Answer::Places(ours)) => {
            let items = bare.at("textDocument/prepareCallHierarchy", &at.path, at.line, at.character, None);
            let mut theirs = BTreeSet::new();
            for item in list(&items) {
                let calls = bare.request(method, &json!({"item": item})).map_err(|error| error.to_string())?;
                theirs.extend(places(&calls, &bare.root));
            }
            same(&theirs, ours)
        }
        (question, answer) => unreachable!("{question:?} {answer:?}"),
    }
}

fn same(theirs: &BTreeSet<Place>, ours: &BTreeSet<Place>) -> Result<(), String> {
    if theirs == ours { Ok(()) } else { Err(difference(theirs, ours)) }
}

/// The entries that only one of two lists has.
fn unlike(ours: &Value, theirs: &Value) -> String {
    let only = |one: &Value, other: &Value| {
        let other = list(other);
        list(one).into_iter().filter(|entry| !other.contains(entry)).collect::<Value>()
    };
    format!("{} and not {}", short(&only(ours, theirs).to_string()), short(&only(theirs, ours).to_string()))
}
