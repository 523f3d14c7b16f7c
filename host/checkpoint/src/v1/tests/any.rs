//! Any value of each fact and of each part of the state.

mod allocation;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use tenure_ledger::books::{LastAddress, Remembrance, Supplied};
use tenure_ledger::choices::{Served, Shadow};
use tenure_ledger::delegations::Given;
use tenure_ledger::states::Memory;
use tenure_ledger::{
    Choice, ChoiceFact, Choices, Chooser, Claim, ClaimFact, ClaimKey, Claimant, Claims, Component,
    ComponentFact, Components, Delegation, DelegationFact, Delegations, EffectFact, Effects, Fact, Families,
    Image, Intent, IntentOrigin, LedgerFact, Move, MoveEnd, MoveFact, Moves, PolicyState, Presence,
    QuarantineMark, QuarantineSubject, StateFact, States, Step, StepKind, Taken, Wish,
};
use tenure_types::{
    AgentName, Attributes, ClaimName, ContainerId, Cooling, Definer, DelegateName, EffectKind, Generation,
    HolderName, IntentId, InterfaceName, Moment, Need, Network, NetworkConfig, NetworkName, Object,
    PolicyName, PolicyStamp, Pool, PoolName, Range, RangeName, ScopeName, Supply,
};

pub(super) use self::allocation::allocation;
use self::allocation::{owner, place};

/// A name that CNI allows.
const NAME: &str = "[a-zA-Z0-9][a-zA-Z0-9_.-]{0,20}";

/// Any string, including characters that JSON escapes.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "[ -~]{1,12}",
        any::<String>(),
        Just("\"\\\n\r\t\u{0}\u{2028}é".to_owned())
    ]
}

fn moment() -> impl Strategy<Value = Moment> {
    (any::<u64>(), any::<u64>()).prop_map(|(boot_ns, wall_ms)| Moment { boot_ns, wall_ms })
}

fn generation() -> impl Strategy<Value = Generation> {
    any::<u64>().prop_map(Generation)
}

pub(super) fn network_name() -> impl Strategy<Value = NetworkName> {
    NAME.prop_map(|name| NetworkName::new(name).unwrap())
}

fn pool_name() -> impl Strategy<Value = PoolName> {
    NAME.prop_map(|name| PoolName::new(name).unwrap())
}

fn range_name() -> impl Strategy<Value = RangeName> {
    "[!-~]{1,24}".prop_map(|name| RangeName::new(name).unwrap())
}

fn policy() -> impl Strategy<Value = PolicyStamp> {
    let stamp = |(name, digest): (String, String)| PolicyStamp {
        name: PolicyName::new(name).unwrap(),
        digest: digest.into(),
    };
    (NAME, "[0-9a-f]{0,64}").prop_map(stamp)
}

fn attributes() -> impl Strategy<Value = Attributes> {
    let some = btree_map("[a-zA-Z0-9._/-]{1,12}", "\\PC{0,12}", 0..4);
    some.prop_map(|pairs| Attributes::new(pairs).unwrap())
}

fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![any::<[u8; 4]>().prop_map(IpAddr::from), any::<[u8; 16]>().prop_map(IpAddr::from)]
}

fn network_of(address: IpAddr, length: u8) -> IpNet {
    IpNet::new(address, length % (if address.is_ipv4() { 33 } else { 129 })).unwrap()
}

fn range() -> impl Strategy<Value = Range> {
    let ends = (address(), any::<u8>(), any::<(u64, u64)>(), any::<u8>(), any::<bool>());
    let made = ends.prop_filter_map("no range", |(address, length, (first, last), prefix, has_gateway)| {
        let subnet = network_of(address, length).trunc();
        let within = |offset: u64| {
            let size = u32::from(subnet.max_prefix_len() - subnet.prefix_len());
            let offset = u128::from(offset) & 1_u128.checked_shl(size).map_or(u128::MAX, |size| size - 1);
            match subnet.network() {
                IpAddr::V4(base) => IpAddr::V4((u32::from(base) | u32::try_from(offset).unwrap()).into()),
                IpAddr::V6(base) => IpAddr::V6((u128::from(base) | offset).into()),
            }
        };
        let (first, last) = (within(first).min(within(last)), within(first).max(within(last)));
        let gateway = has_gateway.then_some(first);
        Range::new(subnet, first, last, gateway, prefix % subnet.max_prefix_len() + 1).ok()
    });
    (made, option::of(range_name()), attributes()).prop_map(|(range, name, attributes)| {
        let range = range.with(attributes);
        name.into_iter().fold(range, Range::named)
    })
}

