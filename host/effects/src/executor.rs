//! Carrying out what policies plan for one network.
//!
//! ```text
//!  demand, timer, an intent's end ──▶ plan ──▶ checks ──▶ intents, durable ──▶ a task each ──▶ done or undone
//!                                       ▲                                            │
//!  timer, a hint ──▶ look at the outside ──▶ the ledger's supply agrees ◀────────────┘ answers
//! ```
//!
//! One loop decides; looks and intents are tasks of their own, so that a slow intent delays nothing. Intents on the same target run one
//! after the other. Dropping the future of [`Executor::run`] drops all of them: what they have reached is in the ledger, and the next run
//! goes on from there.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tenure_engine::{Attending, Begun};
use tenure_ledger::Intent;
use tenure_types::{Effect, Error, ErrorCode, IntentId, NetworkName, Result};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::core::Core;
use crate::explain::Explained;
use crate::ids::NumberedIds;
use crate::looks::Looks;
use crate::queue::{Entry, Queue, Target};
use crate::status::Progress;
use crate::tools::Tools;
use crate::wing::Wing;

/// How often a plan is made while requests wait: something may have cooled down.
const PLAN_FOR_DEMAND: Duration = Duration::from_secs(1);

/// How long further requests are waited for, so that one plan serves them all.
const GATHER: Duration = Duration::from_millis(20);

/// How an executor works.
#[derive(Debug, Clone)]
pub struct Config {
    /// The node, as the ids of intents contain it.
    pub node: String,
    /// How often a plan is made although nothing has happened.
    pub plan_every: Duration,
    /// The seed of ids: another one for each start.
    pub seed: u64,
}

/// Carries out the plans of one network.
pub struct Executor<W> {
    core: Arc<Core<W>>,
    plan_every: Duration,
}

/// A handle to a running executor, for queries and notifications.
pub struct Handle<W>(Arc<Core<W>>);

/// A task of an executor panicked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFailure(String);

/// The end of a task.
enum Ended {
    /// The outside was looked at.
    Looked,
    /// An intent on this target ended.
    Carried(IntentId, Target),
}

impl<W: Wing> Executor<W> {
    /// An executor that has not begun.
    #[must_use]
    pub fn new(tools: Tools, wing: W, config: Config) -> Self {
        let wall = tools.clock.now().wall_ms;
        let Config { node, plan_every, seed } = config;
        let ids = NumberedIds::new(&node, wall, seed);
        Self { core: Arc::new(Core::new(tools, wing, ids)), plan_every }
    }

    /// A handle, to ask about it while it runs.
    #[must_use]
    pub fn handle(&self) -> Handle<W> {
        Handle(Arc::clone(&self.core))
    }

    /// Works until it is dropped; returns only if one of its tasks panicked. Its intent stays open, and what it reached outside is not
    /// known: the next run finds out, as after a crash.
    pub async fn run(self) -> TaskFailure {
        let Self { core, plan_every } = self;
        let tools = &core.tools;
        if let Some(book) = tools.book().await {
            core.wing.start(&book);
        }
        let (mut tasks, mut queue) = (JoinSet::new(), Queue::default());
        core.queue(&mut queue, tools.open(), true).await;
        let (mut next_plan, mut next_wake) = (tools.now(), tools.now());
        let (mut looks, mut attending) = (Looks::default(), None);
        loop {
            // Where nothing ever changes, no request need wait.
            attending = match core.wing.may_change() {
                false => None,
                true => attending.or_else(|| Some(tools.engine.attend(&tools.network))),
            };
            if looks.begin(&core) {
                let core = Arc::clone(&core);
                tasks.spawn(async move {
                    core.wing.look().await;
                    Ended::Looked
                });
            }
            if tools.waiting() > 0 && tools.now() >= next_wake {
                // An address that has cooled down is given to a request that waits, whether or not anything can be planned.
                tools.engine.wake_for_room(&tools.network).await;
                next_wake = tools.now() + PLAN_FOR_DEMAND;
            }
            core.tell_why_nothing_is_planned();
            if tools.now() >= next_plan && core.may_plan() {
                let begun = if core.is_at_rest().await { Vec::new() } else { core.plan().await };
                core.queue(&mut queue, begun, false).await;
                let waits = tools.waiting() > 0;
                next_plan = tools.now() + if waits { PLAN_FOR_DEMAND } else { plan_every };
            }
            for Entry { intent, is_resumed, target } in queue.ready() {
                let core = Arc::clone(&core);
                tasks.spawn(async move {
                    let id = intent.id.clone();
                    core.carry(intent, is_resumed).await;
                    Ended::Carried(id, target)
                });
            }
            let now = tools.now();
            // As long as there is nothing to plan with, a look's end is waited for.
            let plan_at = if core.may_plan() { next_plan } else { now + plan_every };
            let next = looks.due(&core).map_or(plan_at, |look_at| plan_at.min(look_at));
            let next = if tools.waiting() > 0 { next.min(next_wake) } else { next };
            let wait = next.saturating_sub(now).max(Duration::from_millis(1));
            tokio::select! {
                Some(ended) = tasks.join_next() => match ended {
                    Ok(Ended::Looked) => {
                        looks.ended(tools.now());
                        core.memory().rests = None;
                        core.changed();
                        next_plan = tools.now();
                    }
                    Ok(Ended::Carried(id, target)) => {
                        queue.ended(&id, &target);
                        core.changed();
                        // Requests that wait are served at once. What is merely to be kept warm has time until the next plan, so
                        // that one call serves the pods of several seconds.
                        if tools.waiting() > 0 {
                            next_plan = tools.now();
                        }
                    }
                    // Its target would stay busy for ever, or the outside would never be looked at again.
                    Err(error) => return TaskFailure(error.to_string()),
                },
                () = demanded(attending.as_mut()) => {
                    tools.sleep(GATHER).await;
                    next_plan = tools.now();
                }
                begun = core.begun.taken() => core.queue(&mut queue, begun, false).await,
                () = tools.hinted() => looks.hinted(),
                () = core.plan_now.notified() => next_plan = tools.now(),
                () = tools.sleep(wait) => {}
            }
        }
    }
}

