//! Policies in TypeScript, on QuickJS.

use std::path::Path;

use tenure_types::Error;

use super::bindings::WORLD;
use super::module::read;
use super::tool::{Tool, run};

const NPM: Tool = Tool { program: "npm", remedy: "install Node.js 20 or later with npm" };

/// The folder of the compilers that npm installs.
const COMPILERS: &str = "node_modules/.bin";

/// The component.
const OUTPUT: &str = "out/policy.wasm";

/// Builds the policy in a folder.
pub(super) fn build(folder: &Path) -> Result<Vec<u8>, Error> {
    let quietly =
        ["install", "--no-audit", "--no-fund", "--no-package-lock", "--prefer-offline", "--loglevel=error"];
    NPM.run(folder, &quietly, &[])?;
    compiler(folder, "tsc", &[])?;
    let arguments = [
        "--wit",
        "wit",
        "--world",
        WORLD,
        "--js",
        "out/rule.js",
        "--stub-wasi",
        "--sync",
        "--output",
        OUTPUT,
    ];
    compiler(folder, "componentize-qjs", &arguments)?;
    read(&folder.join(OUTPUT))
}

/// Runs a program that npm has installed.
fn compiler(folder: &Path, name: &str, arguments: &[&str]) -> Result<(), Error> {
    let program = Path::new(COMPILERS).join(name);
    let mut command = std::process::Command::new(program);
    run(command.current_dir(folder).args(arguments), "npm did not install it").map(drop)
}
