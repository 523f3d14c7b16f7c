//! What is to be taken off interfaces with one call, until somebody makes it.
//!
//! It is behind a `std::sync::Mutex`, held to add and to take.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use ipnet::IpNet;
use tokio::sync::watch;

use crate::port::CallError;

/// The answer that intents share, once there is one.
pub(super) type Shared = watch::Receiver<Option<Result<(), CallError>>>;

/// An interface, and whether it is about IPv6.
pub(super) type Key = (String, bool);

/// What is to be taken off interfaces, with where the answer will be.
#[derive(Debug, Default)]
pub(super) struct Gathered(Mutex<BTreeMap<Key, (Vec<IpNet>, Shared)>>);

impl Gathered {
    /// Joins those that wait; `None` if this one is the first, which then has to make the call.
    pub(super) fn join(&self, key: &Key, net: IpNet, answer: &Shared) -> Option<Shared> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((nets, shared)) = all.get_mut(key)
            && shared.has_changed().is_ok()
        {
            nets.push(net);
            return Some(shared.clone());
        }
        all.insert(key.clone(), (vec![net], answer.clone()));
        None
    }

    /// Takes all that came.
    pub(super) fn take(&self, key: &Key) -> Vec<IpNet> {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        taken.map(|(nets, _)| nets).unwrap_or_default()
    }
}
