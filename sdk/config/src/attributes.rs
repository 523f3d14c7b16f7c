//! Name-value pairs.

/// The starts of the names that only the host sets.
pub const RESERVED: [&str; 9] =
    ["owner.", "pod.", "policy.", "supply.", "time.", "node.", "network.", "runtime-config.", "tenure."];

/// Whether only the host sets a name.
///
/// ```
/// use tenure_sdk_config::is_reserved;
///
/// assert!(is_reserved("pod.namespace") && !is_reserved("podium") && !is_reserved("example.com/pod.namespace"));
/// ```
#[must_use]
pub fn is_reserved(name: &str) -> bool {
    RESERVED.iter().any(|start| name.starts_with(start))
}

/// Name-value pairs, in the order in which they were added.
///
/// ```
/// use tenure_sdk_config::Attributes;
///
/// let mut attributes = Attributes::new().with("rack", "7");
/// attributes.set("rack", "8");
/// assert_eq!(attributes.get("rack"), Some("8"));
/// assert_eq!(attributes.iter().count(), 1);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attributes(Vec<(String, String)>);

impl Attributes {
    /// No attributes.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The value of a name; if the name is repeated, the first one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// Sets the value of a name, replacing an old one.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        let (name, value) = (name.into(), value.into());
        match self.0.iter_mut().find(|(key, _)| *key == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }

    /// Adds an attribute.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.set(name, value);
        self
    }

    /// All name-value pairs.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Attributes {
    /// Keeps all pairs, even those with repeated names.
    fn from_iter<I: IntoIterator<Item = (N, V)>>(attributes: I) -> Self {
        Self(attributes.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

impl IntoIterator for Attributes {
    type Item = (String, String);
    type IntoIter = std::vec::IntoIter<(String, String)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
