//! The operator's own writes, until the watch shows them: a pass on a store that lacks the last pass's writes would make them again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_leases::Uid;

use super::kept::{FromObject, KeptObject};

/// The time after which a write is no longer waited for: somebody has undone it before the watch saw it.
const LIMIT: Duration = Duration::from_secs(30);

/// Objects as the API server returned them.
#[derive(Debug)]
pub struct WrittenObjects<V> {
    objects: BTreeMap<Arc<str>, (KeptObject<V>, Duration)>,
    deleted: BTreeMap<Uid, Duration>,
}

impl<V> Default for WrittenObjects<V> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), deleted: BTreeMap::new() }
    }
}

impl<V: FromObject> WrittenObjects<V> {
    /// Notes an object that was written now.
    pub fn wrote(&mut self, object: V::Object, now: Duration) {
        let object = KeptObject::of(object);
        self.objects.insert(Arc::clone(&object.name), (object, now));
    }

    /// Notes that the object with this uid is gone.
    pub fn deleted(&mut self, uid: &str, now: Duration) {
        self.deleted.extend(uid.parse::<Uid>().ok().map(|uid| (uid, now)));
    }

    /// Lays what was written over what the watch shows.
    pub fn over(&mut self, stored: Vec<KeptObject<V>>, now: Duration) -> Vec<KeptObject<V>> {
        self.objects.retain(|_, (_, at)| now.saturating_sub(*at) < LIMIT);
        self.deleted.retain(|_, at| now.saturating_sub(*at) < LIMIT);
        for object in &stored {
            let overtaken = self
                .objects
                .get(&object.name)
                .is_some_and(|(written, _)| written.version <= object.version || written.uid != object.uid);
            if overtaken {
                self.objects.remove(&object.name);
            }
        }
        let mut all = stored;
        all.retain(|object| !self.objects.contains_key(&object.name));
        all.extend(self.objects.values().map(|(object, _)| object.clone()));
        all.retain(|object| object.uid.is_none_or(|uid| !self.deleted.contains_key(&uid)));
        all
    }
}

#[cfg(test)]
mod tests {
    use kube::api::ObjectMeta;
    use tenure_cluster::AddressSpace;

    use super::*;
    use crate::view::SpaceView;

    const A: &str = "00000000-0000-0000-0000-00000000000a";
    const B: &str = "00000000-0000-0000-0000-00000000000b";

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
        let (mut written, at) = (WrittenObjects::<SpaceView>::default(), Duration::from_secs);
        let stored = |uid, version| vec![KeptObject::of(space(uid, version))];
        written.wrote(space(A, "5"), at(0));
        let versions = |objects: Vec<KeptObject<SpaceView>>| {
            objects.iter().map(|object| object.version.map_or(0, |version| version.0)).collect::<Vec<_>>()
        };
        assert_eq!(versions(written.over(vec![], at(1))), [5]);
        assert_eq!(versions(written.over(stored(A, "4"), at(1))), [5]);
        assert_eq!(versions(written.over(stored(A, "6"), at(1))), [6]);
        assert_eq!(versions(written.over(vec![], at(1))), [0; 0]);
        written.wrote(space(A, "7"), at(1));
        assert_eq!(versions(written.over(vec![], at(31))), [0; 0]);
        written.wrote(space(A, "8"), at(40));
        written.deleted(A, at(41));
        assert_eq!(versions(written.over(stored(A, "4"), at(42))), [0; 0]);
        assert_eq!(versions(written.over(stored(B, "9"), at(42))), [9]);
    }
}
