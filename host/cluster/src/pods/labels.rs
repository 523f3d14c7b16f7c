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

/// The most bytes of an object's labels that are kept, names and values, and as many of its annotations. The API server has no bound for labels but that
/// of the whole object, and who makes pods must not fill the daemon's memory.
const MOST: usize = 32 * 1024;

/// The labels, and the annotations of at most 512 bytes; those that decide about a pod's addresses may be longer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectLabels {
    /// The labels.
    pub labels: BTreeMap<String, String>,
    /// The annotations.
    pub annotations: BTreeMap<String, String>,
    /// The decisive annotations that are too long to be kept.
    pub(crate) oversized: Vec<&'static str>,
    /// The object has more labels than are kept: none is.
    pub(crate) has_too_many: bool,
}

impl ObjectLabels {
    /// Takes them out of an object's metadata.
    pub(crate) fn take(metadata: &mut ObjectMeta) -> Self {
        let mut annotations = metadata.annotations.take().unwrap_or_default();
        let (mut oversized, mut left) = (Vec::new(), MOST);
        annotations.retain(|name, value| {
            let decisive = DECISIVE.into_iter().find(|known| known == name);
            if decisive.is_some() {
                let is_kept = value.len() <= LONGEST_DECISIVE;
                oversized.extend(decisive.filter(|_| !is_kept));
                return is_kept;
            }
            let room = left.checked_sub(name.len() + value.len());
            let is_kept = value.len() <= LONGEST_ANNOTATION && room.is_some();
            left = room.filter(|_| is_kept).unwrap_or(left);
            is_kept
        });
        let mut labels = metadata.labels.take().unwrap_or_default();
        let has_too_many = labels.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() > MOST;
        if has_too_many {
            labels = BTreeMap::new();
        }
        Self { labels, annotations, oversized, has_too_many }
    }

    /// The reason, for people, for which the labels are not known, if so: there are too many.
    #[must_use]
    pub fn unread(&self) -> Option<String> {
        self.has_too_many.then(|| format!("the labels are longer than {} KiB", MOST / 1024))
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
    fn nobody_fills_the_memory_with_labels_and_annotations() {
        let many = |count: u32, value: usize| -> Option<BTreeMap<String, String>> {
            Some((0..count).map(|number| (format!("a{number:07}"), "x".repeat(value))).collect())
        };
        let take = |labels, annotations| {
            let mut metadata = ObjectMeta { labels, annotations, ..ObjectMeta::default() };
            ObjectLabels::take(&mut metadata)
        };
        let most = take(many(4096, 0), many(64, 504));
        assert_eq!((most.labels.len(), most.annotations.len(), most.unread()), (4096, 64, None));
        let mut more = many(100, 504);
        // An annotation that decides about the pod's addresses is kept, however many others there are.
        more.as_mut().unwrap().insert(POOLS_ANNOTATION.to_owned(), "gold".to_owned());
        let more = take(many(70_000, 0), more);
        assert_eq!((more.labels.len(), more.annotations.len()), (0, 65));
        assert_eq!(more.annotations[POOLS_ANNOTATION], "gold");
        assert_eq!(more.unread().as_deref(), Some("the labels are longer than 32 KiB"));
    }

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
