//! `policy test`: the case files of a policy, in the sandbox.

use std::path::{Path, PathBuf};

use tenure_testkit::cases::{self, Run};
use tenure_types::{Error, ErrorCode};

use super::build::build;
use super::sandboxed::{Sandboxed, read};

/// The folder of case files in a policy's folder.
const CASES: &str = "cases";

/// The memory of a call, as a node's default.
const MEMORY: usize = 16 << 20;

/// The results of all case files.
pub(crate) struct Tested {
    /// The component.
    pub(crate) file: PathBuf,
    pub(crate) runs: Vec<Run>,
}

impl Tested {
    /// Whether every case file passed.
    pub(crate) fn passed(&self) -> bool {
        self.runs.iter().all(|run| run.failure.is_none())
    }
}

/// Builds the policy in a folder, unless it is given as a component, and runs the folder's case files.
pub(super) fn test(folder: &Path, component: Option<PathBuf>) -> Result<Tested, Error> {
    let file = match component {
        Some(file) => file,
        None => build(folder)?.file,
    };
    let unusable = |cause: &dyn std::fmt::Display| Error::new(ErrorCode::BuildFailed, cause);
    let cases = folder.join(CASES);
    let read_cases = cases::read(&cases).map_err(|error| unusable(&error))?;
    if read_cases.is_empty() {
        return Err(unusable(&format_args!("{} has no case files; each is a .txt", cases.display())));
    }
    let policy = Sandboxed::load(&file, &read(&file)?, MEMORY)?;
    let runs = read_cases.iter().map(|case| cases::run(case, || policy.clone())).collect();
    Ok(Tested { file, runs })
}
