//! Taking addresses off an interface: what intents release at the same time goes with one call, and what became of it is looked for with one.

use std::time::Duration;

use ipnet::IpNet;
use tenure_effects::GatheredAnswer;

use super::core::{AwsCore, Described};
use crate::names;
use crate::port::{CallError, Failure, Which};
use crate::steps::{Aim, IntentOrder};

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
                if matches!(error.failure, Failure::Throttled | Failure::Unknown | Failure::Denied) =>
            {
                Err(error)
            }
            // One of them may be refused, and the others not.
            GatheredAnswer::Shared(_) => self.send_unassign(interface, &[net]).await,
        }
    }

    async fn send_unassign(&self, interface: &str, nets: &[IpNet]) -> Result<(), CallError> {
        let action = nets.first().map_or("UnassignPrivateIpAddresses", |net| names::unassigning(*net));
        self.take(action, || self.ec2.unassign(interface, nets)).await
    }

    /// Describes an interface for an intent. Releases from the same interface look together.
    pub(super) async fn look_for(&self, order: &IntentOrder, which: &Which) -> Result<Described, CallError> {
        let Aim::Release { interface, .. } = &order.aim else { return self.describe(which).await };
        let send = |_| self.describe(which);
        match self.looks.call(interface.clone(), (), self.tools.sleep(MOMENT), send).await {
            GatheredAnswer::Own(answer) | GatheredAnswer::Shared(Some(answer)) => answer,
            GatheredAnswer::Shared(None) => self.describe(which).await,
        }
    }
}
