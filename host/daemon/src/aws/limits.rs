//! The limits of the node's instance type: asked once, and kept in the checkpoint.

use std::sync::Arc;
use std::time::Duration;

use tenure_aws::executor::Handle;
use tenure_aws::limits::{self, LimitSource, find};
use tenure_aws::port::{CallError, Failure, InstanceLimits};
use tenure_aws::{Ec2, Ec2Settings};
use tenure_engine::Engine;
use tenure_types::{NetworkName, Object};
use tokio::time::sleep;

/// How often EC2 is asked, as long as it has not said them: as often as it is for anything else that it refuses.
const ASK_AGAIN: Duration = Duration::from_secs(75);

/// The same while EC2 does not answer: that is said until it does.
const ASK_SOON: Duration = Duration::from_secs(10);

/// The question for the limits of an instance type.
pub(crate) struct AskedLimits<'a> {
    pub(crate) engine: &'a Engine,
    /// The network, whose setting `imdsOnly` forbids the call.
    pub(crate) network: &'a NetworkName,
    pub(crate) ec2: &'a Arc<dyn Ec2>,
    pub(crate) instance_type: &'a str,
}

impl AskedLimits<'_> {
    /// Finds the limits: the executor is told the known ones at once, and EC2's as soon as EC2 answers.
    pub(crate) async fn limits(&self, executor: &Handle) {
        let kept = self.kept();
        // Without any, a pod that waits would be refused as if the node were full.
        let known = find(self.instance_type, kept, None).await;
        let mut is_told = known.source == LimitSource::Table;
        if is_told {
            executor.set_limits(known.limits);
        }
        loop {
            let ec2 = self.may_call().await.then_some(self.ec2.as_ref());
            let found = find(self.instance_type, kept, ec2).await;
            let is_guess = matches!(found.source, LimitSource::Table | LimitSource::Assumed);
            // What was a guess before may have been corrected by EC2's refusals since.
            if !(is_guess && is_told) {
                executor.set_limits(found.limits);
            }
            is_told = true;
            if let Some(error) = &found.failure {
                self.warn(error);
                executor.limits_failed(error);
            }
            match found.source {
                LimitSource::Kept => return,
                LimitSource::Service => return self.keep(found.limits).await,
                LimitSource::Table | LimitSource::Assumed => {
                    let is_silent = found.failure.is_some_and(|error| error.failure == Failure::Unknown);
                    sleep(if is_silent { ASK_SOON } else { ASK_AGAIN }).await;
                }
            }
        }
    }

    /// Whether EC2 may be called at all.
    async fn may_call(&self) -> bool {
        let Some(book) = self.engine.book(self.network).await else { return false };
        Ec2Settings::of(&book.network().attributes).is_ok_and(|settings| !settings.imds_only)
    }

    fn kept(&self) -> Option<InstanceLimits> {
        self.engine.objects().iter().find_map(|object| {
            let is_it = object.kind == limits::KIND && object.name == self.instance_type;
            is_it.then(|| InstanceLimits::from_attributes(&object.attributes)).flatten()
        })
    }

    async fn keep(&self, limits: InstanceLimits) {
        let Ok(attributes) = limits.attributes() else { return };
        let (kind, name) = (limits::KIND.to_owned(), self.instance_type.to_owned());
        if let Err(error) = self.engine.objects_seen(&[Object { kind, name, attributes }], &[]).await {
            tracing::warn!(%error, "the limits cannot be kept for the next start");
        }
    }

    fn warn(&self, error: &CallError) {
        let instance_type = self.instance_type;
        tracing::warn!(
            instance_type,
            cause = error.to_string(),
            "EC2 does not say what the instance type can have"
        );
    }
}
