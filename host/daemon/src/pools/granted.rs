//! The labels and annotations that policies were granted, by the names under which they see them.

use std::sync::Arc;

use tenure_cluster::pods::ObjectLabels;

use crate::config::PodMetadataName;

/// Whether any of these is one of the pod's namespace.
pub(super) fn names_namespace(granted: &[String]) -> bool {
    granted.iter().filter_map(|name| PodMetadataName::read(name)).any(PodMetadataName::is_of_namespace)
}

/// The values of what was granted, as far as the pod and its namespace have them.
pub(super) fn metadata_of(
    granted: &[String],
    pod: &ObjectLabels,
    namespace: &ObjectLabels,
) -> Arc<[(Box<str>, Box<str>)]> {
    let value = |name: &String| {
        let value = match PodMetadataName::read(name)? {
            PodMetadataName::PodLabel(key) => pod.labels.get(key),
            PodMetadataName::PodAnnotation(key) => pod.annotations.get(key),
            PodMetadataName::NamespaceLabel(key) => namespace.labels.get(key),
            PodMetadataName::NamespaceAnnotation(key) => namespace.annotations.get(key),
        };
        Some((name.as_str().into(), value?.as_str().into()))
    };
    granted.iter().filter_map(value).collect()
}
