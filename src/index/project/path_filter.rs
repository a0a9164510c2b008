//! Filters files by globs, with the meaning of ripgrep's `-g`, and by the filters `path:` and `lang:` of the query language.

use globset::{Glob, GlobMatcher};
use ignore::Match;
use ignore::overrides::{Override, OverrideBuilder};

use super::QueryContext;
use super::symbol_search::{invalid_argument, language_named};
use crate::{Language, ManifestEntry};
use codeyard_model::code::{CodeRefusal, FilterName, SearchQuery};

/// Decides which files a query is about.
#[derive(Debug)]
pub(super) struct PathFilter {
    /// `None`: every path passes.
    globs: Option<Override>,
    /// Whether paths pass that match no glob.
    others_pass: bool,
    /// Files have one of these languages.
    languages: Vec<Language>,
    excluded_languages: Vec<Language>,
    /// Paths match one of these.
    paths: Vec<PathTerm>,
    excluded_paths: Vec<PathTerm>,
}

/// A value of `path:`.
#[derive(Debug)]
enum PathTerm {
    /// Without a wildcard: a part of the path. Case matters if the part has a capital.
    Part(String),
    /// With one: a glob of the path, or of the end of it.
    Glob(GlobMatcher),
}

impl PathTerm {
    fn new(value: &str) -> Option<Self> {
        if !value.contains(['*', '?', '[', '{']) {
            return Some(Self::Part(value.to_owned()));
        }
        let anywhere = format!("**/{}", value.trim_start_matches('/'));
        Glob::new(&anywhere).ok().map(|glob| Self::Glob(glob.compile_matcher()))
    }

    fn matches(&self, path: &str) -> bool {
        match self {
            Self::Part(part) if part.contains(char::is_uppercase) => path.contains(part.as_str()),
            Self::Part(part) => path.to_lowercase().contains(part.as_str()),
            Self::Glob(glob) => glob.is_match(path),
        }
    }
}

impl Default for PathFilter {
    fn default() -> Self {
        Self {
            globs: None,
            others_pass: true,
            languages: Vec::new(),
            excluded_languages: Vec::new(),
            paths: Vec::new(),
            excluded_paths: Vec::new(),
        }
    }
}

impl PathFilter {
    pub(super) fn of(query: &SearchQuery, context: &QueryContext) -> Result<Self, Box<CodeRefusal>> {
        let filter = Self::new(&query.globs)
            .map_err(|why| invalid_argument(&why, "paths", "no_glob", "globs such as src/**/*.rs", context))?;
        let languages = |values: &mut dyn Iterator<Item = &str>| -> Result<Vec<Language>, Box<CodeRefusal>> {
            values.map(|name| language_named(name, context)).collect()
        };
        let paths = |values: &mut dyn Iterator<Item = &str>| -> Result<Vec<PathTerm>, Box<CodeRefusal>> {
            let term = |value: &str| {
                PathTerm::new(value).ok_or_else(|| {
                    let why = format!(
                        "path:{value} is not a valid glob; give a part of a path, or a glob such as path:src/**/*.rs."
                    );
                    invalid_argument(&why, "query", "no_glob", "a part of a path, or a glob", context)
                })
            };
            values.map(term).collect()
        };
        Ok(Self {
            languages: languages(&mut query.required(FilterName::Lang))?,
            excluded_languages: languages(&mut query.excluded(FilterName::Lang))?,
            paths: paths(&mut query.required(FilterName::Path))?,
            excluded_paths: paths(&mut query.excluded(FilterName::Path))?,
            ..filter
        })
    }

    /// Whether some files may not pass.
    pub(super) fn restricts(&self) -> bool {
        let has_terms = !self.paths.is_empty() || !self.excluded_paths.is_empty();
        self.globs.is_some() || has_terms || !self.languages.is_empty() || !self.excluded_languages.is_empty()
    }

