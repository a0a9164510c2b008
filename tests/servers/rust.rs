//! rust-analyzer, where it works: it is too large to be built for a test, and a rustup proxy without the component is on many
//! PATHs. Elsewhere the test says that it was passed over.

use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::bare::uri_of;
use crate::e2e::Yard;

/// Tries while it loads the project, each of up to two seconds.
const TRIES: usize = 90;

/// Whether rust-analyzer can be started here.
#[expect(clippy::disallowed_methods, reason = "asks whether the program works at all")]
pub(crate) fn works() -> bool {
    Command::new("rust-analyzer").arg("--version").output().is_ok_and(|ended| ended.status.success())
}

#[test]
fn a_definition_across_files_where_rust_analyzer_works() {
    if !works() {
        println!("passed over: rust-analyzer --version fails here");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a path");
    fs::create_dir(root.join("src")).expect("a folder");
    fs::write(root.join("Cargo.toml"), "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
        .expect("a file");
    fs::write(root.join("src/lib.rs"), "mod other;\n\npub fn first() -> u32 {\n    other::second()\n}\n")
        .expect("a file");
    fs::write(root.join("src/other.rs"), "pub fn second() -> u32 {\n    2\n}\n").expect("a file");
    let yard = Yard::serve(&format!("[[workspace]]\nname = \"small\"\nroots = [{root:?}]\n"));
    let mut client = yard.client("small");
    let asked = json!({"uri": uri_of(&root.join("src/lib.rs")), "position": {"line": 3, "character": 11}});
    let mut answer = None;
    for _ in 0..TRIES {
        match client.ask("vscode.lsp.definition", &asked) {
            Ok(found) => {
                answer = Some(found);
                break;
            }
            Err(failure) => {
                assert_eq!(failure.code, "CAP_EXCEEDED", "{failure:?}");
                std::thread::park_timeout(Duration::from_millis(500));
            }
        }
    }
    let range = json!({"start": {"line": 0, "character": 7}, "end": {"line": 0, "character": 13}});
    let expected = json!([{"uri": uri_of(&root.join("src/other.rs")), "range": range}]);
    assert_eq!(answer.expect("an answer in time")["locations"], expected);
    assert!(!root.join("target").exists(), "nothing is built in the root");
    yard.stop();
}
