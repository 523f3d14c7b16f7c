//! Follows this machine's Node and its ENIConfig in the API server, for the network of AWS interfaces, and removes the start-up taint.
//!
//! ```text
//!   the API server ──▶ told, kept in the checkpoint ──▶ the executor of AWS interfaces, where the configuration says nothing
//!         ▲
//!         └── the Node without the start-up taint, once the node is ready for pods
//! ```

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tenure_aws::situation::CustomNetwork;
use tenure_cluster::own_node::{EniConfigKeys, EniConfigSight, OwnNode, OwnNodeSight, OwnNodeWatch};
use tenure_conditions::{Conditions, Report};
use tenure_engine::Engine;
use tenure_supervise::{Interruptible, beat, idle_beat};
use tenure_types::{ConditionName, NetworkName, Severity};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use crate::aws::ToldNode;

/// The pause before connecting is tried again, such as with a kubeconfig that is not there yet.
const AGAIN: Duration = Duration::from_secs(5);

/// How often to look whether the node is ready, while it has the taint.
const EVERY: Duration = Duration::from_secs(1);

/// The pause before the taint of a Node is tried again, unless the Node changes.
const TAINT_AGAIN: Duration = Duration::from_secs(60);

/// How often to look whether the network is defined in another way.
const DEFINED: Duration = Duration::from_secs(5);

/// The usual key of the annotation and of the label that name an ENIConfig, as in the Amazon VPC CNI.
const USUAL_KEY: &str = "k8s.amazonaws.com/eniConfig";

/// The inputs of the part.
pub(crate) struct OwnNodeInputs {
    pub(crate) kubeconfig: Option<PathBuf>,
    pub(crate) node: String,
    /// The key of the taint to remove.
    pub(crate) startup_taint: Option<String>,
    /// The network of AWS interfaces.
    pub(crate) network: NetworkName,
    /// Whether the configuration names the subnet of interfaces, so that no ENIConfig is needed.
    pub(crate) names_subnet: bool,
    pub(crate) engine: Arc<Engine>,
    pub(crate) told: watch::Sender<ToldNode>,
}

/// The watch of the machine's Node.
pub(crate) struct OwnNodePart {
    given: OwnNodeInputs,
    unknown: Report,
}

/// The state of the start-up taint.
enum TaintState {
    /// The Node does not have it, as far as is known.
    Gone,
    /// The node is not ready yet.
    Waits,
    /// Removing it was tried, and the watch brings what came of that.
    Tried(TaintTry),
}

/// A try to remove the start-up taint.
struct TaintTry {
    /// The version of the Node.
    version: Option<String>,
    /// The time from which that is tried again.
    again: Instant,
    /// The reason of a failure. Somebody else's change of the Node meanwhile is not one.
    failure: Option<String>,
}

impl TaintTry {
    fn of(node: &OwnNode, failure: Option<String>, now: Instant) -> Self {
        Self { version: node.metadata.resource_version.clone(), again: now + TAINT_AGAIN, failure }
    }

    /// Whether it was of this version of the Node, and a short while ago.
    fn holds(&self, node: &OwnNode, now: Instant) -> bool {
        self.version == node.metadata.resource_version && now < self.again
    }
}

impl OwnNodePart {
    pub(crate) fn build(given: OwnNodeInputs, conditions: &Arc<Conditions>) -> Self {
        Self { given, unknown: Report::new(conditions, ConditionName::NodeUnknown) }
    }

    /// Takes in what is read, and removes the taint when its time has come.
    async fn follow(&self, watched: &OwnNodeWatch) {
        let mut sight = watched.sight();
        let mut taint = TaintState::Gone;
        loop {
            let now = sight.borrow_and_update().clone();
            self.take(&now).await;
            let last = match taint {
                TaintState::Tried(last) => Some(last),
                TaintState::Gone | TaintState::Waits => None,
            };
            taint = self.remove_taint(watched, now.node.as_deref(), last).await;
            let failure = match &taint {
                TaintState::Tried(last) => last.failure.clone(),
                TaintState::Gone | TaintState::Waits => None,
            };
            let troubles: Vec<String> = now.trouble.into_iter().chain(failure).collect();
            match troubles.as_slice() {
                [] => self.unknown.well(),
                troubles => self.unknown.wrong(troubles.join("; ")),
            }
            let pause = async {
                match &taint {
                    TaintState::Gone => std::future::pending().await,
                    TaintState::Waits => beat(EVERY).await,
                    TaintState::Tried(last) => sleep_until(last.again).await,
                }
            };
            tokio::select! {
                // The sender is in `watched`.
                _ = sight.changed() => {}
                () = pause => {}
            }
        }
    }

    /// Tells the executor of what was read, and keeps it for the next start.
    async fn take(&self, sight: &OwnNodeSight) {
        let Some(node) = &sight.node else { return };
        let before = self.given.told.borrow().clone();
        let now = told(node, &sight.eni_config, &before);
        if now == before {
            return;
        }
        let ToldNode { schedulable, terminating, most_pods, eni_config, .. } = &now;
        tracing::info!(
            schedulable,
            terminating,
            most_pods,
            eni_config,
            "the API server says something else of this node than before"
        );
        self.given.told.send_replace(now.clone());
        now.keep(&self.given.engine).await;
    }

