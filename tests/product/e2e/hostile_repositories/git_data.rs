//! Git directories that lie: references, configurations, objects and paths that lead outside, in circles, or explode.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::{Case, write};
use codeyard_test_support::git::git;

/// A repository with one commit of `other.txt`.
pub(super) fn repository(root: &Path, text: &str) {
    fs::create_dir_all(root).expect("a folder");
    git(root, &["init", "-q", "-b", "main"]);
    write(&root.join("other.txt"), text);
    git(root, &["add", "other.txt"]);
    git(root, &["commit", "-q", "-m", "one"]);
}

/// A case that begins with a repository.
fn case(name: &str, make: impl FnOnce(&super::Site) + 'static) -> Case {
    Case::new(format!("git: {name}"), move |site| {
        repository(&site.root, "other = 1\n");
        make(site);
    })
}

/// A file of the git directory with this content.
fn holds(name: &str, file: &'static str, content: impl Into<Vec<u8>>) -> Case {
    let content = content.into();
    case(name, move |site| write(&site.path(".git").join(file), content))
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = leading_outside();
    cases.extend([
        holds("HEAD names itself", "HEAD", "ref: HEAD\n"),
        holds("a reference names itself", "refs/heads/main", "ref: refs/heads/main\n"),
        holds("HEAD is noise", "HEAD", super::special_files::noise(100_000)),
        holds("HEAD names a path outside", "HEAD", "ref: ../../../../etc/passwd\n"),
        holds("packed references of 30 MB", "packed-refs", "0000000000000000000000000000000000000001 refs/heads/x\n".repeat(600_000)),
        holds("an index of a version to come", "index", b"DIRC\0\0\0\x09\xff\xff\xff\xff".to_vec()),
        holds("an index that ends early", "index", b"DIRC\0\0\0\x02\0\x0f\xff\xff".to_vec()),
        holds("a configuration that includes a device", "config", "[core]\nrepositoryformatversion = 0\n[include]\npath = /dev/zero\n"),
        holds("a configuration that includes itself", "config", "[core]\nrepositoryformatversion = 0\n[include]\npath = config\n"),
        holds("a configuration that runs a program", "config", "[core]\nrepositoryformatversion = 0\nfsmonitor = \"touch ran\"\nsshCommand = \"touch ran\"\npager = \"touch ran\"\n"),
        holds("a work tree of the whole system", "config", "[core]\nrepositoryformatversion = 0\nworktree = /\n"),
        holds("a format to come", "config", "[core]\nrepositoryformatversion = 99\n"),
        holds("a configuration of 20 MB", "config", "[a]\nb = c\n".repeat(2_000_000)),
        holds("a shallow file of noise", "shallow", super::special_files::noise(100_000)),
        case("20,000 references", |site| {
            let head = git(&site.root, &["rev-parse", "HEAD"]);
            (0..20_000).for_each(|number| write(&site.path(&format!(".git/refs/heads/b{number}")), format!("{head}\n")));
        }),
        case("a commit of an object that is missing", |site| {
            write(&site.path(".git/refs/heads/main"), "00000000000000000000000000000000000000aa\n");
        }),
        case("a broken pack", |site| {
            git(&site.root, &["gc", "-q"]);
            for entry in fs::read_dir(site.path(".git/objects/pack")).expect("a folder").flatten() {
                fs::remove_file(entry.path()).and_then(|()| fs::write(entry.path(), vec![0xff; 10_000])).expect("a file");
            }
        }),
        case("a commit that inflates to 300 MiB", |site| {
            let path = site.path(".git/large");
            fs::File::create(&path).and_then(|file| file.set_len(300 << 20)).expect("a sparse file");
            let commit = git(&site.root, &["hash-object", "-w", "--literally", "-t", "commit", ".git/large"]);
            write(&site.path(".git/refs/heads/main"), format!("{commit}\n"));
        }),
        case("a file that inflates to 400 MiB", |site| {
            fs::File::create(site.path("big.py")).and_then(|file| file.set_len(400 << 20)).expect("a sparse file");
            git(&site.root, &["add", "big.py"]);
            git(&site.root, &["commit", "-q", "-m", "two"]);
            fs::remove_file(site.path("big.py")).expect("removed");
        }),
        case("a tree bomb", |site| {
            let blob = git(&site.root, &["hash-object", "-w", "other.txt"]);
            let list = |kind: &str, id: &str| (0..10).map(|n| format!("{kind} {id}\tn{n}\n")).collect::<String>();
            let tree = |text: String| {
                write(&site.path(".git/list"), text);
                #[expect(clippy::disallowed_methods, reason = "git reads a list from its input")]
                let mut command = std::process::Command::new("git");
                let input = fs::File::open(site.path(".git/list")).expect("a file");
                let output = command.arg("mktree").current_dir(&site.root).stdin(input).output().expect("git");
                String::from_utf8(output.stdout).expect("text").trim().to_owned()
            };
            let mut id = tree(list("100644 blob", &blob));
            (0..9).for_each(|_| id = tree(list("040000 tree", &id)));
            let commit = git(&site.root, &["commit-tree", "-m", "bomb", &id]);
            git(&site.root, &["update-ref", "refs/heads/main", &commit]);
        }),
        case("hooks", |site| {
            for hook in ["post-checkout", "post-index-change", "fsmonitor-watchman", "pre-auto-gc"] {
                let path = site.path(&format!(".git/hooks/{hook}"));
                write(&path, "#!/bin/sh\ntouch ran\n");
                std::os::unix::fs::chown(&path, None, None).expect("ours");
            }
        }),
        case("300 repositories in each other", |site| {
            let mut path = site.root.clone();
            for _ in 0..300 {
                path.push("r");
                write(&path.join(".git/HEAD"), "ref: refs/heads/main\n");
                write(&path.join(".gitignore"), "x\n");
            }
        }),
    ]);
    cases
}

fn leading_outside() -> Vec<Case> {
    let git_dir = |site: &super::Site| site.outside.join("repository/.git");
    vec![
        Case::new("git: `.git` names another repository", move |site| {
            write(&site.path(".git"), format!("gitdir: {}\n", git_dir(site).display()));
        }),
        Case::new("git: `.git` names itself", |site| write(&site.path(".git"), "gitdir: .git\n")),
        Case::new("git: `.git` names a device", |site| write(&site.path(".git"), "gitdir: /dev/zero\n")),
        Case::new("git: `.git` is a link to another repository", move |site| {
            symlink(git_dir(site), site.path(".git")).expect("a link");
        }),
        case("the common directory is another repository's", move |site| {
            write(&site.path(".git/commondir"), format!("{}\n", git_dir(site).display()));
        }),
        case("the alternates are another repository's", move |site| {
            write(&site.path(".git/objects/info/alternates"), format!("{}\n", git_dir(site).join("objects").display()));
            fs::copy(git_dir(site).join("refs/heads/main"), site.path(".git/refs/heads/main")).expect("a file");
        }),
        case("the alternates name themselves", |site| {
            write(&site.path(".git/objects/info/alternates"), "../objects\n.\n");
        }),
        case("the objects are a link", move |site| {
            fs::remove_dir_all(site.path(".git/objects")).expect("removed");
            symlink(git_dir(site).join("objects"), site.path(".git/objects")).expect("a link");
            fs::copy(git_dir(site).join("refs/heads/main"), site.path(".git/refs/heads/main")).expect("a file");
        }),
        case("the references are a link", move |site| {
            fs::remove_dir_all(site.path(".git/refs")).expect("removed");
            symlink(git_dir(site).join("refs"), site.path(".git/refs")).expect("a link");
        }),
    ]
}
