//! The node's cloud interfaces.
//!
//! A table of interfaces, and then only the sections that have something to say; JSON has every address and prefix.

mod calls;
mod ranges;
#[cfg(test)]
mod tests;

use tenure_rpc::v1::{
    CloudIntent, CloudInterface, CloudLimits, CloudPlan, CloudRange, CloudStanding, GetCloudResponse,
};

use super::cell::Cell;
use super::page::Page;
use super::parts::{age, ago, clean, counted, duration, or_dash, pairs};
use super::shown::Shown;
use super::table::Table;
use super::words::{CloudEvidence, CloudSource, CloudUnit};

/// The largest count of a range's addresses; it means that many or more.
const MANY: u64 = u32::MAX as u64;

impl Shown for GetCloudResponse {
    /// The interfaces, and what is being done to them.
    fn page(&self, now_ms: u64) -> Page {
        let under_way = Table::of(&self.intents)
            .column("UNDER WAY", |of| clean(&of.kind))
            .prose("WHAT", |of| or_dash(&pairs(&of.attributes).replace(',', ", ")))
            .column("BEGAN", |of| Cell::ago(of.since_ms, now_ms))
            .prose("STEP", step);
        let quarantine = Table::of(&self.quarantine)
            .name("QUARANTINED", |of| clean(&of.interface))
            .column("RANGE", |of| clean(&of.net))
            .column("FOR", |of| Cell::age(of.age_ms))
            .prose("WHY IT STAYS", |of| clean(&of.reason));
        Page::from(head(self))
            .section(interfaces(&self.interfaces))
            .section(ranges::unusual(&ranges::Carried::unusual(self)))
            .section(quarantine)
            .section(under_way)
            .paragraph(plan(self.plan.as_ref()))
            .section(calls::calls(&calls::CloudCall::all(self)))
            .paragraph(notes(self))
    }
}

fn head(answer: &GetCloudResponse) -> String {
    let network = clean(&answer.network);
    let source = match CloudSource::of(&answer.source) {
        Some(CloudSource::Imds) => "the instance metadata service",
        None => "EC2",
    };
    let mut out = match answer.confirmed_age_ms {
        Some(age) => format!("{network}: {source} said {} what the node has\n", ago(0, age)),
        None => format!("{network}: {source} has not said yet what the node has\n"),
    };
    if !answer.trouble.is_empty() {
        let trouble = clean(&answer.trouble);
        out.push_str(&format!("{network}: the last answer of {source} does not count: {trouble}\n"));
    }
    match &answer.limits {
        Some(limits) => out.push_str(&format!("{network}: {}\n", allowed(limits))),
        None => out.push_str(&format!("{network}: what the instance type can have is not known yet\n")),
    }
    out
}

fn allowed(limits: &CloudLimits) -> String {
    let interfaces = counted(limits.interfaces.into(), "interface", "interfaces");
    let kinds = match limits.prefixes {
        true => "addresses or prefixes, its own address included",
        false => "addresses, its own included and no prefixes",
    };
    let (four, six) = (limits.addresses, limits.ipv6_addresses);
    format!("the instance type has room for {interfaces}, each with {four} IPv4 {kinds}, and {six} of IPv6")
}

fn interfaces(interfaces: &[CloudInterface]) -> Table<'_, CloudInterface> {
    let sum = |interface: &CloudInterface, of: fn(&CloudRange) -> u64| {
        number(interface.carries.iter().map(of).fold(0, u64::saturating_add))
    };
    Table::of(interfaces)
        .name("INTERFACE", |of| clean(&of.id))
        .column("DEVICE", device)
        .wide("SUBNET", |of| or_dash(&of.subnet))
        .column("ADDRESS", |of| or_dash(&of.address))
        .number("RANGES", |of| of.carries.len())
        .number("HELD", |of| sum(of, |range| range.held))
        .number("COOLING", |of| sum(of, |range| range.cooling))
        .number("FREE", |of| sum(of, |range| range.free))
        .prose("DUTY", duty)
        .prose("STATE", |of| state(of.standing.as_ref()))
        .wide("MAC", |of| or_dash(&of.mac))
}

/// The device index, after the network card unless that is 0.
fn device(interface: &CloudInterface) -> String {
    match (interface.card, interface.device) {
        (Some(0), Some(device)) => device.to_string(),
        (Some(card), Some(device)) => format!("{card}/{device}"),
        _ => "-".to_owned(),
    }
}

fn duty(interface: &CloudInterface) -> String {
    match interface.duty_reason.as_str() {
        "" => or_dash(&interface.duty),
        why => format!("{}: {}", clean(&interface.duty), clean(why)),
    }
}

/// How sure it is that something is there.
fn state(standing: Option<&CloudStanding>) -> String {
    let Some(standing) = standing else { return "-".to_owned() };
    match (standing.since_age_ms, CloudEvidence::of(&standing.evidence)) {
        (Some(since), _) => format!("{} for {}", clean(&standing.state), age(since)),
        (None, Some(CloudEvidence::Ledger)) => "only in the ledger yet".to_owned(),
        (None, None) => clean(&standing.state),
    }
}

fn number(count: u64) -> Cell {
    if count >= MANY { Cell::valued("many".to_owned(), count) } else { count.into() }
}

fn step(intent: &CloudIntent) -> String {
    match intent.step.as_str() {
        "" => "waits for another one on the interface".to_owned(),
        step => format!("{}, for {}", clean(step), age(intent.step_age_ms)),
    }
}

fn plan(plan: Option<&CloudPlan>) -> String {
    let Some(plan) = plan else { return "no plan was made yet\n".to_owned() };
    let mut out = format!("last plan {}: ", ago(0, plan.age_ms));
    match (plan.words.as_str(), plan.begun.len()) {
        ("", 0) if plan.refused.is_empty() => out.push_str("nothing to do"),
        ("", 0) => out.push_str("nothing has begun"),
        ("", begun) => {
            out.push_str(&counted(
                u64::try_from(begun).unwrap_or(u64::MAX),
                "effect has begun",
                "effects have begun",
            ));
        }
        (words, _) => out.push_str(&clean(words)),
    }
    out.push('\n');
    out.extend(plan.refused.iter().map(|refused| format!("  refused: {}\n", clean(refused))));
    out
}

/// Lists the objects that are left alone, and for how long.
fn notes(answer: &GetCloudResponse) -> String {
    let mut out = String::new();
    for of in &answer.back_offs {
        let unit = match CloudUnit::of(&of.unit) {
            Some(CloudUnit::Address) => "addresses",
            Some(CloudUnit::Prefix) => "prefixes",
            None => "IPv6 prefixes",
        };
        out.push_str(&format!(
            "{}: EC2 had no {unit} there; asked again in {}\n",
            clean(&of.subnet),
            duration(of.left_ms)
        ));
    }
    for of in &answer.barred {
        let place = if of.subnet.is_empty() { String::new() } else { format!(" in {}", clean(&of.subnet)) };
        out.push_str(&format!(
            "{}{place}: not called for {}: {}\n",
            clean(&of.call),
            duration(of.left_ms),
            clean(&of.reason)
        ));
    }
    for of in &answer.leaked {
        out.push_str(&format!("{}: attached to nothing for {}\n", clean(&of.interface), age(of.age_ms)));
    }
    out.extend(answer.odd.iter().map(|odd| format!("{}\n", clean(odd))));
    out
}
