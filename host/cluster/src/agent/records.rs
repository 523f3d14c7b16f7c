//! The durable records of the agent, as objects of the ledger's chapter `effects`.
//!
//! ```text
//!   ip-block       one accepted lease: its uid, its network, and how far it may be used
//!   dropped-lease  the uid of one that was given back, kept for 30 days of the agent's durable time
//!   agent-time     that time, as it was noted last
//!   ledger-lost    the ledger was lost, and what the API server knows of it is to be read back
//! ```
//!
//! A frozen block is an open intent `give-back-block`, which names the mark; without ranges in any network it is a word of its record.

use std::collections::BTreeMap;

use ipnet::IpNet;
use tenure_engine::Engine;
use tenure_leases::agent::ledger::LeaseHold;
use tenure_leases::agent::time::NotedTime;
use tenure_leases::agent::tombstones::TOMBSTONE_SECONDS;
use tenure_leases::space::overlap;
use tenure_leases::{BlockName, ClaimKind, MarkId, PoolKey, TurnId, Uid};
use tenure_ledger::Book;
use tenure_types::{Attributes, InvalidAttributes, Object, PoolName};

use crate::agent::settings::PoolFamily;
use crate::pools::ClaimName;

/// The kind of the object of an accepted lease.
const LEASE: &str = "ip-block";

/// The kind of the object of a lease that was given back.
const DROPPED: &str = "dropped-lease";

/// The attribute of such an object with the second of the durable time at which it may be forgotten.
const ENDS: &str = "ends";

/// The kind of the object with the durable time, of which there is at most one.
const TIME: &str = "agent-time";

/// The name of that object.
const TIME_NAME: &str = "time";

/// The kind of the object that remembers a loss of the ledger, of which there is at most one.
const LOSS: &str = "ledger-lost";

/// The name of that object.
const LOSS_NAME: &str = "ledger";

/// An accepted lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeldLease {
    /// The IPBlock's name, which contains the group and the CIDR.
    pub(crate) name: BlockName,
    /// The IPBlock's uid.
    pub(crate) uid: Uid,
    /// The cluster's pool.
    pub(crate) pool: PoolKey,
    /// How far it may be used.
    pub(crate) hold: LeaseHold,
    /// The boot in which the API server last confirmed it; `None` if the record does not say it.
    pub(crate) boot: Option<Uid>,
    /// The node's turn with it, if it is the address of a claim.
    pub(crate) turn: Option<LeaseTurn>,
}

/// The turn in which a node has the address of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeaseTurn {
    /// The claim.
    pub(crate) claim: ClaimName,
    /// The claim's uid; `None` in a record of a version before it was kept. A claim that is made again under the name has other addresses.
    pub(crate) uid: Option<Uid>,
    /// The turn.
    pub(crate) turn: TurnId,
    /// The pod for which it began, as `namespace/name`.
    pub(crate) pod: String,
    /// The virtual machine in that pod.
    pub(crate) guest: Option<Uid>,
    /// The number of addresses that the claim has: one, or one of each family.
    pub(crate) addresses: usize,
}

impl LeaseTurn {
    fn facts(&self) -> impl Iterator<Item = (&'static str, String)> {
        let facts = [
            ("claim.kind", self.claim.kind.to_string()),
            ("claim.namespace", self.claim.namespace.clone()),
            ("claim.name", self.claim.name.clone()),
            ("claim.pod", self.pod.clone()),
            ("claim.addresses", self.addresses.to_string()),
            ("turn", self.turn.to_string()),
        ];
        let uids = [("claim.uid", self.uid), ("claim.guest", self.guest)];
        let uids = uids.into_iter().filter_map(|(name, uid)| Some((name, uid?.to_string())));
        facts.into_iter().chain(uids)
    }

    fn of(attributes: &Attributes) -> Option<Self> {
        let get = |name: &str| attributes.get(name).map(str::to_owned);
        // Before there were two kinds, a record named none.
        let kind = get("claim.kind").map_or(Some(ClaimKind::Address), |kind| kind.parse().ok())?;
        Some(Self {
            claim: ClaimName { kind, namespace: get("claim.namespace")?, name: get("claim.name")? },
            uid: get("claim.uid").and_then(|uid| uid.parse().ok()),
            turn: attributes.get("turn")?.parse().ok()?,
            pod: get("claim.pod")?,
            guest: get("claim.guest").and_then(|uid| uid.parse().ok()),
            addresses: get("claim.addresses").and_then(|count| count.parse().ok()).unwrap_or(1),
        })
    }
}

