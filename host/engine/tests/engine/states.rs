//! States of policies: kept together with an accepted proposal or not at all, and taken over at an exchange.

use std::pin::pin;

use tenure_engine::{Activate, ReplaceState};
use tenure_ledger::{Fact, LedgerFact, StateFact};
use tenure_types::{Error, ErrorCode, LONGEST_STATE, PolicyName};

use crate::support::{Bench, activate, fits, network, poll_once};

/// A bench whose network is served by a policy that counts, after some ADDs.
async fn counting(adds: u32) -> Bench {
    let bench = Bench::new(8, 8);
    bench.count(0).await.unwrap();
    bench.engine.del(bench.del(0)).await.unwrap();
    bench.tick(60_000);
    bench.replace(b"", None).await.unwrap();
    for number in 1..=adds {
        bench.count(number).await.unwrap();
    }
    bench
}

impl Bench {
    /// An ADD of a network that the counting policy serves.
    async fn count(&self, number: u32) -> Result<String, Error> {
        let grant = self.engine.add(self.add_with(number, "counting", "10.0.0.0/28"), fits).await?;
        Ok(grant.addresses[0].ip().to_string())
    }

    /// STATUS of a network that this policy serves.
    async fn status(&self, policy: &str) -> Result<(), Error> {
        let add = self.add_with(9, policy, "10.0.0.0/28");
        self.engine.status(&add.request.network, &add.policy, &add.config).await
    }

    async fn memory(&self) -> Option<tenure_ledger::states::Memory> {
        self.engine.states_of(&network()).await.unwrap()
    }

    /// The present state, as text.
    async fn shown_state(&self) -> String {
        let now = self.memory().await.unwrap().now;
        String::from_utf8(now.bytes.to_vec()).unwrap()
    }

    async fn version(&self) -> u64 {
        self.memory().await.unwrap().now.version
    }

    async fn replace(&self, bytes: &[u8], if_version: Option<u64>) -> Result<u64, Error> {
        let replace =
            ReplaceState { network: network(), bytes: bytes.to_vec(), if_version, reason: String::new() };
        self.engine.replace_state(&replace).await.map(|state| state.version)
    }

    fn serving_state(&self) -> (String, String) {
        let now = self.engine.policies_of(&network()).unwrap().now;
        (now.policy.name.to_string(), now.why)
    }

    /// The last facts that were staged, in words.
    fn last_facts<const N: usize>(&self) -> [String; N] {
        let facts = self.journal.facts();
        let last = facts[facts.len() - N..].iter().map(|fact| match fact {
            Fact::Ledger(LedgerFact::Allocated(_)) => "allocated".to_owned(),
            Fact::Ledger(LedgerFact::Released { reason, .. }) => format!("released: {reason}"),
            Fact::States(StateFact::Kept { state, .. }) => {
                format!("kept {}", String::from_utf8_lossy(&state.bytes))
            }
            Fact::States(StateFact::Undone { state, .. }) => {
                format!("undone to {}", String::from_utf8_lossy(&state.bytes))
            }
            other => format!("{other:?}"),
        });
        last.collect::<Vec<_>>().try_into().unwrap()
    }

    /// Runs the task that undoes ADDs until it has nothing to do.
    fn undo(&mut self) {
        let mut abandoned = pin!(self.abandoned.take().unwrap().run());
        assert!(poll_once(abandoned.as_mut()).is_pending());
    }
}

fn no_sync() -> Result<(), Error> {
    Err(Error::new(ErrorCode::CheckpointFailed, "no sync"))
}

fn with_empty_state(policy: &str) -> Activate {
    Activate { empty_state: true, ..activate(policy) }
}

#[tokio::test]
async fn a_state_changes_with_each_accepted_proposal_and_in_the_same_group() {
    let bench = counting(2).await;
    assert_eq!(bench.shown_state().await, "counting 2");
    assert_eq!(bench.last_facts(), ["allocated", "kept counting 2"]);
    let version = bench.version().await;
    // Repeated: the policy is not asked.
    bench.count(2).await.unwrap();
    // Rejected by the ledger.
    let mut lie = bench.add_with(3, "counting", "10.0.0.0/28");
    lie.request.sandbox.netns = "counting".into();
    assert_eq!(bench.engine.add(lie, fits).await.unwrap_err().code, ErrorCode::ProposalRejected);
    // Refused by the policy, and by the caller.
    let mut taken = bench.add_with(3, "counting", "10.0.0.0/28");
    taken.request.requested = vec!["10.0.0.1".parse().unwrap()];
    assert_eq!(bench.engine.add(taken, fits).await.unwrap_err().code, ErrorCode::AddressUnavailable);
    let unfit = |_: &[_]| Err(Error::new(ErrorCode::IncompatibleVersion, "two addresses"));
    let add = bench.add_with(3, "counting", "10.0.0.0/28");
    assert_eq!(bench.engine.add(add, unfit).await.unwrap_err().code, ErrorCode::IncompatibleVersion);
    assert_eq!((bench.shown_state().await.as_str(), bench.version().await), ("counting 2", version));
    // A release changes nothing, either.
    bench.engine.del(bench.del(1)).await.unwrap();
    bench.count(3).await.unwrap();
    assert_eq!((bench.shown_state().await.as_str(), bench.version().await), ("counting 3", version + 1));
}

