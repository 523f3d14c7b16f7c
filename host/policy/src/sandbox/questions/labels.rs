//! The labels by which a question chooses ranges.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use tenure_types::MOST_ATTRIBUTES;

use crate::sandbox::bindings::tenure::ipam::types::Attribute;

/// The labels of a question.
///
/// Records of versions that knew only one label have it, or nothing, in place of the list.
#[derive(Debug)]
pub(in crate::sandbox) struct Labels(pub(in crate::sandbox) Vec<Attribute>);

impl Labels {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The different labels, in their order; `None` if no range can have all of them: they are more than the attributes of a range, or two
    /// values of one name. A policy may pass many thousands, and each costs time for each range.
    pub(super) fn pairs(&self) -> Option<Vec<(&str, &str)>> {
        let (mut different, mut values) = (Vec::new(), BTreeMap::new());
        for Attribute { name, value } in &self.0 {
            match values.insert(name.as_str(), value.as_str()) {
                None if different.len() == MOST_ATTRIBUTES => return None,
                None => different.push((name.as_str(), value.as_str())),
                Some(other) if other != value => return None,
                Some(_) => {}
            }
        }
        Some(different)
    }
}

impl Serialize for Labels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [] => serializer.serialize_none(),
            [label] => label.serialize(serializer),
            several => several.serialize(serializer),
        }
    }
}
