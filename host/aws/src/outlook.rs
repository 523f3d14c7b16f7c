//! The input of a plan: interfaces, subnets, unused ranges and labels, the limits of the node, and the time. `wit/README.md` lists the names.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ipnet::IpNet;
use tenure_engine::Outlook;
use tenure_ledger::Book;
use tenure_types::{Attributes, InvalidAttributes, Object, agreed};

use crate::budget::Unit;
use crate::date::date;
use crate::names;
use crate::port::{Ec2Subnet, Status};
use crate::seen::{Duty, SeenInterface, SeenStanding};
use crate::situation::{Situation, ledger_by_interface};

/// Makes the outlook of a plan.
///
/// # Errors
/// If EC2 uses names that cannot be values.
pub fn outlook(situation: &Situation, book: &Book) -> Result<Outlook, InvalidAttributes> {
    let mut objects = Vec::new();
    let (ledger, nothing) = (ledger_by_interface(book), BTreeSet::new());
    for (id, known) in situation.seen.interfaces().filter(|(id, _)| !situation.is_coming(id)) {
        objects.push(interface(situation, id, known, ledger.get(id).unwrap_or(&nothing))?);
    }
    for known in &situation.subnets {
        objects.push(subnet(situation, known)?);
    }
    for (name, idle) in &situation.idle {
        let seconds = idle.as_secs().to_string();
        objects.push(object(names::RANGE, name, [("idle.seconds", seconds.as_str())])?);
    }
    let node = &situation.node;
    for (name, value) in &node.labels {
        objects.push(object(names::LABEL, name, [(names::VALUE, value.as_str())])?);
    }
    let mut pairs = vec![
        (agreed::INTERFACES_FREE, situation.interfaces_free().to_string()),
        (agreed::INTERFACES_SLOTS, situation.slots(true).to_string()),
        (agreed::INTERFACES_IPV6_SLOTS, situation.slots(false).to_string()),
    ];
    pairs.extend(situation.is_hiding.then(|| ("interfaces.hidden", "true".to_owned())));
    pairs.extend(node.most_pods.map(|most| (agreed::MOST_PODS, most.to_string())));
    let has_prefixes = situation.limits.is_none_or(|limits| limits.prefixes);
    pairs.push((agreed::PREFIXES_SUPPORTED, has_prefixes.to_string()));
    pairs.push((agreed::SCHEDULABLE, node.schedulable.unwrap_or(true).to_string()));
    pairs.push((agreed::TERMINATING, node.terminating.to_string()));
    pairs.extend(node.instance_type.clone().map(|of| (agreed::INSTANCE_TYPE, of)));
    pairs.push((agreed::TIME, date(situation.wall)));
    Ok(Outlook { objects, attributes: Attributes::new(pairs)? })
}

fn interface(
    situation: &Situation,
    id: &str,
    known: &SeenInterface,
    own: &BTreeSet<IpNet>,
) -> Result<Object, InvalidAttributes> {
    let duty = known.facts.as_ref().map(|facts| situation.seen.duty(facts));
    let is_sure = situation.seen.standing(id) == Some(SeenStanding::Confirmed);
    let in_use = known.facts.as_ref().is_some_and(|facts| facts.status == Status::InUse);
    // Nothing is done about what is in doubt.
    let is_managed = is_sure && in_use && duty.as_ref().is_some_and(Duty::is_managed);
    let since =
        known.facts.as_ref().and_then(|facts| facts.attachment.as_ref()).map(|attachment| attachment.since);
    let age = since.map_or(0, |since| situation.wall.saturating_sub(since));
    let subnet = known.facts.as_ref().map(|facts| facts.subnet.as_str()).unwrap_or_default();
    let mut pairs = vec![
        ("primary", (duty == Some(Duty::Primary)).to_string()),
        ("managed", is_managed.to_string()),
        (names::SUBNET, subnet.to_owned()),
        ("age.seconds", age.to_string()),
        ("slots.free", situation.slots_free(id, true, own).to_string()),
        ("ipv6.slots.free", situation.slots_free(id, false, own).to_string()),
    ];
    for (name, is_ipv4) in [("slots.doubtful", true), ("ipv6.slots.doubtful", false)] {
        let doubtful = situation.slots_doubtful(id, is_ipv4, own);
        pairs.extend((doubtful > 0).then(|| (name, doubtful.to_string())));
    }
    let is_retired = known.facts.as_ref().is_some_and(|facts| situation.is_retired(facts));
    if is_managed && !is_retired && situation.open_on(id).next().is_none() {
        let counts = settling(situation, id, known, own);
        pairs.extend(counts.into_iter().map(|(name, count)| (name, count.to_string())));
    }
    object(names::INTERFACE, id, pairs.iter().map(|(name, value)| (*name, value.as_str())))
}

