//! A deterministic simulation: the real engine and checkpoint on a seeded scheduler, clock and disk.
//!
//! Each seed is a separate run: many attachments whose ADDs and DELs are repeated, delayed and abandoned; GC; agents that
//! make, declare, release and watch claims; networks that are removed and redefined, change their policies, are served by a
//! delegate that fails and forgets, and are supplied with ranges that are drained and withdrawn, by plans and without; a disk that tears and loses
//! writes, fails and fills up; processes that are killed and machines that lose power and reboot. After every reply and every recovery, the promises are checked against what an outside
//! observer has seen. A failing seed always fails in the same way: replay it with `--from SEED --seeds 1`.

mod beside;
mod executor;
mod foreign;
mod oracle;
mod policies;
mod thinking;
mod world;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;

/// Simulates a node from seeds and reports broken promises.
#[derive(Debug, Parser)]
#[command(name = "tenure-sim", version)]
struct Arguments {
    /// Number of seeds to run
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Steps per seed
    #[arg(long, default_value_t = 2000)]
    steps: u64,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut total = world::Tally::default();
    let mut failed = Vec::new();
    let terminal = std::io::stderr().is_terminal();
    for (done, seed) in (arguments.from..).zip(0..arguments.seeds).map(|(seed, done)| (done, seed)) {
        match world::live(seed, arguments.steps) {
            Ok(tally) => {
                total.replies += tally.replies;
                total.crashes += tally.crashes;
                total.reboots += tally.reboots;
                total.abandoned += tally.abandoned;
                total.removed += tally.removed;
                total.changed += tally.changed;
                total.declared += tally.declared;
                total.rolled_back += tally.rolled_back;
                total.delegated += tally.delegated;
                total.planned += tally.planned;
            }
            Err(error) => {
                println!("seed {seed}: {error:#}");
                println!("  replay: cargo xtask sim --from {seed} --seeds 1 --steps {}", arguments.steps);
                failed.push(seed);
            }
        }
        if terminal && done % 50 == 0 {
            eprint!("\r{done} of {} seeds", arguments.seeds);
            let _ = std::io::stderr().flush();
        }
    }
    if terminal {
        eprintln!();
    }
    println!(
        "{} seeds of {} steps: {} replies checked, {} crashes ({} reboots), {} callers abandoned their requests, {} networks removed and {} changed, {} sets of claims declared, {} found rolled back by themselves, {} addresses in use checked with the delegate, {} effects begun, {} seeds failed",
        arguments.seeds,
        arguments.steps,
        total.replies,
        total.crashes,
        total.reboots,
        total.abandoned,
        total.removed,
        total.changed,
        total.declared,
        total.rolled_back,
        total.delegated,
        total.planned,
        failed.len()
    );
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    /// `TENURE_SIM_SEEDS` sets the number of seeds. The first seed that breaks a promise fails the test and prints
    /// how to replay it.
    #[test]
    fn seeds_keep_the_promises() {
        let seeds = std::env::var("TENURE_SIM_SEEDS").map_or(1000, |seeds| seeds.parse().unwrap());
        let (mut rolled_back, mut delegated, mut planned) = (0, 0, 0);
        for seed in 1..=seeds {
            match super::world::live(seed, 2000) {
                Ok(tally) => {
                    rolled_back += tally.rolled_back;
                    delegated += tally.delegated;
                    planned += tally.planned;
                }
                Err(error) => panic!(
                    "seed {seed}: {error:#}; replay: cargo xtask sim --from {seed} --seeds 1 --steps 2000"
                ),
            }
        }
        assert!(rolled_back > 0 || seeds < 100, "no network was rolled back by itself");
        assert!(delegated > 0 || seeds < 100, "no address of a delegate was in use");
        assert!(planned > 0 || seeds < 100, "no effect has begun");
    }
}
