//! The gate on a real tree: hostile spellings, links, concurrent changes, and no access outside the roots.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use super::*;
use codeyard_model::error::ErrorCode;
use codeyard_model::uri::{UriAdmission, encode_path};

const INSIDE: &[u8] = b"inside";
const OUTSIDE: &[u8] = b"OUTSIDE SECRET";

/// `w/a` is the root, `w/lib` an extra root, `w/ab` and `w/out` are outside.
struct Tree {
    _dir: tempfile::TempDir,
    top: PathBuf,
}

impl Tree {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for folder in ["w/a/src", "w/a/pkg", "w/lib/deep", "w/ab", "w/out"] {
            std::fs::create_dir_all(top.join(folder)).unwrap();
        }
        for file in ["w/a/src/x.py", "w/a/pkg/y.py", "w/lib/deep/z.py"] {
            std::fs::write(top.join(file), INSIDE).unwrap();
        }
        for file in ["w/ab/x.py", "w/out/x.py"] {
            std::fs::write(top.join(file), OUTSIDE).unwrap();
        }
        Self { _dir: dir, top }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.top.join(path)
    }

    fn uri(&self, path: &str) -> String {
        encode_path(&self.path(path))
    }

    fn link(&self, at: &str, target: impl AsRef<Path>) {
        symlink(target, self.path(at)).unwrap();
    }

    fn gate(&self) -> Gate {
        Gate::open(&[self.path("w/a")], &[self.path("w/lib")]).unwrap()
    }

    /// One gate for each open method.
    fn gates(&self) -> [Gate; 2] {
        [self.gate(), self.gate().per_segment()]
    }
}

/// The decision of `document`, checked against that of `admit`.
fn decision(gate: &Gate, uri: &str) -> Result<String, &'static str> {
    let answer = gate.document(uri);
    let admitted = gate.admit(uri);
    match (&answer, &admitted) {
        (Ok(uri), UriAdmission::Inside(same)) => assert_eq!(uri, same),
        (Err(error), UriAdmission::Missing) => assert_eq!(error.code, ErrorCode::NotFound),
        (Err(error), UriAdmission::Outside) => assert_ne!(error.code, ErrorCode::NotFound),
        other => panic!("document and admit differ: {other:?}"),
    }
    if let Err(error) = &answer {
        let text = format!("{error} {}", error.details_value());
        assert!(!text.contains('/') && !text.contains("x.py"), "{text}");
    }
    answer.map(|uri| uri.as_str().to_owned()).map_err(|error| error.code.as_str())
}

#[test]
fn errors_follow_the_order_of_checks() {
    let tree = Tree::new();
    tree.link("w/a/escape", tree.path("w/out/x.py"));
    for gate in tree.gates() {
        for (uri, expected) in [
            (tree.uri("w/a/src/x.py"), Ok(tree.uri("w/a/src/x.py"))),
            (tree.uri("w/lib/deep/z.py"), Ok(tree.uri("w/lib/deep/z.py"))),
            (tree.uri("w/a/src/../pkg/./y.py"), Ok(tree.uri("w/a/pkg/y.py"))),
            (tree.uri("w/a/nowhere/../src/x.py"), Ok(tree.uri("w/a/src/x.py"))),
            (tree.uri("w/out/../a/src/x.py"), Ok(tree.uri("w/a/src/x.py"))),
            (tree.uri("w/a"), Err("NOT_FOUND")),
            (tree.uri("w/a/"), Err("NOT_FOUND")),
            (tree.uri("w/a/src"), Err("NOT_FOUND")),
            (tree.uri("w/a/src/x.py/"), Err("NOT_FOUND")),
            (tree.uri("w/a/src/x.py/y"), Err("NOT_FOUND")),
            (tree.uri("w/a/src/none.py"), Err("NOT_FOUND")),
            (tree.uri("w/a/none/none.py"), Err("NOT_FOUND")),
            (tree.uri(&format!("w/a/{}", "n".repeat(300))), Err("NOT_FOUND")),
            (tree.uri("w/ab/x.py"), Err("WORKSPACE_DENIED")),
            (tree.uri("w/ab/none.py"), Err("WORKSPACE_DENIED")),
            (tree.uri("w/a/../out/x.py"), Err("WORKSPACE_DENIED")),
            (tree.uri("w/a/../../../../../../../etc/passwd"), Err("WORKSPACE_DENIED")),
            (tree.uri("w/out/x.py/"), Err("WORKSPACE_DENIED")),
            (tree.uri("w"), Err("WORKSPACE_DENIED")),
            (tree.uri("w/a/escape"), Err("WORKSPACE_DENIED")),
            (tree.uri("w/a/escape/"), Err("WORKSPACE_DENIED")),
            ("file:///".into(), Err("WORKSPACE_DENIED")),
            ("file:///proc/self/root/etc/passwd".into(), Err("WORKSPACE_DENIED")),
            (format!("{}?x", tree.uri("w/out/x.py")), Err("URI_INVALID")),
            (format!("{}%2F..", tree.uri("w/a/src/x.py")), Err("URI_INVALID")),
            (tree.uri("w/a/src/x.py").replace("file:", "http:"), Err("URI_INVALID")),
        ] {
            assert_eq!(decision(&gate, &uri), expected, "{uri}");
        }
    }
}

