//! OCI registries for tests: Debian's `docker-registry` on loopback, and one that lies.

mod http;
mod layout;
mod liar;

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::Value;
use tempfile::TempDir;

pub use self::layout::{Layout, Manifest};
pub use self::liar::{Answer, Liar};
use crate::{scratch, wait};

/// The longest that a start may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The user that a registry with credentials knows, and the password.
pub const USER: (&str, &str) = ("operator", "secret");

/// The password of [`USER`], as htpasswd files have it.
const HASH: &str = "$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a";

/// A running registry; dropping it ends it.
#[derive(Debug)]
pub struct Registry {
    child: Child,
    address: String,
    authorization: Option<String>,
    _directory: TempDir,
}

impl Registry {
    /// Starts a registry on a free port.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start() -> anyhow::Result<Self> {
        Self::start_with(false)
    }

    /// Starts a registry that serves nobody but [`USER`].
    ///
    /// # Errors
    /// When it does not start.
    pub fn start_private() -> anyhow::Result<Self> {
        Self::start_with(true)
    }

    fn start_with(private: bool) -> anyhow::Result<Self> {
        let directory = scratch::directory()?;
        let path = |name: &str| directory.path().join(name).display().to_string();
        let mut config = format!(
            "version: 0.1\nlog:\n  accesslog:\n    disabled: true\nstorage:\n  filesystem:\n    rootdirectory: {}\n\
             http:\n  addr: 127.0.0.1:0\n",
            path("data")
        );
        if private {
            fs::write(path("users"), format!("{}:{HASH}\n", USER.0))?;
            config += &format!("auth:\n  htpasswd:\n    realm: tests\n    path: {}\n", path("users"));
        }
        fs::write(path("config.yml"), config)?;
        let log = File::create(path("log"))?;
        let mut child = Command::new("docker-registry")
            .args(["serve", &path("config.yml")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .context("docker-registry")?;
        let address = wait::until("the registry to listen", LIMIT, || {
            let log = fs::read_to_string(path("log"))?;
            ensure!(child.try_wait()?.is_none(), "the registry ended: {log}");
            let found = log.split_once("listening on ").and_then(|(_, rest)| rest.split_once('"'));
            Ok(found.map(|(address, _)| address.to_owned()))
        })?;
        let authorization = private.then(|| http::basic(USER.0, USER.1));
        Ok(Self { child, address, authorization, _directory: directory })
    }

    /// Returns the address and port of the registry.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Pushes a blob and returns its digest.
    ///
    /// # Errors
    /// When the registry does not take it.
    pub fn push_blob(&self, repository: &str, bytes: &[u8]) -> anyhow::Result<String> {
        let digest = layout::digest(bytes);
        let begun = self.call("POST", &format!("/v2/{repository}/blobs/uploads/"), "", b"", 202)?;
        let place = begun.header("location").context("no location")?.to_owned();
        let place = place.split_once(&self.address).map_or(place.as_str(), |(_, path)| path).to_owned();
        let separator = if place.contains('?') { '&' } else { '?' };
        let place = format!("{place}{separator}digest={digest}");
        self.call("PUT", &place, "application/octet-stream", bytes, 201)?;
        Ok(digest)
    }

    /// Pushes a manifest under a tag, or under its own digest, and returns that digest.
    ///
    /// # Errors
    /// When the registry does not take it.
    pub fn push_manifest(
        &self,
        repository: &str,
        tag: Option<&str>,
        manifest: &Manifest,
    ) -> anyhow::Result<String> {
        let digest = layout::digest(&manifest.bytes);
        let path = format!("/v2/{repository}/manifests/{}", tag.unwrap_or(&digest));
        self.call("PUT", &path, manifest.media, &manifest.bytes, 201)?;
        Ok(digest)
    }

    /// Pushes an OCI image layout, as `skopeo copy oci:FOLDER docker://...` does, and returns the manifest's digest.
    ///
    /// # Errors
    /// Returns an error if the folder is not a layout, or the registry refuses a part of it.
    pub fn push_layout(&self, repository: &str, tag: Option<&str>, folder: &Path) -> anyhow::Result<String> {
        let index: Value = serde_json::from_slice(&fs::read(folder.join("index.json"))?)?;
        let digest = index.pointer("/manifests/0/digest").and_then(Value::as_str).context("no digest")?;
        for blob in fs::read_dir(folder.join("blobs/sha256"))? {
            self.push_blob(repository, &fs::read(blob?.path())?)?;
        }
        let bytes = fs::read(folder.join("blobs").join(digest.replace(':', "/")))?;
        let manifest = Manifest { media: "application/vnd.oci.image.manifest.v1+json", bytes };
        let pushed = self.push_manifest(repository, tag, &manifest)?;
        ensure!(pushed == digest, "{pushed} is not {digest}");
        Ok(pushed)
    }

    /// Pushes a component in a layout, and returns the manifest's digest.
    ///
    /// # Errors
    /// When the registry does not take it.
    pub fn push(
        &self,
        repository: &str,
        tag: Option<&str>,
        layout: Layout,
        component: &[u8],
    ) -> anyhow::Result<String> {
        let config = layout.config(component);
        self.push_blob(repository, &config)?;
        self.push_blob(repository, component)?;
        self.push_manifest(repository, tag, &layout.manifest(component))
    }

    /// Reads what it has at a path below `/v2/`: a manifest, or a blob that is text.
    ///
    /// # Errors
    /// When the registry does not have it.
    pub fn read(&self, path: &str) -> anyhow::Result<String> {
        let any = ("Accept", "application/vnd.oci.image.manifest.v1+json, */*");
        let response = http::call(&self.address, "GET", &format!("/v2/{path}"), &[any], b"")?;
        ensure!(response.status == 200, "{path}: {response:?}");
        Ok(response.body().to_owned())
    }

    fn call(
        &self,
        method: &str,
        path: &str,
        media: &str,
        body: &[u8],
        expected: u16,
    ) -> anyhow::Result<http::Response> {
        let mut headers = vec![("Content-Type", media)];
        if let Some(authorization) = &self.authorization {
            headers.push(("Authorization", authorization));
        }
        let response = http::call(&self.address, method, path, &headers, body)?;
        ensure!(response.status == expected, "{method} {path}: {response:?}");
        Ok(response)
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
