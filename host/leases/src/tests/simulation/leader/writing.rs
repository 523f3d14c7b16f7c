//! The writes of a leader, each after the reads that come just before it, and their answers.

use std::sync::Arc;

use super::{Leader, Planned};
use crate::IpBlock;
use crate::operator::fence::{FenceVerdict, FetchedNode, delay, fence};
use crate::operator::quarantine::{QuarantineStep, quarantine};
use crate::space::QuorumListing;
use crate::tests::simulation::kinds::pool_of;
use crate::tests::simulation::server::{Change, Refused, Server, Write};

impl Leader {
    /// The write of a plan, after the reads that come just before it.
    pub(in crate::tests::simulation) fn write(
        &mut self,
        server: Option<&Server>,
        planned: Planned,
        now: u64,
    ) -> Option<Write> {
        match planned {
            Planned::Write(write) => Some(write),
            Planned::Judge(block) => self.judge(server, block, now),
            Planned::Remove(id) => {
                let server = server?;
                let ranges = server.store.blocks.values().map(|block| block.range).collect();
                let listing = QuorumListing { version: server.store.version, ranges };
                let cache = self.cache.as_ref()?;
                let mut space = cache.space.clone();
                space.remove(self.rules, id, cache.space_version, &listing).ok()?;
                Some(Write::Space { version: cache.space_version, space })
            }
        }
    }

    fn judge(&mut self, server: Option<&Server>, block: IpBlock, now: u64) -> Option<Write> {
        let cache = self.cache.as_ref()?;
        let node = match server.map(|server| server.store.hosts.get(&block.holder.name)) {
            None => FetchedNode::Unreachable,
            Some(None) => FetchedNode::Missing,
            Some(Some(node)) => FetchedNode::Found(*node),
        };
        let said = cache.said.get(&block.holder.name).map(|said| &said.spec);
        let change = match fence(self.rules, &block, node, said) {
            FenceVerdict::Keep => return None,
            FenceVerdict::Adopt(uid) => Change::Adopt(uid),
            FenceVerdict::Quarantine(_) => Change::Quarantine,
            FenceVerdict::Return => Change::Return,
            FenceVerdict::Hold(reason) => {
                let counted = now - *self.quarantined.entry(block.uid).or_insert(now);
                match quarantine(
                    delay(&cache.pools[pool_of(block.cidr)].lease, reason),
                    block.elapsed_seconds,
                    counted,
                ) {
                    QuarantineStep::Wait => return None,
                    QuarantineStep::Write(seconds) => Change::Elapse(seconds),
                    QuarantineStep::Over if block.deleting => Change::RemoveFinalizer,
                    QuarantineStep::Over => Change::Delete,
                }
            }
        };
        Some(Write::Change(block, change))
    }

    /// Notes the answer to a write.
    pub(in crate::tests::simulation) fn wrote(
        &mut self,
        write: &Write,
        answer: Result<Option<IpBlock>, Refused>,
        now: u64,
    ) {
        let (Some(cache), Ok(written)) = (&mut self.cache, answer) else { return };
        if let Some(block) = written {
            cache.blocks.insert(block.cidr, block);
        }
        match write {
            Write::Change(_, Change::Mark(mark)) => {
                self.barrier.wrote(mark.id);
                self.marked.insert(mark.id, now);
            }
            Write::Change(_, Change::Clear(mark)) => {
                self.barrier.settled(*mark);
                self.marked.remove(mark);
            }
            Write::Change(block, Change::Quarantine | Change::Elapse(_)) => {
                self.quarantined.insert(block.uid, now);
            }
            Write::Change(block, Change::RemoveFinalizer) => {
                cache.blocks.remove(&block.cidr);
                self.signs.ended(block.uid);
                self.released.insert(block.cidr, now);
                self.ended.insert((Arc::clone(&block.holder.name), block.cidr));
            }
            Write::Forget { name, uid, .. } => {
                self.signs.ended(*uid);
                self.signs.forgot(name);
            }
            _ => {}
        }
    }
}
