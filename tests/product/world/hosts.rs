//! Agent hosts of other projects, unmodified, each driven through turns with a fake model on loopback: what the model sees.
//!
//! `tests/product/world/hosts/` has the lab, in Python. Its facts are compared with `facts.json` there, from which the tables of
//! `docs/use/connect-an-agent.md` and `docs/internals/reference/client-libraries.md` are made. `CODEYARD_UPDATE_GOLDEN=1` writes what was found into that file instead.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::world::parts::{command, host_folder, node_program, world_folder};
use crate::world::program::run_within;
use codeyard_test_support::real_servers::servers_dir;

/// The lab has timeouts of its own; this one only a hang of the lab exceeds.
const LIMIT_MS: u64 = 1_800_000;
/// Hosts run one at a time: a busy machine changes what they do.
static TURN: Mutex<()> = Mutex::new(());

/// What a model must get in every host, whatever its form: a part of the facts, a scenario, and the word that says so.
const GOALS: [(&str, &str, &str); 9] = [
    ("agent", "small", "yes"),
    ("agent", "long", "all"),
    ("agent", "cold", "yes"),
    ("agent", "empty", "sentence"),
    ("agent", "missing", "sentence"),
    ("agent", "nowhere", "sentence"),
    ("code", "small", "yes"),
    ("stdio", "small", "yes"),
    ("ask", "ask", "sentence"),
];

fn lab() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/product/world/hosts")
}

/// The entry of a host in `hosts.toml`.
fn entry(host: &str) -> toml::Value {
    let text = fs::read_to_string(lab().join("hosts.toml")).expect("a file");
    let mut all: toml::Table = toml::from_str(&text).expect("TOML");
    all.remove(host).unwrap_or_else(|| panic!("hosts.toml has no {host}"))
}

/// The pins of a host's packages.
fn packages(entry: &toml::Value) -> Vec<String> {
    let listed = entry.get("npm").or_else(|| entry.get("pip")).expect("a host has packages");
    listed.clone().try_into().expect("texts")
}

fn facts() -> Map<String, Value> {
    let text = fs::read_to_string(lab().join("facts.json")).unwrap_or_else(|_| "{}".into());
    serde_json::from_str(&text).expect("JSON")
}

/// Runs the lab for a host; returns the summary of what the model saw.
fn summary(host: &str, installed: &Path) -> Value {
    let out = world_folder().join("hosts");
    fs::create_dir_all(&out).expect("a folder");
    let mut python = command("python3");
    python.arg("-B").arg(lab().join("lab.py")).args(["run", host]).arg("--installed").arg(installed);
    python.arg("--node").arg(node_program()).args(["--codeyard", env!("CARGO_BIN_EXE_codeyard")]);
    let ended = run_within(python.arg("--servers").arg(servers_dir()).arg("--out").arg(&out), LIMIT_MS);
    assert!(ended.success, "{host}: {}", ended.stderr);
    let text = fs::read_to_string(out.join(format!("{host}.json"))).expect("the lab's result");
    let mut result: Value = serde_json::from_str(&text).expect("JSON");
    result["summary"].take()
}

/// Goals that the facts don't meet, as `agent.long`.
fn lacking(facts: &Value) -> Vec<String> {
    let missed = GOALS.iter().filter(|(part, scenario, word)| facts[part][scenario] != *word);
    missed.map(|(part, scenario, _)| format!("{part}.{scenario}")).collect()
}

fn check(host: &str) {
    let _turn = TURN.lock();
    let entry = entry(host);
    if let Some(reason) = entry.get("skip") {
        codeyard_test_support::parts::skip(host, reason);
        return;
    }
    let Ok(installed) = catch_unwind(|| host_folder(host, &packages(&entry), &lab())) else {
        codeyard_test_support::parts::skip(host, "its packages can't be installed here");
        return;
    };
    let found = summary(host, &installed);
    let mut all = facts();
    if std::env::var_os("CODEYARD_UPDATE_GOLDEN").is_some() {
        all.insert(host.into(), found.clone());
        let text = serde_json::to_string_pretty(&all).expect("JSON") + "\n";
        fs::write(lab().join("facts.json"), text).expect("a file");
    }
    let known = all.get(host).cloned().unwrap_or_default();
    assert_eq!(
        found,
        known,
        "{host}: the model sees something else; the whole result is in {}",
        world_folder().join("hosts").display()
    );
    let listed: Vec<String> =
        entry.get("lacks").map(|list| list.clone().try_into().expect("texts")).unwrap_or_default();
    assert_eq!(lacking(&found), listed, "{host}: goals that aren't met, and those that `lacks` of hosts.toml lists");
}

macro_rules! hosts {
    ($($test:ident: $host:literal),+ $(,)?) => {
        const HOSTS: &[&str] = &[$($host),+];
        $(
            #[test]
            #[ignore = "slow: fetches the host from npm or PyPI and drives it through turns"]
            fn $test() {
                check($host);
            }
        )+
    };
}

hosts! {
    opencode: "opencode",
    codex: "codex",
    claude_code: "claude-code",
    copilot_cli: "copilot-cli",
    qwen_code: "qwen-code",
    cline: "cline",
    continue_cli: "continue",
    gemini_cli: "gemini-cli",
    openai_agents: "openai-agents",
    langchain: "langchain",
    pydantic_ai: "pydantic-ai",
    llama_index: "llama-index",
    haystack: "haystack",
    google_adk: "google-adk",
    smolagents: "smolagents",
    agent_framework: "agent-framework",
    crewai: "crewai",
    fast_agent: "fast-agent",
    livekit_agents: "livekit-agents",
    semantic_kernel: "semantic-kernel",
    vibe: "vibe",
}

#[test]
fn every_host_of_the_lab_is_tested() {
    let text = fs::read_to_string(lab().join("hosts.toml")).expect("a file");
    let all: toml::Table = toml::from_str(&text).expect("TOML");
    let mut listed: Vec<&str> = HOSTS.to_vec();
    listed.sort_unstable();
    let mut named: Vec<&String> = all.keys().collect();
    named.sort_unstable();
    assert_eq!(named, listed, "hosts.toml and the tests name the same hosts");
    for host in HOSTS.iter().filter(|host| all[**host].get("skip").is_none()) {
        assert!(facts().contains_key(*host), "facts.json has no {host}");
    }
}

#[test]
#[ignore = "slow: starts Python"]
fn the_fake_model_and_the_judge_pass_their_own_tests() {
    let ended = run_within(command("python3").arg("-B").arg(lab().join("self_test.py")), LIMIT_MS);
    assert!(ended.success, "{}", ended.stderr);
}
