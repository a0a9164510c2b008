//! Field types that all answers share: strict objects, ordered ranges, borrowed text, interned URIs.
//!
//! Serde's derived structs also accept arrays. A server that answers with one is wrong, so [`ObjectOnly`] refuses
//! them.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use codeyard_model::position::{Position, Range};

/// A struct that is read only from a JSON object.
#[derive(Debug)]
pub(super) struct ObjectOnly<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ObjectOnly<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = T;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_map(ObjectVisitor(PhantomData)).map(ObjectOnly)
    }
}

/// A range as LSP encodes it. Its end may come before its start.
#[derive(Debug, serde::Deserialize)]
struct RangeFields {
    start: ObjectOnly<Position>,
    end: ObjectOnly<Position>,
}

/// A range whose start is not after its end. The two are swapped where a server confused them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OrderedRange(pub Range);

impl<'de> Deserialize<'de> for OrderedRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ObjectOnly(RangeFields { start: ObjectOnly(start), end: ObjectOnly(end) }) =
            ObjectOnly::deserialize(deserializer)?;
        Ok(Self(Range { start: start.min(end), end: start.max(end) }))
    }
}

/// Text that is borrowed from the answer unless it has escapes.
#[derive(Debug, serde::Deserialize)]
#[serde(transparent)]
pub(super) struct TextField<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl TextField<'_> {
    /// The text, unless it is empty.
    pub(super) fn into_non_empty(self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.into_owned())
    }
}

/// The URIs of one answer, each stored once.
#[derive(Debug, Default)]
pub(super) struct UriInterner {
    known: HashSet<Arc<str>>,
    last: Option<Arc<str>>,
}

impl UriInterner {
    /// The shared text of `uri`.
    pub(super) fn intern(&mut self, uri: &str) -> Arc<str> {
        if let Some(last) = self.last.as_ref().filter(|last| ***last == *uri) {
            return last.clone();
        }
        let shared = match self.known.get(uri) {
            Some(known) => known.clone(),
            None => {
                let new: Arc<str> = uri.into();
                self.known.insert(new.clone());
                new
            }
        };
        self.last = Some(shared.clone());
        shared
    }
}
