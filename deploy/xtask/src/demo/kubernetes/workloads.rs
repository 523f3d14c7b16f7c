//! The manifests of what runs on the cluster.

/// The image of workloads and sandboxes.
pub(super) const WORKLOAD: &str = "localhost/tenure-workload:1";

/// A Deployment of pods that answer on their addresses.
pub(super) fn deployment(name: &str, replicas: usize) -> String {
    format!(
        "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: default}}\nspec:\n  replicas: {replicas}\n  {}",
        served(name)
    )
}

/// A StatefulSet of such pods, all started at the same time.
pub(super) fn stateful_set(name: &str, replicas: usize) -> String {
    format!(
        "---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: {name}, namespace: default}}\nspec:\n  replicas: {replicas}\n  \
         podManagementPolicy: Parallel\n  serviceName: {name}\n  {}",
        served(name)
    )
}

/// A StatefulSet of one such pod, which names the claim of its own name.
pub(super) fn claiming_set(name: &str) -> String {
    let labels = format!("metadata: {{labels: {{app: {name}}}");
    let claims = format!("{labels}, annotations: {{ipam.tenure.dev/claim: \"{name}-{{ordinal}}\"}}");
    stateful_set(name, 1).replace(&labels, &claims)
}

/// A Job that connects to each of these addresses.
pub(super) fn job(name: &str, addresses: &[&str]) -> String {
    format!(
        "---\napiVersion: batch/v1\nkind: Job\nmetadata: {{name: {name}, namespace: default}}\nspec:\n  backoffLimit: 3\n  template:\n    spec:\n      \
         restartPolicy: Never\n      automountServiceAccountToken: false\n      containers:\n      - name: reach\n        image: {WORKLOAD}\n        \
         args: [reach, \"{}\"]\n",
        addresses.join("\", \"")
    )
}

/// The selector and the template of pods that answer. Their program ignores SIGTERM, as a first process without a handler does, so they
/// have a short grace period.
fn served(name: &str) -> String {
    format!(
        "selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    metadata: {{labels: {{app: {name}}}}}\n    spec:\n      \
         terminationGracePeriodSeconds: 1\n      automountServiceAccountToken: false\n      containers:\n      - name: serve\n        \
         image: {WORKLOAD}\n        args: [serve]\n"
    )
}
