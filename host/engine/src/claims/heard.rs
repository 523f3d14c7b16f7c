//! The time of each agent's last contact. Kept in memory only: a start counts as contact with every agent, so a lease never runs out
//! because the daemon was away, nor because it could not serve an agent that was there, nor because the machine was suspended, and its agents with it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_ledger::{Claim, ClaimKey};
use tenure_types::{AgentName, Moment};

use super::filter::ClaimFilter;
use crate::lock::hold;

/// The time of each agent's last contact.
pub(crate) struct Heard {
    /// A `std::sync::Mutex`, held to read and to change memory.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// From when on every agent can be heard of: the start, or the end of what kept the daemon from serving agents.
    since: Moment,
    /// By how much the boot clock was ahead of the monotonic one, which stands still while the machine is suspended.
    ahead: Option<Duration>,
    claims: BTreeMap<ClaimKey, Moment>,
    /// How many requests for each claim are under way.
    asking: BTreeMap<ClaimKey, usize>,
    /// End of the last watch, by agent and by the claims that it watched.
    agents: BTreeMap<(AgentName, ClaimFilter), Moment>,
    /// How many watches each agent has open, by the claims that they are about.
    watching: BTreeMap<(AgentName, ClaimFilter), usize>,
}

/// The longest time between the readings of two clocks; a suspend lasts longer.
const BETWEEN_READINGS: Duration = Duration::from_secs(1);

/// The most ended watches of different scopes that are remembered of an agent: it names scopes as it likes.
const MOST_SCOPES: usize = 256;

impl State {
    /// Remembers when the last watch of these claims ended.
    fn remember(&mut self, of: (AgentName, ClaimFilter), at: Moment) {
        let agent = of.0.clone();
        self.agents.insert(of, at);
        let first = (agent, ClaimFilter::All);
        let scopes = self.agents.range(&first..).take_while(|((agent, _), _)| *agent == first.0);
        let own = || scopes.clone().filter(|((_, filter), _)| *filter != ClaimFilter::All);
        if own().count() > MOST_SCOPES {
            let oldest = own().min_by_key(|(_, at)| at.boot_ns).map(|(of, _)| of.clone());
            oldest.map(|oldest| self.agents.remove(&oldest));
        }
    }

    /// Lists an agent's entries about a claim. Few: a scope counts only while it is watched, or has been.
    fn about<'a, T>(
        of: &'a BTreeMap<(AgentName, ClaimFilter), T>,
        claim: &'a Claim,
    ) -> impl Iterator<Item = &'a T> {
        let filters = [ClaimFilter::All, ClaimFilter::Scope(claim.wish.claimant.scope.clone())];
        filters.into_iter().filter_map(|filter| of.get(&(claim.key.agent.clone(), filter)))
    }
}

/// An open watch, which keeps the leases of the claims that it is about.
pub struct Watching {
    heard: Arc<Heard>,
    of: (AgentName, ClaimFilter),
    now: Box<dyn Fn() -> Moment + Send + Sync>,
}

impl Heard {
    pub(crate) fn new(since: Moment) -> Self {
        Self { state: Mutex::new(State { since, ..State::default() }) }
    }

    /// Until now, no agent could renew anything: this counts as contact with every one.
    pub(super) fn restart(&self, now: Moment) {
        hold(&self.state).since = now;
    }

    /// Counts a suspend of the machine since the last call of this as contact with every agent.
    pub(super) fn look_at_clocks(&self, now: Moment, monotonic: Duration) {
        let ahead = Duration::from_nanos(now.boot_ns).saturating_sub(monotonic);
        let mut state = hold(&self.state);
        let before = state.ahead.replace(ahead);
        if before.is_some_and(|before| ahead > before + BETWEEN_READINGS) {
            state.since = now;
        }
    }

    /// An agent may have called that could not be identified.
    pub(super) fn may_have_called(&self, agent: &AgentName, now: Moment) {
        hold(&self.state).remember((agent.clone(), ClaimFilter::All), now);
    }

    /// An agent asks for these claims, and has no answer yet.
    pub(super) fn begin(&self, keys: &[ClaimKey]) {
        let mut state = hold(&self.state);
        keys.iter().for_each(|key| *state.asking.entry(key.clone()).or_default() += 1);
    }

    /// An agent was answered that asked for these claims; `had` are those among them that it has.
    pub(super) fn end(&self, keys: &[ClaimKey], had: &[ClaimKey], now: Moment) {
        let mut state = hold(&self.state);
        had.iter().for_each(|key| _ = state.claims.insert(key.clone(), now));
        for key in keys {
            if let Some(under_way) = state.asking.get_mut(key) {
                *under_way -= 1;
                if *under_way == 0 {
                    state.asking.remove(key);
                }
            }
        }
    }

    /// A claim has ended.
    pub(super) fn forget(&self, key: &ClaimKey) {
        hold(&self.state).claims.remove(key);
    }

