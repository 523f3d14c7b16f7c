//! The account: instances, interfaces, subnets. Pure: no I/O and no clock; each call says what time it is.
//!
//! What takes time in EC2 is an event with its moment; [`State::run_until`] lets events happen, each at its own moment, so that
//! the past is right however rarely somebody looks.

mod assign;
mod attach;
mod bitmap;
mod change;
mod consistency;
mod create;
mod events;
mod instance;
mod instances;
mod interface;
mod interfaces;
mod limits;
mod names;
mod refusal;
mod rules;
mod subnet;
#[cfg(test)]
mod tests;
mod throttle;
mod time;
mod wanted;

use std::collections::BTreeMap;

use ipnet::{Ipv4Net, Ipv6Net};
use serde::{Deserialize, Serialize};
use tenure_fixtures::random::Random;

pub use assign::Assigned;
pub use attach::Place;
pub use change::Change;
pub use consistency::{Consistency, Shown};
pub use create::Creation;
pub use instance::{Instance, Phase};
pub use interface::{Attachment, ConnectionTracking, Interface, Status};
pub use interfaces::Interfaces;
pub use limits::{InstanceType, Platform};
pub use refusal::Refusal;
pub use rules::{Exhaustion, Rules, Timing};
pub use subnet::{Purpose, Reservation, Subnet};
pub use throttle::Throttle;
pub use time::Time;
pub use wanted::Wanted;

use create::Tokens;
use events::Events;
use names::Names;

/// The account that owns everything, with its region and VPC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Account {
    /// The account's number.
    pub id: String,
    /// The region.
    pub region: String,
    /// The VPC's identifier.
    pub vpc: String,
    /// The VPC's IPv4 addresses.
    pub cidrs: Vec<Ipv4Net>,
    /// The VPC's IPv6 addresses.
    pub ipv6_cidrs: Vec<Ipv6Net>,
    /// The security groups; the first is the VPC's default.
    pub groups: Vec<String>,
}

impl Default for Account {
    fn default() -> Self {
        Self {
            id: "123456789012".to_owned(),
            region: "eu-central-1".to_owned(),
            vpc: "vpc-0d0b1e".to_owned(),
            cidrs: Vec::new(),
            ipv6_cidrs: Vec::new(),
            groups: vec!["sg-0default".to_owned()],
        }
    }
}

/// All of an account.
#[derive(Debug)]
pub struct State {
    /// The account, region and VPC.
    pub account: Account,
    /// How long things take.
    pub timing: Timing,
    /// The account's quotas and rules.
    pub rules: Rules,
    /// The consistency window of reads.
    pub consistency: Consistency,
    /// The account's buckets of calls.
    pub throttle: Throttle,
    subnets: BTreeMap<String, Subnet>,
    instances: BTreeMap<String, Instance>,
    interfaces: Interfaces,
    events: Events,
    tokens: Tokens,
    names: Names,
    random: Random,
}

impl State {
    /// An account with nothing in it. Equal seeds give equal identifiers and addresses.
    #[must_use]
    pub fn new(account: Account, seed: u64) -> Self {
        Self {
            account,
            timing: Timing::default(),
            rules: Rules::default(),
            consistency: Consistency::default(),
            throttle: Throttle::default(),
            subnets: BTreeMap::new(),
            instances: BTreeMap::new(),
            interfaces: Interfaces::default(),
            events: Events::default(),
            tokens: Tokens::default(),
            names: Names::new(seed),
            random: Random::new(seed.wrapping_add(1)),
        }
    }

    /// Adds a subnet. Its reservations get identifiers if they have none.
    pub fn add_subnet(&mut self, mut subnet: Subnet) {
        for reservation in &mut subnet.reservations {
            if reservation.id.is_empty() {
                reservation.id = self.names.id("scr");
            }
        }
        self.subnets.insert(subnet.id.clone(), subnet);
    }

    /// Makes an identifier, such as a request's.
    pub fn new_id(&mut self, kind: &str) -> String {
        self.names.id(kind)
    }

    /// The subnets, by their identifiers.
    #[must_use]
    pub fn subnets(&self) -> &BTreeMap<String, Subnet> {
        &self.subnets
    }

    /// The instances, by their identifiers.
    #[must_use]
    pub fn instances(&self) -> &BTreeMap<String, Instance> {
        &self.instances
    }

    /// The interfaces.
    #[must_use]
    pub fn interfaces(&self) -> &Interfaces {
        &self.interfaces
    }

    /// An interface that a call changes: not found while it is too new for that.
    fn found(&self, id: &str, now: Time) -> Result<&Interface, Refusal> {
        let known = self.interfaces.get(id).ok_or_else(|| Refusal::no_interface(id))?;
        if now.since(known.created) < self.consistency.call_lag_ms {
            return Err(Refusal::no_interface(id));
        }
        Ok(known)
    }

    /// The instance that an interface is attached to, or on its way to or from.
    fn host_of(&self, interface: &Interface) -> Option<&Instance> {
        self.instances.get(&interface.attachment.as_ref()?.instance)
    }

    /// Gives all addresses of an interface back to its subnet.
    fn release(&mut self, interface: &Interface) {
        let Some(subnet) = self.subnets.get_mut(&interface.subnet) else { return };
        let singles = interface.ipv4.iter().map(|address| Ipv4Net::from(*address));
        singles.chain(interface.ipv4_prefixes.iter().copied()).for_each(|net| subnet.give_back(net));
        let singles = interface.ipv6.iter().map(|address| Ipv6Net::from(*address));
        singles.chain(interface.ipv6_prefixes.iter().copied()).for_each(|net| subnet.give_back_six(net));
    }
}