#[tokio::test]
async fn a_policy_without_a_state_keeps_none() {
    let bench = Bench::new(8, 8);
    bench.address(1).await.unwrap();
    assert_eq!(bench.memory().await, None);
    let refused = bench.replace(b"x", None).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::StateNotKept);
    assert_eq!(refused.cause, "policy first@d, which serves network net, keeps no state");
}

#[tokio::test]
async fn an_add_that_cannot_be_made_durable_leaves_the_old_state() {
    let mut bench = counting(2).await;
    let before = bench.version().await;
    bench.journal.hold();
    {
        let mut add = pin!(bench.engine.add(bench.add_with(3, "counting", "10.0.0.0/28"), fits));
        assert!(poll_once(add.as_mut()).is_pending());
        assert_eq!(bench.last_facts(), ["allocated", "kept counting 3"]);
        // The next one is not asked with a state that may not stay.
        let mut next = pin!(bench.engine.add(bench.add_with(4, "counting", "10.0.0.0/28"), fits));
        assert!(poll_once(next.as_mut()).is_pending());
        assert_eq!(bench.last_facts(), ["allocated", "kept counting 3"]);
        bench.journal.resolve(&no_sync());
        assert_eq!(add.await.unwrap_err().code, ErrorCode::CheckpointFailed);
        assert!(poll_once(next.as_mut()).is_pending(), "not before the first one is undone");
    }
    bench.undo();
    assert_eq!(bench.last_facts(), ["released: undone", "undone to counting 2"]);
    assert_eq!((bench.shown_state().await.as_str(), bench.version().await), ("counting 2", before + 2));
    bench.count(5).await.unwrap();
    assert_eq!(bench.shown_state().await, "counting 3");
}

#[tokio::test]
async fn an_add_whose_caller_goes_away_leaves_the_old_state_even_the_first() {
    for adds in [0, 2] {
        let mut bench = counting(adds).await;
        let before = bench.shown_state().await;
        bench.journal.hold();
        {
            let mut add = pin!(bench.engine.add(bench.add_with(7, "counting", "10.0.0.0/28"), fits));
            assert!(poll_once(add.as_mut()).is_pending());
        }
        bench.journal.resolve(&Ok(()));
        let mut next = Box::pin({
            let engine = std::sync::Arc::clone(&bench.engine);
            let add = bench.add_with(8, "counting", "10.0.0.0/28");
            async move { engine.add(add, fits).await }
        });
        assert!(poll_once(next.as_mut()).is_pending(), "it waits until the first one is undone");
        bench.undo();
        assert_eq!(bench.last_facts(), ["released: undone".to_owned(), format!("undone to {before}")]);
        next.await.unwrap();
        assert_eq!(bench.shown_state().await, format!("counting {}", adds + 1));
    }
}

#[tokio::test]
async fn a_policy_that_takes_over_migrates_the_state_in_the_group_of_the_exchange() {
    let bench = counting(2).await;
    let version = bench.version().await;
    bench.engine.activate(&activate("recounting")).await.unwrap();
    assert_eq!(bench.shown_state().await, "recounting 2");
    assert_eq!(bench.version().await, version + 1);
    assert_eq!(
        bench.serving_state().1,
        format!("activated by an operator; with the state of counting@counting, version {version}, migrated")
    );
    let [chosen, kept] = bench.last_facts();
    assert!(chosen.contains("Chosen") && kept == "kept recounting 2", "{chosen} {kept}");
    bench.count(3).await.unwrap();
    assert_eq!(bench.shown_state().await, "recounting 3");
    // And back, by an operator: the present state is migrated, not the previous one.
    bench.engine.roll_back(&network(), "").await.unwrap();
    assert_eq!(bench.shown_state().await, "counting 3");
}

