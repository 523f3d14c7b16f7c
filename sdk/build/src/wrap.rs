//! Wraps a core WebAssembly module of any compiler as a policy component, also one that was compiled for WASI.
//!
//! A policy has no WASI. What a module imports of `wasi_snapshot_preview1` is answered by an adapter inside of the component, which denies
//! everything, and forwards what the module writes to its standard error to the daemon's log.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::module::{check, is_described};
use crate::{BuildError, WASI};

/// The adapter.
const DENYING: &str = include_str!("wrap/denying.wat");

/// The part of the interface that the adapter uses.
const LOG: &str = "package tenure:ipam@0.1.0-rc.1;
interface log {
    variant level { debug, info, warn, other(string) }
    write: func(level: level, message: string);
}
world denying { import log; }";

/// Turns a module into a component, with an adapter that denies WASI if the module imports that.
///
/// `wit` is the text of the interface's definition; the module is described as its world of this name, unless the module's bindings contain
/// a description.
///
/// # Errors
/// As [`encode`](crate::encode).
pub fn wrap(name: &str, module: &[u8], wit: &str, world: &str) -> Result<Vec<u8>, BuildError> {
    let imports = check(name, module)?;
    let refuse = |error: &dyn std::fmt::Display| BuildError::Encode(name.into(), format!("{error:#}"));
    let module = match is_described(module) {
        true => module.to_vec(),
        false => described(module.to_vec(), wit, world).map_err(|error| refuse(&error))?,
    };
    let mut encoder =
        ComponentEncoder::default().validate(true).module(&module).map_err(|error| refuse(&error))?;
    if imports.wasi {
        let denying = wat::parse_str(DENYING).map_err(|error| refuse(&error))?;
        let denying = described(denying, LOG, "denying").map_err(|error| refuse(&error))?;
        encoder = encoder.adapter(WASI, &denying).map_err(|error| refuse(&error))?;
    }
    encoder.encode().map_err(|error| refuse(&error))
}

/// The module with a description of its world.
fn described(mut module: Vec<u8>, wit: &str, world: &str) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut resolve = Resolve::default();
    let package = resolve.push_source("ipam.wit", wit)?;
    let world = resolve.select_world(&[package], Some(world))?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    Ok(module)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIT: &str = include_str!("../../../wit/ipam/next/ipam.wit");

    /// A module that exports a policy and imports every function of WASI's first version that is given.
    fn module(imports: &str) -> Vec<u8> {
        let text = format!(
            r#"(module {imports} (memory (export "memory") 1)
                (func (export "tenure:ipam/network@0.1.0-rc.1#define") (param i32 i32 i32 i32 i32 i32) (result i32) unreachable)
                (func (export "tenure:ipam/allocation@0.1.0-rc.1#propose") (param i32 i32 i32 i32 i32 i32) (result i32) unreachable)
                (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable))"#
        );
        wat::parse_str(text).unwrap()
    }

    #[test]
    fn what_a_module_imports_of_wasi_is_denied_inside_of_the_component() {
        // All that the adapter has, as a module would import it.
        let exported = DENYING.lines().filter_map(|line| line.trim().strip_prefix("(func (export \""));
        let imports: String = exported
            .map(|rest| {
                let (name, rest) = rest.split_once('"').unwrap();
                let kinds = |keyword: &str| {
                    let parts = rest.split(keyword).skip(1).map(|part| part.split(')').next().unwrap());
                    parts
                        .flat_map(str::split_whitespace)
                        .filter(|word| word.starts_with('i'))
                        .collect::<Vec<_>>()
                };
                let (parameters, results) = (kinds("(param").join(" "), kinds("(result").join(" "));
                format!(r#"(import "{WASI}" "{name}" (func (param {parameters}) (result {results})))"#)
            })
            .collect();
        assert_eq!(imports.matches("(import").count(), 46, "{imports}");
        let component = wrap("mine", &module(&imports), WIT, "policy").unwrap();
        let text = String::from_utf8_lossy(&component).into_owned();
        assert!(text.contains("tenure:ipam/log@0.1.0-rc.1") && !text.contains("wasi:"), "it is not closed");
    }

    #[test]
    fn a_module_without_wasi_needs_no_adapter_and_a_foreign_import_is_refused() {
        let plain = wrap("mine", &module(""), WIT, "policy").unwrap();
        assert!(!String::from_utf8_lossy(&plain).contains("tenure:ipam/log"));
        let foreign = module(r#"(import "env" "getentropy" (func))"#);
        assert!(wrap("mine", &foreign, WIT, "policy").unwrap_err().to_string().contains("env.getentropy"));
        let unknown = wrap("mine", &module(&format!(r#"(import "{WASI}" "fly" (func))"#)), WIT, "policy");
        assert!(unknown.unwrap_err().to_string().contains("fly"));
    }
}
