//! The Helm chart with the real Helm, against a real API server: what it renders, installs, changes and leaves; and what the accounts that it makes
//! may do, with tokens as kubelets get them.
//!
//! The tests run one after the other, since they share one release.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

#[path = "chart/agents.rs"]
mod agents;
#[path = "chart/cluster.rs"]
mod cluster;
#[path = "chart/kubelets.rs"]
mod kubelets;
#[path = "chart/operator.rs"]
mod operator;
#[path = "chart/release.rs"]
mod release;
#[path = "chart/rendered.rs"]
mod rendered;

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};

use cluster::Cluster;

/// A test: its name, and its body.
type Test = (&'static str, fn(&Cluster) -> anyhow::Result<()>);

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let cluster = match (!arguments.list).then(Cluster::start).transpose() {
        Ok(cluster) => cluster.map(Arc::new),
        Err(error) => {
            eprintln!("the API server of the tests does not run: {error:#}");
            return ExitCode::FAILURE;
        }
    };
    let tests = [rendered::TESTS, release::TESTS, agents::TESTS, kubelets::TESTS, operator::TESTS].concat();
    let trial = |(name, test): Test| {
        let cluster = cluster.clone();
        Trial::test(name, move || match &cluster {
            Some(cluster) => {
                let _inside = cluster.runtime.enter();
                test(cluster).map_err(|error| Failed::from(format!("{error:#}")))
            }
            None => Ok(()),
        })
    };
    libtest_mimic::run(&arguments, tests.into_iter().map(trial).collect()).exit_code()
}
