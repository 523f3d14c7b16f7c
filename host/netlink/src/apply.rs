//! Carrying a plan out.

use std::collections::{BTreeMap, BTreeSet};

use rtnetlink::packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use rtnetlink::packet_route::RouteNetlinkMessage as Message;
use rustix::io::Errno;

use crate::error::Error;
use crate::kernel::Kernel;
use crate::parts::{InterfaceAddress, KernelRoute};
use crate::plan::{KernelPlan, Operation};
use crate::{nft, sysctl, wire};

/// The result of carrying out a plan.
#[derive(Debug, Default)]
pub struct Applied {
    /// The operations that were carried out.
    pub done: Vec<Operation>,
    /// The operations that failed, with the reason. If one that makes something has failed, nothing was removed; if it makes something for
    /// one pod, nothing of that pod's.
    pub failed: Vec<(Operation, Error)>,
}

impl Kernel {
    /// Carries a plan out, in its order.
    ///
    /// An operation that fails does not hold up others that make something. Nothing is removed after such a failure: what is
    /// removed may be what still does the work. A failure of one pod's link or route is that pod's own, and keeps only what may
    /// still serve that pod.
    ///
    /// # Errors
    /// When the links cannot be listed. Everything else is in the answer.
    pub async fn apply(&self, plan: &KernelPlan) -> Result<Applied, Error> {
        let mut applied = Applied::default();
        if plan.is_empty() {
            return Ok(applied);
        }
        let links = self.links().await?;
        let indexes = links.into_iter().map(|link| (link.name, link.index)).collect();
        let (mut keeps_all, mut kept) = (false, BTreeSet::new());
        for operation in &plan.operations {
            if operation.removes() && (keeps_all || operation.takes_from(&kept)) {
                continue;
            }
            match self.carry_out(operation, &indexes).await {
                Ok(()) => applied.done.push(operation.clone()),
                Err(error) => {
                    keeps_all |= operation.pod().is_none();
                    if let Operation::SetRoute(route) = operation {
                        kept.insert(route.to);
                    }
                    applied.failed.push((operation.clone(), error));
                }
            }
        }
        Ok(applied)
    }

    async fn carry_out(&self, operation: &Operation, links: &BTreeMap<String, u32>) -> Result<(), Error> {
        let index = |name: &str| links.get(name).copied().ok_or_else(|| Error::NoLink(name.to_owned()));
        match operation {
            Operation::WriteSysctl { key, value } => sysctl::write(key, value),
            Operation::SetLink { name, mtu } => {
                let message = Message::NewLink(wire::set_link(index(name)?, *mtu));
                self.request(operation, message, 0).await
            }
            Operation::RaiseLink { name } => {
                let message = Message::NewLink(wire::raise_link(index(name)?));
                self.request(operation, message, 0).await
            }
            Operation::AddAddress(address) => self.add_address(address, index(&address.device)?).await,
            Operation::RemoveAddress(address) => {
                let message = wire::write_address(address, index(&address.device)?);
                gone(self.request(operation, Message::DelAddress(message), 0).await)
            }
            Operation::SetRoute(route) => self.set_route(route, index(&route.device)?).await,
            Operation::RemoveRoute(route) => {
                // Of several links or of none, the destinations and the metric say which route it is.
                let message = wire::write_route(route, links.get(&route.device).copied());
                gone(self.request(operation, Message::DelRoute(message), 0).await)
            }
            Operation::AddRule(rule) => {
                let message = Message::NewRule(wire::write_rule(rule));
                there(self.request(operation, message, NLM_F_CREATE | NLM_F_EXCL).await)
            }
            Operation::RemoveRule(rule) => {
                gone(self.request(operation, Message::DelRule(wire::write_rule(rule)), 0).await)
            }
            Operation::ReplaceTable(table) => nft::replace(table).await,
            Operation::RemoveTable => nft::remove().await,
        }
    }

    /// Adds an address, unless it is there.
    pub(crate) async fn add_address(&self, address: &InterfaceAddress, device: u32) -> Result<(), Error> {
        let message = Message::NewAddress(wire::write_address(address, device));
        let what = format_args!("add {address}").to_string();
        there(self.request(what, message, NLM_F_CREATE | NLM_F_EXCL).await)
    }

    /// Sets a route.
    pub(crate) async fn set_route(&self, route: &KernelRoute, device: u32) -> Result<(), Error> {
        let message = Message::NewRoute(wire::write_route(route, Some(device)));
        let what = format_args!("set {route}").to_string();
        self.request(what, message, NLM_F_CREATE | NLM_F_REPLACE).await
    }
}

/// Treats EEXIST as success.
fn there(result: Result<(), Error>) -> Result<(), Error> {
    result.or_else(|error| if error.is(Errno::EXIST) { Ok(()) } else { Err(error) })
}

/// Treats a missing object as removed.
fn gone(result: Result<(), Error>) -> Result<(), Error> {
    let absent = [Errno::NOENT, Errno::SRCH, Errno::ADDRNOTAVAIL, Errno::NODEV];
    result.or_else(|error| if absent.iter().any(|errno| error.is(*errno)) { Ok(()) } else { Err(error) })
}
