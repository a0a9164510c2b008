//! Workspaces with real language servers, the questions about them, and the judgement of the answers.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use codeyard_base::clock::Instant;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::e2e::place::Place;
use crate::mcp::{Mcp, pause};
use crate::running_server::Access;

/// Longest wait for an answer that is right. The longest back-off of a language server that is killed again and again is a minute.
const PATIENCE_MS: u128 = 180_000;

/// Workspaces with real language servers.
pub(super) struct Fleet(pub(super) Vec<(String, Place)>);

impl Fleet {
    /// So many of each language.
    pub(super) fn new(each: usize) -> Self {
        let samples = ["python", "typescript", "c"];
        Self((0..each).flat_map(|number| samples.map(|name| (format!("{name}{number}"), Place::new(name)))).collect())
    }

    pub(super) fn configuration(&self) -> String {
        let workspace =
            |(name, place): &(String, Place)| format!("[[workspace]]\nname = {name:?}\nroots = [{:?}]\n", place.root);
        self.0.iter().map(workspace).collect()
    }

    pub(super) fn assert_untouched(&self) {
        self.0.iter().for_each(|(_, place)| place.assert_untouched());
    }
}

/// What one call gave.
#[derive(Debug)]
pub(super) enum Reply {
    Right,
    /// The documented advice to ask again after so many milliseconds.
    Later(u64),
    Wrong(String),
}

/// A client of the two endpoints of a workspace.
pub(super) struct Asker<'a> {
    place: &'a Place,
    lsp: Mcp,
    code: Mcp,
}

impl<'a> Asker<'a> {
    pub(super) fn new(access: &Access, named: &'a (String, Place)) -> Self {
        let (name, place) = named;
        Self { place, lsp: access.client(name), code: access.client(&format!("{name}/code")) }
    }

    /// Asks the language server for a definition.
    pub(super) fn definition(&mut self) -> Reply {
        match self.lsp.call("vscode.lsp.definition", &self.place.definition().0) {
            Ok(answer) if self.place.is_right(&answer) => Reply::Right,
            Ok(answer) => Reply::Wrong(answer.to_string()),
            Err(failure) => {
                let passes = match failure.code.as_str() {
                    "CAP_EXCEEDED" => failure.is_timeout() || failure.details["reason"] == "overloaded",
                    "PROVIDER_UNAVAILABLE" => failure.details["reason"] == "crashed",
                    _ => false,
                };
                let after = failure.details["retryAfterMs"].as_u64().filter(|_| passes);
                after.map_or_else(|| Reply::Wrong(format!("{failure:?}")), Reply::Later)
            }
        }
    }

    /// Asks the code index for the line of the same definition.
    pub(super) fn search(&mut self) -> Reply {
        let (_, file, line) = self.place.definition();
        let content = fs::read_to_string(self.place.root.join(file)).expect("UTF-8");
        let text = content.lines().nth(line as usize).expect("a line").trim().to_owned();
        self.search_for(&text, file, line + 1)
    }

    /// Asks the code index for a text in one line of one file.
    pub(super) fn search_for(&mut self, text: &str, file: &str, line: u64) -> Reply {
        let answer = self.code_call("search_code", &json!({"query": text, "mode": "text"}));
        let rows = answer["results"].as_array().map(Vec::as_slice).unwrap_or_default();
        match answer["error"]["code"].as_str() {
            _ if rows.iter().any(|row| row["path"] == file && row["line_start"] == line) => Reply::Right,
            Some("timeout" | "overloaded" | "index_not_ready" | "index_in_progress") => Reply::Later(100),
            None if answer["metadata"]["result_completeness"] == "partial" => Reply::Later(100),
            _ => Reply::Wrong(format!("{file}:{line} {text}: {answer}")),
        }
    }

    pub(super) fn code_call(&mut self, tool: &str, arguments: &Value) -> Value {
        let text = self.code.call_text(tool, arguments);
        let mut answer: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        answer["result"]["structuredContent"].take()
    }

    /// Asks until the answer is right. How long that took, in milliseconds.
    pub(super) fn until_right(&mut self, what: &str, ask: impl Fn(&mut Self) -> Reply) -> u128 {
        let began = Instant::now();
        loop {
            match ask(self) {
                Reply::Right => return began.elapsed().as_millis(),
                Reply::Later(ms) if began.elapsed().as_millis() < PATIENCE_MS => pause(ms.min(500)),
                other => panic!("{what} of {} after {} ms: {other:?}", self.lsp.path, began.elapsed().as_millis()),
            }
        }
    }

    /// Both answers are right, and the index is sound.
    pub(super) fn check(&mut self) {
        self.until_right("definition", Self::definition);
        self.until_right("search", Self::search);
        let status = self.code_call("index_status", &json!({}));
        assert!(status["index_status"].is_string() && status["index_status"] != "failed", "{status}");
        assert_ne!(status["metadata"]["indexing_status"], "failed", "{status}");
        assert!(matches!(status["schema_status"].as_str(), Some("compatible" | "not_indexed")), "{status}");
        let jobs = status["recent_jobs"].as_array().expect("jobs");
        assert!(jobs.iter().all(|job| job["status"] != "failed"), "{status}");
    }
}

/// What is counted.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) right: AtomicUsize,
    pub(super) later: AtomicUsize,
    pub(super) wrong: Mutex<Vec<String>>,
}

impl Tally {
    /// Counts a reply; whether it is right.
    pub(super) fn count(&self, of: &str, reply: Reply) -> bool {
        match reply {
            Reply::Right => {
                self.right.fetch_add(1, Relaxed);
                return true;
            }
            Reply::Later(ms) => {
                self.later.fetch_add(1, Relaxed);
                pause(ms.min(200));
            }
            Reply::Wrong(text) => self.wrong.lock().push(format!("{of}: {text}")),
        }
        false
    }
}
