//! The Cni service: translates an invocation into an engine request, and a grant into the plugin's output.

mod context;
mod deferral;
mod eni;
mod foreseen;
mod frame;
mod patience;
mod unimported;

use std::sync::Arc;
use std::time::Duration;

use tenure_engine::{Add, CalledWith, Del, Engine, Gc};
use tenure_runtime::netns;
use tenure_types::cni::{Arguments, Command, Configuration, Dns, Route, SpecVersion, Success};
use tenure_types::{
    AssignedAddress, ContainerId, Error, ErrorCode, InterfaceName, Moment, NetworkConfig, NetworkName, Owner,
    Place, RequestContext, Result, Sandbox,
};
use tokio::sync::Semaphore;
use tonic::{Request, Response, Status};

pub use self::context::RequestContexts;
pub use self::deferral::{Deferrable, Deferral};
pub use self::foreseen::{ForeseenNetwork, foreseen};
use self::frame::AnswerFrame;
use self::patience::patience;
use self::unimported::Unimported;
use crate::resolv_conf;
use crate::routes::defined_routes;
use crate::status::to_status;
use crate::v1::{self, Answer, Invocation};

/// Nanoseconds in a millisecond.
const MILLISECOND: u64 = 1_000_000;

/// The attribute in which the host passes `runtimeConfig.ipRanges` to a policy.
const IP_RANGES: &str = "runtime-config.ip-ranges";

/// The number of files that the daemon reads concurrently for plugins that do not send them; a read that hangs blocks only
/// its slot.
const READERS: usize = 4;

/// Implements the generated service over an engine.
#[derive(Clone)]
pub struct CniService {
    engine: Arc<Engine>,
    unimported: Arc<Unimported>,
    readers: Arc<Semaphore>,
    deferral: Option<Arc<dyn Deferral>>,
    contexts: Option<Arc<dyn RequestContexts>>,
}

impl CniService {
    /// The service of one node. Unless `ignore_host_local` is set, the engine refuses new owners on a network for which host-local
    /// has addresses that were not imported.
    #[must_use]
    pub fn new(engine: Arc<Engine>, ignore_host_local: bool) -> Self {
        let unimported = Arc::new(Unimported::new(ignore_host_local));
        engine.compare_with_others(Arc::clone(&unimported) as _);
        Self {
            engine,
            unimported,
            readers: Arc::new(Semaphore::new(READERS)),
            deferral: None,
            contexts: None,
        }
    }

    /// Sets whether host-local's state is ignored from now on.
    pub fn ignore_host_local(&self, ignore: bool) {
        self.unimported.ignore(ignore);
    }

    async fn add(&self, call: &Request<Invocation>, plugin: Plugin) -> Result<Answer> {
        let (call, patience) = (call.get_ref(), patience(call.metadata()));
        let read = self.read(call, plugin).await;
        let (mut add, version, frame) = read.inspect_err(|error| unread(&Command::Add, call, error))?;
        if let Some(contexts) = &self.contexts {
            let completed = contexts.complete(&mut add).await;
            completed.inspect_err(|error| unread(&Command::Add, call, error))?;
        }
        let network = add.request.network.clone();
        let none = Ok(Vec::new());
        let defined = self.defined_routes(&network, plugin);
        let fits = |addresses: &[AssignedAddress]| {
            frame.with(addresses, defined.as_ref().unwrap_or(&none))?.render(version).map(drop)
        };
        let added = tokio::select! {
            biased;
            added = self.engine.add(add, fits) => added,
            refusal = self.no_supply(&network, patience) => Err(refusal),
        };
        let grant = match added {
            Ok(grant) => grant,
            Err(refusal) => return Err(self.told_first(&network, version, refusal).await),
        };
        // The network may not have been defined before. What `fits` has accepted is not refused any more.
        let defined = defined.or_else(|| self.defined_routes(&network, plugin).filter(Result::is_ok));
        let success = frame.with(&grant.addresses, defined.as_ref().unwrap_or(&none));
        let success = success.inspect_err(|error| unread(&Command::Add, call, error))?;
        let success = match grant.link {
            Some(link) => success.on(link),
            None => success,
        };
        Ok(Answer { output: success.render(version)?.into_bytes() })
    }

    /// Waits until an ADD's caller cannot wait any longer, and says why requests still wait for the network's supply. If
    /// none does, the ADD waits for something else, and this never ends.
    async fn no_supply(&self, network: &NetworkName, patience: Option<Duration>) -> Error {
        if let Some(patience) = patience {
            tokio::time::sleep(patience).await;
            if let Some(why) = self.engine.why_waiting(network) {
                return why;
            }
        }
        std::future::pending().await
    }

