//! Limits how many calls run at once, and drives the clock of their deadlines.
//!
//! One thread ticks while calls run and for a moment after the last one; then it sleeps until the next call, so that
//! an idle node does not wake up. The state is behind a `std::sync::Mutex`, held for a few instructions.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tenure_types::hold;
use wasmtime::Engine;

/// The interval at which a running call is checked.
pub(super) const TICK: Duration = Duration::from_millis(1);

/// The number of idle ticks after which the ticker sleeps; waking it costs a call more than ticking on for a moment.
const LINGER: u32 = 100;

/// Admits calls and drives their clock.
#[derive(Debug)]
pub(super) struct CallGate {
    shared: Arc<GateState>,
    /// `None` once it has been joined.
    ticker: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct GateState {
    state: Mutex<GateQueue>,
    /// Signalled when a place becomes free.
    left: Condvar,
    /// Signalled when the ticker has something to do.
    wake: Condvar,
    most: u32,
}

#[derive(Debug, Default)]
struct GateQueue {
    running: u32,
    /// How many callers wait for a place.
    waiting: u32,
    asleep: bool,
    closed: bool,
}

/// A running call's place; dropping it frees the place.
#[derive(Debug)]
pub(super) struct CallSlot<'gate>(&'gate GateState);

impl CallGate {
    /// A gate that lets `most` calls run at once and ticks an engine's epoch.
    pub(super) fn new(engine: Engine, most: u32) -> std::io::Result<Self> {
        let shared = Arc::new(GateState {
            state: Mutex::default(),
            left: Condvar::new(),
            wake: Condvar::new(),
            most: most.max(1),
        });
        let ticking = Arc::clone(&shared);
        let ticker =
            std::thread::Builder::new().name("policy-ticker".into()).spawn(move || ticking.tick(&engine))?;
        Ok(Self { shared, ticker: Some(ticker) })
    }

    /// Waits for a place. Calls are short, so waits are too.
    pub(super) fn enter(&self) -> CallSlot<'_> {
        let mut state = self.shared.lock();
        while state.running >= self.shared.most {
            state.waiting += 1;
            state = self.shared.left.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
        self.shared.take_place(&mut state)
    }

    /// Takes a place if one is free, and never waits: for threads that have other work.
    pub(super) fn try_enter(&self) -> Option<CallSlot<'_>> {
        let mut state = self.shared.lock();
        (state.running < self.shared.most).then(|| self.shared.take_place(&mut state))
    }
}

impl Drop for CallGate {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.wake.notify_one();
        if let Some(ticker) = self.ticker.take() {
            // A ticker that panicked has already stopped.
            let _ = ticker.join();
        }
    }
}

impl Drop for CallSlot<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.running -= 1;
        let waits = state.waiting > 0;
        drop(state);
        // Notifying nobody would still be a system call.
        if waits {
            self.0.left.notify_one();
        }
    }
}

impl GateState {
    /// A poisoned lock is still usable: no critical section leaves the state inconsistent.
    fn lock(&self) -> MutexGuard<'_, GateQueue> {
        hold(&self.state)
    }

    /// Takes a free place, and starts the clock if it sleeps.
    fn take_place(&self, state: &mut GateQueue) -> CallSlot<'_> {
        state.running += 1;
        if std::mem::take(&mut state.asleep) {
            self.wake.notify_one();
        }
        CallSlot(self)
    }

    fn tick(&self, engine: &Engine) {
        let mut idle = 0;
        let mut state = self.lock();
        while !state.closed {
            idle = if state.running == 0 { idle + 1 } else { 0 };
            if idle > LINGER {
                state.asleep = true;
                while state.asleep && !state.closed {
                    state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                idle = 0;
            } else {
                state = self.wake.wait_timeout(state, TICK).unwrap_or_else(PoisonError::into_inner).0;
                engine.increment_epoch();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn one_more_than_the_most_waits_until_one_leaves() {
        let gate = CallGate::new(Engine::default(), 2).unwrap();
        let (first, _second) = (gate.enter(), gate.enter());
        let (entered, third) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _place = gate.enter();
                entered.send(()).unwrap();
            });
            assert!(third.recv_timeout(TICK * 20).is_err());
            assert!(gate.try_enter().is_none(), "a caller that does not wait gets no place");
            drop(first);
            third.recv().unwrap();
        });
        assert!(gate.try_enter().is_some());
    }

    #[test]
    fn the_ticker_sleeps_when_idle_and_wakes_for_a_call() {
        let gate = CallGate::new(Engine::default(), 1).unwrap();
        while !gate.shared.lock().asleep {
            std::thread::yield_now();
        }
        let place = gate.enter();
        assert!(!gate.shared.lock().asleep);
        drop(place);
    }
}