    /// Removes the start-up taint, if the Node has it and the node is ready for pods.
    async fn remove_taint(
        &self,
        watched: &OwnNodeWatch,
        node: Option<&OwnNode>,
        last: Option<TaintTry>,
    ) -> TaintState {
        let (Some(key), Some(node)) = (&self.given.startup_taint, node) else { return TaintState::Gone };
        if node.taints_without(key).is_none() {
            return TaintState::Gone;
        }
        if let Some(last) = last.filter(|last| last.holds(node, Instant::now())) {
            return TaintState::Tried(last);
        }
        let wrong = self.given.engine.whats_wrong();
        if wrong.iter().any(|condition| condition.name.severity() == Severity::NotReady) {
            return TaintState::Waits;
        }
        let name = &self.given.node;
        let failure = match watched.remove_taint(node, key).await {
            Ok(()) => {
                tracing::info!(
                    node = name,
                    taint = key,
                    "the node has its addresses: removed the start-up taint"
                );
                None
            }
            Err(error) if error.is_conflict() => None,
            Err(error) => Some(format!("cannot remove the taint {key} of Node {name}: {error}")),
        };
        TaintState::Tried(TaintTry::of(node, failure, Instant::now()))
    }

    /// Follows which keys name the ENIConfig, if the network's settings want one.
    async fn follow_settings(&self, keys: &watch::Sender<Option<EniConfigKeys>>) {
        loop {
            let now = self.keys().await;
            keys.send_if_modified(|keys| {
                let is_new = *keys != now;
                *keys = now;
                is_new
            });
            idle_beat(DEFINED).await;
        }
    }

    async fn keys(&self) -> Option<EniConfigKeys> {
        let book = self.given.engine.book(&self.given.network).await?;
        let settings = &book.network().attributes;
        if self.given.names_subnet || settings.get("customNetwork.enabled") != Some("true") {
            return None;
        }
        let key = |name: &str| settings.get(name).unwrap_or(USUAL_KEY).to_owned();
        Some(EniConfigKeys { annotation: key("customNetwork.annotation"), label: key("customNetwork.label") })
    }
}

/// The word of a Node and its ENIConfig. Of an ENIConfig that has not been read yet, what was known `before` counts, if it is the same one.
fn told(node: &OwnNode, eni_config: &EniConfigSight, before: &ToldNode) -> ToldNode {
    let (eni_config, custom) = match eni_config {
        EniConfigSight::Unwanted => (before.eni_config.clone(), before.custom.clone()),
        EniConfigSight::Unread(name) => {
            let is_known = before.eni_config.as_ref() == Some(name);
            (Some(name.clone()), before.custom.clone().filter(|_| is_known))
        }
        EniConfigSight::Absent(name) => (Some(name.clone()), None),
        EniConfigSight::Read { name, subnet, groups } => {
            (Some(name.clone()), Some(CustomNetwork { subnet: subnet.clone(), groups: groups.clone() }))
        }
    };
    ToldNode {
        labels: node.labels(),
        schedulable: Some(node.is_schedulable()),
        terminating: node.is_terminating(),
        most_pods: node.most_pods(),
        eni_config,
        custom,
    }
}

impl Interruptible for OwnNodePart {
    async fn work(&mut self) {
        let watched = loop {
            match OwnNodeWatch::connect(self.given.kubeconfig.as_deref(), &self.given.node).await {
                Ok(watched) => break watched,
                Err(error) => self.unknown.wrong(error.to_string()),
            }
            sleep(AGAIN).await;
        };
        let (keys, wanted) = watch::channel(None);
        tokio::select! {
            () = watched.follow(wanted) => {}
            () = self.follow(&watched) => {}
            () = self.follow_settings(&keys) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn custom(subnet: &str) -> Option<CustomNetwork> {
        Some(CustomNetwork { subnet: subnet.to_owned(), groups: Vec::new() })
    }

    fn told_of(sight: &EniConfigSight, before: &ToldNode) -> (Option<String>, Option<CustomNetwork>) {
        let now = told(&OwnNode::default(), sight, before);
        (now.eni_config, now.custom)
    }

    #[test]
    fn an_eni_config_that_is_not_read_yet_leaves_in_force_what_it_said_before_and_not_what_another_said() {
        let name = |name: &str| name.to_owned();
        let read =
            |subnet: &str| EniConfigSight::Read { name: name("blue"), subnet: name(subnet), groups: vec![] };
        let before = told(&OwnNode::default(), &read("subnet-1"), &ToldNode::default());
        assert_eq!(before.custom, custom("subnet-1"));
        let blue = Some(name("blue"));
        for (sight, expected) in [
            (EniConfigSight::Unwanted, (blue.clone(), custom("subnet-1"))),
            (EniConfigSight::Unread(name("blue")), (blue.clone(), custom("subnet-1"))),
            (EniConfigSight::Unread(name("red")), (Some(name("red")), None)),
            (EniConfigSight::Absent(name("blue")), (blue.clone(), None)),
            (read("subnet-2"), (blue, custom("subnet-2"))),
        ] {
            assert_eq!(told_of(&sight, &before), expected, "{sight:?}");
        }
    }

    #[test]
    fn a_node_whose_taint_was_tried_is_left_alone_until_the_watch_brings_another_version() {
        let node = |version: &str| {
            let mut node = OwnNode::default();
            node.metadata.resource_version = Some(version.to_owned());
            node
        };
        let now = Instant::now();
        let tried = TaintTry::of(&node("7"), None, now);
        assert!(tried.holds(&node("7"), now + Duration::from_secs(59)), "the watch may be behind");
        assert!(!tried.holds(&node("8"), now));
        assert!(!tried.holds(&node("7"), now + TAINT_AGAIN));
    }
}
