//! Coverage: how many files of a project a language server knows, why not all of them, and what mends it.
//!
//! The engine attaches it to every answer; the catalogs render the servers with a partial view
//! (`docs/internals/reference/contract-lsp-v1.md#partial-views`). Invariants: a server whose number of known files isn't known counts as
//! partial, never as complete; a sentence names no path outside the roots and is bounded; the same coverage gives the same sentences.

use std::sync::Arc;

use crate::limits::MAX_PROVIDERS_NAMED;
use codeyard_base::ids::ServerKind;

/// Longest sentence about the files that a server knows, in code points. A project's path and its reason may be long.
const MAX_COVERAGE_TEXT_CHARS: usize = 400;

/// Most reasons for imports that can't be resolved in one sentence.
const MAX_UNRESOLVED_REASONS: usize = 2;

/// Why a use of a name can't be decided.
const UNTYPED_OBJECTS: &str = "the types of their objects are unknown";
/// Why not all uses of a name are looked at.
const TOO_MANY_PLACES: &str = "there are too many";
/// What finds them all the same.
const SEARCH_TEXT: &str = "search the name as text";

/// Where the list of a project's files comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProjectFileSource {
    /// A file of the project: its path relative to the workspace root.
    Found(String),
    /// Inferred by codeyard from the files that are there.
    Inferred,
    /// There is none, and the server needs none.
    #[default]
    NotNeeded,
    /// There is none, although the server needs one.
    Missing,
}

impl ProjectFileSource {
    /// The word in answers and documents.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Found(_) => "found",
            Self::Inferred => "inferred",
            Self::NotNeeded => "not_needed",
            Self::Missing => "missing",
        }
    }

    /// The path of a file that was found.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Found(path) => Some(path),
            _ => None,
        }
    }
}

/// What names that can't be resolved hide from answers that aren't empty, in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hidden {
    /// Nothing but what they name.
    Nothing,
    /// Uses of members: values have their types from these names.
    Members,
    /// Uses of symbols of the project: its files define these names.
    Uses,
    /// Uses in another project, which imports these names. They aren't why something can't be resolved here.
    UsesElsewhere,
}

/// Imports or includes of a project that can't be resolved for one reason.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnresolvedImports {
    pub names: usize,
    /// What is missing, without a full stop: "`node_modules` is missing".
    pub reason: String,
    /// The command that mends it.
    pub command: Option<String>,
    pub hides: Hidden,
}

/// A name with places that may be references, because the server doesn't know what the name is there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UndecidedName {
    /// The name; several as `` a`, `b ``.
    pub name: String,
    pub places: usize,
    /// Whether not all places were looked at, because there are too many.
    pub is_cut: bool,
}

/// How much of one project a language server knows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerCoverage {
    pub server: ServerKind,
    /// The project's root, relative to the workspace root; `.` is the workspace root itself.
    pub project: String,
    /// The languages of its files, for people: "C and C++".
    pub languages: String,
    /// Where the list of its files comes from.
    pub source: ProjectFileSource,
    /// Number of files of the server's languages in the project.
    pub files: usize,
    /// How many of them the server knows. `None`: that isn't known.
    pub known: Option<usize>,
    /// Why the server doesn't know all of them, without a full stop. Empty if it does.
    pub reason: String,
    /// What mends it, an imperative phrase: "run `bear -- make`".
    pub remedy: Option<String>,
    /// Imports or includes that can't be resolved, by reason. The files are known, but what they refer to isn't.
    pub unresolved: Vec<UnresolvedImports>,
    /// Places that may belong to the answer.
    pub undecided: Option<UndecidedName>,
}

impl ServerCoverage {
    /// The coverage of a server whose project has no files.
    pub fn of_no_files(server: ServerKind) -> Self {
        Self {
            server,
            project: ".".into(),
            languages: String::new(),
            source: ProjectFileSource::NotNeeded,
            files: 0,
            known: Some(0),
            reason: String::new(),
            remedy: None,
            unresolved: vec![],
            undecided: None,
        }
    }

