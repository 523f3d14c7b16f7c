//! A pod's sandbox, as its kubelet and its runtime have it.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tenure_engine::{Add, Del};
use tenure_runtime::netns;
use tenure_types::{
    ContainerId, InterfaceName, Moment, NetworkConfig, NetworkName, Owner, Place, PodIdentity, PolicyName,
    Request, RequestContext, Sandbox,
};
use tokio::time::Instant;

use super::server::ApiState;

/// The node's addresses: fewer than its pods would have if none came back.
const SUBNET: &str = "10.0.0.0/28";

/// A sandbox.
#[derive(Debug)]
pub(super) struct PodSandbox {
    pub(super) id: String,
    pub(super) pod: PodIdentity,
    /// The file that stands for its network namespace, if the agent can see it.
    pub(super) netns: Option<PathBuf>,
    /// The address in the last answer to an ADD, and the time of that.
    pub(super) address: Option<IpAddr>,
    pub(super) added: Instant,
    /// The times of its further ADDs, and that from which on the runtime lists it, while it is being made.
    pub(super) making: VecDeque<Instant>,
    /// The time since which the runtime lists it.
    pub(super) listed: Option<Instant>,
}

pub(super) fn network() -> NetworkName {
    NetworkName::new("net").unwrap()
}

impl PodSandbox {
    pub(super) fn owner(&self) -> Owner {
        Owner::Attachment {
            container: ContainerId::new(&*self.id).unwrap(),
            interface: InterfaceName::new("eth0").unwrap(),
        }
    }

    /// Whether the kubelet runs its pod from a file.
    pub(super) fn is_static(&self) -> bool {
        self.pod.uid.len() == 32
    }

    /// Whether the API server says that its pod is gone.
    pub(super) fn is_orphan(&self, state: &ApiState) -> bool {
        !self.pod.uid.is_empty() && !self.is_static() && !state.has(&self.pod.name, &self.pod.uid)
    }

    pub(super) fn add(&self, requested_at: Moment) -> Add {
        let seen = |path: &PathBuf| {
            let metadata = std::fs::metadata(path).ok()?;
            netns::see(path.to_str()?, Place::new(metadata.dev(), metadata.ino()))
        };
        let path = self.netns.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
        let sandbox = Sandbox {
            pod: Some(self.pod.clone()),
            netns: path.into(),
            netns_seen: self.netns.as_ref().and_then(seen),
            link: None,
        };
        let request = Request {
            network: network(),
            owner: self.owner(),
            requested: Vec::new(),
            sandbox,
            supply_full: false,
            context: RequestContext::default(),
            requested_at,
        };
        let config = NetworkConfig { ipam: SUBNET.to_owned(), attributes: Vec::new() };
        Add { request, policy: PolicyName::new("first").unwrap(), config: Arc::new(config) }
    }

    pub(super) fn del(&self, requested_at: Moment) -> Del {
        Del { network: network(), owner: self.owner(), requested_at }
    }
}

/// Makes what stands for a network namespace.
pub(super) fn make_netns(directory: &Path, id: &str) -> PathBuf {
    let path = directory.join(id);
    std::fs::write(&path, "").unwrap();
    path
}
