//! The daemon's status, and the result of an adoption.

use tenure_rpc::v1::{AdoptResponse, Condition, GetStatusResponse};

use super::page::Page;
use super::parts::{age, bytes, clean};
use super::shown::Shown;
use super::words::NodeReadiness;

impl Shown for GetStatusResponse {
    /// The state, then the reasons, then the figures.
    fn page(&self, now_ms: u64) -> Page {
        let mut text = format!("{}\n", clean(&self.state));
        match self.conditions.as_slice() {
            // An older daemon, which reports reasons only.
            [] => text.extend(self.reasons.iter().map(|reason| format!("  - {}\n", clean(reason)))),
            conditions => text.extend(conditions.iter().map(|found| condition(found, now_ms))),
        }
        let figures = [
            ("version", clean(&self.version)),
            ("up", age(self.uptime_ms)),
            ("networks", self.networks.to_string()),
            ("allocations", format!("{}; {} cooling down", self.allocations, self.cooling)),
            ("requests", format!("{} in flight, {} queued", self.in_flight, self.queued)),
            (
                "checkpoint",
                format!(
                    "{}: log {}, snapshot {}",
                    clean(&self.state_dir),
                    bytes(self.log_bytes),
                    bytes(self.snapshot_bytes)
                ),
            ),
            ("boot", clean(&self.boot_id)),
        ];
        text.extend(figures.map(|(name, value)| format!("{name:<12} {value}\n")));
        text.into()
    }

    fn is_well(&self) -> bool {
        NodeReadiness::of(&self.state) != Some(NodeReadiness::NotReady)
    }
}

/// A condition with its age and its next step.
fn condition(condition: &Condition, now_ms: u64) -> String {
    format!(
        "  - {}, for {}: {}\n      next: {}\n",
        clean(&condition.name),
        age(now_ms.saturating_sub(condition.since_ms)),
        clean(&condition.message),
        clean(&condition.next_step)
    )
}

impl Shown for AdoptResponse {
    /// Whether there was a loss to confirm.
    fn page(&self, _: u64) -> Page {
        Page::default().text(match self.was_lost {
            true => "confirmed: the node serves ADD again, with its current state\n",
            false => "nothing to confirm: the state was not lost\n",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_is_well() {
        let answer = GetStatusResponse {
            state: "ready".into(),
            version: "0.1.0".into(),
            boot_id: "6f0c2d9a-6c1e-4b8e-9f59-2f6f2f0b7f11".into(),
            uptime_ms: 3_723_000,
            networks: 2,
            allocations: 24,
            cooling: 3,
            in_flight: 1,
            state_dir: "/var/lib/tenure".into(),
            log_bytes: 20_480,
            snapshot_bytes: 512,
            ..GetStatusResponse::default()
        };
        insta::assert_snapshot!(answer.page(0), @"
        ready
        version      0.1.0
        up           1h 2m
        networks     2
        allocations  24; 3 cooling down
        requests     1 in flight, 0 queued
        checkpoint   /var/lib/tenure: log 20.0 KiB, snapshot 512 B
        boot         6f0c2d9a-6c1e-4b8e-9f59-2f6f2f0b7f11
        ");
    }

    #[test]
    fn a_node_that_is_not_says_why_first() {
        let answer = GetStatusResponse {
            state: "not-ready".into(),
            reasons: vec!["disk-full: no space under /var/lib/tenure".into()],
            ..GetStatusResponse::default()
        };
        insta::assert_snapshot!(answer.page(0).to_string().lines().take(2).collect::<Vec<_>>().join("\n"), @"
        not-ready
          - disk-full: no space under /var/lib/tenure
        ");
    }
    #[test]
    fn each_condition_says_since_when_and_what_to_do() {
        let pool = Condition {
            name: "pool-exhausted".into(),
            severity: "degraded".into(),
            subject: "pods/0".into(),
            message: "pool 0 of network pods is exhausted: 253 of 253 in use".into(),
            since_ms: 1_000_000,
            next_step: "delete pods or add a range".into(),
        };
        let answer = GetStatusResponse {
            state: "degraded".into(),
            reasons: vec!["the same in one line".into()],
            conditions: vec![pool],
            ..GetStatusResponse::default()
        };
        insta::assert_snapshot!(answer.page(1_303_000).to_string().lines().take(3).collect::<Vec<_>>().join("\n"), @"
        degraded
          - pool-exhausted, for 5m 3s: pool 0 of network pods is exhausted: 253 of 253 in use
              next: delete pods or add a range
        ");
    }
}
