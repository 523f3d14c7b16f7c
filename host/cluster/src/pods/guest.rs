//! Virtual machines in pods, as KubeVirt labels them. During a live migration one machine has two pods, and moves from the one to the other.

use tenure_leases::TurnGuest;

use super::labels::ObjectLabels;

/// The uid of the machine's VirtualMachineInstance, on each of its pods.
const MACHINE_LABEL: &str = "kubevirt.io/created-by";

/// The node on which the machine runs, on the pod that it runs in.
const NODE_LABEL: &str = "kubevirt.io/nodeName";

/// The time at which the machine began to run in the pod that a migration leads to.
const STARTED_ANNOTATION: &str = "kubevirt.io/migration-target-start-timestamp";

/// The virtual machine in a pod of this node; `None` if the pod is not one's.
#[must_use]
pub fn guest_of(labels: &ObjectLabels, node: &str) -> Option<TurnGuest> {
    let uid = labels.labels.get(MACHINE_LABEL)?.parse().ok()?;
    let is_here = labels.labels.get(NODE_LABEL).is_some_and(|name| name == node);
    let has_started = labels.annotations.get(STARTED_ANNOTATION).is_some_and(|at| !at.is_empty());
    Some(TurnGuest { uid, runs: is_here || has_started })
}

#[cfg(test)]
mod tests {
    use tenure_leases::Uid;

    use super::*;

    #[test]
    fn a_machine_runs_where_its_label_or_its_start_says() {
        let machine = (MACHINE_LABEL, "00000000-0000-0000-0000-000000000007");
        let guest = |labels: &[(&str, &str)], started: Option<&str>| {
            let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
            let started = started.map(|at| (STARTED_ANNOTATION.to_owned(), at.to_owned()));
            let labels = labels.iter().map(owned).collect();
            let annotations = started.into_iter().collect();
            guest_of(&ObjectLabels { labels, annotations, ..ObjectLabels::default() }, "n1")
        };
        let found = |runs| Some(TurnGuest { uid: Uid(7), runs });
        assert_eq!(guest(&[], Some("1")), None);
        assert_eq!(guest(&[(MACHINE_LABEL, "vm-1")], None), None);
        assert_eq!(guest(&[machine], None), found(false));
        assert_eq!(guest(&[machine, (NODE_LABEL, "n2")], Some("")), found(false));
        assert_eq!(guest(&[machine, (NODE_LABEL, "n1")], None), found(true));
        assert_eq!(guest(&[machine, (NODE_LABEL, "n2")], Some("1764150000")), found(true));
    }
}
