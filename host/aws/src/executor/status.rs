//! The status of an executor, for `tenurectl cloud`, metrics and support bundles.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;
use tenure_effects::{IntentStatus, PlanStatus};

use crate::budget::{Rate, Unit};
use crate::port::{Ec2Subnet, InstanceLimits};
use crate::reconcile::Quarantined;
use crate::seen::{Duty, Evidence, SeenStanding};
use crate::situation::Barred;

/// Everything that an executor knows and does. Times are readings of the boot clock.
#[derive(Debug, Clone, Default)]
pub struct Status {
    /// The boot clock's reading.
    pub now: Duration,
    /// Whether the metadata service is asked instead of EC2.
    pub imds_only: bool,
    /// Time at which the last complete describe was sent; `None` if none has been answered yet.
    pub confirmed: Option<Duration>,
    /// Why the latest describe does not count.
    pub trouble: Option<String>,
    /// Silence of EC2, or of the metadata service in its place, and answers that do not count, in words.
    pub silence: Option<String>,
    /// Refusals of EC2, in words that name what is missing.
    pub refusal: Option<String>,
    /// The limits of the instance type.
    pub limits: Option<InstanceLimits>,
    /// The interfaces, by id.
    pub interfaces: Vec<InterfaceStatus>,
    /// The subnets of the zone, as EC2 listed them last.
    pub subnets: Vec<Ec2Subnet>,
    /// Ranges in quarantine, with the reason.
    pub quarantine: Vec<Quarantined>,
    /// Objects in EC2 that cannot be a range.
    pub odd: Vec<String>,
    /// Interfaces of this node that are attached to nothing, and since when.
    pub leaked: Vec<(String, Duration)>,
    /// The open intents.
    pub intents: Vec<IntentStatus>,
    /// The last plan.
    pub plan: Option<PlanStatus>,
    /// The buckets of calls.
    pub rates: BTreeMap<&'static str, Rate>,
    /// Subnets that should not be asked, with the resource and the remaining time.
    pub backoffs: Vec<(String, Unit, Duration)>,
    /// The calls that are not made, and why.
    pub barred: Vec<Barred>,
    /// The number of calls by action and outcome: `ok`, or the failure's name.
    pub calls: BTreeMap<(&'static str, &'static str), u64>,
    /// The number of ended intents by kind and outcome: `done` or `undone`.
    pub ends: BTreeMap<(&'static str, &'static str), u64>,
}

/// An interface.
#[derive(Debug, Clone)]
pub struct InterfaceStatus {
    /// EC2's id of the interface.
    pub id: String,
    /// The network card; `None` if EC2 has not shown it.
    pub card: Option<u32>,
    /// The device index on that card; `None` if EC2 has not shown it.
    pub device: Option<u32>,
    /// The hardware address, in lower case with colons; `None` if EC2 has not shown it.
    pub mac: Option<String>,
    /// Primary IPv4 address, which pods do not use.
    pub address: Option<IpAddr>,
    /// EC2's id of the subnet.
    pub subnet: String,
    /// Role of the interface on this host; `None` if EC2 has not shown it.
    pub duty: Option<Duty>,
    /// The evidence that it is attached.
    pub evidence: Evidence,
    /// Time of that evidence.
    pub confirmed: Duration,
    /// How it stands.
    pub standing: SeenStanding,
    /// Addresses and prefixes on the interface.
    pub carries: Vec<NetStatus>,
}

/// An address or prefix on an interface.
#[derive(Debug, Clone)]
pub struct NetStatus {
    /// The address or prefix.
    pub net: IpNet,
    /// Latest evidence of it.
    pub evidence: Evidence,
    /// Time of that evidence.
    pub confirmed: Duration,
    /// How it stands.
    pub standing: SeenStanding,
}
