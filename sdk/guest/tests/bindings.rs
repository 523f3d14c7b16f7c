//! The bindings in `src/bindings` are those of the interface in `wit/`. They are committed so that the first build of a policy need not
//! compile the generator. With `TENURE_WRITE_STUBS=1` in the environment they are written instead of compared.

use std::fmt::Write as _;
use std::path::Path;

use wit_bindgen_core::{Files, WorldGenerator as _};
use wit_bindgen_rust::{Opts, WithOption};
use wit_parser::Resolve;

/// What every policy imports and exports.
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

#[test]
fn the_committed_bindings_are_those_of_the_interface() {
    let mut text = String::from("// @generated from wit/ipam.wit by wit-bindgen.\n\n");
    text += &bindings("network", NETWORK, None);
    for (name, interface, documentation) in OPTIONAL {
        let module = bindings(name, &format!("export {interface};"), Some(name));
        write!(text, "\n/// {documentation}\npub mod {name} {{\n{module}}}\n").unwrap();
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bindings/generated.rs");
    if std::env::var_os("TENURE_WRITE_STUBS").is_some() {
        std::fs::write(file, text).unwrap();
        return;
    }
    let path = file.display();
    assert!(
        std::fs::read_to_string(&file).unwrap() == text,
        "{path} is out of date: run this test with TENURE_WRITE_STUBS=1"
    );
}

/// Generates the bindings of a world. A module has the types of the bindings around it.
fn bindings(name: &str, items: &str, module: Option<&str>) -> String {
    let mut resolve = Resolve::default();
    resolve.push_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("wit")).unwrap();
    let package =
        resolve.push_str("world", &format!("package tenure:sdk; world {name} {{ {items} }}")).unwrap();
    let world = resolve.select_world(&[package], Some(name)).unwrap();
    let types = ("tenure:ipam/types@0.1.0-rc.1", "crate::bindings::tenure::ipam::types");
    let mut options = Opts::default();
    options.format = true;
    options.generate_all = module.is_none();
    options.with =
        module.map(|_| (types.0.to_owned(), WithOption::Path(types.1.to_owned()))).into_iter().collect();
    options.pub_export_macro = true;
    options.export_macro_name = Some(format!("export_{name}_component"));
    options.default_bindings_module =
        Some(module.map_or("tenure_sdk::bindings".into(), |name| format!("tenure_sdk::bindings::{name}")));
    let mut files = Files::default();
    options.build().generate(&mut resolve, world, &mut files).unwrap();
    let (_, text) = files.iter().next().unwrap();
    String::from_utf8(text.to_vec()).unwrap()
}
