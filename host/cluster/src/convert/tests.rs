//! Conversions there and back.

use kube::api::ObjectMeta;
use tenure_leases::block::RefusalReason;
use tenure_leases::node::PoolEcho;
use tenure_leases::{
    AddressSpace as LeaseSpace, BlockName, BlockPhase, CallId, ClaimKind, ClaimTurn, HeldBlock,
    HolderIdentity, IpBlock, LeasePool, LeaseRules, MachineHash, MarkAck, MarkAnswer, MarkId, NodeIpamSpec,
    PoolDemand, PoolKey, RangeId, RangeState, RangeUse, SpaceError, SpaceRange, TurnClaim, TurnGuest, TurnId,
    TurnState, Uid,
};

use super::{BlockLease, ClaimLease, ConversionError, PoolRange, ReadStatus};
use crate::objects::block::IPBlockStatus;
use crate::objects::node::{DemandEntry, HintEntry, NodeIPAMStatus, TurnEntry};
use crate::objects::reference::{ActiveEntry, ClaimReference, MarkEntry};
use crate::objects::space::{AddressSpace, AddressSpaceSpec};
use crate::{AddressPool, AddressPoolSpec, NodeIPAM, NodeIPAMSpec};

fn pool() -> PoolKey {
    PoolKey { name: "blue".into(), uid: Uid(31) }
}

fn holder() -> HolderIdentity {
    HolderIdentity { name: "n1".into(), uid: Uid(11), machine: MachineHash(12), boot: Uid(13) }
}

fn stored(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        uid: Some(Uid(7).to_string()),
        resource_version: Some("42".to_owned()),
        ..ObjectMeta::default()
    }
}

#[test]
fn a_lease_is_read_as_it_was_granted() {
    let cidr = "10.0.0.64/26".parse().unwrap();
    let lease =
        BlockLease { group: "default".into(), cidr, range: RangeId(1), pool: pool(), holder: holder() };
    let mut object = lease.object().unwrap();
    assert_eq!(object.metadata.name.as_deref(), Some("default.10-0-0-64.26"));
    object.metadata = ObjectMeta { finalizers: object.metadata.finalizers, ..stored("x") };
    let block = IpBlock::try_from(&object).unwrap();
    assert_eq!((block.cidr, block.range, &block.pool, &block.holder), (cidr, RangeId(1), &pool(), &holder()));
    assert_eq!((block.uid, block.version.0, block.phase), (Uid(7), 42, BlockPhase::Leased));
    object.status = Some(IPBlockStatus { phase: "Evicted".into(), ..IPBlockStatus::default() });
    let error = IpBlock::try_from(&object).unwrap_err();
    assert_eq!(error.to_string(), "unknown BlockPhase \"Evicted\"");
    object.metadata.uid = None;
    assert_eq!(IpBlock::try_from(&object), Err(ConversionError::Missing("uid")));
}

#[test]
fn the_holder_of_a_claims_block_is_the_node_whose_turn_it_is() {
    let (kind, uid) = (ClaimKind::Address.to_string(), Uid(41).to_string());
    let claim = ClaimReference { kind, namespace: "default".into(), name: "db-0".into(), uid };
    let cidr = "10.0.0.9/32".parse().unwrap();
    let lease = ClaimLease { group: "default".into(), cidr, range: RangeId(1), pool: pool(), claim };
    let mut object = lease.object().unwrap();
    assert_eq!(object.metadata.name.as_deref(), Some("default.10-0-0-9.32"));
    object.metadata = stored("x");
    assert_eq!(IpBlock::try_from(&object).unwrap().holder, HolderIdentity::nobody());
    let since = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(Default::default());
    let active = ActiveEntry {
        node_name: "n1".into(),
        node_uid: Uid(11).to_string(),
        machine: MachineHash(12).to_string(),
        boot_id: Uid(13).to_string(),
        turn: TurnId(6).to_string(),
        pod: String::new(),
        since,
        guest: None,
        has_left: false,
    };
    object.status = Some(IPBlockStatus { active: Some(active), ..IPBlockStatus::default() });
    assert_eq!(IpBlock::try_from(&object).unwrap().holder, holder());
    assert_eq!(object.turn(), Ok(Some(TurnId(6))));
    // Each of two turns has its own node, and a quarantine is the active one's.
    let status = object.status.as_mut().unwrap();
    let other =
        ActiveEntry { node_name: "n2".into(), turn: TurnId(9).to_string(), ..status.active.clone().unwrap() };
    (status.alternate, status.phase) = (Some(other), "Quarantined".into());
    let seen = |turn| {
        let block = object.in_turn(TurnId(turn)).unwrap();
        block.map(|block| (block.holder.name.to_string(), block.phase))
    };
    assert_eq!(seen(6), Some(("n1".to_owned(), BlockPhase::Quarantined)));
    assert_eq!(seen(9), Some(("n2".to_owned(), BlockPhase::Leased)));
    assert_eq!(seen(7), None);
}

