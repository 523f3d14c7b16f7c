//! An API server with the definitions; pools and nodes; operators whose clock a test moves.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context as _;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tenure_cluster::client::{call, connect};
use tenure_cluster::{AddressClaim, AddressPool, AddressSpace, IPBlock, NodeIPAM};
use tenure_fixtures::control_plane::proxy::FaultProxy;
use tenure_fixtures::control_plane::{ADMIN_TOKEN, ControlPlane, kubelets_node};
use tenure_fixtures::wait;
use tenure_operator::Operator;
use tenure_operator::reports::Reports;
use tenure_operator::view::Watches;
use tenure_supervise::{Gate, Interruptible as _};
use tenure_types::Clock;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::clock::TestClock;
use crate::setup::{all, clear, clear_claims, define, define_later, install};

/// The longest that anything may take on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// The control plane with the definitions.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) runtime: Runtime,
    pub(crate) kubeconfig: PathBuf,
    plane: Mutex<ControlPlane>,
}

/// An operator in this process.
pub(crate) struct TestOperator {
    pub(crate) operator: Operator,
    watches: JoinHandle<()>,
}

impl Drop for TestOperator {
    fn drop(&mut self) {
        self.watches.abort();
    }
}

impl Cluster {
    /// Starts it, and waits until each kind is served.
    pub(crate) fn start() -> anyhow::Result<Self> {
        // Another part of the program may have installed it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let mut plane = ControlPlane::start()?;
        let kubeconfig = plane.kubeconfig(ADMIN_TOKEN)?;
        let client = runtime.block_on(async {
            let begin = Instant::now();
            loop {
                plane.check()?;
                match install(&kubeconfig).await {
                    Ok(client) => return Ok(client),
                    Err(error) if begin.elapsed() > LIMIT => return Err(error),
                    Err(_) => sleep(Duration::from_millis(100)).await,
                }
            }
        })?;
        Ok(Self { client, runtime, kubeconfig, plane: Mutex::new(plane) })
    }

    /// Kills the API server, and starts it again when `meanwhile` returns.
    pub(crate) fn without_server(
        &self,
        meanwhile: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.plane.lock().unwrap().stop_server()?;
        let result = meanwhile();
        self.plane.lock().unwrap().start_server()?;
        self.served()?;
        result
    }

    /// Changes the control plane, and waits until it serves every kind again.
    pub(crate) fn with_plane<T>(
        &self,
        change: impl FnOnce(&mut ControlPlane) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let result = change(&mut self.plane.lock().unwrap())?;
        self.served()?;
        Ok(result)
    }

    fn served(&self) -> anyhow::Result<()> {
        self.until("the API server to be back", || {
            self.plane.lock().unwrap().check()?;
            let kinds = [
                self.list::<AddressPool>().is_ok(),
                self.list::<AddressSpace>().is_ok(),
                self.list::<IPBlock>().is_ok(),
                self.list::<NodeIPAM>().is_ok(),
                self.list::<Node>().is_ok(),
                self.list::<AddressClaim>().is_ok(),
            ];
            Ok((kinds == [true; 6]).then_some(()))
        })
    }

    /// A client that is led through a proxy.
    pub(crate) fn client_through(&self, proxy: &FaultProxy) -> anyhow::Result<Client> {
        Ok(self.runtime.block_on(connect(Some(&proxy.kubeconfig(ADMIN_TOKEN)?)))?)
    }

    /// Applies the definitions again, and waits until each is served.
    pub(crate) fn install(&self) -> anyhow::Result<()> {
        self.until("the definitions", || Ok(self.runtime.block_on(define(&self.client)).ok()))?;
        self.served()
    }

    /// Lets the API server take a reason of a mark, and a field of each object, that are of a later version, while something is written.
    pub(crate) fn with_later_definition<T>(
        &self,
        write: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        self.runtime.block_on(define_later(&self.client))?;
        let result = write();
        self.install()?;
        result
    }

    /// Removes what the last test left.
    pub(crate) fn clear(&self) -> anyhow::Result<()> {
        self.runtime.block_on(async {
            clear_claims(&self.client).await?;
            clear::<AddressPool>(&self.client).await?;
            clear::<IPBlock>(&self.client).await?;
            clear::<NodeIPAM>(&self.client).await?;
            clear::<AddressSpace>(&self.client).await?;
            clear::<Node>(&self.client).await
        })
    }

