//! ipamd's calls: the SDK's retries, IMDS, and the sequences that bring and free an interface.
//!
//! From `pkg/awsutils/awsutils.go` and `awssession/session.go` of amazon-vpc-cni-k8s v1.23. Where the model leaves
//! something out, it is in ipamd's favour: no call to tag, no wait for a free client-side token.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use ipnet::{IpNet, Ipv4Net};
use std::sync::Arc;
use tenure_aws::port::{Assign, Attach, Call, CallError, Creation, Ec2, Ec2Interface, Failure, Which};
use tenure_ec2_double::state::Status;
use tenure_fixtures::random::Random;
use tokio::time::sleep;

use crate::cloud::{Cloud, Face};

/// `WithRetryMaxAttempts(10)`.
const ATTEMPTS: u32 = 10;

/// `maxENIEC2APIRetries`: how often detaching and deleting are tried, and IMDS is read for a new interface.
const TRIES: u32 = 12;

/// ipamd's view of EC2 and of the instance's metadata.
pub(crate) struct Calls {
    pub(crate) cloud: Arc<Cloud>,
    pub(crate) instance: String,
    face: Face,
    random: Mutex<Random>,
}

impl Calls {
    pub(crate) fn new(cloud: Arc<Cloud>, instance: String, seed: u64) -> Self {
        let face = Face(Arc::clone(&cloud));
        Self { cloud, instance, face, random: Mutex::new(Random::new(seed)) }
    }

    pub(crate) fn now(&self) -> u64 {
        self.cloud.now().millis()
    }

    /// A wait up to `most`.
    pub(crate) fn up_to(&self, most: Duration) -> Duration {
        let millis = u64::try_from(most.as_millis()).unwrap();
        Duration::from_millis(self.random.lock().unwrap().below(millis + 1))
    }

