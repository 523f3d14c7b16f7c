//! The Admin service: what operators see and change. Glue between messages and the engine, and nothing else.

mod check;
mod import;
mod list;
mod release;
mod repair;

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use tenure_engine::Engine;
use tenure_engine::ports::CatalogueEntry;
use tenure_ledger::{Book, Standing};
use tenure_runtime::Traces;
use tenure_types::{Allocation, Condition, Error, ErrorCode, NetworkName, PolicyName, PolicyStamp};
use tonic::{Request, Response, Status, Streaming};

use crate::status::to_status;
use crate::v1;

/// What the daemon knows beside its engine.
#[tonic::async_trait]
pub trait Node: Send + Sync + 'static {
    /// The daemon's version.
    fn version(&self) -> &str;
    /// The kernel's id of this boot.
    fn boot_id(&self) -> &str;
    /// Milliseconds since the daemon started.
    fn uptime_ms(&self) -> u64;
    /// Where the checkpoint lies.
    fn state_dir(&self) -> &Path;
    /// Bytes of the checkpoint's log and of its snapshot.
    fn checkpoint_bytes(&self) -> (u64, u64);
    /// The books as the checkpoint on disk would give them back.
    ///
    /// # Errors
    /// `CheckpointFailed` when recovery would stop.
    fn books_on_disk(&self) -> Result<Vec<Book>, Error>;
    /// What the sandboxes of allocations leave to be seen, in their order; and why the runtime, if configured, cannot be asked.
    async fn look_for(&self, held: &[Arc<Allocation>]) -> (Vec<Traces>, Option<Error>);
    /// Confirms a state that was lost to be all there is; says whether it was lost.
    ///
    /// # Errors
    /// `InputOutput` when that cannot be remembered.
    fn adopt(&self) -> Result<bool, Error>;
}

/// Implements the generated service over an engine.
pub struct AdminService {
    engine: Arc<Engine>,
    node: Arc<dyn Node>,
}

impl AdminService {
    /// The service of one node.
    #[must_use]
    pub fn new(engine: Arc<Engine>, node: Arc<dyn Node>) -> Self {
        Self { engine, node }
    }

    async fn books(&self) -> Vec<Arc<Book>> {
        let mut books = Vec::new();
        for name in self.engine.network_names() {
            books.extend(self.engine.book(&name).await);
        }
        books
    }
}

#[tonic::async_trait]
impl v1::admin_server::Admin for AdminService {
    type ListAllocationsStream = list::AllocationStream;
    type ImportAllStream = import::OutcomeStream;

    async fn get_status(
        &self,
        _: Request<v1::GetStatusRequest>,
    ) -> Result<Response<v1::GetStatusResponse>, Status> {
        self.engine.look_at_pools();
        let wrong = self.engine.whats_wrong();
        let state = wrong.first().map_or("ready", |worst| worst.name.severity().name());
        let books = self.books().await;
        let (log_bytes, snapshot_bytes) = self.node.checkpoint_bytes();
        let load = self.engine.load();
        Ok(Response::new(v1::GetStatusResponse {
            state: state.to_owned(),
            reasons: wrong.iter().map(ToString::to_string).collect(),
            version: self.node.version().to_owned(),
            boot_id: self.node.boot_id().to_owned(),
            uptime_ms: self.node.uptime_ms(),
            networks: count(books.len()),
            allocations: books.iter().map(|book| book.allocations().len() as u64).sum(),
            cooling: books.iter().map(|book| book.cooling_addresses().len() as u64).sum(),
            in_flight: count(load.in_flight),
            queued: count(load.queued),
            state_dir: self.node.state_dir().display().to_string(),
            log_bytes,
            snapshot_bytes,
            conditions: wrong.into_iter().map(condition).collect(),
        }))
    }

    async fn list_networks(
        &self,
        _: Request<v1::ListNetworksRequest>,
    ) -> Result<Response<v1::ListNetworksResponse>, Status> {
        let networks = self.books().await.iter().map(|book| network(book)).collect();
        Ok(Response::new(v1::ListNetworksResponse { networks }))
    }

