//! The work of the shadow runs: each candidate follows its network, and decides the same requests on a book of its own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_ledger::Chooser;
use tenure_ledger::choices::Shadow;
use tenure_types::{Error, ErrorCode, NetworkName, Owner, PolicyStamp, Request, Result};

use super::PolicyExchange;
use super::follower::Follower;
use super::run::{Run, Runs, ShadowReport};
use crate::core::strikes::Requester;
use crate::difference::{Difference, Verdict};
use crate::give_way::give_way;
use crate::lock::hold;
use crate::network::networks::unknown_network;
use crate::network::redefine::Wanted;
use crate::policy::shadows::{Asked, Item};
use crate::policy::verdicts::told;
use crate::ports::on_trial;

/// How many of the latest allocations are asked for again when a shadow run begins.
const REHEARSED: usize = 64;

/// A candidate may use this part of one processor.
const SHARE: u32 = 20;

/// A candidate that has been idle for this long may use its share of it at once, since what waits is decided in batches.
/// Claims leave half of it to pods, since an agent may ask as often as it likes.
const MOST_SPARED: Duration = Duration::from_secs(1);

/// How long a shadow waits before it begins again, after it could not.
const AGAIN: Duration = Duration::from_secs(1);

impl PolicyExchange {
    /// Lets each shadow decide what waits for it. Returns how long to wait before more can be done; `None` if there is no shadow.
    pub(super) async fn tend_shadows(&self, runs: &mut Runs) -> Option<Duration> {
        let mut pause: Option<Duration> = None;
        for (network, shadow) in self.shadowed(runs) {
            let Some(Shadow { policy, since }) = shadow else {
                self.shadows.end(&network);
                hold(&self.reports).remove(&network);
                runs.remove(&network);
                continue;
            };
            let run = runs.entry(network.clone()).or_default();
            if (run.report.policy.as_ref(), run.report.since) != (Some(&policy), since) {
                let report = ShadowReport { policy: Some(policy.clone()), since, ..ShadowReport::default() };
                *run = Run { report, ..Run::default() };
            }
            let of_this = self.tend_shadow(&network, &policy, run).await;
            pause = Some(pause.map_or(of_this, |pause| pause.min(of_this)));
            hold(&self.reports).insert(network, run.report.clone());
        }
        pause
    }

    /// The networks that have a shadow, and those that have had one until now.
    fn shadowed(&self, runs: &Runs) -> BTreeMap<NetworkName, Option<Shadow>> {
        let mut shadowed: BTreeMap<_, _> = runs.keys().map(|network| (network.clone(), None)).collect();
        let node = self.core.committer.node();
        for (network, served) in node.choices.all() {
            if let Some(shadow) = &served.shadow {
                shadowed.insert(network.clone(), Some(shadow.clone()));
            }
        }
        shadowed
    }

    async fn tend_shadow(&self, network: &NetworkName, candidate: &PolicyStamp, run: &mut Run) -> Duration {
        if run.follower.is_none() {
            let now = self.core.ports.clock.monotonic();
            if now < run.again_at {
                return run.again_at - now;
            }
            run.again_at = now + AGAIN;
            match self.follower(network, candidate).await {
                Ok(follower) => {
                    run.report.problem = None;
                    self.rehearse(network, &follower, run).await;
                    self.remember(network, candidate, run).await;
                    run.follower = Some(follower);
                }
                Err(error) => {
                    run.report.problem = Some(error.cause);
                    return AGAIN;
                }
            }
        }
        let Some((items, lost)) = self.shadows.take(network) else { return AGAIN };
        for item in items {
            let follows = match item {
                Item::Asked(asked) => {
                    self.compare_with(network, *asked, run).await;
                    true
                }
                Item::Changed(place, fact) => {
                    run.follower.as_mut().is_none_or(|follower| follower.follow(place, &fact))
                }
            };
            if !follows {
                run.follower = None;
            }
        }
        if lost {
            run.follower = None;
        }
        if run.follower.is_none() { Duration::ZERO } else { Duration::MAX }
    }

