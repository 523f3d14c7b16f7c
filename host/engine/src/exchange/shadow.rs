//! Shadow runs: a candidate decides the same requests as the serving policy, on a book of its own, and nothing comes of
//! it but a comparison.

use tenure_ledger::StepKind;
use tenure_types::{NetworkName, PolicySelector, PolicyStamp, Result};

use super::PolicyExchange;
use super::run::ShadowReport;
use crate::lock::hold;
use crate::network::networks::unknown_network;
use crate::policy::words::explained;

/// The request and its author, for the history if the candidate is refused.
const SHADOW: &str = "shadow run for an operator";

impl PolicyExchange {
    /// Serves [`Engine::shadow`](crate::Engine::shadow).
    pub(crate) async fn shadow(
        &self,
        network: &NetworkName,
        policy: &PolicySelector,
        why: &str,
    ) -> Result<PolicyStamp> {
        self.core
            .observed("shadow", network, None, async {
                let policy = self.obtained(network, policy, SHADOW).await?;
                self.core.bounds().check_policy(network, &policy.stamp().name)?;
                self.check_conformance(network, &policy, SHADOW).await?;
                if let Some(before) = self.core.served(network)?.shadow {
                    let why = format!("replaced by an operator, with {}", policy.stamp());
                    self.core.note(network, StepKind::ShadowEnded, &before.policy, &why);
                }
                let why = explained("begun by an operator", &[why]);
                let ticket = self.core.note(network, StepKind::ShadowBegun, policy.stamp(), &why);
                ticket.ok_or_else(|| unknown_network(network))?.durable().await?;
                self.due.notify_one();
                Ok(policy.stamp().as_ref().clone())
            })
            .await
    }

    /// Serves [`Engine::end_shadow`](crate::Engine::end_shadow).
    pub(crate) async fn end_shadow(&self, network: &NetworkName, why: &str) -> Result<bool> {
        self.core
            .observed("shadow", network, None, async {
                let Some(shadow) = self.core.served(network)?.shadow else { return Ok(false) };
                let why = explained("ended by an operator", &[why]);
                if let Some(ticket) = self.core.note(network, StepKind::ShadowEnded, &shadow.policy, &why) {
                    ticket.durable().await?;
                }
                self.due.notify_one();
                Ok(true)
            })
            .await
    }

    /// Serves [`Engine::shadow_report`](crate::Engine::shadow_report).
    pub(crate) fn shadow_report(&self, network: &NetworkName) -> Option<ShadowReport> {
        let shadow = self.core.policies_of(network)?.shadow?;
        let begun = ShadowReport {
            policy: Some(shadow.policy.clone()),
            since: shadow.since,
            ..ShadowReport::default()
        };
        let reports = hold(&self.reports);
        let is_present =
            |report: &&ShadowReport| (&report.policy, report.since) == (&begun.policy, begun.since);
        Some(reports.get(network).filter(is_present).cloned().unwrap_or(begun))
    }
}
