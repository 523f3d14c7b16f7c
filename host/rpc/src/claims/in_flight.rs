//! How many calls of an agent may be in flight, those that wait for a network included.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tenure_types::{AgentName, Error, ErrorCode, Result};

/// The most calls of one agent, besides its watches.
const MOST: usize = 256;

/// The calls in flight of each agent. A `std::sync::Mutex`, held to count. The configuration names the agents, so there are few.
#[derive(Debug, Clone, Default)]
pub(super) struct InFlight(Arc<Mutex<BTreeMap<AgentName, usize>>>);

/// A call in flight, until it is dropped.
#[derive(Debug)]
pub(super) struct Call {
    all: InFlight,
    agent: AgentName,
}

impl InFlight {
    /// Counts another call.
    ///
    /// # Errors
    /// `Overloaded` if there are too many.
    pub(super) fn begin(&self, agent: &AgentName) -> Result<Call> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = all.entry(agent.clone()).or_default();
        if *calls >= MOST {
            let cause = format_args!("agent {agent} has {MOST} calls in flight");
            return Err(Error::new(ErrorCode::Overloaded, cause));
        }
        *calls += 1;
        Ok(Call { all: self.clone(), agent: agent.clone() })
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut all = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(calls) = all.get_mut(&self.agent) {
            *calls -= 1;
            if *calls == 0 {
                all.remove(&self.agent);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_has_a_bounded_number_of_calls() {
        let (all, one, other) =
            (InFlight::default(), AgentName::new("one").unwrap(), AgentName::new("other").unwrap());
        let mut calls: Vec<Call> = (0..MOST).map(|_| all.begin(&one).unwrap()).collect();
        assert_eq!(all.begin(&one).unwrap_err().code, ErrorCode::Overloaded);
        drop(all.begin(&other).unwrap());
        calls.pop();
        all.begin(&one).unwrap();
        drop(calls);
        assert!(all.0.lock().unwrap().is_empty());
    }
}
