//! Limits of single servers with real language servers: the idle time, and the memory of a kind.

use crate::mcp::until;
use crate::running_server::Yard;
use crate::servers::corpus::{C, Corpus, PYTHON};
use crate::servers::operations::place;
use crate::servers::starts::references;

use serde_json::json;

use crate::bare::uri_of;

#[test]
fn idle_servers_stop_in_order_and_come_back_with_the_same_answer() {
    let corpora = [PYTHON, C].map(Corpus::harbour);
    let names = ["python", "c"];
    let workspaces: String = names.iter().zip(&corpora).map(|(name, corpus)| corpus.workspace(name)).collect();
    let mut yard = Yard::serve(&format!("{workspaces}\n[supervision]\nidle_stop_s = 2\n"));
    let first = [0, 1].map(|at| references(&yard, names[at], &corpora[at]));
    assert!(first.iter().all(|answer| answer.len() > 1), "{first:?}");
    for program in ["ty", "clangd"] {
        assert!(until(60_000, || yard.running(program).is_empty()), "{program} still runs: {}", yard.log());
    }
    // A thread of its own writes the log.
    let stops = || yard.log().matches("language server is idle").count();
    assert!(until(10_000, || stops() >= 2), "{}", yard.log());
    let log = yard.log();
    assert!(!log.contains("language server ended"), "a stop is no failure: {log}");
    for (at, corpus) in corpora.iter().enumerate() {
        // The answer must not be a retained one.
        std::fs::write(corpus.root.join("touched.txt"), "1").expect("a file");
        assert_eq!(references(&yard, names[at], corpus), first[at], "{}: after its server came back", names[at]);
    }
    yard.stop();
}

#[test]
fn a_server_that_needs_more_than_its_memory_limit_is_given_up_and_the_others_answer() {
    let corpora = [PYTHON, C].map(Corpus::harbour);
    let names = ["python", "c"];
    let workspaces: String = names.iter().zip(&corpora).map(|(name, corpus)| corpus.workspace(name)).collect();
    let limits = "[servers.clangd]\nmemory_limit_mib = 2\n[servers.ty]\nmemory_limit_mib = 4000\n";
    let mut yard = Yard::serve(&format!("{workspaces}\n{limits}"));
    let file = corpora[1].root.join("src/books.cpp");
    let at = place(&corpora[1], "src/books.cpp", "due", 0);
    let mut client = yard.client("c");
    let mut column = 0;
    let mut last = String::new();
    let given_up = until(90_000, || {
        // Another place each time, so that no retained result answers it.
        column += 1;
        let position = json!({"line": at.line, "character": column % 8});
        let asked = client.call("vscode.lsp.hover", &json!({"uri": uri_of(&file), "position": position}));
        let Err(failure) = asked else { return false };
        last = failure.details.to_string();
        failure.details["reason"] == "quarantined"
    });
    assert!(given_up, "{last}\n{}", yard.log());
    let ends = || yard.log().matches("language server is over its memory limit").count();
    // A thread of its own writes the log.
    assert!(until(10_000, || ends() >= 2), "{}", yard.log());
    assert_eq!(ends(), 2, "one more try: {}", yard.log());
    let log = yard.log();
    assert!(log.contains("servers.clangd.memory_limit_mib"), "{log}");
    // The system takes a moment to end a process that was killed.
    assert!(until(10_000, || yard.running("clangd").is_empty()), "clangd still runs: {}", yard.log());
    assert!(references(&yard, "python", &corpora[0]).len() > 1);
    yard.stop();
}
