//! An agent: a set of claims that a task keeps declared and watched.

use std::path::PathBuf;
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use tokio::sync::watch;
use tonic::transport::Channel;
use tonic::{Request, Streaming};

use crate::connection::connect;
use crate::known::Known;
use crate::problem::Problem;
use crate::v1::claims_client::ClaimsClient;
use crate::v1::{
    ClaimId, ClaimSpec, DeclareClaimsRequest, EndedClaim, WatchClaimsRequest, WatchClaimsResponse,
};

/// The pause before the second attempt, and the longest one. Each pause is twice as long as the one before, and a random time of up to its
/// length is added, so that agents do not all return at once.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How long a declaration waits for a network that does not exist yet, in milliseconds; then it is made again.
const WAIT_MS: u32 = 10_000;
/// How long the daemon may take for a declaration besides.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
/// The longest answer, in bytes: a thousand claims, each with the routes of its network.
const LONGEST_ANSWER: usize = 64 << 20;

/// An agent's claims, which are kept as long as there is an `Agent`. Dropping the last clone ends the connection, but no claim.
#[derive(Debug, Clone)]
pub struct Agent {
    wanted: watch::Sender<Vec<ClaimSpec>>,
    news: watch::Sender<Known>,
    known: watch::Receiver<Known>,
}

/// The component of an agent that has a set of claims. Several components that share a user have a scope each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Component {
    /// The scope; empty for an agent that is one component.
    pub scope: String,
    /// The scope that it had before, if any: its claims move over with their addresses. `Some("")` for none.
    pub from_scope: Option<String>,
}

impl Agent {
    /// Begins to keep a set of claims. What the agent had declared before, and is not in the set, is released.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start(socket: impl Into<PathBuf>, claims: impl IntoIterator<Item = ClaimSpec>) -> Self {
        Self::start_as(Component::default(), socket, claims)
    }

    /// As [`start`](Self::start), for one of several components: it keeps the claims of its own scope, and releases no other ones.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn start_as(
        component: Component,
        socket: impl Into<PathBuf>,
        claims: impl IntoIterator<Item = ClaimSpec>,
    ) -> Self {
        let (agent, keeper) = Self::with_keeper(component, socket.into(), claims.into_iter().collect());
        tokio::spawn(keeper.keep());
        agent
    }

    /// An agent, and the task behind it.
    fn with_keeper(component: Component, socket: PathBuf, claims: Vec<ClaimSpec>) -> (Self, Keeper) {
        let (wanted, wishes) = watch::channel(claims);
        let (news, known) = watch::channel(Known::default());
        let keeper = Keeper { component, socket, wishes, news: news.clone() };
        (Self { wanted, news, known }, keeper)
    }

    /// Declares another set in place of the present one; the daemon makes it so as soon as it is there, and until then the knowledge about
    /// the claims is not current.
    pub fn declare(&self, claims: impl IntoIterator<Item = ClaimSpec>) {
        let claims = claims.into_iter().collect();
        // Both at once, so that an answer is heard before the set is replaced, or is one about a set that was replaced.
        self.news.send_modify(|known| {
            self.wanted.send_replace(claims);
            known.doubt(None);
        });
    }

    /// Returns the present knowledge about the claims.
    #[must_use]
    pub fn known(&self) -> Known {
        self.known.borrow().clone()
    }

    /// Watches the knowledge about the claims. A reader that is slow misses intermediate states, never the last one.
    #[must_use]
    pub fn news(&self) -> watch::Receiver<Known> {
        self.known.clone()
    }
}

/// The task behind an agent.
struct Keeper {
    component: Component,
    socket: PathBuf,
    wishes: watch::Receiver<Vec<ClaimSpec>>,
    news: watch::Sender<Known>,
}

