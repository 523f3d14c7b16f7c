//! A simulated agent: its calls of the API server, in the order of a node's.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::TryStreamExt as _;
use k8s_openapi::api::core::v1::{ContainerImage, Node};
use kube::api::{Api, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Client, ResourceExt as _};
use serde_json::json;
use tenure_cluster::client::{ApiCallError, call};
use tenure_cluster::{AddressSpace, GROUP, IPBlock, NodeIPAM, NodeIPAMSpec};
use tenure_fixtures::control_plane::kubelets_node;
use tenure_leases::agent::accept::{AcceptCase, accept};
use tenure_leases::{
    AddressSpace as LeaseSpace, BlockHint, CallId, FetchedBlock, HeldBlock, HolderIdentity, IpBlock,
    LeaseRules, MachineHash, NodeIpamSpec, NodeIpamStatus, PoolDemand, PoolKey,
};
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use tokio::time::Instant;

use crate::Failure;

/// The boot id of every simulated machine.
const BOOT: &str = "00000000-0000-4000-8000-000000000001";

/// The pause of a node that the API server had no time for.
const BUSY: Duration = Duration::from_secs(1);

/// Counts of all agents together.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) writes: AtomicU64,
    pub(crate) events: AtomicU64,
}

/// A simulated agent.
pub(crate) struct SimulatedAgent {
    pub(crate) client: Client,
    pub(crate) counts: Arc<Counts>,
    pub(crate) pool: PoolKey,
    pub(crate) me: HolderIdentity,
    pub(crate) held: Vec<HeldBlock>,
    pub(crate) want: u32,
    pub(crate) heard: Option<CallId>,
    /// The time after which it has the wish that all have at once.
    pub(crate) asks_after: Duration,
}

/// Registers a Node, as its kubelet does: with the labels and the images that a machine of a cloud has, of which the operator reads little.
pub(crate) async fn register(client: &Client, number: usize) -> Result<HolderIdentity, Failure> {
    let name = format!("herd-{number}");
    let api: Api<Node> = Api::all(client.clone());
    let mut node: Node = serde_json::from_value(kubelets_node(&name, &name, BOOT))?;
    let labels = (0..14).map(|number| (format!("topology.example.com/label-{number}"), name.clone()));
    node.metadata.labels = Some(labels.collect());
    let digest = "0123456789abcdef".repeat(4);
    let images = (0..30).map(|number| {
        let image = format!("registry.example.com/images/of-a-cluster-{number}");
        let names = vec![format!("{image}@sha256:{digest}"), format!("{image}:v1.2.3")];
        ContainerImage { names: Some(names), size_bytes: Some(123_456_789) }
    });
    node.status.get_or_insert_default().images = Some(images.collect());
    let node = loop {
        match call(api.create(&PostParams::default(), &node)).await {
            Ok(node) => break node,
            Err(error) if error.is_already_exists() => break call(api.get(&name)).await?,
            Err(error) => wait_if_busy(error.into()).await?,
        }
    };
    let machine = MachineHash::of(&name, &format!("firmware of {name}"))?;
    let uid = node.uid().ok_or("no uid")?.parse()?;
    Ok(HolderIdentity { name: name.into(), uid, machine, boot: BOOT.parse()? })
}

/// Waits if the API server had no time for a call, or no longer knows the version of a watch. Any other error is the herd's end.
async fn wait_if_busy(error: Failure) -> Result<(), Failure> {
    let refused = error.downcast_ref::<kube::Error>().or(match error.downcast_ref::<ApiCallError>() {
        Some(ApiCallError::Kube(error)) => Some(error),
        _ => None,
    });
    let is_busy = match refused {
        Some(kube::Error::Api(status)) => matches!(status.code, 410 | 429),
        _ => matches!(error.downcast_ref(), Some(ApiCallError::Deadline)),
    };
    if !is_busy {
        return Err(error);
    }
    tokio::time::sleep(BUSY).await;
    Ok(())
}

impl SimulatedAgent {
    /// Asks for as many blocks as are wished, and accepts what is hinted.
    pub(crate) async fn live(
        &mut self,
        mut wishes: watch::Receiver<u32>,
        leased: &mpsc::UnboundedSender<Duration>,
        permit: OwnedSemaphorePermit,
    ) -> Result<(), Failure> {
        let mut permit = Some(permit);
        let mut asked = Instant::now();
        loop {
            if let Err(error) = self.serve(&mut wishes, leased, &mut permit, &mut asked).await {
                wait_if_busy(error).await?;
            }
        }
    }

