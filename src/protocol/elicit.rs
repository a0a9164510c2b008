//! `elicitation/create` in form mode: our request to the person behind a client, and the client's response.
//!
//! The gateway decides on the content and the consequence. Invariants: the form is flat, with one field that takes one of the
//! offered words; a response that isn't exactly an accepted form never counts as an approval.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::id::RequestId;
use super::message;
use super::names::{CANCELLED, ELICITATION, JSONRPC};
use super::revision::Revision;

/// The form's only field.
const FIELD: &str = "decision";

/// One choice of the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The value of the field.
    pub word: &'static str,
    /// The label that the person reads.
    pub title: &'static str,
}

/// The client's answer to a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormAnswer {
    /// The form was accepted with this word, which may not be one of the choices; `None` if the form had no word.
    Accepted(Option<String>),
    Declined,
    /// The person closed the form.
    Dismissed,
    /// The client answered with an error, or with a result that is no answer to a form.
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

/// A form with `text`, whose field has the label `title` and offers `choices`.
#[derive(Debug, Clone, Copy)]
pub struct Form<'a> {
    /// What the person reads.
    pub text: &'a str,
    /// The label of the field.
    pub title: &'a str,
    pub choices: &'a [Choice],
}

impl Form<'_> {
    /// The parameters of the request in `revision`. Older ones have no mode, and list the titles of choices beside their words.
    fn params(self, revision: Revision) -> Value {
        let (words, titles): (Vec<_>, Vec<_>) = self.choices.iter().map(|choice| (choice.word, choice.title)).unzip();
        let is_titled = revision.has_titled_choices();
        let field = if is_titled {
            let options: Vec<_> =
                self.choices.iter().map(|choice| json!({"const": choice.word, "title": choice.title})).collect();
            json!({"type": "string", "title": self.title, "oneOf": options})
        } else {
            json!({"type": "string", "title": self.title, "enum": words, "enumNames": titles})
        };
        let schema = json!({"type": "object", "properties": {FIELD: field}, "required": [FIELD]});
        let mut params = json!({"message": self.text, "requestedSchema": schema});
        if let (true, Some(members)) = (is_titled, params.as_object_mut()) {
            members.insert("mode".to_owned(), "form".into());
        }
        params
    }

    /// The JSON text of the request `id` in a session of `revision`.
    pub fn request(self, id: &RequestId, revision: Revision) -> Vec<u8> {
        let id = RawValue::from_string(id.as_json().to_owned()).ok();
        write(&Message { jsonrpc: JSONRPC, id, method: ELICITATION, params: self.params(revision) })
    }

    /// The JSON text of a result that asks for the form, as the input `key`, and gives `state`.
    pub fn input_request(self, key: &str, state: &str) -> Vec<u8> {
        let params = self.params(Revision::V2026_07_28);
        let result = json!({"inputRequests": {key: {"method": ELICITATION, "params": params}}, "requestState": state});
        result.to_string().into_bytes()
    }
}

/// The answer to the input `key` in `responses`; `None` if there is none.
pub fn input_answer(responses: &RawValue, key: &str) -> Option<FormAnswer> {
    let answers: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(responses.get()).ok()?;
    answers.get(key).map(|result| answer(Ok(result)))
}

/// The JSON text of the notification that cancels our request `id`.
pub fn withdrawal(id: &RequestId, reason: &str) -> Vec<u8> {
    let id = RawValue::from_string(id.as_json().to_owned()).unwrap_or_default();
    let params = json!({"requestId": id, "reason": reason});
    write(&Message { jsonrpc: JSONRPC, id: None, method: CANCELLED, params })
}

