//! Combines requests that several intents make of the outside at the same time into one call.
//!
//! ```text
//! the first ─▶ waits a moment ─▶ takes all that came ─▶ one call ─▶ its answer for each
//! the others ─▶ wait for that answer
//! ```
//!
//! Each intent is durable, checked and ended on its own; only the call is shared. What waits is behind a `std::sync::Mutex`, held to add
//! and to take.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Mutex;

use tenure_types::hold;
use tokio::sync::watch;

/// Requests to the outside, by the subject of a call, until a task makes the call.
#[derive(Debug)]
pub struct Gathered<Key, Item, Answer>(Mutex<Calls<Key, Item, Answer>>);

/// The calls that somebody is about to make: their items, and where the answer will be.
type Calls<Key, Item, Answer> = BTreeMap<Key, (Vec<Item>, watch::Receiver<Option<Answer>>)>;

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GatheredAnswer<Answer> {
    /// The call was about this item alone.
    Own(Answer),
    /// The call was about others as well; `None` if the caller was dropped before it had an answer.
    Shared(Option<Answer>),
}

impl<Key, Item, Answer> Default for Gathered<Key, Item, Answer> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<Key: Ord + Clone, Item, Answer: Clone> Gathered<Key, Item, Answer> {
    /// Asks for an item together with what others ask for by the same key within a `moment`. The first makes the call.
    pub async fn call<F: Future<Output = Answer>>(
        &self,
        key: Key,
        item: Item,
        moment: impl Future<Output = ()>,
        send: impl FnOnce(Vec<Item>) -> F,
    ) -> GatheredAnswer<Answer> {
        let (tell, answer) = watch::channel(None);
        if let Some(mut shared) = self.join(&key, item, &answer) {
            // If the caller is gone, there is no answer.
            let answer = shared.wait_for(Option::is_some).await.map(|answer| answer.clone());
            return GatheredAnswer::Shared(answer.ok().flatten());
        }
        moment.await;
        let items = self.take(&key);
        let is_alone = items.len() == 1;
        let answer = send(items).await;
        tell.send_replace(Some(answer.clone()));
        if is_alone { GatheredAnswer::Own(answer) } else { GatheredAnswer::Shared(Some(answer)) }
    }

    /// Joins those that wait; `None` if this one is the first, which then has to make the call.
    fn join(
        &self,
        key: &Key,
        item: Item,
        answer: &watch::Receiver<Option<Answer>>,
    ) -> Option<watch::Receiver<Option<Answer>>> {
        let mut all = hold(&self.0);
        if let Some((items, shared)) = all.get_mut(key)
            && shared.has_changed().is_ok()
        {
            items.push(item);
            return Some(shared.clone());
        }
        all.insert(key.clone(), (vec![item], answer.clone()));
        None
    }

    /// Takes all that came.
    fn take(&self, key: &Key) -> Vec<Item> {
        let taken = hold(&self.0).remove(key);
        taken.map(|(items, _)| items).unwrap_or_default()
    }
}
