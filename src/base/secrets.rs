//! Finds secrets of known shapes in a text, and takes them out: tokens with a prefix, JSON web tokens, values of `Authorization`, passwords in addresses,
//! keys of AWS, private keys.
//!
//! It is a net below the rule that secrets aren't logged: what a language server or a tool prints is not ours. Invariants: a text without a
//! secret is returned as it is; what is taken out is replaced by a mark without quotes or backslashes, so that JSON stays JSON.

use std::borrow::Cow;
use std::ops::Range;

/// The text that replaces a secret.
pub const REDACTED: &str = "[redacted]";

/// Prefixes of tokens, and the fewest characters behind them.
const TOKEN_PREFIXES: [(&str, usize); 17] = [
    ("cyd_", 16),
    ("ghp_", 16),
    ("gho_", 16),
    ("ghu_", 16),
    ("ghs_", 16),
    ("ghr_", 16),
    ("github_pat_", 16),
    ("glpat-", 16),
    ("npm_", 30),
    ("hf_", 30),
    ("AIza", 30),
    ("xoxa-", 10),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("sk-", 16),
    ("AKIA", 16),
    ("ASIA", 16),
];

/// Names whose values are secrets, in lower case.
const SECRET_NAMES: [&str; 4] = ["aws_secret_access_key", "secretaccesskey", "aws_session_token", "authorization"];

/// Schemes of `Authorization`, in lower case. What follows one of them is a secret elsewhere too.
const SCHEMES: [&str; 2] = ["bearer ", "basic "];

/// Fewest characters of a secret behind a scheme, or in an address without a password.
const MIN_LONG: usize = 16;

/// Longest user name and password of an address that are looked for, in bytes.
const MAX_USER_INFO: usize = 1024;

/// Longest private key that is taken out as a whole, in bytes.
const MAX_PRIVATE_KEY: usize = 16 * 1024;

/// Whether the value of this name is a secret, whatever it looks like.
pub(crate) fn is_secret_name(name: &str) -> bool {
    SECRET_NAMES.iter().any(|secret| name.eq_ignore_ascii_case(secret))
}

/// `text` without the secrets that it shows. JSON text has a function of its own in `json_secrets`.
pub fn redact(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut clean = String::new();
    let mut copied = 0;
    let mut at = 0;
    while at < bytes.len() {
        let Some(secret) = secret_at(bytes, at).filter(|secret| !secret.is_empty()) else {
            at += 1;
            continue;
        };
        // Secrets begin and end next to ASCII characters.
        clean.push_str(text.get(copied..secret.start).unwrap_or_default());
        clean.push_str(REDACTED);
        (copied, at) = (secret.end, secret.end);
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    clean.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(clean)
}

/// The secret whose sign begins at `at`.
fn secret_at(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let rest = &bytes[at..];
    match rest[0] {
        // Its letters and length are in nothing else, so it needs no bound before it.
        b'c' if rest.starts_with(b"cyd_") => token(rest),
        b'e' if at == 0 || !is_token_byte(bytes[at - 1]) => json_web_token(rest),
        b'c' | b'g' | b'n' | b'h' | b'x' | b's' | b'A' | b'a' | b'S' | b'B' | b'b'
            if at == 0 || !is_token_byte(bytes[at - 1]) =>
        {
            token(rest).or_else(|| named(rest)).or_else(|| behind_scheme(rest))
        }
        b':' => user_info(rest),
        b'-' => private_key(rest),
        _ => None,
    }
    .map(|found| at + found.start..at + found.end)
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Whether the byte may be part of a value that no quotes surround.
fn is_value_byte(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b',' | b';' | b'<' | b'>')
}

fn length_of(bytes: &[u8], is_part: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|byte| !is_part(*byte)).unwrap_or(bytes.len())
}

fn begins_with(bytes: &[u8], lower_case: &str) -> bool {
    bytes.get(..lower_case.len()).is_some_and(|start| start.eq_ignore_ascii_case(lower_case.as_bytes()))
}

fn token(rest: &[u8]) -> Option<Range<usize>> {
    let (prefix, least) = TOKEN_PREFIXES.iter().find(|(prefix, _)| rest.starts_with(prefix.as_bytes()))?;
    let length = length_of(&rest[prefix.len()..], is_token_byte);
    let token = &rest[prefix.len()..prefix.len() + length];
    // Names of styles and packages have such prefixes too, and no digits.
    (length >= *least && token.iter().any(u8::is_ascii_digit)).then_some(prefix.len()..prefix.len() + length)
}

/// An access token of an authorization server: parts in base64url with `.` between them, the first of a JSON object.
fn json_web_token(rest: &[u8]) -> Option<Range<usize>> {
    let body = rest.strip_prefix(b"eyJ")?;
    let length = length_of(body, |byte| is_token_byte(byte) || byte == b'.');
    (length >= MIN_LONG && body[..length].contains(&b'.')).then_some(3..3 + length)
}

/// The value of a secret name: `NAME: VALUE`, `NAME=VALUE`, and both with quotes, also those of JSON in JSON.
fn named(rest: &[u8]) -> Option<Range<usize>> {
    let name = SECRET_NAMES.iter().find(|name| begins_with(rest, name))?;
    let separator = |byte: u8| matches!(byte, b'"' | b'\'' | b'\\' | b' ' | b'\t' | b':' | b'=' | b'(' | b'>');
    let mut start = name.len() + length_of(&rest[name.len()..], separator);
    if !rest[name.len()..start].iter().any(|byte| matches!(byte, b':' | b'=' | b'(')) {
        return None;
    }
    let scheme = length_of(&rest[start..], |byte| byte.is_ascii_alphabetic());
    if *name == "authorization" && rest.get(start + scheme) == Some(&b' ') {
        start += scheme + 1;
    }
    Some(start..start + length_of(&rest[start..], is_value_byte))
}

