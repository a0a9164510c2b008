//! The comparison of an answer with what the index knows of its name.
//!
//! `docs/internals/decisions/index-comparison.md` has the reasons. Invariant: an answer that found nothing although no package is missing is
//! marked if the index has the name; others only if the name can hardly mean anything else.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::record::{IndexedDefinition, NameRecord, NameUser};
use codeyard_index::ReferenceRole;
use codeyard_model::index_disagreement::IndexDisagreement;

/// What an answer lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparedOperation {
    Definition,
    References,
    Implementation,
    Callers,
    /// Symbols of the workspace by name.
    Symbols,
}

/// The places of an answer.
#[derive(Debug, Clone, Default)]
pub struct AnswerPlaces {
    /// The entries: files and lines from 1.
    pub listed: BTreeSet<(PathBuf, u32)>,
    /// Where the symbol is declared, and where the question was asked.
    pub declared: BTreeSet<(PathBuf, u32)>,
    /// The names of the entries of a list of symbols.
    pub names: BTreeSet<String>,
    /// Imports of packages can't be resolved: a name that the server doesn't find may be one of a package.
    pub lacks_packages: bool,
}

impl AnswerPlaces {
    /// Whether the answer lists the definition, or its symbol is declared there.
    fn has(&self, definition: &IndexedDefinition) -> bool {
        let place = (definition.file.clone(), definition.line);
        self.listed.contains(&place) || self.declared.contains(&place)
    }
}

impl NameRecord {
    /// What the index has that the answer lacks.
    pub fn disagreement(&self, operation: ComparedOperation, answer: &AnswerPlaces) -> Option<IndexDisagreement> {
        let found = match operation {
            ComparedOperation::Definition => self.better_definition(answer),
            ComparedOperation::Symbols => {
                let is_listed = answer.names.contains(&self.name);
                let defined = if is_listed { None } else { self.defined_elsewhere(answer) };
                return defined.or_else(|| self.unlisted_macros(answer));
            }
            ComparedOperation::References | ComparedOperation::Implementation | ComparedOperation::Callers => {
                self.used_elsewhere(operation, answer)
            }
        };
        found.or_else(|| if answer.listed.is_empty() { self.anything(answer) } else { None })
    }

    /// What there is of the name at all.
    fn anything(&self, answer: &AnswerPlaces) -> Option<IndexDisagreement> {
        if answer.lacks_packages && !self.is_certain() {
            return None;
        }
        self.defined_elsewhere(answer).or_else(|| self.used_in(self.users.iter().collect()))
    }

    fn defined_elsewhere(&self, answer: &AnswerPlaces) -> Option<IndexDisagreement> {
        let places: Vec<String> = self
            .defined()
            .filter(|(_, one)| !answer.has(one))
            .map(|(_, one)| format!("{}:{}", one.shown, one.line))
            .collect();
        (!places.is_empty()).then(|| IndexDisagreement::defined_elsewhere(&self.name, places))
    }

    fn unlisted_macros(&self, answer: &AnswerPlaces) -> Option<IndexDisagreement> {
        let unlisted = self.macros.iter().filter(|(_, one)| !answer.has(one));
        let places: Vec<String> = unlisted.map(|(name, one)| format!("{name} at {}:{}", one.shown, one.line)).collect();
        (!places.is_empty()).then(|| IndexDisagreement::unlisted_macros(&self.name, places))
    }

    /// The only definition, if the answer ends at imports or mere declarations of it.
    fn better_definition(&self, answer: &AnswerPlaces) -> Option<IndexDisagreement> {
        let (_, only) = self.defined().next().filter(|(_, one)| one.is_definition && self.is_unique())?;
        if answer.listed.contains(&(only.file.clone(), only.line)) {
            return None;
        }
        let is_import = |file: &PathBuf, line: u32| {
            let user = self.users.iter().find(|user| user.file == *file);
            let reaches = |user: &NameUser| !answer.lacks_packages || !user.reached.is_empty();
            user.is_some_and(|user| user.import_lines.contains(&line) && reaches(user))
        };
        let is_declaration = |file: &PathBuf, line: u32| {
            self.definitions.iter().any(|one| one.file == *file && one.line == line && !one.is_definition)
        };
        let stops_early = |(file, line): &(PathBuf, u32)| is_import(file, *line) || is_declaration(file, *line);
        let is_marked = !answer.listed.is_empty() && answer.listed.iter().all(stops_early);
        is_marked.then(|| self.defined_elsewhere(&AnswerPlaces::default())).flatten()
    }

