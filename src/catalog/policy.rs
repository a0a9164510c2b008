//! Call policies: the time, the bytes and the permission that a call of a tool gets, and the errors that the gateway
//! answers it with when one of them runs out.
//!
//! A policy is data. The gateway enforces it; a catalog only declares it. Invariants: a configuration's [`Limits`] lower
//! the values of a policy and never raise them; the declared codes are the ones that the catalog's replies carry.

use codeyard_access::Operation;
use codeyard_model::error::{ErrorCode, ToolError};
use codeyard_model::limits::{Limits, MAX_REQUEST_BYTES, MAX_RESPONSE_BYTES, REQUEST_TIMEOUT_MS};

use crate::dialect::{INTERNAL_ERROR, INVALID_PARAMS};

/// The permission of the operations that show what code says: navigation, symbols, outlines, diagnostics, search. All catalogs
/// name it for tools that do one of them (`docs/internals/decisions/permissions.md`).
pub(crate) const CODE_INTELLIGENCE: &str = "lsp";

/// What happens to the work of a call when its client disconnects or cancels the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDeparture {
    /// The work is cancelled, down to the language server (`docs/internals/protocol.md#answers-over-http`).
    Cancel,
    /// The work continues until it ends or its deadline passes. Nobody receives its answer.
    ///
    /// This begins with the work itself: a call that still waits for a permission ends with its client, because nobody
    /// else can answer the prompt.
    Continue,
}

/// The error code of one outcome, and the JSON-RPC number that carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutcomeCode {
    /// The code in error payloads, spans and metrics.
    pub code: ErrorCode,
    /// The JSON-RPC error number; `None` in catalogs whose errors are tool results with `isError`.
    pub json_rpc: Option<i32>,
}

/// The error codes of the outcomes that the gateway produces itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutcomeCodes {
    pub timeout: OutcomeCode,
    /// Too many calls are in flight, or too many prompts are open.
    pub overloaded: OutcomeCode,
    /// The permission was not granted.
    pub denied: OutcomeCode,
    /// The arguments or the answer exceed a byte cap.
    pub too_large: OutcomeCode,
}

/// The policy of one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallPolicy {
    /// Longest time from admission to the answer, in milliseconds.
    pub deadline_ms: u64,
    /// What a client's departure means for the work.
    pub on_departure: OnDeparture,
    /// Longest JSON text of the arguments, in bytes. Transports bound the whole message before the tool is known.
    pub max_request_bytes: usize,
    /// Longest JSON-RPC response, envelope included, in bytes.
    pub max_response_bytes: usize,
    /// The permission that a call needs: the key below `permission` in the configuration.
    pub permission: Option<&'static str>,
    /// What a call does. The caller's credential must allow it.
    pub operation: Operation,
    /// The error codes of the gateway's own outcomes.
    pub outcomes: OutcomeCodes,
}

/// Outcomes as JSON-RPC errors (`docs/internals/reference/contract-lsp-v1.md#errors`).
const JSON_RPC_OUTCOMES: OutcomeCodes = OutcomeCodes {
    timeout: OutcomeCode::json_rpc(ErrorCode::CapExceeded, INTERNAL_ERROR),
    overloaded: OutcomeCode::json_rpc(ErrorCode::CapExceeded, INTERNAL_ERROR),
    denied: OutcomeCode::json_rpc(ErrorCode::WorkspaceDenied, INVALID_PARAMS),
    too_large: OutcomeCode::json_rpc(ErrorCode::CapExceeded, INTERNAL_ERROR),
};

/// Outcomes as tool results (`docs/internals/reference/contract-agent.md#errors`, `docs/internals/reference/contract-code.md#errors`).
const TOOL_RESULT_OUTCOMES: OutcomeCodes = OutcomeCodes {
    timeout: OutcomeCode::tool_result(ErrorCode::CapExceeded),
    overloaded: OutcomeCode::tool_result(ErrorCode::CapExceeded),
    denied: OutcomeCode::tool_result(ErrorCode::WorkspaceDenied),
    too_large: OutcomeCode::tool_result(ErrorCode::CapExceeded),
};

impl CallPolicy {
    /// The policy of interactive tools whose errors are JSON-RPC errors. Values: `docs/internals/reference/contract-lsp-v1.md#caps`.
    pub(crate) const INTERACTIVE_JSON_RPC: Self = Self {
        deadline_ms: REQUEST_TIMEOUT_MS,
        on_departure: OnDeparture::Cancel,
        max_request_bytes: MAX_REQUEST_BYTES,
        max_response_bytes: MAX_RESPONSE_BYTES,
        permission: None,
        operation: Operation::Lsp,
        outcomes: JSON_RPC_OUTCOMES,
    };

