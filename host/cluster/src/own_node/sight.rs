//! The API server's word about a Node and its ENIConfig, as far as it has been read.

use std::sync::Arc;

use super::named::{NamedObject, ObjectWord};
use super::node::OwnNode;
use crate::ENIConfig;

/// The API server's word about a Node and its ENIConfig.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OwnNodeSight {
    /// The Node as it was read last; `None` before that.
    pub node: Option<Arc<OwnNode>>,
    /// The ENIConfig.
    pub eni_config: EniConfigSight,
    /// The reason, for people, for which the present word is not known, or lacks something.
    pub trouble: Option<String>,
}

/// The API server's word about a Node's ENIConfig.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum EniConfigSight {
    /// None is wanted, or the Node has not been read.
    #[default]
    Unwanted,
    /// The one of this name has not been read yet.
    Unread(String),
    /// There is none of this name, or it names no subnet.
    Absent(String),
    /// The one that was read.
    Read {
        /// The name.
        name: String,
        /// The subnet's id.
        subnet: String,
        /// The ids of the security groups.
        groups: Vec<String>,
    },
}

impl OwnNodeSight {
    /// Puts together what both watches have; `last` is the Node as it was read last.
    pub(super) fn of(
        last: Option<&Arc<OwnNode>>,
        node: &NamedObject<OwnNode>,
        config: Option<&NamedObject<ENIConfig>>,
    ) -> Self {
        let eni_config = config.map(EniConfigSight::of).unwrap_or_default();
        let troubles = [node_trouble(node), config.and_then(|config| config_trouble(config, &eni_config))];
        let troubles: Vec<String> = troubles.into_iter().flatten().collect();
        let trouble = (!troubles.is_empty()).then(|| troubles.join("; "));
        Self { node: last.cloned(), eni_config, trouble }
    }
}

impl EniConfigSight {
    fn of(config: &NamedObject<ENIConfig>) -> Self {
        let name = config.name().to_owned();
        match config.word() {
            ObjectWord::Unread => Self::Unread(name),
            ObjectWord::Absent => Self::Absent(name),
            ObjectWord::Read(object) => match object.spec.subnet.clone().filter(|id| !id.is_empty()) {
                Some(subnet) => Self::Read {
                    name,
                    subnet,
                    groups: object.spec.security_groups.clone().unwrap_or_default(),
                },
                None => Self::Absent(name),
            },
        }
    }
}

fn node_trouble(node: &NamedObject<OwnNode>) -> Option<String> {
    let name = node.name();
    match (node.failure(), node.word()) {
        (Some(failure), _) => Some(format!("cannot read Node {name}: {failure}")),
        (None, ObjectWord::Absent) => {
            Some(format!("there is no Node {name}; is `node.name` the name in the cluster?"))
        }
        (None, ObjectWord::Unread | ObjectWord::Read(_)) => None,
    }
}

fn config_trouble(config: &NamedObject<ENIConfig>, sight: &EniConfigSight) -> Option<String> {
    let name = config.name();
    match (config.failure(), config.word(), sight) {
        (Some(failure), ..) => Some(format!("cannot read ENIConfig {name}: {failure}")),
        (None, ObjectWord::Read(_), EniConfigSight::Absent(_)) => {
            Some(format!("ENIConfig {name} names no subnet, so no interface is created"))
        }
        (None, _, EniConfigSight::Absent(_)) => {
            Some(format!("there is no ENIConfig {name}, so no interface is created"))
        }
        (None, ..) => None,
    }
}
