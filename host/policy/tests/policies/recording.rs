//! Recorded decisions: the policy that was recorded decides the same again, to the bit, from the record alone.

mod views;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use tenure_engine::ports::Policy;
use tenure_fixtures::random::Random;
use tenure_ledger::{Book, Defined, LedgerFact};
use tenure_policy::decisions::{
    DecisionFiles, DecisionOutcome, DecisionWriter, Function, RecordedBooks, RecordedDecision, RecordedLimits,
};
use tenure_policy::{AskedPolicy, CallLimits, Compiler, Grants, PolicyRuntime, WasmPolicy, embedded};
use tenure_types::{
    ContainerId, Definer, InterfaceName, Moment, NetworkConfig, NetworkName, Owner, PodIdentity, PolicyName,
    Proposal, Request, RequestContext, Sandbox,
};

use crate::node::{build, build_example, wait};

const NAMESPACES: [&str; 3] = ["blue", "red", "green"];

fn network() -> NetworkName {
    NetworkName::new("net").unwrap()
}

fn load(runtime: &PolicyRuntime, name: &str, bytes: &[u8]) -> WasmPolicy {
    runtime.load(&PolicyName::new(name).unwrap(), bytes, None).unwrap()
}

/// Records what `work` does with a policy, and returns the decisions.
fn recorded(
    name: &str,
    bytes: &[u8],
    work: impl FnOnce(&AskedPolicy),
) -> (Vec<RecordedDecision>, RecordedLimits) {
    recorded_with(name, bytes, Grants::default(), work)
}

fn recorded_with(
    name: &str,
    bytes: &[u8],
    grants: Grants,
    work: impl FnOnce(&AskedPolicy),
) -> (Vec<RecordedDecision>, RecordedLimits) {
    let limits = CallLimits { concurrency: 2, ..CallLimits::default() };
    let runtime = PolicyRuntime::new(limits.clone(), Compiler::InProcess).unwrap();
    let policy = load(&runtime, name, bytes);
    policy.grant(grants);
    let policy = AskedPolicy::new(policy);
    let (directory, recorder) = (tempfile::tempdir().unwrap(), runtime.recorder());
    recorder.set(HashMap::from([(network(), 100_000)]));
    let writer = DecisionWriter::new(Arc::clone(recorder), directory.path(), limits.recorded());
    std::thread::scope(|scope| {
        scope.spawn(|| writer.run());
        work(&policy);
        recorder.close();
    });
    assert_eq!(recorder.counts().1, 0, "dropped");
    read(&directory.path().join("decisions"))
}

fn read(folder: &Path) -> (Vec<RecordedDecision>, RecordedLimits) {
    let mut files = DecisionFiles::at(folder).unwrap();
    let (mut decisions, mut limits) = (Vec::new(), None);
    while let Some(recorded) = files.next_decision().unwrap() {
        decisions.push(recorded.decision);
        limits = Some(recorded.limits);
    }
    assert_eq!(files.passed_over(), 0);
    (decisions, limits.unwrap())
}

/// A network whose owners come and go.
struct Network<'a> {
    policy: &'a AskedPolicy,
    book: Arc<Book>,
    /// The policy's state.
    state: Arc<[u8]>,
    clock: u64,
    held: Vec<Owner>,
    /// The addresses of each proposal, or the error's cause.
    answers: Vec<String>,
}

impl<'a> Network<'a> {
    fn define(policy: &'a AskedPolicy, ipam: &str) -> Self {
        let config = Arc::new(NetworkConfig { ipam: ipam.into(), attributes: Vec::new() });
        let definition = wait(policy.define(&network(), &config)).unwrap();
        let defined = Defined { config: &config, definition: &definition, by: Definer::Request };
        let book = Book::defined(&network(), defined, Moment::default()).unwrap();
        let (book, state) = (Arc::new(book), Arc::default());
        Self { policy, book, state, clock: 0, held: Vec::new(), answers: Vec::new() }
    }

