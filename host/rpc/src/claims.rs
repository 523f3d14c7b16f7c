//! The Claims service for agents: who asks, what it may ask for, and glue between messages and the engine.

mod asked;
mod in_flight;
mod plugin;
mod rights;
mod shown;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use tenure_engine::Engine;
use tenure_types::{Error, ErrorCode, Result};
use tokio::time::{Instant, timeout_at};
use tonic::{Request, Response, Status};

use self::in_flight::{Call, InFlight};
pub use self::rights::{Agents, Rights, matches};
pub use self::shown::claim;
use crate::peer::Peer;
use crate::status::to_status;
use crate::v1;

/// The longest wait for a network.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// How often to try again while a network is awaited, besides whenever one changes.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// Implements the generated service over an engine.
#[derive(Clone)]
pub struct ClaimsService {
    engine: Arc<Engine>,
    agents: Arc<dyn Agents>,
    stop: tokio::sync::watch::Receiver<bool>,
    in_flight: InFlight,
}

impl ClaimsService {
    /// The service of one node. Watches and waits end once `stop` is true.
    #[must_use]
    pub fn new(
        engine: Arc<Engine>,
        agents: Arc<dyn Agents>,
        stop: tokio::sync::watch::Receiver<bool>,
    ) -> Self {
        Self { engine, agents, stop, in_flight: InFlight::default() }
    }

    /// Who asks.
    async fn caller<T>(&self, request: &Request<T>) -> Result<Rights> {
        let peer = request.extensions().get::<Arc<Peer>>();
        let peer = peer.ok_or_else(|| Error::new(ErrorCode::AgentUnknown, "the caller is not known"))?;
        self.agents.rights(peer).await
    }

    /// Who asks, as another call of that agent.
    async fn calling<T>(&self, request: &Request<T>) -> Result<(Rights, Call)> {
        let rights = self.caller(request).await?;
        let call = self.in_flight.begin(&rights.name)?;
        Ok((rights, call))
    }

    async fn ensure(&self, request: Request<v1::EnsureClaimRequest>) -> Result<v1::EnsureClaimResponse> {
        let (rights, _call) = self.calling(&request).await?;
        let v1::EnsureClaimRequest { claim, wait_ms } = request.into_inner();
        let ask = asked::ask(&claim.unwrap_or_default())?;
        rights.check(&ask)?;
        let agent = rights.agent();
        let claimed = self.waiting(wait_ms, || self.engine.ensure(&agent, &ask)).await?;
        Ok(v1::EnsureClaimResponse { claim: Some(claim_of(&self.engine, &claimed)) })
    }

    async fn declare(&self, request: Request<v1::DeclareClaimsRequest>) -> Result<v1::DeclareClaimsResponse> {
        let (rights, _call) = self.calling(&request).await?;
        let v1::DeclareClaimsRequest { claims, dry_run, wait_ms } = request.into_inner();
        let asks = claims.iter().map(asked::ask).collect::<Result<Vec<_>>>()?;
        asks.iter().try_for_each(|ask| rights.check(ask))?;
        let agent = rights.agent();
        let declared = self.waiting(wait_ms, || self.engine.declare(&agent, &asks, !dry_run)).await?;
        let all = |claims: &[_]| claims.iter().map(|claimed| claim_of(&self.engine, claimed)).collect();
        Ok(v1::DeclareClaimsResponse {
            created: all(&declared.created),
            kept: all(&declared.kept),
            released: declared.released.iter().map(shown::id).collect(),
        })
    }

    async fn release(&self, request: Request<v1::ReleaseClaimRequest>) -> Result<v1::ReleaseClaimResponse> {
        let (rights, _call) = self.calling(&request).await?;
        let claim = request.into_inner().claim.unwrap_or_default();
        let key = asked::key(&rights.name, &claim.network, &claim.name)?;
        Ok(v1::ReleaseClaimResponse { existed: self.engine.release_claim(&key).await? })
    }

    async fn list(&self, request: Request<v1::ListClaimsRequest>) -> Result<v1::ListClaimsResponse> {
        let (Rights { name, .. }, _call) = self.calling(&request).await?;
        // What is shown is durable.
        let claims = self.engine.changes(&name, None).await?.claims;
        Ok(v1::ListClaimsResponse {
            claims: claims.iter().map(|claimed| claim_of(&self.engine, claimed)).collect(),
        })
    }

    /// Tries until it succeeds, fails for good, or the time is over: a network that does not exist yet may come.
    async fn waiting<T, F: Future<Output = Result<T>>>(
        &self,
        wait_ms: u32,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T> {
        let wait = Duration::from_millis(wait_ms.into()).min(LONGEST_WAIT);
        let until = Instant::now() + wait;
        let (mut changes, mut stop) = (self.engine.claim_changes(), self.stop.clone());
        loop {
            changes.mark_unchanged();
            let error = match attempt().await {
                Err(error) if is_early(error.code) => error,
                outcome => return outcome,
            };
            let now = Instant::now();
            if now >= until {
                return Err(error);
            }
            let next = async {
                tokio::select! {
                    _ = changes.changed() => false,
                    _ = stop.wait_for(|stop| *stop) => true,
                }
            };
            if timeout_at(until.min(now + TRY_AGAIN), next).await == Ok(true) {
                return Err(Error::new(ErrorCode::Stopping, "the daemon is stopping"));
            }
        }
    }
}

/// Whether a claim that fails in this way may succeed a moment later.
fn is_early(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::UnknownNetwork | ErrorCode::NotReady)
}

fn claim_of(engine: &Engine, claimed: &tenure_engine::Claimed) -> v1::Claim {
    claim(claimed, engine.now())
}

/// An answer, or the status for its error.
fn told<T>(answer: Result<T>) -> Result<Response<T>, Status> {
    answer.map(Response::new).map_err(|error| to_status(&error))
}

#[tonic::async_trait]
impl v1::claims_server::Claims for ClaimsService {
    type WatchStream = watch::WatchStream;

    async fn ensure(
        &self,
        request: Request<v1::EnsureClaimRequest>,
    ) -> Result<Response<v1::EnsureClaimResponse>, Status> {
        told(self.ensure(request).await)
    }

    async fn declare(
        &self,
        request: Request<v1::DeclareClaimsRequest>,
    ) -> Result<Response<v1::DeclareClaimsResponse>, Status> {
        told(self.declare(request).await)
    }

    async fn release(
        &self,
        request: Request<v1::ReleaseClaimRequest>,
    ) -> Result<Response<v1::ReleaseClaimResponse>, Status> {
        told(self.release(request).await)
    }

    async fn list(
        &self,
        request: Request<v1::ListClaimsRequest>,
    ) -> Result<Response<v1::ListClaimsResponse>, Status> {
        told(self.list(request).await)
    }

    async fn watch(
        &self,
        request: Request<v1::WatchClaimsRequest>,
    ) -> Result<Response<watch::WatchStream>, Status> {
        let rights = self.caller(&request).await.map_err(|error| to_status(&error))?;
        let version = request.into_inner().version;
        told(watch::begin(Arc::clone(&self.engine), rights.name, version, self.stop.clone()))
    }
}
