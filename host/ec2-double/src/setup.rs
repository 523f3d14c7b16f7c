//! The account and rules that a double starts with.

use std::collections::BTreeMap;

use ipnet::{Ipv4Net, Ipv6Net};
use serde::{Deserialize, Serialize};

use crate::state::{Account, Refusal, Reservation, Rules, State, Subnet, Time, Timing};

/// A subnet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewSubnet {
    /// The subnet's identifier; without one, `subnet-` and its number.
    #[serde(default)]
    pub id: Option<String>,
    /// The subnet's availability zone; without one, the region's first.
    #[serde(default)]
    pub zone: Option<String>,
    /// The subnet's IPv4 addresses.
    pub cidr: Ipv4Net,
    /// The subnet's IPv6 addresses, a /64.
    #[serde(default)]
    pub ipv6: Option<Ipv6Net>,
    /// The subnet's tags.
    #[serde(default)]
    pub tags: BTreeMap<String, String>,
    /// The subnet's reserved parts.
    #[serde(default)]
    pub reservations: Vec<Reservation>,
}

impl NewSubnet {
    /// A subnet with IPv4 addresses only.
    #[must_use]
    pub fn new(cidr: Ipv4Net) -> Self {
        Self { id: None, zone: None, cidr, ipv6: None, tags: BTreeMap::new(), reservations: Vec::new() }
    }
}

/// An instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewInstance {
    /// The instance's type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The subnet of its primary interface; without one, the first.
    #[serde(default)]
    pub subnet: Option<String>,
    /// The instance's tags.
    #[serde(default)]
    pub tags: BTreeMap<String, String>,
    /// The network namespace in which the wire plugs its interfaces; without one, the double's own.
    #[serde(default)]
    pub namespace: Option<String>,
}

impl NewInstance {
    /// An instance in the first subnet.
    #[must_use]
    pub fn new(kind: &str) -> Self {
        Self { kind: kind.to_owned(), subnet: None, tags: BTreeMap::new(), namespace: None }
    }
}

/// The account and rules that a double starts with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Setup {
    /// Equal seeds give equal identifiers and addresses.
    pub seed: u64,
    /// The account, region and VPC. Without IPv4 addresses, the VPC has those of its subnets.
    pub account: Account,
    /// The subnets.
    pub subnets: Vec<NewSubnet>,
    /// The instances, which are running.
    pub instances: Vec<NewInstance>,
    /// How long things take.
    pub timing: Timing,
    /// The account's quotas and rules.
    pub rules: Rules,
    /// Whether the clock stands still until it is moved.
    pub virtual_time: bool,
    /// Whether EC2 answers calls without a signature.
    pub unsigned: bool,
    /// The network namespace to make for the VPC; without one, there is no wire.
    pub wire: Option<String>,
}

impl Setup {
    /// The account that it describes, and its instances in their order here.
    ///
    /// # Errors
    /// An unknown instance type, an unknown subnet, or a full one.
    pub fn state(&self) -> Result<(State, Vec<String>), Refusal> {
        let mut account = self.account.clone();
        if account.cidrs.is_empty() {
            account.cidrs = self.subnets.iter().map(|subnet| subnet.cidr).collect();
        }
        if account.ipv6_cidrs.is_empty() {
            account.ipv6_cidrs = self.subnets.iter().filter_map(|subnet| subnet.ipv6).collect();
        }
        let zone = format!("{}a", account.region);
        let mut state = State::new(account, self.seed);
        (state.timing, state.rules) = (self.timing, self.rules);
        for (number, new) in self.subnets.iter().enumerate() {
            let id = new.id.clone().unwrap_or_else(|| format!("subnet-{number:017x}"));
            let zone = new.zone.clone().unwrap_or_else(|| zone.clone());
            let mut subnet = Subnet::new(id, zone, new.cidr, new.ipv6);
            (subnet.tags, subnet.reservations) = (new.tags.clone(), new.reservations.clone());
            state.add_subnet(subnet);
        }
        let launched = self.instances.iter().map(|new| launch(&mut state, new, Time::default()));
        let nodes = launched.collect::<Result<_, _>>()?;
        state.note(Time::default());
        Ok((state, nodes))
    }
}

/// Launches an instance, and returns its identifier.
pub(crate) fn launch(state: &mut State, new: &NewInstance, now: Time) -> Result<String, Refusal> {
    let first = || state.subnets().keys().next().cloned().unwrap_or_default();
    let subnet = new.subnet.clone().unwrap_or_else(first);
    state.launch(&new.kind, &subnet, new.tags.clone(), now)
}
