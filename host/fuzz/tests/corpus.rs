//! Runs every input of the corpus through its target.

use std::path::Path;
use std::{fs, io};

use tenure_fixtures::random::{Random, rounds, seeds};

fn replay(name: &str, target: fn(&[u8])) -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let mut inputs = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        println!("{}", path.display());
        target(&fs::read(path)?);
        inputs += 1;
    }
    assert!(inputs > 0, "{name} has no corpus");
    Ok(())
}

#[test]
fn cni_input() -> io::Result<()> {
    replay("cni_input", tenure_fuzz::cni_input)
}

#[test]
fn log_recovery() -> io::Result<()> {
    replay("log_recovery", tenure_fuzz::log_recovery)
}

#[test]
fn policy_answer() -> io::Result<()> {
    replay("policy_answer", tenure_fuzz::policy_answer)
}

#[test]
fn policy_component() -> io::Result<()> {
    replay("policy_component", tenure_fuzz::policy_component)
}

/// Without libFuzzer: components of random bytes, of every kind. `TENURE_SEED=n` repeats a run, `TENURE_ROUNDS=n` sets its length.
#[test]
fn random_components() -> Result<(), Box<dyn std::error::Error>> {
    for mut random in seeds("components")?.map(Random::new) {
        for round in 0..rounds("TENURE_ROUNDS", 600)? {
            let length = 16 + random.below(2048);
            let mut input: Vec<u8> = (0..length).map(|_| random.below(256).to_le_bytes()[0]).collect();
            input[0] = u8::try_from(round % 6)?;
            tenure_fuzz::policy_component(&input);
        }
    }
    Ok(())
}