    /// The files that use the name of the answer's symbol and have no entry.
    fn used_elsewhere(&self, operation: ComparedOperation, answer: &AnswerPlaces) -> Option<IndexDisagreement> {
        let mut targets: Vec<usize> = self.defined().filter(|(_, one)| answer.has(one)).map(|(at, _)| at).collect();
        if targets.is_empty() {
            targets.extend(self.reached);
        }
        // Without a target, this holds, too.
        if targets.iter().all(|at| self.definitions[*at].is_file_local) {
            return None;
        }
        let is_certain = self.is_certain();
        let is_unique = self.is_unique();
        let listed: BTreeSet<&PathBuf> = answer.listed.iter().map(|(file, _)| file).collect();
        let defining: BTreeSet<&PathBuf> = self.definitions.iter().map(|one| &one.file).collect();
        let counts = |user: &&NameUser| {
            let is_elsewhere = !listed.contains(&user.file) && !defining.contains(&user.file);
            let reaches = !user.reached.is_empty() && user.reached.iter().all(|at| targets.contains(at));
            is_elsewhere && user.has_role(operation) && (reaches || is_certain || is_unique && user.is_command)
        };
        self.used_in(self.users.iter().filter(counts).collect())
    }

    fn used_in(&self, users: Vec<&NameUser>) -> Option<IndexDisagreement> {
        let files: Vec<String> = users.into_iter().map(|user| user.shown.to_string()).collect();
        (!files.is_empty()).then(|| IndexDisagreement::used_elsewhere(&self.name, files))
    }
}

impl NameUser {
    /// Whether it uses the name as the entries of the answer do.
    fn has_role(&self, operation: ComparedOperation) -> bool {
        match operation {
            ComparedOperation::Callers => self.roles.contains(&ReferenceRole::Call),
            ComparedOperation::Implementation => self.roles.contains(&ReferenceRole::Base),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_missing_package_is_no_symbol_of_the_repository() {
        let import = |reached: Vec<usize>| NameUser {
            file: "use.ts".into(),
            shown: "use.ts".into(),
            roles: [ReferenceRole::Import].into(),
            import_lines: vec![1],
            reached,
            is_command: false,
        };
        let record = |name: &str, reached| NameRecord {
            name: name.into(),
            definitions: vec![definition("timer.ts")],
            users: vec![import(reached)],
            ..NameRecord::default()
        };
        let at_import = AnswerPlaces { listed: [("use.ts".into(), 1)].into(), ..AnswerPlaces::default() };
        let without_packages = |answer: &AnswerPlaces| AnswerPlaces { lacks_packages: true, ..answer.clone() };
        let is_marked = |name: &str, reached, answer: &AnswerPlaces| {
            record(name, reached).disagreement(ComparedOperation::Definition, answer).is_some()
        };
        assert!(is_marked("tls", vec![], &at_import));
        assert!(!is_marked("tls", vec![], &without_packages(&at_import)), "it may be the package's");
        assert!(is_marked("tls", vec![0], &without_packages(&at_import)), "the import may name the file");
        let nothing = AnswerPlaces::default();
        assert!(is_marked("join", vec![], &nothing) && !is_marked("join", vec![], &without_packages(&nothing)));
        assert!(is_marked("joinPaths", vec![], &without_packages(&nothing)), "the name is certain");
    }

    fn definition(file: &str) -> IndexedDefinition {
        IndexedDefinition {
            file: file.into(),
            shown: file.into(),
            line: 1,
            owner: None,
            is_definition: true,
            is_file_local: false,
        }
    }

    #[test]
    fn a_single_word_counts_where_only_a_function_can_be_called() {
        let user = |file: &str, is_command| NameUser {
            file: file.into(),
            shown: file.into(),
            roles: [ReferenceRole::Call].into(),
            import_lines: vec![],
            reached: vec![],
            is_command,
        };
        let users = vec![user("test/run.sh", true), user("test/run.py", false)];
        let mut record = NameRecord {
            name: "flunk".into(),
            definitions: vec![definition("lib.sh")],
            users,
            ..NameRecord::default()
        };
        let answer = AnswerPlaces { declared: [("lib.sh".into(), 1)].into(), ..AnswerPlaces::default() };
        let marked = record.disagreement(ComparedOperation::References, &answer);
        assert_eq!(marked, Some(IndexDisagreement::used_elsewhere("flunk", vec!["test/run.sh".into()])));
        record.definitions[0].is_file_local = true;
        let answer = AnswerPlaces { listed: [("lib.sh".into(), 9)].into(), ..answer };
        assert_eq!(record.disagreement(ComparedOperation::References, &answer), None, "nobody else can call it");
        record.definitions[0].is_file_local = false;
        record.definitions.push(definition("other.sh"));
        let answer = AnswerPlaces { listed: [("lib.sh".into(), 1)].into(), ..answer };
        assert_eq!(record.disagreement(ComparedOperation::References, &answer), None, "which one isn't known");
    }
}