    /// Makes a follower of the network as it is now. From then on its queue collects what happens.
    async fn follower(&self, network: &NetworkName, candidate: &PolicyStamp) -> Result<Follower> {
        let policy = match self.core.ports.catalogue.find_pinned(candidate) {
            Err(error) if error.code != ErrorCode::Preparing => {
                self.core.ports.catalogue.load(candidate).await?
            }
            found => found?,
        };
        let policy = on_trial(policy);
        let unknown = || unknown_network(network);
        let slot = self.core.networks.get(network).ok_or_else(unknown)?;
        let described =
            slot.state().as_ref().map(|served| Arc::clone(served.book.network())).ok_or_else(unknown)?;
        let wanted = Wanted {
            policy: Arc::clone(&policy),
            by: Chooser::Operator,
            why: String::new(),
            watch: true,
            empty_state: false,
            config: Arc::clone(&described.config),
            definer: described.defined_by,
            requester: Requester::Operator,
        };
        let definition = self.core.defined(network, &wanted).await?;
        let (book, remembered) = {
            let state = slot.state();
            let served = state.as_ref().ok_or_else(unknown)?;
            self.shadows.begin(network);
            let remembered = self.core.committer.node().states.of(network).map(|memory| memory.now.clone());
            (Arc::clone(&served.book), remembered)
        };
        let mut follower = Follower::new(policy, book.image(), &definition)?;
        if let Some(remembered) = remembered {
            follower.take_over(remembered).await?;
        }
        follower.expire(self.core.now(), self.core.settings().cooldown);
        Ok(follower)
    }

    /// Puts the requests of the latest allocations to a candidate again, and those that it refuses to the serving policy. Every
    /// answer must be valid.
    async fn rehearse(&self, network: &NetworkName, follower: &Follower, run: &mut Run) {
        for request in follower.recent(REHEARSED) {
            give_way().await;
            let (decided, error) = follower.rehearse(&request).await;
            run.report.rehearsed.0 += 1;
            match decided {
                Ok(_) => run.report.rehearsed.1 += 1,
                Err(ErrorCode::PolicyFailed | ErrorCode::ProposalRejected) => {
                    run.report.verdicts.count(Verdict::Failed, Duration::ZERO, Duration::ZERO);
                    let served = "a rehearsal: it is allocated".to_owned();
                    self.keep(&request, Verdict::Failed, served, &(decided, error), run);
                }
                Err(_) if self.serves_again(network, &request).await => run.report.refused_again += 1,
                // With a full pool, nobody answers again.
                Err(_) => {}
            }
        }
    }

    /// Whether the serving policy would answer the request of a live allocation if it were made now.
    async fn serves_again(&self, network: &NetworkName, request: &Request) -> bool {
        let Some(choice) = self.core.committer.choice(network) else { return false };
        let Ok(policy) = self.core.ports.catalogue.find_pinned(&choice.policy) else { return false };
        let Some(book) = self.core.book(network).await else { return false };
        self.tried(policy, request, book).await.is_ok()
    }

    /// Compares the network's recorded decisions, once in a run.
    async fn remember(&self, network: &NetworkName, candidate: &PolicyStamp, run: &mut Run) {
        if std::mem::replace(&mut run.remembered, true) {
            return;
        }
        // Without a record there are still the live requests.
        let again = self.core.ports.catalogue.decide_again(candidate, network).await.unwrap_or_default();
        let compared = again.same + u64::try_from(again.different.len()).unwrap_or(u64::MAX);
        run.report.recorded = (compared, again.unanswered);
        run.report.of_claims.0 += again.of_claims.0;
        run.report.of_claims.1 += again.of_claims.1;
        run.report.verdicts.remember(again);
    }

    async fn compare_with(&self, network: &NetworkName, asked: Asked, run: &mut Run) {
        let Some(follower) = run.follower.as_mut() else { return };
        let began = self.core.ports.clock.monotonic();
        let is_claim = matches!(asked.request.owner, Owner::Claim { .. });
        let spared = if is_claim { MOST_SPARED / 2 } else { Duration::ZERO };
        if began < run.paid_until + spared {
            run.report.skipped += 1;
            return;
        }
        follower.expire(self.core.now(), self.core.settings().cooldown);
        let answer = follower.decide(&asked.request).await;
        let took = self.core.ports.clock.monotonic().saturating_sub(began);
        run.paid_until = run.paid_until.max(began.saturating_sub(MOST_SPARED)) + took * SHARE;
        let verdict = Verdict::of(&asked.decided, &answer.0);
        run.report.verdicts.count(verdict, asked.took, took);
        self.core.ports.observer.shadowed(network, verdict.name());
        let refused = run.report.verdicts.refused;
        if verdict != Verdict::Same {
            self.keep(&asked.request, verdict, asked.told, &answer, run);
        }
        if is_claim {
            run.report.of_claims.0 += 1;
            run.report.of_claims.1 += run.report.verdicts.refused - refused;
        }
    }

    fn keep(
        &self,
        request: &Request,
        verdict: Verdict,
        served: String,
        (decided, error): &(crate::policy::verdicts::Decided, Option<Error>),
        run: &mut Run,
    ) {
        let owner = request.lasting_name().unwrap_or_else(|| request.owner.to_string());
        let candidate = told(decided, error.as_ref());
        let refuses = verdict == Verdict::OtherRefusal && decided.is_err();
        let at = self.core.now();
        run.report.verdicts.keep(Difference { at, owner, verdict, refuses, served, candidate });
    }
}
