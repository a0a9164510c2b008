//! The language of a file: by its name, or else by the interpreter that its first line names.
//!
//! A script such as `bin/deploy` has no name that says anything. Its first line is read once, by whoever sees that the file appears or
//! changes, and remembered here, so that the language of a file can be asked for on any thread. Invariants: a language is looked up
//! without access to the disk; the number of remembered scripts is bounded; a script that was deleted keeps its last language, so that
//! its servers are notified.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codeyard_files::first_line::{MAX_FIRST_LINE_BYTES, interpreter};
use codeyard_files::gate::read_start_below;
use parking_lot::RwLock;

use super::schema::{Registry, ServerSpec};
use crate::limits::MAX_SCRIPTS;

/// The languages of files. Clones share what is known of scripts.
#[derive(Debug, Clone, Default)]
pub struct LanguageIndex {
    names: Arc<LanguageNames>,
    /// The files whose first line names an interpreter, with the numbers of their languages.
    scripts: Arc<RwLock<HashMap<PathBuf, u32>>>,
}

/// A map from file names and interpreters to languages, made once per registry.
#[derive(Debug, Default)]
struct LanguageNames {
    /// The languages by number.
    ids: Vec<String>,
    files: HashMap<String, u32>,
    extensions: HashMap<String, u32>,
    interpreters: HashMap<String, u32>,
    /// The languages with interpreters.
    with_interpreters: HashSet<u32>,
    /// Names with a `*`, as what stands before and after it, and their languages. The longest come first.
    patterns: Vec<(String, String, u32)>,
}

/// The language that a file's name says.
#[derive(Debug, Clone, Copy)]
struct NamedLanguage {
    number: u32,
    /// By its extension, and not by the whole name or a pattern.
    by_extension: bool,
}

impl LanguageIndex {
    /// The index of a registry's languages. It knows no scripts.
    pub fn new(registry: &Registry) -> Self {
        Self { names: Arc::new(LanguageNames::new(registry)), scripts: Arc::default() }
    }

    /// The same languages without the scripts that this one knows.
    pub fn without_scripts(&self) -> Self {
        Self { names: self.names.clone(), scripts: Arc::default() }
    }

    /// Whether this file has one of the server's languages.
    pub fn serves(&self, server: &ServerSpec, path: &Path) -> bool {
        self.language_of(path).is_some_and(|language| server.languages.iter().any(|own| own == language))
    }

    /// The language id of a file, by its name, or as its first line said when it was last seen.
    pub fn language_of(&self, path: &Path) -> Option<&str> {
        let number = self.names.of_name(path).map(|named| named.number).or_else(|| self.script(path))?;
        self.names.ids.get(number as usize).map(String::as_str)
    }

    /// Whether this file has a language that scripts are written in, and none of the extensions by which servers find its files.
    pub fn is_script(&self, path: &Path) -> bool {
        match self.names.of_name(path) {
            Some(named) => !named.by_extension && self.names.with_interpreters.contains(&named.number),
            None => self.script(path).is_some(),
        }
    }

    /// Reads the first line of a file below `folder` if its name doesn't decide its language. Returns the number of the language that the
    /// line gives it. Blocks.
    pub fn look(&self, folder: &Path, path: &Path) -> Option<u32> {
        if self.names.of_name(path).is_some() {
            return None;
        }
        match read_start_below(folder, path, MAX_FIRST_LINE_BYTES) {
            Ok(start) => self.note(path, &start),
            Err(_) => self.script(path),
        }
    }

    /// Remembers what the text of a file says about its language, if its name doesn't decide it. An empty text says nothing: it may be about to
    /// be written. Returns the same as [`Self::look`].
    pub fn note(&self, path: &Path, text: &[u8]) -> Option<u32> {
        if self.names.of_name(path).is_some() {
            return None;
        }
        if text.is_empty() {
            return self.script(path);
        }
        let number = interpreter(text).and_then(|program| self.names.interpreters.get(program)).copied();
        if self.script(path) != number {
            let mut scripts = self.scripts.write();
            match number {
                Some(number) if scripts.len() < MAX_SCRIPTS || scripts.contains_key(path) => {
                    scripts.insert(path.to_path_buf(), number);
                }
                Some(_) => return None,
                None => drop(scripts.remove(path)),
            }
        }
        number
    }

    fn script(&self, path: &Path) -> Option<u32> {
        self.scripts.read().get(path).copied()
    }
}

impl LanguageNames {
    fn new(registry: &Registry) -> Self {
        let mut names = Self::default();
        for ((id, language), number) in registry.languages.iter().zip(0_u32..) {
            names.ids.push(id.clone());
            for name in &language.file_names {
                match name.split_once('*') {
                    Some((before, after)) => names.patterns.push((before.to_owned(), after.to_owned(), number)),
                    None => drop(names.files.insert(name.clone(), number)),
                }
            }
            names.extensions.extend(language.extensions.iter().map(|extension| (extension.clone(), number)));
            if !language.interpreters.is_empty() {
                names.with_interpreters.insert(number);
            }
            names.interpreters.extend(language.interpreters.iter().map(|program| (program.clone(), number)));
        }
        names.patterns.sort_by_key(|(before, after, _)| std::cmp::Reverse(before.len() + after.len()));
        names
    }

