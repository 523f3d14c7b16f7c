//! Each reason that the protocol of agents lists, as it reaches an agent over its socket: with its gRPC code, its cause and its next step.

#[cfg(test)]
#[path = "reasons/node.rs"]
mod node;

use std::collections::{BTreeMap, BTreeSet};

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use node::{Node, reason, spec};
use tenure_rpc::v1::admin_client::AdminClient;
use tenure_rpc::v1::{ClaimId, ClaimSpec, EnsureClaimRequest, Family, GetStatusRequest, ReleaseClaimRequest};
use tenure_types::{Error, ErrorCode, NamePattern};

/// Reasons that no part in this test gives by itself: other suites bring the daemon to where it does, and here the policy says them.
const SAID_BY_OTHERS: [&str; 16] = [
    "deadline-exceeded",
    "delegate-failed",
    "delegate-rejected",
    "delegate-unavailable",
    "internal",
    "not-ready",
    "not-taken-over",
    "not-yet",
    "over-quota",
    "policy-refused",
    "policy-unloadable",
    "preparing",
    "request-denied",
    "state-not-migrated",
    "stopping",
    "superseded",
];

/// The reasons of the protocol's table, with their gRPC codes as it writes them.
fn table() -> BTreeMap<String, String> {
    let rows =
        include_str!("../proto/tenure/v1/claims.proto").lines().filter_map(|line| line.strip_prefix("//   "));
    let row = |row: &str| {
        let mut words = row.split_whitespace().map(str::to_owned);
        words.next().zip(words.next())
    };
    rows.filter_map(row).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_reason_reaches_an_agent_with_its_code() {
    let node = Node::start().await;
    let mut told = BTreeSet::new();

    // The request.
    told.insert(reason(node.ensures(spec("")).await));
    told.insert(reason(node.ensures(spec(&"x".repeat(20 << 10))).await));
    let mut operator = AdminClient::new(node.channel().await);
    told.insert(reason(operator.get_status(GetStatusRequest::default()).await));

    // Its agent's rights.
    node.allow(|rights| rights.names.clear());
    told.insert(reason(node.ensures(spec("router")).await));
    node.forbid(ErrorCode::AgentUnknown);
    told.insert(reason(node.ensures(spec("router")).await));
    node.allow(|rights| rights.names = vec![NamePattern::new("*")]);

    // What there is.
    let nowhere = ClaimSpec { network: "nowhere".into(), ..spec("router") };
    told.insert(reason(node.ensures(nowhere).await));
    node.ensures(spec("router")).await.unwrap();
    let wanting = |name: &str, address: &str| ClaimSpec { addresses: vec![address.into()], ..spec(name) };
    told.insert(reason(node.ensures(wanting("router", "10.0.0.4")).await));
    told.insert(reason(node.ensures(wanting("other", "10.0.0.2")).await));
    let request =
        EnsureClaimRequest { claim: Some(spec("router")), scope: "ingress".into(), ..Default::default() };
    told.insert(reason(node.client().await.ensure(request).await));
    let claim = Some(ClaimId { network: "net".into(), name: "router".into() });
    let release = ReleaseClaimRequest { claim, generation: Some(99), ..Default::default() };
    told.insert(reason(node.client().await.release(release).await));

    // The network, its policy, and the disk.
    node.bound(&["10.9.0.0/16"]);
    told.insert(reason(node.ensures(spec("more")).await));
    node.bound(&[]);
    node.policy.proposes("203.0.113.7");
    told.insert(reason(node.ensures(spec("more")).await));
    for name in SAID_BY_OTHERS {
        node.policy.says(ErrorCode::from_name(name).unwrap());
        assert_eq!(reason(node.ensures(spec("more")).await), name);
    }
    node.policy.says(ErrorCode::PolicyFailed);
    for _ in 0..10 {
        told.insert(reason(node.ensures(spec("more")).await));
    }
    // Its bench passes.
    node.rest();
    node.policy.answers();
    for code in [ErrorCode::DiskFull, ErrorCode::CheckpointFailed] {
        node.journal.set_health(Some(Error::new(code, "the disk refuses")));
        told.insert(reason(node.ensures(spec("more")).await));
    }
    node.journal.set_health(None);
    for number in 0..4 {
        node.ensures(spec(&format!("filler-{number}"))).await.unwrap();
    }
    told.insert(reason(node.ensures(spec("more")).await));

    // More calls at once than it may have.
    node.journal.hold();
    let clients = [node.client().await, node.client().await, node.client().await];
    let mut calls: FuturesUnordered<_> = (0..300)
        .map(|number: usize| {
            let mut client = clients[number % 3].clone();
            async move {
                client.ensure(EnsureClaimRequest { claim: Some(spec("router")), ..Default::default() }).await
            }
        })
        .collect();
    told.insert(reason(calls.next().await.unwrap()));
    node.journal.resolve(&Ok(()));
    drop(calls);

    told.extend(SAID_BY_OTHERS.map(str::to_owned));
    let table: BTreeSet<String> = table().into_keys().collect();
    assert_eq!(told, table);
}

#[tokio::test]
async fn a_claim_says_for_which_reason_it_lacks_a_family_that_it_can_do_without() {
    let node = Node::start().await;
    let both = |network: &str, name: &str| ClaimSpec {
        network: network.into(),
        families: vec![Family::Ipv4.into()],
        optional_families: vec![Family::Ipv6.into()],
        ..spec(name)
    };
    let lacks = |claim: &tenure_rpc::v1::Claim| {
        let missing = claim.missing_families.first()?;
        assert!(missing.family() == Family::Ipv6 && !missing.message.is_empty(), "{missing:?}");
        Some(missing.reason.clone())
    };
    let made = node.ensures(both("net", "router")).await.unwrap();
    assert_eq!(lacks(&made).as_deref(), Some("no-pool"));
    // Each other grant needs an address of both families, and there is one of the second.
    node.define("dual", "each", "10.1.0.0/24 fd00::/127").await;
    let first = node.ensures(both("dual", "first")).await.unwrap();
    assert_eq!((lacks(&first), first.addresses.len()), (None, 2));
    let second = node.ensures(both("dual", "second")).await.unwrap();
    assert_eq!((lacks(&second).as_deref(), second.addresses.len()), (Some("pool-exhausted"), 1));
    let claim = Some(ClaimId { network: "dual".into(), name: "first".into() });
    node.client().await.release(ReleaseClaimRequest { claim, ..Default::default() }).await.unwrap();
    node.rest();
    // The next decision ends the cooldowns that are over.
    let taken = ClaimSpec { addresses: vec!["10.1.0.3".into()], ..both("dual", "third") };
    assert_eq!(reason(node.ensures(taken).await), "address-unavailable");
    let later = node.ensures(both("dual", "second")).await.unwrap();
    assert_eq!((lacks(&later).as_deref(), later.addresses), (Some("available"), second.addresses));
}
