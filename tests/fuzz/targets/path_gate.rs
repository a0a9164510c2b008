//! The path gate, on a folder with links of every kind. What is admitted is, by the kernel's own resolution, a regular file inside the root,
//! and what is read is its text; what is such a file is admitted. Both ways of opening files agree. Links change between the questions.

#![no_main]

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use codeyard_files::gate::fuzzing::per_segment;
use codeyard_files::gate::{FileRefusal, Gate, ReadFailure, RootReader, StampedAdmission, read_below};
use codeyard_fuzz::Values;
use codeyard_model::error::ErrorCode;
use codeyard_model::uri::{CanonicalUri, UriAdmission, encode_path};
use libfuzzer_sys::fuzz_target;

const INSIDE: &[u8] = b"inside";
const OUTSIDE: &[u8] = b"outside";

/// What a byte of the input stands for in a path.
const SEGMENTS: [&str; 40] = [
    "..",
    "..",
    "..",
    ".",
    "",
    "root",
    "root",
    "rooted",
    "out",
    "a",
    "b",
    "deep",
    "file",
    "one.py",
    "[slug].ts",
    "a b",
    "ü",
    "%41",
    "%2e%2e",
    "%2E",
    "%2F",
    "%00",
    "none",
    "in",
    "in_dir",
    "escape",
    "escape_dir",
    "up",
    "up_far",
    "loop",
    "dangling",
    "dangling_out",
    "chain",
    "swing",
    "swing_dir",
    "fifo",
    "secret",
    "to_root",
    "\\",
    "?",
];

/// Most answers of the kernel that are remembered.
const MAX_ANSWERS: usize = 50_000;

/// The tree, made once for the process.
struct Tree {
    folder: PathBuf,
    gates: [Gate; 2],
    state: Mutex<State>,
    _dir: tempfile::TempDir,
}

