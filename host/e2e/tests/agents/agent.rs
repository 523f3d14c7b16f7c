//! An agent on the node: a thread that runs as a user of its own and claims addresses.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};
use rustix::process::Gid;
use tenure_rpc::client;
use tenure_rpc::status::from_status;
use tenure_rpc::v1::claims_client::ClaimsClient;
use tenure_rpc::v1::{
    Claim, ClaimId, ClaimSpec, DeclareClaimsRequest, DeclareClaimsResponse, EnsureClaimRequest,
    ListClaimsRequest, ReleaseClaimRequest, WatchClaimsRequest, WatchClaimsResponse,
};
use tenure_types::Error;
use tonic::transport::Channel;
use tonic::{Request, Streaming};

/// A request that takes longer counts as hung.
const LIMIT: Duration = Duration::from_secs(60);

/// An agent that is known by the group it runs as.
#[derive(Debug, Clone)]
pub(crate) struct Agent {
    socket: PathBuf,
    /// The group; `None` for the test's own.
    gid: Option<u32>,
}

/// The agent's connection.
pub(crate) struct Connected(pub(crate) ClaimsClient<Channel>);

impl Agent {
    pub(crate) fn at(run_directory: &Path) -> Self {
        Self { socket: run_directory.join(tenure_rpc::AGENT_SOCKET), gid: None }
    }

    pub(crate) fn in_group(&self, gid: u32) -> Self {
        Self { gid: Some(gid), ..self.clone() }
    }

    /// Connects as this agent and does something. The outer error is of the test itself.
    pub(crate) fn does<T: Send + 'static>(
        &self,
        what: impl AsyncFnOnce(&mut Connected) -> Result<T, Error> + Send + 'static,
    ) -> anyhow::Result<Result<T, Error>> {
        let agent = self.clone();
        // The group is the thread's: nothing else of this process changes.
        let thread = std::thread::spawn(move || agent.does_here(what));
        thread.join().map_err(|_| anyhow!("the agent's thread panicked"))?
    }

    /// The same in this thread, which becomes the agent's.
    pub(crate) fn does_here<T>(
        &self,
        what: impl AsyncFnOnce(&mut Connected) -> Result<T, Error>,
    ) -> anyhow::Result<Result<T, Error>> {
        if let Some(gid) = self.gid {
            rustix::thread::set_thread_gid(Gid::from_raw(gid)).context("cannot change the group")?;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let connecting = tokio::time::timeout(LIMIT, client::connect(&self.socket)).await?;
            let mut connected = match connecting {
                Ok(channel) => Connected(ClaimsClient::new(channel)),
                Err(error) => return Ok(Err(error)),
            };
            Ok(what(&mut connected).await)
        })
    }

    /// The addresses of a claim.
    pub(crate) fn ensures(&self, claim: ClaimSpec) -> anyhow::Result<Result<Vec<String>, Error>> {
        self.does(async move |agent| agent.ensure(claim, 0).await)
    }

    pub(crate) fn declares(
        &self,
        claims: Vec<ClaimSpec>,
        dry_run: bool,
    ) -> anyhow::Result<Result<DeclareClaimsResponse, Error>> {
        self.does(async move |agent| {
            let request = DeclareClaimsRequest { claims, dry_run, ..Default::default() };
            Ok(agent.0.declare(timed(request)).await.map_err(|status| from_status(&status))?.into_inner())
        })
    }

    pub(crate) fn releases(&self, network: &str, name: &str) -> anyhow::Result<Result<bool, Error>> {
        let claim = Some(ClaimId { network: network.to_owned(), name: name.to_owned() });
        self.does(async move |agent| {
            let answer = agent.0.release(timed(ReleaseClaimRequest { claim, ..Default::default() })).await;
            Ok(answer.map_err(|status| from_status(&status))?.into_inner().existed)
        })
    }

    pub(crate) fn lists(&self) -> anyhow::Result<Result<Vec<Claim>, Error>> {
        self.does(async |agent| {
            let answer = agent.0.list(timed(ListClaimsRequest::default())).await;
            Ok(answer.map_err(|status| from_status(&status))?.into_inner().claims)
        })
    }
}

impl Connected {
    pub(crate) async fn ensure(&mut self, claim: ClaimSpec, wait_ms: u32) -> Result<Vec<String>, Error> {
        let request = EnsureClaimRequest { claim: Some(claim), wait_ms, ..Default::default() };
        let answer = self.0.ensure(timed(request)).await.map_err(|status| from_status(&status))?;
        Ok(addresses(&answer.into_inner().claim.unwrap_or_default()))
    }

    pub(crate) async fn watch(&mut self, version: &str) -> Result<Streaming<WatchClaimsResponse>, Error> {
        let request = WatchClaimsRequest { version: version.to_owned(), ..Default::default() };
        Ok(self.0.watch(request).await.map_err(|status| from_status(&status))?.into_inner())
    }
}

/// The next response of a watch.
pub(crate) async fn next(watch: &mut Streaming<WatchClaimsResponse>) -> Result<WatchClaimsResponse, Error> {
    let hung = |_| Error::new(tenure_types::ErrorCode::DeadlineExceeded, "the watch says nothing");
    let next = tokio::time::timeout(LIMIT, watch.message()).await.map_err(hung)?;
    let next = next.map_err(|status| from_status(&status))?;
    next.ok_or_else(|| Error::new(tenure_types::ErrorCode::Unreachable, "the watch has ended"))
}

fn timed<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(LIMIT);
    request
}

/// A claim's addresses, without their prefix lengths.
pub(crate) fn addresses(claim: &Claim) -> Vec<String> {
    let bare = |text: &String| text.split('/').next().unwrap_or_default().to_owned();
    claim.addresses.iter().map(|address| bare(&address.address)).collect()
}

/// A claim on the network `pods`.
pub(crate) fn claim(name: &str) -> ClaimSpec {
    ClaimSpec { network: "pods".to_owned(), name: name.to_owned(), ..ClaimSpec::default() }
}

/// The same, for this address.
pub(crate) fn wanting(name: &str, address: &str) -> ClaimSpec {
    ClaimSpec { addresses: vec![address.to_owned()], ..claim(name) }
}
