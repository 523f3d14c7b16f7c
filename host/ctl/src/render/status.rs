//! The daemon as a whole.

use tenure_rpc::v1::{AdoptResponse, GetStatusResponse};

use super::{bytes, clean, duration};

/// The state first, then why, then the figures.
pub(crate) fn status(status: &GetStatusResponse) -> String {
    let mut text = format!("{}\n", clean(&status.state));
    text.extend(status.reasons.iter().map(|reason| format!("  - {}\n", clean(reason))));
    let figures = [
        ("version", clean(&status.version)),
        ("up", duration(status.uptime_ms)),
        ("networks", status.networks.to_string()),
        ("allocations", format!("{}, and {} cooling", status.allocations, status.cooling)),
        ("requests", format!("{} under way, {} waiting", status.in_flight, status.queued)),
        (
            "checkpoint",
            format!(
                "{}: log {}, snapshot {}",
                clean(&status.state_dir),
                bytes(status.log_bytes),
                bytes(status.snapshot_bytes)
            ),
        ),
        ("boot", clean(&status.boot_id)),
    ];
    text.extend(figures.map(|(name, value)| format!("{name:<12} {value}\n")));
    text
}

/// Whether there was anything to confirm.
pub(crate) fn adopted(answer: &AdoptResponse) -> String {
    match answer.was_lost {
        true => "confirmed: the state is what the node shows, and ADD is served again\n".to_owned(),
        false => "nothing to confirm: no state was lost\n".to_owned(),
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
        insta::assert_snapshot!(status(&answer), @"
        ready
        version      0.1.0
        up           1h 2m
        networks     2
        allocations  24, and 3 cooling
        requests     1 under way, 0 waiting
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
        insta::assert_snapshot!(status(&answer).lines().take(2).collect::<Vec<_>>().join("\n"), @"
        not-ready
          - disk-full: no space under /var/lib/tenure
        ");
    }
}