#[test]
fn a_nodes_words_come_back_as_they_went() {
    let spec = NodeIpamSpec {
        identity: holder(),
        held: vec![HeldBlock {
            cidr: "fd00::/122".parse().unwrap(),
            uid: Uid(1),
            group: Some("default".into()),
        }],
        demand: vec![PoolDemand { pool: pool(), is_ipv6: true, in_use: 1, cooling: 2, want: 3 }],
        idle: vec![Uid(4)],
        returned: vec![Uid(5)],
        acks: vec![MarkAck { uid: Uid(1), mark: MarkId(2), answer: MarkAnswer::Cordoned }],
        pools: vec![PoolEcho { uid: Uid(31), generation: 4, excluded_in_use: 1 }],
        claims: vec![ClaimTurn {
            block: BlockName::new("default", "10.0.0.9/32".parse().unwrap()).unwrap(),
            turn: TurnId(6),
            state: TurnState::Held,
            pod: "default/db-0".into(),
            guest: Some(TurnGuest { uid: Uid(8), runs: true }),
            claim: Some(TurnClaim {
                kind: ClaimKind::Ipam,
                namespace: "default".into(),
                name: "db-0.net1".into(),
                uid: Uid(9),
            }),
        }],
        heard: Some(CallId(7)),
    };
    let mut object = NodeIPAM { metadata: stored("n1"), spec: NodeIPAMSpec::from(&spec), status: None };
    assert_eq!(NodeIpamSpec::try_from(&object), Ok(spec));
    // A kind of a later version.
    let mut later = object.clone();
    later.spec.claims[0].claim.as_mut().unwrap().kind = "VirtualMachine".into();
    assert_eq!(NodeIpamSpec::try_from(&later).unwrap().claims[0].claim, None);
    object.spec.demand[0].family = "IPv5".into();
    assert_eq!(NodeIpamSpec::try_from(&object).unwrap_err().to_string(), "unknown family \"IPv5\"");
    object.spec.demand[0].family = "IPv4".into();
    object.spec.demand[0].want = -1;
    assert_eq!(NodeIpamSpec::try_from(&object), Err(ConversionError::Number("want")));
}

#[test]
fn a_word_of_a_later_version_takes_nothing_from_the_other_hints() {
    let mark = |id, why: &str| MarkEntry { id: MarkId(id).to_string(), why: why.to_owned() };
    let hint = |cidr: &str, uid, mark| HintEntry {
        name: String::new(),
        cidr: cidr.to_owned(),
        uid: Uid(uid).to_string(),
        mark,
        leaving: false,
    };
    let blocks = vec![
        hint("10.0.0.0/26", 1, Some(mark(5, "moved"))),
        hint("10.0.0.64/26", 2, Some(mark(6, "drain"))),
        hint("10.0.0.128", 3, None),
    ];
    let call = Some("later".to_owned());
    let status = NodeIPAMStatus { blocks, call, accepted: Some((&holder()).into()), ..Default::default() };
    let spec = NodeIPAMSpec::from(&NodeIpamSpec::of(holder()));
    let read = ReadStatus::of(&NodeIPAM { metadata: stored("n1"), spec, status: Some(status) });
    assert_eq!(read.told.blocks.iter().map(|hint| hint.uid).collect::<Vec<_>>(), [Uid(2)]);
    assert_eq!((read.told.accepted, read.told.call), (Some(holder()), None));
    let answer = MarkAnswer::Refused(RefusalReason::Unknown);
    assert_eq!(read.refused, [MarkAck { uid: Uid(1), mark: MarkId(5), answer }]);
    let words: Vec<String> = read.errors.iter().map(ToString::to_string).collect();
    assert_eq!(words[..2], ["unknown MarkReason \"moved\"", "\"10.0.0.128\" is not a CIDR"]);
    assert_eq!(words.len(), 3);
}

