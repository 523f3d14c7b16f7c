//! A node's agent, as small as it can be: a ledger of blocks in memory, and the tables of `tenure-leases`.

use std::collections::BTreeSet;
use std::net::IpAddr;

use anyhow::{Context as _, ensure};
use ipnet::IpNet;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, PostParams};
use tenure_cluster::client::call;
use tenure_cluster::{AddressPool, AddressSpace, IPBlock, NodeIPAM, NodeIPAMSpec};
use tenure_leases::agent::accept::{AcceptCase, accept};
use tenure_leases::agent::compare::{CompareVerdict, compare, is_settled};
use tenure_leases::agent::ledger::{BlockUsage, LeaseHold, LedgerBlock};
use tenure_leases::agent::mark::{MarkCase, MarkVerdict, answer};
use tenure_leases::agent::tombstones::LeaseTombstones;
use tenure_leases::{
    AddressSpace as LeaseSpace, BlockHint, BlockMark, BlockName, CallId, ClaimTurn, FetchedBlock, HeldBlock,
    HolderIdentity, LeaseRules, MarkAck, MarkAnswer, NodeIpamSpec, NodeIpamStatus, PoolDemand, PoolKey, Uid,
};
use tenure_operator::view::{WatchedNode, evidence};

use crate::cluster::Cluster;

const ALL: LeaseRules = LeaseRules::ALL;

/// The agent of a node.
pub(crate) struct TestAgent {
    pub(crate) identity: HolderIdentity,
    pub(crate) ledger: Vec<LedgerBlock>,
    pub(crate) idle: Vec<Uid>,
    demand: Vec<PoolDemand>,
    acks: Vec<MarkAck>,
    /// The node's turns with addresses of claims.
    pub(crate) turns: Vec<ClaimTurn>,
    dropped: LeaseTombstones,
    /// The addresses in use.
    pub(crate) given: BTreeSet<IpAddr>,
    /// What the pools exclude.
    excluded: Vec<IpNet>,
    /// The operator's call that it heard last.
    heard: Option<CallId>,
}

impl TestAgent {
    /// The agent of a Node, without blocks.
    pub(crate) fn new(node: &Node) -> anyhow::Result<Self> {
        let read: WatchedNode = serde_json::from_value(serde_json::to_value(node)?)?;
        let proof = evidence(&read).context("the Node proves nothing")?;
        let name = node.metadata.name.as_deref().context("no name")?;
        let identity =
            HolderIdentity { name: name.into(), uid: proof.uid, machine: proof.machine, boot: proof.boot };
        Ok(Self {
            identity,
            ledger: vec![],
            idle: vec![],
            demand: vec![],
            acks: vec![],
            turns: vec![],
            dropped: LeaseTombstones::default(),
            given: BTreeSet::new(),
            excluded: vec![],
            heard: None,
        })
    }

    /// Hands out the lowest free address of its open blocks, if there is one.
    pub(crate) fn give(&mut self) {
        let open = self.ledger.iter().filter(|row| row.hold == LeaseHold::Open);
        let mut hosts = open.flat_map(|row| row.cidr.hosts());
        let free = hosts.find(|address| !self.given.contains(address) && !self.is_excluded(*address));
        self.given.extend(free);
        self.count();
    }

    /// Frees the address at a position.
    pub(crate) fn free(&mut self, position: usize) {
        if let Some(address) = self.given.iter().nth(position).copied() {
            self.given.remove(&address);
        }
        self.count();
    }

    /// Says of all but one empty block that they are idle.
    pub(crate) fn find_idle(&mut self) {
        let empty = self.ledger.iter().filter(|row| row.hold == LeaseHold::Open && row.usage.is_empty());
        self.idle = empty.skip(1).map(|row| row.uid).collect();
    }

    /// Counts what is in use of each block, and freezes what was cordoned and is empty.
    fn count(&mut self) {
        for row in &mut self.ledger {
            let used = self.given.iter().filter(|address| row.cidr.contains(*address)).count();
            row.usage.in_use = u32::try_from(used).unwrap_or(u32::MAX);
            if let Some(mark) = row.drained() {
                row.hold = LeaseHold::Frozen(mark);
            }
        }
    }

    /// Whether a pool excludes an address.
    pub(crate) fn is_excluded(&self, address: IpAddr) -> bool {
        self.excluded.iter().any(|cidr| cidr.contains(&address))
    }