    /// Creates a pool of IPv4.
    pub(crate) fn pool(
        &self,
        name: &str,
        cidr: &str,
        prefix: u8,
        more: &Value,
    ) -> anyhow::Result<AddressPool> {
        let mut spec = json!({ "ipv4": { "cidrs": [cidr], "blockPrefix": prefix } });
        for (field, value) in more.as_object().into_iter().flatten() {
            spec[field] = value.clone();
        }
        self.create(&AddressPool::new(name, serde_json::from_value(spec)?))
    }

    /// Creates a Node, as the kubelet of a machine registers it.
    pub(crate) fn host(&self, name: &str, machine: &str, boot: u64) -> anyhow::Result<Node> {
        let node = kubelets_node(name, machine, &format!("00000000-0000-4000-8000-{boot:012x}"));
        self.create(&serde_json::from_value::<Node>(node)?)
    }

    /// An operator without memory, which has listed everything.
    pub(crate) fn operator(&self, clock: &Arc<TestClock>) -> anyhow::Result<TestOperator> {
        self.operator_with(&self.client, clock, Reports::default())
    }

    /// An operator with a client and reports of its own.
    pub(crate) fn operator_with(
        &self,
        client: &Client,
        clock: &Arc<TestClock>,
        reports: Reports,
    ) -> anyhow::Result<TestOperator> {
        let mut watches = Watches::new(client, &reports.metrics);
        let clock: Arc<dyn Clock> = Arc::clone(clock) as _;
        let operator = Operator::new(client.clone(), &watches, clock, Gate::default()).with_reports(reports);
        let stores = watches.stores();
        let watches = self.runtime.spawn(async move { watches.work().await });
        self.until("the watches to list everything", || Ok((stores.listings() > 0).then_some(())))?;
        Ok(TestOperator { operator, watches })
    }

    /// Makes passes of an operator until a probe returns something.
    pub(crate) fn drive<T>(
        &self,
        operator: &mut TestOperator,
        what: &str,
        mut probe: impl FnMut() -> anyhow::Result<Option<T>>,
    ) -> anyhow::Result<T> {
        self.until(what, || {
            self.runtime.block_on(operator.operator.pass());
            probe()
        })
    }

    /// Repeats a probe until it returns something.
    pub(crate) fn until<T>(
        &self,
        what: &str,
        probe: impl FnMut() -> anyhow::Result<Option<T>>,
    ) -> anyhow::Result<T> {
        wait::until(what, LIMIT, probe)
    }

    pub(crate) fn create<K>(&self, object: &K) -> anyhow::Result<K>
    where
        K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned + Serialize,
    {
        let api: Api<K> = all(&self.client);
        Ok(self.runtime.block_on(call(api.create(&PostParams::default(), object)))?)
    }

    pub(crate) fn get<K>(&self, name: &str) -> anyhow::Result<Option<K>>
    where
        K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned,
    {
        let api: Api<K> = all(&self.client);
        Ok(self.runtime.block_on(call(api.get_opt(name)))?)
    }

    pub(crate) fn list<K>(&self) -> anyhow::Result<Vec<K>>
    where
        K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned,
    {
        let api: Api<K> = all(&self.client);
        Ok(self.runtime.block_on(call(api.list(&ListParams::default())))?.items)
    }

    pub(crate) fn delete<K>(&self, name: &str) -> anyhow::Result<()>
    where
        K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned,
    {
        let api: Api<K> = all(&self.client);
        self.runtime.block_on(call(api.delete(name, &DeleteParams::default())))?;
        Ok(())
    }

    pub(crate) fn change<K>(&self, name: &str, patch: &Value) -> anyhow::Result<K>
    where
        K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned,
    {
        let api: Api<K> = all(&self.client);
        let parameters = PatchParams::default();
        Ok(self.runtime.block_on(call(api.patch(name, &parameters, &Patch::Merge(patch))))?)
    }

    /// The status and the reason of a pool's condition.
    pub(crate) fn condition(&self, pool: &str, name: &str) -> anyhow::Result<Option<(String, String)>> {
        let pool: AddressPool = self.get(pool)?.context("no pool")?;
        let conditions = pool.status.map(|status| status.conditions).unwrap_or_default();
        let found = conditions.into_iter().find(|condition| condition.type_ == name);
        Ok(found.map(|condition| (condition.status, condition.reason)))
    }
}
