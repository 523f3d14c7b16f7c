//! `policy pack`: a component as an OCI image layout, which registry tools can push.
//!
//! The manifest is that of the CNCF's format for WebAssembly, which `wkg` and others use: a configuration that names the
//! component's imports and exports, and one layer, which is the component itself: a policy, or a package of the interface in the binary
//! form of WIT. The same component gives the same bytes. A signature that lies beside the component goes into an annotation of the manifest, from where `policy load`
//! takes it.

mod packable;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};
use tenure_policy::sha256;
use tenure_types::{Error, ErrorCode};

use self::packable::Packable;
pub(crate) use self::packable::PackedKind;
use crate::registry::{LAYER, SIGNATURE};
use crate::render::{Page, Shown};

const CONFIG: &str = "application/vnd.wasm.config.v0+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The file that makes a folder an image layout.
const MARKER: &str = "oci-layout";

/// A component that was packed.
#[derive(Debug, Serialize)]
pub(crate) struct Packed {
    /// The layout's folder.
    pub(crate) folder: PathBuf,
    /// The digest by which a registry knows it.
    pub(crate) manifest: String,
    /// The component's digest.
    pub(crate) sha256: String,
    /// Whether its signature is in the manifest.
    pub(crate) signed: bool,
    #[serde(skip)]
    pub(crate) kind: PackedKind,
}

impl Shown for Packed {
    fn page(&self, _: u64) -> Page {
        let Self { folder, manifest, sha256, signed, kind } = self;
        let signed = if *signed { ", with its signature" } else { "" };
        let kind = match kind {
            PackedKind::Component => "component",
            PackedKind::Package => "encoded package",
        };
        format!("{}: {manifest}, of the {kind} sha256:{sha256}{signed}\n", folder.display()).into()
    }
}

/// Packs a component, or the interface, into `FILE.oci`, or the folder that is given; it must not exist, unless `force` replaces a layout there.
pub(super) fn pack(
    file: &Path,
    package: Option<&str>,
    folder: Option<PathBuf>,
    force: bool,
) -> Result<Packed, Error> {
    let Packable { bytes: component, exports, imports, annotations, title, kind } =
        Packable::read(file, package)?;
    let folder = folder.unwrap_or_else(|| file.with_added_extension("oci"));
    let failed = |path: &Path, error: &std::io::Error| {
        Error::new(ErrorCode::InputOutput, format_args!("{}: {error}", path.display()))
    };
    if force && folder.exists() {
        // Nothing but a layout is ever deleted.
        if !folder.join(MARKER).is_file() {
            let cause =
                format!("{} is not an OCI image layout; name another folder with --to", folder.display());
            return Err(Error::new(ErrorCode::InputOutput, cause));
        }
        fs::remove_dir_all(&folder).map_err(|error| failed(&folder, &error))?;
    }
    fs::create_dir(&folder).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Error::new(
            ErrorCode::InputOutput,
            format_args!("{} exists; --force replaces it", folder.display()),
        ),
        _ => failed(&folder, &error),
    })?;
    let blobs = folder.join("blobs/sha256");
    fs::create_dir_all(&blobs).map_err(|error| failed(&blobs, &error))?;
    let write = |path: PathBuf, bytes: &[u8]| fs::write(&path, bytes).map_err(|error| failed(&path, &error));
    // Writes a blob, and returns its digest and its descriptor.
    let blob = |media: &str, bytes: &[u8]| {
        let digest = sha256(bytes);
        write(blobs.join(&digest), bytes)?;
        let digest = format!("sha256:{digest}");
        let descriptor = json!({ "mediaType": media, "digest": &digest, "size": bytes.len() });
        Ok::<(String, Value), Error>((digest, descriptor))
    };
    let (digest, mut layer) = blob(LAYER, &component)?;
    annotate(&mut layer, title);
    let config = json!({
        // A fixed time, so that the same component is the same image.
        "created": "1970-01-01T00:00:00Z",
        "architecture": "wasm",
        "os": "wasip2",
        "layerDigests": [digest],
        "component": { "exports": exports, "imports": imports },
    });
    let (_, config) = blob(CONFIG, config.to_string().as_bytes())?;
    let mut manifest =
        json!({ "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer] });
    let signature = file.with_added_extension("minisig");
    let signed = signature.exists();
    annotate(&mut manifest, annotations);
    if signed {
        let text = fs::read_to_string(&signature).map_err(|error| failed(&signature, &error))?;
        annotate(&mut manifest, json!({ SIGNATURE: text }));
    }
    let (digest, manifest) = blob(MANIFEST, manifest.to_string().as_bytes())?;
    let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [manifest] });
    write(folder.join("index.json"), index.to_string().as_bytes())?;
    write(folder.join(MARKER), br#"{"imageLayoutVersion":"1.0.0"}"#)?;
    Ok(Packed { folder, manifest: digest, sha256: sha256(&component), signed, kind })
}

