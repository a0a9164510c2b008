//! Shared by tests of the tool `lsp`: calls through the catalog `agent` and their results.

use std::future::Future;
use std::sync::Arc;

use codeyard_engine::limits::LATE_SERVER_MS;
use codeyard_gateway::service::ToolReply;
use serde_json::{Value, json};

use crate::engine::harness::*;

/// Milliseconds after the call from which partial answers are accepted.
pub(crate) const LATE: u64 = 2_000 - LATE_SERVER_MS;

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

/// A call for a position in `a.fake`, 0-based as in LSP.
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

/// A call for workspace symbols with this name.
pub(crate) fn named(yard: &Yard, name: &str) -> impl Future<Output = LspAnswer> + Send + 'static {
    lsp(yard, json!({"operation": "workspaceSymbol", "query": name}))
}

impl LspAnswer {
    /// The reply as the transport receives it.
    pub(crate) fn reply(&self) -> &ToolReply {
        &self.called.reply
    }

    pub(crate) fn text(&self) -> &str {
        self.whole["content"][0]["text"].as_str().unwrap()
    }

    /// Metadata of the answer; panics if the call failed.
    #[track_caller]
    pub(crate) fn metadata(&self) -> Value {
        assert_eq!(self.whole["isError"], false, "{self:?}");
        self.whole["structuredContent"]["metadata"].clone()
    }

    /// The result; panics if the call failed.
    #[track_caller]
    pub(crate) fn found(&self) -> Value {
        self.metadata()["result"].clone()
    }

    /// The result of a call that every server answered.
    #[track_caller]
    pub(crate) fn whole(&self) -> Value {
        assert_eq!(self.passed_over(), Vec::<String>::new(), "{self:?}");
        self.found()
    }

    /// Servers that did not contribute to the answer, each with its reason.
    #[track_caller]
    pub(crate) fn passed_over(&self) -> Vec<String> {
        let listed = self.metadata()["passedOver"].as_array().cloned().unwrap_or_default();
        listed.iter().map(|one| one.as_str().unwrap().to_owned()).collect()
    }

    /// Asserts that nothing was found and the text states it.
    #[track_caller]
    pub(crate) fn nothing(&self, operation: &str) {
        assert_eq!(self.found().as_array().map(Vec::len).unwrap_or_default(), 0, "{self:?}");
        assert!(self.text().starts_with(&format!("No results found for {operation}")), "{self:?}");
    }

    /// Error details of the call; asserts that it failed with this code.
    #[track_caller]
    pub(crate) fn failed_with(&self, code: &str) -> Value {
        assert_eq!(self.whole["isError"], true, "{self:?}");
        assert!(!self.text().contains("No results"), "{self:?}");
        let error = self.whole["structuredContent"]["metadata"]["error"].clone();
        assert_eq!(error["code"], code, "{self:?}");
        error
    }

    /// Same, and asserts this reason.
    #[track_caller]
    pub(crate) fn failed(&self, code: &str, reason: &str) -> Value {
        let error = self.failed_with(code);
        assert_eq!(error["reason"], reason, "{self:?}");
        error
    }

    /// Asserts that it timed out in this phase after exactly two seconds.
    #[track_caller]
    pub(crate) fn timed_out(&self, phase: &str) -> Value {
        let error = self.failed("CAP_EXCEEDED", "timeout");
        assert_eq!(error["phase"], phase, "{self:?}");
        assert!(error["retryAfterMs"].as_u64().unwrap() > 0, "{self:?}");
        self.took_about(2_000);
        error
    }

    /// Asserts its duration within a few ticks of the clock.
    #[track_caller]
    pub(crate) fn took_about(&self, ms: u64) {
        near(self.called.took, ms);
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.called.bytes()
    }
}
