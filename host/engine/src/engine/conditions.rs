//! The complete list of conditions: those set by other parts, and those derived from the journal, the policies and
//! the books.

use std::collections::HashSet;

use tenure_ledger::{Book, Chooser, Shelf};
use tenure_types::{
    Condition, ConditionName, DELEGATED, Error, ErrorCode, Need, Pool, Result, Severity, Supply,
};

use super::Engine;
use crate::core::kept::KeptPools;
use crate::core::strikes::Requester;
use crate::network::gateways;

/// The conditions derived from the journal's health.
const JOURNALS: [(ConditionName, ErrorCode); 2] = [
    (ConditionName::CheckpointFailed, ErrorCode::CheckpointFailed),
    (ConditionName::DiskFull, ErrorCode::DiskFull),
];

impl Engine {
    /// The node's current conditions, the worst first. Every report on the node's health is made from this list.
    #[must_use]
    pub fn whats_wrong(&self) -> Vec<Condition> {
        let trouble = self.core.ports.journal.health().err();
        for (name, code) in JOURNALS {
            match trouble.as_ref().filter(|trouble| trouble.code == code) {
                Some(trouble) => self.core.conditions.set(name, "", &trouble.cause),
                None => self.core.conditions.clear(name, ""),
            }
        }
        self.look_at_policies();
        self.claims.look_at_claims();
        self.look_at_quarantine();
        self.core.conditions.list()
    }

    /// Updates the conditions about policies. Nothing is read or compiled.
    fn look_at_policies(&self) {
        match self.core.ports.catalogue.awaited() {
            Some(awaited) => self.core.conditions.set(ConditionName::Starting, "", awaited),
            None => self.core.conditions.clear(ConditionName::Starting, ""),
        }
        let (mut loading, mut unloadable) = (Vec::new(), Vec::new());
        let mut refused = Vec::new();
        for entry in self.exchange.policies() {
            let name = entry.stamp.name;
            if let Some(problem) = entry.file_problem {
                refused
                    .push((name.to_string(), format!("the file of policy {name} is not applied: {problem}")));
            }
            let Some(problem) = entry.problem else { continue };
            let of = if entry.loading { &mut loading } else { &mut unloadable };
            let source = match entry.source.as_str() {
                "embedded" => "built in",
                "kept on this node" => "the node's copy",
                source => source,
            };
            let cannot = if entry.loading { "" } else { "cannot load " };
            of.push((name.to_string(), format!("{cannot}policy {name} ({source}): {problem}")));
        }
        self.core.conditions.replace(ConditionName::PoliciesLoading, loading);
        self.core.conditions.replace(ConditionName::PolicyUnloadable, unloadable);
        self.core.conditions.replace(ConditionName::PolicyFileRefused, refused);
        self.forget_what_is_over();
        let benched = self.core.strikes.benched(self.core.ports.clock.monotonic());
        self.core.conditions.replace(ConditionName::PolicyBenched, benched);
        let node = self.core.committer.node();
        let rolled_back = node.choices.all().filter(|(_, served)| served.now.by == Chooser::RollBack);
        let rolled_back: Vec<_> = rolled_back
            .map(|(network, served)| {
                let message = format!(
                    "network {network} was rolled back to policy {}: {}",
                    served.now.policy, served.now.why
                );
                (network.to_string(), message)
            })
            .collect();
        drop(node);
        self.core.conditions.replace(ConditionName::PolicyRolledBack, rolled_back);
    }

    /// Ends what only a policy's or a delegate's next answer would end, where another policy is asked by now.
    fn forget_what_is_over(&self) {
        let (mut asked, mut delegated) = (HashSet::new(), HashSet::new());
        for (network, served) in self.core.committer.node().choices.all() {
            let shadow = served.shadow.iter().map(|shadow| &shadow.policy);
            let now = [&served.now.policy].into_iter().chain(shadow);
            asked.extend(now.map(|policy| (network.clone(), policy.clone())));
            if served.now.policy.name.delegate().is_some() {
                delegated.insert(network.to_string());
            }
        }
        let settings = self.settings();
        let now = self.core.ports.clock.monotonic();
        self.core.strikes.forget(now, |network, policy, requester| {
            let may_ask = match requester {
                Requester::Node | Requester::Operator => true,
                Requester::Agent(agent) => settings.has_agent(agent),
                Requester::Executor => self.effects.is_attended(network),
            };
            may_ask && asked.contains(&(network.clone(), policy.clone()))
        });
        let conditions = self.core.conditions.list().into_iter();
        for over in conditions.filter(|condition| condition.name == ConditionName::DelegateRejected) {
            if !delegated.contains(&over.subject) {
                self.core.conditions.clear(ConditionName::DelegateRejected, &over.subject);
            }
        }
    }