impl Keeper {
    /// Returns once nobody holds the agent.
    async fn keep(mut self) {
        let mut pauses = pauses();
        while let Err(problem) = self.follow(&mut pauses).await {
            self.news.send_modify(|known| known.doubt(Some(problem)));
            let pause = tokio::time::sleep(pauses.next().unwrap_or(LONGEST_PAUSE));
            tokio::select! {
                () = pause => {}
                changed = self.wishes.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Declares and watches over one connection, until it breaks or a claim ends that is still wanted.
    async fn follow(&mut self, pauses: &mut ExponentialBackoff) -> Result<(), Problem> {
        let channel = connect(&self.socket).await?;
        let mut client = ClaimsClient::new(channel).max_decoding_message_size(LONGEST_ANSWER);
        loop {
            let claims = self.wishes.borrow_and_update().clone();
            // Never cut short: a declaration that is on its way could overtake the next one. The watch begins behind it, so that
            // what it tells first is what was declared.
            let mut watch = declared(&mut client, &self.component, claims.clone()).await?;
            loop {
                tokio::select! {
                    response = watch.message() => self.hear(response?, &claims)?,
                    changed = self.wishes.changed() => match changed {
                        Ok(()) => break,
                        Err(_) => return Ok(()),
                    },
                }
                *pauses = self::pauses();
            }
        }
    }

    /// Takes in what the daemon tells; fails if a claim of the declared ones is gone. It says nothing about another set that was declared
    /// since.
    fn hear(&self, response: Option<WatchClaimsResponse>, declared: &[ClaimSpec]) -> Result<(), Problem> {
        let Some(response) = response else {
            return Err(Problem::passing("the daemon has ended the watch".to_owned()));
        };
        let ended = response.ended.clone();
        let mut outcome = Ok(());
        self.news.send_modify(|known| {
            known.hear(response);
            if self.wishes.has_changed().unwrap_or(true) {
                known.doubt(None);
            } else if let Some(gone) = known.lacks(declared) {
                let problem = gone_for(gone, &ended);
                known.doubt(Some(problem.clone()));
                outcome = Err(problem);
            }
        });
        outcome
    }
}

/// Why a claim is gone, if the daemon says so.
fn gone_for(gone: &ClaimSpec, ended: &[EndedClaim]) -> Problem {
    let ClaimSpec { network, name, .. } = gone;
    let is_it = |id: &ClaimId| id.network == *network && id.name == *name;
    let reason = ended.iter().find(|ended| ended.claim.as_ref().is_some_and(is_it));
    let reason = reason.map_or_else(String::new, |ended| format!(": {}", ended.reason));
    Problem::passing(format!("claim {name} of network {network} was released{reason}"))
}

/// Declares a set of claims, and watches them from then on.
async fn declared(
    client: &mut ClaimsClient<Channel>,
    component: &Component,
    claims: Vec<ClaimSpec>,
) -> Result<Streaming<WatchClaimsResponse>, Problem> {
    let mut request = Request::new(DeclareClaimsRequest {
        claims,
        wait_ms: WAIT_MS,
        routes_apart: true,
        scope: component.scope.clone(),
        from_scope: component.from_scope.clone(),
        ..Default::default()
    });
    request.set_timeout(ANSWER_WITHIN + Duration::from_millis(WAIT_MS.into()));
    client.declare(request).await?;
    let scope = Some(component.scope.clone());
    Ok(client
        .watch(WatchClaimsRequest { routes_apart: true, scope, ..Default::default() })
        .await?
        .into_inner())
}

fn pauses() -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_min_delay(FIRST_PAUSE)
        .with_max_delay(LONGEST_PAUSE)
        .without_max_times()
        .with_jitter()
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::Claim;

    /// Regression: what the daemon had said about the set before counted as current for the set that replaced it.
    #[test]
    fn a_set_is_current_once_the_daemon_has_answered_for_it() {
        let router = [crate::claim("pods", "router")];
        let health = [crate::claim("pods", "health")];
        let (agent, mut keeper) = Agent::with_keeper(Component::default(), PathBuf::new(), router.to_vec());
        let told = |claims: &[ClaimSpec]| {
            let claim = |spec: &ClaimSpec| Claim {
                network: spec.network.clone(),
                name: spec.name.clone(),
                ..Claim::default()
            };
            let claims = claims.iter().map(claim).collect();
            Some(WatchClaimsResponse { is_all: true, claims, ..Default::default() })
        };
        keeper.hear(told(&router), &router).unwrap();
        assert!(agent.known().is_current);
        agent.declare(health.clone());
        assert!(!agent.known().is_current, "the daemon has not heard of it");
        keeper.hear(told(&router), &router).unwrap();
        assert!(!agent.known().is_current, "an answer about the set before");
        keeper.hear(told(&[]), &router).unwrap();
        assert_eq!(agent.known().problem, None, "nobody wants what the set before lacks");
        keeper.wishes.mark_unchanged();
        keeper.hear(told(&health), &health).unwrap();
        assert!(agent.known().is_current && agent.known().claim("pods", "health").is_some());
    }

    #[test]
    fn pauses_grow_to_the_longest_and_differ() {
        let lengths: Vec<_> = pauses().take(50).collect();
        assert!(lengths.iter().take(1).all(|first| (FIRST_PAUSE..=2 * FIRST_PAUSE).contains(first)));
        let late = lengths.iter().skip(10);
        assert!(late.clone().all(|pause| (LONGEST_PAUSE..=2 * LONGEST_PAUSE).contains(pause)), "{lengths:?}");
        assert!(late.clone().max() != late.min(), "no two agents would differ");
    }
}
