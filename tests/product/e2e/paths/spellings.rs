//! The spellings: one family for each trick, most of them with several forms of a URI before the path.

use std::collections::BTreeSet;

/// Before an absolute path.
const PREFIXES: [&str; 6] = ["", "file://", "file:", "FiLe://", "file://localhost", "file:////"];
/// Segments that some decoder takes for the parent folder.
const PARENTS: [&str; 20] = [
    "..", ".", "...", "%2e%2e", "%2E.", ".%2e", "%252e%252e", "%25252e%25252e", "%c0%ae%c0%ae", "%e0%80%ae%e0%80%ae",
    "%u002e%u002e", "..%00", "..\0", "..;", ".. ", "..\t", "\u{2025}", "\u{ff0e}\u{ff0e}", "\u{2024}\u{2024}",
    "sub/../..",
];
/// What some decoder takes for a slash.
const SLASHES: [&str; 16] = [
    "/", "//", "/./", "%2f", "%2F", "%252f", "\\", "%5c", "%255C", "%c0%af", "%e0%80%af", "\u{2215}", "\u{ff0f}",
    "\u{2044}", "\0/", "%00/",
];
/// After a path.
const SUFFIXES: [&str; 36] = [
    "/", "//", "/.", "/..", "/../main.py", "/../secret.py", ".", "..", " ", "%20", "\t", "\n", "%0a", "\r\n", "\0",
    "%00", "%00.py", "\0.py", "?", "?x=1", "#", "#L1", "%3f", "%23", ";x", ":1", ":1:1", "::$DATA", "~", "%", "%4",
    "%zz", "\u{feff}", "\u{202e}", "\u{200b}", "\u{301}",
];
/// In the place of the host.
const HOSTS: [&str; 20] = [
    "localhost", "LOCALHOST", "localhost.", "localhost:80", "127.0.0.1", "[::1]", "::1", "0.0.0.0", "me@localhost",
    "localhost@evil", "evil.example", "%6cocalhost", "localhost%2f..", "..", ".", "~", "C:", "\u{ff4c}ocalhost",
    "localhost\0", " ",
];
/// Schemes that aren't `file`.
const SCHEMES: [&str; 30] = [
    "http://localhost", "https://localhost", "ftp://localhost", "smb://localhost", "nfs://localhost",
    "sftp://localhost", "data:text/plain,", "untitled:", "git:", "vscode-remote://ssh", "vscode-vfs://x",
    "jar:file://", "zip:file://", "view-source:file://", "url:file://", "file+http://", "files://", "fil:", "file",
    "file;//", " file://", "\tfile://", "\nfile://", "fi\nle://", "\u{fb01}le://", "f\u{131}le://", "file\u{200b}://",
    "%66ile://", "file%3a//", "file:\\\\",
];
/// Files of the system that are of interest.
const SYSTEM: [&str; 30] = [
    "/etc/passwd", "/etc/hostname", "/", "/proc", "/proc/self", "/proc/self/environ", "/proc/self/maps",
    "/proc/self/mem", "/proc/self/cmdline", "/proc/self/status", "/proc/self/exe", "/proc/self/cwd", "/proc/self/root",
    "/proc/self/fd", "/proc/self/task", "/proc/self/mountinfo", "/proc/thread-self/environ", "/proc/1/environ",
    "/proc/sys/kernel/hostname", "/proc/net/tcp", "/dev/stdin", "/dev/stdout", "/dev/fd", "/dev/zero", "/dev/random",
    "/dev/tty", "/sys/kernel", "/run", "/tmp", "/root",
];
/// Texts without a system.
const ODD: [&str; 44] = [
    "", " ", ".", "..", "...", "/", "//", "///", "\\", "~", "~/secret.py", "~root/.bashrc", "~+/main.py",
    "$HOME/.bashrc", "${HOME}", "$(id)", "`id`", "%HOME%", "|id", "-", "--help", "-rf", "\0", "\u{1}", "\u{1b}[31m",
    "\u{7f}", "\u{85}", "\u{2028}", "\u{feff}main.py", "main.py\u{feff}", "MAIN.PY", "main.py.", "main.py ",
    " main.py", "./main.py", "sub/main.py", "sub/./../main.py", "sub//main.py", "*", "**", "../**",
    "{main,../secret}.py", "[m]ain.py", "!../**",
];
/// Absolute paths as other systems write them; `{}` is the path.
const DRIVES: [&str; 16] = [
    "C:{}", "c:{}", "/C:{}", "/c|{}", "C:\\{}", "\\\\?\\{}", "\\\\.\\{}", "//?{}", "//./{}", "\\\\localhost\\c${}",
    "//localhost{}", "\\??\\{}", "/cygdrive/c{}", "/mnt/c{}", "Z:/{}", "/dev/root{}",
];

/// All spellings around the root `{base}/w`, without duplicates, always in the same order. `pid` is that of the server.
pub(super) fn all(base: &str, pid: u32) -> Vec<String> {
    let root = format!("{base}/w");
    let inside = format!("{root}/main.py");
    let outside = [format!("{base}/secret.py"), format!("{base}/secrets/secret.py"), format!("{base}/secrets")];
    let mut all = parents(&root);
    for target in outside.iter().chain([&inside]) {
        let with = |formats: &[&str], each: &dyn Fn(&str) -> String| -> Vec<String> {
            formats.iter().map(|text| each(text)).collect()
        };
        all.extend(with(&PREFIXES, &|prefix| format!("{prefix}{target}")));
        for prefix in ["", "file://"] {
            all.extend(with(&SUFFIXES, &|suffix| format!("{prefix}{target}{suffix}")));
            all.extend(with(&DRIVES, &|drive| format!("{prefix}{}", drive.replace("{}", target))));
        }
        all.extend(with(&HOSTS, &|host| format!("file://{host}{target}")));
        all.extend(with(&SCHEMES, &|scheme| format!("{scheme}{target}")));
        all.extend(escaped(target));
    }
    all.extend(through_processes(&root, base, pid));
    all.extend(through_links(&root));
    all.extend(long(&root));
    all.extend(ODD.iter().map(|text| (*text).to_owned()));
    all.extend(ODD.iter().map(|text| format!("file://{root}/{text}")));
    let mut known = BTreeSet::new();
    all.retain(|text| known.insert(text.clone()));
    all
}

