//! The interface itself as a package in the binary form of WIT, which registries distribute.

use std::collections::BTreeSet;

use wit_parser::{PackageId, Resolve};

use crate::BuildError;

/// A package of WIT in its binary form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedPackage {
    /// Name of the package without its version, such as `tenure:supply`.
    pub name: String,
    /// Version of the package.
    pub version: Option<String>,
    /// The interfaces and worlds by their full names, and what the worlds export, in alphabetical order: what `wkg` calls its exports.
    pub exports: Vec<String>,
    /// The binary form.
    pub bytes: Vec<u8>,
}

/// Encodes a package of a WIT file: the file's own, or the nested one with this name, such as `tenure:supply`.
///
/// ```
/// let package = tenure_sdk_build::interface("package a:b@0.1.0; interface c { d: func(); }", None)?;
/// assert!(package.bytes.starts_with(b"\0asm"));
/// assert_eq!((&*package.name, package.exports), ("a:b", vec!["a:b/c@0.1.0".to_owned()]));
/// # Ok::<(), tenure_sdk_build::BuildError>(())
/// ```
///
/// # Errors
/// [`BuildError`] if the text is not WIT, or has no such package.
pub fn interface(text: &str, package: Option<&str>) -> Result<EncodedPackage, BuildError> {
    let wrong = |error: &dyn std::fmt::Display| BuildError::Interface(format!("{error:#}"));
    let mut resolve = Resolve::default();
    let own = resolve.push_source("interface.wit", text).map_err(|error| wrong(&error))?;
    let chosen = match package {
        None => own,
        Some(name) => {
            named(&resolve, name).ok_or_else(|| wrong(&format_args!("there is no package {name}")))?
        }
    };
    let bytes = wit_component::encode(&resolve, chosen).map_err(|error| wrong(&error))?;
    let package = resolve.packages.get(chosen).ok_or_else(|| wrong(&"the package is not there"))?;
    let own = package.interfaces.keys().chain(package.worlds.keys());
    let worlds = package.worlds.values().filter_map(|id| resolve.worlds.get(*id));
    let of_worlds = worlds.flat_map(|world| world.exports.keys()).map(|key| resolve.name_world_key(key));
    let exports: BTreeSet<String> =
        own.map(|name| package.name.interface_id(name)).chain(of_worlds).collect();
    let exports = exports.into_iter().collect();
    let name = format!("{}:{}", package.name.namespace, package.name.name);
    let version = package.name.version.as_ref().map(ToString::to_string);
    Ok(EncodedPackage { name, version, exports, bytes })
}

fn named(resolve: &Resolve, name: &str) -> Option<PackageId> {
    let is_it = |package: &wit_parser::PackageName| format!("{}:{}", package.namespace, package.name) == name;
    resolve.packages.iter().find(|(_, package)| is_it(&package.name)).map(|(id, _)| id)
}

#[cfg(test)]
mod tests {
    use wit_component::DecodedWasm;

    use super::*;

    const TEXT: &str = include_str!("../../../wit/ipam/next/ipam.wit");

    #[test]
    fn each_package_of_the_interface_is_read_back_with_its_version() {
        for (package, name, interfaces) in
            [(None, "tenure:ipam@0.1.0-rc.1", 7), (Some("tenure:supply"), "tenure:supply@0.1.0-rc.1", 1)]
        {
            let encoded = interface(TEXT, package).unwrap();
            let DecodedWasm::WitPackage(resolve, id) = wit_component::decode(&encoded.bytes).unwrap() else {
                panic!("not a package")
            };
            let decoded = &resolve.packages[id];
            assert_eq!((decoded.name.to_string().as_str(), decoded.interfaces.len()), (name, interfaces));
            // The documentation and the marks of versions are in it, too.
            assert!(decoded.interfaces.values().all(|id| resolve.interfaces[*id].docs.contents.is_some()));
            assert_eq!(encoded, interface(TEXT, package).unwrap());
            assert_eq!(format!("{}@{}", encoded.name, encoded.version.unwrap()), name);
            let planner = "tenure:supply/planner@0.1.0-rc.1".to_owned();
            assert_eq!(encoded.exports.contains(&planner), package.is_some(), "{:?}", encoded.exports);
            assert!(
                encoded.exports.contains(&"tenure:ipam/network@0.1.0-rc.1".to_owned()),
                "a world exports it"
            );
        }
        let missing = interface(TEXT, Some("tenure:none")).unwrap_err().to_string();
        assert!(missing.contains("there is no package tenure:none"), "{missing}");
        assert!(interface("interface", None).is_err());
    }
}