#[test]
fn without_a_root_every_valid_uri_is_denied() {
    let tree = Tree::new();
    let gate = Gate::open(&[], &[]).unwrap();
    assert_eq!(decision(&gate, &tree.uri("w/a/src/x.py")), Err("WORKSPACE_DENIED"));
    assert_eq!(decision(&gate, "file:///"), Err("WORKSPACE_DENIED"));
    assert_eq!(decision(&gate, "nonsense"), Err("URI_INVALID"));
}

#[test]
fn names_with_special_characters_round_trip() {
    let tree = Tree::new();
    let names = ["[slug].ts", "a#b?.py", "%3A", "x:y@z", "ü ñ 𝒳.py", "a b", "(deleted)", "..x", "...", "%2F", "'\"`$&"];
    for gate in tree.gates() {
        for name in names {
            std::fs::write(tree.path("w/a").join(name), INSIDE).unwrap();
            let uri = encode_path(&tree.path("w/a").join(name));
            let canonical = gate.document(&uri).unwrap();
            assert_eq!(canonical.as_str(), uri);
            assert_eq!(gate.read(&canonical, 100).unwrap().0, INSIDE);
            assert_eq!(gate.path(&canonical.to_path()).unwrap(), canonical);
        }
        let spelt = tree.uri("w/a/x:y@z").replace("x:y@z", "%78%3ay%40z").replace("file://", "FILE://localhost");
        assert_eq!(decision(&gate, &spelt), Ok(tree.uri("w/a/x:y@z")));
        assert_eq!(decision(&gate, &tree.uri("w/a/").replace("/a/", "/a/[slug].ts")), Ok(tree.uri("w/a/[slug].ts")));
    }
}

#[test]
fn links_are_admitted_by_their_real_path() {
    let tree = Tree::new();
    for (at, target) in [
        ("w/a/inner.py", "src/x.py".to_owned()),
        ("w/a/absolute.py", tree.path("w/a/src/x.py").display().to_string()),
        ("w/a/to-lib.py", "../lib/deep/z.py".to_owned()),
        ("w/a/lib", tree.path("w/lib").display().to_string()),
        ("w/a/dir", "src".to_owned()),
        ("w/a/chain.py", "dir/../inner.py".to_owned()),
        ("w/alias", "a".to_owned()),
        ("w/out/back.py", "../a/src/x.py".to_owned()),
        ("w/a/there-and-back.py", "../alias/src/x.py".to_owned()),
        ("w/a/out.py", "../out/x.py".to_owned()),
        ("w/a/out-absolute.py", tree.path("w/out/x.py").display().to_string()),
        ("w/a/out-dangling.py", "../out/none.py".to_owned()),
        ("w/a/out-dir", "../out".to_owned()),
        ("w/a/dangling.py", "src/none.py".to_owned()),
        ("w/a/loop", "loop".to_owned()),
        ("w/a/ask-there", tree.path("w/out/../a/src/x.py").display().to_string()),
        ("w/a/ask-not-there", tree.path("w/none/../a/src/x.py").display().to_string()),
        ("w/a/magic", "/proc/self/root/etc/passwd".to_owned()),
        ("w/a/odd-name", "back\\slash".to_owned()),
        ("w/a/to-dir", "src".to_owned()),
    ] {
        tree.link(at, target);
    }
    std::fs::write(tree.path("w/a/back\\slash"), INSIDE).unwrap();
    let x = || Ok(tree.uri("w/a/src/x.py"));
    for gate in tree.gates() {
        for (path, expected) in [
            ("w/a/inner.py", x()),
            ("w/a/absolute.py", x()),
            ("w/a/to-lib.py", Ok(tree.uri("w/lib/deep/z.py"))),
            ("w/a/lib/deep/z.py", Ok(tree.uri("w/lib/deep/z.py"))),
            ("w/a/dir/x.py", x()),
            ("w/a/chain.py", x()),
            ("w/alias/src/x.py", x()),
            ("w/alias/src/none.py", Err("NOT_FOUND")),
            ("w/alias/src", Err("NOT_FOUND")),
            ("w/alias/../out/x.py", Err("WORKSPACE_DENIED")),
            ("w/out/back.py", x()),
            ("w/a/there-and-back.py", x()),
            ("w/a/out.py", Err("WORKSPACE_DENIED")),
            ("w/a/out-absolute.py", Err("WORKSPACE_DENIED")),
            ("w/a/out-dangling.py", Err("WORKSPACE_DENIED")),
            ("w/a/out-dir", Err("WORKSPACE_DENIED")),
            ("w/a/out-dir/x.py", Err("WORKSPACE_DENIED")),
            ("w/a/out-dir/none.py", Err("WORKSPACE_DENIED")),
            ("w/a/dangling.py", Err("NOT_FOUND")),
            ("w/a/loop", Err("NOT_FOUND")),
            ("w/a/loop/x", Err("NOT_FOUND")),
            ("w/a/ask-there", Err("WORKSPACE_DENIED")),
            ("w/a/ask-not-there", Err("WORKSPACE_DENIED")),
            ("w/a/magic", Err("WORKSPACE_DENIED")),
            ("w/a/odd-name", Err("URI_INVALID")),
            ("w/a/to-dir", Err("NOT_FOUND")),
        ] {
            assert_eq!(document_decision(&gate, &tree.uri(path)), expected, "{path}");
        }
    }
}

