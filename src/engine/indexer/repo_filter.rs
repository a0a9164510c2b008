//! The filter `repo:` of the query language: which workspaces a search covers, and which of their roots.
//!
//! Pure. A value names a workspace or the folder of a root; `*` and `?` stand for other characters, and case doesn't matter.

use std::path::PathBuf;

use codeyard_access::NamePatterns;
use codeyard_model::code::{CodeError, CodeQuery, CodeRefusal, FilterName, SearchQuery};

/// The filter of one query.
pub struct RepoFilter {
    required: Option<NamePatterns>,
    excluded: Option<NamePatterns>,
}

impl RepoFilter {
    /// The filter of a query; `None` if it has none.
    ///
    /// # Errors
    /// A value isn't a name.
    pub fn of(query: &CodeQuery) -> Result<Option<Self>, Box<CodeRefusal>> {
        let CodeQuery::Search(search) = query else { return Ok(None) };
        let patterns = |values: Vec<&str>| -> Result<Option<NamePatterns>, Box<CodeRefusal>> {
            let compiled = (!values.is_empty()).then(|| NamePatterns::new(&values)).transpose();
            compiled.map_err(|why| {
                let message = format!("repo: {why}. Give the name of a workspace, or a pattern with `*` and `?`.");
                let refusal = CodeRefusal::new(CodeError::InvalidInput, message);
                Box::new(refusal.with("argument", "query").with("reason", "no_name"))
            })
        };
        let required = patterns(search.required(FilterName::Repo).collect())?;
        let excluded = patterns(search.excluded(FilterName::Repo).collect())?;
        let has_filter = required.is_some() || excluded.is_some();
        Ok(has_filter.then_some(Self { required, excluded }))
    }

    /// The positions of the roots that a search covers.
    pub fn roots(&self, workspace: &str, roots: &[PathBuf]) -> Vec<usize> {
        let folder = |root: &PathBuf| root.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let passes = |root: &PathBuf| {
            let folder = folder(root);
            let matches = |patterns: &NamePatterns| patterns.matches(workspace) || patterns.matches(&folder);
            self.required.as_ref().is_none_or(matches) && !self.excluded.as_ref().is_some_and(matches)
        };
        roots.iter().enumerate().filter(|(_, root)| passes(root)).map(|(at, _)| at).collect()
    }
}

/// The refusal of a search whose `repo:` selects none of `names`.
pub fn selects_nothing(query: &CodeQuery, names: &str) -> Box<CodeRefusal> {
    let shown = match query {
        CodeQuery::Search(search) => repo_terms(search),
        _ => String::new(),
    };
    let message = format!("`{shown}` selects nothing here. There are {names}.");
    let refusal =
        CodeRefusal::new(CodeError::InvalidInput, message).with("argument", "query").with("reason", "no_repo");
    Box::new(refusal.with("allowed", names))
}

fn repo_terms(search: &SearchQuery) -> String {
    let required = search.required(FilterName::Repo).map(|value| format!("repo:{value}"));
    let excluded = search.excluded(FilterName::Repo).map(|value| format!("-repo:{value}"));
    required.chain(excluded).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots(text: &str, workspace: &str) -> Vec<usize> {
        let query = SearchQuery { text: text.into(), ..SearchQuery::default() }.with_language().unwrap();
        let all = [PathBuf::from("/srv/Redis"), PathBuf::from("/srv/zod")];
        match RepoFilter::of(&CodeQuery::Search(query)).unwrap() {
            Some(filter) => filter.roots(workspace, &all),
            None => vec![9],
        }
    }

    #[test]
    fn workspaces_and_folders_of_roots_are_selected() {
        assert_eq!(roots("x", "all"), [9], "no filter");
        assert_eq!(roots("x repo:red*", "all"), [0]);
        assert_eq!(roots("x repo:ALL", "all"), [0, 1]);
        assert_eq!(roots("x repo:redis repo:zod", "all"), [0, 1]);
        assert_eq!(roots("x -repo:zod", "all"), [0]);
        assert_eq!(roots("x repo:all -repo:redis", "all"), [1]);
        assert_eq!(roots("x repo:none", "all"), Vec::<usize>::new());
    }
}
