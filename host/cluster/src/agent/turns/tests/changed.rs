//! Claims and addresses that are others by now, while pods have them.

use super::*;

#[tokio::test]
async fn a_claim_that_was_made_again_or_has_another_address_by_now_is_not_answered_from_the_ledger() {
    let path = "k8s.cni.cncf.io/v1alpha1/namespaces/default/ipamclaims/vm";
    let vm = claim(ClaimKind::Ipam, "vm");
    let lease = |uid| HeldLease {
        turn: held(3).turn.map(|turn| LeaseTurn { claim: vm.clone(), uid, ..turn }),
        ..held(3)
    };
    let object = |ips: &[&str]| {
        json!({
            "metadata": { "name": "vm", "uid": Uid(8).to_string() }, "spec": { "network": "pods", "interface": "net1" },
            "status": { "ips": ips },
        })
    };
    for (ips, uid, is_held) in [
        (&["10.0.0.3/24"][..], Some(Uid(8)), true),
        (&["10.0.0.3/24"], None, true),
        (&["10.0.0.3/24"], Some(Uid(7)), false),
        (&["10.0.0.3/24", "fd00::3/64"], Some(Uid(8)), false),
    ] {
        let (core, _abandoned, _) = holding(0, vec![(path, object(ips))]).await;
        tell(&core);
        core.record(&lease(uid)).await.unwrap();
        core.keep_selectors().await.unwrap();
        core.supply(&network()).await.unwrap();
        assert!(core.held_claim(&vm, &pod("vm")).await.is_some(), "nobody has looked");
        core.look_at(&vm).await;
        assert_eq!(core.held_claim(&vm, &pod("vm")).await.is_some(), is_held, "{ips:?} {uid:?}");
        // The address of a claim that is gone is let go of, once no pod has it.
        core.claims(&me()).await.unwrap();
        assert_eq!(core.leases().is_empty(), uid == Some(Uid(7)), "{ips:?} {uid:?}");
    }
    // Without an API server, it is as it was.
    let (core, _abandoned) = agent_with(unreachable(), Arc::new(ManualClock::default()), 1).await;
    tell(&core);
    core.record(&lease(Some(Uid(7)))).await.unwrap();
    core.keep_selectors().await.unwrap();
    core.supply(&network()).await.unwrap();
    core.look_at(&vm).await;
    assert!(core.held_claim(&vm, &pod("vm")).await.is_some());
}

#[tokio::test]
async fn a_claim_that_was_made_again_has_its_new_address_beside_a_pod_with_the_old_one() {
    let vm = claim(ClaimKind::Ipam, "vm");
    let lease = |number: usize, block: u128, uid: u32| {
        let turn = held(number).turn.unwrap();
        let (uid, id) = (Some(Uid(uid.into())), TurnId(uid.into()));
        let turn = LeaseTurn { claim: vm.clone(), uid, turn: id, ..turn };
        HeldLease { uid: Uid(block), turn: Some(turn), ..held(number) }
    };
    let object = json!({
        "metadata": { "name": "vm", "uid": Uid(8).to_string() }, "spec": { "network": "pods", "interface": "net1" },
        "status": { "ips": ["10.0.0.4/24"] },
    });
    let block = json!({ "metadata": { "name": held(4).name.to_string() }, "spec": {
        "group": "default", "cidr": "10.0.0.4/32", "rangeID": "0000000000000001",
        "pool": { "name": "names", "uid": Uid(7).to_string() },
    } });
    // The old claim was read by an earlier ADD, or was not.
    for before in [None, Some(ShownClaim { uid: Uid(7), addresses: 1 })] {
        let objects = vec![
            ("k8s.cni.cncf.io/v1alpha1/namespaces/default/ipamclaims/vm", object.clone()),
            ("ipam.tenure.dev/v1alpha1/ipblocks", json!({ "metadata": {}, "items": [block.clone()] })),
        ];
        let (core, _abandoned, _) = holding(0, objects).await;
        tell(&core);
        // A pod has the old address, which the operator asks back by a contest.
        let old = HeldLease { hold: LeaseHold::Contested, ..lease(3, 100, 7) };
        core.record(&old).await.unwrap();
        let is_used = BlockUsage { in_use: 1, ..BlockUsage::default() };
        core.state().elsewhere.insert(old.cidr(), is_used);
        core.state().shown.extend(before.map(|shown| (vm.clone(), shown)));
        core.ask(&vm, &pod("vm"));
        core.claims(&me()).await.unwrap();
        assert_eq!(core.claim_turns().len(), 2, "the new turn is said");
        // The turn with the new address begins.
        core.record(&lease(4, 101, 8)).await.unwrap();
        core.keep_selectors().await.unwrap();
        core.supply(&network()).await.unwrap();
        let found = core.held_claim(&vm, &pod("vm")).await.unwrap();
        assert_eq!(found.iter().map(|found| found.address).collect::<Vec<_>>(), [held(4).cidr().addr()]);
        core.claims(&me()).await.unwrap();
        assert_eq!(core.leases().len(), 2, "{before:?}");
    }
}