/// Adds annotations to a manifest or a descriptor.
fn annotate(to: &mut Value, annotations: Value) {
    let (Some(to), Value::Object(mut annotations)) = (to.as_object_mut(), annotations) else { return };
    match to.get_mut("annotations").and_then(Value::as_object_mut) {
        Some(before) => before.append(&mut annotations),
        None => drop(to.insert("annotations".to_owned(), Value::Object(annotations))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layout_leads_to_the_component_and_is_always_the_same() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("policy.wasm");
        fs::write(&file, tenure_policy::embedded::HOST_LOCAL).unwrap();
        let packed = pack(&file, None, None, false).unwrap();
        assert_eq!(packed.folder, scratch.path().join("policy.wasm.oci"));
        let blob =
            |digest: &str| fs::read(packed.folder.join("blobs").join(digest.replace(':', "/"))).unwrap();
        let value = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
        let index = value(&fs::read(packed.folder.join("index.json")).unwrap());
        assert_eq!(index.pointer("/manifests/0/digest").and_then(Value::as_str), Some(&*packed.manifest));
        let manifest = value(&blob(&packed.manifest));
        let digest = |pointer| manifest.pointer(pointer).and_then(Value::as_str).unwrap();
        assert_eq!(blob(digest("/layers/0/digest")), tenure_policy::embedded::HOST_LOCAL);
        let config = value(&blob(digest("/config/digest")));
        assert!(
            config
                .pointer("/component/exports/0")
                .is_some_and(|name| name.as_str().unwrap().starts_with("tenure:ipam/"))
        );
        let again = pack(&file, None, Some(scratch.path().join("again")), false).unwrap();
        assert_eq!(again.manifest, packed.manifest);
        let exists = pack(&file, None, None, false).unwrap_err();
        assert!(exists.cause.ends_with("policy.wasm.oci exists; --force replaces it"), "{exists}");
        let left = packed.folder.join("blobs/sha256/left-over");
        fs::write(&left, "").unwrap();
        assert_eq!(pack(&file, None, None, true).unwrap().manifest, packed.manifest);
        assert!(!left.exists());
        let other = pack(&file, None, Some(scratch.path().into()), true).unwrap_err();
        assert!(other.cause.contains("is not an OCI image layout") && file.exists(), "{other}");

        fs::write(scratch.path().join("policy.wasm.minisig"), "untrusted comment: ...").unwrap();
        let signed = pack(&file, None, Some(scratch.path().join("signed")), false).unwrap();
        assert!(signed.signed && !packed.signed && signed.manifest != packed.manifest);
        let manifest = signed.folder.join("blobs").join(signed.manifest.replace(':', "/"));
        let annotations = value(&fs::read(manifest).unwrap())["annotations"].clone();
        assert_eq!(annotations, json!({ SIGNATURE: "untrusted comment: ..." }));
    }

    #[test]
    fn the_interface_is_packed_as_an_artifact_of_webassembly() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("ipam.wit");
        fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../../wit/ipam/next/ipam.wit"), &file).unwrap();
        let of = |package: Option<&str>, folder: &str| {
            let packed = pack(&file, package, Some(scratch.path().join(folder)), false).unwrap();
            let blob = |digest: &Value| {
                let digest = digest.as_str().unwrap().replace(':', "/");
                fs::read(packed.folder.join("blobs").join(digest)).unwrap()
            };
            let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
            let marker = json(&fs::read(packed.folder.join("oci-layout")).unwrap());
            assert_eq!(marker, json!({ "imageLayoutVersion": "1.0.0" }));
            let index = json(&fs::read(packed.folder.join("index.json")).unwrap());
            assert_eq!(index["manifests"][0]["mediaType"], "application/vnd.oci.image.manifest.v1+json");
            let manifest = json(&blob(&index["manifests"][0]["digest"]));
            assert_eq!(manifest["config"]["mediaType"], "application/vnd.wasm.config.v0+json");
            let layer = &manifest["layers"][0];
            let bytes = blob(&layer["digest"]);
            assert_eq!(
                (&layer["mediaType"], &layer["size"]),
                (&json!("application/wasm"), &json!(bytes.len()))
            );
            let annotations = json!({ "org.opencontainers.image.version": "0.1.0-rc.1" });
            let title = json!({ "org.opencontainers.image.title": format!("{folder}.wasm") });
            assert_eq!((&manifest["annotations"], &layer["annotations"]), (&annotations, &title));
            let config = json(&blob(&manifest["config"]["digest"]));
            assert_eq!(config["layerDigests"], json!([layer["digest"]]));
            (config["component"]["exports"].clone(), bytes)
        };
        let text = fs::read_to_string(&file).unwrap();
        let (exports, bytes) = of(None, "ipam");
        assert!(exports.as_array().unwrap().contains(&json!("tenure:ipam/ledger@0.1.0-rc.1")), "{exports}");
        assert_eq!(bytes, tenure_sdk_build::interface(&text, None).unwrap().bytes);
        let (exports, bytes) = of(Some("tenure:supply"), "supply");
        assert!(
            exports.as_array().unwrap().contains(&json!("tenure:supply/planning@0.1.0-rc.1")),
            "{exports}"
        );
        assert_eq!(bytes, tenure_sdk_build::interface(&text, Some("tenure:supply")).unwrap().bytes);
    }
}