/// What is known of the tree, so that the file system is asked less often.
#[derive(Default)]
struct State {
    /// Where the links that change point.
    targets: [Option<&'static str>; 2],
    /// The real path of each path, with these targets.
    answers: HashMap<([Option<&'static str>; 2], PathBuf), Option<PathBuf>>,
}

impl Tree {
    fn shared() -> &'static Self {
        static TREE: OnceLock<Tree> = OnceLock::new();
        TREE.get_or_init(Self::new)
    }

    fn new() -> Self {
        // In memory, where there is such a folder: the file system is asked dozens of times for each input.
        let memory = Some(Path::new("/dev/shm")).filter(|folder| folder.is_dir());
        let dir = memory.map_or_else(tempfile::tempdir, tempfile::tempdir_in).unwrap();
        let folder = dir.path().canonicalize().unwrap();
        let at = |name: &str| folder.join(name);
        for name in ["root/a/b/deep", "rooted", "out/a/b"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        let inside = ["file", "a/one.py", "a/[slug].ts", "a/a b", "a/b/ü", "a/b/A", "a/b/deep/file", "a/b/deep/%41"];
        for name in inside {
            fs::write(at("root").join(name), INSIDE).unwrap();
        }
        for name in ["secret", "rooted/file", "out/secret", "out/file", "out/a/one.py", "out/a/b/file"] {
            fs::write(at(name), OUTSIDE).unwrap();
        }
        let links = [
            ("root/in", "a/one.py"),
            ("root/in_dir", "a/b"),
            ("root/escape", "../out/secret"),
            ("root/a/escape_dir", "../../out"),
            ("root/a/up", ".."),
            ("root/a/b/up_far", "../../../../../../../../.."),
            ("root/loop", "loop"),
            ("root/dangling", "a/none"),
            ("root/dangling_out", "../out/none"),
            ("root/chain", "a/b/chain"),
            ("root/a/b/chain", "../up/in"),
            ("out/in", "../root/file"),
            ("to_root", "root"),
        ];
        for (name, target) in links {
            symlink(target, at(name)).unwrap();
        }
        rustix::fs::mkfifoat(rustix::fs::CWD, at("root/fifo"), rustix::fs::Mode::RUSR).unwrap();
        let gate = Gate::open(&[at("root")], &[]).unwrap();
        let gates = [gate.clone(), per_segment(gate)];
        Self { folder, gates, state: Mutex::default(), _dir: dir }
    }

    /// Points the links that change to one of their targets.
    fn swing(&self, choice: u8) {
        let targets = ["a/one.py", "../out/secret", "a/none", "swing_dir/file"];
        let folders = ["a/b/deep", "../out", "..", "swing"];
        let links = [
            ("root/swing", targets[usize::from(choice & 3)]),
            ("root/swing_dir", folders[usize::from(choice >> 2 & 3)]),
        ];
        let mut state = self.state.lock().unwrap();
        for ((name, target), old) in links.into_iter().zip(&mut state.targets) {
            if *old == Some(target) {
                continue;
            }
            let link = self.folder.join(name);
            let next = self.folder.join("next");
            symlink(target, &next).unwrap();
            fs::rename(&next, &link).unwrap();
            *old = Some(target);
        }
    }

    /// The real path of the regular file inside the root that a path names, by the kernel.
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let mut state = self.state.lock().unwrap();
        let key = (state.targets, path.to_owned());
        if let Some(known) = state.answers.get(&key) {
            return known.clone();
        }
        let is_inside = |real: &PathBuf| {
            real.starts_with(self.folder.join("root")) && real.metadata().is_ok_and(|found| found.is_file())
        };
        let answer = path.canonicalize().ok().filter(is_inside);
        if state.answers.len() >= MAX_ANSWERS {
            state.answers.clear();
        }
        state.answers.insert(key, answer.clone());
        answer
    }

    fn check_document(&self, gate: &Gate, uri: &str, path: Option<&Path>) {
        let answer = gate.document(uri);
        let real = path.and_then(|path| self.real(path));
        match (&answer, gate.admit(uri)) {
            (Ok(admitted), UriAdmission::Inside(same)) => {
                assert_eq!(admitted, &same);
                self.check_admitted(gate, admitted);
            }
            (Err(error), UriAdmission::Missing) => assert_eq!(error.code, ErrorCode::NotFound),
            (Err(error), UriAdmission::Outside) => assert_ne!(error.code, ErrorCode::NotFound),
            other => panic!("{uri}: {other:?}"),
        }
        if path.is_some() {
            let expected = real.map(|real| encode_path(&real));
            assert_eq!(answer.as_ref().ok().map(|uri| uri.as_str().to_owned()), expected, "{uri}: {answer:?}");
        }
        if let Err(error) = answer {
            let text = format!("{error} {}", error.details_value());
            assert!(!text.contains("secret") && !text.contains('/'), "an error has a path: {text}");
        }
    }

    fn check_admitted(&self, gate: &Gate, uri: &CanonicalUri) {
        let path = uri.to_path();
        assert_eq!(self.real(&path).as_ref(), Some(&path), "not a real path inside the root");
        assert_eq!(gate.read(uri, 100).unwrap().0, INSIDE);
        assert_eq!(gate.path(&path).as_ref(), Ok(uri));
        assert_eq!(gate.document(uri.as_str()).as_ref(), Ok(uri));
        match gate.batch_lookup().admit(uri.as_str()) {
            StampedAdmission::Inside(same, stamp) => assert_eq!((&same, stamp), (uri, gate.stat(uri).unwrap())),
            other => panic!("{uri}: {other:?}"),
        }
    }

    /// The other ways to files below a root.
    fn check_below(&self, rest: &str, path: &Path) {
        let root = self.folder.join("root");
        let read = read_below(&root, path, 100);
        match self.real(path) {
            // What isn't spelt below the folder isn't looked up.
            Some(_) if path.starts_with(&root) => assert_eq!(read.as_deref(), Ok(INSIDE), "{path:?}"),
            _ => assert!(matches!(read, Err(FileRefusal::Missing | FileRefusal::Outside)), "{path:?}: {read:?}"),
        }
        let mut bytes = Vec::new();
        match RootReader::open(&root).read(Path::new(rest), 100, &mut bytes) {
            Ok(_) => assert_eq!(bytes, INSIDE, "{rest:?}"),
            Err(error) => assert!(
                matches!(error, ReadFailure::Missing | ReadFailure::Busy | ReadFailure::Failed) && bytes.is_empty()
            ),
        }
    }
}

/// `.`, `..` and empty segments removed by the text, and whether the text names a directory.
fn without_dots(path: &str) -> (PathBuf, bool) {
    let mut kept = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(kept.pop()),
            name => kept.push(name),
        }
    }
    (PathBuf::from(format!("/{}", kept.join("/"))), matches!(path.rsplit('/').next(), None | Some("" | "." | "..")))
}

fuzz_target!(|data: &[u8]| {
    let tree = Tree::shared();
    let mut values = Values(data);
    let kind = values.byte();
    tree.swing(values.byte());
    let chosen: Vec<&str> =
        values.0.iter().take(24).map(|byte| SEGMENTS[usize::from(*byte) % SEGMENTS.len()]).collect();
    let rest = if kind & 1 == 0 { chosen.join("/") } else { Values(values.0).text() };
    let text = format!("{}/root/{rest}", tree.folder.display());
    let is_path = !text.bytes().any(|byte| byte.is_ascii_control() || byte == b'\\') && text.len() < 4_000;
    let (path, is_directory) = without_dots(&text);
    for gate in &tree.gates {
        // As it stands, which may be no URI at all, and escaped, which is one.
        tree.check_document(gate, &format!("file://{text}"), None);
        if !is_path {
            continue;
        }
        tree.check_document(
            gate,
            &encode_path(Path::new(&text)),
            Some(&path).filter(|_| !is_directory).map(PathBuf::as_path),
        );
        let of_agent = gate.agent_path_stamped(&rest).map(|(uri, _)| uri);
        if let Ok(admitted) = &of_agent {
            tree.check_admitted(gate, admitted);
        }
    }
    if is_path && !is_directory {
        tree.check_below(&rest, &path);
    }
});
