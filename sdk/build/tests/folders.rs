//! Crates in folders of their own, outside of any workspace: what they become, and what a wrong one is told.

#![expect(clippy::unwrap_used, reason = "test helpers are part of the tests")]

use std::fs;
use std::path::{Path, PathBuf};

use tenure_sdk_build::{BuildError, Builder, build};

/// The least that a policy can be.
const POLICY: &str = r#"
use tenure_sdk::{Config, ConfigError, Cooling, Definition, Policy, Proposal, Refusal, Request, configuration, ledger};

pub struct Mine;

impl Policy for Mine {
    fn define(_: &Config) -> Result<Definition, ConfigError> {
        Ok(Definition::new(configuration::ranges("ipam")?, Cooling::Preferred))
    }

    fn propose(request: &Request) -> Result<Proposal, Refusal> {
        assert!(request.network.len() < 1000, "a panic has the path of this file");
        let mut proposal = Proposal::new();
        for pool in ledger::pools() {
            let full = || Refusal::exhausted(format!("no address is free in {}", pool.name));
            proposal.assign(pool.index, pool.shelf().next_in_turn().ok_or_else(full)?);
        }
        Ok(proposal)
    }
}
"#;

const MODULE: &str = "[lib]\ncrate-type = [\"cdylib\", \"rlib\"]\n";

/// A folder of the sources, outside of the workspace.
struct Folder(tempfile::TempDir);

impl Folder {
    /// Writes a crate into a folder below a new one.
    fn new(below: &str, manifest: &str, dependencies: &str, source: &str) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        let at = folder.0.path().join(below);
        fs::create_dir_all(at.join("src")).unwrap();
        let package = "[package]\nname = \"mine\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
        let manifest = format!("{package}{manifest}\n[dependencies]\n{dependencies}\n[workspace]\n");
        fs::write(at.join("Cargo.toml"), manifest).unwrap();
        fs::write(at.join("src/lib.rs"), source).unwrap();
        // The versions that are here already.
        fs::copy(sources().join("Cargo.lock"), at.join("Cargo.lock")).unwrap();
        folder
    }
}

/// The sources that this test belongs to.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

#[test]
fn the_same_sources_give_the_same_bytes_in_two_folders() {
    let exported = format!("{POLICY}\ntenure_sdk::export!(Mine);\n");
    let sdk = format!("tenure-sdk = {{ path = {:?} }}", sources().join("sdk/guest"));
    let component = |below: &str| {
        let folder = Folder::new(below, MODULE, &sdk, &exported);
        let at = folder.0.path().join(below);
        let component = Builder::new(&at, at.join("target")).unwrap().component("mine").unwrap();
        let home = std::env::var("HOME").unwrap();
        for path in [folder.0.path().to_str().unwrap(), home.as_str()] {
            let found = component.windows(path.len()).any(|window| window == path.as_bytes());
            assert!(!found || path.len() < 2, "the component contains {path}");
        }
        component
    };
    let (one, other) = (component("here"), component("a/longer/path"));
    assert!(one == other, "{} and {} bytes differ", one.len(), other.len());
}

#[test]
fn a_missing_piece_is_named_with_its_remedy() {
    let refused = |manifest: &str, source: &str| {
        let folder = Folder::new("mine", manifest, "", source);
        build(&folder.0.path().join("mine")).unwrap_err()
    };
    let source = "pub fn define() {}";
    let error = refused("", source);
    assert!(matches!(error, BuildError::NoModule(_)), "{error}");
    assert!(error.to_string().contains("crate-type = [\"cdylib\", \"rlib\"]"), "{error}");
    let error = refused(MODULE, source);
    assert!(matches!(error, BuildError::NotExported(_)), "{error}");
    assert!(error.to_string().contains("tenure_sdk::export!"), "{error}");
    let error = refused(MODULE, "compile_error!(\"nonsense\");");
    assert!(matches!(&error, BuildError::Cargo { output, .. } if output.contains("nonsense")), "{error}");
    let empty = tempfile::tempdir().unwrap();
    let error = build(empty.path()).unwrap_err();
    assert!(matches!(error, BuildError::Metadata(..)), "{error}");
}