/// Of `document` only: `admit` counts a real path without a canonical URI as outside.
fn document_decision(gate: &Gate, uri: &str) -> Result<String, &'static str> {
    gate.document(uri).map(|uri| uri.as_str().to_owned()).map_err(|error| error.code.as_str())
}

#[test]
fn roots_that_are_links_nested_or_duplicate() {
    let tree = Tree::new();
    tree.link("root", "w/a");
    let roots = [tree.path("root"), tree.path("w/a"), tree.path("w/a/src"), tree.path("w/../w/a/.")];
    let gate = Gate::open(&roots, &[tree.path("w/lib"), tree.path("w/a")]).unwrap();
    assert_eq!(gate.root_set().roots(), [tree.path("w/a"), tree.path("w/a/src")]);
    assert_eq!(gate.root_set().allowed().count(), 3);
    assert_eq!(decision(&gate, &tree.uri("root/src/x.py")), Ok(tree.uri("w/a/src/x.py")));
    assert_eq!(decision(&gate, &tree.uri("root/none.py")), Err("NOT_FOUND"));
    // The link's target changes. The root set doesn't follow it.
    std::fs::remove_file(tree.path("root")).unwrap();
    tree.link("root", "w/out");
    assert_eq!(decision(&gate, &tree.uri("root/x.py")), Err("WORKSPACE_DENIED"));
}

#[test]
fn a_recreated_root_is_found_and_one_that_became_a_link_is_not() {
    let tree = Tree::new();
    for gate in tree.gates() {
        std::fs::remove_dir_all(tree.path("w/a")).unwrap();
        assert_eq!(decision(&gate, &tree.uri("w/a/src/x.py")), Err("NOT_FOUND"));
        std::fs::create_dir_all(tree.path("w/a/src")).unwrap();
        std::fs::write(tree.path("w/a/src/x.py"), b"new").unwrap();
        let (uri, stamp) = gate.document_stamped(&tree.uri("w/a/src/x.py")).unwrap();
        assert_eq!(stamp, Some(gate.stat(&uri).unwrap()));
        assert_eq!(gate.read(&uri, 9).unwrap().0, b"new");
        std::fs::rename(tree.path("w/a"), tree.path("w/moved")).unwrap();
        tree.link("w/a", "out");
        assert_eq!(decision(&gate, &tree.uri("w/a/x.py")), Err("WORKSPACE_DENIED"));
        assert_eq!(gate.read(&uri, 9).unwrap_err().code, ErrorCode::NotFound);
        std::fs::remove_file(tree.path("w/a")).unwrap();
        std::fs::rename(tree.path("w/moved"), tree.path("w/a")).unwrap();
    }
}

