//! The watches, and the stores that they fill.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, SelectAll};
use k8s_openapi::api::core::v1::Node;
use kube::runtime::reflector::{Store, store};
use kube::runtime::watcher::{Config, Event, watcher};
use kube::runtime::{WatchStreamExt as _, reflector};
use kube::{Api, Client, Resource};
use tenure_cluster::{AddressPool, AddressSpace, IPBlock, NodeIPAM};
use tenure_supervise::Interruptible;
use tokio::sync::Notify;

use super::read::ViewSources;

/// The number of complete lists of each kind so far.
type Listings = [AtomicU64; 5];

/// The stores, which the watches fill.
#[derive(Clone)]
pub struct WatchStores {
    pools: Store<AddressPool>,
    spaces: Store<AddressSpace>,
    blocks: Store<IPBlock>,
    said: Store<NodeIPAM>,
    hosts: Store<Node>,
    listings: Arc<Listings>,
    changed: Arc<Notify>,
}

/// The watches of all kinds.
pub struct Watches {
    streams: SelectAll<BoxStream<'static, ()>>,
    stores: WatchStores,
}

impl Watches {
    /// Prepares the watches.
    #[must_use]
    pub fn new(client: &Client) -> Self {
        let (mut streams, listings) = (SelectAll::new(), Arc::new(Listings::default()));
        let stores = WatchStores {
            pools: watch(client, 0, &listings, &mut streams),
            spaces: watch(client, 1, &listings, &mut streams),
            blocks: watch(client, 2, &listings, &mut streams),
            said: watch(client, 3, &listings, &mut streams),
            hosts: watch(client, 4, &listings, &mut streams),
            listings,
            changed: Arc::default(),
        };
        Self { streams, stores }
    }

    /// The stores.
    #[must_use]
    pub fn stores(&self) -> WatchStores {
        self.stores.clone()
    }
}

impl Interruptible for Watches {
    async fn work(&mut self) {
        while self.streams.next().await.is_some() {
            self.stores.changed.notify_one();
        }
    }
}

impl WatchStores {
    /// The number of times that all blocks and all NodeIPAMs have been listed; 0 until each kind was listed once.
    #[must_use]
    pub fn listings(&self) -> u64 {
        let counts: Vec<u64> = self.listings.iter().map(|count| count.load(Ordering::Acquire)).collect();
        if counts.contains(&0) {
            return 0;
        }
        counts.iter().skip(2).take(2).sum()
    }

    /// The objects in the stores.
    #[must_use]
    pub fn sources(&self) -> ViewSources {
        ViewSources {
            pools: self.pools.state(),
            spaces: self.spaces.state(),
            blocks: self.blocks.state(),
            said: self.said.state(),
            hosts: self.hosts.state(),
        }
    }

    /// Waits for an event of a watch.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }
}

/// Prepares the watch of a kind. Its list is a quorum read; an interrupted watch lists again, after a pause that grows.
fn watch<K>(
    client: &Client,
    index: usize,
    listings: &Arc<Listings>,
    streams: &mut SelectAll<BoxStream<'static, ()>>,
) -> Store<K>
where
    K: Resource<DynamicType = ()> + Clone + Debug + Send + Sync + 'static,
    K: for<'de> serde::Deserialize<'de>,
    K::DynamicType: Hash + Eq + Clone + Default,
{
    let (reader, writer) = store();
    let listings = Arc::clone(listings);
    let events = watcher(Api::<K>::all(client.clone()), Config::default()).default_backoff();
    let stream = reflector(writer, events).map(move |event| match event {
        Ok(Event::InitDone) => {
            if let Some(count) = listings.get(index) {
                count.fetch_add(1, Ordering::AcqRel);
            }
        }
        Ok(_) => {}
        Err(error) => tracing::warn!("the watch of {} was interrupted: {error}", K::plural(&())),
    });
    streams.push(stream.boxed());
    reader
}
