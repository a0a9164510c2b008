//! The pieces all answers share: objects that really are objects, ranges, numbers, shared URIs.
//!
//! Serde's derived structs also take arrays; a server that answers with one is wrong, so [`Object`] refuses them.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use codeyard_model::position::{Position, Range};

/// A struct that is read from a JSON object only.
#[derive(Debug)]
pub(super) struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
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
        deserializer.deserialize_map(ObjectVisitor(PhantomData)).map(Object)
    }
}

/// A range as LSP spells it; its end may come before its start.
#[derive(Debug, serde::Deserialize)]
struct RangeFields {
    start: Object<Position>,
    end: Object<Position>,
}

/// A range whose start is not after its end: the two are swapped where a server mixed them up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ordered(pub Range);

impl<'de> Deserialize<'de> for Ordered {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Object(RangeFields { start: Object(start), end: Object(end) }) = Object::deserialize(deserializer)?;
        Ok(Self(Range { start: start.min(end), end: start.max(end) }))
    }
}

/// Text that is borrowed from the answer unless it has escapes.
#[derive(Debug, serde::Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl Text<'_> {
    /// The text, unless it is empty.
    pub(super) fn into_non_empty(self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.into_owned())
    }
}

/// URIs seen in one answer, each stored once.
#[derive(Debug, Default)]
pub(super) struct Uris {
    known: HashSet<Arc<str>>,
    last: Option<Arc<str>>,
}

impl Uris {
    /// The shared text of `uri`.
    pub(super) fn share(&mut self, uri: &str) -> Arc<str> {
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
