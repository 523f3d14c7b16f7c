//! The node's cloud interfaces.
//!
//! A table of interfaces, and then only the sections that have something to say; JSON has every address and prefix.

mod calls;
mod ranges;
#[cfg(test)]
mod tests;

use tenure_rpc::v1::{CloudIntent, CloudInterface, CloudLimits, CloudPlan, CloudStanding, GetCloudResponse};

use super::parts::{ago, clean, counted, duration, or_dash, pairs};
use super::table::{align_right, table, text};

/// The largest count of a range's addresses; it means that many or more.
const MANY: u64 = u32::MAX as u64;

/// The interfaces, and what is being done to them.
pub(super) fn cloud(answer: &GetCloudResponse, now_ms: u64) -> String {
    let sections = [
        head(answer),
        interfaces(answer),
        ranges::unusual(answer),
        ranges::quarantine(answer),
        under_way(answer, now_ms),
        plan(answer.plan.as_ref()),
        calls::calls(answer),
        notes(answer),
    ];
    let sections: Vec<String> = sections.into_iter().filter(|section| !section.is_empty()).collect();
    sections.join("\n")
}

fn head(answer: &GetCloudResponse) -> String {
    let network = clean(&answer.network);
    let mut out = match answer.confirmed_age_ms {
        Some(age) => format!("{network}: EC2 said {} ago what the node has\n", duration(age)),
        None => format!("{network}: EC2 has not said yet what the node has\n"),
    };
    if !answer.trouble.is_empty() {
        out.push_str(&format!("{network}: EC2's last answer does not count: {}\n", clean(&answer.trouble)));
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

fn interfaces(answer: &GetCloudResponse) -> String {
    if answer.interfaces.is_empty() {
        return String::new();
    }
    let heads =
        ["INTERFACE", "DEVICE", "SUBNET", "ADDRESS", "RANGES", "HELD", "COOLING", "FREE", "DUTY", "STATE"];
    let mut table = table(heads);
    align_right(&mut table, &[4, 5, 6, 7]);
    for interface in &answer.interfaces {
        let sum = |of: fn(&tenure_rpc::v1::CloudRange) -> u64| {
            number(interface.carries.iter().map(of).fold(0, u64::saturating_add))
        };
        table.add_row([
            clean(&interface.id),
            device(interface),
            or_dash(&interface.subnet),
            or_dash(&interface.address),
            interface.carries.len().to_string(),
            sum(|range| range.held),
            sum(|range| range.cooling),
            sum(|range| range.free),
            duty(interface),
            state(interface.standing.as_ref()),
        ]);
    }
    text(&table)
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
    match (standing.since_age_ms, standing.evidence.as_str()) {
        (Some(age), _) => format!("{} for {}", clean(&standing.state), duration(age)),
        (None, "ledger") => "only in the ledger yet".to_owned(),
        (None, _) => clean(&standing.state),
    }
}

fn number(count: u64) -> String {
    if count >= MANY { "many".to_owned() } else { count.to_string() }
}

fn under_way(answer: &GetCloudResponse, now_ms: u64) -> String {
    if answer.intents.is_empty() {
        return String::new();
    }
    let mut table = table(["UNDER WAY", "WHAT", "BEGAN", "STEP"]);
    for intent in &answer.intents {
        let attributes = pairs(&intent.attributes);
        table.add_row([
            clean(&intent.kind),
            or_dash(&attributes),
            ago(intent.since_ms, now_ms),
            step(intent),
        ]);
    }
    text(&table)
}

fn step(intent: &CloudIntent) -> String {
    match intent.step.as_str() {
        "" => "waits for another one on the interface".to_owned(),
        step => format!("{}, for {}", clean(step), duration(intent.step_age_ms)),
    }
}

fn plan(plan: Option<&CloudPlan>) -> String {
    let Some(plan) = plan else { return "no plan was made yet\n".to_owned() };
    let mut out = format!("last plan {} ago: ", duration(plan.age_ms));
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

/// What is left alone, and for how long.
fn notes(answer: &GetCloudResponse) -> String {
    let mut out = String::new();
    for of in &answer.back_offs {
        let unit = match of.unit.as_str() {
            "address" => "addresses",
            "prefix" => "prefixes",
            _ => "IPv6 prefixes",
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
        out.push_str(&format!("{}: attached to nothing for {}\n", clean(&of.interface), duration(of.age_ms)));
    }
    out.extend(answer.odd.iter().map(|odd| format!("{}\n", clean(odd))));
    out
}
