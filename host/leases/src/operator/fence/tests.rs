use super::*;
use crate::tests::sample;
use crate::{HeldBlock, LeasePool};

const ALL: LeaseRules = LeaseRules::ALL;

fn same() -> NodeEvidence {
    let holder = sample::holder();
    NodeEvidence {
        uid: holder.uid,
        machine: holder.machine,
        boot: holder.boot,
        out_of_service: false,
        fenced: None,
        ready: false,
    }
}

/// Judges a Node for a leased block, and for a quarantined one whose holder says `held` or does not.
fn row(node: FetchedNode) -> [FenceVerdict; 3] {
    let leased = sample::block();
    let quarantined = IpBlock { phase: BlockPhase::Quarantined, ..sample::block() };
    let silent = NodeIpamSpec::of(sample::holder());
    let held = HeldBlock { cidr: leased.cidr, uid: leased.uid, group: None };
    let speaking = NodeIpamSpec { held: vec![held], ..silent.clone() };
    [
        fence(ALL, &leased, node, Some(&speaking)),
        fence(ALL, &quarantined, node, Some(&silent)),
        fence(ALL, &quarantined, node, Some(&speaking)),
    ]
}

#[test]
fn each_row_of_the_table() {
    use FenceReason::{Annotation, NodeGone, OutOfService, Replaced};
    use FenceVerdict::{Adopt, Hold, Keep, Quarantine, Return};
    let fenced = |reason| [Quarantine(reason), Hold(reason), Hold(reason)];
    let node = |change: fn(&mut NodeEvidence)| {
        let mut node = same();
        change(&mut node);
        row(FetchedNode::Found(node))
    };
    assert_eq!(row(FetchedNode::Unreachable), [Keep; 3]);
    assert_eq!(row(FetchedNode::Missing), fenced(NodeGone));
    assert_eq!(node(|_| ()), [Keep, Return, Return]);
    assert_eq!(node(|node| node.out_of_service = true), fenced(OutOfService));
    assert_eq!(node(|node| node.fenced = Some(node.uid)), fenced(Annotation));
    assert_eq!(node(|node| node.machine.0 += 1), fenced(Replaced));
    // A new Node of the same machine: registered again, or rebooted.
    let new = Adopt(Uid(77));
    assert_eq!(node(|node| node.uid = Uid(77)), [new; 3]);
    let rebooted = node(|node| (node.uid, node.boot) = (Uid(77), Uid(78)));
    assert_eq!(rebooted, [new; 3]);
    // Taint and annotation of another Node of that name say nothing about this lease.
    let other = node(|node| (node.uid, node.out_of_service, node.fenced) = (Uid(77), true, Some(Uid(77))));
    assert_eq!(other, [new; 3]);
    assert_eq!(node(|node| node.fenced = Some(Uid(77))), [Keep, Return, Return]);
}

#[test]
fn a_replacement_does_not_speak_for_the_machine_before_it() {
    let block = IpBlock { phase: BlockPhase::Quarantined, ..sample::block() };
    let mut replacement = sample::holder();
    replacement.machine = MachineHash(99);
    let held = HeldBlock { cidr: block.cidr, uid: block.uid, group: None };
    let said = NodeIpamSpec { held: vec![held], ..NodeIpamSpec::of(replacement) };
    assert_eq!(fence(ALL, &block, FetchedNode::Found(same()), Some(&said)), FenceVerdict::Keep);
}

#[test]
fn quarantines_by_reason() {
    let pool = LeasePool { cooldown_seconds: 90, ..LeasePool::new(sample::pool()) };
    let never = LeasePool { node_gone_quarantine_seconds: None, ..pool.clone() };
    let seconds = QuarantineDelay::Seconds;
    assert_eq!(delay(&pool, FenceReason::Annotation), seconds(0));
    assert_eq!(delay(&pool, FenceReason::OutOfService), seconds(90));
    assert_eq!(delay(&pool, FenceReason::NodeGone), seconds(3600));
    assert_eq!(delay(&pool, FenceReason::Replaced), seconds(3600));
    assert_eq!(delay(&never, FenceReason::Replaced), QuarantineDelay::UntilConfirmed);
    assert_eq!(delay(&LeasePool { cooldown_seconds: 0, ..never }, FenceReason::OutOfService), seconds(60));
}

#[test]
fn without_proof_or_the_blocks_own_machine_a_living_node_would_be_fenced_or_replaced() {
    let (block, silent) = (sample::block(), NodeIpamSpec::of(sample::holder()));
    let not_ready = FetchedNode::Found(same());
    assert_eq!(fence(ALL, &block, not_ready, Some(&silent)), FenceVerdict::Keep);
    let verdict = fence(ALL.without(LeaseRule::Proof), &block, not_ready, Some(&silent));
    assert!(matches!(verdict, FenceVerdict::Quarantine(_)));
    // Another machine came up under the name, and overwrote NodeIPAM.
    let mut replacement = sample::holder();
    (replacement.machine, replacement.uid) = (MachineHash(99), Uid(77));
    let evidence = NodeEvidence { uid: Uid(77), machine: MachineHash(99), ..same() };
    let (node, said) = (FetchedNode::Found(evidence), NodeIpamSpec::of(replacement));
    let expected = FenceVerdict::Quarantine(FenceReason::Replaced);
    assert_eq!(fence(ALL, &block, node, Some(&said)), expected);
    let without = fence(ALL.without(LeaseRule::MachineOfBlock), &block, node, Some(&said));
    assert_eq!(without, FenceVerdict::Adopt(Uid(77)));
}
