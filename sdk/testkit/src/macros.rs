//! The macro that makes a test of a folder of case files.

use std::path::Path;

use tenure_sdk::Policy;

use crate::{Native, cases};

/// Makes a test that runs every case file of a folder, natively.
///
/// The folder is relative to the crate's; `tenurectl policy test` runs `cases` of the same crate in the sandbox.
///
/// ```
/// # use tenure_sdk::{Config, Cooling, Definition, Policy, Proposal, Refusal, Request, ranges};
/// # pub struct Mine;
/// # impl Policy for Mine {
/// #     fn define(config: &Config) -> Result<Definition, Refusal> { Ok(Definition::new(ranges::read(config)?, Cooling::Strict)) }
/// #     fn propose(_: &Request) -> Result<Proposal, Refusal> { Ok(Proposal::new()) }
/// # }
/// tenure_testkit::cases!(Mine, "cases");
/// ```
#[macro_export]
macro_rules! cases {
    ($policy:ty, $folder:literal) => {
        #[test]
        fn cases() {
            $crate::run_folder::<$policy>(concat!(env!("CARGO_MANIFEST_DIR"), "/", $folder));
        }
    };
}

/// Runs every case file of a folder, and panics with the failures.
#[doc(hidden)]
#[expect(clippy::panic, reason = "this is how a test fails")]
pub fn run_folder<P: Policy>(folder: &str) {
    let cases = cases::read(Path::new(folder)).unwrap_or_else(|error| panic!("{error}"));
    assert!(!cases.is_empty(), "{folder} has no case files");
    let runs = cases.iter().map(|case| cases::run(case, Native::<P>::new));
    let failures: Vec<_> = runs.filter_map(|run| run.failure).map(|failure| failure.to_string()).collect();
    assert!(
        failures.is_empty(),
        "{} of {} case files failed\n\n{}\n",
        failures.len(),
        cases.len(),
        failures.join("\n\n")
    );
}