/// The secret file, from the root up.
fn parents(root: &str) -> Vec<String> {
    let mut all = Vec::new();
    for parent in PARENTS {
        for slash in SLASHES {
            let relative = format!("{parent}{slash}secret.py");
            all.push(format!("file://{root}/{relative}"));
            all.push(format!("{root}{slash}{relative}"));
            all.push(format!("sub{slash}{parent}{slash}{relative}"));
            all.push(relative);
        }
    }
    all
}

/// A path with escaped letters: all of them, some, twice, with other digits.
fn escaped(path: &str) -> Vec<String> {
    let escape = |byte: u8, pattern: usize| match pattern {
        0 => format!("%{byte:02x}"),
        1 => format!("%{byte:02X}"),
        2 => format!("%25{byte:02x}"),
        3 if byte.is_ascii_alphabetic() => format!("%{byte:02x}"),
        4 if byte == b'/' => "%2F".to_owned(),
        5 if byte == b'.' => "%2E".to_owned(),
        6 => format!("&#{byte};"),
        7 => format!("\\x{byte:02x}"),
        8 => format!("%u00{byte:02x}"),
        // Two bytes, which is no UTF-8.
        9 => format!("%c{}%{:02x}", byte >> 6, 0x80 | byte & 0x3f),
        _ => char::from(byte).to_string(),
    };
    let with = |pattern: usize| path.bytes().map(|byte| escape(byte, pattern)).collect::<String>();
    (0..10).flat_map(|pattern| [format!("file://{}", with(pattern)), with(pattern)]).collect()
}

/// Through files of the system that lead to processes, descriptors and other roots.
fn through_processes(root: &str, base: &str, pid: u32) -> Vec<String> {
    let mut paths: Vec<String> = SYSTEM.iter().map(|path| (*path).to_owned()).collect();
    for process in ["self".to_owned(), "thread-self".to_owned(), "1".to_owned(), pid.to_string()] {
        for target in [format!("{root}/main.py"), format!("{base}/secret.py"), "/etc/passwd".to_owned()] {
            paths.push(format!("/proc/{process}/root{target}"));
            paths.push(format!("/proc/{process}/cwd/../../../../../../..{target}"));
            paths.push(format!("/proc/{process}/root/proc/{process}/root{target}"));
        }
        paths.extend((0..24).map(|number| format!("/proc/{process}/fd/{number}")));
    }
    paths.extend((0..24).map(|number| format!("/dev/fd/{number}")));
    let mut all: Vec<String> = paths.iter().flat_map(|path| [path.clone(), format!("file://{path}")]).collect();
    all.extend(paths.iter().take(SYSTEM.len()).map(|path| format!("{root}/../../../../../..{path}")));
    all
}

fn through_links(root: &str) -> Vec<String> {
    let folders = [
        "to_folder", "relative_folder", "parent", "system", "process", "descriptors", "directory", "folders0", "sub/up",
    ];
    let files = ["to_file.py", "relative.py", "inside.py", "itself.py", "environment.py", "nothing.py"];
    let mut names: Vec<String> = files.iter().map(|name| (*name).to_owned()).collect();
    names.extend((0..=60).step_by(4).map(|number| format!("chain{number}.py")));
    for folder in
        folders.iter().map(|name| (*name).to_owned()).chain((0..=60).step_by(12).map(|n| format!("folders{n}")))
    {
        let below =
            ["", "/", "/secret.py", "/main.py", "/0", "/etc/passwd", "/w/main.py", "/../secret.py", "/./secret.py"];
        names.extend(below.iter().map(|rest| format!("{folder}{rest}")));
    }
    names.extend(["inside_folder/main.py", "inside_folder/../main.py", "sub/back/back/back/main.py"].map(String::from));
    names.push(format!("{}main.py", "sub/back/".repeat(45)));
    names.push(format!("sub/{}secret.py", "up/sub/".repeat(45)));
    names.into_iter().flat_map(|name| [format!("file://{root}/{name}"), format!("{root}/{name}"), name]).collect()
}

/// Longer than anything that is accepted, and nearly so.
fn long(root: &str) -> Vec<String> {
    let mut texts: Vec<String> = [
        "../".repeat(100) + "etc/passwd",
        "../".repeat(4_000) + "etc/passwd",
        "./".repeat(2_000) + "main.py",
        "./".repeat(40_000) + "main.py",
        "sub/../".repeat(500) + "main.py",
        "sub/../".repeat(10_000) + "main.py",
        "/".repeat(4_000) + "etc/passwd",
        "%2e%2e/".repeat(1_000) + "secret.py",
        "n".repeat(255),
        "n".repeat(256),
        "n".repeat(4_096),
        "n".repeat(100_000),
        "d/".repeat(50_000),
        "%41".repeat(4_096),
        "\u{1f600}".repeat(1_024),
        "%".repeat(5_000),
    ]
    .into();
    let absolute: Vec<String> =
        texts.iter().flat_map(|text| [format!("{root}/{text}"), format!("file://{root}/{text}")]).collect();
    texts.extend(absolute);
    texts
}