    /// The SDK's standard retryer: what was throttled, refused by a fault of the service or not answered is tried again, after a
    /// random part of 1, 2, 4 .. 20 s.
    async fn sdk<'a, T>(&'a self, call: impl Fn() -> Call<'a, T>) -> Result<T, CallError> {
        for attempt in 1.. {
            match call().await {
                Err(error)
                    if matches!(error.failure, Failure::Throttled | Failure::Unknown)
                        && attempt < ATTEMPTS =>
                {
                    let most = Duration::from_secs(1 << (attempt - 1).min(5)).min(Duration::from_secs(20));
                    sleep(self.up_to(most)).await;
                }
                answer => return answer,
            }
        }
        unreachable!()
    }

    /// The interfaces that the instance's metadata shows: attached ones, as they were a while ago.
    pub(crate) fn metadata(&self) -> Vec<(String, bool, BTreeSet<Ipv4Net>)> {
        let now = self.cloud.now();
        let inner = self.cloud.inner();
        let at = inner.state.consistency.imds(&self.instance, now);
        let all = inner.state.interfaces().all_at(at);
        let here = all.filter(|known| known.is_on(&self.instance) && known.status == Status::InUse);
        here.map(|known| {
            let singles = known.ipv4.iter().skip(1).map(|address| Ipv4Net::from(*address));
            let nets = singles.chain(known.ipv4_prefixes.iter().copied()).collect();
            (known.id.clone(), known.attachment.as_ref().is_some_and(|place| place.device == 0), nets)
        })
        .collect()
    }

    pub(crate) async fn describe(&self, ids: Vec<String>) -> Result<Vec<Ec2Interface>, CallError> {
        let which = Which::Ids(ids);
        self.sdk(|| self.face.interfaces(&which)).await
    }

    /// `AllocIPAddresses`: all at once, and if that fails, one.
    pub(crate) async fn assign(&self, id: &str, many: u32, prefixes: bool) -> Result<Vec<IpNet>, CallError> {
        let what = |count| if prefixes { Assign::Prefixes(count) } else { Assign::Addresses(count) };
        let (all, one) = (what(many), what(1));
        match self.sdk(|| self.face.assign(id, &all)).await {
            Err(error) if error.failure != Failure::InterfaceFull => {
                self.sdk(|| self.face.assign(id, &one)).await
            }
            answer => answer,
        }
    }

    /// `DeallocCidrs`: what goes from an interface, in one call.
    pub(crate) async fn unassign(&self, id: &str, nets: &[Ipv4Net]) {
        let nets: Vec<IpNet> = nets.iter().copied().map(IpNet::from).collect();
        // A failure is logged; a reconcile finds the addresses again.
        let _ = self.sdk(|| self.face.unassign(id, &nets)).await;
    }

    /// `AllocENI`: describe the subnets, create in the first that has room, find a free index, attach, and have it deleted with the
    /// instance.
    pub(crate) async fn allocate(&self, carries: &Assign) -> Result<String, CallError> {
        let id = self.create(carries).await?;
        let attachment = match self.attach(&id).await {
            Ok(attachment) => attachment,
            Err(error) => {
                self.delete(&id).await;
                return Err(error);
            }
        };
        if let Err(error) = self.sdk(|| self.face.delete_with_instance(&id, &attachment)).await {
            self.free(&id).await;
            return Err(error);
        }
        Ok(id)
    }

    /// `IsSubnetExcluded`, for each interface that is set up: with `ENABLE_SUBNET_DISCOVERY`, which is on, the tags of its subnet are read.
    pub(crate) async fn check_subnet(&self) {
        // Without an answer, the subnet counts as usable.
        let _ = self.sdk(|| self.face.subnets("vpc-1", "a")).await;
    }

    async fn create(&self, carries: &Assign) -> Result<String, CallError> {
        let own = "subnet-1".to_owned();
        // ENABLE_SUBNET_DISCOVERY is on: those with the most free addresses first. On a failure, the node's own.
        let subnets = match self.sdk(|| self.face.subnets("vpc-1", "a")).await {
            Ok(mut subnets) => {
                subnets.sort_by_key(|subnet| std::cmp::Reverse(subnet.available));
                let is_valid = |tags: &BTreeMap<String, String>| tags.contains_key("kubernetes.io/role/cni");
                subnets.retain(|subnet| subnet.id == own || is_valid(&subnet.tags));
                subnets.into_iter().map(|subnet| subnet.id).collect()
            }
            Err(_) => vec![own],
        };
        let mut answer = None;
        for subnet in subnets {
            let token = format!("{}-{}", self.instance, self.random.lock().unwrap().next_number());
            let tag = ("node.k8s.amazonaws.com/instance_id".to_owned(), self.instance.clone());
            let creation = Creation {
                token,
                subnet,
                groups: Vec::new(),
                description: format!("aws-K8S-{}", self.instance),
                carries: carries.clone(),
                tags: [tag].into(),
            };
            match self.sdk(|| self.face.create(&creation)).await {
                Ok(created) => return Ok(created.id),
                error => answer = Some(error),
            }
        }
        answer.unwrap().map(|created| created.id)
    }

    async fn attach(&self, id: &str) -> Result<String, CallError> {
        // `awsGetFreeDeviceNumber`.
        let describe = || -> Call<'_, BTreeSet<u32>> {
            Box::pin(self.cloud.call("DescribeInstances", false, |state, now| {
                let all = state.interfaces().all_at(state.consistency.describe(now));
                let places = all.filter_map(|known| known.attachment.as_ref());
                let here = places.filter(|place| place.instance == self.instance);
                Ok(here.map(|place| place.device).collect())
            }))
        };
        let used = self.sdk(describe).await?;
        let device = (0..).find(|device| !used.contains(device)).unwrap();
        let attach = Attach { interface: id.to_owned(), instance: self.instance.clone(), card: 0, device };
        self.sdk(|| self.face.attach(&attach)).await
    }

    /// `WaitForENIAndIPsAttached`: reads IMDS 12 times, after 0.1 s that doubles up to 60 s, until the interface has something.
    pub(crate) async fn wait_for(&self, id: &str) -> Option<BTreeSet<Ipv4Net>> {
        let mut wait = Duration::from_millis(100);
        for _ in 0..TRIES {
            let found = self.metadata().into_iter().find(|(known, _, nets)| known == id && !nets.is_empty());
            if let Some((_, _, nets)) = found {
                return Some(nets);
            }
            sleep(wait).await;
            wait = (wait * 2).min(Duration::from_secs(60));
        }
        None
    }

    /// `FreeENI`: describe, detach (12 tries from 0.2 s), wait 2 s, delete (12 tries from 0.5 s).
    pub(crate) async fn free(&self, id: &str) {
        let Ok(shown) = self.describe(vec![id.to_owned()]).await else { return };
        let Some(shown) = shown.first() else { return };
        if let Some(place) = &shown.attachment {
            let detach = || self.face.detach(&place.id);
            if !self.again(Duration::from_millis(200), detach).await {
                return;
            }
            sleep(Duration::from_secs(2)).await;
        }
        self.delete(id).await;
    }

    pub(crate) async fn delete(&self, id: &str) {
        self.again(Duration::from_millis(500), || self.face.delete(id)).await;
    }

    /// `retry.NWithBackoff`: up to 12 times, each with the SDK's own retries.
    async fn again<'a>(&'a self, first: Duration, call: impl Fn() -> Call<'a, ()>) -> bool {
        let mut wait = first;
        for _ in 0..TRIES {
            match self.sdk(&call).await {
                Ok(()) => return true,
                Err(error) if error.code == "InvalidNetworkInterfaceID.NotFound" => return true,
                Err(_) => sleep(wait).await,
            }
            wait = (wait * 2).min(Duration::from_secs(60));
        }
        false
    }

    /// The sweep for leaked interfaces: each node looks through the whole VPC, and deletes what has been attached to nothing for
    /// five minutes.
    pub(crate) async fn sweep(&self) {
        let describe = || -> Call<'_, Vec<String>> {
            Box::pin(self.cloud.call("DescribeNetworkInterfaces", false, |state, now| {
                let all = state.interfaces().all_at(state.consistency.describe(now));
                let leaked = all.filter(|known| {
                    known.status == Status::Available
                        && known.description.starts_with("aws-K8S-")
                        && now.since(known.created) > 300_000
                });
                Ok(leaked.map(|known| known.id.clone()).collect())
            }))
        };
        for id in self.sdk(describe).await.unwrap_or_default() {
            self.delete(&id).await;
        }
    }
}

/// Whether ipamd knows an error as a shortage of its subnet, `containsInsufficientCIDRsOrSubnetIPs`: not the message form.
pub(crate) fn is_shortage(error: &CallError) -> bool {
    matches!(error.failure, Failure::SubnetExhausted | Failure::NoBlock)
}
