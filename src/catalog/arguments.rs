//! Strict reading of a tool's arguments. Not here: which arguments a tool has.
//!
//! Invariants: every refusal is INVALID_PARAMS with `details.path` (the argument, dotted) and `details.reason`: `missing`,
//! `unknown`, `duplicate`, `type`, `range` or `empty`; unknown members are refused before anything is read. Numbers agree
//! with JSON Schema: `1.0` and `1e2` are integers, because a schema says so too, `1.5` is not.

use std::fmt;
use std::ops::RangeInclusive;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use codeyard_model::error::{ErrorCode, ToolError};

/// The longest name echoed in `details.path`, in code points.
const MAX_PATH_CHARS: usize = 64;

/// The members of one object, all of them known.
pub(super) struct Arguments<'a> {
    /// What stands before a member's name in paths: empty, or `position.`.
    prefix: &'static str,
    members: Vec<(String, &'a RawValue)>,
}

impl<'a> Arguments<'a> {
    /// The members of `raw`, which may only have the names in `known`. No object at all is an empty one.
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
        let Members(members) = serde_json::from_str(raw.get()).map_err(|_| refused("", name, "type"))?;
        for (index, (key, _)) in members.iter().enumerate() {
            if !known.contains(&key.as_str()) {
                return Err(refused(prefix, key, "unknown"));
            }
            if members[..index].iter().any(|(earlier, _)| earlier == key) {
                return Err(refused(prefix, key, "duplicate"));
            }
        }
        Ok(Self { prefix, members })
    }

    /// The text in the required member `name`.
    pub(super) fn text(&self, name: &str) -> Result<String, ToolError> {
        self.parsed(name, self.required(name)?)
    }

    /// The text in the member `name`; none if it is absent or null.
    pub(super) fn optional_text(&self, name: &str) -> Result<Option<String>, ToolError> {
        self.find(name).map_or(Ok(None), |raw| self.parsed(name, raw))
    }

    /// The text in the member `name`, if it is there; null is no text.
    pub(super) fn text_if_given(&self, name: &str) -> Result<Option<String>, ToolError> {
        self.find(name).map(|raw| self.parsed(name, raw)).transpose()
    }

    /// The texts in the member `name`, if it is there.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, ToolError> {
        self.find(name).map_or(Ok(Vec::new()), |raw| self.parsed(name, raw))
    }

    /// The object in the member `name`, if it is there; `prefix` is the name with its dot.
    pub(super) fn object_if_given(
        &self,
        name: &str,
        prefix: &'static str,
        known: &[&str],
    ) -> Result<Option<Arguments<'a>>, ToolError> {
        self.find(name).map(|raw| Self::of(raw, name, prefix, known)).transpose()
    }

    /// The integer in the member `name`, which lies in `range`; none if it is absent.
    pub(super) fn integer(&self, name: &str, range: RangeInclusive<usize>) -> Result<Option<usize>, ToolError> {
        let Some(raw) = self.find(name) else { return Ok(None) };
        let number = usize::try_from(self.whole(name, raw)?).unwrap_or(usize::MAX);
        if range.contains(&number) { Ok(Some(number)) } else { Err(self.refused(name, "range")) }
    }

    /// The truth value in the member `name`, or `default`.
    pub(super) fn flag(&self, name: &str, default: bool) -> Result<bool, ToolError> {
        self.find(name).map_or(Ok(default), |raw| self.parsed(name, raw))
    }

    /// The integer from 0 to 2³²-1 in the required member `name`.
    pub(super) fn u32(&self, name: &str) -> Result<u32, ToolError> {
        let number = self.whole(name, self.required(name)?)?;
        u32::try_from(number).map_err(|_| self.refused(name, "range"))
    }

    /// The integer in the member `name`, at least 1 and clamped to `max`; none if it is absent.
    pub(super) fn size(&self, name: &str, max: usize) -> Result<Option<usize>, ToolError> {
        let Some(raw) = self.find(name) else { return Ok(None) };
        match self.whole(name, raw)? {
            0 => Err(self.refused(name, "range")),
            number => Ok(Some(usize::try_from(number).unwrap_or(usize::MAX).min(max))),
        }
    }

    /// The refusal of the member `name`.
    pub(super) fn refused(&self, name: &str, reason: &'static str) -> ToolError {
        refused(self.prefix, name, reason)
    }

    fn find(&self, name: &str) -> Option<&'a RawValue> {
        self.members.iter().find(|(key, _)| key == name).map(|(_, raw)| *raw)
    }

    fn required(&self, name: &str) -> Result<&'a RawValue, ToolError> {
        self.find(name).ok_or_else(|| self.refused(name, "missing"))
    }

    fn parsed<T: Deserialize<'a>>(&self, name: &str, raw: &'a RawValue) -> Result<T, ToolError> {
        serde_json::from_str(raw.get()).map_err(|_| self.refused(name, "type"))
    }

    /// A whole number that isn't negative; beyond 2⁶⁴ it is 2⁶⁴-1, which every caller's limit is below.
    fn whole(&self, name: &str, raw: &RawValue) -> Result<u64, ToolError> {
        let text = raw.get();
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(text.parse().unwrap_or(u64::MAX));
        }
        // Anything but a number fails to parse here: a JSON string keeps its quotes, and null is no float.
        let number: f64 = self.parsed(name, raw)?;
        match number {
            number if number.fract() != 0.0 => Err(self.refused(name, "type")),
            number if number < 0.0 => Err(self.refused(name, "range")),
            // The cast saturates.
            number => Ok(number as u64),
        }
    }
}

fn refused(prefix: &str, name: &str, reason: &'static str) -> ToolError {
    let path: String = prefix.chars().chain(name.chars()).take(MAX_PATH_CHARS).collect();
    let message = match reason {
        "missing" => "a required argument is missing; details.path names it",
        "unknown" => "the tool has no such argument; details.path names it",
        "duplicate" => "an argument is given twice; details.path names it",
        "range" => "an argument is out of range; details.path names it",
        "empty" => "an argument must not be empty; details.path names it",
        _ => "an argument has the wrong type; details.path names it",
    };
    ToolError::new(ErrorCode::InvalidParams, message).with("path", path).with("reason", reason)
}

/// An object's members in their order, duplicates included, values unread.
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
