//! A delegate in memory, which a test tells how to misbehave.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use tenure_engine::ports::{Answer, Delegate, DelegateFailure, Giving};
use tenure_types::cni::{Route, Success};
use tenure_types::{AssignedAddress, DelegateCall, DelegateVerb, Error, ErrorCode};
use tokio::sync::Notify;

/// The delegate's state. It survives the engine, like that of a real one.
#[derive(Default)]
pub(crate) struct Foreign(Mutex<State>);

#[derive(Default)]
pub(super) struct State {
    given: BTreeMap<String, IpAddr>,
    last: u8,
    next: Option<IpAddr>,
    gateway: Option<IpAddr>,
    also: Option<AssignedAddress>,
    routes: Vec<Route>,
    calls: Vec<String>,
    refuses: bool,
    fails: bool,
    /// Whether it knows no STATUS.
    old: bool,
    /// How the next ADD fails.
    failure: Option<DelegateFailure>,
    /// The point at which the next call stops for ever: an ADD before it gives (0), or after (1), or a DEL before it takes back (3).
    hold: Option<usize>,
    held: bool,
    /// The next ADD gives only once this is notified.
    gate: Option<Arc<Notify>>,
    pub(super) unconfigured: bool,
}

impl Foreign {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        self.state().calls.clone()
    }

    pub(crate) fn given(&self) -> Vec<String> {
        self.state().given.keys().cloned().collect()
    }

    /// The address that it gives next.
    pub(crate) fn next(&self, address: &str) {
        self.state().next = Some(address.parse().unwrap());
    }

    /// The gateway of what it gives from now on.
    pub(crate) fn gateway(&self, gateway: &str) {
        self.state().gateway = gateway.parse().ok();
    }

    /// Sets what each result has besides the address, and the routes.
    pub(crate) fn gives_also(&self, address: &str, routes: &[Route]) {
        let mut state = self.state();
        state.also = Some(AssignedAddress::plain(address.parse().unwrap(), None));
        state.routes = routes.to_vec();
    }

    /// The next ADD fails in this way.
    pub(crate) fn next_fails(&self, failure: DelegateFailure) {
        self.state().failure = Some(failure);
    }

    /// Gives an address of which the node knows nothing.
    pub(crate) fn knows(&self, container: &str) {
        self.state().given.insert(container.to_owned(), [10, 7, 0, 99].into());
    }

    pub(crate) fn refuses(&self, refuses: bool) {
        self.state().refuses = refuses;
    }

    pub(crate) fn fails(&self, fails: bool) {
        self.state().fails = fails;
    }

    /// Knows no STATUS, like one that speaks an older version of CNI.
    pub(crate) fn is_old(&self) {
        self.state().old = true;
    }

    pub(crate) fn hold(&self, stage: usize) {
        let mut state = self.state();
        (state.hold, state.held) = (Some(stage), false);
    }

    /// Has the next ADD wait before it gives, until what is returned is notified.
    pub(crate) fn waits(&self) -> Arc<Notify> {
        Arc::clone(self.state().gate.get_or_insert_default())
    }

    pub(crate) fn is_held(&self) -> bool {
        self.state().held
    }

    pub(crate) fn is_configured(&self, configured: bool) {
        self.state().unconfigured = !configured;
    }

    fn holds(&self, stage: usize) -> bool {
        let mut state = self.state();
        let holds = state.hold == Some(stage);
        state.held |= holds;
        holds
    }

    fn give(&self, container: &str) -> Result<Success, DelegateFailure> {
        let mut state = self.state();
        let refusal = |error: &str| DelegateFailure {
            error: Error::new(ErrorCode::DelegateFailed, error),
            may_have_run: true,
            is_refusal: true,
        };
        if state.fails {
            let error = Error::new(ErrorCode::DelegateUnavailable, "it does not run");
            return Err(DelegateFailure { error, may_have_run: false, is_refusal: false });
        }
        if let Some(failure) = state.failure.take() {
            return Err(failure);
        }
        if state.refuses || state.given.contains_key(container) {
            return Err(refusal("duplicate"));
        }
        state.last += 1;
        let address = state.next.take().unwrap_or_else(|| [10, 7, 0, state.last + 1].into());
        state.given.insert(container.to_owned(), address);
        let address = format!("{address}/16").parse().unwrap();
        let gateway = state.gateway.or_else(|| "10.7.0.1".parse().ok());
        let first = AssignedAddress::plain(address, gateway);
        let addresses = state.also.clone().into_iter().chain([first]).collect();
        Ok(Success { addresses, routes: state.routes.clone(), ..Success::default() })
    }
}

/// The port to it.
pub(super) struct Port(pub(super) Arc<Foreign>);

impl Delegate for Port {
    fn add<'a>(&'a self, call: &'a DelegateCall) -> Giving<'a> {
        Box::pin(async {
            self.0.state().calls.push(format!("ADD {}", call.container));
            if self.0.holds(0) {
                std::future::pending::<()>().await;
            }
            let gate = self.0.state().gate.take();
            if let Some(gate) = gate {
                gate.notified().await;
            }
            let given = self.0.give(call.container.as_str());
            if self.0.holds(1) {
                std::future::pending::<()>().await;
            }
            given
        })
    }

    fn tell<'a>(&'a self, call: &'a DelegateCall, verb: &'a DelegateVerb) -> Answer<'a, bool> {
        if matches!(verb, DelegateVerb::Del) && self.0.holds(3) {
            return Box::pin(std::future::pending());
        }
        let mut state = self.0.state();
        let answer = match verb {
            DelegateVerb::Status if state.old => Ok(false),
            _ if state.fails => Err(Error::new(ErrorCode::DelegateUnavailable, "it does not run")),
            DelegateVerb::Del => {
                state.calls.push(format!("DEL {}", call.container));
                state.given.remove(call.container.as_str());
                Ok(true)
            }
            DelegateVerb::Check { .. } => {
                state.calls.push(format!("CHECK {}", call.container));
                Ok(true)
            }
            DelegateVerb::Gc { valid } => {
                let valid: Vec<_> = valid.iter().map(|(container, _)| container.to_string()).collect();
                state.calls.push(format!("GC {}", valid.join(" ")));
                state.given.retain(|container, _| valid.contains(container));
                Ok(true)
            }
            DelegateVerb::Status => {
                state.calls.push(format!("STATUS {}", call.network));
                Ok(true)
            }
        };
        Box::pin(std::future::ready(answer))
    }
}
