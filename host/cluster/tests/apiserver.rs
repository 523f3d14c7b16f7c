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
#[path = "apiserver/own_node.rs"]
mod own_node;
#[cfg(feature = "agent")]
#[path = "apiserver/pods.rs"]
mod pods;
#[path = "apiserver/pool.rs"]
mod pool;
#[path = "apiserver/space.rs"]
mod space;

use std::process::ExitCode;

use tenure_fixtures::control_plane::suite::{self, TestOrder};

use cluster::Cluster;

/// A test: its name, and its body.
type Test = (&'static str, fn(&Cluster) -> anyhow::Result<()>);

fn main() -> ExitCode {
    let mut tests = [definitions::TESTS, block::TESTS, pool::TESTS, space::TESTS, node::TESTS].concat();
    #[cfg(feature = "agent")]
    tests.extend([own_node::TESTS, pods::TESTS].concat());
    suite::run(Cluster::start, TestOrder::AtOnce, tests, |cluster, test| test(cluster))
}
