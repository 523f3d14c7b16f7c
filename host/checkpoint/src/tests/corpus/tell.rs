//! Prints what a start has found in a form that does not depend on the types: each field is named here, so that a new
//! one shows.

use std::fmt::{Display, Write as _};

use tenure_ledger::books::{LastAddress, Remembrance, Supplied};
use tenure_ledger::choices::{Served, Shadow};
use tenure_ledger::delegations::Given;
use tenure_ledger::states::Memory;
use tenure_ledger::{
    Choice, Claim, Claimant, Claims, Component, Components, Delegation, Delegations, Effects, Families,
    Image, Intent, IntentOrigin, LedgerState, Move, MoveFact, Moves, PolicyState, Presence, QuarantineMark,
    States, Step, Taken, Wish,
};
use tenure_types::{
    Allocation, AssignedAddress, Attributes, Link, Moment, Network, NetworkConfig, Object, Origin, Owner,
    Place, Pool, Range, Sandbox, Source,
};

use crate::Recovered;

/// Everything that a start has found.
pub(super) fn tell(found: &Recovered) -> String {
    let mut text = String::new();
    let LedgerState { books, node, .. } = &found.state;
    for book in books {
        image(&mut text, book.image());
    }
    writeln!(text, "choices through {}", node.choices.through()).unwrap();
    for (network, Served { now, before, shadow, history }) in node.choices.all() {
        let before: Vec<_> = before.iter().map(choice).collect();
        writeln!(text, "  {network}: {}; before: {}", choice(now), list(&before)).unwrap();
        if let Some(Shadow { policy, since }) = shadow {
            writeln!(text, "    in its shadow: {policy} since {}", moment(*since)).unwrap();
        }
        for Step { kind, policy, at, why } in history {
            writeln!(text, "    {}: {policy} at {} {why:?}", kind.name(), moment(*at)).unwrap();
        }
    }
    if node.components != Components::default() {
        writeln!(text, "components through {}", node.components.through()).unwrap();
    }
    for Component { policy, source, signer, at } in node.components.all() {
        writeln!(text, "  {policy} from {source:?}, signed {signer:?}, at {}", moment(*at)).unwrap();
    }
    if node.claims != Claims::default() {
        writeln!(text, "claims through {}", node.claims.through()).unwrap();
    }
    for Claim { key, wish, generation, made_at, presence } in node.claims.all() {
        let Wish { addresses, families: Families { ipv4, ipv6 }, optional, lease, claimant } = wish;
        let presence = match presence {
            Presence::Here(at) => format!("here at {}", moment(*at)),
            Presence::Reserved(at) => format!("reserved at {}", moment(*at)),
        };
        let (made, lease) = (moment(*made_at), option(lease.map(|lease| lease.as_secs())));
        writeln!(text, "  {key}: allocation {generation}, made at {made}, {presence}").unwrap();
        writeln!(text, "    wants {addresses:?}, ipv4 {ipv4}, ipv6 {ipv6}, lease {lease}").unwrap();
        // Programs before wrote none of these.
        if *optional != Families::default() {
            writeln!(text, "    would like ipv4 {}, ipv6 {}", optional.ipv4, optional.ipv6).unwrap();
        }
        if *claimant != Claimant::default() {
            writeln!(text, "    asked for by {claimant:?}").unwrap();
        }
    }
    if node.states != States::default() {
        writeln!(text, "states through {}", node.states.through()).unwrap();
    }
    for (network, Memory { now, before }) in node.states.all() {
        let before: Vec<_> = before.iter().map(state).collect();
        writeln!(text, "  {network}: {}; before: {}", state(now), list(&before)).unwrap();
    }
    if node.delegations != Delegations::default() {
        writeln!(text, "delegations through {}", node.delegations.through()).unwrap();
    }
    for delegation in node.delegations.all() {
        let Delegation { network, owner, delegate, container, interface, netns, ipam, since, given } =
            delegation.as_ref();
        let since = moment(*since);
        writeln!(text, "  {network} {owner}: {delegate} was asked for {container}/{interface} at {since}")
            .unwrap();
        writeln!(text, "    netns {netns:?}, ipam {ipam:?}").unwrap();
        if let Some(Given { generation, addresses }) = given {
            writeln!(text, "    gave allocation {generation} with {addresses:?}").unwrap();
        }
    }
    if node.effects != Effects::default() {
        writeln!(text, "effects through {}", node.effects.through()).unwrap();
    }
    for intent in node.effects.open() {
        let Intent { id, network, pool, kind, attributes, takes, origin, since, reached } = intent.as_ref();
        let (kind, since) = (kind.name(), moment(*since));
        let (attributes, reached) = (self::attributes(attributes), self::attributes(reached));
        let origin = match origin {
            IntentOrigin::Policy(policy) => format!("wanted by {policy}"),
            IntentOrigin::Host => "begun by the host".to_owned(),
        };
        writeln!(text, "  {id}: {kind} for {pool} of {network} since {since}, {origin}").unwrap();
        writeln!(text, "    {attributes}, reached {reached}").unwrap();
        for Taken { pool, range, was_open } in takes {
            writeln!(text, "    takes {range} of {pool}, open {was_open}").unwrap();
        }
    }
    for object in node.effects.objects() {
        let Object { kind, name, attributes } = object.as_ref();
        writeln!(text, "  {kind} {name}: {}", self::attributes(attributes)).unwrap();
    }
    if node.moves != Moves::default() {
        writeln!(text, "moves through {}", node.moves.through()).unwrap();
    }
    for fact in node.moves.facts() {
        writeln!(text, "  {}", moved(&fact)).unwrap();
    }
    writeln!(text, "last {}", found.report.last).unwrap();
    text
}