    /// Whether the server doesn't know all files of the project, or it isn't known whether it does.
    pub fn is_partial(&self) -> bool {
        self.known.is_none_or(|known| known < self.files)
    }

    /// The sentence about places that may belong to the answer: "2 uses of `init` can't be decided by typescript: the types of their
    /// objects are unknown." `None` if there are none.
    pub fn undecided_sentence(&self) -> Option<String> {
        let undecided = self.undecided.as_ref()?;
        let server = &self.server;
        let UndecidedName { name, places, is_cut } = undecided;
        let mut view = match places {
            0 => format!("Not all uses of `{name}` were looked at by {server}"),
            1 => format!("1 use of `{name}` can't be decided by {server}"),
            _ => format!("{places} uses of `{name}` can't be decided by {server}"),
        };
        if *places > 0 && *is_cut {
            view.push_str(", and not all were looked at");
        }
        let reason = if *places > 0 { UNTYPED_OBJECTS } else { TOO_MANY_PLACES };
        Some(with_reason(view, reason, Some(SEARCH_TEXT)))
    }

    /// The sentence for an answer that stands on this view: "32 of 706 C files are known to clangd: no compile_commands.json; run `bear -- make`."
    pub fn sentence(&self) -> String {
        let server = &self.server;
        let files = self.files;
        let what = self.what();
        let view = match self.known {
            Some(known) if self.is_partial() => format!("{known} of {files} {what} are known to {server}"),
            None if files == 0 => format!("It is unknown how many files {server} knows"),
            None => format!("It is unknown how many of {files} {what} {server} knows"),
            Some(_) => format!("All {files} {what} are known to {server}"),
        };
        with_reason(view, &self.reason, self.remedy.as_deref())
    }

    /// The sentence about imports that can't be resolved and hide `least` or more; `None` if there are none.
    pub fn unresolved_sentence(&self, least: Hidden) -> Option<String> {
        let unresolved: Vec<_> = self.unresolved_that_hide(least).collect();
        let names: usize = unresolved.iter().map(|cause| cause.names).sum();
        let imports = match names {
            0 => return None,
            1 => "1 import".to_owned(),
            _ => format!("{names} imports"),
        };
        let view = format!("{imports} of {} {} can't be resolved by {}", self.files, self.what(), self.server);
        let command = unresolved.iter().find_map(|cause| cause.command.as_ref());
        let remedy = command.map(|command| format!("run `{command}`"));
        Some(with_reason(view, &self.unresolved_reason(least), remedy.as_deref()))
    }

    /// The imports that can't be resolved and hide `least` or more.
    pub fn unresolved_that_hide(&self, least: Hidden) -> impl Iterator<Item = &UnresolvedImports> {
        self.unresolved.iter().filter(move |cause| cause.hides >= least)
    }

    /// The first reasons for them, at most two.
    pub fn unresolved_reason(&self, least: Hidden) -> String {
        let reasons = self.unresolved_that_hide(least).map(|cause| cause.reason.as_str());
        reasons.take(MAX_UNRESOLVED_REASONS).collect::<Vec<_>>().join(", ")
    }

    /// "C files", or "C files in lib/zstd".
    fn what(&self) -> String {
        match self.project.as_str() {
            "." => format!("{} files", self.languages),
            project => format!("{} files in {project}", self.languages),
        }
    }
}

fn with_reason(mut text: String, reason: &str, remedy: Option<&str>) -> String {
    if !reason.is_empty() {
        text.push_str(": ");
        text.push_str(reason);
    }
    if let Some(remedy) = remedy {
        text.push_str("; ");
        text.push_str(remedy);
    }
    if let Some((end, _)) = text.char_indices().nth(MAX_COVERAGE_TEXT_CHARS) {
        text.truncate(end);
        text.push('…');
    }
    text.push('.');
    text
}

