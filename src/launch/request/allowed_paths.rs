//! Which files of the site a run may write: the entries of `allowed_paths`, and the checks of a path against them.
//!
//! It doesn't write files. Invariants: a path is compared by its bytes, after every link in it has been resolved; nothing outside the site's
//! folder and nothing of git's own folder is ever allowed, whatever the entries say. Source:
//! `docs/internals/reference/contract-launch.md#allowed-paths`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The entries of a run's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedPaths {
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    /// Components, joined with `/`; empty for the site's folder.
    path: String,
    /// Whether everything below it is allowed, or only the file, or the files directly in the folder.
    is_recursive: bool,
}

/// Why a path isn't one that may be written, in words that can follow the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    #[error("is empty")]
    Empty,
    #[error("is absolute; write it relative to the top of the site")]
    Absolute,
    /// It has `.`, `..` or an empty component.
    #[error("has a component that is empty, `.` or `..`")]
    Traversal,
    /// It has a character that no path of a site needs.
    #[error("has a backslash, a colon after a drive letter or a control character")]
    Character,
    /// It names git's own folder.
    #[error("leads into git's own folder")]
    GitFolder,
    /// It has a wildcard other than a last `**`.
    #[error("has a wildcard other than `**` as its last component")]
    Wildcard,
    #[error("is longer than 1,024 bytes")]
    Length,
}

/// A write that isn't allowed.
#[derive(Debug, thiserror::Error)]
pub enum PathViolation {
    /// The path has no allowed form.
    #[error("{path:?} {fault}")]
    Form { path: String, fault: PathFault },
    /// No entry allows it.
    #[error("{path:?} is not in allowed_paths: {entries}; add it to the run's configuration and start another run")]
    NotAllowed {
        /// The path, after its links were resolved.
        path: String,
        entries: String,
    },
    /// A link leads out of the site.
    #[error("{path:?} leads out of the site by a link; remove the link from the site")]
    Outside { path: String },
    #[error("{path:?} can't be examined: {source}")]
    Io { path: String, source: io::Error },
}

/// Longest path, in bytes.
const MAX_PATH_BYTES: usize = 1_024;
/// Links that are followed in one path.
const MAX_LINKS: usize = 40;

impl AllowedPaths {
    /// The entries of a configuration.
    ///
    /// # Errors
    /// Each entry that has no allowed form, with its place in the list.
    pub fn parse<T: AsRef<str>>(entries: &[T]) -> Result<Self, Vec<(usize, PathFault)>> {
        let parsed: Vec<Result<Entry, PathFault>> = entries.iter().map(|entry| Entry::parse(entry.as_ref())).collect();
        let faults: Vec<(usize, PathFault)> =
            parsed.iter().enumerate().filter_map(|(place, entry)| Some((place, *entry.as_ref().err()?))).collect();
        if faults.is_empty() { Ok(Self { entries: parsed.into_iter().flatten().collect() }) } else { Err(faults) }
    }

    /// Checks a path by its text alone.
    ///
    /// # Errors
    /// If it has no allowed form, or no entry allows it.
    pub fn check(&self, path: &str) -> Result<(), PathViolation> {
        check_form(path).map_err(|fault| PathViolation::Form { path: path.to_owned(), fault })?;
        if self.entries.iter().any(|entry| entry.allows(path)) {
            return Ok(());
        }
        let entries: Vec<String> = self.entries.iter().map(Entry::text).collect();
        Err(PathViolation::NotAllowed { path: path.to_owned(), entries: entries.join(", ") })
    }

