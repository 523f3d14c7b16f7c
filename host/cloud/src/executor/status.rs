//! What an executor shows: for `tenurectl cloud`, metrics and support bundles.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;
use tenure_types::{Attributes, Moment};

use crate::budget::{Rate, Unit};
use crate::port::{Limits, Subnet};
use crate::reconcile::Quarantined;
use crate::seen::{Duty, Evidence, Standing};
use crate::situation::Barred;

/// Everything that an executor knows and does. Times are readings of the boot clock.
#[derive(Debug, Clone)]
pub struct Status {
    /// The boot clock's reading.
    pub now: Duration,
    /// When the last describe was sent that counts; `None` if none was answered yet.
    pub confirmed: Option<Duration>,
    /// Why the latest describe does not count.
    pub trouble: Option<String>,
    /// The limits of the instance type.
    pub limits: Option<Limits>,
    /// The interfaces, by id.
    pub interfaces: Vec<InterfaceStatus>,
    /// The subnets of the zone, as EC2 listed them last.
    pub subnets: Vec<Subnet>,
    /// What is in quarantine, with the reason.
    pub quarantine: Vec<Quarantined>,
    /// What EC2 has and cannot be a range.
    pub odd: Vec<String>,
    /// Interfaces of this node that are attached to nothing, and since when.
    pub leaked: Vec<(String, Duration)>,
    /// The open intents.
    pub intents: Vec<IntentStatus>,
    /// The last plan.
    pub plan: Option<PlanStatus>,
    /// The buckets of calls.
    pub rates: BTreeMap<&'static str, Rate>,
    /// What subnets should not be asked for, and for how long.
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
    /// Its id.
    pub id: String,
    /// The network card; `None` if EC2 has not shown it.
    pub card: Option<u32>,
    /// The device index on that card; `None` if EC2 has not shown it.
    pub device: Option<u32>,
    /// The hardware address, in lower case with colons; `None` if EC2 has not shown it.
    pub mac: Option<String>,
    /// Its own address of IPv4, which is no pod's.
    pub address: Option<IpAddr>,
    /// Its subnet.
    pub subnet: String,
    /// What it is to this host; `None` if EC2 has not shown it.
    pub duty: Option<Duty>,
    /// The evidence that it is attached.
    pub evidence: Evidence,
    /// When that was.
    pub confirmed: Duration,
    /// How it stands.
    pub standing: Standing,
    /// What it carries.
    pub carries: Vec<NetStatus>,
}

/// An address or prefix on an interface.
#[derive(Debug, Clone)]
pub struct NetStatus {
    /// The address or prefix.
    pub net: IpNet,
    /// What showed it last.
    pub evidence: Evidence,
    /// When that was.
    pub confirmed: Duration,
    /// How it stands.
    pub standing: Standing,
}

/// An open intent.
#[derive(Debug, Clone)]
pub struct IntentStatus {
    /// Its id.
    pub id: String,
    /// What it does.
    pub kind: &'static str,
    /// Its target, how much, and the policy's reason.
    pub attributes: Attributes,
    /// When it began, maybe in an earlier boot.
    pub since: Moment,
    /// What it is doing, and since when; `None` while it waits for another one on the same interface.
    pub step: Option<(String, Duration)>,
}

/// A plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanStatus {
    /// When it was made.
    pub at: Duration,
    /// Why nothing could be planned.
    pub words: Option<String>,
    /// The intents that it began.
    pub begun: Vec<String>,
    /// The effects that were refused, with the reason.
    pub refused: Vec<String>,
}