    /// Fails if ADD fails on this node, with the reason.
    ///
    /// # Errors
    /// `NotReady`, `DiskFull` or `CheckpointFailed`.
    pub fn readiness(&self) -> Result<()> {
        let wrong = self.whats_wrong();
        let worst = wrong.iter().find(|condition| condition.name.severity() == Severity::NotReady);
        worst.map_or(Ok(()), |condition| Err(tenure_conditions::error(condition)))
    }

    /// Updates the conditions about exhausted pools, held gateways and out-of-bounds networks. A busy network keeps its present
    /// conditions.
    pub fn look_at_networks(&self) {
        self.imports.look_at_moves();
        let (now, bounds) = (self.core.now(), self.core.bounds());
        self.core.committer.expire_removed(now, self.core.settings().cooldown);
        let before = self.core.conditions.list();
        let as_before = |which: ConditionName, is_own: &dyn Fn(&str) -> bool| -> Vec<(String, String)> {
            let before =
                before.iter().filter(|condition| condition.name == which && is_own(&condition.subject));
            before.map(|condition| (condition.subject.clone(), condition.message.clone())).collect()
        };
        let (mut exhausted, mut out_of_bounds, mut gateways) = (Vec::new(), Vec::new(), Vec::new());
        let (mut nearly_full, most) = (Vec::new(), self.settings().nearly_full_percent);
        let mut unsupplied = Vec::new();
        let kept = self.core.kept_pools();
        for (name, slot) in self.core.networks.all() {
            let Some(mut held) = slot.try_lock() else {
                let own = format!("{name}/");
                for (which, of) in [
                    (ConditionName::PoolExhausted, &mut exhausted),
                    (ConditionName::SupplyExhausted, &mut unsupplied),
                    (ConditionName::PoolNearlyFull, &mut nearly_full),
                ] {
                    of.extend(as_before(which, &|subject| subject.starts_with(&own)));
                }
                for (which, of) in [
                    (ConditionName::NetworkOutOfBounds, &mut out_of_bounds),
                    (ConditionName::GatewayHeld, &mut gateways),
                ] {
                    of.extend(as_before(which, &|subject| subject == name.as_str()));
                }
                continue;
            };
            let Some(served) = held.as_mut() else { continue };
            self.core.expire(served, now);
            let demands = &self.effects.demands;
            let pools = served.book.pools().iter().enumerate();
            let pools = pools.filter(|(_, pool)| !kept.has(pool) && !demands.is_unsupplied(&name, pool));
            let full = pools.filter_map(|(index, pool)| Some((pool, exhaustion(&served.book, index)?)));
            for (pool, message) in full {
                let subject = format!("{name}/{}", pool.name);
                let lack = self.effects.demands.lack(&name).filter(|_| pool.supply == Supply::Host);
                let message =
                    lack.map_or_else(|| message.clone(), |lack| format!("{message}; {}", lack.cause));
                let of = if pool.supply == Supply::Host { &mut unsupplied } else { &mut exhausted };
                of.push((subject, message));
            }
            let pools = served.book.pools().iter().enumerate();
            let near = pools.filter_map(|(index, pool)| Some((pool, fullness(&served.book, index, most)?)));
            nearly_full.extend(near.map(|(pool, message)| (format!("{name}/{}", pool.name), message)));
            let moved = gateways::held(&served.book);
            if !moved.is_empty() {
                gateways.push((name.to_string(), format!("network {name}: {}", moved.join("; "))));
            }
            let alone = held.look();
            if let Err(error) = self.core.check_within(&alone, &bounds) {
                out_of_bounds.push((name.to_string(), error.cause));
            }
        }
        self.core.conditions.replace(ConditionName::PoolExhausted, exhausted);
        self.core.conditions.replace(ConditionName::SupplyExhausted, unsupplied);
        self.core.conditions.replace(ConditionName::PoolNearlyFull, nearly_full);
        self.core.conditions.replace(ConditionName::NetworkOutOfBounds, out_of_bounds);
        self.core.conditions.replace(ConditionName::GatewayHeld, gateways);
    }
}