    /// Where a write to `path` really goes: every link on the way is resolved, and the result is checked like the path itself. `site` is
    /// the real path of the site's folder. What doesn't exist yet has no links.
    ///
    /// # Errors
    /// If the path or what it leads to isn't allowed.
    pub fn resolve(&self, site: &Path, path: &str) -> Result<PathBuf, PathViolation> {
        self.check(path)?;
        let outside = || PathViolation::Outside { path: path.to_owned() };
        let failed = |source| PathViolation::Io { path: path.to_owned(), source };
        let mut resolved = PathBuf::new();
        let mut left: Vec<String> = path.rsplit('/').map(str::to_owned).collect();
        let mut links = 0;
        while let Some(component) = left.pop() {
            match component.as_str() {
                "" | "." => continue,
                ".." => {
                    if !resolved.pop() {
                        return Err(outside());
                    }
                    continue;
                }
                _ => resolved.push(&component),
            }
            let link = match fs::symlink_metadata(site.join(&resolved)) {
                Ok(found) if found.is_symlink() => fs::read_link(site.join(&resolved)).map_err(failed)?,
                Ok(_) => continue,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(failed(error)),
            };
            links += 1;
            resolved.pop();
            let target =
                link.to_str().filter(|target| !target.starts_with('/') && links <= MAX_LINKS).ok_or_else(outside)?;
            left.extend(target.rsplit('/').map(str::to_owned));
        }
        let real = resolved.to_str().ok_or_else(outside)?;
        self.check(real)?;
        Ok(site.join(real))
    }
}

impl Entry {
    fn parse(text: &str) -> Result<Self, PathFault> {
        let (path, is_recursive) = match text.strip_suffix("**") {
            Some("") => ("", true),
            Some(folder) => (folder.strip_suffix('/').ok_or(PathFault::Wildcard)?, true),
            // A folder may be written with a slash at its end.
            None => (text.strip_suffix('/').unwrap_or(text), false),
        };
        if path.contains(['*', '?', '[']) {
            return Err(PathFault::Wildcard);
        }
        if !(path.is_empty() && is_recursive) {
            check_form(path)?;
        }
        Ok(Self { path: path.to_owned(), is_recursive })
    }

    fn allows(&self, path: &str) -> bool {
        if self.path.is_empty() {
            return true;
        }
        match path.strip_prefix(&self.path) {
            Some("") => true,
            Some(rest) => rest.strip_prefix('/').is_some_and(|below| self.is_recursive || !below.contains('/')),
            None => false,
        }
    }

    fn text(&self) -> String {
        match (self.path.as_str(), self.is_recursive) {
            ("", _) => "**".to_owned(),
            (path, true) => format!("{path}/**"),
            (path, false) => path.to_owned(),
        }
    }
}

fn check_form(path: &str) -> Result<(), PathFault> {
    if path.is_empty() {
        return Err(PathFault::Empty);
    }
    if path.len() > MAX_PATH_BYTES {
        return Err(PathFault::Length);
    }
    let has_drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    if has_drive || path.chars().any(|c| c == '\\' || c.is_control()) {
        return Err(PathFault::Character);
    }
    if path.starts_with('/') {
        return Err(PathFault::Absolute);
    }
    if path.split('/').any(|component| matches!(component, "" | "." | "..")) {
        return Err(PathFault::Traversal);
    }
    if path.split('/').any(is_git_folder) {
        return Err(PathFault::GitFolder);
    }
    Ok(())
}