fn pool() -> impl Strategy<Value = Pool> {
    let supply = select(vec![Supply::Configuration, Supply::Host]);
    let need = select(vec![Need::Always, Need::Optional]);
    (pool_name(), supply, need, attributes()).prop_map(|(name, supply, need, attributes)| Pool {
        name,
        supply,
        need,
        attributes,
    })
}

fn network() -> impl Strategy<Value = Network> {
    let config = (text(), vec((text(), text()), 0..3))
        .prop_map(|(ipam, attributes)| Arc::new(NetworkConfig { ipam, attributes }));
    let cooling = select(vec![Cooling::Strict, Cooling::Preferred]);
    let definer = select(vec![Definer::Request, Definer::Configuration, Definer::Operator]);
    (network_name(), config, vec(pool(), 0..3), cooling, attributes(), definer, moment()).prop_map(
        |(name, config, pools, cooling, attributes, defined_by, changed_at)| Network {
            name,
            config,
            pools,
            cooling,
            attributes,
            defined_by,
            changed_at,
        },
    )
}

fn choice() -> impl Strategy<Value = Choice> {
    (policy(), chooser(), moment(), text(), any::<bool>()).prop_map(|(policy, by, at, why, watched)| Choice {
        policy,
        by,
        at,
        why,
        watched,
    })
}

fn chooser() -> impl Strategy<Value = Chooser> {
    select(vec![Chooser::Configuration, Chooser::Operator, Chooser::RollBack])
}

fn step() -> impl Strategy<Value = Step> {
    let kinds = [
        StepKind::Refused,
        StepKind::ShadowBegun,
        StepKind::ShadowEnded,
        StepKind::Kept,
        StepKind::StateReplaced,
    ];
    (select(kinds.to_vec()), policy(), moment(), text()).prop_map(|(kind, policy, at, why)| Step {
        kind,
        policy,
        at,
        why,
    })
}

/// A step of a history, where choices are steps, too.
fn past() -> impl Strategy<Value = Step> {
    let chosen = chooser().prop_map(StepKind::Chosen);
    let chosen = prop_oneof![chosen, Just(StepKind::Undone)];
    prop_oneof![step(), (step(), chosen).prop_map(|(step, kind)| Step { kind, ..step })]
}

fn component() -> impl Strategy<Value = Component> {
    (policy(), text(), text(), moment()).prop_map(|(policy, source, signer, at)| Component {
        policy,
        source,
        signer,
        at,
    })
}

fn claim_key() -> impl Strategy<Value = ClaimKey> {
    (NAME, network_name(), NAME).prop_map(|(agent, network, name)| ClaimKey {
        agent: AgentName::new(agent).unwrap(),
        network,
        name: ClaimName::new(name).unwrap(),
    })
}

fn claim() -> impl Strategy<Value = Claim> {
    let families = || any::<(bool, bool)>().prop_map(|(ipv4, ipv6)| Families { ipv4, ipv6 });
    let lease = option::of(any::<u64>().prop_map(Duration::from_secs));
    let scope = option::of(NAME.prop_map(|name| ScopeName::new(name).unwrap()));
    let holder = option::of(NAME.prop_map(|name| HolderName::new(name).unwrap()));
    let claimant = (scope, holder).prop_map(|(scope, holder)| Claimant { scope, holder });
    let wish = (vec(address(), 0..3), families(), families(), lease, claimant);
    let wish = wish.prop_map(|(addresses, families, optional, lease, claimant)| Wish {
        addresses,
        families,
        optional,
        lease,
        claimant,
    });
    let presence = prop_oneof![moment().prop_map(Presence::Here), moment().prop_map(Presence::Reserved)];
    (claim_key(), wish, generation(), moment(), presence).prop_map(
        |(key, wish, generation, made_at, presence)| Claim { key, wish, generation, made_at, presence },
    )
}

/// The definition of a network with this configuration.
pub(super) fn network_with(ipam: &str) -> impl Strategy<Value = Fact> + use<> {
    let config = Arc::new(NetworkConfig { ipam: ipam.to_owned(), attributes: Vec::new() });
    network().prop_map(move |network| {
        Fact::from(LedgerFact::Defined(Arc::new(Network { config: Arc::clone(&config), ..network })))
    })
}