fn moved(fact: &MoveFact) -> String {
    let of = fact.network();
    match fact {
        MoveFact::Begun(Move { network: _, source, by, entries, reached, at }) => {
            format!("{of}: {reached} of {entries} entries from {source:?}, by {by:?} at {}", moment(*at))
        }
        MoveFact::Ended { network: _, source, end, why, at } => {
            format!("{of}: {} {source:?} at {} {why:?}", end.name(), moment(*at))
        }
        MoveFact::Deleted { network: _, owner, at } => format!("{of}: {owner} deleted at {}", moment(*at)),
        MoveFact::Reached { .. } | MoveFact::Forgotten { .. } => unreachable!("not a part of the state"),
    }
}

fn choice(Choice { policy, by, at, why, watched }: &Choice) -> String {
    let why = if why.is_empty() { String::new() } else { format!(" {why:?}") };
    let watched = if *watched { ", watched" } else { "" };
    format!("{}@{} by {} at {}{why}{watched}", policy.name, policy.digest, by.name(), moment(*at))
}

fn state(PolicyState { policy, version, bytes, at }: &PolicyState) -> String {
    format!("version {version} of {}@{} at {}: {bytes:?}", policy.name, policy.digest, moment(*at))
}

fn moment(Moment { boot_ns, wall_ms }: Moment) -> String {
    format!("{boot_ns}/{wall_ms}")
}

fn attributes(attributes: &Attributes) -> String {
    format!("{{{attributes}}}")
}

fn option(value: Option<impl Display>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| value.to_string())
}

fn list(values: &[String]) -> String {
    format!("[{}]", values.join(", "))
}

