//! A loaded policy.

use std::sync::Arc;

use tenure_ledger::Book;
use tenure_types::{
    Definition, Error, ErrorCode, NetworkConfig, NetworkName, PolicyFailure, PolicyStamp, Proposal, Request,
};
use wasmtime::Store;
use wasmtime::component::Component;

use crate::bindings::exports::tenure::ipam::{allocation, network};
use crate::bindings::tenure::ipam::types::{Attribute, Refusal};
use crate::bindings::{self, PolicyPre};
use crate::call::Call;
use crate::lines::Lines;
use crate::watch::Watch;
use crate::{Runtime, answer, interface};

/// A policy that is a component. Each call is a fresh instance.
pub struct WasmPolicy {
    runtime: Arc<Runtime>,
    stamp: PolicyStamp,
    lines: Arc<Lines>,
    /// Imports are linked and exports found once, not in each call.
    instance: PolicyPre<Call>,
}

impl WasmPolicy {
    pub(crate) fn new(
        runtime: Arc<Runtime>,
        stamp: PolicyStamp,
        component: &Component,
    ) -> Result<Self, Error> {
        let unloadable = |cause: &dyn std::fmt::Display| {
            Error::new(ErrorCode::PolicyUnloadable, format_args!("policy {stamp}: {cause}"))
        };
        interface::check(runtime.engine(), component).map_err(|cause| unloadable(&cause))?;
        let instance = runtime.linker().instantiate_pre(component).and_then(PolicyPre::new);
        let instance = instance.map_err(|error| {
            let (cause, offered) = (crate::text::clean(&format!("{error:#}")), interface::offered());
            unloadable(&format_args!("it is not a policy of this interface: {cause}; {offered}"))
        })?;
        Ok(Self { runtime, stamp, lines: Arc::default(), instance })
    }

    /// Runs one call in a fresh instance.
    fn call<A>(
        &self,
        book: Option<Arc<Book>>,
        watch: Option<&Arc<Watch>>,
        call: impl FnOnce(&bindings::Policy, &mut Store<Call>) -> wasmtime::Result<Result<A, Refusal>>,
    ) -> Result<A, Error> {
        let _place = self.runtime.gate().enter();
        let mut store = Call::store(&self.runtime, &self.stamp, &self.lines, book, watch);
        match self.instance.instantiate(&mut store).and_then(|policy| call(&policy, &mut store)) {
            Ok(answer) => answer.map_err(|refusal| answer::refusal(&self.stamp, refusal)),
            Err(error) => {
                let (failure, cause) = store.data().failure(&error, self.runtime.limits());
                Err(self.failed(failure, cause))
            }
        }
    }

    fn failed(&self, failure: PolicyFailure, cause: impl std::fmt::Display) -> Error {
        Error::new(ErrorCode::PolicyFailed, format_args!("policy {} failed: {cause}", self.stamp))
            .failed_by(failure)
    }
}

impl WasmPolicy {
    /// Its name and digest.
    #[must_use]
    pub fn stamp(&self) -> &PolicyStamp {
        &self.stamp
    }

    pub(crate) fn silenced(&self) -> u64 {
        self.lines.take_silenced()
    }

    /// Makes pools of a network's configuration, on the calling thread.
    ///
    /// # Errors
    /// As [`Policy::define`](tenure_engine::ports::Policy::define).
    pub fn define(&self, network: &NetworkName, config: &NetworkConfig) -> Result<Definition, Error> {
        self.define_watched(&configuration(network, config), None)
    }

    /// Proposes addresses, on the calling thread.
    ///
    /// # Errors
    /// As [`Policy::propose`](tenure_engine::ports::Policy::propose).
    pub fn propose(&self, request: &Request, book: &Arc<Book>) -> Result<Proposal, Error> {
        self.propose_watched(&question(request), Arc::clone(book), None)
    }

    pub(crate) fn define_watched(
        &self,
        config: &network::Config,
        watch: Option<&Arc<Watch>>,
    ) -> Result<Definition, Error> {
        let definition =
            self.call(None, watch, |policy, store| policy.tenure_ipam_network().call_define(store, config))?;
        answer::definition(definition).map_err(|nonsense| self.failed(PolicyFailure::Nonsense, nonsense))
    }

    pub(crate) fn propose_watched(
        &self,
        request: &allocation::Request,
        book: Arc<Book>,
        watch: Option<&Arc<Watch>>,
    ) -> Result<Proposal, Error> {
        let proposal = self.call(Some(book), watch, |policy, store| {
            policy.tenure_ipam_allocation().call_propose(store, request)
        })?;
        answer::proposal(&proposal).map_err(|nonsense| self.failed(PolicyFailure::Nonsense, nonsense))
    }
}

impl std::fmt::Debug for WasmPolicy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("WasmPolicy").field(&self.stamp).finish()
    }
}

/// A network's configuration as a policy gets it.
pub(crate) fn configuration(network: &NetworkName, config: &NetworkConfig) -> network::Config {
    network::Config {
        name: network.as_str().into(),
        ipam: config.ipam.clone(),
        attributes: config.attributes.iter().map(|(name, value)| attribute(name, value)).collect(),
    }
}

/// A request as a policy gets it.
pub(crate) fn question(request: &Request) -> allocation::Request {
    allocation::Request {
        requested: request.requested.iter().map(ToString::to_string).collect(),
        attributes: attributes(request),
    }
}

/// What a policy may know of a request; `wit/README.md` lists the names.
fn attributes(request: &Request) -> Vec<Attribute> {
    let mut attributes = Vec::new();
    if let Some((container, interface)) = request.owner.attachment() {
        attributes.push(attribute("container-id", container.as_str()));
        attributes.push(attribute("interface", interface.as_str()));
    }
    if let Some(pod) = &request.pod {
        attributes.push(attribute("pod.namespace", &pod.namespace));
        attributes.push(attribute("pod.name", &pod.name));
        attributes.push(attribute("pod.uid", &pod.uid));
    }
    attributes
}

fn attribute(name: &str, value: &str) -> Attribute {
    Attribute { name: name.into(), value: value.into() }
}