/// The message for a pool that has no address for an ADD; `None` if it has one.
fn exhaustion(book: &Book, index: usize) -> Option<String> {
    // How many addresses a delegate has left is not known here.
    if !book.is_exhausted(index) || book.network().attributes.get(DELEGATED).is_some() {
        return None;
    }
    let (network, pool, usage) = (book.name(), book.pools().get(index)?, book.usage(Shelf::whole(index)));
    let name = &pool.name;
    Some(match usage.total {
        0 => format!("pool {name} of network {network} is exhausted: it has no addresses"),
        total => {
            let used = usage.held.saturating_add(usage.cooling);
            format!("pool {name} of network {network} is exhausted: {used} of {total} in use")
        }
    })
}

/// The reason, for people, that no ADD can succeed: a pool that every grant needs is exhausted, or all pools are. Pools kept for names do not count.
/// If the host `is_supplying`, its pools are not exhausted: what they lack is waited for.
pub(crate) fn exhausted(book: &Book, kept: &KeptPools, is_supplying: bool) -> Option<String> {
    let exhaustion = |(index, pool): (usize, &Pool)| match pool.supply {
        Supply::Host if is_supplying => None,
        Supply::Host | Supply::Configuration => exhaustion(book, index),
    };
    let pools = || book.pools().iter().enumerate().filter(|(_, pool)| !kept.has(pool));
    let mut needed = pools().filter(|(_, pool)| pool.need == Need::Always);
    let messages = || -> Option<Vec<String>> { pools().map(exhaustion).collect() };
    needed
        .find_map(exhaustion)
        .or_else(|| messages().filter(|messages| !messages.is_empty()).map(|messages| messages.join("; ")))
}

/// The STATUS error for a cause that would make an ADD fail.
pub(crate) fn unavailable(cause: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::Unavailable, cause)
}

