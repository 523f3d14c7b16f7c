//! Promoting the policy that runs in a network's shadow.

use tenure_ledger::Chooser;
use tenure_types::{Error, ErrorCode, NetworkName, Result};

use super::PolicyExchange;
use super::activate::{Reason, no_shadow};
use crate::network::redefine::Redefined;
use crate::policy::words::explained;

/// How many requests a shadow run must have compared before its policy can be promoted.
const ENOUGH: u64 = 16;

impl PolicyExchange {
    /// Serves [`Engine::promote`](crate::Engine::promote).
    pub(crate) async fn promote(
        &self,
        network: &NetworkName,
        change_ranges: bool,
        now: bool,
        why: &str,
    ) -> Result<Redefined> {
        self.core.observed("promote", network, None, async {
            let shadow = self.core.served(network)?.shadow;
            let inconclusive = |why: std::fmt::Arguments<'_>| Error::new(ErrorCode::ShadowInconclusive, why);
            let shadow = shadow.ok_or_else(|| no_shadow(network))?;
            let report = self.shadow_report(network).unwrap_or_default();
            let (compared, refused) = report.decisive();
            let (again, verdicts) = (report.refused_again, report.verdicts);
            let (all, failed) = (verdicts.compared(), verdicts.failed);
            if failed > 0 {
                return Err(inconclusive(format_args!(
                    "policy {} failed {failed} of {all} requests in the shadow of network {network}",
                    shadow.policy
                )));
            }
            if compared < ENOUGH && !now {
                return Err(inconclusive(format_args!(
                    "policy {} has been compared on {compared} requests of network {network}; promoting it takes {ENOUGH}",
                    shadow.policy
                )));
            }
            let percent = self.core.settings().exchange.worse_percent;
            if refused * 100 > u64::from(percent) * compared && !now {
                return Err(inconclusive(format_args!(
                    "policy {} refused {refused} of {compared} requests in the shadow of network {network}, which the \
                     serving policy did not refuse so; promoting it takes at most {percent} % (`exchange.worse_percent`)",
                    shadow.policy
                )));
            }
            if again > 0 && !now {
                let asked = report.rehearsed.0;
                return Err(inconclusive(format_args!(
                    "policy {} refuses the requests of {again} of {asked} live allocations of network {network}, which the \
                     serving policy would answer again",
                    shadow.policy
                )));
            }
            let policy = self.core.ports.catalogue.load(&shadow.policy).await?;
            let others = verdicts.other_address + verdicts.other_refusal;
            let found = format!("{all} requests compared, {others} decided differently");
            let why = explained("promoted from the shadow by an operator", &[&found, why]);
            let asked = "promotion by an operator";
            let reason = Reason { by: Chooser::Operator, why, shadow: Some(shadow), asked };
            self.put_into_service(network, policy, reason, change_ranges, false).await
        })
        .await
    }
}