#[tokio::test]
async fn a_policy_that_cannot_take_over_the_state_is_refused() {
    let bench = counting(2).await;
    let version = bench.version().await;
    let refused = bench.engine.activate(&activate("counting-afresh")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::StateNotMigrated);
    assert_eq!(
        refused.cause,
        format!(
            "policy counting-afresh@counting-afr cannot take over the state of network net, version {version} of policy counting@counting: this is not my count"
        )
    );
    assert_eq!(bench.serving_state().0, "counting");
    assert_eq!((bench.shown_state().await.as_str(), bench.version().await), ("counting 2", version));
    let history = bench.engine.policies_of(&network()).unwrap().history;
    let why = format!("activation by an operator: {}", refused.cause);
    assert_eq!((history[0].kind.name(), &history[0].why), ("refused", &why));
    // A request whose configuration names it is refused for the same reason, and one that names the old is served.
    let add = bench.add_with(3, "counting-afresh", "10.0.0.0/28");
    assert_eq!(bench.engine.add(add, fits).await.unwrap_err().code, ErrorCode::StateNotMigrated);
    // STATUS says so before.
    let status = bench.status("counting-afresh").await.unwrap_err();
    assert_eq!(status.code, ErrorCode::Unavailable);
    assert!(status.cause.contains("state-not-migrated"), "{status}");
    assert_eq!(bench.status("counting").await, Ok(()));
    bench.count(3).await.unwrap();
    assert_eq!(bench.shown_state().await, "counting 3");

    // The operator's way out.
    bench.engine.activate(&with_empty_state("counting-afresh")).await.unwrap();
    assert_eq!(
        (bench.shown_state().await.as_str(), bench.serving_state().1.as_str()),
        ("", "activated by an operator; with an empty state")
    );
    bench.count(4).await.unwrap();
    assert_eq!(bench.shown_state().await, "counting-afresh 1");
}

/// Regression: an operator emptied the state of the policy that serves, and the history did not know.
#[tokio::test]
async fn emptying_the_state_of_the_policy_that_serves_is_a_step() {
    let bench = counting(2).await;
    let history = || bench.engine.policies_of(&network()).unwrap().history;
    bench.engine.activate(&activate("counting")).await.unwrap();
    let before = history().len();
    let emptied = bench.engine.activate(&with_empty_state("counting")).await.unwrap();
    assert!(emptied.changed && bench.shown_state().await.is_empty());
    let step = history()[0].clone();
    assert_eq!(
        (history().len(), step.kind.name(), step.policy.name.as_str()),
        (before + 1, "state-replaced", "counting")
    );
    assert_eq!((step.why.as_str(), step.at), ("activated by an operator; with an empty state", bench.now()));
    // Nothing is left to empty.
    let again = bench.engine.activate(&with_empty_state("counting")).await.unwrap();
    assert!(!again.changed && history().len() == before + 1);
}

#[tokio::test]
async fn a_state_outlasts_a_policy_that_keeps_none() {
    let bench = counting(2).await;
    let version = bench.version().await;
    bench.engine.activate(&activate("first")).await.unwrap();
    bench.count(3).await.unwrap();
    assert_eq!((bench.shown_state().await.as_str(), bench.version().await), ("counting 2", version));
    // Its writer resumes with it, without a migration.
    bench.engine.roll_back(&network(), "").await.unwrap();
    assert_eq!((bench.shown_state().await.as_str(), bench.version().await), ("counting 2", version));
    assert_eq!(bench.serving_state().1, "rolled back by an operator");
    bench.count(4).await.unwrap();
    assert_eq!(bench.shown_state().await, "counting 3");
}

#[tokio::test]
async fn nothing_prevents_a_roll_back_by_the_daemon() {
    let fails = |bench: &Bench| {
        let mut lie = bench.add_with(100, "counting", "10.0.0.0/28");
        lie.request.sandbox.netns = "counting".into();
        lie
    };
    // To a policy that has a state of its own, and to one that has none.
    for (own, begins) in [(true, "counting-afresh 1"), (false, "")] {
        let bench = Bench::new(8, 8);
        let add = bench.add_with(1, "counting-afresh", "10.0.0.0/28");
        if own {
            bench.engine.add(add, fits).await.unwrap();
        } else {
            let define = tenure_engine::Define {
                network: network(),
                policy: PolicyName::new("counting-afresh").unwrap(),
                config: add.config,
                by: tenure_types::Definer::Operator,
                apply: true,
                change_ranges: false,
            };
            bench.engine.define_network(&define).await.unwrap();
        }
        bench.engine.activate(&with_empty_state("counting")).await.unwrap();
        bench.count(2).await.unwrap();
        bench.count(3).await.unwrap();
        for _ in 0..3 {
            bench.engine.add(fails(&bench), fits).await.unwrap_err();
        }
        bench.engine.tend().await;
        let (policy, why) = bench.serving_state();
        assert_eq!(
            (policy.as_str(), bench.shown_state().await.as_str()),
            ("counting-afresh", begins),
            "{why}"
        );
        let which = if own { "the state that it wrote last, version 1" } else { "an empty state" };
        let expected = format!("with {which}, since it cannot migrate the present one: this is not my count");
        assert!(why.ends_with(&expected), "{why}");
    }
}

