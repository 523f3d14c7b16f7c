//! The labels and annotations of a pod or a namespace.

use std::collections::BTreeMap;

use kube::core::ObjectMeta;

/// The longest annotation that is kept, in bytes. Tools write whole objects into annotations.
const LONGEST_ANNOTATION: usize = 512;

/// The labels, and the annotations of at most 512 bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectLabels {
    /// The labels.
    pub labels: BTreeMap<String, String>,
    /// The annotations.
    pub annotations: BTreeMap<String, String>,
}

impl ObjectLabels {
    /// Takes them out of an object's metadata.
    pub(crate) fn take(metadata: &mut ObjectMeta) -> Self {
        let mut annotations = metadata.annotations.take().unwrap_or_default();
        annotations.retain(|_, value| value.len() <= LONGEST_ANNOTATION);
        Self { labels: metadata.labels.take().unwrap_or_default(), annotations }
    }
}
