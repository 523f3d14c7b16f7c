//! The node's cloud interfaces, as operators and scrapers see them: what the executor knows, with what the ledger has of it.
//!
//! Only conversions; the executor and the ledger are asked, and nothing is decided here.

mod calls;
pub(crate) mod explained;
mod figures;
mod interfaces;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_aws::executor::{Handle, IntentStatus, Status};
use tenure_engine::Engine;
use tenure_observe::CloudFigures;
use tenure_rpc::v1;
use tenure_types::{Attributes, NetworkName};

use self::interfaces::{CloudStock, interfaces};

/// The attribute of an effect in which the policy says why.
const REASON: &str = "reason";

/// The sources of what is known, as they are named on the wire.
const EC2: &str = "ec2";
const IMDS: &str = "imds";

/// The cloud interfaces of a node whose executor exists.
pub(crate) struct AwsCloud<'a> {
    pub(crate) handle: Handle,
    pub(crate) engine: &'a Arc<Engine>,
}

impl AwsCloud<'_> {
    /// Returns the figures for scrapers.
    pub(crate) async fn figures(&self) -> CloudFigures {
        let book = self.engine.book(self.handle.network()).await;
        let stock = book.as_deref().map(CloudStock::of).unwrap_or_default();
        figures::figures(&self.handle.status(), &stock)
    }
}

#[tonic::async_trait]
impl tenure_rpc::admin::Cloud for AwsCloud<'_> {
    fn network(&self) -> &NetworkName {
        self.handle.network()
    }

    async fn status(&self) -> v1::GetCloudResponse {
        // The last plan may be of half a minute ago, and an explained one is of now: the two must not contradict each other.
        self.handle.plan_now().await;
        let book = self.engine.book(self.handle.network()).await;
        let stock = book.as_deref().map(CloudStock::of).unwrap_or_default();
        status(self.handle.network(), &self.handle.status(), &stock)
    }
}

/// Combines an executor's facts with the ledger's.
fn status(network: &NetworkName, status: &Status, stock: &CloudStock) -> v1::GetCloudResponse {
    let age = |at: Duration| milliseconds(status.now.saturating_sub(at));
    v1::GetCloudResponse {
        network: network.to_string(),
        confirmed_age_ms: status.confirmed.map(age),
        trouble: status.trouble.clone().unwrap_or_default(),
        limits: status.limits.map(|limits| v1::CloudLimits {
            interfaces: limits.interfaces,
            addresses: limits.addresses,
            ipv6_addresses: limits.ipv6_addresses,
            prefixes: limits.prefixes,
        }),
        interfaces: interfaces(status, stock),
        subnets: status
            .subnets
            .iter()
            .map(|subnet| v1::CloudSubnet {
                id: subnet.id.clone(),
                ranges: subnet.ranges.iter().map(ToString::to_string).collect(),
                available: subnet.available,
            })
            .collect(),
        quarantine: status
            .quarantine
            .iter()
            .map(|quarantined| v1::CloudQuarantine {
                interface: quarantined.interface.clone(),
                net: quarantined.net.to_string(),
                age_ms: age(quarantined.since),
                reason: quarantined.why.clone(),
            })
            .collect(),
        odd: status.odd.clone(),
        leaked: status
            .leaked
            .iter()
            .map(|(interface, since)| v1::CloudLeak { interface: interface.clone(), age_ms: age(*since) })
            .collect(),
        intents: status.intents.iter().map(|of| intent(of, age)).collect(),
        plan: status.plan.as_ref().map(|plan| v1::CloudPlan {
            age_ms: age(plan.at),
            words: plan.words.clone().unwrap_or_default(),
            begun: plan.begun.clone(),
            refused: plan.refused.clone(),
        }),
        source: if status.imds_only { IMDS } else { EC2 }.to_owned(),
        ..calls::calls(status)
    }
}

fn intent(intent: &IntentStatus, age: impl Fn(Duration) -> u64) -> v1::CloudIntent {
    let (attributes, reason) = told(&intent.attributes);
    let (step, since) = intent.step.clone().unzip();
    v1::CloudIntent {
        id: intent.id.clone(),
        kind: intent.kind.to_owned(),
        attributes,
        reason,
        since_ms: intent.since.wall_ms,
        step: step.unwrap_or_default(),
        step_age_ms: since.map_or(0, age),
    }
}

/// An effect's target and how much, and the policy's reason.
fn told(attributes: &Attributes) -> (HashMap<String, String>, String) {
    let mut map = map(attributes);
    let reason = map.remove(REASON).unwrap_or_default();
    (map, reason)
}

fn map(attributes: &Attributes) -> HashMap<String, String> {
    attributes.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