fn image(text: &mut String, image: Image) {
    let Image { through, network, importing, ranges, next_generation, last, .. } = image;
    let Image { cooling, cooldowns, allocations, settled, remembered, quarantined, .. } = image;
    self::network(text, &network);
    let importing = if importing { ", importing" } else { "" };
    writeln!(text, "  through {through}, next generation {next_generation}{importing}").unwrap();
    for Supplied { pool, range, draining } in &ranges {
        let draining = if *draining { ", draining" } else { "" };
        writeln!(text, "  range of {pool}: {}{draining}", self::range(range)).unwrap();
    }
    for LastAddress { pool, label, address } in last {
        let label = label.map(|(name, value)| format!("{name}={value}"));
        writeln!(text, "  last of {pool}, label {}: {address}", option(label)).unwrap();
    }
    for (address, since) in cooling {
        writeln!(text, "  cooling {address} since {}", moment(since)).unwrap();
    }
    for (seconds, count) in cooldowns {
        writeln!(text, "  {count} of them for {seconds} s at least").unwrap();
    }
    for held in allocations {
        allocation(text, &held);
    }
    for (address, claim) in settled {
        writeln!(text, "  settled {address}: {claim}").unwrap();
    }
    for Remembrance { name, at, addresses } in remembered {
        let addresses: Vec<_> = addresses.iter().map(|(pool, address)| format!("{pool} {address}")).collect();
        writeln!(text, "  remembered {name} since {}: {}", moment(at), list(&addresses)).unwrap();
    }
    for (subject, QuarantineMark { since, reason }) in quarantined {
        let since = moment(since);
        writeln!(text, "  in quarantine {subject:?} since {since}: {reason:?}").unwrap();
    }
}

fn network(text: &mut String, network: &Network) {
    let Network { name, config, pools, cooling, attributes, defined_by, changed_at } = network;
    let NetworkConfig { ipam, attributes: host } = config.as_ref();
    writeln!(text, "network {name} defined by {} at {}", defined_by.name(), moment(*changed_at)).unwrap();
    writeln!(text, "  cooling {cooling:?}, attributes {}", self::attributes(attributes)).unwrap();
    writeln!(text, "  ipam {ipam:?}, of the host {host:?}").unwrap();
    for Pool { name, supply, need, attributes } in pools {
        let attributes = self::attributes(attributes);
        writeln!(text, "  pool {name}: supply {supply}, need {}, attributes {attributes}", need.name())
            .unwrap();
    }
}

fn range(range: &Range) -> String {
    format!(
        "{} in {} from {} to {}, gateway {}, as /{}, attributes {}",
        range.name(),
        range.subnet(),
        range.first(),
        range.last(),
        option(range.gateway()),
        range.prefix_length(),
        attributes(range.attributes())
    )
}

fn allocation(text: &mut String, allocation: &Allocation) {
    let Allocation { network, generation, owner, addresses, sandbox, tags, .. } = allocation;
    let Allocation { policy, origin, requested_at, allocated_at, .. } = allocation;
    let owner = match owner {
        Owner::Attachment { container, interface } => format!("container {container}, interface {interface}"),
        Owner::Claim { agent, name } => format!("agent {agent}, claim {name}"),
        Owner::Unknown { address } => format!("unknown at {address}"),
    };
    writeln!(text, "  allocation {generation} of {network}: {owner}, tags {}", attributes(tags)).unwrap();
    let (requested, allocated) = (moment(*requested_at), moment(*allocated_at));
    writeln!(text, "    {}@{}, requested {requested}, allocated {allocated}", policy.name, policy.digest)
        .unwrap();
    if *sandbox != Sandbox::default() {
        let Sandbox { pod, netns, netns_seen, link } = sandbox;
        let pod = pod.as_ref().map(|pod| format!("{:?} {:?} {:?}", pod.namespace, pod.name, pod.uid));
        let seen = netns_seen.map(|Place { device, inode }| format!("{device}:{inode}"));
        writeln!(text, "    pod {}, netns {netns:?}, seen {}", option(pod), option(seen)).unwrap();
        if let Some(Link { host, mtu }) = link.as_deref() {
            writeln!(text, "    link {host:?}, MTU {mtu}").unwrap();
        }
    }
    if let Some(origin) = origin {
        let Origin { source, claims, why } = origin.as_ref();
        writeln!(text, "    from {source:?}, claims {claims:?}, why {why:?}").unwrap();
    }
    for AssignedAddress { address, source, attributes: of_address } in addresses {
        let Source { pool, range, gateway, pool_attributes, range_attributes } = source.as_ref();
        writeln!(
            text,
            "    {address} of pool {} {}, range {} {}, gateway {}, attributes {}",
            option(pool.as_ref()),
            attributes(pool_attributes),
            option(range.as_ref()),
            attributes(range_attributes),
            option(*gateway),
            attributes(of_address)
        )
        .unwrap();
    }
}
