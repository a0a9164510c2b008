//! Files that a repository controls and that mean something, replaced by what must never be read as a file.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use super::{Case, Site, git_data, write};

/// Makes one kind of file.
type Make = fn(&Path, &Site);

const KINDS: [(&str, Make); 14] = [
    ("a folder", |path, _| fs::create_dir_all(path).expect("a folder")),
    ("a FIFO", |path, _| fifo(path)),
    ("a socket", |path, _| drop(UnixListener::bind(path).expect("a socket"))),
    ("a link to /dev/zero", |path, _| symlink("/dev/zero", path).expect("a link")),
    ("a link to /dev/urandom", |path, _| symlink("/dev/urandom", path).expect("a link")),
    ("a link to /proc/self/environ", |path, _| symlink("/proc/self/environ", path).expect("a link")),
    ("a link to a secret file", |path, site| symlink(site.outside.join("secret.py"), path).expect("a link")),
    ("a link to a secret folder", |path, site| symlink(&site.outside, path).expect("a link")),
    ("a link to nothing", |path, _| symlink("/nowhere/at/all", path).expect("a link")),
    ("a link to itself", |path, _| symlink(path, path).expect("a link")),
    ("50 GB of nothing", |path, _| {
        fs::File::create(path).and_then(|file| file.set_len(50 << 30)).expect("a sparse file");
    }),
    ("unreadable", |path, _| {
        fs::write(path, "x\n").expect("a file");
        fs::set_permissions(path, fs::Permissions::from_mode(0o0)).expect("a mode");
    }),
    ("20 MB without a line end", |path, _| fs::write(path, vec![b'a'; 20 << 20]).expect("a file")),
    ("a MiB of noise", |path, _| fs::write(path, noise(1 << 20)).expect("a file")),
];

/// The files, and the document whose language server reads them.
const NAMES: [(&str, &str); 18] = [
    (".gitignore", "main.py"),
    (".ignore", "main.py"),
    (".codeyardignore", "main.py"),
    ("sub/.gitignore", "main.py"),
    (".git", "main.py"),
    (".git/HEAD", "main.py"),
    (".git/config", "main.py"),
    (".git/packed-refs", "main.py"),
    (".git/index", "main.py"),
    (".git/info/exclude", "main.py"),
    (".git/objects/info/alternates", "main.py"),
    (".git/commondir", "main.py"),
    ("main.py", "main.py"),
    ("pyproject.toml", "main.py"),
    ("ty.toml", "main.py"),
    ("compile_commands.json", "main.c"),
    ("tsconfig.json", "main.ts"),
    ("package.json", "main.ts"),
];

pub(super) fn cases() -> Vec<Case> {
    let pairs = NAMES.iter().flat_map(|name| KINDS.iter().map(move |kind| (name, kind)));
    pairs
        .map(|((file, document), (kind, make))| {
            let case = Case::new(format!("{file} is {kind}"), move |site| {
                match *document {
                    "main.c" => write(&site.path(document), "int needle_word(void) { return 1; }\n"),
                    "main.ts" => write(&site.path(document), "export const needle_word = 1;\n"),
                    _ => {}
                }
                if file.starts_with(".git/") {
                    git_data::repository(&site.root, "other = 1\n");
                }
                let path = site.path(file);
                drop(fs::remove_file(&path));
                fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                make(&path, site);
            });
            case.document(document)
        })
        .collect()
}

/// Makes a FIFO that nobody writes to.
pub(super) fn fifo(path: &Path) {
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).expect("a FIFO");
}

/// Bytes without a pattern, the same each time.
pub(super) fn noise(count: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(next).take(count).collect()
}
