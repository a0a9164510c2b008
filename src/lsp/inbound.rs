//! What a server asks of us, and the answers.
//!
//! Every request gets an answer, at once, from the reader task; nothing here waits or touches a disk, and servers are
//! given no way to change files or show anything. Invariant: one answer per request, unknown methods -32601.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::capabilities::{Capabilities, Registration, Unregistration};
use super::events::Event;
use super::methods;
use crate::limits;

const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const REQUEST_FAILED: i64 = -32803;

/// What the connection must be told to answer a server. Called from the reader task: answer at once, take no slow locks.
pub trait Host: Send + Sync {
    /// The settings of `section` for the document or folder `scope` (a URI); `null` if there are none.
    fn configuration(&self, section: Option<&str>, scope: Option<&str>) -> Value;

    /// The workspace folders, URI and name.
    fn workspace_folders(&self) -> Vec<(String, String)>;

    /// Whether notifications of `method` are wanted beside the usual ones (diagnostics, progress, status). Lines of its
    /// log may be dropped when there is no room.
    fn wants(&self, method: &str) -> bool {
        let _ = method;
        false
    }
}

/// A host that knows its answers beforehand.
#[derive(Debug, Clone, Default)]
pub struct StaticHost {
    /// All settings, an object by sections.
    pub settings: Value,
    /// The workspace folders, URI and name.
    pub folders: Vec<(String, String)>,
    /// Further notifications that are wanted.
    pub wanted: Vec<String>,
}

impl Host for StaticHost {
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

/// The part of `settings` that `section` names: by a key of exactly this name, or following its dots; all of it without a
/// section, `null` if there is none.
pub fn configuration_section(settings: &Value, section: Option<&str>) -> Value {
    let Some(section) = section.filter(|section| !section.is_empty()) else { return settings.clone() };
    let walked = || section.split('.').try_fold(settings, |value, key| value.get(key));
    settings.get(section).or_else(walked).cloned().unwrap_or(Value::Null)
}

/// The answer to a request: a result, or an error code with a plain-ASCII message.
pub(super) type Outcome = Result<Value, (i64, &'static str)>;

/// Answers a request; with it what the engine should know.
pub(super) fn answer(
    host: &dyn Host,
    capabilities: &Capabilities,
    method: &str,
    params: Option<&RawValue>,
) -> (Outcome, Option<Event>) {
    let params = params.map_or("null", RawValue::get);
    match method {
        "workspace/configuration" => (configuration(host, params), None),
        "workspace/workspaceFolders" => (Ok(folders(host)), None),
        "window/workDoneProgress/create" => (Ok(Value::Null), None),
        "window/showMessageRequest" => {
            let params = RawValue::from_string(params.to_owned()).ok();
            (Ok(Value::Null), Some(Event::Notification { method: method.to_owned(), params }))
        }
        "window/showDocument" => (Ok(json!({"success": false})), None),
        "workspace/applyEdit" => {
            (Ok(json!({"applied": false, "failureReason": "edits are not applied by this client"})), None)
        }
        "client/registerCapability" => register(capabilities, params),
        "client/unregisterCapability" => unregister(capabilities, params),
        _ if is_refresh(method) => (Ok(Value::Null), Some(Event::Refresh { method: method.to_owned() })),
        _ => (Err((METHOD_NOT_FOUND, "method not found")), None),
    }
}

/// Whether a notification goes to the engine, and if it may be dropped when there is no room.
pub(super) fn wanted_notification(host: &dyn Host, method: &str) -> Option<Disposable> {
    match method {
        "textDocument/publishDiagnostics" | "$/progress" | "experimental/serverStatus" => Some(Disposable(false)),
        // Some servers say several of these with each answer.
        methods::LOG_MESSAGE => host.wants(method).then_some(Disposable(true)),
        _ if host.wants(method) => Some(Disposable(false)),
        _ => None,
    }
}

/// Whether an event may be dropped when there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Disposable(pub(super) bool);

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

fn configuration(host: &dyn Host, params: &str) -> Outcome {
    let params: ConfigurationParams<'_> =
        serde_json::from_str(params).map_err(|_| (INVALID_PARAMS, "items are missing"))?;
    if params.items.len() > limits::MAX_CONFIGURATION_ITEMS {
        return Err((REQUEST_FAILED, "too many items"));
    }
    let values = params.items.iter().map(|item| host.configuration(item.section.as_deref(), item.scope.as_deref()));
    Ok(Value::Array(values.collect()))
}

fn folders(host: &dyn Host) -> Value {
    host.workspace_folders().into_iter().map(|(uri, name)| json!({"uri": uri, "name": name})).collect()
}

fn register(capabilities: &Capabilities, params: &str) -> (Outcome, Option<Event>) {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow)]
        registrations: Vec<Registration<'a>>,
    }
    let Ok(params) = serde_json::from_str::<Params<'_>>(params) else {
        return (Err((INVALID_PARAMS, "registrations are missing")), None);
    };
    match capabilities.register(&params.registrations) {
        Ok(methods) => (Ok(Value::Null), Some(Event::Registered { methods })),
        Err(_) => (Err((REQUEST_FAILED, "too many registrations")), None),
    }
}

fn unregister(capabilities: &Capabilities, params: &str) -> (Outcome, Option<Event>) {
    #[derive(Deserialize)]
    struct Params {
        // The protocol itself spells it wrongly; some servers spell it right.
        #[serde(alias = "unregistrations")]
        unregisterations: Vec<Unregistration>,
    }
    match serde_json::from_str::<Params>(params) {
        Ok(params) => {
            let methods = capabilities.unregister(&params.unregisterations);
            (Ok(Value::Null), Some(Event::Unregistered { methods }))
        }
        Err(_) => (Err((INVALID_PARAMS, "unregisterations are missing")), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_log_come_only_to_who_wants_them() {
        let quiet = StaticHost::default();
        let listening = StaticHost { wanted: vec![methods::LOG_MESSAGE.into()], ..StaticHost::default() };
        assert_eq!(wanted_notification(&quiet, methods::LOG_MESSAGE), None);
        assert_eq!(wanted_notification(&listening, methods::LOG_MESSAGE), Some(Disposable(true)));
        assert_eq!(wanted_notification(&quiet, "$/progress"), Some(Disposable(false)));
        assert_eq!(wanted_notification(&listening, "window/showMessage"), None);
    }
}
