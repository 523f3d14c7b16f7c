//! The node's agent: it says what the node holds and wants, accepts blocks, and gives them back.
//!
//! ```text
//!                        NodeIPAM.status (hints, marks)                 leases, one durable record each
//!   API server ────────────────────────────────────────▶ the loop ─────────────────────────────────────▶ the ledger
//!       ▲                GET IPBlock, GET AddressSpace      │  ▲                                             │ ranges
//!       └───────────── NodeIPAM.spec, at most every 15 s ───┘  └── want, offers ── executor ◀── the policy ◀─┘
//! ```
//!
//! No request of a pod waits for a call: without the API server, addresses of the blocks at hand are handed out and freed as ever. The loop does
//! one thing after the other, and each call is made once, with a deadline; what fails is found again in the next pass.

mod accepting;
mod asked;
mod checks;
mod comparing;
mod core;
mod differs;
mod elsewhere;
mod events;
mod fetch;
mod hesitation;
mod marks;
mod outlook;
mod pass;
mod pause;
mod pool_looks;
mod ranges;
mod reboot;
mod rebuilding;
mod records;
mod refused;
#[cfg(test)]
mod sample;
mod saying;
mod seeking;
mod selectors;
mod settings;
mod state;
mod status;
mod supply;
#[cfg(test)]
mod tests;
mod turns;
mod undeclared;
mod unneeded;
mod unread;
mod usage;
mod wing;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use kube::Api;
use kube::runtime::watcher::{self, Event};
use tenure_effects::budget::Jitter;
use tenure_effects::{Config, Executor, Explained, Timer, Tools};
use tenure_engine::Engine;
use tenure_types::{Clock, Error, ErrorCode, NetworkName};
use tokio::time::sleep;

use self::accepting::AgentError;
use self::core::AgentCore;
use self::events::AgentEvents;
use self::marks::Executors;
use self::pass::AgentPass;
use crate::NodeIPAM;
use crate::client::{ConnectError, connect};
use crate::pods::KnownPodLabels;
use crate::pools::ClaimName;
use crate::relisting::relisting;

pub use self::asked::{ClaimAddress, ClaimWait, ClaimingPod};
pub use self::reboot::hold_back;
pub use self::records::note_loss;
pub use self::settings::{AgentSettings, PoolFamily, boot_of, machine_of};
pub use self::status::{AgentStatus, BlockStatus, DemandStatus, PoolSettingsStatus};
pub use self::wing::ClusterWing;
pub use tenure_leases::node::MAX_POOLS;

/// How often the agent looks although nothing has happened: pods come and go without a word to it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The longest pause after a failed call.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// The agent, connected and not started.
pub struct Agent {
    core: Arc<AgentCore>,
    executors: Vec<Executor<ClusterWing>>,
}

/// A handle to a running agent.
#[derive(Clone)]
pub struct AgentHandle {
    core: Arc<AgentCore>,
    executors: Arc<Executors>,
}

impl AgentHandle {
    /// The agent's status now.
    pub fn status(&self) -> BoxFuture<'_, AgentStatus> {
        status::status(&self.core).boxed()
    }

    /// The addresses of a claim that a pod names, once they are this node's: one, or one of each family. The addresses of a claim that are this
    /// node's already need no API server.
    ///
    /// # Errors
    /// [`ClaimWait`] if they are not this node's within seconds.
    pub fn addresses_of<'a>(
        &'a self,
        claim: &'a ClaimName,
        pod: &'a ClaimingPod,
    ) -> BoxFuture<'a, Result<Vec<ClaimAddress>, ClaimWait>> {
        turns::addresses_of(&self.core, claim, pod).boxed()
    }

    /// The AddressPool of an AddressClaim. If the claim's address is this node's, no API server is needed.
    ///
    /// # Errors
    /// [`ClaimWait`] if it is not known.
    pub fn pool_of<'a>(&'a self, claim: &'a ClaimName) -> BoxFuture<'a, Result<String, ClaimWait>> {
        turns::pool_of(&self.core, claim).boxed()
    }

    /// The plan that a network's policy would make now. Nothing begins.
    ///
    /// # Errors
    /// `NoPlan` if no blocks are leased for the network or its policy does not plan, and the error with which the policy fails.
    pub fn explain<'a>(&'a self, network: &'a NetworkName) -> BoxFuture<'a, tenure_types::Result<Explained>> {
        let explained = async move {
            let Some(executor) = self.executors.get(network) else {
                let words = format!("no blocks are leased for network {network}");
                return Err(Error::new(ErrorCode::NoPlan, words));
            };
            executor.explain().await
        };
        explained.boxed()
    }
}