    /// The policy of interactive tools whose errors are tool results. Values: `docs/internals/reference/contract-lsp-v1.md#caps`, which
    /// `docs/internals/reference/contract-agent.md#pages` and `docs/internals/reference/contract-code.md#what-doesnt-fit` refer to.
    pub(crate) const INTERACTIVE_TOOL_RESULT: Self =
        Self { outcomes: TOOL_RESULT_OUTCOMES, ..Self::INTERACTIVE_JSON_RPC };

    /// The same policy, lowered to `limits` where they are tighter.
    ///
    /// `request_timeout_ms` bounds how long a client waits, so it applies to [`OnDeparture::Cancel`] only: work that
    /// outlives its client keeps the deadline that its tool declares.
    pub fn tightened(self, limits: &Limits) -> Self {
        let deadline_ms = match self.on_departure {
            OnDeparture::Cancel => self.deadline_ms.min(limits.request_timeout_ms),
            OnDeparture::Continue => self.deadline_ms,
        };
        Self { deadline_ms, max_response_bytes: self.max_response_bytes.min(limits.max_response_bytes), ..self }
    }
}

impl OutcomeCode {
    const fn json_rpc(code: ErrorCode, number: i32) -> Self {
        Self { code, json_rpc: Some(number) }
    }

    const fn tool_result(code: ErrorCode) -> Self {
        Self { code, json_rpc: None }
    }

    /// `error` with this outcome's code.
    pub fn apply(self, error: ToolError) -> ToolError {
        ToolError { code: self.code, ..error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CatalogId, EncodedReply};

    #[test]
    fn interactive_tools_declare_the_contract_values() {
        let long = [
            "launch_validate",
            "launch_fix_next",
            "launch_resume",
            "launch_open_pr",
            "launch_start_run_from_github_repo_url",
        ];
        for id in CatalogId::ALL {
            for tool in id.catalog().tool_names() {
                let policy = id.catalog().policy(&tool);
                assert_eq!((policy.max_request_bytes, policy.max_response_bytes), (1_048_576, 524_288), "{tool}");
                let time = if long.contains(&tool.as_str()) {
                    (1_800_000, OnDeparture::Continue)
                } else {
                    (2_000, OnDeparture::Cancel)
                };
                assert_eq!((policy.deadline_ms, policy.on_departure), time, "{tool}");
                let shows_no_code = ["health_check", "index_repo", "sync_repo", "index_status"];
                let permission = match id {
                    CatalogId::Launch => Some("launch"),
                    CatalogId::Code if shows_no_code.contains(&tool.as_str()) => None,
                    _ => Some("lsp"),
                };
                assert_eq!(policy.permission, permission, "{tool}");
            }
        }
    }

    #[test]
    fn replies_carry_the_declared_codes() {
        for id in CatalogId::ALL {
            let catalog = id.catalog();
            for tool in catalog.tool_names() {
                let OutcomeCodes { timeout, overloaded, denied, too_large } = catalog.policy(&tool).outcomes;
                for outcome in [timeout, overloaded, denied, too_large] {
                    let error = outcome.apply(ToolError::new(ErrorCode::Internal, "m"));
                    let sent = match catalog.encode(Err(&error), MAX_RESPONSE_BYTES) {
                        EncodedReply::Error { code, tool_code, .. } => (tool_code, Some(code)),
                        EncodedReply::Refusal { tool_code, .. } => (tool_code, None),
                        EncodedReply::Result(_) => panic!("{tool}: an error became a result"),
                    };
                    assert_eq!(sent, (outcome.code, outcome.json_rpc), "{tool}");
                }
            }
        }
    }

    #[test]
    fn limits_lower_a_policy_and_never_raise_it() {
        let wide = Limits { request_timeout_ms: u64::MAX, max_response_bytes: usize::MAX, ..Limits::default() };
        let tight = Limits { request_timeout_ms: 7, max_response_bytes: 9, ..Limits::default() };
        let policy = CallPolicy::INTERACTIVE_JSON_RPC;
        assert_eq!(policy.tightened(&wide), policy);
        let lowered = policy.tightened(&tight);
        assert_eq!((lowered.deadline_ms, lowered.max_response_bytes), (7, 9));
        let long = CallPolicy { deadline_ms: 60_000, on_departure: OnDeparture::Continue, ..policy }.tightened(&tight);
        assert_eq!((long.deadline_ms, long.max_response_bytes), (60_000, 9));
    }
}
