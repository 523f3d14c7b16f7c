//! The OCI image layout (specification 1.1): blobs by digest, and an index that leads to the manifest of each platform.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use flate2::Compression;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::layer;
use super::platform::Platform;
use super::root::ImageRoot;

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// The tag: the version of the workspace, as the chart's appVersion.
pub(crate) const TAG: &str = env!("CARGO_PKG_VERSION");

/// An image that is to be written.
pub(super) struct PackedImage {
    pub(super) name: String,
    pub(super) tag: String,
    pub(super) description: String,
    /// The user, by number.
    pub(super) user: u32,
    /// The program that a container of it runs.
    pub(super) command: String,
    /// One for each platform.
    pub(super) roots: Vec<ImageRoot>,
    pub(super) compression: Compression,
}

/// An image that was written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WrittenImage {
    pub(super) name: String,
    pub(super) tag: String,
    /// The digest of its index, by which a registry knows it.
    pub(super) digest: String,
    /// Bytes of its compressed layers, on each platform.
    pub(super) sizes: Vec<(Platform, u64)>,
}

impl WrittenImage {
    /// Refuses an image that is too large.
    ///
    /// # Errors
    /// If it is.
    pub(super) fn check_size(&self, limit: u64) -> Result<()> {
        self.sizes.iter().try_for_each(|(platform, size)| {
            ensure!(*size <= limit, "{} has {size} bytes for {platform}, and may have {limit}", self.name);
            Ok(())
        })
    }
}

/// Writes a layout into a folder that does not exist.
///
/// # Errors
/// If a file cannot be written.
pub(super) fn write(image: &PackedImage, revision: &str, folder: &Path) -> Result<WrittenImage> {
    fs::create_dir_all(folder.join("blobs/sha256"))?;
    let annotations = json!({
        "org.opencontainers.image.created": "1970-01-01T00:00:00Z",
        "org.opencontainers.image.description": image.description,
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.revision": revision,
        "org.opencontainers.image.title": image.name,
        "org.opencontainers.image.version": image.tag,
    });
    let (mut manifests, mut sizes) = (Vec::new(), Vec::new());
    for root in &image.roots {
        let (manifest, size) = write_platform(image, root, &annotations, folder)?;
        manifests.push(manifest);
        sizes.push((root.platform, size));
    }
    let index = json!({
        "annotations": annotations, "manifests": manifests, "mediaType": INDEX, "schemaVersion": 2,
    });
    let index = blob(folder, INDEX, &bytes(&index)?)?;
    // containerd takes the reference from the first, skopeo the tag from the second.
    let annotations = json!({
        "io.containerd.image.name": format!("localhost/{}:{}", image.name, image.tag),
        "org.opencontainers.image.ref.name": image.tag,
    });
    let digest = index.get("digest").and_then(Value::as_str).unwrap_or_default().to_owned();
    let index = with(index, "annotations", annotations);
    let outer = json!({ "manifests": [index], "mediaType": INDEX, "schemaVersion": 2 });
    fs::write(folder.join("index.json"), bytes(&outer)?)?;
    fs::write(folder.join("oci-layout"), bytes(&json!({ "imageLayoutVersion": "1.0.0" }))?)?;
    Ok(WrittenImage { name: image.name.clone(), tag: image.tag.clone(), digest, sizes })
}

