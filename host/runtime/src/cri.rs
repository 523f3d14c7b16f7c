//! The container runtime, queried over CRI for its sandboxes. A runtime that does not answer proves nothing.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use tenure_types::{Error, ErrorCode, hold};
use tonic::transport::{self, Channel, Endpoint};
use tonic::{Code, Status};

use crate::listed::{ListedSandbox, SandboxList};
use crate::v1::runtime_service_client::RuntimeServiceClient;
use crate::v1::{
    ListPodSandboxRequest, NamespaceMode, PodSandbox, PodSandboxFilter, PodSandboxState,
    PodSandboxStatusRequest, PodSandboxStatusResponse,
};

/// The deadline of an answer: a loaded runtime lists slowly, but only a timer waits for it.
const DEADLINE: Duration = Duration::from_secs(10);

/// The same, if an operator waits for it.
const PEOPLES_DEADLINE: Duration = Duration::from_secs(5);

/// The most bytes of a list: each sandbox comes with its labels and annotations.
const LONGEST_LIST: usize = 64 << 20;

/// The label that kubelets give to sandboxes, with the uid of their pod.
const POD_UID: &str = "io.kubernetes.pod.uid";

/// A pod's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodName {
    /// The namespace in Kubernetes.
    pub namespace: String,
    /// The name within the namespace.
    pub name: String,
}

/// A container runtime at a socket. Each query opens its own connection.
#[derive(Debug, Clone)]
pub struct Runtime {
    socket: PathBuf,
    deadline: Duration,
}

impl Runtime {
    /// The runtime that listens at a socket.
    #[must_use]
    pub fn at(socket: PathBuf) -> Self {
        Self { socket, deadline: DEADLINE }
    }

    /// The same runtime, for queries that a person waits for.
    #[must_use]
    pub fn for_people(mut self) -> Self {
        self.deadline = PEOPLES_DEADLINE;
        self
    }

    /// The name of the pod with this uid; `None` if the runtime knows none. It is asked for this pod alone.
    ///
    /// # Errors
    /// `Unreachable` if the runtime cannot be queried.
    pub async fn pod(&self, uid: &str) -> Result<Option<PodName>, Error> {
        self.in_time(async {
            let label_selector = HashMap::from([(POD_UID.to_owned(), uid.to_owned())]);
            let request = ListPodSandboxRequest { filter: Some(PodSandboxFilter { label_selector }) };
            let listed = list_some(&mut self.client().await?, request).await?.into_iter();
            // A runtime that does not know the label lists all.
            let found = listed.filter_map(|sandbox| sandbox.metadata).find(|of| of.uid == uid);
            Ok(found.map(|of| PodName { namespace: of.namespace, name: of.name }))
        })
        .await
    }

    /// Whether any running pod has its own network; pods in the host's network have no address of ours.
    ///
    /// # Errors
    /// `Unreachable` if the runtime cannot be queried.
    pub async fn has_pods(&self) -> Result<bool, Error> {
        self.in_time(async {
            let mut client = self.client().await?;
            for sandbox in list(&mut client).await? {
                if sandbox.state() == PodSandboxState::SandboxReady
                    && has_network(&mut client, sandbox.id).await?
                {
                    return Ok(true);
                }
            }
            Ok(false)
        })
        .await
    }

    /// Makes `known` the addresses of all running pods, by sandbox. For those that it has, the runtime is not asked again. What was learned
    /// before an error stays in it, so that a slow runtime need not answer for all of them within one deadline.
    ///
    /// # Errors
    /// `Unreachable` if the runtime cannot be queried; `known` may then lack some.
    pub(crate) async fn addresses(&self, known: &Mutex<HashMap<String, Vec<IpAddr>>>) -> Result<(), Error> {
        self.in_time(async {
            let mut client = self.client().await?;
            let listed = list(&mut client).await?.into_iter();
            let running = listed.filter(|sandbox| sandbox.state() == PodSandboxState::SandboxReady);
            let running: BTreeSet<String> = running.map(|sandbox| sandbox.id).collect();
            hold(known).retain(|sandbox, _| running.contains(sandbox));
            for sandbox in running {
                if hold(known).get(&sandbox).is_none_or(Vec::is_empty) {
                    let of = addresses_of(&mut client, sandbox.clone()).await?;
                    hold(known).insert(sandbox, of);
                }
            }
            Ok(())
        })
        .await
    }

