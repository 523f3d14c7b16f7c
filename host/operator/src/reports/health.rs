//! The pages of an operator: `/metrics`, `/healthz`, `/readyz`.

use std::sync::Arc;
use std::time::Duration;

use tenure_observe::http::{ObservedProgram, Readiness};
use tenure_types::Clock;

use super::OperatorMetrics;
use crate::clock::since_boot;
use crate::view::WatchStores;

/// A leader without a complete view for so long is not ready: passes come at least once a minute.
const STALE: Duration = Duration::from_secs(300);

/// The health of an operator. A replica that does not lead is ready once it could.
pub struct OperatorHealth {
    metrics: OperatorMetrics,
    stores: WatchStores,
    clock: Arc<dyn Clock>,
}

impl OperatorHealth {
    /// The health of an operator with these watches.
    #[must_use]
    pub fn new(metrics: OperatorMetrics, stores: WatchStores, clock: Arc<dyn Clock>) -> Self {
        Self { metrics, stores, clock }
    }
}

impl ObservedProgram for OperatorHealth {
    async fn readiness(&self) -> Readiness {
        let mut reasons: Vec<String> =
            self.stores.missing().iter().map(|kind| format!("the {kind} are not listed yet")).collect();
        let age = self.metrics.view_age(since_boot(&*self.clock));
        if let Some(age) = age.filter(|age| self.metrics.is_leader() && *age > STALE) {
            reasons.push(format!("the last complete view of the cluster is {} s old", age.as_secs()));
        }
        Readiness { ready: reasons.is_empty(), reasons }
    }

    async fn exposition(&self) -> String {
        self.metrics.exposition(since_boot(&*self.clock))
    }
}