/// Writes what belongs to one platform; returns the descriptor of its manifest, and the bytes of its layer.
fn write_platform(
    image: &PackedImage,
    root: &ImageRoot,
    annotations: &Value,
    folder: &Path,
) -> Result<(Value, u64)> {
    let layer = layer::pack(root, image.compression)?;
    let architecture = root.platform.architecture();
    let config = json!({
        "architecture": architecture,
        "config": {
            "Cmd": [],
            "Entrypoint": [image.command],
            "Env": ["PATH=/usr/local/bin:/usr/sbin"],
            "Labels": annotations,
            "User": format!("{0}:{0}", image.user),
            "WorkingDir": "/",
        },
        "created": "1970-01-01T00:00:00Z",
        "history": [{ "created": "1970-01-01T00:00:00Z", "created_by": "cargo xtask image" }],
        "os": "linux",
        "rootfs": { "diff_ids": [digest(&layer.archive)], "type": "layers" },
    });
    let config = blob(folder, CONFIG, &bytes(&config)?)?;
    let size = layer.compressed.len().try_into()?;
    let layer = blob(folder, LAYER, &layer.compressed)?;
    let manifest = json!({
        "annotations": annotations, "config": config, "layers": [layer], "mediaType": MANIFEST, "schemaVersion": 2,
    });
    let manifest = blob(folder, MANIFEST, &bytes(&manifest)?)?;
    Ok((with(manifest, "platform", json!({ "architecture": architecture, "os": "linux" })), size))
}

/// Reads a layout back as a registry does: each descriptor leads to a blob of its size and digest, and each blob is named.
///
/// # Errors
/// Says what is wrong.
pub(super) fn check(folder: &Path) -> Result<()> {
    let mut named = vec![];
    let outer: Value = serde_json::from_slice(&fs::read(folder.join("index.json"))?)?;
    let mut pending: Vec<Value> =
        outer.get("manifests").and_then(Value::as_array).cloned().context("index.json names nothing")?;
    ensure!(!pending.is_empty(), "index.json names nothing");
    while let Some(descriptor) = pending.pop() {
        let content = read(folder, &descriptor)?;
        let text = |key: &str| descriptor.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        named.push(text("digest"));
        match &*text("mediaType") {
            INDEX | MANIFEST => {
                let inner: Value = serde_json::from_slice(&content)?;
                let is = |key: &str, value: Value| inner.get(key) == Some(&value);
                ensure!(
                    is("schemaVersion", 2.into()) && is("mediaType", text("mediaType").into()),
                    "{inner}"
                );
                for key in ["manifests", "layers"] {
                    pending.extend(inner.get(key).and_then(Value::as_array).into_iter().flatten().cloned());
                }
                pending.extend(inner.get("config").cloned());
                if inner.get("config").is_some() {
                    layers(folder, &inner)?;
                }
            }
            CONFIG | LAYER => {}
            other => ensure!(false, "unknown media type {other:?}"),
        }
    }
    let present = fs::read_dir(folder.join("blobs/sha256"))?.count();
    named.sort();
    named.dedup();
    ensure!(present == named.len(), "{present} blobs, of which {} are named", named.len());
    Ok(())
}

/// Checks that the configuration names the archives of the layers.
fn layers(folder: &Path, manifest: &Value) -> Result<()> {
    let config: Value = serde_json::from_slice(&read(folder, &manifest["config"])?)?;
    let mut unpacked = Vec::new();
    for layer in manifest["layers"].as_array().into_iter().flatten() {
        unpacked.push(Value::from(digest(&archive(folder, layer)?)));
    }
    let named = config.pointer("/rootfs/diff_ids");
    ensure!(named == Some(&Value::from(unpacked)), "diff_ids are of other layers");
    let is_linux = config.get("os").is_some_and(|os| os == "linux");
    ensure!(is_linux && config.get("architecture").is_some_and(Value::is_string), "no platform: {config}");
    Ok(())
}

/// The manifest of one platform in a layout.
///
/// # Errors
/// If there is none.
pub(super) fn manifest(folder: &Path, platform: Platform) -> Result<Value> {
    let outer: Value = serde_json::from_slice(&fs::read(folder.join("index.json"))?)?;
    let index = outer.pointer("/manifests/0").context("index.json names nothing")?;
    let index: Value = serde_json::from_slice(&read(folder, index)?)?;
    let mut manifests = index.get("manifests").and_then(Value::as_array).into_iter().flatten();
    let found = manifests.find(|one| {
        one.pointer("/platform/architecture").is_some_and(|found| found == platform.architecture())
    });
    Ok(serde_json::from_slice(&read(folder, found.with_context(|| format!("no manifest for {platform}"))?)?)?)
}

