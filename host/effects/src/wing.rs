//! A wing: what one kind of outside adds to the executor.
//!
//! ```text
//!            situation ─▶ outside            begin ─▶ next ─▶ prepare ─▶ (durable) ─▶ act ─┐
//! look ─▶       the policy plans    ─▶ target          ▲                                   │
//!                                                      └──────── reached (durable) ◀───────┘
//!                                                 next ─▶ Done ─▶ ending ─▶ changes (durable) ─▶ ended
//! ```
//!
//! The executor calls a wing from several tasks at once: what a wing knows is behind a lock of its own. What it remembers of one intent is
//! its [`Work`](Wing::Work): the part that [`reached`](Wing::reached) returns survives a crash, and the rest does not.

use std::fmt::Display;
use std::future::Future;
use std::time::Duration;

use tenure_engine::ports::Outside;
use tenure_engine::{Outlook, Supply};
use tenure_ledger::{Book, Intent};
use tenure_types::{Attributes, InvalidAttributes};

use crate::ids::Ids;
use crate::queue::Target;
use crate::status::PlanStatus;

/// The next step of an intent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step<Action, Change> {
    /// Act on the outside, or look at it.
    Act(Action),
    /// Wait so long before the next step.
    Wait(Duration),
    /// The intent is done, with this change.
    Done(Change),
    /// Nothing of it is left, because of this.
    Undone(String),
}

/// The end of an intent.
#[derive(Debug)]
pub enum End<'a, W: Wing> {
    /// The step was done.
    Done(&'a W::Change),
    /// Nothing of it is left, although it got as far as this; `None` if it never began.
    Undone(Option<&'a W::Work>),
}

/// Acts outside the ledger for one network.
pub trait Wing: Sized + Send + Sync + 'static {
    /// The input of a plan and of the checks on its effects: a copy, so that nothing is locked while a policy thinks.
    type Situation: Send + Sync;
    /// An intent that is being carried out.
    type Work: Send + Sync;
    /// A call to the outside, in words for people.
    type Action: Display + Send + Sync;
    /// The change that an intent made outside.
    type Change: Send + Sync;

    /// Takes in the ledger at the start, before anything was looked at.
    fn start(&self, book: &Book);

    /// Whether anything may ever be changed. Where nothing may, no request waits.
    fn may_change(&self) -> bool;

    /// Looks at the outside, and makes the ledger's supply agree with it.
    fn look(&self) -> impl Future<Output = ()> + Send;

    /// The time at which the next look begins, unless somebody hints at a change. `last` is the end of the last look; both are readings of the boot clock.
    /// It is asked again and again between two looks: it gets nearer when something begins to lack, and draws no random number.
    fn next_look(&self, last: Duration) -> Duration;

    /// Whether enough is known to plan.
    ///
    /// # Errors
    /// What is missing, as a sentence.
    fn readiness(&self) -> Result<(), String>;

    /// Says why what has begun may not end soon, if the outside is at fault; told to requests that wait.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// The situation now, and what the policy learns of it.
    ///
    /// # Errors
    /// When the outside uses names that a plan cannot contain.
    fn situation(&self, book: &Book) -> Result<(Self::Situation, Outlook), InvalidAttributes>;

    /// Checks the effects of a plan that is made in a situation.
    fn outside<'a>(&'a self, situation: &'a Self::Situation, ids: &'a dyn Ids) -> impl Outside + 'a;

    /// Hears what became of a plan.
    fn planned(&self, situation: &Self::Situation, status: &PlanStatus);

    /// Returns the object that an intent changes, so that no two intents change it at once.
    fn target(&self, intent: &Intent, book: Option<&Book>) -> Target;

    /// Begins to carry out an intent; waits until all is known that it depends on. With `is_resumed`, an earlier process may have acted
    /// for it beyond what `intent.reached` says.
    ///
    /// # Errors
    /// Why nothing can be done for it; the intent ends as undone.
    fn begin(
        &self,
        intent: &Intent,
        is_resumed: bool,
    ) -> impl Future<Output = Result<Self::Work, String>> + Send;

    /// Returns the progress that must survive a crash.
    ///
    /// # Errors
    /// When it does not fit; it is then not kept.
    fn reached(&self, work: &Self::Work) -> Result<Attributes, InvalidAttributes>;

    /// The next step. What was reached so far is durable.
    fn next(&self, work: &mut Self::Work) -> impl Future<Output = Step<Self::Action, Self::Change>> + Send;

    /// Takes in that a wait is over.
    fn waited(&self, work: &mut Self::Work);

    /// Writes down what must be durable before an action begins, such as that it was asked for.
    ///
    /// # Errors
    /// Why it must not begin after all; the intent ends as undone.
    fn prepare(
        &self,
        work: &mut Self::Work,
        action: &Self::Action,
    ) -> impl Future<Output = Result<(), String>> + Send;

    /// Acts. What [`prepare`](Self::prepare) wrote down is durable.
    fn act(&self, work: &mut Self::Work, action: Self::Action) -> impl Future<Output = ()> + Send;

    /// Converts a change to changes of the ledger's supply, for the present book.
    fn changes(&self, intent: &Intent, change: &Self::Change, book: &Book) -> Vec<Supply>;

    /// Takes in the end of an intent, before it is durable.
    fn ending(&self, intent: &Intent, end: &End<'_, Self>);

    /// Forgets an intent, whose end is durable.
    fn ended(&self, intent: &Intent, is_done: bool);

    /// Hears that the ledger has refused the ranges that an intent brought or took, so that it ended without them: a look has to find them.
    fn refused(&self, _: &Intent) {}

    /// A wait, jittered, so that nodes do not ask in step.
    fn jittered(&self, wait: Duration) -> Duration;
}