/// Decodes the response to such a request: `Ok` is its result, `Err` its error.
pub fn answer(outcome: Result<&RawValue, &RawValue>) -> FormAnswer {
    let Ok(result) = outcome else { return FormAnswer::Failed };
    let Ok(result) = message::params::<Returned<'_>>(Some(result)) else { return FormAnswer::Failed };
    match &*result.action {
        "accept" => match message::params::<Content>(result.content) {
            Ok(content) => FormAnswer::Accepted(content.decision),
            Err(_) => FormAnswer::Failed,
        },
        "decline" => FormAnswer::Declined,
        "cancel" => FormAnswer::Dismissed,
        _ => FormAnswer::Failed,
    }
}

fn write<P: Serialize>(message: &Message<P>) -> Vec<u8> {
    // Strings and maps with text keys always serialise.
    serde_json::to_vec(message).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHOICES: &[Choice] = &[Choice { word: "once", title: "Just once" }, Choice { word: "no", title: "No" }];

    #[test]
    fn the_request_is_a_flat_form_with_one_field() {
        let id = RequestId::of_text("q-1");
        let form = Form { text: "May I?", title: "Decision", choices: CHOICES };
        let sent: Value = serde_json::from_slice(&form.request(&id, Revision::V2025_11_25)).unwrap();
        let field = json!({"type": "string", "title": "Decision", "oneOf": [
            {"const": "once", "title": "Just once"}, {"const": "no", "title": "No"}]});
        let schema = json!({"type": "object", "properties": {"decision": field}, "required": ["decision"]});
        let params = json!({"mode": "form", "message": "May I?", "requestedSchema": schema});
        let expected = json!({"jsonrpc": "2.0", "id": "q-1", "method": "elicitation/create", "params": params});
        assert_eq!(sent, expected);
        let sent: Value = serde_json::from_slice(&form.request(&id, Revision::V2025_06_18)).unwrap();
        let field =
            json!({"type": "string", "title": "Decision", "enum": ["once", "no"], "enumNames": ["Just once", "No"]});
        let schema = json!({"type": "object", "properties": {"decision": field}, "required": ["decision"]});
        assert_eq!(sent["params"], json!({"message": "May I?", "requestedSchema": schema}));
        let sent: Value = serde_json::from_slice(&form.input_request("k", "s")).unwrap();
        let inner = json!({"method": "elicitation/create", "params": expected["params"]});
        assert_eq!(sent, json!({"inputRequests": {"k": inner}, "requestState": "s"}));
        let sent: Value = serde_json::from_slice(&withdrawal(&id, "over")).unwrap();
        let params = json!({"requestId": "q-1", "reason": "over"});
        assert_eq!(sent, json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
    }

    #[test]
    fn only_exact_form_answers_are_accepted() {
        let of = |text: &str| answer(Ok(&RawValue::from_string(text.into()).unwrap()));
        let word = |word: &str| FormAnswer::Accepted(Some(word.to_owned()));
        assert_eq!(of(r#"{"action":"accept","content":{"decision":"once","x":1}}"#), word("once"));
        assert_eq!(of(r#"{"action":"acc\u0065pt","content":{"decision":"\u006fnce"}}"#), word("once"));
        assert_eq!(of(r#"{"action":"accept","content":{}}"#), FormAnswer::Accepted(None));
        assert_eq!(of(r#"{"action":"accept"}"#), FormAnswer::Accepted(None));
        assert_eq!(of(r#"{"action":"decline","content":{"decision":"once"}}"#), FormAnswer::Declined);
        assert_eq!(of(r#"{"action":"cancel"}"#), FormAnswer::Dismissed);
        for bad in [
            "null",
            "[\"accept\"]",
            "{}",
            r#"{"action":true}"#,
            r#"{"action":"yes","content":{"decision":"once"}}"#,
            r#"{"action":"accept","content":["once"]}"#,
            r#"{"action":"accept","content":{"decision":["once"]}}"#,
        ] {
            assert_eq!(of(bad), FormAnswer::Failed, "{bad}");
        }
        assert_eq!(answer(Err(RawValue::NULL)), FormAnswer::Failed);
    }
}
