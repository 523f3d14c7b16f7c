//! Taking addresses off an interface: what intents release at the same time goes with one call.

use std::time::Duration;

use ipnet::IpNet;
use tenure_effects::GatheredAnswer;

use super::core::AwsCore;
use crate::port::{CallError, Failure};

/// How long others are waited for: the intents of a plan begin together.
const MOMENT: Duration = Duration::from_millis(20);

impl AwsCore {
    /// Takes an address or a prefix off an interface, together with what others take off it at the same time.
    pub(super) async fn unassign(&self, interface: &str, net: IpNet) -> Result<(), CallError> {
        let key = (interface.to_owned(), net.addr().is_ipv6());
        let send = |nets: Vec<IpNet>| async move { self.send_unassign(interface, &nets).await };
        match self.gathered.call(key, net, self.tools.sleep(MOMENT), send).await {
            GatheredAnswer::Own(answer) => answer,
            GatheredAnswer::Shared(Some(Ok(()))) => Ok(()),
            GatheredAnswer::Shared(Some(Err(error)))
                if matches!(error.failure, Failure::Throttled | Failure::Unknown) =>
            {
                Err(error)
            }
            // One of them may be refused, and the others not.
            GatheredAnswer::Shared(_) => self.send_unassign(interface, &[net]).await,
        }
    }

    async fn send_unassign(&self, interface: &str, nets: &[IpNet]) -> Result<(), CallError> {
        let is_ipv6 = nets.iter().any(|net| net.addr().is_ipv6());
        let action = if is_ipv6 { "UnassignIpv6Addresses" } else { "UnassignPrivateIpAddresses" };
        self.call(action, None, || self.ec2.unassign(interface, nets)).await
    }
}
