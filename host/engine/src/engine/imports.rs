//! Moving over from other IPAMs.

use std::sync::Arc;

use tenure_types::Result;

use super::Engine;
use crate::import::abandon::{Abandon, AbandonedMoves};
use crate::import::claim::{Claim, Imported};
use crate::import::{Import, Importing};
use crate::ports::OtherIpams;

impl Engine {
    /// Begins an import. The network's definition is durable when this returns.
    ///
    /// Works while ADD is refused because the state was lost: an import is one way to restore it.
    ///
    /// # Errors
    /// `UnknownNetwork` when the network does not exist and `import` does not define it, `NotReady` while the policy that has to
    /// define it is being compiled, `InputOutput` when the source can never be compared with the network, since the daemon cannot read
    /// it, and the policy's own errors about the configuration.
    pub async fn begin_import(&self, import: &Import) -> Result<Importing> {
        self.imports.begin_import(import).await
    }

    /// Judges a part of the claims and returns the outcome of each, in order. Outcomes are durable when this returns.
    ///
    /// # Errors
    /// `CheckpointFailed` and `DiskFull`; claims taken over before the error stay taken over.
    pub async fn import(&self, importing: &mut Importing, part: &[Claim]) -> Result<Vec<Result<Imported>>> {
        self.imports.import(importing, part).await
    }

    /// Ends an import after its last part. The network serves new owners from then on, durably, unless another import of it is
    /// in progress.
    ///
    /// # Errors
    /// `CheckpointFailed` and `DiskFull`; the import then counts as interrupted.
    pub async fn end_import(&self, importing: Importing) -> Result<()> {
        self.imports.end_import(importing).await
    }

    /// Abandons moves that were cut off: the operator says that nothing of them is missing. What came over stays with its owners,
    /// and the network serves new owners if no other move of it is open; durable when this returns. Returns the moves that were
    /// abandoned, or would be. The source of a move that has ended, also of a network that was removed, is let go of in the same way:
    /// new owners no longer wait for what is there.
    ///
    /// # Errors
    /// `UnknownNetwork`; `NetworkInUse` while such an import is in progress; `CheckpointFailed` and `DiskFull`.
    pub async fn abandon_moves(&self, abandon: &Abandon) -> Result<AbandonedMoves> {
        self.imports.abandon_moves(abandon).await
    }

    /// Compares networks with these other IPAMs from now on.
    pub fn compare_with_others(&self, others: Arc<dyn OtherIpams>) {
        self.imports.compare_with_others(others);
    }

    /// Compares the networks again that were refused, so that their conditions end once an operator has seen to them.
    pub async fn compare_again(&self) {
        self.imports.compare_again().await;
    }
}
