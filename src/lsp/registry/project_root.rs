//! Where a file's project root is, by the registry's rule.
//!
//! It walks upwards from the file's folder. Invariant: the answer lies in the workspace root, and nothing above the workspace
//! root is looked at.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use globset::Glob;

use super::{RootPick, RootRule};
use crate::base::limits::{MAX_MARKER_BYTES, MAX_MARKER_ENTRIES};

/// What the rule says of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectRoot {
    /// The server runs here.
    At(PathBuf),
    /// This marker says that another server is meant.
    Excluded {
        /// The marker found.
        by: PathBuf,
    },
    /// The rule wants a marker and there is none; or the file is not in the workspace root.
    NoMarker,
}

/// What the rule must see of a file system.
pub trait Look {
    /// Whether there is a file or folder.
    fn exists(&self, path: &Path) -> bool;
    /// Names in a folder; empty if it can't be read.
    fn names(&self, folder: &Path) -> Vec<String>;
    /// Text of a file; empty if it can't be read.
    fn text(&self, file: &Path) -> String;
}

/// The real file system. Folders and files are read up to a limit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

/// The real file system, looked at once for each path: for many files in a row. What it has seen it sees for good.
#[derive(Debug, Default)]
pub struct Glance {
    exists: RefCell<HashMap<PathBuf, bool>>,
    names: RefCell<HashMap<PathBuf, Vec<String>>>,
    texts: RefCell<HashMap<PathBuf, String>>,
}

/// The project root of a file, or of the workspace root itself when that is passed as the file.
pub fn project_root(file: &Path, workspace_root: &Path, rule: &RootRule, look: &dyn Look) -> ProjectRoot {
    let start = if file == workspace_root { file } else { file.parent().unwrap_or(file) };
    if !start.starts_with(workspace_root) {
        return ProjectRoot::NoMarker;
    }
    let folders: Vec<&Path> = start.ancestors().take_while(|folder| folder.starts_with(workspace_root)).collect();
    if let Some(by) = folders.iter().find_map(|folder| found(folder, &rule.excluded_by, look)) {
        return ProjectRoot::Excluded { by };
    }
    let marked = pick(&folders, &rule.workspace_markers, rule.pick, look)
        .or_else(|| pick(&folders, &rule.markers, rule.pick, look));
    match (marked, rule.pick) {
        (None, _) if rule.required => ProjectRoot::NoMarker,
        (None, _) | (_, RootPick::Workspace) => ProjectRoot::At(workspace_root.into()),
        (Some(folder), _) => ProjectRoot::At(folder.into()),
    }
}

impl Look for Glance {
    fn exists(&self, path: &Path) -> bool {
        once(&self.exists, path, || Disk.exists(path))
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        once(&self.names, folder, || Disk.names(folder))
    }

    fn text(&self, file: &Path) -> String {
        once(&self.texts, file, || Disk.text(file))
    }
}

fn once<T: Clone>(seen: &RefCell<HashMap<PathBuf, T>>, path: &Path, look: impl FnOnce() -> T) -> T {
    if let Some(known) = seen.borrow().get(path) {
        return known.clone();
    }
    let now = look();
    seen.borrow_mut().insert(path.to_path_buf(), now.clone());
    now
}