    async fn list_allocations(
        &self,
        request: Request<v1::ListAllocationsRequest>,
    ) -> Result<Response<list::AllocationStream>, Status> {
        let only = request.into_inner().network;
        self.list(&only).await.map(Response::new).map_err(|error| to_status(&error))
    }

    async fn get_address(
        &self,
        request: Request<v1::GetAddressRequest>,
    ) -> Result<Response<v1::GetAddressResponse>, Status> {
        let text = request.into_inner().address;
        let unknown = |cause: String| to_status(&Error::new(ErrorCode::UnknownAddress, cause));
        let address: IpAddr = text.parse().map_err(|_| unknown(format!("{text:?} is not an IP address")))?;
        let states: Vec<_> =
            self.books().await.iter().filter_map(|book| self.address_state(book, address)).collect();
        if states.is_empty() {
            return Err(unknown(format!("{address} is in no range of any network on this node")));
        }
        Ok(Response::new(v1::GetAddressResponse { states }))
    }

    async fn check(&self, _: Request<v1::CheckRequest>) -> Result<Response<v1::CheckResponse>, Status> {
        // Requests go on meanwhile, so memory and disk are read at different moments: only what both looks show is real.
        let (_, first) = self.compare().await?;
        let (compared, mut findings) = self.compare().await?;
        findings.retain(|finding| first.contains(finding));
        Ok(Response::new(v1::CheckResponse { compared, findings }))
    }

    async fn list_policies(
        &self,
        _: Request<v1::ListPoliciesRequest>,
    ) -> Result<Response<v1::ListPoliciesResponse>, Status> {
        let books = self.books().await;
        let users = |stamp: &PolicyStamp| {
            let used = books.iter().filter(|book| book.network().policy.name == stamp.name);
            used.map(|book| book.network().name.to_string()).collect()
        };
        let policies = self.engine.ports().catalogue.list().into_iter().map(
            |CatalogueEntry { stamp, source, problem, loading }| {
                let networks = users(&stamp);
                v1::Policy {
                    policy: Some(policy_ref(&stamp)),
                    source,
                    networks,
                    problem: problem.unwrap_or_default(),
                    loading,
                }
            },
        );
        Ok(Response::new(v1::ListPoliciesResponse { policies: policies.collect() }))
    }

    async fn activate_policy(
        &self,
        request: Request<v1::ActivatePolicyRequest>,
    ) -> Result<Response<v1::ActivatePolicyResponse>, Status> {
        let v1::ActivatePolicyRequest { network, policy } = request.into_inner();
        let network = NetworkName::new(&network).map_err(|_| to_status(&unknown_network(&network)))?;
        let policy = PolicyName::new(policy)
            .map_err(|error| to_status(&Error::new(ErrorCode::UnknownPolicy, error)))?;
        let (before, after) =
            self.engine.activate(&network, &policy).await.map_err(|error| to_status(&error))?;
        Ok(Response::new(v1::ActivatePolicyResponse {
            before: Some(policy_ref(&before)),
            after: Some(policy_ref(&after)),
        }))
    }

    async fn adopt(&self, _: Request<v1::AdoptRequest>) -> Result<Response<v1::AdoptResponse>, Status> {
        let was_lost = self.node.adopt().map_err(|error| to_status(&error))?;
        Ok(Response::new(v1::AdoptResponse { was_lost }))
    }

    async fn import(
        &self,
        request: Request<v1::ImportRequest>,
    ) -> Result<Response<v1::ImportResponse>, Status> {
        self.take_over(request.into_inner()).await.map(Response::new).map_err(|error| to_status(&error))
    }

    async fn import_all(
        &self,
        request: Request<Streaming<v1::ImportPart>>,
    ) -> Result<Response<import::OutcomeStream>, Status> {
        self.take_all_over(request.into_inner()).await.map(Response::new)
    }

    async fn release(
        &self,
        request: Request<v1::ReleaseRequest>,
    ) -> Result<Response<v1::ReleaseResponse>, Status> {
        self.end(request.get_ref()).await.map(Response::new).map_err(|error| to_status(&error))
    }