    async fn client(&self) -> Result<RuntimeServiceClient<Channel>, Error> {
        let address = format!("unix:{}", self.socket.display());
        let endpoint = Endpoint::from_shared(address).map_err(|error| self.unreachable(&error))?;
        let channel = endpoint.connect().await.map_err(|error| self.unreachable(&error))?;
        Ok(RuntimeServiceClient::new(channel).max_decoding_message_size(LONGEST_LIST))
    }

    fn unreachable(&self, error: &transport::Error) -> Error {
        // The outermost error only says "transport error"; the innermost is that of the operating system.
        let mut cause: &dyn std::error::Error = error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        Error::new(ErrorCode::Unreachable, format_args!("{}: {cause}", self.socket.display()))
    }

    async fn in_time<T>(&self, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        tokio::time::timeout(self.deadline, answer).await.unwrap_or_else(|_| {
            let (socket, seconds) = (self.socket.display(), self.deadline.as_secs());
            let cause = format_args!("{socket}: the container runtime did not answer in {seconds} s");
            Err(Error::new(ErrorCode::Unreachable, cause))
        })
    }
}

#[tonic::async_trait]
impl SandboxList for Runtime {
    async fn list(&self) -> Result<Vec<ListedSandbox>, Error> {
        let listed = self.in_time(async { list(&mut self.client().await?).await }).await?;
        Ok(listed.into_iter().map(item).collect())
    }
}

fn item(PodSandbox { id, metadata, created_at, .. }: PodSandbox) -> ListedSandbox {
    ListedSandbox { id, pod_uid: metadata.map(|metadata| metadata.uid).unwrap_or_default(), created_at }
}

async fn list(client: &mut RuntimeServiceClient<Channel>) -> Result<Vec<PodSandbox>, Error> {
    list_some(client, ListPodSandboxRequest::default()).await
}

async fn list_some(
    client: &mut RuntimeServiceClient<Channel>,
    request: ListPodSandboxRequest,
) -> Result<Vec<PodSandbox>, Error> {
    let answer = client.list_pod_sandbox(request).await.map_err(|status| silent(&status))?;
    Ok(answer.into_inner().items)
}

async fn has_network(client: &mut RuntimeServiceClient<Channel>, sandbox: String) -> Result<bool, Error> {
    let Some(status) = status(client, sandbox).await? else { return Ok(false) };
    let options = || status.status?.linux?.namespaces?.options;
    Ok(options().is_none_or(|options| options.network() != NamespaceMode::Node))
}

async fn addresses_of(
    client: &mut RuntimeServiceClient<Channel>,
    sandbox: String,
) -> Result<Vec<IpAddr>, Error> {
    let network = status(client, sandbox).await?.and_then(|status| status.status?.network);
    let Some(network) = network else { return Ok(Vec::new()) };
    let all = std::iter::once(network.ip).chain(network.additional_ips.into_iter().map(|more| more.ip));
    Ok(all.filter_map(|address| address.parse().ok()).collect())
}

/// Asks the runtime for a sandbox's status; `None` if it has ended meanwhile.
async fn status(
    client: &mut RuntimeServiceClient<Channel>,
    pod_sandbox_id: String,
) -> Result<Option<PodSandboxStatusResponse>, Error> {
    match client.pod_sandbox_status(PodSandboxStatusRequest { pod_sandbox_id }).await {
        Ok(answer) => Ok(Some(answer.into_inner())),
        Err(status) if status.code() == Code::NotFound => Ok(None),
        Err(status) => Err(silent(&status)),
    }
}

fn silent(status: &Status) -> Error {
    Error::new(ErrorCode::Unreachable, format_args!("the container runtime: {}", status.message()))
}

#[cfg(test)]
mod tests;
