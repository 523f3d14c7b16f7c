//! The Claims service for agents: who asks, what it may ask for, and glue between messages and the engine.

mod asked;
mod in_flight;
mod plugin;
mod rights;
mod shown;
mod told_claims;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use tenure_engine::{Agent, Ask, Claimed, Engine};
use tenure_ledger::ClaimKey;
use tenure_types::{Error, ErrorCode, Result};
use tokio::time::{Instant, timeout_at};
use tonic::{Request, Response, Status};

use self::in_flight::{AgentCall, InFlight};
pub use self::rights::{Agents, Reload, Rights};
use self::shown::ShownClaims;
pub use self::shown::claim;
use self::watch::ClaimWatch;
use crate::admission::{AgentLink, OpenAnswer, link};
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

    /// Identifies the caller, and counts one more call of that agent. Its rights are those of when the call may work: it may have queued meanwhile.
    async fn calling<T>(&self, request: &Request<T>) -> Result<(Rights, AgentCall)> {
        let link = link(request)?;
        let before = self.agents.rights(link.peer()).await?;
        let call = self.in_flight.begin(&before.name).await?;
        let rights = self.rights_of(link, &before).await?;
        Ok((rights, call))
    }

    async fn ensure(&self, request: Request<v1::EnsureClaimRequest>) -> Result<v1::EnsureClaimResponse> {
        let (rights, call) = self.calling(&request).await?;
        let link = Arc::clone(link(&request)?);
        let v1::EnsureClaimRequest { claim, wait_ms, scope, from_scope } = request.into_inner();
        let agent = asked::component(rights.agent(), &scope, from_scope.as_deref())?;
        let ask = asked::ask(&claim.unwrap_or_default(), agent.scope.as_ref())?;
        let caller = Caller { link, rights, call, agent };
        let claimed = self.ensure_in_time(caller, &ask, wait_ms).await?;
        Ok(v1::EnsureClaimResponse { claim: Some(shown::claim(&claimed, self.engine.now())) })
    }

    /// Makes sure of a claim; one that its agent may no longer have by then is released again.
    async fn ensure_in_time(&self, caller: Caller, ask: &Ask, wait_ms: u32) -> Result<Claimed> {
        let (agent, network, name) = (caller.rights.name.clone(), ask.network.clone(), ask.name.clone());
        let key = ClaimKey { agent, network, name };
        let existed = self.engine.claimed(&key).is_some();
        let component = caller.agent.clone();
        // Between two attempts it is there, too.
        let _asking = self.engine.asking(&component, std::slice::from_ref(ask));
        let check = |rights: &Rights| rights.check(ask);
        let (claimed, still) = self
            .waiting(caller, wait_ms, check, |agent| async move { self.engine.ensure(&agent, ask).await })
            .await?;
        if let Err(error) = still {
            if !existed {
                self.engine.release_claim(&key).await?;
            }
            return Err(error);
        }
        Ok(claimed)
    }

    async fn declare(&self, request: Request<v1::DeclareClaimsRequest>) -> Result<v1::DeclareClaimsResponse> {
        let (rights, call) = self.calling(&request).await?;
        let link = Arc::clone(link(&request)?);
        let request = request.into_inner();
        let v1::DeclareClaimsRequest { claims, dry_run, wait_ms, routes_apart, scope, from_scope } = request;
        let agent = asked::component(rights.agent(), &scope, from_scope.as_deref())?;
        let asks =
            claims.iter().map(|claim| asked::ask(claim, agent.scope.as_ref())).collect::<Result<Vec<_>>>()?;
        let _asking = (!dry_run).then(|| self.engine.asking(&agent, &asks));
        let caller = Caller { link, rights, call, agent: agent.clone() };
        let check = |rights: &Rights| asks.iter().try_for_each(|ask| rights.check(ask));
        let asks = &asks;
        let attempt = |agent| async move { self.engine.declare(&agent, asks, !dry_run).await };
        let (declared, still) = self.waiting(caller, wait_ms, check, attempt).await?;
        if let Err(error) = still {
            for made in declared.created.iter().filter(|_| !dry_run) {
                self.engine.release_claim(&made.claim.key).await?;
            }
            return Err(error);
        }
        let mut shown = ShownClaims::new(self.engine.now(), routes_apart);
        let mut created = shown.all(declared.created.iter().chain(&declared.kept));
        let kept = created.split_off(declared.created.len());
        Ok(v1::DeclareClaimsResponse {
            created,
            kept,
            released: declared.released.iter().map(shown::id).collect(),
            routes: shown.routes(),
        })
    }

    async fn release(&self, request: Request<v1::ReleaseClaimRequest>) -> Result<v1::ReleaseClaimResponse> {
        let (rights, _call) = self.calling(&request).await?;
        let request = request.into_inner();
        let precondition = asked::precondition(&request)?;
        let claim = request.claim.unwrap_or_default();
        let key = asked::key(&rights.name, &claim.network, &claim.name)?;
        Ok(v1::ReleaseClaimResponse { existed: self.engine.release_claim_if(&key, &precondition).await? })
    }

    async fn watch(&self, request: &Request<v1::WatchClaimsRequest>) -> Result<watch::WatchStream> {
        let link = Arc::clone(link(request)?);
        let answer = request.extensions().get::<Arc<OpenAnswer>>().cloned().unwrap_or_default();
        let Rights { name: agent, .. } = self.agents.rights(link.peer()).await?;
        let Self { engine, agents, stop, .. } = self.clone();
        let v1::WatchClaimsRequest { version, routes_apart, scope } = request.get_ref().clone();
        let filter = asked::filter(scope.as_deref())?;
        watch::begin(ClaimWatch { engine, agents, agent, filter, link, answer, routes_apart, stop }, version)
    }

    async fn list(&self, request: Request<v1::ListClaimsRequest>) -> Result<v1::ListClaimsResponse> {
        let (Rights { name, .. }, _call) = self.calling(&request).await?;
        // What is shown is durable.
        let filter = asked::filter(request.get_ref().scope.as_deref())?;
        let mut claims = self.engine.changes(&name, None).await?.claims;
        claims.retain(|claimed| filter.admits(&claimed.claim));
        let mut shown = ShownClaims::new(self.engine.now(), request.get_ref().routes_apart);
        Ok(v1::ListClaimsResponse { claims: shown.all(&claims), routes: shown.routes() })
    }

    /// Tries until it succeeds, fails for good, or the time is over: a network that does not exist yet may come. Its agent must have the
    /// right to it at each attempt; returns with the outcome whether it still has it.
    async fn waiting<T, F: Future<Output = Result<T>>>(
        &self,
        caller: Caller,
        wait_ms: u32,
        check: impl Fn(&Rights) -> Result<()>,
        attempt: impl Fn(Agent) -> F,
    ) -> Result<(T, Result<()>)> {
        let Caller { link, mut rights, mut call, mut agent } = caller;
        let wait = Duration::from_millis(wait_ms.into()).min(LONGEST_WAIT);
        let until = Instant::now() + wait;
        let (mut changes, mut stop) = (self.engine.network_changes(), self.stop.clone());
        loop {
            changes.mark_unchanged();
            let reload = self.agents.next_reload();
            check(&rights)?;
            let error = match attempt(agent.clone()).await {
                Err(error) if is_early(error.code) => error,
                outcome => {
                    let outcome = outcome?;
                    let still = self.rights_of(&link, &rights).await.and_then(|rights| check(&rights));
                    return Ok((outcome, still));
                }
            };
            let now = Instant::now();
            if now >= until {
                return Err(error);
            }
            // It holds no other call up while it waits.
            let waits = call.waits()?;
            let next = async {
                tokio::select! {
                    _ = changes.changed() => false,
                    () = reload => false,
                    _ = stop.wait_for(|stop| *stop) => true,
                }
            };
            if timeout_at(until.min(now + TRY_AGAIN), next).await == Ok(true) {
                return Err(Error::new(ErrorCode::Stopping, "the daemon is stopping"));
            }
            call = match timeout_at(until.max(now + TRY_AGAIN), waits.works()).await {
                Ok(call) => call?,
                Err(_) => return Err(error),
            };
            rights = self.rights_of(&link, &rights).await?;
            agent.most = rights.claims;
        }
    }

    /// Returns the agent's rights according to the configuration in force.
    async fn rights_of(&self, link: &AgentLink, before: &Rights) -> Result<Rights> {
        let rights = self.agents.rights(link.peer()).await?;
        if rights.name == before.name {
            return Ok(rights);
        }
        let cause = format_args!("the caller is now agent {}, and was agent {}", rights.name, before.name);
        Err(Error::new(ErrorCode::AgentUnknown, cause))
    }
}

/// An agent that calls.
struct Caller {
    link: Arc<AgentLink>,
    rights: Rights,
    call: AgentCall,
    /// The component of the agent that it is.
    agent: Agent,
}

/// Whether a claim that fails in this way may succeed a moment later.
fn is_early(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::UnknownNetwork | ErrorCode::NotReady | ErrorCode::Preparing)
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
        told(self.watch(&request).await)
    }
}