impl HeldLease {
    /// The addresses.
    #[must_use]
    pub(crate) fn cidr(&self) -> IpNet {
        self.name.cidr()
    }

    /// The engine's pool that its ranges belong to.
    #[must_use]
    pub(crate) fn engine_pool(&self) -> Option<PoolName> {
        PoolName::new(format!("{}{}", self.pool.name, PoolFamily::of(self.cidr()).suffix())).ok()
    }

    /// Whether a network uses the pool, and wants addresses of the block's family of it.
    #[must_use]
    pub(crate) fn is_wanted_in(&self, book: &Book) -> bool {
        self.engine_pool().is_some_and(|pool| book.pools().iter().any(|known| known.name == pool))
    }

    /// The object to keep.
    ///
    /// # Errors
    /// If a value is too long to be kept.
    pub(crate) fn object(&self) -> Result<Object, InvalidAttributes> {
        let (word, mark) = match self.hold {
            LeaseHold::Open => ("open", None),
            LeaseHold::Cordoned(mark) => ("cordoned", Some(mark)),
            LeaseHold::Frozen(mark) => ("frozen", Some(mark)),
            LeaseHold::Doubted => ("doubted", None),
            LeaseHold::Contested => ("contested", None),
        };
        let facts = [
            ("uid", self.uid.to_string()),
            ("pool", self.pool.name.to_string()),
            ("pool.uid", self.pool.uid.to_string()),
            ("hold", word.to_owned()),
        ];
        let mark = mark.map(|mark| ("mark", mark.to_string()));
        let boot = self.boot.map(|boot| ("boot", boot.to_string()));
        let turn = self.turn.iter().flat_map(LeaseTurn::facts);
        let attributes = Attributes::new(facts.into_iter().chain(mark).chain(boot).chain(turn))?;
        Ok(Object { kind: LEASE.to_owned(), name: self.name.to_string(), attributes })
    }

    /// Reads an object; `None` if it is none of ours.
    fn of(object: &Object) -> Option<Self> {
        let get = |name: &str| object.attributes.get(name);
        let mark = || get("mark")?.parse().ok();
        let hold = match get("hold")? {
            "open" => LeaseHold::Open,
            "cordoned" => LeaseHold::Cordoned(mark()?),
            "frozen" => LeaseHold::Frozen(mark()?),
            "contested" => LeaseHold::Contested,
            // A word of a later version hands out nothing.
            _ => LeaseHold::Doubted,
        };
        Some(Self {
            name: object.name.parse().ok()?,
            uid: get("uid")?.parse().ok()?,
            pool: PoolKey { name: get("pool")?.into(), uid: get("pool.uid")?.parse().ok()? },
            hold,
            boot: get("boot").and_then(|boot| boot.parse().ok()),
            turn: LeaseTurn::of(&object.attributes),
        })
    }
}

/// All leases of the ledger, by their addresses.
#[must_use]
pub(crate) fn leases<'a>(objects: impl IntoIterator<Item = &'a Object>) -> BTreeMap<IpNet, HeldLease> {
    let leases = objects.into_iter().filter(|object| object.kind == LEASE).filter_map(HeldLease::of);
    leases.map(|lease| (lease.cidr(), lease)).collect()
}

/// Another lease that has an address of a block: in one overlap group none can.
#[must_use]
pub(crate) fn overlapping<'a>(
    leases: &'a BTreeMap<IpNet, HeldLease>,
    block: &BlockName,
) -> Option<&'a BlockName> {
    let mut others = leases.values().map(|lease| &lease.name).filter(|name| *name != block);
    others.find(|name| overlap(name.cidr(), block.cidr()))
}

/// The leases that are not given back.
pub(crate) fn not_dropped(
    leases: BTreeMap<IpNet, HeldLease>,
    dropped: &BTreeMap<Uid, Option<u64>>,
) -> impl Iterator<Item = HeldLease> {
    leases.into_values().filter(|lease| !dropped.contains_key(&lease.uid))
}

