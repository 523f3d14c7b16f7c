//! Creating and deleting interfaces.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

use super::State;
use super::events::Event;
use super::interface::{ConnectionTracking, Interface, Status};
use super::refusal::Refusal;
use super::time::Time;
use super::wanted::{Wanted, take_four, take_six};

/// An interface to create.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Creation {
    /// The subnet.
    pub subnet: String,
    /// Free text.
    pub description: String,
    /// The security groups; if empty, the VPC's default.
    pub groups: Vec<String>,
    /// The interface's own address, if the caller chooses it.
    pub primary: Option<Ipv4Addr>,
    /// Further IPv4 addresses or prefixes.
    pub ipv4: Wanted<Ipv4Addr, Ipv4Net>,
    /// IPv6 addresses or prefixes.
    pub ipv6: Wanted<Ipv6Addr, Ipv6Net>,
    /// The tags.
    pub tags: BTreeMap<String, String>,
    /// Connection tracking.
    pub tracking: Option<ConnectionTracking>,
}

/// The client tokens that were used, each with what it created; kept for the life of the interface.
#[derive(Debug, Default)]
pub(super) struct Tokens(BTreeMap<String, (Creation, String)>);

impl State {
    /// Creates an interface. A call that repeats a token creates nothing, and gets the interface of the first.
    ///
    /// # Errors
    /// EC2's refusals.
    pub fn create(&mut self, wanted: &Creation, token: Option<&str>, now: Time) -> Result<String, Refusal> {
        if let Some(known) = token.and_then(|token| self.tokens.0.get(token)) {
            let (first, id) = known;
            return if first == wanted {
                Ok(id.clone())
            } else {
                let message =
                    "The request uses the same client token as a previous, but non-identical request.";
                Err(Refusal::new("IdempotentParameterMismatch", message))
            };
        }
        if let Some(unknown) = wanted.groups.iter().find(|group| !self.account.groups.contains(group)) {
            return Err(Refusal::no_group(unknown));
        }
        if self.interfaces.all().count() >= self.rules.interfaces {
            let message =
                format!("You have exceeded the maximum of {} network interfaces", self.rules.interfaces);
            return Err(Refusal::new("NetworkInterfaceLimitExceeded", message));
        }
        let id = self.create_unchecked(wanted, now)?;
        self.events.at(now.after(self.timing.create_ms), Event::Created(id.clone()));
        if let Some(token) = token {
            self.tokens.0.insert(token.to_owned(), (wanted.clone(), id.clone()));
        }
        Ok(id)
    }

    /// Creates an interface in a subnet, pending for ever.
    pub(super) fn create_unchecked(&mut self, wanted: &Creation, now: Time) -> Result<String, Refusal> {
        let subnet =
            self.subnets.get_mut(&wanted.subnet).ok_or_else(|| Refusal::no_subnet(&wanted.subnet))?;
        let exhaustion = self.rules.exhaustion;
        let own = wanted.primary.map_or(Wanted::Count(1), |address| Wanted::These(vec![address]));
        let (mut ipv4, _) = take_four(subnet, &own, exhaustion, &mut self.random)?;
        let undo = |subnet: &mut super::Subnet, taken: Vec<Ipv4Net>| {
            taken.into_iter().for_each(|net| subnet.give_back(net));
        };
        let further = take_four(subnet, &wanted.ipv4, exhaustion, &mut self.random);
        let (singles, ipv4_prefixes) = match further {
            Ok(taken) => taken,
            Err(refusal) => {
                undo(subnet, ipv4.into_iter().map(Ipv4Net::from).collect());
                return Err(refusal);
            }
        };
        ipv4.extend(singles);
        let (ipv6, ipv6_prefixes) = match take_six(subnet, &wanted.ipv6, &mut self.random) {
            Ok(taken) => taken,
            Err(refusal) => {
                undo(subnet, ipv4.into_iter().map(Ipv4Net::from).chain(ipv4_prefixes).collect());
                return Err(refusal);
            }
        };
        let groups = if wanted.groups.is_empty() {
            self.account.groups.first().cloned().into_iter().collect()
        } else {
            wanted.groups.clone()
        };
        let id = self.names.id("eni");
        let interface = Interface {
            id: id.clone(),
            subnet: subnet.id.clone(),
            zone: subnet.zone.clone(),
            description: wanted.description.clone(),
            mac: self.names.mac(),
            groups,
            source_dest_check: true,
            status: Status::Pending,
            ipv4,
            ipv4_prefixes,
            ipv6,
            ipv6_prefixes,
            tags: wanted.tags.clone(),
            attachment: None,
            tracking: wanted.tracking,
            created: now,
            idle_since: Some(now),
        };
        self.interfaces.set(&id, Some(interface), now);
        Ok(id)
    }

    /// Deletes an interface that is attached to nothing.
    ///
    /// # Errors
    /// EC2's refusals; in use until a Detach has completed.
    pub fn delete(&mut self, id: &str, now: Time) -> Result<(), Refusal> {
        let interface = self.found(id, now)?;
        if !matches!(interface.status, Status::Available | Status::Pending) {
            return Err(Refusal::value(format!("Network interface '{id}' is currently in use.")));
        }
        self.delete_unchecked(id, now);
        Ok(())
    }

    /// Deletes an interface in any state.
    pub(super) fn delete_unchecked(&mut self, id: &str, now: Time) {
        if let Some(interface) = self.interfaces.get(id).cloned() {
            self.release(&interface);
            self.interfaces.set(id, None, now);
            self.tokens.0.retain(|_, (_, created)| created != id);
        }
    }
}
