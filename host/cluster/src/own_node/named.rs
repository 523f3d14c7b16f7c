//! One object under watch, by its name.

use std::fmt::Debug;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use kube::runtime::watcher::{Config, Event, Result};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tenure_effects::budget::Jitter;

use crate::relisting::relisting;

/// How many interruptions in succession are told: one alone is often over before anybody could look.
const TOLD: u32 = 2;

/// The last word of the API server about an object.
#[derive(Debug)]
pub(super) enum ObjectWord<K> {
    /// Nothing has been said yet.
    Unread,
    /// There is none.
    Absent,
    /// The object as it was read last.
    Read(Arc<K>),
}

/// An object under watch.
pub(super) struct NamedObject<K> {
    name: String,
    events: BoxStream<'static, Result<Event<K>>>,
    /// The object in the list that is not complete yet.
    listing: Option<K>,
    word: ObjectWord<K>,
    /// The interruptions since the API server last said something, and what the last one was.
    failures: u32,
    failure: String,
}

impl<K> NamedObject<K>
where
    K: Resource<DynamicType = (), Scope = kube::core::ClusterResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Send
        + 'static,
{
    /// The object of a name. Nothing is sent before it is [followed](Self::follow).
    pub(super) fn new(client: Client, name: &str) -> Self {
        let by_name = Config::default().fields(&format!("metadata.name={name}"));
        let events = relisting(Api::all(client), by_name, Jitter::new(RandomState::new().hash_one(name)));
        let word = ObjectWord::Unread;
        Self { name: name.to_owned(), events, listing: None, word, failures: 0, failure: String::new() }
    }

    /// The name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The last word of the API server.
    pub(super) fn word(&self) -> &ObjectWord<K> {
        &self.word
    }

    /// The reason for which the API server has said nothing for a while.
    pub(super) fn failure(&self) -> Option<&str> {
        (self.failures >= TOLD).then_some(self.failure.as_str())
    }

    /// Waits for news, and takes it in. Nothing is lost if it is dropped before.
    pub(super) async fn follow(&mut self) {
        loop {
            match self.events.next().await {
                Some(Ok(Event::Init)) => self.listing = None,
                Some(Ok(Event::InitApply(object))) => self.listing = Some(object),
                Some(Ok(Event::InitDone)) => {
                    let listed = self.listing.take();
                    return self.read(listed);
                }
                Some(Ok(Event::Apply(object))) => return self.read(Some(object)),
                Some(Ok(Event::Delete(_))) => return self.read(None),
                Some(Err(error)) => {
                    self.failures = self.failures.saturating_add(1);
                    self.failure = error.to_string();
                    return;
                }
                // The stream does not end.
                None => std::future::pending().await,
            }
        }
    }

    fn read(&mut self, object: Option<K>) {
        self.failures = 0;
        self.word = object.map_or(ObjectWord::Absent, |mut object| {
            // The record of its writers is as long as the object.
            object.meta_mut().managed_fields = None;
            ObjectWord::Read(Arc::new(object))
        });
    }
}
