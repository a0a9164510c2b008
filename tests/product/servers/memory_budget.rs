//! The memory budget with real language servers: it holds, servers make room for each other, and come back with the next query.

use std::collections::BTreeSet;

use crate::mcp::until;
use crate::running_server::Yard;
use crate::servers::corpus::{C, Corpus, PYTHON, TYPESCRIPT};
use crate::servers::starts::references;

/// Room for one to three of the servers, which need 15 to 110 MiB each with their guards.
const BUDGET_MIB: u64 = 120;

/// Proportional memory of all descendants of the server in MiB.
fn children_mib(yard: &mut Yard) -> u64 {
    let bytes = |pid: u32| -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let kib: u64 = yard.descendants().into_iter().filter_map(|process| bytes(process.pid)).sum();
    kib / 1024
}

#[test]
fn the_budget_holds_and_stopped_servers_come_back() {
    let corpora: Vec<Corpus> = [PYTHON, TYPESCRIPT, C, PYTHON].map(Corpus::harbour).into();
    let names: Vec<String> = (0..corpora.len()).map(|number| format!("budget{number}")).collect();
    let workspaces: String = names.iter().zip(&corpora).map(|(name, corpus)| corpus.workspace(name)).collect();
    let configuration = format!("{workspaces}\n[supervision]\nmemory_budget_mib = {BUDGET_MIB}\n");
    let mut yard = Yard::serve_with(&configuration, &["--no-auth"]);
    let mut first: Vec<BTreeSet<String>> = Vec::new();
    // A thread of its own writes the log.
    let evictions = |yard: &Yard| yard.log().matches("stopped to keep the memory budget").count();
    let mut round = 0;
    // On a busy machine a server may end its turn before it has taken its memory, so that nothing must be stopped.
    while round < 2 || evictions(&yard) < 2 {
        assert!(round < 10, "{}", yard.log());
        for (at, (name, corpus)) in names.iter().zip(&corpora).enumerate() {
            let answer = references(&yard, name, corpus);
            assert!(answer.len() > 1, "{name}: {answer:?}");
            // Between two measurements servers may take more; one of them is stopped then.
            let mut used = 0;
            let holds = until(30_000, || {
                used = children_mib(&mut yard);
                used <= BUDGET_MIB + BUDGET_MIB / 10
            });
            assert!(holds, "{used} MiB of {BUDGET_MIB} MiB after {name}");
            match round {
                0 => first.push(answer),
                _ => assert_eq!(answer, first[at], "{name}: the same answer after its server came back"),
            }
            // The next answer must not be a retained one.
            let file = corpus.root.join("touched.txt");
            std::fs::write(file, format!("{round}")).expect("a file");
        }
        round += 1;
    }
    let log = yard.log();
    assert!(!log.contains("language server ended"), "a stop is no failure: {log}");
    yard.stop();
}
