//! Takes secrets out of JSON text, which stays JSON.
//!
//! Texts are looked at as they are, not as JSON escapes them: behind `\\n` a secret begins like behind a line break. Invariants: what isn't a
//! secret stays the same to the byte; members, lists and their order stay.

use std::borrow::Cow;

use crate::secrets::{REDACTED, is_secret_name, redact};

/// `json` without the secrets that its texts show, and without the values of members whose names say that they are secrets. Text that is no JSON
/// comes back as one text without secrets.
pub fn redact_json(json: &str) -> Cow<'_, str> {
    let mut redaction = Redaction { json, clean: String::new(), copied: 0, depth: 0, secret: None };
    if redaction.run().is_none() {
        return redact(json);
    }
    match redaction.copied {
        0 => Cow::Borrowed(json),
        copied => Cow::Owned(redaction.clean + &json[copied..]),
    }
}

struct Redaction<'j> {
    json: &'j str,
    clean: String,
    /// Bytes of `json` that `clean` stands for.
    copied: usize,
    depth: usize,
    /// The depth of the member whose whole value is a secret.
    secret: Option<usize>,
}

impl Redaction<'_> {
    /// `None` if the text is no JSON.
    fn run(&mut self) -> Option<()> {
        let bytes = self.json.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            at = match byte {
                b'"' => self.text(at)?,
                b'{' | b'[' => {
                    self.depth += 1;
                    at + 1
                }
                b'}' | b']' => {
                    self.depth = self.depth.checked_sub(1)?;
                    self.end_value();
                    at + 1
                }
                b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' => at + 1,
                _ => self.scalar(at),
            };
        }
        (self.depth == 0).then_some(())
    }

    /// A text that begins at `at`; returns its end.
    fn text(&mut self, at: usize) -> Option<usize> {
        let end = text_end(self.json.as_bytes(), at)?;
        let literal = &self.json[at..end];
        let decoded: Cow<'_, str> = match literal.contains('\\') {
            false => Cow::Borrowed(&literal[1..literal.len() - 1]),
            true => Cow::Owned(serde_json::from_str(literal).ok()?),
        };
        let is_name = self.json[end..].trim_start().starts_with(':');
        if !is_name && self.secret.is_some() {
            self.replace(at, end, REDACTED);
        } else if let Cow::Owned(clean) = redact(&decoded) {
            self.replace(at, end, &clean);
        }
        match is_name {
            true if self.secret.is_none() && is_secret_name(&decoded) => self.secret = Some(self.depth),
            true => {}
            false => self.end_value(),
        }
        Some(end)
    }

    /// A number, `true`, `false` or `null` at `at`; returns its end.
    fn scalar(&mut self, at: usize) -> usize {
        let rest = &self.json[at..];
        let end = at + rest.find([',', '}', ']', '"', ' ', '\t', '\r', '\n']).unwrap_or(rest.len());
        if self.secret.is_some() {
            self.replace(at, end, REDACTED);
        }
        self.end_value();
        end
    }

    /// A value has ended; with it the secret, if it is that of the member.
    fn end_value(&mut self) {
        self.secret = self.secret.filter(|depth| *depth != self.depth);
    }

    fn replace(&mut self, at: usize, end: usize, text: &str) {
        self.clean.push_str(&self.json[self.copied..at]);
        // A text can always be written.
        self.clean.push_str(&serde_json::to_string(text).unwrap_or_default());
        self.copied = end;
    }
}

/// The end of the literal that begins at `at`, behind its quote.
fn text_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut next = at + 1;
    loop {
        match bytes.get(next)? {
            b'"' => return Some(next + 1),
            b'\\' => next += 2,
            _ => next += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const TOKEN: &str = "cyd_0123456789abcdefABCDEF";

    #[test]
    fn what_looks_like_a_secret_in_structure_is_none() {
        for value in [
            json!({"query": "Authorization: "}),
            json!({"query": "authorization:", "a": [1, true, null, {}]}),
            json!({"a": "-----BEGIN PRIVATE KEY-----", "b": [1], "c": "-----END "}),
            json!({"q": "aws_secret_access_key="}),
            json!(["authorization=", "x"]),
            json!({"authorizations": 1, "größe": "\u{9b}\"\\"}),
        ] {
            let text = value.to_string();
            assert!(matches!(redact_json(&text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn secrets_are_found_behind_escapes_in_names_and_as_values_of_secret_names() {
        for (value, clean) in [
            (json!({"q": format!("x\n{TOKEN}\ty")}), json!({"q": "x\ncyd_[redacted]\ty"})),
            (json!({"q": format!("\u{1}{TOKEN}")}), json!({"q": "\u{1}cyd_[redacted]"})),
            (json!({"q": "a\nAuthorization: token x1"}), json!({"q": "a\nAuthorization: token [redacted]"})),
            (json!({ TOKEN: 1 }), json!({"cyd_[redacted]": 1})),
            (json!({"Authorization": 1, "b": 2}), json!({"Authorization": "[redacted]", "b": 2})),
            (
                json!({"AUTHORIZATION": {"a": ["x", 1, {"b": null}]}, "c": "d"}),
                json!({"AUTHORIZATION": {"a": ["[redacted]", "[redacted]", {"b": "[redacted]"}]}, "c": "d"}),
            ),
            (json!({"aws_secret_access_key": [], "b": "c"}), json!({"aws_secret_access_key": [], "b": "c"})),
            (json!([{"secretAccessKey": "s"}, "t"]), json!([{"secretAccessKey": "[redacted]"}, "t"])),
        ] {
            let text = value.to_string();
            assert_eq!(serde_json::from_str::<Value>(&redact_json(&text)).unwrap(), clean, "{text}");
            let spaced = serde_json::to_string_pretty(&value).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&redact_json(&spaced)).unwrap(), clean, "{spaced}");
        }
    }

    #[test]
    fn what_is_no_json_loses_its_secrets_as_a_text() {
        for text in [format!("{{\"a\": {TOKEN}"), format!("}}{TOKEN}"), format!("\"{TOKEN}"), format!("\"\\{TOKEN}")] {
            assert!(!redact_json(&text).contains("0123456789"), "{text}");
        }
    }
}