    /// Returns the last contact of a claim's agent; now, if the agent watches or is asking for the claim.
    pub(super) fn last(&self, claim: &Claim, now: Moment) -> Moment {
        let since = hold(&self.state).since;
        self.since_the_start(claim, now).map_or(since, |heard| heard.max(since))
    }

    /// As [`last`](Self::last); `None` if it was not heard of since the start.
    pub(super) fn since_the_start(&self, claim: &Claim, now: Moment) -> Option<Moment> {
        let state = hold(&self.state);
        if State::about(&state.watching, claim).next().is_some() || state.asking.contains_key(&claim.key) {
            return Some(now);
        }
        let times = state.claims.get(&claim.key).into_iter().chain(State::about(&state.agents, claim));
        times.max_by_key(|at| at.boot_ns).copied()
    }

    /// The number of each agent's open watches.
    pub(super) fn all_watches(&self) -> BTreeMap<AgentName, usize> {
        let mut all = BTreeMap::new();
        for ((agent, _), open) in &hold(&self.state).watching {
            *all.entry(agent.clone()).or_default() += open;
        }
        all
    }

    /// The number of an agent's open watches.
    pub(super) fn watches(&self, agent: &AgentName) -> usize {
        let (state, first) = (hold(&self.state), (agent.clone(), ClaimFilter::All));
        state.watching.range(&first..).take_while(|((of, _), _)| of == agent).map(|(_, open)| open).sum()
    }

    /// The number of open watches that are about a claim.
    pub(super) fn watches_about(&self, claim: &Claim) -> usize {
        State::about(&hold(&self.state).watching, claim).sum()
    }

    pub(super) fn watch(
        self: &Arc<Self>,
        of: (AgentName, ClaimFilter),
        now: impl Fn() -> Moment + Send + Sync + 'static,
    ) -> Watching {
        *hold(&self.state).watching.entry(of.clone()).or_default() += 1;
        Watching { heard: Arc::clone(self), of, now: Box::new(now) }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let now = (self.now)();
        let mut state = hold(&self.heard.state);
        if let Some(open) = state.watching.get_mut(&self.of) {
            *open -= 1;
            if *open == 0 {
                state.watching.remove(&self.of);
                state.remember(self.of.clone(), now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_ledger::{Claimant, Presence, Wish};
    use tenure_types::{ClaimName, Generation, NetworkName, ScopeName};

    use super::*;

    fn at(boot_ns: u64) -> Moment {
        Moment { boot_ns, wall_ms: 0 }
    }

    fn key() -> ClaimKey {
        ClaimKey {
            agent: AgentName::new("cilium").unwrap(),
            network: NetworkName::new("net").unwrap(),
            name: ClaimName::new("router").unwrap(),
        }
    }

    fn claim(key: ClaimKey, scope: Option<ScopeName>) -> Claim {
        let wish = Wish { claimant: Claimant { scope, holder: None }, ..Wish::default() };
        Claim { key, wish, generation: Generation(1), made_at: at(1), presence: Presence::Here(at(1)) }
    }

    #[test]
    fn a_claim_that_is_made_anew_has_not_been_heard_of_before() {
        let key = key();
        let heard = Arc::new(Heard::new(at(1)));
        let asked = [key.clone()];
        heard.begin(&asked);
        heard.end(&asked, &asked, at(5));
        let claim = claim(key, None);
        assert_eq!(heard.last(&claim, at(9)), at(5));
        heard.forget(&claim.key);
        assert_eq!(heard.last(&claim, at(9)), at(1), "only the start is left");
        heard.begin(&asked);
        heard.end(&asked, &[], at(7));
        assert_eq!(heard.last(&claim, at(9)), at(1), "it is not the asking agent's");
        heard.restart(at(8));
        assert_eq!(heard.last(&claim, at(9)), at(8));
    }

    #[test]
    fn a_watch_of_a_scope_says_nothing_about_other_scopes_and_few_scopes_are_remembered() {
        let scope = |name: &str| Some(ScopeName::new(name).unwrap());
        let [own, other] = ["own", "other"].map(|name| claim(key(), scope(name)));
        let of = |name: &str| (own.key.agent.clone(), ClaimFilter::Scope(scope(name)));
        let heard = Arc::new(Heard::new(at(1)));
        let watching = heard.watch(of("own"), || at(7));
        let last = |claim| heard.last(claim, at(9));
        assert_eq!((last(&own), last(&other)), (at(9), at(1)));
        assert_eq!((heard.watches_about(&own), heard.watches_about(&other)), (1, 0));
        drop(watching);
        assert_eq!((last(&own), last(&other)), (at(7), at(1)));
        for number in 0..2 * MOST_SCOPES as u64 {
            drop(heard.watch(of(&format!("scope-{number}")), move || at(10 + number)));
        }
        assert_eq!(hold(&heard.state).agents.len(), MOST_SCOPES);
        assert_eq!(heard.watches(&own.key.agent), 0);
        drop(heard.watch((own.key.agent.clone(), ClaimFilter::All), || at(8)));
        assert_eq!(heard.last(&other, at(9)), at(8), "a watch of all claims is about each");
    }
}
