//! A policy that plans, run natively: its plans are checked as the host does, and follow the ranges that a test supplies.

use tenure_sdk::{
    Config, ConfigError, Cooling, Definition, Effect, EffectKind, Planner, Policy, PoolDefinition, Proposal,
    Range, Refusal, Request, SupplySituation, configuration, ledger,
};
use tenure_testkit::cases::{Case, parse, run};
use tenure_testkit::{ErrorCode, Native, define};

/// Requests a block if fewer than 4 addresses are free. Its configuration may make it plan nonsense.
struct Blocks;

impl Policy for Blocks {
    fn define(_: &Config) -> Result<Definition, ConfigError> {
        Ok(Definition::of(vec![PoolDefinition::supplied("blocks")], Cooling::Strict))
    }

    fn propose(_: &Request) -> Result<Proposal, Refusal> {
        let free = ledger::pools().next().and_then(|pool| pool.shelf().next_in_turn());
        let mut proposal = Proposal::new();
        proposal.assign(0, free.ok_or_else(|| Refusal::not_yet("no block has a free address"))?);
        Ok(proposal)
    }
}

impl Planner for Blocks {
    fn plan(situation: &SupplySituation) -> Result<Vec<Effect>, Refusal> {
        let request = |pool| Effect::new(EffectKind::RequestBlock, pool);
        let root = configuration::root()?;
        let misbehaves = root.get("misbehave")?;
        match misbehaves.as_ref().map(|node| node.text()).transpose()? {
            Some("pool") => return Ok(vec![request(7)]),
            Some("kind") => return Ok(vec![Effect::new(EffectKind::Other("reboot".into()), 0)]),
            Some("many") => return Ok(vec![request(0); 257]),
            Some("attributes") => return Ok(vec![request(0).with("a name", "x")]),
            Some("reason") => return Ok(vec![request(0).with("reason", "3 are free, 4 are wanted")]),
            Some("panic") => assert!(root.get("misbehave")?.is_none(), "no plan today"),
            Some(_) => return Err(Refusal::not_yet("later")),
            None => {}
        }
        let pools = ledger::pools()
            .filter(|pool| ledger::room(&pool.shelf().usage()) < 4 + situation.waiting(pool.index));
        Ok(pools.map(|pool| request(pool.index)).collect())
    }
}

fn block(third: u8) -> Range {
    let address = |fourth: u8| format!("10.1.{third}.{fourth}").parse().unwrap();
    Range {
        name: format!("block-{third}"),
        ..Range::new("10.1.0.0/16".parse().unwrap(), address(16), address(23))
    }
}

#[test]
fn a_plan_follows_what_is_supplied_held_drained_and_withdrawn() {
    let mut node = define::<Blocks>("{}").unwrap();
    let request = [Effect::new(EffectKind::RequestBlock, 0)];
    let (quiet, busy) =
        (SupplySituation::default(), SupplySituation { waiting: vec![(0, 5)], ..SupplySituation::default() });
    assert_eq!(node.plan(&quiet).unwrap(), request);
    assert_eq!(node.add("shop/web-0").unwrap_err().code, ErrorCode::NotYet);
    node.supply("blocks", &block(1)).unwrap();
    assert_eq!(node.plan(&quiet).unwrap(), []);
    assert_eq!(node.plan(&busy).unwrap(), request);
    for number in 0..5 {
        node.add(&format!("shop/web-{number}")).unwrap();
    }
    assert_eq!(node.plan(&quiet).unwrap(), request, "3 are free");
    node.supply("blocks", &block(2)).unwrap();
    assert_eq!(node.plan(&quiet).unwrap(), []);
    assert!(node.drain("blocks", "block-2").unwrap() && !node.drain("blocks", "block-2").unwrap());
    assert_eq!(node.plan(&quiet).unwrap(), request, "a draining range has no free addresses");
    assert!(node.withdraw("blocks", "block-2").unwrap() && !node.withdraw("blocks", "block-2").unwrap());
    assert!(node.supply("blocks", &block(1)).unwrap_err().cause.contains("two ranges"));
    assert!(
        node.supply("other", &block(3)).unwrap_err().cause.contains("no pool other is supplied by the host")
    );
}

