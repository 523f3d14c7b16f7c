//! The Cni service: from an invocation to the engine's words, and from a grant to what the plugin prints.

use std::path::Path;
use std::sync::Arc;

use tenure_engine::{Add, Del, Engine, Gc};
use tenure_types::cni::{Arguments, Command, Configuration, Dns, Success};
use tenure_types::{
    AssignedAddress, ContainerId, Error, ErrorCode, InterfaceName, Moment, NetworkConfig, Owner, Result,
};
use tonic::{Request, Response, Status};

use crate::status::to_status;
use crate::unimported::Unimported;
use crate::v1::{self, Answer, Invocation};

/// Nanoseconds in a millisecond.
const MILLISECOND: u64 = 1_000_000;

/// The host's attribute that carries `runtimeConfig.ipRanges` to a policy.
const IP_RANGES: &str = "runtime-config.ip-ranges";

/// Implements the generated service over an engine.
#[derive(Clone)]
pub struct CniService {
    engine: Arc<Engine>,
    unimported: Arc<Unimported>,
}

impl CniService {
    /// The service of one node. It refuses to make a network of which host-local has addresses, unless those are to be ignored.
    #[must_use]
    pub fn new(engine: Arc<Engine>, ignore_host_local: bool) -> Self {
        Self { engine, unimported: Arc::new(Unimported::new(ignore_host_local)) }
    }

    async fn allocate(&self, call: &Invocation) -> Result<Answer> {
        let config = Configuration::parse(&call.config)?;
        let version = config.version(&Command::Add)?;
        let arguments = Arguments::parse(&call.args)?;
        let (routes, dns) = (config.routes()?, dns(&config)?);
        let success = |addresses: &[AssignedAddress]| Success {
            addresses: addresses.to_vec(),
            routes: routes.clone(),
            dns: dns.clone(),
        };
        let add = Add {
            request: tenure_types::Request {
                network: config.name().clone(),
                owner: owner(call)?,
                requested: config.requested(&arguments)?,
                pod: arguments.pod,
                netns: call.netns.clone(),
                netns_seen: std::fs::metadata(&call.netns).is_ok(),
                requested_at: self.started(&Command::Add, call),
            },
            policy: config.policy()?,
            config: network_config(&config)?,
        };
        self.unimported.check(&self.engine, &config).await?;
        let fits = |addresses: &[AssignedAddress]| success(addresses).render(version).map(drop);
        let grant = self.engine.add(add, fits).await?;
        Ok(Answer { output: success(&grant.addresses).render(version)?.into_bytes() })
    }

    /// Serves a DEL, also one that was spooled: the name of its network is all that its configuration must have.
    ///
    /// # Errors
    /// Those of [`Engine::del`], and `InvalidEnvironment` or `InvalidConfig` for a call that names no attachment.
    pub async fn release(&self, call: &Invocation) -> Result<()> {
        let network = Configuration::parse(&call.config)?.name().clone();
        let del = Del { network, owner: owner(call)?, requested_at: self.started(&Command::Del, call) };
        self.engine.del(del).await
    }

    async fn confirm(&self, call: &Invocation) -> Result<()> {
        let config = Configuration::parse(&call.config)?;
        config.version(&Command::Check)?;
        self.engine.check(config.name(), &owner(call)?).await.map(drop)
    }

    async fn collect(&self, call: &Invocation) -> Result<()> {
        let config = Configuration::parse(&call.config)?;
        config.version(&Command::Gc)?;
        // Without a list nothing is known to be gone.
        let Some(valid) = config.valid_attachments()? else { return Ok(()) };
        let gc = Gc { network: config.name().clone(), valid, requested_at: self.started(&Command::Gc, call) };
        self.engine.gc(gc).await.map(drop)
    }

    async fn probe(&self, call: &Invocation) -> Result<()> {
        let config = Configuration::parse(&call.config)?;
        config.version(&Command::Status)?;
        self.unimported
            .check(&self.engine, &config)
            .await
            .map_err(|error| Error::new(ErrorCode::Unavailable, format_args!("{}: {error}", error.code)))?;
        self.engine.status(config.name(), &config.policy()?, &network_config(&config)?).await
    }

    /// When the plugin was started; a caller that does not say is taken to have started now.
    ///
    /// An old plugin says milliseconds. What it ends may have begun in the same one, so a DEL counts from that one's end.
    fn started(&self, command: &Command, call: &Invocation) -> Moment {
        let now = self.engine.ports().clock.now();
        let boot_ns = match (call.started_at_boot_ns, call.started_at_boot_ms) {
            (0, 0) => now.boot_ns,
            (0, ms) if *command == Command::Del => ms.saturating_add(1).saturating_mul(MILLISECOND) - 1,
            (0, ms) => ms.saturating_mul(MILLISECOND),
            (ns, _) => ns,
        };
        Moment { boot_ns, ..now }
    }
}

fn owner(call: &Invocation) -> Result<Owner> {
    let invalid = |error| Error::new(ErrorCode::InvalidEnvironment, error);
    let container = ContainerId::new(&call.container_id).map_err(invalid)?;
    let interface = InterfaceName::new(&call.interface).map_err(invalid)?;
    Ok(Owner::Attachment { container, interface })
}

/// What the policy gets to read.
pub(crate) fn network_config(config: &Configuration<'_>) -> Result<NetworkConfig> {
    let ranges = config.ip_ranges()?.map(|ranges| (IP_RANGES.to_owned(), ranges.to_owned()));
    Ok(NetworkConfig { ipam: config.ipam_text()?.to_owned(), attributes: ranges.into_iter().collect() })
}

/// The name servers of `ipam.resolvConf`, read anew for each call as host-local does.
fn dns(config: &Configuration<'_>) -> Result<Dns> {
    let Some(path) = config.resolv_conf()? else { return Ok(Dns::default()) };
    let text = std::fs::read_to_string(Path::new(&path)).map_err(|error| {
        Error::new(ErrorCode::InvalidConfig, format_args!("ipam.resolvConf: {path}: {error}"))
    })?;
    Ok(Dns::from_resolv_conf(&text))
}

/// The answer of a verb that prints nothing.
fn silent(result: Result<()>) -> Result<Response<Answer>, Status> {
    result.map(|()| Response::new(Answer::default())).map_err(|error| to_status(&error))
}

#[tonic::async_trait]
impl v1::cni_server::Cni for CniService {
    async fn add(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        self.allocate(call.get_ref()).await.map(Response::new).map_err(|error| to_status(&error))
    }

    async fn del(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        silent(self.release(call.get_ref()).await)
    }

    async fn check(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        silent(self.confirm(call.get_ref()).await)
    }

    async fn gc(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        silent(self.collect(call.get_ref()).await)
    }

    async fn status(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        silent(self.probe(call.get_ref()).await)
    }
}
