//! A history of a node with every fact in every form, told in chapters so that a snapshot can come between any two.

use std::sync::Arc;
use std::time::Duration;

use tenure_ledger::delegations::Given;
use tenure_ledger::{
    Choice, Chooser, Claimant, Delegation, DelegationFact, EffectFact, Families, Intent, IntentOrigin,
    LedgerFact, Presence, Repeat, StepKind, Taken, Wish,
};
use tenure_types::{
    Allocation, ContainerId, Cooling, DefinedPool, Definer, Definition, DelegateName, EffectKind, Generation,
    HolderName, IntentId, InterfaceName, Link, Need, Object, Origin, Owner, Place, Pool, RangeName, Sandbox,
    ScopeName, Supply,
};

use super::doubtful::{doubt, lift};
use super::moved::{begin_moves, end_moves, move_on};
use super::node::{
    Story, agent, at, attributes, ip, named, network, owner, policy, pool, proposal, range, request, sandbox,
};

/// An event of the story.
pub(super) type Deed = fn(&Story<'_>);

/// The history up to the point at which a snapshot is worthwhile.
pub(super) const BEFORE: [Deed; 19] = [
    define_lan,
    supply,
    hand_out,
    claim,
    choose_another,
    exchange,
    take_over,
    renew,
    release,
    drain,
    import,
    define_others,
    exchange_others,
    remember,
    ask_delegates,
    intend,
    begin_moves,
    cool,
    doubt,
];

/// The events while the snapshot is in progress.
pub(super) const DURING: [Deed; 8] =
    [remove, remove_and_define_again, exchange_more, claim_more, remember_more, ask_more, reach, move_on];

/// The events after it.
pub(super) const AFTER: [Deed; 9] =
    [redefine_lan, release_more, withdraw, hand_out_more, remember_again, give_back, end, end_moves, lift];

/// The pools of the network on which most happens; the zone in the west and a range are removed later.
fn pools(later: bool) -> Vec<DefinedPool> {
    let plain = |name: &str| Pool::new(pool(name));
    let zone = |name: &str| Pool {
        need: Need::Optional,
        attributes: attributes(&[("zone", name), ("weight", "2")]),
        ..plain(&format!("zone-{name}"))
    };
    let cloud = Pool {
        supply: Supply::Host,
        need: Need::Optional,
        attributes: attributes(&[("eni", "all")]),
        ..plain("cloud")
    };
    let spare = named(range("10.1.1.0/28", "10.1.1.1", "10.1.1.14", None), "spare");
    let spare = spare.with(attributes(&[("kind", "spare"), ("rack", "7")]));
    let east = named(range("10.2.0.0/16", "10.2.0.0", "10.2.255.255", None), "east\"1\"\\");
    let east = east.with(attributes(&[("rack", "é \"7\"")]));
    let west = range("10.3.0.0/29", "10.3.0.1", "10.3.0.6", Some("10.3.0.6"));
    let main = range("10.1.0.0/24", "10.1.0.4", "10.1.0.19", Some("10.1.0.1"));
    let six = range("fd00:7::/64", "fd00:7::10", "fd00:7::ffff", Some("fe80::1"));
    let mut all = vec![
        DefinedPool { pool: plain("main"), ranges: vec![main, spare] },
        DefinedPool { pool: zone("east"), ranges: vec![east] },
        DefinedPool { pool: zone("west"), ranges: vec![west] },
        DefinedPool { pool: cloud, ranges: Vec::new() },
        DefinedPool { pool: plain("six"), ranges: vec![six] },
    ];
    if later {
        all.remove(2);
        all[0].ranges.pop();
    }
    all
}

fn define_lan(story: &Story<'_>) {
    story.choose("lan", "host-local", Chooser::Configuration, at(1));
    let attributes = attributes(&[("strategy", "spread"), ("note", "a=b,c")]);
    let definition = Definition { pools: pools(false), cooling: Cooling::Preferred, attributes };
    story.define("lan", &definition, Definer::Request, at(1));
}

/// The host supplies three ranges.
fn supply(story: &Story<'_>) {
    for number in 1..=3 {
        let subnet = format!("10.4.{number}.0/28");
        let (first, last) = (format!("10.4.{number}.0"), format!("10.4.{number}.15"));
        let range = named(range(&subnet, &first, &last, None), &format!("eni-{number}/prefix"));
        let range = range.with(attributes(&[("eni", &format!("eni-{number}")), ("device", "2")]));
        story.of_book("lan", |book| vec![book.supply(&pool("cloud"), range, at(2)).unwrap()]);
    }
}

fn hand_out(story: &Story<'_>) {
    let seen = Place::new(5, u64::MAX);
    let web = sandbox(Some(["shop", "web-0", "0f3f6f1e"]), "/var/run/netns/cni-1", seen);
    let link = Some(Box::new(Link { host: "eni00112233445".into(), mtu: 9001 }));
    let web = Sandbox { link, ..web };
    let device: &[(&str, &str)] = &[("device-index", "2"), ("mac", "02:00:00:00:00:01")];
    let of_web = proposal(
        &[(0, "10.1.0.4", &[]), (1, "10.2.0.7", &[]), (3, "10.4.1.3", device), (4, "fd00:7::10", &[])],
        &[("team", "red"), ("tier", "front")],
    );
    story.admit("lan", owner("web", "eth0"), web, &of_web, at(3));
    let bare = proposal(&[(0, "10.1.0.5", &[]), (4, "fd00:7::11", &[])], &[]);
    story.admit("lan", owner("bare", "net1"), Sandbox::default(), &bare, at(3));
    let db = sandbox(Some(["data", "db-0", ""]), "", None);
    let of_db = proposal(&[(0, "10.1.1.3", &[]), (2, "10.3.0.2", &[]), (4, "fd00:7::12", &[])], &[]);
    story.admit("lan", owner("db", "eth0"), db, &of_db, at(4));
    let leaving = sandbox(Some(["shop", "job-1", ""]), "/proc/7/ns/net", None);
    let of_job = proposal(&[(0, "10.1.0.6", &[]), (3, "10.4.2.9", &[]), (4, "fd00:7::13", &[])], &[]);
    story.admit("lan", owner("job", "eth0"), leaving, &of_job, at(4));
}

fn claim(story: &Story<'_>) {
    for (name, last) in [("router", 7), ("health", 8)] {
        let (four, six) = (format!("10.1.0.{last}"), format!("fd00:7::{last}0"));
        let proposal = proposal(&[(0, &four, &[]), (4, &six, &[])], &[("use", name)]);
        story.admit("lan", agent("cilium", name), Sandbox::default(), &proposal, at(5));
    }
    // From before claims were recorded, there are allocations without one.
    for (name, last) in [("ingress", 12), ("egress", 13), ("gateway", 14)] {
        let (four, six) = (format!("10.1.0.{last}"), format!("fd00:7::{last}0"));
        let wish = match name {
            "egress" => Wish::default(),
            "gateway" => Wish {
                optional: Families { ipv4: true, ipv6: true },
                claimant: Claimant {
                    scope: Some(ScopeName::new("router").unwrap()),
                    holder: Some(HolderName::new("pod-1").unwrap()),
                },
                ..Wish::default()
            },
            _ => Wish {
                addresses: vec![ip(&four), ip(&six)],
                families: Families { ipv4: true, ipv6: true },
                lease: Some(Duration::from_secs(90)),
                ..Wish::default()
            },
        };
        let proposal = proposal(&[(0, &four, &[]), (4, &six, &[])], &[]);
        let presence = if name == "ingress" { Presence::Reserved(at(5)) } else { Presence::Here(at(5)) };
        story.claim("lan", &agent("cilium", name), &proposal, wish, presence);
    }
    story.confirm("lan", &agent("cilium", "egress"), at(6));
}

fn choose_another(story: &Story<'_>) {
    story.choose("lan", "zones", Chooser::Operator, at(6));
    story.choose("lan", "sticky", Chooser::Operator, at(7));
}

fn chosen(name: &str, by: Chooser, why: &str, watched: bool) -> Choice {
    Choice { policy: policy(name).as_ref().clone(), by, at: at(9), why: why.to_owned(), watched }
}

/// Every step of an exchange, and policies loaded for it.
fn exchange(story: &Story<'_>) {
    story.load("zones", "/root/zo\"nes\".wasm", "RWQ \u{e9}", at(7));
    story.load("quota", "oci://host/policies/quota", "", at(7));
    story.load("old", "", "", at(7));
    story.unload("old", at(8));
    story.note("lan", StepKind::Refused, "quota", at(8), "it traps: \"why\"\n");
    story.note("lan", StepKind::ShadowBegun, "zones", at(8), "");
    story.choose_as("lan", chosen("zones", Chooser::Operator, "", true));
    story.choose_as("lan", chosen("sticky", Chooser::RollBack, "9 of 10 calls failed", false));
    let before = chosen("sticky", Chooser::RollBack, "9 of 10 calls failed", false);
    story.choose_as("lan", chosen("quota", Chooser::Operator, "", true));
    story.undo("lan", before, at(9));
    story.note("lan", StepKind::ShadowBegun, "quota", at(9), "");
    story.note("lan", StepKind::ShadowEnded, "quota", at(10), "an operator ended it");
    story.choose_as("lan", chosen("host-local", Chooser::Configuration, "", true));
    story.note("lan", StepKind::Kept, "host-local", at(10), "");
    story.note("lan", StepKind::ShadowBegun, "zones", at(10), "");
    story.choose_as("lan", chosen("sticky", Chooser::Operator, "", true));
}

fn exchange_more(story: &Story<'_>) {
    story.unload("quota", at(16));
    story.note("lan", StepKind::Kept, "sticky", at(16), "");
}

/// An owner that another IPAM knows, two unknown ones, and one behind a known owner.
fn take_over(story: &Story<'_>) {
    let origin = |claim: &str, why: &str| Origin {
        source: "host-local /var/lib/cni/networks/lan".into(),
        claims: vec![claim.to_owned(), String::new()],
        why: why.into(),
    };
    story.of_book("lan", |book| {
        let request = request(book.name(), owner("old", "eth0"), Sandbox::default(), at(8));
        let proposal = proposal(&[(0, "10.1.0.9", &[]), (4, "fd00:7::19", &[])], &[]);
        let living = book.admit_living(&request, &proposal, &policy("host-local"), at(8), &[]).unwrap();
        let origin = Some(Box::new(origin("mtime 17", "")));
        vec![LedgerFact::Allocated(Arc::new(Allocation { origin, ..living }))]
    });
    for (address, claim) in [("10.1.0.10", "mtime 18"), ("172.16.0.1", "mtime 19"), ("10.1.0.4", "")] {
        story.of_book("lan", |book| {
            let origin = origin(claim, "its file says \"gone\"");
            let held = book.hold(ip(address), origin, &policy("host-local"), at(8)).unwrap();
            vec![LedgerFact::Allocated(Arc::new(held))]
        });
    }
}

fn renew(story: &Story<'_>) {
    let moved = sandbox(None, "/var/run/netns/cni-2", Place::new(6, 77));
    for (who, sandbox) in
        [("web", moved), ("bare", sandbox(None, "/var/run/netns/cni-3", None)), ("db", Sandbox::default())]
    {
        let interface = if who == "bare" { "net1" } else { "eth0" };
        story.of_book("lan", |book| {
            let request = request(book.name(), owner(who, interface), sandbox, at(9));
            let Some(Repeat::Renews(fact)) = book.repeat(&request) else { panic!("{who}") };
            vec![fact]
        });
    }
}

fn release(story: &Story<'_>) {
    story.release("lan", &owner("job", "eth0"), at(10), "del");
    story.release("lan", &agent("cilium", "health"), at(11), "agent");
    story.release("lan", &agent("cilium", "egress"), at(11), "agent");
    story.release("lan", &Owner::Unknown { address: ip("172.16.0.1") }, at(12), "operator: \"not there\"");
}

fn drain(story: &Story<'_>) {
    for (number, draining) in [(1, true), (2, true), (1, false)] {
        story.of_book("lan", |book| {
            let name = RangeName::new(format!("eni-{number}/prefix")).unwrap();
            Vec::from_iter(book.drain(&pool("cloud"), &name, draining, at(13)).unwrap())
        });
    }
}

/// One import is completed, and one is interrupted.
fn import(story: &Story<'_>) {
    for (name, third) in [("taken-over", 1), ("cut-off", 2)] {
        story.define_small(name, third, Definer::Operator, at(14));
        let importing = |under_way| LedgerFact::Importing { network: network(name), under_way, at: at(14) };
        story.of_book(name, |_| vec![importing(true)]);
        if name == "taken-over" {
            story.of_book(name, |_| vec![importing(false)]);
        }
    }
}

fn define_others(story: &Story<'_>) {
    for (name, third) in [("fixed", 3), ("brief", 4), ("again", 5), ("early", 6)] {
        story.define_small(name, third, Definer::Configuration, at(15));
    }
    let proposal = proposal(&[(0, "10.9.5.2", &[])], &[]);
    story.admit("again", owner("first", "eth0"), Sandbox::default(), &proposal, at(15));
    story.release("again", &owner("first", "eth0"), at(16), "gc");
    story.remove("early", at(16));
}

/// A network that is watched, and one that was rolled back.
fn exchange_others(story: &Story<'_>) {
    story.undo("fixed", chosen("quota", Chooser::Operator, "promoted before", true), at(9));
    story.undo("fixed", chosen("quota", Chooser::Configuration, "by the file", true), at(9));
    story.choose_as("fixed", chosen("zones", Chooser::Operator, "promoted", true));
    story.choose_as("taken-over", chosen("zones", Chooser::RollBack, "3 of 20 calls failed", false));
}

/// Policies keep states, one of them takes over another's, and a network with a state is removed.
fn remember(story: &Story<'_>) {
    for (version, bytes) in [(1, &b"a"[..]), (2, b""), (3, &[0, 0xff, b'"'])] {
        story.keep("lan", "rotation", version, bytes, at(16));
    }
    story.note("lan", StepKind::StateReplaced, "rotation", at(16), "version 3, 3 bytes");
    story.keep("lan", "zones", 4, b"migrated", at(16));
    story.keep("again", "rotation", 1, b"of the first life", at(16));
    story.keep("early", "rotation", 1, b"gone", at(16));
    story.forget("early", at(16));
}

fn remember_more(story: &Story<'_>) {
    story.keep("lan", "zones", 5, b"more", at(17));
    story.restore("lan", "zones", 6, b"migrated", at(17));
    story.forget("again", at(17));
    story.keep("fixed", "rotation", 1, b"b", at(17));
}

fn remember_again(story: &Story<'_>) {
    story.keep("lan", "rotation", 7, b"back", at(25));
    story.restore("lan", "zones", 8, b"", at(25));
}

/// A delegate is asked for a pod, for a claim and for an unknown owner.
fn ask_delegates(story: &Story<'_>) {
    let unknown = Owner::Unknown { address: ip("10.1.0.99") };
    for (container, owner) in
        [("web", owner("web", "eth0")), ("tenure-claim-1", agent("monitor", "probe")), ("x", unknown)]
    {
        story.delegate(DelegationFact::Asked(delegation(container, owner, "/var/run/netns/cni-1")));
    }
    given(story, owner("web", "eth0"), 1);
    given(story, agent("monitor", "probe"), 2);
    given(story, Owner::Unknown { address: ip("10.1.0.99") }, 3);
}

/// Returns the pod's addresses and asks for another, of which nothing is known yet.
fn ask_more(story: &Story<'_>) {
    ended(story, owner("web", "eth0"));
    story.delegate(DelegationFact::Asked(delegation("web-1", owner("web-1", "eth0"), "")));
}

fn give_back(story: &Story<'_>) {
    ended(story, agent("monitor", "probe"));
    ended(story, Owner::Unknown { address: ip("10.1.0.99") });
}

fn ended(story: &Story<'_>, owner: Owner) {
    story.delegate(DelegationFact::Ended { network: network("lan"), owner, at: at(26) });
}

fn delegation(container: &str, owner: Owner, netns: &str) -> Delegation {
    Delegation {
        network: network("lan"),
        owner,
        delegate: DelegateName::new("azure").unwrap(),
        container: ContainerId::new(container).unwrap(),
        interface: InterfaceName::new("eth0").unwrap(),
        netns: netns.into(),
        ipam: r#"{"mode":"overlay"}"#.into(),
        since: at(16),
        given: None,
    }
}

fn given(story: &Story<'_>, owner: Owner, generation: u64) {
    let given =
        Given { generation: Generation(generation), addresses: vec![ip("10.1.0.4"), ip("fd00:7::10")] };
    story.delegate(DelegationFact::Given { network: network("lan"), owner, given, at: at(17) });
}

/// One intent of each kind, those about blocks begun by the host, and two objects.
fn intend(story: &Story<'_>) {
    for kind in EffectKind::ALL {
        story.affect(EffectFact::Intended(Intent {
            id: intent(kind),
            network: network("lan"),
            pool: pool("cloud"),
            kind,
            attributes: attributes(&[("interface", "eni-1"), ("count", "2")]),
            takes: taken(kind),
            origin: match kind {
                EffectKind::RequestBlock | EffectKind::GiveBackBlock => IntentOrigin::Host,
                _ => IntentOrigin::Policy(policy("aws-eni").as_ref().clone()),
            },
            since: at(16),
            reached: attributes(&[("attempts", "1")]),
        }));
    }
    for name in ["eni-1", "eni-2"] {
        let attributes = attributes(&[("slots.free", "3")]);
        let object = Object { kind: "interface".into(), name: name.into(), attributes };
        story.affect(EffectFact::Seen { object, at: at(16) });
    }
}

/// Two ranges for an effect that takes any; one of them has been draining before.
fn taken(kind: EffectKind) -> Vec<Taken> {
    let taken = |range: &str, was_open| Taken {
        pool: pool("cloud"),
        range: RangeName::new(range).unwrap(),
        was_open,
    };
    if kind.takes() { vec![taken("eni-1/a", true), taken("eni-1/b", false)] } else { Vec::new() }
}

fn reach(story: &Story<'_>) {
    let (id, network) = (intent(EffectKind::AttachInterface), network("lan"));
    let reached = attributes(&[("interface", "eni-3"), ("attachment", "eni-attach-3")]);
    story.affect(EffectFact::Reached { id, network, reached, at: at(19) });
}

fn end(story: &Story<'_>) {
    let (done, undone) = (intent(EffectKind::AssignPrefix), intent(EffectKind::RequestBlock));
    story.affect(EffectFact::Done { id: done, network: network("lan"), at: at(26) });
    let why = "the pool has no block left".into();
    story.affect(EffectFact::Undone { id: undone, network: network("lan"), why, at: at(26) });
    story.affect(EffectFact::Gone { kind: "interface".into(), name: "eni-2".into(), at: at(26) });
}

fn intent(kind: EffectKind) -> IntentId {
    IntentId::new(format!("0f3a-{}", kind.name())).unwrap()
}

fn remove(story: &Story<'_>) {
    let proposal = proposal(&[(0, "10.9.4.3", &[])], &[]);
    story.admit("brief", owner("last", "eth0"), Sandbox::default(), &proposal, at(17));
    story.release("brief", &owner("last", "eth0"), at(17), "leak");
    story.remove("brief", at(18));
}

/// Addresses that cool for longer than their network asks now, and others whose network is gone.
fn cool(story: &Story<'_>) {
    let asking = |name: &str, third: u8, asked: Option<&str>| {
        story.define_small(name, third, Definer::Request, at(16));
        let attributes = attributes(&Vec::from_iter(asked.map(|seconds| ("cooldownSeconds", seconds))));
        let pools = story.memory.with(&network(name), |book| book.definition().pools);
        story.define(
            name,
            &Definition { pools, attributes, ..Definition::default() },
            Definer::Request,
            at(16),
        );
    };
    let free = |name: &str, address: &str| {
        let proposal = proposal(&[(0, address, &[])], &[]);
        story.admit(name, owner(address, "eth0"), Sandbox::default(), &proposal, at(17));
        story.release(name, &owner(address, "eth0"), at(18), "del");
    };
    asking("hasty", 21, Some("600"));
    free("hasty", "10.9.21.1");
    asking("hasty", 21, None);
    free("hasty", "10.9.21.2");
    asking("left", 22, Some("900"));
    free("left", "10.9.22.1");
    asking("left", 22, None);
    free("left", "10.9.22.2");
    story.remove("left", at(18));
}

fn remove_and_define_again(story: &Story<'_>) {
    for _ in 0..2 {
        story.remove("again", at(19));
        story.define_small("again", 7, Definer::Request, at(19));
    }
    let proposal = proposal(&[(0, "10.9.7.2", &[])], &[]);
    story.admit("again", owner("second", "eth0"), Sandbox::default(), &proposal, at(19));
}

/// Ranges and a pool are removed while their addresses are held.
fn redefine_lan(story: &Story<'_>) {
    let definition = Definition { pools: pools(true), cooling: Cooling::Strict, ..Definition::default() };
    story.define("lan", &definition, Definer::Operator, at(20));
}

/// The unknown owner in the second place now holds the address.
fn release_more(story: &Story<'_>) {
    story.release("lan", &owner("web", "eth0"), at(21), "repair");
    story.release("lan", &Owner::Unknown { address: ip("10.1.0.10") }, at(22), "import");
}

fn withdraw(story: &Story<'_>) {
    for number in [2, 3] {
        story.of_book("lan", |book| {
            let name = RangeName::new(format!("eni-{number}/prefix")).unwrap();
            Vec::from_iter(book.withdraw(&pool("cloud"), &name, at(23)).unwrap())
        });
    }
}

fn claim_more(story: &Story<'_>) {
    let proposal = proposal(&[(0, "10.1.0.15", &[]), (4, "fd00:7::150", &[])], &[]);
    story.claim("lan", &agent("monitor", "probe"), &proposal, Wish::default(), Presence::Here(at(18)));
}

fn hand_out_more(story: &Story<'_>) {
    let pod = sandbox(Some(["shop", "web-1", "u"]), "/var/run/netns/cni-9", None);
    let proposal = proposal(&[(0, "10.1.0.11", &[]), (3, "fd00:7::14", &[])], &[("team", "red")]);
    story.admit("lan", owner("web-1", "eth0"), pod, &proposal, at(24));
}
