//! The interface itself as a package in the binary form of WIT, which registries distribute.

use wit_parser::{PackageId, Resolve};

use crate::BuildError;

/// Encodes a package of a WIT file: the file's own, or the nested one with this name, such as `tenure:supply`.
///
/// ```
/// let package = tenure_sdk_build::interface("package a:b@0.1.0; interface c { d: func(); }", None)?;
/// assert!(package.starts_with(b"\0asm"));
/// # Ok::<(), tenure_sdk_build::BuildError>(())
/// ```
///
/// # Errors
/// [`BuildError`] if the text is not WIT, or has no such package.
pub fn interface(text: &str, package: Option<&str>) -> Result<Vec<u8>, BuildError> {
    let wrong = |error: &dyn std::fmt::Display| BuildError::Interface(format!("{error:#}"));
    let mut resolve = Resolve::default();
    let own = resolve.push_source("interface.wit", text).map_err(|error| wrong(&error))?;
    let chosen = match package {
        None => own,
        Some(name) => {
            named(&resolve, name).ok_or_else(|| wrong(&format_args!("there is no package {name}")))?
        }
    };
    wit_component::encode(&resolve, chosen).map_err(|error| wrong(&error))
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
            let binary = interface(TEXT, package).unwrap();
            let DecodedWasm::WitPackage(resolve, id) = wit_component::decode(&binary).unwrap() else {
                panic!("not a package")
            };
            let decoded = &resolve.packages[id];
            assert_eq!((decoded.name.to_string().as_str(), decoded.interfaces.len()), (name, interfaces));
            // The documentation and the marks of versions are in it, too.
            assert!(decoded.interfaces.values().all(|id| resolve.interfaces[*id].docs.contents.is_some()));
            assert_eq!(binary, interface(TEXT, package).unwrap());
        }
        let missing = interface(TEXT, Some("tenure:none")).unwrap_err().to_string();
        assert!(missing.contains("there is no package tenure:none"), "{missing}");
        assert!(interface("interface", None).is_err());
    }
}