fn ledger_fact() -> impl Strategy<Value = LedgerFact> {
    let of_range = || (network_name(), pool_name(), range_name(), moment());
    prop_oneof![
        network().prop_map(|network| LedgerFact::Defined(Arc::new(network))),
        (network_name(), moment()).prop_map(|(network, at)| LedgerFact::Removed { network, at }),
        (network_name(), any::<bool>(), moment())
            .prop_map(|(network, under_way, at)| LedgerFact::Importing { network, under_way, at }),
        (network_name(), pool_name(), range(), moment()).prop_map(|(network, pool, range, at)| {
            LedgerFact::RangeAdded { network, pool, range: Box::new(range), at }
        }),
        (of_range(), any::<bool>()).prop_map(|((network, pool, range, at), draining)| {
            LedgerFact::RangeDraining { network, pool, range, draining, at }
        }),
        of_range().prop_map(|(network, pool, range, at)| LedgerFact::RangeRemoved {
            network,
            pool,
            range,
            at
        }),
        allocation().prop_map(|allocation| LedgerFact::Allocated(Arc::new(allocation))),
        (network_name(), generation(), moment(), text(), option::of(place())).prop_map(
            |(network, generation, requested_at, netns, netns_seen)| LedgerFact::Renewed {
                network,
                generation,
                requested_at,
                netns: netns.into(),
                netns_seen,
            }
        ),
        (network_name(), generation(), moment(), text()).prop_map(|(network, generation, at, reason)| {
            LedgerFact::Released { network, generation, at, reason: reason.into() }
        }),
        (network_name(), subject(), mark()).prop_map(|(network, subject, mark)| LedgerFact::Quarantined {
            network,
            subject,
            mark
        }),
        (network_name(), subject(), moment(), text()).prop_map(|(network, subject, at, reason)| {
            LedgerFact::QuarantineLifted { network, subject, at, reason: reason.into() }
        }),
    ]
}

fn subject() -> impl Strategy<Value = QuarantineSubject> {
    prop_oneof![
        address().prop_map(QuarantineSubject::Address),
        generation().prop_map(QuarantineSubject::Allocation)
    ]
}

fn mark() -> impl Strategy<Value = QuarantineMark> {
    (moment(), text()).prop_map(|(since, reason)| QuarantineMark { since, reason: reason.into() })
}

/// Any fact of any chapter.
pub(super) fn fact() -> impl Strategy<Value = Fact> {
    let choices = prop_oneof![
        (network_name(), choice()).prop_map(|(network, choice)| ChoiceFact::Chosen { network, choice }),
        (network_name(), step()).prop_map(|(network, step)| ChoiceFact::Noted { network, step }),
        (network_name(), choice(), moment()).prop_map(|(network, choice, at)| ChoiceFact::Undone {
            network,
            choice,
            at
        }),
        (network_name(), moment()).prop_map(|(network, at)| ChoiceFact::Forgotten { network, at }),
    ];
    let components = prop_oneof![
        component().prop_map(ComponentFact::Loaded),
        (policy(), moment()).prop_map(|(policy, at)| ComponentFact::Unloaded { policy, at }),
    ];
    let claims = prop_oneof![
        claim().prop_map(ClaimFact::Claimed),
        (claim_key(), moment()).prop_map(|(key, at)| ClaimFact::Confirmed { key, at }),
        (claim_key(), generation(), moment(), text()).prop_map(|(key, generation, at, reason)| {
            ClaimFact::Released { key, generation, at, reason: reason.into() }
        }),
    ];
    let states = prop_oneof![
        (network_name(), state()).prop_map(|(network, state)| StateFact::Kept { network, state }),
        (network_name(), state()).prop_map(|(network, state)| StateFact::Undone { network, state }),
        (network_name(), moment()).prop_map(|(network, at)| StateFact::Forgotten { network, at }),
    ];
    let delegations = prop_oneof![
        delegation().prop_map(|delegation| DelegationFact::Asked(Delegation { given: None, ..delegation })),
        (network_name(), owner(), given(), moment())
            .prop_map(|(network, owner, given, at)| { DelegationFact::Given { network, owner, given, at } }),
        (network_name(), owner(), moment()).prop_map(|(network, owner, at)| DelegationFact::Ended {
            network,
            owner,
            at
        }),
    ];
    let effects = prop_oneof![
        intent().prop_map(EffectFact::Intended),
        (intent_id(), network_name(), attributes(), moment())
            .prop_map(|(id, network, reached, at)| EffectFact::Reached { id, network, reached, at }),
        (intent_id(), network_name(), moment()).prop_map(|(id, network, at)| EffectFact::Done {
            id,
            network,
            at
        }),
        (intent_id(), network_name(), text(), moment())
            .prop_map(|(id, network, why, at)| EffectFact::Undone { id, network, why: why.into(), at }),
        (object(), moment()).prop_map(|(object, at)| EffectFact::Seen { object, at }),
        (text(), text(), moment()).prop_map(|(kind, name, at)| EffectFact::Gone { kind, name, at }),
    ];
    prop_oneof![
        3 => effects.prop_map(Fact::from),
        3 => move_fact().prop_map(Fact::from),
        3 => delegations.prop_map(Fact::from),
        9 => ledger_fact().prop_map(Fact::from),
        3 => choices.prop_map(Fact::from),
        2 => components.prop_map(Fact::from),
        2 => claims.prop_map(Fact::from),
        3 => states.prop_map(Fact::from),
    ]
}

