//! Taking addresses off an interface: what intents release at the same time goes with one call.
//!
//! ```text
//! the first ─▶ waits a moment ─▶ takes all that came ─▶ one call ─▶ its answer for each
//! the others ─▶ wait for that answer            │ refused as a whole ─▶ each makes a call of its own
//! ```
//!
//! Each intent is durable, checked and ended on its own; only the call is shared.

use std::time::Duration;

use ipnet::IpNet;
use tokio::sync::watch;

use super::core::Core;
use crate::port::{CallError, Failure};

/// How long others are waited for: the intents of a plan begin together.
const MOMENT: Duration = Duration::from_millis(20);

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