/// The object by which a loss of the ledger is remembered until the records of the API server are read back.
#[must_use]
pub(crate) fn loss() -> Object {
    Object { kind: LOSS.to_owned(), name: LOSS_NAME.to_owned(), attributes: Attributes::default() }
}

/// The object that remembers a loss, to be forgotten.
#[must_use]
pub(crate) fn loss_key() -> (String, String) {
    (LOSS.to_owned(), LOSS_NAME.to_owned())
}

/// The object that names a lease, to be forgotten.
#[must_use]
pub(crate) fn lease_key(name: &BlockName) -> (String, String) {
    (LEASE.to_owned(), name.to_string())
}

/// The leases that were given back, each with the second of the durable time at which it may be forgotten; `None` in a record of a version before there
/// was that time.
#[must_use]
pub(crate) fn dropped<'a>(objects: impl IntoIterator<Item = &'a Object>) -> BTreeMap<Uid, Option<u64>> {
    let dropped = objects.into_iter().filter(|object| object.kind == DROPPED);
    let ends = |object: &Object| object.attributes.get(ENDS).and_then(|ends| ends.parse().ok());
    dropped.filter_map(|object| Some((object.name.parse().ok()?, ends(object)))).collect()
}

/// The object of a lease that was given back now. `wall_seconds` is the time since the Unix epoch: a version before there was the durable time forgets
/// the lease by it, also one to which the node goes back.
///
/// # Errors
/// Never in practice: a number is short.
pub(crate) fn tombstone(uid: Uid, now: NotedTime, wall_seconds: u64) -> Result<Object, InvalidAttributes> {
    let in_thirty_days = |seconds: u64| seconds.saturating_add(TOMBSTONE_SECONDS).to_string();
    let facts = [(ENDS, in_thirty_days(now.seconds)), ("until", in_thirty_days(wall_seconds))];
    Ok(Object { kind: DROPPED.to_owned(), name: uid.to_string(), attributes: Attributes::new(facts)? })
}

/// The durable time as it was noted last.
#[must_use]
pub(crate) fn noted_time<'a>(objects: impl IntoIterator<Item = &'a Object>) -> Option<NotedTime> {
    let noted = objects.into_iter().find(|object| object.kind == TIME && object.name == TIME_NAME)?;
    let get = |name: &str| noted.attributes.get(name);
    Some(NotedTime {
        seconds: get("seconds")?.parse().ok()?,
        boot: get("boot")?.parse().ok()?,
        reading: get("reading")?.parse().ok()?,
    })
}

/// The object with the durable time.
///
/// # Errors
/// Never in practice: a number is short.
pub(crate) fn time_note(now: NotedTime) -> Result<Object, InvalidAttributes> {
    let NotedTime { seconds, boot, reading } = now;
    let facts =
        [("seconds", seconds.to_string()), ("boot", boot.to_string()), ("reading", reading.to_string())];
    Ok(Object { kind: TIME.to_owned(), name: TIME_NAME.to_owned(), attributes: Attributes::new(facts)? })
}

/// The object that names a lease that was given back, to be forgotten.
#[must_use]
pub(crate) fn tombstone_key(uid: Uid) -> (String, String) {
    (DROPPED.to_owned(), uid.to_string())
}

/// The mark in the attributes of an intent: what it has reached, or what it began with.
#[must_use]
pub(crate) fn mark_of(intent: &tenure_ledger::Intent) -> Option<MarkId> {
    intent.reached.get(MARK).or(intent.attributes.get(MARK))?.parse().ok()
}

/// Effects: the mark that a block is given back for.
pub(crate) const MARK: &str = "mark";

/// Remembers that the ledger was lost, until an agent has read back what the API server knows of it. Due before the confirmation of the loss, and only
/// then: a ledger that is written to takes the place of the right one. Durable when it returns, so that no restart after the confirmation forgets it.
///
/// # Errors
/// If the ledger cannot be written.
pub async fn note_loss(engine: &Engine) -> tenure_types::Result<()> {
    engine.objects_seen(&[loss()], &[]).await
}

