//! Links and folders that are exchanged between inside and outside by the kernel's own exchange, as fast as possible, while every way of
//! reading through the gate is tried.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::*;
use codeyard_model::uri::encode_path;

const INSIDE: &[u8] = b"inside";
/// Bytes of a file inside; those outside are longer.
const SIZE: u64 = INSIDE.len() as u64;
const OUTSIDE: &[u8] = b"OUTSIDE SECRET";
/// Names in the root that are exchanged, and the files that are asked for.
const EXCHANGED: [&str; 3] = ["link.py", "file.py", "folder"];
const ASKED: [&str; 4] = ["link.py", "file.py", "folder/file.py", "folder/../file.py"];

/// `w` is the root; `spare` has what is exchanged with names in the root.
fn tree() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    for folder in ["w/folder", "secrets", "spare"] {
        std::fs::create_dir_all(top.join(folder)).unwrap();
    }
    for file in ["w/main.py", "w/file.py", "w/folder/file.py"] {
        std::fs::write(top.join(file), INSIDE).unwrap();
    }
    for file in ["secret.py", "secrets/file.py"] {
        std::fs::write(top.join(file), OUTSIDE).unwrap();
    }
    for (link, target) in
        [("w/link.py", "main.py"), ("spare/link.py", "../secret.py"), ("spare/file.py", "../secret.py")]
    {
        symlink(target, top.join(link)).unwrap();
    }
    symlink(top.join("secrets"), top.join("spare/folder")).unwrap();
    (dir, top)
}

/// Tries all ways to read `name`. How many gave the content.
fn read_all(gate: &Gate, root: &Path, name: &str) -> usize {
    let path = root.join(name);
    let mut contents: Vec<Vec<u8>> = Vec::new();
    if let Ok(uri) = gate.document(&encode_path(&path)) {
        assert!(gate.root_set().allows(&uri.to_path()), "{uri:?}");
        contents.extend(gate.read(&uri, 100).map(|(bytes, _)| bytes).ok());
        if let Ok(stamp) = gate.stat(&uri) {
            assert_eq!(stamp.size, SIZE, "{uri:?}");
        }
    }
    if let Ok((uri, _)) = gate.agent_path_stamped(name) {
        contents.extend(gate.read(&uri, 100).map(|(bytes, _)| bytes).ok());
    }
    if let StampedAdmission::Inside(uri, stamp) = gate.batch_lookup().admit(&encode_path(&path)) {
        assert_eq!(stamp.size, SIZE, "{uri:?}");
    }
    contents.extend(read_below(root, &path, 100).ok());
    contents.extend(read_start_below(root, &path, 100).ok());
    let reader = RootReader::open(root);
    let mut cache = DirHandleCache::default();
    let mut bytes = Vec::new();
    let relative = Path::new(name);
    if reader.read(relative, 100, &mut bytes).is_ok() {
        contents.push(bytes.clone());
    }
    // The second one reads through the directory that the first one has opened.
    for _ in 0..2 {
        if reader.read_cached(&mut cache, relative, SIZE, 100, &mut bytes).is_ok() {
            contents.push(bytes.clone());
        }
    }
    assert!(contents.iter().all(|content| content == INSIDE), "{name}: {contents:?}");
    contents.len()
}

fn exchange(wanted: usize) {
    let (_dir, top) = tree();
    let root = top.join("w");
    let gate = Gate::open(std::slice::from_ref(&root), &[]).unwrap();
    for gate in [gate.clone(), gate.per_segment()] {
        let is_over = AtomicBool::new(false);
        let exchanges = AtomicUsize::new(0);
        let mut read = 0;
        let mut tried = 0;
        std::thread::scope(|scope| {
            for name in EXCHANGED {
                let is_over = &is_over;
                let exchanges = &exchanges;
                let inside = root.join(name);
                let spare = top.join("spare").join(name);
                scope.spawn(move || {
                    while !is_over.load(Relaxed) {
                        for _ in 0..2 {
                            renameat_with(CWD, &inside, CWD, &spare, RenameFlags::EXCHANGE).unwrap();
                        }
                        exchanges.fetch_add(2, Relaxed);
                    }
                });
            }
            let reading = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                while exchanges.load(Relaxed) < wanted || read == 0 {
                    read += ASKED.iter().map(|name| read_all(&gate, &root, name)).sum::<usize>();
                    tried += ASKED.len();
                }
            }));
            is_over.store(true, Relaxed);
            if let Err(panic) = reading {
                std::panic::resume_unwind(panic);
            }
        });
        println!(
            "{} exchanges; {tried} names asked for, {read} contents read, all from inside",
            exchanges.load(Relaxed)
        );
    }
}

#[test]
fn exchanged_names_never_show_a_byte_from_outside() {
    exchange(5_000);
}

#[test]
#[ignore = "minutes: a million exchanges"]
fn a_million_exchanges_never_show_a_byte_from_outside() {
    exchange(1_000_000);
}
