//! Assigning addresses and prefixes to interfaces, and taking them away.

use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

use super::State;
use super::attach::no_prefixes;
use super::events::Event;
use super::refusal::Refusal;
use super::time::Time;
use super::wanted::{Wanted, take_four, take_six};

/// The result of an assignment: only the new addresses and prefixes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assigned<A, P> {
    /// The addresses.
    pub addresses: Vec<A>,
    /// The prefixes.
    pub prefixes: Vec<P>,
}

impl State {
    /// Assigns IPv4 addresses or prefixes. `reassign` allows to take named addresses from other interfaces.
    ///
    /// # Errors
    /// EC2's refusals; then nothing is assigned.
    pub fn assign(
        &mut self,
        id: &str,
        wanted: &Wanted<Ipv4Addr, Ipv4Net>,
        reassign: bool,
        now: Time,
    ) -> Result<Assigned<Ipv4Addr, Ipv4Net>, Refusal> {
        let interface = self.found(id, now)?;
        let subnet_id = interface.subnet.clone();
        // An address that it already has does not count as new, and takes no slot.
        let wanted = match wanted {
            Wanted::These(these) => Wanted::These(
                these.iter().copied().filter(|address| !interface.ipv4.contains(address)).collect(),
            ),
            Wanted::ThesePrefixes(these) => {
                let is_new = |net: &Ipv4Net| !interface.ipv4_prefixes.contains(net);
                Wanted::ThesePrefixes(these.iter().copied().filter(is_new).collect())
            }
            other => other.clone(),
        };
        if let Some(instance) = self.host_of(interface) {
            if wanted.is_prefixes() && !instance.kind.takes_prefixes() {
                return Err(no_prefixes(instance.kind.name));
            }
            if interface.slots().saturating_add(wanted.slots()) > instance.kind.ipv4 as usize {
                return Err(limit());
            }
        }
        let (wanted, moving) = self.to_move(wanted, &subnet_id, reassign)?;
        let subnet = self.subnets.get_mut(&subnet_id).ok_or_else(|| Refusal::no_subnet(&subnet_id))?;
        let (mut addresses, prefixes) = take_four(subnet, &wanted, self.rules.exhaustion, &mut self.random)?;
        self.interfaces.change(id, now, |interface| {
            interface.ipv4.extend(&addresses);
            interface.ipv4_prefixes.extend(&prefixes);
        });
        for address in moving {
            self.events.at(now.after(self.timing.move_ms), Event::Moved(address, id.to_owned()));
            addresses.push(address);
        }
        Ok(Assigned { addresses, prefixes })
    }

    /// Splits off the named addresses that another interface of the subnet has, if they may be taken from it.
    fn to_move(
        &self,
        wanted: Wanted<Ipv4Addr, Ipv4Net>,
        subnet: &str,
        reassign: bool,
    ) -> Result<(Wanted<Ipv4Addr, Ipv4Net>, Vec<Ipv4Addr>), Refusal> {
        let Wanted::These(these) = wanted else { return Ok((wanted, Vec::new())) };
        let owner = |address: &Ipv4Addr| {
            let mut all = self.interfaces.all().filter(|interface| interface.subnet == subnet);
            all.find(|interface| interface.ipv4.contains(address))
        };
        let is_own =
            |address: &Ipv4Addr| owner(address).is_some_and(|other| other.primary() == Some(*address));
        if these.iter().any(is_own) {
            return Err(Refusal::value("The specified address is the primary address of another interface."));
        }
        let (moving, fresh) = these.into_iter().partition(|address| reassign && owner(address).is_some());
        Ok((Wanted::These(fresh), moving))
    }

    /// Lets an address arrive at an interface, if both still exist.
    pub(super) fn moved(&mut self, address: Ipv4Addr, to: &str, now: Time) {
        let owner = self.interfaces.all().find(|interface| interface.ipv4.contains(&address));
        let Some(from) = owner.map(|interface| interface.id.clone()) else { return };
        if self.interfaces.get(to).is_some() && from != to {
            self.interfaces.change(&from, now, |interface| interface.ipv4.retain(|known| *known != address));
            self.interfaces.change(to, now, |interface| interface.ipv4.push(address));
        }
    }