#[tokio::test]
async fn an_exchange_that_cannot_be_made_durable_leaves_the_old_state() {
    let bench = counting(2).await;
    let version = bench.version().await;
    bench.journal.hold();
    {
        // The suite gives way to other tasks.
        let wanted = tenure_engine::Activate { unchecked: true, ..activate("recounting") };
        let mut exchange = pin!(bench.engine.activate(&wanted));
        assert!(poll_once(exchange.as_mut()).is_pending());
        bench.journal.resolve(&no_sync());
        assert_eq!(exchange.await.unwrap_err().code, ErrorCode::CheckpointFailed);
    }
    assert_eq!((bench.shown_state().await.as_str(), bench.version().await), ("counting 2", version + 2));
    assert_eq!(bench.memory().await.unwrap().before.len(), 0);
    bench.count(3).await.unwrap();
    assert_eq!(bench.shown_state().await, "counting 3");
}

#[tokio::test]
async fn a_state_ends_with_its_network() {
    let bench = counting(1).await;
    bench.engine.del(bench.del(1)).await.unwrap();
    assert!(bench.engine.remove_network(&network(), true).await.unwrap());
    let unknown = bench.engine.states_of(&network()).await.unwrap_err();
    assert_eq!(unknown.code, ErrorCode::UnknownNetwork);
    bench.count(2).await.unwrap();
    assert_eq!((bench.shown_state().await.as_str(), bench.version().await), ("counting 1", 1));
}

#[tokio::test]
async fn an_operator_replaces_a_state_that_nobody_else_has_changed() {
    let bench = counting(2).await;
    let version = bench.version().await;
    let changed = bench.replace(b"counting 7", Some(version - 1)).await.unwrap_err();
    assert_eq!(changed.code, ErrorCode::StateChanged);
    assert_eq!(changed.cause, format!("the state of network net has version {version}, not {}", version - 1));
    assert_eq!(bench.replace(b"counting 7", Some(version)).await.unwrap(), version + 1);
    assert_eq!(bench.replace(b"counting 8", Some(version)).await.unwrap_err().code, ErrorCode::StateChanged);
    let history = bench.engine.policies_of(&network()).unwrap().history;
    assert_eq!(history[0].kind.name(), "state-replaced");
    assert_eq!(history[0].why, format!("by an operator: version {}, 10 B", version + 1));
    bench.count(3).await.unwrap();
    assert_eq!(bench.shown_state().await, "counting 8");

    let long = bench.replace(&vec![0; LONGEST_STATE + 1], None).await.unwrap_err();
    assert_eq!(long.code, ErrorCode::StateNotKept);
    assert_eq!(long.cause, "the state has 16385 bytes, and the limit is 16384");
    assert_eq!(bench.shown_state().await, "counting 8");
    bench.replace(&vec![0; LONGEST_STATE], None).await.unwrap();
    bench.replace(b"counting 8", None).await.unwrap();

    bench.journal.hold();
    {
        let mut replace = pin!(bench.replace(b"counting 99", None));
        assert!(poll_once(replace.as_mut()).is_pending());
        let mut add = pin!(bench.count(4));
        assert!(poll_once(add.as_mut()).is_pending(), "nobody is asked with a state that may not stay");
        bench.journal.resolve(&no_sync());
        assert_eq!(replace.await.unwrap_err().code, ErrorCode::CheckpointFailed);
        add.await.unwrap();
    }
    assert_eq!(bench.shown_state().await, "counting 9");
}

#[tokio::test]
async fn a_shadow_remembers_what_it_would_have_decided_and_nothing_of_it_is_kept() {
    let bench = counting(2).await;
    let version = bench.version().await;
    let shadow = async |policy: &str| {
        bench.engine.shadow(&network(), &PolicyName::new(policy).unwrap().into(), "").await.unwrap();
        bench.engine.tend().await;
        bench.engine.shadow_report(&network()).unwrap()
    };
    // Its state is one of its own: given another's, it would fail.
    let report = shadow("recounting").await;
    assert_eq!((report.rehearsed, report.problem), ((2, 2), None));
    for number in 3..=5 {
        bench.count(number).await.unwrap();
        bench.tick(1_000);
        bench.engine.tend().await;
    }
    let verdicts = bench.engine.shadow_report(&network()).unwrap().verdicts;
    assert_eq!((verdicts.same, verdicts.compared()), (3, 3));
    assert_eq!((bench.shown_state().await.as_str(), bench.version().await), ("counting 5", version + 3));
    let report = shadow("counting-afresh").await;
    assert_eq!(report.problem.as_deref(), Some("this is not my count"), "it could not take over");
}
