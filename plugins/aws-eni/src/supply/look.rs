//! Reads the supply of a pool from the ledger and the state of a plan.

use std::collections::BTreeMap;

use tenure_sdk::ledger::{Pool, RangeView};
use tenure_sdk::{Object, SupplySituation, ledger};

use super::pending::PendingRanges;
use super::{InterfaceDuty, NodeInterface, PoolSupply, RangeRun, RangeUnit, SupplySubnet};
use crate::names::{FALSE, INTERFACE, INTERFACES, IPV6, RANGES, SUBNET, SUBNETS, TRUE};
use crate::settings::AwsSettings;

/// The addresses of an IPv4 prefix, a /28.
const IPV4_PREFIX: u32 = 16;

/// The most pods of a node that does not say: the kubelet's default, or as many as the type has addresses for.
const USUAL_PODS: u32 = 110;

/// Reads the supply of a pool.
#[must_use]
pub fn look(settings: &AwsSettings, state: &SupplySituation, pool: &Pool) -> PoolSupply {
    let is_ipv6 = pool.name == IPV6;
    let pending = PendingRanges::of(state, pool.index);
    let subnets: Vec<_> = state.objects(SUBNETS).map(|object| SupplySubnet::read(object, is_ipv6)).collect();
    let idle =
        state.objects(RANGES).filter_map(|range| Some((range.name.as_str(), range.number("idle.seconds")?)));
    let idle: BTreeMap<&str, u32> = idle.collect();
    let reader = StateReader { settings, pending: &pending, subnets: &subnets, idle: &idle, is_ipv6 };
    let mut interfaces: BTreeMap<String, NodeInterface> =
        state.objects(INTERFACES).map(|object| (object.name.clone(), reader.interface(object))).collect();
    for other in ledger::pools() {
        for view in other.shelf().ranges() {
            let name = view.range.attributes.get(INTERFACE).unwrap_or_default();
            let interface = interfaces.entry(name.to_owned()).or_insert_with(|| unknown(name));
            if other.index == pool.index {
                interface.runs.push(reader.run(&view));
            } else {
                interface.has_others = true;
            }
        }
    }
    let attached = u32::try_from(state.objects(INTERFACES).count()).unwrap_or(u32::MAX);
    let of_type = state.number("interfaces.free").unwrap_or_default();
    let allowed = settings.most_interfaces.map_or(of_type, |most| of_type.min(most.saturating_sub(attached)));
    // IPv6 addresses are on the interfaces that IPv4 needs, if there is IPv4.
    let may_attach = !is_ipv6 || !settings.ipv4;
    // What settles is adopted within a minute.
    let settling = |name| {
        state.objects(INTERFACES).filter_map(|object| object.number(name)).fold(0, u32::saturating_add)
    };
    let (settling_addresses, settling_prefixes) = match is_ipv6 {
        true => (0, settling("ipv6.settling.prefixes")),
        false => (settling("settling.addresses"), settling("settling.prefixes")),
    };
    let new_slots = state.number(if is_ipv6 { "interfaces.ipv6.slots" } else { "interfaces.slots" });
    let new_slots = new_slots.unwrap_or_default();
    let of_all = state.number("interfaces.slots").unwrap_or_default();
    let of_type = attached.saturating_add(of_type).saturating_mul(of_all);
    PoolSupply {
        interfaces: interfaces.into_values().collect(),
        interfaces_room: if may_attach { allowed.saturating_sub(pending.interfaces) } else { 0 },
        is_hiding: state.attributes.get("interfaces.hidden") == Some(TRUE),
        new_slots,
        coming_slots: pending.interfaces.saturating_mul(new_slots).saturating_sub(pending.interface_slots),
        prefix_size: if is_ipv6 { u32::MAX } else { IPV4_PREFIX },
        most_pods: settings.most_pods.or(state.number("pods.max")).unwrap_or(USUAL_PODS.max(of_type)),
        waiting: state.waiting(pool.index),
        coming_addresses: pending.addresses.saturating_add(settling_addresses),
        coming_prefixes: pending.prefixes.saturating_add(settling_prefixes),
        subnets,
    }
}

/// An interface that the host does not show, although the ledger has addresses of it.
fn unknown(name: &str) -> NodeInterface {
    NodeInterface {
        name: name.into(),
        subnet: None,
        duty: InterfaceDuty::Foreign,
        is_primary: false,
        is_leaving: false,
        has_others: false,
        age: 0,
        slots: 0,
        doubtful_slots: 0,
        is_growing: false,
        runs: Vec::new(),
    }
}

struct StateReader<'a> {
    settings: &'a AwsSettings,
    pending: &'a PendingRanges<'a>,
    subnets: &'a [SupplySubnet],
    /// How long each unused range has been unused.
    idle: &'a BTreeMap<&'a str, u32>,
    is_ipv6: bool,
}

impl StateReader<'_> {
    fn interface(&self, object: &Object) -> NodeInterface {
        let is = |name: &str, value: &str| object.attributes.get(name) == Some(value);
        let subnet_of = object.attributes.get(SUBNET);
        let is_primary = is("primary", TRUE);
        let in_excluded =
            |subnet: &&SupplySubnet| subnet.is_excluded && Some(subnet.name.as_str()) == subnet_of;
        let duty = match self.subnets.iter().find(in_excluded) {
            _ if is("managed", FALSE) => InterfaceDuty::Foreign,
            None if !(is_primary && self.settings.custom_network) => InterfaceDuty::Serving,
            _ => InterfaceDuty::Retired,
        };
        let requested = self.pending.slots.get(object.name.as_str()).copied().unwrap_or_default();
        let slots = object.number(if self.is_ipv6 { "ipv6.slots.free" } else { "slots.free" });
        let doubtful = object.number(if self.is_ipv6 { "ipv6.slots.doubtful" } else { "slots.doubtful" });
        NodeInterface {
            name: object.name.clone(),
            subnet: subnet_of.map(str::to_owned),
            duty,
            is_primary,
            is_leaving: self.pending.leaving.contains(object.name.as_str()),
            has_others: false,
            age: object.number("age.seconds").unwrap_or_default(),
            slots: slots.unwrap_or_default().saturating_sub(requested),
            doubtful_slots: doubtful.unwrap_or_default(),
            is_growing: requested > 0,
            runs: Vec::new(),
        }
    }

    fn run(&self, view: &RangeView) -> RangeRun {
        let range = &view.range;
        RangeRun {
            name: range.name.clone(),
            unit: RangeUnit::of(range),
            total: view.usage.total,
            held: view.usage.held,
            cooling: view.usage.cooling,
            is_open: view.is_open,
            is_leaving: self.pending.released.contains(range.name.as_str()),
            idle: self.idle.get(range.name.as_str()).copied().unwrap_or_default(),
        }
    }
}
