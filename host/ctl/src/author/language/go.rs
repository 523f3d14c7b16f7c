//! Policies in Go: a module for WASI's first version, which is denied in the component.

use std::path::Path;

use tenure_types::Error;

use super::bindings;
use super::module::{MODULE, component};
use super::tool::Tool;

const GO: Tool = Tool { program: "go", remedy: "install Go 1.25 or later, from https://go.dev/dl" };

/// The name of the module that the template is.
const PACKAGE: &str = "policy";

/// Builds the policy in a folder.
pub(super) fn build(folder: &Path) -> Result<Vec<u8>, Error> {
    let options = wit_bindgen_go::Opts {
        format: wit_bindgen_go::Format::False,
        pkg_name: Some(format!("{PACKAGE}/bindings")),
        export_pkg_name: Some(PACKAGE.into()),
        ..wit_bindgen_go::Opts::default()
    };
    bindings::generate(folder, options.build())?;
    // The bindings' own library allocates with a function of Go's runtime, which Go's linker forbids by default.
    let arguments = [
        "build",
        "-buildmode=c-shared",
        "-buildvcs=false",
        "-trimpath",
        "-ldflags=-checklinkname=0 -s -w",
        "-o",
        MODULE,
        ".",
    ];
    GO.run(folder, &arguments, &[("GOOS", "wasip1"), ("GOARCH", "wasm")])?;
    component(folder)
}