    fn now(&mut self) -> Moment {
        self.clock += 1;
        Moment { boot_ns: self.clock * 1_000_000, wall_ms: self.clock }
    }

    fn add(&mut self, random: &mut Random) {
        let number = self.clock;
        let namespace = *pick(random, &NAMESPACES);
        let pod = PodIdentity {
            namespace: namespace.into(),
            name: format!("pod-{}", random.below(12)).as_str().into(),
            uid: "".into(),
        };
        let requested = random
            .one_in_thousand(250)
            .then(|| format!("10.1.{}.{}", random.below(3), random.below(20)).parse().unwrap());
        let owner = Owner::Attachment {
            container: ContainerId::new(format!("c{number}")).unwrap(),
            interface: InterfaceName::new("eth0").unwrap(),
        };
        let pod = random.one_in_thousand(900).then_some(pod);
        let request = Request {
            network: network(),
            owner: owner.clone(),
            requested: requested.into_iter().collect(),
            sandbox: Sandbox { pod, ..Sandbox::default() },
            supply_full: false,
            context: RequestContext::default(),
            requested_at: self.now(),
        };
        let state = Arc::clone(&self.state);
        let answer = wait(self.policy.propose(&request, Arc::clone(&self.book), state));
        let now = self.now();
        if let Ok(answer) = &answer
            && let Ok(allocation) = self.book.admit(&request, &answer.proposal, self.policy.stamp(), now)
        {
            self.state = answer.state.clone().unwrap_or_else(|| Arc::clone(&self.state));
            self.apply(&LedgerFact::Allocated(Arc::new(allocation)));
            self.held.push(owner);
        }
        self.answers.push(answer.map_or_else(|error| error.cause, |answer| addresses(&answer.proposal)));
    }

    fn release(&mut self, random: &mut Random) {
        let index = usize::try_from(random.below(u64::try_from(self.held.len()).unwrap())).unwrap();
        if index < self.held.len() {
            let (owner, now) = (self.held.swap_remove(index), self.now());
            let fact = self.book.release(&owner, now, "del").unwrap();
            self.apply(&fact);
        }
    }

    fn thaw(&mut self) {
        let now = self.now();
        Arc::make_mut(&mut self.book).expire(now, std::time::Duration::ZERO);
    }

    fn apply(&mut self, fact: &LedgerFact) {
        let place = self.book.through() + 1;
        Arc::make_mut(&mut self.book).apply(place, fact).unwrap();
    }
}

fn addresses(proposal: &Proposal) -> String {
    let addresses: Vec<_> = proposal.assignments.iter().map(|one| one.address.to_string()).collect();
    addresses.join(", ")
}

fn pick<'a, T>(random: &mut Random, from: &'a [T]) -> &'a T {
    from.get(usize::try_from(random.below(u64::try_from(from.len()).unwrap())).unwrap()).unwrap()
}

