//! Builds the first-party policies and embeds them in the daemon.

use std::path::{Path, PathBuf};

/// The embedded policies, by their folder in `plugins/`.
const EMBEDDED: [&str; 2] = ["host-local", "highest-first"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    for folder in ["plugins", "sdk/guest", "wit", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", workspace.join(folder).display());
    }
    // Next to the outer build's `debug` and `release`, so that both share one build of the policies.
    let target =
        out.ancestors().find(|path| path.ends_with("build")).and_then(|build| build.ancestors().nth(2));
    let builder = tenure_sdk_build::Builder::new(&workspace, target.unwrap_or(&out).join("wasm"))?;
    for policy in EMBEDDED {
        let component = builder.component(&format!("tenure-{policy}"))?;
        std::fs::write(out.join(format!("{policy}.wasm")), component)?;
    }
    Ok(())
}
