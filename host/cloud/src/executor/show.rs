//! What an executor shows, from what it knows.

use std::sync::Arc;

use ipnet::IpNet;
use tenure_ledger::Intent;

use super::core::Core;
use super::status::{IntentStatus, InterfaceStatus, NetStatus, Status};
use crate::seen::{Fact, Known, Standing};
use crate::situation::Barred;

impl Core {
    /// What is known and what is being done.
    pub(super) fn status(&self) -> Status {
        let (now, open) = (self.now(), self.open());
        let state = self.state();
        let seen = &state.seen;
        let net = |interface: &str, (net, fact): (&IpNet, &Fact)| NetStatus {
            net: *net,
            evidence: fact.by,
            confirmed: fact.at,
            standing: seen.standing_of(interface, *net).unwrap_or(Standing::Confirmed),
        };
        let interface = |(id, known): (&str, &Known)| {
            let facts = known.facts.as_ref();
            let attachment = facts.and_then(|facts| facts.attachment.as_ref());
            InterfaceStatus {
                id: id.to_owned(),
                card: attachment.map(|attachment| attachment.card),
                device: attachment.map(|attachment| attachment.device),
                mac: facts.map(|facts| facts.mac.clone()),
                address: facts.and_then(|facts| facts.primary_address),
                subnet: facts.map(|facts| facts.subnet.clone()).unwrap_or_default(),
                duty: facts.map(|facts| seen.duty(facts)),
                evidence: known.fact.by,
                confirmed: known.fact.at,
                standing: known.fact.standing(seen.window()),
                carries: known.carries.iter().map(|carried| net(id, carried)).collect(),
            }
        };
        let intent = |intent: &Arc<Intent>| IntentStatus {
            id: intent.id.to_string(),
            kind: intent.kind.name(),
            attributes: intent.attributes.clone(),
            since: intent.since,
            step: state.steps.get(intent.id.as_str()).cloned(),
        };
        let barred = state.budget.grudges(now).map(|(call, subnet, grudge)| Barred {
            call,
            subnet: subnet.map(str::to_owned),
            why: grudge.why.clone(),
            left: grudge.until.saturating_sub(now),
        });
        Status {
            now,
            confirmed: seen.last(),
            trouble: seen.trouble().map(str::to_owned),
            limits: state.limits,
            interfaces: seen.interfaces().map(interface).collect(),
            subnets: state.subnets.clone(),
            quarantine: state.quarantine.clone(),
            odd: state.odd.clone(),
            leaked: state.leaked.all().map(|(id, since)| (id.to_owned(), since)).collect(),
            intents: open.iter().map(intent).collect(),
            plan: state.plan.clone(),
            rates: state.budget.rates(now).collect(),
            backoffs: state
                .budget
                .backoffs(now)
                .map(|(subnet, unit, left)| (subnet.to_owned(), unit, left))
                .collect(),
            barred: barred.collect(),
            calls: state.calls.clone(),
            ends: state.ends.clone(),
        }
    }
}
