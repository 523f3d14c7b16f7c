//! More claims than one pass writes about.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use tenure_cluster::objects::reference::ClaimReference;
use tenure_leases::{PoolKey, RangeId, Uid};

use super::*;
use crate::view::WatchedClaim;

/// Claims that are more than one pass writes about.
const MANY: u128 = 1_200;

/// A cluster with a pool that has an address for each of many claims.
#[derive(Default)]
struct ManyClaims {
    claims: BTreeMap<String, KeptObject<ClaimView>>,
    blocks: Vec<KeptObject<BlockView>>,
    memory: OperatorMemory,
}

impl ManyClaims {
    fn new() -> Self {
        let claims = (0..MANY).map(|number| claim(1_000 + number));
        let claims = claims.map(|claim| (claim.name.to_string(), claim)).collect();
        Self { claims, blocks: vec![], memory: leader() }
    }

    /// The writes of a pass.
    fn pass(&mut self, more: ViewSources) -> Vec<OperatorWrite> {
        let view = view(ViewSources {
            pools: vec![pool("Claims", "10.0.0.0/20", 32)],
            spaces: vec![space("Claims", "10.0.0.0/20", 32)],
            claims: self.claims.values().cloned().collect(),
            blocks: self.blocks.iter().cloned().chain(more.blocks).collect(),
            ..more
        });
        let facts = ClaimFacts::gather(&view, &self.memory);
        let held = held::claims(&view, &self.memory);
        claims(&view, (&facts, &held), &mut self.memory, NOW)
    }

    /// Makes a write about a claim.
    fn make(&mut self, write: OperatorWrite) {
        let object = match write {
            OperatorWrite::GrantClaim(lease) => {
                let uid = Uid(1 << 80 | self.blocks.len() as u128);
                return self.blocks.push(KeptObject::of(created(&lease, uid)));
            }
            OperatorWrite::ClaimFinalizer(mut object, finalizers) => {
                object.metadata.finalizers = Some(finalizers);
                object
            }
            OperatorWrite::ClaimStatus(object) => object,
            other => panic!("{other:?}"),
        };
        let AddressClaim { metadata, spec, status } = *object;
        let name = format!("default/{}", metadata.name.as_deref().unwrap());
        self.claims.insert(name, KeptObject::of(WatchedClaim { metadata, spec, status }));
    }
}

#[test]
fn a_pass_writes_about_so_many_claims_and_the_next_ones_about_the_others() {
    let (mut cluster, mut passes) = (ManyClaims::new(), 0);
    loop {
        let writes = cluster.pass(ViewSources::default());
        assert!(writes.len() <= MAX_WRITES + 1, "{} writes in a pass", writes.len());
        if writes.is_empty() {
            break;
        }
        writes.into_iter().for_each(|write| cluster.make(write));
        passes += 1;
        assert!(passes <= 20, "{} of {MANY} claims have a block", cluster.blocks.len());
    }
    let addresses: BTreeSet<_> = cluster.blocks.iter().map(|block| block.name.clone()).collect();
    assert_eq!(addresses.len(), usize::try_from(MANY).unwrap());
}

#[test]
fn claims_get_their_writes_in_turn() {
    // Somebody's webhook refuses each write.
    let (mut cluster, mut tried) = (ManyClaims::new(), BTreeSet::new());
    for _ in 0..=(2 * MANY / MAX_WRITES as u128) {
        tried.extend(cluster.pass(ViewSources::default()).into_iter().filter_map(|write| match write {
            OperatorWrite::GrantClaim(lease) => Some(lease.claim.uid),
            _ => None,
        }));
    }
    assert_eq!(tried.len(), usize::try_from(MANY).unwrap());
}

#[test]
fn no_pod_waits_for_a_turn_while_leases_end() {
    let mut cluster = ManyClaims::new();
    while cluster.blocks.len() < cluster.claims.len() {
        let grants = cluster.pass(ViewSources::default()).into_iter();
        let grants = grants.filter(|write| matches!(write, OperatorWrite::GrantClaim(_)));
        grants.collect::<Vec<_>>().into_iter().for_each(|write| cluster.make(write));
    }
    // All of them are deleted, and the last block is another claim's, for which a pod waits.
    cluster.claims.clear();
    cluster.claims.insert("default/web-50".into(), claim(50));
    let last = "default.10-0-15-254.32";
    let wanted =
        json!({ "block": last, "turn": TurnId(8).to_string(), "state": "Wanted", "pod": "default/web-0" });
    let claim = ClaimReference {
        kind: "AddressClaim".into(),
        namespace: "default".into(),
        name: "web-50".into(),
        uid: Uid(50).to_string(),
    };
    let lease = ClaimLease {
        group: "default".into(),
        cidr: "10.0.15.254/32".parse().unwrap(),
        range: RangeId(1),
        pool: PoolKey { name: "pods".into(), uid: Uid(1) },
        claim,
    };
    let sources = ViewSources {
        blocks: vec![KeptObject::of(created(&lease, Uid(51)))],
        said: vec![said(2, Uid(12), 0, &[wanted])],
        hosts: vec![host(2, Uid(12))],
        ..ViewSources::default()
    };
    let writes = cluster.pass(sources);
    let count = |is: fn(&OperatorWrite) -> bool| writes.iter().filter(|write| is(write)).count();
    assert_eq!(count(|write| matches!(write, OperatorWrite::ReleaseClaim(_))), MAX_WRITES);
    assert_eq!(count(|write| matches!(write, OperatorWrite::BeginTurn(..))), 1);
}
