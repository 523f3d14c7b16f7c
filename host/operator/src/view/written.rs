//! The operator's own writes, until the watch shows them: a pass on a store that lacks the last pass's writes would make them again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kube::{Resource, ResourceExt as _};
use tenure_cluster::convert::object_version;

/// The time after which a write is no longer waited for: somebody has undone it before the watch saw it.
const LIMIT: Duration = Duration::from_secs(30);

/// Objects as the API server returned them.
#[derive(Debug)]
pub struct WrittenObjects<K> {
    objects: BTreeMap<(Option<String>, String), (Arc<K>, Duration)>,
    deleted: BTreeMap<String, Duration>,
}

impl<K> Default for WrittenObjects<K> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), deleted: BTreeMap::new() }
    }
}

impl<K: Resource<DynamicType = ()>> WrittenObjects<K> {
    /// Notes an object that was written now.
    pub fn wrote(&mut self, mut object: K, now: Duration) {
        object.meta_mut().managed_fields = None;
        self.objects.insert(key(&object), (Arc::new(object), now));
    }

    /// Notes that the object with this uid is gone.
    pub fn deleted(&mut self, uid: String, now: Duration) {
        self.deleted.insert(uid, now);
    }

    /// Lays what was written over what the watch shows.
    pub fn over(&mut self, stored: Vec<Arc<K>>, now: Duration) -> Vec<Arc<K>> {
        self.objects.retain(|_, (_, at)| now.saturating_sub(*at) < LIMIT);
        self.deleted.retain(|_, at| now.saturating_sub(*at) < LIMIT);
        for object in &stored {
            let key = key(&**object);
            let overtaken = self.objects.get(&key).is_some_and(|(written, _)| {
                version(written) <= version(object) || written.meta().uid != object.meta().uid
            });
            if overtaken {
                self.objects.remove(&key);
            }
        }
        let written = &self.objects;
        let rest = stored.into_iter().filter(|object| !written.contains_key(&key(&**object)));
        let all = rest.chain(written.values().map(|(object, _)| Arc::clone(object)));
        let gone =
            |object: &Arc<K>| object.meta().uid.as_ref().is_some_and(|uid| self.deleted.contains_key(uid));
        all.filter(|object| !gone(object)).collect()
    }
}

/// The namespace and the name of an object.
fn key<K: Resource<DynamicType = ()>>(object: &K) -> (Option<String>, String) {
    (object.namespace(), object.name_any())
}

fn version<K: Resource>(object: &Arc<K>) -> u64 {
    object_version(object.meta()).map_or(0, |version| version.0)
}

#[cfg(test)]
mod tests {
    use kube::api::ObjectMeta;
    use tenure_cluster::AddressSpace;

    use super::*;

    fn space(uid: &str, version: &str) -> AddressSpace {
        let metadata = ObjectMeta {
            name: Some("default".into()),
            uid: Some(uid.into()),
            resource_version: Some(version.into()),
            ..ObjectMeta::default()
        };
        AddressSpace { metadata, ..AddressSpace::new("default", Default::default()) }
    }

    #[test]
    fn a_write_counts_until_the_watch_has_it() {
        let (mut written, at) = (WrittenObjects::default(), Duration::from_secs);
        let stored = |uid, version| vec![Arc::new(space(uid, version))];
        written.wrote(space("a", "5"), at(0));
        let versions = |objects: Vec<Arc<AddressSpace>>| objects.iter().map(version).collect::<Vec<_>>();
        assert_eq!(versions(written.over(vec![], at(1))), [5]);
        assert_eq!(versions(written.over(stored("a", "4"), at(1))), [5]);
        assert_eq!(versions(written.over(stored("a", "6"), at(1))), [6]);
        assert_eq!(versions(written.over(vec![], at(1))), [0; 0]);
        written.wrote(space("a", "7"), at(1));
        assert_eq!(versions(written.over(vec![], at(31))), [0; 0]);
        written.wrote(space("a", "8"), at(40));
        written.deleted("a".into(), at(41));
        assert_eq!(versions(written.over(stored("a", "4"), at(42))), [0; 0]);
        assert_eq!(versions(written.over(stored("b", "9"), at(42))), [9]);
    }
}