#[test]
fn a_plan_that_the_host_would_not_accept_fails() {
    for (misbehaviour, code, cause) in [
        ("pool", ErrorCode::PolicyFailed, "an effect on pool 7, but the network has only 1"),
        ("kind", ErrorCode::PolicyFailed, "an effect that this version does not know: \"reboot\""),
        ("many", ErrorCode::PolicyFailed, "it plans 257 effects, and the limit is 256"),
        ("attributes", ErrorCode::PolicyFailed, "attribute name \"a name\""),
        ("panic", ErrorCode::PolicyFailed, "it panicked: no plan today"),
        ("refuse", ErrorCode::NotYet, "later"),
    ] {
        let node = define::<Blocks>(&format!(r#"{{ "misbehave": "{misbehaviour}" }}"#)).unwrap();
        let error = node.plan(&SupplySituation::default()).unwrap_err();
        assert!(error.code == code && error.cause.contains(cause), "{misbehaviour}: {error}");
    }
}

fn failure(text: &str) -> Option<String> {
    let case = Case { path: "cases/x.txt".into(), steps: parse(text).unwrap() };
    run(&case, || Native::<Blocks>::new().planning()).failure.map(|failure| failure.to_string())
}

#[test]
fn a_case_file_asks_for_plans_in_situations_of_its_own() {
    let passes = r#"network { }
plan -> request-block blocks
plan -> any
supply blocks 10.1.1.16-10.1.1.23 in 10.1.0.0/16 with block=one, zone=a
plan -> none
plan {
  "waiting": { "blocks": 5 },
  "pending": [{ "kind": "give-back-block", "pool": "blocks", "attributes": { "block": "one" } }],
  "objects": [{ "kind": "block", "name": "one" }],
  "attributes": { "preallocation": "4" }
} -> request-block blocks
network { "misbehave": "reason" }
plan -> request-block blocks
plan -> request-block blocks reason="3 are free, 4 are wanted"
network { "misbehave": "many" }
plan -> failed "257 effects"
network { "misbehave": "later" }
plan -> not-yet "later"
"#;
    assert_eq!(failure(passes), None);
}

#[test]
fn a_plan_that_differs_is_shown_with_the_one_that_it_must_be() {
    let told = |step: &str| failure(&format!("network {{ }}\n{step}\n")).unwrap();
    insta::assert_snapshot!(told("plan -> none"), @"
    cases/x.txt:2: plan
      expected: none
      got:      request-block blocks
    ");
    insta::assert_snapshot!(
        told("plan -> request-block blocks addresses=4,\n  give-back-block blocks block=\"a b\""),
        @r#"
        cases/x.txt:2: plan
          expected: request-block blocks addresses=4, give-back-block blocks block="a b"
          got:      request-block blocks
        "#
    );
    insta::assert_snapshot!(told("plan { \"waiting\": { \"pods\": 1 } } -> any"), @r#"
    cases/x.txt:2: plan { "waiting": { "pods": 1 } }
      expected: any
      got:      invalid-environment "the network has no pool pods, only blocks"
    "#);
    insta::assert_snapshot!(told("plan -> exhausted"), @"
    cases/x.txt:2: plan
      expected: exhausted
      got:      request-block blocks
    ");
    let reason = failure("network { \"misbehave\": \"reason\" }\nplan -> request-block blocks reason=none");
    insta::assert_snapshot!(reason.unwrap(), @r#"
    cases/x.txt:2: plan
      expected: request-block blocks reason=none
      got:      request-block blocks reason="3 are free, 4 are wanted"
    "#);
    let case = Case { path: "cases/x.txt".into(), steps: parse("network { }\nplan -> any").unwrap() };
    let unasked = run(&case, Native::<Blocks>::new).failure.unwrap();
    assert!(unasked.got.contains("pass `planner` to `cases!`"), "{unasked}");
}

#[test]
fn a_malformed_plan_is_refused_with_its_line() {
    for (step, said) in [
        ("plan", "-> OUTCOME"),
        ("plan ->", "expected `any`, `none`, effects or a refusal"),
        ("plan { \"waits\": 1 } -> any", "unknown field `waits`"),
        ("plan { \"waiting\": 1 -> any", "after `plan`"),
        (
            "plan { \"pending\": [{ \"kind\": \"reboot\", \"pool\": \"a\" }] } -> any",
            "`reboot` is not an effect",
        ),
        ("plan -> reboot blocks", "the effects are attach-interface"),
        ("plan -> request-block", "expected `KIND POOL NAME=VALUE ...`"),
        ("plan -> request-block blocks 4", "`4` is not NAME=VALUE"),
        ("plan -> request-block blocks a=\"b", "not a text in double quotes"),
        ("plan -> exhausted because", "double quotes"),
        ("supply blocks 10.1.1.16-10.1.1.23 in 10.1.0.0/16 with block", "`block` is not NAME=VALUE"),
    ] {
        let wrong = parse(&format!("network {{ }}\n{step}")).unwrap_err();
        assert!(wrong.line == 2 && wrong.message.contains(said), "{step}: {wrong:?}");
    }
}
