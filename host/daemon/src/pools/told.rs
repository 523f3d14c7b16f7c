//! Which pods have been told lately why they get no pool: the kubelet tries again every few seconds.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use tenure_types::{PodIdentity, hold};
use tokio::time::Instant;

/// How long nothing is said again.
const SILENCE: Duration = Duration::from_secs(3600);

/// The most pods that are remembered.
const MOST: usize = 1024;

/// The pods that were told.
#[derive(Debug, Default)]
pub(super) struct ToldPods(Mutex<HashMap<PodIdentity, Instant>>);

impl ToldPods {
    /// Whether the pod has not been told within the last hour; from now on it has.
    pub(super) fn is_news(&self, pod: &PodIdentity) -> bool {
        let (mut told, now) = (hold(&self.0), Instant::now());
        told.retain(|_, at| now.duration_since(*at) < SILENCE);
        if told.contains_key(pod) || told.len() >= MOST {
            return false;
        }
        told.insert(pod.clone(), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_pod_is_told_once_an_hour() {
        let (told, pod) = (ToldPods::default(), PodIdentity::default());
        assert!(told.is_news(&pod) && !told.is_news(&pod));
        tokio::time::advance(SILENCE).await;
        assert!(told.is_news(&pod));
    }
}
