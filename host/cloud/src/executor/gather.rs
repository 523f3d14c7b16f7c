//! Taking addresses off an interface: what intents release at the same time goes with one call.
//!
//! ```text
//! the first ─▶ waits a moment ─▶ takes all that came ─▶ one call ─▶ its answer for each
//! the others ─▶ wait for that answer            │ refused as a whole ─▶ each makes a call of its own
//! ```
//!
//! Each intent is durable, checked and ended on its own; only the call is shared. What has gathered is behind a
//! `std::sync::Mutex`, held to add and to take.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ipnet::IpNet;
use tokio::sync::watch;

use super::core::Core;
use crate::port::{CallError, Failure};

/// How long others are waited for: the intents of a plan begin together.
const MOMENT: Duration = Duration::from_millis(20);

/// The answer that intents share, once there is one.
type Shared = watch::Receiver<Option<Result<(), CallError>>>;

/// An interface, and whether it is about IPv6.
type Key = (String, bool);

/// What is to be taken off interfaces, with where the answer will be.
#[derive(Debug, Default)]
pub(super) struct Gathered(Mutex<BTreeMap<Key, (Vec<IpNet>, Shared)>>);

impl Gathered {
    /// Joins those that wait; `None` if this one is the first, which then has to make the call.
    fn join(&self, key: &Key, net: IpNet, answer: &Shared) -> Option<Shared> {
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

    fn take(&self, key: &Key) -> Vec<IpNet> {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
        taken.map(|(nets, _)| nets).unwrap_or_default()
    }
}

impl Core {
    /// Takes an address or a prefix off an interface, together with what others take off it at the same time.
    pub(super) async fn unassign(&self, interface: &str, net: IpNet) -> Result<(), CallError> {
        let key = (interface.to_owned(), net.addr().is_ipv6());
        let (tell, answer) = watch::channel(None);
        let answer = match self.gathered.join(&key, net, &answer) {
            // If whoever was to call is gone, there is no answer.
            Some(mut shared) => {
                shared.wait_for(Option::is_some).await.map(|answer| answer.clone()).ok().flatten()
            }
            None => {
                self.timer.sleep(MOMENT).await;
                let nets = self.gathered.take(&key);
                let answer = self.send_unassign(interface, &nets).await;
                tell.send_replace(Some(answer.clone()));
                if nets.len() == 1 {
                    return answer;
                }
                Some(answer)
            }
        };
        match answer {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) if matches!(error.failure, Failure::Throttled | Failure::Unknown) => Err(error),
            // One of them may be refused, and the others not.
            _ => self.send_unassign(interface, &[net]).await,
        }
    }

    async fn send_unassign(&self, interface: &str, nets: &[IpNet]) -> Result<(), CallError> {
        let is_ipv6 = nets.iter().any(|net| net.addr().is_ipv6());
        let action = if is_ipv6 { "UnassignIpv6Addresses" } else { "UnassignPrivateIpAddresses" };
        self.call(action, None, || self.ec2.unassign(interface, nets)).await
    }
}
