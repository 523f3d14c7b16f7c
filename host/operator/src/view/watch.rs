//! The watches, and the stores that they fill.
//!
//! A watch that was interrupted goes on from the last version that it saw. In a store that was restored from a backup meanwhile, that version is
//! another one, or has yet to come, and the watch shows nothing of the difference. So each interruption is noted, and the operator has everything
//! listed again before it decides.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, SelectAll};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{Config, Error, Event, watcher};
use kube::{Api, Client, Resource as _};
use tenure_cluster::IPAMClaim;
use tenure_supervise::Interruptible;
use tokio::sync::Notify;

use super::kept::FromObject;
use super::read::ViewSources;
use super::store::ObjectStore;
use super::{BlockView, ClaimView, HostView, PoolView, SaidView, SpaceView, WatchedIpamClaim};
use crate::reports::OperatorMetrics;

/// The number of kinds.
const KINDS: usize = 6;

/// The progress of the watches.
#[derive(Debug, Default)]
struct WatchProgress {
    /// The number of complete lists of each kind so far.
    listings: [AtomicU64; KINDS],
    /// The numbers that do not count any more.
    outdated: [AtomicU64; KINDS],
    /// Whether a watch was interrupted since somebody asked.
    interrupted: AtomicBool,
    /// Whether the IPAMClaims were listed, and their watch shows no error since.
    knows_ipam_claims: AtomicBool,
    /// Whether the log says that they cannot be watched.
    has_warned: AtomicBool,
    /// Whether everything is to be listed again, and the present watches have not ended yet.
    relisting: AtomicBool,
    changed: Notify,
    relist: Notify,
}

impl WatchProgress {
    /// Whether a kind was listed since everything was last to be listed again.
    fn is_listed(&self, index: usize) -> bool {
        let pair = self.listings.get(index).zip(self.outdated.get(index));
        pair.is_some_and(|(count, outdated)| count.load(Ordering::Acquire) > outdated.load(Ordering::Acquire))
    }
}

/// The stores, which the watches fill.
#[derive(Clone)]
pub struct WatchStores {
    pools: ObjectStore<PoolView>,
    spaces: ObjectStore<SpaceView>,
    blocks: ObjectStore<BlockView>,
    said: ObjectStore<SaidView>,
    hosts: ObjectStore<HostView>,
    claims: ObjectStore<ClaimView>,
    ipam_claims: ObjectStore<IPAMClaim>,
    progress: Arc<WatchProgress>,
}

/// Begins the watch of a kind, with a list.
type BeginWatch = Box<dyn Fn() -> BoxStream<'static, ()> + Send + Sync>;

/// The watches of all kinds.
pub struct Watches {
    begin: Vec<BeginWatch>,
    stores: WatchStores,
}

impl Watches {
    /// Prepares the watches.
    #[must_use]
    pub fn new(client: &Client, metrics: &OperatorMetrics) -> Self {
        let (mut begin, progress) = (Vec::new(), Arc::<WatchProgress>::default());
        let stores = WatchStores {
            pools: watch(client, 0, &progress, metrics, &mut begin),
            spaces: watch(client, 1, &progress, metrics, &mut begin),
            blocks: watch(client, 2, &progress, metrics, &mut begin),
            said: watch(client, 3, &progress, metrics, &mut begin),
            hosts: watch(client, 4, &progress, metrics, &mut begin),
            claims: watch(client, 5, &progress, metrics, &mut begin),
            ipam_claims: watch_ipam_claims(client, &progress, &mut begin),
            progress,
        };
        Self { begin, stores }
    }

    /// The stores.
    #[must_use]
    pub fn stores(&self) -> WatchStores {
        self.stores.clone()
    }
}

impl Interruptible for Watches {
    async fn work(&mut self) {
        let progress = Arc::clone(&self.stores.progress);
        loop {
            if progress.relisting.load(Ordering::Acquire) {
                // No watch is there to count another list between these.
                for (count, outdated) in progress.listings.iter().zip(&progress.outdated) {
                    outdated.store(count.load(Ordering::Acquire), Ordering::Release);
                }
                progress.relisting.store(false, Ordering::Release);
            }
            let mut streams: SelectAll<_> = self.begin.iter().map(|begin| begin()).collect();
            let events = async {
                while streams.next().await.is_some() {
                    progress.changed.notify_one();
                }
            };
            tokio::select! {
                () = events => {}
                () = progress.relist.notified() => {}
            }
        }
    }
}

impl WatchStores {
    /// The number of times that all blocks and all NodeIPAMs have been listed; 0 while a kind has yet to be listed.
    #[must_use]
    pub fn listings(&self) -> u64 {
        if !self.missing().is_empty() {
            return 0;
        }
        let counts = self.progress.listings.iter().map(|count| count.load(Ordering::Acquire));
        counts.skip(2).take(2).sum()
    }

