//! A loaded policy.

use std::sync::Arc;

use tenure_engine::ports::Policy;
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
        book: Option<&Arc<Book>>,
        call: impl FnOnce(&bindings::Policy, &mut Store<Call>) -> wasmtime::Result<Result<A, Refusal>>,
    ) -> Result<A, Error> {
        let _place = self.runtime.gate().enter();
        let mut store = Call::store(&self.runtime, &self.stamp, &self.lines, book.cloned());
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

impl Policy for WasmPolicy {
    fn stamp(&self) -> &PolicyStamp {
        &self.stamp
    }

    fn silenced(&self) -> u64 {
        self.lines.take_silenced()
    }

    fn define(&self, network: &NetworkName, config: &NetworkConfig) -> Result<Definition, Error> {
        let config = network::Config {
            name: network.as_str().into(),
            ipam: config.ipam.clone(),
            attributes: config.attributes.iter().map(|(name, value)| attribute(name, value)).collect(),
        };
        let definition =
            self.call(None, |policy, store| policy.tenure_ipam_network().call_define(store, &config))?;
        answer::definition(definition).map_err(|nonsense| self.failed(PolicyFailure::Nonsense, nonsense))
    }

    fn propose(&self, request: &Request, book: &Arc<Book>) -> Result<Proposal, Error> {
        let request = allocation::Request {
            requested: request.requested.iter().map(ToString::to_string).collect(),
            attributes: attributes(request),
        };
        let proposal = self.call(Some(book), |policy, store| {
            policy.tenure_ipam_allocation().call_propose(store, &request)
        })?;
        answer::proposal(&proposal).map_err(|nonsense| self.failed(PolicyFailure::Nonsense, nonsense))
    }
}

impl std::fmt::Debug for WasmPolicy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("WasmPolicy").field(&self.stamp).finish()
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
