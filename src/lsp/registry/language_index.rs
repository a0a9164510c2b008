//! The language of a file, by its name.
//!
//! Pure: no file is read.

use std::collections::HashMap;
use std::path::Path;

use super::schema::{Registry, ServerSpec};

/// A map from file names to languages, made once per registry.
#[derive(Debug, Clone, Default)]
pub struct LanguageIndex {
    names: HashMap<String, String>,
    extensions: HashMap<String, String>,
    /// Names with a `*`, as what stands before and after it, and their languages. The longest come first.
    patterns: Vec<(String, String, String)>,
}

impl LanguageIndex {
    /// The index of a registry's languages.
    pub fn new(registry: &Registry) -> Self {
        let mut index = Self::default();
        for (id, language) in &registry.languages {
            for name in &language.file_names {
                match name.split_once('*') {
                    Some((before, after)) => index.patterns.push((before.to_owned(), after.to_owned(), id.clone())),
                    None => drop(index.names.insert(name.clone(), id.clone())),
                }
            }
            for extension in &language.extensions {
                index.extensions.insert(extension.clone(), id.clone());
            }
        }
        index.patterns.sort_by_key(|(before, after, _)| std::cmp::Reverse(before.len() + after.len()));
        index
    }

    /// Whether this file has one of the server's languages.
    pub fn serves(&self, server: &ServerSpec, path: &Path) -> bool {
        self.language_of(path).is_some_and(|language| server.languages.iter().any(|own| own == language))
    }

    /// The language id of a file, by its name alone. Whole names come first and match exactly; then names with a `*` in front of an
    /// extension (`compose.*.yaml`); then the longest extension, in any case; then names that end with `*` (`Dockerfile.*`). A name that
    /// consists only of an extension (`.py`) has none.
    pub fn language_of(&self, path: &Path) -> Option<&str> {
        let name = path.file_name()?.to_str()?;
        if let Some(id) = self.names.get(name) {
            return Some(id);
        }
        let by_pattern = |has_extension: bool| {
            let mut patterns = self.patterns.iter().filter(move |(_, after, _)| after.is_empty() != has_extension);
            let fits = |before: &str, after: &str| {
                name.strip_prefix(before).is_some_and(|rest| rest.len() > after.len() && rest.ends_with(after))
            };
            patterns.find(|(before, after, _)| fits(before, after)).map(|(_, _, id)| id.as_str())
        };
        let by_extension = || {
            let lower = name.to_lowercase();
            let dots = lower.match_indices('.').map(|(at, _)| at).filter(|at| *at > 0);
            dots.filter_map(|at| self.extensions.get(&lower[at + 1..])).map(String::as_str).next()
        };
        by_pattern(true).or_else(by_extension).or_else(|| by_pattern(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_names_come_before_the_longest_extension() {
        let mut registry = Registry::builtin();
        registry.languages.entry("tpl".into()).or_default().extensions = vec!["html.tpl".into(), "tpl".into()];
        registry.languages.entry("x".into()).or_default().extensions = vec!["x".into(), "x.html.tpl".into()];
        let index = LanguageIndex::new(&registry);
        let cases = [
            ("a.py", Some("python")),
            ("dir.py/a", None),
            ("A.PY", Some("python")),
            ("a.pyi", Some("python")),
            (".py", None),
            ("a.", None),
            ("a", None),
            ("a.b.c.rs", Some("rust")),
            ("a.d.ts", Some("typescript")),
            ("a.tsx", Some("typescriptreact")),
            ("a.mjs", Some("javascript")),
            ("a.h", Some("c")),
            ("a.hpp", Some("cpp")),
            ("Dockerfile", Some("dockerfile")),
            ("dockerfile", None),
            ("a.dockerfile", Some("dockerfile")),
            ("Dockerfile.dev", Some("dockerfile")),
            ("Dockerfile.", None),
            ("Dockerfile.md", Some("markdown")),
            ("compose.yaml", Some("dockercompose")),
            ("compose.override.yaml", Some("dockercompose")),
            ("docker-compose.a.b.yml", Some("dockercompose")),
            ("compose..yaml", Some("yaml")),
            ("mycompose.x.yaml", Some("yaml")),
            (".bashrc", Some("shellscript")),
            ("a.tpl", Some("tpl")),
            ("a.html.tpl", Some("tpl")),
            ("a.x.html.tpl", Some("x")),
            ("ü.py", Some("python")),
            ("", None),
        ];
        for (name, wanted) in cases {
            assert_eq!(index.language_of(Path::new(name)), wanted, "{name}");
        }
    }
}
