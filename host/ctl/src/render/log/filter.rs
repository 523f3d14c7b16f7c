//! The part of the log that is printed. What is left out is read all the same: a release names only a generation.

use tenure_types::{Moment, NetworkName};

/// Selects facts by time and network; the default selects all.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogFilter {
    /// Unix time in milliseconds from which on facts are printed.
    pub(crate) since_ms: u64,
    /// Networks whose facts are printed; all if there are none.
    pub(crate) networks: Vec<NetworkName>,
}

impl LogFilter {
    /// Whether a fact is printed. One without a time is as old as its neighbours, which is not known, so only its network counts.
    pub(super) fn selects(&self, at: Option<Moment>, network: Option<&NetworkName>) -> bool {
        at.is_none_or(|at| at.wall_ms >= self.since_ms) && self.selects_network(network)
    }

    /// Whether facts of a network are printed; those of no network are not if networks are named.
    pub(super) fn selects_network(&self, network: Option<&NetworkName>) -> bool {
        self.networks.is_empty() || network.is_some_and(|network| self.networks.contains(network))
    }
}
