//! Planning: the policy is asked, and what it may do begins.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tenure_engine::Planned;
use tenure_ledger::Intent;
use tenure_types::{Error, ErrorCode};

use crate::core::Core;
use crate::status::PlanStatus;
use crate::tools::Tools;
use crate::wing::Wing;

/// How often a plan is made although the last one found nothing to do, and nothing has changed since but the time.
const PLAN_AT_REST: Duration = Duration::from_secs(30);

/// How long a plan that somebody wants to see is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whether a plan's error is the policy's answer that more is wanted and cannot be had, and no failure.
pub(crate) fn is_answer(error: &Error) -> bool {
    matches!(error.code, ErrorCode::PoolExhausted | ErrorCode::NotYet)
}

impl<W: Wing> Core<W> {
    /// Whether there is enough to plan with.
    pub(crate) fn may_plan(&self) -> bool {
        self.wing.readiness().is_ok()
    }

    /// Whether the policy need not be asked: it had nothing to do a short while ago, and only time has passed since.
    pub(crate) async fn is_at_rest(&self) -> bool {
        let Some((through, at)) = self.memory().rests else { return false };
        let tools = &self.tools;
        let is_recent = tools.now().saturating_sub(at) < PLAN_AT_REST;
        is_recent && tools.waiting() == 0 && tools.book().await.is_some_and(|book| book.through() == through)
    }

    /// Tells requests that wait why nothing can be planned, if so.
    pub(crate) fn tell_why_nothing_is_planned(&self) {
        let Tools { engine, network, .. } = &self.tools;
        if self.tools.waiting() > 0
            && let Err(why) = self.wing.readiness()
        {
            engine.supply_lacks(network, &why);
        }
    }

    /// Has a plan made although nothing has changed, and waits for it.
    pub(crate) async fn plan_soon(&self) {
        if !self.may_plan() {
            return;
        }
        let mut planned = self.planned.subscribe();
        self.memory().rests = None;
        self.plan_now.notify_one();
        tokio::select! {
            _ = planned.changed() => {}
            () = self.tools.sleep(PATIENCE) => {}
        }
    }

    /// Has the policy plan; returns what has begun.
    pub(crate) async fn plan(&self) -> Vec<Arc<Intent>> {
        let begun = self.plan_and_remember().await;
        self.planned.send_modify(|count| *count += 1);
        begun
    }

    async fn plan_and_remember(&self) -> Vec<Arc<Intent>> {
        let Tools { engine, network, .. } = &self.tools;
        if !engine.plans(network).await {
            return Vec::new();
        }
        let Some(book) = self.tools.book().await else { return Vec::new() };
        let at = self.tools.now();
        let (situation, outlook) = match self.wing.situation(&book) {
            Ok(premises) => premises,
            Err(error) => {
                tracing::error!(%error, "the outside uses names that a plan cannot contain");
                return Vec::new();
            }
        };
        let through = book.through();
        // A second reference to the book would make the next change copy it.
        drop(book);
        let outside = self.wing.outside(&situation, &self.ids);
        let planned = engine.plan_effects(network, outlook, &outside).await;
        drop(outside);
        let rests =
            matches!(&planned, Ok(planned) if planned.intents.is_empty() && planned.refused.is_empty());
        self.memory().rests = rests.then_some((through, at));
        let (status, intents) = status_of(planned, at);
        // What has begun is all that can be done, and the outside may not do it.
        if status.words.is_none()
            && status.refused.is_empty()
            && self.tools.waiting() > 0
            && let Some(trouble) = self.wing.trouble()
        {
            engine.supply_lacks(network, &trouble);
        }
        self.wing.planned(&situation, &status);
        self.remember(status);
        intents
    }

    fn remember(&self, status: PlanStatus) {
        let mut memory = self.memory();
        let is_news = memory
            .plan
            .as_ref()
            .is_none_or(|before| (&before.words, &before.refused) != (&status.words, &status.refused));
        let told: BTreeSet<String> =
            status.refused.iter().chain(&status.words).map(|told| timeless(told)).collect();
        for refused in status.refused.iter().filter(|refused| !memory.told.contains(&timeless(refused))) {
            tracing::warn!(refused, "a plan's effect was refused");
        }
        if let Some(words) = status.words.as_ref().filter(|words| !memory.told.contains(&timeless(words))) {
            tracing::info!(words, "nothing can be planned");
        }
        memory.told = told;
        memory.plan = Some(status);
        drop(memory);
        if is_news {
            self.changed();
        }
    }
}

/// Removes the numbers from words: only a countdown may have changed.
fn timeless(words: &str) -> String {
    let is_number = |part: &&str| {
        part.trim_matches(|of: char| !of.is_alphanumeric()).chars().all(|of| of.is_ascii_digit())
    };
    words.split_whitespace().filter(|part| !is_number(part)).collect::<Vec<_>>().join(" ")
}

/// A plan for people, and what it has begun.
fn status_of(planned: Result<Planned, Error>, at: Duration) -> (PlanStatus, Vec<Arc<Intent>>) {
    match planned {
        Ok(planned) => {
            let refused = planned.refused.into_iter();
            let refused =
                refused.map(|(effect, why)| format!("{} {}: {why}", effect.kind.name(), effect.attributes));
            let begun = planned.intents.iter().map(|intent| intent.id.to_string()).collect();
            let status = PlanStatus { at, words: None, code: None, begun, refused: refused.collect() };
            (status, planned.intents)
        }
        Err(error) => {
            if !is_answer(&error) {
                tracing::warn!(%error, "no plan could be made");
            }
            let words = Some(error.to_string());
            let (code, begun, refused) = (Some(error.code), Vec::new(), Vec::new());
            (PlanStatus { at, words, code, begun, refused }, Vec::new())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_countdown_is_no_news_and_another_object_is() {
        let words = |seconds: u32, id: &str| {
            timeless(&format!(
                "assign-address interface={id}: EC2 is asked again in {seconds} s: no, {seconds} s"
            ))
        };
        assert_eq!(words(30, "eni-1"), words(29, "eni-1"));
        assert_ne!(words(30, "eni-1"), words(30, "eni-2"));
        assert_ne!(timeless("left 10.0.0.4/32"), timeless("left 10.0.0.5/32"));
    }
}
