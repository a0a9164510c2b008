//! The language of the simulated projects and its semantics.
//!
//! A file consists of lines `def NAME`, `use NAME`, `bad NAME`, `todo NAME` and `just NAME`. A function extends from its `def` to the next
//! one and calls the names that it uses; `just NAME` implements a name. The fake servers use this module with the
//! files that they know, and the checks use it with the files on disk. A server that missed a change gives another answer
//! than the files on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use codeyard_model::operation::{Operation, OperationInput};

/// Files of a workspace: relative path and text.
pub(crate) type Tree = BTreeMap<String, Arc<str>>;

/// All names of the language.
pub(crate) const NAMES: [&str; 5] = ["alpha", "beta", "gamma", "delta", "omega"];

/// The folder that may be a nested project, and the file that makes it one.
pub(crate) const NESTED: &str = "sub/";
/// File that makes [`NESTED`] a project.
pub(crate) const MARKER: &str = "sub/project.mod";

/// Scope of one server: files with one extension in one folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Project {
    /// `""`, or a folder with a trailing slash.
    pub folder: String,
    /// `fake` or `other`.
    pub ending: &'static str,
    /// A nested project folder in it, or `""`.
    pub without: &'static str,
}

/// A query with relative paths.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Asked {
    Definition { file: String, line: usize },
    References { file: String, line: usize, declaration: bool },
    Hover { file: String, line: usize },
    Symbols { file: String },
    WorkspaceSymbols { query: String },
    Diagnostics { file: String },
    WorkspaceDiagnostics,
    Lsp(Lsp),
}

/// A query of the tool `lsp`, without arguments that the operation doesn't need.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lsp {
    pub operation: Operation,
    pub file: String,
    pub line: usize,
    pub query: String,
}

/// Path, line and name of a function.
pub(crate) type Function = (String, usize, String);
/// Functions with the lines of their calls.
pub(crate) type Calls = BTreeMap<Function, BTreeSet<usize>>;

/// A diagnostic in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub line: usize,
    pub severity: u8,
    pub source: &'static str,
    pub message: String,
}

/// Line number, verb and name of each line that has both.
pub(crate) fn words(text: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    text.lines().enumerate().filter_map(|(number, line)| {
        let (verb, name) = line.split_once(' ')?;
        Some((number, verb, name))
    })
}

pub(crate) fn name_at(text: &str, line: usize) -> Option<&str> {
    words(text).find(|(number, verb, _)| *number == line && *verb != "#").map(|(_, _, name)| name)
}

impl Project {
    /// Whether a file is in scope.
    pub(crate) fn holds(&self, path: &str) -> bool {
        let below_another = !self.without.is_empty() && path.starts_with(self.without);
        path.starts_with(&self.folder) && !below_another && path.rsplit('.').next() == Some(self.ending)
    }