    pub(super) fn passes(&self, entry: &ManifestEntry) -> bool {
        let has = |languages: &[Language]| entry.language.is_some_and(|language| languages.contains(&language));
        let matches = |terms: &[PathTerm]| terms.iter().any(|term| term.matches(&entry.path));
        (self.languages.is_empty() || has(&self.languages))
            && !has(&self.excluded_languages)
            && (self.paths.is_empty() || matches(&self.paths))
            && !matches(&self.excluded_paths)
            && self.passes_globs(&entry.path)
    }

    /// A filter of these globs. A glob without a wildcard also matches everything below the folder of this name.
    fn new(globs: &[String]) -> Result<Self, String> {
        if globs.is_empty() {
            return Ok(Self::default());
        }
        let mut builder = OverrideBuilder::new("");
        for glob in globs {
            let glob = glob.strip_prefix("./").unwrap_or(glob);
            let bare = glob.trim_end_matches('/');
            let is_plain = !bare.contains(['*', '?', '[', '{']);
            let added = match (is_plain, bare.trim_start_matches('!').is_empty()) {
                (_, true) => {
                    return Err(format!("'{glob}' in paths is empty; give a path or a glob such as 'src/**/*.rs'."));
                }
                (true, _) => builder.add(bare).and_then(|builder| builder.add(&format!("{bare}/**"))),
                (false, _) => builder.add(bare),
            };
            added.map_err(|_| {
                format!(
                    "'{glob}' in paths is not a valid glob; give one such as 'src/**/*.rs', or '!vendor/**' to exclude."
                )
            })?;
        }
        let others_pass = globs.iter().all(|glob| glob.starts_with('!'));
        let globs = builder.build().map_err(|_| "the globs in paths are too large; give fewer.".to_owned())?;
        Ok(Self { globs: Some(globs), others_pass, ..Self::default() })
    }

    /// Whether the file at this path passes the globs.
    fn passes_globs(&self, path: &str) -> bool {
        let Some(globs) = &self.globs else { return true };
        match globs.matched(path, false) {
            Match::Whitelist(_) => true,
            Match::Ignore(_) => false,
            Match::None => self.others_pass,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_like_those_of_ripgrep() {
        let table: [(&[&str], &[&str], &[&str]); 6] = [
            (&[], &["a", "b/c.rs"], &[]),
            (&["*.rs"], &["a.rs", "b/c.rs"], &["a.c", "rs"]),
            (&["src"], &["src/a.c", "src/b/c.rs"], &["a.c", "lib/a.c"]),
            (&["./src/", "docs/*.md"], &["src/a.c", "docs/a.md"], &["docs/x/a.md", "a.md"]),
            (&["!vendor/**"], &["src/a.c", "a"], &["vendor/a.c", "vendor/x/y"]),
            (&["*.c", "!test_*"], &["src/a.c"], &["src/test_a.c", "a.rs"]),
        ];
        for (globs, passing, others) in table {
            let globs: Vec<String> = globs.iter().map(|glob| (*glob).to_owned()).collect();
            let filter = PathFilter::new(&globs).unwrap();
            for path in passing {
                assert!(filter.passes_globs(path), "{globs:?} {path}");
            }
            for path in others {
                assert!(!filter.passes_globs(path), "{globs:?} {path}");
            }
        }
        let term = |value: &str, path: &str| PathTerm::new(value).unwrap().matches(path);
        assert!(term("auth", "src/Auth/a.rs") && !term("Auth", "src/auth/a.rs") && term("src/au", "src/auth.rs"));
        assert!(term("src/**/*.rs", "lib/src/a/b.rs") && term("*.py", "a/b.py") && !term("*.py", "a.pyi"));
        assert!(PathTerm::new("a[").is_none());
        for bad in ["[", "", "!", "a{"] {
            assert!(PathFilter::new(&[bad.to_owned()]).is_err(), "{bad}");
        }
    }
}
