//! Requests from a server, and their responses.
//!
//! The reader task answers every request at once. Nothing here waits or touches the disk. A server can neither change
//! files nor show anything through these requests. Invariant: each request gets one response; unknown methods get
//! -32601.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::capabilities::{Capabilities, Registration, Unregistration};
use super::events::ServerEvent;
use crate::limits;
use crate::methods;
use codeyard_base::seeded_faults;

/// Answer to one `workspace/configuration` request, in bytes.
const MAX_CONFIGURATION_BYTES: usize = 4 * 1024 * 1024;

const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const REQUEST_FAILED: i64 = -32803;

/// What the connection needs to know to answer a server. It is called from the reader task: answer at once and take
/// no slow locks.
pub trait ClientHost: Send + Sync {
    /// The settings of `section` for the document or folder `scope` (a URI); `null` if there are none.
    fn configuration(&self, section: Option<&str>, scope: Option<&str>) -> Value;

    /// The workspace folders, URI and name.
    fn workspace_folders(&self) -> Vec<(String, String)>;

    /// Whether notifications of `method` are wanted besides the default ones (diagnostics, progress, status). Log
    /// messages may be dropped when the event queue is full.
    fn wants(&self, method: &str) -> bool {
        let _ = method;
        false
    }
}

/// A host with fixed answers.
#[derive(Debug, Clone, Default)]
pub struct StaticClientHost {
    /// All settings: an object keyed by section.
    pub settings: Value,
    /// The workspace folders, URI and name.
    pub folders: Vec<(String, String)>,
    /// Further notifications that are wanted.
    pub wanted: Vec<String>,
}

impl ClientHost for StaticClientHost {
    fn configuration(&self, section: Option<&str>, _scope: Option<&str>) -> Value {
        configuration_section(&self.settings, section)
    }

    fn workspace_folders(&self) -> Vec<(String, String)> {
        self.folders.clone()
    }

    fn wants(&self, method: &str) -> bool {
        self.wanted.iter().any(|wanted| wanted == method)
    }
}

/// The part of `settings` under `section`: by a key of exactly this name, otherwise by following its dots. Without a
/// section, all settings; `null` if the section doesn't exist.
pub fn configuration_section(settings: &Value, section: Option<&str>) -> Value {
    let Some(section) = section.filter(|section| !section.is_empty()) else { return settings.clone() };
    let walked = || section.split('.').try_fold(settings, |value, key| value.get(key));
    settings.get(section).or_else(walked).cloned().unwrap_or(Value::Null)
}

/// The response to a request: a result, or an error code with a plain ASCII message.
pub(super) type RequestResult = Result<Value, (i64, &'static str)>;

/// Answers a request. Also returns the event that the engine must get, if any.
pub(super) fn answer(
    host: &dyn ClientHost,
    capabilities: &Capabilities,
    method: &str,
    params: Option<&RawValue>,
) -> (RequestResult, Option<ServerEvent>) {
    let params = params.map_or("null", RawValue::get);
    match method {
        "workspace/configuration" => (configuration(host, params), None),
        "workspace/workspaceFolders" => (Ok(folders(host)), None),
        "window/workDoneProgress/create" => (Ok(Value::Null), None),
        "window/showMessageRequest" => {
            let params = RawValue::from_string(params.to_owned()).ok();
            (Ok(Value::Null), Some(ServerEvent::Notification { method: method.to_owned(), params }))
        }
        "window/showDocument" => (Ok(json!({"success": false})), None),
        "workspace/applyEdit" => {
            let applied = seeded_faults::is_on("edit_applied");
            (Ok(json!({"applied": applied, "failureReason": "edits are not applied by this client"})), None)
        }
        methods::REGISTER_CAPABILITY => register(capabilities, params),
        methods::UNREGISTER_CAPABILITY => unregister(capabilities, params),
        _ if is_refresh(method) => (Ok(Value::Null), Some(ServerEvent::Refresh { method: method.to_owned() })),
        _ => (Err((METHOD_NOT_FOUND, "method not found")), None),
    }
}

/// Whether a notification goes to the engine, and whether it may be dropped when the queue is full.
pub(super) fn wanted_notification(host: &dyn ClientHost, method: &str) -> Option<Droppable> {
    match method {
        "textDocument/publishDiagnostics" | "$/progress" | "experimental/serverStatus" => Some(Droppable(false)),
        // Some servers log several messages with each answer.
        methods::LOG_MESSAGE => host.wants(method).then_some(Droppable(true)),
        _ if host.wants(method) => Some(Droppable(false)),
        _ => None,
    }
}

/// Whether an event may be dropped when the queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Droppable(pub(super) bool);

fn is_refresh(method: &str) -> bool {
    method.starts_with("workspace/") && method.ends_with("/refresh")
}

#[derive(Deserialize)]
struct ConfigurationParams<'a> {
    #[serde(borrow)]
    items: Vec<ConfigurationItem<'a>>,
}