/// The policies that serve the networks.
pub(super) fn choices() -> impl Strategy<Value = Choices> {
    let before = choice().prop_map(|choice| Choice { watched: false, ..choice });
    let shadow = option::of((policy(), moment()).prop_map(|(policy, since)| Shadow { policy, since }));
    let served = (choice(), vec(before, 0..3), shadow, vec(past(), 0..3)).prop_map(
        |(now, before, shadow, history)| {
            let (before, history) = (before.into_iter().collect(), history.into_iter().collect());
            Served { now, before, shadow, history }
        },
    );
    let networks = btree_map(network_name(), served, 0..4);
    (any::<u64>(), networks)
        .prop_map(|(through, networks): (_, BTreeMap<_, _>)| Choices::restore(through, networks))
}

/// The policies that were loaded.
pub(super) fn components() -> impl Strategy<Value = Components> {
    (any::<u64>(), vec(component(), 0..4)).prop_map(|(through, all)| Components::restore(through, all))
}

/// The claims of agents.
pub(super) fn claims() -> impl Strategy<Value = Claims> {
    (any::<u64>(), vec(claim(), 0..4)).prop_map(|(through, all)| Claims::restore(through, all))
}

fn state() -> impl Strategy<Value = PolicyState> {
    let bytes = prop_oneof![vec(any::<u8>(), 0..40), vec(any::<u8>(), 16_384)];
    (policy(), any::<u64>(), bytes, moment()).prop_map(|(policy, version, bytes, at)| PolicyState {
        policy,
        version,
        bytes: bytes.into(),
        at,
    })
}

/// States of policies.
pub(super) fn states() -> impl Strategy<Value = States> {
    let memory = (state(), vec(state(), 0..3))
        .prop_map(|(now, before)| Memory { now, before: before.into_iter().collect() });
    (any::<u64>(), btree_map(network_name(), memory, 0..4))
        .prop_map(|(through, networks)| States::restore(through, networks))
}

fn given() -> impl Strategy<Value = Given> {
    (generation(), vec(address(), 0..3)).prop_map(|(generation, addresses)| Given { generation, addresses })
}

fn delegation() -> impl Strategy<Value = Delegation> {
    let told = (NAME, NAME, "[!-.0-9;-~]{3,15}", text(), text());
    (network_name(), owner(), told, moment(), option::of(given())).prop_map(
        |(network, owner, (delegate, container, interface, netns, ipam), since, given)| Delegation {
            network,
            owner,
            delegate: DelegateName::new(delegate).unwrap(),
            container: ContainerId::new(container).unwrap(),
            interface: InterfaceName::new(interface).unwrap(),
            netns: netns.into(),
            ipam: ipam.into(),
            since,
            given,
        },
    )
}

/// Delegations, with what was asked for.
pub(super) fn delegations() -> impl Strategy<Value = Delegations> {
    (any::<u64>(), vec(delegation(), 0..4)).prop_map(|(through, all)| Delegations::restore(through, all))
}

fn intent_id() -> impl Strategy<Value = IntentId> {
    "[a-zA-Z0-9-]{1,64}".prop_map(|id| IntentId::new(id).unwrap())
}

