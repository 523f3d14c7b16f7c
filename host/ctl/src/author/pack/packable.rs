//! The two things that are packed: a policy, and a package of the interface.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tenure_policy::Contents;
use tenure_sdk_build::EncodedPackage;
use tenure_types::{Error, ErrorCode};

use crate::author::sandboxed::read;

/// The contents of a packed component.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PackedKind {
    /// A policy.
    Component,
    /// A package of the interface.
    Package,
}

/// The bytes of a layer, and what the layout says of them.
pub(super) struct Packable {
    pub(super) bytes: Vec<u8>,
    pub(super) exports: Vec<String>,
    pub(super) imports: Vec<String>,
    /// Annotations of the manifest, or nothing.
    pub(super) annotations: Value,
    /// Annotations of the layer, by which a registry's client names the file that it writes; or nothing.
    pub(super) title: Value,
    pub(super) kind: PackedKind,
}

impl Packable {
    /// Reads a component, or a package of a WIT file.
    pub(super) fn read(file: &Path, package: Option<&str>) -> Result<Self, Error> {
        match file.extension() {
            Some(extension) if extension == "wit" => interface(file, package),
            _ => policy(file),
        }
    }
}

/// A policy.
fn policy(file: &Path) -> Result<Packable, Error> {
    let bytes = read(file)?;
    let contents = Contents::read(&bytes).map_err(|cause| {
        Error::new(ErrorCode::PolicyUnloadable, format_args!("{}: {cause}", file.display()))
    })?;
    let Contents { exports, imports, .. } = contents;
    let kind = PackedKind::Component;
    Ok(Packable { bytes, exports, imports, annotations: Value::Null, title: Value::Null, kind })
}

/// A package of a WIT file, with the names and annotations that `wkg publish` writes.
fn interface(file: &Path, package: Option<&str>) -> Result<Packable, Error> {
    let failed = |error: &dyn std::fmt::Display| {
        Error::new(ErrorCode::InputOutput, format_args!("{}: {error}", file.display()))
    };
    let text = fs::read_to_string(file).map_err(|error| failed(&error))?;
    let EncodedPackage { name, version, exports, bytes } =
        tenure_sdk_build::interface(&text, package).map_err(|error| failed(&error))?;
    let short = name.split(':').next_back().unwrap_or_default();
    Ok(Packable {
        bytes,
        exports,
        imports: Vec::new(),
        annotations: version
            .map_or(Value::Null, |version| json!({ "org.opencontainers.image.version": version })),
        title: json!({ "org.opencontainers.image.title": format!("{short}.wasm") }),
        kind: PackedKind::Package,
    })
}
