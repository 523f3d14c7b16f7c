//! The operator against a real API server and etcd, with agents that decide by the tables of `tenure-leases`.
//!
//! The operators run in this process, so that a test holds their writes back, forgets their memory, and moves their clock; one suite runs the built
//! program. The tests run one after the other: an operator works on every object of the cluster.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

#[path = "apiserver/agent.rs"]
mod agent;
#[path = "apiserver/agreement.rs"]
mod agreement;
#[path = "apiserver/churn.rs"]
mod churn;
#[path = "apiserver/claims.rs"]
mod claims;
#[path = "apiserver/clock.rs"]
mod clock;
#[path = "apiserver/cluster.rs"]
mod cluster;
#[path = "apiserver/dead.rs"]
mod dead;
#[path = "apiserver/distrust.rs"]
mod distrust;
#[path = "apiserver/grants.rs"]
mod grants;
#[path = "apiserver/held_up.rs"]
mod held_up;
#[path = "apiserver/import.rs"]
mod import;
#[path = "apiserver/import_networks.rs"]
mod import_networks;
#[path = "apiserver/ipam_claims.rs"]
mod ipam_claims;
#[path = "apiserver/leader.rs"]
mod leader;
#[path = "apiserver/migrations.rs"]
mod migrations;
#[path = "apiserver/observed.rs"]
mod observed;
#[path = "apiserver/program.rs"]
mod program;
#[path = "apiserver/referee.rs"]
mod referee;
#[path = "apiserver/releases.rs"]
mod releases;
#[path = "apiserver/restored.rs"]
mod restored;
#[path = "apiserver/selector.rs"]
mod selector;
#[path = "apiserver/setup.rs"]
mod setup;
#[path = "apiserver/spaces.rs"]
mod spaces;
#[path = "apiserver/versions.rs"]
mod versions;

use std::process::ExitCode;

use tenure_fixtures::control_plane::suite::{self, TestOrder};

use cluster::Cluster;

/// A test: its name, and its body.
type Test = (&'static str, fn(&Cluster) -> anyhow::Result<()>);

fn main() -> ExitCode {
    let tests = [
        grants::TESTS,
        releases::TESTS,
        leader::TESTS,
        dead::TESTS,
        spaces::TESTS,
        agreement::TESTS,
        import::TESTS,
        import_networks::TESTS,
        selector::TESTS,
        claims::TESTS,
        migrations::TESTS,
        ipam_claims::TESTS,
        held_up::TESTS,
        distrust::TESTS,
        versions::TESTS,
        observed::TESTS,
        restored::TESTS,
        churn::TESTS,
        program::TESTS,
    ]
    .concat();
    suite::run(Cluster::start, TestOrder::OneByOne, tests, |cluster, test| {
        let _inside = cluster.runtime.enter();
        cluster.clear().and_then(|()| test(cluster))
    })
}
