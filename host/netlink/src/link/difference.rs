//! Differences between a pod's link and its expected state.

use std::net::IpAddr;

use crate::parts::Mac;

/// A difference, as it is printed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkDifference {
    /// An end does not exist.
    #[error("there is no link {0}")]
    Absent(String),
    /// The two ends are not of one pair.
    #[error("{host} and {inside} are not the two ends of one link")]
    Strangers {
        /// The host's end.
        host: String,
        /// The pod's end.
        inside: String,
    },
    /// An end is down.
    #[error("{0} is down")]
    Down(String),
    /// An end has another MTU.
    #[error("{link} has MTU {found} instead of {wanted}")]
    Mtu {
        /// The end.
        link: String,
        /// The end's MTU.
        found: u32,
        /// The expected value.
        wanted: u32,
    },
    /// An end has another hardware address; that of the host's is the pod's neighbour.
    #[error("{link} has hardware address {found} instead of {wanted}")]
    HardwareAddress {
        /// The end.
        link: String,
        /// The end's hardware address.
        found: Mac,
        /// The expected value.
        wanted: Mac,
    },
    /// The host's end belongs to somebody else.
    #[error("{link} belongs to {found} instead of {wanted}")]
    Owner {
        /// The host's end.
        link: String,
        /// The present owner.
        found: String,
        /// The expected owner.
        wanted: String,
    },
    /// The pod lacks an address.
    #[error("{1} lacks address {0}")]
    AddressMissing(IpAddr, String),
    /// The pod has an address that is not its own.
    #[error("{1} has address {0}, which is not the pod's")]
    AddressExtra(IpAddr, String),
    /// The pod lacks a route.
    #[error("the pod lacks the {0}")]
    RouteMissing(String),
    /// The pod does not know the gateway's hardware address.
    #[error("the pod has no permanent neighbour entry for {0}")]
    NeighbourMissing(IpAddr),
}
