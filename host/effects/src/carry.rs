//! Carrying out one intent: its steps, one after the other, until it is done or undone.
//!
//! What a step depends on is durable before it begins, so that a process that is killed at any point leaves behind either what it was about
//! to do or what came of it.

use std::sync::Arc;
use std::time::Duration;

use tenure_ledger::Intent;
use tenure_types::Attributes;

use crate::core::Core;
use crate::wing::{Step, Wing};

/// The wait before what the journal refused is staged again.
const AGAIN: Duration = Duration::from_secs(2);

impl<W: Wing> Core<W> {
    /// Carries out an intent to its end.
    pub(crate) async fn carry(&self, intent: Arc<Intent>, is_resumed: bool) {
        let mut work = match self.wing.begin(&intent, is_resumed).await {
            Ok(work) => work,
            Err(why) => return self.undone(&intent, None, &why).await,
        };
        let mut kept = intent.reached.clone();
        loop {
            self.keep(&intent, &work, &mut kept).await;
            let step = self.wing.next(&mut work).await;
            self.note(&intent, &step);
            match step {
                Step::Wait(wait) => {
                    self.rest(wait).await;
                    self.wing.waited(&mut work);
                }
                Step::Act(action) => {
                    if let Err(why) = self.wing.prepare(&mut work, &action).await {
                        return self.undone(&intent, None, &why).await;
                    }
                    self.keep(&intent, &work, &mut kept).await;
                    self.wing.act(&mut work, action).await;
                }
                Step::Done(change) => return self.done(&intent, &change).await,
                Step::Undone(why) => return self.undone(&intent, Some(&work), &why).await,
            }
        }
    }

    /// Makes what an intent has reached durable.
    async fn keep(&self, intent: &Intent, work: &W::Work, kept: &mut Attributes) {
        let reached = match self.wing.reached(work) {
            Ok(reached) if reached == *kept => return,
            Ok(reached) => reached,
            Err(error) => {
                tracing::error!(intent = %intent.id, %error, "what an intent has reached cannot be kept");
                return;
            }
        };
        // Without it, the next step must not begin.
        while let Err(error) = self.tools.engine.effect_reached(&intent.id, reached.clone()).await {
            tracing::warn!(intent = %intent.id, %error, "waiting for the checkpoint");
            self.rest(AGAIN).await;
        }
        *kept = reached;
    }

    /// Remembers what an intent is doing, for people.
    fn note(&self, intent: &Intent, step: &Step<W::Action, W::Change>) {
        let words = match step {
            Step::Act(action) => action.to_string(),
            Step::Wait(wait) => format!("wait {} s", wait.as_secs()),
            Step::Done(_) => "done".to_owned(),
            Step::Undone(why) => format!("undone: {why}"),
        };
        tracing::debug!(intent = %intent.id, kind = intent.kind.name(), step = words);
        let now = self.tools.now();
        self.memory().steps.insert(intent.id.to_string(), (words, now));
        self.changed();
    }
}