/// Counts what an interface is to get although no call brings it: EC2 shows it, and an earlier process may have taken it, or the network was
/// redefined and may have its pool only now.
fn settling(
    situation: &Situation,
    id: &str,
    known: &SeenInterface,
    own: &BTreeSet<IpNet>,
) -> BTreeMap<&'static str, u32> {
    let is_it = |net: &&IpNet| {
        (situation.seen.is_settling(id, **net) || situation.is_redefined)
            && situation.seen.is_shown(id, **net)
            && !own.contains(net)
    };
    let mut counts = BTreeMap::<&str, u32>::new();
    for net in known.carries.keys().filter(is_it) {
        let name = match (net.addr().is_ipv4(), net.prefix_len() == net.max_prefix_len()) {
            (true, true) => "settling.addresses",
            (true, false) => "settling.prefixes",
            (false, _) => "ipv6.settling.prefixes",
        };
        *counts.entry(name).or_default() += 1;
    }
    counts
}

fn subnet(situation: &Situation, known: &Ec2Subnet) -> Result<Object, InvalidAttributes> {
    // A started second is one.
    let seconds = |left: Duration| (left.as_secs() + u64::from(left.subsec_nanos() > 0)).to_string();
    let left = |unit| seconds(situation.backoff(&known.id, unit));
    let is_candidate = situation.is_candidate(known);
    let barred =
        names::CREATING.iter().filter(|_| is_candidate).find_map(|call| situation.barred(call, &known.id));
    let mut pairs = vec![
        ("interfaces", (is_candidate && barred.is_none()).to_string()),
        ("excluded", situation.is_excluded(known).to_string()),
        ("available", known.available.to_string()),
        ("asked.seconds", seconds(situation.subnets_in)),
        ("backoff.addresses", left(Unit::Address)),
        ("backoff.prefixes", left(Unit::Prefix)),
        ("ipv6.backoff.prefixes", left(Unit::Ipv6Prefix)),
    ];
    if let Some(barred) = barred {
        let refused = format!("{}: {}", barred.call, barred.code);
        pairs.extend([("refused", refused), ("refused.seconds", seconds(barred.left))]);
    }
    object(names::SUBNET, &known.id, pairs.iter().map(|(name, value)| (*name, value.as_str())))
}

