//! The front matter of a page: the keys that stand before its text, in YAML or TOML.
//!
//! It doesn't know which keys a site needs. Invariants: the text after the front matter is never changed; what can't be read is a fault with its line,
//! never an empty front matter; reading is bounded, whatever the page says.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Length of the front matter of a page, in bytes.
const MAX_FRONT_MATTER_BYTES: usize = 64 * 1024;

/// How the keys are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontMatterForm {
    /// Between lines of `---`.
    Yaml,
    /// Between lines of `+++`.
    Toml,
}

/// A page, split into its keys and its text.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitPage<'p> {
    /// How the keys are written; `None` if the page has none.
    pub form: Option<FrontMatterForm>,
    /// The keys, in the order of the page.
    pub keys: Map<String, Value>,
    /// The text after the keys.
    pub body: &'p str,
    /// The line on which the text begins, from 1.
    pub body_line: u32,
}

/// A front matter that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the front matter can't be read: {reason}")]
pub struct FrontMatterError {
    /// The line of the page, from 1.
    pub line: u32,
    pub reason: String,
}

impl FrontMatterForm {
    fn fence(self) -> &'static str {
        match self {
            Self::Yaml => "---",
            Self::Toml => "+++",
        }
    }
}

/// Splits a page.
///
/// # Errors
/// If it begins like a front matter that isn't one.
pub fn split(page: &str) -> Result<SplitPage<'_>, FrontMatterError> {
    let text = page.strip_prefix('\u{feff}').unwrap_or(page);
    let first = text.lines().next().unwrap_or_default().trim_end();
    let Some(form) = [FrontMatterForm::Yaml, FrontMatterForm::Toml].into_iter().find(|form| first == form.fence())
    else {
        return Ok(SplitPage { form: None, keys: Map::new(), body: text, body_line: 1 });
    };
    let start = text.find('\n').map_or(text.len(), |at| at + 1);
    let mut at = start;
    for (content, body_line) in text[start..].split_inclusive('\n').zip(3..) {
        if content.trim_end() == form.fence() {
            let keys = parse(form, &text[start..at])?;
            return Ok(SplitPage { form: Some(form), keys, body: &text[at + content.len()..], body_line });
        }
        at += content.len();
    }
    Err(FrontMatterError { line: 1, reason: format!("no line {:?} ends it", form.fence()) })
}

/// The front matter with `keys`, fences included, in a form that every reader takes: one key a line, texts in quotation marks.
pub fn write(form: FrontMatterForm, keys: &Map<String, Value>) -> String {
    let mut text = format!("{}\n", form.fence());
    for (key, value) in keys {
        let separator = match form {
            FrontMatterForm::Yaml => ":",
            FrontMatterForm::Toml => " =",
        };
        let _ = writeln!(text, "{}{separator} {}", key_text(key), value_text(form, value));
    }
    text + form.fence() + "\n"
}

fn parse(form: FrontMatterForm, text: &str) -> Result<Map<String, Value>, FrontMatterError> {
    if text.len() > MAX_FRONT_MATTER_BYTES {
        return Err(FrontMatterError { line: 1, reason: format!("it is longer than {MAX_FRONT_MATTER_BYTES} bytes") });
    }
    let value = match form {
        FrontMatterForm::Yaml if text.trim().is_empty() => Value::Object(Map::new()),
        FrontMatterForm::Yaml => {
            serde_saphyr::from_str_with_options::<Value>(text, serde_saphyr::options! { strict_booleans: true })
                .map_err(|error| FrontMatterError {
                    line: 1 + error.location().map_or(0, |location| u32::try_from(location.line()).unwrap_or_default()),
                    reason: first_line(&error.to_string()),
                })?
        }
        FrontMatterForm::Toml => {
            let table: toml::Table = toml::from_str(text).map_err(|error| FrontMatterError {
                line: 2 + error.span().map_or(0, |span| line_of(text, span.start)),
                reason: first_line(error.message()),
            })?;
            json_of(toml::Value::Table(table))
        }
    };
    match value {
        Value::Object(keys) => Ok(keys),
        _ => Err(FrontMatterError { line: 2, reason: "it isn't a list of keys with values".into() }),
    }
}

/// The number of line breaks before a byte.
fn line_of(text: &str, at: usize) -> u32 {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    u32::try_from(before.iter().filter(|byte| **byte == b'\n').count()).unwrap_or(u32::MAX)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// The same value in JSON. Dates become texts.
fn json_of(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(flag) => flag.into(),
        toml::Value::Datetime(date) => Value::String(date.to_string()),
        toml::Value::Array(items) => items.into_iter().map(json_of).collect(),
        toml::Value::Table(table) => {
            Value::Object(table.into_iter().map(|(key, value)| (key, json_of(value))).collect())
        }
    }
}

fn key_text(key: &str) -> String {
    let is_plain =
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    let means_other = matches!(
        key.to_ascii_lowercase().as_str(),
        "true" | "false" | "yes" | "no" | "on" | "off" | "null" | "y" | "n"
    );
    let is_number = key.bytes().next().is_some_and(|byte| byte.is_ascii_digit() || byte == b'-');
    if is_plain && !means_other && !is_number { key.to_owned() } else { Value::String(key.to_owned()).to_string() }
}

