//! Places for more ranges: on the interfaces that are there, the fullest first, and then on new ones.

use super::action::PlanStep;
use crate::supply::{PoolSupply, RangeUnit, SupplySubnet};

/// The remaining room of the node and of EC2 while a plan is made.
#[derive(Debug)]
pub(super) struct Spots {
    interfaces: Vec<Spot>,
    subnets: Vec<SupplySubnet>,
    room: u32,
    new_slots: u32,
    /// The slots of interfaces on their way that nothing is assigned to yet: they come sooner than those of one more interface.
    coming: u32,
    prefix_size: u32,
}

#[derive(Debug)]
struct Spot {
    interface: String,
    subnet: Option<usize>,
    slots: u32,
}

impl Spots {
    pub(super) fn of(supply: &PoolSupply) -> Self {
        let mut taking: Vec<_> =
            supply.interfaces.iter().filter(|interface| interface.takes_more()).collect();
        taking.sort_by_key(|interface| {
            (!interface.is_primary, std::cmp::Reverse(interface.used()), interface.name.clone())
        });
        let position = |name: &str| supply.subnets.iter().position(|subnet| subnet.name == name);
        let spot = |interface: &crate::supply::NodeInterface| Spot {
            interface: interface.name.clone(),
            subnet: interface.subnet.as_deref().and_then(position),
            slots: interface.slots,
        };
        Self {
            interfaces: taking.into_iter().map(spot).collect(),
            subnets: supply.subnets.clone(),
            room: supply.interfaces_room,
            new_slots: supply.new_slots,
            coming: supply.coming_slots,
            prefix_size: supply.prefix_size,
        }
    }

    fn size(&self, unit: RangeUnit) -> u32 {
        match unit {
            RangeUnit::Address => 1,
            RangeUnit::Prefix => self.prefix_size,
        }
    }

    /// Takes the next spot for up to `most`; returns the step and how many it assigns.
    pub(super) fn next(&mut self, unit: RangeUnit, most: u32) -> Option<(PlanStep, u32)> {
        self.on_interface(unit, most).or_else(|| self.on_new(unit, most.saturating_sub(self.coming)))
    }

    fn on_interface(&mut self, unit: RangeUnit, most: u32) -> Option<(PlanStep, u32)> {
        let size = self.size(unit);
        for spot in &mut self.interfaces {
            let subnet = spot.subnet.and_then(|index| self.subnets.get_mut(index));
            let has = subnet.as_ref().map_or(u32::MAX, |subnet| subnet.has(unit, size));
            let count = spot.slots.min(has).min(most);
            if count == 0 {
                continue;
            }
            spot.slots -= count;
            if let Some(subnet) = subnet {
                subnet.take(count.saturating_mul(size));
            }
            return Some((PlanStep::Assign { interface: spot.interface.clone(), unit, count }, count));
        }
        None
    }

    fn on_new(&mut self, unit: RangeUnit, most: u32) -> Option<(PlanStep, u32)> {
        let (size, most) = (self.size(unit), most.min(self.new_slots));
        if self.room == 0 || most == 0 {
            return None;
        }
        let (subnet, count) = match self.subnets.is_empty() {
            true => (None, most),
            false => {
                let subnet = self.subnets.iter_mut().filter(|subnet| fits(subnet, unit, size) > 0);
                // The most addresses; of several, the first by name.
                let subnet =
                    subnet.reduce(|one, other| if other.available > one.available { other } else { one })?;
                let count = most.min(fits(subnet, unit, size));
                subnet.take(count.saturating_mul(size).saturating_add(1));
                (Some(subnet.name.clone()), count)
            }
        };
        self.room -= 1;
        Some((PlanStep::Attach { subnet, unit, count }, count))
    }

    /// Whether there is a slot left, on an interface or on a new one, regardless of what EC2 has.
    pub(super) fn has_slots(&self) -> bool {
        self.coming > 0
            || (self.room > 0 && self.new_slots > 0)
            || self.interfaces.iter().any(|spot| spot.slots > 0)
    }

    /// Whether EC2 may have something of this kind for a slot that is there, on its way, or possible on a new interface. Of interfaces on
    /// their way, the subnet is not known here: it is one of those in which interfaces are created.
    pub(super) fn may_have(&self, unit: RangeUnit) -> bool {
        let size = self.size(unit);
        let has = |index: usize| self.subnets.get(index).is_some_and(|subnet| subnet.has(unit, size) > 0);
        let on_interface = |spot: &Spot| spot.slots > 0 && spot.subnet.is_some_and(has);
        let is_coming = self.coming > 0 || (self.room > 0 && self.new_slots > 0);
        let in_candidate =
            self.subnets.iter().any(|subnet| subnet.is_candidate && subnet.has(unit, size) > 0);
        self.interfaces.iter().any(on_interface) || (is_coming && in_candidate)
    }

    /// Describes for people what EC2 lacks at present.
    pub(super) fn shortage(&self) -> String {
        if self.coming > 0 {
            return format!("{} slots of interfaces on their way are not assigned yet", self.coming);
        }
        let told = |subnet: &SupplySubnet| {
            if let Some((call, seconds)) = &subnet.refused {
                return format!("{}: EC2 refuses {call}; it is asked again in {seconds} s", subnet.name);
            }
            let left = subnet.backoff_addresses.max(subnet.backoff_prefixes);
            match left {
                0 => format!(
                    "{} has {} free addresses; EC2 is asked again in {} s what it has",
                    subnet.name, subnet.available, subnet.asked
                ),
                seconds => format!("{} is exhausted; EC2 is asked again in {seconds} s", subnet.name),
            }
        };
        let used = |subnet: &&SupplySubnet| {
            let index = self.subnets.iter().position(|other| other.name == subnet.name);
            subnet.is_candidate
                || subnet.refused.is_some()
                || self.interfaces.iter().any(|spot| spot.slots > 0 && spot.subnet == index)
        };
        let told: Vec<_> = self.subnets.iter().filter(used).take(4).map(told).collect();
        match told.is_empty() {
            true => "no subnet is known in which an interface may be created".into(),
            false => told.join(", "),
        }
    }
}

/// How many addresses or prefixes a new interface could get in a subnet, beside its own address.
fn fits(subnet: &SupplySubnet, unit: RangeUnit, size: u32) -> u32 {
    let mut rest = subnet.clone();
    rest.take(1);
    match subnet.is_candidate && subnet.has(RangeUnit::Address, 1) > 0 {
        true => rest.has(unit, size),
        false => 0,
    }
}