/// A random configuration: one or two pools of small ranges in two racks, some of them for a namespace.
fn ipam(random: &mut Random) -> String {
    let mut third = 0;
    let mut range = |random: &mut Random| {
        let length = 27 + random.below(3);
        let namespace = match random.below(2) {
            0 => format!(r#", "namespace": "{}""#, pick(random, &NAMESPACES)),
            _ => String::new(),
        };
        third += 1;
        let (number, rack) = (third - 1, third % 2);
        let labels = format!(r#""rangeAttributes": {{"rack": "{rack}"{namespace}}}"#);
        format!(r#"{{"subnet": "10.1.{number}.0/{length}", {labels}}}"#)
    };
    let mut set = |random: &mut Random| {
        let ranges: Vec<_> = (0..=random.below(2)).map(|_| range(random)).collect();
        format!("[{}]", ranges.join(", "))
    };
    let sets: Vec<_> = (0..=random.below(2)).map(|_| set(random)).collect();
    let quota = 1 + random.below(6);
    format!(r#"{{"ranges": [{}], "quota": {{"*": {quota}}}}}"#, sets.join(", "))
}

#[test]
fn a_decision_by_a_label_is_made_again_from_the_record_alone() {
    let bytes = build_example("tiers");
    let metadata = vec!["pod.label.tier".to_owned()];
    let (decisions, limits) = recorded_with(
        "tiers",
        &bytes,
        Grants { metadata, ..Grants::default() },
        |policy| {
            let ipam = r#"{"ranges": [[{"subnet": "10.1.1.0/24", "rangeAttributes": {"tier": "gold"}}, {"subnet": "10.1.2.0/24"}]]}"#;
            let mut network = Network::define(policy, ipam);
            let told = [("pod.label.tier", "gold"), ("pod.label.team", "red")];
            let request = Request {
                network: self::network(),
                owner: Owner::Attachment {
                    container: ContainerId::new("c").unwrap(),
                    interface: InterfaceName::new("eth0").unwrap(),
                },
                requested: Vec::new(),
                sandbox: Sandbox::default(),
                supply_full: false,
                context: RequestContext {
                    metadata: told.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
                    ..RequestContext::default()
                },
                requested_at: network.now(),
            };
            wait(policy.propose(&request, Arc::clone(&network.book), Arc::default())).unwrap();
        },
    );
    let decision = decisions.last().unwrap();
    assert_eq!(
        (decision.attribute("pod.label.tier"), decision.attribute("pod.label.team")),
        (Some("gold"), None)
    );
    let runtime = PolicyRuntime::new(CallLimits::replaying(&limits), Compiler::InProcess).unwrap();
    // Nothing is granted where it is made again: what it saw is in the record.
    assert_eq!(load(&runtime, "tiers", &bytes).replay(decision, None).unwrap(), decision.outcome);
    assert!(decision.outcome.to_string().contains("10.1.1."), "{}", decision.outcome);
}

/// The seed of the books below: the same in each run, so that no draw fails a sound change.
const SEED: u64 = 164_617_117;

#[test]
fn the_recorded_policy_decides_the_same_again_on_random_books() {
    let mut random = Random::new(SEED);
    let policies = [
        ("host-local", embedded::HOST_LOCAL.to_vec()),
        ("highest-first", embedded::HIGHEST_FIRST.to_vec()),
        ("zones", build_example("zones")),
        ("quota", build_example("quota")),
        ("sticky", build_example("sticky")),
        ("rotation", build_example("rotation")),
    ];
    for (name, bytes) in &policies {
        let name = *name;
        let mut answers = Vec::new();
        let (decisions, limits) = recorded(name, bytes, |policy| {
            // One address for many owners: each policy refuses. A few of them may have the name to which `sticky` proposes it again.
            let mut full = Network::define(policy, r#"{"ranges": [[{"subnet": "10.1.0.0/30"}]]}"#);
            (0..20).for_each(|_| full.add(&mut random));
            answers.extend(full.answers);
            for _ in 0..6 {
                let mut network = Network::define(policy, &ipam(&mut random));
                for _ in 0..60 {
                    match random.below(10) {
                        0..=5 => network.add(&mut random),
                        6..=8 => network.release(&mut random),
                        _ => network.thaw(),
                    }
                }
                answers.extend(network.answers);
            }
        });
        let runtime = PolicyRuntime::new(CallLimits::replaying(&limits), Compiler::InProcess).unwrap();
        let policy = load(&runtime, name, bytes);
        let mut told = Vec::new();
        for decision in &decisions {
            assert_eq!(policy.replay(decision, None).unwrap(), decision.outcome, "{name}: {decision:?}");
            if decision.function != Function::Define {
                told.push(decision.outcome.to_string());
            }
        }
        assert_eq!(told.len(), answers.len(), "each call is recorded once");
        for (told, answer) in told.iter().zip(&answers) {
            let told = told.split_once("; new state ").map_or(told.as_str(), |(addresses, _)| addresses);
            let reason = told.split_once(": ").map_or(told, |(_, reason)| reason);
            assert!(answer == told || answer.ends_with(reason), "recorded {told:?}, answered {answer:?}");
        }
        let numbers: Vec<_> = decisions.iter().map(|decision| decision.number).collect();
        assert!(numbers.iter().copied().eq(1..=u64::try_from(decisions.len()).unwrap()), "{numbers:?}");
        let of = |is: fn(&DecisionOutcome) -> bool| {
            decisions.iter().filter(|decision| is(&decision.outcome)).count()
        };
        assert!(of(|outcome| matches!(outcome, DecisionOutcome::Refusal(_))) > 0, "{name} refused nothing");
        let is_proposal: fn(&DecisionOutcome) -> bool = match name {
            "rotation" => {
                |outcome| matches!(outcome, DecisionOutcome::ProposalWithState { state: Some(_), .. })
            }
            _ => |outcome| matches!(outcome, DecisionOutcome::Proposal(_)),
        };
        assert!(of(is_proposal) > 0, "{name} proposed nothing");

        // From the network as it was, without what was asked then, it decides the same.
        let mut books = RecordedBooks::new().unwrap();
        for decision in &decisions {
            let book = books.at(decision).unwrap();
            assert_eq!(book.is_none(), decision.function == Function::Define, "{decision:?}");
            let unasked = RecordedDecision { asked: Vec::new(), ..decision.clone() };
            assert_eq!(
                policy.replay(&unasked, book.as_ref()).unwrap(),
                decision.outcome,
                "{name}: {decision:?}"
            );
        }
        // Any other policy decides, too, and sometimes otherwise.
        for (other, bytes) in &policies {
            let candidate = load(&runtime, other, bytes);
            let (mut books, mut differences) = (RecordedBooks::new().unwrap(), 0);
            for decision in &decisions {
                let book = books.at(decision).unwrap();
                let outcome = candidate.replay(decision, book.as_ref()).unwrap();
                assert!(!matches!(outcome, DecisionOutcome::NotRecorded(_)), "{other} for {name}: {outcome}");
                differences += usize::from(outcome != decision.outcome);
            }
            assert_eq!(differences == 0, *other == name, "{other} for {name}: {differences} differences");
        }
    }
}

#[test]
fn another_version_migrates_the_recorded_state_and_old_records_have_none() {
    let bytes = build_example("rotation");
    let (mut decisions, limits) = recorded("rotation", &bytes, |policy| {
        let rack = |number| {
            format!(r#"{{"subnet": "10.1.{number}.0/29", "rangeAttributes": {{"rack": "{number}"}}}}"#)
        };
        let mut network = Network::define(policy, &format!(r#"{{"ranges": [[{}, {}]]}}"#, rack(0), rack(1)));
        (0..6).for_each(|_| network.add(&mut Random::new(7)));
    });
    decisions.retain(|decision| decision.given_state().is_ok_and(|state| !state.is_empty()));
    assert!(!decisions.is_empty());
    let runtime = PolicyRuntime::new(CallLimits::replaying(&limits), Compiler::InProcess).unwrap();
    // A custom section makes another digest.
    let other = load(&runtime, "rotation", &[bytes.as_slice(), &[0, 2, 1, b'x']].concat());
    for decision in &decisions {
        assert_eq!(other.replay(decision, None).unwrap(), decision.outcome, "{decision:?}");
        let foreign = RecordedDecision { policy: "another".into(), ..decision.clone() };
        let refused = other.replay(&foreign, None).unwrap();
        assert_eq!(refused.to_string(), "other: this is not the state of a rotation");
        let line = serde_json::to_value(decision).unwrap();
        let mut old = line.as_object().unwrap().clone();
        old.remove("state");
        old.insert("function".into(), "propose".into());
        let old: RecordedDecision = serde_json::from_value(old.into()).unwrap();
        assert_eq!((old.function, old.given_state()), (Function::Propose, Ok(Vec::new())));
        let first = other.replay(&old, None).unwrap();
        assert!(
            matches!(first, DecisionOutcome::ProposalWithState { .. } | DecisionOutcome::NotRecorded(_)),
            "{first}"
        );
    }
}

#[test]
fn failures_are_recorded_and_happen_again() {
    let bytes = build("tenure-hostile");
    let misbehaviours = ["trap", "panic", "recurse", "grow", "long-text", "not-an-address", "spin"];
    let (decisions, limits) = recorded("hostile", &bytes, |policy| {
        for misbehaviour in misbehaviours {
            let ipam = format!(r#"{{"subnet": "10.1.0.0/29", "misbehave": "{misbehaviour}"}}"#);
            Network::define(policy, &ipam).add(&mut Random::new(1));
        }
        let refused = NetworkConfig { ipam: r#"{"subnet": 7}"#.into(), attributes: Vec::new() };
        wait(policy.define(&network(), &refused)).unwrap_err();
    });
    // With the recorded time limit, since one of them only ends by it.
    let replaying = CallLimits { deadline: CallLimits::default().deadline, ..CallLimits::replaying(&limits) };
    let runtime = PolicyRuntime::new(replaying, Compiler::InProcess).unwrap();
    let policy = load(&runtime, "hostile", &bytes);
    for decision in &decisions {
        assert_eq!(policy.replay(decision, None).unwrap(), decision.outcome, "{decision:?}");
    }
    let kinds: Vec<_> = decisions
        .iter()
        .filter_map(|decision| match &decision.outcome {
            DecisionOutcome::Failure { kind, .. } => Some(kind.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(kinds, ["trap", "trap", "trap", "memory", "length", "nonsense", "deadline"]);
    assert_eq!(decisions.len(), 2 * misbehaviours.len() + 1, "definitions too");
    let last = decisions.last().unwrap();
    assert!(last.outcome.to_string().starts_with("invalid-config: ipam.subnet: "), "{}", last.outcome);
}

#[test]
fn what_a_grant_has_failed_fails_again() {
    let bytes = build("tenure-hostile");
    let grants = Grants { memory: Some(4 << 20), ..Grants::default() };
    let (decisions, limits) = recorded_with("hostile", &bytes, grants, |policy| {
        let ipam = r#"{"subnet": "10.1.0.0/29", "misbehave": "grow"}"#;
        Network::define(policy, ipam).add(&mut Random::new(1));
    });
    assert_eq!(limits.memory, 4 << 20, "the limit of the call, not of the sandbox");
    let runtime = PolicyRuntime::new(CallLimits::replaying(&limits), Compiler::InProcess).unwrap();
    let policy = load(&runtime, "hostile", &bytes);
    for decision in &decisions {
        assert_eq!(policy.replay(decision, None).unwrap(), decision.outcome, "{decision:?}");
    }
    let last = &decisions.last().unwrap().outcome;
    assert!(matches!(last, DecisionOutcome::Failure { kind, .. } if kind == "memory"), "{last}");
}

#[test]
fn nothing_is_recorded_of_other_networks_and_after_it_is_switched_off() {
    let limits = CallLimits { concurrency: 1, ..CallLimits::default() };
    let runtime = PolicyRuntime::new(limits.clone(), Compiler::InProcess).unwrap();
    let policy = AskedPolicy::new(load(&runtime, "host-local", embedded::HOST_LOCAL));
    let directory = tempfile::tempdir().unwrap();
    let recorder = runtime.recorder();
    let writer = DecisionWriter::new(Arc::clone(recorder), directory.path(), limits.recorded());
    let define = || {
        Network::define(&policy, r#"{"subnet": "10.1.0.0/29"}"#).add(&mut Random::new(1));
    };
    std::thread::scope(|scope| {
        scope.spawn(|| writer.run());
        define();
        recorder.set(HashMap::from([(NetworkName::new("other").unwrap(), 10)]));
        define();
        recorder.set(HashMap::from([(network(), 10)]));
        define();
        recorder.set(HashMap::from([(network(), 0)]));
        define();
        recorder.close();
    });
    assert_eq!(read(&directory.path().join("decisions")).0.len(), 2);
    assert_eq!(recorder.counts(), (2, 0));
}
