//! Writer, recovery and ledger against a model on paper, on a disk that loses, tears, reorders, refuses and fills up.
//!
//! [`machine`] chooses the next transition; [`system`] applies it to a real writer and to real books; [`truth`] knows
//! on paper what may be found after any crash. What a crash leaves cannot be known beforehand, so the truth then
//! adopts what was found, and continues from there.
//!
//! `TENURE_SEED=n` repeats one seed, `TENURE_SEEDS=n` runs n of them. A failing run is shrunk.

mod machine;
mod meddled;
mod paper;
mod system;
mod truth;

use std::fmt::Debug;

use proptest::test_runner::{Config, RngSeed, TestRunner};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};
use tenure_fixtures::random::many_seeds;

use self::machine::{Machine, Transition};
use self::system::System;

struct Model;

impl StateMachineTest for Model {
    type SystemUnderTest = System;
    type Reference = Machine;

    fn init_test(machine: &Machine) -> System {
        System::new(machine.seed(), machine.sizes())
    }

    fn apply(mut system: System, _: &Machine, transition: Transition) -> System {
        system.apply(&transition);
        system
    }

    fn check_invariants(system: &System, _: &Machine) {
        system.check();
    }

    fn teardown(system: System, _: Machine) {
        system.end();
    }
}

/// Runs one seed. The error has the shortest run with the same failure that was found.
fn run(seed: u64) -> Result<(), impl Debug + ToString> {
    let config = Config {
        cases: 1,
        rng_seed: RngSeed::Fixed(seed),
        // The seed is enough to repeat it.
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Config::default()
    };
    TestRunner::new(config.clone()).run(
        &Machine::sequential_strategy(1..300),
        |(machine, transitions, seen)| {
            Model::test_sequential(config.clone(), machine, transitions, seen);
            Ok(())
        },
    )
}

#[test]
fn nothing_acknowledged_is_lost_whatever_the_disk_does() {
    for seed in many_seeds("checkpoint", 500).unwrap() {
        if let Err(error) = run(seed) {
            panic!("TENURE_SEED={seed}: {}", error.to_string());
        }
    }
}