#[derive(Deserialize)]
struct ConfigurationItem<'a> {
    #[serde(borrow, default)]
    section: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "scopeUri")]
    scope: Option<Cow<'a, str>>,
}

fn configuration(host: &dyn ClientHost, params: &str) -> RequestResult {
    let params: ConfigurationParams<'_> =
        serde_json::from_str(params).map_err(|_| (INVALID_PARAMS, "items are missing"))?;
    if params.items.len() > limits::MAX_CONFIGURATION_ITEMS {
        return Err((REQUEST_FAILED, "too many items"));
    }
    let mut values = Vec::with_capacity(params.items.len());
    let mut room = MAX_CONFIGURATION_BYTES;
    for item in &params.items {
        let value = host.configuration(item.section.as_deref(), item.scope.as_deref());
        // The same large section may be requested many times in one request.
        room = room.checked_sub(value.to_string().len()).ok_or((REQUEST_FAILED, "the answer is too large"))?;
        values.push(value);
    }
    Ok(Value::Array(values))
}

fn folders(host: &dyn ClientHost) -> Value {
    host.workspace_folders().into_iter().map(|(uri, name)| json!({"uri": uri, "name": name})).collect()
}

fn register(capabilities: &Capabilities, params: &str) -> (RequestResult, Option<ServerEvent>) {
    #[derive(Deserialize)]
    struct RegistrationParams<'a> {
        #[serde(borrow)]
        registrations: Vec<Registration<'a>>,
    }
    let Ok(params) = serde_json::from_str::<RegistrationParams<'_>>(params) else {
        return (Err((INVALID_PARAMS, "registrations are missing")), None);
    };
    match capabilities.register(&params.registrations) {
        Ok(methods) => (Ok(Value::Null), Some(ServerEvent::Registered { methods })),
        Err(_) => (Err((REQUEST_FAILED, "too many registrations")), None),
    }
}

fn unregister(capabilities: &Capabilities, params: &str) -> (RequestResult, Option<ServerEvent>) {
    #[derive(Deserialize)]
    struct UnregistrationParams {
        // The protocol itself misspells the name; some servers spell it correctly.
        #[serde(alias = "unregistrations")]
        unregisterations: Vec<Unregistration>,
    }
    match serde_json::from_str::<UnregistrationParams>(params) {
        Ok(params) => {
            let methods = capabilities.unregister(&params.unregisterations);
            (Ok(Value::Null), Some(ServerEvent::Unregistered { methods }))
        }
        Err(_) => (Err((INVALID_PARAMS, "unregisterations are missing")), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_messages_go_only_to_a_host_that_wants_them() {
        let quiet = StaticClientHost::default();
        let interested = StaticClientHost { wanted: vec![methods::LOG_MESSAGE.into()], ..StaticClientHost::default() };
        assert_eq!(wanted_notification(&quiet, methods::LOG_MESSAGE), None);
        assert_eq!(wanted_notification(&interested, methods::LOG_MESSAGE), Some(Droppable(true)));
        assert_eq!(wanted_notification(&quiet, "$/progress"), Some(Droppable(false)));
        assert_eq!(wanted_notification(&interested, "window/showMessage"), None);
    }
}
