//! A deterministic simulation: the engine and its checkpoint, real, between a seeded scheduler, clock and disk.
//!
//! Each seed is a life of its own: many attachments that ADD, DEL, repeat, come late and give up; GC; networks that are removed
//! and defined anew, change their policies, and are supplied with ranges that drain and go; a disk that tears, loses, fails and
//! is full; processes that are killed and machines that stop and boot. After every reply and every recovery the
//! promises are held against what an outside observer was told. A seed that fails fails again: replay it with `--from SEED --seeds 1`.

mod beside;
mod executor;
mod oracle;
mod policies;
mod world;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;

/// Lives seeds and says which promise broke.
#[derive(Debug, Parser)]
#[command(name = "tenure-sim", version)]
struct Arguments {
    /// How many seeds to live
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Steps of each life
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
        "{} seeds of {} steps: {} replies held against the promises, {} crashes ({} reboots), {} callers gone, {} networks removed and {} changed, {} seeds failed",
        arguments.seeds,
        arguments.steps,
        total.replies,
        total.crashes,
        total.reboots,
        total.abandoned,
        total.removed,
        total.changed,
        failed.len()
    );
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    /// `TENURE_SIM_SEEDS` sets how many; the first that breaks a promise says how to replay it.
    #[test]
    fn seeds_keep_the_promises() {
        let seeds = std::env::var("TENURE_SIM_SEEDS").map_or(1000, |seeds| seeds.parse().unwrap());
        for seed in 1..=seeds {
            if let Err(error) = super::world::live(seed, 2000) {
                panic!(
                    "seed {seed}: {error:#}; replay: cargo xtask sim --from {seed} --seeds 1 --steps 2000"
                );
            }
        }
    }
}
