//! The AgentCni service: an agent that runs the CNI plugin in its own container has claims in this way.
//!
//! The plugin's configuration only names the network. What the network is has been defined elsewhere, since an agent may not define one.

use std::sync::Arc;
use std::time::Duration;

use tenure_engine::{Ask, Claimed, Precondition};
use tenure_ledger::{ClaimKey, Wish};
use tenure_types::cni::{Arguments, Command, Configuration, Dns, Success};
use tenure_types::{AssignedAddress, Error, ErrorCode, Result};
use tonic::{Request, Response, Status};

use super::in_flight::AgentCall;
use super::{Caller, ClaimsService, Rights, asked, shown};
use crate::admission::link;
use crate::v1::{self, Answer, Invocation};

/// The interface that agents name. Its claims are told apart by the container's id alone.
const INTERFACE: &str = "eth0";

/// The argument that container runtimes send for the sandbox of a pod.
const SANDBOX: &str = "K8S_POD_INFRA_CONTAINER_ID=";

impl ClaimsService {
    /// The agent behind a call; refuses what a container runtime asks for a pod.
    async fn agent_of(&self, call: &Request<Invocation>) -> Result<(Rights, AgentCall)> {
        let (rights, in_flight) = self.calling(call).await?;
        if !rights.cni {
            let cause = format_args!("agents.{}.cni does not allow calls of the CNI plugin", rights.name);
            return Err(Error::new(ErrorCode::ClaimDenied, cause));
        }
        if call.get_ref().args.split(';').any(|argument| argument.starts_with(SANDBOX)) {
            let cause = format_args!("agent {} calls for the sandbox of a pod", rights.name);
            return Err(Error::new(ErrorCode::ClaimDenied, cause));
        }
        Ok((rights, in_flight))
    }

    async fn add_by_plugin(&self, call: &Request<Invocation>) -> Result<Answer> {
        let (rights, in_flight) = self.agent_of(call).await?;
        let link = Arc::clone(link(call)?);
        let call = call.get_ref();
        let config = Configuration::parse(&call.config)?;
        let version = config.version(&Command::Add)?;
        let arguments = Arguments::parse(&call.args)?;
        let key = claim_of(&rights, &config, call)?;
        let addresses = config.requested(&arguments)?;
        let wish = Wish { addresses, ..Wish::default() };
        let ask = Ask { network: key.network.clone(), name: key.name.clone(), wish };
        let existed = self.engine.claimed(&key).is_some();
        let wait = half(config.plugin_settings(&Command::Add)?.timeout);
        let agent = rights.agent();
        let caller = Caller { link, rights, call: in_flight, agent };
        let claimed = self.ensure_in_time(caller, &ask, wait).await?;
        match success(&claimed).render(version) {
            Ok(output) => Ok(Answer { output: output.into_bytes() }),
            Err(error) => {
                // A caller that gets an error has no address.
                if !existed {
                    self.engine.release_claim(&key).await?;
                }
                Err(error)
            }
        }
    }

    async fn del_by_plugin(&self, call: &Request<Invocation>) -> Result<()> {
        let (rights, _in_flight) = self.agent_of(call).await?;
        let call = call.get_ref();
        let key = claim_of(&rights, &Configuration::parse(&call.config)?, call)?;
        self.engine.release_claim_if(&key, &Precondition::default()).await.map(drop)
    }

    async fn check_by_plugin(&self, call: &Request<Invocation>) -> Result<()> {
        let (rights, _in_flight) = self.agent_of(call).await?;
        let call = call.get_ref();
        let config = Configuration::parse(&call.config)?;
        config.version(&Command::Check)?;
        self.engine.confirm(&claim_of(&rights, &config, call)?).await
    }

    async fn gc_by_plugin(&self, call: &Request<Invocation>) -> Result<()> {
        self.agent_of(call).await.map(drop)
    }

    async fn status_by_plugin(&self, call: &Request<Invocation>) -> Result<()> {
        let _calling = self.agent_of(call).await?;
        let config = Configuration::parse(&call.get_ref().config)?;
        config.version(&Command::Status)?;
        let unavailable =
            |error: Error| Error::new(ErrorCode::Unavailable, format_args!("{}: {error}", error.code));
        self.engine.readiness().map_err(unavailable)?;
        match self.engine.book(config.name()).await {
            Some(_) => Ok(()),
            None => {
                let cause = format_args!("network {} does not exist yet", config.name());
                Err(Error::new(ErrorCode::Unavailable, cause))
            }
        }
    }
}

/// The claim that a call is about.
fn claim_of(rights: &Rights, config: &Configuration<'_>, call: &Invocation) -> Result<ClaimKey> {
    if call.interface != INTERFACE {
        let cause = format_args!(
            "agent claims always use {INTERFACE}; use CNI_CONTAINERID, not CNI_IFNAME={}, to tell them apart",
            call.interface
        );
        return Err(Error::new(ErrorCode::ClaimInvalid, cause));
    }
    asked::key(&rights.name, config.name().as_str(), &call.container_id)
}

/// A claim as a plugin's result, with the gateways and routes that the network has now.
fn success(claimed: &Claimed) -> Success {
    let address = |place: &tenure_engine::ClaimedPlace| AssignedAddress {
        source: Arc::clone(&place.now),
        ..place.assigned.clone()
    };
    Success {
        addresses: claimed.places.iter().map(address).collect(),
        routes: shown::routes_of(claimed),
        dns: Dns::default(),
        link: None,
    }
}

/// Half of the plugin's time limit, in milliseconds: how long its ADD waits for a network.
fn half(timeout: Duration) -> u32 {
    u32::try_from(timeout.as_millis() / 2).unwrap_or(u32::MAX)
}

/// The answer to a verb that prints nothing.
fn silent(result: Result<()>) -> Result<Response<Answer>, Status> {
    super::told(result.map(|()| Answer::default()))
}

#[tonic::async_trait]
impl v1::agent_cni_server::AgentCni for ClaimsService {
    async fn add(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        super::told(self.add_by_plugin(&call).await)
    }

    async fn del(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        silent(self.del_by_plugin(&call).await)
    }

    async fn check(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        silent(self.check_by_plugin(&call).await)
    }

    async fn gc(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        silent(self.gc_by_plugin(&call).await)
    }

    async fn status(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        silent(self.status_by_plugin(&call).await)
    }
}
