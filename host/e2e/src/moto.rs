//! moto, which plays AWS and is written in Python: its version, and where `cargo xtask test` installs it.

use std::path::PathBuf;

/// Packages to install, as `pip` reads them.
const REQUIREMENT: &str = include_str!("../moto.txt");

/// The version that the tests are written for.
#[must_use]
pub fn version() -> &'static str {
    REQUIREMENT.trim().rsplit("==").next().unwrap_or_default()
}

/// The path of its server, if it is installed: in a folder of the target folder that is named after the version.
#[must_use]
pub fn server() -> Option<PathBuf> {
    let test = std::env::current_exe().ok()?;
    // Tests are in `<target>/<profile>/deps`.
    let path = test.ancestors().nth(3)?.join(format!("moto-{}/bin/moto_server", version()));
    path.exists().then_some(path)
}
