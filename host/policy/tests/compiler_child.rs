//! Compiling in a child: this program is its own compiler, as the daemon is.

use std::process::ExitCode;
use std::sync::Arc;

use tenure_policy::{Compiler, Limits, Runtime, embedded, maybe_run_compiler_child};
use tenure_types::{ErrorCode, PolicyName};

fn main() -> ExitCode {
    if let Some(code) = maybe_run_compiler_child() {
        return code;
    }
    let limits = Limits { concurrency: 1, ..Limits::default() };
    let runtime = Arc::new(Runtime::new(limits, Compiler::Child).unwrap());
    let name = PolicyName::new("p").unwrap();
    runtime.load(&name, embedded::HOST_LOCAL, None).unwrap();
    // A component that the compiler refuses, by its own words; and one that it does not even read to the end.
    for bytes in [&b"nothing"[..], &vec![b'x'; 8 << 20]] {
        let error = runtime.load(&name, bytes, None).map(|_| ()).unwrap_err();
        assert_eq!(error.code, ErrorCode::PolicyUnloadable);
        assert!(error.cause.contains("it does not compile"), "{error}");
    }
    println!("test compiling_in_a_child ... ok");
    ExitCode::SUCCESS
}
