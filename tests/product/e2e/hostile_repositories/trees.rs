//! Trees that are deep, wide, oddly named, full of links, or that change all the time.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};

use super::special_files::{fifo, noise};
use super::{Case, Site, write};

/// Names that shells, terminals, formats and other systems trip over.
const NAMES: [(&str, &[u8]); 20] = [
    ("a line break", b"a\nb.py"),
    ("a carriage return", b"a\rb.py"),
    ("a tab", b"a\tb.py"),
    ("an escape sequence", b"a\x1b[31mb.py"),
    ("a bell and a backspace", b"a\x07\x08.py"),
    ("bytes that are no UTF-8", b"a\xff\xfe.py"),
    ("an overlong encoding", b"a\xc0\xaf.py"),
    ("a right-to-left mark", "a\u{202e}yp.b".as_bytes()),
    ("a zero-width space", "a\u{200b}.py".as_bytes()),
    ("an option", b"--config=x.py"),
    ("quotes", b"\"'`$(x).py"),
    ("a backslash", b"..\\..\\x.py"),
    ("percent signs", b"%2e%2e%2fx%00.py"),
    ("a colon and a question mark", b"C:?#x.py"),
    ("a blank at the end", b"x.py "),
    ("dots", b"....py"),
    ("glob characters", b"[a-z]*{b,c}?.py"),
    ("a byte order mark", "\u{feff}x.py".as_bytes()),
    ("255 bytes", &[b'n'; 255]),
    ("a tilde", b"~root.py"),
];

pub(super) fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = NAMES
        .iter()
        .map(|(what, name)| {
            Case::new(format!("a name with {what}"), move |site| {
                write(&site.root.join(OsStr::from_bytes(name)), "needle_word_here = 1\n");
                write(&site.path("folders").join(OsStr::from_bytes(name)).join("x.py"), "y = 1\n");
            })
        })
        .collect();
    cases.extend([
        Case::new("4,096 nested folders", |site| nested(site, 4_096, "d")),
        Case::new("a path of 50,000 bytes", |site| nested(site, 200, &"d".repeat(250))),
        Case::new("100,000 files in one folder", |site| {
            fs::create_dir(site.path("many")).expect("a folder");
            (0..100_000).for_each(|number| write(&site.path(&format!("many/{number}.txt")), ""));
        }),
        Case::new("20,000 folders", |site| {
            (0..20_000).for_each(|number| fs::create_dir_all(site.path(&format!("many/{number}"))).expect("a folder"));
        }),
        Case::new("1,000 FIFOs", |site| {
            fs::create_dir(site.path("many")).expect("a folder");
            (0..1_000).for_each(|number| fifo(&site.path(&format!("many/{number}.py"))));
        }),
        Case::new("10,000 links to a secret", |site| {
            fs::create_dir(site.path("many")).expect("a folder");
            let target = site.outside.join("secret.py");
            (0..10_000).for_each(|number| symlink(&target, site.path(&format!("many/{number}.py"))).expect("a link"));
        }),
        Case::new("a folder that is a link outside", |site| {
            symlink(&site.outside, site.path("linked")).expect("a link")
        }),
        Case::new("a link to the root of the system", |site| symlink("/", site.path("all")).expect("a link")),
        Case::new("links in a circle", |site| {
            symlink(site.path("b"), site.path("a")).expect("a link");
            symlink(site.path("a"), site.path("b")).expect("a link");
        }),
        Case::new("a folder in itself", |site| symlink(".", site.path("self")).expect("a link")),
        Case::new("the parent as a folder", |site| symlink("..", site.path("up")).expect("a link")),
        Case::new("a chain of 100 links", |site| {
            for number in 0..100 {
                symlink(format!("l{}", number + 1), site.path(&format!("l{number}"))).expect("a link");
            }
            symlink(site.outside.join("secret.py"), site.path("l100")).expect("a link");
        }),
        Case::new("a folder without permissions", |site| {
            write(&site.path("closed/x.py"), "x = 1\n");
            fs::set_permissions(site.path("closed"), fs::Permissions::from_mode(0o0)).expect("a mode");
        }),
        Case::new("a source of 50 GB", |site| {
            fs::File::create(site.path("big.py")).and_then(|file| file.set_len(50 << 30)).expect("a sparse file");
        }),
        Case::new("a line of 8 MiB", |site| write(&site.path("line.py"), "x".repeat(8 << 20))),
        Case::new("64 sources of a MiB of noise", |site| {
            (0..64).for_each(|number| write(&site.path(&format!("noise/{number}.py")), noise(1 << 20)));
        }),
        Case::new("UTF-16", |site| write(&site.path("wide.py"), b"\xff\xfex\0=\x001\0\n\0")),
        Case::new("NUL bytes in a source", |site| write(&site.path("nul.py"), vec![0; 100_000])),
    ]);
    cases.extend(changing());
    cases
}

/// What changes while questions are asked.
fn changing() -> [Case; 5] {
    [
        Case::new("a source that grows", |_| ()).during(|site, done| {
            let line = "grown = 1\n".repeat(1_000);
            let mut text = String::new();
            until(done, || {
                if text.len() < 64 << 20 {
                    text.push_str(&line);
                }
                write(&site.path("growing.py"), &text);
            });
        }),
        Case::new("a source that is replaced by a link outside and back", |site| {
            write(&site.path("swapped.py"), "x = 1\n");
        })
        .during(|site, done| {
            let target = site.path("swapped.py");
            let next = site.path("next");
            let secret = site.outside.join("secret.py");
            until(done, || {
                symlink(&secret, &next).and_then(|()| fs::rename(&next, &target)).expect("a link");
                fs::write(&next, "x = 1\n").and_then(|()| fs::rename(&next, &target)).expect("a file");
            });
        }),
        Case::new("a folder that is replaced by a link outside and back", |site| {
            write(&site.path("real/secret.py"), "x = 1\n");
            symlink(&site.outside, site.path("link")).expect("a link");
        })
        .during(|site, done| {
            let swap = || {
                let real = site.path("real");
                rustix::fs::renameat_with(CWD, &real, CWD, site.path("link"), rustix::fs::RenameFlags::EXCHANGE)
                    .expect("an exchange");
            };
            until(done, swap);
        }),
        Case::new("an ignore file that is rewritten all the time", |_| ()).during(|site, done| {
            let mut number = 0;
            until(done, || {
                number += 1;
                write(&site.path(".gitignore"), format!("nothing{number}\n"));
            });
        }),
        Case::new("folders that come and go", |_| ()).during(|site, done| {
            until(done, || {
                write(&site.path("short/life/x.py"), "x = 1\n");
                fs::remove_dir_all(site.path("short")).expect("removed");
            });
        }),
    ]
}

fn until(done: &AtomicBool, mut work: impl FnMut()) {
    while !done.load(Relaxed) {
        work();
        std::thread::yield_now();
    }
}

/// Folders in folders, and a source in the last one. A path as long can't be named, so each is made from its parent.
fn nested(site: &Site, levels: usize, name: &str) {
    let folder = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at: OwnedFd = openat(CWD, &site.root, folder, Mode::empty()).expect("a folder");
    for _ in 0..levels {
        mkdirat(&at, name, Mode::RWXU).expect("a folder");
        at = openat(&at, name, folder, Mode::empty()).expect("a folder");
    }
    let file = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = openat(&at, "deep.py", file, Mode::RUSR | Mode::WUSR).expect("a file");
    rustix::io::write(&file, b"needle_word_deep = 1\n").expect("written");
}
