//! The definitions in a real API server: what it accepts, what it refuses, and in which words.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

#[path = "apiserver/block.rs"]
mod block;
#[path = "apiserver/cluster.rs"]
mod cluster;
#[path = "apiserver/definitions.rs"]
mod definitions;
#[path = "apiserver/node.rs"]
mod node;
#[cfg(feature = "agent")]
#[path = "apiserver/pods.rs"]
mod pods;
#[path = "apiserver/pool.rs"]
mod pool;
#[path = "apiserver/space.rs"]
mod space;

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};

use cluster::Cluster;

/// A test: its name, and its body.
type Test = (&'static str, fn(&Cluster) -> anyhow::Result<()>);

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let cluster = match (!arguments.list).then(Cluster::start).transpose() {
        Ok(cluster) => cluster.map(Arc::new),
        Err(error) => {
            eprintln!("the API server of the tests does not run: {error:#}");
            return ExitCode::FAILURE;
        }
    };
    let mut tests = [definitions::TESTS, block::TESTS, pool::TESTS, space::TESTS, node::TESTS].concat();
    #[cfg(feature = "agent")]
    tests.extend(pods::TESTS);
    let trial = |(name, test): Test| {
        let cluster = cluster.clone();
        Trial::test(name, move || match &cluster {
            Some(cluster) => test(cluster).map_err(|error| Failed::from(format!("{error:#}"))),
            None => Ok(()),
        })
    };
    libtest_mimic::run(&arguments, tests.into_iter().map(trial).collect()).exit_code()
}
