//! Strict decoding of a tool's arguments. Each catalog lists the arguments of its tools; this module doesn't.
//!
//! A client may put anything where a name belongs: a path, a token. So an unknown name is repeated only if it looks like an argument's.
//!
//! Invariants: every rejection is INVALID_PARAMS with `details.path` (the argument, dotted) and `details.reason`: `missing`,
//! `unknown`, `duplicate`, `type`, `range` or `empty`; unknown members are rejected before any value is decoded. Numbers
//! follow JSON Schema: `1.0` and `1e2` are integers, `1.5` is not.

use std::fmt;
use std::ops::RangeInclusive;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use codeyard_model::error::{ErrorCode, ToolError};

/// The longest unknown name that is repeated, and the longest word in it, in letters.
const MAX_NAME_CHARS: usize = 32;
const MAX_WORD_CHARS: usize = 14;
/// What `details.path` has in place of a name that isn't repeated.
pub(super) const HIDDEN_NAME: &str = "(unknown)";

/// The members of one JSON object. All of them have known names.
pub(super) struct Arguments<'a> {
    /// The prefix of `details.path`: empty, or such as `position.`.
    prefix: &'static str,
    members: Vec<(String, &'a RawValue)>,
}

impl<'a> Arguments<'a> {
    /// Reads the members of `raw`, which may only have the names in `known`. `None` counts as `{}`.
    pub(super) fn read(raw: Option<&'a RawValue>, known: &[&str]) -> Result<Self, ToolError> {
        match raw {
            Some(raw) => Self::of(raw, "", "", known),
            None => Ok(Self { prefix: "", members: Vec::new() }),
        }
    }

    /// The object in the required member `name`; `prefix` is the name with its dot.
    pub(super) fn object(&self, name: &str, prefix: &'static str, known: &[&str]) -> Result<Arguments<'a>, ToolError> {
        Self::of(self.required(name)?, name, prefix, known)
    }

    fn of(raw: &'a RawValue, name: &str, prefix: &'static str, known: &[&str]) -> Result<Self, ToolError> {
        let Members(members) = serde_json::from_str(raw.get()).map_err(|_| rejected("", name, "type"))?;
        for (index, (key, _)) in members.iter().enumerate() {
            if !known.contains(&key.as_str()) {
                return Err(unknown(prefix, key, known));
            }
            if members[..index].iter().any(|(earlier, _)| earlier == key) {
                return Err(rejected(prefix, key, "duplicate"));
            }
        }
        Ok(Self { prefix, members })
    }

    /// The string in the required member `name`.
    pub(super) fn text(&self, name: &str) -> Result<String, ToolError> {
        self.parsed(name, self.required(name)?)
    }

    /// The string in the member `name`; `None` if it is absent or null.
    pub(super) fn optional_text(&self, name: &str) -> Result<Option<String>, ToolError> {
        self.find(name).map_or(Ok(None), |raw| self.parsed(name, raw))
    }

    /// The string in the member `name`; `None` if it is absent. Null is a type error.
    pub(super) fn text_if_given(&self, name: &str) -> Result<Option<String>, ToolError> {
        self.find(name).map(|raw| self.parsed(name, raw)).transpose()
    }

    /// The members of the object in the required member `name`.
    pub(super) fn value(&self, name: &str) -> Result<Map<String, Value>, ToolError> {
        self.parsed(name, self.required(name)?)
    }

    /// The strings in the array `name`; empty if it is absent.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, ToolError> {
        self.find(name).map_or(Ok(Vec::new()), |raw| self.parsed(name, raw))
    }

    /// The object in the member `name`; `None` if it is absent. `prefix` is the name with its dot.
    pub(super) fn object_if_given(
        &self,
        name: &str,
        prefix: &'static str,
        known: &[&str],
    ) -> Result<Option<Arguments<'a>>, ToolError> {
        self.find(name).map(|raw| Self::of(raw, name, prefix, known)).transpose()
    }

    /// The integer in the member `name`, checked against `range`; `None` if it is absent.
    pub(super) fn integer(&self, name: &str, range: RangeInclusive<usize>) -> Result<Option<usize>, ToolError> {
        let Some(raw) = self.find(name) else { return Ok(None) };
        let number = usize::try_from(self.whole(name, raw)?).unwrap_or(usize::MAX);
        if range.contains(&number) { Ok(Some(number)) } else { Err(self.rejected(name, "range")) }
    }

    /// The boolean in the member `name`, or `default`.
    pub(super) fn flag(&self, name: &str, default: bool) -> Result<bool, ToolError> {
        self.find(name).map_or(Ok(default), |raw| self.parsed(name, raw))
    }

    /// The boolean in the member `name`; `None` if it is absent or null.
    pub(super) fn optional_flag(&self, name: &str) -> Result<Option<bool>, ToolError> {
        self.find(name).map_or(Ok(None), |raw| self.parsed(name, raw))
    }

    /// Whether the member `name` is there and not null.
    pub(super) fn has(&self, name: &str) -> bool {
        self.find(name).is_some_and(|raw| raw.get() != "null")
    }

    /// The integer from 0 to 2³²-1 in the required member `name`.
    pub(super) fn u32(&self, name: &str) -> Result<u32, ToolError> {
        let number = self.whole(name, self.required(name)?)?;
        u32::try_from(number).map_err(|_| self.rejected(name, "range"))
    }

    /// The integer in the member `name`, at least 1 and clamped to `max`; `None` if it is absent.
    pub(super) fn size(&self, name: &str, max: usize) -> Result<Option<usize>, ToolError> {
        let Some(raw) = self.find(name) else { return Ok(None) };
        match self.whole(name, raw)? {
            0 => Err(self.rejected(name, "range")),
            number => Ok(Some(usize::try_from(number).unwrap_or(usize::MAX).min(max))),
        }
    }

    /// The error that rejects the member `name`.
    pub(super) fn rejected(&self, name: &str, reason: &'static str) -> ToolError {
        rejected(self.prefix, name, reason)
    }

    fn find(&self, name: &str) -> Option<&'a RawValue> {
        self.members.iter().find(|(key, _)| key == name).map(|(_, raw)| *raw)
    }

    fn required(&self, name: &str) -> Result<&'a RawValue, ToolError> {
        self.find(name).ok_or_else(|| self.rejected(name, "missing"))
    }

    fn parsed<T: Deserialize<'a>>(&self, name: &str, raw: &'a RawValue) -> Result<T, ToolError> {
        serde_json::from_str(raw.get()).map_err(|_| self.rejected(name, "type"))
    }

    /// A whole number of at least 0. Numbers from 2⁶⁴ count as 2⁶⁴-1, which exceeds the limit of every caller.
    fn whole(&self, name: &str, raw: &RawValue) -> Result<u64, ToolError> {
        let text = raw.get();
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(text.parse().unwrap_or(u64::MAX));
        }
        // Only numbers parse as a float: a JSON string keeps its quotes, and null is not a float.
        let number: f64 = self.parsed(name, raw)?;
        match number {
            number if number.fract() != 0.0 => Err(self.rejected(name, "type")),
            number if number < 0.0 => Err(self.rejected(name, "range")),
            // The cast saturates.
            number => Ok(number as u64),
        }
    }
}