/// Whether a component is git's folder on any file system: other letter case, code points that some file systems ignore, dots and spaces at
/// the end, and the short name of DOS.
fn is_git_folder(component: &str) -> bool {
    let is_ignored = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}');
    let plain: String = component.chars().filter(|c| !is_ignored(*c)).flat_map(char::to_lowercase).collect();
    let plain = plain.trim_end_matches(['.', ' ']);
    let plain = plain.split_once(':').map_or(plain, |(name, _)| name);
    matches!(plain, ".git" | "git~1" | ".gitmodules")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn allowed(entries: &[&str]) -> AllowedPaths {
        AllowedPaths::parse(entries).unwrap()
    }

    #[test]
    fn entries_allow_a_file_the_files_of_a_folder_or_everything_below() {
        let paths = allowed(&["content/docs/**", "data/products.json", "static/"]);
        for path in ["content/docs/a.md", "content/docs/en/x/b.md", "data/products.json", "static/logo.svg"] {
            assert!(paths.check(path).is_ok(), "{path}");
        }
        for path in [
            "content/docsx/a.md", "content/doc", "content", "data/products.json.bak", "data", "static/deep/logo.svg",
            "Content/docs/a.md", "content/DOCS/a.md", "content/do\u{301}cs/a.md", "hugo.toml",
        ] {
            assert!(matches!(paths.check(path), Err(PathViolation::NotAllowed { .. })), "{path}");
        }
        let error = paths.check("hugo.toml").unwrap_err().to_string();
        assert!(error.contains("content/docs/**, data/products.json, static;"), "{error}");
    }

    #[test]
    fn forms_that_could_lead_elsewhere_are_refused_whatever_is_allowed() {
        let everything = allowed(&["**"]);
        let long = "x".repeat(MAX_PATH_BYTES + 1);
        let cases: [(&str, PathFault); 25] = [
            ("", PathFault::Empty),
            ("/etc/passwd", PathFault::Absolute),
            ("//host/share", PathFault::Absolute),
            ("..", PathFault::Traversal),
            ("../a", PathFault::Traversal),
            ("a/../../b", PathFault::Traversal),
            ("a/..", PathFault::Traversal),
            ("./a", PathFault::Traversal),
            ("a//b", PathFault::Traversal),
            ("a/", PathFault::Traversal),
            ("a\\..\\b", PathFault::Character),
            ("C:/a", PathFault::Character),
            ("c:a", PathFault::Character),
            ("a\0b", PathFault::Character),
            ("a\nb", PathFault::Character),
            ("a\u{85}b", PathFault::Character),
            (".git/config", PathFault::GitFolder),
            ("a/.GIT/hooks/x", PathFault::GitFolder),
            (".g\u{200c}it/config", PathFault::GitFolder),
            (".git./config", PathFault::GitFolder),
            (".git /config", PathFault::GitFolder),
            ("GIT~1/config", PathFault::GitFolder),
            (".git::$INDEX_ALLOCATION/config", PathFault::GitFolder),
            (".gitmodules", PathFault::GitFolder),
            (&long, PathFault::Length),
        ];
        for (path, expected) in cases {
            match everything.check(path) {
                Err(PathViolation::Form { fault, .. }) => assert_eq!(fault, expected, "{path:?}"),
                other => panic!("{path:?}: {other:?}"),
            }
        }
        for path in ["a", ".github/x.yml", "a.git/b", "…/a", "a..b", "..a", "é/ü.md", "gitmodules"] {
            assert!(everything.check(path).is_ok(), "{path:?}");
        }
    }

    #[test]
    fn wrong_entries_are_named_by_their_place() {
        let faults =
            AllowedPaths::parse(&["content/**", "*.md", "a/**/b", "/abs", "x/../y", "b**", ".git/**"]).unwrap_err();
        assert_eq!(
            faults,
            [
                (1, PathFault::Wildcard),
                (2, PathFault::Wildcard),
                (3, PathFault::Absolute),
                (4, PathFault::Traversal),
                (5, PathFault::Wildcard),
                (6, PathFault::GitFolder)
            ]
        );
    }

    #[test]
    fn links_are_resolved_before_the_check() {
        let dir = tempfile::tempdir().unwrap();
        let site = fs::canonicalize(dir.path()).unwrap().join("site");
        for folder in ["content/docs", "themes", ".git"] {
            fs::create_dir_all(site.join(folder)).unwrap();
        }
        let link = |target: &str, name: &str| symlink(target, site.join("content/docs").join(name)).unwrap();
        link("../../themes", "out-of-allowed");
        link("../../../elsewhere", "out-of-site");
        link("/etc", "absolute");
        link("../../.git", "git");
        link("loop", "loop");
        link("../docs", "inside");
        link("missing/../../../themes/x", "through-missing");
        fs::write(site.join("content/docs/file"), "").unwrap();
        let paths = allowed(&["content/docs/**"]);
        let resolve = |path: &str| paths.resolve(&site, &format!("content/docs/{path}"));
        assert_eq!(resolve("new/page.md").unwrap(), site.join("content/docs/new/page.md"));
        assert_eq!(resolve("inside/page.md").unwrap(), site.join("content/docs/page.md"));
        for path in ["out-of-allowed/a.css", "through-missing"] {
            assert!(matches!(resolve(path), Err(PathViolation::NotAllowed { .. })), "{path}");
        }
        for path in ["out-of-site/a", "absolute/passwd", "loop/a"] {
            assert!(matches!(resolve(path), Err(PathViolation::Outside { .. })), "{path}");
        }
        assert!(matches!(resolve("git/config"), Err(PathViolation::Form { fault: PathFault::GitFolder, .. })));
        assert!(matches!(resolve("file/below"), Err(PathViolation::Io { .. })), "a file has nothing below it");
    }
}
