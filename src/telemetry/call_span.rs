//! The span of one tool call.
//!
//! Invariant: it is ended exactly once, with an outcome: by [`CallSpan::finish`], or as cancelled when it is dropped
//! unfinished.

use opentelemetry::global::{self, BoxedSpan};
use opentelemetry::trace::{Span, SpanKind, Status, Tracer};
use opentelemetry::{KeyValue, trace::SpanContext};

use super::names;
use crate::model::error::ErrorCode;

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// With a result.
    Ok,
    /// With this error.
    Failed(ErrorCode),
    /// Its client went away or took it back.
    Cancelled,
}

/// The running span of a tool call.
#[derive(Debug)]
pub struct CallSpan {
    span: BoxedSpan,
    finished: bool,
}

impl Outcome {
    /// The word in spans and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed(code) => code.as_str(),
            Self::Cancelled => "CANCELLED",
        }
    }
}

impl CallSpan {
    /// Begins the span `tools/call <tool>` at the process's tracer. All three are names of ours, never a caller's text.
    pub fn begin(tool: &str, catalog: &str, workspace: &str) -> Self {
        let tracer = global::tracer(names::SCOPE);
        let builder = tracer
            .span_builder(format!("{}{tool}", names::SPAN_TOOL_CALL_PREFIX))
            .with_kind(SpanKind::Server)
            .with_attributes([
                KeyValue::new(names::METHOD, "tools/call"),
                KeyValue::new(names::TOOL, tool.to_owned()),
                KeyValue::new(names::CATALOG, catalog.to_owned()),
                KeyValue::new(names::WORKSPACE, workspace.to_owned()),
            ]);
        Self { span: tracer.build(builder), finished: false }
    }

    /// Says that a retained result answers.
    pub fn mark_retained(&mut self) {
        self.span.set_attribute(KeyValue::new(names::RETAINED, true));
    }

    /// The span's identity, for those who begin spans below it.
    pub fn context(&self) -> &SpanContext {
        self.span.span_context()
    }

    /// Ends it.
    pub fn finish(mut self, outcome: Outcome) {
        self.end(outcome);
    }

    fn end(&mut self, outcome: Outcome) {
        if std::mem::replace(&mut self.finished, true) {
            return;
        }
        self.span.set_attribute(KeyValue::new(names::OUTCOME, outcome.as_str()));
        if outcome != Outcome::Ok {
            self.span.set_attribute(KeyValue::new(names::ERROR_TYPE, outcome.as_str()));
            self.span.set_status(Status::error(outcome.as_str()));
        }
        self.span.end();
    }
}

impl Drop for CallSpan {
    fn drop(&mut self) {
        self.end(Outcome::Cancelled);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_exporter_it_costs_no_identity() {
        let mut span = CallSpan::begin("t", "lsp-v1", "w");
        span.mark_retained();
        assert!(!span.context().is_valid());
        span.finish(Outcome::Failed(ErrorCode::NotFound));
        drop(CallSpan::begin("t", "lsp-v1", "w"));
        assert_eq!(Outcome::Failed(ErrorCode::CapExceeded).as_str(), "CAP_EXCEEDED");
    }
}
