//! Which workspaces' code indexes were used last, so that they can be read into memory when the service starts.
//!
//! Invariants: a file that can't be read counts as none; it is written whole, by rename; the number of workspaces in it is bounded, the
//! longest unused goes first. Workspaces are known by their roots: a name may come to mean other folders.

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use codeyard_model::limits::MAX_WARMSET;

/// The file in the state directory.
pub const WARMSET_FILE: &str = "warmset";

/// Longest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// See the module.
#[derive(Debug)]
pub struct Warmset {
    file: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Roots, the last used first.
    recent: Vec<Vec<PathBuf>>,
    is_enabled: bool,
    capacity: usize,
}

impl State {
    /// Those that are read at the start. In the order of their paths: who was last among them changes with every question.
    fn chosen(&self) -> Vec<&Vec<PathBuf>> {
        let mut chosen: Vec<_> = self.recent.iter().take(self.capacity).collect();
        chosen.sort_unstable();
        chosen
    }
}

impl Warmset {
    /// What is remembered in the state directory at `state`.
    pub fn open(state: &Path) -> Self {
        let file = state.join(WARMSET_FILE);
        let recent = read(&file).unwrap_or_default();
        Self { file, state: Mutex::new(State { recent, ..State::default() }) }
    }

    /// From now on with this capacity.
    pub fn configure(&self, is_enabled: bool, capacity: usize) {
        let mut state = self.state.lock();
        (state.is_enabled, state.capacity) = (is_enabled, capacity.min(MAX_WARMSET));
    }

    /// Whether anything is read at the start, and of how many workspaces.
    pub fn settings(&self) -> (bool, usize) {
        let state = self.state.lock();
        (state.is_enabled, state.capacity)
    }

    /// Whether the workspace with these roots is among them.
    pub fn holds(&self, roots: &[PathBuf]) -> bool {
        let state = self.state.lock();
        state.is_enabled && state.recent.iter().take(state.capacity).any(|known| known == roots)
    }

    /// The index of the workspace with these roots is being used. `true`: that is to be written down.
    pub fn used(&self, roots: &[PathBuf]) -> bool {
        let mut state = self.state.lock();
        if state.recent.first().is_some_and(|last| last == roots) {
            return false;
        }
        let before: Vec<Vec<PathBuf>> = state.chosen().into_iter().cloned().collect();
        state.recent.retain(|known| known != roots);
        state.recent.insert(0, roots.to_vec());
        state.recent.truncate(MAX_WARMSET);
        state.chosen().into_iter().ne(&before)
    }

    /// Writes down what is remembered. Blocks.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn write(&self) -> io::Result<()> {
        let text = serde_json::to_vec(&self.state.lock().recent).map_err(io::Error::other)?;
        let scratch = self.file.with_extension(format!("{}.new", std::process::id()));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&scratch)?;
        file.write_all(&text)?;
        drop(file);
        std::fs::rename(&scratch, &self.file)
    }
}

fn read(file: &Path) -> Option<Vec<Vec<PathBuf>>> {
    let mut text = String::new();
    std::fs::File::open(file).ok()?.take(MAX_FILE_BYTES).read_to_string(&mut text).ok()?;
    let mut recent: Vec<Vec<PathBuf>> = serde_json::from_str(&text).ok()?;
    recent.truncate(MAX_WARMSET);
    Some(recent)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots(name: &str) -> Vec<PathBuf> {
        vec![PathBuf::from("/").join(name)]
    }

    #[test]
    fn the_last_used_are_remembered_and_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let set = Warmset::open(dir.path());
        set.configure(true, 2);
        assert!(!set.holds(&roots("a")));
        assert!(set.used(&roots("a")) && set.used(&roots("b")));
        assert!(!set.used(&roots("b")), "nothing changes");
        assert!(!set.used(&roots("a")), "the same two are read");
        assert!(set.used(&roots("c")));
        assert_eq!(["a", "b", "c"].map(|name| set.holds(&roots(name))), [true, false, true]);
        set.write().unwrap();
        let again = Warmset::open(dir.path());
        assert!(!again.holds(&roots("a")), "nothing is wanted yet");
        again.configure(true, 1);
        assert_eq!(["a", "b", "c"].map(|name| again.holds(&roots(name))), [false, false, true]);
        again.configure(false, 3);
        assert!(!again.holds(&roots("c")));
        std::fs::write(dir.path().join(WARMSET_FILE), "{").unwrap();
        let damaged = Warmset::open(dir.path());
        damaged.configure(true, 3);
        assert!(!damaged.holds(&roots("c")));
        assert!(damaged.used(&roots("c")));
    }
}