fn object<'a>(
    kind: &str,
    name: &str,
    pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Object, InvalidAttributes> {
    Ok(Object { kind: kind.to_owned(), name: name.to_owned(), attributes: Attributes::new(pairs)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{Ledger, intent, interface as eni, net, seconds, situation, subnet as of_zone};
    use crate::situation::Barred;
    use tenure_types::EffectKind;

    fn shown(situation: &Situation, ledger: &Ledger) -> Vec<String> {
        let outlook = outlook(situation, &ledger.book).unwrap();
        let objects = outlook
            .objects
            .iter()
            .map(|object| format!("{} {}: {}", object.kind, object.name, object.attributes));
        objects.chain([outlook.attributes.to_string()]).collect()
    }

    #[test]
    fn a_plan_is_told_of_interfaces_subnets_unused_ranges_and_limits() {
        let enis = [eni("eni-0", 0, &["10.0.0.5/32"]), eni("eni-1", 1, &["10.0.0.6/32", "10.0.0.7/32"])];
        let mut situation = situation(&enis);
        situation.idle.insert("10.0.0.5/32".to_owned(), seconds(7));
        situation.backoffs.insert(("subnet-1".to_owned(), Unit::Prefix), seconds(30));
        situation.subnets.push(of_zone(2, &[(names::ROLE_TAG, "0")]));
        situation.node.most_pods = Some(11);
        situation.node.instance_type = Some("t3.small".to_owned());
        situation.node.labels = [("pool".to_owned(), "batch".to_owned())].into();
        assert_eq!(
            shown(&situation, &Ledger::of(&enis)),
            [
                "interface eni-0: age.seconds=99000,ipv6.slots.free=4,managed=true,primary=true,slots.free=2,subnet=subnet-1",
                "interface eni-1: age.seconds=99000,ipv6.slots.free=4,managed=true,primary=false,slots.free=1,subnet=subnet-1",
                "subnet subnet-1: asked.seconds=0,available=200,backoff.addresses=0,backoff.prefixes=30,excluded=false,interfaces=true,ipv6.backoff.prefixes=0",
                "subnet subnet-2: asked.seconds=0,available=200,backoff.addresses=0,backoff.prefixes=0,excluded=true,interfaces=false,ipv6.backoff.prefixes=0",
                "range 10.0.0.5/32: idle.seconds=7",
                "label pool: value=batch",
                "instance.type=t3.small,interfaces.free=1,interfaces.ipv6.slots=4,interfaces.slots=3,pods.max=11,prefixes.supported=true,schedulable=true,terminating=false,time.utc=1970-01-02T03:46:40Z",
            ]
        );
    }

    #[test]
    fn what_has_not_settled_is_counted_until_the_ledger_has_it() {
        let enis = [eni("eni-0", 0, &["10.0.0.5/32", "10.0.0.32/28", "2001:db8:0:1:5::/80"])];
        let mut situation = situation(&[]);
        situation.seen = crate::seen::SeenNode::new("i-1", seconds(60), true);
        situation.seen.starts(seconds(1000));
        situation.seen.described(&enis, seconds(1001));
        let counts = "ipv6.settling.prefixes=1,ipv6.slots.free=3,managed=true,primary=true,settling.addresses=1,settling.prefixes=1,slots.free=1";
        let all = &shown(&situation, &Ledger::new())[0];
        assert!(all.contains(counts), "{all}");
        assert!(!shown(&situation, &Ledger::of(&enis))[0].contains("settling"), "the ledger has it");
        situation.seen.described(&enis, seconds(1060));
        assert!(!shown(&situation, &Ledger::new())[0].contains("settling"), "it is adopted now");
        situation.is_redefined = true;
        assert_eq!(&shown(&situation, &Ledger::new())[0], all, "as soon as the supply was compared");
    }

    #[test]
    fn what_ec2_shows_no_longer_and_the_ledger_never_had_is_in_doubt() {
        let before = [eni("eni-0", 0, &["10.0.0.5/32", "10.0.0.6/32", "10.0.0.7/32"])];
        let after = [eni("eni-0", 0, &["10.0.0.5/32"])];
        let mut situation = situation(&before);
        situation.seen.described(&after, seconds(1001));
        let mut ledger = Ledger::of(&after);
        ledger.add(net("10.0.0.6/32"), "eni-0", 0);
        let of_eni = &shown(&situation, &ledger)[0];
        assert!(of_eni.contains(",slots.doubtful=1,slots.free=0,"), "{of_eni}");
    }

    #[test]
    fn what_is_coming_is_in_no_count() {
        let enis = [eni("eni-0", 0, &["10.0.0.5/32", "10.0.0.9/32"]), eni("eni-1", 1, &["10.0.0.6/32"])];
        let mut ledger = Ledger::new();
        ledger.add(net("10.0.0.5/32"), "eni-0", 0);
        let mut situation = situation(&enis);
        situation.open = vec![
            intent(EffectKind::AttachInterface, &[], &[("interface", "eni-1")]),
            intent(EffectKind::AssignAddress, &[("interface", "eni-0")], &[]),
        ];
        let shown = shown(&situation, &ledger);
        assert!(
            shown[0].starts_with("interface eni-0:") && shown[0].contains(",slots.free=2,"),
            "{}",
            shown[0]
        );
        assert!(shown[1].starts_with("subnet"), "eni-1 is not shown: {}", shown[1]);
        assert!(shown[2].starts_with("interfaces.free=2,"), "{}", shown[2]);
    }

    #[test]
    fn nothing_is_done_about_what_is_in_doubt_and_no_interface_is_created_where_that_is_barred() {
        let enis = [eni("eni-0", 0, &[]), eni("eni-1", 1, &[])];
        let mut situation = situation(&enis);
        situation.seen.described(&enis[..1], seconds(1001));
        let barred = Barred {
            call: "CreateNetworkInterface",
            subnet: None,
            code: "UnauthorizedOperation".to_owned(),
            why: "denied".to_owned(),
            left: seconds(600),
        };
        situation.barred.push(barred);
        let shown = shown(&situation, &Ledger::new());
        assert!(
            shown[1].contains("managed=false") && shown[1].contains(",slots.doubtful=3,"),
            "{}",
            shown[1]
        );
        assert!(shown[2].contains("interfaces=false"), "{}", shown[2]);
        assert!(
            shown[2].contains("refused=CreateNetworkInterface: UnauthorizedOperation,refused.seconds=600"),
            "{}",
            shown[2]
        );
    }

    #[test]
    fn interfaces_are_created_where_the_settings_and_the_tags_allow_it() {
        let mut situation = situation(&[eni("eni-0", 0, &[])]);
        let cases = [
            (1, vec![], true),
            (1, vec![(names::ROLE_TAG, "0")], false),
            (2, vec![], false),
            (2, vec![(names::ROLE_TAG, "1")], true),
            (2, vec![(names::ROLE_TAG, "1"), ("cni.networking.k8s.aws/cluster/blue", "shared")], true),
            (2, vec![(names::ROLE_TAG, "1"), ("cni.networking.k8s.aws/cluster/red", "shared")], false),
        ];
        situation.settings.cluster = Some("blue".to_owned());
        for (number, tags, expected) in cases {
            assert_eq!(situation.is_candidate(&of_zone(number, &tags)), expected, "{number} {tags:?}");
        }
        situation.settings.discover_subnets = false;
        assert!(situation.is_candidate(&of_zone(1, &[])));
        assert!(!situation.is_candidate(&of_zone(2, &[(names::ROLE_TAG, "1")])));
        situation.settings.custom_network = true;
        assert!(!situation.is_candidate(&of_zone(1, &[])), "no ENIConfig is known");
        let custom = crate::situation::CustomNetwork { subnet: "subnet-2".to_owned(), groups: Vec::new() };
        situation.node.custom = Some(custom);
        assert!(situation.is_candidate(&of_zone(2, &[])) && !situation.is_candidate(&of_zone(1, &[])));
        assert!(situation.is_retired(&eni("eni-0", 0, &[])) && !situation.is_retired(&eni("eni-1", 1, &[])));
    }
}
