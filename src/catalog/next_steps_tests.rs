//! The message of an error has its next steps in every catalog: many hosts show a model nothing else of it.

use serde_json::{Value, json};

use crate::{CatalogId, EncodedReply};
use codeyard_model::error::{CallPhase, ErrorCode, ToolError};
use codeyard_model::next_steps::next_steps;

/// The message of the encoded error, and its copy where there is one.
fn messages(catalog: CatalogId, error: &ToolError, cap: usize) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{value}")).to_owned();
    match catalog.catalog().encode(Err(error), cap) {
        EncodedReply::Error { message, data, .. } => {
            let data: Value = serde_json::from_slice(&data).unwrap();
            vec![message, text(&data["message"])]
        }
        EncodedReply::Refusal { result, .. } => {
            let reply: Value = serde_json::from_slice(&result).unwrap();
            let shown = text(&reply["content"][0]["text"]);
            let structured = &reply["structuredContent"];
            match &structured["metadata"]["error"]["message"] {
                Value::Null => vec![text(&structured["error"]["message"])],
                message => vec![shown, text(message)],
            }
        }
        EncodedReply::Result(_) => panic!("not an error"),
    }
}

/// Every constructor of errors with details that are next steps, and one for each code.
fn errors() -> Vec<ToolError> {
    let phases = [CallPhase::Queued, CallPhase::Starting, CallPhase::Indexing, CallPhase::Answering];
    let timeouts = phases.map(|phase| ToolError::timeout(phase, Some("3 of 9 files".into()), 2_500));
    let reasons = ["no_server", "not_installed", "restricted", "crashed", "quarantined", "unsupported", "draining"];
    let unavailable = reasons
        .map(|reason| ToolError::provider_unavailable(reason, "m", "codeyard doctor").with("retryAfterMs", 7_000));
    let too_large = ToolError::new(ErrorCode::CapExceeded, "m").with("reason", "response_too_large");
    let swept = ToolError::new(ErrorCode::CursorStale, "m").with("reason", "sweep").with("retryAfterMs", 500);
    let long = ToolError::provider_unavailable("crashed", "é".repeat(9_000), "codeyard servers install x");
    let of_codes = ErrorCode::ALL.map(|code| ToolError::new(code, "m").with("command", "codeyard do"));
    let mut all = vec![ToolError::overloaded(250), too_large.with("pageSizeThatFits", 17), swept, long];
    all.extend(timeouts.into_iter().chain(unavailable).chain(of_codes));
    all
}

#[test]
fn every_error_says_its_next_steps_in_its_message() {
    for error in errors() {
        let steps = next_steps(&error.details);
        assert!(!steps.is_empty(), "{error:?}");
        for catalog in CatalogId::ALL {
            for message in messages(catalog, &error, 100_000) {
                for step in &steps {
                    assert!(message.contains(step.as_str()), "{catalog:?} {error:?}: {message}");
                    assert_eq!(message.matches(step.as_str()).count(), 1, "{message}");
                }
            }
        }
    }
}

#[test]
fn codes_and_details_of_the_gateway_stay_as_they_are() {
    let error = ToolError::overloaded(250);
    let EncodedReply::Error { code, data, message, .. } = CatalogId::LspV1.catalog().encode(Err(&error), 9_999) else {
        unreachable!()
    };
    let data: Value = serde_json::from_slice(&data).unwrap();
    assert_eq!((code, &data["details"]), (-32_603, &json!({"reason": "overloaded", "retryAfterMs": 250})));
    assert_eq!(message, "MCP_LSP_GATEWAY/CAP_EXCEEDED: the service is overloaded. Ask again in 1 s.");
}
