//! What the tests of the tool `lsp` share: calls through the catalog `agent`, and what came of them.

use std::future::Future;
use std::sync::Arc;

use codeyard_engine::limits::LATE_SERVER_MS;
use codeyard_gateway::service::ToolReply;
use serde_json::{Value, json};

use crate::harness::*;

/// When whoever has answered is enough, in ms after the call.
pub(crate) const LATE: u64 = 2_000 - LATE_SERVER_MS;

/// What the tool answered.
#[derive(Debug, Clone)]
pub(crate) struct LspAnswer {
    called: Called,
    whole: Value,
}

/// A call to the first workspace.
pub(crate) fn lsp(yard: &Yard, arguments: Value) -> impl Future<Output = LspAnswer> + Send + 'static {
    let mut call = yard.tool_call("w0", "lsp", arguments);
    call.endpoint.catalogs = Arc::from(["agent".to_owned()]);
    let called = yard.run(call);
    async move {
        let called = called.await;
        let whole = serde_json::from_slice(called.bytes()).unwrap();
        LspAnswer { called, whole }
    }
}

/// A call about a place of `a.fake`, 0-based as the fakes see it.
pub(crate) fn at(
    yard: &Yard,
    operation: &str,
    line: u32,
    character: u32,
) -> impl Future<Output = LspAnswer> + Send + 'static {
    lsp(yard, place(operation, line, character))
}

/// The arguments of [`at`].
pub(crate) fn place(operation: &str, line: u32, character: u32) -> Value {
    json!({"operation": operation, "filePath": "a.fake", "line": line + 1, "character": character + 1})
}

/// A call for symbols of such a name.
pub(crate) fn named(yard: &Yard, name: &str) -> impl Future<Output = LspAnswer> + Send + 'static {
    lsp(yard, json!({"operation": "workspaceSymbol", "query": name}))
}

impl LspAnswer {
    /// The reply as a transport gets it.
    pub(crate) fn reply(&self) -> &ToolReply {
        &self.called.reply
    }

    /// The text for the agent.
    pub(crate) fn text(&self) -> &str {
        self.whole["content"][0]["text"].as_str().unwrap()
    }

    /// What stands beside the result; fails if the call did.
    #[track_caller]
    pub(crate) fn metadata(&self) -> Value {
        assert_eq!(self.whole["isError"], false, "{self:?}");
        self.whole["structuredContent"]["metadata"].clone()
    }

    /// The result; fails if the call did.
    #[track_caller]
    pub(crate) fn found(&self) -> Value {
        self.metadata()["result"].clone()
    }

    /// The result of a call that all servers had their part in.
    #[track_caller]
    pub(crate) fn whole(&self) -> Value {
        assert_eq!(self.passed_over(), Vec::<String>::new(), "{self:?}");
        self.found()
    }

    /// Who had no part in the answer, and why.
    #[track_caller]
    pub(crate) fn passed_over(&self) -> Vec<String> {
        let listed = self.metadata()["passedOver"].as_array().cloned().unwrap_or_default();
        listed.iter().map(|one| one.as_str().unwrap().to_owned()).collect()
    }

    /// Fails unless nothing was found, and that is said.
    #[track_caller]
    pub(crate) fn nothing(&self, operation: &str) {
        assert_eq!(self.found().as_array().map(Vec::len).unwrap_or_default(), 0, "{self:?}");
        assert!(self.text().starts_with(&format!("No results found for {operation}")), "{self:?}");
    }

    /// The particulars of a failed call; fails unless it failed with this code.
    #[track_caller]
    pub(crate) fn failed_with(&self, code: &str) -> Value {
        assert_eq!(self.whole["isError"], true, "{self:?}");
        assert!(!self.text().contains("No results"), "{self:?}");
        let error = self.whole["structuredContent"]["metadata"]["error"].clone();
        assert_eq!(error["code"], code, "{self:?}");
        error
    }

    /// The same, and with this reason.
    #[track_caller]
    pub(crate) fn failed(&self, code: &str, reason: &str) -> Value {
        let error = self.failed_with(code);
        assert_eq!(error["reason"], reason, "{self:?}");
        error
    }

    /// Fails unless it timed out in this phase after exactly two seconds.
    #[track_caller]
    pub(crate) fn timed_out(&self, phase: &str) -> Value {
        let error = self.failed("CAP_EXCEEDED", "timeout");
        assert_eq!(error["phase"], phase, "{self:?}");
        assert!(error["retryAfterMs"].as_u64().unwrap() > 0, "{self:?}");
        self.took_about(2_000);
        error
    }

    /// Fails unless it took so long, give or take a few ticks of the clock.
    #[track_caller]
    pub(crate) fn took_about(&self, ms: u64) {
        near(self.called.took, ms);
    }

    /// The reply's bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.called.bytes()
    }
}
