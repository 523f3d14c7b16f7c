//! The SDK's bindings of the interface in `sdk/guest/wit`.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use wit_bindgen_core::{Files, WorldGenerator as _};
use wit_bindgen_rust::{Opts, WithOption};
use wit_parser::Resolve;

use crate::{GeneratedFile, workspace};

/// The types that all worlds share: their interface, and their module in the bindings.
const TYPES: (&str, &str) = ("tenure:ipam/types@0.1.0-rc.1", "crate::bindings::tenure::ipam::types");

/// The items that every policy imports and exports.
const NETWORK: &str = "
    import tenure:ipam/types@0.1.0-rc.1;
    import tenure:ipam/ledger@0.1.0-rc.1;
    import tenure:ipam/configuration@0.1.0-rc.1;
    import tenure:ipam/log@0.1.0-rc.1;
    export tenure:ipam/network@0.1.0-rc.1;";

/// The exports that only some policies have: the module and macro of each, its interface, and its documentation.
const OPTIONAL: [(&str, &str, &str); 3] = [
    ("allocation", "tenure:ipam/allocation@0.1.0-rc.1", "The export of a policy that keeps no state."),
    ("stateful", "tenure:ipam/stateful-allocation@0.1.0-rc.1", "The export of a policy that keeps state."),
    ("planner", "tenure:supply/planning@0.1.0-rc.1", "The export of a policy that plans."),
];

/// The bindings of a policy's world, and a module for each optional export.
pub(crate) fn of_sdk() -> Result<GeneratedFile> {
    let mut text = String::from("// @generated from wit/ipam.wit by wit-bindgen.\n\n");
    text += &bindings("network", NETWORK, None)?;
    for (name, interface, documentation) in OPTIONAL {
        let module = bindings(name, &format!("export {interface};"), Some(name))?;
        write!(text, "\n/// {documentation}\npub mod {name} {{\n{module}}}\n")?;
    }
    Ok(GeneratedFile::new("sdk/guest/src/bindings/generated.rs", text))
}

/// Generates the bindings of a world. A module has the types of the bindings around it.
fn bindings(name: &str, items: &str, module: Option<&str>) -> Result<String> {
    let mut resolve = Resolve::default();
    resolve.push_path(workspace().join("sdk/guest/wit"))?;
    let package = resolve.push_str("world", &format!("package tenure:sdk; world {name} {{ {items} }}"))?;
    let world = resolve.select_world(&[package], Some(name))?;
    let types = (TYPES.0.to_owned(), WithOption::Path(TYPES.1.to_owned()));
    let options = Opts {
        format: true,
        generate_all: module.is_none(),
        with: module.map(|_| types).into_iter().collect(),
        pub_export_macro: true,
        export_macro_name: Some(format!("export_{name}_component")),
        default_bindings_module: Some(
            module.map_or("tenure_sdk::bindings".into(), |name| format!("tenure_sdk::bindings::{name}")),
        ),
        ..Opts::default()
    };
    let mut files = Files::default();
    options.build().generate(&mut resolve, world, &mut files)?;
    let (_, text) = files.iter().next().context("wit-bindgen generated nothing")?;
    Ok(String::from_utf8(text.to_vec())?)
}
