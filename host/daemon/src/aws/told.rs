//! The API server's word about the node, put together with the configuration.
//!
//! What the configuration says wins, key by key and label by label: it is the word about this one node, it holds without an API server, and a
//! reload changes it where the API server cannot be reached. What it leaves open, the API server says.

use std::collections::BTreeMap;

use tenure_aws::situation::{CustomNetwork, NodeFacts};

use crate::config::AwsTable;

/// The API server's word about the node: nothing where it is not asked, or has not answered yet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ToldNode {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) schedulable: Option<bool>,
    pub(crate) terminating: bool,
    pub(crate) most_pods: Option<u32>,
    /// The name of the ENIConfig that was looked for last.
    pub(crate) eni_config: Option<String>,
    /// The content of that ENIConfig; `None` if there is none.
    pub(crate) custom: Option<CustomNetwork>,
}

/// A node of this type, with what the configuration says of it, and the API server where the configuration says nothing.
pub(crate) fn configured(instance_type: &str, told: &ToldNode, aws: &AwsTable) -> NodeFacts {
    let own = aws.subnet.as_ref();
    let own = own.map(|subnet| CustomNetwork { subnet: subnet.clone(), groups: aws.groups.clone() });
    let mut labels = told.labels.clone();
    labels.extend(aws.labels.clone());
    NodeFacts {
        custom: own.or_else(|| told.custom.clone()),
        schedulable: aws.schedulable.or(told.schedulable),
        terminating: aws.terminating.unwrap_or(told.terminating),
        most_pods: aws.max_pods.or(told.most_pods),
        instance_type: Some(instance_type.to_owned()),
        labels,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn told() -> ToldNode {
        let labels =
            [("pool", "batch"), ("empty", "")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let groups = vec!["sg-1".to_owned(), "sg-2".to_owned()];
        ToldNode {
            labels: labels.into(),
            schedulable: Some(false),
            terminating: true,
            most_pods: Some(29),
            eni_config: Some("eu-1a".to_owned()),
            custom: Some(CustomNetwork { subnet: "subnet-1".to_owned(), groups }),
        }
    }

    #[test]
    fn what_the_configuration_says_wins_key_by_key() {
        let nothing = AwsTable::default();
        let facts = configured("m5.large", &told(), &nothing);
        assert_eq!(facts.custom, told().custom);
        assert_eq!((facts.schedulable, facts.terminating, facts.most_pods), (Some(false), true, Some(29)));
        assert_eq!((facts.labels, facts.instance_type.as_deref()), (told().labels, Some("m5.large")));

        let labels =
            [("pool", "web"), ("rack", "7")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let everything = AwsTable {
            subnet: Some("subnet-9".to_owned()),
            labels: labels.into(),
            schedulable: Some(true),
            terminating: Some(false),
            max_pods: Some(8),
            ..AwsTable::default()
        };
        let facts = configured("m5.large", &told(), &everything);
        // With its own groups, of which there are none.
        assert_eq!(facts.custom, Some(CustomNetwork { subnet: "subnet-9".to_owned(), groups: Vec::new() }));
        assert_eq!((facts.schedulable, facts.terminating, facts.most_pods), (Some(true), false, Some(8)));
        let labels: Vec<_> = facts.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(labels, ["empty=", "pool=web", "rack=7"]);
    }

    #[test]
    fn without_a_word_nothing_is_known() {
        let facts = configured("m5.large", &ToldNode::default(), &AwsTable::default());
        assert_eq!(facts, NodeFacts { instance_type: Some("m5.large".to_owned()), ..NodeFacts::default() });
    }
}
