//! The steps that a fake server can run.

use std::sync::Arc;
use std::time::Duration;

use codeyard_process::launch::ProcessExit;
use serde_json::{Value, json};

/// Computes an answer from the params and the number of the call.
pub(crate) type Answer = Arc<dyn Fn(&Value, usize) -> Value + Send + Sync>;

/// One step. Made by the functions of this module.
#[derive(Clone)]
pub(crate) enum Step {
    Wait(Duration),
    UntilCancelled,
    Reply(Value),
    ReplyWith(Answer),
    Fail(i64, String),
    Hold(usize),
    Notify(String, Value),
    Ask(String, Value),
    Raw(Vec<u8>),
    Body(Vec<u8>),
    Repeat(Vec<u8>, Vec<u8>, usize, Vec<u8>),
    Trickle(Duration, String),
    CloseOutput,
    StopReading,
    Except(String),
    HalfReply,
    Silence,
    Flood(usize, String, Value),
    Exit(ProcessExit),
}

impl Step {
    pub(super) fn waits(&self) -> bool {
        matches!(
            self,
            Step::Wait(_)
                | Step::UntilCancelled
                | Step::Flood(..)
                | Step::Repeat(..)
                | Step::Trickle(..)
                | Step::Exit(_)
        )
    }
}

/// Waits for this many milliseconds.
pub(crate) fn wait_ms(ms: u64) -> Step {
    Step::Wait(Duration::from_millis(ms))
}

/// Waits until this request is cancelled, without a timeout.
pub(crate) fn until_cancelled() -> Step {
    Step::UntilCancelled
}

/// Sends a result. A second one is a duplicate answer.
pub(crate) fn reply(result: Value) -> Step {
    Step::Reply(result)
}

/// Answers with the result of `f`, which gets the params and the number of the call, from 1.
pub(crate) fn reply_with(f: impl Fn(&Value, usize) -> Value + Send + Sync + 'static) -> Step {
    Step::ReplyWith(Arc::new(f))
}

/// Answers with an error.
pub(crate) fn fail(code: i64, message: &str) -> Step {
    Step::Fail(code, message.to_owned())
}

/// Holds the next answer of this list until `count` answers are held, then sends them in reverse order.
pub(crate) fn reorder(count: usize) -> Step {
    Step::Hold(count)
}

/// Sends a notification.
pub(crate) fn notify(method: &str, params: Value) -> Step {
    Step::Notify(method.to_owned(), params)
}

/// Sends a request; the client's answer is recorded under this method.
pub(crate) fn ask(method: &str, params: Value) -> Step {
    Step::Ask(method.to_owned(), params)
}

/// Writes raw bytes, such as garbage and broken headers.
pub(crate) fn raw(bytes: &[u8]) -> Step {
    Step::Raw(bytes.to_vec())
}

/// Writes a frame with this body, which need not be JSON; `{id}` becomes the id of the request.
pub(crate) fn body(bytes: impl AsRef<[u8]>) -> Step {
    Step::Body(bytes.as_ref().to_vec())
}

/// Writes a frame that repeats `item` between `before` and `after`, without building it in memory; `{id}` in `before` becomes the id of the
/// request.
pub(crate) fn repeat(before: &str, item: &str, count: usize, after: &str) -> Step {
    Step::Repeat(before.into(), item.into(), count, after.into())
}

/// Writes such a frame one byte at a time, with this wait before each byte.
pub(crate) fn trickle(ms: u64, text: &str) -> Step {
    Step::Trickle(Duration::from_millis(ms), text.to_owned())
}

/// Closes standard output but keeps running.
pub(crate) fn close_output() -> Step {
    Step::CloseOutput
}

/// Reads nothing more but keeps writing.
pub(crate) fn stop_reading() -> Step {
    Step::StopReading
}

/// Skips the rest of the list for a message whose params contain this text.
pub(crate) fn except_for(text: &str) -> Step {
    Step::Except(text.to_owned())
}

/// Writes the header of a frame of `length` bytes without the frame.
pub(crate) fn header_of(length: usize) -> Step {
    Step::Raw(format!("Content-Length: {length}\r\n\r\n").into_bytes())
}

/// Writes the first half of an answer. Followed by [`exit`] it is a crash in the middle of a reply.
pub(crate) fn half_reply() -> Step {
    Step::HalfReply
}

/// Stops reading and writing but keeps running: a hung server.
pub(crate) fn silence() -> Step {
    Step::Silence
}

/// Sends `count` notifications; `{n}` in a text of the params' top level becomes the number.
pub(crate) fn flood(count: usize, method: &str, params: Value) -> Step {
    Step::Flood(count, method.to_owned(), params)
}

/// Writes all earlier output, then exits with this code.
pub(crate) fn exit(code: i32) -> Step {
    Step::Exit(ProcessExit::of_code(code))
}

/// Writes all earlier output, then ends by this signal.
pub(crate) fn signalled(signal: i32) -> Step {
    Step::Exit(ProcessExit::of_signal(signal))
}

/// `$/progress` begins.
pub(crate) fn progress_begin(token: &str, title: &str) -> Step {
    notify("$/progress", json!({"token": token, "value": {"kind": "begin", "title": title}}))
}

/// Reports `$/progress`.
pub(crate) fn progress_report(token: &str, percentage: u8) -> Step {
    notify("$/progress", json!({"token": token, "value": {"kind": "report", "percentage": percentage}}))
}

/// `$/progress` ends.
pub(crate) fn progress_end(token: &str) -> Step {
    notify("$/progress", json!({"token": token, "value": {"kind": "end"}}))
}

pub(crate) fn diagnostics(uri: &str, version: Option<i64>, items: Value) -> Step {
    let mut params = json!({"uri": uri, "diagnostics": items});
    if let Some(version) = version {
        params["version"] = version.into();
    }
    notify("textDocument/publishDiagnostics", params)
}

/// Registers a capability after initialization.
pub(crate) fn register(id: &str, method: &str, options: Value) -> Step {
    let item = json!({"id": id, "method": method, "registerOptions": options});
    ask("client/registerCapability", json!({"registrations": [item]}))
}

/// Unregisters a capability.
pub(crate) fn unregister(id: &str, method: &str) -> Step {
    ask("client/unregisterCapability", json!({"unregisterations": [{"id": id, "method": method}]}))
}
