//! The API server's word about the node, in the checkpoint for a start at which nobody answers.

use tenure_aws::situation::CustomNetwork;
use tenure_engine::Engine;
use tenure_types::{Attributes, InvalidAttributes, Object, agreed};

use super::told::ToldNode;

/// The kind of the object that the node is kept as, and its name: there is one.
const NODE: &str = "kubernetes-node";
const OWN: &str = "own";
/// The kind of the objects that its labels are kept as.
const LABEL: &str = "kubernetes-label";

/// The attributes of the node's object.
const ENI_CONFIG: &str = "eni-config";
const GROUPS: &str = "groups";

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

#[cfg(test)]
mod tests {
    use super::super::told::tests::told;
    use super::*;

    #[test]
    fn what_was_told_is_read_back_as_it_was() {
        let without_groups = CustomNetwork { subnet: "subnet-2".to_owned(), groups: Vec::new() };
        for told in [ToldNode::default(), told(), ToldNode { custom: Some(without_groups), ..told() }] {
            let objects = told.objects().unwrap();
            assert_eq!(ToldNode::from_objects(objects.iter()), told);
        }
    }
}