    /// Takes IPv4 addresses and prefixes from an interface.
    ///
    /// # Errors
    /// EC2's refusals; if it does not have one of them, it keeps all.
    pub fn unassign(
        &mut self,
        id: &str,
        addresses: &[Ipv4Addr],
        prefixes: &[Ipv4Net],
        now: Time,
    ) -> Result<(), Refusal> {
        let interface = self.found(id, now)?;
        if interface.primary().is_some_and(|primary| addresses.contains(&primary)) {
            return Err(Refusal::value("The primary private address of an interface cannot be unassigned."));
        }
        let has_all = addresses.iter().all(|address| interface.ipv4.contains(address))
            && prefixes.iter().all(|prefix| interface.ipv4_prefixes.contains(prefix));
        if !has_all {
            return Err(absent(id));
        }
        let subnet_id = interface.subnet.clone();
        self.interfaces.change(id, now, |interface| {
            interface.ipv4.retain(|known| !addresses.contains(known));
            interface.ipv4_prefixes.retain(|known| !prefixes.contains(known));
        });
        if let Some(subnet) = self.subnets.get_mut(&subnet_id) {
            let nets =
                addresses.iter().map(|address| Ipv4Net::from(*address)).chain(prefixes.iter().copied());
            nets.for_each(|net| subnet.give_back(net));
        }
        Ok(())
    }

    /// Assigns IPv6 addresses or prefixes.
    ///
    /// # Errors
    /// EC2's refusals; then nothing is assigned.
    pub fn assign_six(
        &mut self,
        id: &str,
        wanted: &Wanted<Ipv6Addr, Ipv6Net>,
        now: Time,
    ) -> Result<Assigned<Ipv6Addr, Ipv6Net>, Refusal> {
        let interface = self.found(id, now)?;
        if let Some(instance) = self.host_of(interface) {
            if wanted.is_prefixes() && !instance.kind.takes_prefixes() {
                return Err(no_prefixes(instance.kind.name));
            }
            if interface.slots_six().saturating_add(wanted.slots()) > instance.kind.ipv6 as usize {
                return Err(limit());
            }
        }
        let subnet_id = interface.subnet.clone();
        let subnet = self.subnets.get_mut(&subnet_id).ok_or_else(|| Refusal::no_subnet(&subnet_id))?;
        let (addresses, prefixes) = take_six(subnet, wanted, &mut self.random)?;
        self.interfaces.change(id, now, |interface| {
            interface.ipv6.extend(&addresses);
            interface.ipv6_prefixes.extend(&prefixes);
        });
        Ok(Assigned { addresses, prefixes })
    }

    /// Takes IPv6 addresses and prefixes from an interface.
    ///
    /// # Errors
    /// EC2's refusals; if it does not have one of them, it keeps all.
    pub fn unassign_six(
        &mut self,
        id: &str,
        addresses: &[Ipv6Addr],
        prefixes: &[Ipv6Net],
        now: Time,
    ) -> Result<(), Refusal> {
        let interface = self.found(id, now)?;
        let has_all = addresses.iter().all(|address| interface.ipv6.contains(address))
            && prefixes.iter().all(|prefix| interface.ipv6_prefixes.contains(prefix));
        if !has_all {
            return Err(absent(id));
        }
        let subnet_id = interface.subnet.clone();
        self.interfaces.change(id, now, |interface| {
            interface.ipv6.retain(|known| !addresses.contains(known));
            interface.ipv6_prefixes.retain(|known| !prefixes.contains(known));
        });
        if let Some(subnet) = self.subnets.get_mut(&subnet_id) {
            let nets =
                addresses.iter().map(|address| Ipv6Net::from(*address)).chain(prefixes.iter().copied());
            nets.for_each(|net| subnet.give_back_six(net));
        }
        Ok(())
    }
}

fn limit() -> Refusal {
    Refusal::new("PrivateIpAddressLimitExceeded", "Number of private addresses will exceed limit.")
}

fn absent(id: &str) -> Refusal {
    Refusal::value(format!("Some of the specified addresses are not assigned to interface {id}"))
}