    /// Sets the number of blocks that it wants of a pool, and says so.
    pub(crate) fn want(&mut self, cluster: &Cluster, pool: &AddressPool, want: u32) -> anyhow::Result<()> {
        let name = pool.metadata.name.as_deref().context("no name")?;
        let key =
            PoolKey { name: name.into(), uid: pool.metadata.uid.as_deref().context("no uid")?.parse()? };
        self.demand.retain(|demand| demand.pool != key);
        self.demand.push(PoolDemand { pool: key, is_ipv6: false, in_use: 0, cooling: 0, want });
        self.say(cluster)
    }

    /// Forgets what it wanted: its pools are other ones now.
    pub(crate) fn forget_demand(&mut self) {
        self.demand.clear();
    }

    /// Sets the number of addresses in use in a block.
    pub(crate) fn use_addresses(&mut self, cidr: &str, in_use: u32) -> anyhow::Result<()> {
        let row = self.ledger.iter_mut().find(|row| row.cidr.to_string() == cidr).context("no such block")?;
        row.usage.in_use = in_use;
        Ok(())
    }

    /// Looks at its hints once: accepts, answers, compares; then says what it holds, if that has changed.
    pub(crate) fn step(&mut self, cluster: &Cluster) -> anyhow::Result<()> {
        let Some(object) = cluster.get::<NodeIPAM>(&self.identity.name)? else {
            // Somebody deleted it, or put an older store back.
            return if self.ledger.is_empty() { Ok(()) } else { self.say(cluster) };
        };
        let status = NodeIpamStatus::try_from(&object)?;
        self.heard = status.call;
        for pool in object.status.iter().flat_map(|status| &status.pools) {
            // The test's pools exclude CIDRs only, and never fewer.
            let cidrs = pool.exclusions.iter().filter_map(|entry| entry.cidr.as_ref()?.parse().ok());
            let new: Vec<IpNet> = cidrs.filter(|cidr| !self.excluded.contains(cidr)).collect();
            self.excluded.extend(new);
        }
        for (entry, hint) in object.status.iter().flat_map(|status| &status.blocks).zip(&status.blocks) {
            let group = entry.name.parse::<BlockName>()?.group().to_owned();
            if let Some(mark) = hint.mark {
                self.marked(cluster, hint, mark)?;
            } else if !self.ledger.iter().any(|row| row.cidr == hint.cidr) {
                self.accept(cluster, &group, *hint)?;
            }
        }
        for index in (0..self.ledger.len()).rev() {
            let row = self.ledger[index];
            let hint = status.blocks.iter().find(|hint| hint.cidr == row.cidr);
            if is_settled(&row, hint.map(|hint| (hint.uid, hint.mark.map(|mark| mark.id)))) {
                self.compare(cluster, index)?;
            }
        }
        self.say(cluster)
    }

    fn accept(&mut self, cluster: &Cluster, group: &str, hint: BlockHint) -> anyhow::Result<()> {
        let block = fetch(cluster, group, &hint)?;
        let space = cluster.get::<AddressSpace>(group)?;
        let space = space.as_ref().map(LeaseSpace::try_from).transpose()?;
        let case = AcceptCase {
            me: &self.identity,
            hint,
            block: &block,
            space: space.as_ref(),
            dropped: self.dropped.contains(hint.uid),
            ledger: &self.ledger,
            is_full: false,
        };
        if accept(ALL, &case).is_ok() {
            let usage = BlockUsage::default();
            self.ledger.push(LedgerBlock { cidr: hint.cidr, uid: hint.uid, hold: LeaseHold::Open, usage });
        }
        Ok(())
    }

    fn marked(&mut self, cluster: &Cluster, hint: &BlockHint, mark: BlockMark) -> anyhow::Result<()> {
        // All pools of a test are one network's.
        let is_ipv6 = |cidr: IpNet| matches!(cidr, IpNet::V6(_));
        let open = |row: &&LedgerBlock| {
            let is_other = row.cidr != hint.cidr && is_ipv6(row.cidr) == is_ipv6(hint.cidr);
            row.hold == LeaseHold::Open && is_other
        };
        let case = MarkCase {
            uid: hint.uid,
            mark,
            row: self.ledger.iter().find(|row| row.cidr == hint.cidr).copied(),
            dropped: self.dropped.contains(hint.uid),
            accepting: false,
            lost: false,
            other_open: u32::try_from(self.ledger.iter().filter(open).count())?,
            keeps_reserve: true,
        };
        let said = match answer(ALL, &case) {
            MarkVerdict::Freeze => {
                self.hold(hint, LeaseHold::Frozen(mark.id));
                MarkAnswer::Ready
            }
            MarkVerdict::Cordon => {
                self.hold(hint, LeaseHold::Cordoned(mark.id));
                MarkAnswer::Cordoned
            }
            MarkVerdict::Bury => {
                self.dropped.add(hint.uid, 0);
                MarkAnswer::Ready
            }
            MarkVerdict::Look => {
                let index = self.ledger.iter().position(|row| row.cidr == hint.cidr).context("no row")?;
                return self.compare(cluster, index);
            }
            MarkVerdict::Answer(said) => said,
        };
        self.acks.retain(|ack| ack.uid != hint.uid);
        self.acks.push(MarkAck { uid: hint.uid, mark: mark.id, answer: said });
        Ok(())
    }

