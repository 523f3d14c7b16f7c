//! Refused requests for claims: logged once a minute for each agent and error, with the number of those in between.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use tenure_types::{AgentName, ErrorCode, hold};

/// How often a refusal of an agent is logged, by its error.
const TELL_AGAIN: Duration = Duration::from_secs(60);

/// The refusals of each agent by their error's name, with the time of the last that was logged and the number of those since. The configuration
/// names the agents, so there are few.
#[derive(Debug, Default)]
pub(super) struct RefusedClaims(Mutex<BTreeMap<RefusalKind, (Duration, u64)>>);

/// An agent, or `None` where it is not known, and the name of an error.
type RefusalKind = (Option<AgentName>, &'static str);

impl RefusedClaims {
    /// Counts a refusal. Returns how many before it were not logged, if it is to be logged.
    pub(super) fn note(&self, now: Duration, agent: Option<&AgentName>, code: ErrorCode) -> Option<u64> {
        let mut noted = hold(&self.0);
        let kind = (agent.cloned(), code.name());
        let Some((told, untold)) = noted.get_mut(&kind) else {
            noted.insert(kind, (now, 0));
            return Some(0);
        };
        if now.saturating_sub(*told) < TELL_AGAIN {
            *untold += 1;
            return None;
        }
        *told = now;
        Some(std::mem::take(untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_logged_once_a_minute_for_each_agent_and_error() {
        let (refused, second) = (RefusedClaims::default(), Duration::from_secs);
        let agent = AgentName::new("cilium").unwrap();
        let note = |at, agent, code| refused.note(second(at), agent, code);
        assert_eq!(note(100, Some(&agent), ErrorCode::UnknownNetwork), Some(0));
        assert_eq!([101, 159].map(|at| note(at, Some(&agent), ErrorCode::UnknownNetwork)), [None; 2]);
        assert_eq!(note(159, Some(&agent), ErrorCode::ClaimInvalid), Some(0), "another error");
        assert_eq!(note(159, None, ErrorCode::UnknownNetwork), Some(0), "another agent");
        assert_eq!(note(160, Some(&agent), ErrorCode::UnknownNetwork), Some(2));
        assert_eq!(note(161, Some(&agent), ErrorCode::UnknownNetwork), None);
        assert_eq!(note(220, Some(&agent), ErrorCode::UnknownNetwork), Some(1));
    }
}