impl Look for Disk {
    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn names(&self, folder: &Path) -> Vec<String> {
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        let entries = entries.take(MAX_MARKER_ENTRIES).filter_map(Result::ok);
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    fn text(&self, file: &Path) -> String {
        let mut bytes = Vec::new();
        // Opening a pipe would wait for a writer, so only plain files are read.
        if fs::metadata(file).is_ok_and(|meta| meta.is_file())
            && let Ok(open) = fs::File::open(file)
        {
            let _ = open.take(MAX_MARKER_BYTES).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The nearest or outermost of `folders` (nearest first) that holds one of the markers.
fn pick<'a>(folders: &[&'a Path], markers: &[String], pick: RootPick, look: &dyn Look) -> Option<&'a Path> {
    let mut marked = folders.iter().filter(|folder| found(folder, markers, look).is_some());
    match pick {
        RootPick::Nearest | RootPick::Workspace => marked.next(),
        RootPick::Outermost => marked.next_back(),
    }
    .copied()
}

/// The first of the markers that this folder holds.
fn found(folder: &Path, markers: &[String], look: &dyn Look) -> Option<PathBuf> {
    markers.iter().find_map(|marker| {
        let (path, text) = marker.split_once(" ~ ").map_or((marker.as_str(), None), |(path, text)| (path, Some(text)));
        let at = if path.contains(['*', '?', '[', '{']) { globbed(folder, path, look)? } else { folder.join(path) };
        let there = match text {
            None => look.exists(&at),
            Some(text) => look.text(&at).lines().any(|line| line.trim_start().starts_with(text)),
        };
        there.then_some(at)
    })
}

/// The first name by order that a glob in the last part of a path matches.
fn globbed(folder: &Path, path: &str, look: &dyn Look) -> Option<PathBuf> {
    let path = Path::new(path);
    let folder = folder.join(path.parent()?);
    let matcher = Glob::new(path.file_name()?.to_str()?).ok()?.compile_matcher();
    let name = look.names(&folder).into_iter().filter(|name| matcher.is_match(name)).min()?;
    Some(folder.join(name))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    use super::*;
    use crate::lsp::registry::Registry;

    /// Files with texts, and a record of all that was looked at.
    struct Tree(BTreeMap<PathBuf, String>, RefCell<Vec<PathBuf>>);

    impl Look for Tree {
        fn exists(&self, path: &Path) -> bool {
            self.1.borrow_mut().push(path.into());
            self.0.keys().any(|file| file.starts_with(path))
        }
        fn names(&self, folder: &Path) -> Vec<String> {
            self.1.borrow_mut().push(folder.into());
            let below = self.0.keys().filter_map(|file| file.strip_prefix(folder).ok());
            below.filter_map(|rest| Some(rest.components().next()?.as_os_str().to_str()?.into())).collect()
        }
        fn text(&self, file: &Path) -> String {
            self.1.borrow_mut().push(file.into());
            self.0.get(file).cloned().unwrap_or_default()
        }
    }

    /// A tree from lines of `path` or `path: text`; it always has markers above the workspace root `/w`.
    fn tree(files: &str) -> Tree {
        let above = "/package.json /tsconfig.json /Cargo.toml /go.work /deno.json /pnpm-lock.yaml /.git/HEAD /x.sln";
        let above = above.split(' ').map(|file| (file.into(), "[workspace]".to_string()));
        let mine = files.split_whitespace().map(|line| {
            let (path, text) = line.split_once(':').unwrap_or((line, ""));
            (Path::new("/w").join(path), text.to_string())
        });
        Tree(above.chain(mine).collect(), RefCell::default())
    }

    fn root_of(kind: &str, file: &str, files: &str) -> String {
        let registry = Registry::builtin();
        let tree = tree(files);
        let found = project_root(&Path::new("/w").join(file), Path::new("/w"), &registry.servers[kind].root, &tree);
        assert!(tree.1.borrow().iter().all(|seen| seen.starts_with("/w")), "looked above the root: {:?}", tree.1);
        match found {
            ProjectRoot::At(path) => path.strip_prefix("/w").unwrap().to_str().unwrap().to_string(),
            ProjectRoot::Excluded { by } => format!("!{}", by.strip_prefix("/w").unwrap().display()),
            ProjectRoot::NoMarker => "-".into(),
        }
    }

    #[test]
    fn project_roots() {
        let cases = [
            // kind, file, files of the tree, project root below /w
            ("rust-analyzer", "a/src/x.rs", "a/Cargo.toml b/Cargo.toml", "a"),
            ("rust-analyzer", "a/src/x.rs", "Cargo.toml:[workspace] a/Cargo.toml", ""),
            (
                "rust-analyzer",
                "a/fuzz/x.rs",
                "Cargo.toml:[workspace] a/Cargo.toml a/fuzz/Cargo.toml:[workspace]",
                "a/fuzz",
            ),
            ("rust-analyzer", "a/src/x.rs", "Cargo.toml:[package] a/Cargo.toml", "a"),
            ("rust-analyzer", "x.rs", "", ""),
            ("gopls", "m/p/x.go", "m/go.mod n/go.mod", "m"),
            ("gopls", "m/p/x.go", "go.work m/go.mod n/go.mod", ""),
            ("typescript", "p/a/x.ts", "p/a/tsconfig.json p/a/package.json package-lock.json", ""),
            ("typescript", "p/a/x.ts", "p/a/deno.json package.json", "!p/a/deno.json"),
            ("typescript", "p/a/x.ts", "p/b/deno.json package.json", ""),
            ("deno", "p/a/x.ts", "p/a/deno.json package.json", "p/a"),
            ("deno", "p/a/x.ts", "p/b/deno.json package.json", "-"),
            ("eslint", "p/a/x.ts", "package.json", "-"),
            ("eslint", "p/a/x.ts", "package.json p/eslint.config.mjs", "p"),
            ("biome", "p/a/x.ts", "p/biome.jsonc", "p"),
            ("biome", "p/a/x.ts", "p/b/biome.jsonc", "-"),
            ("csharp", "s/a/x.cs", "s/All.sln s/a/a.csproj", "s"),
            ("csharp", "s/a/x.cs", "s/a/a.csproj", "s/a"),
            ("ty", "a/x.py", "pyproject.toml a/pyproject.toml", "a"),
            ("ty", "b/x.py", "pyproject.toml a/pyproject.toml", ""),
            ("clangd", "src/x.c", "compile_commands.json", ""),
            ("clangd", "a/src/x.c", "a/build/compile_commands.json", "a"),
            ("bash", "a/x.sh", "a/b", ""),
        ];
        for (kind, file, files, wanted) in cases {
            assert_eq!(root_of(kind, file, files), wanted, "{kind} {file} in [{files}]");
        }
    }

    #[test]
    fn the_outermost_marker_and_the_root_itself_and_files_outside() {
        let rule = RootRule { markers: vec!["pom.xml".into()], pick: RootPick::Outermost, ..RootRule::default() };
        let tree = tree("a/pom.xml a/b/pom.xml");
        let root = Path::new("/w");
        let of = |file: &str, rule: &RootRule| project_root(Path::new(file), root, rule, &tree);
        assert_eq!(of("/w/a/b/c/X.java", &rule), ProjectRoot::At("/w/a".into()));
        assert_eq!(of("/w", &rule), ProjectRoot::At("/w".into()));
        assert_eq!(of("/w", &RootRule { required: true, ..rule.clone() }), ProjectRoot::NoMarker);
        assert_eq!(of("/elsewhere/a", &rule), ProjectRoot::NoMarker);
        assert_eq!(of("/www/a", &rule), ProjectRoot::NoMarker);
    }

    #[test]
    fn the_disk_answers_like_the_tree() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("a/src")).unwrap();
        fs::write(root.join("a/A.sln"), "").unwrap();
        fs::write(root.join("Cargo.toml"), "[package]\n  [workspace]\n").unwrap();
        let servers = Registry::builtin().servers;
        let of = |kind: &str| project_root(&root.join("a/src/x"), root, &servers[kind].root, &Disk);
        assert_eq!(of("csharp"), ProjectRoot::At(root.join("a")));
        assert_eq!(of("rust-analyzer"), ProjectRoot::At(root.into()));
        assert_eq!(of("deno"), ProjectRoot::NoMarker);
    }
}