    fn hold(&mut self, hint: &BlockHint, hold: LeaseHold) {
        for row in self.ledger.iter_mut().filter(|row| row.cidr == hint.cidr) {
            row.hold = hold;
        }
    }

    /// Compares a block with a quorum GET of its name.
    pub(crate) fn compare(&mut self, cluster: &Cluster, index: usize) -> anyhow::Result<()> {
        let row = self.ledger[index];
        let hint = BlockHint { cidr: row.cidr, uid: row.uid, mark: None };
        let fetched = fetch(cluster, "default", &hint)?;
        let mut forget = Some(row.uid);
        match compare(ALL, &self.identity, &row, &fetched) {
            CompareVerdict::Keep | CompareVerdict::Reassert => forget = None,
            CompareVerdict::Open => self.ledger[index].hold = LeaseHold::Open,
            CompareVerdict::Rebind(uid) => {
                self.dropped.add(row.uid, 0);
                self.ledger[index].uid = uid;
                self.ledger[index].hold = LeaseHold::Open;
            }
            CompareVerdict::Refreeze(mark) => {
                self.ledger[index].hold = LeaseHold::Frozen(mark);
                self.acks.retain(|ack| ack.uid != row.uid);
                self.acks.push(MarkAck { uid: row.uid, mark, answer: MarkAnswer::Ready });
                forget = None;
            }
            CompareVerdict::Contest => {
                self.ledger[index].hold = LeaseHold::Contested;
                forget = None;
            }
            CompareVerdict::Drop => {
                self.dropped.add(row.uid, 0);
                ensure!(row.usage.is_empty(), "the node lost {}, which it uses", row.cidr);
                self.ledger.remove(index);
            }
        }
        self.acks.retain(|ack| Some(ack.uid) != forget);
        Ok(())
    }

    /// Writes its half of NodeIPAM, if it differs.
    pub(crate) fn say(&self, cluster: &Cluster) -> anyhow::Result<()> {
        let spec = NodeIPAMSpec::from(&NodeIpamSpec {
            held: self
                .ledger
                .iter()
                .map(|row| HeldBlock { cidr: row.cidr, uid: row.uid, group: None })
                .collect(),
            demand: self.demand.clone(),
            idle: self.idle.clone(),
            acks: self.acks.clone(),
            claims: self.turns.clone(),
            heard: self.heard,
            ..NodeIpamSpec::of(self.identity.clone())
        });
        let name = &*self.identity.name;
        cluster.until("the agent's write", || {
            let api: Api<NodeIPAM> = Api::all(cluster.client.clone());
            let Some(mut object) = cluster.get::<NodeIPAM>(name)? else {
                cluster.create(&NodeIPAM::new(name, spec.clone()))?;
                return Ok(Some(()));
            };
            if object.spec == spec {
                return Ok(Some(()));
            }
            object.spec = spec.clone();
            let written = cluster.runtime.block_on(call(api.replace(name, &PostParams::default(), &object)));
            match written {
                Ok(_) => Ok(Some(())),
                Err(error) if error.is_conflict() => Ok(None),
                Err(error) => Err(error.into()),
            }
        })
    }

    /// The blocks from which it may hand addresses out, or has.
    pub(crate) fn usable(&self) -> impl Iterator<Item = String> {
        let usable = self.ledger.iter().filter(|row| {
            matches!(row.hold, LeaseHold::Open | LeaseHold::Cordoned(_)) || !row.usage.is_empty()
        });
        usable.map(|row| row.cidr.to_string())
    }
}

/// A quorum GET of a block's name.
fn fetch(cluster: &Cluster, group: &str, hint: &BlockHint) -> anyhow::Result<FetchedBlock> {
    let name = BlockName::new(group, hint.cidr)?.to_string();
    Ok(match cluster.get::<IPBlock>(&name)? {
        Some(block) => FetchedBlock::Found((&block).try_into()?),
        None => FetchedBlock::Missing,
    })
}
