//! The upkeep of delegations.

use super::Engine;
use crate::delegates::report::Pending;

impl Engine {
    /// Lists the delegations, by network and owner.
    #[must_use]
    pub fn delegations(&self) -> Vec<Pending> {
        self.delegates.delegations()
    }

    /// Undoes at their delegates what is not in use, as far as it is due, and asks failing delegates whether they work again.
    /// Returns how many could not be undone. Call it regularly, and when [`untidy`](Self::untidy) returns.
    pub async fn tidy(&self) -> usize {
        self.delegates.tidy().await
    }

    /// Waits until there may be something to tidy up.
    pub async fn untidy(&self) {
        self.delegates.untidy().await;
    }
}
