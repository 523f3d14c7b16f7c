//! Builds the first-party policies, most of which are embedded in the daemon.

use std::path::PathBuf;

/// The policies to build, by their folder in `plugins/`: the embedded ones, and one that is shipped beside the daemon.
const POLICIES: [&str; 3] = ["host-local", "highest-first", "delegated"];

/// The policies that are embedded with a feature, by the variable that says whether it is on.
const OPTIONAL: [(&str, &str); 2] =
    [("CARGO_FEATURE_AWS", "aws-eni"), ("CARGO_FEATURE_CLUSTER", "cluster-range")];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let workspace = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    for folder in ["plugins", "sdk/guest", "wit", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", workspace.join(folder).display());
    }
    // Next to the outer build's `debug` and `release`, so that both share one build of the policies.
    let target =
        out.ancestors().find(|path| path.ends_with("build")).and_then(|build| build.ancestors().nth(2));
    let builder = tenure_sdk_build::Builder::new(&workspace, target.unwrap_or(&out).join("wasm"))?;
    let optional = OPTIONAL.into_iter().filter(|(feature, _)| std::env::var_os(feature).is_some());
    for policy in POLICIES.into_iter().chain(optional.map(|(_, policy)| policy)) {
        let component = builder.component(&format!("tenure-{policy}"))?;
        std::fs::write(out.join(format!("{policy}.wasm")), component)?;
    }
    Ok(())
}