    /// The language of a file by its name alone. Whole names come first and match exactly; then names with a `*` in front of an
    /// extension (`compose.*.yaml`); then the longest extension, in any case; then names that end with `*` (`Dockerfile.*`). A name that
    /// consists only of an extension (`.py`) has none.
    fn of_name(&self, path: &Path) -> Option<NamedLanguage> {
        let name = path.file_name()?.to_str()?;
        let by_name = |number: &u32| NamedLanguage { number: *number, by_extension: false };
        if let Some(number) = self.files.get(name) {
            return Some(by_name(number));
        }
        let by_pattern = |has_extension: bool| {
            let mut patterns = self.patterns.iter().filter(move |(_, after, _)| after.is_empty() != has_extension);
            let fits = |before: &str, after: &str| {
                name.strip_prefix(before).is_some_and(|rest| rest.len() > after.len() && rest.ends_with(after))
            };
            patterns.find(|(before, after, _)| fits(before, after)).map(|(_, _, number)| by_name(number))
        };
        let by_extension = || {
            let lower = name.to_lowercase();
            let dots = lower.match_indices('.').map(|(at, _)| at).filter(|at| *at > 0);
            let mut found = dots.filter_map(|at| self.extensions.get(&lower[at + 1..]));
            found.next().map(|number| NamedLanguage { number: *number, by_extension: true })
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
            ("a.pyw", Some("python")),
            (".pyw", None),
            ("Vagrantfile", Some("ruby")),
            ("PKGBUILD", Some("shellscript")),
            ("a.bats", Some("shellscript")),
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

    #[test]
    fn scripts_are_known_by_their_first_line_until_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let index = LanguageIndex::new(&Registry::builtin());
        let write = |name: &str, text: &str| std::fs::write(root.join(name), text).unwrap();
        let look = |name: &str| {
            let path = root.join(name);
            let number = index.look(&root, &path);
            assert!(number.is_none() || index.is_script(&path), "{name}");
            index.language_of(&path)
        };
        for (name, text, wanted) in [
            ("deploy", "#!/usr/bin/env bash\necho\n", Some("shellscript")),
            ("serve", "#!/usr/bin/python3.12 -u\n", Some("python")),
            ("build", "#!/usr/bin/env -S node --x\n", Some("javascript")),
            ("check.unknown", "#!/usr/bin/perl -w\n", Some("perl")),
            ("start", "#!/usr/bin/env ruby", Some("ruby")),
            ("plot", "#!/usr/bin/env Rscript\n", Some("r")),
            ("page", "#!/usr/bin/env php\n<?php\n", Some("php")),
            ("run", "#!/usr/bin/lua5.4\n", Some("lua")),
            ("odd", "#!/usr/bin/env unheard-of\n", None),
            ("LICENSE", "text\n", None),
            ("empty", "", None),
            ("lib.rs", "#!/usr/bin/env bash\n", Some("rust")),
        ] {
            write(name, text);
            assert_eq!(look(name), wanted, "{name}");
        }
        write("deploy", "#!/usr/bin/env python3\n");
        assert_eq!(index.language_of(&root.join("deploy")), Some("shellscript"), "it wasn't looked at");
        assert_eq!(look("deploy"), Some("python"));
        write("deploy", "");
        assert_eq!(look("deploy"), Some("python"), "it is being written");
        write("deploy", "text\n");
        assert_eq!(look("deploy"), None);
        std::fs::remove_file(root.join("serve")).unwrap();
        assert_eq!(look("serve"), Some("python"), "its servers get the deletion");
        assert_eq!(index.without_scripts().language_of(&root.join("run")), None);
    }

    #[test]
    fn the_number_of_scripts_is_bounded() {
        let index = LanguageIndex::new(&Registry::builtin());
        let note = |number: usize, text: &[u8]| index.note(Path::new(&format!("/w/{number}")), text);
        for number in 0..MAX_SCRIPTS {
            note(number, b"#!/bin/sh\n");
        }
        assert_eq!(note(MAX_SCRIPTS, b"#!/bin/sh\n"), None);
        assert!(note(0, b"#!/usr/bin/python\n").is_some(), "a known one may change");
        note(0, b"text");
        assert!(note(MAX_SCRIPTS, b"#!/bin/sh\n").is_some(), "there is room again");
    }

    #[test]
    fn files_of_script_languages_without_an_extension_of_theirs_are_scripts() {
        let index = LanguageIndex::new(&Registry::builtin());
        let is_script = |name: &str| index.is_script(Path::new(name));
        for name in [".bashrc", "PKGBUILD", "SConstruct", "Rakefile", "app.wsgi", "Jakefile"] {
            assert!(is_script(name), "{name}");
        }
        for name in ["a.sh", "a.py", "Dockerfile", "go.mod", "compose.x.yaml", "a", "CMakeLists.txt"] {
            assert!(!is_script(name), "{name}");
        }
    }
}
