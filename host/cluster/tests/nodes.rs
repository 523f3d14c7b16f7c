//! The built programs on a real API server: the operator, two daemons as two nodes, and the plugin that runtimes call.
//!
//! The nodes serve all tests, one after the other; each test deletes its pods at its end.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

#[path = "nodes/faults.rs"]
mod faults;
#[path = "nodes/node.rs"]
mod node;
#[path = "nodes/pods.rs"]
mod pods;
#[path = "nodes/releases.rs"]
mod releases;
#[path = "nodes/usual.rs"]
mod usual;
#[path = "nodes/world.rs"]
mod world;

use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use libtest_mimic::{Arguments, Failed, Trial};
use tenure_fixtures::node::evidence;

use world::World;

/// A test: its name, and its body.
type Test = (&'static str, fn(&mut World) -> anyhow::Result<()>);

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let world = match (!arguments.list).then(World::start).transpose() {
        Ok(world) => world.map(|world| Arc::new(Mutex::new(world))),
        Err(error) => {
            eprintln!("the cluster of the tests does not run: {error:#}");
            return ExitCode::FAILURE;
        }
    };
    let tests = [usual::TESTS, faults::TESTS, releases::TESTS, pods::TESTS].concat();
    let trial = |(name, test): Test| {
        let world = world.clone();
        Trial::test(name, move || match &world {
            Some(world) => {
                let mut world = world.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                let result = test(&mut world);
                let cleared = world.clear();
                let result = result.and(cleared);
                result.map_err(|error| Failed::from(format!("{error:#}\n{}", world.logs())))
            }
            None => Ok(()),
        })
    };
    let conclusion = libtest_mimic::run(&arguments, tests.into_iter().map(trial).collect());
    drop(world);
    // The logs of the daemons, which ended just now, were told with the test that failed.
    let _ = evidence::take();
    conclusion.exit_code()
}
