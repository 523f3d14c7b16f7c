//! The macro that makes a test of a folder of case files.

use std::path::Path;

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
/// A policy that keeps a state: `cases!(Mine, "cases", stateful)`. One that plans: `cases!(Mine, "cases", planner)`, and with a state
/// `cases!(Mine, "cases", stateful, planner)`.
#[macro_export]
macro_rules! cases {
    ($policy:ty, $folder:literal) => {
        $crate::cases!(@ $folder, || $crate::Native::<$policy>::new());
    };
    ($policy:ty, $folder:literal, stateful) => {
        $crate::cases!(@ $folder, || $crate::Native::<$policy>::stateful());
    };
    ($policy:ty, $folder:literal, planner) => {
        $crate::cases!(@ $folder, || $crate::Native::<$policy>::new().planning());
    };
    ($policy:ty, $folder:literal, stateful, planner) => {
        $crate::cases!(@ $folder, || $crate::Native::<$policy>::stateful().planning());
    };
    (@ $folder:literal, $made:expr) => {
        #[test]
        fn cases() {
            $crate::run_cases(concat!(env!("CARGO_MANIFEST_DIR"), "/", $folder), $made);
        }
    };
}

/// Runs every case file of a folder, and panics with the failures.
#[doc(hidden)]
#[expect(clippy::panic, reason = "this is how a test fails")]
pub fn run_cases<P>(folder: &str, policy: fn() -> Native<P>) {
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