#[test]
fn invalid_roots_are_errors() {
    let tree = Tree::new();
    let open = |path: &str| Gate::open(&[tree.path(path)], &[]);
    assert!(matches!(open("w/none"), Err(GateError::Unreachable { .. })));
    assert!(matches!(open("w/a/src/x.py"), Err(GateError::NotADirectory { .. })));
    std::fs::create_dir(tree.path("w/back\\slash")).unwrap();
    assert!(matches!(open("w/back\\slash"), Err(GateError::Unnameable { .. })));
    let many = vec![tree.path("w/a"); codeyard_model::limits::MAX_ROOTS + 1];
    assert!(matches!(Gate::open(&many, &[]), Err(GateError::TooMany { .. })));
}

#[test]
fn pipes_sockets_and_devices_never_block() {
    let tree = Tree::new();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, tree.path("w/a/fifo"), fifo, mode, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(tree.path("w/a/socket")).unwrap();
    tree.link("w/a/device", "/dev/null");
    for gate in tree.gates() {
        let file = gate.document(&tree.uri("w/a/src/x.py")).unwrap();
        for name in ["fifo", "socket"] {
            assert_eq!(decision(&gate, &tree.uri(&format!("w/a/{name}"))), Err("NOT_FOUND"), "{name}");
        }
        assert_eq!(decision(&gate, &tree.uri("w/a/device")), Err("WORKSPACE_DENIED"));
        // The file becomes a pipe after it was admitted.
        std::fs::rename(tree.path("w/a/src/x.py"), tree.path("w/a/src/kept")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, tree.path("w/a/src/x.py"), fifo, mode, 0).unwrap();
        assert_eq!(gate.read(&file, 100).unwrap_err().code, ErrorCode::NotFound);
        assert_eq!(gate.stat(&file).unwrap_err().code, ErrorCode::NotFound);
        std::fs::rename(tree.path("w/a/src/kept"), tree.path("w/a/src/x.py")).unwrap();
    }
}

#[test]
fn reading_is_capped_and_stamped() {
    let tree = Tree::new();
    for gate in tree.gates() {
        let uri = gate.document(&tree.uri("w/a/src/x.py")).unwrap();
        let (bytes, stamp) = gate.read(&uri, INSIDE.len()).unwrap();
        assert_eq!((bytes.as_slice(), stamp.size), (INSIDE, INSIDE.len() as u64));
        assert_eq!(gate.stat(&uri).unwrap(), stamp);
        assert!(stamp.is_fresh(codeyard_base::clock::wall_ns()));
        let error = gate.read(&uri, INSIDE.len() - 1).unwrap_err();
        assert_eq!((error.code, &error.details["reason"]), (ErrorCode::CapExceeded, &"document_too_large".into()));
        // Editors write a new file and rename it over the old one: same size, another inode.
        std::fs::write(tree.path("w/a/src/new"), b"INSIDE").unwrap();
        std::fs::rename(tree.path("w/a/src/new"), tree.path("w/a/src/x.py")).unwrap();
        assert_ne!(gate.stat(&uri).unwrap(), stamp);
        std::fs::write(tree.path("w/a/src/x.py"), INSIDE).unwrap();
    }
    let other = Gate::open(&[tree.path("w/lib")], &[]).unwrap();
    let foreign = tree.gate().document(&tree.uri("w/a/src/x.py")).unwrap();
    assert_eq!(other.read(&foreign, 9).unwrap_err().code, ErrorCode::WorkspaceDenied);
    assert_eq!(other.stat(&foreign).unwrap_err().code, ErrorCode::WorkspaceDenied);
}

/// A thread swaps a file and a directory between inside and outside as fast as it can.
#[test]
fn a_swapped_link_never_shows_a_byte_from_outside() {
    let tree = Tree::new();
    std::fs::create_dir(tree.path("w/a/sub")).unwrap();
    std::fs::write(tree.path("w/a/sub/x.py"), INSIDE).unwrap();
    for gate in tree.gates() {
        let end = Arc::new(AtomicBool::new(false));
        let flipping = {
            let end = end.clone();
            let top = tree.top.clone();
            std::thread::spawn(move || {
                let sub = top.join("w/a/sub");
                let kept = top.join("w/kept");
                let link = top.join("w/a/link.py");
                let mut flips = 0_u32;
                while !end.load(Ordering::Relaxed) && flips < 1_000_000 {
                    std::fs::rename(&sub, &kept).unwrap();
                    symlink("../out", &sub).unwrap();
                    symlink("../out/x.py", &link).unwrap();
                    std::fs::remove_file(&sub).unwrap();
                    std::fs::rename(&kept, &sub).unwrap();
                    std::fs::remove_file(&link).unwrap();
                    symlink("sub/x.py", &link).unwrap();
                    std::fs::remove_file(&link).unwrap();
                    flips += 1;
                }
            })
        };
        let mut read = 0;
        for round in 0..6_000 {
            let named = tree.uri(if round % 2 == 0 { "w/a/sub/x.py" } else { "w/a/link.py" });
            if let Ok(uri) = gate.document(&named) {
                assert_eq!(uri.as_str(), tree.uri("w/a/sub/x.py"));
                if let Ok((bytes, _)) = gate.read(&uri, 100) {
                    assert_eq!(bytes, INSIDE);
                    read += 1;
                }
            }
        }
        end.store(true, Ordering::Relaxed);
        flipping.join().unwrap();
        assert!(read > 0, "the race never let a read through");
    }
}

