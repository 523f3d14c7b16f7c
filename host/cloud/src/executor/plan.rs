//! Planning: the policy is asked, and what it may do begins.

use std::sync::Arc;

use tenure_engine::Outlook;
use tenure_ledger::{Book, Intent};
use tenure_types::{Error, ErrorCode, InvalidAttributes};

use super::PLAN_AT_REST;
use super::core::Core;
use super::status::PlanStatus;
use crate::guards::{self, Guards};
use crate::outlook::outlook;
use crate::situation::Situation;

/// Whether a plan's error is the policy's answer that more is wanted and cannot be had, and no failure.
pub(super) fn is_answer(error: &Error) -> bool {
    matches!(error.code, ErrorCode::PoolExhausted | ErrorCode::NotYet)
}

impl Core {
    /// Whether there is enough to plan with: EC2 has answered, and may be called.
    pub(super) fn may_plan(&self) -> bool {
        let state = self.state();
        state.seen.last().is_some() && !state.subnets.is_empty()
    }

    /// What a plan is made from now.
    ///
    /// # Errors
    /// If EC2 uses names that no plan can be told of.
    pub(super) fn premises(&self, book: &Book) -> Result<(Situation, Outlook), InvalidAttributes> {
        let situation = self.situation(book);
        let outlook = outlook(&situation, book)?;
        Ok((situation, outlook))
    }

    /// Whether the policy need not be asked: it had nothing to do a short while ago, and only time has passed since.
    pub(super) async fn is_at_rest(&self) -> bool {
        let Some((through, at)) = self.state().rests else { return false };
        let is_recent = self.now().saturating_sub(at) < PLAN_AT_REST;
        is_recent && self.waiting() == 0 && self.book().await.is_some_and(|book| book.through() == through)
    }

    /// Has the policy plan; returns what has begun.
    pub(super) async fn plan(&self) -> Vec<Arc<Intent>> {
        let network = &self.config.network;
        if !self.engine.plans(network).await {
            return Vec::new();
        }
        let Some(book) = self.book().await else { return Vec::new() };
        let (situation, outlook) = match self.premises(&book) {
            Ok(premises) => premises,
            Err(error) => {
                tracing::error!(%error, "EC2 uses names that no plan can be told of");
                return Vec::new();
            }
        };
        let through = book.through();
        // Whoever shares the book makes the next change copy it.
        drop(book);
        let guards = Guards::new(&situation, &*self.witness, &self.ids);
        let planned = self.engine.plan_effects(network, outlook, &guards).await;
        let rests =
            matches!(&planned, Ok(planned) if planned.intents.is_empty() && planned.refused.is_empty());
        self.state().rests = rests.then_some((through, situation.now));
        let (status, intents) = match planned {
            Ok(planned) => {
                // It may have been refused because EC2's word is too old.
                let ago = situation.now.saturating_sub(situation.seen.last().unwrap_or_default());
                if !planned.refused.is_empty() && ago > guards::FRESH {
                    self.look_again.notify_one();
                }
                let refused = planned.refused.into_iter();
                let refused = refused
                    .map(|(effect, why)| format!("{} {}: {why}", effect.kind.name(), effect.attributes));
                let begun = planned.intents.iter().map(|intent| intent.id.to_string()).collect();
                (
                    PlanStatus { at: situation.now, words: None, begun, refused: refused.collect() },
                    planned.intents,
                )
            }
            Err(error) => {
                if !is_answer(&error) {
                    tracing::warn!(%error, "no plan could be made");
                }
                let words = Some(error.to_string());
                let status = PlanStatus { at: situation.now, words, begun: Vec::new(), refused: Vec::new() };
                (status, Vec::new())
            }
        };
        self.remember(status);
        intents
    }

    fn remember(&self, status: PlanStatus) {
        let mut state = self.state();
        let is_news = state
            .plan
            .as_ref()
            .is_none_or(|before| (&before.words, &before.refused) != (&status.words, &status.refused));
        if is_news {
            for refused in &status.refused {
                tracing::warn!(refused, "a plan's effect was refused");
            }
            if let Some(words) = &status.words {
                tracing::info!(words, "nothing can be planned");
            }
        }
        state.plan = Some(status);
    }
}
