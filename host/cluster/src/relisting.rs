//! Watches that list again after each interruption.
//!
//! kube's watcher goes on from the version that it read last. A store that was put back from a backup may not have that version for hours, and says
//! nothing until then. A list is a quorum read of what there is.

#[cfg(test)]
mod tests;

use std::fmt::Debug;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use kube::runtime::watcher::{Config, Event, Result, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tenure_effects::budget::Jitter;
use tokio::time::sleep;

/// The pause after the first interruption; each further one doubles it, until there is a list.
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause after an interruption.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// A watch in progress.
struct Relisting<K> {
    api: Api<K>,
    config: Config,
    jitter: Jitter,
    /// The present watch; `None` after an interruption.
    events: Option<BoxStream<'static, Result<Event<K>>>>,
    pause: Duration,
}

/// Watches objects, beginning with a list. An interruption is an error in the stream, which then continues with a list; it does not end.
pub(crate) fn relisting<K>(
    api: Api<K>,
    config: Config,
    jitter: Jitter,
) -> BoxStream<'static, Result<Event<K>>>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let events = Some(watcher(api.clone(), config.clone()).boxed());
    let watch = Relisting { api, config, jitter, events, pause: SHORTEST_PAUSE };
    stream::unfold(watch, |mut watch| async move { Some((watch.next().await?, watch)) }).boxed()
}

impl<K> Relisting<K>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    async fn next(&mut self) -> Option<Result<Event<K>>> {
        if self.events.is_none() {
            sleep(self.jitter.around(self.pause)).await;
            self.pause = self.pause.saturating_mul(2).min(LONGEST_PAUSE);
        }
        let begin = || watcher(self.api.clone(), self.config.clone()).boxed();
        let event = self.events.get_or_insert_with(begin).next().await;
        match &event {
            Some(Ok(Event::InitDone)) => self.pause = SHORTEST_PAUSE,
            Some(Err(_)) => self.events = None,
            Some(Ok(_)) | None => {}
        }
        event
    }
}
