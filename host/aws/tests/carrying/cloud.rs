//! The double's EC2 behind the port, in tokio's paused time: its state, its faults and its oracle.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use tenure_aws::port::{
    Assign, Attach, Attachment, Call, CallError, Creation, Ec2, Ec2Interface, Ec2Subnet, Failure,
    InstanceLimits, Status, Which,
};
use tenure_ec2_double::state::{self, Account, Change, Place, Refusal, State, Time, Wanted};
use tenure_ec2_double::{Fault, Faults, Kind, Oracle, Violation};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// How long a call is on its way, each way.
pub(crate) const WAY: Duration = Duration::from_millis(30);

/// When the process is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trip {
    /// Before a call is applied.
    Before(u64),
    /// After it was applied, and before its answer.
    After(u64),
}

/// An account of EC2.
pub(crate) struct Cloud {
    inner: Mutex<Inner>,
    start: Instant,
    /// Whoever is to be killed.
    pub(crate) killed: Notify,
}

pub(crate) struct Inner {
    pub(crate) state: State,
    pub(crate) faults: Faults,
    pub(crate) oracle: Oracle,
    /// Each call that changes something, with what became of it.
    pub(crate) changes: Vec<(String, &'static str)>,
    /// The number of all calls, by action.
    pub(crate) calls: BTreeMap<&'static str, u64>,
    /// How often all interfaces were read from a metadata service.
    pub(crate) metadata_reads: u64,
    /// How often a metadata service was asked for one field or list.
    pub(crate) metadata_requests: u64,
    /// Each call with the time of its arrival, for a test that counts them.
    pub(crate) arrivals: Option<Vec<(Time, &'static str)>>,
    pub(crate) trip: Option<Trip>,
    /// Whether an assignment is answered with all addresses of its interface, its own first, as moto answers it.
    pub(crate) answers_all: bool,
    denied: BTreeSet<&'static str>,
}

impl Cloud {
    /// An account with subnets `subnet-1` (10.0.0.0/24) and so on, of these prefix lengths; the further ones are tagged for
    /// pods.
    pub(crate) fn new(seed: u64, subnets: &[u8]) -> Arc<Self> {
        let mut state = State::new(Account::default(), seed);
        for (number, length) in (1..).zip(subnets) {
            let cidr = format!("10.0.{}.0/{length}", number - 1).parse().unwrap();
            let mut subnet = state::Subnet::new(format!("subnet-{number}"), "a".to_owned(), cidr, None);
            if number > 1 {
                subnet.tags.insert("kubernetes.io/role/cni".to_owned(), "1".to_owned());
            }
            state.add_subnet(subnet);
        }
        let inner = Inner {
            state,
            faults: Faults::default(),
            oracle: Oracle::default(),
            changes: Vec::new(),
            calls: BTreeMap::new(),
            metadata_reads: 0,
            metadata_requests: 0,
            arrivals: None,
            trip: None,
            answers_all: false,
            denied: BTreeSet::new(),
        };
        Arc::new(Self { inner: Mutex::new(inner), start: Instant::now(), killed: Notify::new() })
    }

    pub(crate) fn now(&self) -> Time {
        Time::START.after(u64::try_from(self.start.elapsed().as_millis()).unwrap())
    }

    /// The account now.
    pub(crate) fn inner(&self) -> MutexGuard<'_, Inner> {
        let mut inner = self.inner.lock().unwrap();
        inner.state.run_until(self.now());
        inner
    }

    pub(crate) fn launch(&self, kind: &str) -> String {
        self.inner().state.launch(kind, "subnet-1", BTreeMap::new(), Time::default()).unwrap()
    }

    pub(crate) fn fault(&self, fault: Fault) {
        self.inner().faults.add(fault);
    }

    pub(crate) fn deny(&self, action: &'static str) {
        self.inner().denied.insert(action);
    }

    /// Allows everything again.
    pub(crate) fn allow(&self) {
        self.inner().denied.clear();
    }

    /// What is on an instance besides interfaces' own addresses: by interface.
    pub(crate) fn carried(&self, instance: &str) -> BTreeMap<String, BTreeSet<IpNet>> {
        let inner = self.inner();
        let on = inner.state.interfaces().all().filter(|interface| interface.is_on(instance));
        on.map(|interface| (interface.id.clone(), port(interface).carries.into_iter().collect())).collect()
    }

    pub(crate) fn pods_are(&self, instance: &str, addresses: &BTreeSet<IpAddr>) {
        let now = self.now();
        let mut inner = self.inner();
        let Inner { oracle, state, .. } = &mut *inner;
        oracle.pods_are(instance, addresses, state, now);
    }

    /// What must never happen, and did.
    pub(crate) fn verdict(&self) -> Vec<Violation> {
        let now = self.now();
        let inner = self.inner();
        inner.oracle.verdict(&inner.state, 0, now)
    }

    /// The actions that were applied, in order.
    pub(crate) fn applied(&self) -> Vec<String> {
        let inner = self.inner();
        inner
            .changes
            .iter()
            .filter(|(_, outcome)| *outcome == "ok")
            .map(|(action, _)| action.clone())
            .collect()
    }

    /// A call: counted when it arrives, whatever becomes of it.
    pub(crate) async fn call<T>(
        &self,
        action: &'static str,
        changes: bool,
        apply: impl FnOnce(&mut State, Time) -> Result<T, Refusal>,
    ) -> Result<T, CallError> {
        sleep(WAY).await;
        let lost = || CallError {
            action,
            failure: Failure::Unknown,
            code: "Timeout".to_owned(),
            message: "the answer was lost".to_owned(),
            retry_after: None,
        };
        let number = self.inner().changes.len() as u64;
        if changes && self.inner().trip == Some(Trip::Before(number)) {
            self.die().await;
        }
        let now = self.now();
        let kind = self.inner().faults.strike(action, now);
        {
            let mut inner = self.inner();
            *inner.calls.entry(action).or_default() += 1;
            inner.arrivals.iter_mut().for_each(|arrivals| arrivals.push((now, action)));
        }
        if let Some(Kind::LostBefore) = kind {
            self.inner().changes.extend(changes.then(|| (action.to_owned(), "lost")));
            sleep(WAY).await;
            return Err(lost());
        }
        if let Some(Kind::DelayBefore { delay_ms }) = kind {
            sleep(Duration::from_millis(delay_ms)).await;
        }
        let now = self.now();
        let answer = {
            let mut inner = self.inner();
            let Inner { state, oracle, denied, .. } = &mut *inner;
            let answer = match &kind {
                _ if state.rules.throttling && !state.throttle.admit(action, false, now) => {
                    Err(Refusal::throttled())
                }
                _ if denied.contains(action) => Err(Refusal::new(
                    "UnauthorizedOperation",
                    "You are not authorized to perform this operation.",
                )),
                Some(Kind::Code { code, message, .. }) => Err(Refusal::new(code.clone(), message.clone())),
                _ => apply(state, now),
            };
            state.note(now);
            if answer.is_ok() {
                oracle.after(action, state, now);
            }
            if changes {
                let outcome = if answer.is_ok() { "ok" } else { "refused" };
                inner.changes.push((action.to_owned(), outcome));
            }
            answer
        };
        if changes && self.inner().trip == Some(Trip::After(number)) {
            self.die().await;
        }
        if let Some(Kind::DelayAfter { delay_ms }) = kind {
            sleep(Duration::from_millis(delay_ms)).await;
        }
        sleep(WAY).await;
        match kind {
            Some(Kind::LostAfter | Kind::Reset | Kind::HalfBody | Kind::WrongXml) => Err(lost()),
            _ => answer.map_err(|refusal| failure(action, &refusal)),
        }
    }

    /// Kills whoever calls.
    async fn die(&self) {
        self.inner().trip = None;
        self.killed.notify_one();
        std::future::pending::<()>().await;
    }
}

fn failure(action: &'static str, refusal: &Refusal) -> CallError {
    let message = refusal.message.as_str();
    let failure = match &*refusal.code {
        "RequestLimitExceeded" => Failure::Throttled,
        "InsufficientFreeAddressesInSubnet" => Failure::SubnetExhausted,
        "InsufficientCidrBlocks" => Failure::NoBlock,
        "PrivateIpAddressLimitExceeded" => Failure::InterfaceFull,
        "AttachmentLimitExceeded" => Failure::InstanceFull,
        "NetworkInterfaceLimitExceeded" => Failure::Quota,
        "InvalidNetworkInterfaceID.NotFound" | "InvalidAttachmentID.NotFound" => Failure::NotFound,
        "InvalidNetworkInterface.InUse" => Failure::InUse,
        "IncorrectState" => Failure::InstanceState,
        "OperationNotPermitted" => Failure::Never,
        "InvalidSubnetID.NotFound" | "InvalidGroup.NotFound" => Failure::Configuration,
        "IdempotentParameterMismatch" => Failure::TokenReused,
        "UnauthorizedOperation" | "RequestExpired" => Failure::Denied,
        "InternalError" => Failure::Unknown,
        "InvalidParameterValue" if message.contains("sufficient free") => Failure::TooFew,
        "InvalidParameterValue" if message.contains("device index") => Failure::IndexTaken,
        "InvalidParameterValue" if message.contains("in use") => Failure::InUse,
        "InvalidParameterValue" if message.contains("not assigned") => Failure::NotAssigned,
        _ => Failure::Refused,
    };
    let (code, message) = (refusal.code.to_string(), refusal.message.clone());
    CallError { action, failure, code, message, retry_after: None }
}

fn port(known: &state::Interface) -> Ec2Interface {
    let singles = known.ipv4.iter().skip(1).map(|address| IpNet::from(IpAddr::from(*address)));
    let prefixes = known.ipv4_prefixes.iter().copied().map(IpNet::from);
    let status = match known.status {
        state::Status::Pending => Status::Other,
        state::Status::Available => Status::Available,
        state::Status::Attaching => Status::Attaching,
        state::Status::InUse => Status::InUse,
        state::Status::Detaching => Status::Detaching,
    };
    Ec2Interface {
        id: known.id.clone(),
        subnet: known.subnet.clone(),
        mac: known.mac.clone(),
        description: known.description.clone(),
        kind: "interface".to_owned(),
        status,
        attachment: known.attachment.as_ref().map(|attachment| Attachment {
            id: attachment.id.clone(),
            instance: attachment.instance.clone(),
            card: attachment.card,
            device: attachment.device,
            delete_with_instance: attachment.delete_on_termination,
            since: attachment.since.millis() / 1000,
        }),
        primary_address: known.primary().map(IpAddr::from),
        groups: known.groups.clone(),
        carries: singles
            .chain(prefixes)
            .chain(known.ipv6_prefixes.iter().copied().map(IpNet::from))
            .collect(),
        tags: known.tags.clone(),
    }
}

/// The account as its callers see it.
pub(crate) struct Face(pub(crate) Arc<Cloud>);

impl Ec2 for Face {
    fn interfaces<'a>(&'a self, which: &'a Which) -> Call<'a, Vec<Ec2Interface>> {
        Box::pin(self.0.call("DescribeNetworkInterfaces", false, move |state, now| {
            let at = state.consistency.describe(now);
            let hidden = &state.consistency.describe_hides;
            let all = state.interfaces().all_at(at).filter(|interface| !hidden.contains(&interface.id));
            let is_meant = |interface: &Ec2Interface| match which {
                Which::Attached(instance) => {
                    interface.attachment.as_ref().is_some_and(|attachment| attachment.instance == *instance)
                }
                Which::Ids(ids) => ids.contains(&interface.id),
                Which::Tagged(tags) => {
                    tags.iter().all(|(name, value)| interface.tags.get(name) == Some(value))
                }
            };
            Ok(all.map(|known| port(known)).filter(is_meant).collect())
        }))
    }

