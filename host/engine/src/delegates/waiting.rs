//! The requests that wait for delegates. They have no place of [`in_flight`](crate::Settings::in_flight), so they are bounded here,
//! by delegate and by network: one delegate that hangs leaves room for those that wait for others.
//!
//! The counts are behind a `std::sync::Mutex`, held to read and to change them.

use std::collections::HashMap;
use std::sync::Mutex;

use tenure_types::{DelegateName, Error, ErrorCode, NetworkName, Result};

use crate::lock::hold;

/// How many requests may wait.
const MOST: usize = 1024;

/// A delegate, or a network, may have at most this many times the remaining places. One can fill three quarters of all places,
/// and a further one always finds room.
const SHARE: usize = 3;

/// The requests that wait for delegates.
#[derive(Default)]
pub(super) struct Waiting(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    all: usize,
    delegates: HashMap<DelegateName, usize>,
    networks: HashMap<NetworkName, usize>,
}

/// A request that waits.
pub(super) struct WaitingPlace<'all> {
    all: &'all Waiting,
    delegate: DelegateName,
    network: NetworkName,
}

impl Waiting {
    /// Takes a place.
    ///
    /// # Errors
    /// `Overloaded` if the delegate or the network has its share already.
    pub(super) fn enter(&self, delegate: &DelegateName, network: &NetworkName) -> Result<WaitingPlace<'_>> {
        let mut counts = hold(&self.0);
        let most = MOST.saturating_sub(counts.all).saturating_mul(SHARE);
        let of_delegate = counts.delegates.get(delegate).copied().unwrap_or_default();
        let of_network = counts.networks.get(network).copied().unwrap_or_default();
        if of_delegate >= most || of_network >= most {
            let all = counts.all;
            let cause = format_args!(
                "{all} requests already wait for delegates, {of_delegate} of them for delegate {delegate} and {of_network} on network {network}"
            );
            return Err(Error::new(ErrorCode::Overloaded, cause));
        }
        counts.all += 1;
        counts.delegates.insert(delegate.clone(), of_delegate + 1);
        counts.networks.insert(network.clone(), of_network + 1);
        Ok(WaitingPlace { all: self, delegate: delegate.clone(), network: network.clone() })
    }
}

impl Drop for WaitingPlace<'_> {
    fn drop(&mut self) {
        let mut counts = hold(&self.all.0);
        counts.all -= 1;
        let Counts { delegates, networks, .. } = &mut *counts;
        leave(delegates, &self.delegate);
        leave(networks, &self.network);
    }
}

fn leave<K: std::hash::Hash + Eq>(counts: &mut HashMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delegate_that_hangs_leaves_room_for_those_that_wait_for_others() {
        let waiting = Waiting::default();
        let delegate = |name: &str| DelegateName::new(name).unwrap();
        let network = |name: &str| NetworkName::new(name).unwrap();
        let fill = |of: &str, on: &str| {
            std::iter::from_fn(|| waiting.enter(&delegate(of), &network(on)).ok()).collect::<Vec<_>>()
        };
        let hanging = fill("hangs", "one");
        assert_eq!(hanging.len(), 768);
        let refused = waiting.enter(&delegate("hangs"), &network("two")).map(drop).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Overloaded);
        assert!(refused.cause.contains("768 of them for delegate hangs and 0 on network two"), "{refused}");
        assert!(waiting.enter(&delegate("works"), &network("one")).is_err(), "the network's share");
        let mut hanging = hanging;
        hanging.pop();
        assert_eq!(fill("hangs", "two").len(), 1, "one has left");
        let others: Vec<_> = ["a", "b", "c"].iter().map(|name| fill(name, name)).collect();
        assert!(others.iter().all(|places| !places.is_empty()));
        drop((hanging, others));
        let counts = hold(&waiting.0);
        assert!(counts.all == 0 && counts.delegates.is_empty() && counts.networks.is_empty());
    }
}
