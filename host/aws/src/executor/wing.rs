//! AWS interfaces as a wing of the executor.

use std::time::Duration;

use tenure_effects::{End, Ids, PlanStatus, Step, Target, Wing};
use tenure_engine::ports::Outside;
use tenure_engine::{Outlook, Supply};
use tenure_ledger::{Book, Intent};
use tenure_types::{Attributes, EffectKind, ErrorCode, InvalidAttributes};

use super::action::Action;
use super::carry::Work;
use super::core::AwsCore;
use super::trouble::refusal;
use crate::guards::{self, Guards};
use crate::names;
use crate::outlook::outlook;
use crate::situation::Situation;
use crate::steps::{self, Change, IntentMemory, IntentProgress, StepEvent, StepFacts, range};

impl Wing for AwsCore {
    type Situation = Situation;
    type Work = Work;
    type Action = Action;
    type Change = Change;

    fn start(&self, book: &Book) {
        self.expect(book);
        if !self.tools.open().is_empty() {
            self.state().questions.may_leak();
        }
    }

    fn may_change(&self) -> bool {
        !self.state().settings.fixed
    }

    async fn look(&self) {
        self.see_and_follow().await;
    }

    fn next_look(&self, _: Duration) -> Duration {
        self.next_question()
    }

    fn readiness(&self) -> Result<(), String> {
        let state = self.state();
        if state.seen.last().is_some() && !state.subnets.is_empty() {
            return Ok(());
        }
        let trouble = state.seen.trouble().or(state.subnets_trouble.as_deref());
        let trouble = trouble.unwrap_or("it has not answered yet");
        let who = if state.settings.imds_only { "the instance metadata service" } else { "EC2" };
        Err(format!("{who} has not said yet what this node has: {trouble}"))
    }

    fn trouble(&self) -> Option<String> {
        let now = self.now();
        let state = self.state();
        refusal(&state.budget, now).or_else(|| state.silences.words(now).map(str::to_owned))
    }

    fn situation(&self, book: &Book) -> Result<(Situation, Outlook), InvalidAttributes> {
        let situation = self.situation_of(book);
        let outlook = outlook(&situation, book)?;
        Ok((situation, outlook))
    }

    fn outside<'a>(&'a self, situation: &'a Situation, ids: &'a dyn Ids) -> impl Outside + 'a {
        Guards::new(situation, &*self.witness, ids)
    }

    fn planned(&self, situation: &Situation, status: &PlanStatus) {
        // A full node lacks nothing that a subnet could have, and no subnet has what is refused.
        let is_barred = !situation.barred.is_empty() && situation.backoffs.is_empty();
        let lacks = status.code == Some(ErrorCode::NotYet) && !is_barred && situation.has_room();
        let waits = self.tools.waiting() > 0;
        self.state().questions.planned(lacks, waits, situation.now);
        // An effect may have been refused because EC2's word is too old.
        let ago = situation.now.saturating_sub(situation.seen.last().unwrap_or_default());
        if !status.refused.is_empty() && ago > guards::FRESH {
            self.hint();
        }
    }

    /// An interface, which releases share.
    fn target(&self, intent: &Intent, book: Option<&Book>) -> Target {
        let named = intent.attributes.get(names::INTERFACE);
        let released = || {
            let range = range(book?, intent.attributes.get(names::RANGE)?)?;
            range.attributes().get(names::INTERFACE)
        };
        Target {
            name: named.or_else(released).map(str::to_owned),
            shares: matches!(intent.kind, EffectKind::ReleaseAddress | EffectKind::ReleasePrefix),
        }
    }

    async fn begin(&self, intent: &Intent, is_resumed: bool) -> Result<Work, String> {
        let order = self.order(intent).await.map_err(|wrong| wrong.to_string())?;
        let reached = IntentProgress::of(&intent.reached);
        let memory = if is_resumed { IntentMemory::resumed(&reached) } else { IntentMemory::new() };
        Ok(Work {
            order,
            range: intent.attributes.get(names::RANGE).unwrap_or_default().to_owned(),
            reached,
            memory,
            facts: StepFacts::default(),
            witnessed: None,
        })
    }

    fn reached(&self, work: &Work) -> Result<Attributes, InvalidAttributes> {
        work.reached.attributes()
    }

    async fn next(&self, work: &mut Work) -> Step<Action, Change> {
        work.facts = self.facts(&work.order, &work.reached, &work.memory).await;
        match steps::next(&work.order, &work.reached, &work.memory, &work.facts) {
            steps::Step::Call(request) => Step::Act(Action::Call(request)),
            steps::Step::Look(which) => Step::Act(Action::Look(which)),
            steps::Step::Wait(wait) => Step::Wait(wait),
            steps::Step::Done(change) => Step::Done(change),
            steps::Step::Undone(why) => Step::Undone(why),
        }
    }

    fn waited(&self, work: &mut Work) {
        work.hear(&StepEvent::Waited);
    }

    async fn prepare(&self, work: &mut Work, action: &Action) -> Result<(), String> {
        self.prepared(work, action).await
    }

    async fn act(&self, work: &mut Work, action: Action) {
        self.acted(work, action).await;
    }

    fn changes(&self, intent: &Intent, change: &Change, book: &Book) -> Vec<Supply> {
        self.supply_of(intent, change, book)
    }

    fn ending(&self, _: &Intent, end: &End<'_, Self>) {
        let (now, mut state) = (self.now(), self.state());
        match end {
            End::Done(Change::Detached(interface)) => state.seen.detached(interface, now),
            End::Done(Change::Released(interface, net)) => state.seen.unassigned(interface, *net, now),
            End::Done(Change::Attached(interface)) => state.seen.attached(interface, now),
            End::Done(Change::Assigned(..)) => {}
            // The interface that it made is deleted.
            End::Undone(work) => {
                if let Some(made) = work.and_then(|work| work.reached.interface.as_deref()) {
                    state.seen.detached(made, now);
                }
            }
        }
    }

    fn ended(&self, intent: &Intent, is_done: bool) {
        let mut state = self.state();
        if !is_done && intent.kind == EffectKind::AttachInterface {
            // Should anything of it be left after all, it is found soon.
            state.questions.may_leak();
        }
        state.devices.remove(intent.id.as_str());
        let is_unranged = state.unranged.remove(intent.id.as_str());
        drop(state);
        if is_unranged {
            // As with what the ledger refuses: what kept it from being a range may be over, and only EC2 would show it.
            self.hint();
        }
    }

    fn refused(&self, _: &Intent) {
        // The metadata service agrees with what EC2 has shown, and speaks of nothing that the ledger lacks.
        self.hint();
    }

    fn jittered(&self, wait: Duration) -> Duration {
        self.state().budget.around(wait)
    }
}
