//! A caller over gRPC: what the shim asks, without a process for each request.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, anyhow};
use serde_json::{Value, json};
use tenure_rpc::client;
use tenure_rpc::v1::admin_client::AdminClient;
use tenure_rpc::v1::cni_client::CniClient;
use tenure_rpc::v1::{GetStatusRequest, Invocation, ListAllocationsRequest};
use tonic::transport::Channel;
use tonic::{Request, Status};

use crate::journal::{Owners, Pod};

/// No request of a test takes longer unless something hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The daemon said so, with this CNI code.
    #[error("code {code}: {cause}")]
    Refused {
        /// The CNI code.
        code: u32,
        /// The daemon's words.
        cause: String,
    },
    /// The connection broke: what the daemon did is not known.
    #[error("no answer: {0}")]
    Unanswered(String),
    /// Something that no fault explains.
    #[error(transparent)]
    Other(#[from] anyhow::Error),
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        match tenure_rpc::status::report(status.details()) {
            Some(report) => Self::Refused { code: report.code, cause: report.cause },
            None if status.code() == tonic::Code::DeadlineExceeded => Self::Other(anyhow!("hung: {status}")),
            None => Self::Unanswered(status.to_string()),
        }
    }
}

/// A connection to each of a daemon's sockets that a test needs.
#[derive(Debug, Clone)]
pub struct Client {
    cni: CniClient<Channel>,
    admin: AdminClient<Channel>,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// When nobody listens.
    pub async fn connect(run_directory: &Path) -> anyhow::Result<Self> {
        let cni = CniClient::new(client::connect(&run_directory.join("cni.sock")).await?);
        let admin = AdminClient::new(client::connect(&run_directory.join("admin.sock")).await?);
        Ok(Self { cni, admin: admin.max_decoding_message_size(64 << 20) })
    }

    /// Sends an ADD, and returns the address.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn add(&self, pod: &Pod, config: &Value) -> Result<String, Failure> {
        let answer = self.cni.clone().add(invocation(pod, config)).await?.into_inner();
        let result: Value = serde_json::from_slice(&answer.output).context("the answer to an ADD")?;
        let address = result.pointer("/ips/0/address").and_then(Value::as_str);
        Ok(address.with_context(|| format!("no address: {result}"))?.to_owned())
    }

    /// Sends a DEL.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn del(&self, pod: &Pod) -> Result<(), Failure> {
        let config = json!({ "cniVersion": "1.1.0", "name": pod.network });
        self.cni.clone().del(invocation(pod, &config)).await?;
        Ok(())
    }

    /// Whether what served before is loaded, so that the first ADD finds its policy.
    ///
    /// # Errors
    /// When the daemon does not answer.
    pub async fn has_started(&self) -> anyhow::Result<bool> {
        let status = self.admin.clone().get_status(GetStatusRequest::default()).await?.into_inner();
        Ok(status.conditions.iter().all(|condition| condition.name != "starting"))
    }

    /// What pods own, as operators see it.
    ///
    /// # Errors
    /// When the daemon does not answer, or an allocation has not one address.
    pub async fn owners(&self) -> anyhow::Result<Owners> {
        let mut stream =
            self.admin.clone().list_allocations(ListAllocationsRequest::default()).await?.into_inner();
        let mut owners = Owners::new();
        while let Some(allocation) = stream.message().await? {
            let pod = Pod { network: allocation.network, container: allocation.container_id };
            let [address] = allocation.addresses.try_into().map_err(|_| anyhow!("{pod}: not one address"))?;
            let before = owners.insert(pod, address);
            anyhow::ensure!(before.is_none(), "a pod is listed twice: {before:?}");
        }
        Ok(owners)
    }
}

fn invocation(pod: &Pod, config: &Value) -> Request<Invocation> {
    let mut request = Request::new(Invocation {
        container_id: pod.container.clone(),
        netns: format!("/run/nowhere/{}", pod.container),
        interface: "eth0".to_owned(),
        config: config.to_string().into_bytes(),
        ..Invocation::default()
    });
    request.set_timeout(LIMIT);
    request
}
