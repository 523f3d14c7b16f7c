//! The pods that the watch has reported.

use std::collections::HashMap;
use std::sync::Arc;

use kube::core::ObjectMeta;
use kube::runtime::watcher::Event;
use tenure_types::PodIdentity;

use super::labels::ObjectLabels;
use super::verdict::config_hash;

/// A pod's namespace and name.
type PodKey = (Arc<str>, Box<str>);

/// The uids by which a runtime may know a pod: its own, and the one that a mirror names.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Uids {
    own: Box<str>,
    of_file: Option<Box<str>>,
}

/// A pod: who it is, and how it is labelled.
#[derive(Debug, Clone)]
struct ListedPod {
    uids: Uids,
    labels: Arc<ObjectLabels>,
}

/// The pods of the node. While they are listed again, those of before stay until the list is complete.
#[derive(Debug, Default)]
pub(crate) struct KnownPods {
    pods: HashMap<PodKey, ListedPod>,
    /// The list that is not complete yet.
    listing: HashMap<PodKey, ListedPod>,
    is_complete: bool,
}

impl KnownPods {
    /// Follows an event of the watch; returns whether a pod may have gone.
    pub(crate) fn follow(&mut self, event: Event<ObjectMeta>) -> bool {
        match event {
            Event::Init => {
                self.listing.clear();
                false
            }
            Event::InitApply(pod) => {
                self.listing.extend(entry(pod));
                false
            }
            Event::InitDone => {
                let before = std::mem::replace(&mut self.pods, std::mem::take(&mut self.listing));
                // What was allocated before the first list may have gone before it.
                let is_first = !std::mem::replace(&mut self.is_complete, true);
                let is_there = |key: &PodKey, before: &ListedPod| {
                    self.pods.get(key).is_some_and(|now| now.uids == before.uids)
                };
                is_first || before.iter().any(|(key, before)| !is_there(key, before))
            }
            Event::Apply(pod) => {
                let Some((key, pod)) = entry(pod) else { return false };
                let uids = pod.uids.clone();
                let before = self.pods.insert(key, pod);
                before.is_some_and(|before| before.uids != uids)
            }
            Event::Delete(pod) => entry(pod).is_some_and(|(key, _)| self.pods.remove(&key).is_some()),
        }
    }

    /// Whether all pods of the node have been listed once.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Whether the watch has a pod, with its uid if that is known.
    pub(crate) fn has(&self, pod: &PodIdentity) -> bool {
        self.get(pod).is_some()
    }

    /// The labels and annotations of a pod that the watch has.
    pub(crate) fn labels(&self, pod: &PodIdentity) -> Option<Arc<ObjectLabels>> {
        self.get(pod).map(|known| Arc::clone(&known.labels))
    }

    fn get(&self, pod: &PodIdentity) -> Option<&ListedPod> {
        let known = self.pods.get(&(Arc::clone(&pod.namespace), pod.name.clone()));
        known.filter(|ListedPod { uids, .. }| {
            pod.uid.is_empty() || uids.own == pod.uid || uids.of_file.as_ref() == Some(&pod.uid)
        })
    }
}

fn entry(mut pod: ObjectMeta) -> Option<(PodKey, ListedPod)> {
    let of_file = config_hash(&pod).map(Box::from);
    let labels = Arc::new(ObjectLabels::take(&mut pod));
    let key = (pod.namespace?.into(), pod.name?.into());
    Some((key, ListedPod { uids: Uids { own: pod.uid?.into(), of_file }, labels }))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    fn metadata(name: &str, uid: &str) -> ObjectMeta {
        let owned = |text: &str| Some(text.to_owned());
        ObjectMeta { name: owned(name), namespace: owned("web"), uid: owned(uid), ..ObjectMeta::default() }
    }

    fn pod(name: &str, uid: &str) -> PodIdentity {
        PodIdentity { namespace: "web".into(), name: name.into(), uid: uid.into() }
    }

    /// whereabouts #546: deletions that a gap in the watch swallowed leaked their addresses for good.
    #[test]
    fn a_pod_that_vanished_in_a_gap_is_found_at_the_end_of_the_next_list() {
        let mut known = KnownPods::default();
        assert!(!known.follow(Event::Init) && !known.follow(Event::InitApply(metadata("a", "1"))));
        assert!(
            !known.is_complete() && !known.has(&pod("a", "1")),
            "a list that is not complete says nothing"
        );
        assert!(known.follow(Event::InitDone), "what went before the first list");
        assert!(known.is_complete() && known.has(&pod("a", "1")) && !known.has(&pod("a", "2")));
        assert!(!known.follow(Event::Apply(metadata("b", "2"))));
        known.follow(Event::Init);
        known.follow(Event::InitApply(metadata("b", "2")));
        assert!(known.has(&pod("a", "1")), "a list that is cut off takes nothing");
        known.follow(Event::Init);
        known.follow(Event::InitApply(metadata("b", "2")));
        assert!(known.follow(Event::InitDone));
        assert!(!known.has(&pod("a", "1")) && known.has(&pod("b", "2")));
    }

    #[test]
    fn a_deletion_and_another_uid_are_told() {
        let mut known = KnownPods::default();
        known.follow(Event::InitDone);
        assert!(
            !known.follow(Event::Apply(metadata("a", "1")))
                && !known.follow(Event::Apply(metadata("a", "1")))
        );
        assert!(known.follow(Event::Apply(metadata("a", "2"))), "made again under the same name");
        assert!(known.follow(Event::Delete(metadata("a", "2"))));
        assert!(!known.follow(Event::Delete(metadata("a", "2"))));
    }

    #[test]
    fn a_pod_that_is_being_deleted_is_there() {
        let mut known = KnownPods::default();
        known.follow(Event::InitDone);
        known.follow(Event::Apply(metadata("a", "1")));
        let deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        let being_deleted = ObjectMeta { deletion_timestamp, ..metadata("a", "1") };
        assert!(!known.follow(Event::Apply(being_deleted)) && known.has(&pod("a", "1")));
    }

    #[test]
    fn a_mirror_is_its_static_pod_too() {
        let mut mirror = metadata("a", "1");
        mirror.annotations = Some([("kubernetes.io/config.hash".to_owned(), "hash".to_owned())].into());
        let mut known = KnownPods::default();
        known.follow(Event::InitDone);
        known.follow(Event::Apply(mirror));
        assert!(known.has(&pod("a", "1")) && known.has(&pod("a", "hash")) && known.has(&pod("a", "")));
    }
}