    fn lines<'a>(&'a self, tree: &'a Tree) -> impl Iterator<Item = (&'a str, usize, &'a str, &'a str)> {
        let own = tree.iter().filter(|(path, _)| self.holds(path));
        own.flat_map(|(path, text)| words(text).map(|(line, verb, name)| (path.as_str(), line, verb, name)))
    }

    /// Positions of `name`, in order: definitions, uses, or both.
    pub(crate) fn places(&self, tree: &Tree, name: &str, definitions: bool, uses: bool) -> Vec<(String, usize)> {
        let fits = |verb: &str| definitions && verb == "def" || uses && verb == "use";
        let all = self.lines(tree).filter(|(_, _, verb, of)| fits(verb) && *of == name);
        all.map(|(path, line, _, _)| (path.to_owned(), line)).collect()
    }

    /// Positions of the lines `just NAME`.
    pub(crate) fn implementations(&self, tree: &Tree, name: &str) -> Vec<(String, usize)> {
        let all = self.lines(tree).filter(|(_, _, verb, of)| *verb == "just" && *of == name);
        all.map(|(path, line, _, _)| (path.to_owned(), line)).collect()
    }

    pub(crate) fn functions(&self, tree: &Tree, name: &str) -> Vec<Function> {
        let places = self.places(tree, name, true, false).into_iter();
        places.map(|(path, line)| (path, line, name.to_owned())).collect()
    }

    /// The uses inside functions: function, line of the use, name used.
    fn uses<'a>(&'a self, tree: &'a Tree) -> impl Iterator<Item = (Function, usize, &'a str)> {
        let mut inside: Option<Function> = None;
        self.lines(tree).filter_map(move |(path, line, verb, name)| {
            if verb == "def" {
                inside = Some((path.to_owned(), line, name.to_owned()));
            }
            let function = inside.clone().filter(|(of, _, _)| of == path && verb == "use")?;
            Some((function, line, name))
        })
    }

    /// Callers of functions with this name, with the lines of the calls.
    pub(crate) fn callers(&self, tree: &Tree, name: &str) -> Calls {
        let mut calls = Calls::new();
        for (caller, line, _) in self.uses(tree).filter(|(_, _, used)| *used == name) {
            calls.entry(caller).or_default().insert(line);
        }
        calls
    }

    /// Functions that this function calls, with the lines of the calls.
    pub(crate) fn callees(&self, tree: &Tree, caller: &Function) -> Calls {
        let mut calls = Calls::new();
        for (_, line, used) in self.uses(tree).filter(|(inside, _, _)| inside == caller) {
            for callee in self.functions(tree, used) {
                calls.entry(callee).or_default().insert(line);
            }
        }
        calls
    }

    /// Hover text of `name` in a document.
    pub(crate) fn hover(&self, tree: &Tree, document: &str, name: &str) -> String {
        let defined = self.places(tree, name, true, false).len();
        let used = self.places(tree, name, false, true).len();
        let revision = tree.get(document).and_then(|text| text.lines().next()).unwrap_or_default();
        format!("{name}: {defined} defined, {used} used, {revision}")
    }

    /// Definitions whose names contain `query`: path, line, name.
    pub(crate) fn symbols(&self, tree: &Tree, query: &str) -> Vec<(String, usize, String)> {
        let all = self.lines(tree).filter(|(_, _, verb, name)| *verb == "def" && name.contains(query));
        all.map(|(path, line, _, name)| (path.to_owned(), line, name.to_owned())).collect()
    }

    /// Type checker diagnostics of a file.
    pub(crate) fn findings(&self, tree: &Tree, document: &str) -> Vec<Finding> {
        let Some(text) = tree.get(document) else { return vec![] };
        let wrong = words(text).filter_map(|(line, verb, name)| match verb {
            "bad" => Some(Finding { line, severity: 1, source: "check", message: format!("bad {name}") }),
            "use" if self.places(tree, name, true, false).is_empty() => {
                Some(Finding { line, severity: 2, source: "check", message: format!("{name} is nowhere defined") })
            }
            _ => None,
        });
        wrong.collect()
    }
}

/// Linter diagnostics of a file.
pub(crate) fn lint(tree: &Tree, document: &str) -> Vec<Finding> {
    let Some(text) = tree.get(document) else { return vec![] };
    let todo = words(text).filter(|(_, verb, _)| *verb == "todo");
    todo.map(|(line, _, name)| Finding { line, severity: 3, source: "lint", message: format!("todo {name}") }).collect()
}

/// Project of a file in a workspace with these files.
pub(crate) fn project_of(tree: &Tree, path: &str) -> Project {
    if path.ends_with(".other") {
        return project_at(tree, "other", "");
    }
    let is_nested = path.starts_with(NESTED) && tree.contains_key(MARKER);
    project_at(tree, "fake", if is_nested { NESTED } else { "" })
}

/// Scope of a server for one extension that was started in a folder.
pub(crate) fn project_at(tree: &Tree, ending: &'static str, folder: &str) -> Project {
    let parts = ending == "fake" && folder.is_empty() && tree.contains_key(MARKER);
    Project { folder: folder.to_owned(), ending, without: if parts { NESTED } else { "" } }
}

/// The correct answer, as comparable lines in the order of the contract; `None` if the document or the line is missing.
pub(crate) fn truth(tree: &Tree, asked: &Asked) -> Option<Vec<String>> {
    let named = |file: &str, line: usize| {
        let text = tree.get(file)?;
        (line <= text.lines().count()).then(|| (project_of(tree, file), name_at(text, line).unwrap_or("").to_owned()))
    };
    let places = |found: Vec<(String, usize)>| found.into_iter().map(|(path, line)| format!("{path}:{line}")).collect();
    Some(match asked {
        Asked::Definition { file, line } => {
            let (project, name) = named(file, *line)?;
            places(project.places(tree, &name, true, false))
        }
        Asked::References { file, line, declaration } => {
            let (project, name) = named(file, *line)?;
            places(project.places(tree, &name, *declaration, true))
        }
        Asked::Hover { file, line } => {
            let (project, name) = named(file, *line)?;
            if name.is_empty() { vec![] } else { vec![project.hover(tree, file, &name)] }
        }
        Asked::Symbols { file } => {
            let text = tree.get(file)?;
            words(text).filter(|(_, verb, _)| *verb == "def").map(|(line, _, name)| format!("{line} {name}")).collect()
        }
        Asked::WorkspaceSymbols { query } => {
            let mut all: Vec<_> = ["fake", "other"]
                .into_iter()
                .flat_map(|ending| Project { folder: String::new(), ending, without: "" }.symbols(tree, query))
                .collect();
            all.sort();
            all.into_iter().map(|(path, line, name)| format!("{path}:{line} {name}")).collect()
        }
        Asked::Diagnostics { file } => {
            tree.get(file)?;
            let mut all = project_of(tree, file).findings(tree, file);
            if file.ends_with(".fake") {
                all.extend(lint(tree, file));
            }
            all.sort();
            all.iter().map(said).collect()
        }
        Asked::WorkspaceDiagnostics => vec![],
        Asked::Lsp(asked) => return lsp_truth(tree, asked),
    })
}