fn behind_scheme(rest: &[u8]) -> Option<Range<usize>> {
    let scheme = SCHEMES.iter().find(|scheme| begins_with(rest, scheme))?;
    let length = length_of(&rest[scheme.len()..], is_value_byte);
    (length >= MIN_LONG).then_some(scheme.len()..scheme.len() + length)
}

/// The password of `SCHEME://USER:PASSWORD@HOST`, or a long user name without one.
fn user_info(rest: &[u8]) -> Option<Range<usize>> {
    let info = rest.strip_prefix(b"://")?;
    let is_part = |byte: u8| is_value_byte(byte) && !matches!(byte, b'/' | b'?' | b'#') || byte >= 0x80;
    let end = length_of(&info[..info.len().min(MAX_USER_INFO)], is_part);
    let at = info[..end].iter().rposition(|byte| *byte == b'@')?;
    match info[..at].iter().position(|byte| *byte == b':') {
        Some(colon) => Some(3 + colon + 1..3 + at),
        None => (at >= MIN_LONG).then_some(3..3 + at),
    }
}

/// A private key in PEM, to its end line or the end of the text. The line breaks may be written as `\n`.
fn private_key(rest: &[u8]) -> Option<Range<usize>> {
    const LAST: &[u8] = b"PRIVATE KEY-----";
    let label = rest.strip_prefix(b"-----BEGIN ")?;
    let position = |text: &[u8], of: &[u8]| text.windows(of.len()).position(|window| window == of);
    let head = position(&label[..label.len().min(64)], LAST)? + LAST.len() + b"-----BEGIN ".len();
    let body = &rest[head..rest.len().min(head + MAX_PRIVATE_KEY)];
    let end = position(body, b"-----END ")
        .unwrap_or_else(|| length_of(body, |byte| byte.is_ascii_alphanumeric() || b"+/=\\\r\n :,-".contains(&byte)));
    Some(head..head + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_known_shapes_are_taken_out() {
        let token = "0123456789abcdefABCDEF_-xyz";
        for (text, clean) in [
            (format!("got cyd_{token}!"), "got cyd_[redacted]!"),
            (format!("a_cyd_{token}/x"), "a_cyd_[redacted]/x"),
            (format!("ghp_{token}"), "ghp_[redacted]"),
            (format!("[github_pat_{token}]"), "[github_pat_[redacted]]"),
            (format!("key=sk-proj-{token},"), "key=sk-[redacted],"),
            (format!("got eyJhbGciOi.eyJpc3MiOi.{token}!"), "got eyJ[redacted]!"),
            ("AKIAIOSFODNN7EXAMPLE x".to_owned(), "AKIA[redacted] x"),
            ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG".to_owned(), "aws_secret_access_key = [redacted]"),
            (r#"{"SecretAccessKey": "wJalrXUtn+FE/MI"}"#.to_owned(), r#"{"SecretAccessKey": "[redacted]"}"#),
            ("Authorization: Bearer abc.def".to_owned(), "Authorization: Bearer [redacted]"),
            ("authorization: secret".to_owned(), "authorization: [redacted]"),
            (r#"{\"Authorization\":\"Basic dXNlcjpwYXNz\"}"#.to_owned(), r#"{\"Authorization\":\"Basic [redacted]\"}"#),
            ("-H 'Authorization: token x1'".to_owned(), "-H 'Authorization: token [redacted]'"),
            (format!("bearer {token}"), "bearer [redacted]"),
            ("https://ann:p%40ss@host/x".to_owned(), "https://ann:[redacted]@host/x"),
            ("postgres://u:a@b@h:5/db".to_owned(), "postgres://u:[redacted]@h:5/db"),
            ("https://:ä1@h".to_owned(), "https://:[redacted]@h"),
            (format!("https://{token}@h/r.git"), "https://[redacted]@h/r.git"),
        ] {
            assert_eq!(redact(&text), clean);
        }
    }

    #[test]
    fn private_keys_are_taken_out_also_if_they_are_cut() {
        let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow+/=\nabc\n-----END RSA PRIVATE KEY-----\nrest";
        let clean = "-----BEGIN RSA PRIVATE KEY-----[redacted]-----END RSA PRIVATE KEY-----\nrest";
        assert_eq!(redact(key), clean);
        let in_json = format!("{{\"message\":{}}}", serde_json::json!(key));
        assert!(
            serde_json::from_str::<serde_json::Value>(&redact(&in_json)).is_ok() && !redact(&in_json).contains("MII")
        );
        assert_eq!(redact("-----BEGIN PRIVATE KEY-----\nMIIE"), "-----BEGIN PRIVATE KEY-----[redacted]");
        let cut = format!("{{\"m\":{}}}", serde_json::json!("-----BEGIN PRIVATE KEY-----\nMIIE"));
        assert!(serde_json::from_str::<serde_json::Value>(&redact(&cut)).is_ok(), "{}", redact(&cut));
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in [
            "",
            "cyd_",
            "the task-0123456789abcdef0123 is done",
            "sk-very-long-name-of-a-css-class",
            "http://127.0.0.1:3939/mcp",
            "git@github.com:owner/name.git",
            "https://example.org/a@b:c",
            "bearer tokens are required",
            "Authorization is required",
            "-----BEGIN CERTIFICATE-----\nMIIE",
            "größe: 漢字",
        ] {
            assert!(matches!(redact(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }
}
