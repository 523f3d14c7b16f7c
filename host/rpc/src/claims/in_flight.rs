//! The calls of an agent: how many may work at a time, how many may queue for that, and how many may wait for a network.
//!
//! ```text
//! begins ─▶ queues (MOST_CALLS) ─▶ works (MOST_WORKING) ─▶ answered
//!                 ▲                       │
//!                 └── woken ── waits ◀────┘  (MOST_WAITING)
//! ```
//!
//! A call that waits holds no other one up, and one that is woken queues rather than fails. It keeps its place among those that wait
//! until then, so that many that are woken at once leave new calls their room.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tenure_types::{AgentName, Error, ErrorCode, Result, hold};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most calls of one agent that work or queue for it, besides its watches and the calls that have waited.
const MOST_CALLS: usize = 256;

/// The most calls of one agent that work.
const MOST_WORKING: usize = 64;

/// The most calls of one agent that wait for a network, or have waited and are not answered yet.
const MOST_WAITING: usize = 256;

/// The calls of each agent. A `std::sync::Mutex`, held to look an agent up. The configuration names the agents, so there are few.
#[derive(Debug, Clone, Default)]
pub(super) struct InFlight(Arc<Mutex<BTreeMap<AgentName, Arc<Calls>>>>);

/// The calls of one agent.
#[derive(Debug)]
struct Calls {
    agent: AgentName,
    all: Arc<Semaphore>,
    working: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// A call that works, until it is dropped.
#[derive(Debug)]
pub(super) struct AgentCall {
    calls: Arc<Calls>,
    _works: OwnedSemaphorePermit,
    /// Until it waits for the first time.
    _place: Option<OwnedSemaphorePermit>,
    /// Once it has waited.
    waiting: Option<OwnedSemaphorePermit>,
}

/// A call that waits, until it is dropped.
#[derive(Debug)]
pub(super) struct WaitingCall {
    calls: Arc<Calls>,
    place: OwnedSemaphorePermit,
}

impl InFlight {
    /// Queues another call, and returns when it may work.
    ///
    /// # Errors
    /// `Overloaded` if there are too many.
    pub(super) async fn begin(&self, agent: &AgentName) -> Result<AgentCall> {
        let calls = self.of(agent);
        let place = Arc::clone(&calls.all).try_acquire_owned();
        let place = place.map_err(|_| calls.overloaded(format_args!("has {MOST_CALLS} calls in flight")))?;
        let works = Arc::clone(&calls.working).acquire_owned().await.map_err(closed)?;
        Ok(AgentCall { calls, _works: works, _place: Some(place), waiting: None })
    }

    fn of(&self, agent: &AgentName) -> Arc<Calls> {
        let mut all = hold(&self.0);
        let of = |most| Arc::new(Semaphore::new(most));
        let new = || {
            Arc::new(Calls {
                agent: agent.clone(),
                all: of(MOST_CALLS),
                working: of(MOST_WORKING),
                waiting: of(MOST_WAITING),
            })
        };
        Arc::clone(all.entry(agent.clone()).or_insert_with(new))
    }
}

impl AgentCall {
    /// Lets other calls work.
    ///
    /// # Errors
    /// `Overloaded` if too many wait already.
    pub(super) fn waits(self) -> Result<WaitingCall> {
        let Self { calls, waiting, .. } = self;
        let place = waiting.map_or_else(|| Arc::clone(&calls.waiting).try_acquire_owned(), Ok);
        let too_many = format_args!("has {MOST_WAITING} calls that wait for a network");
        let place = place.map_err(|_| calls.overloaded(too_many))?;
        Ok(WaitingCall { calls, place })
    }
}

impl WaitingCall {
    /// Queues again, and returns when it may work.
    ///
    /// # Errors
    /// None in practice: nothing closes the queue.
    pub(super) async fn works(self) -> Result<AgentCall> {
        let Self { calls, place } = self;
        let works = Arc::clone(&calls.working).acquire_owned().await.map_err(closed)?;
        Ok(AgentCall { calls, _works: works, _place: None, waiting: Some(place) })
    }
}

impl Calls {
    fn overloaded(&self, why: std::fmt::Arguments<'_>) -> Error {
        Error::new(ErrorCode::Overloaded, format_args!("agent {} {why}", self.agent))
    }
}

fn closed(error: tokio::sync::AcquireError) -> Error {
    Error::new(ErrorCode::Internal, error)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn names() -> [AgentName; 2] {
        ["one", "other"].map(|name| AgentName::new(name).unwrap())
    }

    #[tokio::test]
    async fn an_agent_has_a_bounded_number_of_calls_and_queues_for_its_turn() {
        let (all, [one, other]) = (InFlight::default(), names());
        let mut calls = Vec::new();
        for _ in 0..MOST_WORKING {
            calls.push(all.begin(&one).await.unwrap());
        }
        let mut queued: Vec<_> = (MOST_WORKING..MOST_CALLS).map(|_| Box::pin(all.begin(&one))).collect();
        assert!(queued.iter_mut().all(|call| call.as_mut().now_or_never().is_none()));
        assert_eq!(all.begin(&one).await.unwrap_err().code, ErrorCode::Overloaded);
        drop(all.begin(&other).await.unwrap());
        calls.pop();
        assert!(queued[0].as_mut().now_or_never().is_some_and(|call| call.is_ok()), "it has been its turn");
    }

    #[tokio::test]
    async fn calls_that_wait_hold_no_other_up_and_all_work_when_they_are_woken() {
        let (all, [one, _]) = (InFlight::default(), names());
        let mut waiting = Vec::new();
        for _ in 0..MOST_WAITING {
            waiting.push(all.begin(&one).await.unwrap().waits().unwrap());
        }
        let more = all.begin(&one).await.unwrap();
        assert_eq!(more.waits().unwrap_err().code, ErrorCode::Overloaded);
        let woken = waiting.into_iter().map(|waits| async { waits.works().await.map(drop) });
        let worked = futures_util::future::join_all(woken).await;
        assert!(worked.iter().all(Result::is_ok) && worked.len() == MOST_WAITING);
    }

    #[tokio::test]
    async fn calls_that_are_woken_leave_new_ones_their_room() {
        let (all, [one, _]) = (InFlight::default(), names());
        let mut waiting = Vec::new();
        for _ in 0..MOST_WAITING {
            waiting.push(all.begin(&one).await.unwrap().waits().unwrap());
        }
        // The runtime makes a task pause that has been served so often without waiting.
        tokio::task::yield_now().await;
        let mut woken: Vec<_> = waiting.into_iter().map(|waits| Box::pin(waits.works())).collect();
        let works = woken.iter_mut().filter_map(|call| call.as_mut().now_or_never());
        let works: Vec<_> = works.map(Result::unwrap).collect();
        assert_eq!(works.len(), MOST_WORKING);
        let mut new = Box::pin(all.begin(&one));
        assert!(new.as_mut().now_or_never().is_none(), "it queues behind them, and is not refused");
        // One that waits again has its place still.
        assert!(works.into_iter().all(|call| call.waits().is_ok()));
        drop(woken);
        new.await.unwrap();
    }
}
