//! The patterns of `include` and `exclude` in a `tsconfig.json`.
//!
//! Pure: a pattern is matched against absolute paths, and no file is read. The rules are TypeScript's: `*` and `?` stay within one part
//! of a path, `**` matches any number of folders, a pattern without wildcards and without a dot means a folder with all files below it.
//! A wildcard of `include` enters neither dependencies nor hidden folders.

use std::path::{Component, Path, PathBuf};

/// Folders that no wildcard of `include` enters.
const DEPENDENCIES: [&str; 3] = ["node_modules", "bower_components", "jspm_packages"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatternUse {
    /// It selects files.
    Include,
    /// It removes files, and folders with everything below them.
    Exclude,
}

/// One pattern, absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FilePattern {
    parts: Vec<Part>,
    usage: PatternUse,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// `**`
    AnyFolders,
    /// A name without wildcards.
    Name(String),
    /// A name with `*` or `?`.
    Wildcard(String),
}

impl FilePattern {
    /// The pattern `text` of a configuration in `folder`; `None` if TypeScript ignores it.
    pub(super) fn new(folder: &Path, text: &str, usage: PatternUse) -> Option<Self> {
        let mut names: Vec<String> = Vec::new();
        for part in folder.join(text).components() {
            match part {
                Component::ParentDir => drop(names.pop()?),
                Component::Normal(name) => names.push(name.to_str()?.to_owned()),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        let is_include = usage == PatternUse::Include;
        match names.last() {
            Some(last) if is_include && last == "**" => return None,
            Some(last) if is_include && !last.contains(['.', '*', '?']) => {
                names.extend(["**".to_owned(), "*".to_owned()]);
            }
            None if is_include => names.extend(["**".to_owned(), "*".to_owned()]),
            _ => {}
        }
        // Several in a row mean the same as one.
        names.dedup_by(|next, before| next == "**" && before == "**");
        let parts = names.into_iter().map(|name| match name {
            any if any == "**" => Part::AnyFolders,
            name if name.contains(['*', '?']) => Part::Wildcard(name),
            name => Part::Name(name),
        });
        Some(Self { parts: parts.collect(), usage })
    }

    /// The folder, or the file, that everything it matches is at or below.
    pub(super) fn base(&self) -> PathBuf {
        let names = self.parts.iter().map_while(|part| match part {
            Part::Name(name) => Some(name.as_str()),
            _ => None,
        });
        Path::new("/").join(names.collect::<PathBuf>())
    }

    /// Whether it matches the absolute path of a file.
    pub(super) fn matches(&self, path: &Path) -> bool {
        let names: Vec<&str> = path
            .components()
            .filter_map(|part| match part {
                Component::Normal(name) => Some(name.to_str().unwrap_or("\u{fffd}")),
                _ => None,
            })
            .collect();
        // The parts that may be next, sorted. Each name is looked at once for each of them, so no pattern takes long.
        let mut next: Vec<usize> = Vec::new();
        self.reach(0, &mut next);
        for (at, name) in names.iter().enumerate() {
            // An excluded folder excludes everything below it.
            if self.usage == PatternUse::Exclude && next.contains(&self.parts.len()) {
                return true;
            }
            let is_last = at + 1 == names.len();
            for part in std::mem::take(&mut next) {
                let follows = match self.parts.get(part) {
                    Some(Part::AnyFolders) if self.may_enter(name) => part,
                    Some(Part::Name(wanted)) if wanted == name => part + 1,
                    Some(Part::Wildcard(pattern)) if self.matches_name(pattern, name, is_last) => part + 1,
                    _ => continue,
                };
                self.reach(follows, &mut next);
            }
            if next.is_empty() {
                return false;
            }
        }
        next.contains(&self.parts.len())
    }

    /// Adds a part, and the one behind it if it may stand for nothing.
    fn reach(&self, part: usize, next: &mut Vec<usize>) {
        // Parts are reached in order, so one that is known is at the end.
        if !next.iter().rev().take(2).any(|known| *known == part) {
            next.push(part);
        }
        if self.parts.get(part) == Some(&Part::AnyFolders) && next.last() != Some(&(part + 1)) {
            next.push(part + 1);
        }
    }

    /// Whether `**` enters a folder.
    fn may_enter(&self, folder: &str) -> bool {
        self.usage == PatternUse::Exclude || !folder.starts_with('.') && !DEPENDENCIES.contains(&folder)
    }

    fn matches_name(&self, pattern: &str, name: &str, is_last: bool) -> bool {
        if self.usage == PatternUse::Include {
            let is_hidden = name.starts_with('.') && pattern.starts_with(['*', '?']);
            let is_minified = is_last && name.ends_with(".min.js") && !pattern.ends_with(".min.js");
            if is_hidden || is_minified || (!is_last && DEPENDENCIES.contains(&name)) {
                return false;
            }
        }
        wildcard_matches(pattern.as_bytes(), name.as_bytes())
    }
}

/// `*` matches any bytes, `?` one character. Linear in both: only the last `*` is ever tried again.
fn wildcard_matches(pattern: &[u8], name: &[u8]) -> bool {
    let mut at = 0;
    let mut place = 0;
    let mut retry: Option<(usize, usize)> = None;
    while place < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                retry = Some((at + 1, place));
                at += 1;
            }
            Some(b'?') => {
                at += 1;
                place += 1;
                while name.get(place).is_some_and(|byte| byte & 0xc0 == 0x80) {
                    place += 1;
                }
            }
            Some(byte) if *byte == name[place] => {
                at += 1;
                place += 1;
            }
            _ => match &mut retry {
                Some((after, from)) => {
                    *from += 1;
                    (at, place) = (*after, *from);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(text: &str, usage: PatternUse, path: &str) -> bool {
        FilePattern::new(Path::new("/w/app"), text, usage).is_some_and(|pattern| pattern.matches(Path::new(path)))
    }

    #[test]
    fn include_patterns_follow_the_rules_of_typescript() {
        let included = |text: &str, path: &str| matches(text, PatternUse::Include, path);
        assert!(included("src", "/w/app/src/a.ts") && included("src/", "/w/app/src/b/c.ts"));
        assert!(included("./src/**/*", "/w/app/src/b/c.ts") && included("**/*.ts", "/w/app/c.ts"));
        assert!(included("../lib/*.ts", "/w/lib/a.ts") && !included("../lib/*.ts", "/w/lib/b/a.ts"));
        assert!(included("src/a?.ts", "/w/app/src/aß.ts") && !included("src/a?.ts", "/w/app/src/a.ts"));
        assert!(included(".", "/w/app/x/y.ts"), "a folder means all files below it");
        assert!(included("src/*.spec.ts", "/w/app/src/a.spec.ts") && !included("src/*.spec.ts", "/w/app/src/a.ts"));
        for path in ["/w/app/node_modules/x/a.ts", "/w/app/.cache/a.ts", "/w/app/src/.hidden.ts", "/w/app/a.min.js"] {
            assert!(!included("**/*", path), "{path}");
        }
        assert!(included("node_modules/x/*", "/w/app/node_modules/x/a.ts"), "a name is entered");
        assert!(included(".storybook/**/*", "/w/app/.storybook/main.ts"), "a name is entered");
        assert!(!included("src/**", "/w/app/src/a.ts"), "a pattern that ends in `**` is ignored");
        assert!(!included("../../../..", "/w/app/a.ts"), "above the file system's root");
    }

    #[test]
    fn exclude_patterns_remove_whole_folders() {
        let excluded = |text: &str, path: &str| matches(text, PatternUse::Exclude, path);
        assert!(excluded("dist", "/w/app/dist/a/b.ts") && !excluded("dist", "/w/app/distant/a.ts"));
        assert!(excluded("**/*.spec.ts", "/w/app/src/a.spec.ts") && excluded("**/test", "/w/app/a/test/b.ts"));
        assert!(excluded("dist/**", "/w/app/dist/a.ts") && excluded("**/node_modules", "/w/app/a/node_modules/b.ts"));
        assert!(excluded("**/.*/", "/w/app/a/.hidden/b.ts") && !excluded("src/*.ts", "/w/app/src/a/b.ts"));
    }

    #[test]
    fn a_pattern_with_many_wildcards_takes_no_longer() {
        let deep = format!("/w/app/{}b.ts", "a/".repeat(400));
        assert!(!matches(&format!("{}x.ts", "**/a/".repeat(60)), PatternUse::Include, &deep));
        assert!(matches(&format!("{}*.ts", "**/a/**/".repeat(60)), PatternUse::Include, &deep));
        assert!(matches(&format!("{}a", "**/a/*/".repeat(60)), PatternUse::Exclude, &deep));
    }

    #[test]
    fn the_base_is_above_everything_that_matches() {
        let base = |text: &str| FilePattern::new(Path::new("/w/app"), text, PatternUse::Include).unwrap().base();
        assert_eq!(base("src/**/*.ts"), Path::new("/w/app/src"));
        assert_eq!(base("../lib"), Path::new("/w/lib"));
        assert_eq!(base("src/a.ts"), Path::new("/w/app/src/a.ts"));
    }

    proptest::proptest! {
        #[test]
        fn patterns_match_as_the_simple_recursion(
            parts in proptest::collection::vec("\\*\\*|a|b|[*]|node_modules", 1..7),
            names in proptest::collection::vec("a|b|node_modules", 0..6),
            is_include: bool,
        ) {
            fn simple(pattern: &FilePattern, parts: &[Part], names: &[&str]) -> bool {
                let Some((first, rest)) = parts.split_first() else {
                    return names.is_empty() || pattern.usage == PatternUse::Exclude;
                };
                match (first, names.split_first()) {
                    (Part::AnyFolders, None) => simple(pattern, rest, names),
                    (Part::AnyFolders, Some((name, below))) => {
                        simple(pattern, rest, names) || pattern.may_enter(name) && simple(pattern, parts, below)
                    }
                    (_, None) => false,
                    (Part::Name(wanted), Some((name, below))) => wanted == name && simple(pattern, rest, below),
                    (Part::Wildcard(text), Some((name, below))) => {
                        pattern.matches_name(text, name, below.is_empty()) && simple(pattern, rest, below)
                    }
                }
            }
            let usage = if is_include { PatternUse::Include } else { PatternUse::Exclude };
            if let Some(pattern) = FilePattern::new(Path::new("/"), &parts.join("/"), usage) {
                let path = Path::new("/").join(names.join("/"));
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                proptest::prop_assert_eq!(pattern.matches(&path), simple(&pattern, &pattern.parts, &names));
            }
        }

        #[test]
        fn wildcards_match_as_the_simple_recursion(pattern in "[a-b*?]{0,8}", name in "[a-b]{0,8}") {
            fn simple(pattern: &[u8], name: &[u8]) -> bool {
                match pattern.split_first() {
                    None => name.is_empty(),
                    Some((b'*', rest)) => (0..=name.len()).any(|skipped| simple(rest, &name[skipped..])),
                    Some((b'?', rest)) => !name.is_empty() && simple(rest, &name[1..]),
                    Some((byte, rest)) => name.first() == Some(byte) && simple(rest, &name[1..]),
                }
            }
            proptest::prop_assert_eq!(
                wildcard_matches(pattern.as_bytes(), name.as_bytes()),
                simple(pattern.as_bytes(), name.as_bytes())
            );
        }
    }
}
