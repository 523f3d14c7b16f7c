//! The names by which policies see labels and annotations.

/// A label or an annotation of a pod or of its namespace, by its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PodMetadataName<'a> {
    /// `pod.label.KEY`.
    PodLabel(&'a str),
    /// `pod.annotation.KEY`.
    PodAnnotation(&'a str),
    /// `pod.namespace.label.KEY`.
    NamespaceLabel(&'a str),
    /// `pod.namespace.annotation.KEY`.
    NamespaceAnnotation(&'a str),
}

impl<'a> PodMetadataName<'a> {
    /// Reads a name; `None` if it is none of these.
    pub(crate) fn read(name: &'a str) -> Option<Self> {
        let key = |beginning| name.strip_prefix(beginning).filter(|key| is_key(key));
        let of_pod =
            key("pod.label.").map(Self::PodLabel).or(key("pod.annotation.").map(Self::PodAnnotation));
        let of_namespace = || {
            let label = key("pod.namespace.label.").map(Self::NamespaceLabel);
            label.or(key("pod.namespace.annotation.").map(Self::NamespaceAnnotation))
        };
        of_pod.or_else(of_namespace)
    }

    /// Whether it is one of the namespace.
    #[cfg(feature = "cluster")]
    pub(crate) fn is_of_namespace(self) -> bool {
        matches!(self, Self::NamespaceLabel(_) | Self::NamespaceAnnotation(_))
    }
}

/// Whether a text has the characters and the length of a key in Kubernetes.
fn is_key(key: &str) -> bool {
    let is_letter = |letter: u8| letter.is_ascii_alphanumeric() || b"-_./".contains(&letter);
    !key.is_empty() && key.len() <= 317 && key.bytes().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_read_and_nothing_else() {
        let key = "example.com/tier";
        for (name, read) in [
            ("pod.label.example.com/tier", PodMetadataName::PodLabel(key)),
            ("pod.annotation.example.com/tier", PodMetadataName::PodAnnotation(key)),
            ("pod.namespace.label.example.com/tier", PodMetadataName::NamespaceLabel(key)),
            ("pod.namespace.annotation.example.com/tier", PodMetadataName::NamespaceAnnotation(key)),
        ] {
            assert_eq!(PodMetadataName::read(name), Some(read));
        }
        for name in ["pod.label.", "pod.name", "label.app", "pod.label.*", "pod.namespace.app", ""] {
            assert_eq!(PodMetadataName::read(name), None, "{name}");
        }
    }
}
