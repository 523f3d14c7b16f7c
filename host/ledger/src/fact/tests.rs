use std::time::Duration;

use tenure_types::{
    AgentName, Attributes, ClaimName, ContainerId, DelegateName, EffectKind, Generation, IntentId,
    InterfaceName, Object, Owner, PolicyName, PolicyStamp, PoolName, ScopeName,
};

use super::*;
use crate::delegations::Given;
use crate::{
    Choice, ChoiceFact, Chooser, Claim, ClaimFact, ClaimKey, Claimant, Component, ComponentFact, Delegation,
    DelegationFact, EffectFact, Intent, IntentOrigin, Move, MoveEnd, MoveFact, PolicyState, Presence,
    StateFact, Step, StepKind, Wish,
};

fn network() -> NetworkName {
    NetworkName::new("net").unwrap()
}

fn stamp() -> PolicyStamp {
    PolicyStamp { name: PolicyName::new("a").unwrap(), digest: "0123456789abcdef".into() }
}

fn at(seconds: u64) -> Moment {
    Moment { boot_ns: seconds, wall_ms: seconds }
}

/// Each fact with the time at its number and this description.
fn check<F: Into<Fact>, S: AsRef<str>>(facts: impl IntoIterator<Item = (F, S)>) {
    for (number, (fact, expected)) in (1..).zip(facts) {
        let fact = fact.into();
        let (time, description) = fact.described().unwrap();
        assert_eq!((time, description.to_string().as_str()), (at(number), expected.as_ref()));
    }
}

#[test]
fn a_fact_is_about_its_network_or_about_the_node() {
    let forgotten: Fact = StateFact::Forgotten { network: network(), at: at(1) }.into();
    assert_eq!(forgotten.network(), Some(&network()));
    assert_eq!(Fact::from(ComponentFact::Unloaded { policy: stamp(), at: at(1) }).network(), None);
}

#[test]
fn a_fact_of_a_book_is_described_by_its_book() {
    assert!(Fact::from(LedgerFact::Removed { network: network(), at: at(1) }).described().is_none());
}

#[test]
fn choices_and_components_are_described() {
    let choice = |seconds, why: &str| Choice {
        policy: stamp(),
        by: Chooser::Operator,
        at: at(seconds),
        why: why.to_owned(),
        watched: false,
    };
    let noted = |seconds, why: &str| {
        let (kind, why) = (StepKind::Kept, why.to_owned());
        ChoiceFact::Noted { network: network(), step: Step { kind, policy: stamp(), at: at(seconds), why } }
    };
    check([
        (
            ChoiceFact::Chosen { network: network(), choice: choice(1, "") },
            "chosen     a@0123456789ab by operator",
        ),
        (
            ChoiceFact::Chosen { network: network(), choice: choice(2, "faster") },
            "chosen     a@0123456789ab by operator: faster",
        ),
        (noted(3, ""), "kept       a@0123456789ab"),
        (noted(4, "no worse"), "kept       a@0123456789ab: no worse"),
        (
            ChoiceFact::Undone { network: network(), choice: choice(0, ""), at: at(5) },
            "undone     the exchange; a@0123456789ab serves again",
        ),
        (ChoiceFact::Forgotten { network: network(), at: at(6) }, "forgotten  the policy"),
    ]);
    let component =
        Component { policy: stamp(), source: "file".to_owned(), signer: String::new(), at: at(1) };
    check([
        (ComponentFact::Loaded(component), "loaded     a@0123456789ab from file"),
        (ComponentFact::Unloaded { policy: stamp(), at: at(2) }, "unloaded   a@0123456789ab"),
    ]);
}

#[test]
fn claims_and_states_are_described() {
    let key = ClaimKey {
        agent: AgentName::new("vm").unwrap(),
        network: network(),
        name: ClaimName::new("web").unwrap(),
    };
    let claim = |wish: Wish, presence| {
        let (generation, made_at) = (Generation(1), at(9));
        ClaimFact::Claimed(Claim { key: key.clone(), wish, generation, made_at, presence })
    };
    let claimant = Claimant { scope: Some(ScopeName::new("blue").unwrap()), holder: None };
    let leased = Wish { lease: Some(Duration::from_secs(60)), claimant, ..Wish::default() };
    check([
        (claim(Wish::default(), Presence::Here(at(1))), "claimed    claim web of vm"),
        (claim(leased, Presence::Reserved(at(2))), "claimed    claim web of vm, lease 60 s, scope blue"),
        (ClaimFact::Confirmed { key: key.clone(), at: at(3) }, "confirmed  claim web of vm"),
        (
            ClaimFact::Released {
                key: key.clone(),
                generation: Generation(1),
                at: at(4),
                reason: "lapsed".into(),
            },
            "unclaimed  claim web of vm (lapsed)",
        ),
    ]);
    let state = |seconds| PolicyState {
        policy: stamp(),
        version: 7,
        bytes: b"abc".as_slice().into(),
        at: at(seconds),
    };
    check([
        (
            StateFact::Kept { network: network(), state: state(1) },
            "kept       state version 7 of a@0123456789ab, 3 B",
        ),
        (
            StateFact::Undone { network: network(), state: state(2) },
            "undone     state version 7 of a@0123456789ab, 3 B",
        ),
        (StateFact::Forgotten { network: network(), at: at(3) }, "forgotten  the states"),
    ]);
}