    /// The routes of a definition that no call can change, for pods whose links other plugins make; `None` without such a definition.
    /// One of an earlier version, which did not read them, may have an invalid one.
    fn defined_routes(&self, network: &NetworkName, plugin: Plugin) -> Option<Result<Vec<Route>>> {
        let definition = self.engine.fixed_definition(network).filter(|_| plugin == Plugin::Ipam)?;
        Some(defined_routes(&definition).map_err(|error| {
            Error::new(error.code, format_args!("the definition of network {network}: {error}"))
        }))
    }

    /// The engine's request for an ADD, the spec version of the answer, and the answer without its addresses.
    async fn read(&self, call: &Invocation, plugin: Plugin) -> Result<(Add, SpecVersion, AnswerFrame)> {
        let config = Configuration::parse(&call.config)?;
        let version = config.version(&Command::Add)?;
        let arguments = Arguments::parse(&call.args)?;
        let (owner, routes) = (owner(call)?, config.routes()?);
        let link = match plugin {
            Plugin::Ipam => None,
            Plugin::Main => {
                config.only_default_routes()?;
                let mtu = config.mtu()?;
                Some(Box::new(self.engine.link(config.name(), &owner, arguments.pod.as_ref(), mtu)))
            }
        };
        let dns = self.dns(&config, call).await?;
        let told = Place::new(call.netns_device, call.netns_inode);
        let add = Add {
            request: tenure_types::Request {
                network: config.name().clone(),
                owner,
                requested: config.requested(&arguments)?,
                sandbox: Sandbox {
                    pod: arguments.pod,
                    netns: call.netns.as_str().into(),
                    netns_seen: netns::see(&call.netns, told),
                    link,
                },
                supply_full: false,
                context: RequestContext::default(),
                requested_at: self.started(&Command::Add, call),
            },
            policy: config.policy()?,
            config: Arc::new(network_config(&config)?),
        };
        Ok((add, version, AnswerFrame { routes, dns }))
    }

    /// A policy's refusal; but if the spec version cannot express any result of the network, that error, as in the reference.
    async fn told_first(&self, network: &NetworkName, version: SpecVersion, refusal: Error) -> Error {
        let by_policy = matches!(refusal.code, ErrorCode::PoolExhausted | ErrorCode::AddressUnavailable);
        if !by_policy || version >= SpecVersion::V0_3_0 {
            return refusal;
        }
        let Some(book) = self.engine.book(network).await else { return refusal };
        let first = |pool: usize| {
            let view = book.ranges(pool).next()?;
            Some(AssignedAddress::plain(view.range.first().into(), None))
        };
        let addresses = (0..book.pools().len()).filter_map(first).collect();
        Success { addresses, ..Success::default() }.render(version).err().unwrap_or(refusal)
    }

    /// Serves a DEL, including a spooled one; its configuration needs nothing but the network's name, unless a delegate has to learn of it.
    ///
    /// # Errors
    /// Those of [`Engine::del`], and those of an invalid configuration or environment, such as `InvalidEnvironment`.
    pub async fn del(&self, call: &Invocation) -> Result<()> {
        let read = || {
            let config = Configuration::parse(&call.config)?;
            Ok((config.name().clone(), owner(call)?, called_with(&config, call)))
        };
        let (network, owner, with) = read().inspect_err(|error| unread(&Command::Del, call, error))?;
        let del = Del { network, owner, requested_at: self.started(&Command::Del, call) };
        self.engine.del_with(del, with.as_ref()).await
    }

    async fn check(&self, call: &Invocation, plugin: Plugin) -> Result<()> {
        let read = || {
            let config = Configuration::parse(&call.config)?;
            config.version(&Command::Check)?;
            let kept = (plugin == Plugin::Main).then(|| config.kept()).transpose()?;
            Ok((config.name().clone(), owner(call)?, kept))
        };
        let (network, owner, kept) = read().inspect_err(|error| unread(&Command::Check, call, error))?;
        let grant = self.engine.check(&network, &owner).await?;
        let Some((kept, link)) = kept.zip(grant.link) else { return Ok(()) };
        let lacks = kept.lacks(&Success { addresses: grant.addresses, ..Success::default() }.on(link));
        if lacks.is_empty() {
            return Ok(());
        }
        let cause = format_args!("prevResult of {owner} on {network} lacks {}", lacks.join(", "));
        Err(Error::new(ErrorCode::LinkDiffers, cause))
    }

    /// Serves a GC, including a deferred one.
    ///
    /// # Errors
    /// Those of [`Engine::gc`], and those of an invalid configuration.
    pub async fn gc(&self, call: &Invocation) -> Result<()> {
        let read = || {
            let config = Configuration::parse(&call.config)?;
            config.version(&Command::Gc)?;
            Ok((config.name().clone(), config.valid_attachments()?, called_with(&config, call)))
        };
        let (network, valid, with) = read().inspect_err(|error| unread(&Command::Gc, call, error))?;
        // Without a list, no attachment is known to be gone.
        let Some(valid) = valid else { return Ok(()) };
        let gc = Gc { network, valid, requested_at: self.started(&Command::Gc, call) };
        self.engine.gc_with(gc, with.as_ref()).await.map(drop)
    }

