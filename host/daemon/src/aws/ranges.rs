//! The VPC's ranges, which pods reach with their own addresses: kept with the node's identity, and followed while the daemon runs.

use std::collections::BTreeSet;

use ipnet::IpNet;
use tenure_engine::Engine;

use super::identities::{keep, kept};

/// Takes in the VPC's ranges of IPv4, as the metadata service names them; returns whether they are others than before. Those of IPv6 are not
/// translated in any case.
pub(crate) async fn follow_ranges(engine: &Engine, named: &BTreeSet<String>) -> bool {
    let parsed: Result<BTreeSet<IpNet>, _> = named.iter().map(|range| range.parse()).collect();
    let (Ok(named), Some(mut identity)) = (parsed, kept(engine)) else { return false };
    let (before, rest): (BTreeSet<IpNet>, BTreeSet<IpNet>) =
        identity.ranges.iter().copied().partition(|range| range.addr().is_ipv4());
    if before == named {
        return false;
    }
    tracing::info!(was = ?before, now = ?named, "the VPC's ranges have changed");
    identity.ranges = named.into_iter().chain(rest).collect();
    keep(engine, &identity).await;
    true
}