#[test]
fn what_a_node_has_is_known_though_it_says_nonsense_besides() {
    let spec = NodeIpamSpec {
        held: vec![HeldBlock { cidr: "10.0.0.0/26".parse().unwrap(), uid: Uid(1), group: None }],
        demand: vec![PoolDemand { pool: pool(), is_ipv6: false, in_use: 1, cooling: 2, want: 3 }],
        ..NodeIpamSpec::of(holder())
    };
    let mut object = NodeIPAM { metadata: stored("n1"), spec: NodeIPAMSpec::from(&spec), status: None };
    let many = DemandEntry { in_use: 5_000_000_000, ..object.spec.demand[0].clone() };
    object.spec.demand.push(many);
    object.spec.idle.push("x".into());
    object.spec.heard = Some("x".into());
    let turn = TurnEntry {
        block: "x".into(),
        turn: "0000000000000001".into(),
        state: "Held".into(),
        pod: String::new(),
        guest: None,
        claim: None,
    };
    object.spec.claims.push(turn.clone());
    let (words, left_out) = object.words().unwrap();
    assert_eq!((words, left_out.len()), (spec, 4));
    // A turn with a block, or a block, in words of a later version: the node has something, and nobody knows what.
    let later = TurnEntry { block: "default.10-0-0-9.32".into(), state: "Shared".into(), ..turn };
    object.spec.claims.push(later);
    assert!(object.words().is_err());
    object.spec.claims.clear();
    object.spec.held[0].uid = "x".into();
    assert!(object.words().is_err());
}

#[test]
fn a_space_whose_ranges_overlap_is_refused() {
    let range = |id, cidr: &str| SpaceRange {
        id: RangeId(id),
        cidr: cidr.parse().unwrap(),
        unit: 26,
        usage: RangeUse::Blocks,
        pool: pool(),
        state: RangeState::Open,
    };
    let mut space = LeaseSpace::default();
    space.add(LeaseRules::ALL, range(1, "10.0.0.0/16")).unwrap();
    space.add(LeaseRules::ALL, range(2, "10.1.0.0/16")).unwrap();
    let mut object = AddressSpace { metadata: stored("default"), spec: AddressSpaceSpec::from(&space) };
    assert_eq!(LeaseSpace::try_from(&object), Ok(space));
    object.spec.ranges[1].cidr = "10.0.128.0/17".into();
    let error = LeaseSpace::try_from(&object).unwrap_err();
    assert!(matches!(error, ConversionError::Space(SpaceError::Overlap(..))), "{error}");
}

#[test]
fn a_pool_gets_the_defaults_of_its_schema() {
    let spec: AddressPoolSpec = serde_json::from_str(
        r#"{"ipv4": {"cidrs": ["10.0.0.0/16"]}, "ipv6": {"cidrs": ["fd00::/112"], "blockPrefix": 124}, "nodeGoneQuarantineSeconds": -1}"#,
    )
    .unwrap();
    let object = AddressPool { metadata: stored("blue"), spec, status: None };
    let read = LeasePool::try_from(&object).unwrap();
    let key = PoolKey { name: "blue".into(), uid: Uid(7) };
    assert_eq!(read, LeasePool { node_gone_quarantine_seconds: None, ..LeasePool::new(key) });
    let range = |cidr: &str, unit| PoolRange { cidr: cidr.parse().unwrap(), unit };
    assert_eq!(object.ranges().unwrap(), [range("10.0.0.0/16", 26), range("fd00::/112", 124)]);
}
