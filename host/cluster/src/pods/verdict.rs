//! The verdict about a pod, from the answer to a read of it.

use k8s_openapi::api::core::v1::Pod;
use tenure_types::PodIdentity;

use crate::client::ApiCallError;

/// The annotation by which the kubelet's copy of a static pod in the API server, its mirror, names the uid that runtimes and CNI get.
pub(crate) const CONFIG_HASH: &str = "kubernetes.io/config.hash";

/// The API server's word about a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodPresence {
    /// The API server has the pod.
    Present,
    /// There is no such pod, another one has its name, or it has finished and will not start again.
    Absent,
    /// No answer, or none that says so.
    Unknown,
}

/// The verdict about the pod that was asked for.
///
/// A static pod is run from a file, and its mirror may be missing while it runs; so what is not there says nothing about one. A name
/// alone is not enough to call a pod gone: another one of that name may be the owner.
pub(crate) fn judge(asked: &PodIdentity, answer: Result<Pod, ApiCallError>) -> PodPresence {
    let is_static = is_static(&asked.uid);
    match answer {
        Ok(_) if asked.uid.is_empty() => PodPresence::Present,
        Ok(pod) if has_uid(&pod.metadata, &asked.uid) => match has_finished(&pod) {
            true => PodPresence::Absent,
            false => PodPresence::Present,
        },
        // Another pod has the name. If that one is not a mirror, it says nothing about a file on the node.
        Ok(pod) if is_static && config_hash(&pod.metadata).is_none() => PodPresence::Unknown,
        Ok(_) => PodPresence::Absent,
        Err(error) if says_not_found(&error, &asked.name) && !is_static && !asked.uid.is_empty() => {
            PodPresence::Absent
        }
        Err(_) => PodPresence::Unknown,
    }
}

/// Whether an object is the pod with this uid: by its own, or as the mirror of a static pod.
pub(crate) fn has_uid(metadata: &kube::core::ObjectMeta, uid: &str) -> bool {
    metadata.uid.as_deref() == Some(uid) || config_hash(metadata) == Some(uid)
}

/// The uid that a mirror names.
pub(crate) fn config_hash(metadata: &kube::core::ObjectMeta) -> Option<&str> {
    metadata.annotations.as_ref()?.get(CONFIG_HASH).map(String::as_str)
}

/// Whether no container of the pod will start again.
fn has_finished(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// Whether the kubelet made the uid, from a static pod's file: 32 hexadecimal digits. The API server's are UUIDs, with dashes.
fn is_static(uid: &str) -> bool {
    uid.len() == 32 && uid.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether the API server itself says that there is no pod of this name. A proxy's 404 does not name the pod.
fn says_not_found(error: &ApiCallError, name: &str) -> bool {
    let Some(status) = error.status().filter(|status| status.reason == "NotFound") else { return false };
    status.details.as_ref().is_some_and(|details| details.kind == "pods" && details.name == name)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use kube::core::Status;
    use kube::core::response::StatusDetails;
    use serde_json::json;

    use super::PodPresence::{Absent, Present, Unknown};
    use super::*;

    const UUID: &str = "8f4c0d1e-1111-2222-3333-444455556666";
    const HASH: &str = "0123456789abcdef0123456789abcdef";

    fn asked(uid: &str) -> PodIdentity {
        PodIdentity { namespace: "web".into(), name: "front-0".into(), uid: uid.into() }
    }

    fn pod(uid: &str, hash: Option<&str>, phase: &str) -> Result<Pod, ApiCallError> {
        let annotations = hash.map(|hash| json!({ CONFIG_HASH: hash }));
        let metadata = json!({ "name": "front-0", "uid": uid, "annotations": annotations });
        Ok(serde_json::from_value(json!({ "metadata": metadata, "status": { "phase": phase } })).unwrap())
    }

    fn failed(code: u16, reason: &str, kind: &str, name: &str) -> Result<Pod, ApiCallError> {
        let details: StatusDetails = serde_json::from_value(json!({ "kind": kind, "name": name })).unwrap();
        let status = Status::failure("", reason).with_code(code).with_details(details);
        Err(ApiCallError::Kube(Box::new(kube::Error::Api(status.boxed()))))
    }

    fn not_found() -> Result<Pod, ApiCallError> {
        failed(404, "NotFound", "pods", "front-0")
    }

    #[test]
    fn each_answer_has_its_verdict() {
        let rows = [
            (UUID, pod(UUID, None, "Running"), Present),
            (UUID, pod(UUID, None, "Pending"), Present),
            (UUID, pod(UUID, None, "Succeeded"), Absent),
            (UUID, pod(UUID, None, "Failed"), Absent),
            (UUID, pod("another", None, "Running"), Absent),
            (UUID, not_found(), Absent),
            (UUID, failed(404, "", "", ""), Unknown),
            (UUID, failed(404, "NotFound", "pods", "other"), Unknown),
            (UUID, failed(404, "NotFound", "namespaces", "front-0"), Unknown),
            (UUID, failed(403, "Forbidden", "pods", "front-0"), Unknown),
            (UUID, failed(410, "Gone", "pods", "front-0"), Unknown),
            (UUID, failed(500, "InternalError", "pods", "front-0"), Unknown),
            (UUID, Err(ApiCallError::Deadline), Unknown),
        ];
        for (uid, answer, expected) in rows {
            let words = format!("{answer:?}");
            assert_eq!(judge(&asked(uid), answer), expected, "{words}");
        }
    }

    /// The containers of such a pod may run until its grace period ends, and beyond. Of its status, only the phase counts.
    #[test]
    fn a_pod_that_is_being_deleted_or_disrupted_is_there() {
        let mut being_deleted = pod(UUID, None, "Running").unwrap();
        being_deleted.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        assert_eq!(judge(&asked(UUID), Ok(being_deleted)), Present);
        let condition = json!({ "type": "DisruptionTarget", "status": "True" });
        let disrupted = json!({
            "metadata": { "name": "front-0", "uid": UUID },
            "status": { "phase": "Running", "conditions": [condition] },
        });
        assert_eq!(judge(&asked(UUID), Ok(serde_json::from_value(disrupted).unwrap())), Present);
    }

    #[test]
    fn a_static_pod_is_known_by_its_mirror_and_without_one_nothing_is_known() {
        assert_eq!(judge(&asked(HASH), pod(UUID, Some(HASH), "Running")), Present);
        assert_eq!(
            judge(&asked(HASH), pod(UUID, Some("another"), "Running")),
            Absent,
            "the file has changed"
        );
        assert_eq!(judge(&asked(HASH), pod(UUID, None, "Running")), Unknown, "no mirror, but its name");
        assert_eq!(judge(&asked(HASH), not_found()), Unknown);
    }

    #[test]
    fn a_name_alone_says_nothing_of_its_end() {
        assert_eq!(judge(&asked(""), pod(UUID, None, "Running")), Present);
        assert_eq!(judge(&asked(""), not_found()), Unknown);
    }
}
