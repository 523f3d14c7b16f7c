//! A watch on the kernel: it says when something that may be ours has changed.
//!
//! It listens to two multicast channels, of routing and of nftables. It reports and repairs nothing itself; what it cannot read, or
//! lost because it was too slow, counts as a change of everything.

mod netfilter;
mod routing;
mod socket;

use std::collections::BTreeSet;

use crate::error::Error;
use crate::wanted::DesiredState;

use self::socket::MonitorSocket;

/// Something that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelChange {
    /// A rule of ours is gone.
    Rule(crate::parts::RoutingRule),
    /// A route of one of our tables is gone, or another one than is wanted has come or taken its place.
    Route(crate::parts::KernelRoute),
    /// An address is gone or new.
    Address,
    /// A link that we use has changed, come or gone.
    Link(String),
    /// Our nftables table, or something in it.
    Table,
    /// Changes were missed.
    Overrun,
}

/// The watch.
#[derive(Debug)]
pub struct Monitor {
    routing: MonitorSocket,
    netfilter: MonitorSocket,
}

impl Monitor {
    /// Watches the calling thread's network namespace.
    ///
    /// # Errors
    /// When the kernel gives no sockets.
    pub fn start() -> Result<Self, Error> {
        let failed = |source| Error::Io { what: "watch the kernel by netlink".to_owned(), source };
        Ok(Self { routing: routing::open().map_err(failed)?, netfilter: netfilter::open().map_err(failed)? })
    }

    /// Waits for a change that may concern the desired state. Cancel safe.
    ///
    /// # Errors
    /// When a socket breaks.
    pub async fn changed(&mut self, wanted: &DesiredState) -> Result<KernelChange, Error> {
        let failed = |source| Error::Io { what: "watch the kernel by netlink".to_owned(), source };
        let links: BTreeSet<&str> = wanted
            .links
            .iter()
            .map(|link| link.name.as_str())
            .chain(wanted.routes.iter().map(|route| route.device.as_str()))
            .collect();
        loop {
            let change = tokio::select! {
                read = self.routing.receive() => {
                    read.map_err(failed)?.map_or(Some(KernelChange::Overrun), |bytes| routing::change(&bytes, &links, wanted))
                }
                read = self.netfilter.receive() => {
                    read.map_err(failed)?.map_or(Some(KernelChange::Overrun), |bytes| netfilter::change(&bytes))
                }
            };
            if let Some(change) = change {
                return Ok(change);
            }
        }
    }
}