#[test]
fn delegations_and_effects_are_described() {
    let owner = Owner::Unknown { address: [10, 0, 0, 7].into() };
    let delegation = Delegation {
        network: network(),
        owner: owner.clone(),
        delegate: DelegateName::new("azure").unwrap(),
        container: ContainerId::new("c").unwrap(),
        interface: InterfaceName::new("eth0").unwrap(),
        netns: "".into(),
        ipam: "{}".into(),
        since: at(1),
        given: None,
    };
    let given =
        Given { generation: Generation(1), addresses: vec![[10, 0, 0, 8].into(), [10, 0, 0, 9].into()] };
    let asked = format!("asked      delegate azure for {owner}");
    let ended = format!("ended      the delegate has nothing for {owner} any more");
    let gave = format!("given      10.0.0.8, 10.0.0.9 to {owner} by its delegate");
    let facts = [
        (DelegationFact::Asked(delegation), asked),
        (DelegationFact::Given { network: network(), owner: owner.clone(), given, at: at(2) }, gave),
        (DelegationFact::Ended { network: network(), owner, at: at(3) }, ended),
    ];
    check(facts);

    let id = || IntentId::new("i-1").unwrap();
    let attributes = || Attributes::new([("slot", "2")]).unwrap();
    let intent = |origin, seconds| {
        EffectFact::Intended(Intent {
            id: id(),
            network: network(),
            pool: PoolName::new("ipv4").unwrap(),
            kind: EffectKind::AttachInterface,
            attributes: attributes(),
            takes: Vec::new(),
            origin,
            since: at(seconds),
            reached: Attributes::default(),
        })
    };
    let object = Object { kind: "interface".to_owned(), name: "eni-1".to_owned(), attributes: attributes() };
    let intended = |by: &str| {
        let kind = EffectKind::AttachInterface.name();
        format!("intended   {kind} for pool ipv4{by} ({}) as i-1", attributes())
    };
    let facts = [
        (intent(IntentOrigin::Policy(stamp()), 1), intended("")),
        (intent(IntentOrigin::Host, 2), intended(" by the host")),
        (
            EffectFact::Reached { id: id(), network: network(), reached: attributes(), at: at(3) },
            format!("reached    i-1: {}", attributes()),
        ),
        (EffectFact::Done { id: id(), network: network(), at: at(4) }, "done       i-1".to_owned()),
        (
            EffectFact::Undone { id: id(), network: network(), why: "refused".into(), at: at(5) },
            "undone     i-1: refused".to_owned(),
        ),
        (EffectFact::Seen { object, at: at(6) }, format!("seen       interface eni-1 ({})", attributes())),
        (
            EffectFact::Gone { kind: "interface".to_owned(), name: "eni-1".to_owned(), at: at(7) },
            "gone       interface eni-1".to_owned(),
        ),
    ];
    check(facts);
}

#[test]
fn moves_are_described() {
    let begun = |by: &str, seconds| {
        MoveFact::Begun(Move {
            network: network(),
            source: "files".into(),
            by: by.into(),
            entries: 3,
            reached: 0,
            at: at(seconds),
        })
    };
    let ended = |end, why: &str, seconds| MoveFact::Ended {
        network: network(),
        source: "files".into(),
        end,
        why: why.into(),
        at: at(seconds),
    };
    let owner = Owner::Unknown { address: [10, 0, 0, 7].into() };
    let deleted = format!("deleted    {owner}, which has no addresses here");
    let facts = [
        (begun("", 1), "began      an import from files: 3 entries"),
        (begun("root", 2), "began      an import from files, by root: 3 entries"),
        (
            MoveFact::Reached { network: network(), source: "files".into(), reached: 2, at: at(3) },
            "reached    entry 2 of files",
        ),
        (ended(MoveEnd::Finished, "", 4), "ended      the import from files"),
        (ended(MoveEnd::Abandoned, "lost", 5), "abandoned  the import from files: lost"),
        (MoveFact::Deleted { network: network(), owner, at: at(6) }, &deleted),
        (MoveFact::Forgotten { network: network(), at: at(7) }, "forgotten  where the addresses came from"),
    ];
    check(facts);
}
