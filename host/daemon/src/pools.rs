//! The facts that the API server adds to an ADD: the pools that its pod's addresses may come from, and the labels that its policy was granted.
//!
//! Nothing is asked for a network with one pool without selectors, unless its policy was granted labels. The API server is asked at most for the
//! pod and its namespace, and only if the watch does not show the pod; for the address of a claim that is not this node's yet, the ADD waits.
//! Where labels decide and are not known, the ADD is refused, and the runtime tries again; where they could only have changed the order of
//! pools that serve everyone, it goes on without. A pod that names a claim is refused until the cluster has said which of the network's pools
//! are for claims, and where no network of the node can serve the claim: it gets no other address in its place.

mod asked;
mod claimed;
mod door;
mod granted;
mod told;
mod unserved;

use std::sync::Arc;

use tenure_cluster::agent::PoolFamily;
use tenure_cluster::pods::ObjectLabels;
use tenure_cluster::pools::{
    KnownRules, PoolQuestion, PoolRefusal, PoolSelectors, candidates, pool_rules, unread_claims,
};
use tenure_engine::{Add, Engine, Foreseen};
use tenure_rpc::cni::RequestContexts;
use tenure_types::{Error, ErrorCode, PodIdentity, PoolName, RequestContext, Result};
use tokio::sync::watch;

use self::asked::AskedPools;
use self::claimed::{ClaimedAddresses, PodClaims, claims_of};
pub(crate) use self::door::ClaimDoor;
use self::granted::{metadata_of, names_namespace};
use self::told::ToldPods;
use crate::config::Config;
use crate::pods::PodDoor;

const FAMILIES: [PoolFamily; 2] = [PoolFamily::Ipv4, PoolFamily::Ipv6];

/// Looks the facts up.
pub(crate) struct PodContexts {
    engine: Arc<Engine>,
    config: watch::Receiver<Arc<Config>>,
    door: Arc<PodDoor>,
    claims: PodClaims,
    told: ToldPods,
}

/// The labels and annotations of a pod and of its namespace.
#[derive(Default)]
struct PodMetadata {
    pod: Arc<ObjectLabels>,
    namespace: Arc<ObjectLabels>,
}

/// The need for the labels and annotations of a pod's namespace.
#[derive(Clone, Copy)]
enum NamespaceLabels {
    /// Required: without them, nothing is chosen.
    Decide,
    /// Optional: an annotation of the namespace may name a pool.
    Help,
    /// Not read.
    Unused,
}

/// The facts about one ADD.
#[derive(Default)]
struct PodFacts {
    context: RequestContext,
    claimed: ClaimedAddresses,
}

impl PodContexts {
    pub(crate) fn new(
        engine: Arc<Engine>,
        config: watch::Receiver<Arc<Config>>,
        door: Arc<PodDoor>,
        claims: Arc<ClaimDoor>,
    ) -> Self {
        let claims = PodClaims::new(Arc::clone(&engine), claims, Arc::clone(&door));
        Self { engine, config, door, claims, told: ToldPods::default() }
    }

    fn config(&self) -> Arc<Config> {
        Arc::clone(&self.config.borrow())
    }

    /// The labels that the policies of the ADD's network were granted.
    fn granted(&self, config: &Config, add: &Add) -> Vec<String> {
        let mut names = vec![add.policy.clone()];
        if let Some(served) = self.engine.policies_of(&add.request.network) {
            names.push(served.now.policy.name.clone());
            names.extend(served.shadow.map(|shadow| shadow.policy.name));
        }
        let tables = names.iter().filter_map(|name| config.policies.get(name.as_str()));
        let mut granted: Vec<String> = tables.flat_map(|table| table.metadata.iter().cloned()).collect();
        granted.sort();
        granted.dedup();
        granted
    }

    /// Defines the network of an ADD if it is new: the agent asks the operator for the pools of known networks alone.
    async fn define(&self, add: &Add) -> Result<()> {
        let network = &add.request.network;
        if self.engine.book(network).await.is_some() {
            return Ok(());
        }
        let config = Arc::clone(&add.config);
        let foreseen = Foreseen { network: network.clone(), policy: add.policy.clone(), config };
        self.engine.foresee(&foreseen).await.map(drop)
    }

