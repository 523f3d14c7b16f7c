//! The objects of a kind: a watch fills the store, and passes read it.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::Resource as _;
use kube::runtime::watcher::Event;

use super::kept::{FromObject, KeptObject, full_name};

/// A store. A clone shares it.
#[derive(Debug)]
pub(super) struct ObjectStore<V>(Arc<Mutex<StoreContents<V>>>);

#[derive(Debug)]
struct StoreContents<V> {
    /// By name.
    objects: BTreeMap<Arc<str>, KeptObject<V>>,
    /// The objects of a list that has not come to its end.
    listed: Vec<KeptObject<V>>,
}

impl<V> Default for ObjectStore<V> {
    fn default() -> Self {
        let contents = StoreContents { objects: BTreeMap::new(), listed: vec![] };
        Self(Arc::new(Mutex::new(contents)))
    }
}

impl<V> Clone for ObjectStore<V> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<V: FromObject> ObjectStore<V> {
    /// Takes an event of the watch. A list counts once it is complete; until then the store is as it was before.
    pub(super) fn apply(&self, event: Event<V::Object>) {
        match event {
            Event::Apply(object) => {
                let object = KeptObject::of(object);
                self.contents().objects.insert(Arc::clone(&object.name), object);
            }
            Event::Delete(object) => {
                self.contents().objects.remove(&full_name(object.meta()));
            }
            Event::Init => self.contents().listed = vec![],
            Event::InitApply(object) => {
                let (object, mut contents) = (KeptObject::of(object), self.contents());
                // Most objects are as they were before the list.
                let same = contents.objects.get(&object.name).filter(|known| **known == object).cloned();
                contents.listed.push(same.unwrap_or(object));
            }
            Event::InitDone => {
                let mut contents = self.contents();
                let listed = mem::take(&mut contents.listed);
                contents.objects =
                    listed.into_iter().map(|object| (Arc::clone(&object.name), object)).collect();
            }
        }
    }

    /// The objects.
    pub(super) fn state(&self) -> Vec<KeptObject<V>> {
        self.contents().objects.values().cloned().collect()
    }

    fn contents(&self) -> MutexGuard<'_, StoreContents<V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tenure_cluster::AddressSpace;

    use super::*;
    use crate::view::SpaceView;

    fn space(name: &str, version: u32, state: &str) -> AddressSpace {
        let pool = json!({ "name": "p", "uid": "00000000-0000-0000-0000-00000000000b" });
        serde_json::from_value(json!({
            "metadata": {
                "name": name, "uid": "00000000-0000-0000-0000-00000000000a", "resourceVersion": version.to_string(),
                "managedFields": [{ "manager": "m" }],
            },
            "spec": { "ranges": [{
                "id": "0000000000000001", "cidr": "10.0.0.0/24", "unit": 26, "usage": "Blocks", "pool": pool, "state": state,
            }] },
        }))
        .unwrap()
    }

    fn names(store: &ObjectStore<SpaceView>) -> Vec<String> {
        store.state().iter().map(|object| object.name.to_string()).collect()
    }

    #[test]
    fn a_list_counts_once_it_is_complete() {
        let store = ObjectStore::<SpaceView>::default();
        store.apply(Event::Init);
        store.apply(Event::InitApply(space("b", 1, "Open")));
        assert_eq!(names(&store), [""; 0]);
        store.apply(Event::InitDone);
        store.apply(Event::Apply(space("a", 2, "Open")));
        store.apply(Event::Init);
        // The watch ended in the middle of its list.
        store.apply(Event::InitApply(space("c", 3, "Open")));
        store.apply(Event::Init);
        store.apply(Event::InitApply(space("d", 4, "Open")));
        assert_eq!(names(&store), ["a", "b"]);
        store.apply(Event::Delete(space("b", 5, "Open")));
        assert_eq!(names(&store), ["a"]);
        store.apply(Event::InitDone);
        assert_eq!(names(&store), ["d"]);
    }

    #[test]
    fn an_object_that_is_listed_again_takes_no_more_memory() {
        let store = ObjectStore::<SpaceView>::default();
        let list =
            |space| [Event::Init, Event::InitApply(space), Event::InitDone].map(|event| store.apply(event));
        let read = || store.state()[0].read.clone().unwrap();
        list(space("a", 1, "Open"));
        let first = read();
        list(space("a", 1, "Open"));
        assert!(Arc::ptr_eq(&first, &read()));
        // Another one of the same version, as in a store that was restored.
        list(space("a", 1, "Closed"));
        assert_ne!(first, read());
    }

    #[test]
    fn an_object_that_cannot_be_read_is_there_by_its_name() {
        let store = ObjectStore::<SpaceView>::default();
        store.apply(Event::Apply(space("a", 1, "Ajar")));
        let [object] = store.state().try_into().unwrap();
        assert!(object.read.is_err() && object.uid.is_some() && object.version.is_some());
        assert!(object.complaint().unwrap().starts_with("AddressSpace a: "), "{:?}", object.complaint());
    }
}