    async fn serve(
        &mut self,
        wishes: &mut watch::Receiver<u32>,
        leased: &mpsc::UnboundedSender<Duration>,
        permit: &mut Option<OwnedSemaphorePermit>,
        asked: &mut Instant,
    ) -> Result<(), Failure> {
        if wishes.has_changed()? {
            *asked = Instant::now();
        }
        self.want = *wishes.borrow_and_update();
        let mut version = self.say().await?.resource_version().unwrap_or_default();
        loop {
            let api: Api<NodeIPAM> = Api::all(self.client.clone());
            let parameters =
                WatchParams::default().fields(&format!("metadata.name={}", self.me.name)).timeout(290);
            let mut events = Box::pin(api.watch(&parameters, &version).await?);
            loop {
                tokio::select! {
                    event = events.try_next() => match event? {
                        None => break,
                        Some(WatchEvent::Added(object) | WatchEvent::Modified(object)) => {
                            version = object.resource_version().unwrap_or_default();
                            if self.take(&object).await? {
                                leased.send(asked.elapsed())?;
                                *permit = None;
                            }
                        }
                        // The version that it saw last is no longer known.
                        Some(WatchEvent::Error(error)) if error.code == 410 => return Ok(()),
                        Some(WatchEvent::Error(error)) => return Err(error.to_string().into()),
                        Some(WatchEvent::Deleted(_) | WatchEvent::Bookmark(_)) => {}
                    },
                    changed = wishes.changed(), if permit.is_none() => {
                        changed?;
                        tokio::time::sleep(self.asks_after).await;
                        self.want = *wishes.borrow_and_update();
                        *asked = Instant::now();
                        self.say().await?;
                    }
                }
            }
        }
    }

    /// Applies its half of the node's object.
    async fn say(&self) -> Result<NodeIPAM, Failure> {
        let demand =
            PoolDemand { pool: self.pool.clone(), is_ipv6: false, in_use: 0, cooling: 0, want: self.want };
        let spec = NodeIpamSpec {
            held: self.held.clone(),
            demand: vec![demand],
            heard: self.heard,
            ..NodeIpamSpec::of(self.me.clone())
        };
        let object = json!({
            "apiVersion": format!("{GROUP}/v1alpha1"), "kind": "NodeIPAM",
            "metadata": { "name": &*self.me.name }, "spec": NodeIPAMSpec::from(&spec),
        });
        let api: Api<NodeIPAM> = Api::all(self.client.clone());
        self.counts.writes.fetch_add(1, Ordering::Relaxed);
        let parameters = PatchParams::apply("tenure-agent").force();
        Ok(call(api.patch(&self.me.name, &parameters, &Patch::Apply(&object))).await?)
    }

    /// Takes in its object; returns whether it accepted a block.
    async fn take(&mut self, object: &NodeIPAM) -> Result<bool, Failure> {
        self.counts.events.fetch_add(1, Ordering::Relaxed);
        let status = NodeIpamStatus::try_from(object)?;
        let names: Vec<String> =
            object.status.iter().flat_map(|status| &status.blocks).map(|entry| entry.name.clone()).collect();
        let mut accepted = false;
        for (name, hint) in names.iter().zip(&status.blocks) {
            if !self.held.iter().any(|held| held.uid == hint.uid) && self.accept(name, *hint).await? {
                self.held.push(HeldBlock { cidr: hint.cidr, uid: hint.uid, group: None });
                accepted = true;
            }
        }
        if accepted || status.call != self.heard {
            self.heard = status.call;
            self.say().await?;
        }
        Ok(accepted)
    }

    async fn accept(&self, name: &str, hint: BlockHint) -> Result<bool, Failure> {
        let blocks: Api<IPBlock> = Api::all(self.client.clone());
        let spaces: Api<AddressSpace> = Api::all(self.client.clone());
        let block = match call(blocks.get_opt(name)).await? {
            Some(block) => FetchedBlock::Found(IpBlock::try_from(&block)?),
            None => FetchedBlock::Missing,
        };
        let space = call(spaces.get_opt("default")).await?;
        let space = space.as_ref().map(LeaseSpace::try_from).transpose()?;
        let case = AcceptCase {
            me: &self.me,
            hint,
            block: &block,
            space: space.as_ref(),
            dropped: false,
            ledger: &[],
            is_full: false,
        };
        Ok(accept(LeaseRules::ALL, &case).is_ok())
    }
}
