use tenure_rpc::v1::{PlanObject, PlannedPool, PolicyRef};

use super::*;

fn map(pairs: &[(&str, &str)]) -> HashMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn answer() -> ExplainPlanResponse {
    ExplainPlanResponse {
        network: "pods".into(),
        policy: Some(PolicyRef { name: "aws-eni".into(), sha256: "0123456789abcdef".into() }),
        pools: vec![PlannedPool { name: "ipv4".into(), total: 5, held: 4, cooling: 1, free: 0, waiting: 2 }],
        objects: vec![PlanObject {
            kind: "interface".into(),
            name: "eni-0".into(),
            attributes: map(&[("slots.free", "1"), ("primary", "true")]),
        }],
        attributes: map(&[("interfaces.free", "1")]),
        ..ExplainPlanResponse::default()
    }
}

fn effect(kind: &str, attributes: &[(&str, &str)], refusal: &str) -> PlannedEffect {
    PlannedEffect {
        kind: kind.into(),
        pool: "ipv4".into(),
        attributes: map(attributes),
        reason: "wanted: 1 free and 0 in total, and 2 waiting; there are 0 free of 5\u{7}".into(),
        refusal: refusal.into(),
    }
}

#[test]
fn a_plan_is_shown_with_its_arithmetic_and_the_state_that_it_is_from() {
    let explained = ExplainPlanResponse {
        effects: vec![effect("assign-address", &[("interface", "eni-0"), ("count", "1")], "")],
        refused: vec![effect("detach-interface", &[("interface", "eni-1")], "EC2 did not confirm it")],
        pending: vec![effect("attach-interface", &[("addresses", "2")], "")],
        ..answer()
    };
    insta::assert_snapshot!(explained.page(0).to_string(), @r"
    network pods, policy aws-eni@0123456789ab

    POOL  TOTAL  HELD  COOLING  FREE  WAITING
    ipv4      5     4        1     0        2

    OBJECT     NAME              FACTS
    interface  eni-0             primary=true, slots.free=1
    node       -                 interfaces.free=1
    under way  attach-interface  addresses=2

    would begin:
      assign-address for pool ipv4: count=1,interface=eni-0
        because wanted: 1 free and 0 in total, and 2 waiting; there are 0 free of 5\u{7}
    would be refused:
      detach-interface for pool ipv4: interface=eni-1
        because wanted: 1 free and 0 in total, and 2 waiting; there are 0 free of 5\u{7}
        refused: EC2 did not confirm it
    ");
}

#[test]
fn that_nothing_is_wanted_and_that_nothing_can_be_done_differ() {
    let last = |answer: &ExplainPlanResponse| answer.page(0).to_string().lines().last().map(str::to_owned);
    assert_eq!(last(&answer()).as_deref(), Some("nothing to do: the pools are as the policy wants them"));
    let because = ExplainPlanResponse { lines: vec!["pool ipv4: wanted: 1 free\u{7}".into()], ..answer() };
    assert_eq!(last(&because).as_deref(), Some("  pool ipv4: wanted: 1 free\\u{7}"));
    let full =
        ExplainPlanResponse { code: "pool-exhausted".into(), words: "pool ipv4 is full".into(), ..answer() };
    assert_eq!(last(&full).as_deref(), Some("nothing can be done (pool-exhausted): pool ipv4 is full"));
}
