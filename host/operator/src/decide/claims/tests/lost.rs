//! Addresses of claims after a backup was put back that knows neither the lease nor the claim's status.

use super::*;

/// Words of n1, which has the address for the claim of this number, or for one that it does not name.
fn holds(number: Option<u128>) -> Vec<Value> {
    let mut turn = turn(7, "Held");
    if let Some(number) = number {
        let (name, uid) = (format!("web-{number}"), Uid(number).to_string());
        turn["claim"] = json!({ "kind": "AddressClaim", "namespace": "default", "name": name, "uid": uid });
    }
    vec![turn]
}

/// A snapshot with these turns of n1, these claims and these leases.
fn seen(
    turns: &[Value],
    claims: Vec<KeptObject<ClaimView>>,
    blocks: Vec<KeptObject<BlockView>>,
) -> ClusterView {
    view(ViewSources {
        pools: vec![pool("Claims", "10.0.0.0/28", 32)],
        spaces: vec![space("Claims", "10.0.0.0/28", 32)],
        said: vec![said(1, Uid(11), 0, turns)],
        hosts: vec![host(1, Uid(11))],
        ipam_claims: Some(vec![]),
        claims,
        blocks,
    })
}

/// The addresses that claims get, and whether n1 is asked for the one that it has.
fn decided(view: &ClusterView, memory: &mut OperatorMemory) -> (Vec<String>, bool) {
    let (facts, held) = (ClaimFacts::gather(view, memory), held::claims(view, memory));
    let asked = facts.asked_back(view, &view.said["n1"]);
    let granted = claims(view, (&facts, &held), memory, NOW).into_iter().filter_map(|write| match write {
        OperatorWrite::GrantClaim(lease) => Some(format!("{} {}", lease.claim.name, lease.cidr)),
        _ => None,
    });
    (granted.collect(), asked == [BLOCK])
}

/// The claim `web-50` under another uid.
fn made_again() -> KeptObject<ClaimView> {
    let metadata = json!({ "name": "web-50", "namespace": "default", "uid": Uid(90).to_string(), "resourceVersion": "1" });
    KeptObject::of(
        serde_json::from_value(json!({ "metadata": metadata, "spec": { "pool": "pods" } })).unwrap(),
    )
}

#[test]
fn a_claim_gets_the_address_again_that_a_node_has_for_it() {
    // An older claim chose the address meanwhile, and gets it no more.
    let chooses = json!({
        "metadata": { "name": "web-40", "namespace": "default", "uid": Uid(40).to_string(), "resourceVersion": "1", "generation": 1 },
        "spec": { "pool": "pods", "address": "10.0.0.9" },
    });
    let chooses = || KeptObject::of(serde_json::from_value(chooses.clone()).unwrap());
    for its in [claim(50), made_again()] {
        let view = seen(&holds(Some(50)), vec![chooses(), claim(45), its], vec![]);
        let expected = ["web-45 10.0.0.1/32", "web-50 10.0.0.9/32"].map(str::to_owned);
        assert_eq!(decided(&view, &mut leader()), (expected.to_vec(), false));
    }
}

#[test]
fn a_node_is_asked_for_an_address_that_no_claim_has() {
    let asked = |turns: &[Value], claims, blocks| decided(&seen(turns, claims, blocks), &mut leader()).1;
    assert!(asked(&holds(Some(50)), vec![], vec![]));
    assert!(asked(&holds(None), vec![claim(50)], vec![]));
    assert!(!asked(&holds(Some(50)), vec![claim(50)], vec![]));
    assert!(!asked(&[turn(7, "Wanted")], vec![], vec![]), "no pod has it");
    // The claim has another address by now.
    let mut other = block_object();
    (other.metadata.name, other.spec.cidr) = (Some("default.10-0-0-3.32".into()), "10.0.0.3/32".into());
    assert!(asked(&holds(Some(50)), vec![claim(50)], vec![KeptObject::of(other)]));
}

#[test]
fn nothing_is_asked_back_before_it_is_known_which_claims_there_are() {
    let view = seen(&holds(Some(50)), vec![], vec![]);
    let mut unsure = leader();
    unsure.definitions_unsure = true;
    for mut memory in [OperatorMemory::default(), unsure] {
        assert!(!decided(&view, &mut memory).1);
    }
    let mut without_definition = leader();
    without_definition.ipam_claims_unsure = true;
    assert!(decided(&view, &mut without_definition).1, "the claim is none of those");
    assert!(!decided(&seen(&holds(None), vec![], vec![]), &mut without_definition).1);
    // The lease is there, in words of a later version.
    let mut later = block_object();
    later.spec.cidr = "later".into();
    let view = seen(&holds(Some(50)), vec![], vec![KeptObject::of(later)]);
    assert!(!view.unreadable.is_empty() && !decided(&view, &mut leader()).1);
}
