//! The status of an executor, computed from its state.

use ipnet::IpNet;
use tenure_effects::Progress;

use super::core::AwsCore;
use super::status::{InterfaceStatus, NetStatus, Status};
use super::trouble::refusal;
use crate::seen::{SeenFact, SeenInterface, SeenStanding};
use crate::situation::Barred;

impl AwsCore {
    /// Returns the known facts and the work in progress.
    pub(super) fn status(&self, progress: Progress) -> Status {
        let Progress { intents, plan, ends } = progress;
        let now = self.now();
        let state = self.state();
        let seen = &state.seen;
        let net = |interface: &str, (net, fact): (&IpNet, &SeenFact)| NetStatus {
            net: *net,
            evidence: fact.by,
            confirmed: fact.at,
            standing: seen.standing_of(interface, *net).unwrap_or(SeenStanding::Confirmed),
        };
        let interface = |(id, known): (&str, &SeenInterface)| {
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
        Status {
            now,
            imds_only: state.settings.imds_only,
            confirmed: seen.last(),
            trouble: seen.trouble().or(state.subnets_trouble.as_deref()).map(str::to_owned),
            silence: state.silences.words(now).map(str::to_owned),
            refusal: refusal(&state.budget, now),
            limits: state.limits,
            interfaces: seen.interfaces().map(interface).collect(),
            subnets: state.subnets.clone(),
            quarantine: state.quarantine.clone(),
            odd: state.odd.clone(),
            leaked: state.leaked.all().map(|(id, since)| (id.to_owned(), since)).collect(),
            intents,
            plan,
            rates: state.budget.rates(now).collect(),
            backoffs: state
                .budget
                .backoffs(now)
                .map(|(subnet, unit, left)| (subnet.to_owned(), unit, left))
                .collect(),
            barred: Barred::all(&state.budget, now),
            calls: state.calls.clone(),
            ends,
        }
    }
}
