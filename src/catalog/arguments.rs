//! Strict decoding of a tool's arguments. Each catalog lists the arguments of its tools; this module doesn't.
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

/// The longest name in `details.path`, in code points.
const MAX_PATH_CHARS: usize = 64;

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
                return Err(rejected(prefix, key, "unknown"));
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