impl Agent {
    /// Connects. Nothing is sent yet. Without the labels of the node's pods, the agent does not notice that a virtual machine has moved here.
    ///
    /// # Errors
    /// If the kubeconfig, or the pod's service account, cannot be used.
    pub fn connect(
        engine: Arc<Engine>,
        clock: Arc<dyn Clock>,
        timer: Arc<dyn Timer>,
        settings: AgentSettings,
        pods: Option<Arc<dyn KnownPodLabels>>,
    ) -> BoxFuture<'static, Result<Self, ConnectError>> {
        let connected = async move {
            // Another part of the program may have installed it.
            let _ = rustls::crypto::ring::default_provider().install_default();
            let client = connect(settings.kubeconfig.as_deref().map(Path::new)).await?;
            let core = Arc::new(AgentCore::new(engine, client, clock, settings, pods));
            let networks = core.settings.networks.keys();
            let executors = networks.map(|network| executor(&core, network, &timer)).collect();
            Ok(Self { core, executors })
        };
        connected.boxed()
    }

    /// A handle, to ask about it while it runs.
    #[must_use]
    pub fn handle(&self) -> AgentHandle {
        AgentHandle { core: Arc::clone(&self.core), executors: Arc::new(self.handles()) }
    }

    /// Works until it is dropped; returns only if an executor failed. Before `confirmed`, the ledger may not be the node's: no plan is made or
    /// carried out.
    pub fn run<'a>(self, confirmed: BoxFuture<'a, ()>) -> BoxFuture<'a, tenure_effects::TaskFailure> {
        let running = async move {
            let handles = self.handles();
            let Self { core, executors } = self;
            let carried_out = async {
                confirmed.await;
                let mut running: FuturesUnordered<_> = executors.into_iter().map(Executor::run).collect();
                running.next().await
            };
            tokio::select! {
                Some(failure) = carried_out => failure,
                never = work(&core, &handles) => match never {},
            }
        };
        running.boxed()
    }

    /// The handles to the executors, by network.
    fn handles(&self) -> Executors {
        let handles = self.executors.iter().map(Executor::handle);
        handles.map(|handle| (handle.network().clone(), handle)).collect()
    }
}

/// The executor of a network's plans, which has not begun.
fn executor(core: &Arc<AgentCore>, network: &NetworkName, timer: &Arc<dyn Timer>) -> Executor<ClusterWing> {
    let (engine, clock) = (Arc::clone(&core.engine), Arc::clone(&core.clock));
    let tools = Tools::new(engine, network.clone(), clock, Arc::clone(timer));
    let jitter = std::sync::Mutex::new(Jitter::new(core.settings.seed));
    let wing = ClusterWing { core: Arc::clone(core), network: network.clone(), jitter };
    let config = Config {
        node: core.settings.node.clone(),
        plan_every: Duration::from_secs(5),
        seed: core.settings.seed,
    };
    Executor::new(tools, wing, config)
}

/// Watches, and makes passes.
async fn work(core: &Arc<AgentCore>, executors: &Executors) -> std::convert::Infallible {
    let mut jitter = Jitter::new(core.settings.seed ^ 1);
    let of_node = watcher::Config::default().fields(&format!("metadata.name={}", core.settings.node));
    let objects = Api::<NodeIPAM>::all(core.client.clone());
    let mut events = relisting(objects, of_node, Jitter::new(core.settings.seed ^ 2));
    let (mut pause, mut reported) = (LOOK_EVERY, AgentEvents::default());
    loop {
        let passed = AgentPass { core, executors, jitter: &mut jitter }.run().await;
        pause = match &passed {
            Ok(()) => LOOK_EVERY,
            Err(_) => pause.saturating_mul(2).min(LONGEST_PAUSE),
        };
        if let Err(AgentError::Fetch(error)) = &passed {
            core.state().count_failure(error.call());
        }
        let now = core.now();
        let trouble = passed.err().map(|error| error.to_string()).or_else(|| core.state().list_trouble(now));
        let is_news = trouble != core.state().trouble;
        if let Some(trouble) = trouble.as_ref().filter(|_| is_news) {
            tracing::warn!(
                trouble,
                "the cluster does not serve this node; addresses of its blocks are handed out as before"
            );
        }
        core.state().trouble = trouble;
        if core.state().trouble.is_none() {
            reported.tell(core).await;
        }
        let wait = jitter.around(pause);
        let is_well = core.state().trouble.is_none();
        tokio::select! {
            Some(event) = events.next() => see(core, event),
            // After a failure, only time is a reason to try again.
            () = core.wake.notified(), if is_well => {}
            () = sleep(wait) => {}
        }
    }
}

/// Takes in an event of the watch.
fn see(core: &AgentCore, event: watcher::Result<Event<NodeIPAM>>) {
    let (all, now) = (core.leases().into_keys().collect(), core.now());
    let mut state = core.state();
    match event {
        Ok(Event::Init) => {
            state.is_listed = false;
            state.listing_since = Some(now);
            state.see(None);
        }
        Ok(Event::InitApply(object)) => state.see(Some(object)),
        Ok(Event::Apply(object)) => {
            state.forget_written_if_other(&object);
            state.see(Some(object));
        }
        Ok(Event::Delete(_)) => {
            state.see(None);
            state.written = None;
        }
        // What happened meanwhile is not known, not even by whom the object was written last.
        Ok(Event::InitDone) => {
            state.is_listed = true;
            (state.listing_since, state.unlisted) = (None, None);
            state.to_compare = all;
            state.compared.clear();
            if let Some(object) = state.object.clone() {
                state.forget_written_if_other(&object);
            } else {
                state.written = None;
            }
        }
        Err(error) => {
            state.interruptions += 1;
            if !state.is_listed {
                state.unlisted = Some(format!("the node's object cannot be listed: {error}"));
            }
            tracing::debug!(%error, "the watch of the node's object was interrupted");
        }
    }
}
