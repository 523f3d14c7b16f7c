//! `wkg`, the Bytecode Alliance's client for packages of WIT, against a registry on loopback.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::Value;
use tenure_e2e::registry::Registry;

/// `wkg` with a configuration, a cache and a home of its own.
pub(crate) struct Client<'a> {
    registry: &'a Registry,
    address: String,
    folder: PathBuf,
}

/// The parts of a layout that describe one component.
pub(crate) struct Pushed {
    pub(crate) manifest: Value,
    pub(crate) config: Value,
    pub(crate) layer: Vec<u8>,
}

impl<'a> Client<'a> {
    /// A client whose packages of the name space `tenure` are in this registry.
    pub(crate) fn new(registry: &'a Registry, folder: PathBuf) -> anyhow::Result<Self> {
        fs::create_dir(&folder)?;
        let address = registry.address().to_owned();
        let config = format!(
            "[namespace_registries]\ntenure = \"{address}\"\n[registry.\"{address}\"]\ntype = \"oci\"\n\
             [registry.\"{address}\".oci]\nprotocol = \"http\"\n"
        );
        fs::write(folder.join("config.toml"), config)?;
        Ok(Self { registry, address, folder })
    }

    /// Runs it in its folder, or in one below.
    fn run(&self, within: &str, arguments: &[&str]) -> anyhow::Result<()> {
        let output = Command::new("wkg")
            .args(arguments)
            .current_dir(self.folder.join(within))
            .env("HOME", &self.folder)
            .env("WKG_CONFIG_FILE", self.folder.join("config.toml"))
            .env("WKG_CACHE_DIR", self.folder.join("cache"))
            .env("WKG_OCI_INSECURE", &self.address)
            .output()?;
        ensure!(output.status.success(), "wkg {arguments:?}: {output:?}");
        Ok(())
    }

    /// Pulls a reference's one layer.
    pub(crate) fn pull(&self, reference: &str) -> anyhow::Result<Vec<u8>> {
        self.run("", &["oci", "pull", &format!("{}/{reference}", self.address), "--output", "pulled"])?;
        Ok(fs::read(self.folder.join("pulled"))?)
    }

    /// Finds the only version of a package by its tags, and writes it in a format.
    pub(crate) fn get(&self, package: &str, format: &str) -> anyhow::Result<Vec<u8>> {
        let arguments = ["get", package, "--format", format, "--output", "./got", "--overwrite"];
        self.run("", &arguments)?;
        Ok(fs::read(self.folder.join("got"))?)
    }

    /// Pushes a component, and reads the configuration that it has written.
    pub(crate) fn config_pushed(&self, repository: &str, component: &[u8]) -> anyhow::Result<Value> {
        let reference = format!("{}/{repository}:1", self.address);
        fs::write(self.folder.join("own.wasm"), component)?;
        self.run("", &["oci", "push", &reference, "own.wasm"])?;
        let read = |what: &str| -> anyhow::Result<Value> {
            Ok(serde_json::from_str(&self.registry.read(&format!("{repository}/{what}"))?)?)
        };
        let manifest = read("manifests/1")?;
        let digest = manifest.pointer("/config/digest").and_then(Value::as_str).context("a digest")?;
        read(&format!("blobs/{digest}"))
    }

    /// Fetches the packages that a world depends on, which must be these, and encodes it with them.
    pub(crate) fn builds(&self, world: &str, dependencies: &[&str]) -> anyhow::Result<()> {
        let wit = self.folder.join("project/wit");
        fs::create_dir_all(&wit)?;
        fs::write(wit.join("mine.wit"), world)?;
        self.run("project", &["fetch"])?;
        for name in dependencies {
            ensure!(wit.join("deps").join(name).is_dir(), "{name} was not fetched");
        }
        self.run("project", &["build", "--output", "mine.wasm"])?;
        ensure!(fs::read(self.folder.join("project/mine.wasm"))?.starts_with(b"\0asm"));
        Ok(())
    }
}

impl Pushed {
    /// Reads a layout.
    pub(crate) fn of_layout(folder: &Path) -> anyhow::Result<Self> {
        let blob = |of: &Value, pointer: &str| -> anyhow::Result<Vec<u8>> {
            let digest = of.pointer(pointer).and_then(Value::as_str).context("a digest")?;
            Ok(fs::read(folder.join("blobs").join(digest.replace(':', "/")))?)
        };
        let index: Value = serde_json::from_slice(&fs::read(folder.join("index.json"))?)?;
        let manifest: Value = serde_json::from_slice(&blob(&index, "/manifests/0/digest")?)?;
        let config = serde_json::from_slice(&blob(&manifest, "/config/digest")?)?;
        let layer = blob(&manifest, "/layers/0/digest")?;
        Ok(Self { manifest, config, layer })
    }
}

/// The names in a list, in no order.
pub(crate) fn names(of: &Value, pointer: &str) -> BTreeSet<String> {
    let names = of.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}
