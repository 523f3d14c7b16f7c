//! The labels and annotations of a pod or a namespace.

use std::collections::BTreeMap;

use kube::core::ObjectMeta;

/// The longest annotation that is kept, in bytes. Tools write whole objects into annotations.
const LONGEST_ANNOTATION: usize = 512;

/// The annotation by which a pod names its further networks, and the claims of their interfaces.
pub(crate) const NETWORKS_ANNOTATION: &str = "k8s.v1.cni.cncf.io/networks";

/// The longest such annotation that is kept, in bytes.
const LONGEST_NETWORKS: usize = 8192;

/// The labels, and the annotations of at most 512 bytes; that of the networks may be longer.
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
        annotations.retain(|name, value| {
            let longest = if name == NETWORKS_ANNOTATION { LONGEST_NETWORKS } else { LONGEST_ANNOTATION };
            value.len() <= longest
        });
        Self { labels: metadata.labels.take().unwrap_or_default(), annotations }
    }
}