/// JSON's form of texts, numbers and lists is one of YAML and of TOML too.
fn value_text(form: FrontMatterForm, value: &Value) -> String {
    let list = |items: Vec<String>, (open, close): (&str, &str)| format!("{open}{}{close}", items.join(", "));
    match (value, form) {
        (Value::Array(items), _) => list(items.iter().map(|item| value_text(form, item)).collect(), ("[", "]")),
        (Value::Object(members), FrontMatterForm::Yaml) => {
            let member = |(key, value): (&String, &Value)| format!("{}: {}", key_text(key), value_text(form, value));
            list(members.iter().map(member).collect(), ("{", "}"))
        }
        (Value::Object(members), FrontMatterForm::Toml) => {
            let member = |(key, value): (&String, &Value)| format!("{} = {}", key_text(key), value_text(form, value));
            list(members.iter().map(member).collect(), ("{ ", " }"))
        }
        // TOML has no null.
        (Value::Null, FrontMatterForm::Toml) => "\"\"".into(),
        // JSON leaves DEL and C1 controls as they are; YAML and TOML don't allow them.
        (Value::String(text), _) => escaped(&Value::String(text.clone()).to_string()),
        (other, _) => other.to_string(),
    }
}

fn escaped(json: &str) -> String {
    let is_special = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}');
    json.chars().fold(String::with_capacity(json.len()), |mut text, c| {
        if is_special(c) {
            let _ = write!(text, "\\u{:04x}", u32::from(c));
        } else {
            text.push(c);
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pages_are_split_and_their_text_is_kept() {
        let cases = [
            ("---\ntitle: A\ntags: [x, y]\n---\n\nText\n", json!({"title": "A", "tags": ["x", "y"]}), "\nText\n", 5),
            ("+++\ntitle = \"A\"\nweight = 3\n+++\nText", json!({"title": "A", "weight": 3}), "Text", 5),
            ("\u{feff}---\r\ntitle: A\r\n---\r\nText", json!({"title": "A"}), "Text", 4),
            ("---\n---\n", json!({}), "", 3),
            ("# Title\n---\nText\n", json!({}), "# Title\n---\nText\n", 1),
            ("", json!({}), "", 1),
            ("----\ntitle: A\n----\n", json!({}), "----\ntitle: A\n----\n", 1),
            ("---\ntext: |\n  ---\n  x\n---\n--- more\n", json!({"text": "---\nx\n"}), "--- more\n", 6),
        ];
        for (page, keys, body, line) in cases {
            let found = split(page).unwrap_or_else(|error| panic!("{page:?}: {error}"));
            assert_eq!((Value::Object(found.keys), found.body, found.body_line), (keys, body, line), "{page:?}");
        }
    }

    #[test]
    fn dates_and_numbers_keep_their_text() {
        let toml = split("+++\ndate = 2026-01-21T10:00:00Z\nday = 2026-01-21\npi = 3.5\n+++\n").unwrap();
        assert_eq!(Value::Object(toml.keys), json!({"date": "2026-01-21T10:00:00Z", "day": "2026-01-21", "pi": 3.5}));
        let yaml = split("---\ndate: 2026-01-21\non: 1\n---\n").unwrap();
        assert_eq!(yaml.keys["date"], json!("2026-01-21"));
    }

    #[test]
    fn faults_are_named_with_their_line() {
        let cases = [
            ("---\ntitle: A\n", 1),
            ("+++\ntitle = \"A\"\n", 1),
            ("+++\ntitle = \"A\"\nbroken\n+++\n", 3),
            ("---\ntitle: A\nlist: [1, 2\n---\n", 3),
            ("---\n- a\n- b\n---\n", 2),
            ("---\njust text\n---\n", 2),
        ];
        for (page, line) in cases {
            let error = split(page).unwrap_err();
            assert!(error.line.abs_diff(line) <= 1 && !error.reason.is_empty(), "{page:?}: {error:?}");
        }
        let long = format!("---\ntitle: {}\n---\n", "x".repeat(MAX_FRONT_MATTER_BYTES));
        assert!(split(&long).unwrap_err().reason.contains("is longer"));
    }

    #[test]
    fn a_bomb_of_aliases_is_refused() {
        let mut page = String::from("---\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let inner = vec![format!("*a{}", level - 1); 10].join(", ");
            page.push_str(&format!("a{level}: &a{level} [{inner}]\n"));
        }
        page.push_str("---\n");
        assert!(split(&page).is_err());
        let deep = format!("---\na: {}{}\n---\n", "[".repeat(20_000), "]".repeat(20_000));
        assert!(split(&deep).is_err());
    }

    #[test]
    fn what_is_written_is_read_again() {
        let keys = json!({
            "title": "A \"quoted\": title # with\nlines \\ and \u{85}\u{7f}",
            "yes": "no", "3": "three", "a b": "", "date": "2026-01-21", "draft": false, "weight": 10, "ratio": 0.5,
            "tags": ["a, b", "c]"], "menu": {"main": {"weight": 1}}, "empty": [],
        });
        let Value::Object(keys) = keys else { unreachable!() };
        for form in [FrontMatterForm::Yaml, FrontMatterForm::Toml] {
            let page = write(form, &keys) + "Text";
            let found = split(&page).unwrap_or_else(|error| panic!("{page}: {error:?}"));
            assert_eq!((&found.keys, found.body, found.form), (&keys, "Text", Some(form)), "{page}");
        }
    }
}