    async fn status(&self, call: &Invocation, plugin: Plugin) -> Result<()> {
        if plugin == Plugin::Main {
            self.engine.status_of_links()?;
        }
        let read = || {
            let config = Configuration::parse(&call.config)?;
            config.version(&Command::Status)?;
            config.routes()?;
            if plugin == Plugin::Main {
                config.only_default_routes()?;
                config.mtu()?;
            }
            Ok((config.name().clone(), config.policy()?, Arc::new(network_config(&config)?)))
        };
        let (network, policy, definition) =
            read().inspect_err(|error| unread(&Command::Status, call, error))?;
        self.engine.status(&network, &policy, &definition).await
    }

    /// The DNS settings in the file that `ipam.resolvConf` names. Like host-local, reads the file at each ADD.
    async fn dns(&self, config: &Configuration<'_>, call: &Invocation) -> Result<Dns> {
        let Some(path) = config.resolv_conf()? else { return Ok(Dns::default()) };
        if let Some(text) = &call.resolv_conf {
            return Ok(Dns::from_resolv_conf(text));
        }
        let place = Arc::clone(&self.readers).try_acquire_owned().map_err(|_| {
            let cause = format_args!("ipam.resolvConf: {path}: {READERS} other files are already being read");
            Error::new(ErrorCode::Overloaded, cause)
        })?;
        let read = tokio::task::spawn_blocking(move || {
            let _place = place;
            resolv_conf::read(&path)
        });
        let text = read.await.map_err(|error| Error::new(ErrorCode::Internal, error))?;
        Ok(Dns::from_resolv_conf(&text?))
    }

    /// Returns the time at which the plugin was started; now, if the caller does not say.
    ///
    /// An old plugin sends milliseconds. The ADD that its DEL ends may have begun in the same millisecond, so a DEL counts as started
    /// at the end of it.
    fn started(&self, command: &Command, call: &Invocation) -> Moment {
        let now = self.engine.now();
        let boot_ns = match (call.started_at_boot_ns, call.started_at_boot_ms) {
            (0, 0) => now.boot_ns,
            (0, ms) if *command == Command::Del => ms.saturating_add(1).saturating_mul(MILLISECOND) - 1,
            (0, ms) => ms.saturating_mul(MILLISECOND),
            (ns, _) => ns,
        };
        Moment { boot_ns, ..now }
    }
}

/// The plugin's role in a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plugin {
    /// Provides addresses to another plugin.
    Ipam,
    /// The host makes the link, too.
    Main,
}

fn owner(call: &Invocation) -> Result<Owner> {
    let invalid = |error| Error::new(ErrorCode::InvalidEnvironment, error);
    let container = ContainerId::new(&call.container_id).map_err(invalid)?;
    let interface = InterfaceName::new(&call.interface).map_err(invalid)?;
    Ok(Owner::Attachment { container, interface })
}

/// The part of a DEL or a GC that says whose the network's addresses are; `None` if its configuration is not one that an ADD could have.
fn called_with(config: &Configuration<'_>, call: &Invocation) -> Option<CalledWith> {
    let (policy, network) = (config.policy().ok()?, network_config(config).ok()?);
    Some(CalledWith { policy, config: Arc::new(network), netns: call.netns.as_str().into() })
}

/// Logs a call that does not reach the engine, which logs the others.
fn unread(verb: &Command, call: &Invocation, error: &Error) {
    let (code, next_step) = (error.code.name(), error.next_step());
    let (container, interface) = (&call.container_id, &call.interface);
    tracing::warn!(%verb, container, interface, code, cause = error.cause, next_step, "refused");
}

/// The configuration that is passed to the policy.
pub(crate) fn network_config(config: &Configuration<'_>) -> Result<NetworkConfig> {
    let ranges = config.ip_ranges()?.map(|ranges| (IP_RANGES.to_owned(), ranges.to_owned()));
    Ok(NetworkConfig { ipam: config.ipam_text()?.to_owned(), attributes: ranges.into_iter().collect() })
}

/// The answer to a verb that prints nothing.
fn silent(result: Result<()>) -> Result<Response<Answer>, Status> {
    result.map(|()| Response::new(Answer::default())).map_err(|error| to_status(&error))
}

#[tonic::async_trait]
impl v1::cni_server::Cni for CniService {
    async fn add(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        self.add(&call, Plugin::Ipam).await.map(Response::new).map_err(|error| to_status(&error))
    }

    async fn del(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        silent(self.serve_or_defer(Deferrable::Del, call.get_ref()).await)
    }

    async fn check(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        silent(self.check(call.get_ref(), Plugin::Ipam).await)
    }

    async fn gc(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        silent(self.serve_or_defer(Deferrable::Gc, call.get_ref()).await)
    }

    async fn status(&self, call: Request<Invocation>) -> Result<Response<Answer>, Status> {
        silent(self.status(call.get_ref(), Plugin::Ipam).await)
    }
}