    fn create<'a>(&'a self, creation: &'a Creation) -> Call<'a, Ec2Interface> {
        Box::pin(self.0.call("CreateNetworkInterface", true, move |state, now| {
            let mut wanted = state::Creation {
                subnet: creation.subnet.clone(),
                description: creation.description.clone(),
                groups: creation.groups.clone(),
                tags: creation.tags.clone(),
                ..state::Creation::default()
            };
            match creation.carries {
                Assign::Nothing => {}
                Assign::Addresses(count) => wanted.ipv4 = Wanted::Count(count),
                Assign::Prefixes(count) => wanted.ipv4 = Wanted::Prefixes(count),
                Assign::Ipv6Prefixes(count) => wanted.ipv6 = Wanted::Prefixes(count),
            }
            let id = state.create(&wanted, Some(&creation.token), now)?;
            Ok(port(state.interfaces().get(&id).unwrap()))
        }))
    }

    fn attach<'a>(&'a self, attachment: &'a Attach) -> Call<'a, String> {
        Box::pin(self.0.call("AttachNetworkInterface", true, move |state, now| {
            let (instance, device) = (attachment.instance.clone(), attachment.device);
            let place = Place { instance, device, card: Some(attachment.card) };
            state.attach(&attachment.interface, &place, now)
        }))
    }

