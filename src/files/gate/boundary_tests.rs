//! The gate where its rules end: as many roots as are allowed, a root that became a file, and files that are larger than they say.

use std::path::PathBuf;

use super::*;
use crate::gate::LinkChanges;
use codeyard_model::error::ErrorCode;
use codeyard_model::limits::MAX_ROOTS;
use codeyard_model::uri::encode_path;

fn folder() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    for folder in ["root/src", "extra"] {
        std::fs::create_dir_all(top.join(folder)).unwrap();
    }
    for file in ["root/src/x.py", "extra/y.py"] {
        std::fs::write(top.join(file), "inside").unwrap();
    }
    (dir, top)
}

#[test]
fn roots_and_extra_roots_are_counted_together() {
    let (_dir, top) = folder();
    let count = |roots: usize, extra: usize| {
        Gate::open(&vec![top.join("root"); roots], &vec![top.join("extra"); extra])
            .map(|gate| gate.root_set().allowed().count())
    };
    assert_eq!(count(MAX_ROOTS, 0).unwrap(), 1);
    assert_eq!(count(MAX_ROOTS - 2, 2).unwrap(), 2);
    for (roots, extra) in [(MAX_ROOTS, 1), (MAX_ROOTS - 1, 2), (1, MAX_ROOTS), (MAX_ROOTS + 2, 0)] {
        assert!(matches!(count(roots, extra), Err(GateError::TooMany { count }) if count == roots + extra));
    }
}

#[test]
fn a_root_that_became_a_file_is_no_document() {
    let (_dir, top) = folder();
    let root = top.join("root");
    let gate = Gate::open(std::slice::from_ref(&root), &[]).unwrap();
    std::fs::remove_dir_all(&root).unwrap();
    std::fs::write(&root, "a file").unwrap();
    for gate in [gate.clone(), gate.per_segment()] {
        let error = gate.document(&encode_path(&root)).unwrap_err();
        assert_eq!(error.code, ErrorCode::NotFound);
        assert_eq!(gate.document(&encode_path(&root.join("src/x.py"))).unwrap_err().code, ErrorCode::NotFound);
    }
}

#[test]
fn without_a_free_descriptor_regular_files_inside_are_admitted_and_nothing_is_read() {
    let (_dir, top) = folder();
    let root = top.join("root");
    std::os::unix::fs::symlink(top.join("extra/y.py"), root.join("out.py")).unwrap();
    std::os::unix::fs::symlink(root.join("src/x.py"), root.join("in.py")).unwrap();
    std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    let gate = Gate::open(std::slice::from_ref(&root), &[]).unwrap().without_descriptors();
    let admitted = |name: &str| gate.document(&encode_path(&root.join(name))).map(|uri| uri.to_string());
    let real = encode_path(&root.join("src/x.py"));
    assert_eq!(admitted("src/x.py").unwrap(), real);
    assert_eq!(admitted("in.py").unwrap(), real);
    for name in ["src", "socket", "missing.py"] {
        assert_eq!(admitted(name).unwrap_err().code, ErrorCode::NotFound, "{name}");
    }
    assert_eq!(admitted("out.py").unwrap_err().code, ErrorCode::WorkspaceDenied);
    assert!(gate.read(&gate.document(&real).unwrap(), 1_000).is_err());
}

#[test]
fn a_path_that_was_a_link_is_remembered() {
    let (_dir, top) = folder();
    let gate = Gate::open(&[top.join("root")], &[top.join("extra")]).unwrap();
    let uri = |name: &str| gate.path(&top.join(name)).unwrap();
    assert!(!gate.was_link(&uri("root/src/x.py")));
    gate.add_links(LinkChanges { paths: [top.join("root/src")].into(), too_many: false });
    assert!(gate.was_link(&uri("root/src/x.py")) && !gate.was_link(&uri("extra/y.py")));
}

/// Files of the kernel say that they are empty, as one that grows at the moment.
#[cfg(target_os = "linux")]
#[test]
fn a_document_that_is_larger_than_its_stamp_says_is_too_large() {
    let own = PathBuf::from("/proc").join(std::process::id().to_string());
    let gate = Gate::open(std::slice::from_ref(&own), &[]).unwrap();
    for gate in [gate.clone(), gate.per_segment()] {
        let uri = gate.path(&own.join("status")).unwrap();
        let (bytes, stamp) = gate.read(&uri, 1 << 20).unwrap();
        assert!(bytes.starts_with(b"Name:") && stamp.size == 0);
        assert_eq!(gate.read(&uri, 10).unwrap_err().code, ErrorCode::CapExceeded);
    }
}
