//! The language of a file, by its name.
//!
//! Pure: no file is read.

use std::collections::HashMap;
use std::path::Path;

use super::schema::Registry;

/// A map from file names to languages, made once per registry.
#[derive(Debug, Clone, Default)]
pub struct LanguageIndex {
    names: HashMap<String, String>,
    extensions: HashMap<String, String>,
}

impl LanguageIndex {
    /// The index of a registry's languages.
    pub fn new(registry: &Registry) -> Self {
        let mut index = Self::default();
        for (id, language) in &registry.languages {
            for name in &language.file_names {
                index.names.insert(name.clone(), id.clone());
            }
            for extension in &language.extensions {
                index.extensions.insert(extension.clone(), id.clone());
            }
        }
        index
    }

    /// The language id of a file, by its name alone. Whole names come first and match exactly; then the longest
    /// extension, in any case. A name that consists only of an extension (`.py`) has none.
    pub fn language_of(&self, path: &Path) -> Option<&str> {
        let name = path.file_name()?.to_str()?;
        if let Some(id) = self.names.get(name) {
            return Some(id);
        }
        let lower = name.to_lowercase();
        let dots = lower.match_indices('.').map(|(at, _)| at).filter(|at| *at > 0);
        dots.filter_map(|at| self.extensions.get(&lower[at + 1..])).map(String::as_str).next()
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
