//! Attaching and assigning: only on what is known, and within the limits of the instance type.

use tenure_ledger::Book;
use tenure_types::{Effect, EffectKind};

use super::take::usable;
use super::{Tally, not_barred};
use crate::budget::Unit;
use crate::names;
use crate::situation::Situation;

/// A request for capacity: how many, of which kind, in which family.
struct GrowthWanted {
    count: u32,
    unit: Unit,
    is_ipv4: bool,
}

pub(super) fn attach(
    situation: &Situation,
    effect: &Effect,
    book: &Book,
    tally: &mut Tally,
) -> Result<(), String> {
    ready(situation)?;
    let prefixes = effect.attributes.get(names::PREFIXES).is_some();
    let name = if prefixes { names::PREFIXES } else { names::ADDRESSES };
    let wanted = GrowthWanted::of(effect, book, name, prefixes)?;
    let primary = situation.seen.primary().map(|primary| primary.subnet.as_str());
    let custom = situation.node.custom.as_ref().map(|custom| custom.subnet.as_str());
    let named = effect.attributes.get(names::SUBNET);
    let id = named.or(if situation.settings.custom_network { custom } else { primary });
    let id = id.ok_or("it names no subnet, and none is known")?;
    let subnet = situation.subnet(id).ok_or_else(|| format!("there is no subnet {id}"))?;
    if !situation.is_candidate(subnet) {
        return Err(format!("no interface may be created in subnet {id}"));
    }
    names::CREATING.iter().try_for_each(|call| not_barred(situation, call, id))?;
    not_backing_off(situation, id, wanted.unit)?;
    let (slots, count) = (situation.slots(wanted.is_ipv4), wanted.count);
    if count > slots {
        return Err(format!("a new interface has room for {slots}, not for {count}"));
    }
    prefixes_fit(situation, wanted.unit)?;
    let coming = situation.interfaces_coming() + tally.interfaces;
    if situation.interfaces_free().saturating_sub(coming) == 0 {
        let most = situation.limits.map_or(0, |limits| limits.interfaces);
        let attached = situation.attached();
        return Err(format!("of {most} interfaces, {attached} are attached and {coming} are coming"));
    }
    tally.interfaces += 1;
    Ok(())
}

pub(super) fn assign(
    situation: &Situation,
    effect: &Effect,
    book: &Book,
    tally: &mut Tally,
) -> Result<(), String> {
    ready(situation)?;
    let prefixes = effect.kind == EffectKind::AssignPrefix;
    let wanted = GrowthWanted::of(effect, book, names::COUNT, prefixes)?;
    let id = effect.attributes.get(names::INTERFACE).ok_or("it names no interface")?;
    let interface = usable(situation, id)?;
    if situation.is_retired(interface) {
        return Err(format!("interface {id} serves no new pods"));
    }
    let call = if wanted.is_ipv4 { "AssignPrivateIpAddresses" } else { "AssignIpv6Addresses" };
    not_barred(situation, call, &interface.subnet)?;
    not_backing_off(situation, &interface.subnet, wanted.unit)?;
    prefixes_fit(situation, wanted.unit)?;
    let coming: u32 = situation
        .open_on(id)
        .filter(|intent| (intent.pool.as_str() != names::IPV6) == wanted.is_ipv4)
        .filter_map(|intent| intent.attributes.get(names::COUNT)?.parse::<u32>().ok())
        .sum();
    let begun = tally.slots.entry((id.to_owned(), wanted.is_ipv4)).or_default();
    let own = situation.ledger_of(id, book);
    let free = situation.slots_free(id, wanted.is_ipv4, &own).saturating_sub(coming).saturating_sub(*begun);
    if wanted.count > free {
        return Err(format!("interface {id} has room for {free}, not for {}", wanted.count));
    }
    *begun += wanted.count;
    Ok(())
}

impl GrowthWanted {
    fn of(effect: &Effect, book: &Book, name: &str, prefixes: bool) -> Result<Self, String> {
        let is_ipv4 = book.pools().get(effect.pool).is_none_or(|pool| pool.name.as_str() != names::IPV6);
        let unit = match (prefixes, is_ipv4) {
            (true, true) => Unit::Prefix,
            (true, false) => Unit::Ipv6Prefix,
            (false, true) => Unit::Address,
            (false, false) => return Err("addresses of IPv6 are assigned as prefixes only".to_owned()),
        };
        let count = effect.attributes.get(name).and_then(|count| count.parse().ok());
        let count = count.filter(|count| *count > 0);
        let count = count.ok_or_else(|| format!("its attribute {name} is not a number above 0"))?;
        Ok(Self { count, unit, is_ipv4 })
    }
}

fn ready(situation: &Situation) -> Result<(), String> {
    if situation.node.terminating {
        return Err("the instance is about to end".to_owned());
    }
    match situation.limits {
        Some(_) => Ok(()),
        None => Err("the limits of the instance type are not known".to_owned()),
    }
}

fn prefixes_fit(situation: &Situation, unit: Unit) -> Result<(), String> {
    let supported = situation.limits.is_some_and(|limits| limits.prefixes);
    match unit != Unit::Address && !supported {
        true => Err("the instance type has no prefixes".to_owned()),
        false => Ok(()),
    }
}

fn not_backing_off(situation: &Situation, subnet: &str, unit: Unit) -> Result<(), String> {
    let left = situation.backoff(subnet, unit);
    match left.is_zero() {
        true => Ok(()),
        false => {
            Err(format!("subnet {subnet} is exhausted; EC2 is asked again in {} s", left.as_secs().max(1)))
        }
    }
}
