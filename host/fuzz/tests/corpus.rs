//! Runs every input of the corpus through its target.

use std::path::Path;
use std::{fs, io};

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
