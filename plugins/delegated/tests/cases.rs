//! The case files, natively; `tenurectl policy test` runs them in the sandbox.

tenure_testkit::cases!(tenure_delegated::Delegated, "cases");
