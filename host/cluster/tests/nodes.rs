//! The built programs on a real API server: the operator, two daemons as two nodes, and the plugin that runtimes call.
//!
//! The nodes serve all tests, one after the other; each test deletes its pods at its end.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic fails the test")]

#[path = "nodes/agents.rs"]
mod agents;
#[path = "nodes/answers.rs"]
mod answers;
#[path = "nodes/calls.rs"]
mod calls;
#[path = "nodes/choices.rs"]
mod choices;
#[path = "nodes/claiming.rs"]
mod claiming;
#[path = "nodes/claims.rs"]
mod claims;
#[path = "nodes/credentials.rs"]
mod credentials;
#[path = "nodes/deletions.rs"]
mod deletions;
#[path = "nodes/families.rs"]
mod families;
#[path = "nodes/faults.rs"]
mod faults;
#[path = "nodes/identity.rs"]
mod identity;
#[path = "nodes/killed.rs"]
mod killed;
#[path = "nodes/labels.rs"]
mod labels;
#[path = "nodes/machine.rs"]
mod machine;
#[path = "nodes/moved.rs"]
mod moved;
#[path = "nodes/multus.rs"]
mod multus;
#[path = "nodes/narrowed.rs"]
mod narrowed;
#[path = "nodes/networks.rs"]
mod networks;
#[path = "nodes/node.rs"]
mod node;
#[path = "nodes/pods.rs"]
mod pods;
#[path = "nodes/releases.rs"]
mod releases;
#[path = "nodes/remade.rs"]
mod remade;
#[path = "nodes/renumbered.rs"]
mod renumbered;
#[path = "nodes/settings.rs"]
mod settings;
#[path = "nodes/stateful.rs"]
mod stateful;
#[path = "nodes/trap.rs"]
mod trap;
#[path = "nodes/usual.rs"]
mod usual;
#[path = "nodes/versions.rs"]
mod versions;
#[path = "nodes/whereabouts.rs"]
mod whereabouts;
#[path = "nodes/world.rs"]
mod world;

use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use anyhow::anyhow;
use tenure_fixtures::control_plane::suite::{self, TestOrder};

use tenure_fixtures::node::evidence;

use world::World;

/// A test: its name, and its body.
type Test = (&'static str, fn(&mut World) -> anyhow::Result<()>);

fn main() -> ExitCode {
    let in_turn = [
        usual::TESTS,
        faults::TESTS,
        releases::TESTS,
        machine::TESTS,
        agents::TESTS,
        pods::TESTS,
        answers::TESTS,
        deletions::TESTS,
        whereabouts::TESTS,
        stateful::TESTS,
        multus::TESTS,
        choices::TESTS,
        labels::TESTS,
        claims::TESTS,
        families::TESTS,
        narrowed::TESTS,
        settings::TESTS,
        calls::TESTS,
        credentials::TESTS,
        moved::TESTS,
        networks::TESTS,
        renumbered::TESTS,
        killed::TESTS,
        versions::TESTS,
        machine::LAST_TESTS,
    ]
    .concat();
    // In a world of their own: an operator does not lease blocks again while it waits for nodes that other tests have left behind, and a machine of
    // before keeps its blocks for an hour.
    let apart = [remade::TESTS, identity::TESTS].concat();
    let ends = [in_turn, apart].map(run);
    // The daemons have ended with their worlds. A test that failed has printed their logs already.
    let _ = evidence::take();
    ends.into_iter().find(|end| *end != ExitCode::SUCCESS).unwrap_or(ExitCode::SUCCESS)
}

/// Runs tests one after the other in a new world.
fn run(tests: Vec<Test>) -> ExitCode {
    let start = || World::start().map(Mutex::new);
    suite::run(start, TestOrder::OneByOne, tests, |world, test| {
        let mut world = world.lock().unwrap_or_else(PoisonError::into_inner);
        let result = test(&mut world);
        let cleared = world.clear();
        result.and(cleared).map_err(|error| anyhow!("{error:#}\n{}", world.logs()))
    })
}
