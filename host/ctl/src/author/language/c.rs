//! Policies in C: clang, without a C library but the template's own.

use std::path::Path;

use tenure_types::Error;

use super::bindings;
use super::module::{MODULE, component};
use super::tool::Tool;

/// The compiler, which calls `wasm-ld`.
const CLANG: Tool =
    Tool { program: "clang", remedy: "install clang and lld, on Debian `apt install clang lld`" };

/// Source files to compile.
const SOURCES: [&str; 5] =
    ["rule.c", "tenure.c", "libc/libc.c", "bindings/policy.c", "bindings/policy_component_type.o"];

/// How it compiles. Only clang's own headers and those of the template are found, so that nothing of this machine gets in.
const FLAGS: [&str; 15] = [
    "--target=wasm32-unknown-unknown",
    "-std=c11",
    "-Os",
    "-Wall",
    "-Wextra",
    "-flto",
    "-nostdlib",
    "-nostdinc",
    "-I.",
    "-isystem",
    "libc",
    "-Wl,--no-entry",
    "-Wl,--strip-debug",
    "-Wl,--stack-first",
    "-Wl,-z,stack-size=65536",
];

/// Builds the policy in a folder.
pub(super) fn build(folder: &Path) -> Result<Vec<u8>, Error> {
    bindings::generate(folder, wit_bindgen_c::Opts::default().build())?;
    let resources = CLANG.run(folder, &["-print-resource-dir"], &[])?;
    let headers = format!("{}/include", resources.trim());
    let arguments: Vec<&str> =
        FLAGS.into_iter().chain(["-isystem", &headers, "-o", MODULE]).chain(SOURCES).collect();
    CLANG.run(folder, &arguments, &[])?;
    component(folder)
}
