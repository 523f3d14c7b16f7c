//! How components are laid out in registries.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// A layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// The layout of `wkg`: the CNCF's format for WebAssembly.
    Wkg,
    /// The layout of `kwctl push` and `wasm-to-oci`.
    Kwctl,
    /// The layout of a container image, which is not a component.
    Container,
}

/// A manifest, or an index.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// Media type of the blob.
    pub media: &'static str,
    /// Contents of the blob.
    pub bytes: Vec<u8>,
}

impl Layout {
    /// The media types of the configuration and of the layer.
    fn media(self) -> (&'static str, &'static str) {
        match self {
            Self::Wkg => ("application/vnd.wasm.config.v0+json", "application/wasm"),
            Self::Kwctl => {
                ("application/vnd.wasm.config.v1+json", "application/vnd.wasm.content.layer.v1+wasm")
            }
            Self::Container => {
                ("application/vnd.oci.image.config.v1+json", "application/vnd.oci.image.layer.v1.tar")
            }
        }
    }

    /// The configuration that goes with a component.
    pub(super) fn config(self, component: &[u8]) -> Vec<u8> {
        let config = match self {
            Self::Wkg => json!({
                "created": "2026-01-01T00:00:00Z",
                "architecture": "wasm",
                "os": "wasip2",
                "layerDigests": [digest(component)],
            }),
            Self::Kwctl | Self::Container => json!({}),
        };
        config.to_string().into_bytes()
    }

    fn descriptor(media: &str, bytes: &[u8]) -> Value {
        json!({ "mediaType": media, "digest": digest(bytes), "size": bytes.len() })
    }

    /// The manifest of a component.
    #[must_use]
    pub fn manifest(self, component: &[u8]) -> Manifest {
        self.manifest_of(component, &[component])
    }

    /// A manifest with any layers.
    #[must_use]
    pub fn manifest_of(self, component: &[u8], layers: &[&[u8]]) -> Manifest {
        let (config, layer) = self.media();
        let layers: Vec<_> = layers.iter().map(|bytes| Self::descriptor(layer, bytes)).collect();
        let config = Self::descriptor(config, &self.config(component));
        let manifest =
            json!({ "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers });
        Manifest { media: MANIFEST, bytes: manifest.to_string().into_bytes() }
    }
}

impl Manifest {
    /// An index of one manifest.
    #[must_use]
    pub fn index(&self) -> Self {
        let manifests = [Layout::descriptor(self.media, &self.bytes)];
        let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests });
        Self { media: INDEX, bytes: index.to_string().into_bytes() }
    }

    /// The same manifest with another size of its first layer.
    #[must_use]
    pub fn claiming(&self, size: u64) -> Self {
        let mut value: Value = serde_json::from_slice(&self.bytes).unwrap_or_default();
        if let Some(found) = value.pointer_mut("/layers/0/size") {
            *found = json!(size);
        }
        Self { media: self.media, bytes: value.to_string().into_bytes() }
    }

    /// Returns the digest of the blob.
    #[must_use]
    pub fn digest(&self) -> String {
        digest(&self.bytes)
    }
}

/// The digest of some bytes.
pub(super) fn digest(bytes: &[u8]) -> String {
    let digest: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digest}")
}
