//! Claims beside a pool that this version cannot read.

use super::*;

#[test]
fn claims_of_a_pool_that_cannot_be_read_wait_and_hear_why() {
    let metadata = |name: &str, uid: u128| json!({ "name": name, "uid": Uid(uid).to_string(), "resourceVersion": "1", "generation": 1 });
    let spec = json!({ "usage": "Claims", "networks": ["net"], "ipv4": { "cidrs": ["10.0.1.0/28"], "blockPrefix": 32 } });
    let lent = json!({ "metadata": metadata("lent", 2), "spec": spec });
    let range = |id: u64, cidr: &str, pool: &str| {
        let pool = json!({ "name": pool, "uid": Uid(u128::from(id)).to_string() });
        json!({ "id": RangeId(id).to_string(), "cidr": cidr, "unit": 32, "usage": "Claims", "state": "Open", "pool": pool })
    };
    let ranges = [range(1, "10.0.0.0/28", "pods"), range(2, "10.0.1.0/28", "lent")];
    let space = json!({ "metadata": metadata("default", 3), "spec": { "ranges": ranges } });
    let mut vm = json!({ "metadata": metadata("vm", 60), "spec": { "network": "net", "interface": "net1" } });
    vm["metadata"]["namespace"] = json!("default");
    let decided = |usage: &str| {
        let mut memory = leader();
        let view = view(ViewSources {
            pools: vec![
                pool(usage, "10.0.0.0/28", 32),
                KeptObject::of(serde_json::from_value(lent.clone()).unwrap()),
            ],
            spaces: vec![KeptObject::of(serde_json::from_value(space.clone()).unwrap())],
            blocks: vec![block()],
            claims: vec![claim(51)],
            ipam_claims: Some(vec![KeptObject::of(serde_json::from_value(vm.clone()).unwrap())]),
            said: vec![said(2, Uid(12), 0, &[turn(8, "Wanted")])],
            hosts: vec![host(2, Uid(12))],
        });
        let (facts, held) = (ClaimFacts::gather(&view, &memory), held::claims(&view, &memory));
        let mut waiting = WaitingNodes::new();
        facts.note_waiting(&view, &mut waiting);
        let mut words: Vec<String> =
            waiting.values().flatten().map(|(node, why)| format!("{node} {}", why.message)).collect();
        words.extend(claims(&view, (&facts, &held), &mut memory, NOW).into_iter().filter_map(|write| {
            match write {
                OperatorWrite::GrantClaim(lease) => Some(format!("{} {}", lease.claim.name, lease.cidr)),
                OperatorWrite::ClaimStatus(object) => {
                    let [why] = object.status?.conditions.try_into().ok()?;
                    Some(format!("{} {}", why.reason, why.message))
                }
                _ => None,
            }
        }));
        words
    };
    assert_eq!(decided("Claims"), ["web-51 10.0.0.1/32", "vm 10.0.1.1/32"]);
    let unread = "this version of the operator cannot read AddressPool pods";
    assert_eq!(decided("Loans"), [format!("n2 {unread}"), format!("OperatorWaits {unread}")]);
}
