//! A fake container runtime with a fixed answer, for tests of this crate and, with the feature `fake`, of the daemon.

use std::path::Path;
use std::time::Duration;

use futures_util::stream;
use tokio::net::UnixListener;
use tokio::task::AbortHandle;
use tonic::{Request, Response, Status};

use crate::v1::runtime_service_server::{RuntimeService, RuntimeServiceServer};
use crate::v1::{
    LinuxPodSandboxStatus, ListPodSandboxRequest, ListPodSandboxResponse, Namespace, NamespaceMode,
    NamespaceOption, PodIp, PodSandbox, PodSandboxMetadata, PodSandboxNetworkStatus, PodSandboxState,
    PodSandboxStatus, PodSandboxStatusRequest, PodSandboxStatusResponse,
};

/// How long a slow answer takes.
pub const SLOW: Duration = Duration::from_secs(3);

/// Sandboxes by id: those whose id starts with `host` are in the host's network, those that start with `old` have
/// stopped; asking about one whose id starts with `slow` takes [`SLOW`]. `ID@UID` is the sandbox of a pod, created a second
/// after 1970, or after everything else if the id starts with `late`.
#[derive(Debug)]
pub struct FakeRuntime(pub Vec<&'static str>);

impl FakeRuntime {
    /// Serves at a socket until the handle is aborted. Must be called in a Tokio runtime.
    ///
    /// # Panics
    /// If the socket cannot be bound.
    #[must_use]
    #[expect(clippy::unwrap_used, reason = "a panic fails the test")]
    pub fn serve(self, socket: &Path) -> AbortHandle {
        let incoming = stream::unfold(UnixListener::bind(socket).unwrap(), async |listener| {
            let accepted = listener.accept().await.map(|(stream, _)| stream);
            Some((accepted, listener))
        });
        let server = tonic::transport::Server::builder().add_service(RuntimeServiceServer::new(self));
        tokio::spawn(server.serve_with_incoming(incoming)).abort_handle()
    }
}

#[tonic::async_trait]
impl RuntimeService for FakeRuntime {
    async fn list_pod_sandbox(
        &self,
        _: Request<ListPodSandboxRequest>,
    ) -> Result<Response<ListPodSandboxResponse>, Status> {
        let item = |id: &&str| {
            let stopped = id.starts_with("old");
            let state =
                if stopped { PodSandboxState::SandboxNotready } else { PodSandboxState::SandboxReady };
            let (id, uid) = id.split_once('@').unwrap_or((id, ""));
            let metadata = Some(PodSandboxMetadata { uid: uid.to_owned(), ..PodSandboxMetadata::default() });
            let created_at = if id.starts_with("late") { i64::MAX } else { 1_000_000_000 };
            PodSandbox { id: id.to_owned(), state: state.into(), metadata, created_at }
        };
        Ok(Response::new(ListPodSandboxResponse { items: self.0.iter().map(item).collect() }))
    }

    async fn pod_sandbox_status(
        &self,
        request: Request<PodSandboxStatusRequest>,
    ) -> Result<Response<PodSandboxStatusResponse>, Status> {
        let id = request.into_inner().pod_sandbox_id;
        if id.starts_with("slow") {
            tokio::time::sleep(SLOW).await;
        }
        let in_hosts = id.starts_with("host");
        let network = if in_hosts { NamespaceMode::Node } else { NamespaceMode::Pod };
        let namespaces = Namespace { options: Some(NamespaceOption { network: network.into() }) };
        let linux = Some(LinuxPodSandboxStatus { namespaces: Some(namespaces) });
        let pod_ip = |ip: &str| PodIp { ip: ip.to_owned() };
        let network = match in_hosts {
            true => PodSandboxNetworkStatus::default(),
            false => {
                PodSandboxNetworkStatus { ip: "10.0.0.7".to_owned(), additional_ips: vec![pod_ip("fd00::7")] }
            }
        };
        let status = PodSandboxStatus { network: Some(network), linux };
        Ok(Response::new(PodSandboxStatusResponse { status: Some(status) }))
    }
}