/// The message for a pool that is in use to at least this percentage, and not full; `None` for another one. A pool that the host
/// supplies grows with its use, and how many addresses a delegate has left is not known here.
fn fullness(book: &Book, index: usize, percent: u8) -> Option<String> {
    let (network, pool) = (book.name(), book.pools().get(index)?);
    if pool.supply == Supply::Host || book.network().attributes.get(DELEGATED).is_some() {
        return None;
    }
    let (usage, name) = (book.usage(Shelf::whole(index)), &pool.name);
    let (held, total) = (u64::from(usage.held), u64::from(usage.total));
    let is_near = percent < 100 && total > 0 && held * 100 >= total * u64::from(percent);
    (is_near && !book.is_exhausted(index))
        .then(|| format!("pool {name} of network {network} is nearly full: {held} of {total} in use"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tenure_ledger::{Defined, LedgerFact};
    use tenure_types::{
        Attributes, ContainerId, DefinedPool, Definer, Definition, InterfaceName, Moment, NetworkName, Owner,
        PolicyName, PolicyStamp, Pool, PoolName, Proposal, Range, Request, RequestContext, Sandbox,
    };

    use super::*;

    /// A book whose pools have these names and needs; those in `empty` have no address.
    fn book(pools: &[(&str, Need)], empty: &[&str]) -> Book {
        let pools = pools.iter().zip(1..).map(|((name, need), number)| {
            let first = [10, 0, number, 1].into();
            let range = Range::new(format!("10.0.{number}.0/24").parse().unwrap(), first, first, None, 24);
            let ranges = Vec::from_iter(Some(range.unwrap()).filter(|_| !empty.contains(name)));
            DefinedPool { pool: Pool { need: *need, ..Pool::new(PoolName::new(*name).unwrap()) }, ranges }
        });
        defined(&Definition { pools: pools.collect(), ..Definition::default() })
    }

    fn defined(definition: &Definition) -> Book {
        let defined = Defined { config: &Arc::default(), definition, by: Definer::Request };
        let mut book = Book::empty(&NetworkName::new("net").unwrap());
        for fact in book.redefine(defined, Moment::default()).unwrap() {
            book.apply(book.through() + 1, &fact).unwrap();
        }
        book
    }

    #[test]
    fn no_add_can_succeed_without_a_needed_pool_or_without_any() {
        let zones = [("a", Need::Optional), ("b", Need::Optional)];
        let beside = [("needed", Need::Always), ("beside", Need::Optional)];
        for (pools, empty, told) in [
            (&zones, &["a"][..], None),
            (
                &zones,
                &["a", "b"],
                Some(
                    "pool a of network net is exhausted: it has no addresses; pool b of network net is exhausted: it has no addresses",
                ),
            ),
            (&beside, &["beside"], None),
            (&beside, &["needed"], Some("pool needed of network net is exhausted: it has no addresses")),
        ] {
            assert_eq!(exhausted(&book(pools, empty), &KeptPools::default(), true).as_deref(), told);
        }
        let undefined = Book::empty(&NetworkName::new("net").unwrap());
        assert_eq!(exhausted(&undefined, &KeptPools::default(), false), None);
    }

    #[test]
    fn a_pool_is_nearly_full_from_a_share_on_until_it_is_full() {
        let mut book = book(&[("a", Need::Always)], &[]);
        assert_eq!(fullness(&book, 0, 0), Some("pool a of network net is nearly full: 0 of 1 in use".into()));
        assert_eq!(
            (fullness(&book, 0, 1), fullness(&book, 0, 100), fullness(&book, 1, 0)),
            (None, None, None)
        );
        book = self::book(&[("a", Need::Always)], &["a"]);
        assert_eq!(fullness(&book, 0, 0), None, "it has no addresses, which is worse");
    }

    /// A book of four addresses, as many of them held.
    fn book_of_four(held: u8, attributes: Attributes) -> Book {
        let range =
            Range::new("10.0.0.0/24".parse().unwrap(), [10, 0, 0, 1].into(), [10, 0, 0, 4].into(), None, 24);
        let pool = Pool::new(PoolName::new("a").unwrap());
        let pools = vec![DefinedPool { pool, ranges: vec![range.unwrap()] }];
        let mut book = defined(&Definition { pools, attributes, ..Definition::default() });
        let policy = Arc::new(PolicyStamp { name: PolicyName::new("p").unwrap(), digest: "d".into() });
        for last in 1..=held {
            let container = ContainerId::new(format!("c{last}")).unwrap();
            let request = Request {
                network: book.name().clone(),
                owner: Owner::Attachment { container, interface: InterfaceName::new("eth0").unwrap() },
                requested: Vec::new(),
                sandbox: Sandbox::default(),
                supply_full: false,
                context: RequestContext::default(),
                requested_at: Moment::default(),
            };
            let proposal = Proposal::of([(0, [10, 0, 0, last].into())]);
            let allocation = book.admit(&request, &proposal, &policy, Moment::default()).unwrap();
            book.apply(book.through() + 1, &LedgerFact::Allocated(Arc::new(allocation))).unwrap();
        }
        book
    }

    #[test]
    fn a_share_is_of_what_is_held_and_of_a_delegate_nobody_knows_it() {
        let plain = Attributes::default();
        let book = book_of_four(3, plain.clone());
        let told = "pool a of network net is nearly full: 3 of 4 in use";
        assert_eq!((fullness(&book, 0, 75).as_deref(), fullness(&book, 0, 76)), (Some(told), None));
        let full = book_of_four(4, plain);
        assert_eq!((fullness(&full, 0, 75), exhaustion(&full, 0).is_some()), (None, true));

        let delegated = |held| book_of_four(held, Attributes::new([(DELEGATED, "host-local")]).unwrap());
        assert_eq!((fullness(&delegated(3), 0, 75), exhaustion(&delegated(4), 0)), (None, None));
    }
}