impl<W: Wing> Core<W> {
    /// Adds intents to a queue.
    async fn queue(&self, queue: &mut Queue, intents: Vec<Arc<Intent>>, is_resumed: bool) {
        if intents.is_empty() {
            return;
        }
        let book = self.tools.book().await;
        for intent in intents {
            let target = self.wing.target(&intent, book.as_deref());
            queue.push(Entry { intent, is_resumed, target });
        }
    }
}

impl fmt::Display for TaskFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "a task of the executor failed: {}", self.0)
    }
}

impl std::error::Error for TaskFailure {}

/// Waits until a request begins to wait; without end where none may wait.
async fn demanded(attending: Option<&mut Attending>) {
    match attending {
        Some(attending) => attending.demanded().await,
        None => std::future::pending().await,
    }
}

impl<W> Clone for Handle<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<W: Wing> Handle<W> {
    /// The wing.
    #[must_use]
    pub fn wing(&self) -> &W {
        &self.0.wing
    }

    /// The network whose plans are carried out.
    #[must_use]
    pub fn network(&self) -> &NetworkName {
        &self.0.tools.network
    }

    /// Counts the steps and ends of intents, the looks at the outside, and the plans that differ from the last: when one of them is news, so
    /// is what depends on it.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes()
    }

    /// Returns the work in progress.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.0.progress()
    }

    /// Has the policy plan now, and begins nothing: what would begin, what would be refused, and what that is made from.
    ///
    /// # Errors
    /// `NoPlan` if the network's policy does not plan, `NotReady` before the wing knows enough, and what the policy fails with. That
    /// nothing can be planned is an answer, and not an error.
    pub async fn explain(&self) -> Result<Explained> {
        self.0.explain().await
    }

    /// Begins effects that the host wants without a policy's plan, and has them carried out. They are checked and recorded in one critical
    /// section; a caller that goes away stops nothing.
    ///
    /// # Errors
    /// `NotReady` before the wing knows enough, `UnknownNetwork`, and those of the journal; nothing has begun then.
    pub async fn begin(&self, effects: Vec<Effect>) -> Result<Begun> {
        let core = Arc::clone(&self.0);
        let begun = tokio::spawn(async move { core.begin(effects).await });
        begun.await.map_err(|error| Error::new(ErrorCode::Internal, error))?
    }

    /// Has a plan made now, and waits for that for a second at most: where nothing can be planned, none is.
    pub async fn plan_now(&self) {
        self.0.plan_soon().await;
    }

    /// Has the outside looked at now. Nothing else is concluded from it.
    pub fn look_again(&self) {
        self.0.tools.look_again();
    }

    /// Has the next plan made although the ledger has not changed: something else has that plans depend on.
    pub fn plan_again(&self) {
        self.0.memory().rests = None;
    }
}
