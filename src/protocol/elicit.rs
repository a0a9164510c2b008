//! `elicitation/create` in form mode: a question of ours to the person behind a client, and what came back.
//!
//! What is asked and what follows from the answer is the gateway's. Invariants: the form is flat, with one field that
//! takes one of the offered words; an answer that isn't exactly one of the form's is never taken for a yes.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::id::RequestId;
use super::message;
use super::names::{CANCELLED, ELICITATION, JSONRPC};

/// The form's one field.
const FIELD: &str = "decision";

/// One of the words that the form's field takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The word.
    pub word: &'static str,
    /// What a person reads.
    pub title: &'static str,
}

/// How a question was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The form came back with this word, which may be none of those offered; `None` if it had none.
    Accepted(Option<String>),
    /// The person said no.
    Declined,
    /// The person closed the form.
    Dismissed,
    /// The client answered with an error, or with something that is no answer to a form.
    Failed,
}

#[derive(Serialize)]
struct Message<P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Box<RawValue>>,
    method: &'static str,
    params: P,
}

#[derive(Deserialize)]
struct Returned<'a> {
    #[serde(borrow)]
    action: Cow<'a, str>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    decision: Option<String>,
}

/// The request `id`: a form that shows `text` and offers `choices`.
pub fn request(id: &RequestId, text: &str, title: &str, choices: &[Choice]) -> Vec<u8> {
    let options: Vec<_> = choices.iter().map(|choice| json!({"const": choice.word, "title": choice.title})).collect();
    let field = json!({"type": "string", "title": title, "oneOf": options});
    let schema = json!({"type": "object", "properties": {FIELD: field}, "required": [FIELD]});
    let params = json!({"mode": "form", "message": text, "requestedSchema": schema});
    let id = RawValue::from_string(id.as_json().to_owned()).ok();
    write(&Message { jsonrpc: JSONRPC, id, method: ELICITATION, params })
}

/// The notification that nobody waits for the answer to our request `id` any more.
pub fn withdrawal(id: &RequestId, reason: &str) -> Vec<u8> {
    let id = RawValue::from_string(id.as_json().to_owned()).unwrap_or_default();
    let params = json!({"requestId": id, "reason": reason});
    write(&Message { jsonrpc: JSONRPC, id: None, method: CANCELLED, params })
}

/// What the outcome of such a request says.
pub fn answer(outcome: Result<&RawValue, &RawValue>) -> Answer {
    let Ok(result) = outcome else { return Answer::Failed };
    let Ok(result) = message::params::<Returned<'_>>(Some(result)) else { return Answer::Failed };
    match &*result.action {
        "accept" => match message::params::<Content>(result.content) {
            Ok(content) => Answer::Accepted(content.decision),
            Err(_) => Answer::Failed,
        },
        "decline" => Answer::Declined,
        "cancel" => Answer::Dismissed,
        _ => Answer::Failed,
    }
}

fn write<P: Serialize>(message: &Message<P>) -> Vec<u8> {
    // Strings and maps with text keys always serialise.
    serde_json::to_vec(message).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const CHOICES: &[Choice] = &[Choice { word: "once", title: "Just once" }, Choice { word: "no", title: "No" }];

    #[test]
    fn the_request_is_a_flat_form_with_one_field() {
        let id = RequestId::of_text("q-1");
        let sent: Value = serde_json::from_slice(&request(&id, "May I?", "Decision", CHOICES)).unwrap();
        let field = json!({"type": "string", "title": "Decision", "oneOf": [
            {"const": "once", "title": "Just once"}, {"const": "no", "title": "No"}]});
        let schema = json!({"type": "object", "properties": {"decision": field}, "required": ["decision"]});
        let params = json!({"mode": "form", "message": "May I?", "requestedSchema": schema});
        let expected = json!({"jsonrpc": "2.0", "id": "q-1", "method": "elicitation/create", "params": params});
        assert_eq!(sent, expected);
        let sent: Value = serde_json::from_slice(&withdrawal(&id, "over")).unwrap();
        let params = json!({"requestId": "q-1", "reason": "over"});
        assert_eq!(sent, json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
    }

    #[test]
    fn only_the_forms_own_answers_are_understood() {
        let of = |text: &str| answer(Ok(&RawValue::from_string(text.into()).unwrap()));
        let word = |word: &str| Answer::Accepted(Some(word.to_owned()));
        assert_eq!(of(r#"{"action":"accept","content":{"decision":"once","x":1}}"#), word("once"));
        assert_eq!(of(r#"{"action":"acc\u0065pt","content":{"decision":"\u006fnce"}}"#), word("once"));
        assert_eq!(of(r#"{"action":"accept","content":{}}"#), Answer::Accepted(None));
        assert_eq!(of(r#"{"action":"accept"}"#), Answer::Accepted(None));
        assert_eq!(of(r#"{"action":"decline","content":{"decision":"once"}}"#), Answer::Declined);
        assert_eq!(of(r#"{"action":"cancel"}"#), Answer::Dismissed);
        for bad in [
            "null",
            "[\"accept\"]",
            "{}",
            r#"{"action":true}"#,
            r#"{"action":"yes","content":{"decision":"once"}}"#,
            r#"{"action":"accept","content":["once"]}"#,
            r#"{"action":"accept","content":{"decision":["once"]}}"#,
        ] {
            assert_eq!(of(bad), Answer::Failed, "{bad}");
        }
        assert_eq!(answer(Err(RawValue::NULL)), Answer::Failed);
    }
}