    /// The pools of the addresses that the caller requests, by the network as it is now; `None` if the owner has its addresses already.
    async fn requested(&self, add: &Add) -> Option<Vec<String>> {
        let Some(book) = self.engine.book(&add.request.network).await else { return Some(Vec::new()) };
        if book.owned_by(&add.request.owner).is_some() {
            return None;
        }
        let pools =
            add.request.requested.iter().filter_map(|address| book.pools().get(book.pool_of(*address)?));
        let mut names: Vec<String> = pools.map(|pool| cluster_name(&pool.name).to_owned()).collect();
        names.dedup();
        Some(names)
    }

    /// The labels of a pod and of its namespace. Without those of the namespace it goes on, unless they decide.
    async fn read(&self, pod: &PodIdentity, of_namespace: NamespaceLabels) -> Result<PodMetadata, String> {
        let namespace = async {
            match of_namespace {
                NamespaceLabels::Decide => self.door.namespace_labels(&pod.namespace).await,
                NamespaceLabels::Help => {
                    Ok(self.door.namespace_labels(&pod.namespace).await.unwrap_or_default())
                }
                NamespaceLabels::Unused => Ok(Arc::default()),
            }
        };
        let (pod, namespace) = tokio::join!(self.door.labels(pod), namespace);
        Ok(PodMetadata { pod: pod?, namespace: namespace? })
    }

    /// As [`read`](Self::read); without the labels it goes on, unless those of the pod decide.
    async fn labels(
        &self,
        pod: &PodIdentity,
        network: &str,
        of_namespace: NamespaceLabels,
        decide: bool,
    ) -> Result<PodMetadata> {
        match self.read(pod, of_namespace).await {
            Ok(metadata) => Ok(metadata),
            Err(why) if decide => {
                let (namespace, name) = (&pod.namespace, &pod.name);
                let cause = format_args!(
                    "the labels of pod {namespace}/{name} decide on network {network}, and are not known: {why}"
                );
                Err(Error::new(ErrorCode::PodUnread, cause))
            }
            Err(why) => {
                tracing::debug!(network, why, "chose a pool without the pod's annotations");
                Ok(PodMetadata::default())
            }
        }
    }

    fn refused(&self, refusal: PoolRefusal, rules: &KnownRules, pod: Option<&PodIdentity>) -> Error {
        match refusal {
            PoolRefusal::Ambiguous(words) => {
                if let Some(pod) = pod.filter(|pod| self.told.is_news(pod)) {
                    self.door.tell(pod, "AmbiguousPool", &words);
                }
                Error::new(ErrorCode::AmbiguousPool, words)
            }
            PoolRefusal::Unmatched(words) => match rules.unknown.first() {
                None => Error::new(ErrorCode::PoolUnmatched, words),
                Some(pool) => {
                    let cause = format_args!(
                        "{words}; the cluster has not said yet which pods AddressPool {pool} serves"
                    );
                    Error::new(ErrorCode::PodUnread, cause)
                }
            },
        }
    }

    /// The addresses of the claims that a pod names.
    async fn claimed(
        &self,
        add: &Add,
        pod: &PodIdentity,
        labels: &ObjectLabels,
        pools: &[String],
        rules: &KnownRules,
    ) -> Result<ClaimedAddresses> {
        let (namespace, name) = (&pod.namespace, &pod.name);
        let (keeps, unknown) = (rules.rules.iter().any(PoolSelectors::is_for_claims), rules.unknown.first());
        if let Some(why) = unread_claims(labels).filter(|_| keeps || unknown.is_some()) {
            let cause = format_args!("the claims of pod {namespace}/{name} are not known: {why}");
            return Err(Error::new(ErrorCode::PoolUnmatched, cause));
        }
        if keeps {
            return self.claims.of_pod(add, pod, labels, pools).await;
        }
        // The claim may be of a pool that is not known to be one for claims yet.
        let Some(unknown) = unknown else {
            self.expect_served(add, &self.config(), pod, labels).await?;
            return Ok(ClaimedAddresses::default());
        };
        match claims_of(add, pod, labels)?.first() {
            None => Ok(ClaimedAddresses::default()),
            Some(claim) => {
                let cause = format_args!(
                    "pod {namespace}/{name} names claim {claim}, and the cluster has not said yet whether AddressPool {unknown} is for claims"
                );
                Err(Error::new(ErrorCode::PodUnread, cause))
            }
        }
    }