fn rejected(prefix: &str, name: &str, reason: &'static str) -> ToolError {
    let message = match reason {
        "missing" => "a required argument is missing; details.path names it",
        "duplicate" => "an argument is given twice; details.path names it",
        "range" => "an argument is out of range; details.path names it",
        "empty" => "an argument must not be empty; details.path names it",
        _ => "an argument has the wrong type; details.path names it",
    };
    ToolError::new(ErrorCode::InvalidParams, message).with("path", format!("{prefix}{name}")).with("reason", reason)
}

/// The error for a member that no tool has. It lists the names that there are.
fn unknown(prefix: &str, name: &str, known: &[&str]) -> ToolError {
    let shown = if looks_like_a_name(name) { name } else { HIDDEN_NAME };
    let place = prefix.strip_suffix('.').map(|object| format!(" in `{object}`")).unwrap_or_default();
    let there_are = match known {
        [] => "there are none".to_owned(),
        known => format!("there are {}", known.join(", ")),
    };
    let message = match shown {
        HIDDEN_NAME => format!("an argument has an unknown name{place}; {there_are}"),
        name => format!("there is no argument `{name}`{place}; {there_are}"),
    };
    ToolError::new(ErrorCode::InvalidParams, message).with("path", format!("{prefix}{shown}")).with("reason", "unknown")
}

/// Whether a name is made of a few words of ordinary length, as names of arguments are: not a path, a token or a sentence.
fn looks_like_a_name(name: &str) -> bool {
    let is_plain = name.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
    let capitals = name.chars().filter(char::is_ascii_uppercase).count();
    let is_word_end = |c: char| c == '_' || c.is_ascii_uppercase();
    (1..=MAX_NAME_CHARS).contains(&name.len())
        && is_plain
        && capitals * 4 <= name.len()
        && name.split(is_word_end).all(|word| word.len() < MAX_WORD_CHARS)
}

/// The members of an object in their order, with duplicates. The values stay raw.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_repeated_only_if_they_look_like_names() {
        for name in ["detail", "detial_level", "filePath", "x", "ranking_explain_levels", "_meta", "maxResults"] {
            assert!(looks_like_a_name(name), "{name}");
        }
        for name in [
            "",
            "/home/me/secret.txt",
            "C:\\me",
            "file name",
            "Bearer abc",
            "sk-live-abcdef",
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "AKIAIOSFODNN7EXAMPLE",
            "AKIAIOSFODNNEXAMPLE",
            "abcdefghijklmnop",
            "dQwXzPkLmNbVcRtY",
            "a_name_that_is_much_too_long_for_an_argument",
            "straße",
            "x\u{1b}[2J",
            "line2",
        ] {
            assert!(!looks_like_a_name(name), "{name}");
        }
    }

    #[test]
    fn an_error_lists_the_names_there_are() {
        let read = |text: &str| {
            let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
            let given = Arguments::read(Some(&raw), &["query", "position"])?;
            given.object("position", "position.", &["line"]).map(drop)
        };
        for (text, path, message) in [
            (r#"{"colour": 1}"#, "colour", "there is no argument `colour`; there are query, position"),
            (r#"{"/etc/passwd": 1}"#, HIDDEN_NAME, "an argument has an unknown name; there are query, position"),
            (r#"{"position": {"row": 1}}"#, "position.row", "there is no argument `row` in `position`; there are line"),
            (
                r#"{"position": {"ghp_16C7e42F292c": 1}}"#,
                "position.(unknown)",
                "an argument has an unknown name in `position`; there are line",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert_eq!((error.details["path"].as_str(), error.message.as_ref()), (Some(path), message), "{text}");
            assert_eq!(error.details["reason"], "unknown");
        }
    }
}