/// All correct answers: a server that fails to say where a symbol is defined leaves the references in the order without definitions first.
pub(crate) fn truths(tree: &Tree, asked: &Asked) -> Vec<Vec<String>> {
    let first = truth(tree, asked);
    let other = match asked {
        Asked::Lsp(lsp) if lsp.operation == Operation::FindReferences => lsp_truth_with(tree, lsp, false),
        _ => None,
    };
    first.into_iter().chain(other).collect()
}

/// Same for the tool `lsp`; `None` also for a line without a name.
fn lsp_truth(tree: &Tree, asked: &Lsp) -> Option<Vec<String>> {
    lsp_truth_with(tree, asked, true)
}

/// The order of the tool `lsp`: definitions, the file, its folder, the others.
fn group(file: &str, path: &str) -> u8 {
    let folder = |path: &str| path.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
    match () {
        () if path == file => 1,
        () if folder(path) == folder(file) => 2,
        () => 3,
    }
}

fn lsp_truth_with(tree: &Tree, asked: &Lsp, definitions_first: bool) -> Option<Vec<String>> {
    let Lsp { operation, file, line, query } = asked;
    match operation.input() {
        OperationInput::Name => return Some(best_first(tree, query)),
        OperationInput::File => return truth(tree, &Asked::Symbols { file: file.clone() }),
        OperationInput::Position => {}
    }
    let name = name_at(tree.get(file)?, *line)?;
    let project = project_of(tree, file);
    let ordered = |mut found: Vec<(String, usize)>, first: &[(String, usize)]| {
        found.sort_by_key(|place| if first.contains(place) { 0 } else { group(file, &place.0) });
        found.into_iter().map(|(path, line)| format!("{path}:{line}")).collect()
    };
    let places = |found: Vec<(String, usize)>| ordered(found, &[]);
    let calls = |calls: Calls| {
        let mut calls: Vec<_> = calls.into_iter().collect();
        calls.sort_by_key(|((path, ..), _)| group(file, path));
        calls.iter().map(|(function, lines)| describe_call(function, lines.iter().copied())).collect()
    };
    let functions = project.functions(tree, name);
    Some(match operation {
        Operation::GoToDefinition => places(project.places(tree, name, true, false)),
        Operation::FindReferences if definitions_first => {
            ordered(project.places(tree, name, true, true), &project.places(tree, name, true, false))
        }
        Operation::FindReferences => places(project.places(tree, name, true, true)),
        Operation::GoToImplementation => places(project.implementations(tree, name)),
        Operation::Hover => vec![project.hover(tree, file, name)],
        Operation::PrepareCallHierarchy => functions.iter().map(describe_function).collect(),
        Operation::IncomingCalls if functions.is_empty() => vec![],
        Operation::IncomingCalls => calls(project.callers(tree, name)),
        Operation::OutgoingCalls => {
            let mut all = Calls::new();
            for function in &functions {
                for (callee, lines) in project.callees(tree, function) {
                    all.entry(callee).or_default().extend(lines);
                }
            }
            calls(all)
        }
        Operation::DocumentSymbol | Operation::WorkspaceSymbol => return None,
    })
}

/// Definitions with `query` in their names: exact matches, prefixes, then the others; shorter names before
/// longer ones.
fn best_first(tree: &Tree, query: &str) -> Vec<String> {
    let everywhere = ["fake", "other"].map(|ending| Project { folder: String::new(), ending, without: "" });
    let mut all: Vec<_> = everywhere.iter().flat_map(|project| project.symbols(tree, query)).collect();
    all.sort_by_key(|(path, line, name)| {
        let rank = if name == query { 0 } else { 1 + usize::from(!name.starts_with(query)) };
        (rank, name.len(), name.clone(), path.clone(), *line)
    });
    all.iter().map(describe_function).collect()
}

pub(crate) fn describe_function(function: &Function) -> String {
    let (path, line, name) = function;
    format!("{path}:{line} {name}")
}

/// A caller or a callee as a line.
pub(crate) fn describe_call(function: &Function, lines: impl Iterator<Item = usize>) -> String {
    let lines: Vec<String> = lines.map(|line| line.to_string()).collect();
    format!("{} at {}", describe_function(function), lines.join(","))
}

pub(crate) fn said(finding: &Finding) -> String {
    format!("{} {} {} {}", finding.line, finding.severity, finding.source, finding.message)
}
