//! The part of the story about networks that move over from other IPAMs, with every fact in every form.

use std::sync::Arc;

use tenure_ledger::{Move, MoveEnd, MoveFact};
use tenure_types::Owner;

use super::node::{Story, agent, at, ip, network, owner};

fn begun(source: &str, reached: u64) -> MoveFact {
    MoveFact::Begun(Move {
        network: network("cut-off"),
        source: source.into(),
        by: "uid 0, pid 4711".into(),
        entries: 60_000,
        reached,
        at: at(14),
    })
}

fn ended(source: &str, end: MoveEnd, why: &str) -> MoveFact {
    let (network, source) = (network("cut-off"), source.into());
    MoveFact::Ended { network, source, end, why: why.into(), at: at(15) }
}

fn deleted(of: Owner) -> MoveFact {
    MoveFact::Deleted { network: network("unknown"), owner: of, at: at(15) }
}

/// Two moves of a network: one is finished, and one is cut off; and DELs of what the ledger does not have.
pub(super) fn begin_moves(story: &Story<'_>) {
    for source in ["host-local /var/lib/cni/networks", "ipamd /var/run/aws-node/ipam.json"] {
        story.move_over(begun(source, 4096));
    }
    story.move_over(ended("host-local /var/lib/cni/networks", MoveEnd::Finished, ""));
    let claim = agent("monitor", "probe");
    for of in [owner("early", "eth0"), claim, Owner::Unknown { address: ip("10.9.2.9") }] {
        story.move_over(deleted(of));
    }
}

pub(super) fn move_on(story: &Story<'_>) {
    let (network, source) = (network("cut-off"), Arc::from("ipamd /var/run/aws-node/ipam.json"));
    story.move_over(MoveFact::Reached { network, source, reached: 6144, at: at(19) });
}

pub(super) fn end_moves(story: &Story<'_>) {
    story.move_over(deleted(owner("late", "eth0")));
    story.move_over(begun("ipamd /root/ipam.json", 0));
    story.move_over(ended("ipamd /root/ipam.json", MoveEnd::Abandoned, "the file is gone"));
    story.move_over(MoveFact::Forgotten { network: network("brief"), at: at(26) });
}
