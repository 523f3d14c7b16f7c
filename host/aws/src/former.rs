//! State of another instance, whose disk this machine has a copy of.
//!
//! The ranges are of interfaces that another machine may still have, and the intents ask for changes of those. Nothing of it is done, and
//! nothing of it is handed out: the intents end without a change, and the ranges drain until EC2 has said what this instance has. Then
//! [`reconcile`](crate::reconcile) keeps, opens or withdraws them like all that EC2 shows or does not show.

use tenure_engine::{Engine, Supply};
use tenure_types::{NetworkName, Result};

use crate::ranges::carried;
use crate::situation::ranges;

/// Leaves to another instance what the ledger has of it. To be called before an executor runs for this one; it may be repeated.
///
/// # Errors
/// Those of the journal.
pub async fn leave(engine: &Engine, network: &NetworkName) -> Result<()> {
    for intent in engine.intents().iter().filter(|intent| intent.network == *network) {
        tracing::warn!(intent = %intent.id, kind = intent.kind.name(), "left to the instance that began it");
        engine.effect_done(&intent.id, &[]).await?;
    }
    let Some(book) = engine.book(network).await else { return Ok(()) };
    let open = ranges(&book).filter(|(_, view)| !view.draining && carried(view.range).is_some());
    let drain = open.map(|(pool, view)| Supply::Drain {
        pool: pool.name.clone(),
        range: view.range.name().clone(),
        draining: true,
    });
    let changes: Vec<Supply> = drain.collect();
    drop(book);
    engine.supply(network, &changes).await
}
