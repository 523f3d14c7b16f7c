//! The manifest of a component: which layer is the component, and the signature beside it.

use oci_client::manifest::{OciImageManifest, WASM_LAYER_MEDIA_TYPE};
use serde_json::Value;

/// The layer of a component as `wkg` and `tenurectl policy pack` lay it out: the CNCF's format for WebAssembly.
pub(crate) const LAYER: &str = "application/wasm";

/// The annotation of a manifest that contains the component's minisign signature.
pub(crate) const SIGNATURE: &str = "tenure.signature.minisign";

/// The media types of a component's layer: that of `wkg`, and that of kwctl and `wasm-to-oci`.
const LAYERS: [&str; 2] = [LAYER, WASM_LAYER_MEDIA_TYPE];

/// The component that a manifest describes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Artifact {
    /// The component's digest.
    pub(super) layer: String,
    /// Size in bytes.
    pub(super) size: u64,
    /// Signature of the component.
    pub(super) signature: Option<String>,
}

impl Artifact {
    /// Reads a manifest.
    ///
    /// # Errors
    /// Why it is not that of one component.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let value: Value =
            serde_json::from_slice(bytes).map_err(|error| format!("its manifest is not JSON: {error}"))?;
        if value.get("manifests").is_some() {
            return Err(
                "it is an index of several images, and a policy is the same on every platform: name the digest of one of them"
                    .into(),
            );
        }
        let manifest: OciImageManifest = serde_json::from_value(value)
            .map_err(|error| format!("it is not the manifest of an image: {error}"))?;
        let [layer] = manifest.layers.as_slice() else {
            return Err(format!(
                "it has {} layers, and a policy is one component in one layer",
                manifest.layers.len()
            ));
        };
        if !LAYERS.contains(&layer.media_type.as_str()) {
            return Err(format!(
                "its layer is of type {:?}, not a component; expected {}",
                layer.media_type,
                LAYERS.join(" or ")
            ));
        }
        let is_digest = |digest: &str| {
            let digits = digest.strip_prefix("sha256:").unwrap_or_default();
            digits.len() == 64
                && digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        };
        if !is_digest(&layer.digest) {
            return Err(format!("the digest of its layer is {:?}, not a SHA-256", layer.digest));
        }
        let size = u64::try_from(layer.size).map_err(|_| format!("its layer has {} bytes", layer.size))?;
        let signature = manifest.annotations.and_then(|mut annotations| annotations.remove(SIGNATURE));
        Ok(Self { layer: layer.digest.clone(), size, signature })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DIGEST: &str = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

    fn layer(media: &str) -> Value {
        json!({ "mediaType": media, "digest": DIGEST, "size": 7 })
    }

    fn read(config: &str, layers: &[Value]) -> Result<Artifact, String> {
        let config = json!({ "mediaType": config, "digest": DIGEST, "size": 2 });
        let manifest = json!({ "schemaVersion": 2, "config": config, "layers": layers });
        Artifact::read(manifest.to_string().as_bytes())
    }

    #[test]
    fn both_layouts_are_read() {
        for (config, media) in [
            ("application/vnd.wasm.config.v0+json", "application/wasm"),
            ("application/vnd.wasm.config.v1+json", "application/vnd.wasm.content.layer.v1+wasm"),
        ] {
            let read = read(config, &[layer(media)]).unwrap();
            assert_eq!(read, Artifact { layer: DIGEST.into(), size: 7, signature: None });
        }
    }

    #[test]
    fn what_is_no_component_is_refused_in_words() {
        let tar = "application/vnd.oci.image.layer.v1.tar+gzip";
        let wrong = |digest: &str, size: i64| json!({ "mediaType": LAYER, "digest": digest, "size": size });
        for (layers, cause) in [
            (vec![], "it has 0 layers"),
            (vec![layer(LAYER), layer(LAYER)], "it has 2 layers"),
            (vec![layer(tar)], "not a component"),
            (vec![wrong("sha256:../../etc/passwd", 7)], "not a SHA-256"),
            (vec![wrong(&DIGEST.to_uppercase(), 7)], "not a SHA-256"),
            (vec![wrong(DIGEST, -1)], "its layer has -1 bytes"),
        ] {
            let refused = read("x", &layers).unwrap_err();
            assert!(refused.contains(cause), "{refused}");
        }
        let index = json!({ "schemaVersion": 2, "manifests": [] });
        assert!(Artifact::read(index.to_string().as_bytes()).unwrap_err().contains("an index of several"));
        assert!(Artifact::read(b"<html>").unwrap_err().contains("not JSON"));
        assert!(Artifact::read(b"{}").unwrap_err().contains("not the manifest"));
    }

    #[test]
    fn a_signature_may_lie_in_the_manifest() {
        let manifest = json!({
            "schemaVersion": 2,
            "config": layer("application/vnd.wasm.config.v0+json"),
            "layers": [layer(LAYER)],
            "annotations": { SIGNATURE: "untrusted comment: ..." },
        });
        let read = Artifact::read(manifest.to_string().as_bytes()).unwrap();
        assert_eq!(read.signature.as_deref(), Some("untrusted comment: ..."));
    }
}
