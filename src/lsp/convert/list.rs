//! Reads a list entry by entry: a bad entry stops the reading, and no entry is held twice in memory.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::error::ConvertError;

/// The result for one entry: kept, dropped, or wrong.
pub(super) type ItemResult<O> = Result<Option<O>, &'static str>;

/// Reads `null` (an empty list), one object, or an array of objects. Decodes each as `E` and keeps the results of
/// `take`. A single object is refused unless `single`.
pub(super) fn read<'a, E, O>(
    what: &'static str,
    raw: &'a RawValue,
    single: bool,
    take: impl FnMut(E) -> ItemResult<O>,
) -> Result<Vec<O>, ConvertError>
where
    E: Deserialize<'a>,
{
    let mut deserializer = serde_json::Deserializer::from_str(raw.get());
    let visitor = List { take, single, entry: PhantomData };
    let list = deserializer.deserialize_any(visitor).map_err(|error| ConvertError::malformed(what, &error))?;
    deserializer.end().map_err(|error| ConvertError::malformed(what, &error))?;
    Ok(list)
}

struct List<F, E> {
    take: F,
    single: bool,
    entry: PhantomData<E>,
}

impl<'de, E, O, F> Visitor<'de> for List<F, E>
where
    E: Deserialize<'de>,
    F: FnMut(E) -> ItemResult<O>,
{
    type Value = Vec<O>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("null, an object or an array of objects")
    }

    fn visit_unit<X: Error>(self) -> Result<Vec<O>, X> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<Vec<O>, A::Error> {
        let mut list = Vec::new();
        while let Some(entry) = seq.next_element::<E>()? {
            list.extend((self.take)(entry).map_err(A::Error::custom)?);
        }
        Ok(list)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, map: A) -> Result<Vec<O>, A::Error> {
        if !self.single {
            return Err(A::Error::custom("expected a list"));
        }
        let entry = E::deserialize(MapAccessDeserializer::new(map))?;
        Ok((self.take)(entry).map_err(A::Error::custom)?.into_iter().collect())
    }
}

/// Reads one value of type `E`.
pub(super) fn read_one<'a, E: Deserialize<'a>>(what: &'static str, raw: &'a RawValue) -> Result<E, ConvertError> {
    serde_json::from_str(raw.get()).map_err(|error| ConvertError::malformed(what, &error))
}
