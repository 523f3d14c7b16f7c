//! JSON as the reference implementation reads it: keys are case-insensitive, the last duplicate wins, and null counts
//! as absent.
//!
//! Each value knows its path, so that an error names the key to fix.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::{Error, ErrorCode};

/// The value of a key of an `ipam` object, as the reference implementation reads it; `None` if it has none, or the text is not an object.
#[must_use]
pub fn ipam_value(ipam: &str, key: &str) -> Option<serde_json::Value> {
    let object = JsonObject::document(ipam.as_bytes()).ok()?;
    serde_json::from_str(object.get(key)?.raw()).ok()
}

/// A value and its path.
#[derive(Debug, Clone)]
pub(super) struct JsonNode<'a> {
    path: String,
    raw: &'a RawValue,
}

/// An object and its path. Its values are parsed on demand.
#[derive(Debug, Clone)]
pub(super) struct JsonObject<'a> {
    path: String,
    entries: Entries<'a>,
}

#[derive(Debug, Clone, Default)]
struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'a> JsonNode<'a> {
    /// The value's text, as it was written.
    pub(super) fn raw(&self) -> &'a str {
        self.raw.get()
    }

    /// An error about this value.
    pub(super) fn invalid(&self, why: impl fmt::Display) -> Error {
        Error::new(ErrorCode::InvalidConfig, format_args!("{}: {why}", self.path))
    }

    pub(super) fn is_null(&self) -> bool {
        self.raw() == "null"
    }

    pub(super) fn object(&self) -> Result<JsonObject<'a>, Error> {
        Ok(JsonObject { path: self.path.clone(), entries: self.read("an object")? })
    }

    /// The items of a list; empty for null, which is how Go encodes an empty list.
    pub(super) fn list(&self) -> Result<Vec<Self>, Error> {
        if self.is_null() {
            return Ok(Vec::new());
        }
        let items: Vec<&'a RawValue> = self.read("a list")?;
        let at = |(index, raw)| Self { path: format!("{}[{index}]", self.path), raw };
        Ok(items.into_iter().enumerate().map(at).collect())
    }

    pub(super) fn text(&self) -> Result<String, Error> {
        self.read("a string")
    }

    /// Reads the value as a `T`; `expected` describes it in the error.
    pub(super) fn read<T: Deserialize<'a>>(&self, expected: &str) -> Result<T, Error> {
        serde_json::from_str(self.raw()).map_err(|_| {
            let shown: String = self.raw().chars().take(64).collect();
            self.invalid(format_args!("expected {expected}, not {shown}"))
        })
    }
}

impl<'a> JsonObject<'a> {
    /// Reads a whole document; `null` is an empty object.
    pub(super) fn document(text: &'a [u8]) -> Result<Self, serde_json::Error> {
        let entries: Option<Entries<'a>> = serde_json::from_slice(text)?;
        Ok(Self { path: String::new(), entries: entries.unwrap_or_default() })
    }

    /// The value of a key, unless it is null.
    pub(super) fn get(&self, key: &str) -> Option<JsonNode<'a>> {
        self.get_or_null(key).filter(|node| !node.is_null())
    }

    /// The value of a key, null included.
    pub(super) fn get_or_null(&self, key: &str) -> Option<JsonNode<'a>> {
        let (_, raw) = self.entries.0.iter().rev().find(|(name, _)| name.eq_ignore_ascii_case(key))?;
        Some(JsonNode { path: self.path_of(key), raw })
    }

    /// The object under a key, if there is one.
    pub(super) fn object(&self, key: &str) -> Result<Option<Self>, Error> {
        self.get(key).map(|node| node.object()).transpose()
    }

    /// The items of the list under a key; empty if there is no list.
    pub(super) fn list(&self, key: &str) -> Result<Vec<JsonNode<'a>>, Error> {
        self.get(key).map_or_else(|| Ok(Vec::new()), |node| node.list())
    }

    /// The string under a key; an empty one counts as absent, as in Go.
    pub(super) fn text(&self, key: &str) -> Result<Option<String>, Error> {
        let text = self.get(key).map(|node| node.text()).transpose()?;
        Ok(text.filter(|text| !text.is_empty()))
    }

    /// An error about a missing key.
    pub(super) fn missing(&self, key: &str) -> Error {
        Error::new(ErrorCode::InvalidConfig, format_args!("{}: missing", self.path_of(key)))
    }

    fn path_of(&self, key: &str) -> String {
        match self.path.as_str() {
            "" => key.to_owned(),
            path => format!("{path}.{key}"),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(entries)
            }
        }
        deserializer.deserialize_map(Collect).map(Entries)
    }
}
