//! The labels of a Node: thousands of Nodes have a dozen each, and few of them are ever asked for.

use std::collections::BTreeMap;

/// Labels in one string, `key=value,key=value`. The API server admits neither character in a key or a value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeLabels(Box<str>);

impl NodeLabels {
    /// The value of a label.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.pairs().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// The labels as selectors take them.
    #[must_use]
    pub fn to_map(&self) -> BTreeMap<String, String> {
        self.pairs().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.split(',').filter_map(|pair| pair.split_once('='))
    }
}

impl From<&BTreeMap<String, String>> for NodeLabels {
    fn from(labels: &BTreeMap<String, String>) -> Self {
        let pairs: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        Self(pairs.join(",").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_the_same_as_before() {
        let pairs = [("a", "1"), ("example.com/zone", ""), ("z", "b.c_d-e")];
        let labels: BTreeMap<String, String> =
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let packed = NodeLabels::from(&labels);
        assert_eq!(packed.to_map(), labels);
        assert_eq!((packed.get("example.com/zone"), packed.get("zone")), (Some(""), None));
        assert_eq!(NodeLabels::from(&BTreeMap::new()).to_map(), BTreeMap::new());
    }
}
