//! gRPC's own library for Python: its version, and where `cargo xtask test` installs it.

use std::path::PathBuf;

/// Packages to install, as `pip` reads them.
const REQUIREMENT: &str = include_str!("../grpcio.txt");

/// The version that the tests are written for.
#[must_use]
pub fn version() -> &'static str {
    REQUIREMENT.trim().rsplit("==").next().unwrap_or_default()
}

/// The interpreter that has the library, if it is installed: in a folder of the target folder that is named after the version.
#[must_use]
pub fn python() -> Option<PathBuf> {
    let test = std::env::current_exe().ok()?;
    // Tests are in `<target>/<profile>/deps`.
    let folder = test.ancestors().nth(3)?.join(format!("grpcio-{}", version()));
    folder.join("installed").exists().then(|| folder.join("bin/python"))
}