/// What an answer stands on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AnswerScope {
    /// All files that the servers know: a file that is missing may hold further entries.
    #[default]
    Project,
    /// As [`Self::Project`], but the entries are uses of a symbol: those of members are missing where the types of values are unknown.
    Uses,
    /// One document, and what it refers to.
    Document {
        /// Whether the document is one of the files that the servers know.
        is_known: bool,
    },
    /// As [`Self::Project`], but all entries are in the document that was asked about: an import that can't be resolved may be why.
    OwnDocument,
    /// Diagnostics, of one document or all: an import that can't be resolved may be the cause of any of them.
    Diagnostics {
        /// Whether the servers know the document. Not all documents are known.
        is_known: bool,
    },
}

/// The servers that an answer stands on, with what each of them knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnswerCoverage {
    /// One entry for each server and project, in the order of the answer.
    pub servers: Vec<Arc<ServerCoverage>>,
    /// What the answer stands on.
    pub scope: AnswerScope,
}

impl AnswerCoverage {
    /// What an answer stands on. Diagnostics don't depend on what other projects use.
    pub fn new(mut servers: Vec<Arc<ServerCoverage>>, scope: AnswerScope) -> Self {
        if matches!(scope, AnswerScope::Diagnostics { .. }) {
            for server in &mut servers {
                if server.unresolved.iter().any(|cause| cause.hides == Hidden::UsesElsewhere) {
                    Arc::make_mut(server).unresolved.retain(|cause| cause.hides != Hidden::UsesElsewhere);
                }
            }
        }
        Self { servers, scope }
    }

    /// The entries that the answer must be marked with. An answer about one document that the server knows is marked only if it
    /// `is_empty`; imports that can't be resolved mark diagnostics, and others only if they hide as much as
    /// [`Self::least_hidden`].
    pub fn partial(&self, is_empty: bool) -> impl Iterator<Item = &ServerCoverage> {
        let is_marked = self.is_marked(is_empty);
        let least = self.least_hidden(is_empty);
        let of_server = move |coverage: &&ServerCoverage| {
            is_marked && coverage.is_partial()
                || coverage.undecided.is_some()
                || (is_marked || least == Hidden::Nothing) && coverage.unresolved_that_hide(least).next().is_some()
        };
        self.servers.iter().map(Arc::as_ref).filter(of_server)
    }

    /// Whether files that a server doesn't know may be missing from the answer.
    fn is_marked(&self, is_empty: bool) -> bool {
        let is_known = matches!(
            self.scope,
            AnswerScope::Document { is_known: true } | AnswerScope::Diagnostics { is_known: true }
        );
        is_empty || !is_known
    }

    /// The least that imports which can't be resolved must hide to be why the answer is as it is.
    pub fn least_hidden(&self, is_empty: bool) -> Hidden {
        match self.scope {
            _ if is_empty => Hidden::Nothing,
            AnswerScope::Diagnostics { .. } | AnswerScope::OwnDocument => Hidden::Nothing,
            AnswerScope::Uses => Hidden::Members,
            AnswerScope::Project | AnswerScope::Document { .. } => Hidden::Uses,
        }
    }

    /// The sentences of [`Self::partial`], at most [`MAX_PROVIDERS_NAMED`] of them. `None` if there are none.
    pub fn sentences(&self, is_empty: bool) -> Option<String> {
        let is_marked = self.is_marked(is_empty);
        let least = self.least_hidden(is_empty);
        let all: Vec<String> = self
            .partial(is_empty)
            .map(|coverage| {
                let view = match coverage.is_partial() && is_marked {
                    true => Some(coverage.sentence()),
                    false if is_marked || least == Hidden::Nothing => coverage.unresolved_sentence(least),
                    false => None,
                };
                [view, coverage.undecided_sentence()].into_iter().flatten().collect::<Vec<_>>().join(" ")
            })
            .collect();
        let mut text = all[..all.len().min(MAX_PROVIDERS_NAMED)].join(" ");
        match all.len().saturating_sub(MAX_PROVIDERS_NAMED) {
            0 => {}
            1 => text.push_str(" 1 more project is known in part."),
            more => text.push_str(&format!(" {more} more projects are known in part.")),
        }
        (!text.is_empty()).then_some(text)
    }

