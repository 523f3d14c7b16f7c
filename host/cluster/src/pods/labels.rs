//! The labels and annotations of a pod or a namespace.

use std::collections::BTreeMap;

use kube::core::ObjectMeta;

/// The longest annotation that is kept, in bytes. Tools write whole objects into annotations.
const LONGEST_ANNOTATION: usize = 512;

/// The annotation of a pod or a namespace that names AddressPools, separated by commas, the preferred one first.
pub const POOLS_ANNOTATION: &str = "ipam.tenure.dev/pools";

/// The annotation of a pod that names its AddressClaims, at most one of a family, separated by commas. `{ordinal}` stands for the number at the end of
/// the pod's name, such as that of a StatefulSet's pod.
pub const CLAIM_ANNOTATION: &str = "ipam.tenure.dev/claim";

/// The annotation of a pod or a namespace by which `true` refuses the pod where no pool is named for it and none selects it.
pub const MATCH_ANNOTATION: &str = "ipam.tenure.dev/require-pool-match";

/// The annotation by which a pod names its further networks, and the claims of their interfaces.
pub(crate) const NETWORKS_ANNOTATION: &str = "k8s.v1.cni.cncf.io/networks";

/// The annotations that decide about a pod's addresses.
const DECISIVE: [&str; 4] = [CLAIM_ANNOTATION, POOLS_ANNOTATION, MATCH_ANNOTATION, NETWORKS_ANNOTATION];

/// The longest of these that is kept, in bytes.
const LONGEST_DECISIVE: usize = 8192;

/// The labels, and the annotations of at most 512 bytes; those that decide about a pod's addresses may be longer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectLabels {
    /// The labels.
    pub labels: BTreeMap<String, String>,
    /// The annotations.
    pub annotations: BTreeMap<String, String>,
    /// The decisive annotations that are too long to be kept.
    pub(crate) oversized: Vec<&'static str>,
}

impl ObjectLabels {
    /// Takes them out of an object's metadata.
    pub(crate) fn take(metadata: &mut ObjectMeta) -> Self {
        let mut annotations = metadata.annotations.take().unwrap_or_default();
        let mut oversized = Vec::new();
        annotations.retain(|name, value| {
            let decisive = DECISIVE.into_iter().find(|known| known == name);
            let longest = if decisive.is_some() { LONGEST_DECISIVE } else { LONGEST_ANNOTATION };
            let is_kept = value.len() <= longest;
            oversized.extend(decisive.filter(|_| !is_kept));
            is_kept
        });
        Self { labels: metadata.labels.take().unwrap_or_default(), annotations, oversized }
    }

    /// The reason, for people, for which one of these annotations is not known, if so: it is too long.
    pub(crate) fn too_long(&self, names: &[&str]) -> Option<String> {
        let name = self.oversized.iter().find(|name| names.contains(name))?;
        Some(format!("annotation {name} is longer than {LONGEST_DECISIVE} bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisive_annotations_may_be_long_and_are_missed_if_they_are_too_long() {
        let take = |name: &str, length: usize| {
            let annotations = Some([(name.to_owned(), "x".repeat(length))].into());
            let mut metadata = ObjectMeta { annotations, ..ObjectMeta::default() };
            let taken = ObjectLabels::take(&mut metadata);
            (taken.annotations.len(), taken.too_long(&[name]))
        };
        assert_eq!(take("other", 512), (1, None));
        assert_eq!(take("other", 513), (0, None));
        for name in DECISIVE {
            let words = format!("annotation {name} is longer than 8192 bytes");
            assert_eq!((take(name, 8192), take(name, 8193)), ((1, None), (0, Some(words))));
        }
    }
}
