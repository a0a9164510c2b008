//! rust-analyzer. Its build takes too long for the fast suite, so its tests are in the slow one, which builds it once from its
//! crate into the build folder: `cargo test --profile thorough --test product -- --ignored rust`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::bare::uri_of;
use crate::running_server::Yard;
use codeyard_test_support::real_servers::build_folder;

/// The crate that holds the program. A version that is older than the toolchain can't read the standard library, and finds nothing.
const PACKAGE: &str = "ra_ap_rust-analyzer";
const VERSION: &str = "0.0.345";
/// Set for the second run of a test, whose `PATH` begins with the program's folder.
const HAS_PROGRAM: &str = "CODEYARD_TEST_HAS_RUST_ANALYZER";

/// Number of attempts while it loads the project, each of up to two seconds.
const TRIES: usize = 90;

/// Folder of the program, which is built if missing.
fn program_folder() -> PathBuf {
    let root = build_folder().join(format!("codeyard-world/rust-analyzer-{VERSION}"));
    let bin = root.join("bin");
    fs::create_dir_all(&root).expect("the build folder can be written");
    // Two tests need it.
    let lock = fs::File::create(root.join(".lock")).expect("the build folder can be written");
    lock.lock().expect("a lock");
    if !bin.join("rust-analyzer").is_file() {
        eprintln!("building {PACKAGE} {VERSION}, which takes some minutes");
        #[expect(clippy::disallowed_methods, reason = "the test installs its tools")]
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["install", "--locked", PACKAGE, "--version", VERSION, "--root"]).arg(&root);
        cargo.env("CARGO_TARGET_DIR", root.join("build")).env_remove("RUSTC_WORKSPACE_WRAPPER");
        assert!(cargo.status().expect("cargo runs").success(), "{PACKAGE} can't be built");
        fs::remove_dir_all(root.join("build")).expect("what was built on the way");
    }
    bin
}

/// Whether rust-analyzer is the first of its name on the `PATH`. If not, reruns the test `name` in a process where it is.
pub(crate) fn has_program(name: &str) -> bool {
    if std::env::var_os(HAS_PROGRAM).is_some() {
        return true;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(program_folder()).chain(std::env::split_paths(&path));
    #[expect(clippy::disallowed_methods, reason = "the test starts itself")]
    let mut again = Command::new(std::env::current_exe().expect("the test's own program"));
    again.args(["--exact", name, "--ignored", "--nocapture"]);
    again.env("PATH", std::env::join_paths(folders).expect("a PATH")).env(HAS_PROGRAM, "1");
    let ended = again.output().expect("the test starts");
    let output = format!("{}{}", String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success() && output.contains("1 passed"), "{name} failed or was not found:\n{output}");
    false
}

#[test]
#[ignore = "needs rust-analyzer; the slow suite builds it"]
fn a_rust_definition_is_found_across_files() {
    if !has_program("servers::rust::a_rust_definition_is_found_across_files") {
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