fn intent() -> impl Strategy<Value = Intent> {
    let taken = (pool_name(), range_name(), any::<bool>());
    let taken = taken.prop_map(|(pool, range, was_open)| Taken { pool, range, was_open });
    let what = (pool_name(), select(EffectKind::ALL.to_vec()), attributes(), vec(taken, 0..3), attributes());
    let origin =
        option::of(policy()).prop_map(|policy| policy.map_or(IntentOrigin::Host, IntentOrigin::Policy));
    (intent_id(), network_name(), what, origin, moment()).prop_map(
        |(id, network, (pool, kind, attributes, takes, reached), origin, since)| Intent {
            id,
            network,
            pool,
            kind,
            attributes,
            takes,
            origin,
            since,
            reached,
        },
    )
}

fn object() -> impl Strategy<Value = Object> {
    (text(), text(), attributes()).prop_map(|(kind, name, attributes)| Object { kind, name, attributes })
}

fn move_fact() -> impl Strategy<Value = MoveFact> {
    let begun = (network_name(), text(), text(), 0..9_u64, 0..9_u64, moment());
    let begun = begun.prop_map(|(network, source, by, entries, reached, at)| {
        MoveFact::Begun(Move { network, source: source.into(), by: by.into(), entries, reached, at })
    });
    let reached = (network_name(), text(), any::<u64>(), moment());
    let end = select(vec![MoveEnd::Finished, MoveEnd::Abandoned]);
    prop_oneof![
        begun,
        reached.prop_map(|(network, source, reached, at)| {
            MoveFact::Reached { network, source: source.into(), reached, at }
        }),
        (network_name(), text(), end, text(), moment()).prop_map(|(network, source, end, why, at)| {
            MoveFact::Ended { network, source: source.into(), end, why: why.into(), at }
        }),
        (network_name(), owner(), moment()).prop_map(|(network, owner, at)| MoveFact::Deleted {
            network,
            owner,
            at
        }),
        (network_name(), moment()).prop_map(|(network, at)| MoveFact::Forgotten { network, at }),
    ]
}

/// Moves from other IPAMs.
pub(super) fn moves() -> impl Strategy<Value = Moves> {
    (any::<u64>(), vec(move_fact(), 1..9)).prop_map(|(through, facts)| Moves::restore(through, facts))
}

/// Effects, which the host has outside the ledger.
pub(super) fn effects() -> impl Strategy<Value = Effects> {
    (any::<u64>(), vec(intent(), 0..4), vec(object(), 0..4))
        .prop_map(|(through, open, objects)| Effects::restore(through, open, objects))
}

/// A book as data; whether it makes sense is up to the ledger.
pub(super) fn image() -> impl Strategy<Value = Image> {
    let supplied = (pool_name(), range(), any::<bool>()).prop_map(|(pool, range, draining)| Supplied {
        pool,
        range,
        draining,
    });
    let label =
        option::of((text(), text())).prop_map(|label| label.map(|(name, value)| (name.into(), value.into())));
    let last = (pool_name(), label, address()).prop_map(|(pool, label, address)| LastAddress {
        pool,
        label,
        address,
    });
    let remembered = (text(), moment(), vec((pool_name(), address()), 0..3))
        .prop_map(|(name, at, addresses)| Remembrance { name: name.into(), at, addresses: addresses.into() });
    let settled = (address(), text()).prop_map(|(address, claim)| (address, Arc::from(claim)));
    let allocation = allocation().prop_map(Arc::new);
    let head = (any::<u64>(), network(), any::<bool>(), generation());
    let lists = (
        vec(supplied, 0..3),
        vec(last, 0..3),
        (vec((address(), moment()), 0..4), vec((any::<u32>(), 0..9_usize), 0..3)),
        vec(allocation, 0..3),
        vec(settled, 0..4),
        (vec(remembered, 0..3), vec((subject(), mark()), 0..3)),
    );
    (head, lists).prop_map(|((through, network, importing, next_generation), lists)| {
        let (ranges, last, (cooling, cooldowns), allocations, settled, (remembered, quarantined)) = lists;
        Image {
            through,
            network: Arc::new(network),
            importing,
            ranges,
            next_generation,
            last,
            cooling,
            cooldowns,
            allocations,
            settled,
            remembered,
            quarantined,
        }
    })
}
