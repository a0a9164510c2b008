//! The part of a tenant that a credential opens.

use std::sync::{Arc, LazyLock};

use crate::{NamePatterns, Operation, OperationSet};
use codeyard_base::ids::WorkspaceName;

/// Workspaces of a tenant, and the operations in them.
#[derive(Debug, Clone)]
pub struct Scope {
    /// A workspace counts if each of these lists selects it.
    workspaces: Vec<Arc<NamePatterns>>,
    operations: OperationSet,
    /// Those that a wider credential of the same caller would allow.
    obtainable: OperationSet,
}

impl Scope {
    /// All workspaces of the tenant, with these operations.
    pub fn of_operations(operations: OperationSet) -> Self {
        Self { workspaces: Vec::new(), operations, obtainable: operations }
    }

    /// What every caller of tools may that isn't narrowed.
    pub fn calls() -> Arc<Self> {
        static CALLS: LazyLock<Arc<Scope>> = LazyLock::new(|| Arc::new(Scope::of_operations(OperationSet::CALLS)));
        CALLS.clone()
    }

    /// The workspaces whose short names match the patterns, all without patterns, and these operations.
    ///
    /// # Errors
    /// A sentence about the first wrong pattern, or about their number.
    pub fn new(patterns: &[String], operations: OperationSet) -> Result<Self, String> {
        let all = Self::of_operations(operations);
        if patterns.is_empty() {
            return Ok(all);
        }
        Ok(Self { workspaces: vec![Arc::new(NamePatterns::new(patterns)?)], ..all })
    }

    /// What both scopes allow.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let workspaces = self.workspaces.iter().chain(&other.workspaces).cloned().collect();
        let operations = self.operations.intersection(other.operations);
        Self { workspaces, operations, obtainable: operations }
    }

    /// The same for a credential that allows only these of the operations, while its holder can get one that allows all of them.
    #[must_use]
    pub fn narrowed(&self, operations: OperationSet) -> Self {
        Self { operations: self.operations.intersection(operations), ..self.clone() }
    }

    /// Whether the workspace is in the scope. Its tenant isn't asked.
    pub fn covers(&self, workspace: &WorkspaceName) -> bool {
        self.workspaces.iter().all(|patterns| patterns.matches(workspace.short()))
    }

    /// Whether it has all workspaces of the tenant.
    pub fn covers_all(&self) -> bool {
        self.workspaces.is_empty()
    }

    /// Whether the operation is in the scope.
    pub fn permits(&self, operation: Operation) -> bool {
        self.operations.contains(operation)
    }

    /// The operations.
    pub fn operations(&self) -> OperationSet {
        self.operations
    }

    /// The operations of this credential, and those of a wider one that the same caller can get.
    pub fn obtainable(&self) -> OperationSet {
        self.obtainable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(patterns: &[&str], operations: &[&str]) -> Scope {
        let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        Scope::new(&patterns, OperationSet::parse(operations.iter().copied()).unwrap()).unwrap()
    }

    fn covered(scope: &Scope) -> Vec<&'static str> {
        let names = ["web", "web-old", "team-a/web", "api"];
        names.into_iter().filter(|name| scope.covers(&WorkspaceName::new(name).unwrap())).collect()
    }

    #[test]
    fn a_scope_has_the_workspaces_of_its_patterns() {
        assert_eq!(covered(&scope(&[], &["lsp"])), ["web", "web-old", "team-a/web", "api"]);
        assert_eq!(covered(&scope(&["web*", "!*-old"], &["lsp"])), ["web", "team-a/web"]);
        assert!(Scope::new(&["a/*".to_owned()], OperationSet::CALLS).is_err());
    }

    #[test]
    fn an_intersection_allows_what_both_allow() {
        let both = scope(&["web*"], &["lsp", "search"]).intersection(&scope(&["*-old", "api"], &["search", "launch"]));
        assert_eq!(covered(&both), ["web-old"]);
        assert_eq!(both.operations().to_words(), "search");
        assert!(both.permits(Operation::Search) && !both.permits(Operation::Lsp));
    }
}
