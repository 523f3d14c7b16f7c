//! The API servers that run, each told from its predecessor by the identity that it draws when it starts.
//!
//! Every API server renews a Lease of its own in `kube-system` every ten seconds. The operator's Lease names those that its holder has seen. A successor
//! that finds one of them still running knows that nobody has put a backup back since: before that, every API server is stopped.

use std::collections::BTreeSet;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, ListParams};
use tenure_cluster::client::{ApiCallError, call};
use tenure_leases::operator::barrier::HANDOVER_SECONDS;

/// The namespace of the API servers' Leases.
pub(super) const NAMESPACE: &str = "kube-system";

/// The label of the API servers' Leases.
const LABEL: &str = "apiserver.kubernetes.io/identity=kube-apiserver";

/// The identities of API servers, each of one process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiServers(BTreeSet<String>);

impl ApiServers {
    /// Lists the API servers that have renewed their Leases lately.
    ///
    /// # Errors
    /// If the Leases cannot be read.
    pub(super) async fn running(api: &Api<Lease>, now: Timestamp) -> Result<Self, ApiCallError> {
        let leases = call(api.list(&ListParams::default().labels(LABEL))).await?.items;
        Ok(Self(leases.into_iter().filter_map(|lease| identity(lease, now)).collect()))
    }

    /// Reads the words of [`word`](Self::word).
    pub(super) fn parse(word: &str) -> Self {
        Self(word.split(',').filter(|identity| !identity.is_empty()).map(str::to_owned).collect())
    }

    /// The identities in one word, for an annotation; `None` without any.
    pub(super) fn word(&self) -> Option<String> {
        let identities: Vec<&str> = self.0.iter().map(String::as_str).collect();
        (!identities.is_empty()).then(|| identities.join(","))
    }

    /// Whether both have an API server in common.
    pub(super) fn has_any_of(&self, others: &Self) -> bool {
        self.0.iter().any(|identity| others.0.contains(identity))
    }
}

/// The identity in an API server's Lease. One that was not renewed lately may be that of a server that has ended, in a backup too.
fn identity(lease: Lease, now: Timestamp) -> Option<String> {
    let spec = lease.spec?;
    let age = now.duration_since(spec.renew_time?.0).as_secs();
    spec.holder_identity.filter(|_| age.unsigned_abs() <= HANDOVER_SECONDS)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::coordination::v1::LeaseSpec;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
    use k8s_openapi::jiff::SignedDuration;

    use super::*;

    #[test]
    fn one_server_in_common_is_enough_and_none_is_not() {
        let (old, now) = (ApiServers::parse("a_1,b_1"), ApiServers::parse("a_2,b_1"));
        assert!(now.has_any_of(&old) && !ApiServers::parse("a_2,b_2").has_any_of(&old));
        assert!(!ApiServers::parse("").has_any_of(&ApiServers::default()));
        assert_eq!(old.word().as_deref(), Some("a_1,b_1"));
        assert_eq!(ApiServers::parse("").word(), None);
    }

    #[test]
    fn a_lease_that_was_not_renewed_lately_names_no_server() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let renewed = |seconds: i64| {
            let renew_time = Some(MicroTime(now + SignedDuration::from_secs(seconds)));
            let spec = LeaseSpec { holder_identity: Some("a_1".into()), renew_time, ..LeaseSpec::default() };
            identity(Lease { spec: Some(spec), ..Lease::default() }, now)
        };
        for seconds in [-60, 0, 60] {
            assert_eq!(renewed(seconds).as_deref(), Some("a_1"));
        }
        assert_eq!((renewed(-61), renewed(61)), (None, None));
        assert_eq!(identity(Lease::default(), now), None);
    }
}