fn segment() -> impl Strategy<Value = String> {
    let words =
        ["..", ".", "", "%2e%2e", "src", "x.py", "esc", "in", "lib", "%2F", "%", "%41", "ü", "\\", "#", "?", "a b"];
    prop_oneof![
        4 => proptest::sample::select(words.to_vec()).prop_map(str::to_owned),
        1 => "[ -~]{0,6}",
        1 => any::<String>(),
    ]
}

#[test]
fn every_admitted_file_is_inside_the_roots() {
    let tree = Tree::new();
    tree.link("w/a/esc", "../out");
    tree.link("w/a/src/esc", "../..");
    tree.link("w/a/in", "src");
    let gates = tree.gates();
    let prefixes = [tree.uri("w/a"), tree.uri("w/a/src"), tree.uri("w"), "file://".into(), String::new()];
    let strategy = (proptest::sample::select(prefixes.to_vec()), proptest::collection::vec(segment(), 0..8));
    proptest!(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) }, |((prefix, segments) in strategy)| {
        let uri = format!("{prefix}/{}", segments.join("/"));
        let decisions = gates.each_ref().map(|gate| gate.document(&uri));
        if let Ok(canonical) = &decisions[0] {
            let path = canonical.to_path();
            prop_assert!(gates[0].root_set().allows(&path));
            prop_assert_eq!(path.canonicalize().unwrap(), path);
            prop_assert_eq!(gates[0].document(canonical.as_str()).unwrap(), canonical.clone());
        }
        prop_assert_eq!(&decisions[0], &decisions[1]);
    });
}

#[test]
fn an_agent_path_is_absolute_relative_or_a_uri() {
    let tree = Tree::new();
    tree.link("w/a/link.py", tree.path("w/a/src/x.py"));
    tree.link("w/a/away.py", tree.path("w/out/x.py"));
    std::fs::write(tree.path("w/lib/both.py"), INSIDE).unwrap();
    for gate in tree.gates() {
        let admitted = |text: &str| gate.agent_path_stamped(text).map(|(uri, _)| uri.to_path());
        let inside = [
            ("src/x.py".to_owned(), "w/a/src/x.py"),
            ("./src/../src/x.py".to_owned(), "w/a/src/x.py"),
            ("link.py".to_owned(), "w/a/src/x.py"),
            ("deep/z.py".to_owned(), "w/lib/deep/z.py"),
            ("../lib/both.py".to_owned(), "w/lib/both.py"),
            (tree.path("w/a/pkg/y.py").display().to_string(), "w/a/pkg/y.py"),
            (tree.uri("w/a/pkg/y.py"), "w/a/pkg/y.py"),
        ];
        for (text, path) in inside {
            assert_eq!(admitted(&text).unwrap(), tree.path(path), "{text}");
        }
        for text in ["none.py", "src", "src/", ".", "src/x.py/y"] {
            let error = admitted(text).unwrap_err();
            assert_eq!((error.code, &error.details["path"]), (ErrorCode::NotFound, &text.into()), "{text}");
        }
        let outside = tree.path("w/out/x.py").display().to_string();
        let nowhere = tree.path("w/out/none.py").display().to_string();
        for text in [&outside, &nowhere, "../out/x.py", "../out/none.py", "away.py", "/", "../../../../etc/passwd"] {
            let error = admitted(text).unwrap_err();
            assert_eq!((error.code, error.details.len()), (ErrorCode::WorkspaceDenied, 0), "{text}");
        }
        for text in ["a\0b", "a\\b", &"x/".repeat(9_000), "file:///a?b", "FILE://host/a"] {
            assert_eq!(admitted(text).unwrap_err().code, ErrorCode::UriInvalid);
        }
    }
}