/// Whether a loss was confirmed, and what the API server knows has not been read back.
pub(crate) fn is_loss_noted(engine: &Engine) -> bool {
    let key = loss_key();
    engine.objects().iter().any(|object| (&object.kind, &object.name) == (&key.0, &key.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written_and_a_later_word_hands_out_nothing() {
        let pool = PoolKey { name: "pods".into(), uid: Uid(7) };
        for hold in [
            LeaseHold::Open,
            LeaseHold::Cordoned(MarkId(1)),
            LeaseHold::Frozen(MarkId(2)),
            LeaseHold::Doubted,
            LeaseHold::Contested,
        ] {
            let name = BlockName::new("default", "fd00::/122".parse().unwrap()).unwrap();
            let claim = ClaimName { kind: ClaimKind::Ipam, namespace: "default".into(), name: "db-0".into() };
            let (pod, guest) = ("default/db-0".into(), Some(Uid(8)));
            let turn = LeaseTurn { claim, uid: guest, turn: TurnId(4), pod, guest, addresses: 2 };
            let (boot, turn) = (Some(Uid(9)), (hold == LeaseHold::Open).then_some(turn));
            let record = HeldLease { name, uid: Uid(3), pool: pool.clone(), hold, boot, turn };
            let object = record.object().unwrap();
            assert_eq!(leases([&object]).into_values().collect::<Vec<_>>(), std::slice::from_ref(&record));
            let attributes = Attributes::new([
                ("uid", Uid(3).to_string()),
                ("pool", "pods".into()),
                ("pool.uid", Uid(7).to_string()),
                ("hold", "lent".into()),
            ])
            .unwrap();
            let later = Object { attributes, ..object };
            assert_eq!(leases([&later]).into_values().next().unwrap().hold, LeaseHold::Doubted);
        }
    }

    fn held() -> HeldLease {
        HeldLease {
            name: BlockName::new("default", "10.0.0.0/26".parse().unwrap()).unwrap(),
            uid: Uid(3),
            pool: PoolKey { name: "pods".into(), uid: Uid(7) },
            hold: LeaseHold::Open,
            boot: None,
            turn: None,
        }
    }

    #[test]
    fn leases_of_two_groups_may_overlap() {
        let lease = held();
        let leases = BTreeMap::from([(lease.cidr(), lease.clone())]);
        for (group, cidr, is_found) in [
            ("default", "10.0.0.0/26", false),
            ("blue", "10.0.0.0/26", true),
            ("blue", "10.0.0.9/32", true),
            ("blue", "10.0.0.0/24", true),
            ("blue", "10.0.0.64/26", false),
        ] {
            let found = overlapping(&leases, &BlockName::new(group, cidr.parse().unwrap()).unwrap());
            assert_eq!(found, is_found.then_some(&lease.name), "{group} {cidr}");
        }
    }

    #[test]
    fn a_lease_that_was_given_back_does_not_count_although_it_is_recorded() {
        let leases = BTreeMap::from([(held().cidr(), held())]);
        let left = |dropped: &[u128]| {
            let dropped = dropped.iter().map(|uid| (Uid(*uid), None)).collect();
            not_dropped(leases.clone(), &dropped).count()
        };
        assert_eq!((left(&[]), left(&[4]), left(&[4, 3])), (1, 1, 0));
    }

    #[test]
    fn a_tombstone_is_kept_for_thirty_days_also_by_a_version_before() {
        let now = NotedTime { seconds: 100, boot: Uid(2), reading: 7 };
        let mut stone = tombstone(Uid(5), now, 1_000_000).unwrap();
        assert_eq!(dropped([&stone]), BTreeMap::from([(Uid(5), Some(100 + 30 * 24 * 3600))]));
        assert_eq!(stone.attributes.get("until"), Some("3592000"));
        stone.attributes = Attributes::new([("until", "3592000")]).unwrap();
        assert_eq!(dropped([&stone]), BTreeMap::from([(Uid(5), None)]));
        let note = time_note(now).unwrap();
        assert_eq!(noted_time([&stone, &note]), Some(now));
        assert_eq!(noted_time([&stone]), None);
    }
}