    async fn repair(
        &self,
        request: Request<v1::RepairRequest>,
    ) -> Result<Response<v1::RepairResponse>, Status> {
        self.mend(request.get_ref()).await.map(Response::new).map_err(|error| to_status(&error))
    }
}

impl AdminService {
    fn address_state(&self, book: &Book, address: IpAddr) -> Option<v1::AddressState> {
        let standing = match book.standing(address) {
            Standing::Outside => return None,
            Standing::Free => "free",
            Standing::Held => "held",
            Standing::Cooling => "cooling",
            Standing::Reserved => "reserved",
        };
        let cooling_for_ms = book.cooling_since(address).map_or(0, |since| {
            let cooled = self.engine.ports().clock.now().since(since);
            let left = self.engine.settings().cooldown.saturating_sub(cooled);
            u64::try_from(left.as_millis()).unwrap_or(u64::MAX)
        });
        Some(v1::AddressState {
            network: book.network().name.to_string(),
            standing: standing.to_owned(),
            allocation: book.holder(address).map(|held| allocation(book, held)),
            cooling_for_ms,
            waiting: book.waiting_for(address).map(|claim| allocation(book, claim)),
        })
    }
}

fn unknown_network(name: &str) -> Error {
    Error::new(ErrorCode::UnknownNetwork, format_args!("no network {name:?} on this node"))
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn policy_ref(stamp: &PolicyStamp) -> v1::PolicyRef {
    v1::PolicyRef { name: stamp.name.to_string(), sha256: stamp.digest.to_string() }
}

fn network(book: &Book) -> v1::Network {
    let network = book.network();
    let pools = network.definition.pools.iter().enumerate().map(|(index, pool)| {
        let usage = book.usage(index);
        let ranges = pool.ranges.iter().map(ToString::to_string).collect();
        let total = pool.ranges.iter().fold(0, |total: u128, range| total.saturating_add(range.count()));
        let total = u64::try_from(total).unwrap_or(u64::MAX);
        v1::Pool { ranges, total, held: usage.held, cooling: usage.cooling }
    });
    v1::Network {
        name: network.name.to_string(),
        policy: Some(policy_ref(&network.policy)),
        activated: network.activated,
        pools: pools.collect(),
        outside: count(book.allocations().filter(|held| book.is_outside(held)).count()),
    }
}

fn condition(condition: Condition) -> v1::Condition {
    let Condition { name, subject, message, since } = condition;
    v1::Condition {
        name: name.to_string(),
        severity: name.severity().to_string(),
        subject,
        message,
        since_ms: since.wall_ms,
        next_step: name.next_step().to_owned(),
    }
}

fn addresses(allocation: &Allocation) -> Vec<String> {
    allocation.addresses.iter().map(|address| address.address.to_string()).collect()
}

fn allocation(book: &Book, held: &Allocation) -> v1::Allocation {
    shown(held, book.is_outside(held), book.is_waiting(held))
}

/// An allocation as operators see it.
fn shown(held: &Allocation, outside: bool, waiting: bool) -> v1::Allocation {
    let pod = held.pod.clone().unwrap_or_default();
    let (container_id, interface) = match held.owner.attachment() {
        Some((container, interface)) => (container.to_string(), interface.to_string()),
        None => (String::new(), String::new()),
    };
    let (source, unknown_because) = match &held.origin {
        Some(origin) => (origin.source.clone(), origin.why.clone()),
        None => (String::new(), String::new()),
    };
    v1::Allocation {
        network: held.network.to_string(),
        generation: held.generation.0,
        container_id,
        interface,
        addresses: addresses(held),
        gateways: held.addresses.iter().filter_map(|address| Some(address.gateway?.to_string())).collect(),
        pod_namespace: pod.namespace,
        pod_name: pod.name,
        pod_uid: pod.uid,
        netns: held.netns.clone(),
        policy: Some(policy_ref(&held.policy)),
        allocated_at_ms: held.allocated_at.wall_ms,
        outside,
        kind: held.owner.kind().to_owned(),
        source,
        unknown_because,
        waiting,
    }
}
