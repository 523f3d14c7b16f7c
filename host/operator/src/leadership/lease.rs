//! The election's Lease in the API server.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, ResourceExt as _};
use tenure_cluster::client::{ApiCallError, call};
use tenure_leases::LeaseRules;
use tenure_leases::operator::barrier::LeaderHandover;
use tenure_supervise::{Gate, Part};
use tenure_types::Clock;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::doubt::StoreDoubt;
use super::rule::{ElectionStep, LEASE_SECONDS, LeaseRecord, Observation, RENEW_DEADLINE, RETRY};
use super::servers::{self, ApiServers};
use crate::clock::{since_boot, time_of_day};
use crate::reports::{OperatorMetrics, WriteCause};

/// The annotation of a Lease whose holder suspects a restored store.
const DOUBTED: &str = "ipam.tenure.dev/store-doubted";

/// The annotation of a Lease that names the API servers that its holder has seen.
const SERVERS: &str = "ipam.tenure.dev/api-servers";

/// The pause between two looks at the API servers. What the Lease says of them may be old: that only makes a successor wait.
const LOOK: Duration = Duration::from_secs(60);

/// The name of the Lease.
const NAME: &str = "tenure-operator";

/// Why an operator stops leading.
#[derive(Debug, thiserror::Error)]
pub enum ElectionError {
    /// Another operator has taken the Lease.
    #[error("{0} took the Lease")]
    Taken(String),
    /// The Lease could not be renewed in time.
    #[error("the Lease was not renewed for {} s", RENEW_DEADLINE.as_secs())]
    Late,
}

/// Takes the Lease, opens the gate, and renews the Lease. Ends when it is lost: the program then exits, and its pending writes with it.
pub struct Election {
    api: Api<Lease>,
    server_leases: Api<Lease>,
    me: String,
    clock: Arc<dyn Clock>,
    leading: Gate,
    seen: Observation,
    renewed: Option<Duration>,
    lost_to: Option<String>,
    /// The renewals that it may have written last: those after the last one that was confirmed, and that one.
    written: Vec<Timestamp>,
    doubt: StoreDoubt,
    metrics: OperatorMetrics,
    /// The API servers as they were last listed; none before.
    servers: ApiServers,
    /// The time of the last look at them.
    looked: Option<Duration>,
}

impl Election {
    /// Prepares the election of an operator with a name of its own.
    #[must_use]
    pub fn new(
        client: Client,
        namespace: &str,
        identity: &str,
        clock: Arc<dyn Clock>,
        leading: Gate,
    ) -> Self {
        let server_leases = Api::namespaced(client.clone(), servers::NAMESPACE);
        let api = Api::namespaced(client, namespace);
        Self {
            api,
            server_leases,
            me: identity.to_owned(),
            clock,
            leading,
            seen: Observation::default(),
            renewed: None,
            lost_to: None,
            written: Vec::new(),
            doubt: StoreDoubt::default(),
            metrics: OperatorMetrics::default(),
            servers: ApiServers::default(),
            looked: None,
        }
    }

    /// Counts its calls in these metrics.
    #[must_use]
    pub fn counted_by(self, metrics: OperatorMetrics) -> Self {
        Self { metrics, ..self }
    }

    /// Tells an operator what the Lease says about the store.
    #[must_use]
    pub fn telling(self, doubt: StoreDoubt) -> Self {
        Self { doubt, ..self }
    }

    /// Looks at the Lease once, and takes or renews it.
    ///
    /// # Errors
    /// If leadership is lost. An error of the API server is logged while there is time to renew.
    pub async fn look(&mut self) -> Result<(), ElectionError> {
        match timeout(RENEW_DEADLINE / 2, self.step()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!("election: {error}"),
            Err(_) => tracing::warn!("election: the API server does not answer"),
        }
        if let Some(holder) = self.lost_to.take() {
            return Err(ElectionError::Taken(holder));
        }
        let Some(renewed) = self.renewed else { return Ok(()) };
        if since_boot(&*self.clock).saturating_sub(renewed) >= RENEW_DEADLINE {
            Err(ElectionError::Late)
        } else {
            Ok(())
        }
    }

    async fn step(&mut self) -> Result<(), ApiCallError> {
        let read = self.metrics.counted("get", WriteCause::Election, call(self.api.get_opt(NAME))).await?;
        let record = read.as_ref().and_then(record);
        let holder = record.as_ref().map(|record| record.holder.clone()).unwrap_or_default();
        // The time before the write: its effect may come at any moment after.
        let now = since_boot(&*self.clock);
        match self.seen.observe(&self.me, record.clone(), now) {
            ElectionStep::Wait if self.renewed.is_some() => {
                self.lost_to = Some(holder);
            }
            ElectionStep::Wait => {}
            ElectionStep::Take | ElectionStep::Renew => {
                if self.renewed.is_none() {
                    // An earlier list may name a server that was stopped since.
                    self.servers = ApiServers::default();
                    self.look_at_servers(now).await;
                }
                self.judge(record.as_ref());
                let fresh = self.lease(read.as_ref());
                let renewed =
                    fresh.spec.as_ref().and_then(|spec| spec.renew_time.as_ref()).map(|time| time.0);
                self.written.extend(renewed);
                let (parameters, cause) = (PostParams::default(), WriteCause::Election);
                match read {
                    Some(_) => {
                        let call = call(self.api.replace(NAME, &parameters, &fresh));
                        self.metrics.counted("update", cause, call).await?
                    }
                    None => {
                        let call = call(self.api.create(&parameters, &fresh));
                        self.metrics.counted("create", cause, call).await?
                    }
                };
                if self.renewed.is_none() {
                    tracing::info!("{} leads", self.me);
                }
                self.renewed = Some(now);
                self.written = renewed.into_iter().collect();
                self.leading.open();
                // After the write, which waits for nothing else.
                if self.looked.is_none_or(|at| now.saturating_sub(at) >= LOOK) {
                    self.look_at_servers(now).await;
                }
            }
        }
        Ok(())
    }

