//! The engine: the owners, put together.
//!
//! ```text
//! core ◀── exchange ◀─┐
//!  ▲ ▲──── imports ◀──┼── claims ◀── effects
//!  │ └──── delegates ◀┘
//!  └────── links
//! ```
//!
//! An owner knows those that an arrow leads to, and the core; nothing below knows what is above. What needs several of them is a
//! method of the engine: the requests in `request/`, and the conditions here. The other files here hand each owner's verbs on.

pub(crate) mod claims;
pub(crate) mod conditions;
pub(crate) mod core;
pub(crate) mod delegates;
pub(crate) mod effects;
pub(crate) mod exchange;
pub(crate) mod imports;
pub(crate) mod links;

use std::sync::{Arc, RwLock};

use tenure_ledger::LedgerState;

use crate::claims::AgentClaims;
use crate::core::undo::Abandoned;
use crate::core::{EngineCore, Ports, Settings};
use crate::delegates::DelegateClient;
use crate::effects::HostEffects;
use crate::exchange::PolicyExchange;
use crate::import::NetworkImports;
use crate::links::PodLinks;
use crate::network::demand::Demands;
use crate::ports::Predecessors;

/// Serves requests. A node has one engine.
///
/// It puts the owners together: each has the core and the owners before it, and none knows of one behind it.
pub struct Engine {
    pub(crate) core: Arc<EngineCore>,
    pub(crate) exchange: Arc<PolicyExchange>,
    pub(crate) imports: Arc<NetworkImports>,
    pub(crate) delegates: Arc<DelegateClient>,
    pub(crate) claims: Arc<AgentClaims>,
    pub(crate) effects: HostEffects,
    pub(crate) links: PodLinks,
    /// Held to copy the `Arc`.
    pub(crate) predecessors: RwLock<Option<Arc<dyn Predecessors>>>,
}

impl Engine {
    /// Creates an engine over recovered state, and the task that undoes abandoned ADDs. Run the task for as long as
    /// the engine serves.
    #[must_use]
    pub fn new(state: LedgerState, ports: Ports, settings: Settings) -> (Arc<Self>, Abandoned) {
        let began = ports.clock.now();
        let (core, shadows, abandoned) = EngineCore::new(state, ports, settings, began);
        let exchange = Arc::new(PolicyExchange::new(Arc::clone(&core), shadows));
        let imports = Arc::new(NetworkImports::new(Arc::clone(&core)));
        let delegates = Arc::new(DelegateClient::new(Arc::clone(&core)));
        let demands: Arc<Demands> = Arc::default();
        let claims = Arc::new(AgentClaims::new(
            Arc::clone(&core),
            Arc::clone(&exchange),
            Arc::clone(&imports),
            Arc::clone(&delegates),
            Arc::clone(&demands),
            began,
        ));
        let effects = HostEffects::new(Arc::clone(&core), Arc::clone(&imports), Arc::clone(&claims), demands);
        let links = PodLinks::new(Arc::clone(&core));
        let predecessors = RwLock::default();
        let engine = Self { core, exchange, imports, delegates, claims, effects, links, predecessors };
        (Arc::new(engine), abandoned)
    }
}
