//! The ends of intents: with the ranges that they brought or took, in one group with the end.

use std::time::Duration;

use tenure_ledger::Intent;
use tenure_types::ErrorCode;

use crate::core::Core;
use crate::wing::{End, Wing};

/// How often the ledger may refuse an end with its ranges; after that, it ends without them, and a look brings what can be had.
const MOST_REFUSALS: u32 = 5;

/// The wait before an end is repeated.
const AGAIN: Duration = Duration::from_secs(1);

impl<W: Wing> Core<W> {
    /// Ends an intent that was done.
    pub(crate) async fn done(&self, intent: &Intent, change: &W::Change) {
        self.wing.ending(intent, &End::Done(change));
        let mut refusals = 0;
        loop {
            let changes = match self.tools.book().await {
                Some(book) if refusals < MOST_REFUSALS => self.wing.changes(intent, change, &book),
                _ => Vec::new(),
            };
            match self.tools.engine.effect_done(&intent.id, &changes).await {
                Ok(()) => break,
                Err(_) if !self.is_open(intent) => break,
                Err(error) => {
                    tracing::warn!(intent = %intent.id, %error, "an end has to be repeated");
                    // A disk comes back, and takes the ranges then.
                    let is_disk = matches!(error.code, ErrorCode::DiskFull | ErrorCode::CheckpointFailed);
                    refusals += u32::from(!is_disk);
                }
            }
            self.rest(AGAIN).await;
        }
        tracing::info!(intent = %intent.id, kind = intent.kind.name(), "done");
        self.forget(intent, true);
        if refusals >= MOST_REFUSALS {
            self.wing.refused(intent);
        }
    }

    /// Ends an intent of which nothing is left.
    pub(crate) async fn undone(&self, intent: &Intent, work: Option<&W::Work>, why: &str) {
        self.wing.ending(intent, &End::Undone(work));
        while let Err(error) = self.tools.engine.effect_undone(&intent.id, why).await {
            if !self.is_open(intent) {
                break;
            }
            tracing::warn!(intent = %intent.id, %error, "an end has to be repeated");
            self.rest(AGAIN).await;
        }
        tracing::warn!(intent = %intent.id, kind = intent.kind.name(), why, "undone");
        self.forget(intent, false);
    }

    fn is_open(&self, intent: &Intent) -> bool {
        self.tools.engine.intents().iter().any(|open| open.id == intent.id)
    }

    fn forget(&self, intent: &Intent, is_done: bool) {
        self.wing.ended(intent, is_done);
        let outcome = if is_done { "done" } else { "undone" };
        let mut memory = self.memory();
        memory.steps.remove(intent.id.as_str());
        *memory.ends.entry((intent.kind.name(), outcome)).or_default() += 1;
    }
}
