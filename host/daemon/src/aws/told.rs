//! The API server's word about the node: kept in the checkpoint for a start at which nobody answers, and put together with the configuration.
//!
//! What the configuration says wins, key by key and label by label: it is the word about this one node, it holds without an API server, and a
//! reload changes it where the API server cannot be reached. What it leaves open, the API server says.

use std::collections::BTreeMap;

use tenure_aws::situation::{CustomNetwork, NodeFacts};
use tenure_engine::Engine;
use tenure_types::{Attributes, InvalidAttributes, Object, agreed};

use crate::config::AwsTable;

/// The kind of the object that the node is kept as, and its name: there is one.
const NODE: &str = "kubernetes-node";
const OWN: &str = "own";
/// The kind of the objects that its labels are kept as.
const LABEL: &str = "kubernetes-label";

/// The attributes of the node's object.
const ENI_CONFIG: &str = "eni-config";
const GROUPS: &str = "groups";

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

impl ToldNode {
    /// The kept word.
    pub(crate) fn kept(engine: &Engine) -> Self {
        Self::from_objects(engine.objects().iter().map(AsRef::as_ref))
    }

    /// Keeps this word, and forgets what the one before had besides.
    pub(crate) async fn keep(&self, engine: &Engine) {
        let objects = match self.objects() {
            Ok(objects) => objects,
            Err(error) => {
                return tracing::warn!(%error, "what the API server says of the node cannot be kept for the next start");
            }
        };
        let known = engine.objects();
        let is_ours = |kind: &str| [NODE, LABEL].contains(&kind);
        let is_there =
            |known: &Object| objects.iter().any(|now| now.kind == known.kind && now.name == known.name);
        let gone = known.iter().filter(|known| is_ours(&known.kind) && !is_there(known));
        let gone: Vec<_> = gone.map(|known| (known.kind.clone(), known.name.clone())).collect();
        if let Err(error) = engine.objects_seen(&objects, &gone).await {
            tracing::warn!(%error, "what the API server says of the node cannot be kept for the next start");
        }
    }

    fn objects(&self) -> Result<Vec<Object>, InvalidAttributes> {
        let mut pairs = vec![(agreed::TERMINATING, self.terminating.to_string())];
        pairs.extend(self.schedulable.map(|is_it| (agreed::SCHEDULABLE, is_it.to_string())));
        pairs.extend(self.most_pods.map(|most| (agreed::MOST_PODS, most.to_string())));
        pairs.extend(self.eni_config.clone().map(|name| (ENI_CONFIG, name)));
        if let Some(custom) = &self.custom {
            pairs.extend([(agreed::SUBNET, custom.subnet.clone()), (GROUPS, custom.groups.join(","))]);
        }
        let node =
            Object { kind: NODE.to_owned(), name: OWN.to_owned(), attributes: Attributes::new(pairs)? };
        let label = |(name, value): (&String, &String)| {
            let attributes = Attributes::new([(agreed::VALUE, value)])?;
            Ok(Object { kind: LABEL.to_owned(), name: name.clone(), attributes })
        };
        std::iter::once(Ok(node)).chain(self.labels.iter().map(label)).collect()
    }

    fn from_objects<'a>(objects: impl Iterator<Item = &'a Object>) -> Self {
        let mut told = Self::default();
        for object in objects {
            let of = |name: &str| object.attributes.get(name);
            match object.kind.as_str() {
                NODE => {
                    told.schedulable = of(agreed::SCHEDULABLE).and_then(|text| text.parse().ok());
                    told.terminating = of(agreed::TERMINATING) == Some("true");
                    told.most_pods = of(agreed::MOST_PODS).and_then(|text| text.parse().ok());
                    told.eni_config = of(ENI_CONFIG).map(str::to_owned);
                    let groups = of(GROUPS).unwrap_or_default().split(',').filter(|group| !group.is_empty());
                    let groups = groups.map(str::to_owned).collect();
                    told.custom =
                        of(agreed::SUBNET).map(|subnet| CustomNetwork { subnet: subnet.to_owned(), groups });
                }
                LABEL => {
                    let value = of(agreed::VALUE).unwrap_or_default();
                    told.labels.insert(object.name.clone(), value.to_owned());
                }
                _ => {}
            }
        }
        told
    }
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
mod tests {
    use super::*;

    fn told() -> ToldNode {
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
    fn what_was_told_is_read_back_as_it_was() {
        let without_groups = CustomNetwork { subnet: "subnet-2".to_owned(), groups: Vec::new() };
        for told in [ToldNode::default(), told(), ToldNode { custom: Some(without_groups), ..told() }] {
            let objects = told.objects().unwrap();
            assert_eq!(ToldNode::from_objects(objects.iter()), told);
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
