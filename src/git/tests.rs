//! Tests of reading repositories, with real readers and repositories that git made.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::*;

/// The entry of reader processes. As a test it does nothing.
#[test]
fn reader_entry() {
    testing::run_if_reader();
}

fn git(dir: &Path, arguments: &[&str]) -> String {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
    let out = codeyard_process::git::run_git(dir, &[&identity[..], arguments].concat()).unwrap();
    out.trim().to_owned()
}

fn object_id(hex: &str) -> [u8; 20] {
    std::array::from_fn(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
}

struct Place {
    _dir: tempfile::TempDir,
    root: PathBuf,
    secret: PathBuf,
}

const SECRET: &str = "the secret of another repository";

fn place() -> Place {
    testing::use_test_binary("tests::reader_entry");
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    let root = top.join("root");
    let secret = top.join("secret");
    for (folder, text) in [(&root, "one\n"), (&secret, SECRET)] {
        fs::create_dir_all(folder.join("sub")).unwrap();
        git(folder, &["init", "-q", "-b", "main"]);
        fs::write(folder.join("a.txt"), text).unwrap();
        fs::write(folder.join("sub/b.txt"), "two\n").unwrap();
        git(folder, &["add", "."]);
        git(folder, &["commit", "-q", "-m", "first"]);
    }
    Place { _dir: dir, root, secret }
}

fn paths(files: &[TreeFile]) -> Vec<&str> {
    files.iter().map(|file| file.path.as_str()).collect()
}

#[test]
fn references_files_and_blobs_are_read() {
    let Place { root, _dir, .. } = place();
    let first = git(&root, &["rev-parse", "HEAD"]);
    git(&root, &["tag", "-a", "v1", "-m", "x"]);
    git(&root, &["tag", "-a", "v2", "-m", "y", "v1"]);
    symlink("a.txt", root.join("link")).unwrap();
    fs::write(root.join("sub.txt"), "between").unwrap();
    git(&root, &["add", "."]);
    git(&root, &["commit", "-q", "-m", "second"]);
    let second = git(&root, &["rev-parse", "HEAD"]);
    let repository = GitRepository::containing(&root, &[]).unwrap();
    let head = RepositoryHead { branch: Some("main".to_owned()), commit: Some(second.clone()) };
    assert_eq!(repository.head(), head);
    for (reference, expected) in [("main", Some(&second)), ("v2", Some(&first)), ("main~1", Some(&first)), ("no", None)]
    {
        assert_eq!(repository.resolve(reference).ok().as_ref(), expected, "{reference}");
    }
    assert_eq!(repository.resolve(&first[..9]).unwrap(), first);
    assert_eq!(repository.resolve("main:a.txt"), Err(GitError::Missing));
    let files = repository.files(&second).unwrap();
    assert_eq!(paths(&files), ["a.txt", "sub.txt", "sub/b.txt"]);
    let reader = repository.reader();
    let mut bytes = Vec::new();
    assert_eq!(reader.read(&files[0].oid, 4, &mut bytes), BlobRead::Done);
    assert_eq!(bytes, b"one\n");
    assert_eq!(reader.read(&files[0].oid, 3, &mut bytes), BlobRead::TooLarge(4));
    assert_eq!(reader.read(&[7; 20], 3, &mut bytes), BlobRead::Failed);
    assert!(bytes.is_empty());
    // Below the top, only the files below the root are listed.
    let below = GitRepository::containing(&root.join("sub"), &[]).unwrap();
    assert_eq!(paths(&below.files(&second).unwrap()), ["b.txt"]);
    // Packed and detached heads, and an unborn branch.
    git(&root, &["pack-refs", "--all"]);
    assert_eq!(repository.head(), head);
    git(&root, &["checkout", "-q", "--detach"]);
    assert_eq!(repository.head(), RepositoryHead { branch: None, commit: Some(second) });
    git(&root, &["checkout", "-q", "--orphan", "new"]);
    assert_eq!(repository.head(), RepositoryHead { branch: Some("new".to_owned()), commit: None });
}

#[test]
fn nothing_outside_is_read_through_the_files_of_a_repository() {
    let Place { root, secret, _dir } = place();
    let commit = git(&secret, &["rev-parse", "HEAD"]);
    let inner = root.join(".git");
    let outside = secret.join(".git");
    let cases: [(&str, &dyn Fn()); 7] = [
        ("alternates", &|| {
            fs::create_dir_all(inner.join("objects/info")).unwrap();
            fs::write(inner.join("objects/info/alternates"), format!("{}\n", outside.join("objects").display()))
                .unwrap();
        }),
        ("objects", &|| {
            fs::remove_dir_all(inner.join("objects")).unwrap();
            symlink(outside.join("objects"), inner.join("objects")).unwrap();
        }),
        ("a folder of loose objects", &|| {
            for entry in fs::read_dir(outside.join("objects")).unwrap().flatten() {
                let name = inner.join("objects").join(entry.file_name());
                let _ = fs::remove_dir_all(&name);
                symlink(entry.path(), name).unwrap();
            }
        }),
        ("packs", &|| {
            git(&secret, &["gc", "-q"]);
            fs::remove_dir_all(inner.join("objects/pack")).unwrap();
            symlink(outside.join("objects/pack"), inner.join("objects/pack")).unwrap();
        }),
        ("refs", &|| {
            fs::remove_dir_all(inner.join("refs")).unwrap();
            symlink(outside.join("refs"), inner.join("refs")).unwrap();
        }),
        ("packed-refs", &|| {
            git(&secret, &["pack-refs", "--all"]);
            fs::remove_dir_all(inner.join("refs/heads")).unwrap();
            symlink(outside.join("packed-refs"), inner.join("packed-refs")).unwrap();
        }),
        ("HEAD", &|| {
            fs::write(outside.join("HEAD"), format!("{commit}\n")).unwrap();
            fs::remove_file(inner.join("HEAD")).unwrap();
            symlink(outside.join("HEAD"), inner.join("HEAD")).unwrap();
        }),
    ];
    for (name, prepare) in cases {
        let Place { root: fresh, _dir: _fresh_dir, .. } = place();
        fs::remove_dir_all(&inner).unwrap();
        fs::rename(fresh.join(".git"), &inner).unwrap();
        prepare();
        let Ok(repository) = GitRepository::containing(&root, &[]) else { continue };
        assert_ne!(repository.head().commit.as_ref(), Some(&commit), "{name}");
        for reference in ["main", "HEAD", &commit, &commit[..12]] {
            let found = repository.resolve(reference);
            assert_ne!(found.as_ref(), Ok(&commit), "{name}: {reference}");
            assert!(repository.files(&commit).is_err(), "{name}");
        }
        let oid = object_id(&git(&secret, &["rev-parse", &format!("{commit}:a.txt")]));
        let mut bytes = Vec::new();
        assert_eq!(repository.reader().read(&oid, 999, &mut bytes), BlobRead::Failed, "{name}");
    }
}

#[test]
fn files_of_a_repository_that_block_or_never_end_cost_one_request() {
    let read = |name: &str, kind: &str| {
        let Place { root, _dir, .. } = place();
        let file = root.join(".git").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&file);
        match kind {
            "zero" => symlink("/dev/zero", &file).unwrap(),
            "sparse" => fs::File::create(&file).unwrap().set_len(50 << 30).unwrap(),
            _ => rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
                .unwrap(),
        }
        let Ok(repository) = GitRepository::containing(&root, &[]) else { return };
        // Each ends. A damaged file that isn't needed may go unnoticed.
        let _ = repository.head();
        let _ = repository.resolve("main");
    };
    let names = ["HEAD", "config", "packed-refs", "objects/info/alternates", "shallow", "objects/info/commit-graph"];
    // A read that blocks ends after 10 s, so all wait at once.
    std::thread::scope(|scope| {
        for name in names {
            for kind in ["zero", "fifo", "sparse"] {
                scope.spawn(move || read(name, kind));
            }
        }
    });
}

#[test]
fn a_tree_that_expands_without_end_is_refused() {
    let Place { root, _dir, .. } = place();
    let mut tree = git(&root, &["rev-parse", "HEAD^{tree}"]);
    for _ in 0..30 {
        let rows = (0..10).flat_map(|nth| [format!("40000 d{nth}\0").into_bytes(), object_id(&tree).to_vec()].concat());
        fs::write(root.join("tree"), rows.collect::<Vec<u8>>()).unwrap();
        tree = git(&root, &["hash-object", "-t", "tree", "-w", "tree"]);
    }
    let commit = git(&root, &["commit-tree", &tree, "-m", "bomb"]);
    git(&root, &["branch", "bomb", &commit]);
    let repository = GitRepository::containing(&root, &[]).unwrap();
    assert_eq!(repository.resolve("bomb").as_ref(), Ok(&commit));
    assert_eq!(repository.files(&commit), Err(GitError::TooLarge));
    // The readers still work.
    let main = repository.resolve("main").unwrap();
    assert_eq!(paths(&repository.files(&main).unwrap()), ["a.txt", "sub/b.txt"]);
}