#[tokio::test]
async fn an_address_that_is_another_claims_by_now_goes_to_no_further_pod_of_the_claim_before() {
    let group = "ipam.tenure.dev/v1alpha1";
    let name = held(3).name.to_string();
    let other = json!({
        "metadata": { "name": "other", "uid": Uid(9).to_string() }, "spec": { "pool": "names" },
        "status": { "block": name },
    });
    // The store was put back; the operator gave the turn back that the node said, with the block of the other claim.
    let block = |claim: &ClaimName, uid| {
        let claim = json!({
            "kind": claim.kind.to_string(), "namespace": claim.namespace, "name": claim.name, "uid": Uid(uid).to_string(),
        });
        let active = json!({
            "nodeName": "n1", "nodeUID": Uid(1).to_string(), "machine": MachineHash(1).to_string(), "bootID": Uid(2).to_string(),
            "turn": TurnId(5).to_string(), "pod": "default/held-3", "since": "2026-01-01T00:00:00Z",
        });
        json!({
            "metadata": { "name": name, "uid": Uid(200).to_string(), "resourceVersion": "1" },
            "spec": {
                "group": "default", "cidr": "10.0.0.3/32", "rangeID": "0000000000000001",
                "pool": { "name": "names", "uid": Uid(7).to_string() }, "claim": claim,
            },
            "status": { "active": active },
        })
    };
    let new = claim(ClaimKind::Address, "other");
    for (of, uid, hold, words) in [
        // Its own lease was made again.
        (claim(ClaimKind::Address, "held-3"), 8, LeaseHold::Open, None),
        (
            new.clone(),
            9,
            LeaseHold::Contested,
            Some(
                "10.0.0.3 of claim default/other is still in use on this node by pod default/held-3 of claim default/held-3, which had it before",
            ),
        ),
    ] {
        let claims = format!("{group}/namespaces/default/addressclaims/other");
        let blocks = format!("{group}/ipblocks/{name}");
        let objects = vec![(claims.as_str(), other.clone()), (&blocks, block(&of, uid))];
        let (core, _abandoned, _) = holding(0, objects).await;
        core.record(&held(3)).await.unwrap();
        let is_used = BlockUsage { in_use: 1, ..BlockUsage::default() };
        core.state().elsewhere.insert(held(3).cidr(), is_used);
        core.compare(&me(), &held(3)).await.unwrap();
        assert_eq!(core.leases()[&held(3).cidr()].hold, hold);
        if words.is_some() {
            core.ask(&new, &pod("other"));
            core.claims(&me()).await.unwrap();
            assert_eq!(answer(&core, &new).as_deref(), words);
        }
        // The turn ends with its last pod.
        core.state().elsewhere.clear();
        core.claims(&me()).await.unwrap();
        assert_eq!(core.leases().is_empty(), hold == LeaseHold::Contested);
    }
}

#[tokio::test]
async fn a_block_that_a_claim_has_besides_for_a_moment_keeps_no_pod_from_its_addresses() {
    let vm = claim(ClaimKind::Ipam, "vm");
    let object = json!({
        "metadata": { "name": "vm", "uid": Uid(8).to_string() }, "spec": { "network": "pods", "interface": "net1" },
        "status": { "ips": ["10.0.0.3/24", "10.0.0.4/24"] },
    });
    let blocks: Vec<Value> = (3..6).map(|number| json!({
        "metadata": { "name": held(number).name.to_string() }, "spec": {
            "group": "default", "cidr": held(number).cidr().to_string(), "rangeID": "0000000000000001",
            "pool": { "name": "names", "uid": Uid(7).to_string() },
        },
    })).collect();
    let objects = vec![
        ("k8s.cni.cncf.io/v1alpha1/namespaces/default/ipamclaims/vm", object),
        ("ipam.tenure.dev/v1alpha1/ipblocks", json!({ "metadata": {}, "items": blocks })),
    ];
    let (core, _abandoned, _) = holding(0, objects).await;
    tell(&core);
    core.ask(&vm, &pod("vm"));
    core.claims(&me()).await.unwrap();
    let said: Vec<_> = core.claim_turns().into_iter().map(|turn| turn.block).collect();
    assert_eq!(said, [held(3).name, held(4).name], "no turn is drawn for the third one");
    // A record that counts it, of a version before.
    for number in [3, 4] {
        let turn = held(number).turn.map(|turn| LeaseTurn { claim: vm.clone(), addresses: 3, ..turn });
        core.record(&HeldLease { turn, uid: Uid(100 + number as u128), ..held(number) }).await.unwrap();
    }
    core.keep_selectors().await.unwrap();
    core.supply(&network()).await.unwrap();
    assert_eq!(core.held_claim(&vm, &pod("vm")).await.map(|found| found.len()), Some(2));
}