    /// The kinds that have yet to be listed.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        const NAMES: [&str; KINDS] =
            ["AddressPools", "AddressSpaces", "IPBlocks", "NodeIPAMs", "Nodes", "AddressClaims"];
        let relisting = self.progress.relisting.load(Ordering::Acquire);
        let named = NAMES.into_iter().enumerate();
        let missing = named.filter(|(index, _)| relisting || !self.progress.is_listed(*index));
        missing.map(|(_, name)| name).collect()
    }

    /// The objects in the stores.
    #[must_use]
    pub fn sources(&self) -> ViewSources {
        let knows_ipam_claims = self.progress.knows_ipam_claims.load(Ordering::Acquire);
        ViewSources {
            pools: self.pools.state(),
            spaces: self.spaces.state(),
            blocks: self.blocks.state(),
            said: self.said.state(),
            hosts: self.hosts.state(),
            claims: self.claims.state(),
            ipam_claims: knows_ipam_claims.then(|| self.ipam_claims.state()),
        }
    }

    /// Waits for an event of a watch.
    pub async fn changed(&self) {
        self.progress.changed.notified().await;
    }

    /// Whether a watch was interrupted since the last call.
    #[must_use]
    pub fn take_interruption(&self) -> bool {
        self.progress.interrupted.swap(false, Ordering::AcqRel)
    }

    /// Has everything listed again. Until that is done, nothing counts as listed.
    pub fn relist(&self) {
        self.progress.relisting.store(true, Ordering::Release);
        self.progress.relist.notify_one();
    }
}

/// Prepares the watch of the IPAMClaims. Their definition is somebody else's, and may be missing or come later, so nothing waits for them.
fn watch_ipam_claims(
    client: &Client,
    progress: &Arc<WatchProgress>,
    begin: &mut Vec<BeginWatch>,
) -> ObjectStore<IPAMClaim> {
    let store = ObjectStore::default();
    let (client, progress, filled) = (client.clone(), Arc::clone(progress), store.clone());
    begin.push(Box::new(move || {
        let (store, progress) = (filled.clone(), Arc::clone(&progress));
        let events =
            watcher(Api::<WatchedIpamClaim>::all(client.clone()), config::<IPAMClaim>()).default_backoff();
        let stream = events.filter_map(move |event| {
            let change = match event {
                Ok(event) => {
                    let is_list = matches!(event, Event::InitDone);
                    store.apply(event);
                    if is_list {
                        progress.knows_ipam_claims.store(true, Ordering::Release);
                        progress.has_warned.store(false, Ordering::Release);
                    }
                    Some(())
                }
                Err(error) => {
                    if is_undefined(&error) {
                        tracing::debug!("IPAMClaims are not defined: {error}");
                    } else if !progress.has_warned.swap(true, Ordering::AcqRel) {
                        tracing::warn!(
                            "IPAMClaims cannot be watched, so none is served until they can: {error}"
                        );
                    }
                    // As of the other kinds: the watch goes on without a list, and only a list tells what there is.
                    let knew = progress.knows_ipam_claims.swap(false, Ordering::AcqRel);
                    progress.interrupted.fetch_or(knew, Ordering::AcqRel);
                    None
                }
            };
            std::future::ready(change)
        });
        stream.boxed()
    }));
    store
}

/// Whether the API server has no such kind.
fn is_undefined(error: &Error) -> bool {
    let error = match error {
        Error::InitialListFailed(error) | Error::WatchStartFailed(error) | Error::WatchFailed(error) => error,
        Error::WatchError(_) | Error::NoResourceVersion => return false,
    };
    matches!(error, kube::Error::Api(status) if status.is_not_found())
}

/// Prepares the watch of a kind. Its list is a quorum read; an interrupted watch begins again after a pause that grows.
fn watch<V: FromObject>(
    client: &Client,
    index: usize,
    progress: &Arc<WatchProgress>,
    metrics: &OperatorMetrics,
    begin: &mut Vec<BeginWatch>,
) -> ObjectStore<V> {
    let store = ObjectStore::default();
    let (client, progress, metrics) = (client.clone(), Arc::clone(progress), metrics.clone());
    let filled = store.clone();
    begin.push(Box::new(move || {
        let (store, progress, metrics) = (filled.clone(), Arc::clone(&progress), metrics.clone());
        let events = watcher(Api::<V::Object>::all(client.clone()), config::<V>()).default_backoff();
        let stream = events.map(move |event| match event {
            Ok(event) => {
                let is_list = matches!(event, Event::InitDone);
                store.apply(event);
                if let (true, Some(count)) = (is_list, progress.listings.get(index)) {
                    count.fetch_add(1, Ordering::AcqRel);
                }
            }
            Err(error) => {
                let kind = V::Object::plural(&());
                tracing::warn!("the watch of {kind} was interrupted: {error}");
                metrics.interrupted(&kind);
                // A list that has yet to be made shows everything anyway, and keeps the pause that grows.
                progress.interrupted.fetch_or(progress.is_listed(index), Ordering::AcqRel);
            }
        });
        stream.boxed()
    }));
    store
}

fn config<V: FromObject>() -> Config {
    Config::default().page_size(V::PAGE)
}
