//! The Helm chart with the real Helm, against a real API server: what it renders, installs, changes and leaves; and what the accounts that it makes
//! may do, with tokens as kubelets get them.
//!
//! The tests run one after the other, since they share one release.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

#[path = "chart/access.rs"]
mod access;
#[path = "chart/agents.rs"]
mod agents;
#[path = "chart/clouds.rs"]
mod clouds;
#[path = "chart/cluster.rs"]
mod cluster;
#[path = "chart/events.rs"]
mod events;
#[path = "chart/kubelets.rs"]
mod kubelets;
#[path = "chart/operator.rs"]
mod operator;
#[path = "chart/release.rs"]
mod release;
#[path = "chart/rendered.rs"]
mod rendered;
#[path = "chart/security.rs"]
mod security;

use std::process::ExitCode;

use tenure_fixtures::control_plane::suite::{self, TestOrder};

use cluster::Cluster;

/// A test: its name, and its body.
type Test = (&'static str, fn(&Cluster) -> anyhow::Result<()>);

fn main() -> ExitCode {
    let tests = [
        rendered::TESTS,
        security::TESTS,
        release::TESTS,
        agents::TESTS,
        access::TESTS,
        clouds::TESTS,
        events::TESTS,
        kubelets::TESTS,
        operator::TESTS,
    ]
    .concat();
    suite::run(Cluster::start, TestOrder::OneByOne, tests, |cluster, test| {
        let _inside = cluster.runtime.enter();
        test(cluster)
    })
}