    fn delete_with_instance<'a>(&'a self, interface: &'a str, attachment: &'a str) -> Call<'a, ()> {
        Box::pin(self.0.call("ModifyNetworkInterfaceAttribute", true, move |state, now| {
            state.modify(interface, Change::DeleteOnTermination(attachment.to_owned(), true), now)
        }))
    }

    fn set_groups<'a>(&'a self, interface: &'a str, groups: &'a [String]) -> Call<'a, ()> {
        Box::pin(self.0.call("ModifyNetworkInterfaceAttribute", true, move |state, now| {
            state.modify(interface, Change::Groups(groups.to_vec()), now)
        }))
    }

    fn assign<'a>(&'a self, interface: &'a str, what: &'a Assign) -> Call<'a, Vec<IpNet>> {
        let action = match what {
            Assign::Ipv6Prefixes(_) => "AssignIpv6Addresses",
            _ => "AssignPrivateIpAddresses",
        };
        let answers_all = self.0.inner().answers_all;
        Box::pin(self.0.call(action, true, move |state, now| {
            let wanted = match what {
                Assign::Nothing => Wanted::Nothing,
                Assign::Addresses(count) => Wanted::Count(*count),
                Assign::Prefixes(count) => Wanted::Prefixes(*count),
                Assign::Ipv6Prefixes(count) => {
                    let new = state.assign_six(interface, &Wanted::Prefixes(*count), now)?;
                    return Ok(new.prefixes.into_iter().map(IpNet::from).collect());
                }
            };
            let mut new = state.assign(interface, &wanted, false, now)?;
            if answers_all && let Some(known) = state.interfaces().get(interface) {
                new.addresses.clone_from(&known.ipv4);
            }
            let singles = new.addresses.into_iter().map(|address| IpNet::from(IpAddr::from(address)));
            Ok(singles.chain(new.prefixes.into_iter().map(IpNet::from)).collect())
        }))
    }

    fn unassign<'a>(&'a self, interface: &'a str, what: &'a [IpNet]) -> Call<'a, ()> {
        Box::pin(self.0.call("UnassignPrivateIpAddresses", true, move |state, now| {
            let four: Vec<Ipv4Net> = what
                .iter()
                .filter_map(|net| if let IpNet::V4(net) = net { Some(*net) } else { None })
                .collect();
            let six: Vec<Ipv6Net> = what
                .iter()
                .filter_map(|net| if let IpNet::V6(net) = net { Some(*net) } else { None })
                .collect();
            if !four.is_empty() {
                let (singles, prefixes): (Vec<_>, Vec<_>) =
                    four.into_iter().partition(|net| net.prefix_len() == 32);
                let singles: Vec<_> = singles.iter().map(Ipv4Net::addr).collect();
                state.unassign(interface, &singles, &prefixes, now)?;
            }
            if six.is_empty() { Ok(()) } else { state.unassign_six(interface, &[], &six, now) }
        }))
    }

    fn detach<'a>(&'a self, attachment: &'a str) -> Call<'a, ()> {
        Box::pin(self.0.call("DetachNetworkInterface", true, move |state, now| state.detach(attachment, now)))
    }

    fn delete<'a>(&'a self, interface: &'a str) -> Call<'a, ()> {
        Box::pin(self.0.call("DeleteNetworkInterface", true, move |state, now| state.delete(interface, now)))
    }

    fn tag<'a>(&'a self, interface: &'a str, tags: &'a BTreeMap<String, String>) -> Call<'a, ()> {
        Box::pin(
            self.0.call("CreateTags", true, move |state, now| state.tag(&[interface.to_owned()], tags, now)),
        )
    }

    fn subnets<'a>(&'a self, _: &'a str, zone: &'a str) -> Call<'a, Vec<Ec2Subnet>> {
        Box::pin(self.0.call("DescribeSubnets", false, move |state, now| {
            let lag = state.consistency.subnet_lag_ms;
            let in_zone = state.subnets().values().filter(|subnet| subnet.zone == zone);
            let subnet = |known: &state::Subnet| Ec2Subnet {
                id: known.id.clone(),
                ranges: vec![IpNet::from(known.cidr)],
                available: known.free_at(now.before(lag)),
                tags: known.tags.clone(),
            };
            Ok(in_zone.map(subnet).collect())
        }))
    }

    fn limits<'a>(&'a self, kind: &'a str) -> Call<'a, InstanceLimits> {
        Box::pin(self.0.call("DescribeInstanceTypes", false, move |_, _| Ok(limits(kind))))
    }
}

/// What an instance type can have.
pub(crate) fn limits(kind: &str) -> InstanceLimits {
    let known = state::InstanceType::find(kind).unwrap();
    InstanceLimits {
        interfaces: known.interfaces,
        addresses: known.ipv4,
        ipv6_addresses: known.ipv6,
        prefixes: known.takes_prefixes(),
    }
}