    /// Bytes of the list, without the entries, which all answers of a server share.
    pub fn heap_bytes(&self) -> usize {
        size_of_val(&*self.servers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clangd(known: Option<usize>, files: usize) -> ServerCoverage {
        ServerCoverage {
            server: ServerKind::new("clangd"),
            project: ".".into(),
            languages: "C".into(),
            source: ProjectFileSource::Missing,
            files,
            known,
            reason: "no compile_commands.json".into(),
            remedy: Some("run `bear -- make`".into()),
            unresolved: vec![],
            undecided: None,
        }
    }

    fn answer(servers: Vec<ServerCoverage>, scope: AnswerScope) -> AnswerCoverage {
        AnswerCoverage { servers: servers.into_iter().map(Arc::new).collect(), scope }
    }

    #[test]
    fn a_partial_view_is_one_sentence() {
        let mut coverage = clangd(Some(32), 706);
        assert_eq!(
            coverage.sentence(),
            "32 of 706 C files are known to clangd: no compile_commands.json; run `bear -- make`."
        );
        coverage.project = "lib/zstd".into();
        coverage.remedy = None;
        assert_eq!(coverage.sentence(), "32 of 706 C files in lib/zstd are known to clangd: no compile_commands.json.");
        coverage.known = None;
        coverage.reason = String::new();
        assert_eq!(coverage.sentence(), "It is unknown how many of 706 C files in lib/zstd clangd knows.");
        coverage.reason = "é".repeat(MAX_COVERAGE_TEXT_CHARS);
        assert_eq!(coverage.sentence().chars().count(), MAX_COVERAGE_TEXT_CHARS + 2);
    }

    #[test]
    fn an_unknown_number_is_never_complete() {
        assert!(clangd(None, 1).is_partial());
        assert!(clangd(Some(0), 1).is_partial());
        assert!(!clangd(Some(1), 1).is_partial());
        assert!(!clangd(Some(0), 0).is_partial(), "a project without files has nothing to miss");
        let unlisted = clangd(None, 0).sentence();
        assert!(unlisted.starts_with("It is unknown how many files clangd knows: "), "{unlisted}");
    }

    #[test]
    fn an_empty_answer_is_marked_in_every_scope() {
        let known = AnswerScope::Document { is_known: true };
        let unknown = AnswerScope::Document { is_known: false };
        for (scope, marked) in [(AnswerScope::Project, true), (known, false), (unknown, true)] {
            let partial = answer(vec![clangd(Some(1), 2)], scope);
            assert_eq!(partial.sentences(false).is_some(), marked, "{scope:?}");
            assert!(partial.sentences(true).is_some(), "{scope:?}");
            let complete = answer(vec![clangd(Some(2), 2)], scope);
            assert_eq!([complete.sentences(false), complete.sentences(true)], [None, None]);
        }
    }

    #[test]
    fn unresolved_imports_mark_empty_answers_and_those_that_they_hide_uses_from() {
        let mut coverage = clangd(Some(9), 9);
        let cause = |reason: &str, command: Option<&str>| UnresolvedImports {
            names: 3,
            reason: reason.into(),
            command: command.map(str::to_owned),
            hides: Hidden::Nothing,
        };
        coverage.unresolved = vec![
            cause("`gen.h` is missing", None),
            cause("`node_modules` is missing", Some("npm ci")),
            cause("x", None),
        ];
        let of_project = answer(vec![coverage.clone()], AnswerScope::Project);
        assert_eq!(of_project.sentences(false), None);
        assert_eq!(
            of_project.sentences(true).as_deref(),
            Some(
                "9 imports of 9 C files can't be resolved by clangd: `gen.h` is missing, `node_modules` is missing; run `npm ci`."
            )
        );
        coverage.unresolved[0].hides = Hidden::Uses;
        let hides = "3 imports of 9 C files can't be resolved by clangd: `gen.h` is missing.";
        assert_eq!(answer(vec![coverage.clone()], AnswerScope::Project).sentences(false).as_deref(), Some(hides));
        coverage.unresolved[1].hides = Hidden::Members;
        assert_eq!(answer(vec![coverage.clone()], AnswerScope::Project).sentences(false).as_deref(), Some(hides));
        let of_uses = answer(vec![coverage.clone()], AnswerScope::Uses).sentences(false).unwrap();
        assert!(of_uses.starts_with("6 imports"), "members too: {of_uses}");
        let of_document = answer(vec![coverage], AnswerScope::Document { is_known: true });
        assert_eq!(of_document.sentences(false), None, "what one document says doesn't depend on uses elsewhere");
        assert!(of_document.sentences(true).unwrap().starts_with("9 imports"));
        let of_diagnostics = [true, false].map(|is_known| AnswerScope::Diagnostics { is_known });
        let mut elsewhere = ServerCoverage::clone(&of_document.servers[0]);
        elsewhere.unresolved.iter_mut().for_each(|cause| cause.hides = Hidden::UsesElsewhere);
        let of_others = AnswerCoverage::new(vec![Arc::new(elsewhere)], AnswerScope::Diagnostics { is_known: true });
        assert_eq!(of_others.sentences(true), None, "another project's imports don't change diagnostics");
        for scope in of_diagnostics.into_iter().chain([AnswerScope::OwnDocument]) {
            let of_diagnostics = AnswerCoverage { scope, ..of_document.clone() };
            assert_eq!(
                of_diagnostics.sentences(false),
                of_document.sentences(true),
                "an import may be the cause of each"
            );
            assert_eq!(of_diagnostics.partial(false).count(), 1);
        }
    }

    #[test]
    fn undecided_uses_mark_every_answer() {
        let marked = |places, is_cut, known| {
            let undecided = Some(UndecidedName { name: "init".into(), places, is_cut });
            answer(vec![ServerCoverage { undecided, ..clangd(Some(known), 9) }], AnswerScope::Project)
        };
        let one = "1 use of `init` can't be decided by clangd: the types of their objects are unknown; search the name as text.";
        assert_eq!(marked(1, false, 9).sentences(false).as_deref(), Some(one));
        assert_eq!(marked(1, false, 9).sentences(true).as_deref(), Some(one));
        let partial = marked(1, false, 8).sentences(false).unwrap();
        assert!(partial.starts_with("8 of 9 C files are known to clangd: ") && partial.ends_with(one), "{partial}");
        let cut = marked(0, true, 9).sentences(false).unwrap();
        assert_eq!(
            cut,
            "Not all uses of `init` were looked at by clangd: there are too many; search the name as text."
        );
        let both = marked(2, true, 9).sentences(false).unwrap();
        assert!(
            both.starts_with("2 uses of `init` can't be decided by clangd, and not all were looked at: "),
            "{both}"
        );
    }

    #[test]
    fn at_most_four_projects_are_named() {
        let many = |count| answer((0..count).map(|_| clangd(Some(1), 2)).collect(), AnswerScope::Project);
        let text = many(MAX_PROVIDERS_NAMED + 1).sentences(false).unwrap();
        assert_eq!(text.matches("are known to clangd").count(), MAX_PROVIDERS_NAMED);
        assert!(text.ends_with(". 1 more project is known in part."), "{text}");
        assert!(
            many(MAX_PROVIDERS_NAMED + 2).sentences(false).unwrap().ends_with(" 2 more projects are known in part.")
        );
    }
}
