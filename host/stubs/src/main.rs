//! Generates the committed Rust code: the messages and services of `rpc`, `runtime` and `sdk/agent-rust`, and the bindings of `sdk/guest`.
//!
//! It is committed so that neither a first build of the daemon nor that of a policy compiles the generators. `cargo run -p tenure-stubs`
//! writes it, and a test compares it. This crate depends on none of the crates that it writes to, so that it builds while they do not.

mod bindings;
mod messages;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// A committed file, and what its source generates.
struct GeneratedFile {
    path: PathBuf,
    content: Vec<u8>,
}

impl GeneratedFile {
    fn new(path: &str, content: impl Into<Vec<u8>>) -> Self {
        Self { path: workspace().join(path), content: content.into() }
    }

    fn is_current(&self) -> bool {
        fs::read(&self.path).is_ok_and(|committed| committed == self.content)
    }
}

/// The folder of the root `Cargo.toml`.
fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn generated() -> Result<Vec<GeneratedFile>> {
    let [code, descriptors] = messages::of_rpc()?;
    Ok(vec![code, descriptors, messages::of_runtime()?, messages::of_agents()?, bindings::of_sdk()?])
}

fn main() -> Result<()> {
    for file in generated()? {
        let path = file.path.display();
        if file.is_current() {
            println!("current  {path}");
            continue;
        }
        fs::write(&file.path, &file.content).with_context(|| format!("cannot write {path}"))?;
        println!("written  {path}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_committed_code_is_what_its_sources_generate() {
        for file in super::generated().unwrap() {
            let path = file.path.display();
            assert!(file.is_current(), "{path} is out of date: run `cargo run -p tenure-stubs`");
        }
    }
}