    /// Lists the API servers. Without a list, a Lease that is not fresh is taken for that of a backup.
    async fn look_at_servers(&mut self, now: Duration) {
        self.looked = Some(now);
        let list = ApiServers::running(&self.server_leases, time_of_day(&*self.clock));
        match timeout(RETRY, self.metrics.counted("list", WriteCause::Election, list)).await {
            Ok(Ok(running)) => self.servers = running,
            Ok(Err(error)) => tracing::warn!("cannot list the API servers' Leases: {error}"),
            Err(_) => tracing::warn!("cannot list the API servers' Leases: no answer in time"),
        }
    }

    /// Compares the Lease with what its last holder must have left.
    fn judge(&self, record: Option<&LeaseRecord>) {
        let renewed = record.and_then(|record| record.renewed);
        let is_suspect = match (self.renewed, record) {
            (Some(_), _) => renewed.is_none_or(|at| !self.written.contains(&at)),
            // The first leader.
            (None, None) => false,
            (None, Some(record)) => {
                let age = time_of_day(&*self.clock).duration_since(renewed.unwrap_or(Timestamp::MIN));
                let is_same_server = self.servers.has_any_of(&record.servers);
                let (age_seconds, is_doubted) = (age.as_secs(), record.is_doubted);
                LeaderHandover { age_seconds, is_doubted, is_same_server }.is_suspect(LeaseRules::ALL)
            }
        };
        if is_suspect {
            self.doubt.raise();
        }
    }

    /// The Lease with one's own name, over the one that was read: the write fails if somebody else wrote in between.
    fn lease(&self, read: Option<&Lease>) -> Lease {
        let old = read.and_then(|lease| lease.spec.clone()).unwrap_or_default();
        // The API server does not write an update that changes nothing: a clock that stands still or goes back must renew all the same.
        let renewed = old.renew_time.as_ref().map(|time| time.0);
        let later = renewed.and_then(|time| time.checked_add(SignedDuration::from_micros(1)).ok());
        let now = MicroTime(time_of_day(&*self.clock).max(later.unwrap_or(Timestamp::MIN)));
        let mine = old.holder_identity.as_deref() == Some(&self.me);
        let mut metadata = read.map_or_else(
            || ObjectMeta { name: Some(NAME.to_owned()), ..ObjectMeta::default() },
            |lease| lease.metadata.clone(),
        );
        let annotations = metadata.annotations.get_or_insert_default();
        match self.doubt.stands() {
            true => drop(annotations.insert(DOUBTED.to_owned(), "true".to_owned())),
            false => drop(annotations.remove(DOUBTED)),
        }
        match self.servers.word() {
            Some(word) => drop(annotations.insert(SERVERS.to_owned(), word)),
            None => drop(annotations.remove(SERVERS)),
        }
        let spec = LeaseSpec {
            holder_identity: Some(self.me.clone()),
            lease_duration_seconds: Some(LEASE_SECONDS),
            acquire_time: old.acquire_time.filter(|_| mine).or_else(|| Some(now.clone())),
            renew_time: Some(now),
            lease_transitions: Some(old.lease_transitions.unwrap_or_default() + i32::from(!mine)),
            ..LeaseSpec::default()
        };
        Lease { metadata, spec: Some(spec) }
    }

    /// Gives the Lease up, so that a successor need not wait.
    async fn resign(&self) -> Result<(), ApiCallError> {
        let Some(mut lease) = call(self.api.get_opt(NAME)).await? else { return Ok(()) };
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_deref() == Some(&self.me) {
            spec.holder_identity = None;
            call(self.api.replace(NAME, &PostParams::default(), &lease)).await?;
        }
        Ok(())
    }
}

impl Part for Election {
    async fn run(&mut self, stop: &CancellationToken) -> anyhow::Result<()> {
        loop {
            match stop.run_until_cancelled(self.look()).await {
                Some(Ok(())) => {}
                Some(Err(lost)) => return Err(lost.into()),
                None => break,
            }
            if stop.run_until_cancelled(sleep(RETRY)).await.is_none() {
                break;
            }
        }
        if self.renewed.is_some()
            && let Err(error) = self.resign().await
        {
            tracing::warn!("cannot give the Lease up: {error}");
        }
        Ok(())
    }
}

/// The fields that the rule looks at.
fn record(lease: &Lease) -> Option<LeaseRecord> {
    let spec = lease.spec.as_ref()?;
    Some(LeaseRecord {
        holder: spec.holder_identity.clone().unwrap_or_default(),
        duration_seconds: spec.lease_duration_seconds.unwrap_or(LEASE_SECONDS),
        version: lease.metadata.resource_version.clone().unwrap_or_default(),
        renewed: spec.renew_time.as_ref().map(|time| time.0),
        is_doubted: lease.annotations().contains_key(DOUBTED),
        servers: lease.annotations().get(SERVERS).map(|word| ApiServers::parse(word)).unwrap_or_default(),
    })
}
