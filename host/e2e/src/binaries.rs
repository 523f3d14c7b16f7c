//! Where the binaries under test are.

use std::path::PathBuf;

use anyhow::{Context, ensure};

/// Names the directory of the binaries under test.
pub const DIRECTORY_VARIABLE: &str = "TENURE_BIN_DIR";

/// The path of a built binary: in [`DIRECTORY_VARIABLE`], else in the profile's directory that the test itself was built in.
///
/// # Errors
/// When it was not built.
pub fn find(name: &str) -> anyhow::Result<PathBuf> {
    let directory = match std::env::var_os(DIRECTORY_VARIABLE) {
        Some(directory) => PathBuf::from(directory),
        None => {
            let test = std::env::current_exe()?;
            // A test lies in `<profile>/deps`, a binary in `<profile>`.
            test.ancestors().nth(2).context("the test has no directory")?.to_owned()
        }
    };
    let path = directory.join(name);
    ensure!(path.exists(), "{} is not there: `cargo build --workspace` first", path.display());
    Ok(path)
}
