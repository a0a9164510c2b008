//! Whether a program speaks the Language Server Protocol: it is started in an empty folder and asked to initialize.
//!
//! A program of the right name may be another one, an older one that has no language server, or one that lacks a library. Invariants: the
//! program sees nothing of a workspace, and has ended when the answer is known; any answer proves it, also one that refuses an empty folder.

use std::env::{join_paths, split_paths};
use std::ffi::OsStr;
use std::io;
use std::time::Duration;

use serde_json::{Value, json};

use super::program_lookup::{ProbeResult, ServerProgram};
use crate::registry::{LaunchConfig, LaunchPaths, ServerSpec};
use codeyard_model::uri::encode_path;
use codeyard_process::tool::{Tool, ToolBounds, ToolEnd};

/// Most output that is read until the answer.
const MAX_OUTPUT_BYTES: usize = 4 * 1024 * 1024;
/// Longest excerpt of an output in a message, in characters.
const MAX_EXCERPT: usize = 200;
/// The identifier of the request.
const ID: u32 = 1;

/// Asks the program to initialize, and waits as long for its answer.
pub(super) fn run(program: &ServerProgram, server: &ServerSpec, search_path: &OsStr, limit: Duration) -> ProbeResult {
    let failed = |e: io::Error| format!("it cannot be started: {e}");
    let place = tempfile::tempdir().map_err(failed)?;
    let at = |name: &str| place.path().join(name);
    let paths = LaunchPaths {
        state: at("state"),
        root: at("root"),
        cache: at("cache"),
        install: None,
        bin: None,
        checker: None,
    };
    std::fs::create_dir_all(&paths.root).map_err(failed)?;
    let launch =
        LaunchConfig::prepare(server, &program.program, &program.args, &program.env, &paths).map_err(failed)?;
    let front = launch.path_front.iter().cloned().chain(split_paths(search_path));
    let mut tool = Tool::new(&launch.program)
        .args(&launch.args)
        .env("PATH", join_paths(front).unwrap_or_else(|_| search_path.to_owned()))
        .env("RUSTUP_AUTO_INSTALL", "0")
        .current_dir(&paths.root)
        .input(request(&paths, launch.initialization_options));
    for (name, value) in &launch.env {
        tool = tool.env(name, value);
    }
    let bounds = ToolBounds { limit, max_output_bytes: MAX_OUTPUT_BYTES, stop: &|| false };
    let outcome = tool.run_until(&bounds, &is_answered).map_err(failed)?;
    if is_answered(&outcome.output) {
        return Ok(None);
    }
    let how = match outcome.end {
        ToolEnd::Exited(status) => status.to_string(),
        _ => "it took too long".to_owned(),
    };
    let output = String::from_utf8_lossy(&outcome.output);
    let mut lines = outcome.errors.lines().chain(output.lines()).map(str::trim).filter(|line| !line.is_empty());
    let excerpt: String = lines.next().unwrap_or("no output").chars().take(MAX_EXCERPT).collect();
    Err(format!("`{}` doesn't answer as a language server: {how} ({excerpt})", server.command[0]))
}

/// The message that a client sends first.
fn request(paths: &LaunchPaths, options: Option<Value>) -> Vec<u8> {
    let uri = encode_path(&paths.root);
    let folder = json!({"uri": uri, "name": "root"});
    let params = json!({
        "processId": std::process::id(),
        "rootPath": paths.root,
        "rootUri": uri,
        "workspaceFolders": [folder],
        "capabilities": {"workspace": {"workspaceFolders": true, "configuration": true}},
        "initializationOptions": options,
    });
    let body = json!({"jsonrpc": "2.0", "id": ID, "method": "initialize", "params": params}).to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Whether an output holds the answer to the request, among notifications, requests and stray text.
fn is_answered(output: &[u8]) -> bool {
    let text = String::from_utf8_lossy(output);
    let mut bodies = text.split("Content-Length:").skip(1).filter_map(|frame| Some(frame.split_once("\r\n\r\n")?.1));
    bodies.any(|body| {
        let message = serde_json::Deserializer::from_str(body).into_iter::<Value>().next().and_then(Result::ok);
        message.is_some_and(|message| {
            message["id"] == ID && (message.get("result").is_some() || message.get("error").is_some())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_answer_to_the_request_counts() {
        let frame = |value: Value| {
            let body = value.to_string();
            format!("Content-Length: {}\r\n\r\n{body}", body.len())
        };
        let answer = frame(json!({"jsonrpc": "2.0", "id": 1, "result": {"capabilities": {}}}));
        let log =
            frame(json!({"jsonrpc": "2.0", "method": "window/logMessage", "params": {"message": "Content-Length: x"}}));
        let own = frame(json!({"jsonrpc": "2.0", "id": 1, "method": "client/registerCapability", "params": {}}));
        let refusal = frame(json!({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no TypeScript"}}));
        for (output, is_right) in [
            (answer.clone(), true),
            (format!("stray\n{log}{own}{answer}"), true),
            (refusal, true),
            (format!("{log}{own}"), false),
            (answer[..answer.len() - 1].to_owned(), false),
            ("Usage: java [options]".to_owned(), false),
            ("{\"id\": 1, \"result\": {}}".to_owned(), false),
        ] {
            assert_eq!(is_answered(output.as_bytes()), is_right, "{output}");
        }
    }
}
