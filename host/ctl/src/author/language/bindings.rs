//! Generates a language's bindings from the policy's own copy of the interface.

use std::fs;
use std::path::Path;

use tenure_types::{Error, ErrorCode};
use wit_bindgen_core::wit_parser::Resolve;
use wit_bindgen_core::{Files, WorldGenerator};

/// The interface's definition in a policy's folder.
pub(super) const WIT: &str = "wit/ipam.wit";

/// The world of a policy.
pub(in crate::author) const WORLD: &str = "policy";

/// The folder of the bindings, in a policy's folder.
const BINDINGS: &str = "bindings";

/// Replaces the folder of bindings.
pub(super) fn generate(folder: &Path, mut generator: Box<dyn WorldGenerator>) -> Result<(), Error> {
    let wit = wit(folder)?;
    let wrong = |error: &dyn std::fmt::Display| {
        Error::new(ErrorCode::BuildFailed, format_args!("{}: {error:#}", folder.join(WIT).display()))
    };
    let mut resolve = Resolve::default();
    let package = resolve.push_source(WIT, &wit).map_err(|error| wrong(&error))?;
    let world = resolve.select_world(&[package], Some(WORLD)).map_err(|error| wrong(&error))?;
    let mut files = Files::default();
    generator.generate(&mut resolve, world, &mut files).map_err(|error| wrong(&error))?;
    for (name, bytes) in files.iter() {
        let file = folder.join(BINDINGS).join(name);
        let failed = |error: std::io::Error| {
            Error::new(ErrorCode::InputOutput, format_args!("{}: {error}", file.display()))
        };
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        fs::write(&file, bytes).map_err(failed)?;
    }
    Ok(())
}

/// The text of the interface's definition.
pub(super) fn wit(folder: &Path) -> Result<String, Error> {
    let file = folder.join(WIT);
    fs::read_to_string(&file)
        .map_err(|error| Error::new(ErrorCode::InputOutput, format_args!("{}: {error}", file.display())))
}
