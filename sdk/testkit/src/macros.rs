//! The macro that makes a test of a folder of case files.

use std::path::Path;

use tenure_sdk::{Policy, Stateful};

use crate::{Native, cases};

/// Makes a test that runs every case file of a folder, natively.
///
/// The folder is relative to the crate's; `tenurectl policy test` runs `cases` of the same crate in the sandbox.
///
/// ```
/// # use tenure_sdk::{Config, ConfigError, Cooling, Definition, Policy, Proposal, Refusal, Request, ranges};
/// # pub struct Mine;
/// # impl Policy for Mine {
/// #     fn define(config: &Config) -> Result<Definition, ConfigError> { Ok(Definition::new(ranges::read(config)?, Cooling::Strict)) }
/// #     fn propose(_: &Request) -> Result<Proposal, Refusal> { Ok(Proposal::new()) }
/// # }
/// tenure_testkit::cases!(Mine, "cases");
/// ```
///
/// A policy that keeps a state: `cases!(Mine, "cases", stateful)`.
#[macro_export]
macro_rules! cases {
    ($policy:ty, $folder:literal) => {
        #[test]
        fn cases() {
            $crate::run_folder::<$policy>(concat!(env!("CARGO_MANIFEST_DIR"), "/", $folder));
        }
    };
    ($policy:ty, $folder:literal, stateful) => {
        #[test]
        fn cases() {
            $crate::run_folder_stateful::<$policy>(concat!(env!("CARGO_MANIFEST_DIR"), "/", $folder));
        }
    };
}

/// Runs every case file of a folder, and panics with the failures.
#[doc(hidden)]
pub fn run_folder<P: Policy>(folder: &str) {
    run_each(folder, Native::<P>::new);
}

/// The same for a policy that keeps a state.
#[doc(hidden)]
pub fn run_folder_stateful<P: Stateful>(folder: &str) {
    run_each(folder, Native::<P>::stateful);
}

#[expect(clippy::panic, reason = "this is how a test fails")]
fn run_each<P>(folder: &str, policy: fn() -> Native<P>) {
    let cases = cases::read(Path::new(folder)).unwrap_or_else(|error| panic!("{error}"));
    assert!(!cases.is_empty(), "{folder} has no case files");
    let runs = cases.iter().map(|case| cases::run(case, policy));
    let failures: Vec<_> = runs.filter_map(|run| run.failure).map(|failure| failure.to_string()).collect();
    assert!(
        failures.is_empty(),
        "{} of {} case files failed\n\n{}\n",
        failures.len(),
        cases.len(),
        failures.join("\n\n")
    );
}