    /// The facts about an ADD.
    async fn facts(&self, add: &Add) -> Result<PodFacts> {
        let config = self.config();
        let network = add.request.network.as_str();
        let pools = config.cluster.networks.get(network).map(Vec::as_slice).unwrap_or_default();
        let granted = self.granted(&config, add);
        let definition = self.engine.fixed_definition(&add.request.network);
        let asked = AskedPools::of(&add.config, definition.as_deref(), pools);
        let rules = pool_rules(&self.engine.objects(), pools);
        let is_told = rules.unknown.is_empty();
        if !is_told {
            self.define(add).await?;
        }
        let keeps = rules.rules.iter().any(PoolSelectors::is_for_claims);
        let has_selectors = rules.rules.iter().any(|rule| rule.has_selectors() && !rule.is_for_claims());
        // The only pool of a network needs no word of the cluster to serve every pod.
        let is_plain = pools.len() <= 1 && !keeps && (!has_selectors || !is_told);
        let chooses = !pools.is_empty() && (!is_plain || asked.is_special);
        if !chooses && is_told && granted.is_empty() {
            return match self.expect_shown_served(add, &config).await {
                // One that has its addresses keeps them.
                Err(why) if self.requested(add).await.is_some() => Err(why),
                _ => Ok(PodFacts::default()),
            };
        }
        let Some(requested) = self.requested(add).await else { return Ok(PodFacts::default()) };
        let requests = !add.request.requested.is_empty();
        let needs_labels = !granted.is_empty() || keeps || !is_told || (chooses && !requests);
        let pod = add.request.sandbox.pod.as_ref();
        let decides = (chooses && has_selectors) || asked.requires_match || !granted.is_empty();
        let of_namespace = match chooses || names_namespace(&granted) {
            true if decides => NamespaceLabels::Decide,
            true => NamespaceLabels::Help,
            false => NamespaceLabels::Unused,
        };
        let metadata = match pod.filter(|_| needs_labels) {
            // What is not a pod of the cluster has no labels.
            None => PodMetadata::default(),
            Some(pod) => self.labels(pod, network, of_namespace, decides || keeps).await?,
        };
        let claimed = match pod {
            Some(pod) if needs_labels => self.claimed(add, pod, &metadata.pod, pools, &rules).await?,
            Some(_) => {
                self.expect_shown_served(add, &config).await?;
                ClaimedAddresses::default()
            }
            None => ClaimedAddresses::default(),
        };
        // Beside claims, nothing is left of what is requested. An address of no pool here is the policy's to refuse.
        let requested = if claimed.is_empty() { requested } else { Vec::new() };
        let chooses = chooses && (!requests || !requested.is_empty() || !claimed.is_empty());
        let mut context = RequestContext {
            metadata: metadata_of(&granted, &metadata.pod, &metadata.namespace),
            pools: None,
        };
        if chooses {
            let of_node: Vec<String> = config.cluster.networks.values().flatten().cloned().collect();
            let question = PoolQuestion {
                network,
                rules: &rules.rules,
                of_node: &of_node,
                pod: &pod.map(|pod| format!("{}/{}", pod.namespace, pod.name)).unwrap_or_default(),
                requested: &requested,
                configured: asked.named.as_deref(),
                labels: &metadata.pod,
                namespace: &metadata.namespace,
                requires_match: asked.requires_match,
            };
            let chosen = match candidates(&question) {
                Ok(chosen) => chosen,
                // The claims decide alone; another family, if the network has one, gets nothing.
                Err(_) if !claimed.is_empty() => Vec::new(),
                Err(refusal) => return Err(self.refused(refusal, &rules, pod)),
            };
            context.pools = (chosen != pools).then(|| claimed.with(offered(&chosen)).into());
        }
        Ok(PodFacts { context, claimed })
    }
}

#[tonic::async_trait]
impl RequestContexts for PodContexts {
    async fn complete(&self, add: &mut Add) -> Result<()> {
        let PodFacts { context, claimed } = self.facts(add).await?;
        add.request.context = context;
        if !claimed.is_empty() {
            add.request.requested = claimed.addresses();
        }
        Ok(())
    }
}

/// The name in the cluster of a pool of the engine.
fn cluster_name(pool: &PoolName) -> &str {
    let name = pool.as_str();
    FAMILIES.into_iter().find_map(|family| name.strip_suffix(family.suffix())).unwrap_or(name)
}

/// The pools of the engine that stand for these of the cluster, in the same order.
fn offered(pools: &[String]) -> Vec<PoolName> {
    let families = pools.iter().flat_map(|pool| FAMILIES.map(|family| format!("{pool}{}", family.suffix())));
    // The names were checked when the configuration was read.
    families.filter_map(|name| PoolName::new(name).ok()).collect()
}
