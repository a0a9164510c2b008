//! A folder of files on disk with its history and its random changes.
//!
//! Each text begins with a unique number, so that no two texts are equal and every change is visible.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codeyard_model::uri::encode_path;

use crate::sim::dice::Dice;
use crate::sim::language::{NAMES, Tree};

/// A folder of files with its history.
pub(crate) struct Site {
    pub root: PathBuf,
    history: Vec<Arc<Tree>>,
    revision: u64,
}

impl Site {
    /// Creates an empty folder.
    pub(crate) fn new(root: PathBuf) -> Self {
        for folder in ["sub", "deep/er"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        Self { root, history: vec![Arc::new(Tree::new())], revision: 0 }
    }

    /// Number of the current state.
    pub(crate) fn version(&self) -> usize {
        self.history.len() - 1
    }

    /// The current files.
    pub(crate) fn tree(&self) -> Arc<Tree> {
        self.history[self.version()].clone()
    }

    /// The files of an earlier state.
    pub(crate) fn tree_at(&self, version: usize) -> &Arc<Tree> {
        &self.history[version]
    }

    /// URI of a relative path.
    pub(crate) fn uri(&self, name: &str) -> String {
        encode_path(&self.root.join(name))
    }

    /// Relative path of a URI.
    pub(crate) fn name_of(&self, uri: &str) -> Option<String> {
        let root = format!("{}/", encode_path(&self.root));
        uri.strip_prefix(&root).map(str::to_owned)
    }

    /// Files in `folder` as a server reads them: sources only, no links.
    pub(crate) fn read(&self, folder: &str) -> Tree {
        let mut found = Tree::new();
        walk(&self.root, &self.root.join(folder), &mut found);
        found
    }

    /// One file as it is on disk.
    pub(crate) fn read_one(&self, name: &str) -> Option<Arc<str>> {
        let path = self.root.join(name);
        let is_file = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
        is_file.then(|| fs::read_to_string(&path).ok().map(Arc::from)).flatten()
    }

    /// Writes a file. `atomically`: a new file replaces it, as editors do.
    pub(crate) fn write(&mut self, name: &str, lines: &str, atomically: bool) {
        self.revision += 1;
        let text = format!("# rev {}\n{lines}", self.revision);
        let path = self.root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if atomically {
            let beside = path.with_extension("tmp");
            fs::write(&beside, &text).unwrap();
            fs::rename(&beside, &path).unwrap();
        } else {
            fs::write(&path, &text).unwrap();
        }
        self.note(|tree| drop(tree.insert(name.to_owned(), text.into())));
    }

    /// Deletes a file.
    pub(crate) fn remove(&mut self, name: &str) {
        fs::remove_file(self.root.join(name)).unwrap();
        self.note(|tree| drop(tree.remove(name)));
    }

    /// Renames a file, replacing any other one.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        let target = self.root.join(to);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::rename(self.root.join(from), &target).unwrap();
        self.note(|tree| {
            if let Some(text) = tree.remove(from) {
                tree.insert(to.to_owned(), text);
            }
        });
    }

    /// Deletes all files in a folder; the folder stays.
    pub(crate) fn clear_folder(&mut self, folder: &str) {
        let below = format!("{folder}/");
        for name in self.tree().keys().filter(|path| path.starts_with(&below)) {
            fs::remove_file(self.root.join(name)).unwrap();
        }
        self.note(|tree| tree.retain(|path, _| !path.starts_with(&below)));
    }

    fn note(&mut self, change: impl FnOnce(&mut Tree)) {
        let mut next = self.tree().as_ref().clone();
        change(&mut next);
        self.history.push(Arc::new(next));
    }

    /// Applies one random change; returns its description for the transcript.
    pub(crate) fn change(&mut self, dice: &mut Dice) -> String {
        let tree = self.tree();
        let sources: Vec<String> = tree.keys().filter(|path| !path.ends_with(".mod")).cloned().collect();
        let fresh =
            format!("{}{}", dice.pick(&["", "sub/", "deep/er/"]), dice.pick(&["new.fake", "b.fake", "x.other"]));
        if sources.len() < 3 {
            self.write(&fresh, &lines(dice), false);
            return format!("write {fresh}");
        }
        let name = dice.pick(&sources).clone();
        match dice.weighted(&[(60, 0), (14, 1), (10, 2), (10, 3), (3, 4)]) {
            0 => {
                let atomically = dice.chance(30);
                self.write(&name, &lines(dice), atomically);
                format!("edit {name}{}", if atomically { " atomically" } else { "" })
            }
            1 => {
                self.write(&fresh, &lines(dice), false);
                format!("write {fresh}")
            }
            2 => {
                self.remove(&name);
                format!("remove {name}")
            }
            3 => {
                let to = match name.rsplit_once('.') {
                    Some((_, ending)) => format!("{}.{ending}", dice.pick(&["moved", "sub/moved", "deep/er/moved"])),
                    None => name.clone(),
                };
                if to != name {
                    self.rename(&name, &to);
                }
                format!("rename {name} to {to}")
            }
            _ if tree.keys().any(|path| path.starts_with("deep/")) => {
                self.clear_folder("deep");
                "clear folder deep".into()
            }
            _ => {
                self.write("deep/er/new.fake", &lines(dice), false);
                "write deep/er/new.fake".into()
            }
        }
    }
}

/// Lines of a source file.
pub(crate) fn lines(dice: &mut Dice) -> String {
    let count = if dice.chance(6) { 60 } else { dice.range(2, 12) };
    let verbs = [(30, "def"), (45, "use"), (10, "bad"), (10, "todo"), (5, "just")];
    (0..count).map(|_| format!("{} {}\n", dice.weighted(&verbs), dice.pick(&NAMES))).collect()
}

fn walk(root: &Path, folder: &Path, found: &mut Tree) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            walk(root, &path, found);
        } else if kind.is_file()
            && path.extension().is_some_and(|ending| ending == "fake" || ending == "other")
            && let Ok(text) = fs::read_to_string(&path)
        {
            found.insert(path.strip_prefix(root).unwrap().to_string_lossy().into_owned(), text.into());
        }
    }
}
