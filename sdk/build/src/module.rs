//! Checks the module that the compiler made, and turns it into a component.
//!
//! The encoder would find the same mistakes, but its messages name sections and symbols. These say what to change.

use wasmparser::{Parser, Payload};

use crate::{BuildError, WASI};

/// The first bytes of each WebAssembly file.
const MAGIC: &[u8] = b"\0asm";

/// The package of the interface.
const PACKAGE: &str = "tenure:ipam/";

/// The start of the name of the section that describes a module's world.
const DESCRIPTION: &str = "component-type";

/// The exports of a policy by interface and function: the first, and one of the others.
const EXPORTS: [(&str, &str); 3] =
    [("network", "define"), ("allocation", "propose"), ("stateful-allocation", "propose")];

/// Turns a module into a component. Its bindings must contain the description of its world, as those of the SDK and of
/// `wit-bindgen` do.
///
/// ```
/// let error = tenure_sdk_build::encode("my-policy", b"not a module").unwrap_err();
/// assert!(error.to_string().starts_with("my-policy is not a policy: it is not a WebAssembly file"));
/// ```
///
/// # Errors
/// [`BuildError`] if the module exports no policy, imports something that no host offers, or lacks that description.
pub fn encode(name: &str, module: &[u8]) -> Result<Vec<u8>, BuildError> {
    if check(name, module)?.wasi {
        let import = format!("{WASI}.*");
        return Err(BuildError::Imports { name: name.into(), import, remedy: remedy(WASI) });
    }
    if !is_described(module) {
        // Without it, the encoder would make a component that exports nothing.
        let cause = format!("it has no section {DESCRIPTION}, which wit-bindgen makes");
        return Err(BuildError::Encode(name.into(), cause));
    }
    let refuse = |error: &dyn std::fmt::Display| BuildError::Encode(name.into(), format!("{error:#}"));
    wit_component::ComponentEncoder::default()
        .validate(true)
        .module(module)
        .map_err(|error| refuse(&error))?
        .encode()
        .map_err(|error| refuse(&error))
}

/// The imports of a module besides the interface.
pub(crate) struct Imports {
    /// WASI's first version, which an adapter can deny.
    pub(crate) wasi: bool,
}

/// Refuses a file of another kind, and a module with a missing export or a foreign import. What is malformed is left to the encoder.
pub(crate) fn check(name: &str, module: &[u8]) -> Result<Imports, BuildError> {
    if !module.starts_with(MAGIC) {
        // The parser would print the bytes that it expected, in several lines.
        return Err(BuildError::Encode(name.into(), "it is not a WebAssembly file".to_owned()));
    }
    let mut exported = [false; EXPORTS.len()];
    let mut found = Imports { wasi: false };
    for payload in Parser::new(0).parse_all(module) {
        match payload {
            Ok(Payload::ImportSection(imports)) => {
                for import in imports.into_imports().flatten() {
                    found.wasi |= import.module == WASI;
                    if import.module != WASI && !import.module.starts_with(PACKAGE) {
                        let (import, remedy) =
                            (format!("{}.{}", import.module, import.name), remedy(import.module));
                        return Err(BuildError::Imports { name: name.into(), import, remedy });
                    }
                }
            }
            Ok(Payload::ExportSection(exports)) => {
                for export in exports.into_iter().flatten() {
                    for (found, wanted) in exported.iter_mut().zip(EXPORTS) {
                        *found |= is(export.name, wanted);
                    }
                }
            }
            Ok(_) => {}
            Err(error) => return Err(BuildError::Encode(name.into(), error.to_string())),
        }
    }
    let [defines, proposes, proposes_with_state] = exported;
    if !(defines && (proposes || proposes_with_state)) {
        return Err(BuildError::NotExported(name.into()));
    }
    Ok(found)
}

/// Whether a module describes its world.
pub(crate) fn is_described(module: &[u8]) -> bool {
    Parser::new(0).parse_all(module).any(|payload| {
        matches!(payload, Ok(Payload::CustomSection(section)) if section.name().starts_with(DESCRIPTION))
    })
}

/// Whether an export, such as `tenure:ipam/network@0.1.0-rc.1#define`, is this function of this interface.
fn is(export: &str, (interface, function): (&str, &str)) -> bool {
    let Some((found, called)) = export.strip_prefix(PACKAGE).and_then(|rest| rest.split_once('#')) else {
        return false;
    };
    called == function && found.split('@').next() == Some(interface)
}

/// Suggests a remedy for an import, by its module.
fn remedy(module: &str) -> &'static str {
    match module {
        WASI | "wasi_unstable" => {
            "it was compiled for a WASI target; compile it for wasm32-unknown-unknown, as `tenurectl policy build` does, or make a component \
             of it with `tenurectl policy wrap`"
        }
        "env" => {
            "nothing defines this function; it belongs to a library that is missing, or to code in C that was not linked"
        }
        _ if module.starts_with("wbg") || module.starts_with("__wbindgen") => {
            "a dependency calls JavaScript; turn off its feature for the web (`js`, `wasm-bindgen`, `wasmbind`), or do \
             without it: `cargo tree --target wasm32-unknown-unknown --invert wasm-bindgen` names it"
        }
        _ if module.starts_with("wasi:") => {
            "a policy has no files, clock or randomness; turn off the dependency's feature that needs them"
        }
        _ => "a policy may import `tenure:ipam` and nothing else; remove the dependency that needs it",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: &str = r#"(func (export "tenure:ipam/network@0.1.0-rc.1#define"))
        (func (export "tenure:ipam/allocation@0.1.0-rc.1#propose"))"#;

    fn refused(body: &str) -> String {
        encode("mine", &wat::parse_str(format!("(module {body})")).unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn each_missing_piece_is_named_with_its_remedy() {
        let wasi = format!(r#"(import "wasi_snapshot_preview1" "fd_write" (func)) {BOTH}"#);
        for (body, said) in [
            ("", "`tenure_sdk::export!(YOUR_TYPE);` in lib.rs"),
            (
                r#"(func (export "tenure:ipam/network@0.1.0-rc.1#define"))"#,
                "`tenure_sdk::export!(YOUR_TYPE);` in lib.rs",
            ),
            (wasi.as_str(), "compiled for a WASI target"),
            (r#"(import "__wbindgen_placeholder__" "x" (func))"#, "a dependency calls JavaScript"),
            (r#"(import "env" "getentropy" (func))"#, "imports `env.getentropy`"),
            (r#"(import "wasi:clocks/wall-clock@0.2.0" "now" (func))"#, "no files, clock or randomness"),
        ] {
            let error = refused(&format!("{body} (memory 1)"));
            assert!(error.starts_with("mine ") && error.contains(said), "{body}: {error}");
        }
        // With both exports, only the description of the world is missing.
        assert!(refused(BOTH).starts_with("mine is not a policy: "), "{}", refused(BOTH));
    }
}