/// The archive of a layer.
///
/// # Errors
/// If it cannot be read.
pub(super) fn archive(folder: &Path, layer: &Value) -> Result<Vec<u8>> {
    let mut archive = Vec::new();
    std::io::copy(&mut flate2::read::GzDecoder::new(&read(folder, layer)?[..]), &mut archive)?;
    Ok(archive)
}

/// The blob that a descriptor names.
///
/// # Errors
/// If it is missing or another one.
pub(super) fn read(folder: &Path, descriptor: &Value) -> Result<Vec<u8>> {
    let name =
        descriptor["digest"].as_str().and_then(|name| name.strip_prefix("sha256:")).context("no digest")?;
    let content =
        fs::read(folder.join("blobs/sha256").join(name)).with_context(|| format!("no blob {name}"))?;
    ensure!(digest(&content) == format!("sha256:{name}"), "blob {name} has other content");
    ensure!(descriptor["size"] == content.len(), "blob {name} has {} bytes: {descriptor}", content.len());
    Ok(content)
}

/// The digest of bytes, as OCI writes it.
pub(super) fn digest(bytes: &[u8]) -> String {
    let hexadecimal: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hexadecimal}")
}

/// Writes a blob; returns its descriptor.
fn blob(folder: &Path, media_type: &str, content: &[u8]) -> Result<Value> {
    let digest = digest(content);
    let name = digest.strip_prefix("sha256:").unwrap_or_default();
    fs::write(folder.join("blobs/sha256").join(name), content)?;
    Ok(json!({ "digest": digest, "mediaType": media_type, "size": content.len() }))
}

/// An object with one more key.
pub(super) fn with(mut object: Value, key: &str, value: Value) -> Value {
    if let Some(map) = object.as_object_mut() {
        map.insert(key.to_owned(), value);
    }
    object
}

/// An object without spaces, and with its keys in the order of the alphabet.
fn bytes(value: &Value) -> Result<Vec<u8>> {
    Ok(serde_json::to_vec(value)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(user: u32) -> PackedImage {
        let (name, description) = ("one".to_owned(), "An image".to_owned());
        let command = "/one".to_owned();
        let roots =
            [Platform::Amd64, Platform::Arm64].map(|platform| ImageRoot::new(platform).unwrap()).into();
        let tag = TAG.to_owned();
        PackedImage { name, tag, description, user, command, roots, compression: Compression::fast() }
    }

    #[test]
    fn the_same_files_are_the_same_image_and_others_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let written = ["a", "b", "c"].map(|name| {
            write(&image(if name == "c" { 7 } else { 0 }), "r", &folder.path().join(name)).unwrap()
        });
        assert_eq!(written[0], written[1]);
        assert_ne!(written[0].digest, written[2].digest);
        for name in ["a", "b", "c"] {
            check(&folder.path().join(name)).unwrap();
        }
        let sizes = &written[0].sizes;
        assert_eq!(sizes.len(), 2);
        assert!(written[0].check_size(sizes[0].1).is_ok());
        assert!(written[0].check_size(sizes[0].1 - 1).is_err());
        for platform in [Platform::Amd64, Platform::Arm64] {
            manifest(&folder.path().join("a"), platform).unwrap();
        }
    }

    #[test]
    fn a_broken_layout_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("a");
        write(&image(0), "r", &at).unwrap();
        let stray = at.join("blobs/sha256/00");
        fs::write(&stray, "").unwrap();
        assert!(check(&at).unwrap_err().to_string().contains("7 blobs, of which 6"));
        fs::remove_file(stray).unwrap();
        let blob = fs::read_dir(at.join("blobs/sha256")).unwrap().next().unwrap().unwrap().path();
        fs::write(&blob, "other").unwrap();
        assert!(check(&at).unwrap_err().to_string().contains("other content"));
        fs::remove_file(blob).unwrap();
        assert!(check(&at).unwrap_err().to_string().contains("no blob"));
    }
}
